/* run_decide, seen through scripted inputs: turns, tool calls, permissions, failures of a model, and answers that come too late.
 * Children, budgets and resume have files of their own beside this one. */
#include <stdio.h>

#include "run_fixture.h"

#define READ(path)                                                                                 \
    {                                                                                              \
        "read", "{\"path\":\"" path "\"}"                                                          \
    }
#define WRITE(path)                                                                                \
    {                                                                                              \
        "write", "{\"path\":\"" path "\",\"content\":\"x\"}"                                       \
    }
#define REPLIED "0 model.replied"

static void a_start_message_asks_the_model(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig_expect(rig, "0 inbox.taken, 0 run.started, 0 agent.message, 0 agent.message, "
                    "0 model.requested");
    rig_expect_effects(rig, "0 model");
    check_str(rig_last(rig, 0, EVENT_AGENT_MESSAGE)->text, "do it");
    assert_int_equal(rig_effect(rig, 0, EFFECT_MODEL)->class, EFFECT_COSTLY);
}

static void a_plain_answer_completes_the_run(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig_skip(rig);
    rig_say(rig, 0, "done");
    rig_expect(rig, REPLIED ", 0 run.completed");
    rig_expect_effects(rig, "");
    assert_int_equal(run_state(rig->run), RUN_COMPLETED);
    check_str(rig_last(rig, 0, EVENT_RUN_COMPLETED)->response, "done");
    rig_contains(run_result(rig->run), "\"model_effective\":\"m-1-0815\"");
    assert_int_equal(run_deadline(rig->run), INT64_MAX);
}

static void a_second_start_message_changes_nothing(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig_skip(rig);
    rig_start(rig, "do something else");
    rig_expect(rig, "0 inbox.taken");
    rig_expect_effects(rig, "");
}

static void a_start_without_a_task_fails_the_run(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "  ");
    rig_expect(rig, "0 inbox.taken, 0 run.started, 0 run.failed");
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->error, "task must not be empty");
}

static void a_start_message_that_is_no_json_fails_the_run(void **state)
{
    struct rig *rig = *state;
    rig_inbox(rig, "start", "{oops");
    rig_expect(rig, "0 inbox.taken, 0 run.started, 0 run.failed");
}

static void messages_to_an_ended_run_are_left_alone(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig_say(rig, 0, "done");
    rig_skip(rig);
    rig_inbox(rig, "cancel", "{}");
    rig_expect_nothing(rig);
}

/* --- calls ----------------------------------------------------------------------------------------- */

static void a_read_runs_and_its_result_goes_back_to_the_model(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig_skip(rig);
    CALLS(rig, 0, READ("a"));
    rig_expect(rig, REPLIED ", 0 tool.requested");
    rig_expect_effects(rig, "0 tool read");
    assert_int_equal(rig_effect(rig, 0, EFFECT_TOOL)->class, EFFECT_PURE);
    rig_result(rig, 0, 0, "the text of a");
    rig_expect(rig, "0 tool.finished, 0 model.requested");
    rig_expect_effects(rig, "0 model");
    const struct agent *root = rig_agent(rig, 0);
    const struct message *last = &root->messages[root->message_count - 1];
    assert_int_equal(last->role, MESSAGE_TOOL);
    check_str(last->text, "the text of a");
    assert_int_equal(root->account.tool_calls, 1);
}

static void call_ids_are_our_own_though_the_provider_repeats_its_ids(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    CALLS(rig, 0, READ("a"), READ("b"));
    struct str a = rig_call_id(rig, 0, 0), b = rig_call_id(rig, 0, 1);
    assert_false(str_eq(a, b));
    rig_result(rig, 0, 1, "b");
    rig_result(rig, 0, 0, "a");
    const struct agent *root = rig_agent(rig, 0);
    check_str(root->messages[root->message_count - 2].text, "a");
    check_str(root->messages[root->message_count - 1].text, "b");
}

static void two_reads_run_side_by_side(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig_skip(rig);
    CALLS(rig, 0, READ("a"), READ("b"));
    rig_expect_effects(rig, "0 tool read, 0 tool read");
    rig_expect(rig, REPLIED ", 0 tool.requested, 0 tool.requested");
    rig_result(rig, 0, 0, "a");
    rig_expect(rig, "0 tool.finished");
    rig_result(rig, 0, 1, "b");
    rig_expect(rig, "0 tool.finished, 0 model.requested");
}

