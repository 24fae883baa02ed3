/* What a review is told, what its words do, and what becomes of one that cannot be done. */
#include "plan_rig.h"

static void a_review_that_finds_nothing_ends_the_plan(void **state)
{
    struct rig *rig = *state;
    plan_rig_review(rig, 1);
    plan_rig_sketch(rig, "a");
    plan_rig_say(rig, "a", "did a");
    const struct agent *reviewer = rig_agent(rig, plan_rig_child(rig, "reviewer"));
    check_str(reviewer->contract.agent.role, "reviewer");
    rig_contains(reviewer->objective, "Goal: The goal");
    rig_contains(reviewer->objective, "did a");
    plan_rig_say(rig, "reviewer", "{\"approved\":true,\"summary\":\"fine\",\"findings\":[]}");
    rig_contains(rig_last(rig, 0, EVENT_RUN_COMPLETED)->response, "Review: approved. fine");
}

static void findings_become_steps_that_are_reviewed_again(void **state)
{
    struct rig *rig = *state;
    plan_rig_review(rig, 1);
    plan_rig_sketch(rig, "a");
    plan_rig_say(rig, "a", "did a");
    plan_rig_say(rig, "reviewer",
                 "{\"approved\":false,\"findings\":[{\"title\":\"Check the expiry\","
                 "\"description\":\"Tokens never expire\"}]}");
    assert_int_equal(rig_last(rig, 0, EVENT_PLAN_MADE)->count, 2);
    const struct agent *fixer = rig_agent(rig, plan_rig_child(rig, "review-1-1"));
    check_str(fixer->contract.agent.role, "executor");
    rig_contains(fixer->objective, "Tokens never expire");
    plan_rig_say(rig, "review-1-1", "they do now");
    assert_int_equal(run_agent_count(rig->run), 5);
    rig_contains(rig_agent(rig, 4)->objective, "they do now");
    rig_say(rig, 4, "{\"approved\":true,\"summary\":\"good\",\"findings\":[]}");
    const struct event *ended = rig_last(rig, 0, EVENT_RUN_COMPLETED);
    rig_contains(ended->response, "Execution: 2 of 2 steps completed");
    rig_contains(ended->response, "Review: approved. good");
}

static void findings_without_words_are_no_steps_and_no_approval(void **state)
{
    struct rig *rig = *state;
    plan_rig_review(rig, 1);
    plan_rig_sketch(rig, "a");
    plan_rig_say(rig, "a", "did a");
    plan_rig_say(rig, "reviewer",
                 "{\"findings\":[7,{},[],\"  \",\"\\u0000\",{\"title\":\"\\n\"}]}");
    assert_int_equal(rig_last(rig, 0, EVENT_PLAN_MADE)->count, 1);
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->error, "the review did not approve");
}

static void a_finding_without_words_does_not_hide_the_others(void **state)
{
    struct rig *rig = *state;
    plan_rig_review(rig, 1);
    plan_rig_sketch(rig, "a");
    plan_rig_say(rig, "a", "did a");
    plan_rig_say(rig, "reviewer",
                 "{\"findings\":[\"\\u0000\",{\"issue\":\"a\\u001b[2J\\u0000b\"}]}");
    assert_true(plan_rig_works(rig, "review-1-1"));
    assert_int_equal(run_agent_count(rig->run), 4);
}

static void a_findings_step_has_an_id_of_its_own(void **state)
{
    struct rig *rig = *state;
    plan_rig_review(rig, 1);
    plan_rig_sketch(rig, "review-1-1 own=a; review-1-2 own=b");
    plan_rig_say(rig, "review-1-1", "did a");
    plan_rig_say(rig, "review-1-2", "did b");
    plan_rig_say(rig, "reviewer", "{\"findings\":[\"more\"]}");
    assert_true(plan_rig_works(rig, "review-1-3"));
}

static void rounds_of_findings_are_bounded(void **state)
{
    struct rig *rig = *state;
    plan_rig_review(rig, 1);
    plan_rig_sketch(rig, "a");
    plan_rig_say(rig, "a", "did a");
    plan_rig_say(rig, "reviewer", "{\"findings\":[\"more\"]}");
    plan_rig_say(rig, "review-1-1", "done");
    rig_say(rig, 4, "{\"summary\":\"no\",\"findings\":[\"still more\"]}");
    const struct event *ended = rig_last(rig, 0, EVENT_RUN_FAILED);
    rig_contains(ended->response, "Review: open findings. no\n- still more");
    rig_contains(ended->response, "the review did not approve the result");
    assert_int_equal(run_agent_count(rig->run), 5);
}

static void no_rounds_is_one_review_whose_findings_fail_the_run(void **state)
{
    struct rig *rig = *state;
    plan_rig_review(rig, 0);
    plan_rig_sketch(rig, "a");
    plan_rig_say(rig, "a", "did a");
    plan_rig_say(rig, "reviewer", "{\"summary\":\"no\",\"findings\":[\"more\"]}");
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->response, "- more");
}

