/* The scripted model's Messages API: it refuses what the real API refuses, in its words, and accepts the nearest request
 * that keeps the rule (each rule is one row with both twins); and its answers are what the real API sends. */
#include "unit/scripted_client.h"

#define HI "'messages':[{'role':'user','content':'hi'}]"
#define WITH(rest) "{'model':'scripted','max_tokens':50," HI "," rest "}"
#define TOOLS "'tools':[{'name':'f','input_schema':{'type':'object'}}]"
#define MESSAGES(list) "{'model':'scripted','max_tokens':50," TOOLS ",'messages':[" list "]}"
#define USER(blocks) "{'role':'user','content':[" blocks "]}"
#define ASSISTANT(blocks) "{'role':'assistant','content':[" blocks "]}"
#define TEXT(text) "{'type':'text','text':'" text "'}"
#define CALL(id) "{'type':'tool_use','id':'" id "','name':'f','input':{}}"
#define RESULT(id) "{'type':'tool_result','tool_use_id':'" id "','content':'done'}"
#define CALLED(calls, results) MESSAGES(USER(TEXT("hi")) "," ASSISTANT(calls) "," USER(results))
#define TOOL(tool) WITH("'tools':[" tool "]")
#define MARK(text) "{'type':'text','text':'" text "','cache_control':{'type':'ephemeral'}}"

static const char script[] =
    "{'models':[{'id':'scripted','window':1000,'max_output':500}],'rules':["
    "{'when':{'first_user':'think'},'reply':{'thinking':'so it is','text':'right'}},"
    "{'when':{'first_user':'call','turn':0},'reply':{'text':'Let me.','calls':[{'name':'read',"
    "'arguments':{'path':'a.txt'}},{'name':'ls'}]}},"
    "{'when':{'first_user':'call','turn':1,'last':'two'},'reply':{'text':'{{last}} {{turn}}'}},"
    "{'when':{'system':'rude'},'reply':{'text':'no'}},"
    "{'when':{'first_user':'busy'},'reply':{'status':529,'error':'Overloaded'}},"
    "{'when':{'first_user':'cached'},'reply':{'text':'x','usage':{'prompt_tokens':100,"
    "'completion_tokens':5,'prompt_tokens_details':{'cached_tokens':60}}}},"
    "{'reply':{'text':'hello'}}]}";

static struct response post(struct scripted *server, const char *body, const char *header)
{
    struct buf text;
    buf_init(&text, 1u << 24);
    struct request request = {
        .path = "/v1/messages", .header = header, .body = json_text(&text, body)};
    struct response response = request_send(scripted_port(server), &request);
    buf_release(&text);
    return response;
}

/* curl takes several headers as one text. */
#define HEADERS                                                                                    \
    "Content-Type: application/json\r\nx-api-key: sk-any\r\nanthropic-version: 2023-06-01"

struct rule {
    const char *name;
    const char *refused;
    const char *message; /* a part of it */
    const char *accepted;
};

