/* Plans as documents: what is accepted, everything that is wrong at once, and that printing is canonical. */
#include "plan_fixture.h"

#define WHOLE                                                                                      \
    "{\"version\":1,\"id\":\"p1\",\"goal\":\"Add login\",\"summary\":\"In two steps\","            \
    "\"completion_criteria\":[\"tests pass\"],\"steps\":["                                         \
    "{\"id\":\"look\",\"title\":\"Look around\",\"description\":\"Find the code\\nof it\","        \
    "\"success_criteria\":[\"files are named\"],\"type\":\"research\",\"role\":\"researcher\","    \
    "\"depends_on\":[]},"                                                                          \
    "{\"id\":\"write\",\"title\":\"Write it\",\"description\":\"Do it\",\"success_criteria\":[],"  \
    "\"type\":\"implementation\",\"role\":\"executor\",\"depends_on\":[\"look\"],"                 \
    "\"ownership\":[\"src/auth/**\"],\"allowed_tools\":[\"read\",\"edit\"],"                       \
    "\"estimated_calls\":12,\"requires_approval\":true,\"max_retries\":2,\"status\":\"failed\"}]}"

static void a_whole_plan_reads_and_prints_the_same(void **state)
{
    struct fixture *f = *state;
    const struct plan *plan = plan_of(f, WHOLE);
    const struct plan_step *step = &plan->steps[1];
    check_str(printed(f, plan), WHOLE);
    assert_int_equal(step->type, STEP_IMPLEMENTATION);
    assert_int_equal(step->approval, APPROVAL_NEEDED);
    assert_int_equal(step->needs[0], 0);
    assert_int_equal(step->max_retries, 2);
    assert_int_equal(step->status, STEP_FAILED);
    assert_int_equal(plan_find(plan, STR("write")), 1);
    assert_int_equal(plan_find(plan, STR("none")), 2);
}

static void the_same_plan_written_differently_prints_the_same(void **state)
{
    struct fixture *f = *state;
    struct str one = printed(
        f, plan_of(f, PLAN(STEP("a", ",\"requires_approval\":false,\"type\":\"implementation\","
                                     "\"status\":\"pending\",\"depends_on\":[]"))));
    struct str two = printed(f, plan_of(f, "{\"steps\":[{\"role\":\"executor\",\"description\":"
                                           "\"Do a\",\"title\":\"Title of a\",\"id\":\"a\"}],"
                                           "\"goal\":\"The goal\"}"));
    assert_true(str_eq(one, two));
}

static void what_is_not_said_is_a_default(void **state)
{
    struct fixture *f = *state;
    const struct plan_step *step = plan_of(f, PLAN(STEP("a", "")))->steps;
    assert_int_equal(step->type, STEP_IMPLEMENTATION);
    check_str(str_from(step->role->name), "executor");
    assert_int_equal(step->ownership.state, LIST_ABSENT);
    assert_int_equal(step->allowed_tools.state, LIST_ABSENT);
    assert_int_equal(step->estimated_calls, UNLIMITED);
    assert_int_equal(plan_step_calls(step), 30);
    assert_int_equal(step->max_retries, UNLIMITED);
    assert_int_equal(step->status, STEP_PENDING);
    assert_null(f->plan.id.p);
    assert_null(f->plan.summary.p);
}

static void each_type_has_its_role_unless_the_step_names_one(void **state)
{
    struct fixture *f = *state;
    static const char *const rows[][2] = {
        {"research", "researcher"}, {"planning", "planner"}, {"implementation", "executor"},
        {"testing", "tester"},      {"review", "reviewer"},  {"deployment", "executor"},
    };
    char text[512];
    assert_int_equal(sizeof rows / sizeof rows[0], STEP_TYPE_COUNT);
    for (size_t i = 0; i < STEP_TYPE_COUNT; i++) {
        snprintf(text, sizeof text, PLAN(STEP("a", ",\"type\":\"%s\"")), rows[i][0]);
        check_str(str_from(plan_of(f, text)->steps[0].role->name), rows[i][1]);
    }
    plan_of(f, PLAN(STEP("a", ",\"type\":\"testing\",\"role\":\"executor\"")));
    check_str(str_from(f->plan.steps[0].role->name), "executor");
}

