/* A new owner takes the log over: every kind of thing that can be under way is settled by its rule, once. */
#include "run_fixture.h"

#include <stdio.h>

#define HOUR 3600000

static void a_request_that_was_out_is_asked_again_and_counts_as_spent(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 20000;
    rig_start(rig, "do it");
    int64_t reserved = rig_last(rig, 0, EVENT_BUDGET_RESERVED)->tokens;
    rig_skip(rig);
    rig_crash(rig, HOUR);
    rig_expect(rig, "0 run.resumed, 0 model.failed, 0 budget.settled, 0 model.requested, "
                    "0 budget.reserved");
    rig_expect_effects(rig, "0 model");
    assert_int_equal(rig_agent(rig, 0)->account.spent.tokens, reserved);
    assert_int_equal(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->attempt, 0);
    assert_int_equal(rig_agent(rig, 0)->tries, 0);
}

static void a_child_that_was_asking_keeps_its_attempt(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("x"));
    rig_skip(rig);
    rig_crash(rig, HOUR);
    rig_expect(rig, "0 run.resumed, 1 model.failed, 1 model.requested");
    rig_expect_effects(rig, "1 model");
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_ATTEMPT), 1);
    assert_int_equal(rig_agent(rig, 1)->attempt, 0);
}

static void an_interrupted_request_is_not_a_turn(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.turns = 3;
    rig_start(rig, "do it");
    rig_crash(rig, HOUR);
    rig_crash(rig, HOUR);
    CALLS(rig, 0, {"read", "{\"path\":\"a\"}"});
    rig_result(rig, 0, 0, "fine");
    check_str(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->tools, "offered");
}

static void an_answer_to_the_old_request_changes_nothing(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    struct str old = rig_effect(rig, 0, EFFECT_MODEL)->call_id;
    rig_crash(rig, HOUR);
    rig_skip(rig);
    struct model_reply reply = {.text = STR("late"), .usage = USAGE_NONE, .first_token_ms = -1};
    struct input input = {.kind = INPUT_REPLY, .call_id = old, .reply = &reply};
    rig_input(rig, &input);
    rig_expect_nothing(rig);
}

static void a_read_runs_again(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    CALLS(rig, 0, {"read", "{\"path\":\"a\"}"}, {"read", "{\"path\":\"b\"}"});
    rig_result(rig, 0, 0, "fine");
    rig_skip(rig);
    rig_crash(rig, HOUR);
    rig_expect(rig, "0 run.resumed");
    rig_expect_effects(rig, "0 tool read");
    rig_result(rig, 0, 1, "fine");
    assert_int_equal(rig_agent(rig, 0)->account.tool_calls, 2);
}

static void write_one(struct rig *rig)
{
    rig_start(rig, "do it");
    CALLS(rig, 0, {"write", "{\"path\":\"a\",\"content\":\"x\"}"});
}

static void a_write_that_was_not_prepared_yet_is_prepared_again(void **state)
{
    struct rig *rig = *state;
    write_one(rig);
    rig_skip(rig);
    rig_crash(rig, HOUR);
    rig_expect(rig, "0 run.resumed");
    rig_expect_effects(rig, "0 prepare write");
}

static void a_prepared_write_is_settled_by_looking_at_the_file(void **state)
{
    struct rig *rig = *state;
    write_one(rig);
    rig_prepared(rig, 0, 0, "a");
    rig_skip(rig);
    rig_crash(rig, HOUR);
    rig_expect(rig, "0 run.resumed");
    rig_expect_effects(rig, "0 settle write");
    const struct effect *settle = rig_effect(rig, 0, EFFECT_SETTLE);
    check_str(settle->path, "a");
    check_str(settle->before, "absent");
    check_str(settle->after, "00ff");
    struct input input = {.kind = INPUT_LOST,
                          .call_id = rig_call_id(rig, 0, 0),
                          .text = STR("Error: outcome unknown")};
    rig_input(rig, &input);
    rig_expect(rig, "0 tool.interrupted, 0 model.requested");
}

