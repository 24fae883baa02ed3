/* What the tests of plans share: an arena, and plans read from JSON with one call. */
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

#define STEP(id, more)                                                                             \
    "{\"id\":\"" id "\",\"title\":\"Title of " id "\",\"description\":\"Do " id "\"" more "}"
#define PLAN(steps) "{\"goal\":\"The goal\",\"steps\":[" steps "]}"

#endif
