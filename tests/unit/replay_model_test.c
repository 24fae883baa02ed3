/* Replaying: which recorded answer a request gets, when and how it comes, what is refused in a recording, and the config of
 * replaying providers. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "config_room.h"
#include "studio.h"

static void check_answer(struct studio *studio, const struct asked *asked, const char *text)
{
    studio_settle(studio);
    assert_int_equal(asked->done, 1);
    if (!asked->replied)
        fail_msg("%s", asked->text);
    assert_string_equal(asked->text, text);
}

static void check_failed(struct studio *studio, const struct asked *asked, const char *text)
{
    studio_settle(studio);
    assert_int_equal(asked->done, 1);
    assert_false(asked->replied);
    assert_int_equal(asked->class, ERR_PROVIDER);
    assert_int_equal(asked->sent, REQUEST_UNSENT);
    if (strstr(asked->text, text) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", asked->text, text);
}

/* --- replaying ------------------------------------------------------------------------------------------- */

static void keep_reply(void *user, const struct model_reply *reply,
                       const struct model_failure *failure)
{
    assert_non_null(reply);
    studio_check_reply(reply, "the answer");
    *(int *)user += 1;
}

static void a_recorded_reply_comes_back_whole(void **state)
{
    struct studio *studio = *state;
    struct talk talk;
    struct model_call *call;
    struct err err = ERR_INIT;
    int replies = 0;
    const struct model_callbacks callbacks = {.done = keep_reply, .user = &replies};
    studio_record(studio);
    studio_record_one(studio, "task", 3, 2, "the answer");
    studio_close(studio);
    studio_replay(studio);
    talk_init(&talk, "task");
    talk.request.base_url = str_from(studio->url);
    assert_int_equal(
        studio->port.ops->start(studio->port.client, &talk.request, &callbacks, &call, &err), 0);
    studio_settle(studio);
    assert_int_equal(replies, 1);
    assert_int_equal(studio->warnings, 0);
}

static void equal_requests_get_their_own_agents_answer_then_the_order_of_the_file(void **state)
{
    struct studio *studio = *state;
    studio_record(studio);
    studio_record_one(studio, "task", 1, 1, "first of 1");
    studio_record_one(studio, "task", 2, 1, "first of 2");
    studio_record_one(studio, "task", 1, 1, "second of 1");
    studio_close(studio);
    studio_replay(studio);
    check_answer(studio, studio_replay_one(studio, "task", 2, 1), "first of 2");
    check_answer(studio, studio_replay_one(studio, "task", 7, 9), "first of 1");
    check_answer(studio, studio_replay_one(studio, "task", 1, 1), "second of 1");
    assert_int_equal(studio->warnings, 0);
}

/* Whatever order they are asked for in: an answer behind one that was not given yet is given once as well. */
static void no_answer_is_given_twice(void **state)
{
    struct studio *studio = *state;
    studio_record(studio);
    studio_record_one(studio, "first", 1, 1, "one");
    studio_record_one(studio, "second", 1, 2, "two");
    studio_record_one(studio, "second", 1, 2, "two, tried again");
    studio_record_one(studio, "third", 1, 3, "three");
    studio_close(studio);
    studio_replay(studio);
    check_answer(studio, studio_replay_one(studio, "second", 1, 2), "two");
    check_answer(studio, studio_replay_one(studio, "second", 1, 2), "two, tried again");
    check_failed(studio, studio_replay_one(studio, "second", 1, 2), "were given already");
    check_answer(studio, studio_replay_one(studio, "third", 1, 3), "three");
    check_failed(studio, studio_replay_one(studio, "changed", 1, 3), "were given already");
    check_answer(studio, studio_replay_one(studio, "first", 1, 1), "one");
    check_failed(studio, studio_replay_one(studio, "first", 1, 1), "were given already");
}

static void each_run_goes_through_the_recording_from_its_start(void **state)
{
    struct studio *studio = *state;
    struct talk talk;
    studio_record(studio);
    studio_record_one(studio, "task", 3, 2, "only");
    studio_close(studio);
    studio_replay(studio);
    check_answer(studio, studio_replay_one(studio, "task", 3, 2), "only");
    talk_init(&talk, "task");
    talk.request.base_url = str_from(studio->url);
    talk.request.owner = STR("run-2");
    check_answer(studio, studio_ask(studio, &talk.request), "only");
}

