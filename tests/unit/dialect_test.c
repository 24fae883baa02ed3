/* model/dialect, body and strictable: what a server is sent, and what a refusal teaches. */
#include "model/dialect.h"

#include <stdio.h>

#include "base/json.h"
#include "check.h"
#include "model/anthropic_render.h"
#include "model/openai_render.h"
#include "model/responses_render.h"

#define SCHEMA                                                                                     \
    "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"],"      \
    "\"additionalProperties\":false}"
#define LOOSE "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}"

typedef void body_fn(const struct model_request *request, struct dialect *dialect, struct buf *out);
static body_fn *const bodies[] = {[DIALECT_CHAT] = openai_render_body,
                                  [DIALECT_RESPONSES] = responses_render_body,
                                  [DIALECT_MESSAGES] = anthropic_render_body};

struct bench {
    struct dialect_learnt learnt;
    struct dialect dialect;
    struct model_request request;
    struct model_params params;
    enum dialect_api api;
    struct buf body, again;
};

static int setup(void **state)
{
    static struct bench bench;
    bench = (struct bench){.request = {.base_url = STR("http://127.0.0.1:1/v1"),
                                       .model = STR("m"),
                                       .cache_key = STR("run1"),
                                       .max_output_tokens = 8000,
                                       .params = &bench.params}};
    params_init(&bench.params);
    buf_init(&bench.body, 100000);
    buf_init(&bench.again, 100000);
    *state = &bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;
    buf_release(&bench->body);
    buf_release(&bench->again);
    return 0;
}

static void render(struct bench *bench, enum dialect_api api)
{
    struct err err = ERR_INIT;
    bench->api = api;
    buf_clear(&bench->body);
    dialect_resolve(api, &bench->request, &bench->learnt, &bench->dialect);
    bodies[api](&bench->request, &bench->dialect, &bench->body);
    struct js *parsed = js_parse(buf_view(&bench->body), &err);
    assert_non_null(parsed);
    js_free(parsed);
}

#define has(bench, text) assert_non_null(strstr((bench)->body.p, text))
#define lacks(bench, text) assert_null(strstr((bench)->body.p, text))

/* The server refuses with this message; the body that is sent next is in bench->again. */
static uint32_t refuse(struct bench *bench, const char *error)
{
    struct err err = ERR_INIT;
    uint32_t refused = dialect_learn(&bench->learnt, &bench->dialect, 0, str_from(error));
    buf_clear(&bench->again);
    if (refused == 0)
        return 0;
    dialect_rewrite(&bench->learnt, &bench->dialect, refused, buf_view(&bench->body),
                    &bench->again);
    struct js *parsed = js_parse(buf_view(&bench->again), &err);
    assert_non_null(parsed);
    js_free(parsed);
    return refused;
}

#define MESSAGE(text) "{\"error\":{\"message\":\"" text "\"}}"

/* --- the output limit ------------------------------------------------------------------------- */

static void the_output_limit_has_the_name_that_the_family_takes(void **state)
{
    struct bench *bench = *state;
    static const char *const fresh[] = {"gpt-5",   "gpt-5.2-codex", "gpt-6-mini",       "o1",
                                        "o3-mini", "o4-mini",       "openai/gpt-5-nano"};
    for (size_t i = 0; i < sizeof fresh / sizeof fresh[0]; i++) {
        bench->request.model = str_from(fresh[i]);
        render(bench, DIALECT_CHAT);
        has(bench, "\"max_completion_tokens\":8000");
        lacks(bench, "\"max_tokens\"");
    }
    static const char *const older[] = {"gpt-4o", "qwen3", "o100", "mistral-large", "olmo-2"};
    for (size_t i = 0; i < sizeof older / sizeof older[0]; i++) {
        bench->request.model = str_from(older[i]);
        render(bench, DIALECT_CHAT);
        has(bench, "\"max_tokens\":8000");
        lacks(bench, "max_completion_tokens");
    }
    bench->request.model = STR("deployment-1");
    bench->request.base_url = STR("https://x.openai.azure.com/openai/deployments/d?api-version=1");
    render(bench, DIALECT_CHAT);
    has(bench, "\"max_completion_tokens\":8000");
    assert_string_equal(bench->dialect.key_header, "api-key: ");
    bench->request.api_key = STR("eyJ0eXAi.eyJhdWQi.c2ln");
    render(bench, DIALECT_CHAT);
    assert_null(bench->dialect.key_header);
}