static const struct rule rules[] = {
    {"the body is valid JSON", "{'model':", "The request body is not valid JSON",
     WITH("'top_k':5")},
    {"unknown fields are refused", WITH("'n':1"), "n: Extra inputs are not permitted",
     WITH("'top_p':1")},
    {"thinking has a known type", WITH("'thinking':{'type':'deep'}"),
     "thinking: Input tag 'deep' found using 'type' does not match any of the expected tags",
     WITH("'thinking':{'type':'adaptive'}")},
    {"a thinking budget is at least 1024",
     "{'model':'scripted','max_tokens':500," HI
     ",'thinking':{'type':'enabled','budget_tokens':400}}",
     "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
     WITH("'thinking':{'type':'disabled'}")},
    {"a thinking budget is below max_tokens",
     WITH("'thinking':{'type':'enabled','budget_tokens':1024}"),
     "`max_tokens` must be greater than `thinking.budget_tokens`",
     WITH("'thinking':{'type':'adaptive','display':'omitted'}")},
    {"thinking has temperature 1", WITH("'thinking':{'type':'adaptive'},'temperature':0.5"),
     "`temperature` may only be set to 1", WITH("'thinking':{'type':'adaptive'},'temperature':1")},
    {"thinking has a high top_p", WITH("'thinking':{'type':'adaptive'},'top_p':0.5"),
     "`top_p` must be greater than or equal to 0.95",
     WITH("'thinking':{'type':'disabled'},'top_p':0.5")},
    {"output_config is known", WITH("'output_config':{'format_':{}}"),
     "output_config.format_: Extra inputs are not permitted", WITH("'output_config':{}")},
    {"an effort is known", WITH("'output_config':{'effort':'most'}"),
     "output_config.effort: Input should be", WITH("'output_config':{'effort':'max'}")},
    {"an output format is a schema",
     WITH("'output_config':{'format':{'type':'json','schema':{'type':'string'}}}"),
     "output_config.format.type: Input should be 'json_schema'",
     WITH("'output_config':{'format':{'type':'json_schema','schema':{'type':'string'}}}")},
    {"objects of an output format are closed",
     WITH("'output_config':{'format':{'type':'json_schema','schema':{'type':'array','items':{"
          "'type':'object','properties':{}}}}}"),
     "'additionalProperties' must be explicitly set to false",
     WITH("'output_config':{'format':{'type':'json_schema','schema':{'type':'array','items':{"
          "'type':'object','properties':{},'additionalProperties':false}}}}")},
    {"max_tokens is required", "{'model':'scripted'," HI "}", "max_tokens: Field required",
     "{'model':'scripted','max_tokens':1," HI "}"},
    {"max_tokens is positive", "{'model':'scripted','max_tokens':0," HI "}",
     "max_tokens: Input should be greater than or equal to 1",
     "{'model':'scripted','max_tokens':1," HI "}"},
    {"max_tokens is the model's at most", "{'model':'scripted','max_tokens':501," HI "}",
     "max_tokens: 501 > 500, which is the maximum allowed number of output tokens for scripted",
     "{'model':'scripted','max_tokens':500," HI "}"},
    {"the model exists", "{'model':'other','max_tokens':1," HI "}", "model: other",
     "{'model':'scripted','max_tokens':1," HI "}"},
    {"the temperature ends at 1", WITH("'temperature':1.5"), "temperature: range: 0..1",
     WITH("'temperature':1")},
    {"there is a message", MESSAGES(""), "messages: at least one message is required",
     MESSAGES(USER(TEXT("a")))},
    {"system is no role", MESSAGES("{'role':'system','content':'a'}," USER(TEXT("a"))),
     "messages: Unexpected role \\\"system\\\"", WITH("'system':'a'")},
    {"roles are known", MESSAGES("{'role':'tool','content':'a'}"), "Unexpected role \\\"tool\\\"",
     MESSAGES("{'role':'user','content':'a'}")},
    {"the user begins", MESSAGES(ASSISTANT(TEXT("a"))),
     "messages: first message must use the \\\"user\\\" role", MESSAGES(USER(TEXT("a")))},
    {"roles alternate", MESSAGES(USER(TEXT("a")) "," USER(TEXT("b"))),
     "roles must alternate between", MESSAGES(USER(TEXT("a") "," TEXT("b")))},
    {"messages have no unknown fields", MESSAGES("{'role':'user','content':'a','name':'x'}"),
     "messages.0.name: Extra inputs are not permitted", MESSAGES("{'role':'user','content':'a'}")},
    {"content is not empty", MESSAGES("{'role':'user','content':[]}"),
     "messages.0: all messages must have non-empty content", MESSAGES(USER(TEXT("a")))},
    {"text is not empty", MESSAGES(USER(TEXT(""))), "text content blocks must be non-empty",
     MESSAGES(USER(TEXT("a")))},
    {"text is not blank", MESSAGES(USER(TEXT(" \\n"))),
     "text content blocks must contain non-whitespace text", MESSAGES(USER(TEXT(" a")))},
    {"system text is not empty", WITH("'system':[" TEXT("") "]"),
     "system: text content blocks must be non-empty", WITH("'system':[" TEXT("a") "]")},
    {"blocks are known", MESSAGES(USER("{'type':'video'}")),
     "messages.0.content.0: Input tag 'video'", MESSAGES(USER(TEXT("a")))},
    {"blocks have no unknown fields", MESSAGES(USER("{'type':'text','text':'a','x':1}")),
     "messages.0.content.0.text.x: Extra inputs are not permitted", MESSAGES(USER(TEXT("a")))},
    {"users do not call", MESSAGES(USER(CALL("a"))),
     "`tool_use` blocks can only be in `assistant` messages", CALLED(CALL("a"), RESULT("a"))},
    {"assistants have no results", MESSAGES(USER(TEXT("a")) "," ASSISTANT(RESULT("a"))),
     "`tool_result` blocks can only be in `user` messages", CALLED(CALL("a"), RESULT("a"))},
    {"input is an object",
     CALLED("{'type':'tool_use','id':'a','name':'f','input':'{}'}", RESULT("a")),
     "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
     CALLED(CALL("a"), RESULT("a"))},
    {"ids match the pattern", CALLED(CALL("a.b"), RESULT("a.b")),
     "messages.1.content.0.tool_use.id: String should match pattern",
     CALLED(CALL("a-b_1"), RESULT("a-b_1"))},
    {"ids are unique", CALLED(CALL("a") "," CALL("a"), RESULT("a")),
     "messages.1.content.1: `tool_use` ids must be unique",
     CALLED(CALL("a") "," CALL("b"), RESULT("b") "," RESULT("a"))},
    {"a result has its call", CALLED(CALL("a"), RESULT("a") "," RESULT("b")),
     "messages.2.content.1: unexpected `tool_use_id` found in `tool_result` blocks: b",
     CALLED(CALL("a") "," CALL("b"), RESULT("a") "," RESULT("b"))},
    {"a call has one result", CALLED(CALL("a"), RESULT("a") "," RESULT("a")),
     "each tool_use must have a single result", CALLED(CALL("a"), RESULT("a"))},
    {"calls are answered in the next message", CALLED(CALL("a") "," CALL("b"), RESULT("a")),
     "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: b",
     CALLED(CALL("a") "," CALL("b"), RESULT("a") "," RESULT("b"))},
    {"calls are answered at the end", MESSAGES(USER(TEXT("a")) "," ASSISTANT(CALL("a"))),
     "messages.1: `tool_use` ids were found without", CALLED(CALL("a"), RESULT("a"))},
    {"results come before text", CALLED(CALL("a"), TEXT("x") "," RESULT("a")),
     "messages.1: `tool_use` ids were found without", CALLED(CALL("a"), RESULT("a") "," TEXT("x"))},
    {"a result does not come late",
     MESSAGES(USER(TEXT("a")) "," ASSISTANT(CALL("a")) "," USER(RESULT("a")) "," ASSISTANT(
         TEXT("b")) "," USER(RESULT("a"))),
     "messages.4.content.0: unexpected `tool_use_id`", CALLED(CALL("a"), RESULT("a"))},
    {"an error says something",
     CALLED(CALL("a"), "{'type':'tool_result','tool_use_id':'a','is_error':true}"),
     "content cannot be empty if `is_error` is true",
     CALLED(CALL("a"), "{'type':'tool_result','tool_use_id':'a'}")},
    {"calls need tools",
     "{'model':'scripted','max_tokens':50,'messages':[" USER(TEXT("hi")) "," ASSISTANT(
         CALL("a")) "," USER(RESULT("a")) "]}",
     "must define tools", CALLED(CALL("a"), RESULT("a"))},
    {"thoughts are signed",
     MESSAGES(USER(TEXT("a")) "," ASSISTANT("{'type':'thinking','thinking':'x'}," TEXT("b"))),
     "messages.1.content.0.thinking.signature: Field required", MESSAGES(USER(TEXT("a")))},
    {"signatures are checked",
     MESSAGES(USER(TEXT("a")) "," ASSISTANT(
         "{'type':'thinking','thinking':'x','signature':'y'}," TEXT("b"))),
     "messages.1.content.0: Invalid `signature` in `thinking` block", MESSAGES(USER(TEXT("a")))},
    {"thoughts do not end a message",
     MESSAGES(USER(TEXT("a")) "," ASSISTANT(
         TEXT("b") ",{'type':'redacted_thinking','data':'y'}") "," USER(TEXT("c"))),
     "The final block in an assistant message cannot be `thinking`",
     MESSAGES(USER(TEXT("a")) "," ASSISTANT(
         "{'type':'redacted_thinking','data':'y'}," TEXT("b")) "," USER(TEXT("c")))},
    {"a last assistant text does not end in white space",
     MESSAGES(USER(TEXT("a")) "," ASSISTANT(TEXT("b "))),
     "final assistant content cannot end with trailing whitespace",
     MESSAGES(USER(TEXT("a")) "," ASSISTANT(TEXT("b")))},
    {"four blocks may be marked",
     MESSAGES(USER(MARK("1") "," MARK("2") "," MARK("3") "," MARK("4") "," MARK("5"))),
     "A maximum of 4 blocks with cache_control may be provided. Found 5.",
     MESSAGES(USER(MARK("1") "," MARK("2") "," MARK("3") "," MARK("4")))},
    {"tools have a schema", TOOL("{'name':'f'}"), "tools.0.custom.input_schema: Field required",
     TOOL("{'name':'f','input_schema':{'type':'object'}}")},
    {"schemas are of objects", TOOL("{'name':'f','input_schema':{'type':'string'}}"),
     "tools.0.custom.input_schema.type: Input should be 'object'",
     TOOL("{'name':'f','input_schema':{'type':'object'}}")},
    {"tool names match the pattern", TOOL("{'name':'f g','input_schema':{'type':'object'}}"),
     "tools.0.custom.name: String should match pattern",
     TOOL("{'name':'f-G_1','input_schema':{'type':'object'}}")},
    {"tool names are unique",
     TOOL("{'name':'f','input_schema':{'type':'object'}},{'name':'f','input_schema':{'type':"
          "'object'}}"),
     "tools: Tool names must be unique.", TOOL("{'name':'f','input_schema':{'type':'object'}}")},
    {"a choice needs tools", WITH("'tool_choice':{'type':'auto'}"),
     "tool_choice: may only be specified while providing tools",
     WITH(TOOLS ",'tool_choice':{'type':'none'}")},
    {"a choice is known", WITH(TOOLS ",'tool_choice':{'type':'required'}"),
     "tool_choice: Input tag 'required'", WITH(TOOLS ",'tool_choice':{'type':'tool','name':'f'}")},
};

