/* Trees of agents that can write: who gets one and when, in which order work is merged, and that every wait for that ends. How agents
 * with trees fail, are stopped and survive crashes is in run_tree_ends_test.c. */
#include "run_fixture.h"

#include <stdio.h>

#define JOB(task)                                                                                  \
    {                                                                                              \
        "spawn", "{\"task\":\"" task "\"}"                                                         \
    }

static void isolate(struct rig *rig)
{
    rig_open_doors(rig);
    rig->settings.isolate_children = SWITCH_ON;
    rig_start(rig, "do it");
    rig_skip(rig);
}

/* Three children of one reply, numbers 1 to 3, that ask their models. */
static void three(struct rig *rig)
{
    isolate(rig);
    CALLS(rig, 0, SPAWN("one"), SPAWN("two"), SPAWN("three"));
    for (uint32_t no = 1; no <= 3; no++)
        rig_made(rig, no);
    rig_skip(rig);
}

/* A job in the background, which asks its model; the root asks again. */
static void job(struct rig *rig)
{
    CALLS(rig, 0, JOB("a job"));
    rig_facts(rig, 0, 0, "[]");
}

/* The children in the order in which their merges began. */
static void check_merged(const struct rig *rig, const char *order)
{
    char got[128] = "";
    for (size_t i = 0; i < rig->event_count; i++) {
        const struct event *e = rig->events[i];
        if (e->type == EVENT_AGENT_MERGING && str_is(e->kind, "merge"))
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%u", got[0] ? " " : "",
                     e->agent_no);
    }
    assert_string_equal(got, order);
}

/* --- who gets one ------------------------------------------------------------------------------------------------------------ */

static void a_writer_gets_its_tree_before_it_starts(void **state)
{
    struct rig *rig = *state;
    isolate(rig);
    CALLS(rig, 0, SPAWN("write"));
    rig_expect(rig, "0 model.replied, 0 tool.requested, 1 agent.subagent_created, "
                    "1 agent.isolating");
    rig_expect_effects(rig, "1 isolate");
    assert_int_equal(rig_effect(rig, 1, EFFECT_ISOLATE)->class, EFFECT_OUTWARD);
    assert_int_equal(rig_agent(rig, 1)->life, LIFE_CREATED);
    rig_made(rig, 1);
    rig_expect(rig, "1 agent.worktree_created, 1 agent.subagent_started, 1 agent.subagent_attempt, "
                    "1 agent.message, 1 agent.message, 1 model.requested");
    const struct event *started = rig_last(rig, 1, EVENT_SUBAGENT_STARTED);
    check_str(started->worktree_path, "/trees/1");
    check_str(started->branch, "cadre/run/1");
    check_str(started->base_ref, "abc");
    check_str(started->strategy, "worktree");
}

static void a_reader_gets_none(void **state)
{
    struct rig *rig = *state;
    isolate(rig);
    CALLS(rig, 0, {"spawn_agent", "{\"task\":\"look\",\"role\":\"reviewer\"}"});
    assert_int_equal(rig_agent(rig, 1)->phase, PHASE_ASKING);
    rig_say(rig, 1, "seen");
    assert_int_equal(rig_agent(rig, 1)->life, LIFE_CLOSED);
    assert_int_equal(rig_count(rig, EVENT_AGENT_ISOLATING), 0);
    assert_int_equal(rig_count(rig, EVENT_AGENT_MERGING), 0);
}

static void a_child_being_given_a_tree_holds_a_slot(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_concurrent = 1;
    isolate(rig);
    CALLS(rig, 0, SPAWN("one"), SPAWN("two"));
    rig_expect_effects(rig, "1 isolate");
    rig_made(rig, 1);
    rig_say(rig, 1, "done");
    rig_expect_effects(rig, "1 model, 1 merge merge, 2 isolate");
}

static void a_root_gets_one_before_its_first_call(void **state)
{
    struct rig *rig = *state;
    rig->settings.isolate_root = SWITCH_ON;
    rig_start(rig, "do it");
    rig_skip(rig);
    CALLS(rig, 0, {"read", "{\"path\":\"a\"}"});
    rig_expect(rig, "0 model.replied, 0 agent.isolating");
    rig_expect_effects(rig, "0 isolate");
    rig_made(rig, 0);
    rig_expect(rig, "0 agent.worktree_created, 0 tool.requested");
    rig_result(rig, 0, 0, "fine");
    CALLS(rig, 0, {"read", "{\"path\":\"b\"}"});
    assert_int_equal(rig_count(rig, EVENT_AGENT_ISOLATING), 1);
}

