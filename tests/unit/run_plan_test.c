/* Plans that a run carries out: from a goal or a written plan over steps to one answer. Approvals, reviews and crashes have
 * programs of their own. */
#include "plan_rig.h"

#define DIAMOND "a own=a; b <a own=b; c <a own=c; d <b,c own=d"

/* --- where a plan comes from --------------------------------------------------------------------------------- */

static void a_goal_becomes_a_plan_and_its_steps_start(void **state)
{
    struct rig *rig = *state;
    plan_rig_start(rig, "");
    check_str(rig_agent(rig, 1)->contract.agent.role, "planner");
    rig_contains(rig_agent(rig, 1)->objective, "Create a plan to: The goal");
    rig_say(rig, 1,
            "Here it is:\n```json\n{\"summary\":\"Short\",\"steps\":[" STEP(
                "a", ",\"ownership\":[\"a\"]") "," STEP("b", ",\"ownership\":[\"b\"]") "]}\n```");
    const struct event *made = rig_last(rig, 0, EVENT_PLAN_MADE);
    rig_contains(made->plan, "\"goal\":\"The goal\"");
    assert_int_equal(made->count, 1);
    assert_int_equal(made->reason.n, 0);
    assert_true(plan_rig_works(rig, "a") && plan_rig_works(rig, "b"));
    rig_contains(rig_agent(rig, 2)->objective, "Do a");
    check_str(rig_agent(rig, 2)->contract.agent.role, "executor");
}

static void no_model_is_asked_for_the_root(void **state)
{
    struct rig *rig = *state;
    plan_rig_sketch(rig, "a");
    plan_rig_say(rig, "a", "did a");
    check_str(rig_last(rig, 0, EVENT_RUN_COMPLETED)->outcome, "completed");
    for (size_t i = 0; i < rig->effect_count; i++)
        assert_false(rig->effects[i].kind == EFFECT_MODEL && rig->effects[i].agent_no == 0);
}

static void a_run_that_is_started_with_a_plan_needs_no_such_tool_for_models(void **state)
{
    struct rig *rig = *state;
    plan_rig_open(rig);
    rig->settings.plan_enabled = SWITCH_OFF;
    rig->plan = "{\"goal\":\"The goal\",\"plan\":" PLAN(STEP("a", "")) "}";
    rig_start(rig, "The goal");
    assert_true(plan_rig_works(rig, "a"));
}

static void a_step_that_the_plan_says_has_failed_is_told_with_that_as_its_reason(void **state)
{
    struct rig *rig = *state;
    plan_rig_start(rig, ",\"plan\":" PLAN(STEP("a", ",\"status\":\"failed\"")));
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->response,
                 "[failed] Title of a: the plan said so when the run began");
}

static void a_model_cannot_wave_a_deployment_through(void **state)
{
    struct rig *rig = *state;
    plan_rig_open(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0,
          {"plan",
           "{\"goal\":\"The goal\",\"plan\":" PLAN(STEP("a", ",\"type\":\"deployment\"")) "}"});
    plan_rig_is(rig, "a", "blocked");
}

static void a_person_can_wave_a_deployment_through(void **state)
{
    struct rig *rig = *state;
    plan_rig_start(rig, ",\"plan\":" PLAN(STEP("a", ",\"type\":\"deployment\"")));
    plan_rig_is(rig, "a", "in_progress");
}

static void a_model_is_not_offered_what_config_turned_off(void **state)
{
    struct rig *rig = *state;
    plan_rig_open(rig);
    rig->settings.plan_enabled = SWITCH_OFF;
    rig_start(rig, "do it");
    CALLS(rig, 0, {"plan", "{\"goal\":\"The goal\"}"});
    assert_int_equal(rig_count(rig, EVENT_PERMISSION_DENIED), 1);
    assert_int_equal(run_agent_count(rig->run), 1);
}

