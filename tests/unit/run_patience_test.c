/* A provider's trouble: how long a request is tried again, when the run parks, and which
 * models of a pool are left out. */
#include "run_fixture.h"

#define MINUTE 60000
#define PATIENCE (10 * MINUTE)

static struct model_failure failure_of(enum err_class class, int status, const char *message)
{
    return (struct model_failure){.class = class,
                                  .http_status = status,
                                  .retry_after_ms = -1,
                                  .message = str_from(message),
                                  .usage = USAGE_NONE};
}

/* No connection: the request was never sent. */
static void unreached(struct rig *rig, uint32_t no)
{
    struct model_failure failure = failure_of(ERR_RETRY, 0, "no server answers");
    failure.sent = REQUEST_UNSENT;
    struct input input = {.kind = INPUT_FAILURE,
                          .agent_no = no,
                          .call_id = rig_effect(rig, no, EFFECT_MODEL)->call_id,
                          .failure = &failure,
                          .sent = REQUEST_UNSENT};
    rig_input(rig, &input);
}

static void status(struct rig *rig, uint32_t no, int http_status, const char *message)
{
    struct model_failure failure = failure_of(
        http_status >= 500 || http_status == 429 ? ERR_RETRY : ERR_PROVIDER, http_status, message);
    rig_failure(rig, no, &failure);
}

/* A root whose provider has answered once. */
static void answered_once(struct rig *rig)
{
    rig_start(rig, "do it");
    CALLS(rig, 0, {"read", "{\"path\":\"a\"}"});
    rig_result(rig, 0, 0, "fine");
}

/* Until the run parks or ends, the request fails whenever it is asked. */
static void fail_on(struct rig *rig)
{
    for (int i = 0; i < 2000 && run_state(rig->run) == RUN_RUNNING; i++) {
        if (rig_agent(rig, 0)->phase == PHASE_ASKING)
            unreached(rig, 0);
        else
            rig_pass(rig, run_deadline(rig->run) - rig->now);
    }
}

/* --- patience ------------------------------------------------------------------------------- */

static void a_provider_that_answered_is_tried_for_as_long_as_patience_lasts(void **state)
{
    struct rig *rig = *state;
    answered_once(rig);
    int64_t began = rig->now;
    fail_on(rig);
    assert_int_equal(run_state(rig->run), RUN_PARKED);
    assert_int_equal(rig->now - began, PATIENCE);
    rig_contains(rig_last(rig, 0, EVENT_RUN_PARKED)->reason,
                 "the provider did not recover within 600 s: no server answers");
    assert_int_equal(rig_count(rig, EVENT_RUN_FAILED), 0);
    /* What was never sent costs nothing. */
    assert_true(rig_agent(rig, 0)->account.spent.tokens < 20000);
    assert_true(rig_count(rig, EVENT_MODEL_REQUESTED) >
                200); /* a server that is back is found soon */
}

static void a_provider_that_never_answered_gets_fifteen_seconds(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    int64_t began = rig->now;
    fail_on(rig);
    assert_int_equal(run_state(rig->run), RUN_FAILED);
    assert_int_equal(rig->now - began, 15000);
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->error, "no server answers");
}

static void an_error_status_is_an_answer(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    status(rig, 0, 503, "loading the model");
    rig_pass(rig, MINUTE);
    fail_on(rig);
    assert_int_equal(run_state(rig->run), RUN_PARKED);
}

static void a_good_status_with_nonsense_is_not_an_answer(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    int64_t began = rig->now;
    for (int i = 0; i < 100 && run_state(rig->run) == RUN_RUNNING; i++) {
        struct model_failure failure = failure_of(ERR_RETRY, 200, "not JSON");
        if (rig_agent(rig, 0)->phase == PHASE_ASKING)
            rig_failure(rig, 0, &failure);
        else
            rig_pass(rig, run_deadline(rig->run) - rig->now);
    }
    assert_int_equal(run_state(rig->run), RUN_FAILED);
    assert_int_equal(rig->now - began, 15000);
}