static void a_root_that_only_talks_gets_none(void **state)
{
    struct rig *rig = *state;
    rig->settings.isolate_root = SWITCH_ON;
    rig_start(rig, "do it");
    rig_skip(rig);
    rig_say(rig, 0, "hello");
    rig_expect(rig, "0 model.replied, 0 run.completed");
}

static void a_root_without_a_repository_works_in_place(void **state)
{
    struct rig *rig = *state;
    rig->settings.isolate_root = SWITCH_ON;
    rig_start(rig, "do it");
    CALLS(rig, 0, {"read", "{\"path\":\"a\"}"});
    struct input input = {.kind = INPUT_ISOLATED,
                          .call_id = rig_effect(rig, 0, EFFECT_ISOLATE)->call_id,
                          .strategy = STR("shared")};
    rig_input(rig, &input);
    rig_result(rig, 0, 0, "fine");
    rig_skip(rig);
    rig_say(rig, 0, "done");
    rig_expect(rig, "0 model.replied, 0 run.completed");
}

static void settings_without_the_keys_share_one_tree(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("write"));
    assert_int_equal(rig_agent(rig, 1)->phase, PHASE_ASKING);
    rig_say(rig, 1, "done");
    rig_say(rig, 0, "done");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
    assert_int_equal(rig_count(rig, EVENT_AGENT_ISOLATING), 0);
    assert_int_equal(rig_count(rig, EVENT_AGENT_MERGING), 0);
}

/* --- the order -------------------------------------------------------------------------------------------------------------- */

static void children_of_one_reply_are_merged_in_spawn_order_whoever_ends_first(void **state)
{
    struct rig *rig = *state;
    three(rig);
    rig_say(rig, 3, "done");
    rig_say(rig, 2, "done");
    check_merged(rig, "");
    assert_int_equal(rig_agent(rig, 3)->life, LIFE_WAITING_FOR_MERGE);
    assert_int_equal(rig_agent(rig, 3)->slot, SLOT_NONE);
    rig_say(rig, 1, "done");
    check_merged(rig, "1");
    rig_left(rig, 1, "fast_forward");
    check_merged(rig, "1 2");
    rig_left(rig, 2, "three_way");
    check_merged(rig, "1 2 3");
    rig_left(rig, 3, "no_changes");
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
    check_str(rig_last(rig, 2, EVENT_SUBAGENT_CLOSED)->final_status, "completed");
}

static void tasks_of_fan_out_are_merged_in_their_order(void **state)
{
    struct rig *rig = *state;
    isolate(rig);
    CALLS(rig, 0, {"fan_out", "{\"tasks\":[\"a\",\"b\",\"c\"]}"});
    for (uint32_t no = 3; no >= 1; no--)
        rig_made(rig, no);
    for (uint32_t no = 3; no >= 1; no--)
        rig_say(rig, no, "done");
    for (uint32_t no = 1; no <= 3; no++)
        rig_left(rig, no, "three_way");
    check_merged(rig, "1 2 3");
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "\"succeeded\":3");
}

#define STEP(id, more)                                                                             \
    "{\"id\":\"" id "\",\"title\":\"" id "\",\"description\":\"do " id "\",\"ownership\":[\"" id   \
    "/\"]" more "}"

/* The second step, which needs the first, gets its child when the third has done its work. */
static void a_step_that_comes_first_is_merged_first_although_it_was_made_later(void **state)
{
    struct rig *rig = *state;
    list_add(&rig->arena, &rig->settings.available_tools, STR("plan"));
    rig->settings.plan_enabled = SWITCH_ON;
    rig->settings.plan_review = SWITCH_OFF;
    isolate(rig);
    CALLS(rig, 0,
          {"plan", "{\"plan\":{\"goal\":\"g\",\"steps\":[" STEP("a", "") "," STEP(
                       "b", ",\"depends_on\":[\"a\"]") "," STEP("c", "") "]}}"});
    rig_made(rig, 1);
    rig_made(rig, 2);
    rig_say(rig, 2, "c is done");
    rig_say(rig, 1, "a is done");
    rig_left(rig, 1, "three_way");
    check_merged(rig, "1");
    rig_made(rig, 3);
    rig_say(rig, 3, "b is done");
    rig_left(rig, 3, "three_way");
    rig_left(rig, 2, "three_way");
    check_merged(rig, "1 3 2");
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
}

