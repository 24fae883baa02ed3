/* How agents with trees end: failures and retries, what is kept, parents that are stopped, the root's own tree, crashes in every state.
 * Each child is closed exactly once, which the teardown looks at too. */
#include "run_fixture.h"

#define HOUR 3600000

static void isolate(struct rig *rig)
{
    rig_open_doors(rig);
    rig->settings.isolate_children = SWITCH_ON;
    rig_start(rig, "do it");
}

/* One child, number 1, that asks its model. */
static void one(struct rig *rig)
{
    isolate(rig);
    CALLS(rig, 0, SPAWN("one"));
    rig_made(rig, 1);
    rig_skip(rig);
}

/* Two children; the second has done its work and waits for the first, which asks its model. */
static void one_waits(struct rig *rig)
{
    isolate(rig);
    CALLS(rig, 0, SPAWN("one"), SPAWN("two"));
    rig_made(rig, 1);
    rig_made(rig, 2);
    rig_say(rig, 2, "done");
    rig_skip(rig);
}

static void cancel(struct rig *rig)
{
    rig_inbox(rig, "cancel", "{\"reason\":\"enough\"}");
}

/* The root's last answer, and what it lent to its children is cleared up. */
static void end(struct rig *rig)
{
    rig_say(rig, 0, "all done");
    rig_left(rig, 0, "kept");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
}

static int teardown(void **state)
{
    struct rig *rig = *state;
    for (uint32_t no = 1; run_state(rig->run) > RUN_RUNNING && no < run_agent_count(rig->run); no++)
        assert_int_equal(rig_count_of(rig, no, EVENT_SUBAGENT_CLOSED), 1);
    return rig_teardown(state);
}

/* --- failures ------------------------------------------------------------------------------------------------------------------ */

static void the_work_of_a_child_that_failed_is_kept_and_then_it_is_closed(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_retries = 0;
    one(rig);
    rig_fail(rig, 1, ERR_PROVIDER, "broken");
    rig_expect(rig, "1 model.failed, 1 agent.subagent_failed, 1 agent.merging");
    rig_expect_effects(rig, "1 merge keep");
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_TOOLS); /* its parent still waits */
    rig_left(rig, 1, "kept");
    rig_expect(rig, "1 agent.worktree_merged, 1 agent.subagent_closed, 0 tool.finished, "
                    "0 model.requested");
    rig_contains(rig_last(rig, 1, EVENT_SUBAGENT_CLOSED)->result, "\"branch\":\"cadre/run/1\"");
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "broken");
    end(rig);
}

static void a_child_whose_work_cannot_be_kept_is_closed_all_the_same(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_retries = 0;
    one(rig);
    rig_fail(rig, 1, ERR_PROVIDER, "broken");
    rig_left(rig, 1, "error");
    check_str(rig_last(rig, 1, EVENT_SUBAGENT_CLOSED)->close_reason, "broken");
    end(rig);
}

static void a_failed_child_holds_back_nobody_while_its_work_is_kept(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_retries = 0;
    one_waits(rig);
    rig_fail(rig, 1, ERR_PROVIDER, "broken");
    rig_expect_effects(rig, "1 merge keep, 2 merge merge");
}

static void a_child_that_timed_out_is_kept(void **state)
{
    struct rig *rig = *state;
    rig_walls(rig);
    rig->settings.max_retries = 0;
    one(rig);
    rig_pass(rig, 60000);
    rig_fail(rig, 1, ERR_CANCELLED, "aborted");
    rig_expect_effects(rig, "1 abort, 1 merge keep");
    rig_left(rig, 1, "kept");
    check_str(rig_last(rig, 1, EVENT_SUBAGENT_FAILED)->outcome, "timeout");
    end(rig);
}

static void a_tree_that_cannot_be_made_is_a_failure_that_is_reported(void **state)
{
    struct rig *rig = *state;
    isolate(rig);
    CALLS(rig, 0, SPAWN("one"));
    rig_skip(rig);
    rig_unmade(rig, 1, "disk full");
    rig_expect(rig, "1 agent.worktree_created, 1 agent.subagent_failed, 1 agent.subagent_closed, "
                    "0 tool.finished, 0 model.requested");
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text,
                 "its tree could not be made: disk full");
    assert_int_equal(rig_agent(rig, 1)->slot, SLOT_NONE);
    rig_say(rig, 0, "a pity");
    rig_left(rig, 0, "kept");
}

