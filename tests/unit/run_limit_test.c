/* The error of an agent whose budget is used up names the limit, and the key or the argument that sets it. So do the events that come
 * before: its last turn, a refusal, a warning. */
#include <stdio.h>
#include <stdlib.h>

#include "run_fixture.h"

/* Calls that differ, so that no turn repeats another. */
static void reads(struct rig *rig, uint32_t no, int count)
{
    for (int i = 0; i < count; i++) {
        CALLS(rig, no, {"read", arena_printf(&rig->arena, "{\"path\":\"%d\"}", i).p});
        rig_result(rig, no, 0, "fine");
    }
}

/* Behind a limit of tokens or dollars stands what is missing. */
static void check_limit(struct rig *rig, struct str text, const char *opening, const char *limit)
{
    struct str start = arena_printf(&rig->arena, "%s: %s", opening, limit);
    struct str missing =
        arena_printf(&rig->arena, "%s; another request and a last answer need ", start.p);
    if (strstr(limit, "token") != NULL || limit[0] == '$')
        assert_true(str_starts(text, missing));
    else
        check_str(text, start.p);
}

static void check_root(struct rig *rig, const char *limit)
{
    struct str error = rig_last(rig, 0, EVENT_RUN_FAILED)->error;
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->outcome, "budget_exceeded");
    check_limit(rig, error, "the budget is used up", limit);
}

/* Of a child: in its last turn, where it ends, and in its result. */
static void check_child(struct rig *rig, uint32_t no, const char *limit)
{
    struct str error = rig_last(rig, no, EVENT_SUBAGENT_WAITING)->error;
    check_str(rig_last(rig, no, EVENT_SUBAGENT_WAITING)->outcome, "budget_exceeded");
    check_limit(rig, error, "the budget is used up", limit);
    rig_contains(rig_last(rig, no, EVENT_SUBAGENT_CLOSED)->result,
                 arena_printf(&rig->arena, "\"error\":\"%s\"", error.p).p);
}

/* A child that calls tools until its last turn, and then answers. */
static void child_spends(struct rig *rig, const struct rig_call *call, int count)
{
    rig_start(rig, "do it");
    rig_calls(rig, 0, call, 1);
    reads(rig, 1, count);
    check_str(rig_last(rig, 1, EVENT_MODEL_REQUESTED)->tools, "kept");
    rig_say(rig, 1, "as far as I got");
}

/* --- tool calls and turns ---------------------------------------------------------------------------- */

static void a_root_that_the_breaker_stops_names_pause_at(void **state)
{
    struct rig *rig = *state;
    rig->settings.pause_at = 3;
    rig_start(rig, "do it");
    reads(rig, 0, 3);
    check_str(rig_last(rig, 0, EVENT_AGENT_MESSAGE)->note, "last_turn");
    check_str(rig_last(rig, 0, EVENT_AGENT_MESSAGE)->reason,
              "3 tool calls (safety.circuit_breaker.pause_at)");
    rig_say(rig, 0, "as far as I got");
    check_root(rig, "3 tool calls (safety.circuit_breaker.pause_at)");
}

static void a_root_without_a_pause_names_hard_stop_at(void **state)
{
    struct rig *rig = *state;
    rig->settings.pause_at = 0;
    rig->settings.hard_stop_at = 2;
    rig_start(rig, "do it");
    reads(rig, 0, 2);
    rig_say(rig, 0, "as far as I got");
    check_root(rig, "2 tool calls (safety.circuit_breaker.hard_stop_at)");
}

static void a_last_turn_that_calls_tools_names_the_limit_too(void **state)
{
    struct rig *rig = *state;
    rig->settings.pause_at = 2;
    rig_start(rig, "do it");
    reads(rig, 0, 2);
    CALLS(rig, 0, {"read", "{\"path\":\"more\"}"});
    check_root(rig, "2 tool calls (safety.circuit_breaker.pause_at)");
}

static void a_child_with_the_default_names_its_key_and_the_argument(void **state)
{
    struct rig *rig = *state;
    const struct rig_call spawn = SPAWN("x");
    rig->settings.child.tool_calls = 2;
    child_spends(rig, &spawn, 2);
    check_child(rig, 1,
                "2 tool calls (sub_agent.default_budget.max_tool_calls, or max_tool_calls of the "
                "call)");
}

static void a_door_without_the_argument_names_the_key_alone(void **state)
{
    struct rig *rig = *state;
    rig_open_doors(rig);
    rig->settings.child.tool_calls = 2;
    child_spends(rig,
                 &(const struct rig_call){"delegate_task",
                                          "{\"plan\":\"p\",\"subtasks\":[{\"task\":\"x\"}]}"},
                 2);
    check_child(rig, 1, "2 tool calls (sub_agent.default_budget.max_tool_calls)");
}