static void a_write_says_what_it_will_change_before_it_may(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig_skip(rig);
    CALLS(rig, 0, WRITE("a"));
    rig_expect(rig, REPLIED ", 0 tool.requested");
    rig_expect_effects(rig, "0 prepare write");
    assert_int_equal(rig_effect(rig, 0, EFFECT_PREPARE)->class, EFFECT_PURE);
    rig_prepared(rig, 0, 0, "a");
    rig_expect(rig, "0 tool.prepared");
    rig_expect_effects(rig, "0 tool write");
    assert_int_equal(rig_effect(rig, 0, EFFECT_TOOL)->class, EFFECT_OUTWARD);
    check_str(rig_effect(rig, 0, EFFECT_TOOL)->before, "absent");
    rig_result(rig, 0, 0, "written");
    rig_expect(rig, "0 tool.finished, 0 model.requested");
}

static void a_write_that_cannot_be_prepared_ends_with_the_error(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    CALLS(rig, 0, WRITE("a"));
    rig_skip(rig);
    struct input input = {.kind = INPUT_RESULT,
                          .call_id = rig_call_id(rig, 0, 0),
                          .outcome = TOOL_ERROR,
                          .text = STR("Error: not a file")};
    rig_input(rig, &input);
    rig_expect(rig, "0 tool.finished, 0 model.requested");
}

static void a_read_behind_a_write_waits_for_it(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig_skip(rig);
    CALLS(rig, 0, WRITE("a"), READ("a"));
    rig_expect_effects(rig, "0 prepare write");
    rig_prepared(rig, 0, 0, "a");
    rig_expect_effects(rig, "0 tool write");
    rig_result(rig, 0, 0, "written");
    rig_expect_effects(rig, "0 tool read");
}

static void a_write_behind_reads_waits_for_all_of_them(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig_skip(rig);
    CALLS(rig, 0, READ("a"), READ("b"), WRITE("a"));
    rig_expect_effects(rig, "0 tool read, 0 tool read");
    rig_result(rig, 0, 1, "b");
    rig_expect_effects(rig, "");
    rig_result(rig, 0, 0, "a");
    rig_expect_effects(rig, "0 prepare write");
}

static void with_two_calls_left_two_of_three_run_and_one_is_refused_uncounted(void **state)
{
    struct rig *rig = *state;
    rig->settings.pause_at = 2;
    rig_start(rig, "do it");
    rig_skip(rig);
    CALLS(rig, 0, READ("a"), READ("b"), READ("c"));
    rig_expect(rig, REPLIED ", 0 tool.requested, 0 tool.requested, 0 tool.finished");
    rig_expect_effects(rig, "0 tool read, 0 tool read");
    check_str(rig_last(rig, 0, EVENT_TOOL_FINISHED)->outcome, "error");
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "budget of 2 tool calls is used up");
    assert_int_equal(rig_agent(rig, 0)->account.tool_calls, 2);
}

static void an_unknown_tool_is_denied_and_counted(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig_skip(rig);
    CALLS(rig, 0, {"no_such_tool", "{}"});
    rig_expect(rig, REPLIED ", 0 tool.requested, 0 permission.denied, 0 tool.finished, "
                            "0 model.requested");
    assert_int_equal(rig_agent(rig, 0)->account.tool_calls, 1);
}

static void a_denied_tool_is_an_event_and_counted(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it"); /* nobody can be asked, so `ask` is a no */
    rig_skip(rig);
    CALLS(rig, 0, {"shell", "{\"command\":\"true\"}"});
    rig_expect(rig, REPLIED ", 0 tool.requested, 0 permission.denied, 0 tool.finished, "
                            "0 model.requested");
    rig_expect_effects(rig, "0 model");
    check_str(rig_last(rig, 0, EVENT_PERMISSION_DENIED)->tool, "shell");
    assert_int_equal(rig_agent(rig, 0)->account.tool_calls, 1);
}

static void arguments_that_are_no_object_are_shown_to_the_model(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig_skip(rig);
    CALLS(rig, 0, {"read", "{\"$unparsed\":\"{oops\"}"});
    rig_expect(rig, REPLIED ", 0 tool.requested, 0 tool.finished, 0 model.requested");
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "They were: {oops");
}

