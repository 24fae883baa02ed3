/* model/transport, against a server on a loopback port: headers and members of the config,
 * secrets, and requests that are sent again. */
#include "model/openai.h"
#include "model_port.h"

#define OK                                                                                         \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"     \
    "33\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\n\r\n"                      \
    "39\r\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\r\n"                \
    "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
#define REFUSED(length, body) "HTTP/1.1 400 Bad\r\nContent-Length: " length "\r\n\r\n" body
#define SECRET "header-secret-value"

static const struct loopback_route routes[] = {
    {"/good/chat/completions", STR(OK), LOOPBACK_KEEP},
    {"/echo/chat/completions",
     STR(REFUSED("84",
                 "{\"error\":{\"message\":\"no " SECRET " and " KEY " or token-1234 here\"}}")),
     LOOPBACK_KEEP},
    {"/stubborn/chat/completions",
     STR(REFUSED("59", "{\"error\":{\"message\":\"Unknown parameter: 'stream_options'\"}}")),
     LOOPBACK_KEEP},
    {0},
};

static const struct port_test port_test = {
    .open = openai_open,
    .routes = routes,
    .fragments = STR("{\"role\":\"user\",\"content\":\"hi\"}"),
    .path = "/chat/completions",
};

struct extras {
    const struct str *headers;
    size_t header_count;
    const char *extra_body;
    const char *client_id;
};

/* Sends a request with these; the request as the server saw it last. */
static void send_with(struct fixture *fixture, const char *name, const struct extras *extras,
                      struct asked *asked, char *seen, size_t size)
{
    struct err err = ERR_INIT;
    char url[200];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/%s", loopback_port(fixture->server), name);
    const struct model_request request = {.base_url = str_from(url),
                                          .api_key = STR(KEY),
                                          .model = STR("m"),
                                          .fragments = port_test.fragments,
                                          .max_output_tokens = 16,
                                          .headers = extras->headers,
                                          .header_count = extras->header_count,
                                          .extra_body = str_from(extras->extra_body),
                                          .client_id = str_from(extras->client_id),
                                          .deadlines = all_long};
    const struct model_callbacks callbacks = {.delta = on_delta, .done = on_done, .user = asked};
    asked->port = fixture->port;
    if (fixture->port.ops->start(fixture->port.client, &request, &callbacks, &asked->call, &err) !=
        0)
        fail_msg("%s", err.message);
    wait_for(fixture, asked);
    loopback_last(fixture->server, seen, size);
}

static void headers_of_the_config_are_sent_and_replace_ours(void **state)
{
    const struct str headers[] = {STR("HTTP-Referer: https://example.org"), STR("user-agent: mine"),
                                  STR("Authorization: Basic " SECRET)};
    const struct extras extras = {.headers = headers, .header_count = 3, .client_id = "run-0-1"};
    struct asked asked = {0};
    char seen[4096];
    send_with(*state, "good?x=1", &extras, &asked, seen, sizeof seen);
    static const char *const wanted[] = {
        "\r\nHTTP-Referer: https://example.org\r\n",    "\r\nuser-agent: mine\r\n",
        "\r\nAuthorization: Basic " SECRET "\r\n",      "\r\nX-Client-Request-Id: run-0-1\r\n",
        "POST /good/chat/completions?x=1 HTTP/1.1\r\n", NULL};
    check_parts(seen, wanted);
    assert_null(strstr(seen, KEY));
    assert_null(strstr(seen, "User-Agent: cadre"));
}

static void a_key_in_another_header_replaces_ours(void **state)
{
    const struct str headers[] = {STR("api-key: " SECRET)};
    const struct extras extras = {.headers = headers, .header_count = 1};
    struct asked asked = {0};
    char seen[4096];
    send_with(*state, "good", &extras, &asked, seen, sizeof seen);
    assert_non_null(strstr(seen, "\r\napi-key: " SECRET "\r\n"));
    assert_null(strstr(seen, "Authorization"));
}

static void values_of_headers_are_in_no_message(void **state)
{
    const struct str headers[] = {STR("X-Tenant: " SECRET), STR("X-Token: Bearer token-1234")};
    const struct extras extras = {.headers = headers, .header_count = 2};
    struct asked asked = {0};
    char seen[4096];
    send_with(*state, "echo", &extras, &asked, seen, sizeof seen);
    assert_false(asked.whole);
    assert_non_null(strstr(asked.message, "no *** and *** or *** here"));
}

static void a_header_with_a_line_break_is_refused_without_its_value(void **state)
{
    struct fixture *fixture = *state;
    const struct str headers[] = {STR("X-Tenant: " SECRET "\r\nX-Other: 1")};
    const struct model_request request = {.base_url = STR("http://127.0.0.1:1/v1"),
                                          .model = STR("m"),
                                          .headers = headers,
                                          .header_count = 1,
                                          .deadlines = all_long};
    const struct model_callbacks callbacks = {.done = on_done};
    struct model_call *call;
    struct err err = ERR_INIT;
    assert_int_equal(
        fixture->port.ops->start(fixture->port.client, &request, &callbacks, &call, &err), -1);
    assert_int_equal(err.class, ERR_CONFIG);
    assert_non_null(strstr(err.message, "X-Tenant"));
    assert_null(strstr(err.message, SECRET));
}

static void members_of_extra_body_replace_ours(void **state)
{
    const struct extras extras = {
        .extra_body = "{\"stream_options\":null,\"provider\":{\"only\":[\"x\"]},\"model\":\"n\"}"};
    struct asked asked = {0};
    char seen[4096];
    send_with(*state, "good", &extras, &asked, seen, sizeof seen);
    assert_non_null(strstr(seen, "\r\n\r\n{\"messages\":["));
    assert_non_null(strstr(seen,
                           "\"stream\":true,\"max_tokens\":16,\"provider\":{\"only\":[\"x\"]},"
                           "\"model\":\"n\"}"));
}

static void a_parameter_is_taken_away_once_and_then_the_error_stands(void **state)
{
    const struct extras none = {0};
    struct asked first = {0}, second = {0};
    char seen[4096];
    send_with(*state, "stubborn", &none, &first, seen, sizeof seen);
    assert_false(first.whole);
    assert_int_equal(first.class, ERR_PROVIDER);
    assert_int_equal(first.status, 400);
    assert_null(strstr(seen, "stream_options"));
    assert_non_null(strstr(seen, "\"max_tokens\":16"));
    send_with(*state, "stubborn", &none, &second, seen, sizeof seen);
    assert_int_equal(second.class, ERR_PROVIDER);
}

static void what_the_config_sets_is_not_taken_away(void **state)
{
    const struct extras extras = {.extra_body = "{\"stream_options\":{\"x\":1}}"};
    struct asked asked = {0};
    char seen[4096];
    send_with(*state, "stubborn", &extras, &asked, seen, sizeof seen);
    assert_int_equal(asked.class, ERR_PROVIDER);
    assert_non_null(strstr(seen, "\"stream_options\":{\"x\":1}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PORT_TEST(headers_of_the_config_are_sent_and_replace_ours),
        PORT_TEST(a_key_in_another_header_replaces_ours),
        PORT_TEST(values_of_headers_are_in_no_message),
        PORT_TEST(a_header_with_a_line_break_is_refused_without_its_value),
        PORT_TEST(members_of_extra_body_replace_ours),
        PORT_TEST(a_parameter_is_taken_away_once_and_then_the_error_stands),
        PORT_TEST(what_the_config_sets_is_not_taken_away),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