static void jobs_are_merged_when_they_are_awaited_and_in_order(void **state)
{
    struct rig *rig = *state;
    isolate(rig);
    for (uint32_t no = 1; no <= 3; no++) {
        job(rig);
        rig_made(rig, no);
    }
    rig_say(rig, 3, "done");
    rig_say(rig, 1, "done");
    check_merged(rig, "");
    CALLS(rig, 0, {"spawn_await", "{\"job_ids\":\"*\"}"});
    check_merged(rig, "1");
    rig_left(rig, 1, "three_way");
    check_merged(rig, "1"); /* the third waits for the second */
    rig_say(rig, 2, "done");
    rig_left(rig, 2, "three_way");
    rig_left(rig, 3, "three_way");
    check_merged(rig, "1 2 3");
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
}

static void an_await_of_one_job_does_not_merge_another(void **state)
{
    struct rig *rig = *state;
    char await[64];
    isolate(rig);
    for (uint32_t no = 1; no <= 2; no++) {
        job(rig);
        rig_made(rig, no);
        rig_say(rig, no, "done");
    }
    snprintf(await, sizeof await, "{\"job_ids\":\"%.*s\"}", STR_FMT(rig_agent(rig, 2)->task_id));
    CALLS(rig, 0, {"spawn_await", await});
    check_merged(rig, "2");
    rig_left(rig, 2, "three_way");
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
    assert_int_equal(rig_agent(rig, 1)->life, LIFE_WAITING_FOR_MERGE);
}

static void jobs_that_were_left_are_merged_at_the_end_in_order(void **state)
{
    struct rig *rig = *state;
    isolate(rig);
    for (uint32_t no = 1; no <= 2; no++) {
        job(rig);
        rig_made(rig, no);
    }
    rig_say(rig, 2, "done");
    rig_say(rig, 0, "all done");
    check_merged(rig, "");
    rig_say(rig, 1, "done");
    rig_left(rig, 1, "three_way");
    rig_left(rig, 2, "three_way");
    check_merged(rig, "1 2");
    rig_left(rig, 0, "kept"); /* what was lent is cleared up */
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
}

static void two_awaits_in_one_reply_merge_one_after_the_other(void **state)
{
    struct rig *rig = *state;
    char first[64], second[64];
    isolate(rig);
    for (uint32_t no = 1; no <= 2; no++) {
        job(rig);
        rig_made(rig, no);
        rig_say(rig, no, "done");
    }
    snprintf(first, sizeof first, "{\"job_ids\":\"%.*s\"}", STR_FMT(rig_agent(rig, 1)->task_id));
    snprintf(second, sizeof second, "{\"job_ids\":\"%.*s\"}", STR_FMT(rig_agent(rig, 2)->task_id));
    CALLS(rig, 0, {"spawn_await", second}, {"spawn_await", first});
    check_merged(rig, "2");
    rig_left(rig, 2, "three_way");
    check_merged(rig, "2 1");
    rig_left(rig, 1, "three_way");
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
}

static void a_job_that_is_awaited_before_it_has_a_tree_is_merged(void **state)
{
    struct rig *rig = *state;
    isolate(rig);
    job(rig);
    CALLS(rig, 0, {"spawn_await", "{\"job_ids\":\"*\"}"});
    rig_made(rig, 1);
    rig_say(rig, 1, "done");
    check_merged(rig, "1");
    rig_left(rig, 1, "three_way");
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, ": OK]\ndone");
}

static void a_child_that_is_closed_without_a_tree_makes_room_for_the_next(void **state)
{
    struct rig *rig = *state;
    isolate(rig);
    CALLS(rig, 0, SPAWN("one"), SPAWN("two"));
    rig_made(rig, 2);
    rig_say(rig, 2, "done");
    check_merged(rig, "");
    rig_unmade(rig, 1, "disk full");
    check_merged(rig, "2");
}