/* OpenAI's, Groq's and Anthropic's words for a limit that is too high. */
static void an_output_limit_that_is_too_high_is_lowered_to_what_the_server_takes(void **state)
{
    struct bench *bench = *state;
    static const char *const errors[] = {
        "{\"error\":{\"message\":\"max_tokens is too large: 8000. This model supports at most 4096 "
        "completion tokens, whereas you provided 8000.\",\"param\":\"max_tokens\"}}",
        MESSAGE("`max_tokens` must be less than or equal to `4096`"),
        MESSAGE("max_tokens: 8000 > 4096, which is the maximum allowed number of output tokens "
                "for claude-3-haiku-20240307"),
    };
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        bench->learnt = (struct dialect_learnt){0};
        render(bench, i == 2 ? DIALECT_MESSAGES : DIALECT_CHAT);
        bench->dialect.output_limit = 8000;
        assert_int_equal(refuse(bench, errors[i]), SENDS_LIMIT);
        assert_int_equal(bench->learnt.most, 4096);
        assert_non_null(strstr(bench->again.p, "\"max_tokens\":4096"));
    }
}

static void models_of_ollama_that_do_not_think_are_asked_without_an_effort(void **state)
{
    struct bench *bench = *state;
    bench->params.effort = STR("medium");
    render(bench, DIALECT_CHAT);
    has(bench, "\"reasoning_effort\":\"medium\"");
    assert_int_equal(refuse(bench, MESSAGE("\\\"llama3.2:latest\\\" does not support thinking")),
                     SENDS_EFFORT);
    assert_null(strstr(bench->again.p, "reasoning_effort"));
}

static void mistral_names_a_parameter_inside_of_its_message(void **state)
{
    struct bench *bench = *state;
    bench->params.top_p = 0.5;
    render(bench, DIALECT_CHAT);
    assert_int_equal(refuse(bench, "{\"object\":\"error\",\"message\":{\"detail\":[{\"type\":"
                                   "\"extra_forbidden\",\"loc\":[\"body\",\"top_p\"],\"msg\":"
                                   "\"Extra inputs are not permitted\"}]}}"),
                     SENDS_TOP_P);
}

static void the_output_limit_changes_its_name_and_never_vanishes(void **state)
{
    struct bench *bench = *state;
    render(bench, DIALECT_CHAT);
    assert_int_equal(
        refuse(bench,
               "{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens' is not supported "
               "with this model. Use 'max_completion_tokens' instead.\",\"type\":"
               "\"invalid_request_error\",\"param\":\"max_tokens\",\"code\":"
               "\"unsupported_parameter\"}}"),
        SENDS_LIMIT);
    assert_non_null(strstr(bench->again.p, "\"max_completion_tokens\":8000"));
    assert_null(strstr(bench->again.p, "\"max_tokens\""));
    render(bench, DIALECT_CHAT);
    has(bench, "\"max_completion_tokens\":8000");
    assert_int_equal(
        refuse(bench, MESSAGE("Unrecognized request argument supplied: max_completion_tokens")),
        SENDS_LIMIT);
    render(bench, DIALECT_CHAT);
    has(bench, "\"max_tokens\":8000");
    assert_int_equal(dialect_learn(&bench->learnt, &bench->dialect, SENDS_LIMIT,
                                   STR(MESSAGE("Unknown parameter: 'max_tokens'"))),
                     0);
    render(bench, DIALECT_RESPONSES);
    assert_int_equal(refuse(bench, MESSAGE("Unsupported parameter: 'max_output_tokens'")), 0);
    render(bench, DIALECT_RESPONSES);
    has(bench, "\"max_output_tokens\":8000");
}

static void an_error_about_a_limits_value_or_the_window_teaches_nothing(void **state)
{
    struct bench *bench = *state;
    static const char *const errors[] = {
        MESSAGE(
            "max_tokens is too large: 8000. This model supports at most 4096 completion tokens"),
        MESSAGE("'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum "
                "context length is 4096 tokens"),
        MESSAGE("This model's maximum context length is 4096 tokens, unsupported max_tokens"),
        MESSAGE("max_tokens: 8000 > 4096, which is the maximum allowed number of output tokens"),
        MESSAGE("invalid message"),
        "{\"error\":{\"message\":\"'max_tokens' is unsupported\",\"param\":\"messages\"}}",
        "not JSON",
        "",
    };
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        render(bench, DIALECT_CHAT);
        assert_int_equal(refuse(bench, errors[i]), 0);
        assert_int_equal(bench->learnt.refused, 0);
        assert_null(bench->learnt.limit);
    }
}

/* --- learning --------------------------------------------------------------------------------- */

