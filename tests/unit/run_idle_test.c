/* Children from which nothing comes: when that ends an attempt, and when it does not. That nothing came is told from outside. */
#include "run_fixture.h"

#define LIMIT 5000

static void begin(struct rig *rig)
{
    rig->settings.idle_timeout_ms = LIMIT;
    rig_open_doors(rig);
    rig_start(rig, "do it");
}

/* A root that waits for one child. */
static void one_child(struct rig *rig)
{
    begin(rig);
    CALLS(rig, 0, SPAWN("x"));
    rig_skip(rig);
}

static void silent(struct rig *rig, uint32_t agent_no, struct str call_id, int64_t ms)
{
    struct input input = {
        .kind = INPUT_SILENT, .agent_no = agent_no, .call_id = call_id, .idle_ms = ms};
    rig->now += ms;
    rig_input(rig, &input);
}

static void a_silent_model_ends_the_attempt_like_a_timeout(void **state)
{
    struct rig *rig = *state;
    one_child(rig);
    silent(rig, 1, rig_agent(rig, 1)->request_id, LIMIT);
    rig_expect(rig, "1 agent.idle, 1 agent.stopping");
    rig_expect_effects(rig, "1 abort");
    check_str(rig_last(rig, 1, EVENT_AGENT_IDLE)->kind, "model");
    rig_fail(rig, 1, ERR_CANCELLED, "aborted");
    assert_int_equal(rig_agent(rig, 1)->attempt, 1);
    assert_int_equal(rig_agent(rig, 1)->phase, PHASE_ASKING);
}

static void without_another_attempt_the_child_fails_and_says_where_it_waited(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_retries = 0;
    one_child(rig);
    silent(rig, 1, rig_agent(rig, 1)->request_id, 5200);
    rig_fail(rig, 1, ERR_CANCELLED, "aborted");
    const struct event *failed = rig_last(rig, 1, EVENT_SUBAGENT_FAILED);
    check_str(failed->outcome, "timeout");
    rig_contains(failed->error, "idle: nothing came for 5.2 s from its model");
}

static void a_silent_tool_is_named(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_retries = 0;
    one_child(rig);
    CALLS(rig, 1, {"grep", "{\"pattern\":\"a\"}"});
    silent(rig, 1, rig_call_id(rig, 1, 0), LIMIT);
    rig_result(rig, 1, 0, "late");
    rig_contains(rig_last(rig, 1, EVENT_SUBAGENT_FAILED)->error,
                 "idle: nothing came for 5.0 s from the tool grep");
}

static void shorter_silence_is_none(void **state)
{
    struct rig *rig = *state;
    one_child(rig);
    silent(rig, 1, rig_agent(rig, 1)->request_id, LIMIT - 1);
    rig_expect_nothing(rig);
}

static void a_root_is_never_idle(void **state)
{
    struct rig *rig = *state;
    begin(rig);
    rig_skip(rig);
    silent(rig, 0, rig_agent(rig, 0)->request_id, 10 * LIMIT);
    rig_expect_nothing(rig);
}

static void without_the_setting_nobody_is_idle(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("x"));
    rig_skip(rig);
    silent(rig, 1, rig_agent(rig, 1)->request_id, 10 * LIMIT);
    rig_expect_nothing(rig);
}

static void silence_of_something_that_has_ended_changes_nothing(void **state)
{
    struct rig *rig = *state;
    one_child(rig);
    struct str request = rig_agent(rig, 1)->request_id;
    request = arena_copy(&rig->arena, request);
    CALLS(rig, 1, {"read", "{\"path\":\"a\"}"}, {"read", "{\"path\":\"b\"}"});
    rig_result(rig, 1, 0, "text");
    rig_skip(rig);
    silent(rig, 1, request, LIMIT);
    silent(rig, 1, rig_call_id(rig, 1, 0), LIMIT);
    silent(rig, 1, STR("c999_9"), LIMIT);
    silent(rig, 99, STR("m1"), LIMIT);
    rig_expect_nothing(rig);
}

static void who_awaits_children_is_not_idle(void **state)
{
    struct rig *rig = *state;
    one_child(rig);
    CALLS(rig, 1, {"read", "{\"path\":\"a\"}"}, SPAWN("y"));
    rig_skip(rig);
    silent(rig, 1, rig_call_id(rig, 1, 0), LIMIT);
    silent(rig, 1, rig_call_id(rig, 1, 1), LIMIT);
    rig_expect_nothing(rig);
    rig_say(rig, 2, "done");
    rig_skip(rig);
    silent(rig, 1, rig_call_id(rig, 1, 0), LIMIT);
    rig_expect(rig, "1 agent.idle, 1 agent.stopping");
}

static void who_is_being_stopped_is_not_idle_as_well(void **state)
{
    struct rig *rig = *state;
    one_child(rig);
    rig_inbox(rig, "cancel", "{}");
    rig_skip(rig);
    silent(rig, 1, rig_agent(rig, 1)->request_id, LIMIT);
    rig_expect_nothing(rig);
}

static void a_crash_while_an_idle_attempt_ends_is_carried_through(void **state)
{
    struct rig *rig = *state;
    one_child(rig);
    silent(rig, 1, rig_agent(rig, 1)->request_id, LIMIT);
    rig_crash(rig, 1000);
    assert_int_equal(rig_agent(rig, 1)->attempt, 1);
}

static void the_time_is_a_term_of_the_contract(void **state)
{
    struct rig *rig = *state;
    one_child(rig);
    rig_contains(rig_last(rig, 1, EVENT_SUBAGENT_CREATED)->contract, "\"idle_timeout_ms\":5000");
    assert_int_equal(rig_agent(rig, 0)->contract.execution.idle_timeout_ms, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_silent_model_ends_the_attempt_like_a_timeout),
        RIG_TEST(without_another_attempt_the_child_fails_and_says_where_it_waited),
        RIG_TEST(a_silent_tool_is_named),
        RIG_TEST(shorter_silence_is_none),
        RIG_TEST(a_root_is_never_idle),
        RIG_TEST(without_the_setting_nobody_is_idle),
        RIG_TEST(silence_of_something_that_has_ended_changes_nothing),
        RIG_TEST(who_awaits_children_is_not_idle),
        RIG_TEST(who_is_being_stopped_is_not_idle_as_well),
        RIG_TEST(a_crash_while_an_idle_attempt_ends_is_carried_through),
        RIG_TEST(the_time_is_a_term_of_the_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
