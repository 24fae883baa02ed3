/* The circuit breaker of a root whose user can be asked, and turns that repeat themselves. */
#include <stdio.h>

#include "run_fixture.h"

static const char *const files[] = {"{\"path\":\"0\"}", "{\"path\":\"1\"}", "{\"path\":\"2\"}",
                                    "{\"path\":\"3\"}", "{\"path\":\"4\"}"};

static void read_once(struct rig *rig, uint32_t no, const char *arguments)
{
    CALLS(rig, no, {"read", arguments});
    rig_result(rig, no, 0, "fine");
}

/* A root on a terminal that is asked after two calls and stops after four. */
static void start_watched(struct rig *rig)
{
    rig->asker = ASKER_TERMINAL;
    rig->settings.pause_at = 2;
    rig->settings.hard_stop_at = 4;
    rig_start(rig, "do it");
    rig_skip(rig);
}

static void answer(struct rig *rig, const char *word)
{
    char body[160];
    const struct event *asked = rig_last(rig, 0, EVENT_RUN_PAUSED);
    assert_non_null(asked);
    snprintf(body, sizeof body, "{\"agent_no\":0,\"call_id\":\"%.*s\",\"answer\":\"%s\"}",
             STR_FMT(asked->call_id), word);
    rig_inbox(rig, "approve", body);
}

static void pause_it(struct rig *rig)
{
    start_watched(rig);
    read_once(rig, 0, files[0]);
    CALLS(rig, 0, {"read", files[1]});
    rig_skip(rig);
    rig_result(rig, 0, 0, "fine");
}

static void a_root_on_a_terminal_is_asked_before_the_turn_behind_pause_at(void **state)
{
    struct rig *rig = *state;
    pause_it(rig);
    rig_expect(rig, "0 tool.finished, 0 run.paused");
    rig_expect_effects(rig, "0 ask");
    assert_int_equal(rig_last(rig, 0, EVENT_RUN_PAUSED)->count, 2);
    check_str(rig_effect(rig, 0, EFFECT_ASK)->arguments, "{\"tool_calls\":2,\"hard_stop_at\":4}");
    rig_pass(rig, 1000);
    rig_expect_nothing(rig);
}

static void yes_goes_on_to_the_hard_stop_and_asks_no_more(void **state)
{
    struct rig *rig = *state;
    pause_it(rig);
    rig_skip(rig);
    answer(rig, "yes");
    rig_expect(rig, "0 inbox.taken, 0 run.unpaused, 0 model.requested");
    check_str(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->tools, "offered");
    read_once(rig, 0, files[2]);
    read_once(rig, 0, files[3]);
    assert_int_equal(rig_count(rig, EVENT_RUN_PAUSED), 1);
    check_str(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->tools, "kept");
    assert_int_equal(rig_agent(rig, 0)->account.tool_calls, 4);
}

static void no_gives_one_last_turn(void **state)
{
    struct rig *rig = *state;
    pause_it(rig);
    rig_skip(rig);
    answer(rig, "no");
    rig_expect(rig, "0 inbox.taken, 0 run.unpaused, 0 agent.message, 0 model.requested");
    check_str(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->tools, "kept");
    rig_say(rig, 0, "as far as I got");
    assert_int_equal(run_state(rig->run), RUN_FAILED);
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->error,
              "the budget is used up: 2 tool calls (safety.circuit_breaker.pause_at)");
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->outcome, "budget_exceeded");
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->response, "as far as I got");
}

static void calls_of_one_reply_beyond_pause_at_wait_for_the_answer(void **state)
{
    struct rig *rig = *state;
    start_watched(rig);
    CALLS(rig, 0, {"read", files[0]}, {"read", files[1]}, {"read", files[2]});
    rig_expect(rig, "0 model.replied, 0 tool.requested, 0 tool.requested, "
                    "0 run.paused");
    rig_expect_effects(rig, "0 tool read, 0 tool read, 0 ask");
    rig_result(rig, 0, 0, "fine");
    rig_result(rig, 0, 1, "fine");
    rig_expect(rig, "0 tool.finished, 0 tool.finished");
    answer(rig, "yes");
    rig_expect(rig, "0 inbox.taken, 0 run.unpaused, 0 tool.requested");
    rig_expect_effects(rig, "0 tool read");
}

static void after_a_no_they_are_refused_uncounted(void **state)
{
    struct rig *rig = *state;
    start_watched(rig);
    CALLS(rig, 0, {"read", files[0]}, {"read", files[1]}, {"read", files[2]});
    rig_result(rig, 0, 0, "fine");
    rig_result(rig, 0, 1, "fine");
    rig_skip(rig);
    answer(rig, "no");
    rig_expect(rig, "0 inbox.taken, 0 run.unpaused, 0 tool.finished, 0 agent.message, "
                    "0 model.requested");
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "budget of 2 tool calls is used up");
    assert_int_equal(rig_agent(rig, 0)->account.tool_calls, 2);
}

