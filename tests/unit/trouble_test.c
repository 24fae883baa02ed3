/* model/trouble: the words with which servers say that a request does not fit or was filtered.
 * Each body is one that was seen; src/model/trouble.c says where. */
#include "model/trouble.h"

#include <stdio.h>

#include "check.h"

static struct trouble read_body(int status, const char *body)
{
    struct err err = ERR_INIT;
    struct js *root = js_parse(str_from(body), &err);
    struct trouble found = trouble_read(status, root, str_from(body));
    js_free(root);
    return found;
}

static void check_trouble(int status, const char *body, enum model_trouble kind, int64_t window,
                          int64_t needed)
{
    struct trouble found = read_body(status, body);
    if (found.kind != kind || found.window != window || found.needed != needed)
        fail_msg("%d, %lld, %lld and not %d, %lld, %lld: %s", (int)found.kind,
                 (long long)found.window, (long long)found.needed, (int)kind, (long long)window,
                 (long long)needed, body);
}

#define MESSAGE(text) "{\"error\":{\"message\":\"" text "\",\"type\":\"invalid_request_error\"}}"

static void every_known_overflow_is_read_with_its_numbers(void **state)
{
    static const struct {
        int status;
        const char *body;
        int64_t window, needed;
    } rows[] = {
        {400,
         "{\"error\":{\"message\":\"This model's maximum context length is 128000 tokens. However, "
         "your "
         "messages resulted in 130000 tokens. Please reduce the length of the messages.\","
         "\"type\":\"invalid_request_error\",\"param\":\"messages\",\"code\":\"context_length_"
         "exceeded\"}}",
         128000, 130000},
        {400,
         MESSAGE("This model's maximum context length is 4097 tokens. However, you requested 4203 "
                 "tokens (3703 in the messages, 500 in the completion). Please reduce …"),
         4097, 4203},
        {400,
         "{\"object\":\"error\",\"message\":\"This model's maximum context length is 4096 tokens. "
         "However, "
         "you requested 1000 output tokens and your prompt contains at least 3500 input tokens, "
         "for a "
         "total of at least 4500 tokens.\",\"type\":\"BadRequestError\",\"code\":400}",
         4096, 4500},
        {400,
         MESSAGE("'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum "
                 "context length is 8192 tokens and your request has 9000 input tokens"),
         8192, 9000},
        {422,
         "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= "
         "12000. "
         "Given: 10261 `inputs` tokens and 4096 `max_new_tokens`\",\"error_type\":\"validation\"}",
         12000, 14357},
        {422,
         MESSAGE("Input validation error: `inputs` must have less than 1000 tokens. Given: 1020"),
         1000, 1020},
        {500,
         "ValueError: The decoder prompt (length 21535) is longer than the maximum model length of "
         "16384. Make sure that `max_model_len` is no smaller",
         16384, 21535},
        {400,
         "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt "
         "is too "
         "long: 210000 tokens > 200000 maximum\"}}",
         200000, 210000},
        {400,
         MESSAGE("input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, "
                 "decrease input length or `max_tokens` and try again"),
         200000, 207192},
        {413,
         "{\"type\":\"error\",\"error\":{\"type\":\"request_too_large\",\"message\":\"Request "
         "exceeds the "
         "maximum size\"}}",
         -1, -1},
        {400,
         "{\"error\":{\"code\":400,\"message\":\"request (8708 tokens) exceeds the available "
         "context size "
         "(8192 tokens), try increasing "
         "it\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":8708,"
         "\"n_ctx\":8192}}",
         8192, 8708},
        {500,
         "{\"error\":{\"code\":500,\"message\":\"the request exceeds the available context size. "
         "try "
         "increasing the context size or enable context "
         "shift\",\"type\":\"exceed_context_size_error\","
         "\"n_prompt_tokens\":1407,\"n_ctx\":256}}",
         256, 1407},
        {400,
         "{\"error\":\"Trying to keep the first 111490 tokens when context the overflows. However, "
         "the "
         "model is loaded with context length of only 32768 tokens, which is not enough. Try to "
         "load the "
         "model with a larger context length, or provide a shorter input.\"}",
         32768, 111490},
        {400, "{\"error\":\"prompt too long; exceeded max context length by 812 tokens\"}", -1, -1},
        {400,
         "[{\"error\":{\"code\":400,\"message\":\"The input token count (1196265) exceeds the "
         "maximum "
         "number of tokens allowed (1048575).\",\"status\":\"INVALID_ARGUMENT\"}}]",
         1048575, 1196265},
        {400,
         "{\"object\":\"error\",\"message\":\"Prompt contains 40006 tokens and 0 draft tokens, too "
         "large "
         "for model with 32768 maximum context length\",\"type\":\"invalid_request_error\"}",
         32768, 40006},
        {400,
         MESSAGE("This endpoint's maximum context length is 163,840 tokens. However, you requested "
                 "about 170,001 tokens (169000 of text input, 1001 in the output)."),
         163840, 170001},
        {400,
         "{\"error\":{\"message\":\"Provider returned error\",\"code\":400,\"metadata\":{\"raw\":"
         "\"{\\\"error\\\":{\\\"message\\\":\\\"prompt is too long: 210000 tokens > 200000 "
         "maximum\\\"}}\","
         "\"provider_name\":\"Anthropic\"}}}",
         200000, 210000},
        {400, "{\"message\":\"Input is too long for requested model.\"}", -1, -1},
        {413,
         "{\"error\":{\"message\":\"Request too large for model `llama-3.1-8b-instant` in "
         "organization "
         "`org_x` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested "
         "12328, please "
         "reduce your message size and try "
         "again.\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}",
         6000, 12328},
        {429,
         MESSAGE(
             "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit "
             "30000, Requested 342389. The input or output tokens must be reduced"),
         30000, 342389},
        {400,
         "{\"code\":\"Client specified an invalid argument\",\"error\":\"This model's maximum "
         "prompt length "
         "is 131072 but the request contains 537812 tokens.\"}",
         131072, 537812},
        {400, MESSAGE("Your input exceeds the context window of this model."), -1, -1},
        {400, MESSAGE("Your request exceeded model token limit: 131072 (requested: 140000)"),
         131072, 140000},
        {0, "{\"code\":\"context_length_exceeded\",\"message\":\"too long\"}", -1, -1},
        {413, "<html>413 Request Entity Too Large</html>", -1, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_trouble(rows[i].status, rows[i].body, TROUBLE_OVERFLOW, rows[i].window,
                      rows[i].needed);
}

static void a_rate_limit_is_not_an_overflow(void **state)
{
    check_trouble(
        429,
        MESSAGE("Rate limit reached for model `x` on tokens per minute (TPM): Limit 6000, "
                "Used 5034, Requested 1443. Please try again in 4.77s."),
        TROUBLE_NONE, -1, -1);
    check_trouble(429, "{\"message\":\"ThrottlingException: Too many tokens, please wait\"}",
                  TROUBLE_NONE, -1, -1);
    check_trouble(400, MESSAGE("Unsupported parameter: 'max_tokens'"), TROUBLE_NONE, -1, -1);
    check_trouble(500, "", TROUBLE_NONE, -1, -1);
}

static void numbers_that_cannot_be_are_not_believed(void **state)
{
    check_trouble(400, MESSAGE("prompt is too long: 99999999999999999999999 tokens > 0 maximum"),
                  TROUBLE_OVERFLOW, -1, -1);
    /* Where the output limit counts too, the input alone may be less than the window. */
    check_trouble(400, MESSAGE("prompt is too long: 10 tokens > 200000 maximum"), TROUBLE_OVERFLOW,
                  200000, 10);
    check_trouble(400,
                  "{\"error\":{\"type\":\"exceed_context_size_error\",\"n_ctx\":-4,"
                  "\"n_prompt_tokens\":1e300}}",
                  TROUBLE_OVERFLOW, -1, -1);
}

static void a_long_text_costs_little_and_is_not_read_to_its_end(void **state)
{
    static char body[1 << 20];
    memset(body, 'r', sizeof body - 1);
    for (size_t i = 0; i + 24 < sizeof body; i += 24)
        memcpy(body + i, "request too large for li", 24);
    check_trouble(400, body, TROUBLE_NONE, -1, -1);
}

static void a_wrong_key_or_model_is_final(void **state)
{
    check_trouble(401, MESSAGE("Incorrect API key provided"), TROUBLE_FINAL, -1, -1);
    check_trouble(403, "", TROUBLE_FINAL, -1, -1);
    check_trouble(404, MESSAGE("The model `x` does not exist"), TROUBLE_FINAL, -1, -1);
    check_trouble(402, MESSAGE("Insufficient credits"), TROUBLE_NONE, -1, -1);
}

static void a_filter_is_told_from_a_wrong_request(void **state)
{
    check_trouble(
        400,
        "{\"error\":{\"message\":\"The response was filtered due to the prompt triggering Azure "
        "OpenAI's content management policy.\",\"type\":null,\"param\":\"prompt\",\"code\":"
        "\"content_filter\",\"status\":400,\"innererror\":{\"code\":"
        "\"ResponsibleAIPolicyViolation\"}}}",
        TROUBLE_FILTERED, -1, -1);
    check_trouble(
        400,
        "{\"error\":{\"code\":\"invalid_prompt\",\"message\":\"Invalid prompt: your prompt was "
        "flagged as potentially violating our usage policy.\"}}",
        TROUBLE_FILTERED, -1, -1);
    check_trouble(400, MESSAGE("Content Exists Risk"), TROUBLE_FILTERED, -1, -1);
    check_trouble(403,
                  "{\"error\":{\"code\":403,\"message\":\"Your chosen model requires moderation\","
                  "\"metadata\":{\"reasons\":[\"violence\"],\"flagged_input\":\"…\"}}}",
                  TROUBLE_FILTERED, -1, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_known_overflow_is_read_with_its_numbers),
        cmocka_unit_test(a_rate_limit_is_not_an_overflow),
        cmocka_unit_test(numbers_that_cannot_be_are_not_believed),
        cmocka_unit_test(a_long_text_costs_little_and_is_not_read_to_its_end),
        cmocka_unit_test(a_wrong_key_or_model_is_final),
        cmocka_unit_test(a_filter_is_told_from_a_wrong_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