static void a_parked_run_hears_nothing_and_a_resume_asks_again_with_new_patience(void **state)
{
    struct rig *rig = *state;
    rig_open_doors(rig);
    answered_once(rig);
    fail_on(rig);
    assert_int_equal(run_deadline(rig->run), INT64_MAX);
    rig_skip(rig);
    rig_inbox(rig, "cancel", "{}");
    rig_pass(rig, MINUTE);
    rig_expect_nothing(rig);
    rig_crash(rig, 60 * MINUTE);
    assert_int_equal(run_state(rig->run), RUN_RUNNING);
    rig_pass(rig, 0);
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
    int64_t began = rig->now;
    fail_on(rig);
    assert_int_equal(rig->now - began, PATIENCE);
    rig_crash(rig, 0);
    rig_pass(rig, 0);
    rig_say(rig, 0, "done");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
}

static void parking_closes_no_child(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("a part"));
    rig_inbox(rig, "park", "{\"reason\":\"later\"}");
    assert_int_equal(run_state(rig->run), RUN_PARKED);
    check_str(rig_last(rig, 0, EVENT_RUN_PARKED)->reason, "later");
    assert_int_equal(rig_agent(rig, 1)->life, LIFE_RUNNING);
    rig_crash(rig, 1000);
    rig_say(rig, 1, "part");
    rig_say(rig, 0, "done");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CLOSED), 1);
}

static void status_500_with_the_same_body_is_final_the_third_time(void **state)
{
    struct rig *rig = *state;
    answered_once(rig);
    for (int i = 0; i < 2; i++) {
        status(rig, 0, 500, "template");
        rig_pass(rig, MINUTE);
    }
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
    status(rig, 0, 500, "template");
    assert_int_equal(run_state(rig->run), RUN_FAILED);
}

static void status_500_with_another_body_or_for_another_request_starts_the_count_anew(void **state)
{
    struct rig *rig = *state;
    answered_once(rig);
    const char *const bodies[] = {"a", "a", "b", "b", "a", "a"};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        status(rig, 0, 500, bodies[i]);
        rig_pass(rig, MINUTE);
    }
    CALLS(rig, 0, {"read", "{\"path\":\"b\"}"});
    rig_result(rig, 0, 0, "fine");
    status(rig, 0, 500, "a");
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_BACKOFF);
}

static void a_request_that_waits_for_admission_uses_up_no_time_and_parks_with_patience(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.wall_ms = MINUTE;
    answered_once(rig);
    unreached(rig, 0);
    rig_pass(rig, 5000);
    struct input held = {.kind = INPUT_HELD,
                         .call_id = rig_effect(rig, 0, EFFECT_MODEL)->call_id,
                         .text = STR("no connection"),
                         .waited_ms = 1500};
    rig->now += 1500;
    rig_input(rig, &held);
    assert_int_equal(agent_deadline(rig_agent(rig, 0), TIMER_WALL, rig->now) - rig->now, MINUTE);
    rig_pass(rig, PATIENCE);
    assert_int_equal(run_state(rig->run), RUN_PARKED);
    int64_t spent = rig_agent(rig, 0)->account.spent.tokens;
    rig_crash(rig, 1000);
    check_str(rig_last(rig, 0, EVENT_MODEL_FAILED)->sent, "no");
    assert_int_equal(rig_agent(rig, 0)->account.spent.tokens, spent);
}

static void a_request_that_was_admitted_counts_again(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.wall_ms = MINUTE;
    rig_start(rig, "do it");
    struct input told = {.kind = INPUT_HELD,
                         .call_id = rig_effect(rig, 0, EFFECT_MODEL)->call_id,
                         .text = STR("64 at once"),
                         .waited_ms = 1000};
    rig->now += 1000;
    rig_input(rig, &told);
    rig_pass(rig, 5 * MINUTE);
    told.kind = INPUT_ADMITTED;
    rig_input(rig, &told);
    rig_pass(rig, MINUTE - 1);
    assert_int_equal(rig_agent(rig, 0)->stopping, OUTCOME_NONE);
    rig_pass(rig, 1);
    assert_int_equal(rig_agent(rig, 0)->stopping, OUTCOME_TIMEOUT);
}

/* --- money ---------------------------------------------------------------------------------- */

/* The server takes the request and closes the connection: it may have been worked on, so it counts. */
static void broken(struct rig *rig, uint32_t no)
{
    struct model_failure failure = failure_of(ERR_RETRY, 0, "closed without an answer");
    rig_failure(rig, no, &failure);
}

