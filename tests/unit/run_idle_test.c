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
    rig_contains(failed->error,
                 "no sign of life for 5.2 s from its model: sub_agent.idle_timeout_ms");
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
                 "no sign of life for 5.0 s from the tool grep: sub_agent.idle_timeout_ms");
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

/* --- limits that nobody set ------------------------------------------------------------------------- */

#define BUILT_IN 60000

static void one_default_child(struct rig *rig)
{
    rig->settings.max_retries = 0;
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("x"));
    rig_skip(rig);
}

static void an_answer_that_stops_half_way_is_ended_by_the_built_in_limit(void **state)
{
    struct rig *rig = *state;
    one_default_child(rig);
    silent(rig, 1, rig_agent(rig, 1)->request_id, BUILT_IN - 1);
    rig_expect_nothing(rig);
    silent(rig, 1, rig_agent(rig, 1)->request_id, BUILT_IN);
    rig_expect(rig, "1 agent.idle, 1 agent.stopping");
    rig_fail(rig, 1, ERR_CANCELLED, "aborted");
    rig_contains(rig_last(rig, 1, EVENT_SUBAGENT_FAILED)->error,
                 "no sign of life for 60.0 s from its model: sub_agent.default_budget.timeout_ms");
}

static void the_limit_of_a_role_is_named_as_such(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_retries = 0;
    rig_open_doors(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, {"spawn_agent", "{\"task\":\"x\",\"role\":\"reviewer\"}"});
    silent(rig, 1, rig_agent(rig, 1)->request_id, BUILT_IN);
    assert_int_equal(rig_agent(rig, 1)->stopping, OUTCOME_NONE);
    silent(rig, 1, rig_agent(rig, 1)->request_id, 300000);
    rig_fail(rig, 1, ERR_CANCELLED, "aborted");
    rig_contains(rig_last(rig, 1, EVENT_SUBAGENT_FAILED)->error, "from its model: its role");
}

static void a_running_tool_has_only_its_own_limit(void **state)
{
    struct rig *rig = *state;
    one_default_child(rig);
    CALLS(rig, 1, {"grep", "{\"pattern\":\"a\"}"});
    rig_skip(rig);
    silent(rig, 1, rig_call_id(rig, 1, 0), 3 * BUILT_IN);
    rig_expect_nothing(rig);
}

static void time_alone_does_not_end_a_child_whose_limit_nobody_set(void **state)
{
    struct rig *rig = *state;
    one_default_child(rig);
    rig_pass(rig, 5 * BUILT_IN);
    assert_int_equal(rig_agent(rig, 1)->phase, PHASE_ASKING);
    assert_int_equal(rig_agent(rig, 1)->stopping, OUTCOME_NONE);
}

static void the_whole_ends_at_max_wall_ms_whatever_comes(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_wall_ms = 200000;
    one_default_child(rig);
    rig_pass(rig, 199999);
    assert_int_equal(rig_agent(rig, 1)->stopping, OUTCOME_NONE);
    rig_pass(rig, 1);
    rig_fail(rig, 1, ERR_CANCELLED, "aborted");
    rig_contains(rig_last(rig, 1, EVENT_SUBAGENT_FAILED)->error,
                 "wall time of 200000 ms is used up: sub_agent.max_wall_ms");
}

static void a_parents_deadline_bounds_the_whole_and_is_named(void **state)
{
    struct rig *rig = *state;
    one_default_child(rig);
    CALLS(rig, 1, SPAWN("y"));
    rig->now += 1000;
    rig_say(rig, 2, "done");
    CALLS(rig, 1, SPAWN("z"));
    assert_int_equal(rig_agent(rig, 3)->contract.execution.max_wall_ms, 899000);
    assert_int_equal(rig_agent(rig, 3)->contract.execution.budget.wall_ms, UNLIMITED);
}

static void silence_ends_an_attempt_and_the_next_one_begins(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("x"));
    silent(rig, 1, rig_agent(rig, 1)->request_id, BUILT_IN);
    rig_fail(rig, 1, ERR_CANCELLED, "aborted");
    assert_int_equal(rig_agent(rig, 1)->attempt, 1);
    assert_int_equal(rig_agent(rig, 1)->phase, PHASE_ASKING);
}

/* A contract of version 1 knows walls only, whatever the settings of its run mean today. */
static void a_contract_of_version_1_keeps_its_walls(void **state)
{
    struct rig *rig = *state;
    struct contract contract = {0};
    struct err err = ERR_INIT;
    struct buf text;
    rig_walls(rig);
    one_default_child(rig);
    struct contract old = rig_agent(rig, 1)->contract;
    old.version = 1;
    old.execution.max_wall_ms = old.execution.idle_timeout_ms = 0;
    buf_init(&text, CONTRACT_BYTES_MAX);
    contract_print(&old, &text);
    assert_int_equal(contract_parse(&rig->arena, buf_view(&text), &contract, &err), 0);
    buf_release(&text);
    assert_int_equal(contract_deadline_ms(&contract), 60000);
    assert_int_equal(contract.execution.attempt_timeout_ms, 90000);
    assert_int_equal(contract.execution.idle_timeout_ms, 0);
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
        RIG_TEST(an_answer_that_stops_half_way_is_ended_by_the_built_in_limit),
        RIG_TEST(the_limit_of_a_role_is_named_as_such),
        RIG_TEST(a_running_tool_has_only_its_own_limit),
        RIG_TEST(time_alone_does_not_end_a_child_whose_limit_nobody_set),
        RIG_TEST(the_whole_ends_at_max_wall_ms_whatever_comes),
        RIG_TEST(a_parents_deadline_bounds_the_whole_and_is_named),
        RIG_TEST(silence_ends_an_attempt_and_the_next_one_begins),
        RIG_TEST(a_contract_of_version_1_keeps_its_walls),
        RIG_TEST(silence_of_something_that_has_ended_changes_nothing),
        RIG_TEST(who_awaits_children_is_not_idle),
        RIG_TEST(who_is_being_stopped_is_not_idle_as_well),
        RIG_TEST(a_crash_while_an_idle_attempt_ends_is_carried_through),
        RIG_TEST(the_time_is_a_term_of_the_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
