/* Agents whose contract has outputs.checks: when they run, what a failure leads to, and that no work counts which does not pass. */
#include "run_fixture.h"

static struct str commands[] = {STR("make test"), STR("make lint")};
static struct role_checks of_all[] = {{STR(""), {LIST_SET, commands, 2}}};

static void with_checks(struct rig *rig)
{
    rig->settings.role_checks = of_all;
    rig->settings.role_checks_count = 1;
    rig->settings.mode = MODE_DANGEROUS;
    rig_open_doors(rig);
    rig_start(rig, "do it");
    rig_skip(rig);
}

/* A root whose first reply starts a child, number 1, whose work must pass. */
static void begin(struct rig *rig)
{
    with_checks(rig);
    CALLS(rig, 0, SPAWN("build"));
    rig_skip(rig);
}

static void checked(struct rig *rig, uint32_t agent_no, enum checked result, const char *text)
{
    struct input input = {.kind = INPUT_CHECKED,
                          .agent_no = agent_no,
                          .call_id = rig_effect(rig, agent_no, EFFECT_CHECK)->call_id,
                          .checked = result,
                          .text = str_from(text),
                          .evidence = STR("[{\"check\":\"make test\",\"passed\":true}]")};
    rig_input(rig, &input);
}

static void checks_run_when_the_agent_has_answered_and_then_it_is_done(void **state)
{
    struct rig *rig = *state;
    begin(rig);
    rig_say(rig, 1, "built");
    rig_expect(rig, "1 model.replied, 1 agent.checking");
    rig_expect_effects(rig, "1 check");
    check_str(rig_effect(rig, 1, EFFECT_CHECK)->arguments, "[\"make test\",\"make lint\"]");
    assert_int_equal(rig_effect(rig, 1, EFFECT_CHECK)->class, EFFECT_OUTWARD);
    assert_int_equal(rig_agent(rig, 1)->phase, PHASE_CHECKING);
    rig_skip(rig);
    checked(rig, 1, CHECKED_OK, "");
    check_str(rig_last(rig, 1, EVENT_SUBAGENT_WAITING)->response, "built");
    assert_int_equal(rig_agent(rig, 1)->outcome, OUTCOME_COMPLETED);
    rig_contains(rig_last(rig, 1, EVENT_SUBAGENT_CLOSED)->result,
                 "\"checks\":[{\"check\":\"make test\",\"passed\":true}]");
}

static void the_first_message_names_the_checks(void **state)
{
    struct rig *rig = *state;
    begin(rig);
    rig_contains(rig_agent(rig, 1)->messages[1].text, "- make test\n- make lint\n");
}

static void a_failure_is_told_and_corrected_twice_and_then_an_error(void **state)
{
    struct rig *rig = *state;
    begin(rig);
    for (int i = 0; i < 2; i++) {
        rig_say(rig, 1, "built");
        rig_skip(rig);
        checked(rig, 1, CHECKED_FAILED, "Error: the check \"make test\" failed: exit code 2");
        rig_expect(rig, "1 agent.checked, 1 agent.message, 1 model.requested");
        rig_contains(rig_last(rig, 1, EVENT_AGENT_MESSAGE)->text, "exit code 2");
    }
    rig_say(rig, 1, "still built");
    checked(rig, 1, CHECKED_FAILED, "Error: the check \"make test\" failed: exit code 2");
    const struct event *failed = rig_last(rig, 1, EVENT_SUBAGENT_FAILED);
    check_str(failed->outcome, "error");
    rig_contains(failed->error, "its work does not pass its checks: Error: the check");
    check_str(failed->response, "still built");
    assert_int_equal(rig_agent(rig, 1)->attempt, 0);
}

static void a_correction_that_helps_completes(void **state)
{
    struct rig *rig = *state;
    begin(rig);
    rig_say(rig, 1, "built");
    checked(rig, 1, CHECKED_FAILED, "no");
    rig_say(rig, 1, "built well");
    checked(rig, 1, CHECKED_OK, "");
    check_str(rig_agent(rig, 1)->response, "built well");
    assert_int_equal(rig_agent(rig, 1)->outcome, OUTCOME_COMPLETED);
}

static void checks_that_cannot_be_run_are_an_error_at_once(void **state)
{
    struct rig *rig = *state;
    begin(rig);
    rig_say(rig, 1, "built");
    checked(rig, 1, CHECKED_NOT_RUN, "Error: no sandbox");
    rig_contains(rig_last(rig, 1, EVENT_SUBAGENT_FAILED)->error,
                 "its checks could not be run: Error: no sandbox");
}