static void break_on(struct rig *rig)
{
    for (int i = 0; i < 2000 && run_state(rig->run) == RUN_RUNNING; i++) {
        if (rig_agent(rig, 0)->phase == PHASE_ASKING)
            broken(rig, 0);
        else
            rig_pass(rig, run_deadline(rig->run) - rig->now);
    }
}

static void tries_that_break_park_the_run_before_they_use_up_its_budget(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 20000;
    answered_once(rig);
    int64_t answered = rig_agent(rig, 0)->account.spent.tokens, began = rig->now;
    break_on(rig);
    assert_int_equal(run_state(rig->run), RUN_PARKED);
    assert_true(rig->now - began < PATIENCE);
    check_str(rig_last(rig, 0, EVENT_RUN_PARKED)->kind, "broken");
    rig_contains(rig_last(rig, 0, EVENT_RUN_PARKED)->reason, "closed without an answer");
    int64_t spent = rig_agent(rig, 0)->account.spent.tokens;
    assert_true(spent > answered && spent <= 20000);
    assert_int_equal(rig_agent(rig, 0)->turns, TURNS_FREE);
    /* Going on alone changes nothing of that. */
    rig_crash(rig, MINUTE);
    assert_int_equal(run_state(rig->run), RUN_PARKED);
    assert_int_equal(rig_agent(rig, 0)->account.spent.tokens, spent);
    rig->broken = BROKEN_FORGIVEN;
    rig_crash(rig, MINUTE);
    assert_int_equal(rig_agent(rig, 0)->account.spent.tokens, answered);
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
    rig_say(rig, 0, "done");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
}

/* Nothing tells what such a try used either. */
static void answers_that_are_cut_in_the_middle_park_the_run_as_well(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 20000;
    answered_once(rig);
    for (int i = 0; i < 2000 && run_state(rig->run) == RUN_RUNNING; i++) {
        struct model_failure failure = failure_of(ERR_RETRY, 200, "the stream was cut");
        failure.partial = STR("half an answer");
        if (rig_agent(rig, 0)->phase == PHASE_ASKING)
            rig_failure(rig, 0, &failure);
        else
            rig_pass(rig, run_deadline(rig->run) - rig->now);
    }
    assert_int_equal(run_state(rig->run), RUN_PARKED);
    check_str(rig_last(rig, 0, EVENT_RUN_PARKED)->kind, "broken");
    rig->broken = BROKEN_FORGIVEN;
    rig_crash(rig, MINUTE);
    rig_say(rig, 0, "done");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
}

static void one_or_two_tries_that_broke_are_spent_like_others(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 3500;
    answered_once(rig);
    for (int i = 0; i < 2 && rig_agent(rig, 0)->turns == TURNS_FREE; i++) {
        broken(rig, 0);
        rig_pass(rig, MINUTE);
    }
    assert_int_equal(rig_agent(rig, 0)->account.broken.tokens, 0);
    assert_int_equal(rig_agent(rig, 0)->turns, TURNS_LAST);
    assert_int_equal(run_state(rig->run), RUN_RUNNING);
}

static void tries_of_an_answered_request_stay_spent_and_do_not_park(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 20000;
    answered_once(rig);
    for (int i = 0; i < 3; i++) {
        broken(rig, 0);
        rig_pass(rig, MINUTE);
    }
    assert_true(rig_agent(rig, 0)->account.broken.tokens > 0);
    CALLS(rig, 0, {"read", "{\"path\":\"b\"}"});
    assert_int_equal(rig_agent(rig, 0)->account.broken.tokens, 0);
    int64_t spent = rig_agent(rig, 0)->account.spent.tokens;
    rig->broken = BROKEN_FORGIVEN;
    rig_inbox(rig, "park", "{}");
    rig_crash(rig, MINUTE);
    assert_int_equal(rig_agent(rig, 0)->account.spent.tokens, spent);
}

/* --- what is out when the run parks ---------------------------------------------------------- */

static void park_with_a_request_out(struct rig *rig)
{
    rig->settings.root.tokens = 20000;
    answered_once(rig);
    rig_inbox(rig, "park", "{}");
    assert_int_equal(run_state(rig->run), RUN_PARKED);
    (void)rig_effect(rig, 0, EFFECT_ABORT);
}