static void check_refused(const struct rule *rule, const struct response *response)
{
    struct js *document = document_of(response);
    const char *type = response->status == 404 ? "not_found_error" : "invalid_request_error";
    struct buf wanted;
    buf_init(&wanted, 1000);
    for (const char *c = rule->message; *c != '\0'; c++)
        if (*c != '\\')
            buf_char(&wanted, *c);
    if (response->status != 400 && response->status != 404)
        fail_msg("%s: status %ld", rule->name, response->status);
    assert_true(str_is(js_get_str(document, "type"), "error"));
    assert_true(str_is(js_get_str(js_get(document, "error"), "type"), type));
    struct str message = js_get_str(js_get(document, "error"), "message");
    if (memmem(message.p, message.n, wanted.p, wanted.n) == NULL)
        fail_msg("%s: %.*s", rule->name, STR_FMT(message));
    buf_release(&wanted);
    js_free(document);
}

static void what_the_real_api_refuses_is_refused_in_its_words(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    size_t count = sizeof rules / sizeof rules[0];
    for (size_t i = 0; i < count; i++) {
        struct response response = post(server, rules[i].refused, HEADERS);
        check_refused(&rules[i], &response);
        response_release(&response);
        response = post(server, rules[i].accepted, HEADERS);
        if (response.status != 200)
            fail_msg("%s: %.*s", rules[i].name, STR_FMT(buf_view(&response.body)));
        response_release(&response);
    }
    struct scripted_stats stats = stats_of(server);
    assert_int_equal(stats.refused, count);
    assert_int_equal(stats.accepted, count);
    assert_int_equal(stats.requests, 2 * count);
    scripted_stop(server);
}