static void who_does_not_approve_needs_no_findings(void **state)
{
    struct rig *rig = *state;
    plan_rig_review(rig, 0);
    plan_rig_sketch(rig, "a");
    plan_rig_say(rig, "a", "did a");
    plan_rig_say(rig, "reviewer", "{\"approved\":false,\"summary\":\"no\",\"findings\":[\"\"]}");
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->response, "Review: open findings. no");
}

static void a_verdict_is_found_behind_other_json(void **state)
{
    struct rig *rig = *state;
    plan_rig_review(rig, 0);
    plan_rig_sketch(rig, "a");
    plan_rig_say(rig, "a", "did a");
    plan_rig_say(rig, "reviewer", "I ran [\"make test\"]. {\"findings\":[\"more\"]}");
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->response, "Review: open findings. \n- more");
}

static void what_was_not_reviewed_is_not_delivered_as_reviewed(void **state)
{
    struct rig *rig = *state;
    plan_rig_review(rig, 1);
    plan_rig_sketch(rig, "a");
    plan_rig_say(rig, "a", "did a");
    plan_rig_fail(rig, "reviewer");
    const struct event *ended = rig_last(rig, 0, EVENT_RUN_FAILED);
    rig_contains(ended->response, "Review: failed: ");
    rig_contains(ended->response, "the result was not reviewed");
}

static void a_review_in_prose_is_asked_once_for_its_verdict(void **state)
{
    struct rig *rig = *state;
    plan_rig_review(rig, 1);
    plan_rig_sketch(rig, "a");
    plan_rig_say(rig, "a", "did a");
    plan_rig_say(rig, "reviewer", "Looks good to me.");
    rig_contains(rig_last(rig, 2, EVENT_AGENT_MESSAGE)->text, "has no verdict");
    plan_rig_say(rig, "reviewer", "{\"approved\":true,\"summary\":\"fine\"}");
    assert_int_equal(run_agent_count(rig->run), 3);
    rig_contains(rig_last(rig, 0, EVENT_RUN_COMPLETED)->response, "Review: approved. fine");
}

static void a_result_without_a_verdict_is_not_reviewed(void **state)
{
    struct rig *rig = *state;
    plan_rig_review(rig, 1);
    plan_rig_sketch(rig, "a");
    plan_rig_say(rig, "a", "did a");
    plan_rig_say(rig, "reviewer", "Looks good to me.");
    rig_crash(rig, 1000);
    plan_rig_say(rig, "reviewer", "As I said: it looks good.");
    const struct event *ended = rig_last(rig, 0, EVENT_RUN_FAILED);
    rig_contains(ended->response, "Review: not reviewed: the reviewer gave no verdict. It said: As "
                                  "I said: it looks good.");
    check_str(ended->error, "the plan's result was not reviewed");
}

static void only_a_review_is_asked_for_a_verdict(void **state)
{
    struct rig *rig = *state;
    plan_rig_review(rig, 0);
    plan_rig_sketch(rig, "a type=review");
    plan_rig_say(rig, "a", "Looks good to me.");
    plan_rig_is(rig, "a", "completed");
}

static void a_plan_of_which_nothing_was_done_is_not_reviewed(void **state)
{
    struct rig *rig = *state;
    plan_rig_review(rig, 1);
    plan_rig_sketch(rig, "a; b <a");
    plan_rig_fail(rig, "a");
    assert_int_equal(plan_rig_find(rig, "reviewer"), 0);
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->outcome, "error");
}

static void a_cancel_while_it_is_reviewed_ends_the_run(void **state)
{
    struct rig *rig = *state;
    plan_rig_review(rig, 1);
    plan_rig_sketch(rig, "a");
    plan_rig_say(rig, "a", "did a");
    rig_inbox(rig, "cancel", "{}");
    rig_fail(rig, 2, ERR_CANCELLED, "stopped");
    check_str(rig_last(rig, 0, EVENT_RUN_CANCELLED)->outcome, "cancelled");
}

/* A text of this length. */
static const char *long_text(struct rig *rig, size_t bytes)
{
    char *text = arena_alloc(&rig->arena, bytes + 1);
    memset(text, 'w', bytes);
    text[bytes] = '\0';
    return text;
}

static void a_reviewers_contract_has_the_completion_criteria(void **state)
{
    struct rig *rig = *state;
    plan_rig_review(rig, 0);
    plan_rig_start(rig, ",\"plan\":{\"goal\":\"The goal\",\"completion_criteria\":[\"It stands\"],"
                        "\"steps\":[" STEP("a", "") "]}");
    plan_rig_say(rig, "a", "did a");
    const struct agent *reviewer = rig_agent(rig, plan_rig_child(rig, "reviewer"));
    assert_true(list_has(&reviewer->contract.step.success_criteria, STR("It stands")));
    rig_contains(reviewer->objective, "- It stands");
}