static void garbage_becomes_one_step_with_a_warning(void **state)
{
    struct rig *rig = *state;
    plan_rig_start(rig, "");
    rig_say(rig, 1, "I would rather not.");
    assert_true(rig_last(rig, 0, EVENT_PLAN_MADE)->reason.n > 0);
    assert_int_equal(rig_count(rig, EVENT_PLAN_STEP), 1);
    assert_int_equal(run_agent_count(rig->run), 3);
    rig_contains(rig_agent(rig, 2)->objective, "The goal");
}

static void a_planner_that_fails_fails_the_plan(void **state)
{
    struct rig *rig = *state;
    plan_rig_start(rig, "");
    rig_fail(rig, 1, ERR_PROVIDER, "no such model");
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "Error: Planning failed: ");
    assert_true(str_starts(rig_last(rig, 0, EVENT_RUN_FAILED)->error, STR("Planning failed: ")));
}

static void a_written_plan_with_mistakes_names_all_of_them(void **state)
{
    struct rig *rig = *state;
    plan_rig_start(rig, ",\"plan\":" PLAN(STEP("a", ",\"depends_on\":[\"x\"]") "," STEP(
                            "b", ",\"role\":\"king\"")));
    struct str error = rig_last(rig, 0, EVENT_RUN_FAILED)->error;
    assert_true(str_starts(error, STR("Planning failed: ")));
    rig_contains(error, "steps[0].depends_on[0]");
    rig_contains(error, "steps[1].role");
    assert_int_equal(run_agent_count(rig->run), 1);
}

static void a_plan_alone_starts_no_step(void **state)
{
    struct rig *rig = *state;
    plan_rig_start(rig, ",\"plan_only\":true");
    rig_say(rig, 1, PLAN(STEP("a", "")));
    const struct event *ended = rig_last(rig, 0, EVENT_RUN_COMPLETED);
    rig_contains(ended->response, "\nsteps:\n");
    assert_int_equal(run_agent_count(rig->run), 2);
}

static void a_goal_that_shows_nothing_is_refused(void **state)
{
    struct rig *rig = *state;
    plan_rig_open(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, {"plan", "{\"goal\":\"\"}"}, {"plan", "{\"goal\":\" \\n\"}"},
          {"plan", "{\"goal\":\"\\u3000\\u00a0\"}"});
    assert_int_equal(run_agent_count(rig->run), 1);
    assert_int_equal(rig_count(rig, EVENT_TOOL_FINISHED), 3);
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "Error: goal must not be empty");
}

static void what_a_model_asks_for_must_have_the_right_type(void **state)
{
    struct rig *rig = *state;
    plan_rig_open(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, {"plan", "{\"goal\":\"x\",\"plan_only\":\"true\"}"},
          {"plan", "{\"goal\":\"x\",\"plan\":\"{}\"}"}, {"plan", "{\"goal\":\"x\",\"plan\":[]}"});
    assert_int_equal(run_agent_count(rig->run), 1);
    assert_int_equal(rig_count(rig, EVENT_TOOL_FINISHED), 3);
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "Error: plan must be an object");
}

static void a_model_may_call_it_and_reads_the_report(void **state)
{
    struct rig *rig = *state;
    plan_rig_open(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, {"plan", "{\"goal\":\"The goal\"}"});
    rig_say(rig, 1, PLAN(STEP("a", "")));
    plan_rig_say(rig, "a", "did a");
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "Execution: 1 of 1 steps completed");
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
    rig_say(rig, 0, "all done");
    check_str(rig_last(rig, 0, EVENT_RUN_COMPLETED)->response, "all done");
}

/* --- what starts when ---------------------------------------------------------------------------------------- */

