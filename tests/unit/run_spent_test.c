/* What a timeout says about where the time went: requests by what their facts tell, tools, children, questions, pauses. */
#include "run_fixture.h"

struct times {
    int64_t admitted, first_token, total; /* first_token -1: none came */
};

/* The request that is out takes this long and is answered with calls, or with a text where there are none. */
static void reply_after(struct rig *rig, uint32_t no, struct times times, const char *tool)
{
    struct tool_call call = {STR("theirs"), str_from(tool), STR("{\"path\":\"a\"}")};
    struct model_reply reply = {.calls = &call,
                                .call_count = 1,
                                .finish = STR("tool_calls"),
                                .usage = USAGE_NONE,
                                .first_token_ms = times.first_token};
    struct input input = {.kind = INPUT_REPLY,
                          .agent_no = no,
                          .call_id = rig_effect(rig, no, EFFECT_MODEL)->call_id,
                          .reply = &reply,
                          .admitted_ms = times.admitted,
                          .total_ms = times.total};
    rig->now += times.total;
    rig_input(rig, &input);
}

/* It was told to stop, and ends. */
static void aborted(struct rig *rig, uint32_t no, struct times times)
{
    struct model_failure failure = {.class = ERR_CANCELLED,
                                    .retry_after_ms = -1,
                                    .message = STR("aborted"),
                                    .usage = USAGE_NONE};
    struct input input = {.kind = INPUT_FAILURE,
                          .agent_no = no,
                          .call_id = rig_effect(rig, no, EFFECT_MODEL)->call_id,
                          .failure = &failure,
                          .admitted_ms = times.admitted,
                          .first_token_ms = times.first_token > 0 ? times.first_token : 0,
                          .total_ms = times.total};
    rig_input(rig, &input);
}

/* A root with one child that asks its model; the child may take a minute. */
static void one_child(struct rig *rig)
{
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("a part"));
}

static void check_error(const struct rig *rig, uint32_t no, const char *error)
{
    check_str(rig_last(rig, no, no == 0 ? EVENT_RUN_FAILED : EVENT_SUBAGENT_FAILED)->error, error);
}

static void a_timeout_says_where_its_seconds_went(void **state)
{
    struct rig *rig = *state;
    rig_walls(rig);
    one_child(rig);
    reply_after(rig, 1, (struct times){12100, 30000, 52300}, "read");
    rig->now += 5100;
    rig_result(rig, 1, 0, "fine");
    rig_pass(rig, 2600);
    assert_int_equal(rig_agent(rig, 1)->stopping, OUTCOME_NONE); /* admission does not count */
    rig_pass(rig, 12100);
    aborted(rig, 1, (struct times){0, -1, 14700});
    check_error(rig, 1,
                "timed out after 72.1 s: 12.1 s waiting for admission, 44.7 s for the first token, "
                "10.2 s for tokens, 5.1 s in tools (wall time of 60000 ms is used up: "
                "sub_agent.default_budget.timeout_ms)");
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text,
                 "[TIMEOUT] Sub-agent failed: timed out after 72.1 s: 12.1 s waiting");
    rig_contains(rig_last(rig, 1, EVENT_SUBAGENT_CLOSED)->result, "\"error\":\"timed out after");
}

static void a_request_that_never_left_was_waiting_for_admission(void **state)
{
    struct rig *rig = *state;
    rig_walls(rig);
    one_child(rig);
    rig_pass(rig, 60000);
    aborted(rig, 1, (struct times){60000, -1, 60000});
    check_error(rig, 1,
                "timed out after 60.0 s: 60.0 s waiting for admission (wall time of 60000 ms is "
                "used up: sub_agent.default_budget.timeout_ms)");
}

static void time_that_no_fact_explains_is_named_as_the_rest(void **state)
{
    struct rig *rig = *state;
    rig_walls(rig);
    one_child(rig);
    rig_pass(rig, 60000);
    aborted(rig, 1, (struct times){0, 1000, 58000}); /* two seconds until it was durable */
    check_error(rig, 1,
                "timed out after 60.0 s: 1.0 s for the first token, 57.0 s for tokens, 2.0 s for "
                "everything else (wall time of 60000 ms is used up: "
                "sub_agent.default_budget.timeout_ms)");
}

static void the_root_says_how_long_it_waited_for_its_children(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.wall_ms = 20000;
    rig_start(rig, "do it");
    reply_after(rig, 0, (struct times){0, 500, 1000}, "read");
    rig->now += 2000;
    rig_result(rig, 0, 0, "fine");
    CALLS(rig, 0, SPAWN("a part"));
    rig_pass(rig, 17000);
    aborted(rig, 1, (struct times){0, -1, 17000});
    check_error(rig, 0,
                "timed out after 20.0 s: 0.5 s for the first token, 0.5 s for tokens, 2.0 s in "
                "tools, 17.0 s waiting for sub-agents (wall time of 20000 ms is used up: "
                "budget.wall_ms)");
}