static void a_child_whose_call_set_the_limit_names_the_argument(void **state)
{
    struct rig *rig = *state;
    child_spends(
        rig, &(const struct rig_call){"spawn_agent", "{\"task\":\"x\",\"max_tool_calls\":1}"}, 1);
    check_child(rig, 1, "1 tool call (max_tool_calls of its call)");
}

static void a_child_with_a_role_names_the_role(void **state)
{
    struct rig *rig = *state;
    int calls = (int)role_find(STR("researcher"))->tool_calls;
    rig_open_doors(rig);
    child_spends(
        rig, &(const struct rig_call){"spawn_agent", "{\"task\":\"x\",\"role\":\"researcher\"}"},
        calls);
    check_child(rig, 1,
                arena_printf(&rig->arena,
                             "%d tool calls (its role researcher, or max_tool_calls of the call)",
                             calls)
                    .p);
}

static void a_child_that_asked_for_more_than_the_hard_stop_names_that_one(void **state)
{
    struct rig *rig = *state;
    rig->settings.pause_at = 0;
    rig->settings.hard_stop_at = 3;
    child_spends(
        rig, &(const struct rig_call){"spawn_agent", "{\"task\":\"x\",\"max_tool_calls\":50}"}, 3);
    check_child(rig, 1, "3 tool calls (safety.circuit_breaker.hard_stop_at)");
}

static void turns_have_no_key_and_are_named_by_the_contract(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.turns = 3;
    rig_start(rig, "do it");
    reads(rig, 0, 2);
    rig_say(rig, 0, "as far as I got");
    check_root(rig, "3 turns (turns of its contract)");
}

/* --- tokens and dollars ------------------------------------------------------------------------------ */

static void a_root_out_of_tokens_names_the_key_and_so_does_the_refusal(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 1450; /* pays for a last turn alone */
    rig_start(rig, "do it");
    check_limit(rig, rig_last(rig, 0, EVENT_BUDGET_REFUSED)->reason,
                "what is left of the budget does not pay for another request",
                "1450 tokens (budget.tokens)");
    rig_say(rig, 0, "as far as I got");
    check_root(rig, "1450 tokens (budget.tokens)");
}

static void a_root_that_cannot_pay_its_last_turn_names_the_key(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 100;
    rig_start(rig, "do it");
    check_root(rig, "100 tokens (budget.tokens)");
}

static void dollars_name_the_key_and_the_flag(void **state)
{
    struct rig *rig = *state;
    rig->model.price_in_nano = rig->model.price_out_nano = 1000;
    rig->settings.root.cost_nano = 100000;
    rig_start(rig, "do it");
    check_root(rig, "$0.0001 (budget.cost_usd, or --max-cost)");
}

static void of_tokens_and_dollars_the_one_that_is_short_is_named(void **state)
{
    struct rig *rig = *state;
    rig->model.price_in_nano = rig->model.price_out_nano = 1000;
    rig->settings.root.cost_nano = INT64_C(5000000000);
    rig->settings.root.tokens = 100;
    rig_start(rig, "do it");
    check_root(rig, "100 tokens (budget.tokens)");
}

/* The number behind ": " and before " would pay". */
static double told_limit(const struct rig *rig)
{
    struct str error = rig_last(rig, 0, EVENT_RUN_FAILED)->error;
    char text[1024];
    snprintf(text, sizeof text, "%.*s", STR_FMT(error));
    char *end = strstr(text, " would pay for them");
    assert_non_null(end);
    while (end > text && strncmp(end, ": ", 2) != 0)
        end--;
    return strtod(end + 2 + (end[2] == '$'), NULL);
}

/* Whoever raises the limit to what the error says gets on. */
static void the_limit_that_an_error_names_pays_for_the_request(void **state)
{
    for (int kind = 0; kind < 2; kind++) {
        double told = 0;
        for (int round = 0; round < 2; round++) {
            void *inner = NULL;
            rig_setup(&inner);
            struct rig *rig = inner;
            rig->model.price_in_nano = rig->model.price_out_nano = 1000;
            double limit = round == 0 ? (kind == 0 ? 100 : 0.0001) : told;
            rig->settings.root.cost_nano = UNLIMITED;
            if (kind == 0)
                rig->settings.root.tokens = (int64_t)limit;
            else
                rig->settings.root.cost_nano = (int64_t)(limit * 1e9 + 0.5);
            rig_start(rig, "do it");
            if (round == 0)
                told = told_limit(rig);
            else
                check_str(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->tools, "offered");
            rig_teardown(&inner);
        }
    }
}

static void a_childs_own_tokens_are_named_by_the_argument(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 50000;
    rig_start(rig, "do it");
    CALLS(rig, 0, {"spawn_agent", "{\"task\":\"x\",\"budget\":{\"tokens\":300}}"});
    check_child(rig, 1, "300 tokens (budget.tokens of its call)");
}