static void a_conflict_fails_the_child_and_those_behind_it_are_merged(void **state)
{
    struct rig *rig = *state;
    three(rig);
    for (uint32_t no = 1; no <= 3; no++)
        rig_say(rig, no, "done");
    rig_left(rig, 1, "three_way");
    rig_skip(rig);
    rig_left(rig, 2, "conflict");
    rig_expect(rig, "2 agent.worktree_merged, 2 agent.subagent_failed, 2 agent.subagent_closed, "
                    "0 tool.finished, 3 agent.merging");
    check_str(rig_last(rig, 2, EVENT_SUBAGENT_FAILED)->outcome, "error");
    check_str(rig_last(rig, 2, EVENT_SUBAGENT_FAILED)->response, "done");
    rig_contains(rig_last(rig, 2, EVENT_SUBAGENT_CLOSED)->result, "\"branch\":\"cadre/run/2\"");
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "conflict");
    rig_left(rig, 3, "three_way");
    rig_say(rig, 0, "well");
    rig_left(rig, 0, "kept");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
}

static void a_conflict_of_a_child_that_gates_fails_the_run(void **state)
{
    struct rig *rig = *state;
    rig->settings.gate = GATE_RUN;
    isolate(rig);
    CALLS(rig, 0, SPAWN("one"));
    rig_made(rig, 1);
    rig_say(rig, 1, "done");
    rig_left(rig, 1, "conflict");
    rig_say(rig, 0, "well");
    rig_left(rig, 0, "kept");
    assert_int_equal(run_state(rig->run), RUN_FAILED);
}

static void what_a_job_said_can_be_read_before_its_work_is_merged(void **state)
{
    struct rig *rig = *state;
    char named[64];
    isolate(rig);
    job(rig);
    rig_made(rig, 1);
    rig_say(rig, 1, "found it");
    snprintf(named, sizeof named, "{\"task_id\":\"%.*s\"}", STR_FMT(rig_agent(rig, 1)->task_id));
    CALLS(rig, 0, {"agent_result", named}, {"agent_status", "{}"});
    const struct agent *root = rig_agent(rig, 0);
    rig_contains(root->messages[root->message_count - 2].text, "found it");
    rig_contains(root->messages[root->message_count - 2].text, "not merged yet");
    rig_contains(root->messages[root->message_count - 1].text, "waiting to be merged");
    check_merged(rig, "");
}

/* --- held children ------------------------------------------------------------------------------------------------------------ */

/* Two children that are held, and the root asks again. */
static void held(struct rig *rig)
{
    rig->settings.hold_children = SWITCH_ON;
    isolate(rig);
    CALLS(rig, 0, SPAWN("one"), SPAWN("two"));
    for (uint32_t no = 1; no <= 2; no++) {
        rig_made(rig, no);
        rig_say(rig, no, "done");
    }
    rig_skip(rig);
}

static const char *naming(struct rig *rig, uint32_t no)
{
    struct str id = rig_agent(rig, no)->task_id;
    return arena_printf(&rig->arena, "{\"task_id\":\"%.*s\"}", STR_FMT(id)).p;
}

static void a_held_child_is_merged_when_that_is_asked_for_and_the_call_waits(void **state)
{
    struct rig *rig = *state;
    held(rig);
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
    CALLS(rig, 0, {"agent_merge", naming(rig, 2)});
    rig_expect_effects(rig, "2 merge merge");
    rig_left(rig, 2, "three_way");
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "is merged and closed");
    CALLS(rig, 0, {"agent_merge", naming(rig, 1)});
    rig_left(rig, 1, "conflict");
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "was not merged: conflict");
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
}

static void a_held_child_that_is_merged_twice_in_one_reply_is_merged_once(void **state)
{
    struct rig *rig = *state;
    held(rig);
    CALLS(rig, 0, {"agent_merge", naming(rig, 1)}, {"agent_merge", naming(rig, 1)});
    rig_left(rig, 1, "three_way");
    check_merged(rig, "1");
    assert_int_equal(rig_count_of(rig, 1, EVENT_SUBAGENT_CLOSED), 1);
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
}