static void a_request_that_never_left_costs_a_parked_run_nothing(void **state)
{
    struct rig *rig = *state;
    park_with_a_request_out(rig);
    int64_t spent = rig_agent(rig, 0)->account.spent.tokens;
    struct model_failure failure = failure_of(ERR_CANCELLED, 0, "aborted");
    struct input input = {.kind = INPUT_FAILURE,
                          .call_id = rig_effect(rig, 0, EFFECT_MODEL)->call_id,
                          .failure = &failure,
                          .sent = REQUEST_UNSENT};
    rig_skip(rig);
    rig_input(rig, &input);
    rig_expect(rig, "0 model.failed, 0 budget.settled");
    check_str(rig_last(rig, 0, EVENT_MODEL_FAILED)->sent, "no");
    assert_int_equal(rig_agent(rig, 0)->account.reserved.tokens, 0);
    assert_int_equal(run_state(rig->run), RUN_PARKED);
    rig_crash(rig, MINUTE);
    assert_int_equal(rig_agent(rig, 0)->account.spent.tokens, spent);
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
}

static void an_answer_to_a_parked_run_is_booked_as_it_was_reported(void **state)
{
    struct rig *rig = *state;
    struct model_reply reply = {.text = STR("done"), .usage = {100, -1, -1, 20, -1}};
    park_with_a_request_out(rig);
    int64_t spent = rig_agent(rig, 0)->account.spent.tokens;
    rig_reply(rig, 0, &reply);
    assert_int_equal(run_state(rig->run), RUN_PARKED);
    check_str(rig_last(rig, 0, EVENT_MODEL_FAILED)->class, "cancelled");
    int64_t booked = rig_agent(rig, 0)->account.spent.tokens - spent;
    assert_true(booked > 0 && booked <= 120);
    rig_crash(rig, MINUTE);
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
}

/* --- pools ---------------------------------------------------------------------------------- */

/* Three models of three providers, in a pool. */
static void pool(struct rig *rig)
{
    static const char *const names[] = {"m", "n", "o"};
    struct model_settings *models = arena_alloc(&rig->arena, 3 * sizeof *models);
    struct pool *all = arena_alloc(&rig->arena, sizeof *all);
    *all = (struct pool){.name = STR("all")};
    for (size_t i = 0; i < 3; i++) {
        models[i] = rig->model;
        models[i].name = models[i].provider = str_from(names[i]);
        list_add(&rig->arena, &all->models, models[i].name);
    }
    rig->settings.models = models;
    rig->settings.model_count = 3;
    rig->settings.pools = all;
    rig->settings.pool_count = 1;
    rig->settings.default_pool = STR("all");
    rig_start(rig, "do it");
}

static void check_asked(struct rig *rig, uint32_t no, const char *name)
{
    check_str(rig_last(rig, no, EVENT_MODEL_REQUESTED)->name, name);
}

static void next_turn(struct rig *rig, uint32_t no)
{
    CALLS(rig, no, {"read", "{\"path\":\"a\"}"});
    rig_result(rig, no, 0, "fine");
}

static void a_model_that_cannot_be_reached_is_left_out_for_five_minutes_by_all_agents(void **state)
{
    struct rig *rig = *state;
    pool(rig);
    unreached(rig, 0);
    check_asked(rig, 0, "n");
    CALLS(rig, 0, SPAWN("a part"));
    check_asked(rig, 1, "n");
    rig->now += 5 * MINUTE - 1;
    rig_say(rig, 1, "done");
    check_asked(rig, 0, "n");
    rig->now += 1;
    next_turn(rig, 0);
    check_asked(rig, 0, "m");
}

static void a_model_with_a_wrong_key_is_left_out_for_the_run(void **state)
{
    struct rig *rig = *state;
    pool(rig);
    status(rig, 0, 401, "wrong key");
    for (int i = 0; i < 3; i++) {
        check_asked(rig, 0, "n");
        rig->now += 4 * MINUTE;
        next_turn(rig, 0);
    }
    check_asked(rig, 0, "n");
}

