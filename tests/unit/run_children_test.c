/* Children through spawn_agent: their life, their failures and retries, time limits, cancels, slots and nesting. */
#include "run_fixture.h"

#define CHILD_STARTS(no)                                                                           \
    no " agent.subagent_started, " no " agent.subagent_attempt, " no " agent.message, " no         \
       " agent.message, " no " model.requested"
#define CHILD_WORKED(no)                                                                           \
    no " agent.subagent_waiting_for_merge, " no " agent.subagent_completed, " no                   \
       " agent.subagent_closed"
#define CHILD_FAILED(no) no " agent.subagent_failed, " no " agent.subagent_closed"

/* A root with one child that asks its model. */
static void one_child(struct rig *rig)
{
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("a part"));
    rig_skip(rig);
}

static void two_children(struct rig *rig)
{
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("one"), SPAWN("two"));
    rig_skip(rig);
}

static void a_child_is_created_and_started_with_its_own_conversation(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "the whole");
    rig_skip(rig);
    CALLS(rig, 0, SPAWN("a part"));
    rig_expect(rig, "0 model.replied, 0 tool.requested, "
                    "1 agent.subagent_created, " CHILD_STARTS("1"));
    rig_expect_effects(rig, "1 model");
    const struct agent *child = rig_agent(rig, 1);
    assert_int_equal(child->message_count, 2);
    assert_int_equal(child->messages[0].role, MESSAGE_SYSTEM);
    assert_true(str_starts(child->messages[1].text, STR("a part\n\n# Where you work\n")));
    assert_int_equal(child->life, LIFE_RUNNING);
    assert_int_equal(child->contract.parent.step_idx, 1);
    struct str dimension;
    assert_true(contract_within(&child->contract, &rig_agent(rig, 0)->contract, &dimension));
}

static void a_child_that_answers_is_closed_and_its_parent_gets_the_result(void **state)
{
    struct rig *rig = *state;
    one_child(rig);
    CALLS(rig, 1, {"read", "{\"path\":\"a\"}"});
    rig_result(rig, 1, 0, "fine");
    rig->now += 1234;
    rig_skip(rig);
    rig_say(rig, 1, "found it");
    rig_expect(rig, "1 model.replied, " CHILD_WORKED("1") ", 0 tool.finished, "
                                                          "0 model.requested");
    rig_expect_effects(rig, "0 model");
    struct str text = rig_last(rig, 0, EVENT_TOOL_FINISHED)->text;
    rig_contains(text, "found it");
    rig_contains(text, "1 tool calls");
    rig_contains(text, "1.2s");
    const struct event *closed = rig_last(rig, 1, EVENT_SUBAGENT_CLOSED);
    check_str(closed->final_status, "completed");
    rig_contains(closed->result, "\"tool_calls\":1");
    rig_contains(closed->result, "\"duration_ms\":1234");
    assert_int_equal(closed->step_idx, 1);
    assert_int_equal(rig_agent(rig, 0)->children_open, 0);
}

static void a_long_answer_stands_in_the_reply_and_is_not_repeated_where_the_child_ends(void **state)
{
    struct rig *rig = *state;
    char text[700];
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    one_child(rig);
    rig_say(rig, 1, text);
    const struct event *worked = rig_last(rig, 1, EVENT_SUBAGENT_WAITING);
    assert_null(worked->response.p);
    assert_true(worked->opening.n > 0 && worked->opening.n < 100);
    check_str(rig_agent(rig, 1)->response, text);
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, text);
}

static void children_number_their_steps_in_spawn_order(void **state)
{
    struct rig *rig = *state;
    two_children(rig);
    assert_int_equal(rig_last(rig, 1, EVENT_SUBAGENT_CREATED)->step_idx, 1);
    assert_int_equal(rig_last(rig, 2, EVENT_SUBAGENT_CREATED)->step_idx, 2);
}

static void a_spawn_costs_its_parent_one_call_and_never_the_childs_calls(void **state)
{
    struct rig *rig = *state;
    one_child(rig);
    CALLS(rig, 1, {"read", "{\"path\":\"a\"}"}, {"read", "{\"path\":\"b\"}"});
    assert_int_equal(rig_agent(rig, 0)->account.tool_calls, 1);
    assert_int_equal(rig_agent(rig, 1)->account.tool_calls, 2);
}

