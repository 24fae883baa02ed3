/* The calls of a long reply: they start a part at a time, and nothing is lost, doubled or kept from being heard in between. */
#include "run_fixture.h"

enum { CALLS_MADE = 300, AT_ONCE = 128 };

static void call_many(struct rig *rig)
{
    struct rig_call calls[CALLS_MADE];
    for (size_t i = 0; i < CALLS_MADE; i++)
        calls[i] = (struct rig_call){"read", "{\"path\":\"f\"}"};
    rig_calls(rig, 0, calls, CALLS_MADE);
}

static void start(struct rig *rig)
{
    rig->settings.warn_at = rig->settings.pause_at = rig->settings.hard_stop_at = 10000;
    rig_start(rig, "do it");
    call_many(rig);
}

static void expect_requested(const struct rig *rig, size_t requested, size_t parts_held)
{
    assert_int_equal(rig_count(rig, EVENT_TOOL_REQUESTED), requested);
    assert_int_equal(rig_count(rig, EVENT_CALLS_HELD), parts_held);
}

static void finish(struct rig *rig, size_t from)
{
    for (size_t i = from; i < CALLS_MADE; i++)
        rig_result(rig, 0, i, "fine");
    assert_int_equal(rig_count(rig, EVENT_TOOL_FINISHED), CALLS_MADE);
    assert_int_equal(rig_count(rig, EVENT_MODEL_REQUESTED), 2);
}

static void they_start_a_part_at_a_time(void **state)
{
    struct rig *rig = *state;
    start(rig);
    expect_requested(rig, AT_ONCE, 1);
    assert_int_equal(rig_last(rig, 0, EVENT_CALLS_HELD)->count, CALLS_MADE - AT_ONCE);
    assert_int_equal(run_deadline(rig->run), rig->now); /* at once, but in a decision of its own */
    rig_pass(rig, 0);
    expect_requested(rig, CALLS_MADE, 2);
    assert_true(run_deadline(rig->run) > rig->now);
    finish(rig, 0);
}

static void what_comes_in_between_is_heard_and_starts_no_more(void **state)
{
    struct rig *rig = *state;
    start(rig);
    rig_result(rig, 0, 0, "fine");
    rig_result(rig, 0, 1, "fine");
    expect_requested(rig, AT_ONCE, 1);
    rig_pass(rig, 0);
    expect_requested(rig, CALLS_MADE, 2);
    finish(rig, 2);
}

static void a_crash_in_between_loses_and_doubles_none(void **state)
{
    struct rig *rig = *state;
    start(rig);
    rig_crash(rig, 5000);
    rig_pass(rig, 0);
    expect_requested(rig, CALLS_MADE, 2);
    finish(rig, 0);
}

static void a_run_that_is_cancelled_in_between_starts_no_more(void **state)
{
    struct rig *rig = *state;
    start(rig);
    rig_inbox(rig, "cancel", "{}");
    rig_pass(rig, 0);
    expect_requested(rig, AT_ONCE, 1);
}

static void calls_that_wait_for_a_person_are_not_tried_again_and_again(void **state)
{
    struct rig *rig = *state;
    rig->asker = ASKER_TERMINAL;
    rig->settings.pause_at = 2;
    rig->settings.hard_stop_at = 1000;
    rig_start(rig, "do it");
    call_many(rig);
    assert_int_equal(rig_count(rig, EVENT_RUN_PAUSED), 1);
    expect_requested(rig, 2, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(they_start_a_part_at_a_time),
        RIG_TEST(what_comes_in_between_is_heard_and_starts_no_more),
        RIG_TEST(a_crash_in_between_loses_and_doubles_none),
        RIG_TEST(a_run_that_is_cancelled_in_between_starts_no_more),
        RIG_TEST(calls_that_wait_for_a_person_are_not_tried_again_and_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