static void a_request_that_differs_gets_its_turns_answer_and_one_warning_an_agent(void **state)
{
    struct studio *studio = *state;
    studio_record(studio);
    studio_record_one(studio, "task", 0, 1, "root one");
    studio_record_one(studio, "task", 2, 3, "child three");
    studio_record_one(studio, "more", 2, 4, "child four");
    studio_close(studio);
    studio_replay(studio);
    check_answer(studio, studio_replay_one(studio, "changed", 2, 3), "child three");
    assert_string_equal(studio->warning,
                        "request 3 of agent 2 differs from the recording: message 2 "
                        "(a user message); the recorded answer is used");
    check_answer(studio, studio_replay_one(studio, "changed", 2, 4), "child four");
    assert_int_equal(studio->warnings, 1);
    check_answer(studio, studio_replay_one(studio, "changed", 0, 1), "root one");
    assert_int_equal(studio->warnings, 2);
    assert_non_null(strstr(studio->warning, "request 1 of the root agent differs"));
}

static void a_strict_recording_fails_what_differs_and_keeps_the_answer(void **state)
{
    struct studio *studio = *state;
    studio_record(studio);
    studio_record_one(studio, "task", 2, 3, "child three");
    studio_close(studio);
    studio_replay(studio);
    snprintf(studio->url, sizeof studio->url, "file+strict:%s", studio->path);
    check_failed(studio, studio_replay_one(studio, "changed", 2, 3),
                 "request 3 of agent 2 differs from the recording: message 2 (a user message)");
    check_answer(studio, studio_replay_one(studio, "task", 2, 3), "child three");
    assert_int_equal(studio->warnings, 0);
}

static void a_request_without_an_answer_says_where_the_recording_ends(void **state)
{
    struct studio *studio = *state;
    studio_record(studio);
    studio_record_one(studio, "task", 2, 3, "child three");
    studio_close(studio);
    studio_replay(studio);
    check_failed(studio, studio_replay_one(studio, "changed", 2, 4),
                 "it ends with request 3 of this agent");
    check_failed(studio, studio_replay_one(studio, "changed", 5, 1), "this agent is not in it");
    check_answer(studio, studio_replay_one(studio, "task", 2, 3), "child three");
    check_failed(studio, studio_replay_one(studio, "task", 2, 3), "were given already");
}

static void record_failure(struct studio *studio, enum err_class class)
{
    struct talk talk;
    struct model_failure failure = studio_failure(class);
    talk_init(&talk, "task");
    studio_ask(studio, &talk.request);
    studio_answer(studio, NULL, &failure);
}

static void a_failure_is_replayed_and_tried_again_without_waiting(void **state)
{
    struct studio *studio = *state;
    studio_record(studio);
    record_failure(studio, ERR_RETRY);
    studio_record_one(studio, "task", 3, 2, "at last");
    studio_close(studio);
    studio_replay(studio);
    struct asked *first = studio_replay_one(studio, "task", 3, 2);
    studio_settle(studio);
    assert_int_equal(first->class, ERR_RETRY);
    assert_int_equal(first->retry_after_ms, 0);
    assert_int_equal(first->sent, REQUEST_SENT);
    assert_string_equal(first->text, "busy");
    check_answer(studio, studio_replay_one(studio, "task", 3, 2), "at last");
}

static void at_recorded_speed_a_failure_keeps_what_the_server_asked_for(void **state)
{
    struct studio *studio = *state;
    studio_record(studio);
    record_failure(studio, ERR_RETRY);
    studio_close(studio);
    studio_replay(studio);
    snprintf(studio->url, sizeof studio->url, "file+recorded:%s", studio->path);
    struct asked *first = studio_replay_one(studio, "task", 3, 2);
    studio_settle(studio);
    assert_int_equal(first->retry_after_ms, 60000);
}

static void a_request_that_was_stopped_in_the_recording_fails_for_good(void **state)
{
    struct studio *studio = *state;
    studio_record(studio);
    record_failure(studio, ERR_CANCELLED);
    studio_close(studio);
    studio_replay(studio);
    struct asked *asked = studio_replay_one(studio, "task", 3, 2);
    studio_settle(studio);
    assert_int_equal(asked->class, ERR_PROVIDER);
    assert_non_null(strstr(asked->text, "stopped before it was answered"));
}