static void wrong_arguments_are_a_tool_error_with_the_reason(void **state)
{
    static const struct {
        const char *arguments, *says;
    } rows[] = {
        {"{}", "task must not be empty"},
        {"{\"task\":7}", "task must be a string, not a number"},
        {"{\"task\":\"x\",\"max_tool_calls\":\"abc\"}", "max_tool_calls must be a number"},
        {"{\"task\":\"x\",\"max_tool_calls\":0}", "maxToolCalls must be positive"},
        {"{\"task\":\"x\",\"max_tool_calls\":1e300}", "max_tool_calls is out of range"},
        {"{\"task\":\"x\",\"budget\":[]}", "budget must be an object, not an array"},
        {"{\"task\":\"x\",\"budget\":{\"timeout_ms\":4999}}", "timeoutMs must be at least 5000"},
        {"{\"task\":\"x\",\"allowed_tools\":[7]}", "allowed_tools[0] must be a non-empty string"},
        {"{\"task\":\"x\",\"mode\":\"xäääääääääääääääääääääääääääääääääääääää\"}", "unknown mode"},
    };
    struct rig *rig = *state;
    rig_start(rig, "do it");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CALLS(rig, 0, {"spawn_agent", rows[i].arguments});
        rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, rows[i].says);
        check_str(rig_last(rig, 0, EVENT_TOOL_FINISHED)->outcome, "error");
    }
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CREATED), 0);
}

static void what_was_taken_from_a_request_is_an_event(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig_skip(rig);
    CALLS(rig, 0, {"spawn_agent", "{\"task\":\"x\",\"max_tool_calls\":200}"});
    rig_expect(rig, "0 model.replied, 0 tool.requested, "
                    "1 agent.subagent_created, 1 contract.clamped, " CHILD_STARTS("1"));
    rig_contains(rig_last(rig, 1, EVENT_CONTRACT_CLAMPED)->clamps, "\"asked\":200,\"got\":100");
}

/* --- context files --------------------------------------------------------------------------------- */

static void gather_context(struct rig *rig)
{
    rig_start(rig, "do it");
    rig_skip(rig);
    CALLS(rig, 0,
          {"spawn_agent", "{\"task\":\"x\",\"context\":\"note\",\"context_files\":[\"f\"]}"});
    rig_expect(rig, "0 model.replied, 0 tool.requested");
    rig_expect_effects(rig, "0 gather read");
}

static void context_files_are_read_first_and_stand_in_the_childs_prompt(void **state)
{
    struct rig *rig = *state;
    gather_context(rig);
    rig_facts(rig, 0, 0, "[{\"path\":\"f\",\"text\":\"content of f\"}]");
    rig_expect(rig, "0 facts.gathered, 1 agent.subagent_created, " CHILD_STARTS("1"));
    rig_contains(rig_agent(rig, 1)->messages[1].text, "note");
    rig_contains(rig_agent(rig, 1)->messages[1].text, "--- f ---\ncontent of f");
}

static void a_context_file_that_cannot_be_read_refuses_the_spawn(void **state)
{
    struct rig *rig = *state;
    gather_context(rig);
    rig_facts(rig, 0, 0, "[{\"path\":\"f\",\"error\":\"no such file\"}]");
    rig_expect(rig, "0 facts.gathered, 0 tool.finished, 0 model.requested");
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "context file f: no such file");
}

/* The workspace itself may be gone: then the effect answers with an error in place of facts. */
static void a_gather_that_fails_as_a_whole_ends_the_call(void **state)
{
    struct rig *rig = *state;
    gather_context(rig);
    struct input input = {.kind = INPUT_RESULT,
                          .call_id = rig_call_id(rig, 0, 0),
                          .outcome = TOOL_ERROR,
                          .text = STR("Error: no workspace")};
    rig_input(rig, &input);
    rig_expect(rig, "0 tool.finished, 0 model.requested");
}

/* --- failure and retry ----------------------------------------------------------------------------- */