static void shell_question(struct rig *rig)
{
    rig->asker = ASKER_TERMINAL;
    rig_start(rig, "do it");
    CALLS(rig, 0, {"shell", "{\"command\":\"true\"}"});
}

static void say_yes(struct rig *rig)
{
    char body[256];
    struct str id = rig_call_id(rig, 0, 0);
    snprintf(body, sizeof body,
             "{\"agent_no\":0,\"call_id\":\"%.*s\",\"answer\":\"yes\",\"shown\":\"" RIG_SHOWN "\"}",
             STR_FMT(id));
    rig_inbox(rig, "approve", body);
}

static void an_open_question_is_put_again(void **state)
{
    struct rig *rig = *state;
    shell_question(rig);
    rig_skip(rig);
    rig_crash(rig, HOUR);
    rig_expect(rig, "0 run.resumed, 0 permission.asked");
    rig_expect_effects(rig, "0 ask shell");
    say_yes(rig);
    rig_expect_effects(rig, "0 tool shell");
}

static void an_outward_call_is_never_repeated(void **state)
{
    struct rig *rig = *state;
    shell_question(rig);
    say_yes(rig);
    rig_skip(rig);
    rig_crash(rig, HOUR);
    rig_expect(rig, "0 run.resumed, 0 tool.interrupted, 0 model.requested");
    rig_expect_effects(rig, "0 model");
    const struct agent *root = rig_agent(rig, 0);
    rig_contains(root->messages[root->message_count - 1].text, "outcome unknown");
}

static void context_files_are_gathered_again(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    CALLS(rig, 0, {"spawn_agent", "{\"task\":\"x\",\"context_files\":[\"f\"]}"});
    rig_skip(rig);
    rig_crash(rig, HOUR);
    rig_expect(rig, "0 run.resumed");
    rig_expect_effects(rig, "0 gather read");
}

static void calls_that_had_not_started_start_when_their_turn_comes(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    CALLS(rig, 0, {"read", "{\"path\":\"a\"}"}, {"write", "{\"path\":\"a\",\"content\":\"\"}"});
    rig_skip(rig);
    rig_crash(rig, HOUR);
    rig_expect_effects(rig, "0 tool read");
    rig_result(rig, 0, 0, "fine");
    rig_expect_effects(rig, "0 prepare write");
}

static void a_child_that_had_no_slot_gets_one_later(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_concurrent = 1;
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("one"), SPAWN("two"));
    rig_skip(rig);
    rig_crash(rig, HOUR);
    rig_expect_effects(rig, "1 model");
    rig_say(rig, 1, "done");
    rig_expect_effects(rig, "2 model");
}

static void who_waited_for_budget_still_waits(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 3400;
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("one"), SPAWN("two"));
    assert_int_equal(rig_count(rig, EVENT_BUDGET_WAITING), 1);
    rig_crash(rig, HOUR);
    rig_say(rig, 1, "done");
    while (run_state(rig->run) == RUN_RUNNING) {
        const struct agent *two = rig_agent(rig, 2);
        if (two->phase == PHASE_ASKING)
            rig_say(rig, 2, "done");
        else if (rig_agent(rig, 0)->phase == PHASE_ASKING)
            rig_say(rig, 0, "done");
        else
            fail_msg("nobody asks and the run goes on");
    }
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CLOSED), 2);
}

static void a_resume_waits_only_the_rest_of_what_the_server_asked_for(void **state)
{
    struct rig *rig = *state;
    struct model_failure failure = {.class = ERR_RETRY,
                                    .http_status = 429,
                                    .retry_after_ms = 9000,
                                    .message = STR("slow down"),
                                    .usage = USAGE_NONE};
    rig_start(rig, "do it");
    rig_failure(rig, 0, &failure);
    rig_skip(rig);
    rig_crash(rig, 8000);
    rig_expect(rig, "0 run.resumed");
    rig_pass(rig, 999);
    rig_expect_nothing(rig);
    rig_pass(rig, 1);
    rig_expect(rig, "0 timer.fired, 0 model.requested");
}

