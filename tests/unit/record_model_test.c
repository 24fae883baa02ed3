/* Recording: what makes two requests the same, the lines of a recording, and the recording port in front of another. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "studio.h"

/* --- requests ------------------------------------------------------------------------------------------ */

static struct record_key key_of(const struct talk *talk)
{
    struct record_key key;
    record_key(&talk->request, STR_NONE, &key);
    return key;
}

static bool same(const struct talk *a, const struct talk *b)
{
    struct record_key first = key_of(a), second = key_of(b);
    return hash_eq(&first.hash, &second.hash);
}

static void ids_paths_and_durations_make_no_difference(void **state)
{
    struct talk a, b;
    talk_init(&a, "look into /ws/src");
    talk_init(&b, "look into /else/where/src");
    b.call.id = b.messages[3].call_id = STR("c9_0");
    b.call.arguments = STR("{\"path\":\"/else/where/src\"}");
    b.conversation.workspace = STR("/else/where");
    b.messages[0].text = STR("Workspace: /else/where\nYou have 7 seconds. Use 2 tools.");
    b.messages[3].text = STR("(ended after 2 tool calls, 350ms)");
    b.request.api_key = b.request.fragments = b.request.base_url = STR("other");
    assert_true(same(&a, &b));
}

static void the_recorded_workspace_counts_as_the_own_one(void **state)
{
    struct talk a, b;
    struct record_key recorded, asked;
    talk_init(&a, "look into /ws/src");
    talk_init(&b, "look into /ws/src"); /* what the model wrote stays as it was recorded */
    b.messages[0].text = STR("Workspace: /copy\nYou have 60 seconds. Use 2 tools.");
    b.conversation.workspace = STR("/copy");
    assert_false(same(&a, &b));
    record_key(&a.request, STR_NONE, &recorded);
    record_key(&b.request, STR("/ws"), &asked);
    assert_true(hash_eq(&recorded.hash, &asked.hash));
}

static void content_makes_a_difference_and_is_named(void **state)
{
    static const struct {
        const char *what;
        int message;
        const char *text;
    } rows[] = {
        {"message 1 (the system prompt)", 0, "Workspace: /ws\nYou have 60 seconds. Use 3 tools."},
        {"message 1 (the system prompt)", 0, "Workspace: /wsx\nYou have 60 seconds. Use 2 tools."},
        {"message 2 (a user message)", 1, "a task of 61s"},
        {"message 3 (an answer of the model)", 2, "said"},
        {"message 4 (a tool result)", 3, "(ended after 3 tool calls, 1.2s)"},
        {"message 4 (a tool result)", 3, "(ended after 2 tool calls, 1.2st)"},
    };
    struct talk a, b;
    talk_init(&a, "a task of 60s");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf text;
        buf_init(&text, 256);
        talk_init(&b, "a task of 60s");
        b.messages[rows[i].message].text = str_from(rows[i].text);
        assert_false(same(&a, &b));
        struct record_key recorded = key_of(&a), asked = key_of(&b);
        record_difference(&asked, &recorded, &text);
        check_str(buf_view(&text), rows[i].what);
        buf_release(&text);
    }
}

static void check_difference(const struct talk *asked_talk, const struct talk *recorded_talk,
                             const char *expected)
{
    struct record_key asked = key_of(asked_talk), recorded = key_of(recorded_talk);
    struct buf text;
    buf_init(&text, 256);
    assert_false(hash_eq(&asked.hash, &recorded.hash));
    record_difference(&asked, &recorded, &text);
    check_str(buf_view(&text), expected);
    buf_release(&text);
}

static void model_tools_length_and_outcome_make_a_difference(void **state)
{
    struct talk a, b;
    talk_init(&a, "task");
    talk_init(&b, "task");
    b.request.model = STR("n");
    check_difference(&b, &a, "the model is n, the recorded one m");
    talk_init(&b, "task");
    b.request.tool_count = 0;
    check_difference(&b, &a, "the tools that are offered");
    talk_init(&b, "task");
    b.tool.description = STR("lists files");
    check_difference(&b, &a, "the tools that are offered");
    talk_init(&b, "task");
    b.conversation.message_count = 2;
    check_difference(&b, &a, "it has 2 messages, the recorded one 4");
    talk_init(&b, "task");
    b.messages[3].outcome = TOOL_ERROR;
    check_difference(&b, &a, "message 4 (a tool result)");
    talk_init(&b, "task");
    b.call.arguments = STR("{\"path\":\".\"}");
    check_difference(&b, &a, "message 3 (an answer of the model)");
}

