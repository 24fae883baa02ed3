/* Plan files: YAML and JSON give the same plan, mistakes have their places, and what is printed as YAML reads back equal. */
#include "cli/planfile.h"

#include "plan_fixture.h"

static int read_text(struct fixture *f, struct str text, struct planfile *file, struct err *err)
{
    *err = ERR_INIT;
    return planfile_parse(&f->arena, STR("plan.yaml"), text, file, err);
}

static const struct plan *plan_in(struct fixture *f, struct str text)
{
    struct planfile file;
    struct err err;
    if (read_text(f, text, &file, &err) != 0)
        fail_msg("%s\n%.*s", err.message, STR_FMT(text));
    if (file.problems.found > 0)
        fail_msg("%.*s: %.*s\n%.*s", STR_FMT(file.problems.items[0].path),
                 STR_FMT(file.problems.items[0].message), STR_FMT(text));
    f->plan = file.plan;
    return &f->plan;
}

static void yaml_and_json_give_the_same_plan(void **state)
{
    struct fixture *f = *state;
    struct str yaml =
        printed(f, plan_in(f, STR("goal: The goal\n"
                                  "steps:\n"
                                  "  - id: 1\n"
                                  "    title: true\n"
                                  "    description: 2024\n"
                                  "    estimated_calls: 7\n"
                                  "    requires_approval: true\n"
                                  "  - {id: b, title: B, description: d, depends_on: [1]}\n")));
    struct str json = printed(
        f, plan_in(f, STR("{\"goal\":\"The goal\",\"steps\":[{\"id\":\"1\",\"title\":\"true\","
                          "\"description\":\"2024\",\"estimated_calls\":7,"
                          "\"requires_approval\":true},{\"id\":\"b\",\"title\":\"B\","
                          "\"description\":\"d\",\"depends_on\":[\"1\"]}]}")));
    assert_true(str_eq(yaml, json));
}

static void json_may_have_escapes_that_yaml_does_not_know(void **state)
{
    struct fixture *f = *state;
    plan_in(f, STR("{\"goal\":\"\\ud83d\\ude00\",\"steps\":[{\"id\":\"a\",\"title\":\"t\","
                   "\"description\":\"d\"}]}"));
    check_str(f->plan.goal, "\xf0\x9f\x98\x80");
}

static void each_mistake_has_its_place(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *text, *place, *path;
    } rows[] = {
        {"goal: g\nsteps:\n  - id: a\n    title: t\n    description: d\n    type: odd\n", "6:11",
         "steps[0].type"},
        {"goal: g\nsteps:\n  - id: a\n    title: t\n    description: d\n    odd: 1\n", "6:5",
         "steps[0].odd"},
        {"goal: g\nsteps:\n  - id: a\n    title: t\n", "3:5", "steps[0].description"},
        {"steps:\n  - id: a\n    title: t\n    description: d\n", "1:1", "goal"},
        {"goal: g\nsteps: 7\n", "2:8", "steps"},
        {"goal: g\nsteps: []\n", "2:1", "steps"},
        {"goal: g\nsteps:\n- {id: a, title: t, description: d, depends_on: [x]}\n", "3:50",
         "steps[0].depends_on[0]"},
        {"goal: g\nsteps:\n- {id: a, title: t, description: d, ownership: [src, /etc]}\n", "3:54",
         "steps[0].ownership[1]"},
        {"{\"goal\":\"g\",\n \"steps\":[{\"id\":\"a\",\n  \"title\":7,\"description\":\"d\"}]}",
         "3:11", "steps[0].title"},
        {"- a\n", "1:1", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct planfile file;
        struct err err;
        struct buf where;
        char expected[64];
        assert_int_equal(read_text(f, str_from(rows[i].text), &file, &err), 0);
        assert_true(file.problems.found > 0);
        struct config_place place = planfile_place(&file, &file.problems.items[0]);
        buf_init(&where, 1024);
        config_place_print(&place, &where);
        snprintf(expected, sizeof expected, "plan.yaml:%s", rows[i].place);
        if (!str_is(file.problems.items[0].path, rows[i].path) ||
            !str_is(buf_view(&where), expected))
            fail_msg("%s: %.*s at %.*s", rows[i].text, STR_FMT(file.problems.items[0].path),
                     STR_FMT(buf_view(&where)));
        buf_release(&where);
    }
}

static void what_is_neither_yaml_nor_json_is_told_with_its_line(void **state)
{
    struct fixture *f = *state;
    struct planfile file;
    struct err err;
    assert_int_equal(read_text(f, STR("goal: g\nsteps: [\n"), &file, &err), -1);
    assert_int_equal(err.class, ERR_USAGE);
    assert_true(str_starts(str_from(err.message), STR("plan.yaml:")));
    assert_int_equal(read_text(f, STR("  \n"), &file, &err), -1);
    assert_non_null(strstr(err.message, "is empty"));
}

/* --- the property ------------------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *seed)
{
    uint64_t z = (*seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static size_t pick(uint64_t *seed, size_t below)
{
    return (size_t)(next_random(seed) % below);
}

/* Pieces that YAML has a meaning for, or that look like something else than a text. */
static const char *const pieces[] = {
    "a",
    "B",
    "word",
    " ",
    "  ",
    "-",
    "- ",
    ":",
    ": ",
    "#",
    " #",
    "\"",
    "'",
    "\\",
    "|",
    ">",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&x",
    "*x",
    "!t",
    "%",
    "@",
    "`",
    "?",
    "? ",
    "---",
    "...",
    "null",
    "~",
    "true",
    "no",
    "1",
    "0x1f",
    "1e3",
    ".5",
    "é",
    "日本",
    "\xc2\xa0",
    "\xef\xbb\xbf",
    "\xe2\x80\x8b",
    "\xf0\x9f\x98\x80",
    "\xef\xbf\xbe",
    "\xee\x80\x80",
    "=",
    "<<",
    ";",
    "(",
    ")",
};
static const char *const breaks[] = {"\n", "\n\n", "\t", "\r", "\r\n", "\n ", " \n", "\n\t"};