static void a_held_child_that_is_cancelled_is_kept_and_closed(void **state)
{
    struct rig *rig = *state;
    held(rig);
    CALLS(rig, 0, {"agent_cancel", naming(rig, 1)});
    rig_expect_effects(rig, "1 merge keep, 0 model");
    rig_left(rig, 1, "kept");
    check_str(rig_last(rig, 1, EVENT_SUBAGENT_CLOSED)->final_status, "failed");
    assert_int_equal(rig_count_of(rig, 1, EVENT_SUBAGENT_CLOSED), 1);
}

static void a_held_job_that_was_awaited_holds_back_nobody(void **state)
{
    struct rig *rig = *state;
    rig->settings.hold_children = SWITCH_ON;
    isolate(rig);
    for (uint32_t no = 1; no <= 2; no++) {
        job(rig);
        rig_made(rig, no);
    }
    CALLS(rig, 0, {"spawn_await", "{\"job_ids\":\"*\"}"});
    rig_say(rig, 1, "done");
    rig_say(rig, 2, "done");
    check_merged(rig, "");
    CALLS(rig, 0, {"agent_merge", naming(rig, 2)});
    check_merged(rig, "2");
    rig_left(rig, 2, "three_way");
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
}

/* --- what was read ------------------------------------------------------------------------------------------------------------ */

static void a_result_from_another_tree_is_not_used_again(void **state)
{
    static const struct rig_call look = {
        "spawn_agent", "{\"task\":\"look\",\"allowed_tools\":[\"read\"],\"max_tool_calls\":2}"};
    struct rig *rig = *state;
    rig->settings.reuse_results = SWITCH_ON;
    isolate(rig);
    CALLS(rig, 0, SPAWN("write"), SPAWN("write too"));
    rig_made(rig, 1);
    rig_made(rig, 2);
    rig_calls(rig, 1, &look, 1);
    rig_say(rig, 3, "in the first one's files");
    rig_calls(rig, 2, &look, 1);
    assert_int_equal(rig_count(rig, EVENT_RESULT_REUSED), 0);
    rig_say(rig, 4, "in the second one's");
    rig_calls(rig, 2, &look, 1);
    assert_int_equal(rig_count(rig, EVENT_RESULT_REUSED), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_writer_gets_its_tree_before_it_starts),
        RIG_TEST(a_reader_gets_none),
        RIG_TEST(a_child_being_given_a_tree_holds_a_slot),
        RIG_TEST(a_root_gets_one_before_its_first_call),
        RIG_TEST(a_root_that_only_talks_gets_none),
        RIG_TEST(a_root_without_a_repository_works_in_place),
        RIG_TEST(settings_without_the_keys_share_one_tree),
        RIG_TEST(children_of_one_reply_are_merged_in_spawn_order_whoever_ends_first),
        RIG_TEST(tasks_of_fan_out_are_merged_in_their_order),
        RIG_TEST(a_step_that_comes_first_is_merged_first_although_it_was_made_later),
        RIG_TEST(jobs_are_merged_when_they_are_awaited_and_in_order),
        RIG_TEST(an_await_of_one_job_does_not_merge_another),
        RIG_TEST(jobs_that_were_left_are_merged_at_the_end_in_order),
        RIG_TEST(two_awaits_in_one_reply_merge_one_after_the_other),
        RIG_TEST(a_job_that_is_awaited_before_it_has_a_tree_is_merged),
        RIG_TEST(a_child_that_is_closed_without_a_tree_makes_room_for_the_next),
        RIG_TEST(a_conflict_fails_the_child_and_those_behind_it_are_merged),
        RIG_TEST(a_conflict_of_a_child_that_gates_fails_the_run),
        RIG_TEST(what_a_job_said_can_be_read_before_its_work_is_merged),
        RIG_TEST(a_held_child_is_merged_when_that_is_asked_for_and_the_call_waits),
        RIG_TEST(a_held_child_that_is_merged_twice_in_one_reply_is_merged_once),
        RIG_TEST(a_held_child_that_is_cancelled_is_kept_and_closed),
        RIG_TEST(a_held_job_that_was_awaited_holds_back_nobody),
        RIG_TEST(a_result_from_another_tree_is_not_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
