/* model/openai as a port, against a server on a loopback port: what it sends, and that every call
 * ends in exactly one done with the right class. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "loopback.h"
#include "model/openai.h"
#include "net/http.h"

enum { LONG = 50000, SHORT = 60 };

#define KEY "sk-very-secret"
#define STREAM                                                                                     \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
#define HELLO "33\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\n\r\n"
#define FINISH "39\r\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\r\n"
#define DONE "e\r\ndata: [DONE]\n\n\r\n"
#define LAST "0\r\n\r\n"
#define PATH(name) "/" name "/chat/completions"

static const struct loopback_route routes[] = {
    {PATH("good"), STR(STREAM HELLO FINISH DONE LAST), LOOPBACK_KEEP},
    {PATH("hangs-after-done"), STR(STREAM HELLO FINISH DONE), LOOPBACK_HOLD},
    {PATH("at-once"),
     STR("HTTP/1.1 200 OK\r\nContent-Length: 173\r\n\r\n"
         "data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\n"
         "data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\n"
         "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
         "data: [DONE]\n\n"),
     LOOPBACK_KEEP},
    {PATH("early"), STR(STREAM HELLO LAST), LOOPBACK_KEEP},
    {PATH("breaks"), STR(STREAM HELLO), LOOPBACK_CLOSE},
    {PATH("breaks-when-finished"), STR(STREAM HELLO FINISH), LOOPBACK_CLOSE},
    {PATH("stalls"), STR(STREAM HELLO), LOOPBACK_HOLD},
    {PATH("drips"), STR(STREAM HELLO), LOOPBACK_DRIP},
    {PATH("error"), STR(STREAM "26\r\ndata: {\"error\":\"bad " KEY "\"}\n\n\r\n"), LOOPBACK_HOLD},
    {PATH("busy"),
     STR("HTTP/1.1 429 Slow\r\nRetry-After: 1.5\r\nContent-Length: 31\r\n\r\n"
         "{\"error\":\"slow " KEY "\"}"),
     LOOPBACK_CLOSE},
    {PATH("denied"),
     STR("HTTP/1.1 401 No\r\nContent-Length: 31\r\n\r\n{\"error\":{\"message\":\"Bad key\"}}"),
     LOOPBACK_CLOSE},
    {PATH("moved"), STR("HTTP/1.1 302 Moved\r\nLocation: /v2\r\nContent-Length: 0\r\n\r\n"),
     LOOPBACK_KEEP},
    {0},
};

struct fixture {
    uv_loop_t loop;
    struct loopback *server;
    struct model_port port;
};

/* A call and what became of it; texts are copies. */
struct asked {
    struct model_port port;
    struct model_call *call;
    bool abort_in_delta, starting;
    int deltas, done;
    bool whole;
    enum err_class class;
    int status;
    int64_t retry_after_ms, first_token_ms;
    char text[8192];
    char message[1500];
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    assert_int_equal(uv_loop_init(&fixture->loop), 0);
    fixture->server = loopback_start(routes);
    fixture->port = openai_open(&fixture->loop);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    fixture->port.ops->free(fixture->port.client);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&fixture->loop), 0);
    loopback_stop(fixture->server);
    free(fixture);
    return 0;
}

static void on_delta(void *user, struct str text)
{
    struct asked *asked = user;
    assert_int_equal(asked->done, 0);
    asked->deltas++;
    if (asked->abort_in_delta)
        asked->port.ops->abort(asked->call);
}

static void on_done(void *user, const struct model_reply *reply,
                    const struct model_failure *failure)
{
    struct asked *asked = user;
    assert_false(asked->starting);
    assert_true((reply == NULL) != (failure == NULL));
    asked->done++;
    asked->whole = reply != NULL;
    struct str text = reply ? reply->text : failure->partial;
    snprintf(asked->text, sizeof asked->text, "%.*s", STR_FMT(text));
    if (reply) {
        asked->first_token_ms = reply->first_token_ms;
        return;
    }
    asked->class = failure->class;
    asked->status = failure->http_status;
    asked->retry_after_ms = failure->retry_after_ms;
    snprintf(asked->message, sizeof asked->message, "%.*s", STR_FMT(failure->message));
}

