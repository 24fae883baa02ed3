/* Plans that wait for people, survive crashes, and merge what their steps made. */
#include "plan_rig.h"

#define MINUTE 60000

/* --- approvals ------------------------------------------------------------------------------------------------- */

static void an_approval_blocks_its_own_branch_alone(void **state)
{
    struct rig *rig = *state;
    rig->settings.approval_timeout_ms = 10 * MINUTE;
    plan_rig_sketch(rig, "a own=a approval; b <a own=b; x own=x; y <x own=y");
    plan_rig_is(rig, "a", "blocked");
    assert_int_equal(plan_rig_find(rig, "a"), 0);
    plan_rig_say(rig, "x", "did x");
    assert_true(plan_rig_works(rig, "y"));
    plan_rig_answer(rig, "a", "yes");
    assert_true(plan_rig_works(rig, "a"));
    plan_rig_say(rig, "y", "did y");
    plan_rig_say(rig, "a", "did a");
    plan_rig_say(rig, "b", "did b");
    check_str(rig_last(rig, 0, EVENT_RUN_COMPLETED)->outcome, "completed");
}

static void a_question_names_the_step(void **state)
{
    struct rig *rig = *state;
    plan_rig_sketch(rig, "a approval");
    const struct effect *asked = rig_effect(rig, 0, EFFECT_ASK);
    check_str(asked->tool, "plan");
    rig_contains(asked->arguments, "\"step\":\"a\",\"title\":\"Title of a\"");
    rig_contains(asked->arguments, "\"role\":\"executor\",\"tools\":[");
    rig_contains(asked->arguments, "\"checks\":[]");
    assert_int_equal(asked->class, EFFECT_OUTWARD);
}

static void a_question_says_which_checks_will_run_and_who_set_them(void **state)
{
    struct rig *rig = *state;
    struct str commands[] = {STR("make lint"), STR("make test")};
    struct role_checks checks[] = {{STR("executor"), {LIST_SET, commands, 2}}};
    rig->settings.role_checks = checks;
    rig->settings.role_checks_count = 1;
    plan_rig_sketch(rig, "a own=src approval");
    const struct effect *asked = rig_effect(rig, 0, EFFECT_ASK);
    rig_contains(asked->arguments, "\"owns\":[\"src");
    rig_contains(asked->arguments, "\"checks\":[\"make lint\",\"make test\"],"
                                   "\"checks_from\":\"roles.executor.outputs.checks\"");
}

static void what_a_steps_question_shows_is_logged_with_its_place(void **state)
{
    struct rig *rig = *state;
    plan_rig_sketch(rig, "a own=a approval");
    struct input input = {.kind = INPUT_SHOWN,
                          .call_id = rig_effect(rig, 0, EFFECT_ASK)->call_id,
                          .shown = STR(RIG_SHOWN),
                          .preview = STR("{\"parts\":[]}")};
    rig_skip(rig);
    rig_input(rig, &input);
    rig_expect(rig, "0 permission.shown");
    assert_int_equal(rig_last(rig, 0, EVENT_PERMISSION_SHOWN)->item, 0);
    rig_input(rig, &input);
    rig_expect(rig, "");
}

static void a_no_denies_the_step_and_skips_what_needs_it(void **state)
{
    struct rig *rig = *state;
    plan_rig_sketch(rig, "a own=a approval; b <a own=b; x own=x");
    plan_rig_answer(rig, "a", "no");
    plan_rig_is(rig, "a", "failed");
    plan_rig_is(rig, "b", "skipped");
    plan_rig_say(rig, "x", "did x");
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->response,
                 "- [failed] Title of a: denied: the user said no");
}

static void an_answer_counts_once_and_for_its_own_step(void **state)
{
    struct rig *rig = *state;
    plan_rig_sketch(rig, "a own=a approval; b own=b approval");
    plan_rig_answer(rig, "a", "yes");
    plan_rig_is(rig, "b", "blocked");
    plan_rig_answer(rig, "a", "no");
    assert_true(plan_rig_works(rig, "a"));
    plan_rig_is(rig, "a", "in_progress");
}

static void nobody_who_answers_in_time_is_a_no(void **state)
{
    struct rig *rig = *state;
    rig->settings.approval_timeout_ms = 10 * MINUTE;
    plan_rig_sketch(rig, "a own=a approval; b <a own=b");
    rig_pass(rig, 10 * MINUTE - 1);
    plan_rig_is(rig, "a", "blocked");
    rig_pass(rig, 1);
    check_str(rig_last(rig, 0, EVENT_TIMER_FIRED)->kind, "approval");
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->outcome, "error");
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->response,
                 "denied: nobody approved it in time");
}