static void a_failed_child_gets_another_attempt_with_fresh_history_and_the_same_budget(void **state)
{
    struct rig *rig = *state;
    one_child(rig);
    CALLS(rig, 1, {"read", "{\"path\":\"a\"}"});
    rig_result(rig, 1, 0, "fine");
    rig_skip(rig);
    rig_break(rig, 1, "still down");
    rig_expect(rig, "1 model.failed, 1 agent.subagent_attempt, 1 agent.message, "
                    "1 agent.message, 1 model.requested");
    assert_int_equal(rig_last(rig, 1, EVENT_SUBAGENT_ATTEMPT)->attempt, 1);
    assert_int_equal(rig_agent(rig, 1)->message_count, 2);
    assert_int_equal(rig_agent(rig, 1)->account.tool_calls, 1);
    rig_skip(rig);
    rig_break(rig, 1, "still down");
    rig_expect(rig, "1 model.failed, " CHILD_FAILED("1") ", 0 tool.finished, "
                                                         "0 model.requested");
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text,
                 "[ERROR] Sub-agent failed: still down");
    check_str(rig_last(rig, 0, EVENT_TOOL_FINISHED)->outcome, "error");
    rig_contains(rig_last(rig, 1, EVENT_SUBAGENT_CLOSED)->result, "\"attempts\":2");
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CLOSED), 1);
}

static void a_refusal_by_the_provider_gets_no_other_attempt(void **state)
{
    struct rig *rig = *state;
    one_child(rig);
    rig_fail(rig, 1, ERR_PROVIDER, "wrong key");
    rig_expect(rig, "1 model.failed, " CHILD_FAILED("1") ", 0 tool.finished, "
                                                         "0 model.requested");
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_ATTEMPT), 1);
}

static void without_retries_the_first_error_is_the_last(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_retries = 0;
    one_child(rig);
    rig_break(rig, 1, "down");
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_ATTEMPT), 1);
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_FAILED), 1);
}

/* --- time ------------------------------------------------------------------------------------------ */

static void aborted(struct rig *rig, uint32_t no, const char *partial)
{
    struct model_failure failure = {.class = ERR_CANCELLED,
                                    .retry_after_ms = -1,
                                    .message = STR("aborted"),
                                    .partial = str_from(partial),
                                    .usage = USAGE_NONE};
    rig_failure(rig, no, &failure);
}

static void a_childs_wall_time_stops_it_and_keeps_what_it_had(void **state)
{
    struct rig *rig = *state;
    rig_walls(rig);
    one_child(rig);
    CALLS(rig, 1, {"read", "{\"path\":\"a\"}"}, {"read", "{\"path\":\"b\"}"});
    rig_result(rig, 1, 0, "fine");
    rig_result(rig, 1, 1, "fine");
    rig_skip(rig);
    rig_pass(rig, 60000);
    rig_expect(rig, "1 timer.fired, 1 agent.stopping");
    rig_expect_effects(rig, "1 abort");
    aborted(rig, 1, "half a sentence");
    rig_expect(rig, "1 model.failed, " CHILD_FAILED("1") ", 0 tool.finished, "
                                                         "0 model.requested");
    struct str text = rig_last(rig, 0, EVENT_TOOL_FINISHED)->text;
    rig_contains(text, "[TIMEOUT] Sub-agent failed: wall time of 60000 ms is used up");
    rig_contains(text, "half a sentence");
    rig_contains(text, "2 tool calls");
    const struct event *closed = rig_last(rig, 1, EVENT_SUBAGENT_CLOSED);
    rig_contains(closed->result, "\"tool_calls\":2");
    rig_contains(closed->result, "\"status\":\"timeout\"");
    rig_contains(closed->result, "\"response\":\"half a sentence\"");
}

static void an_attempt_that_takes_too_long_is_tried_again(void **state)
{
    struct rig *rig = *state;
    rig->settings.attempt_timeout_ms = 10000;
    one_child(rig);
    rig_pass(rig, 10000);
    rig_expect(rig, "1 timer.fired, 1 agent.stopping");
    aborted(rig, 1, "");
    rig_expect(rig, "1 model.failed, 1 agent.subagent_attempt, 1 agent.message, "
                    "1 agent.message, 1 model.requested");
}

static void a_child_without_a_wall_time_is_not_stopped_by_one(void **state)
{
    struct rig *rig = *state;
    rig->settings.child.wall_ms = rig->settings.root.wall_ms = UNLIMITED;
    rig->settings.attempt_timeout_ms = 10000;
    one_child(rig);
    rig_pass(rig, 9999);
    rig_expect_nothing(rig);
    rig_pass(rig, 1); /* of one attempt, which is tried again */
    aborted(rig, 1, "");
    assert_int_equal(rig_agent(rig, 1)->attempt, 1);
}