static void a_roots_tree_that_cannot_be_made_fails_the_run(void **state)
{
    struct rig *rig = *state;
    rig->settings.isolate_root = SWITCH_ON;
    rig_start(rig, "do it");
    CALLS(rig, 0, {"read", "{\"path\":\"a\"}"});
    rig_unmade(rig, 0, "disk full");
    assert_int_equal(run_state(rig->run), RUN_FAILED);
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->error,
                 "its tree could not be made: disk full");
}

/* --- another attempt --------------------------------------------------------------------------------------------------------- */

static void another_attempt_starts_in_the_tree_as_new_at_its_base(void **state)
{
    struct rig *rig = *state;
    one(rig);
    rig_break(rig, 1, "broken");
    rig_expect(rig, "1 model.failed, 1 agent.isolating");
    check_str(rig_last(rig, 1, EVENT_AGENT_ISOLATING)->base_ref, "abc");
    assert_int_equal(rig_last(rig, 1, EVENT_AGENT_ISOLATING)->attempt, 1);
    rig_made(rig, 1);
    rig_expect(rig, "1 agent.worktree_created, 1 agent.subagent_attempt, 1 agent.message, "
                    "1 agent.message, 1 model.requested");
    rig_say(rig, 1, "done");
    rig_left(rig, 1, "three_way");
    end(rig);
}

static void an_attempt_that_timed_out_is_followed_by_one_other(void **state)
{
    struct rig *rig = *state;
    rig->settings.attempt_timeout_ms = 1000;
    one(rig);
    rig_pass(rig, 1000);
    rig_fail(rig, 1, ERR_CANCELLED, "aborted");
    rig_made(rig, 1);
    assert_int_equal(rig_agent(rig, 1)->attempt, 1);
    assert_int_equal(rig_agent(rig, 1)->phase, PHASE_ASKING);
    assert_int_equal(rig_count(rig, EVENT_AGENT_ISOLATING), 2);
}

static void a_child_whose_next_tree_cannot_be_made_fails_and_leaves_the_old_one(void **state)
{
    struct rig *rig = *state;
    one(rig);
    rig_break(rig, 1, "broken");
    rig_skip(rig);
    rig_unmade(rig, 1, "disk full");
    rig_expect(rig, "1 agent.worktree_created, 1 agent.subagent_failed, 1 agent.merging");
    rig_left(rig, 1, "kept");
    end(rig);
}

static void a_child_that_is_cancelled_between_attempts_makes_no_other(void **state)
{
    struct rig *rig = *state;
    one(rig);
    rig_break(rig, 1, "broken");
    rig_skip(rig);
    cancel(rig);
    rig_expect_effects(rig, "1 abort");
    rig_made(rig, 1);
    rig_expect_effects(rig, "1 merge keep");
    rig_left(rig, 1, "kept");
    rig_left(rig, 0, "kept");
    assert_int_equal(run_state(rig->run), RUN_CANCELLED);
}

/* --- parents that are stopped -------------------------------------------------------------------------------------------------- */

static void a_child_that_is_being_given_a_tree_is_stopped_with_its_parent(void **state)
{
    struct rig *rig = *state;
    isolate(rig);
    CALLS(rig, 0, SPAWN("one"), SPAWN("two"));
    rig_skip(rig);
    cancel(rig);
    rig_expect_effects(rig, "1 abort, 2 abort");
    rig_unmade(rig, 1, "stopped");
    rig_made(rig, 2); /* it was too late */
    rig_expect_effects(rig, "2 merge keep");
    rig_left(rig, 2, "kept");
    rig_left(rig, 0, "kept");
    assert_int_equal(run_state(rig->run), RUN_CANCELLED);
}

static void a_child_that_waits_for_its_turn_is_kept_when_its_parent_is_stopped(void **state)
{
    struct rig *rig = *state;
    one_waits(rig);
    cancel(rig);
    rig_expect_effects(rig, "2 merge keep, 1 abort");
    rig_left(rig, 2, "kept");
    rig_fail(rig, 1, ERR_CANCELLED, "aborted");
    rig_left(rig, 1, "kept");
    rig_left(rig, 0, "kept");
    assert_int_equal(run_state(rig->run), RUN_CANCELLED);
    assert_int_equal(rig_agent(rig, 2)->outcome, OUTCOME_CANCELLED);
}