static void without_a_limit_a_question_waits_as_long_as_the_run_has(void **state)
{
    struct rig *rig = *state;
    rig->settings.approval_timeout_ms = 0;
    plan_rig_sketch(rig, "a own=a approval");
    rig_pass(rig, 10 * MINUTE);
    plan_rig_is(rig, "a", "blocked");
    plan_rig_answer(rig, "a", "yes");
    assert_true(plan_rig_works(rig, "a"));
}

static void a_later_question_has_the_whole_time(void **state)
{
    struct rig *rig = *state;
    rig->settings.approval_timeout_ms = 2 * MINUTE;
    plan_rig_sketch(rig, "a own=a approval; b <a own=b approval");
    rig_pass(rig, MINUTE);
    plan_rig_answer(rig, "a", "yes");
    plan_rig_say(rig, "a", "did a");
    plan_rig_is(rig, "b", "blocked");
    rig_pass(rig, MINUTE + 1);
    plan_rig_is(rig, "b", "blocked");
    rig_pass(rig, MINUTE);
    plan_rig_is(rig, "b", "failed");
}

static void an_answered_question_leaves_no_deadline(void **state)
{
    struct rig *rig = *state;
    rig->settings.approval_timeout_ms = MINUTE;
    plan_rig_sketch(rig, "a own=a approval");
    plan_rig_answer(rig, "a", "yes");
    assert_int_equal(rig_agent(rig, 0)->timers[TIMER_APPROVAL], 0);
}

static void a_cancel_while_only_a_person_is_waited_for_ends_the_run(void **state)
{
    struct rig *rig = *state;
    plan_rig_sketch(rig, "a approval");
    rig_inbox(rig, "cancel", "{}");
    check_str(rig_last(rig, 0, EVENT_RUN_CANCELLED)->outcome, "cancelled");
}

static void a_step_may_ask_when_what_it_needs_is_done(void **state)
{
    struct rig *rig = *state;
    plan_rig_sketch(rig, "a own=a; b <a own=b approval");
    assert_int_equal(rig_count(rig, EVENT_PLAN_STEP), 1);
    plan_rig_say(rig, "a", "did a");
    plan_rig_is(rig, "b", "blocked");
}

/* --- crashes --------------------------------------------------------------------------------------------------- */

static void a_crash_while_it_is_planned_asks_the_planner_again(void **state)
{
    struct rig *rig = *state;
    plan_rig_start(rig, "");
    rig_crash(rig, MINUTE);
    assert_int_equal(run_agent_count(rig->run), 2);
    rig_say(rig, 1, PLAN(STEP("a", "")));
    plan_rig_say(rig, "a", "did a");
    check_str(rig_last(rig, 0, EVENT_RUN_COMPLETED)->outcome, "completed");
}

static void a_crash_in_the_middle_repeats_no_step(void **state)
{
    struct rig *rig = *state;
    plan_rig_sketch(rig, "a own=a; b <a own=b; c <a own=c; d <b,c own=d");
    plan_rig_say(rig, "a", "did a");
    plan_rig_say(rig, "b", "did b");
    rig_crash(rig, MINUTE);
    assert_int_equal(run_agent_count(rig->run), 4);
    plan_rig_is(rig, "b", "completed");
    plan_rig_say(rig, "c", "did c");
    plan_rig_say(rig, "d", "did d");
    assert_int_equal(run_agent_count(rig->run), 5);
    rig_contains(rig_last(rig, 0, EVENT_RUN_COMPLETED)->response, "4 of 4 steps");
}

static void after_a_crash_a_person_is_asked_again_and_has_the_time_that_was_left(void **state)
{
    struct rig *rig = *state;
    rig->settings.approval_timeout_ms = 2 * MINUTE;
    plan_rig_sketch(rig, "a approval");
    rig_pass(rig, MINUTE);
    rig_skip(rig);
    rig_crash_later(rig, 0, 60 * MINUTE);
    assert_int_equal(plan_rig_asked(rig), 1);
    rig_pass(rig, MINUTE - 1);
    plan_rig_is(rig, "a", "blocked");
    plan_rig_answer(rig, "a", "yes");
    plan_rig_say(rig, "a", "did a");
    check_str(rig_last(rig, 0, EVENT_RUN_COMPLETED)->outcome, "completed");
}

static void a_crash_while_it_is_reviewed_reviews_again(void **state)
{
    struct rig *rig = *state;
    plan_rig_review(rig, 1);
    plan_rig_sketch(rig, "a");
    plan_rig_say(rig, "a", "did a");
    rig_crash(rig, MINUTE);
    plan_rig_say(rig, "reviewer", "{\"findings\":[\"more\"]}");
    rig_crash(rig, MINUTE);
    plan_rig_say(rig, "review-1-1", "done");
    rig_crash(rig, MINUTE);
    rig_say(rig, 4, "{\"findings\":[]}");
    check_str(rig_last(rig, 0, EVENT_RUN_COMPLETED)->outcome, "completed");
}