static void a_parameter_that_an_error_names_is_left_out_from_then_on(void **state)
{
    struct bench *bench = *state;
    static const struct {
        enum dialect_api api;
        const char *error, *gone;
    } cases[] = {
        {DIALECT_CHAT, MESSAGE("Unsupported value: 'temperature' does not support 0.2"),
         "\"temperature\""},
        {DIALECT_CHAT, "{\"error\":{\"message\":\"no\",\"param\":\"top_p\"}}", "\"top_p\""},
        {DIALECT_CHAT,
         "{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":[\"body\",\"seed\"],\"msg\":\"Extra "
         "inputs are not permitted\"}]}",
         "\"seed\""},
        {DIALECT_CHAT, MESSAGE("Invalid JSON payload received. Unknown name \\\"stop\\\""),
         "\"stop\""},
        {DIALECT_CHAT, MESSAGE("Unrecognized request argument supplied: stream_options"),
         "\"stream_options\""},
        {DIALECT_CHAT, MESSAGE("`reasoning_effort` is not supported with this model"),
         "\"reasoning_effort\""},
        {DIALECT_CHAT, MESSAGE("This response_format type is unavailable now"),
         "\"response_format\""},
        {DIALECT_CHAT, MESSAGE("unknown field 'strict'"), "\"strict\""},
        /* vLLM, LiteLLM: the complaint beside what was sent */
        {DIALECT_CHAT,
         MESSAGE("[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs are "
                 "not permitted', 'input': 7}]"),
         "\"seed\""},
        {DIALECT_CHAT,
         MESSAGE("litellm.UnsupportedParamsError: p does not support parameters: "
                 "{'temperature': 0.2}, for model=m"),
         "\"temperature\""},
        {DIALECT_CHAT, MESSAGE("does not support parameters: ['top_p'], for model=m"), "\"top_p\""},
        {DIALECT_CHAT,
         MESSAGE("p: {\\\"error\\\":{\\\"message\\\":\\\"Unsupported value: 'temperature' does not "
                 "support 0.2\\\"}}"),
         "\"temperature\""},
        {DIALECT_CHAT, MESSAGE("invalid temperature: only 1 is allowed for this model"),
         "\"temperature\""},
        {DIALECT_CHAT, MESSAGE("{\\\"temperature\\\":0.2} was sent, but `temperature` must be 1"),
         "\"temperature\""},
        {DIALECT_RESPONSES,
         "{\"error\":{\"message\":\"must be verified\",\"param\":\"reasoning.summary\"}}",
         "\"summary\""},
        {DIALECT_RESPONSES, MESSAGE("Unsupported parameter: 'reasoning.effort'"), "\"effort\""},
        {DIALECT_RESPONSES, "{\"error\":{\"message\":\"no\",\"param\":\"include\"}}",
         "\"include\""},
        {DIALECT_RESPONSES, "{\"error\":{\"message\":\"no\",\"param\":\"text.format\"}}",
         "\"format\""},
        {DIALECT_MESSAGES, MESSAGE("system.0.cache_control: Extra inputs are not permitted"),
         "\"cache_control\""},
        {DIALECT_MESSAGES, MESSAGE("thinking: Extra inputs are not permitted"), "\"thinking\""},
        {DIALECT_MESSAGES, MESSAGE("output_config: Extra inputs are not permitted"),
         "\"output_config\""},
        {DIALECT_MESSAGES, MESSAGE("This model does not support the effort parameter."),
         "\"effort\""},
    };
    struct str stops[] = {STR("END")};
    const struct model_tool tool = {STR("read"), STR("Reads."), STR("{\"type\":\"object\"}")};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum dialect_api api = cases[i].api;
        bench->learnt = (struct dialect_learnt){.accepted = ~0u};
        bench->params = (struct model_params){.effort = STR("high"),
                                              .temperature = 0.2,
                                              .top_p = 0.9,
                                              .seed = 7,
                                              .stop = {LIST_SET, stops, 1}};
        bench->request.fragments = api == DIALECT_MESSAGES
                                       ? STR("S{\"type\":\"text\",\"text\":\"s\"}\n"
                                             "U{\"type\":\"text\",\"text\":\"u\"}\n")
                                       : STR("");
        bench->request.schema = STR(SCHEMA);
        bench->request.model = api == DIALECT_MESSAGES ? STR("claude-sonnet-4-6") : STR("m");
        bench->request.tools = &tool;
        bench->request.tool_count = api == DIALECT_MESSAGES;
        render(bench, api);
        has(bench, cases[i].gone);
        uint32_t refused = refuse(bench, cases[i].error);
        if (refused == 0)
            fail_msg("nothing was learnt from %s", cases[i].error);
        assert_null(strstr(bench->again.p, cases[i].gone));
        assert_int_equal(bench->learnt.accepted & refused, 0);
        render(bench, api);
        lacks(bench, cases[i].gone);
        assert_non_null(strstr(bench->body.p, "8000"));
    }
}