static void a_merge_that_ends_although_it_was_stopped_counts(void **state)
{
    struct rig *rig = *state;
    one(rig);
    rig_say(rig, 1, "done");
    rig_skip(rig);
    cancel(rig);
    rig_expect_effects(rig, "1 abort");
    rig_left(rig, 1, "three_way");
    assert_int_equal(rig_agent(rig, 1)->outcome, OUTCOME_COMPLETED);
    rig_left(rig, 0, "kept");
    assert_int_equal(run_state(rig->run), RUN_CANCELLED);
}

static void a_merge_that_was_stopped_leaves_its_work_on_the_branch(void **state)
{
    struct rig *rig = *state;
    one(rig);
    rig_say(rig, 1, "done");
    cancel(rig);
    rig_skip(rig);
    rig_left(rig, 1, "stopped");
    rig_expect(rig, "1 agent.worktree_merged, 1 agent.subagent_failed, 1 agent.subagent_closed, "
                    "0 tool.finished, 0 agent.merging");
    assert_int_equal(rig_agent(rig, 1)->outcome, OUTCOME_CANCELLED);
    rig_contains(rig_last(rig, 1, EVENT_SUBAGENT_CLOSED)->result, "\"branch\":\"cadre/run/1\"");
    rig_left(rig, 0, "kept");
    assert_int_equal(run_state(rig->run), RUN_CANCELLED);
}

static void keeping_is_never_cut_short(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_retries = 0;
    one(rig);
    rig_fail(rig, 1, ERR_PROVIDER, "broken");
    rig_skip(rig);
    cancel(rig);
    rig_expect_effects(rig, "");
    rig_left(rig, 1, "kept");
    rig_expect_effects(rig, "0 merge keep");
    rig_skip(rig);
    cancel(rig);
    rig_expect_effects(rig, "");
    rig_left(rig, 0, "kept");
}

static void a_parent_that_fails_merges_none_of_its_jobs(void **state)
{
    struct rig *rig = *state;
    isolate(rig);
    for (uint32_t no = 1; no <= 2; no++) {
        CALLS(rig, 0, {"spawn", "{\"task\":\"a job\"}"});
        rig_facts(rig, 0, 0, "[]");
        rig_made(rig, no);
        rig_say(rig, no, "done");
    }
    rig_skip(rig);
    rig_fail(rig, 0, ERR_PROVIDER, "broken");
    rig_expect_effects(rig, "1 merge keep, 2 merge keep");
    rig_left(rig, 2, "kept");
    rig_left(rig, 1, "kept");
    rig_left(rig, 0, "kept");
    assert_int_equal(run_state(rig->run), RUN_FAILED);
}

static void an_await_counts_a_held_job_once_when_its_parent_is_stopped(void **state)
{
    struct rig *rig = *state;
    rig->settings.hold_children = SWITCH_ON;
    isolate(rig);
    for (uint32_t no = 1; no <= 2; no++) {
        CALLS(rig, 0, {"spawn", "{\"task\":\"a job\"}"});
        rig_facts(rig, 0, 0, "[]");
        rig_made(rig, no);
    }
    CALLS(rig, 0, {"spawn_await", "{\"job_ids\":\"*\"}"});
    rig_say(rig, 1, "held");
    cancel(rig);
    rig_left(rig, 1, "kept");
    assert_int_equal(rig_agent(rig, 0)->calls[0].state, CALL_RUNNING);
    rig_fail(rig, 2, ERR_CANCELLED, "aborted");
    rig_left(rig, 2, "kept");
    rig_left(rig, 0, "kept");
    assert_int_equal(run_state(rig->run), RUN_CANCELLED);
}

/* --- the root's own tree --------------------------------------------------------------------------------------------------------- */

/* A root with a tree that has made a call and is asked again. */
static void root(struct rig *rig)
{
    rig->settings.isolate_root = SWITCH_ON;
    rig_start(rig, "do it");
    CALLS(rig, 0, {"read", "{\"path\":\"a\"}"});
    rig_made(rig, 0);
    rig_result(rig, 0, 0, "fine");
    rig_skip(rig);
}