/* 300 bytes are shown: the cut must not fall into a character, or the log would read back as other text. */
static void long_arguments_are_cut_between_characters(void **state)
{
    struct rig *rig = *state;
    char text[1024] = "{\"$unparsed\":\"x";
    for (int i = 0; i < 200; i++)
        strcat(text, "é");
    strcat(text, "\"}");
    rig_start(rig, "do it");
    CALLS(rig, 0, {"read", text});
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "They were: xéé");
}

static void text_that_is_no_utf8_reads_back_as_it_was_applied(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    CALLS(rig, 0, READ("a"));
    rig_result(rig, 0, 0, "\xff\xfe binary \xc3");
    const struct agent *root = rig_agent(rig, 0);
    check_str(root->messages[root->message_count - 1].text,
              "\xEF\xBF\xBD\xEF\xBF\xBD binary \xEF\xBF\xBD");
    rig_say(rig, 0, "also \xc3 this");
    check_str(rig_last(rig, 0, EVENT_RUN_COMPLETED)->response, "also \xEF\xBF\xBD this");
}

static void the_timeline_of_a_hostile_tool_name_is_one_clean_line(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    CALLS(rig, 0, {"evil\n\x1b[31mname", "{}"});
    const struct batch *last = rig->store.committed[rig->store.count - 1];
    for (size_t i = 0; i < last->append.event_count; i++) {
        struct str summary = last->append.events[i].summary;
        assert_null(memchr(summary.p, '\n', summary.n));
        assert_null(memchr(summary.p, '\x1b', summary.n));
    }
}

/* --- asking a person ------------------------------------------------------------------------------- */

static void approve(struct rig *rig, const char *answer)
{
    char body[256];
    struct str id = rig_call_id(rig, 0, 0);
    snprintf(body, sizeof body,
             "{\"agent_no\":0,\"call_id\":\"%.*s\",\"answer\":\"%s\",\"shown\":\"" RIG_SHOWN "\"}",
             STR_FMT(id), answer);
    rig_inbox(rig, "approve", body);
}

static void ask_for_shell(struct rig *rig)
{
    rig->asker = ASKER_TERMINAL;
    rig_start(rig, "do it");
    rig_skip(rig);
    CALLS(rig, 0, {"shell", "{\"command\":\"true\"}"});
    rig_expect(rig, REPLIED ", 0 permission.asked");
    rig_expect_effects(rig, "0 ask shell");
}

static void a_call_that_needs_a_yes_runs_after_a_yes(void **state)
{
    struct rig *rig = *state;
    ask_for_shell(rig);
    approve(rig, "yes");
    rig_expect(rig, "0 inbox.taken, 0 permission.granted, 0 tool.requested");
    rig_expect_effects(rig, "0 tool shell");
    approve(rig, "yes"); /* once is enough */
    rig_expect(rig, "0 inbox.taken");
    rig_expect_effects(rig, "");
}

static void a_no_is_told_to_the_model_and_nothing_runs(void **state)
{
    struct rig *rig = *state;
    ask_for_shell(rig);
    approve(rig, "no");
    rig_expect(rig, "0 inbox.taken, 0 permission.denied, 0 tool.finished, 0 model.requested");
    rig_expect_effects(rig, "0 model");
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "the user refused");
}

static void anything_but_yes_is_a_no(void **state)
{
    struct rig *rig = *state;
    ask_for_shell(rig);
    approve(rig, "YES!");
    rig_expect(rig, "0 inbox.taken, 0 permission.denied, 0 tool.finished, 0 model.requested");
}

static void an_answer_for_another_agent_or_call_changes_nothing(void **state)
{
    struct rig *rig = *state;
    ask_for_shell(rig);
    rig_inbox(rig, "approve", "{\"agent_no\":7,\"call_id\":\"c1_0\",\"answer\":\"yes\"}");
    rig_inbox(rig, "approve", "{\"agent_no\":0,\"call_id\":\"c1_9\",\"answer\":\"yes\"}");
    rig_inbox(rig, "approve", "{\"agent_no\":\"0\"}");
    char body[256];
    struct str id = rig_call_id(rig, 0, 0);
    snprintf(body, sizeof body, "{\"agent_no\":4294967296,\"call_id\":\"%.*s\",\"answer\":\"yes\"}",
             STR_FMT(id));
    rig_inbox(rig, "approve", body);
    rig_expect(rig, "0 inbox.taken, 0 inbox.taken, 0 inbox.taken, 0 inbox.taken");
    rig_expect_effects(rig, "");
}

