/* What an agent does about the children that it has: agent_status, agent_send, agent_cancel, agent_result, agent_merge; what the roles
 * give a child; and the notice when two children changed one file. Children in the background are jobs of spawn. */
#include "run_fixture.h"

#include <stdio.h>
#include <stdlib.h>

static const struct event *answer(const struct rig *rig)
{
    return rig_last(rig, 0, EVENT_TOOL_FINISHED);
}

/* A root with this many jobs in the background, numbered from 1; it asks its model. */
static void jobs(struct rig *rig, size_t count)
{
    rig_open_doors(rig);
    rig_start(rig, "do it");
    for (size_t i = 0; i < count; i++) {
        CALLS(rig, 0, {"spawn", "{\"task\":\"a job\"}"});
        rig_facts(rig, 0, 0, "[]");
    }
    rig_skip(rig);
}

static void about(struct rig *rig, const char *door, uint32_t child_no, const char *more)
{
    char arguments[256];
    snprintf(arguments, sizeof arguments, "{\"task_id\":\"%.*s\"%s}",
             STR_FMT(rig_agent(rig, child_no)->task_id), more);
    CALLS(rig, 0, {door, arguments});
}

static void stopped(struct rig *rig, uint32_t no)
{
    struct model_failure failure = {.class = ERR_CANCELLED,
                                    .retry_after_ms = -1,
                                    .message = STR("aborted"),
                                    .partial = STR("half a sentence"),
                                    .usage = USAGE_NONE};
    rig_failure(rig, no, &failure);
}

static struct str last_message(const struct rig *rig, uint32_t no)
{
    const struct agent *agent = rig_agent(rig, no);
    return agent->messages[agent->message_count - 1].text;
}

/* --- agent_status ---------------------------------------------------------------------------------- */

static void agent_status_lists_state_and_spend_of_each_child(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_concurrent = 2;
    jobs(rig, 3);
    CALLS(rig, 1, {"read", "{\"path\":\"a\"}"});
    rig->now += 1200;
    rig_say(rig, 2, "done");
    rig_say(rig, 3, "done");
    CALLS(rig, 0, {"agent_status", "{}"});
    struct str text = answer(rig)->text;
    rig_contains(text, "running: using tools, 1 tool calls, ");
    rig_contains(text, "closed: completed, 0 tool calls, ");
    rig_contains(text, "1.2s");
    rig_contains(text, rig_agent(rig, 3)->task_id.p);
}

static void agent_status_tells_who_waits_for_a_slot(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_concurrent = 1;
    jobs(rig, 2);
    CALLS(rig, 0, {"agent_status", "{}"});
    rig_contains(answer(rig)->text, "created: waiting for a slot, 0 tool calls, 0 tokens");
}

static void an_agent_without_children_is_told_so(void **state)
{
    struct rig *rig = *state;
    jobs(rig, 0);
    CALLS(rig, 0, {"agent_status", "{}"});
    check_str(answer(rig)->text, "You have started no sub-agents.");
}

/* --- agent_send ------------------------------------------------------------------------------------ */

static void a_message_is_seen_at_the_childs_next_turn(void **state)
{
    struct rig *rig = *state;
    jobs(rig, 1);
    CALLS(rig, 1, {"read", "{\"path\":\"a\"}"});
    about(rig, "agent_send", 1, ",\"message\":\"look at b\"");
    rig_contains(answer(rig)->text, "sees the message at its next turn");
    rig_result(rig, 1, 0, "fine");
    rig_contains(last_message(rig, 1), "look at b");
    assert_int_equal(rig_agent(rig, 1)->phase, PHASE_ASKING);
}

static void a_child_that_was_about_to_finish_sees_the_message_first(void **state)
{
    struct rig *rig = *state;
    jobs(rig, 1);
    about(rig, "agent_send", 1, ",\"message\":\"look at b\"");
    rig_say(rig, 1, "done");
    assert_int_equal(rig_agent(rig, 1)->phase, PHASE_ASKING);
    rig_contains(last_message(rig, 1), "look at b");
    rig_say(rig, 1, "b is fine");
    check_str(rig_agent(rig, 1)->response, "b is fine");
    assert_int_equal(rig_agent(rig, 1)->life, LIFE_CLOSED);
}

static void the_same_message_twice_is_told_twice(void **state)
{
    struct rig *rig = *state;
    jobs(rig, 1);
    about(rig, "agent_send", 1, ",\"message\":\"go on\"");
    about(rig, "agent_send", 1, ",\"message\":\"go on\"");
    rig_say(rig, 1, "done");
    rig_contains(last_message(rig, 1), "go on\n\ngo on");
}

