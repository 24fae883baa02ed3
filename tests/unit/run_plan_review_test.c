/* What a review is told, what its words do, and what becomes of one that cannot be done. */
#include "plan_rig.h"

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
        RIG_TEST(a_reviewers_contract_has_the_completion_criteria),
        RIG_TEST(why_a_step_failed_is_told_also_after_a_round_of_findings),
        RIG_TEST(a_no_without_findings_is_mended_too),
        RIG_TEST(a_review_that_had_no_money_fails_the_plan),
        RIG_TEST(a_review_of_many_steps_fits_into_its_reviewer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