/* --- a model that fails ---------------------------------------------------------------------------- */

static void a_failed_request_is_asked_again_after_a_while(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig_skip(rig);
    rig_fail(rig, 0, ERR_RETRY, "busy");
    rig_expect(rig, "0 model.failed");
    rig_expect_effects(rig, "");
    rig_pass(rig, 1000);
    rig_expect(rig, "0 timer.fired, 0 model.requested");
    rig_expect_effects(rig, "0 model");
    assert_int_equal(rig_last(rig, 0, EVENT_MODEL_REQUESTED)->attempt, 1);
}

static void the_wait_that_the_server_asks_for_is_kept(void **state)
{
    struct rig *rig = *state;
    struct model_failure failure = {.class = ERR_RETRY,
                                    .http_status = 429,
                                    .retry_after_ms = 7000,
                                    .message = STR("slow down"),
                                    .usage = USAGE_NONE};
    rig_start(rig, "do it");
    rig_failure(rig, 0, &failure);
    assert_int_equal(rig_last(rig, 0, EVENT_MODEL_FAILED)->retry_at, rig->now + 7000);
    rig_skip(rig);
    rig_pass(rig, 6999);
    rig_expect_nothing(rig);
    rig_pass(rig, 1);
    rig_expect_effects(rig, "0 model");
}

static void a_refusal_by_the_provider_is_not_asked_again(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig_skip(rig);
    rig_fail(rig, 0, ERR_PROVIDER, "wrong key");
    rig_expect(rig, "0 model.failed, 0 run.failed");
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->outcome, "error");
}

static void a_call_without_a_name_is_answered_with_an_error(void **state)
{
    struct rig *rig = *state;
    struct tool_call calls[] = {{STR("a"), STR(CALL_UNNAMED), STR("{}")}};
    struct model_reply reply = {.calls = calls,
                                .call_count = 1,
                                .finish = STR("tool_calls"),
                                .usage = USAGE_NONE,
                                .first_token_ms = -1};
    rig_start(rig, "do it");
    rig_skip(rig);
    rig_reply(rig, 0, &reply);
    rig_contains(rig_last(rig, 0, EVENT_TOOL_FINISHED)->text, "does not name a tool");
    rig_skip(rig);
    rig_say(rig, 0, "done");
    check_str(rig_last(rig, 0, EVENT_RUN_COMPLETED)->response, "done");
}

/* --- replies that are no use ----------------------------------------------------------------------- */

static void an_empty_reply_is_answered_with_a_nudge(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig_skip(rig);
    rig_say(rig, 0, "");
    rig_expect(rig, REPLIED ", 0 agent.message, 0 model.requested");
    check_str(rig_last(rig, 0, EVENT_AGENT_MESSAGE)->note, "empty");
    rig_say(rig, 0, "");
    rig_skip(rig);
    rig_say(rig, 0, "");
    rig_expect(rig, REPLIED ", 0 run.failed");
}

static void white_space_is_an_empty_reply_and_never_an_answer(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    for (int i = 0; i < 3; i++) {
        rig_skip(rig);
        rig_say(rig, 0, " \n\t");
    }
    rig_expect(rig, REPLIED ", 0 run.failed");
    check_str(rig_last(rig, 0, EVENT_AGENT_MESSAGE)->note, "empty");
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->outcome, "error");
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->error, "empty or white space three times");
}

static void a_cut_reply_is_answered_with_a_nudge_and_its_parts_are_joined(void **state)
{
    struct rig *rig = *state;
    struct model_reply cut = {.text = STR("half of it"),
                              .finish = STR("length"),
                              .completeness = REPLY_CUT,
                              .usage = USAGE_NONE,
                              .first_token_ms = -1};
    rig_start(rig, "do it");
    rig_skip(rig);
    rig_reply(rig, 0, &cut);
    rig_expect(rig, REPLIED ", 0 agent.message, 0 model.requested");
    check_str(rig_last(rig, 0, EVENT_AGENT_MESSAGE)->note, "cut");
    cut.text = STR(", three quarters");
    rig_reply(rig, 0, &cut);
    rig_say(rig, 0, " and the rest");
    check_str(rig_last(rig, 0, EVENT_RUN_COMPLETED)->response,
              "half of it, three quarters and the rest");
}