static void every_rule_is_enforced_with_its_path(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *text, *path, *message;
    } bad[] = {
        {"{\"goal\":\"g\"}", "steps", "missing"},
        {PLAN(""), "steps", "must have 1 to 100 items"},
        {"{\"goal\":\"g\",\"steps\":{}}", "steps", "expected a list of objects"},
        {"{\"steps\":[" STEP("a", "") "]}", "goal", "missing"},
        {"{\"goal\":\" \\n\",\"steps\":[" STEP("a", "") "]}", "goal", "must not be blank"},
        {"{\"goal\":\"\\u3000\",\"steps\":[" STEP("a", "") "]}", "goal", "must not be blank"},
        {PLAN("{\"id\":\"a\",\"title\":\"t\",\"description\":\"\\u00a0\\n\"}"),
         "steps[0].description", "must not be blank"},
        {PLAN("{\"id\":\"a\",\"title\":\"\\u3000\",\"description\":\"d\"}"), "steps[0].title",
         "must not be blank"},
        {"{\"version\":2,\"goal\":\"g\",\"steps\":[" STEP("a", "") "]}", "version",
         "must be a whole number from 1 to 1"},
        {"{\"gaol\":1,\"goal\":\"g\",\"steps\":[" STEP("a", "") "]}", "gaol", "unknown key"},
        {PLAN("7"), "steps[0]", "expected an object"},
        {PLAN(STEP("a b", "")), "steps[0].id", "must match ^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$"},
        {PLAN("{\"id\":\"a\",\"title\":\"t\",\"description\":\"\"}"), "steps[0].description",
         "must not be blank"},
        {PLAN(STEP("a", ",\"type\":\"cooking\"")), "steps[0].type",
         "must match research|planning|implementation|testing|review|deployment"},
        {PLAN(STEP("a", ",\"role\":\"cook\"")), "steps[0].role",
         "must match researcher|planner|executor|reviewer|tester"},
        {PLAN(STEP("a", ",\"status\":\"done\"")), "steps[0].status",
         "must match pending|in_progress|completed|failed|skipped|blocked"},
        {PLAN(STEP("a", ",\"requires_approval\":\"yes\"")), "steps[0].requires_approval",
         "must be true or false"},
        {PLAN(STEP("a", ",\"estimated_calls\":0")), "steps[0].estimated_calls",
         "must be a whole number from 1 to 1000"},
        {PLAN(STEP("a", ",\"max_retries\":11")), "steps[0].max_retries",
         "must be a whole number from 0 to 10"},
        {PLAN(STEP("a", "") "," STEP("a", "")), "steps[1].id", "a is steps[0] already"},
        {PLAN(STEP("a", "") "," STEP("b", ",\"depends_on\":[\"a\",\"a\",\"c\"]")),
         "steps[1].depends_on[2]", "there is no step c"},
        {PLAN(STEP("a", ",\"ownership\":[]")), "steps[0].ownership",
         "must name a path; leave it out where the step may change anything"},
        {PLAN(STEP("a", ",\"ownership\":[\"src\",\"src\",\"../x\"]")), "steps[0].ownership[2]",
         "must not have .. in it"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(parse(f, bad[i].text), -1);
        if (f->problems.found != 1 || !str_is(f->problems.items[0].path, bad[i].path) ||
            !str_is(f->problems.items[0].message, bad[i].message))
            fail_msg("%s: %zu, %.*s: %.*s", bad[i].text, f->problems.found,
                     STR_FMT(f->problems.items[0].path), STR_FMT(f->problems.items[0].message));
    }
}

