/* How agents with open jobs end: joining, giving up what is held, another attempt, and who goes on when room is made. */
#include <stdio.h>

#include "run_fixture.h"

#define JOB(task)                                                                                  \
    {                                                                                              \
        "spawn", "{\"task\":\"" task "\"}"                                                         \
    }

/* Agent no has a job that asks its model, and asks its own model again. */
static void start_job(struct rig *rig, uint32_t no)
{
    CALLS(rig, no, JOB("a job"));
    rig_facts(rig, no, 0, "[]");
    rig_skip(rig);
}

static void a_job_that_is_held_when_its_parent_has_answered_is_given_up(void **state)
{
    struct rig *rig = *state;
    rig_open_doors(rig);
    rig->settings.hold_children = SWITCH_ON;
    rig_start(rig, "do it");
    start_job(rig, 0);
    rig_say(rig, 0, "done");
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_JOINING);
    rig_skip(rig);
    rig_say(rig, 1, "too late");
    rig_expect(rig, "1 model.replied, 1 agent.subagent_waiting_for_merge, "
                    "1 agent.subagent_failed, 1 agent.subagent_closed, 0 run.completed");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
}

static void a_child_that_fails_stops_its_open_jobs_before_its_next_attempt(void **state)
{
    struct rig *rig = *state;
    rig_open_doors(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("a part"));
    start_job(rig, 1);
    rig_break(rig, 1, "broken");
    rig_expect(rig, "1 model.failed, 1 agent.stopping, 2 agent.stopping");
    rig_expect_effects(rig, "2 abort");
    rig_fail(rig, 2, ERR_CANCELLED, "aborted");
    rig_expect(rig, "2 model.failed, 2 agent.subagent_failed, "
                    "2 agent.subagent_closed, 1 agent.subagent_attempt, 1 agent.message, "
                    "1 agent.message, 1 model.requested");
    assert_int_equal(rig_agent(rig, 1)->attempt, 1);
    assert_int_equal(rig_agent(rig, 1)->stopping, OUTCOME_NONE);
}

static void a_child_that_fails_for_good_keeps_its_own_error_while_its_jobs_end(void **state)
{
    struct rig *rig = *state;
    rig_open_doors(rig);
    rig->settings.max_retries = 0;
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("a part"));
    start_job(rig, 1);
    rig_break(rig, 1, "broken");
    rig_fail(rig, 2, ERR_CANCELLED, "aborted");
    check_str(rig_last(rig, 1, EVENT_SUBAGENT_FAILED)->error, "broken");
    check_str(rig_last(rig, 1, EVENT_SUBAGENT_FAILED)->outcome, "error");
}

static void an_attempt_of_a_child_that_awaited_others_queues_for_a_slot(void **state)
{
    struct rig *rig = *state;
    rig_open_doors(rig);
    rig->settings.max_concurrent = 1;
    rig->settings.attempt_timeout_ms = 1000;
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("one"), SPAWN("two"));
    rig->now += 100;
    CALLS(rig, 1, SPAWN("nested"));
    assert_int_equal(rig_agent(rig, 2)->phase, PHASE_ASKING); /* one only waits now */
    CALLS(rig, 2, SPAWN("nested too"));
    assert_int_equal(rig_agent(rig, 3)->phase, PHASE_ASKING);
    rig_pass(rig, 900);
    rig_fail(rig, 3, ERR_CANCELLED, "aborted"); /* its slot goes to the other nested one */
    assert_int_equal(rig_agent(rig, 1)->attempt, 1);
    assert_int_equal(rig_agent(rig, 1)->slot, SLOT_QUEUED);
    assert_int_equal(rig_agent(rig, 1)->phase, PHASE_READY);
    rig_say(rig, 4, "done");
    assert_int_equal(rig_agent(rig, 1)->slot, SLOT_HELD);
    assert_int_equal(rig_agent(rig, 1)->phase, PHASE_ASKING);
}

/* Task one waits for budget. What the other child used leaves too little for it: it ends, and two is made. */
static void a_child_made_while_budget_is_given_out_is_not_left_behind(void **state)
{
    struct rig *rig = *state;
    struct model_reply reply = {
        .text = STR("done"), .finish = STR("stop"), .usage = USAGE_NONE, .first_token_ms = -1};
    rig_open_doors(rig);
    rig->settings.root.tokens = 15000;
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("greedy"),
          {"fan_out", "{\"tasks\":[{\"task\":\"one\"},{\"task\":\"two\"}],"
                      "\"max_concurrent\":1}"});
    assert_int_equal(rig_agent(rig, 2)->phase, PHASE_READY);
    reply.usage.input = 9000;
    reply.usage.output = 900;
    rig_reply(rig, 1, &reply);
    assert_int_equal(rig_agent(rig, 2)->phase, PHASE_DONE);
    assert_int_equal(rig_agent(rig, 3)->phase, PHASE_DONE);
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
}

/* The awaiting call ends while the cancel behind it is still being worked on. */
static void a_change_behind_an_await_that_a_cancel_ended_is_made(void **state)
{
    struct rig *rig = *state;
    char await[64], cancel[64];
    rig_open_doors(rig);
    rig->settings.max_concurrent = 1;
    rig_start(rig, "do it");
    start_job(rig, 0);
    start_job(rig, 0); /* has no slot */
    struct str id = rig_agent(rig, 2)->task_id;
    snprintf(await, sizeof await, "{\"job_ids\":\"%.*s\"}", STR_FMT(id));
    snprintf(cancel, sizeof cancel, "{\"task_id\":\"%.*s\"}", STR_FMT(id));
    CALLS(rig, 0, {"spawn_await", await}, {"agent_cancel", cancel},
          {"write", "{\"path\":\"a\",\"content\":\"b\"}"});
    assert_int_equal(rig_agent(rig, 2)->life, LIFE_CLOSED);
    rig_prepared(rig, 0, 2, "a");
    rig_result(rig, 0, 2, "fine");
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_job_that_is_held_when_its_parent_has_answered_is_given_up),
        RIG_TEST(a_child_that_fails_stops_its_open_jobs_before_its_next_attempt),
        RIG_TEST(a_child_that_fails_for_good_keeps_its_own_error_while_its_jobs_end),
        RIG_TEST(an_attempt_of_a_child_that_awaited_others_queues_for_a_slot),
        RIG_TEST(a_child_made_while_budget_is_given_out_is_not_left_behind),
        RIG_TEST(a_change_behind_an_await_that_a_cancel_ended_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
