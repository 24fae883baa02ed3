/* model/failure: what an error status means, and what a person gets to read of the server's
 * words. */
#include "model/failure.h"

#include <stdio.h>

#include "check.h"

#define KEY "sk-very-secret"

static void check_status(int status, const char *body, const char *expected)
{
    const struct model_server server = {.url = STR("http://server/v1"), .secret = STR(KEY)};
    struct arena arena;
    arena_init(&arena);
    check_str(failure_status_message(&server, status, str_from(body), &arena), expected);
    arena_release(&arena);
}

static void the_status_decides_whether_a_request_is_repeated(void **state)
{
    const int retried[] = {408, 409, 429, 500, 502, 503, 504, 529, 599};
    const int final[] = {400, 401, 402, 403, 404, 405, 413, 418, 422};
    for (size_t i = 0; i < sizeof retried / sizeof retried[0]; i++)
        assert_int_equal(failure_status_class(retried[i]), ERR_RETRY);
    for (size_t i = 0; i < sizeof final / sizeof final[0]; i++)
        assert_int_equal(failure_status_class(final[i]), ERR_PROVIDER);
}

static void an_error_says_what_the_server_said_and_what_to_do(void **state)
{
    check_status(401, "{\"error\":{\"message\":\"Bad key.\"}}",
                 "http://server/v1 answered HTTP 401: Bad key (check the API key)");
    check_status(
        404, "{\"error\":\"model not found\"}",
        "http://server/v1 answered HTTP 404: model not found (check the model's name and the "
        "base URL)");
    check_status(422, "{\"detail\":\"no\"}", "http://server/v1 answered HTTP 422: no");
    check_status(422, "{\"detail\":[{\"msg\":\"field required\"}]}",
                 "http://server/v1 answered HTTP 422: field required");
    check_status(418, "{\"errors\":[\"first\",\"second\"]}",
                 "http://server/v1 answered HTTP 418: first");
    check_status(418, "just words\n", "http://server/v1 answered HTTP 418: just words");
    check_status(418, "", "http://server/v1 answered HTTP 418");
    check_status(502, "<html><body>Bad gateway</body></html>",
                 "http://server/v1 answered HTTP 502 (the server is in trouble)");
}

static void the_servers_words_are_cut_to_300_characters_and_cleaned(void **state)
{
    char body[2000], expected[2000];
    size_t n = 0, m = 0;
    n += (size_t)snprintf(body, sizeof body, "{\"error\":\"");
    m += (size_t)snprintf(expected, sizeof expected, "http://server/v1 answered HTTP 418: ");
    for (int i = 0; i < 400; i++)
        n += (size_t)snprintf(body + n, sizeof body - n, "\xC3\xA4");
    for (int i = 0; i < 300; i++)
        m += (size_t)snprintf(expected + m, sizeof expected - m, "\xC3\xA4");
    snprintf(body + n, sizeof body - n, "\"}");
    snprintf(expected + m, sizeof expected - m, "…");
    check_status(418, body, expected);
    check_status(418, "{\"error\":\"a\\u001b[31mred\\u001b[0m\\nb\"}",
                 "http://server/v1 answered HTTP 418: ared b");
}

static void the_key_is_in_no_message(void **state)
{
    check_status(401, "{\"error\":\"wrong key: " KEY "!\"}",
                 "http://server/v1 answered HTTP 401: wrong key: ***! (check the API key)");
    check_status(401, "{\"error\":\"wrong key: sk-very\\u001b[1m-secret\"}",
                 "http://server/v1 answered HTTP 401: wrong key: *** (check the API key)");
    /* An escape sequence that takes the key's first letter with it must not save the rest. */
    const struct model_server server = {.url = STR("http://server/v1"), .secret = STR(KEY)};
    struct arena arena;
    arena_init(&arena);
    struct str message =
        failure_status_message(&server, 401, STR("{\"error\":\"\\u001b[" KEY "\"}"), &arena);
    assert_null(memmem(message.p, message.n, "very", 4));
    arena_release(&arena);
    check_status(418, KEY KEY " x", "http://server/v1 answered HTTP 418: ****** x");
}

static void an_account_without_credit_is_not_told_to_wait(void **state)
{
    check_status(429,
                 "{\"error\":{\"message\":\"You exceeded your current quota\",\"type\":"
                 "\"insufficient_quota\",\"code\":\"insufficient_quota\"}}",
                 "http://server/v1 answered HTTP 429: You exceeded your current quota (check the "
                 "account's balance)");
}

/* Words of Ollama, OpenRouter, Groq, Bedrock, DeepSeek, Mistral, llama.cpp, vLLM. */
static void a_model_that_takes_no_tools_is_told_with_what_to_do(void **state)
{
    static const struct {
        int status;
        const char *words, *advice;
    } rows[] = {
        {400, "registry.ollama.ai/library/gemma:2b does not support tools",
         "this model does not take tools: choose another one, or on a local server a chat "
         "template that supports them (llama.cpp: --jinja)"},
        {404, "No endpoints found that support tool use. Try disabling \\\"read\\\"",
         "this model does not take tools: choose another one"},
        {400, "`tools` is not supported in this model",
         "this model does not take tools: choose another one"},
        {400, "Tool use is not supported", "this model does not take tools: choose another one"},
        {400, "`tool calling` is not supported with this model",
         "this model does not take tools: choose another one"},
        {400, "This model doesn't support tool use",
         "this model does not take tools: choose another one"},
        {400, "m does not support Function Calling",
         "this model does not take tools: choose another one"},
        {400, "Function calling is not enabled for this model",
         "this model does not take tools: choose another one"},
        {500, "tools param requires --jinja flag",
         "start llama-server with --jinja and a chat template that supports tools, or choose "
         "another model"},
        {400, "\\\"auto\\\" tool choice requires --enable-auto-tool-choice and --tool-call-parser",
         "start vLLM with --enable-auto-tool-choice and the --tool-call-parser of this model"},
        {404, "the tool was not found", "check the model's name and the base URL"},
        {400, "unknown tool: does not support images", "the server does not accept this request"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct model_server server = {.url = STR("http://server/v1")};
        struct arena arena;
        char body[500], end[300];
        arena_init(&arena);
        snprintf(body, sizeof body, "{\"error\":{\"message\":\"%s\"}}", rows[i].words);
        snprintf(end, sizeof end, " (%s)", rows[i].advice);
        struct str message =
            failure_status_message(&server, rows[i].status, str_from(body), &arena);
        size_t n = strlen(end);
        if (message.n < n || memcmp(message.p + message.n - n, end, n) != 0)
            fail_msg("%.*s", STR_FMT(message));
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_status_decides_whether_a_request_is_repeated),
        cmocka_unit_test(an_error_says_what_the_server_said_and_what_to_do),
        cmocka_unit_test(the_servers_words_are_cut_to_300_characters_and_cleaned),
        cmocka_unit_test(the_key_is_in_no_message),
        cmocka_unit_test(an_account_without_credit_is_not_told_to_wait),
        cmocka_unit_test(a_model_that_takes_no_tools_is_told_with_what_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