static void why_a_step_failed_is_told_also_after_a_round_of_findings(void **state)
{
    struct rig *rig = *state;
    plan_rig_review(rig, 1);
    plan_rig_sketch(rig, "a own=a; b own=b");
    plan_rig_fail(rig, "a");
    plan_rig_say(rig, "b", "did b");
    plan_rig_say(rig, "reviewer", "{\"findings\":[\"Mend it\"]}");
    plan_rig_say(rig, "review-1-1", "mended");
    plan_rig_say(rig, "reviewer", "{\"findings\":[]}");
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->response, "- [failed] Title of a: ");
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->response, "no such model");
}

static void a_no_without_findings_is_mended_too(void **state)
{
    struct rig *rig = *state;
    plan_rig_review(rig, 1);
    plan_rig_sketch(rig, "a");
    plan_rig_say(rig, "a", "did a");
    plan_rig_say(rig, "reviewer", "{\"approved\":false,\"summary\":\"The roof leaks\"}");
    rig_contains(rig_agent(rig, plan_rig_child(rig, "review-1-1"))->objective, "The roof leaks");
    plan_rig_say(rig, "review-1-1", "mended");
    rig_say(rig, 4, "{\"approved\":true}");
    rig_contains(rig_last(rig, 0, EVENT_RUN_COMPLETED)->response, "Review: approved.");
}

static void a_review_that_had_no_money_fails_the_plan(void **state)
{
    struct rig *rig = *state;
    plan_rig_review(rig, 1);
    rig->settings.root.tokens = 4000;
    struct model_reply reply = {
        .text = STR("did a"), .usage = {3000, -1, -1, 900, -1}, .first_token_ms = -1};
    plan_rig_sketch(rig, "a type=research calls=1000");
    rig_reply(rig, 1, &reply);
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->response,
                 "Review: failed: the budget is used up");
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->error, "the plan's result was not reviewed");
}

static void what_a_review_said_before_it_broke_off_approves_nothing(void **state)
{
    struct rig *rig = *state;
    struct tool_call look = {STR("x"), STR("read"), STR("{\"path\":\"f\"}")};
    struct model_reply reply = {.text = STR("{\"approved\":true}"),
                                .calls = &look,
                                .call_count = 1,
                                .usage = USAGE_NONE,
                                .first_token_ms = -1};
    plan_rig_review(rig, 1);
    plan_rig_sketch(rig, "a");
    plan_rig_say(rig, "a", "did a");
    uint32_t reviewer = plan_rig_child(rig, "reviewer");
    rig_reply(rig, reviewer, &reply);
    rig_result(rig, reviewer, 0, "fine");
    rig_fail(rig, reviewer, ERR_PROVIDER, "refused");
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->error, "the plan's result was not reviewed");
}

/* A reviewer's context is 12500 tokens, whatever a hundred steps said. */
static void a_review_of_many_steps_fits_into_its_reviewer(void **state)
{
    struct rig *rig = *state;
    struct buf sketched;
    char name[8];
    plan_rig_review(rig, 0);
    rig->settings.max_concurrent = 100;
    buf_init(&sketched, 1 << 16);
    for (int i = 0; i < 60; i++)
        buf_printf(&sketched, "%ss%d type=research", i > 0 ? "; " : "", i);
    plan_rig_sketch(rig, sketched.p);
    buf_release(&sketched);
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "s%d", i);
        plan_rig_say(rig, name, long_text(rig, 3000));
    }
    struct str task = rig_agent(rig, plan_rig_child(rig, "reviewer"))->objective;
    assert_true(task.n < 24000);
    rig_contains(task, "Step 60: Title of s59 [completed]");
    rig_contains(task, "[cut: the first 200 of 3000 bytes]");
    rig_contains(task, "Answer with one JSON object");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_review_that_finds_nothing_ends_the_plan),
        RIG_TEST(findings_become_steps_that_are_reviewed_again),
        RIG_TEST(findings_without_words_are_no_steps_and_no_approval),
        RIG_TEST(a_finding_without_words_does_not_hide_the_others),
        RIG_TEST(a_findings_step_has_an_id_of_its_own),
        RIG_TEST(rounds_of_findings_are_bounded),
        RIG_TEST(no_rounds_is_one_review_whose_findings_fail_the_run),
        RIG_TEST(who_does_not_approve_needs_no_findings),
        RIG_TEST(a_verdict_is_found_behind_other_json),
        RIG_TEST(what_was_not_reviewed_is_not_delivered_as_reviewed),
        RIG_TEST(a_review_in_prose_is_asked_once_for_its_verdict),
        RIG_TEST(a_result_without_a_verdict_is_not_reviewed),
        RIG_TEST(only_a_review_is_asked_for_a_verdict),
        RIG_TEST(a_plan_of_which_nothing_was_done_is_not_reviewed),
        RIG_TEST(a_cancel_while_it_is_reviewed_ends_the_run),
        RIG_TEST(a_reviewers_contract_has_the_completion_criteria),
        RIG_TEST(why_a_step_failed_is_told_also_after_a_round_of_findings),
        RIG_TEST(a_no_without_findings_is_mended_too),
        RIG_TEST(a_review_that_had_no_money_fails_the_plan),
        RIG_TEST(what_a_review_said_before_it_broke_off_approves_nothing),
        RIG_TEST(a_review_of_many_steps_fits_into_its_reviewer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