static void a_roots_tree_is_kept_before_the_run_ends(void **state)
{
    struct rig *rig = *state;
    root(rig);
    rig_say(rig, 0, "done");
    rig_expect(rig, "0 model.replied, 0 agent.merging");
    rig_expect_effects(rig, "0 merge keep");
    rig_left(rig, 0, "kept");
    rig_expect(rig, "0 agent.worktree_merged, 0 run.completed");
    check_str(rig_last(rig, 0, EVENT_RUN_COMPLETED)->response, "done");
    rig_contains(rig_last(rig, 0, EVENT_RUN_COMPLETED)->result, "\"branch\":\"cadre/run/0\"");
}

static void a_roots_tree_that_cannot_be_kept_fails_the_run(void **state)
{
    struct rig *rig = *state;
    root(rig);
    rig_say(rig, 0, "done");
    rig_left(rig, 0, "error");
    assert_int_equal(run_state(rig->run), RUN_FAILED);
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->error, "error");
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->response, "done");
}

static void a_run_that_was_cancelled_is_cancelled_even_if_its_tree_cannot_be_kept(void **state)
{
    struct rig *rig = *state;
    root(rig);
    cancel(rig);
    rig_fail(rig, 0, ERR_CANCELLED, "aborted");
    rig_left(rig, 0, "error");
    assert_int_equal(run_state(rig->run), RUN_CANCELLED);
}

/* --- crashes ------------------------------------------------------------------------------------------------------------------ */

static void a_tree_that_was_being_made_is_asked_for_again(void **state)
{
    struct rig *rig = *state;
    isolate(rig);
    CALLS(rig, 0, SPAWN("one"));
    rig_skip(rig);
    struct str lost = rig_effect(rig, 1, EFFECT_ISOLATE)->call_id;
    rig_crash(rig, HOUR);
    rig_expect(rig, "0 run.resumed, 1 agent.isolating");
    rig_expect_effects(rig, "1 isolate");
    assert_false(str_eq(lost, rig_effect(rig, 1, EFFECT_ISOLATE)->call_id));
    rig_made(rig, 1);
    rig_say(rig, 1, "done");
    rig_left(rig, 1, "three_way");
    end(rig);
}

static void a_tree_for_another_attempt_is_asked_for_again(void **state)
{
    struct rig *rig = *state;
    one(rig);
    rig_break(rig, 1, "broken");
    rig_crash(rig, HOUR);
    check_str(rig_last(rig, 1, EVENT_AGENT_ISOLATING)->base_ref, "abc");
    rig_made(rig, 1);
    assert_int_equal(rig_agent(rig, 1)->attempt, 1);
    assert_int_equal(rig_agent(rig, 1)->phase, PHASE_ASKING);
}

static void a_child_that_is_stopped_while_its_tree_is_made_stays_stopped(void **state)
{
    struct rig *rig = *state;
    isolate(rig);
    CALLS(rig, 0, SPAWN("one"));
    cancel(rig);
    rig_crash(rig, HOUR);
    rig_made(rig, 1);
    rig_left(rig, 1, "kept");
    rig_left(rig, 0, "kept");
    assert_int_equal(run_state(rig->run), RUN_CANCELLED);
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_STARTED), 0);
}

static void who_waits_for_its_turn_still_waits_and_is_merged_once(void **state)
{
    struct rig *rig = *state;
    one_waits(rig);
    rig_crash(rig, HOUR);
    rig_expect_effects(rig, "1 model");
    rig_say(rig, 1, "done");
    rig_left(rig, 1, "three_way");
    rig_left(rig, 2, "three_way");
    assert_int_equal(rig_count(rig, EVENT_AGENT_MERGING), 2);
    end(rig);
}

static void a_merge_that_was_under_way_is_asked_for_again_and_a_late_answer_is_dropped(void **state)
{
    struct rig *rig = *state;
    one_waits(rig);
    rig_say(rig, 1, "done");
    struct input late = {.kind = INPUT_MERGED,
                         .agent_no = 1,
                         .call_id = rig_effect(rig, 1, EFFECT_MERGE)->call_id,
                         .merge_strategy = STR("three_way")};
    rig_skip(rig);
    rig_crash(rig, HOUR);
    rig_expect(rig, "0 run.resumed, 1 agent.merging");
    rig_expect_effects(rig, "1 merge merge");
    rig_input(rig, &late);
    rig_expect_nothing(rig);
    rig_left(rig, 1, "three_way");
    rig_expect_effects(rig, "2 merge merge");
    rig_left(rig, 2, "three_way");
    end(rig);
}