/* The only line says that its answer took this long. */
static void set_time(struct studio *studio, const char *ms)
{
    char *text = studio_read(studio->path), *changed = calloc(1, 65536);
    char *at = strstr(text, "\"ms\":");
    assert_non_null(changed);
    assert_non_null(at);
    snprintf(changed, 65536, "%.*s\"ms\":%s%s", (int)(at - text), text, ms, strchr(at, ','));
    studio_write(studio->path, changed);
    free(text);
    free(changed);
}

static void at_recorded_speed_the_text_streams_in_pieces_that_are_whole_characters(void **state)
{
    static const char text[] = "ääääääääääääääääääääääääääääääääääääääääääääääääääääääääää";
    struct studio *studio = *state;
    studio_record(studio);
    studio_record_one(studio, "task", 3, 2, text);
    studio_close(studio);
    set_time(studio, "60");
    studio_replay(studio);
    snprintf(studio->url, sizeof studio->url, "file+strict+recorded:%s", studio->path);
    struct asked *asked = studio_replay_one(studio, "task", 3, 2);
    check_answer(studio, asked, text);
    assert_string_equal(asked->streamed, text);
}

static void an_aborted_call_ends_once_and_later(void **state)
{
    struct studio *studio = *state;
    studio_record(studio);
    studio_record_one(studio, "task", 3, 2, "never seen");
    studio_close(studio);
    set_time(studio, "3600000");
    studio_replay(studio);
    snprintf(studio->url, sizeof studio->url, "file+recorded:%s", studio->path);
    struct asked *asked = studio_replay_one(studio, "task", 3, 2);
    asked->busy = true;
    studio->port.ops->abort(asked->call);
    studio->port.ops->abort(asked->call);
    asked->busy = false;
    studio_settle(studio);
    assert_int_equal(asked->done, 1);
    assert_int_equal(asked->class, ERR_CANCELLED);
}

static void calls_end_when_the_port_is_freed_while_they_wait_or_load(void **state)
{
    struct studio *studio = *state;
    studio_record(studio);
    studio_record_one(studio, "task", 3, 2, "never seen");
    studio_close(studio);
    set_time(studio, "3600000");
    snprintf(studio->url, sizeof studio->url, "file+recorded:%s", studio->path);
    studio_replay(studio);
    struct asked *loading = studio_replay_one(studio, "task", 3, 2);
    studio_close(studio);
    assert_int_equal(loading->done, 1);
    assert_int_equal(loading->class, ERR_CANCELLED);
    studio_replay(studio);
    struct asked *waiting = studio_replay_one(studio, "task", 3, 2); /* its file is read already */
    studio_close(studio);
    assert_int_equal(waiting->done, 1);
    assert_int_equal(waiting->class, ERR_CANCELLED);
}

static void a_recording_that_is_not_there_fails_the_request(void **state)
{
    struct studio *studio = *state;
    studio_replay(studio);
    struct asked *asked = studio_replay_one(studio, "task", 3, 2);
    check_failed(studio, asked, "cannot be opened");
}

static void addresses_name_an_absolute_path_and_known_options(void **state)
{
    static const char *const wrong[] = {"",
                                        "file:",
                                        "file:talk.jsonl",
                                        "http://localhost",
                                        "file+fast:/talk",
                                        "file+recorded+strict:/talk"};
    struct replay_address address;
    struct err err = ERR_INIT;
    assert_int_equal(replay_address_parse(STR("file+strict+recorded:/a:b"), &address, &err), 0);
    check_str(address.path, "/a:b");
    assert_int_equal(address.matching, REPLAY_STRICT);
    assert_int_equal(address.speed, REPLAY_RECORDED);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(replay_address_parse(str_from(wrong[i]), &address, &err), -1);
}

/* --- hostile files ----------------------------------------------------------------------------------------- */

