/* Budgets in a run: warnings, last turns, reservations up the tree, waiting for others, refusals. */
#include "run_fixture.h"

static void read_once(struct rig *rig, uint32_t no, const char *arguments)
{
    CALLS(rig, no, {"read", arguments});
    rig_result(rig, no, 0, "fine");
}

static const char *const files[] = {"{\"path\":\"0\"}", "{\"path\":\"1\"}", "{\"path\":\"2\"}",
                                    "{\"path\":\"3\"}", "{\"path\":\"4\"}"};

static void spawn_with_calls(struct rig *rig, const char *arguments)
{
    rig_start(rig, "do it");
    CALLS(rig, 0, {"spawn_agent", arguments});
    rig_skip(rig);
}

static void at_80_percent_the_agent_is_told_once(void **state)
{
    struct rig *rig = *state;
    spawn_with_calls(rig, "{\"task\":\"x\",\"max_tool_calls\":10}");
    for (int i = 0; i < 7; i++)
        read_once(rig, 1, files[i % 5]);
    assert_int_equal(rig_count(rig, EVENT_BUDGET_WARNED), 0);
    CALLS(rig, 1, {"read", files[3]});
    rig_skip(rig);
    rig_result(rig, 1, 0, "fine");
    rig_expect(rig, "1 tool.finished, 1 budget.warned, 1 agent.message, 1 model.requested");
    assert_int_equal(rig_last(rig, 1, EVENT_BUDGET_WARNED)->percent, 80);
    read_once(rig, 1, files[4]);
    assert_int_equal(rig_count(rig, EVENT_BUDGET_WARNED), 1);
}

/* What the root has used when its log is folded as one of this version. */
static int64_t folded_tokens(const struct rig *rig, uint16_t version)
{
    struct err err = ERR_INIT;
    struct run *run = run_new(STR(RIG_RUN));
    for (size_t i = 0; i < rig->event_count; i++) {
        struct event event = *rig->events[i];
        event.version = version;
        assert_int_equal(run_apply(run, &event, &err), 0);
    }
    int64_t tokens = run_agent(run, 0)->account.spent.tokens;
    run_free(run);
    return tokens;
}

static void without_a_limit_the_answer_itself_books_what_was_used(void **state)
{
    struct rig *rig = *state;
    struct model_reply reply = {.text = STR("done"), .usage = {100, -1, -1, 20, -1}};
    rig_start(rig, "do it");
    rig_fail(rig, 0, ERR_RETRY, "broken");
    int64_t quoted = rig_last(rig, 0, EVENT_MODEL_REQUESTED)->tokens;
    assert_int_equal(rig_agent(rig, 0)->account.spent.tokens, quoted);
    rig_pass(rig, 60000);
    rig_reply(rig, 0, &reply);
    assert_int_equal(rig_agent(rig, 0)->account.spent.tokens, quoted + 120);
    assert_int_equal(rig_count(rig, EVENT_BUDGET_SETTLED), 0);
}

static void
an_answer_in_a_log_of_the_first_rules_leaves_booking_to_the_event_behind_it(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig_say(rig, 0, "done");
    assert_true(folded_tokens(rig, 2) > 0);
    assert_int_equal(folded_tokens(rig, 1), 0);
}

static void under_a_limit_booking_is_an_event(void **state)
{
    struct rig *rig = *state;
    struct model_reply reply = {.text = STR("done"), .usage = {100, -1, -1, 20, -1}};
    rig->settings.root.tokens = 20000;
    rig_start(rig, "do it");
    rig_skip(rig);
    rig_reply(rig, 0, &reply);
    rig_expect(rig, "0 model.replied, 0 budget.settled, 0 run.completed");
    assert_int_equal(rig_last(rig, 0, EVENT_BUDGET_SETTLED)->used_tokens, 120);
    assert_int_equal(rig_agent(rig, 0)->account.spent.tokens, 120);
}

