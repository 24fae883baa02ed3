/* Results that are used again: which tasks are the same, through every door, and what makes a result old. */
#include "base/json.h"
#include "core/run/plan_run.h"
#include "plan_rig.h"

#define READER "\"allowed_tools\":[\"read\",\"grep\"]"
#define LOOK                                                                                       \
    {                                                                                              \
        "spawn_agent", "{\"task\":\"look\"," READER "}"                                            \
    }

static void begin(struct rig *rig)
{
    rig->settings.reuse_results = SWITCH_ON;
    rig_open_doors(rig);
    rig_start(rig, "do it");
}

/* A root whose child, number 1, has answered "seen". */
static void looked(struct rig *rig)
{
    begin(rig);
    CALLS(rig, 0, LOOK);
    rig_say(rig, 1, "seen");
    rig_skip(rig);
}

static size_t children(const struct rig *rig)
{
    return rig_count(rig, EVENT_SUBAGENT_CREATED);
}

static struct str answer(const struct rig *rig)
{
    return rig_last(rig, 0, EVENT_TOOL_FINISHED)->text;
}

static void the_same_task_gets_the_same_result_without_a_child(void **state)
{
    struct rig *rig = *state;
    looked(rig);
    struct str first = answer(rig);
    CALLS(rig, 0, LOOK);
    rig_expect(rig, "0 model.replied, 0 tool.requested, 0 agent.result_reused, "
                    "0 tool.finished, 0 model.requested");
    rig_expect_effects(rig, "0 model");
    assert_true(str_starts(answer(rig), first));
    rig_contains(answer(rig),
                 "seen\n\n(ended after 0 tool calls, 0.0s)\nThis is a repeated result: ");
    check_str(rig_last(rig, 0, EVENT_TOOL_FINISHED)->outcome, "ok");
    const struct event *reused = rig_last(rig, 0, EVENT_RESULT_REUSED);
    check_str(reused->sub_agent_id, rig_agent(rig, 1)->id.p);
    assert_int_equal(reused->earlier_no, 1);
    assert_int_equal(rig_agent(rig, 0)->account.tool_calls, 2);
}

static void a_child_at_work_is_not_used(void **state)
{
    struct rig *rig = *state;
    begin(rig);
    CALLS(rig, 0, LOOK, LOOK);
    assert_int_equal(children(rig), 2);
}

static void whatever_differs_makes_another_task(void **state)
{
    static const char *const others[] = {
        "{\"task\":\"look again\"," READER "}",
        "{\"task\":\"look\"," READER ",\"scope\":\"src\"}",
        "{\"task\":\"look\"," READER ",\"context\":\"it is late\"}",
        "{\"task\":\"look\"," READER ",\"max_tool_calls\":3}",
        "{\"task\":\"look\"," READER ",\"budget\":{\"tokens\":9000}}",
        "{\"task\":\"look\",\"allowed_tools\":[\"read\"]}",
        "{\"task\":\"look\"," READER ",\"role\":\"researcher\"}",
    };
    struct rig *rig = *state;
    looked(rig);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        uint32_t no = run_agent_count(rig->run);
        CALLS(rig, 0, {"spawn_agent", others[i]});
        if (run_agent_count(rig->run) == no)
            fail_msg("%s was taken for the same task", others[i]);
        rig_say(rig, no, "seen");
    }
}

static void what_is_left_of_the_parents_budget_makes_no_difference(void **state)
{
    struct rig *rig = *state;
    rig->settings.root.tokens = 50000;
    rig->settings.root.wall_ms = 50000;
    looked(rig);
    rig_pass(rig, 1000);
    CALLS(rig, 0, LOOK);
    assert_int_equal(children(rig), 1);
}

static void gathered_files_count_by_their_content(void **state)
{
    static const struct rig_call with_file[] = {
        {"spawn_agent", "{\"task\":\"look\"," READER ",\"context_files\":[\"a\"]}"}};
    struct rig *rig = *state;
    begin(rig);
    rig_calls(rig, 0, with_file, 1);
    rig_facts(rig, 0, 0, "[{\"path\":\"a\",\"text\":\"one\"}]");
    rig_say(rig, 1, "seen");
    rig_calls(rig, 0, with_file, 1);
    rig_facts(rig, 0, 0, "[{\"path\":\"a\",\"text\":\"one\"}]");
    assert_int_equal(children(rig), 1);
    rig_calls(rig, 0, with_file, 1);
    rig_facts(rig, 0, 0, "[{\"path\":\"a\",\"text\":\"two\"}]");
    assert_int_equal(children(rig), 2);
}