static void a_tool_of_a_timed_out_child_is_aborted_too(void **state)
{
    struct rig *rig = *state;
    rig_walls(rig);
    one_child(rig);
    CALLS(rig, 1, {"read", "{\"path\":\"a\"}"}, {"read", "{\"path\":\"b\"}"});
    rig_skip(rig);
    rig_pass(rig, 60000);
    rig_expect_effects(rig, "1 abort, 1 abort");
    rig_result(rig, 1, 0, "fine");
    rig_expect(rig, "1 timer.fired, 1 agent.stopping, 1 tool.finished");
    rig_result(rig, 1, 1, "fine");
    rig_expect(rig, "1 tool.finished, " CHILD_FAILED("1") ", 0 tool.finished, 0 model.requested");
}

static void a_child_made_when_its_parents_time_is_just_over_gets_none(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig->now += 15 * 60 * 1000 + 1; /* the deadline passed; the tick has not come yet */
    CALLS(rig, 0, SPAWN("late"));
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CREATED), 0);
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "nothing is left");
}

static void a_childs_wall_time_is_no_longer_than_what_its_parent_has_left(void **state)
{
    struct rig *rig = *state;
    rig_walls(rig);
    rig_start(rig, "do it");
    rig->now += 15 * 60 * 1000 - 7000;
    CALLS(rig, 0, SPAWN("short"));
    assert_int_equal(rig_agent(rig, 1)->contract.execution.budget.wall_ms, 7000);
}

/* --- cancel ---------------------------------------------------------------------------------------- */

static void a_cancel_ends_the_run_and_every_child_once(void **state)
{
    struct rig *rig = *state;
    two_children(rig);
    CALLS(rig, 2, {"read", "{\"path\":\"a\"}"}, {"read", "{\"path\":\"b\"}"});
    rig_skip(rig);
    rig_inbox(rig, "cancel", "{\"reason\":\"enough\"}");
    rig_expect(rig, "0 inbox.taken, 0 agent.stopping, 1 agent.stopping, 2 agent.stopping");
    rig_expect_effects(rig, "1 abort, 2 abort, 2 abort");
    aborted(rig, 1, "");
    rig_expect(rig, "1 model.failed, " CHILD_FAILED("1") ", 0 tool.finished");
    rig_result(rig, 2, 1, "fine");
    rig_result(rig, 2, 0, "fine");
    rig_expect(rig, "2 tool.finished, 2 tool.finished, " CHILD_FAILED("2") ", 0 tool.finished, "
                                                                           "0 run.cancelled");
    rig_expect_effects(rig, "");
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CLOSED), 2);
    check_str(rig_last(rig, 0, EVENT_RUN_CANCELLED)->error, "enough");
}

static void a_cancelled_child_that_never_started_is_closed_too(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_concurrent = 1;
    two_children(rig);
    rig_inbox(rig, "cancel", "{}");
    rig_expect(rig,
               "0 inbox.taken, 0 agent.stopping, 1 agent.stopping, 2 agent.stopping, " CHILD_FAILED(
                   "2") ", 0 tool.finished");
    aborted(rig, 1, "");
    rig_expect(rig, "1 model.failed, " CHILD_FAILED("1") ", 0 tool.finished, "
                                                         "0 run.cancelled");
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_STARTED), 1);
}

static void a_cancel_ends_a_child_that_waits_to_ask_again(void **state)
{
    struct rig *rig = *state;
    one_child(rig);
    rig_fail(rig, 1, ERR_RETRY, "down");
    rig_skip(rig);
    rig_inbox(rig, "cancel", "{}");
    rig_expect(rig, "0 inbox.taken, 0 agent.stopping, 1 agent.stopping, " CHILD_FAILED(
                        "1") ", 0 tool.finished, 0 run.cancelled");
}

static void a_cancel_during_a_timeout_leads_to_no_other_attempt(void **state)
{
    struct rig *rig = *state;
    rig->settings.attempt_timeout_ms = 10000;
    one_child(rig);
    rig_pass(rig, 10000);
    rig_inbox(rig, "cancel", "{}");
    rig_skip(rig);
    aborted(rig, 1, "");
    rig_expect(rig, "1 model.failed, " CHILD_FAILED("1") ", 0 tool.finished, 0 run.cancelled");
    rig_expect_effects(rig, "");
}