static void a_call_ends_what_was_being_joined(void **state)
{
    struct rig *rig = *state;
    struct model_reply cut = {.text = STR("half of it"),
                              .finish = STR("length"),
                              .completeness = REPLY_CUT,
                              .usage = USAGE_NONE,
                              .first_token_ms = -1};
    rig_start(rig, "do it");
    rig_reply(rig, 0, &cut);
    CALLS(rig, 0, {"read", "{\"path\":\"a\"}"});
    rig_result(rig, 0, 0, "fine");
    rig_say(rig, 0, "the answer");
    check_str(rig_last(rig, 0, EVENT_RUN_COMPLETED)->response, "the answer");
}

static void an_answer_that_is_cut_again_and_again_is_not_complete(void **state)
{
    struct rig *rig = *state;
    struct model_reply cut = {.text = STR("part "),
                              .finish = STR("length"),
                              .completeness = REPLY_CUT,
                              .usage = USAGE_NONE,
                              .first_token_ms = -1};
    rig_start(rig, "do it");
    for (int i = 0; i < 3; i++)
        rig_reply(rig, 0, &cut);
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->outcome, "error");
    check_str(rig_last(rig, 0, EVENT_RUN_FAILED)->response, "part part part ");
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->error, "it is not complete");
}

static void a_useful_reply_forgives_the_nudges_before_it(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    for (int i = 0; i < 4; i++) {
        rig_say(rig, 0, "");
        rig_say(rig, 0, "");
        char path[32];
        snprintf(path, sizeof path, "{\"path\":\"%d\"}", i);
        CALLS(rig, 0, {"read", path});
        rig_result(rig, 0, 0, "fine");
    }
    assert_int_equal(run_state(rig->run), RUN_RUNNING);
}

static void four_identical_turns_end_with_the_reason(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    for (int i = 0; i < 3; i++) {
        CALLS(rig, 0, READ("a"));
        rig_result(rig, 0, 0, "the same");
    }
    rig_skip(rig);
    CALLS(rig, 0, READ("a"));
    rig_expect(rig, REPLIED ", 0 run.failed");
    rig_expect_effects(rig, "");
    rig_contains(rig_last(rig, 0, EVENT_RUN_FAILED)->error, "four identical turns");
}

static void a_different_turn_starts_the_count_of_identical_ones_anew(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    for (int i = 0; i < 7; i++) {
        if (i == 3)
            CALLS(rig, 0, READ("b"));
        else
            CALLS(rig, 0, READ("a"));
        rig_result(rig, 0, 0, "the same");
    }
    assert_int_equal(run_state(rig->run), RUN_RUNNING);
}

/* --- late and foreign answers ---------------------------------------------------------------------- */

static void an_answer_with_an_old_id_changes_nothing(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    struct str first = rig_effect(rig, 0, EFFECT_MODEL)->call_id;
    CALLS(rig, 0, READ("a"));
    struct str read = rig_call_id(rig, 0, 0);
    read = arena_copy(&rig->arena, read);
    rig_result(rig, 0, 0, "fine");
    rig_skip(rig);
    struct model_reply reply = {.text = STR("late"), .usage = USAGE_NONE, .first_token_ms = -1};
    struct model_failure failure = {.class = ERR_RETRY, .retry_after_ms = -1, .usage = USAGE_NONE};
    struct input inputs[] = {
        {.kind = INPUT_REPLY, .call_id = first, .reply = &reply},
        {.kind = INPUT_FAILURE, .call_id = first, .failure = &failure},
        {.kind = INPUT_RESULT, .call_id = read, .text = STR("late")},
        {.kind = INPUT_LOST, .call_id = read, .text = STR("late")},
        {.kind = INPUT_PREPARED, .call_id = read, .path = STR("a")},
        {.kind = INPUT_FACTS, .call_id = read},
        {.kind = INPUT_RESULT, .agent_no = 99, .call_id = read, .text = STR("nobody")},
    };
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++)
        rig_input(rig, &inputs[i]);
    rig_expect_nothing(rig);
}