static void at_the_limit_one_last_turn_follows_and_its_text_is_kept(void **state)
{
    struct rig *rig = *state;
    spawn_with_calls(rig, "{\"task\":\"x\",\"max_tool_calls\":1}");
    CALLS(rig, 1, {"read", files[0]});
    rig_skip(rig);
    rig_result(rig, 1, 0, "fine");
    rig_expect(rig, "1 tool.finished, 1 agent.message, 1 model.requested");
    check_str(rig_last(rig, 1, EVENT_MODEL_REQUESTED)->tools, "kept");
    check_str(rig_last(rig, 1, EVENT_AGENT_MESSAGE)->note, "last_turn");
    rig_say(rig, 1, "as far as I got");
    rig_expect(rig, "1 model.replied, 1 agent.subagent_waiting_for_merge, "
                    "1 agent.subagent_completed, 1 agent.subagent_closed, 0 tool.finished, "
                    "0 model.requested");
    check_str(rig_last(rig, 1, EVENT_SUBAGENT_WAITING)->outcome, "budget_exceeded");
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "[BUDGET EXCEEDED] as far as I got");
    check_str(rig_last(rig, 0, EVENT_TOOL_FINISHED)->outcome, "ok");
    rig_contains(rig_last(rig, 1, EVENT_SUBAGENT_CLOSED)->result, "\"tool_calls\":1");
}

static void calls_of_the_last_turn_are_logged_and_not_executed(void **state)
{
    struct rig *rig = *state;
    spawn_with_calls(rig, "{\"task\":\"x\",\"max_tool_calls\":1}");
    read_once(rig, 1, files[0]);
    rig_skip(rig);
    CALLS(rig, 1, {"read", files[1]}, {"write", "{\"path\":\"a\",\"content\":\"b\"}"});
    rig_expect(rig, "1 model.replied, 1 tool.finished, 1 tool.finished, "
                    "1 agent.subagent_waiting_for_merge, 1 agent.subagent_completed, "
                    "1 agent.subagent_closed, 0 tool.finished, 0 model.requested");
    rig_expect_effects(rig, "0 model");
    check_str(rig_last(rig, 1, EVENT_TOOL_FINISHED)->outcome, "error");
    rig_contains(rig_last(rig, 1, EVENT_TOOL_FINISHED)->text, "not executed");
    assert_int_equal(rig_agent(rig, 1)->account.tool_calls, 1);
    assert_int_equal(rig_agent(rig, 1)->outcome, OUTCOME_BUDGET_EXCEEDED);
}

static void a_root_that_nobody_watches_stops_where_the_breaker_pauses(void **state)
{
    struct rig *rig = *state;
    rig->settings.pause_at = 1;
    rig_start(rig, "do it");
    read_once(rig, 0, files[0]);
    check_str(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->tools, "kept");
    rig_say(rig, 0, "as far as I got");
    assert_int_equal(run_state(rig->run), RUN_FAILED);
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->outcome, "budget_exceeded");
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->response, "as far as I got");
}

static void turns_are_limited_too(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.turns = 3;
    rig_start(rig, "do it");
    read_once(rig, 0, files[0]);
    check_str(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->tools, "offered");
    read_once(rig, 0, files[1]);
    check_str(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->tools, "kept");
}

/* --- reservations ---------------------------------------------------------------------------------- */

static void reply_with_usage(struct rig *rig, uint32_t no, int64_t input, int64_t output,
                             const struct rig_call *calls, size_t count)
{
    struct tool_call made[8];
    struct model_reply reply = {.calls = made,
                                .call_count = count,
                                .usage = {input, -1, -1, output, -1},
                                .first_token_ms = -1};
    for (size_t i = 0; i < count; i++)
        made[i] =
            (struct tool_call){STR("x"), str_from(calls[i].name), str_from(calls[i].arguments)};
    if (count == 0)
        reply.text = STR("done");
    rig_reply(rig, no, &reply);
}

static void a_request_reserves_and_its_reply_settles_what_was_used(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 20000;
    rig_start(rig, "do it");
    rig_expect(rig, "0 inbox.taken, 0 run.started, 0 agent.message, 0 agent.message, "
                    "0 model.requested, 0 budget.reserved");
    const struct account *account = &rig_agent(rig, 0)->account;
    int64_t reserved = rig_last(rig, 0, EVENT_BUDGET_RESERVED)->tokens;
    assert_int_equal(reserved, rig_last(rig, 0, EVENT_MODEL_REQUESTED)->estimate + 1000);
    assert_int_equal(account->reserved.tokens, reserved);
    const struct rig_call call = {"read", "{\"path\":\"a\"}"};
    reply_with_usage(rig, 0, 700, 50, &call, 1);
    assert_int_equal(account->reserved.tokens, 0);
    assert_int_equal(account->spent.tokens, 750);
    rig_result(rig, 0, 0, "fine");
    reply_with_usage(rig, 0, 800, 30, NULL, 0);
    assert_int_equal(account->spent.tokens, 830); /* each token once: 700 + 50, then 50 + 30 */
}