static void a_message_to_a_child_that_waits_for_a_slot_is_not_lost(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_concurrent = 1;
    jobs(rig, 2);
    about(rig, "agent_send", 2, ",\"message\":\"look at b\"");
    rig_say(rig, 1, "done");
    rig_contains(last_message(rig, 2), "look at b");
}

static void another_attempt_is_told_the_messages_again(void **state)
{
    struct rig *rig = *state;
    jobs(rig, 1);
    about(rig, "agent_send", 1, ",\"message\":\"look at b\"");
    rig_say(rig, 1, "done");
    rig_break(rig, 1, "down");
    assert_int_equal(rig_agent(rig, 1)->attempt, 1);
    rig_contains(last_message(rig, 1), "look at b");
    rig_say(rig, 1, "b is fine");
    assert_int_equal(rig_agent(rig, 1)->life, LIFE_CLOSED);
}

static void a_message_survives_a_crash(void **state)
{
    struct rig *rig = *state;
    jobs(rig, 1);
    about(rig, "agent_send", 1, ",\"message\":\"look at b\"");
    rig_crash(rig, 1000);
    rig_contains(last_message(rig, 1), "look at b");
}

static void nothing_is_sent_to_a_child_that_has_ended(void **state)
{
    struct rig *rig = *state;
    jobs(rig, 1);
    rig_say(rig, 1, "done");
    about(rig, "agent_send", 1, ",\"message\":\"look at b\"");
    rig_contains(answer(rig)->text, "Error: sub-agent");
    rig_contains(answer(rig)->text, "has ended; agent_result shows what it said");
}

/* --- agent_cancel ---------------------------------------------------------------------------------- */

static void agent_cancel_stops_one_child_and_touches_no_other(void **state)
{
    struct rig *rig = *state;
    jobs(rig, 3);
    about(rig, "agent_cancel", 2, "");
    rig_contains(answer(rig)->text, "is cancelled");
    rig_expect_effects(rig, "2 abort, 0 model");
    stopped(rig, 2);
    assert_int_equal(rig_agent(rig, 2)->outcome, OUTCOME_CANCELLED);
    assert_int_equal(rig_agent(rig, 2)->life, LIFE_CLOSED);
    assert_int_equal(rig_agent(rig, 1)->phase, PHASE_ASKING);
    assert_int_equal(rig_agent(rig, 3)->phase, PHASE_ASKING);
    about(rig, "agent_result", 2, "");
    rig_contains(answer(rig)->text,
                 "[CANCELLED] Sub-agent failed: cancelled by its parent\nWhat it had written so "
                 "far: half a sentence");
}

static void a_child_that_has_not_started_is_cancelled_at_once(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_concurrent = 1;
    jobs(rig, 2);
    about(rig, "agent_cancel", 2, "");
    rig_expect(rig, "0 model.replied, 0 tool.requested, 2 agent.stopping, "
                    "2 agent.subagent_failed, 2 agent.subagent_closed, 0 tool.finished, "
                    "0 model.requested");
    rig_say(rig, 1, "done");
    rig_say(rig, 0, "done");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
}

static void whoever_awaits_a_cancelled_child_goes_on(void **state)
{
    struct rig *rig = *state;
    jobs(rig, 1);
    char cancel[64];
    snprintf(cancel, sizeof cancel, "{\"task_id\":\"%.*s\"}", STR_FMT(rig_agent(rig, 1)->task_id));
    CALLS(rig, 0, {"spawn_await", "{\"job_ids\":\"*\"}"}, {"agent_cancel", cancel});
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_TOOLS);
    stopped(rig, 1);
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
    rig_contains(answer(rig)->text, ": ERROR]\ncancelled by its parent");
}

/* An agent whose child ends inside the call, and whose budget ends with it, ends there and then. */
static void cancelling_with_the_last_call_of_a_budget_ends_the_agent_well(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_concurrent = 1;
    rig->settings.child.turns = 3;
    rig_open_doors(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("a part"));
    CALLS(rig, 1, {"spawn", "{\"task\":\"a job\"}"});
    rig_facts(rig, 1, 0, "[]");
    char cancel[64];
    snprintf(cancel, sizeof cancel, "{\"task_id\":\"%.*s\"}", STR_FMT(rig_agent(rig, 2)->task_id));
    CALLS(rig, 1, {"agent_cancel", cancel});
    assert_int_equal(rig_agent(rig, 2)->life, LIFE_CLOSED);
    rig_say(rig, 1, "as far as I came");
    assert_int_equal(rig_agent(rig, 1)->life, LIFE_CLOSED);
}