static void a_circle_is_named(void **state)
{
    struct fixture *f = *state;
    static const char *const rows[][3] = {
        {"a <a", "steps[0].depends_on", "a → a"},
        {"a; b <a,d; c <b; d <c", "steps[1].depends_on", "b → c → d → b"},
        {"a <c; b; c <b,a", "steps[0].depends_on", "a → c → a"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char message[128];
        snprintf(message, sizeof message, "the steps depend on each other in a circle: %s",
                 rows[i][2]);
        assert_int_equal(parse(f, sketch(f, rows[i][0])), -1);
        assert_int_equal(f->problems.found, 1);
        check_str(f->problems.items[0].path, rows[i][1]);
        check_str(f->problems.items[0].message, message);
    }
}

static void all_mistakes_are_told_at_once(void **state)
{
    struct fixture *f = *state;
    struct buf text;
    const char *json = "{\"goal\":7,\"steps\":[" STEP(
        "a", ",\"depends_on\":[\"b\",\"x\"]") ","
                                              "{\"id\":\"b\",\"title\":\"t\",\"description\":\"d\","
                                              "\"depends_on\":[\"a\"],"
                                              "\"ownership\":[\"/etc\"],\"size\":1}]}";
    assert_int_equal(parse(f, json), -1);
    buf_init(&text, 65536);
    problems_print(&f->problems, &text);
    check_str(buf_view(&text), "goal: expected a string\n"
                               "steps[1].size: unknown key\n"
                               "steps[0].depends_on[1]: there is no step x\n"
                               "steps[1].ownership[0]: must be a path within the workspace\n"
                               "steps[0].depends_on: the steps depend on each other in a circle: "
                               "a → b → a\n");
    buf_release(&text);
}

static void the_whole_has_limits(void **state)
{
    struct fixture *f = *state;
    struct buf text;
    buf_init(&text, 4 << 20);
    buf_text(&text, "{\"goal\":\"g\",\"steps\":[");
    for (int i = 0; i < 60; i++) {
        buf_printf(&text,
                   "%s{\"id\":\"s%d\",\"title\":\"t\",\"description\":\"d\",\"depends_on\":[",
                   i > 0 ? "," : "", i);
        for (int k = 0; k < i; k++)
            buf_printf(&text, "%s\"s%d\"", k > 0 ? "," : "", i - 1 - k);
        buf_text(&text, "],\"ownership\":[");
        for (int k = 0; k < 5; k++)
            buf_printf(&text, "%s\"d%d/f%d\"", k > 0 ? "," : "", i, k);
        buf_text(&text, "]}");
    }
    buf_text(&text, "]}");
    assert_int_equal(parse(f, text.p), -1);
    assert_int_equal(f->problems.found, 1);
    check_str(f->problems.items[0].message, "own 300 paths in all, at most 256 are allowed");
    buf_release(&text);
}

static void ownership_is_kept_in_normal_form(void **state)
{
    struct fixture *f = *state;
    plan_of(f, PLAN(STEP("a", ",\"ownership\":[\"./src//auth/\",\"src/auth\",\".\"]")));
    assert_int_equal(f->plan.steps[0].ownership.n, 2);
    check_str(f->plan.steps[0].ownership.items[0], "src/auth");
    check_str(f->plan.steps[0].ownership.items[1], "**");
}

static void warnings_name_what_may_not_be_meant(void **state)
{
    struct fixture *f = *state;
    struct buf text;
    plan_of(f, sketch(f, "a reads own=src; b; c <b own=x; d <c; e <b own=y"));
    plan_warn(&f->plan, &f->problems);
    buf_init(&text, 65536);
    problems_print(&f->problems, &text);
    check_str(buf_view(&text),
              "completion_criteria: there are none: a review has nothing but the goal to go by\n"
              "steps[0].ownership: has no effect: a researcher changes nothing\n"
              "steps[3].ownership: is missing: the step owns everything, so no other step that "
              "changes something runs beside it\n");
    buf_release(&text);
}

static void tools_that_do_not_do_a_steps_work_are_warned_of(void **state)
{
    struct fixture *f = *state;
    static const char steps[] =
        "{\"goal\":\"g\",\"completion_criteria\":[\"c\"],\"steps\":["
        "{\"id\":\"a\",\"title\":\"A\",\"description\":\"d\","
        "\"allowed_tools\":[\"raed\",\"write_file\"]},"
        "{\"id\":\"b\",\"title\":\"B\",\"description\":\"d\",\"depends_on\":[\"a\"],"
        "\"allowed_tools\":[\"read\"]},"
        "{\"id\":\"c\",\"title\":\"C\",\"description\":\"d\",\"depends_on\":[\"b\"],"
        "\"allowed_tools\":[\"shell\"]},"
        "{\"id\":\"d\",\"title\":\"D\",\"description\":\"d\",\"depends_on\":[\"c\"],"
        "\"type\":\"testing\",\"allowed_tools\":[]}]}";
    struct buf text;
    plan_of(f, steps);
    plan_warn(&f->plan, &f->problems);
    buf_init(&text, 65536);
    problems_print(&f->problems, &text);
    check_str(buf_view(&text),
              "steps[0].allowed_tools: there is no tool raed: the step will fail\n"
              "steps[1].allowed_tools: has no tool that changes a file: the step can change "
              "nothing\n");
    buf_release(&text);
}

static void a_step_has_the_tools_that_it_names_else_its_roles(void **state)
{
    struct fixture *f = *state;
    plan_of(f, PLAN(STEP("a", "") "," STEP("b", ",\"allowed_tools\":[\"read_file\"]") "," STEP(
                   "c", ",\"role\":\"reviewer\"")));
    assert_true(plan_step_has(&f->plan.steps[0], GROUP_WRITE));
    assert_false(plan_step_has(&f->plan.steps[1], GROUP_WRITE));
    assert_true(plan_step_has(&f->plan.steps[1], GROUP_READ));
    assert_false(plan_step_has(&f->plan.steps[2], GROUP_WRITE));
    assert_true(plan_step_has(&f->plan.steps[2], GROUP_SHELL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_whole_plan_reads_and_prints_the_same),
        TEST(the_same_plan_written_differently_prints_the_same),
        TEST(what_is_not_said_is_a_default),
        TEST(each_type_has_its_role_unless_the_step_names_one),
        TEST(every_rule_is_enforced_with_its_path),
        TEST(a_circle_is_named),
        TEST(all_mistakes_are_told_at_once),
        TEST(the_whole_has_limits),
        TEST(ownership_is_kept_in_normal_form),
        TEST(warnings_name_what_may_not_be_meant),
        TEST(tools_that_do_not_do_a_steps_work_are_warned_of),
        TEST(a_step_has_the_tools_that_it_names_else_its_roles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