static void a_crash_while_it_is_stopped_leaves_nothing_waiting(void **state)
{
    struct rig *rig = *state;
    plan_rig_sketch(rig, "a own=a; b own=b approval");
    rig_inbox(rig, "cancel", "{}");
    rig_crash(rig, MINUTE);
    check_str(rig_last(rig, 0, EVENT_RUN_CANCELLED)->outcome, "cancelled");
}

/* --- trees ------------------------------------------------------------------------------------------------------- */

static void isolated(struct rig *rig, uint32_t no)
{
    struct input input = {.kind = INPUT_ISOLATED,
                          .agent_no = no,
                          .call_id = rig_effect(rig, no, EFFECT_ISOLATE)->call_id,
                          .strategy = STR("worktree"),
                          .worktree_path = STR("/trees/x"),
                          .workspace = STR("/trees/x"),
                          .branch = STR("cadre/x"),
                          .base_ref = STR("abc")};
    rig_input(rig, &input);
}

static void merged(struct rig *rig, uint32_t no, enum tool_outcome outcome)
{
    struct input input = {.kind = INPUT_MERGED,
                          .agent_no = no,
                          .call_id = rig_effect(rig, no, EFFECT_MERGE)->call_id,
                          .outcome = outcome,
                          .merge_strategy = outcome == TOOL_OK ? STR("merge") : STR("conflict"),
                          .text = outcome == TOOL_OK ? STR("merged") : STR("conflict in x")};
    rig_input(rig, &input);
}

static void isolated_sketch(struct rig *rig, const char *text)
{
    rig->settings.isolate_children = rig->settings.isolate_root = SWITCH_ON;
    plan_rig_sketch(rig, text);
    isolated(rig, 0);
}

static void a_step_starts_when_what_it_needs_is_merged_and_not_before(void **state)
{
    struct rig *rig = *state;
    isolated_sketch(rig, "a own=a; b <a own=b");
    isolated(rig, 1);
    plan_rig_say(rig, "a", "did a");
    plan_rig_is(rig, "a", "in_progress");
    assert_int_equal(plan_rig_find(rig, "b"), 0);
    merged(rig, 1, TOOL_OK);
    plan_rig_is(rig, "a", "completed");
    assert_int_not_equal(plan_rig_find(rig, "b"), 0);
}

static void a_step_that_waits_for_its_merge_holds_no_slot(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_concurrent = 2;
    isolated_sketch(rig, "a own=a; b own=b; c own=c");
    isolated(rig, plan_rig_child(rig, "a"));
    isolated(rig, plan_rig_child(rig, "b"));
    assert_int_equal(plan_rig_find(rig, "c"), 0);
    plan_rig_say(rig, "b", "did b");
    assert_true(plan_rig_works(rig, "c"));
    isolated(rig, plan_rig_child(rig, "c"));
    assert_int_equal(rig_agent(rig, plan_rig_child(rig, "c"))->phase, PHASE_ASKING);
}

static void a_step_is_merged_also_where_children_are_held(void **state)
{
    struct rig *rig = *state;
    rig->settings.hold_children = SWITCH_ON;
    isolated_sketch(rig, "a own=a; b <a own=b");
    isolated(rig, 1);
    plan_rig_say(rig, "a", "did a");
    plan_rig_is(rig, "a", "in_progress");
    merged(rig, 1, TOOL_OK);
    plan_rig_is(rig, "a", "completed");
}

static void a_step_that_cannot_be_merged_has_failed(void **state)
{
    struct rig *rig = *state;
    isolated_sketch(rig, "a own=a; b <a own=b");
    isolated(rig, 1);
    plan_rig_say(rig, "a", "did a");
    merged(rig, 1, TOOL_ERROR);
    plan_rig_is(rig, "a", "failed");
    rig_contains(plan_rig_step(rig, "a")->reason, "conflict in x");
    plan_rig_is(rig, "b", "skipped");
}

/* Which agents were merged, in order. */
static struct str merge_order(struct rig *rig)
{
    struct buf order;
    buf_init(&order, 1000);
    for (size_t i = 0; i < rig->event_count; i++) {
        if (rig->events[i]->type == EVENT_WORKTREE_MERGED)
            buf_printf(&order, "%u", rig->events[i]->agent_no);
    }
    struct str text = arena_copy(&rig->arena, buf_view(&order));
    buf_release(&order);
    return text;
}