/* A server that does not know the member refuses it empty as well. */
static void output_config_goes_whole_where_a_server_refuses_it(void **state)
{
    struct bench *bench = *state;
    bench->request.model = STR("claude-opus-4-6");
    bench->params.effort = STR("high");
    render(bench, DIALECT_MESSAGES);
    has(bench, "\"output_config\":{\"effort\":\"high\"}");
    assert_int_equal(refuse(bench, MESSAGE("output_config: Extra inputs are not permitted")),
                     SENDS_EFFORT);
    assert_null(strstr(bench->again.p, "output_config"));
    bench->learnt = (struct dialect_learnt){0};
    bench->request.model = STR("claude-sonnet-4-5");
    bench->request.schema = STR(SCHEMA);
    bench->params.effort = STR_NONE;
    render(bench, DIALECT_MESSAGES);
    has(bench, "\"output_config\":{\"format\":");
    assert_int_equal(refuse(bench, MESSAGE("output_config.format: Extra inputs are not permitted")),
                     SENDS_FORMAT);
    assert_null(strstr(bench->again.p, "output_config"));
}

static void nothing_is_learnt_of_a_parameter_that_was_not_sent(void **state)
{
    struct bench *bench = *state;
    render(bench, DIALECT_CHAT);
    assert_int_equal(refuse(bench, MESSAGE("Unsupported parameter: 'temperature'")), 0);
    assert_int_equal(refuse(bench, MESSAGE("Unknown parameter: 'parallel_tool_calls'")), 0);
    assert_int_equal(bench->learnt.refused, 0);
}

static void a_word_of_running_text_is_not_a_parameter(void **state)
{
    struct bench *bench = *state;
    struct str stops[] = {STR("END")};
    bench->params.stop = (struct list){LIST_SET, stops, 1};
    bench->params.seed = 3;
    render(bench, DIALECT_CHAT);
    assert_int_equal(refuse(bench, MESSAGE("please stop sending invalid messages with a seed")), 0);
}

/* Errors that hold the request, or a part of it, and complain about something else. */
static void a_request_that_an_error_quotes_teaches_nothing(void **state)
{
    struct bench *bench = *state;
    static const char *const errors[] = {
        MESSAGE("Invalid request: {\\\"model\\\":\\\"m\\\", \\\"max_tokens\\\": 100, "
                "\\\"temperature\\\":0.2, \\\"stop\\\":[\\\"END\\\"]}: model not found"),
        MESSAGE(
            "request {\\\"temperature\\\":0.2,\\\"stream_options\\\":{}} is not supported: model "
            "unknown"),
        MESSAGE("Unsupported model: {'model': 'm', 'temperature': 0.2, 'top_p': 0.9, 'seed': 7"),
        MESSAGE("ChatRequest(model='m', temperature=0.2, top_p=0.9): model is not supported"),
        MESSAGE("invalid request: model=m, temperature=0.2: model not found"),
        MESSAGE("unknown model in {\\\"response_format\\\":{\\\"type\\\":\\\"json_schema\\\"}}"),
        MESSAGE("only the first model exists; got { temperature: 0.2, reasoning_effort: high }"),
        "cannot read {\"temperature\":0.2,\"seed\":7,\"stop\":[\"END\"]}",
        "{\"request\":{\"temperature\":0.2,\"seed\":7},\"reason\":\"unknown model\"}",
    };
    struct str stops[] = {STR("END")};
    bench->params = (struct model_params){.effort = STR("high"),
                                          .temperature = 0.2,
                                          .top_p = 0.9,
                                          .seed = 7,
                                          .stop = {LIST_SET, stops, 1}};
    bench->request.schema = STR(SCHEMA);
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        render(bench, DIALECT_CHAT);
        if (refuse(bench, errors[i]) != 0)
            fail_msg("something was learnt from %s", errors[i]);
    }
}

static void what_is_learnt_is_kept_by_provider_and_model(void **state)
{
    struct bench *bench = *state;
    struct dialects dialects;
    dialects_init(&dialects);
    bench->request.provider = STR("a");
    struct dialect_learnt *first = dialects_of(&dialects, &bench->request);
    assert_ptr_equal(dialects_of(&dialects, &bench->request), first);
    bench->request.model = STR("other");
    assert_ptr_not_equal(dialects_of(&dialects, &bench->request), first);
    bench->request.model = STR("m");
    bench->request.provider = STR("b");
    assert_ptr_not_equal(dialects_of(&dialects, &bench->request), first);
    dialects_release(&dialects);
}