static void time_without_an_owner_is_not_the_agents_time(void **state)
{
    struct rig *rig = *state;
    rig_walls(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("x"));
    rig->now += 50000;
    CALLS(rig, 1, {"read", "{\"path\":\"a\"}"}); /* the last thing in the log */
    rig_skip(rig);
    rig_crash(rig, HOUR);
    rig_pass(rig, 9999);
    rig_expect(rig, "0 run.resumed");
    rig_pass(rig, 1);
    rig_expect(rig, "1 timer.fired, 1 agent.stopping");
}

static void time_in_which_the_last_owner_lived_counts(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.wall_ms = 10000;
    rig_start(rig, "do it"); /* a request is out when the process ends */
    rig_crash_later(rig, 4000, HOUR);
    rig_skip(rig);
    rig_pass(rig, 5999);
    rig_expect_nothing(rig);
    rig_pass(rig, 1);
    rig_expect(rig, "0 timer.fired, 0 agent.stopping");
}

static void a_sign_of_life_before_the_last_event_gives_nothing_back(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.wall_ms = 10000;
    rig_start(rig, "do it");
    rig->now += 4000;
    CALLS(rig, 0, {"read", "{\"path\":\"a\"}"});
    rig->now -= 3000; /* renewed before that, so the sign of life is the older one */
    rig_crash_later(rig, 0, HOUR);
    rig_skip(rig);
    assert_int_equal(rig_agent(rig, 0)->timers[TIMER_WALL], rig->now + 6000);
}

/* --- a machine that sleeps ------------------------------------------------------------------------- */

static void a_sleep_is_logged_and_moves_no_deadline(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.wall_ms = 10000;
    rig_start(rig, "do it");
    rig_skip(rig);
    rig_pass(rig, 4000);
    rig_sleep(rig, HOUR);
    rig_expect(rig, "0 run.slept");
    assert_int_equal(rig_last(rig, 0, EVENT_RUN_SLEPT)->slept_ms, HOUR);
    rig_pass(rig, 5999);
    rig_expect_nothing(rig);
    rig_pass(rig, 1);
    rig_expect(rig, "0 timer.fired, 0 agent.stopping");
}

static void a_sleep_before_a_crash_is_not_the_agents_time(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.wall_ms = 10000;
    rig_start(rig, "do it"); /* a request is out all the time */
    rig_pass(rig, 1000);
    rig_sleep(rig, HOUR);
    rig_pass(rig, 1000);
    rig_sleep(rig, 2 * HOUR);
    rig_crash_later(rig, 4000, HOUR);
    rig_skip(rig);
    rig_pass(rig, 3999);
    rig_expect_nothing(rig);
    rig_pass(rig, 1);
    rig_expect(rig, "0 timer.fired, 0 agent.stopping");
}

static void a_sleep_counts_for_the_owner_that_slept_alone(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.wall_ms = 10000;
    rig_start(rig, "do it");
    rig_sleep(rig, HOUR);
    rig_crash_later(rig, 2000, HOUR);
    rig_crash_later(rig, 2000, HOUR); /* the second owner did not sleep */
    rig_skip(rig);
    assert_int_equal(rig_agent(rig, 0)->timers[TIMER_WALL], rig->now + 6000);
}