static void a_step_starts_when_all_that_it_needs_is_done(void **state)
{
    struct rig *rig = *state;
    plan_rig_sketch(rig, DIAMOND);
    assert_int_equal(run_agent_count(rig->run), 2);
    plan_rig_say(rig, "a", "did a");
    assert_true(plan_rig_works(rig, "b") && plan_rig_works(rig, "c"));
    plan_rig_say(rig, "c", "did c");
    assert_int_equal(plan_rig_find(rig, "d"), 0);
    plan_rig_say(rig, "b", "did b");
    assert_true(plan_rig_works(rig, "d"));
    plan_rig_say(rig, "d", "did d");
    check_str(rig_last(rig, 0, EVENT_RUN_COMPLETED)->outcome, "completed");
}

static void what_prerequisites_said_is_handed_on(void **state)
{
    struct rig *rig = *state;
    plan_rig_sketch(rig, DIAMOND);
    plan_rig_say(rig, "a", "the cellar is wet");
    struct str told = rig_agent(rig, plan_rig_child(rig, "b"))->objective;
    rig_contains(told, "the cellar is wet");
    plan_rig_say(rig, "b", "pumped");
    plan_rig_say(rig, "c", "dried");
    told = rig_agent(rig, plan_rig_child(rig, "d"))->objective;
    rig_contains(told, "pumped");
    rig_contains(told, "dried");
    assert_null(memmem(told.p, told.n, "cellar", 6));
}

static void no_more_steps_at_once_than_the_run_has_slots(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_concurrent = 2;
    plan_rig_sketch(rig, "a own=a; b own=b; c own=c; d own=d");
    assert_int_equal(run_agent_count(rig->run), 3);
    plan_rig_say(rig, "b", "did b");
    assert_int_equal(run_agent_count(rig->run), 4);
    assert_true(plan_rig_works(rig, "c"));
}

static void steps_that_own_the_same_place_follow_each_other(void **state)
{
    struct rig *rig = *state;
    plan_rig_sketch(rig, "a own=src; b own=src/x; c own=docs");
    assert_true(plan_rig_works(rig, "a") && plan_rig_works(rig, "c"));
    assert_int_equal(plan_rig_find(rig, "b"), 0);
    plan_rig_say(rig, "a", "did a");
    assert_true(plan_rig_works(rig, "b"));
}

static void a_steps_contract_says_what_it_owns_and_that_it_gates_the_run(void **state)
{
    struct rig *rig = *state;
    plan_rig_sketch(rig, "a own=src");
    const struct contract *contract = &rig_agent(rig, 1)->contract;
    assert_true(list_has(&contract->isolation.ownership, STR("src/**")));
    assert_int_equal(contract->outputs.gate, GATE_RUN);
    assert_int_equal(contract->parent.step_idx, 0);
}

static void a_steps_contract_has_its_criteria_and_retries(void **state)
{
    struct rig *rig = *state;
    plan_rig_start(rig, ",\"plan\":" PLAN(STEP("a", ",\"success_criteria\":[\"It is there\"],"
                                                    "\"max_retries\":7")));
    const struct contract *contract = &rig_agent(rig, 1)->contract;
    assert_int_equal(contract->execution.max_retries, 7);
    assert_true(list_has(&contract->step.success_criteria, STR("It is there")));
}

/* --- failures -------------------------------------------------------------------------------------------------- */

static void a_failed_step_skips_what_depends_on_it_and_nothing_else(void **state)
{
    struct rig *rig = *state;
    plan_rig_sketch(rig, "a own=a; b <a own=b; c <b own=c; x own=x; y <x own=y");
    plan_rig_fail(rig, "a");
    plan_rig_is(rig, "a", "failed");
    plan_rig_is(rig, "b", "skipped");
    plan_rig_is(rig, "c", "skipped");
    plan_rig_say(rig, "x", "did x");
    plan_rig_say(rig, "y", "did y");
    const struct event *ended = rig_last(rig, 0, EVENT_RUN_FAILED);
    check_str(ended->error, "not all steps of the plan were done");
    rig_contains(ended->response, "Execution: 2 of 5 steps completed");
    rig_contains(ended->response, "- [failed] Title of a: ");
    rig_contains(ended->response, "no such model");
    rig_contains(ended->response, "- [skipped] Title of c: it needs b, which was not done\n");
    rig_contains(ended->response, "Not everything was done");
}