static void an_answer_parts_a_result_from_the_user_where_roles_must_alternate(void **state)
{
    struct bench *bench = *state;
#define RESULT "{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"},{\\\"role\\\":\"}"
#define NOTE "{\"role\":\"user\",\"content\":\"hurry\"}"
#define FILLER "{\"role\":\"assistant\",\"content\":\"(continued)\"}"
#define CALLED "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[]}"
    bench->request.fragments = STR(NOTE "," CALLED "," RESULT "," RESULT "," NOTE);
    render(bench, DIALECT_CHAT);
    has(bench, RESULT "," NOTE);
    assert_int_equal(refuse(bench, MESSAGE("Unexpected role 'user' after role 'tool'")),
                     SENDS_USER_AFTER_TOOL);
    assert_non_null(
        strstr(bench->again.p, "[" NOTE "," CALLED "," RESULT "," RESULT "," FILLER "," NOTE "]"));
    render(bench, DIALECT_CHAT);
    has(bench, "[" NOTE "," CALLED "," RESULT "," RESULT "," FILLER "," NOTE "]");
    bench->learnt = (struct dialect_learnt){0};
    bench->request.provider = STR("mistral");
    render(bench, DIALECT_CHAT);
    has(bench, FILLER);
    bench->request.fragments = STR(NOTE "," CALLED "," RESULT "," CALLED "," NOTE);
    render(bench, DIALECT_CHAT);
    lacks(bench, FILLER);
    bench->request.provider = STR("other");
    render(bench, DIALECT_CHAT);
    assert_int_equal(refuse(bench, MESSAGE("conversation roles must alternate")), 0);
}

#define THOUGHT(members)                                                                           \
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"a\",\"function\":{"        \
    "\"name\":"                                                                                    \
    "\"x\",\"arguments\":\"{\\\"reasoning_content\\\":1}\"}}]" members "}"
#define CONTENT ",\"reasoning_content\":\"hm, \\\"reasoning\\\":\""
#define PLAIN ",\"reasoning\":\"hm\""
#define DETAILS ",\"reasoning_details\":[{\"text\":\"hm\"}]"
#define GROQ(name)                                                                                 \
    MESSAGE("'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : " \
            "property '" name "' is unsupported)]")

/* Groq, FastAPI, Mistral, Cerebras, and DeepSeek's older reasoner. */
static void reasoning_that_a_server_does_not_take_back_is_not_echoed_again(void **state)
{
    struct bench *bench = *state;
    static const struct {
        const char *error, *left;
        uint32_t refused;
    } cases[] = {
        {GROQ("reasoning_content"), THOUGHT(PLAIN DETAILS), SENDS_ECHOED_CONTENT},
        {GROQ("reasoning"), THOUGHT(CONTENT DETAILS), SENDS_ECHOED_TEXT},
        {GROQ("reasoning_details"), THOUGHT(CONTENT PLAIN), SENDS_ECHOED_DETAILS},
        {"{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":[\"body\",\"messages\",2,"
         "\"assistant\","
         "\"reasoning_content\"],\"msg\":\"Extra inputs are not permitted\",\"input\":\"hm\"}]}",
         THOUGHT(PLAIN DETAILS), SENDS_ECHOED_CONTENT},
        {"{\"object\":\"error\",\"message\":{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":["
         "\"body\",\"messages\",2,\"assistant\",\"reasoning\"],\"msg\":\"Extra inputs are not "
         "permitted\"}]}}",
         THOUGHT(CONTENT DETAILS), SENDS_ECHOED_TEXT},
        {"{\"message\":\"messages.2.assistant.reasoning_content: property "
         "'messages.2.assistant.reasoning_content' is unsupported\",\"type\":"
         "\"invalid_request_error\",\"param\":\"validation_error\",\"code\":\"wrong_api_format\"}",
         THOUGHT(PLAIN DETAILS), SENDS_ECHOED_CONTENT},
        {MESSAGE("The reasoning_content is an intermediate result for display purposes only and "
                 "will not be included in the context for inference. Please remove the "
                 "reasoning_content from your message to reduce network traffic."),
         THOUGHT(PLAIN DETAILS), SENDS_ECHOED_CONTENT},
    };
    bench->request.fragments =
        STR("{\"role\":\"user\",\"content\":\"u\"}," THOUGHT(CONTENT PLAIN DETAILS));
    bench->params.effort = STR("high");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench->learnt = (struct dialect_learnt){0};
        render(bench, DIALECT_CHAT);
        has(bench, THOUGHT(CONTENT PLAIN DETAILS));
        assert_int_equal(refuse(bench, cases[i].error), cases[i].refused);
        assert_non_null(strstr(bench->again.p, cases[i].left));
        assert_non_null(strstr(bench->again.p, "\"reasoning_effort\":\"high\""));
        render(bench, DIALECT_CHAT);
        has(bench, cases[i].left);
        has(bench, "\"reasoning_effort\":\"high\"");
    }
    bench->request.fragments = STR("{\"role\":\"user\",\"content\":\"\\\"reasoning\\\":\"}");
    bench->learnt = (struct dialect_learnt){0};
    render(bench, DIALECT_CHAT);
    assert_int_equal(refuse(bench, GROQ("reasoning_content")), 0);
}

/* DeepSeek, LiteLLM, Kimi: these want more of it and not less. */
static void reasoning_that_a_server_misses_is_echoed_still(void **state)
{
    struct bench *bench = *state;
    static const char *const errors[] = {
        MESSAGE("The `reasoning_content` in the thinking mode must be passed back to the API."),
        MESSAGE("messages[51]: assistant message with tool_calls must include reasoning_content"),
        MESSAGE("thinking is enabled but reasoning_content is missing in assistant tool call "
                "message at index 2"),
    };
    bench->request.fragments = STR(THOUGHT(CONTENT));
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        render(bench, DIALECT_CHAT);
        assert_int_equal(refuse(bench, errors[i]), 0);
    }
}