static void the_window_holds_prompt_and_output(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    struct buf body;
    buf_init(&body, 100000);
    const struct {
        int bytes;
        const char *message;
    } rows[] = {{4004, "prompt is too long: 1001 tokens > 1000 maximum"},
                {3996, "exceed context limit: 999 + 50 > 1000"},
                {3800, NULL}};
    for (size_t i = 0; i < 3; i++) {
        buf_clear(&body);
        buf_printf(&body,
                   "{'model':'scripted','max_tokens':50,'messages':[{'role':'user',"
                   "'content':'%0*d'}]}",
                   rows[i].bytes, 1);
        struct response response = post(server, body.p, HEADERS);
        assert_int_equal(response.status, rows[i].message != NULL ? 400 : 200);
        if (rows[i].message != NULL)
            assert_contains(buf_view(&response.body), rows[i].message);
        response_release(&response);
    }
    buf_release(&body);
    scripted_stop(server);
}

static void key_and_version_are_required(void **state)
{
    struct scripted *server = server_start(script, "sk-right", 1);
    const struct {
        const char *header;
        long status;
        const char *message;
    } rows[] = {
        {"Content-Type: application/json\r\nanthropic-version: 2023-06-01", 401,
         "{\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"x-api-key "
         "header is required\"}}"},
        {HEADERS, 401, "invalid x-api-key"},
        {"Content-Type: application/json\r\nx-api-key: sk-right", 400,
         "anthropic-version: header is required"},
        {"Content-Type: application/json\r\nx-api-key: sk-right\r\nanthropic-version: 2023-06-01",
         200, "hello"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct response response = post(server, WITH("'stream':false"), rows[i].header);
        assert_int_equal(response.status, rows[i].status);
        assert_contains(buf_view(&response.body), rows[i].message);
        response_release(&response);
    }
    scripted_stop(server);
}

/* --- answers ------------------------------------------------------------------------------------------ */

static struct response say(struct scripted *server, const char *first_user, const char *rest)
{
    struct buf body;
    buf_init(&body, 10000);
    buf_printf(&body, "{'model':'scripted','max_tokens':50,%s'messages':[" USER(TEXT("%s")) "]}",
               rest, first_user);
    struct response response = post(server, body.p, HEADERS);
    assert_int_equal(response.status, 200);
    buf_release(&body);
    return response;
}

static void a_whole_answer_is_a_message(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    struct response response = say(server, "call", "");
    struct js *document = document_of(&response);
    const struct js *content = js_get(document, "content");
    assert_true(str_is(js_get_str(document, "type"), "message"));
    assert_true(str_is(js_get_str(document, "stop_reason"), "tool_use"));
    assert_true(str_starts(js_get_str(document, "id"), STR("msg_")));
    assert_int_equal(js_count(content), 3);
    assert_true(str_is(js_get_str(js_at(content, 0), "text"), "Let me."));
    assert_true(str_starts(js_get_str(js_at(content, 1), "id"), STR("toolu_")));
    assert_true(str_is(js_get_str(js_get(js_at(content, 1), "input"), "path"), "a.txt"));
    assert_int_equal(js_kind(js_get(js_at(content, 2), "input")), JS_OBJECT);
    js_free(document);
    response_release(&response);
    scripted_stop(server);
}

/* The types of a stream's events, one letter each, in order. */
static void check_order(const struct response *response, const char *expected)
{
    static const struct {
        const char *type;
        char letter;
    } letters[] = {{"message_start", 'S'},       {"ping", 'p'},
                   {"content_block_start", '('}, {"content_block_delta", 'd'},
                   {"content_block_stop", ')'},  {"message_delta", 'D'},
                   {"message_stop", 'E'}};
    struct str rest = buf_view(&response->body);
    char order[200] = "";
    size_t n = 0;
    while (rest.n > 0 && n < sizeof order - 1) {
        const char *end = memmem(rest.p, rest.n, "\n\n", 2);
        const char *data = memmem(rest.p, rest.n, "\ndata: {\"type\":\"", 16);
        assert_non_null(end);
        assert_non_null(data);
        assert_true(str_starts(rest, STR("event: ")));
        struct str type = {rest.p + 7, (size_t)(data - rest.p) - 7};
        assert_memory_equal(type.p, data + 16, type.n);
        for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
            if (str_is(type, letters[i].type))
                order[n++] = letters[i].letter;
        rest = (struct str){end + 2, rest.n - (size_t)(end - rest.p) - 2};
    }
    assert_string_equal(order, expected);
}

static void a_stream_has_the_events_of_the_real_api(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    struct response response = say(server, "call", "'stream':true,");
    check_order(&response, "Sp(pdd)(ddddd)(dd)DE");
    response_release(&response);
    scripted_stop(server);
}

static void thoughts_are_signed_and_taken_back_unchanged_only(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    struct response response = say(server, "think", "");
    struct js *document = document_of(&response);
    const struct js *thought = js_at(js_get(document, "content"), 0);
    assert_true(str_is(js_get_str(thought, "thinking"), "so it is"));
    const char *thoughts[] = {"so it is", "so it was"};
    const long statuses[] = {200, 400};
    for (size_t i = 0; i < 2; i++) {
        struct buf body;
        buf_init(&body, 10000);
        buf_printf(&body,
                   MESSAGES(USER(TEXT("a")) "," ASSISTANT(
                       "{'type':'thinking','thinking':"
                       "'%s','signature':'%.*s'}," TEXT("b")) "," USER(TEXT("c"))),
                   thoughts[i], STR_FMT(js_get_str(thought, "signature")));
        struct response echoed = post(server, body.p, HEADERS);
        assert_int_equal(echoed.status, statuses[i]);
        response_release(&echoed);
        buf_release(&body);
    }
    js_free(document);
    response_release(&response);
    scripted_stop(server);
}

static void check_says(struct scripted *server, const char *body, const char *expected)
{
    struct response response = post(server, body, HEADERS);
    struct js *document = document_of(&response);
    struct str text = js_get_str(js_at(js_get(document, "content"), 0), "text");
    if (!str_is(text, expected))
        fail_msg("expected '%s': %.*s", expected, STR_FMT(buf_view(&response.body)));
    js_free(document);
    response_release(&response);
}

static void rules_match_as_for_chat_requests(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    check_says(server,
               MESSAGES(USER(TEXT("call")) "," ASSISTANT(CALL("a") "," CALL("b")) "," USER(RESULT(
                   "a") ",{'type':'tool_result','tool_use_id':'b','content':[" TEXT("two") "]}")),
               "two 1");
    check_says(server,
               MESSAGES(USER(TEXT("call")) "," ASSISTANT(CALL("a")) "," USER(
                   RESULT("a") "," TEXT("two of them"))),
               "two of them 1");
    check_says(server, WITH("'system':[" TEXT("be rude") "]"), "no");
    check_says(server, WITH("'system':'be rude'"), "no");
    scripted_stop(server);
}

static void a_reply_is_cut_at_the_limit(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    struct response response = post(server, "{'model':'scripted','max_tokens':1," HI "}", HEADERS);
    assert_contains(buf_view(&response.body), "{\"type\":\"text\",\"text\":\"hell\"}");
    assert_contains(buf_view(&response.body), "\"stop_reason\":\"max_tokens\"");
    response_release(&response);
    scripted_stop(server);
}

static void failures_have_the_shape_of_the_api(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    struct response response = post(server, MESSAGES(USER(TEXT("busy"))), HEADERS);
    assert_int_equal(response.status, 529);
    assert_contains(buf_view(&response.body),
                    "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":"
                    "\"Overloaded\"}}");
    assert_int_equal(stats_of(server).failures, 1);
    response_release(&response);
    scripted_stop(server);
}

static void usage_counts_cached_tokens_apart_and_is_tallied(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    struct response response = say(server, "cached", "'stream':true,");
    assert_contains(buf_view(&response.body),
                    "\"usage\":{\"input_tokens\":40,\"cache_creation_input_tokens\":0,"
                    "\"cache_read_input_tokens\":60,\"output_tokens\":1}");
    assert_contains(buf_view(&response.body), "\"output_tokens\":5}");
    assert_int_equal(stats_of(server).prompt_tokens, 100);
    assert_int_equal(stats_of(server).completion_tokens, 5);
    response_release(&response);
    scripted_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_real_api_refuses_is_refused_in_its_words),
        cmocka_unit_test(the_window_holds_prompt_and_output),
        cmocka_unit_test(key_and_version_are_required),
        cmocka_unit_test(a_whole_answer_is_a_message),
        cmocka_unit_test(a_stream_has_the_events_of_the_real_api),
        cmocka_unit_test(thoughts_are_signed_and_taken_back_unchanged_only),
        cmocka_unit_test(rules_match_as_for_chat_requests),
        cmocka_unit_test(a_reply_is_cut_at_the_limit),
        cmocka_unit_test(failures_have_the_shape_of_the_api),
        cmocka_unit_test(usage_counts_cached_tokens_apart_and_is_tallied),
    };
    curl_global_init(CURL_GLOBAL_DEFAULT);
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    curl_global_cleanup();
    return result;
}