static void a_failed_step_fails_the_run_of_a_model_that_says_otherwise(void **state)
{
    struct rig *rig = *state;
    plan_rig_open(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, {"plan", "{\"goal\":\"The goal\",\"plan\":" PLAN(STEP("a", "")) "}"});
    plan_rig_fail(rig, "a");
    check_str(rig_last(rig, 0, EVENT_TOOL_FINISHED)->outcome, "error");
    rig_say(rig, 0, "all is well");
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->error, "a child that gates the run failed");
}

static void a_step_that_gets_no_child_has_failed(void **state)
{
    struct rig *rig = *state;
    plan_rig_start(rig,
                   ",\"plan\":" PLAN(STEP("a", ",\"allowed_tools\":[\"no_such_tool\"]") "," STEP(
                       "b", ",\"depends_on\":[\"a\"]")));
    plan_rig_is(rig, "a", "failed");
    rig_contains(plan_rig_step(rig, "a")->reason, "no_such_tool");
    plan_rig_is(rig, "b", "skipped");
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->outcome, "error");
}

/* --- the answer -------------------------------------------------------------------------------------------------- */

static void the_answer_has_its_four_parts(void **state)
{
    struct rig *rig = *state;
    plan_rig_start(rig, "");
    rig_say(rig, 1, "{\"summary\":\"First a.\",\"steps\":[" STEP("a", "") "]}");
    CALLS(rig, 2, {"read", "{\"path\":\"x\"}"});
    rig_result(rig, 2, 0, "text");
    plan_rig_say(rig, "a", "did a");
    check_str(rig_last(rig, 0, EVENT_RUN_COMPLETED)->response,
              "Planning: First a.\n\nExecution: 1 of 1 steps completed\n- [completed] Title of a\n"
              "\nReview: none\n\nTotal tool calls: 1");
}

/* --- money --------------------------------------------------------------------------------------------------------- */

static int64_t tokens_of(const struct rig *rig, const char *name)
{
    return rig_agent(rig, plan_rig_child(rig, name))->contract.execution.budget.tokens;
}

static void a_budget_is_shared_by_estimate(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 90000;
    plan_rig_sketch(rig, "a own=a calls=20; b own=b calls=10");
    assert_int_equal(tokens_of(rig, "a"), 60000);
    assert_int_equal(tokens_of(rig, "b"), 30000);
}

static void dollars_are_shared_too(void **state)
{
    struct rig *rig = *state;
    rig->model.price_in_nano = rig->model.price_out_nano = 1000;
    rig->settings.root.cost_nano = 900000000;
    plan_rig_sketch(rig, "a own=a calls=20; b own=b calls=10");
    assert_int_equal(rig_agent(rig, plan_rig_child(rig, "a"))->contract.execution.budget.cost_nano,
                     600000000);
    assert_int_equal(rig_agent(rig, plan_rig_child(rig, "b"))->contract.execution.budget.cost_nano,
                     300000000);
}

static void a_review_has_a_part_of_the_budget(void **state)
{
    struct rig *rig = *state;
    rig->settings.plan_review = SWITCH_ON;
    rig->settings.root.tokens = 90000;
    plan_rig_sketch(rig, "a own=a calls=10; b own=b calls=10");
    assert_int_equal(tokens_of(rig, "a") + tokens_of(rig, "b"), 60000);
}

static void what_the_planner_spent_is_not_shared_again(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 90000;
    plan_rig_start(rig, "");
    struct model_reply reply = {.text = STR("[" STEP("a", ",\"ownership\":[\"a\"]") "," STEP(
                                    "b", ",\"ownership\":[\"b\"]") "]"),
                                .usage = {9000, -1, -1, 1000, -1},
                                .first_token_ms = -1};
    rig_reply(rig, 1, &reply);
    assert_int_equal(tokens_of(rig, "a"), 40000);
    assert_int_equal(tokens_of(rig, "b"), 40000);
}