/* OpenRouter's moderation has status 403: the request is to blame, not the key. */
static void a_filtered_prompt_does_not_leave_its_model_out(void **state)
{
    struct rig *rig = *state;
    pool(rig);
    struct model_failure failure = failure_of(ERR_PROVIDER, 403, "flagged");
    failure.trouble = TROUBLE_FILTERED;
    rig_failure(rig, 0, &failure);
    check_asked(rig, 0, "n");
    next_turn(rig, 0);
    check_asked(rig, 0, "m");
}

static void a_model_that_is_busy_is_asked_first_in_the_next_turn(void **state)
{
    struct rig *rig = *state;
    pool(rig);
    status(rig, 0, 429, "busy");
    check_asked(rig, 0, "n");
    next_turn(rig, 0);
    check_asked(rig, 0, "m");
}

static void patience_starts_when_no_member_is_left_and_asks_those_that_may_be_back(void **state)
{
    struct rig *rig = *state;
    pool(rig);
    status(rig, 0, 429, "busy");
    unreached(rig, 0);
    assert_int_equal(rig_agent(rig, 0)->patience.since, 0);
    unreached(rig, 0);
    assert_int_equal(rig_agent(rig, 0)->patience.since, rig->now);
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_BACKOFF);
    rig_pass(rig, 5000);
    check_asked(rig, 0, "m"); /* the only one that is not left out */
}

static void
a_final_error_of_the_last_member_waits_for_those_that_are_left_out_for_minutes(void **state)
{
    struct rig *rig = *state;
    pool(rig);
    status(rig, 0, 503, "loading");
    status(rig, 0, 401, "wrong key");
    status(rig, 0, 404, "no such model");
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_BACKOFF);
    rig_pass(rig, 5000);
    check_asked(rig, 0, "m");
    rig_say(rig, 0, "done");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
}

static void when_all_are_left_out_for_the_run_the_error_names_each(void **state)
{
    struct rig *rig = *state;
    pool(rig);
    status(rig, 0, 401, "wrong key");
    status(rig, 0, 403, "not yours");
    status(rig, 0, 404, "no such model");
    assert_int_equal(run_state(rig->run), RUN_FAILED);
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->error,
              "no model of the pool \"all\" can be asked again in this run: m: wrong key; n: not "
              "yours; o: no such model");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_provider_that_answered_is_tried_for_as_long_as_patience_lasts),
        RIG_TEST(a_provider_that_never_answered_gets_fifteen_seconds),
        RIG_TEST(an_error_status_is_an_answer),
        RIG_TEST(a_good_status_with_nonsense_is_not_an_answer),
        RIG_TEST(a_parked_run_hears_nothing_and_a_resume_asks_again_with_new_patience),
        RIG_TEST(parking_closes_no_child),
        RIG_TEST(status_500_with_the_same_body_is_final_the_third_time),
        RIG_TEST(status_500_with_another_body_or_for_another_request_starts_the_count_anew),
        RIG_TEST(a_request_that_waits_for_admission_uses_up_no_time_and_parks_with_patience),
        RIG_TEST(a_request_that_was_admitted_counts_again),
        RIG_TEST(tries_that_break_park_the_run_before_they_use_up_its_budget),
        RIG_TEST(answers_that_are_cut_in_the_middle_park_the_run_as_well),
        RIG_TEST(one_or_two_tries_that_broke_are_spent_like_others),
        RIG_TEST(tries_of_an_answered_request_stay_spent_and_do_not_park),
        RIG_TEST(a_request_that_never_left_costs_a_parked_run_nothing),
        RIG_TEST(an_answer_to_a_parked_run_is_booked_as_it_was_reported),
        RIG_TEST(a_model_that_cannot_be_reached_is_left_out_for_five_minutes_by_all_agents),
        RIG_TEST(a_model_with_a_wrong_key_is_left_out_for_the_run),
        RIG_TEST(a_filtered_prompt_does_not_leave_its_model_out),
        RIG_TEST(a_model_that_is_busy_is_asked_first_in_the_next_turn),
        RIG_TEST(patience_starts_when_no_member_is_left_and_asks_those_that_may_be_back),
        RIG_TEST(a_final_error_of_the_last_member_waits_for_those_that_are_left_out_for_minutes),
        RIG_TEST(when_all_are_left_out_for_the_run_the_error_names_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