static void work_that_was_being_kept_is_kept(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_retries = 0;
    one(rig);
    rig_fail(rig, 1, ERR_PROVIDER, "broken");
    rig_skip(rig);
    rig_crash(rig, HOUR);
    rig_expect(rig, "0 run.resumed, 1 agent.merging");
    rig_expect_effects(rig, "1 merge keep");
    rig_left(rig, 1, "kept");
    end(rig);
}

static void a_roots_tree_that_was_being_made_or_kept_is_asked_for_again(void **state)
{
    struct rig *rig = *state;
    rig->settings.isolate_root = SWITCH_ON;
    rig_start(rig, "do it");
    CALLS(rig, 0, {"read", "{\"path\":\"a\"}"});
    rig_skip(rig);
    rig_crash(rig, HOUR);
    rig_expect(rig, "0 run.resumed, 0 agent.isolating");
    rig_made(rig, 0);
    rig_result(rig, 0, 0, "fine");
    rig_say(rig, 0, "done");
    rig_skip(rig);
    rig_crash(rig, HOUR);
    rig_expect(rig, "0 run.resumed, 0 agent.merging");
    rig_left(rig, 0, "kept");
    check_str(rig_last(rig, 0, EVENT_RUN_COMPLETED)->response, "done");
}

#define ENDS_TEST(function) cmocka_unit_test_setup_teardown(function, rig_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENDS_TEST(the_work_of_a_child_that_failed_is_kept_and_then_it_is_closed),
        ENDS_TEST(a_child_whose_work_cannot_be_kept_is_closed_all_the_same),
        ENDS_TEST(a_failed_child_holds_back_nobody_while_its_work_is_kept),
        ENDS_TEST(a_child_that_timed_out_is_kept),
        ENDS_TEST(a_tree_that_cannot_be_made_is_a_failure_that_is_reported),
        ENDS_TEST(a_roots_tree_that_cannot_be_made_fails_the_run),
        ENDS_TEST(another_attempt_starts_in_the_tree_as_new_at_its_base),
        ENDS_TEST(an_attempt_that_timed_out_is_followed_by_one_other),
        ENDS_TEST(a_child_whose_next_tree_cannot_be_made_fails_and_leaves_the_old_one),
        ENDS_TEST(a_child_that_is_cancelled_between_attempts_makes_no_other),
        ENDS_TEST(a_child_that_is_being_given_a_tree_is_stopped_with_its_parent),
        ENDS_TEST(a_child_that_waits_for_its_turn_is_kept_when_its_parent_is_stopped),
        ENDS_TEST(a_merge_that_ends_although_it_was_stopped_counts),
        ENDS_TEST(a_merge_that_was_stopped_leaves_its_work_on_the_branch),
        ENDS_TEST(keeping_is_never_cut_short),
        ENDS_TEST(a_parent_that_fails_merges_none_of_its_jobs),
        ENDS_TEST(an_await_counts_a_held_job_once_when_its_parent_is_stopped),
        ENDS_TEST(a_roots_tree_is_kept_before_the_run_ends),
        ENDS_TEST(a_roots_tree_that_cannot_be_kept_fails_the_run),
        ENDS_TEST(a_run_that_was_cancelled_is_cancelled_even_if_its_tree_cannot_be_kept),
        ENDS_TEST(a_tree_that_was_being_made_is_asked_for_again),
        ENDS_TEST(a_tree_for_another_attempt_is_asked_for_again),
        ENDS_TEST(a_child_that_is_stopped_while_its_tree_is_made_stays_stopped),
        ENDS_TEST(who_waits_for_its_turn_still_waits_and_is_merged_once),
        ENDS_TEST(a_merge_that_was_under_way_is_asked_for_again_and_a_late_answer_is_dropped),
        ENDS_TEST(work_that_was_being_kept_is_kept),
        ENDS_TEST(a_roots_tree_that_was_being_made_or_kept_is_asked_for_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