static void a_childs_tokens_are_taken_from_its_ancestors_too(void **state)
{
    struct rig *rig = *state;
    const struct rig_call spawn = SPAWN("x");
    rig->settings.root.tokens = 20000;
    rig_start(rig, "do it");
    reply_with_usage(rig, 0, 700, 50, &spawn, 1);
    const struct account *root = &rig_agent(rig, 0)->account;
    assert_int_equal(root->reserved.tokens, rig_last(rig, 1, EVENT_BUDGET_RESERVED)->tokens);
    reply_with_usage(rig, 1, 600, 40, NULL, 0);
    assert_int_equal(root->spent.tokens, 750 + 640);
    assert_int_equal(rig_agent(rig, 1)->account.spent.tokens, 640);
}

static void failed(struct rig *rig, int http_status, int sent)
{
    struct model_failure failure = {.class = ERR_RETRY,
                                    .http_status = http_status,
                                    .retry_after_ms = -1,
                                    .message = STR("down"),
                                    .usage = USAGE_NONE};
    struct input input = {.kind = INPUT_FAILURE,
                          .call_id = rig_effect(rig, 0, EFFECT_MODEL)->call_id,
                          .failure = &failure,
                          .sent = sent};
    rig_input(rig, &input);
}

static void a_request_that_broke_off_counts_in_full(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 20000;
    rig_start(rig, "do it");
    int64_t reserved = rig_last(rig, 0, EVENT_BUDGET_RESERVED)->tokens;
    failed(rig, 0, REQUEST_SENT);
    assert_int_equal(rig_agent(rig, 0)->account.reserved.tokens, 0);
    assert_int_equal(rig_agent(rig, 0)->account.spent.tokens, reserved);
}

static void a_request_that_was_refused_or_never_left_costs_nothing(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 20000;
    rig_start(rig, "do it");
    failed(rig, 503, REQUEST_SENT);
    assert_int_equal(rig_agent(rig, 0)->account.spent.tokens, 0);
    rig_pass(rig, 1000);
    failed(rig, 0, REQUEST_UNSENT);
    assert_int_equal(rig_agent(rig, 0)->account.spent.tokens, 0);
    assert_int_equal(rig_agent(rig, 0)->account.reserved.tokens, 0);
}

/* Room for one child's request at a time. */
static void two_that_share(struct rig *rig)
{
    const struct rig_call spawns[] = {SPAWN("one"), SPAWN("two")};
    rig->settings.root.tokens = 3800;
    rig_start(rig, "do it");
    rig_skip(rig);
    reply_with_usage(rig, 0, 700, 50, spawns, 2);
    rig_expect_effects(rig, "1 model");
    assert_int_equal(rig_count(rig, EVENT_BUDGET_WAITING), 1);
}

static void what_fits_once_others_have_settled_waits_for_them(void **state)
{
    struct rig *rig = *state;
    two_that_share(rig);
    rig_skip(rig);
    reply_with_usage(rig, 1, 300, 20, NULL, 0);
    rig_expect_effects(rig, "2 model");
    assert_int_equal(rig_count(rig, EVENT_BUDGET_WAITING), 1);
    assert_int_equal(rig_count(rig, EVENT_BUDGET_REFUSED), 0);
}

static void what_waits_goes_on_when_the_other_request_fails(void **state)
{
    struct rig *rig = *state;
    two_that_share(rig);
    rig_skip(rig);
    rig_fail(rig, 1, ERR_PROVIDER, "wrong key");
    rig_expect_effects(rig, "2 model");
}

static void who_waits_for_budget_can_be_cancelled(void **state)
{
    struct rig *rig = *state;
    two_that_share(rig);
    rig_skip(rig);
    rig_inbox(rig, "cancel", "{}");
    rig_expect(rig, "0 inbox.taken, 0 agent.stopping, 1 agent.stopping, 2 agent.stopping, "
                    "2 agent.subagent_failed, 2 agent.subagent_closed, 0 tool.finished");
    rig_expect_effects(rig, "1 abort");
}

static void what_can_never_fit_is_refused(void **state)
{
    struct rig *rig = *state;
    /* Pays for a last turn alone, since a fifth is kept back for it. */
    rig->settings.root.tokens = 1450;
    rig_start(rig, "do it");
    rig_expect(rig, "0 inbox.taken, 0 run.started, 0 agent.message, 0 agent.message, "
                    "0 budget.refused, 0 agent.message, 0 model.requested, 0 budget.reserved");
    check_str(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->tools, "kept");
}