static void an_agent_that_spawns_a_job_keeps_its_slot(void **state)
{
    struct rig *rig = *state;
    rig->settings.max_concurrent = 1;
    rig_open_doors(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("a part"));
    CALLS(rig, 1, {"spawn", "{\"task\":\"a job\"}"});
    rig_facts(rig, 1, 0, "[]");
    assert_int_equal(rig_agent(rig, 1)->phase, PHASE_ASKING);
    assert_int_equal(rig_agent(rig, 2)->phase, PHASE_NEW);
    CALLS(rig, 1, {"spawn_await", "{\"job_ids\":\"*\"}"});
    assert_int_equal(rig_agent(rig, 2)->phase, PHASE_ASKING);
    rig_say(rig, 2, "done");
    assert_int_equal(rig_agent(rig, 1)->phase, PHASE_ASKING);
}

/* --- agent_result, agent_merge --------------------------------------------------------------------- */

static void a_result_can_be_read_again(void **state)
{
    struct rig *rig = *state;
    jobs(rig, 1);
    rig_say(rig, 1, "found it");
    for (int i = 0; i < 2; i++) {
        about(rig, "agent_result", 1, "");
        rig_contains(answer(rig)->text, "found it\n\n(ended after 0 tool calls, 0.0s)");
        check_str(answer(rig)->outcome, "ok");
    }
}

/* Each says where the next begins; together they are the answer, and none is more than the reader's context takes. */
static void a_long_result_comes_in_parts(void **state)
{
    struct rig *rig = *state;
    static char said[90001], read[sizeof said];
    size_t n = 0, parts = 0;
    for (size_t i = 0; i + 3 < sizeof said; i += 3)
        memcpy(said + i, i % 2 ? "\xe2\x82\xac" : "abc", 3);
    rig->settings.models[0].max_context_tokens = 1000000; /* nothing is compacted between parts */
    jobs(rig, 1);
    rig_say(rig, 1, said);
    for (unsigned long long offset = 0; parts == 0 || offset > 0; parts++) {
        char more[64];
        snprintf(more, sizeof more, ",\"offset\":%llu", offset);
        about(rig, "agent_result", 1, more);
        struct str text = answer(rig)->text;
        const char *end = memmem(text.p, text.n, "… (bytes ", sizeof "… (bytes " - 1);
        const char *next = memmem(text.p, text.n, "\"offset\": ", 10);
        if (end == NULL)
            end = memmem(text.p, text.n, "\n\n(ended", 8);
        assert_non_null(end);
        assert_true(text.n <= 61000);
        assert_true(n + (size_t)(end - text.p) < sizeof read);
        memcpy(read + n, text.p, (size_t)(end - text.p));
        n += (size_t)(end - text.p);
        offset = next != NULL ? strtoull(next + 10, NULL, 10) : 0;
        assert_true(offset == 0 || offset == n);
    }
    assert_true(parts > 1);
    assert_int_equal(n, strlen(said));
    assert_memory_equal(read, said, n);
}

static void an_offset_past_the_end_is_refused(void **state)
{
    struct rig *rig = *state;
    jobs(rig, 1);
    rig_say(rig, 1, "found it");
    about(rig, "agent_result", 1, ",\"offset\":8");
    rig_contains(answer(rig)->text, "offset must be below 8, the bytes of the answer");
    about(rig, "agent_result", 1, ",\"offset\":-1");
    rig_contains(answer(rig)->text, "Error: offset must be");
    about(rig, "agent_result", 1, ",\"offset\":6");
    rig_contains(answer(rig)->text, "it\n\n(ended");
}

static void the_result_of_a_child_at_work_is_marked_as_a_part(void **state)
{
    struct rig *rig = *state;
    jobs(rig, 1);
    about(rig, "agent_result", 1, "");
    rig_contains(answer(rig)->text,
                 "is still at work (asking its model, 0 tool calls); this is not");
    check_str(answer(rig)->outcome, "ok");
}