static void a_child_that_may_change_something_is_never_used_again(void **state)
{
    static const char *const tools[] = {"write", "shell", "spawn_agent"};
    struct rig *rig = *state;
    rig->settings.mode = MODE_DANGEROUS;
    begin(rig);
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++) {
        struct str call = arena_printf(
            &rig->arena, "{\"task\":\"look\",\"allowed_tools\":[\"read\",\"%s\"]}", tools[i]);
        for (int k = 0; k < 2; k++) {
            uint32_t no = run_agent_count(rig->run);
            CALLS(rig, 0, {"spawn_agent", call.p});
            rig_say(rig, no, "seen");
        }
    }
    assert_int_equal(children(rig), 6);
    assert_int_equal(rig_count(rig, EVENT_RESULT_REUSED), 0);
}

static void only_a_completed_child_is_used_again(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_retries = 0;
    begin(rig);
    CALLS(rig, 0, LOOK);
    rig_fail(rig, 1, ERR_PROVIDER, "no such model");
    CALLS(rig, 0, LOOK);
    assert_int_equal(children(rig), 2);
}

static void a_child_that_was_told_more_is_not_used_again(void **state)
{
    struct rig *rig = *state;
    begin(rig);
    CALLS(rig, 0, {"spawn", "{\"task\":\"look\",\"tools\":\"read\"}"});
    rig_facts(rig, 0, 0, "[]");
    struct str id = rig_agent(rig, 1)->task_id;
    struct str send =
        arena_printf(&rig->arena, "{\"task_id\":\"%.*s\",\"message\":\"and f\"}", STR_FMT(id));
    CALLS(rig, 0, {"agent_send", send.p});
    rig_say(rig, 1, "not seen yet");
    rig_say(rig, 1, "seen");
    assert_int_equal(rig_agent(rig, 1)->outcome, OUTCOME_COMPLETED);
    CALLS(rig, 0, {"spawn", "{\"task\":\"look\",\"tools\":\"read\"}"});
    rig_facts(rig, 0, 0, "[]");
    assert_int_equal(children(rig), 2);
}

/* --- what makes a result old ----------------------------------------------------------------------- */

static void a_write_by_anybody_makes_it_old(void **state)
{
    struct rig *rig = *state;
    looked(rig);
    CALLS(rig, 0, {"spawn_agent", "{\"task\":\"change\"}"});
    CALLS(rig, 2, {"write", "{\"path\":\"a\",\"content\":\"b\"}"});
    rig_prepared(rig, 2, 0, "a");
    rig_result(rig, 2, 0, "written");
    rig_say(rig, 2, "done");
    CALLS(rig, 0, LOOK);
    assert_int_equal(children(rig), 3);
}

static void a_write_while_a_child_reads_makes_its_result_old_before_it_is_there(void **state)
{
    struct rig *rig = *state;
    begin(rig);
    CALLS(rig, 0, LOOK, {"spawn_agent", "{\"task\":\"change\"}"});
    CALLS(rig, 2, {"write", "{\"path\":\"a\",\"content\":\"b\"}"});
    rig_prepared(rig, 2, 0, "a");
    rig_result(rig, 2, 0, "written");
    rig_say(rig, 2, "done");
    rig_say(rig, 1, "seen before the write, or after");
    CALLS(rig, 0, LOOK);
    assert_int_equal(children(rig), 3);
}

static void an_outward_tool_makes_it_old_whatever_it_reports(void **state)
{
    struct rig *rig = *state;
    rig->settings.mode = MODE_DANGEROUS;
    looked(rig);
    CALLS(rig, 0, {"shell", "{\"command\":\"make\"}"});
    rig_result(rig, 0, 0, "ok");
    CALLS(rig, 0, LOOK);
    assert_int_equal(children(rig), 2);
}