static void an_attempt_counts_its_own_seconds_only(void **state)
{
    struct rig *rig = *state;
    rig->settings.attempt_timeout_ms = 10000;
    rig->settings.max_retries = 1;
    one_child(rig);
    reply_after(rig, 1, (struct times){3000, 1000, 4000}, "read");
    rig_pass(rig, 9000);
    rig_result(rig, 1, 0, "late");
    assert_int_equal(rig_agent(rig, 1)->attempt, 1);
    rig_pass(rig, 10000);
    aborted(rig, 1, (struct times){1000, -1, 10000});
    check_error(rig, 1,
                "timed out after 10.0 s: 1.0 s waiting for admission, 9.0 s for the first token "
                "(the time of one attempt of 10000 ms is used up: "
                "sub_agent.attempt_timeout_ms)");
}

static void pauses_between_tries_are_named(void **state)
{
    struct rig *rig = *state;
    rig_walls(rig);
    one_child(rig);
    struct model_failure failure = {
        .class = ERR_RETRY, .retry_after_ms = 50000, .message = STR("busy"), .usage = USAGE_NONE};
    struct input input = {.kind = INPUT_FAILURE,
                          .agent_no = 1,
                          .call_id = rig_effect(rig, 1, EFFECT_MODEL)->call_id,
                          .failure = &failure,
                          .total_ms = 3000};
    rig->now += 3000;
    rig_input(rig, &input);
    int64_t pause = rig_agent(rig, 1)->timers[TIMER_BACKOFF] - rig->now;
    assert_true(pause > 0 && pause < 57000);
    rig_pass(rig, pause);
    rig_pass(rig, 57000); /* the pause does not count */
    aborted(rig, 1, (struct times){0, -1, 57000});
    rig_contains(rig_last(rig, 1, EVENT_SUBAGENT_FAILED)->error, " s before asking again");
}

static void time_without_an_owner_is_not_counted_and_a_lost_request_is_only_a_request(void **state)
{
    struct rig *rig = *state;
    rig_walls(rig);
    one_child(rig);
    reply_after(rig, 1, (struct times){0, 1000, 2000}, "read");
    rig->now += 8000;
    rig_result(rig, 1, 0, "fine");
    rig_crash(rig, 500000);
    rig_pass(rig, 50000);
    aborted(rig, 1, (struct times){0, -1, 50000});
    check_error(rig, 1,
                "timed out after 60.0 s: 51.0 s for the first token, 1.0 s for tokens, 8.0 s in "
                "tools (wall time of 60000 ms is used up: "
                "sub_agent.default_budget.timeout_ms)");
}

/* Logs of before: they must replay byte for byte. */
static void a_run_whose_requests_tell_no_times_says_only_that_the_time_is_used_up(void **state)
{
    struct rig *rig = *state;
    rig_walls(rig);
    one_child(rig);
    rig_pass(rig, 60000);
    aborted(rig, 1, (struct times){0, -1, 0});
    check_error(rig, 1, "wall time of 60000 ms is used up: sub_agent.default_budget.timeout_ms");
}

static void the_times_of_a_request_are_in_the_log_and_absent_where_they_are_not_known(void **state)
{
    struct rig *rig = *state;
    one_child(rig);
    reply_after(rig, 1, (struct times){700, 200, 1000}, "read");
    const struct event *replied = rig_last(rig, 1, EVENT_MODEL_REPLIED);
    assert_int_equal(replied->admitted_ms, 700);
    assert_int_equal(replied->first_token_ms, 200);
    assert_int_equal(replied->total_ms, 1000);
    rig_result(rig, 1, 0, "fine");
    rig_fail(rig, 1, ERR_PROVIDER, "no");
    const struct event *failed = rig_last(rig, 1, EVENT_MODEL_FAILED);
    assert_int_equal(failed->admitted_ms, EVENT_ABSENT);
    assert_int_equal(failed->first_token_ms, EVENT_ABSENT);
    assert_int_equal(failed->total_ms, EVENT_ABSENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_timeout_says_where_its_seconds_went),
        RIG_TEST(a_request_that_never_left_was_waiting_for_admission),
        RIG_TEST(time_that_no_fact_explains_is_named_as_the_rest),
        RIG_TEST(the_root_says_how_long_it_waited_for_its_children),
        RIG_TEST(an_attempt_counts_its_own_seconds_only),
        RIG_TEST(pauses_between_tries_are_named),
        RIG_TEST(time_without_an_owner_is_not_counted_and_a_lost_request_is_only_a_request),
        RIG_TEST(a_run_whose_requests_tell_no_times_says_only_that_the_time_is_used_up),
        RIG_TEST(the_times_of_a_request_are_in_the_log_and_absent_where_they_are_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