static void a_share_of_nothing_is_not_without_limit(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 1;
    plan_rig_sketch(rig, "a own=a; b own=b");
    assert_int_equal(tokens_of(rig, "a"), 1);
    plan_rig_is(rig, "a", "failed");
    plan_rig_is(rig, "b", "failed");
}

static void what_a_step_did_not_use_goes_to_those_that_have_not_started(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 90000;
    plan_rig_sketch(rig, "a own=a calls=10; b own=b calls=10; c <a own=c calls=10");
    assert_int_equal(tokens_of(rig, "a"), 30000);
    plan_rig_say(rig, "a", "did a");
    int64_t spent = rig_agent(rig, plan_rig_child(rig, "a"))->account.spent.tokens;
    assert_true(spent > 0 && spent < 30000);
    assert_int_equal(tokens_of(rig, "c"), 90000 - 30000 - spent);
}

static void a_step_that_had_no_money_to_begin_has_failed(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 100;
    plan_rig_sketch(rig, "a; b <a");
    plan_rig_is(rig, "a", "failed");
    rig_contains(plan_rig_step(rig, "a")->reason,
                 "the budget is used up: 50 tokens, its part of what the run had (budget.tokens); "
                 "another request and a last answer need ");
    plan_rig_is(rig, "b", "skipped");
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->error, "not all steps of the plan were done");
}

static void a_step_that_used_its_budget_up_is_completed_and_says_so(void **state)
{
    struct rig *rig = *state;
    plan_rig_sketch(rig, "a type=research");
    for (int turn = 0; turn < 15; turn++) {
        CALLS(rig, 1, {"read", arena_printf(&rig->arena, "{\"path\":\"%d\"}", turn).p});
        rig_result(rig, 1, 0, "text");
    }
    plan_rig_say(rig, "a", "as far as I got");
    plan_rig_is(rig, "a", "completed");
    rig_contains(
        rig_last(rig, 0, EVENT_RUN_COMPLETED)->response,
        "- [completed] Title of a: the budget is used up: 15 tool calls (its role researcher)");
}

static void a_planner_without_money_is_no_plan_of_one_step(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 100;
    plan_rig_start(rig, "");
    assert_int_equal(rig_count(rig, EVENT_PLAN_MADE), 0);
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->error,
                 "Planning failed: the budget is used up: 100 tokens, its part of what the run had "
                 "(budget.tokens); another request and a last answer need ");
}

/* --- stops --------------------------------------------------------------------------------------------------------- */

static void a_cancel_while_it_is_planned_ends_the_run(void **state)
{
    struct rig *rig = *state;
    plan_rig_start(rig, "");
    rig_inbox(rig, "cancel", "{}");
    rig_fail(rig, 1, ERR_CANCELLED, "stopped");
    check_str(rig_last(rig, 0, EVENT_RUN_CANCELLED)->outcome, "cancelled");
    assert_int_equal(rig_count(rig, EVENT_PLAN_MADE), 0);
}

static void a_cancel_while_steps_work_starts_no_other(void **state)
{
    struct rig *rig = *state;
    plan_rig_sketch(rig, DIAMOND);
    plan_rig_say(rig, "a", "did a");
    rig_inbox(rig, "cancel", "{}");
    rig_fail(rig, plan_rig_child(rig, "b"), ERR_CANCELLED, "stopped");
    rig_fail(rig, plan_rig_child(rig, "c"), ERR_CANCELLED, "stopped");
    check_str(rig_last(rig, 0, EVENT_RUN_CANCELLED)->outcome, "cancelled");
    assert_int_equal(plan_rig_find(rig, "d"), 0);
}