static void reading_and_delegating_leave_it_fresh(void **state)
{
    struct rig *rig = *state;
    looked(rig);
    CALLS(rig, 0, {"read", "{\"path\":\"a\"}"});
    rig_result(rig, 0, 0, "text");
    CALLS(rig, 0, SPAWN("other"));
    rig_say(rig, 2, "done");
    CALLS(rig, 0, LOOK);
    assert_int_equal(children(rig), 2);
}

static void a_call_that_was_refused_leaves_it_fresh(void **state)
{
    struct rig *rig = *state;
    begin(rig);
    CALLS(rig, 0, LOOK);
    CALLS(rig, 1, {"write", "{\"path\":\"a\",\"content\":\"b\"}"}, {"no_such_tool", "{}"});
    rig_say(rig, 1, "seen");
    CALLS(rig, 0, LOOK);
    assert_int_equal(children(rig), 1);
}

static void a_crash_makes_it_old(void **state)
{
    struct rig *rig = *state;
    looked(rig);
    rig_crash(rig, 1000);
    CALLS(rig, 0, LOOK);
    assert_int_equal(children(rig), 2);
}

static void a_run_without_the_setting_never_uses_a_result_again(void **state)
{
    struct rig *rig = *state;
    rig_open_doors(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, LOOK);
    rig_say(rig, 1, "seen");
    CALLS(rig, 0, LOOK);
    assert_int_equal(children(rig), 2);
    assert_null(rig_last(rig, 2, EVENT_SUBAGENT_CREATED)->reuse_key.p);
}

static void a_held_child_is_not_used_before_it_is_taken(void **state)
{
    struct rig *rig = *state;
    rig->settings.hold_children = SWITCH_ON;
    looked(rig);
    CALLS(rig, 0, LOOK);
    assert_int_equal(children(rig), 2);
}

/* --- doors ----------------------------------------------------------------------------------------- */

static void fan_out_counts_a_repeated_result_once(void **state)
{
    struct rig *rig = *state;
    struct err err = ERR_INIT;
    begin(rig);
    CALLS(rig, 0,
          {"fan_out",
           "{\"tasks\":[{\"role\":\"planner\",\"task\":\"a\"},{\"role\":\"planner\","
           "\"task\":\"a\"},{\"role\":\"planner\",\"task\":\"b\"}],\"max_concurrent\":1}"});
    CALLS(rig, 1, {"read", "{\"path\":\"a\"}"});
    rig_result(rig, 1, 0, "text");
    rig_pass(rig, 1000);
    rig_say(rig, 1, "seen");
    assert_int_equal(children(rig), 2);
    assert_int_equal(rig_count(rig, EVENT_RESULT_REUSED), 1);
    rig_say(rig, 2, "other");
    struct js *doc = js_parse(answer(rig), &err);
    assert_int_equal(js_get_int(doc, "succeeded", 0), 3);
    assert_int_equal(js_get_int(doc, "total_tool_calls", 0), 1);
    const struct js *second = js_at(js_get(doc, "results"), 1);
    check_str(js_get_str(js_get(second, "details"), "full_response"), "seen");
    rig_contains(js_get_str(js_get(second, "details"), "notice"), "This is a repeated result");
    assert_int_equal(js_get_int(second, "tool_calls_used", -1), 0);
    js_free(doc);
    assert_int_equal(rig_agent(rig, 0)->children_open, 0);
}

static void fan_out_of_nothing_new_answers_at_once(void **state)
{
    struct rig *rig = *state;
    const char *tasks = "{\"tasks\":[{\"role\":\"planner\",\"task\":\"a\"}]}";
    begin(rig);
    CALLS(rig, 0, {"fan_out", tasks});
    rig_say(rig, 1, "seen");
    CALLS(rig, 0, {"fan_out", tasks});
    assert_int_equal(children(rig), 1);
    rig_contains(answer(rig), "\"succeeded\":1");
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
}