static void what_does_not_even_pay_for_a_last_turn_ends_the_run(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 100;
    rig_start(rig, "do it");
    rig_expect(rig, "0 inbox.taken, 0 run.started, 0 agent.message, 0 agent.message, "
                    "0 budget.refused, 0 agent.message, 0 budget.refused, 0 run.failed");
    rig_expect_effects(rig, "");
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->outcome, "budget_exceeded");
}

static void a_child_never_gets_more_than_its_parent_has_left(void **state)
{
    struct rig *rig = *state;
    const struct rig_call spawn = {"spawn_agent",
                                   "{\"task\":\"x\",\"budget\":{\"tokens\":900000}}"};
    rig->settings.root.tokens = 20000;
    rig_start(rig, "do it");
    reply_with_usage(rig, 0, 700, 50, &spawn, 1);
    assert_int_equal(rig_agent(rig, 1)->contract.execution.budget.tokens, 20000 - 750);
}

static void dollars_count_what_is_billed(void **state)
{
    struct rig *rig = *state;
    rig->model.price_in_nano = 1000;
    rig->model.price_out_nano = 5000;
    rig_start(rig, "do it");
    const struct rig_call call = {"read", "{\"path\":\"a\"}"};
    reply_with_usage(rig, 0, 700, 50, &call, 1);
    rig_result(rig, 0, 0, "fine");
    reply_with_usage(rig, 0, 800, 30, NULL, 0);
    assert_int_equal(rig_agent(rig, 0)->account.spent.cost_nano, 1500 * 1000 + 80 * 5000);
    rig_contains(run_result(rig->run), "\"cost_usd\":0.0019");
}

static void reply_with_cache(struct rig *rig, int64_t input, int64_t cached, int64_t written,
                             int64_t output)
{
    struct model_reply reply = {
        .text = STR("done"), .usage = {input, cached, written, output, -1}, .first_token_ms = -1};
    rig_reply(rig, 0, &reply);
}

static void cached_input_and_cache_writes_are_billed_at_their_own_prices(void **state)
{
    struct rig *rig = *state;
    rig->model.price_in_nano = 3000;
    rig->model.price_out_nano = 15000;
    rig->model.price_cached_nano = 300;
    rig->model.price_cache_write_nano = 3750;
    rig_start(rig, "do it");
    reply_with_cache(rig, 1000, 600, 300, 10);
    assert_int_equal(rig_agent(rig, 0)->account.spent.cost_nano,
                     600 * 300 + 300 * 3750 + 100 * 3000 + 10 * 15000);
}

static void a_request_reserves_for_the_dearest_input_there_is(void **state)
{
    struct rig *rig = *state;
    rig->model.price_in_nano = 3000;
    rig->model.price_out_nano = 15000;
    rig->model.price_cached_nano = 300;
    rig->model.price_cache_write_nano = 3750;
    rig_start(rig, "do it");
    const struct event *asked = rig_last(rig, 0, EVENT_MODEL_REQUESTED);
    assert_int_equal(asked->cost_nano, asked->estimate * 3750 + asked->output_limit * 15000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(without_a_limit_the_answer_itself_books_what_was_used),
        RIG_TEST(an_answer_in_a_log_of_the_first_rules_leaves_booking_to_the_event_behind_it),
        RIG_TEST(under_a_limit_booking_is_an_event),
        RIG_TEST(at_80_percent_the_agent_is_told_once),
        RIG_TEST(at_the_limit_one_last_turn_follows_and_its_text_is_kept),
        RIG_TEST(calls_of_the_last_turn_are_logged_and_not_executed),
        RIG_TEST(a_root_that_nobody_watches_stops_where_the_breaker_pauses),
        RIG_TEST(turns_are_limited_too),
        RIG_TEST(a_request_reserves_and_its_reply_settles_what_was_used),
        RIG_TEST(a_childs_tokens_are_taken_from_its_ancestors_too),
        RIG_TEST(a_request_that_broke_off_counts_in_full),
        RIG_TEST(a_request_that_was_refused_or_never_left_costs_nothing),
        RIG_TEST(what_fits_once_others_have_settled_waits_for_them),
        RIG_TEST(what_waits_goes_on_when_the_other_request_fails),
        RIG_TEST(who_waits_for_budget_can_be_cancelled),
        RIG_TEST(what_can_never_fit_is_refused),
        RIG_TEST(what_does_not_even_pay_for_a_last_turn_ends_the_run),
        RIG_TEST(a_child_never_gets_more_than_its_parent_has_left),
        RIG_TEST(dollars_count_what_is_billed),
        RIG_TEST(cached_input_and_cache_writes_are_billed_at_their_own_prices),
        RIG_TEST(a_request_reserves_for_the_dearest_input_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