static struct str random_text(struct fixture *f, uint64_t *seed, bool lines)
{
    struct buf text;
    buf_init(&text, 4096);
    buf_text(&text, pick(seed, 3) == 0 ? "" : "x");
    for (size_t n = 1 + pick(seed, 6); n > 0; n--) {
        if (lines && pick(seed, 3) == 0)
            buf_text(&text, breaks[pick(seed, sizeof breaks / sizeof breaks[0])]);
        else
            buf_text(&text, pieces[pick(seed, sizeof pieces / sizeof pieces[0])]);
    }
    struct str copy = arena_copy(&f->arena, buf_view(&text));
    buf_release(&text);
    return copy;
}

static void random_list(struct fixture *f, uint64_t *seed, struct jw *w, const char *key)
{
    jw_key(w, key);
    jw_array(w);
    for (size_t n = pick(seed, 3); n > 0; n--)
        jw_str(w, random_text(f, seed, false));
    jw_end_array(w);
}

/* As JSON; some of these texts are refused, so the caller tries until one is a plan. */
static void random_plan(struct fixture *f, uint64_t *seed, struct buf *out)
{
    struct jw w;
    buf_clear(out);
    jw_init(&w, out);
    jw_object(&w);
    jw_kstr(&w, "goal", random_text(f, seed, true));
    if (pick(seed, 2) == 0)
        jw_kstr(&w, "summary", random_text(f, seed, true));
    if (pick(seed, 2) == 0)
        jw_kstr(&w, "id", random_text(f, seed, false));
    random_list(f, seed, &w, "completion_criteria");
    jw_key(&w, "steps");
    jw_array(&w);
    jw_object(&w);
    jw_kstr(&w, "id", pick(seed, 2) == 0 ? STR("true") : STR("0.5"));
    jw_kstr(&w, "title", random_text(f, seed, false));
    jw_kstr(&w, "description", random_text(f, seed, true));
    if (pick(seed, 3) == 0)
        random_list(f, seed, &w, "allowed_tools");
    if (pick(seed, 3) == 0)
        jw_kint(&w, "max_retries", 3);
    if (pick(seed, 3) == 0)
        jw_ktext(&w, "status", "in_progress");
    jw_end_object(&w);
    jw_end_array(&w);
    jw_end_object(&w);
}

static void yaml_that_was_printed_reads_back_equal(void **state)
{
    struct fixture *f = *state;
    uint64_t seed = 3;
    struct buf json, yaml;
    size_t plans = 0;
    buf_init(&json, 1 << 20);
    buf_init(&yaml, 1 << 20);
    for (int round = 0; round < 6000; round++) {
        random_plan(f, &seed, &json);
        if (parse(f, json.p) == 0) {
            struct str before = printed(f, &f->plan);
            plans++;
            buf_clear(&yaml);
            plan_print_yaml(&f->plan, &yaml);
            struct str after = printed(f, plan_in(f, buf_view(&yaml)));
            if (!str_eq(before, after))
                fail_msg("%.*s\n%.*s\n%.*s", STR_FMT(before), STR_FMT(buf_view(&yaml)),
                         STR_FMT(after));
        }
        arena_reset(&f->arena);
    }
    assert_true(plans > 1000);
    buf_release(&json);
    buf_release(&yaml);
}

/* A hundred steps, each of which needs all before it and has as many criteria as it may. */
static void the_largest_plan_reads_back_as_yaml(void **state)
{
    struct fixture *f = *state;
    struct buf text;
    buf_init(&text, PLAN_BYTES_MAX);
    buf_text(&text, "{\"goal\":\"g\",\"steps\":[");
    for (int i = 0; i < PLAN_STEPS_MAX; i++) {
        buf_printf(&text, "%s{\"id\":\"s%d\",\"title\":\"t\",\"description\":\"d\"",
                   i > 0 ? "," : "", i);
        for (int k = 0; k < PLAN_CRITERIA_MAX; k++)
            buf_printf(&text, "%s\"c%d\"", k > 0 ? "," : ",\"success_criteria\":[", k);
        buf_text(&text, "],\"depends_on\":[");
        for (int k = 0; k < i; k++)
            buf_printf(&text, "%s\"s%d\"", k > 0 ? "," : "", k);
        buf_text(&text, "]}");
    }
    buf_text(&text, "]}");
    struct str written = printed(f, plan_in(f, buf_view(&text)));
    buf_clear(&text);
    plan_print_yaml(&f->plan, &text);
    assert_true(str_eq(printed(f, plan_in(f, buf_view(&text))), written));
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(yaml_and_json_give_the_same_plan),
        TEST(json_may_have_escapes_that_yaml_does_not_know),
        TEST(each_mistake_has_its_place),
        TEST(what_is_neither_yaml_nor_json_is_told_with_its_line),
        TEST(yaml_that_was_printed_reads_back_equal),
        TEST(the_largest_plan_reads_back_as_yaml),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