static int start(struct fixture *fixture, struct asked *asked, const char *base_url, struct str key,
                 struct model_deadlines deadlines, struct err *err)
{
    const struct model_request request = {
        .base_url = str_from(base_url),
        .api_key = key,
        .model = STR("m"),
        .fragments = STR("{\"role\":\"user\",\"content\":\"hi\"}"),
        .max_output_tokens = 16,
        .temperature = NAN,
        .deadlines = deadlines,
    };
    const struct model_callbacks callbacks = {on_delta, on_done, asked};
    asked->port = fixture->port;
    asked->starting = true;
    int result =
        fixture->port.ops->start(fixture->port.client, &request, &callbacks, &asked->call, err);
    asked->starting = false;
    return result;
}

static void ask(struct fixture *fixture, struct asked *asked, const char *name,
                struct model_deadlines deadlines)
{
    char url[200];
    struct err err = ERR_INIT;
    snprintf(url, sizeof url, "http://127.0.0.1:%d/%s", loopback_port(fixture->server), name);
    assert_int_equal(start(fixture, asked, url, STR(KEY), deadlines, &err), 0);
}

static void wait_for(struct fixture *fixture, const struct asked *asked)
{
    while (asked->done == 0 && uv_run(&fixture->loop, UV_RUN_ONCE) != 0)
        continue;
    assert_int_equal(asked->done, 1);
    assert_null(strstr(asked->message, KEY));
}

static const struct model_deadlines all_long = {LONG, LONG, LONG, LONG};

static void check_reply(struct fixture *fixture, const char *name, const char *text)
{
    struct asked asked = {.first_token_ms = -1};
    ask(fixture, &asked, name, all_long);
    wait_for(fixture, &asked);
    if (!asked.whole)
        fail_msg("%s", asked.message);
    assert_string_equal(asked.text, text);
    assert_int_equal(asked.deltas, 1);
    assert_true(asked.first_token_ms >= 0);
}

/* message: how the failure's message ends, behind the URL. */
static void check_failure(struct fixture *fixture, const char *name,
                          struct model_deadlines deadlines, enum err_class class, int status,
                          const char *message)
{
    struct asked asked = {0};
    char url[200];
    ask(fixture, &asked, name, deadlines);
    wait_for(fixture, &asked);
    assert_false(asked.whole);
    assert_string_equal(err_class_text(asked.class), err_class_text(class));
    assert_int_equal(asked.status, status);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/%s/chat/completions",
             loopback_port(fixture->server), name);
    assert_non_null(strstr(asked.message, url));
    if (!strstr(asked.message, message))
        fail_msg("\"%s\" does not say \"%s\"", asked.message, message);
}

static void a_request_is_what_the_api_wants(void **state)
{
    static const char *const wanted[] = {
        "POST /good/chat/completions?version=2 HTTP/1.1\r\n",
        "\r\nContent-Type: application/json\r\n",
        "\r\nAuthorization: Bearer " KEY "\r\n",
        ("\r\n\r\n{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],"
         "\"stream\":true,\"stream_options\":{\"include_usage\":true},\"max_tokens\":16}"),
    };
    struct fixture *fixture = *state;
    struct asked asked = {0};
    char url[200], request[4096];
    struct err err = ERR_INIT;
    snprintf(url, sizeof url, "http://127.0.0.1:%d/good/?version=2",
             loopback_port(fixture->server));
    assert_int_equal(start(fixture, &asked, url, STR(KEY), all_long, &err), 0);
    wait_for(fixture, &asked);
    loopback_last(fixture->server, request, sizeof request);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (!strstr(request, wanted[i]))
            fail_msg("no \"%s\" in \"%s\"", wanted[i], request);
}

static void without_a_key_there_is_no_authorization(void **state)
{
    struct fixture *fixture = *state;
    struct asked asked = {0};
    char url[200], request[4096];
    struct err err = ERR_INIT;
    snprintf(url, sizeof url, "http://127.0.0.1:%d/good", loopback_port(fixture->server));
    assert_int_equal(start(fixture, &asked, url, STR(""), all_long, &err), 0);
    wait_for(fixture, &asked);
    loopback_last(fixture->server, request, sizeof request);
    assert_true(asked.whole);
    assert_null(strcasestr(request, "authorization"));
}

static void a_stream_becomes_a_reply(void **state)
{
    check_reply(*state, "good", "Hello");
}

static void a_base_url_may_end_in_a_slash(void **state)
{
    check_reply(*state, "good/", "Hello");
}

static void a_server_that_hangs_after_done_is_not_waited_for(void **state)
{
    check_reply(*state, "hangs-after-done", "Hello");
}

static void a_connection_that_breaks_after_the_finish_loses_nothing(void **state)
{
    check_reply(*state, "breaks-when-finished", "Hello");
}