/* --- effort and sampling ---------------------------------------------------------------------- */

static void effort_is_mapped_to_the_nearest_that_the_model_knows(void **state)
{
    struct bench *bench = *state;
    static const struct {
        const char *model, *asked, *sent;
    } cases[] = {{"gpt-5", "none", "minimal"},  {"gpt-5", "xhigh", "high"},
                 {"gpt-5.1", "minimal", "low"}, {"gpt-5.2", "max", "xhigh"},
                 {"o3", "none", "low"},         {"qwen3", "max", "high"},
                 {"qwen3", "none", "none"},     {"gpt-5", "medium", "medium"}};
    char wanted[64];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench->request.model = str_from(cases[i].model);
        bench->params.effort = str_from(cases[i].asked);
        snprintf(wanted, sizeof wanted, "\"reasoning_effort\":\"%s\"", cases[i].sent);
        render(bench, DIALECT_CHAT);
        has(bench, wanted);
        snprintf(wanted, sizeof wanted, "\"reasoning\":{\"effort\":\"%s\",\"summary\":\"auto\"}",
                 cases[i].sent);
        render(bench, DIALECT_RESPONSES);
        has(bench, wanted);
    }
    bench->request.model = STR("gpt-4o");
    render(bench, DIALECT_CHAT);
    lacks(bench, "reasoning_effort");
    bench->request.model = STR("gpt-5");
    bench->params.effort = STR_NONE;
    render(bench, DIALECT_RESPONSES);
    lacks(bench, "\"reasoning\"");
}

static void reasoning_families_get_no_temperature(void **state)
{
    struct bench *bench = *state;
    bench->params.temperature = 0.5;
    bench->params.top_p = 0.9;
    bench->request.model = STR("gpt-5-mini");
    render(bench, DIALECT_CHAT);
    lacks(bench, "temperature");
    lacks(bench, "top_p");
    bench->request.model = STR("gpt-4.1");
    render(bench, DIALECT_RESPONSES);
    has(bench, "\"temperature\":0.5,\"top_p\":0.9");
}

static void what_the_table_keeps_from_a_request_is_known_for_a_notice(void **state)
{
    struct bench *bench = *state;
    static const struct {
        enum dialect_api api;
        const char *model, *effort;
        uint32_t withheld;
    } cases[] = {
        {DIALECT_CHAT, "gpt-4.1", "high", SENDS_EFFORT},
        {DIALECT_RESPONSES, "gpt-4.1", "high", SENDS_EFFORT},
        {DIALECT_CHAT, "gpt-5", "high", SENDS_TEMPERATURE},
        {DIALECT_RESPONSES, "gpt-5", "high", SENDS_TEMPERATURE},
        {DIALECT_MESSAGES, "claude-3-5-haiku-20241022", "high", SENDS_THINKING},
        {DIALECT_MESSAGES, "claude-opus-4-7", "high", SENDS_TEMPERATURE},
        /* A model that does not reason has the effort that was asked for. */
        {DIALECT_CHAT, "gpt-4.1", "none", 0},
        {DIALECT_MESSAGES, "claude-3-5-haiku-20241022", "none", 0},
        {DIALECT_CHAT, "qwen3", "high", 0},
    };
    const uint32_t wishes = SENDS_EFFORT | SENDS_THINKING | SENDS_TEMPERATURE;
    bench->params.temperature = 0.5;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench->request.model = str_from(cases[i].model);
        bench->params.effort = str_from(cases[i].effort);
        render(bench, cases[i].api);
        assert_int_equal(bench->dialect.withheld & bench->dialect.tabled & wishes,
                         cases[i].withheld);
    }
    bench->request.model = STR("qwen3");
    bench->learnt.refused = SENDS_TEMPERATURE;
    render(bench, DIALECT_CHAT);
    assert_int_equal(bench->dialect.withheld & bench->dialect.tabled & wishes, 0);
}

