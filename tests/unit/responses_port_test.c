/* model/responses as a port, against a server on a loopback port: what it sends, and how calls end. What every port does
 * with its transport is tested in openai_port_test.c. */
#include "model/responses.h"
#include "model_port.h"

#define PATH(name) "/" name "/responses"
#define STREAM "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
#define EVENT(type, rest) "event: " type "\ndata: {\"type\":\"" type "\"" rest "}\n\n"
#define HELLO                                                                                      \
    EVENT("response.created", ",\"response\":{\"id\":\"resp_1\",\"error\":null}")                  \
    EVENT("response.output_text.delta",                                                            \
          ",\"output_index\":0,\"content_index\":0,\"delta\":\"Hello\"")
#define END                                                                                        \
    EVENT("response.completed", ",\"response\":{\"id\":\"resp_1\",\"status\":\"completed\","       \
                                "\"error\":null,\"output\":[]}")

static const struct loopback_route routes[] = {
    {PATH("good"), STR(STREAM HELLO END), LOOPBACK_CLOSE},
    {PATH("hangs-after-the-end"), STR(STREAM HELLO END), LOOPBACK_HOLD},
    {PATH("document"),
     STR("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
         "{\"object\":\"response\",\"status\":\"completed\",\"output\":[{\"type\":\"message\","
         "\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hello\"}]}]}"),
     LOOPBACK_CLOSE},
    {PATH("early"), STR(STREAM HELLO), LOOPBACK_CLOSE},
    {PATH("stalls"), STR(STREAM HELLO), LOOPBACK_HOLD},
    {PATH("failed-midway"),
     STR(STREAM HELLO EVENT("response.failed", ",\"response\":{\"status\":\"failed\",\"error\":{"
                                               "\"code\":\"server_error\",\"message\":"
                                               "\"Sorry " KEY "\"}}")),
     LOOPBACK_HOLD},
    {PATH("error-body"),
     STR("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"error\":{\"type\":"
         "\"invalid_request_error\",\"message\":\"no\"}}"),
     LOOPBACK_CLOSE},
    {PATH("refused"),
     STR("HTTP/1.1 400 Bad\r\nConnection: close\r\n\r\n{\"error\":{\"message\":\"No tool output "
         "found for function call c1 " KEY ".\",\"type\":\"invalid_request_error\",\"param\":"
         "\"input\",\"code\":null}}"),
     LOOPBACK_CLOSE},
    {0},
};

static const struct port_test port_test = {
    .open = responses_open,
    .routes = routes,
    .fragments = STR("I{\"type\":\"message\"}\n"),
    .path = "/responses",
};

static void a_request_is_what_the_api_wants(void **state)
{
    static const char *const wanted[] = {
        "POST /good/responses?beta=true HTTP/1.1\r\n",
        "\r\nContent-Type: application/json\r\n",
        "\r\nAuthorization: Bearer " KEY "\r\n",
        ("\r\n\r\n{\"model\":\"m\",\"input\":[{\"type\":\"message\"}],\"stream\":true,\"store\":"
         "false,\"include\":[\"reasoning.encrypted_content\"],\"max_output_tokens\":16}"),
        NULL,
    };
    char request[4096];
    check_sent(*state, "good/?beta=true", STR(KEY), request, sizeof request);
    check_parts(request, wanted);
}

static void without_a_key_there_is_no_key_header(void **state)
{
    char request[4096];
    check_sent(*state, "good", STR(""), request, sizeof request);
    assert_null(strcasestr(request, "authorization"));
}

static void a_document_becomes_a_reply_too(void **state)
{
    struct asked asked = {0};
    ask(*state, &asked, "document", all_long);
    wait_for(*state, &asked);
    assert_true(asked.whole);
    assert_string_equal(asked.text, "Hello");
}

static void a_server_that_hangs_after_the_end_is_not_waited_for(void **state)
{
    check_reply(*state, "hangs-after-the-end", "Hello");
}

static void failures_have_their_class_and_words(void **state)
{
    check_failure(*state, "early", all_long, ERR_RETRY, 200, "the stream ended early");
    check_failure(*state, "failed-midway", all_long, ERR_RETRY, 200,
                  "the answer failed: Sorry ***");
    check_failure(*state, "error-body", all_long, ERR_PROVIDER, 200, "answered with an error: no");
    check_failure(*state, "refused", all_long, ERR_PROVIDER, 400,
                  "answered HTTP 400: No tool output found for function call c1 *** (the server "
                  "does not accept this request)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PORT_TEST(a_request_is_what_the_api_wants),
        PORT_TEST(without_a_key_there_is_no_key_header),
        PORT_TEST(a_stream_becomes_a_reply),
        PORT_TEST(a_document_becomes_a_reply_too),
        PORT_TEST(a_server_that_hangs_after_the_end_is_not_waited_for),
        PORT_TEST(failures_have_their_class_and_words),
        PORT_TEST(an_abort_gives_cancelled_and_the_partial_text),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