static void delegate_task_hands_a_repeated_result_on(void **state)
{
    static const char *const reading[] = {"read", "delegate_task"};
    static const char *const plans[] = {
        "{\"subtasks\":[{\"task\":\"a\"}]}",
        "{\"subtasks\":[{\"task\":\"a\"},{\"task\":\"b\",\"depends_on\":0}]}"};
    struct rig *rig = *state;
    rig->settings.reuse_results = SWITCH_ON;
    rig->settings.max_depth = 1;
    rig->settings.available_tools = (struct list){LIST_SET, NULL, 0};
    for (size_t i = 0; i < 2; i++)
        list_add(&rig->arena, &rig->settings.available_tools, str_from(reading[i]));
    rig_start(rig, "do it");
    CALLS(rig, 0, {"delegate_task", plans[0]});
    rig_say(rig, 1, "seen");
    CALLS(rig, 0, {"delegate_task", plans[1]});
    assert_int_equal(children(rig), 2);
    rig_contains(rig_agent(rig, 2)->objective,
                 "Result of subtask 1, which this one depends on:\nseen");
    rig_say(rig, 2, "done");
    rig_contains(answer(rig), "This is a repeated result");
    rig_contains(answer(rig), "2 of 2 subtasks completed");
}

static void spawn_gives_the_id_of_the_job_that_did_it(void **state)
{
    static const struct rig_call job[] = {{"spawn", "{\"task\":\"look\",\"tools\":\"read\"}"}};
    struct rig *rig = *state;
    begin(rig);
    rig_calls(rig, 0, job, 1);
    rig_facts(rig, 0, 0, "[]");
    rig_say(rig, 1, "seen");
    struct str id = rig_agent(rig, 1)->task_id;
    rig_calls(rig, 0, job, 1);
    rig_facts(rig, 0, 0, "[]");
    assert_int_equal(children(rig), 1);
    assert_true(str_starts(answer(rig), id));
    rig_contains(answer(rig), "This is a repeated result");
    CALLS(rig, 0, {"spawn_await", "{\"job_ids\":\"*\"}"});
    rig_contains(answer(rig), ": OK]\nseen");
}

#define GOAL_ONLY                                                                                  \
    {                                                                                              \
        "plan", "{\"goal\":\"all of it\",\"plan_only\":true}"                                      \
    }

/* A root whose planner, number 1, has answered. */
static void planned(struct rig *rig)
{
    plan_rig_open(rig);
    rig->settings.reuse_results = SWITCH_ON;
    rig->settings.plan_review = SWITCH_OFF;
    rig_start(rig, "do it");
    CALLS(rig, 0, GOAL_ONLY);
    rig_say(rig, 1, "{\"steps\":[" STEP("a", "") "]}");
    rig_skip(rig);
}

static void a_second_plan_with_the_same_goal_uses_the_planners_answer_again(void **state)
{
    struct rig *rig = *state;
    planned(rig);
    struct str first = answer(rig);
    CALLS(rig, 0, GOAL_ONLY);
    rig_expect(rig, "0 model.replied, 0 tool.requested, 0 agent.result_reused, 0 plan.made, "
                    "0 tool.finished, 0 model.requested");
    check_str(answer(rig), arena_copy(&rig->arena, first).p);
    assert_int_equal(children(rig), 1);
}

static void a_plan_whose_planner_is_repeated_is_carried_out(void **state)
{
    struct rig *rig = *state;
    planned(rig);
    CALLS(rig, 0, {"plan", "{\"goal\":\"all of it\"}"});
    assert_int_equal(rig_count(rig, EVENT_RESULT_REUSED), 1);
    plan_rig_say(rig, "a", "did a");
    rig_contains(answer(rig), "1 of 1 steps completed");
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
}

/* Programs before this one left a plan waiting for a planner whose answer was there already: nothing could end that run. Its
 * log is made by hand here, since this program never writes it. */
static void wait_for_nobody(struct rig *rig)
{
    planned(rig);
    static const char *const calls =
        "[{\"id\":\"x\",\"name\":\"plan\",\"arguments\":{\"goal\":\"all of it\"}}]";
    struct event events[3];
    struct err err = ERR_INIT;
    event_init(&events[0], EVENT_MODEL_REPLIED);
    event_init(&events[1], EVENT_TOOL_REQUESTED);
    event_init(&events[2], EVENT_RESULT_REUSED);
    uint64_t seq = run_seq(rig->run);
    events[0].call_id = rig_agent(rig, 0)->request_id;
    events[0].calls = str_from(calls);
    events[0].completeness = STR("whole");
    events[1].tool = STR("plan");
    events[2].item = ITEM_PLANNER;
    events[2].earlier_no = 1;
    events[1].call_id = events[2].call_id =
        arena_printf(&rig->arena, "c%llu_0", (unsigned long long)seq + 1);
    for (size_t i = 0; i < 3; i++) {
        events[i].seq = seq + 1 + i;
        events[i].version = 3;
        events[i].ts = rig->now;
        assert_int_equal(run_apply(rig->run, &events[i], &err), 0);
        assert_int_equal(run_apply(rig->folded, &events[i], &err), 0);
    }
    struct buf who;
    buf_init(&who, 1000);
    assert_true(run_waits_for_nobody(rig->run, &who));
    rig_contains(buf_view(&who), "(plan) of agent 0 waits for nobody");
    buf_release(&who);
    rig_skip(rig);
}

