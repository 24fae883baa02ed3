/* model/openai as a port, against a server on a loopback port: what it sends, and that every call
 * ends in exactly one done with the right class. */
#include "model/openai.h"
#include "model_port.h"

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

static const struct port_test port_test = {
    .open = openai_open,
    .routes = routes,
    .fragments = STR("{\"role\":\"user\",\"content\":\"hi\"}"),
    .path = "/chat/completions",
};

static void a_request_is_what_the_api_wants(void **state)
{
    static const char *const wanted[] = {
        "POST /good/chat/completions?version=2 HTTP/1.1\r\n",
        "\r\nContent-Type: application/json\r\n",
        "\r\nAuthorization: Bearer " KEY "\r\n",
        ("\r\n\r\n{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],"
         "\"stream\":true,\"stream_options\":{\"include_usage\":true},\"max_tokens\":16}"),
        NULL,
    };
    char request[4096];
    check_sent(*state, "good/?version=2", STR(KEY), request, sizeof request);
    check_parts(request, wanted);
}

static void without_a_key_there_is_no_authorization(void **state)
{
    char request[4096];
    check_sent(*state, "good", STR(""), request, sizeof request);
    assert_null(strcasestr(request, "authorization"));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        PORT_TEST(a_request_is_what_the_api_wants),
        PORT_TEST(without_a_key_there_is_no_authorization),
        PORT_TEST(a_stream_becomes_a_reply),
        PORT_TEST(a_base_url_may_end_in_a_slash),
        PORT_TEST(a_server_that_hangs_after_done_is_not_waited_for),
        PORT_TEST(a_connection_that_breaks_after_the_finish_loses_nothing),
        PORT_TEST(calls_share_a_connection),
        PORT_TEST(failures_have_their_class_and_words),
        PORT_TEST(a_failure_keeps_the_partial_text),
        PORT_TEST(a_busy_server_says_when_to_come_back),
        PORT_TEST(an_abort_gives_cancelled_and_the_partial_text),
        PORT_TEST(an_abort_from_delta_wins_over_a_whole_answer),
        PORT_TEST(what_cannot_be_sent_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