static void a_pause_that_a_server_asked_for_after_a_sleep_is_waited_out(void **state)
{
    struct rig *rig = *state;
    struct model_failure failure = {.class = ERR_RETRY,
                                    .http_status = 429,
                                    .retry_after_ms = 9000,
                                    .message = STR("slow down"),
                                    .usage = USAGE_NONE};
    rig_start(rig, "do it");
    rig_sleep(rig, HOUR);
    rig_failure(rig, 0, &failure); /* after the sleep: the server begins to count now */
    rig_skip(rig);
    rig_crash(rig, 8000);
    rig_expect(rig, "0 run.resumed");
    rig_pass(rig, 999);
    rig_expect_nothing(rig);
    rig_pass(rig, 1);
    rig_expect(rig, "0 timer.fired, 0 model.requested");
}

static void a_sleep_of_no_time_is_not_logged(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig_skip(rig);
    rig_sleep(rig, 0);
    rig_sleep(rig, -1);
    rig_expect_nothing(rig);
}

/* --- a stop that a crash interrupts ---------------------------------------------------------------- */

static void a_stop_is_carried_through(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("one"), SPAWN("two"));
    CALLS(rig, 2, {"read", "{\"path\":\"a\"}"});
    rig_inbox(rig, "cancel", "{\"reason\":\"enough\"}");
    rig_skip(rig);
    rig_crash(rig, HOUR);
    assert_int_equal(run_state(rig->run), RUN_CANCELLED);
    rig_expect_effects(rig, "");
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CLOSED), 2);
    check_str(rig_last(rig, 0, EVENT_RUN_CANCELLED)->error, "enough");
}

static void a_prepared_write_of_a_stopped_agent_is_settled_before_it_ends(void **state)
{
    struct rig *rig = *state;
    write_one(rig);
    rig_prepared(rig, 0, 0, "a");
    rig_inbox(rig, "cancel", "{}");
    rig_skip(rig);
    rig_crash(rig, HOUR);
    rig_expect_effects(rig, "0 settle write");
    assert_int_equal(run_state(rig->run), RUN_RUNNING);
    rig_result(rig, 0, 0, "was made");
    assert_int_equal(run_state(rig->run), RUN_CANCELLED);
}

static void resuming_an_ended_run_changes_nothing(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig_say(rig, 0, "done");
    rig_skip(rig);
    rig_crash(rig, HOUR);
    rig_expect_nothing(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_request_that_was_out_is_asked_again_and_counts_as_spent),
        RIG_TEST(a_child_that_was_asking_keeps_its_attempt),
        RIG_TEST(an_interrupted_request_is_not_a_turn),
        RIG_TEST(an_answer_to_the_old_request_changes_nothing),
        RIG_TEST(a_read_runs_again),
        RIG_TEST(a_write_that_was_not_prepared_yet_is_prepared_again),
        RIG_TEST(a_prepared_write_is_settled_by_looking_at_the_file),
        RIG_TEST(an_open_question_is_put_again),
        RIG_TEST(an_outward_call_is_never_repeated),
        RIG_TEST(context_files_are_gathered_again),
        RIG_TEST(calls_that_had_not_started_start_when_their_turn_comes),
        RIG_TEST(a_child_that_had_no_slot_gets_one_later),
        RIG_TEST(who_waited_for_budget_still_waits),
        RIG_TEST(a_resume_waits_only_the_rest_of_what_the_server_asked_for),
        RIG_TEST(time_without_an_owner_is_not_the_agents_time),
        RIG_TEST(a_stop_is_carried_through),
        RIG_TEST(a_prepared_write_of_a_stopped_agent_is_settled_before_it_ends),
        RIG_TEST(time_in_which_the_last_owner_lived_counts),
        RIG_TEST(a_sign_of_life_before_the_last_event_gives_nothing_back),
        RIG_TEST(a_sleep_is_logged_and_moves_no_deadline),
        RIG_TEST(a_sleep_before_a_crash_is_not_the_agents_time),
        RIG_TEST(a_sleep_counts_for_the_owner_that_slept_alone),
        RIG_TEST(a_pause_that_a_server_asked_for_after_a_sleep_is_waited_out),
        RIG_TEST(a_sleep_of_no_time_is_not_logged),
        RIG_TEST(resuming_an_ended_run_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