/* It cannot be verified: the store does not have what was made by hand. */
static void forget_log(struct rig *rig)
{
    memory_store_release(&rig->store);
    memory_store_init(&rig->store);
}

static void a_cancel_ends_a_call_that_waits_for_nobody(void **state)
{
    struct rig *rig = *state;
    wait_for_nobody(rig);
    rig_inbox(rig, "cancel", "{}");
    rig_expect(rig, "0 inbox.taken, 0 agent.stopping, 0 tool.finished, 0 run.cancelled");
    forget_log(rig);
}

static void a_resume_gives_a_call_that_waits_for_nobody_its_result(void **state)
{
    struct rig *rig = *state;
    wait_for_nobody(rig);
    struct input input = {.kind = INPUT_RESUME, .owner = STR("rig"), .epoch = ++rig->epoch};
    rig_input(rig, &input);
    assert_true(plan_rig_works(rig, "a"));
    forget_log(rig);
}

static void agents_of_one_level_share_results(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_depth = 3;
    begin(rig);
    CALLS(rig, 0, {"spawn_agent", "{\"task\":\"first\"}"});
    CALLS(rig, 1, LOOK);
    rig_say(rig, 2, "seen");
    rig_say(rig, 1, "done");
    CALLS(rig, 0, {"spawn_agent", "{\"task\":\"second\"}"});
    CALLS(rig, 3, LOOK);
    assert_int_equal(children(rig), 3); /* a result is the run's, */
    rig_contains(rig_last(rig, 3, EVENT_TOOL_FINISHED)->text, "This is a repeated result");
    rig_say(rig, 3, "done");
    CALLS(rig, 0, LOOK);
    assert_int_equal(children(rig), 4); /* but at another level it is another contract */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(the_same_task_gets_the_same_result_without_a_child),
        RIG_TEST(a_child_at_work_is_not_used),
        RIG_TEST(whatever_differs_makes_another_task),
        RIG_TEST(what_is_left_of_the_parents_budget_makes_no_difference),
        RIG_TEST(gathered_files_count_by_their_content),
        RIG_TEST(a_child_that_may_change_something_is_never_used_again),
        RIG_TEST(only_a_completed_child_is_used_again),
        RIG_TEST(a_child_that_was_told_more_is_not_used_again),
        RIG_TEST(a_write_by_anybody_makes_it_old),
        RIG_TEST(a_write_while_a_child_reads_makes_its_result_old_before_it_is_there),
        RIG_TEST(an_outward_tool_makes_it_old_whatever_it_reports),
        RIG_TEST(reading_and_delegating_leave_it_fresh),
        RIG_TEST(a_call_that_was_refused_leaves_it_fresh),
        RIG_TEST(a_crash_makes_it_old),
        RIG_TEST(a_run_without_the_setting_never_uses_a_result_again),
        RIG_TEST(a_held_child_is_not_used_before_it_is_taken),
        RIG_TEST(fan_out_counts_a_repeated_result_once),
        RIG_TEST(fan_out_of_nothing_new_answers_at_once),
        RIG_TEST(delegate_task_hands_a_repeated_result_on),
        RIG_TEST(spawn_gives_the_id_of_the_job_that_did_it),
        RIG_TEST(a_second_plan_with_the_same_goal_uses_the_planners_answer_again),
        RIG_TEST(a_plan_whose_planner_is_repeated_is_carried_out),
        RIG_TEST(a_cancel_ends_a_call_that_waits_for_nobody),
        RIG_TEST(a_resume_gives_a_call_that_waits_for_nobody_its_result),
        RIG_TEST(agents_of_one_level_share_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