static void check_refused(struct studio *studio, const char *text)
{
    const struct replay_file *file;
    struct err err = ERR_INIT;
    char where[160];
    snprintf(where, sizeof where, "%s:2: ", studio->path);
    assert_int_equal(replay_shelf_get(&studio->shelf, str_from(studio->path), &file, &err), -1);
    assert_int_equal(err.class, ERR_CONFIG);
    if (strncmp(err.message, where, strlen(where)) != 0 || strstr(err.message, text) == NULL)
        fail_msg("\"%s\" does not start \"%s\" or say \"%s\"", err.message, where, text);
}

static void a_wrong_line_is_named_by_file_and_number(void **state)
{
    static const struct {
        const char *from, *to, *complaint;
    } rows[] = {
        {"{\"v\"", "\"v\"", "line 1"},
        {"{\"v\":1", "{\"v\":2", "another version"},
        {"\"key\":\"", "\"key\":\"x", "key"},
        {"\"agent\":3", "\"agent\":-1", "agent"},
        {"\"agent\":3", "\"agent\":4294967296", "agent"},
        {"\"turn\":2", "\"turn\":\"2\"", "turn"},
        {"\"workspace\":", "\"place\":", "workspace"},
        {"\"model\":\"m\"", "\"model\":null", "model"},
        {"\"tools\":\"", "\"tools\":\"z", "tools"},
        {"\"messages\":4", "\"messages\":3", "prints"},
        {"\"prints\":[\"s", "\"prints\":[\"x", "prints"},
        {"\"ms\":", "\"ms\":1e3,\"was\":", "ms"},
        {"\"reply\":{", "\"answer\":{", "either"},
        {"\"reply\":{", "\"failure\":{},\"reply\":{", "either"},
        {"\"text\":\"", "\"text\":1,\"was\":\"", "reply.text"},
        {"\"calls\":[", "\"calls\":[1,", "reply.calls"},
        {"\"name\":\"write\"", "\"name\":\"\"", "reply.calls.name"},
        {"\"cut\":true", "\"cut\":1", "reply.cut"},
        {"\"input\":10", "\"input\":-1", "usage.input"},
        {"\"input\":10", "\"input\":9000000000000", "usage.input"},
        {"\"extras\":\"", "\"extras\":{},\"was\":\"", "reply.extras"},
        {"\"first_token_ms\":7", "\"first_token_ms\":99999999999", "first_token_ms"},
    };
    struct studio *studio = *state;
    studio_record(studio);
    studio_record_one(studio, "task", 3, 2, "fine");
    studio_close(studio);
    char *good = studio_read(studio->path), *bad = calloc(1, 131072);
    assert_non_null(bad);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *at = strstr(good, rows[i].from);
        if (at == NULL)
            fail_msg("no %s in %s", rows[i].from, good);
        snprintf(bad, 131072, "%s%.*s%s%s", good, (int)(at - good), good, rows[i].to,
                 at + strlen(rows[i].from));
        studio_write(studio->path, bad);
        check_refused(studio, rows[i].complaint);
    }
    snprintf(bad, 131072, "%s%.*s", good, 40, good);
    studio_write(studio->path, bad);
    check_refused(studio, "cut off");
    snprintf(bad, 131072, "%s\n%s", good, good);
    studio_write(studio->path, bad);
    check_refused(studio, "");
    free(good);
    free(bad);
}

static void an_empty_file_a_folder_and_a_pipe_are_no_recordings(void **state)
{
    struct studio *studio = *state;
    const struct replay_file *file;
    struct err err = ERR_INIT;
    studio_write(studio->path, "");
    assert_int_equal(replay_shelf_get(&studio->shelf, str_from(studio->path), &file, &err), -1);
    assert_non_null(strstr(err.message, "is empty"));
    assert_int_equal(replay_shelf_get(&studio->shelf, str_from(studio->folder), &file, &err), -1);
    assert_non_null(strstr(err.message, "not a regular file"));
    assert_int_equal(unlink(studio->path), 0);
    assert_int_equal(mkfifo(studio->path, 0600), 0);
    assert_int_equal(replay_shelf_get(&studio->shelf, str_from(studio->path), &file, &err), -1);
    assert_non_null(strstr(err.message, "not a regular file"));
}

/* --- config ---------------------------------------------------------------------------------------------- */