static void a_held_child_is_merged_when_its_parent_says_so(void **state)
{
    struct rig *rig = *state;
    rig->settings.hold_children = SWITCH_ON;
    jobs(rig, 1);
    rig_say(rig, 1, "found it");
    assert_int_equal(rig_agent(rig, 1)->life, LIFE_WAITING_FOR_MERGE);
    CALLS(rig, 0, {"agent_status", "{}"});
    rig_contains(answer(rig)->text, "waiting_for_merge: held until agent_merge or agent_cancel");
    about(rig, "agent_merge", 1, "");
    rig_contains(answer(rig)->text, "is merged and closed");
    check_str(rig_last(rig, 1, EVENT_SUBAGENT_CLOSED)->final_status, "completed");
    about(rig, "agent_merge", 1, "");
    rig_contains(answer(rig)->text, "Error: sub-agent");
    rig_contains(answer(rig)->text, "is not held: it is closed");
    rig_say(rig, 0, "done");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
    assert_int_equal(rig_count(rig, EVENT_SUBAGENT_CLOSED), 1);
}

static void a_held_child_that_is_cancelled_closes_as_failed(void **state)
{
    struct rig *rig = *state;
    rig->settings.hold_children = SWITCH_ON;
    jobs(rig, 1);
    rig_say(rig, 1, "found it");
    about(rig, "agent_cancel", 1, "");
    check_str(rig_last(rig, 1, EVENT_SUBAGENT_CLOSED)->final_status, "failed");
    assert_int_equal(rig_agent(rig, 0)->phase, PHASE_ASKING);
}

static void results_of_held_children_are_answered_at_once(void **state)
{
    struct rig *rig = *state;
    rig->settings.hold_children = SWITCH_ON;
    rig_open_doors(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, {"fan_out", "{\"tasks\":[\"one\",\"two\"]}"});
    rig_say(rig, 1, "first");
    rig_say(rig, 2, "second");
    rig_contains(answer(rig)->text, "\"succeeded\":2");
    about(rig, "agent_merge", 1, "");
    rig_say(rig, 0, "done");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
    check_str(rig_last(rig, 1, EVENT_SUBAGENT_CLOSED)->final_status, "completed");
    check_str(rig_last(rig, 2, EVENT_SUBAGENT_CLOSED)->final_status, "failed");
}

/* --- bad input ------------------------------------------------------------------------------------- */

static void bad_ids_and_messages_are_refused_with_a_reason_and_counted(void **state)
{
    static const struct {
        const char *door, *arguments, *says;
    } rows[] = {
        {"agent_status", "{\"all\":true}", "unknown argument \"all\""},
        {"agent_send", "{}", "task_id must name a sub-agent"},
        {"agent_send", "{\"task_id\":7,\"message\":\"x\"}", "task_id must be a string"},
        {"agent_send", "{\"task_id\":\"nobody\",\"message\":\"x\"}",
         "no sub-agent of yours has the id \"nobody\""},
        {"agent_cancel", "{\"task_id\":\"\"}", "task_id must name a sub-agent"},
        {"agent_cancel", "{\"task_id\":\"*\"}", "no sub-agent of yours"},
        {"agent_result", "{\"task_id\":null}", "task_id must name a sub-agent"},
        {"agent_result", "{\"task_id\":[\"a\"]}", "task_id must be a string, not an array"},
        {"agent_merge", "{\"task_id\":\"\xff\"}", "not a JSON object"},
        {"agent_merge", "{\"task_id\":\"x\",\"force\":1}", "unknown argument \"force\""},
    };
    struct rig *rig = *state;
    jobs(rig, 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CALLS(rig, 0, {rows[i].door, rows[i].arguments});
        assert_true(str_starts(answer(rig)->text, STR("Error: ")));
        rig_contains(answer(rig)->text, rows[i].says);
        assert_int_equal(rig_agent(rig, 0)->account.tool_calls, i + 2);
    }
    about(rig, "agent_send", 1, "");
    rig_contains(answer(rig)->text, "Error: message must not be empty");
    about(rig, "agent_send", 1, ",\"message\":{}");
    rig_contains(answer(rig)->text, "Error: message must be a string, not an object");
}

static void an_agent_cannot_reach_the_children_of_others(void **state)
{
    struct rig *rig = *state;
    jobs(rig, 1);
    CALLS(rig, 0, SPAWN("another"));
    char cancel[64];
    snprintf(cancel, sizeof cancel, "{\"task_id\":\"%.*s\"}", STR_FMT(rig_agent(rig, 1)->task_id));
    CALLS(rig, 2, {"agent_cancel", cancel});
    rig_contains(rig_last(rig, 2, EVENT_TOOL_FINISHED)->text, "no sub-agent of yours");
    assert_int_equal(rig_agent(rig, 1)->phase, PHASE_ASKING);
}