static void claude_thinks_within_its_limit_and_leaves_room_for_the_answer(void **state)
{
    struct bench *bench = *state;
    bench->request.model = STR("claude-sonnet-4-5-20250929");
    bench->params.effort = STR("high");
    bench->params.temperature = 0.5;
    bench->params.top_p = 0.5;
    bench->request.max_output_tokens = 32000;
    render(bench, DIALECT_MESSAGES);
    has(bench, "\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":20480}");
    lacks(bench, "temperature");
    lacks(bench, "top_p");
    lacks(bench, "output_config");
    bench->request.max_output_tokens = 8000;
    render(bench, DIALECT_MESSAGES);
    has(bench, "\"budget_tokens\":6000}");
    bench->request.max_output_tokens = 2000;
    render(bench, DIALECT_MESSAGES);
    lacks(bench, "thinking");
    has(bench, "\"temperature\":0.5");
    bench->params.effort = STR("none");
    bench->request.max_output_tokens = 32000;
    render(bench, DIALECT_MESSAGES);
    lacks(bench, "thinking");
}

static void claude_from_4_6_on_thinks_as_much_as_it_sees_fit(void **state)
{
    struct bench *bench = *state;
    bench->request.model = STR("claude-opus-4-6");
    bench->params.effort = STR("xhigh");
    render(bench, DIALECT_MESSAGES);
    has(bench, "\"thinking\":{\"type\":\"adaptive\"},\"output_config\":{\"effort\":\"max\"}");
    bench->request.model = STR("anthropic/claude-opus-4.7");
    bench->params.temperature = 0.5;
    render(bench, DIALECT_MESSAGES);
    has(bench, "\"output_config\":{\"effort\":\"xhigh\"}");
    bench->params.effort = STR_NONE;
    render(bench, DIALECT_MESSAGES);
    lacks(bench, "temperature");
    lacks(bench, "thinking");
    assert_int_equal(dialect_claude(STR("claude-opus-4-20250514")), 400);
    assert_int_equal(dialect_claude(STR("claude-3-7-sonnet-20250219")), 307);
    assert_int_equal(dialect_claude(STR("us.anthropic.claude-haiku-4-5-20251001-v1:0")), 405);
    assert_int_equal(dialect_claude(STR("claude-sonnet-5")), 500);
    assert_int_equal(dialect_claude(STR("kimi-k2")), 0);
}

static void a_model_that_asks_for_adaptive_thinking_gets_it(void **state)
{
    struct bench *bench = *state;
    bench->request.model = STR("claude-next");
    bench->params.effort = STR("high");
    render(bench, DIALECT_MESSAGES);
    has(bench, "\"type\":\"enabled\"");
    assert_int_equal(
        refuse(bench, MESSAGE("\\\"thinking.type.enabled\\\" is not supported for this "
                              "model. Use \\\"thinking.type.adaptive\\\" and "
                              "\\\"output_config.effort\\\"")),
        SENDS_THINKING);
    assert_non_null(strstr(bench->again.p, "\"thinking\":{\"type\":\"adaptive\"}"));
    render(bench, DIALECT_MESSAGES);
    has(bench, "\"thinking\":{\"type\":\"adaptive\"}");
    has(bench, "\"output_config\":{\"effort\":\"high\"}");
}

static void a_loop_of_calls_that_another_model_began_goes_on_without_budgeted_thoughts(void **state)
{
    struct bench *bench = *state;
    bench->request.model = STR("claude-sonnet-4-5");
    bench->params.effort = STR("high");
#define LOOP(thought)                                                                              \
    STR("U{\"type\":\"text\",\"text\":\"u\"}\n" thought                                            \
        "A{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"b\",\"input\":{}}\n"                      \
        "R{\"type\":\"tool_result\",\"tool_use_id\":\"a\"}\n")
    bench->request.fragments = LOOP("");
    render(bench, DIALECT_MESSAGES);
    lacks(bench, "budget_tokens");
    bench->request.fragments =
        LOOP("A{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}\n");
    render(bench, DIALECT_MESSAGES);
    has(bench, "budget_tokens");
}

/* --- structured output, caching --------------------------------------------------------------- */

static void a_schema_is_sent_where_it_does_not_disturb_tools(void **state)
{
    struct bench *bench = *state;
    const struct model_tool tool = {STR("read"), STR("Reads."), STR("{\"type\":\"object\"}")};
    bench->request.schema = STR(SCHEMA);
    render(bench, DIALECT_CHAT);
    has(bench, "\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"answer\","
               "\"schema\":" SCHEMA ",\"strict\":true}}");
    render(bench, DIALECT_RESPONSES);
    has(bench,
        "\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"answer\",\"schema\":" SCHEMA
        ",\"strict\":true}}");
    bench->request.tools = &tool;
    bench->request.tool_count = 1;
    render(bench, DIALECT_CHAT);
    lacks(bench, "response_format");
    bench->request.base_url = STR("https://api.openai.com/v1");
    render(bench, DIALECT_CHAT);
    has(bench, "response_format");
    bench->request.schema = STR(LOOSE);
    render(bench, DIALECT_CHAT);
    has(bench, "\"schema\":" LOOSE "}}");
    bench->request.schema = STR(SCHEMA);
    bench->request.model = STR("claude-haiku-4-5");
    render(bench, DIALECT_MESSAGES);
    has(bench, "\"output_config\":{\"format\":{\"type\":\"json_schema\",\"schema\":" SCHEMA "}}");
    bench->request.schema = STR(LOOSE);
    render(bench, DIALECT_MESSAGES);
    lacks(bench, "output_config");
    bench->request.schema = STR(SCHEMA);
    bench->request.model = STR("claude-opus-4-20250514");
    render(bench, DIALECT_MESSAGES);
    lacks(bench, "output_config");
}