static void a_replaying_provider_starts_at_its_config_files_directory(void **state)
{
    struct room *room = *state;
    char expected[PATH_BYTES * 2];
    room_write(room, USER_FILE,
               "llm:\n"
               "  providers:\n"
               "    tape: {api: replay, file: tapes/talk.jsonl, strict: true, speed: recorded}\n"
               "    home: {api: replay, file: ~/talk.jsonl, strict: false, speed: instant}\n"
               "  models:\n"
               "    a: {provider: tape, model: m, price_in: 1, price_out: 2}\n"
               "    b: {provider: home}\n"
               "  pools: {default: [{model: a}]}\n");
    load_ok(room);
    const struct model_settings *a = settings_model(&room->config.settings, STR("a"));
    const struct model_settings *b = settings_model(&room->config.settings, STR("b"));
    check_str(a->api, "replay");
    snprintf(expected, sizeof expected, "file+strict+recorded:%s/.config/cadre/tapes/talk.jsonl",
             room->root);
    check_str(a->base_url, expected);
    assert_int_equal(a->api_key_env.n, 0);
    assert_int_equal(a->price_in_nano, 1000);
    snprintf(expected, sizeof expected, "file:%s/talk.jsonl", room->root);
    check_str(b->base_url, expected);
}

static void a_recording_takes_the_place_of_every_server(void **state)
{
    struct room *room = *state;
    room_set(room, "OPENAI_API_KEY", "k");
    room_write(room, USER_FILE,
               "llm: {providers: {p: {base_url: http://localhost:1/v1}}, models: {a: {provider: p, "
               "price_in: 1, price_out: 1}}}\n");
    load_ok(room);
    struct err err = ERR_INIT;
    assert_int_equal(config_replay(&room->config, STR("/talk"), STR("other"), &err), 0);
    assert_int_equal(room->config.settings.model_count, 1);
    check_str(room->config.settings.models[0].name, "a");
    check_str(room->config.settings.models[0].base_url, "file:/talk");
    check_str(room->config.settings.models[0].api, "replay");
    assert_int_equal(room->config.settings.models[0].price_in_nano, 1000);
}

static void without_any_model_the_recording_names_one(void **state)
{
    struct room *room = *state;
    load_ok(room);
    struct err err = ERR_INIT;
    assert_int_equal(config_replay(&room->config, STR("/talk"), STR("m"), &err), 0);
    check_str(room->config.settings.default_model, "m");
    check_str(room->config.settings.models[0].model, "m");
    check_str(room->config.settings.models[0].base_url, "file:/talk");
    check_str(room->config.model_source, "the recording /talk");
    assert_int_equal(room->config.settings.root.cost_nano, UNLIMITED);
}

#define in_studio(test) cmocka_unit_test_setup_teardown(test, studio_setup, studio_teardown)
#define in_room(test) cmocka_unit_test_setup_teardown(test, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_studio(a_recorded_reply_comes_back_whole),
        in_studio(equal_requests_get_their_own_agents_answer_then_the_order_of_the_file),
        in_studio(no_answer_is_given_twice),
        in_studio(each_run_goes_through_the_recording_from_its_start),
        in_studio(a_request_that_differs_gets_its_turns_answer_and_one_warning_an_agent),
        in_studio(a_strict_recording_fails_what_differs_and_keeps_the_answer),
        in_studio(a_request_without_an_answer_says_where_the_recording_ends),
        in_studio(a_failure_is_replayed_and_tried_again_without_waiting),
        in_studio(at_recorded_speed_a_failure_keeps_what_the_server_asked_for),
        in_studio(a_request_that_was_stopped_in_the_recording_fails_for_good),
        in_studio(at_recorded_speed_the_text_streams_in_pieces_that_are_whole_characters),
        in_studio(an_aborted_call_ends_once_and_later),
        in_studio(calls_end_when_the_port_is_freed_while_they_wait_or_load),
        in_studio(a_recording_that_is_not_there_fails_the_request),
        cmocka_unit_test(addresses_name_an_absolute_path_and_known_options),
        in_studio(a_wrong_line_is_named_by_file_and_number),
        in_studio(an_empty_file_a_folder_and_a_pipe_are_no_recordings),
        in_room(a_replaying_provider_starts_at_its_config_files_directory),
        in_room(a_recording_takes_the_place_of_every_server),
        in_room(without_any_model_the_recording_names_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