static void a_second_cancel_changes_nothing(void **state)
{
    struct rig *rig = *state;
    one_child(rig);
    rig_inbox(rig, "cancel", "{}");
    rig_skip(rig);
    rig_inbox(rig, "cancel", "{}");
    rig_expect(rig, "0 inbox.taken");
    rig_expect_effects(rig, "");
}

static void a_reply_that_was_on_its_way_during_a_stop_is_logged_and_asks_nothing(void **state)
{
    struct rig *rig = *state;
    one_child(rig);
    rig_inbox(rig, "cancel", "{}");
    rig_skip(rig);
    CALLS(rig, 1, {"read", "{\"path\":\"a\"}"});
    rig_expect(rig, "1 model.replied, " CHILD_FAILED("1") ", 0 tool.finished, 0 run.cancelled");
    rig_expect_effects(rig, "");
}

static void a_prepared_write_of_a_stopped_agent_is_not_made(void **state)
{
    struct rig *rig = *state;
    one_child(rig);
    CALLS(rig, 1, {"write", "{\"path\":\"a\",\"content\":\"\"}"});
    rig_inbox(rig, "cancel", "{}");
    rig_skip(rig);
    rig_prepared(rig, 1, 0, "a");
    rig_expect(rig, "1 tool.prepared, 1 tool.finished, " CHILD_FAILED(
                        "1") ", 0 tool.finished, 0 run.cancelled");
    rig_expect_effects(rig, "");
}

static void an_answer_to_an_ended_child_changes_nothing(void **state)
{
    struct rig *rig = *state;
    one_child(rig);
    rig_say(rig, 1, "done");
    rig_skip(rig);
    rig_say(rig, 1, "done again");
    aborted(rig, 1, "");
    rig_expect_nothing(rig);
}

/* --- slots and depth ------------------------------------------------------------------------------- */

static void no_more_children_work_at_once_than_allowed(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_concurrent = 2;
    rig_start(rig, "do it");
    rig_skip(rig);
    CALLS(rig, 0, SPAWN("one"), SPAWN("two"), SPAWN("three"));
    rig_expect_effects(rig, "1 model, 2 model");
    CALLS(rig, 1, {"read", "{\"path\":\"a\"}"}); /* working, not waiting: it keeps its slot */
    rig_expect_effects(rig, "1 tool read");
    rig_say(rig, 2, "done");
    rig_expect_effects(rig, "3 model");
}

static void nested_children_make_progress_with_one_slot(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_concurrent = 1;
    one_child(rig);
    CALLS(rig, 1, SPAWN("deeper"));
    rig_expect_effects(rig, "2 model"); /* the parent gave its slot up */
    rig_say(rig, 2, "deep answer");
    rig_expect_effects(rig, "1 model");
    rig_say(rig, 1, "answer");
    rig_expect_effects(rig, "0 model");
    rig_say(rig, 0, "done");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
}

static void beyond_the_depth_a_spawn_is_refused_in_the_words_of_the_contract(void **state)
{
    struct rig *rig = *state;
    one_child(rig);
    CALLS(rig, 1, SPAWN("deeper"));
    rig_skip(rig);
    CALLS(rig, 2, SPAWN("too deep"));
    rig_expect(rig, "2 model.replied, 2 tool.requested, 2 permission.denied, "
                    "2 tool.finished, 2 model.requested");
    check_str(rig_last(rig, 2, EVENT_TOOL_FINISHED)->text,
              "Error: Maximum sub-agent depth (2) exceeded");
    assert_int_equal(rig_last(rig, 2, EVENT_PERMISSION_DENIED)->depth, 2);
}

static void the_depth_comes_from_config(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_depth = 1;
    one_child(rig);
    CALLS(rig, 1, SPAWN("deeper"));
    check_str(rig_last(rig, 1, EVENT_TOOL_FINISHED)->text,
              "Error: Maximum sub-agent depth (1) exceeded");
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CREATED), 1);
}

static void a_child_that_gates_the_run_and_fails_fails_the_run(void **state)
{
    struct rig *rig = *state;
    rig->settings.gate = GATE_RUN;
    one_child(rig);
    rig_fail(rig, 1, ERR_PROVIDER, "wrong key");
    rig_skip(rig);
    rig_say(rig, 0, "done all the same");
    rig_expect(rig, "0 model.replied, 0 run.failed");
    rig_contains(run_result(rig->run), "\"failed_children\":[{");
}