static void a_long_conversation_is_compared_by_its_end_and_hashed_whole(void **state)
{
    enum { LONG = 500 };
    struct message *messages = calloc(LONG, sizeof *messages);
    struct talk a, b;
    assert_non_null(messages);
    for (size_t i = 0; i < LONG; i++)
        messages[i] = (struct message){.role = MESSAGE_USER, .text = STR("again")};
    talk_init(&a, "task");
    talk_init(&b, "task");
    a.conversation.messages = b.conversation.messages = messages;
    a.conversation.message_count = b.conversation.message_count = LONG;
    struct record_key recorded = key_of(&a);
    messages[0].text = STR("first");
    struct record_key early = key_of(&b);
    messages[0].text = STR("again");
    messages[LONG - 3].text = STR("late");
    struct record_key late = key_of(&b);
    struct buf text;
    buf_init(&text, 256);
    assert_false(hash_eq(&early.hash, &recorded.hash));
    record_difference(&early, &recorded, &text);
    check_str(buf_view(&text), "an earlier message");
    buf_clear(&text);
    record_difference(&late, &recorded, &text);
    check_str(buf_view(&text), "message 498 (a user message)");
    buf_release(&text);
    free(messages);
}

/* --- lines ---------------------------------------------------------------------------------------------- */

static void a_line_that_was_printed_is_read_as_it_was(void **state)
{
    struct talk talk;
    struct record_line line = {.agent_no = 3, .turn = 2, .ms = 12, .workspace = STR("/ws")}, again;
    struct model_reply reply = studio_reply("two\nlines \"quoted\""), reply_again;
    struct model_failure failure = studio_failure(ERR_TIMEOUT), failure_again;
    struct err err = ERR_INIT;
    struct arena arena;
    struct buf text;
    arena_init(&arena);
    buf_init(&text, RECORD_LINE_MAX);
    talk_init(&talk, "task");
    line.key = key_of(&talk);

    record_line_print(&line, &reply, NULL, &text);
    assert_int_equal(text.p[text.n - 1], '\n');
    assert_null(memchr(text.p, '\n', text.n - 1));
    assert_int_equal(record_line_parse(buf_view(&text), &arena, &again, &err), 0);
    assert_true(hash_eq(&again.key.hash, &line.key.hash));
    assert_int_equal(again.agent_no, 3);
    assert_int_equal(again.turn, 2);
    assert_int_equal(again.ms, 12);
    assert_int_equal(again.kind, RECORD_REPLY);
    assert_int_equal(again.key.print_count, 4);
    assert_memory_equal(again.key.prints, line.key.prints, 4 * sizeof line.key.prints[0]);
    check_str(again.workspace, "/ws");
    assert_int_equal(
        record_answer_parse(buf_view(&text), &arena, &reply_again, &failure_again, &err), 0);
    studio_check_reply(&reply_again, "two\nlines \"quoted\"");

    buf_clear(&text);
    record_line_print(&line, NULL, &failure, &text);
    assert_int_equal(record_line_parse(buf_view(&text), &arena, &again, &err), 0);
    assert_int_equal(again.kind, RECORD_FAILURE);
    assert_int_equal(
        record_answer_parse(buf_view(&text), &arena, &reply_again, &failure_again, &err), 0);
    assert_int_equal(failure_again.class, ERR_TIMEOUT);
    assert_int_equal(failure_again.http_status, 503);
    assert_int_equal(failure_again.retry_after_ms, 60000);
    check_str(failure_again.message, "busy");
    check_str(failure_again.partial, "half a");
    assert_int_equal(failure_again.usage.input, 5);
    assert_int_equal(failure_again.usage.output, -1);
    assert_int_equal(failure_again.sent, REQUEST_SENT);
    buf_release(&text);
    arena_release(&arena);
}

/* --- recording ------------------------------------------------------------------------------------------- */

static void no_warning(void *user, struct str text)
{
    fail_msg("%.*s", STR_FMT(text));
}