static void calls_share_a_connection(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < 4; i++)
        check_reply(fixture, "good", "Hello");
    assert_int_equal(loopback_accepted(fixture->server), 1);
}

static void failures_have_their_class_and_words(void **state)
{
    check_failure(*state, "early", all_long, ERR_RETRY, 200, "the stream ended early");
    check_failure(*state, "breaks", all_long, ERR_RETRY, 200, "in the middle of its answer");
    check_failure(*state, "stalls", (struct model_deadlines){LONG, LONG, SHORT, LONG}, ERR_RETRY,
                  200, "fell silent for 0.06 s");
    check_failure(*state, "drips", (struct model_deadlines){LONG, LONG, LONG, 300}, ERR_TIMEOUT,
                  200, "no complete answer");
    check_failure(*state, "error", all_long, ERR_RETRY, 200, "answered with an error: bad ***");
    check_failure(*state, "denied", all_long, ERR_PROVIDER, 401,
                  "answered HTTP 401: Bad key (check the API key)");
    check_failure(*state, "moved", all_long, ERR_PROVIDER, 302, "redirects to");
}

static void a_failure_keeps_the_partial_text(void **state)
{
    struct fixture *fixture = *state;
    struct asked asked = {0};
    ask(fixture, &asked, "breaks", all_long);
    wait_for(fixture, &asked);
    assert_string_equal(asked.text, "Hello");
}

static void a_busy_server_says_when_to_come_back(void **state)
{
    struct fixture *fixture = *state;
    struct asked asked = {0};
    ask(fixture, &asked, "busy", all_long);
    wait_for(fixture, &asked);
    assert_int_equal(asked.class, ERR_RETRY);
    assert_int_equal(asked.status, 429);
    assert_int_equal(asked.retry_after_ms, 1500);
    assert_non_null(strstr(asked.message, "answered HTTP 429: slow ***"));
}

static void an_abort_gives_cancelled_and_the_partial_text(void **state)
{
    struct fixture *fixture = *state;
    struct asked asked = {0};
    ask(fixture, &asked, "stalls", all_long);
    while (asked.deltas == 0)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    fixture->port.ops->abort(asked.call);
    assert_int_equal(asked.done, 0);
    wait_for(fixture, &asked);
    assert_int_equal(asked.class, ERR_CANCELLED);
    assert_string_equal(asked.text, "Hello");
}

static void an_abort_from_delta_wins_over_a_whole_answer(void **state)
{
    struct fixture *fixture = *state;
    struct asked asked = {.abort_in_delta = true};
    ask(fixture, &asked, "at-once", all_long);
    wait_for(fixture, &asked);
    assert_false(asked.whole);
    assert_int_equal(asked.class, ERR_CANCELLED);
    assert_int_equal(asked.deltas, 1);
}

static void what_cannot_be_sent_is_refused_at_once(void **state)
{
    struct fixture *fixture = *state;
    struct asked asked = {0};
    struct err err = ERR_INIT;
    assert_int_equal(start(fixture, &asked, "http://127.0.0.1:1/v1", STR(KEY "\n"), all_long, &err),
                     -1);
    assert_int_equal(err.class, ERR_CONFIG);
    assert_null(strstr(err.message, KEY));
    assert_int_equal(start(fixture, &asked, "localhost:8080", STR(KEY), all_long, &err), -1);
    assert_int_equal(err.class, ERR_CONFIG);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(asked.done, 0);
}

static int group_setup(void **state)
{
    struct err err = ERR_INIT;
    return http_global_init(&err);
}

static int group_teardown(void **state)
{
    http_global_release();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_request_is_what_the_api_wants, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_key_there_is_no_authorization, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stream_becomes_a_reply, setup, teardown),
        cmocka_unit_test_setup_teardown(a_base_url_may_end_in_a_slash, setup, teardown),
        cmocka_unit_test_setup_teardown(a_server_that_hangs_after_done_is_not_waited_for, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_connection_that_breaks_after_the_finish_loses_nothing,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(calls_share_a_connection, setup, teardown),
        cmocka_unit_test_setup_teardown(failures_have_their_class_and_words, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failure_keeps_the_partial_text, setup, teardown),
        cmocka_unit_test_setup_teardown(a_busy_server_says_when_to_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(an_abort_gives_cancelled_and_the_partial_text, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_abort_from_delta_wins_over_a_whole_answer, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_sent_is_refused_at_once, setup, teardown),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