static void a_child_that_cannot_change_anything_has_no_checks_of_all_children(void **state)
{
    struct rig *rig = *state;
    with_checks(rig);
    CALLS(rig, 0, {"spawn_agent", "{\"task\":\"look\",\"role\":\"reviewer\"}"});
    assert_int_equal(rig_agent(rig, 1)->contract.outputs.checks.n, 0);
    rig_say(rig, 1, "seen");
    assert_int_equal(rig_agent(rig, 1)->outcome, OUTCOME_COMPLETED);
}

static void a_roles_own_list_holds_in_their_place(void **state)
{
    struct rig *rig = *state;
    static struct str own[] = {STR("true")};
    static struct role_checks both[] = {{STR(""), {LIST_SET, commands, 2}},
                                        {STR("executor"), {LIST_SET, own, 1}},
                                        {STR("tester"), {LIST_SET, NULL, 0}}};
    rig->settings.role_checks = both;
    rig->settings.role_checks_count = 3;
    rig_open_doors(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, {"spawn_agent", "{\"task\":\"a\",\"role\":\"executor\"}"},
          {"spawn_agent", "{\"task\":\"b\",\"role\":\"tester\"}"}, SPAWN("c"));
    assert_int_equal(rig_agent(rig, 1)->contract.outputs.checks.n, 1);
    assert_int_equal(rig_agent(rig, 2)->contract.outputs.checks.n, 0);
    assert_int_equal(rig_agent(rig, 3)->contract.outputs.checks.n, 2);
}

static void a_timeout_stops_the_checks_and_no_late_answer_counts(void **state)
{
    struct rig *rig = *state;
    rig_walls(rig);
    rig->settings.max_retries = 0;
    begin(rig);
    rig_say(rig, 1, "built");
    rig_skip(rig);
    rig_pass(rig, 60000);
    rig_expect(rig, "1 timer.fired, 1 agent.stopping");
    rig_expect_effects(rig, "1 abort");
    checked(rig, 1, CHECKED_OK, "");
    check_str(rig_last(rig, 1, EVENT_SUBAGENT_FAILED)->outcome, "timeout");
    check_str(rig_last(rig, 1, EVENT_SUBAGENT_FAILED)->response, "built");
    rig_skip(rig);
    checked(rig, 1, CHECKED_OK, "");
    rig_expect_nothing(rig);
}

static void after_a_crash_the_checks_run_again(void **state)
{
    struct rig *rig = *state;
    begin(rig);
    rig_say(rig, 1, "built");
    rig_skip(rig);
    struct str lost = rig_effect(rig, 1, EFFECT_CHECK)->call_id;
    rig_crash(rig, 1000);
    assert_false(str_eq(lost, rig_effect(rig, 1, EFFECT_CHECK)->call_id));
    checked(rig, 1, CHECKED_OK, "");
    assert_int_equal(rig_agent(rig, 1)->outcome, OUTCOME_COMPLETED);
}

static void a_crash_while_it_is_stopped_leaves_nothing_waiting(void **state)
{
    struct rig *rig = *state;
    rig_walls(rig);
    rig->settings.max_retries = 0;
    begin(rig);
    rig_say(rig, 1, "built");
    rig_pass(rig, 60000);
    rig_crash(rig, 1000);
    check_str(rig_last(rig, 1, EVENT_SUBAGENT_FAILED)->outcome, "timeout");
}

static void another_attempt_is_checked_anew(void **state)
{
    struct rig *rig = *state;
    rig->settings.attempt_timeout_ms = 20000;
    begin(rig);
    rig_say(rig, 1, "built");
    checked(rig, 1, CHECKED_FAILED, "no");
    rig_pass(rig, 20000);
    rig_fail(rig, 1, ERR_CANCELLED, "stopped");
    assert_int_equal(rig_agent(rig, 1)->attempt, 1);
    assert_int_equal(rig_agent(rig, 1)->corrections, 0);
    rig_say(rig, 1, "built again");
    checked(rig, 1, CHECKED_OK, "");
    assert_int_equal(rig_agent(rig, 1)->outcome, OUTCOME_COMPLETED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(checks_run_when_the_agent_has_answered_and_then_it_is_done),
        RIG_TEST(the_first_message_names_the_checks),
        RIG_TEST(a_failure_is_told_and_corrected_twice_and_then_an_error),
        RIG_TEST(a_correction_that_helps_completes),
        RIG_TEST(checks_that_cannot_be_run_are_an_error_at_once),
        RIG_TEST(a_child_that_cannot_change_anything_has_no_checks_of_all_children),
        RIG_TEST(a_roles_own_list_holds_in_their_place),
        RIG_TEST(a_timeout_stops_the_checks_and_no_late_answer_counts),
        RIG_TEST(after_a_crash_the_checks_run_again),
        RIG_TEST(a_crash_while_it_is_stopped_leaves_nothing_waiting),
        RIG_TEST(another_attempt_is_checked_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