static void a_recording_is_a_new_file_for_its_owner_alone(void **state)
{
    struct studio *studio = *state;
    const struct record_warning warning = {no_warning, NULL};
    struct record *second = NULL;
    struct err err = ERR_INIT;
    struct stat status;
    studio_record(studio);
    studio_record_one(studio, "task", 0, 1, "yes");
    assert_int_equal(record_new(studio->path, &warning, &second, &err), -1);
    assert_int_equal(err.class, ERR_USAGE);
    assert_non_null(strstr(err.message, "exists already"));
    studio_close(studio);
    assert_int_equal(stat(studio->path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_true(status.st_size > 0);
}

static void a_link_in_the_place_of_a_recording_is_refused(void **state)
{
    struct studio *studio = *state;
    const struct record_warning warning = {no_warning, NULL};
    struct record *record = NULL;
    struct err err = ERR_INIT;
    assert_int_equal(symlink("elsewhere", studio->path), 0);
    assert_int_equal(record_new(studio->path, &warning, &record, &err), -1);
}

static void a_recording_of_nothing_leaves_no_file(void **state)
{
    struct studio *studio = *state;
    struct talk talk;
    struct model_call *call;
    struct err err = ERR_INIT;
    const struct model_callbacks callbacks = {.done = NULL};
    studio_record(studio);
    talk_init(&talk, "task");
    talk.request.model = STR("refused");
    assert_int_equal(
        studio->port.ops->start(studio->port.client, &talk.request, &callbacks, &call, &err), -1);
    studio_close(studio);
    assert_int_equal(access(studio->path, F_OK), -1);
}

static void the_key_is_not_in_the_file_even_if_the_server_repeats_it(void **state)
{
    struct studio *studio = *state;
    struct model_failure failure = studio_failure(ERR_PROVIDER);
    struct talk talk;
    studio_record(studio);
    studio_record_one(studio, "task", 0, 1, "your key is " KEY ", twice " KEY);
    talk_init(&talk, "task");
    failure.message = STR("wrong key " KEY);
    studio_ask(studio, &talk.request);
    studio_answer(studio, NULL, &failure);
    studio_close(studio);
    char *text = studio_read(studio->path);
    assert_null(strstr(text, "canary"));
    assert_non_null(strstr(text, "your key is **"));
    free(text);
}

static void a_write_error_stops_the_recording_and_nothing_else(void **state)
{
    struct studio *studio = *state;
    struct rlimit before, limit;
    char *text;
    studio_record(studio);
    studio_record_one(studio, "task", 0, 1, "one");
    studio_close(studio);
    text = studio_read(studio->path);
    size_t line = strlen(text);
    free(text);
    assert_int_equal(unlink(studio->path), 0);

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    limit = before;
    limit.rlim_cur = line + line / 2; /* room for a line and a half */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    studio_record(studio);
    for (int i = 0; i < 5; i++)
        studio_record_one(studio, "task", 0, 1, "one");
    studio_close(studio);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    for (size_t i = 0; i < studio->count; i++)
        assert_true(studio->asked[i].done == 1 && studio->asked[i].replied);
    assert_int_equal(studio->warnings, 1);
    assert_non_null(strstr(studio->warning, "has stopped"));
    text = studio_read(studio->path);
    char *end = strchr(text, '\n'); /* no half line is left */
    assert_true(end != NULL && end[1] == '\0');
    free(text);
}

static void what_is_in_flight_when_the_port_is_freed_still_ends(void **state)
{
    struct studio *studio = *state;
    struct model_failure failure = studio_failure(ERR_CANCELLED);
    struct talk talk;
    studio_record(studio);
    talk_init(&talk, "task");
    struct asked *asked = studio_ask(studio, &talk.request);
    studio->port.ops->abort(asked->call);
    assert_true(studio_aborted(studio));
    studio->port.ops->free(studio->port.client);
    studio->port = (struct model_port){NULL, NULL};
    assert_int_equal(studio_freed(studio), 1);
    studio_answer(studio, NULL, &failure);
    assert_int_equal(asked->done, 1);
    assert_int_equal(asked->class, ERR_CANCELLED);
}

#define in_studio(test) cmocka_unit_test_setup_teardown(test, studio_setup, studio_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_paths_and_durations_make_no_difference),
        cmocka_unit_test(the_recorded_workspace_counts_as_the_own_one),
        cmocka_unit_test(content_makes_a_difference_and_is_named),
        cmocka_unit_test(model_tools_length_and_outcome_make_a_difference),
        cmocka_unit_test(a_long_conversation_is_compared_by_its_end_and_hashed_whole),
        cmocka_unit_test(a_line_that_was_printed_is_read_as_it_was),
        in_studio(a_recording_is_a_new_file_for_its_owner_alone),
        in_studio(a_link_in_the_place_of_a_recording_is_refused),
        in_studio(a_recording_of_nothing_leaves_no_file),
        in_studio(the_key_is_not_in_the_file_even_if_the_server_repeats_it),
        in_studio(a_write_error_stops_the_recording_and_nothing_else),
        in_studio(what_is_in_flight_when_the_port_is_freed_still_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