static void an_answer_of_the_wrong_kind_changes_nothing(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    CALLS(rig, 0, READ("a"));
    rig_skip(rig);
    rig_prepared(rig, 0, 0, "a");
    rig_facts(rig, 0, 0, "[]");
    rig_expect_nothing(rig);
}

static void the_second_answer_to_a_call_changes_nothing(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    CALLS(rig, 0, READ("a"), READ("b"));
    rig_result(rig, 0, 0, "first");
    rig_skip(rig);
    rig_result(rig, 0, 0, "second");
    rig_expect_nothing(rig);
}

static void a_tick_before_the_deadline_changes_nothing(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig_skip(rig);
    struct input input = {.kind = INPUT_TICK};
    rig_input(rig, &input);
    rig_expect_nothing(rig);
}

static void a_clock_that_is_set_back_does_not_turn_time_back_in_the_log(void **state)
{
    struct rig *rig = *state;
    rig_start(rig, "do it");
    rig->now -= 1000000;
    rig_say(rig, 0, "done");
    assert_int_equal(rig_last(rig, 0, EVENT_RUN_COMPLETED)->ts, RIG_START);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_start_message_asks_the_model),
        RIG_TEST(a_plain_answer_completes_the_run),
        RIG_TEST(a_second_start_message_changes_nothing),
        RIG_TEST(a_start_without_a_task_fails_the_run),
        RIG_TEST(a_start_message_that_is_no_json_fails_the_run),
        RIG_TEST(messages_to_an_ended_run_are_left_alone),
        RIG_TEST(a_read_runs_and_its_result_goes_back_to_the_model),
        RIG_TEST(call_ids_are_our_own_though_the_provider_repeats_its_ids),
        RIG_TEST(two_reads_run_side_by_side),
        RIG_TEST(a_write_says_what_it_will_change_before_it_may),
        RIG_TEST(a_write_that_cannot_be_prepared_ends_with_the_error),
        RIG_TEST(a_read_behind_a_write_waits_for_it),
        RIG_TEST(a_write_behind_reads_waits_for_all_of_them),
        RIG_TEST(with_two_calls_left_two_of_three_run_and_one_is_refused_uncounted),
        RIG_TEST(an_unknown_tool_is_denied_and_counted),
        RIG_TEST(a_denied_tool_is_an_event_and_counted),
        RIG_TEST(arguments_that_are_no_object_are_shown_to_the_model),
        RIG_TEST(long_arguments_are_cut_between_characters),
        RIG_TEST(text_that_is_no_utf8_reads_back_as_it_was_applied),
        RIG_TEST(the_timeline_of_a_hostile_tool_name_is_one_clean_line),
        RIG_TEST(a_call_that_needs_a_yes_runs_after_a_yes),
        RIG_TEST(a_no_is_told_to_the_model_and_nothing_runs),
        RIG_TEST(anything_but_yes_is_a_no),
        RIG_TEST(an_answer_for_another_agent_or_call_changes_nothing),
        RIG_TEST(a_failed_request_is_asked_again_after_a_while),
        RIG_TEST(the_wait_that_the_server_asks_for_is_kept),
        RIG_TEST(a_refusal_by_the_provider_is_not_asked_again),
        RIG_TEST(a_call_without_a_name_is_answered_with_an_error),
        RIG_TEST(an_empty_reply_is_answered_with_a_nudge),
        RIG_TEST(white_space_is_an_empty_reply_and_never_an_answer),
        RIG_TEST(a_cut_reply_is_answered_with_a_nudge_and_its_parts_are_joined),
        RIG_TEST(a_call_ends_what_was_being_joined),
        RIG_TEST(an_answer_that_is_cut_again_and_again_is_not_complete),
        RIG_TEST(a_useful_reply_forgives_the_nudges_before_it),
        RIG_TEST(four_identical_turns_end_with_the_reason),
        RIG_TEST(a_different_turn_starts_the_count_of_identical_ones_anew),
        RIG_TEST(an_answer_with_an_old_id_changes_nothing),
        RIG_TEST(an_answer_of_the_wrong_kind_changes_nothing),
        RIG_TEST(the_second_answer_to_a_call_changes_nothing),
        RIG_TEST(a_tick_before_the_deadline_changes_nothing),
        RIG_TEST(a_clock_that_is_set_back_does_not_turn_time_back_in_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
