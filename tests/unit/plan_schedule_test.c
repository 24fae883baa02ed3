/* What may start when, by examples; plan_property_test has thousands of random plans. */
#include "core/plan/schedule.h"

#include "plan_fixture.h"

struct table {
    struct schedule schedule;
    struct step_state states[PLAN_STEPS_MAX];
    size_t out[PLAN_STEPS_MAX];
};

static void open_table(struct fixture *f, struct table *t, const char *text)
{
    schedule_init(&t->schedule, &f->arena, plan_of(f, sketch(f, text)));
    schedule_states(&f->plan, t->states);
}

static void set(struct table *t, const char *id, enum step_status status)
{
    t->states[plan_find(t->schedule.plan, str_from(id))].status = status;
}

/* The ids of the first count steps of out, "a b". */
static struct str ids(struct fixture *f, const struct table *t, size_t count)
{
    struct str text = STR("");
    for (size_t i = 0; i < count; i++)
        text = arena_printf(&f->arena, "%.*s%s%.*s", STR_FMT(text), i > 0 ? " " : "",
                            STR_FMT(t->schedule.plan->steps[t->out[i]].id));
    return text;
}

static struct str ready(struct fixture *f, struct table *t, size_t slots)
{
    return ids(f, t, schedule_ready(&t->schedule, t->states, slots, t->out));
}

static struct str skipped(struct fixture *f, struct table *t)
{
    return ids(f, t, schedule_to_skip(&t->schedule, t->states, t->out));
}

static struct str asked(struct fixture *f, struct table *t)
{
    return ids(f, t, schedule_to_ask(&t->schedule, t->states, t->out));
}

static void a_step_starts_when_all_that_it_needs_is_completed(void **state)
{
    struct fixture *f = *state;
    struct table t;
    open_table(f, &t, "a reads; b reads; c reads <a,b");
    check_str(ready(f, &t, 9), "a b");
    set(&t, "a", STEP_COMPLETED);
    set(&t, "b", STEP_IN_PROGRESS);
    check_str(ready(f, &t, 9), "");
    set(&t, "b", STEP_COMPLETED);
    check_str(ready(f, &t, 9), "c");
    set(&t, "c", STEP_COMPLETED);
    assert_true(schedule_is_over(&t.schedule, t.states));
}

static void no_more_start_than_there_are_slots(void **state)
{
    struct fixture *f = *state;
    struct table t;
    open_table(f, &t, "a reads; b reads; c reads");
    check_str(ready(f, &t, 0), "");
    check_str(ready(f, &t, 2), "a b");
}

static void the_longest_way_goes_first(void **state)
{
    struct fixture *f = *state;
    struct table t;
    open_table(f, &t, "a reads calls=5; b reads calls=3; c reads calls=4 <b; d reads calls=7");
    check_str(ready(f, &t, 9), "b d a");
    check_str(ready(f, &t, 1), "b");
}

static void two_that_may_change_the_same_place_never_run_at_once(void **state)
{
    struct fixture *f = *state;
    struct table t;
    open_table(f, &t, "a own=src/**; b own=src/x.c; c own=docs; d; e reads calls=30");
    check_str(ready(f, &t, 9), "a c e");
    set(&t, "a", STEP_IN_PROGRESS);
    check_str(ready(f, &t, 9), "c e");
    set(&t, "a", STEP_COMPLETED);
    check_str(ready(f, &t, 9), "b c e");
    set(&t, "b", STEP_COMPLETED);
    set(&t, "c", STEP_COMPLETED);
    check_str(ready(f, &t, 9), "d e");
}

static void a_failure_skips_what_depends_on_it_and_nothing_else(void **state)
{
    struct fixture *f = *state;
    struct table t;
    open_table(f, &t, "d reads <c,x; a reads; b reads <a; c reads <b; x reads; y reads <x");
    check_str(skipped(f, &t), "");
    set(&t, "a", STEP_FAILED);
    check_str(skipped(f, &t), "b c d");
    check_str(ready(f, &t, 9), "x");
    set(&t, "b", STEP_SKIPPED);
    check_str(skipped(f, &t), "c d");
    set(&t, "c", STEP_BLOCKED);
    check_str(skipped(f, &t), "c d");
    set(&t, "x", STEP_COMPLETED);
    check_str(ready(f, &t, 9), "y");
    assert_false(schedule_is_over(&t.schedule, t.states));
}

static void a_skipped_step_satisfies_nobody(void **state)
{
    struct fixture *f = *state;
    struct table t;
    open_table(f, &t, "a reads; b reads <a");
    set(&t, "a", STEP_SKIPPED);
    check_str(ready(f, &t, 9), "");
    check_str(skipped(f, &t), "b");
}

static void an_approval_blocks_its_own_branch_alone(void **state)
{
    struct fixture *f = *state;
    struct table t;
    open_table(f, &t, "a reads approval; b reads <a; c reads; d reads approval <c");
    check_str(asked(f, &t), "a");
    check_str(ready(f, &t, 9), "c");
    set(&t, "a", STEP_BLOCKED);
    check_str(asked(f, &t), "");
    assert_false(schedule_is_over(&t.schedule, t.states));
    set(&t, "a", STEP_PENDING);
    t.states[0].approval = APPROVAL_GRANTED;
    check_str(asked(f, &t), "");
    check_str(ready(f, &t, 9), "a c");
    set(&t, "c", STEP_COMPLETED);
    check_str(asked(f, &t), "d");
    set(&t, "a", STEP_FAILED); /* denied */
    check_str(skipped(f, &t), "b");
}

static void integration_follows_prerequisites_then_the_plan(void **state)
{
    struct fixture *f = *state;
    struct table t;
    open_table(f, &t, "c reads <a; b reads; a reads; d reads <b");
    memcpy(t.out, t.schedule.order, 4 * sizeof t.out[0]);
    check_str(ids(f, &t, 4), "b a c d");
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(t.schedule.order[t.schedule.rank[i]], i);
}

static void the_critical_path_is_the_longest_way(void **state)
{
    struct fixture *f = *state;
    struct table t;
    int64_t calls = 0;
    open_table(f, &t, "a calls=2; b calls=9 <a; c calls=3 <a; d calls=5 <b,c; e calls=15");
    check_str(ids(f, &t, schedule_critical_path(&t.schedule, t.out, &calls)), "a b d");
    assert_int_equal(calls, 16);
}

static void a_plan_goes_on_from_the_statuses_that_it_was_written_with(void **state)
{
    struct fixture *f = *state;
    struct table t;
    open_table(f, &t,
               "a reads status=completed; b reads <a status=in_progress; c reads status=failed; d "
               "reads status=blocked");
    check_str(ready(f, &t, 9), "b d");
    assert_int_equal(t.states[2].status, STEP_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_step_starts_when_all_that_it_needs_is_completed),
        TEST(no_more_start_than_there_are_slots),
        TEST(the_longest_way_goes_first),
        TEST(two_that_may_change_the_same_place_never_run_at_once),
        TEST(a_failure_skips_what_depends_on_it_and_nothing_else),
        TEST(a_skipped_step_satisfies_nobody),
        TEST(an_approval_blocks_its_own_branch_alone),
        TEST(integration_follows_prerequisites_then_the_plan),
        TEST(the_critical_path_is_the_longest_way),
        TEST(a_plan_goes_on_from_the_statuses_that_it_was_written_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