static void a_plan_that_is_stopped_says_what_was_not_done(void **state)
{
    struct rig *rig = *state;
    plan_rig_sketch(rig, "a own=a; b <a own=b; c <b own=c; d own=d approval");
    plan_rig_say(rig, "a", "did a");
    rig_inbox(rig, "cancel", "{}");
    rig_fail(rig, plan_rig_child(rig, "b"), ERR_CANCELLED, "stopped");
    struct str said = rig_last(rig, 0, EVENT_RUN_CANCELLED)->response;
    rig_contains(said, "Error: stopped before the plan was done.\n\nPlanning: ");
    rig_contains(said, "Execution: 1 of 4 steps completed\n- [completed] Title of a\n"
                       "- [failed] Title of b: its parent was stopped\n"
                       "- [pending] Title of c: not started\n"
                       "- [blocked] Title of d: waits for approval\n");
    rig_contains(said, "Not everything was done");
}

static void the_roots_time_ends_the_plan(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.wall_ms = 30000;
    plan_rig_sketch(rig, DIAMOND);
    rig_pass(rig, 30000);
    rig_fail(rig, 1, ERR_CANCELLED, "stopped");
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->outcome, "timeout");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_goal_becomes_a_plan_and_its_steps_start),
        RIG_TEST(no_model_is_asked_for_the_root),
        RIG_TEST(a_run_that_is_started_with_a_plan_needs_no_such_tool_for_models),
        RIG_TEST(a_step_that_the_plan_says_has_failed_is_told_with_that_as_its_reason),
        RIG_TEST(a_model_cannot_wave_a_deployment_through),
        RIG_TEST(a_person_can_wave_a_deployment_through),
        RIG_TEST(a_model_is_not_offered_what_config_turned_off),
        RIG_TEST(garbage_becomes_one_step_with_a_warning),
        RIG_TEST(a_planner_that_fails_fails_the_plan),
        RIG_TEST(a_written_plan_with_mistakes_names_all_of_them),
        RIG_TEST(a_plan_alone_starts_no_step),
        RIG_TEST(a_goal_that_shows_nothing_is_refused),
        RIG_TEST(what_a_model_asks_for_must_have_the_right_type),
        RIG_TEST(a_model_may_call_it_and_reads_the_report),
        RIG_TEST(a_step_starts_when_all_that_it_needs_is_done),
        RIG_TEST(what_prerequisites_said_is_handed_on),
        RIG_TEST(no_more_steps_at_once_than_the_run_has_slots),
        RIG_TEST(steps_that_own_the_same_place_follow_each_other),
        RIG_TEST(a_steps_contract_says_what_it_owns_and_that_it_gates_the_run),
        RIG_TEST(a_steps_contract_has_its_criteria_and_retries),
        RIG_TEST(a_failed_step_skips_what_depends_on_it_and_nothing_else),
        RIG_TEST(a_failed_step_fails_the_run_of_a_model_that_says_otherwise),
        RIG_TEST(a_step_that_gets_no_child_has_failed),
        RIG_TEST(the_answer_has_its_four_parts),
        RIG_TEST(a_budget_is_shared_by_estimate),
        RIG_TEST(dollars_are_shared_too),
        RIG_TEST(a_review_has_a_part_of_the_budget),
        RIG_TEST(what_the_planner_spent_is_not_shared_again),
        RIG_TEST(a_share_of_nothing_is_not_without_limit),
        RIG_TEST(what_a_step_did_not_use_goes_to_those_that_have_not_started),
        RIG_TEST(a_step_that_had_no_money_to_begin_has_failed),
        RIG_TEST(a_step_that_used_its_budget_up_is_completed_and_says_so),
        RIG_TEST(a_planner_without_money_is_no_plan_of_one_step),
        RIG_TEST(a_cancel_while_it_is_planned_ends_the_run),
        RIG_TEST(a_cancel_while_steps_work_starts_no_other),
        RIG_TEST(a_plan_that_is_stopped_says_what_was_not_done),
        RIG_TEST(the_roots_time_ends_the_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