static void steps_are_merged_in_their_order_whoever_ends_first(void **state)
{
    struct rig *rig = *state;
    isolated_sketch(rig, "a own=a; b own=b; c own=c");
    for (uint32_t no = 1; no <= 3; no++)
        isolated(rig, no);
    rig_say(rig, 3, "did c");
    rig_say(rig, 2, "did b");
    check_str(merge_order(rig), "");
    rig_say(rig, 1, "did a");
    for (uint32_t no = 1; no <= 3; no++)
        merged(rig, no, TOOL_OK);
    check_str(merge_order(rig), "123");
}

static void a_step_that_another_waits_for_is_merged_before_its_turn(void **state)
{
    struct rig *rig = *state;
    isolated_sketch(rig, "slow own=slow; then <slow own=then; last <then own=last; a own=a; b "
                         "own=b; next <a,b own=next");
    for (uint32_t no = 1; no <= 3; no++)
        isolated(rig, no);
    assert_int_equal(plan_rig_find(rig, "slow"), 1);
    rig_say(rig, 3, "did b");
    plan_rig_is(rig, "b", "in_progress");
    rig_say(rig, 2, "did a");
    merged(rig, 2, TOOL_OK);
    merged(rig, 3, TOOL_OK);
    plan_rig_is(rig, "next", "in_progress");
    plan_rig_is(rig, "slow", "in_progress");
    rig_say(rig, 1, "did slow");
    merged(rig, 1, TOOL_OK);
    check_str(merge_order(rig), "231");
}

/* --- the same again ---------------------------------------------------------------------------------------------- */

static struct str log_of(struct rig *rig)
{
    struct buf log;
    buf_init(&log, 16 << 20);
    plan_rig_review(rig, 1);
    plan_rig_sketch(rig, "a own=a; b <a own=b approval; c <a own=c; d <b,c own=d");
    plan_rig_say(rig, "a", "did a");
    plan_rig_answer(rig, "b", "yes");
    plan_rig_say(rig, "c", "did c");
    plan_rig_say(rig, "b", "did b");
    plan_rig_say(rig, "d", "did d");
    plan_rig_say(rig, "reviewer", "{\"findings\":[\"more\"]}");
    plan_rig_say(rig, "review-1-1", "done");
    plan_rig_say(rig, "reviewer", "{\"findings\":[]}");
    for (size_t i = 0; i < rig->event_count; i++)
        event_print(rig->events[i], &log);
    run_print(rig->run, &log);
    struct str text = arena_copy(&rig->arena, buf_view(&log));
    buf_release(&log);
    return text;
}

static void the_same_plan_and_answers_give_the_same_log_twice(void **state)
{
    struct rig *rig = *state;
    void *again;
    assert_int_equal(rig_setup(&again), 0);
    struct rig *other = again;
    assert_true(str_eq(log_of(rig), log_of(other)));
    check_str(rig_last(rig, 0, EVENT_RUN_COMPLETED)->outcome, "completed");
    rig_teardown(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(an_approval_blocks_its_own_branch_alone),
        RIG_TEST(a_question_names_the_step),
        RIG_TEST(a_question_says_which_checks_will_run_and_who_set_them),
        RIG_TEST(what_a_steps_question_shows_is_logged_with_its_place),
        RIG_TEST(a_no_denies_the_step_and_skips_what_needs_it),
        RIG_TEST(an_answer_counts_once_and_for_its_own_step),
        RIG_TEST(nobody_who_answers_in_time_is_a_no),
        RIG_TEST(without_a_limit_a_question_waits_as_long_as_the_run_has),
        RIG_TEST(a_later_question_has_the_whole_time),
        RIG_TEST(an_answered_question_leaves_no_deadline),
        RIG_TEST(a_cancel_while_only_a_person_is_waited_for_ends_the_run),
        RIG_TEST(a_step_may_ask_when_what_it_needs_is_done),
        RIG_TEST(a_crash_while_it_is_planned_asks_the_planner_again),
        RIG_TEST(a_crash_in_the_middle_repeats_no_step),
        RIG_TEST(after_a_crash_a_person_is_asked_again_and_has_the_time_that_was_left),
        RIG_TEST(a_crash_while_it_is_reviewed_reviews_again),
        RIG_TEST(a_crash_while_it_is_stopped_leaves_nothing_waiting),
        RIG_TEST(a_step_starts_when_what_it_needs_is_merged_and_not_before),
        RIG_TEST(a_step_that_waits_for_its_merge_holds_no_slot),
        RIG_TEST(a_step_is_merged_also_where_children_are_held),
        RIG_TEST(a_step_that_cannot_be_merged_has_failed),
        RIG_TEST(steps_are_merged_in_their_order_whoever_ends_first),
        RIG_TEST(a_step_that_another_waits_for_is_merged_before_its_turn),
        RIG_TEST(the_same_plan_and_answers_give_the_same_log_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