/* --- roles ----------------------------------------------------------------------------------------- */

/* Which tools a child of this role has, in the order of the specification, then what it may start. */
static void a_role_gives_the_child_what_the_specification_says(void **state)
{
    static const struct {
        const char *role, *tools, *spawns;
        int64_t calls, characters;
    } rows[] = {
        {"researcher",
         "read ls search code_search grep web_search web_fetch overview docs_coverage", "", 15,
         50000},
        {"planner", "read ls search plan_files overview", "", 10, 30000},
        {"executor", "read write edit ls search shell test git git_commit", "reviewer", 30, 80000},
        {"reviewer", "read search test git_diff shell", "", 15, 50000},
        {"tester", "read write test shell", "reviewer", 20, 50000},
    };
    static const char doors[] = " spawn_agent agent_status agent_send agent_cancel agent_result "
                                "agent_merge";
    struct rig *rig = *state;
    rig->settings.mode = MODE_DANGEROUS;
    rig_open_doors(rig);
    rig_start(rig, "do it");
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char arguments[64], expected[512], got[512] = "";
        snprintf(arguments, sizeof arguments, "{\"task\":\"x\",\"role\":\"%s\"}", rows[i].role);
        CALLS(rig, 0, {"spawn_agent", arguments});
        const struct contract *contract = &rig_agent(rig, i + 1)->contract;
        const struct list *tools = &contract->permissions.allowed_tools;
        for (size_t k = 0; k < tools->n; k++)
            if (!str_is(tools->items[k], "git_commit"))
                snprintf(got + strlen(got), sizeof got - strlen(got), "%s%.*s", k > 0 ? " " : "",
                         STR_FMT(tools->items[k]));
        snprintf(expected, sizeof expected, "%s%s", rows[i].tools, rows[i].spawns[0] ? doors : "");
        /* git_commit is a question in every mode, and a child's question is answered by its mode. */
        char *commit = strstr(expected, " git_commit");
        if (commit != NULL)
            memmove(commit, commit + 11, strlen(commit + 11) + 1);
        assert_string_equal(got, expected);
        assert_int_equal(contract->execution.budget.tool_calls, rows[i].calls);
        assert_int_equal(contract->execution.budget.context_tokens, rows[i].characters / 4);
        assert_int_equal(contract->execution.idle_timeout_ms, 300000);
        assert_int_equal(contract->permissions.spawn_roles.n, rows[i].spawns[0] ? 1 : 0);
        rig_say(rig, i + 1, "done");
    }
}

static void an_executor_starts_reviewers_and_nobody_else(void **state)
{
    struct rig *rig = *state;
    rig_open_doors(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, {"spawn_agent", "{\"task\":\"build\",\"role\":\"executor\"}"});
    CALLS(rig, 1, {"spawn_agent", "{\"task\":\"x\",\"role\":\"researcher\"}"});
    rig_contains(rig_last(rig, 1, EVENT_TOOL_FINISHED)->text,
                 "Error: role \"researcher\" is not allowed; this agent may start only: reviewer");
    rig_contains(rig_last(rig, 1, EVENT_PERMISSION_DENIED)->reason, "researcher");
    CALLS(rig, 1, SPAWN("x"));
    rig_contains(rig_last(rig, 1, EVENT_TOOL_FINISHED)->text, "name a role");
    CALLS(rig, 1, {"spawn_agent", "{\"task\":\"check\",\"role\":\"reviewer\"}"});
    check_str(rig_agent(rig, 2)->contract.agent.role, "reviewer");
    CALLS(rig, 2, {"write", "{\"path\":\"a\",\"content\":\"\"}"});
    assert_int_equal(rig_last(rig, 2, EVENT_PERMISSION_DENIED)->depth, 2);
}

/* --- two children, one file ------------------------------------------------------------------------ */

static void changes(struct rig *rig, uint32_t no, const char *files)
{
    CALLS(rig, no, {"write", "{\"path\":\"f\",\"content\":\"\"}"});
    rig_prepared(rig, no, 0, "f");
    struct input input = {.kind = INPUT_RESULT,
                          .agent_no = no,
                          .call_id = rig_call_id(rig, no, 0),
                          .text = STR("written"),
                          .files_modified = str_from(files)};
    rig_input(rig, &input);
}