static void after_a_crash_the_question_is_asked_again_and_the_old_answer_is_good(void **state)
{
    struct rig *rig = *state;
    pause_it(rig);
    rig_skip(rig);
    rig_crash(rig, 5000);
    rig_expect(rig, "0 run.resumed");
    rig_expect_effects(rig, "0 ask");
    answer(rig, "yes");
    rig_expect(rig, "0 inbox.taken, 0 run.unpaused, 0 model.requested");
    answer(rig, "no"); /* a second answer changes nothing */
    rig_expect(rig, "0 inbox.taken");
}

static void a_paused_root_can_be_cancelled(void **state)
{
    struct rig *rig = *state;
    pause_it(rig);
    rig_skip(rig);
    rig_inbox(rig, "cancel", "{}");
    rig_expect(rig, "0 inbox.taken, 0 agent.stopping, 0 run.cancelled");
}

static void the_deadline_of_a_paused_root_stands_still_until_it_is_answered(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.wall_ms = 60000;
    pause_it(rig);
    rig_skip(rig);
    rig_pass(rig, 10 * 60000);
    rig_expect(rig, "");
    answer(rig, "yes");
    assert_true(rig_agent(rig, 0)->spent.ms[SPENT_ANSWER] > 50000);
    rig_skip(rig);
    rig_pass(rig, 60000);
    rig_expect(rig, "0 timer.fired, 0 agent.stopping");
}

static void children_of_a_paused_root_go_on_to_their_end(void **state)
{
    struct rig *rig = *state;
    start_watched(rig);
    read_once(rig, 0, files[0]);
    CALLS(rig, 0, SPAWN("x"), {"read", files[1]});
    rig_skip(rig);
    read_once(rig, 1, files[2]);
    rig_say(rig, 1, "done");
    rig_expect(rig, "1 model.replied, 1 tool.requested, 1 tool.finished, "
                    "1 model.requested, 1 model.replied, "
                    "1 agent.subagent_waiting_for_merge, 1 agent.subagent_completed, "
                    "1 agent.subagent_closed, 0 tool.finished");
    answer(rig, "yes");
    rig_expect(rig, "0 inbox.taken, 0 run.unpaused, 0 tool.requested");
}

static void a_child_has_no_breaker_of_its_own(void **state)
{
    struct rig *rig = *state;
    rig->asker = ASKER_TERMINAL;
    rig->settings.warn_at = 1;
    rig->settings.pause_at = 2;
    rig_start(rig, "do it");
    CALLS(rig, 0, {"spawn_agent", "{\"task\":\"x\",\"max_tool_calls\":50}"});
    for (int i = 0; i < 5; i++)
        read_once(rig, 1, files[i]);
    assert_int_equal(rig_count(rig, EVENT_RUN_PAUSED), 0);
    assert_int_equal(rig_count(rig, EVENT_BUDGET_WARNED), 0);
    assert_int_equal(rig_agent(rig, 1)->account.tool_calls, 5);
}

static void four_identical_turns_stop_a_root_and_three_do_not(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    for (int i = 0; i < 3; i++)
        read_once(rig, 0, files[0]);
    read_once(rig, 0, files[1]);
    for (int i = 0; i < 3; i++)
        read_once(rig, 0, files[0]);
    assert_int_equal(run_state(rig->run), RUN_RUNNING);
    CALLS(rig, 0, {"read", files[0]});
    assert_int_equal(run_state(rig->run), RUN_FAILED);
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->error, "four identical turns");
    assert_int_equal(rig_agent(rig, 0)->account.tool_calls, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_root_on_a_terminal_is_asked_before_the_turn_behind_pause_at),
        RIG_TEST(yes_goes_on_to_the_hard_stop_and_asks_no_more),
        RIG_TEST(no_gives_one_last_turn),
        RIG_TEST(calls_of_one_reply_beyond_pause_at_wait_for_the_answer),
        RIG_TEST(after_a_no_they_are_refused_uncounted),
        RIG_TEST(after_a_crash_the_question_is_asked_again_and_the_old_answer_is_good),
        RIG_TEST(a_paused_root_can_be_cancelled),
        RIG_TEST(the_deadline_of_a_paused_root_stands_still_until_it_is_answered),
        RIG_TEST(children_of_a_paused_root_go_on_to_their_end),
        RIG_TEST(a_child_has_no_breaker_of_its_own),
        RIG_TEST(four_identical_turns_stop_a_root_and_three_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