static void reply_used(struct rig *rig, uint32_t no, int64_t tokens, const char *arguments)
{
    struct tool_call call = {STR("x"), STR("spawn_agent"), str_from(arguments)};
    struct model_reply reply = {.calls = &call,
                                .call_count = 1,
                                .usage = {tokens - 10, -1, -1, 10, -1},
                                .first_token_ms = -1};
    rig_reply(rig, no, &reply);
}

static void a_child_that_the_runs_limit_stops_says_whose_it_is(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 4200;
    rig_start(rig, "do it");
    reply_used(rig, 0, 3000, "{\"task\":\"x\"}");
    check_child(rig, 1, "4200 tokens of the run (budget.tokens)");
}

static void a_grandchild_that_its_parents_limit_stops_names_that_agents_call(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 90000;
    rig_start(rig, "do it");
    CALLS(rig, 0, {"spawn_agent", "{\"task\":\"x\",\"budget\":{\"tokens\":9000}}"});
    reply_used(rig, 1, 7500, "{\"task\":\"y\"}");
    check_child(rig, 2, "9000 tokens of its parent (budget.tokens of that agent's call)");
}

/* --- warnings and older logs -------------------------------------------------------------------------- */

static void a_warning_of_the_breaker_names_warn_at(void **state)
{
    struct rig *rig = *state;
    rig->settings.warn_at = 2;
    rig_start(rig, "do it");
    reads(rig, 0, 2);
    check_str(rig_last(rig, 0, EVENT_BUDGET_WARNED)->reason,
              "2 tool calls (safety.circuit_breaker.warn_at)");
}

static void a_warning_at_80_percent_names_the_limit_that_is_near(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    CALLS(rig, 0, {"spawn_agent", "{\"task\":\"x\",\"max_tool_calls\":5}"});
    reads(rig, 1, 4);
    check_str(rig_last(rig, 1, EVENT_BUDGET_WARNED)->reason,
              "5 tool calls (max_tool_calls of its call)");
}

/* Events of before do not say which limit it was. */
static void a_log_that_does_not_name_the_limit_folds_and_ends_as_it_did(void **state)
{
    struct rig *rig = *state;
    struct err err = ERR_INIT;
    struct decision decision;
    rig->settings.pause_at = 1;
    rig_start(rig, "do it");
    reads(rig, 0, 1);
    struct run *run = run_new(STR(RIG_RUN));
    for (size_t i = 0; i < rig->event_count; i++) {
        struct event event = *rig->events[i];
        event.reason = STR_NONE;
        assert_int_equal(run_apply(run, &event, &err), 0);
    }
    struct model_reply reply = {.text = STR("done"), .usage = USAGE_NONE, .first_token_ms = -1};
    struct input input = {.kind = INPUT_REPLY,
                          .now = rig->now,
                          .call_id = rig_effect(rig, 0, EFFECT_MODEL)->call_id,
                          .reply = &reply};
    decision_init(&decision);
    assert_int_equal(run_decide(run, &input, &decision, &err), 0);
    check_str(run_agent(run, 0)->error, "the budget is used up");
    decision_release(&decision);
    run_free(run);
    rig_say(rig, 0, "done");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_root_that_the_breaker_stops_names_pause_at),
        RIG_TEST(a_root_without_a_pause_names_hard_stop_at),
        RIG_TEST(a_last_turn_that_calls_tools_names_the_limit_too),
        RIG_TEST(a_child_with_the_default_names_its_key_and_the_argument),
        RIG_TEST(a_door_without_the_argument_names_the_key_alone),
        RIG_TEST(a_child_whose_call_set_the_limit_names_the_argument),
        RIG_TEST(a_child_with_a_role_names_the_role),
        RIG_TEST(a_child_that_asked_for_more_than_the_hard_stop_names_that_one),
        RIG_TEST(turns_have_no_key_and_are_named_by_the_contract),
        RIG_TEST(a_root_out_of_tokens_names_the_key_and_so_does_the_refusal),
        RIG_TEST(a_root_that_cannot_pay_its_last_turn_names_the_key),
        RIG_TEST(dollars_name_the_key_and_the_flag),
        RIG_TEST(of_tokens_and_dollars_the_one_that_is_short_is_named),
        cmocka_unit_test(the_limit_that_an_error_names_pays_for_the_request),
        RIG_TEST(a_childs_own_tokens_are_named_by_the_argument),
        RIG_TEST(a_child_that_the_runs_limit_stops_says_whose_it_is),
        RIG_TEST(a_grandchild_that_its_parents_limit_stops_names_that_agents_call),
        RIG_TEST(a_warning_of_the_breaker_names_warn_at),
        RIG_TEST(a_warning_at_80_percent_names_the_limit_that_is_near),
        RIG_TEST(a_log_that_does_not_name_the_limit_folds_and_ends_as_it_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
