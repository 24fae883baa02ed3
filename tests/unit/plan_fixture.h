/* What the tests of plans share: an arena, plans read from JSON with one call, and sketches of plans on one line. */
#ifndef CADRE_TESTS_UNIT_PLAN_FIXTURE_H
#define CADRE_TESTS_UNIT_PLAN_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "core/plan/plan.h"

struct fixture {
    struct arena arena;
    struct problems problems;
    struct plan plan;
};

static inline int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    arena_init(&f->arena);
    problems_init(&f->problems, &f->arena);
    *state = f;
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;
    arena_release(&f->arena);
    free(f);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static inline int parse(struct fixture *f, const char *text)
{
    struct err err = ERR_INIT;
    struct js *value = js_parse(str_from(text), &err);
    if (!value)
        fail_msg("%s: %s", text, err.message);
    problems_init(&f->problems, &f->arena);
    int result = plan_parse(&f->arena, value, &f->plan, &f->problems);
    js_free(value);
    return result;
}

/* A plan that must be right. */
static inline const struct plan *plan_of(struct fixture *f, const char *text)
{
    if (parse(f, text) != 0)
        fail_msg("%s: %.*s: %.*s", text, STR_FMT(f->problems.items[0].path),
                 STR_FMT(f->problems.items[0].message));
    return &f->plan;
}

static inline struct str printed(struct fixture *f, const struct plan *plan)
{
    struct buf out;
    struct jw w;
    buf_init(&out, (size_t)64 << 20);
    jw_init(&w, &out);
    plan_print(plan, &w);
    assert_false(out.failed);
    struct str text = arena_copy(&f->arena, buf_view(&out));
    buf_release(&out);
    return text;
}

/* "a,b" as a list of JSON. */
static inline void sketch_list(struct buf *out, const char *key, struct str items)
{
    buf_printf(out, ",\"%s\":[", key);
    for (const char *comma = ""; items.n > 0; comma = ",") {
        const char *end = memchr(items.p, ',', items.n);
        size_t n = end ? (size_t)(end - items.p) : items.n;
        buf_printf(out, "%s\"%.*s\"", comma, (int)n, items.p);
        n += end != NULL;
        items = (struct str){items.p + n, items.n - n};
    }
    buf_char(out, ']');
}

static inline void sketch_word(struct buf *out, struct str word)
{
    const char *is = memchr(word.p, '=', word.n);
    struct str key = {word.p, is ? (size_t)(is - word.p) : word.n};
    struct str value = is ? (struct str){is + 1, word.n - key.n - 1} : STR("");
    if (word.p[0] == '<')
        sketch_list(out, "depends_on", (struct str){word.p + 1, word.n - 1});
    else if (str_is(key, "own"))
        sketch_list(out, "ownership", value);
    else if (str_is(key, "calls"))
        buf_printf(out, ",\"estimated_calls\":%.*s", STR_FMT(value));
    else if (str_is(key, "approval"))
        buf_text(out, ",\"requires_approval\":true");
    else if (str_is(key, "status") || str_is(key, "type") || str_is(key, "role"))
        buf_printf(out, ",\"%.*s\":\"%.*s\"", STR_FMT(key), STR_FMT(value));
    else if (str_is(key, "reads"))
        buf_text(out, ",\"type\":\"research\"");
    else
        fail_msg("a sketch has no word %.*s", STR_FMT(word));
}

/* The JSON of a plan from "a reads; b <a own=src,docs calls=3 approval": each step is its id and words about it. */
static inline const char *sketch(struct fixture *f, const char *text)
{
    struct buf out;
    buf_init(&out, 65536);
    buf_text(&out, "{\"goal\":\"The goal\",\"steps\":[");
    for (const char *comma = ""; *text; comma = ",") {
        size_t n = strcspn(text, " ;");
        buf_printf(&out,
                   "%s{\"id\":\"%.*s\",\"title\":\"Title of %.*s\",\"description\":\"Do %.*s\"",
                   comma, (int)n, text, (int)n, text, (int)n, text);
        for (text += n; *text == ' '; text += n) {
            text++;
            n = strcspn(text, " ;");
            sketch_word(&out, (struct str){text, n});
        }
        buf_char(&out, '}');
        text += strspn(text, "; ");
    }
    buf_text(&out, "]}");
    const char *json = arena_copy(&f->arena, buf_view(&out)).p;
    buf_release(&out);
    return json;
}

#define STEP(id, more)                                                                             \
    "{\"id\":\"" id "\",\"title\":\"Title of " id "\",\"description\":\"Do " id "\"" more "}"
#define PLAN(steps) "{\"goal\":\"The goal\",\"steps\":[" steps "]}"

#endif
