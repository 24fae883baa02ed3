/* model/anthropic as a port, against a server on a loopback port: what it sends, and how calls end. What every port does
 * with its transport is tested in openai_port_test.c. */
#include "model/anthropic.h"
#include "model_port.h"

#define PATH(name) "/" name "/messages"
#define STREAM "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
#define EVENT(type, rest) "event: " type "\ndata: {\"type\":\"" type "\"" rest "}\n\n"
#define HELLO                                                                                      \
    EVENT("message_start", ",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":3}}")           \
    EVENT("content_block_start",                                                                   \
          ",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}")                      \
    EVENT("content_block_delta",                                                                   \
          ",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}")
#define FINISH EVENT("message_delta", ",\"delta\":{\"stop_reason\":\"end_turn\"}")
#define STOP EVENT("message_stop", "")

static const struct loopback_route routes[] = {
    {PATH("good"), STR(STREAM HELLO FINISH STOP), LOOPBACK_CLOSE},
    {PATH("hangs-after-stop"), STR(STREAM HELLO FINISH STOP), LOOPBACK_HOLD},
    {PATH("early"), STR(STREAM HELLO), LOOPBACK_CLOSE},
    {PATH("stalls"), STR(STREAM HELLO), LOOPBACK_HOLD},
    {PATH("overloaded-midway"),
     STR(STREAM HELLO EVENT(
         "error", ",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded " KEY "\"}")),
     LOOPBACK_HOLD},
    {PATH("overloaded"),
     STR("HTTP/1.1 529 Overloaded\r\nRetry-After: 2\r\nConnection: close\r\n\r\n"
         "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"},"
         "\"request_id\":\"req_1\"}"),
     LOOPBACK_CLOSE},
    {PATH("refused"),
     STR("HTTP/1.1 400 Bad\r\nConnection: close\r\n\r\n{\"type\":\"error\",\"error\":{\"type\":"
         "\"invalid_request_error\",\"message\":\"messages.1.content.0: no " KEY "\"}}"),
     LOOPBACK_CLOSE},
    {PATH("denied"),
     STR("HTTP/1.1 401 No\r\nConnection: close\r\n\r\n{\"type\":\"error\",\"error\":{\"type\":"
         "\"authentication_error\",\"message\":\"invalid x-api-key\"}}"),
     LOOPBACK_CLOSE},
    {0},
};

static const struct port_test port_test = {
    .open = anthropic_open,
    .routes = routes,
    .fragments = STR("U{\"type\":\"text\",\"text\":\"hi\"}\n"),
    .path = "/messages",
};

static void a_request_is_what_the_api_wants(void **state)
{
    static const char *const wanted[] = {
        "POST /good/messages?beta=true HTTP/1.1\r\n",
        "\r\nContent-Type: application/json\r\n",
        "\r\nx-api-key: " KEY "\r\n",
        "\r\nanthropic-version: 2023-06-01\r\n",
        ("\r\n\r\n{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":["
         "{\"type\":\"text\",\"text\":\"hi\",\"cache_control\":{\"type\":\"ephemeral\"}}]}],"
         "\"max_tokens\":16,\"stream\":true}"),
        NULL,
    };
    char request[4096];
    check_sent(*state, "good/?beta=true", STR(KEY), request, sizeof request);
    check_parts(request, wanted);
    assert_null(strcasestr(request, "authorization"));
}

static void without_a_key_there_is_no_key_header(void **state)
{
    char request[4096];
    check_sent(*state, "good", STR(""), request, sizeof request);
    assert_null(strcasestr(request, "x-api-key"));
    assert_non_null(strstr(request, "anthropic-version"));
}

static void a_server_that_hangs_after_message_stop_is_not_waited_for(void **state)
{
    check_reply(*state, "hangs-after-stop", "Hello");
}

static void failures_have_their_class_and_words(void **state)
{
    check_failure(*state, "early", all_long, ERR_RETRY, 200, "the stream ended early");
    check_failure(*state, "overloaded-midway", all_long, ERR_RETRY, 200,
                  "answered with an error: Overloaded ***");
    check_failure(*state, "overloaded", all_long, ERR_RETRY, 529, "answered HTTP 529: Overloaded");
    check_failure(*state, "refused", all_long, ERR_PROVIDER, 400,
                  "answered HTTP 400: messages.1.content.0: no ***");
    check_failure(*state, "denied", all_long, ERR_PROVIDER, 401,
                  "answered HTTP 401: invalid x-api-key (check the API key)");
}

static void an_overloaded_server_says_when_to_come_back(void **state)
{
    struct fixture *fixture = *state;
    struct asked asked = {0};
    ask(fixture, &asked, "overloaded", all_long);
    wait_for(fixture, &asked);
    assert_int_equal(asked.retry_after_ms, 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PORT_TEST(a_request_is_what_the_api_wants),
        PORT_TEST(without_a_key_there_is_no_key_header),
        PORT_TEST(a_stream_becomes_a_reply),
        PORT_TEST(a_server_that_hangs_after_message_stop_is_not_waited_for),
        PORT_TEST(failures_have_their_class_and_words),
        PORT_TEST(an_overloaded_server_says_when_to_come_back),
        PORT_TEST(an_abort_gives_cancelled_and_the_partial_text),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