static void the_later_of_two_that_changed_one_file_is_reported_with_a_notice(void **state)
{
    struct rig *rig = *state;
    rig_open_doors(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, SPAWN("one"), SPAWN("two"), SPAWN("three"));
    changes(rig, 1, "[\"src/a.c\",\"b.c\"]");
    rig_say(rig, 1, "first");
    struct str text = answer(rig)->text;
    assert_null(memmem(text.p, text.n, "Notice", 6));
    changes(rig, 2, "[\"c.c\",\"src/a.c\"]");
    rig_crash(rig, 10);
    rig_say(rig, 2, "second");
    rig_contains(answer(rig)->text, "Notice: src/a.c was also modified by sub-agent agent-1 (");
    changes(rig, 3, "[\"d.c\"]");
    rig_say(rig, 3, "third");
    text = answer(rig)->text;
    assert_null(memmem(text.p, text.n, "Notice", 6));
}

static void every_door_shows_the_notice(void **state)
{
    struct rig *rig = *state;
    rig_open_doors(rig);
    rig_start(rig, "do it");
    CALLS(rig, 0, {"fan_out", "{\"tasks\":[\"one\",\"two\"]}"});
    changes(rig, 1, "[\"a.c\"]");
    changes(rig, 2, "[\"a.c\"]");
    rig_say(rig, 1, "first");
    rig_say(rig, 2, "second");
    rig_contains(answer(rig)->text, "\"notice\":\"a.c was also modified by sub-agent agent-1 (");
    CALLS(rig, 0, {"spawn", "{\"task\":\"a job\"}"});
    rig_facts(rig, 0, 0, "[]");
    changes(rig, 3, "[\"a.c\"]");
    rig_say(rig, 3, "third");
    CALLS(rig, 0, {"spawn_await", "{\"job_ids\":\"*\"}"});
    rig_contains(answer(rig)->text, "third\nNotice: a.c was also modified by sub-agent agent-2 (");
    CALLS(rig, 0, {"delegate_task", "{\"plan\":\"p\",\"subtasks\":[{\"task\":\"x\"}]}"});
    changes(rig, 4, "[\"a.c\"]");
    rig_say(rig, 4, "fourth");
    rig_contains(answer(rig)->text, "Notice: a.c was also modified by sub-agent agent-3 (");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(agent_status_lists_state_and_spend_of_each_child),
        RIG_TEST(agent_status_tells_who_waits_for_a_slot),
        RIG_TEST(an_agent_without_children_is_told_so),
        RIG_TEST(a_message_is_seen_at_the_childs_next_turn),
        RIG_TEST(a_child_that_was_about_to_finish_sees_the_message_first),
        RIG_TEST(the_same_message_twice_is_told_twice),
        RIG_TEST(a_message_to_a_child_that_waits_for_a_slot_is_not_lost),
        RIG_TEST(another_attempt_is_told_the_messages_again),
        RIG_TEST(a_message_survives_a_crash),
        RIG_TEST(nothing_is_sent_to_a_child_that_has_ended),
        RIG_TEST(agent_cancel_stops_one_child_and_touches_no_other),
        RIG_TEST(a_child_that_has_not_started_is_cancelled_at_once),
        RIG_TEST(whoever_awaits_a_cancelled_child_goes_on),
        RIG_TEST(cancelling_with_the_last_call_of_a_budget_ends_the_agent_well),
        RIG_TEST(an_agent_that_spawns_a_job_keeps_its_slot),
        RIG_TEST(a_result_can_be_read_again),
        RIG_TEST(a_long_result_comes_in_parts),
        RIG_TEST(an_offset_past_the_end_is_refused),
        RIG_TEST(the_result_of_a_child_at_work_is_marked_as_a_part),
        RIG_TEST(a_held_child_is_merged_when_its_parent_says_so),
        RIG_TEST(a_held_child_that_is_cancelled_closes_as_failed),
        RIG_TEST(results_of_held_children_are_answered_at_once),
        RIG_TEST(bad_ids_and_messages_are_refused_with_a_reason_and_counted),
        RIG_TEST(an_agent_cannot_reach_the_children_of_others),
        RIG_TEST(a_role_gives_the_child_what_the_specification_says),
        RIG_TEST(an_executor_starts_reviewers_and_nobody_else),
        RIG_TEST(the_later_of_two_that_changed_one_file_is_reported_with_a_notice),
        RIG_TEST(every_door_shows_the_notice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