static void the_cache_key_is_for_openai_alone(void **state)
{
    struct bench *bench = *state;
    render(bench, DIALECT_CHAT);
    lacks(bench, "prompt_cache_key");
    bench->request.base_url = STR("https://api.openai.com/v1");
    render(bench, DIALECT_CHAT);
    has(bench, "\"prompt_cache_key\":\"run1\"");
    render(bench, DIALECT_RESPONSES);
    has(bench, "\"prompt_cache_key\":\"run1\"");
}

static size_t count_of(const char *text, const char *needle)
{
    size_t count = 0;
    for (; (text = strstr(text, needle)); text++)
        count++;
    return count;
}

static void at_most_four_places_are_marked_for_the_cache(void **state)
{
    struct bench *bench = *state;
    const struct model_tool tools[] = {{STR("a"), STR("A."), STR("{\"type\":\"object\"}")},
                                       {STR("b"), STR("B."), STR("{\"type\":\"object\"}")}};
#define SAID(kind, text) kind "{\"type\":\"text\",\"text\":\"" text "\"}\n"
    bench->request.fragments = STR(SAID("S", "s1") SAID("S", "s2") SAID("U", "u1") SAID(
        "A", "a1") SAID("U", "u2") SAID("A", "a2") SAID("U", "u3") SAID("U", "u4"));
    bench->request.tools = tools;
    bench->request.tool_count = 2;
    render(bench, DIALECT_MESSAGES);
    assert_int_equal(count_of(bench->body.p, "cache_control"), 4);
#define MARKED(text) text "\",\"cache_control\":{\"type\":\"ephemeral\"}}"
    has(bench, MARKED("s2"));
    has(bench, MARKED("u2"));
    has(bench, MARKED("u4"));
    has(bench,
        "\"input_schema\":{\"type\":\"object\"},\"cache_control\":{\"type\":\"ephemeral\"}}],"
        "\"system\":");
    const char *tools_at = strstr(bench->body.p, "\"tools\":"),
               *system_at = strstr(bench->body.p, "\"system\":"),
               *messages_at = strstr(bench->body.p, "\"messages\":");
    assert_true(tools_at < system_at && system_at < messages_at);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(the_output_limit_has_the_name_that_the_family_takes),
        CASE(an_output_limit_that_is_too_high_is_lowered_to_what_the_server_takes),
        CASE(models_of_ollama_that_do_not_think_are_asked_without_an_effort),
        CASE(mistral_names_a_parameter_inside_of_its_message),
        CASE(the_output_limit_changes_its_name_and_never_vanishes),
        CASE(an_error_about_a_limits_value_or_the_window_teaches_nothing),
        CASE(a_parameter_that_an_error_names_is_left_out_from_then_on),
        CASE(output_config_goes_whole_where_a_server_refuses_it),
        CASE(nothing_is_learnt_of_a_parameter_that_was_not_sent),
        CASE(a_word_of_running_text_is_not_a_parameter),
        CASE(a_request_that_an_error_quotes_teaches_nothing),
        CASE(what_is_learnt_is_kept_by_provider_and_model),
        CASE(an_answer_parts_a_result_from_the_user_where_roles_must_alternate),
        CASE(reasoning_that_a_server_does_not_take_back_is_not_echoed_again),
        CASE(reasoning_that_a_server_misses_is_echoed_still),
        CASE(effort_is_mapped_to_the_nearest_that_the_model_knows),
        CASE(reasoning_families_get_no_temperature),
        CASE(what_the_table_keeps_from_a_request_is_known_for_a_notice),
        CASE(claude_thinks_within_its_limit_and_leaves_room_for_the_answer),
        CASE(claude_from_4_6_on_thinks_as_much_as_it_sees_fit),
        CASE(a_model_that_asks_for_adaptive_thinking_gets_it),
        CASE(a_loop_of_calls_that_another_model_began_goes_on_without_budgeted_thoughts),
        CASE(a_schema_is_sent_where_it_does_not_disturb_tools),
        CASE(the_cache_key_is_for_openai_alone),
        CASE(at_most_four_places_are_marked_for_the_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