static void a_failed_child_leaves_the_decision_to_its_parent(void **state)
{
    struct rig *rig = *state;
    one_child(rig);
    rig_fail(rig, 1, ERR_PROVIDER, "wrong key");
    rig_say(rig, 0, "done all the same");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
    rig_contains(run_result(rig->run), "\"failed_children\":[{");
}

/* Answers that fill the parent's context would end it: its next request could not be sent. */
static void long_answers_of_many_children_leave_room_for_the_next_request(void **state)
{
    struct rig *rig = *state;
    char answer[200001];
    memset(answer, 'a', sizeof answer - 1);
    answer[sizeof answer - 1] = '\0';
    rig->settings.max_concurrent = 4;
    rig_start(rig, "do it");
    CALLS(rig, 0, {"spawn_agent", "{\"task\":\"one\"}"}, {"spawn_agent", "{\"task\":\"two\"}"},
          {"spawn_agent", "{\"task\":\"three\"}"}, {"spawn_agent", "{\"task\":\"four\"}"});
    for (uint32_t no = 1; no <= 4; no++) {
        rig_say(rig, no, answer);
        const struct event *told = rig_last(rig, 0, EVENT_TOOL_FINISHED);
        assert_true(told->text.n <= 61000);
        rig_contains(told->text, "(cut here; agent_result has all of it)");
    }
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
    assert_int_equal(rig_agent(rig, 1)->response.n, sizeof answer - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_child_is_created_and_started_with_its_own_conversation),
        RIG_TEST(a_child_that_answers_is_closed_and_its_parent_gets_the_result),
        RIG_TEST(a_long_answer_stands_in_the_reply_and_is_not_repeated_where_the_child_ends),
        RIG_TEST(children_number_their_steps_in_spawn_order),
        RIG_TEST(a_spawn_costs_its_parent_one_call_and_never_the_childs_calls),
        RIG_TEST(wrong_arguments_are_a_tool_error_with_the_reason),
        RIG_TEST(what_was_taken_from_a_request_is_an_event),
        RIG_TEST(context_files_are_read_first_and_stand_in_the_childs_prompt),
        RIG_TEST(a_context_file_that_cannot_be_read_refuses_the_spawn),
        RIG_TEST(a_gather_that_fails_as_a_whole_ends_the_call),
        RIG_TEST(a_failed_child_gets_another_attempt_with_fresh_history_and_the_same_budget),
        RIG_TEST(a_refusal_by_the_provider_gets_no_other_attempt),
        RIG_TEST(without_retries_the_first_error_is_the_last),
        RIG_TEST(a_childs_wall_time_stops_it_and_keeps_what_it_had),
        RIG_TEST(an_attempt_that_takes_too_long_is_tried_again),
        RIG_TEST(a_child_without_a_wall_time_is_not_stopped_by_one),
        RIG_TEST(a_tool_of_a_timed_out_child_is_aborted_too),
        RIG_TEST(a_child_made_when_its_parents_time_is_just_over_gets_none),
        RIG_TEST(a_childs_wall_time_is_no_longer_than_what_its_parent_has_left),
        RIG_TEST(a_cancel_ends_the_run_and_every_child_once),
        RIG_TEST(a_cancelled_child_that_never_started_is_closed_too),
        RIG_TEST(a_cancel_ends_a_child_that_waits_to_ask_again),
        RIG_TEST(a_cancel_during_a_timeout_leads_to_no_other_attempt),
        RIG_TEST(a_second_cancel_changes_nothing),
        RIG_TEST(a_reply_that_was_on_its_way_during_a_stop_is_logged_and_asks_nothing),
        RIG_TEST(a_prepared_write_of_a_stopped_agent_is_not_made),
        RIG_TEST(an_answer_to_an_ended_child_changes_nothing),
        RIG_TEST(no_more_children_work_at_once_than_allowed),
        RIG_TEST(nested_children_make_progress_with_one_slot),
        RIG_TEST(beyond_the_depth_a_spawn_is_refused_in_the_words_of_the_contract),
        RIG_TEST(the_depth_comes_from_config),
        RIG_TEST(a_child_that_gates_the_run_and_fails_fails_the_run),
        RIG_TEST(a_failed_child_leaves_the_decision_to_its_parent),
        RIG_TEST(long_answers_of_many_children_leave_room_for_the_next_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
