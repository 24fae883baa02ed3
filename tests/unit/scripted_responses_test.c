/* The scripted model's Responses API: it refuses what the real API refuses, in its words, and accepts the nearest request
 * that keeps the rule (each rule is one row with both twins); and its answers are what the real API sends. */
#include "unit/scripted_client.h"

#define HI "'input':'hi'"
#define WITH(rest) "{'model':'scripted'," HI "," rest "}"
#define INPUT(list) "{'model':'scripted','store':false,'input':[" list "]}"
#define OLD(rest) "{'model':'gpt-4.1'," rest "}"
#define MESSAGE(role, type, text)                                                                  \
    "{'type':'message','role':'" role "','content':[{'type':'" type "','text':'" text "'}]}"
#define USER(text) MESSAGE("user", "input_text", text)
#define ASSISTANT(text) MESSAGE("assistant", "output_text", text)
#define CALL(id) "{'type':'function_call','call_id':'" id "','name':'f','arguments':'{}'}"
#define OUTPUT(id) "{'type':'function_call_output','call_id':'" id "','output':'done'}"
#define REASONING(rest) "{'type':'reasoning','id':'rs_1','summary':[]" rest "}"
#define SEALED                                                                                     \
    "{'type':'reasoning','id':'rs_1','summary':[{'type':'summary_text','text':'%s'}],"             \
    "'encrypted_content':'%.*s'}"
#define TOOL(tool) WITH("'tools':[" tool "]")
#define FUNCTION(rest) "{'type':'function','name':'f'" rest "}"
#define SCHEMA ",'parameters':{'type':'object','properties':{'a':{'type':'string'}}}"
#define STRICT                                                                                     \
    ",'strict':true,'parameters':{'type':'object','properties':{'a':{'type':'string'}},"           \
    "'required':['a'],'additionalProperties':false}"
#define LONG_ID "0123456789012345678901234567890123456789012345678901234567890123"

static const char script[] =
    "{'models':[{'id':'scripted','window':1000,'max_output':500},"
    "{'id':'gpt-4.1','window':1000,'max_output':500}],'rules':["
    "{'when':{'first_user':'think'},'reply':{'thinking':'so it is','text':'right'}},"
    "{'when':{'first_user':'call','turn':0},'reply':{'text':'Let me.','calls':[{'name':'read',"
    "'arguments':{'path':'a.txt'}},{'name':'ls'}]}},"
    "{'when':{'first_user':'call','turn':1,'last':'two'},'reply':{'text':'{{last}} {{turn}}'}},"
    "{'when':{'first_user':'call','turn':2},'reply':{'text':'{{last}} {{turn}}'}},"
    "{'when':{'system':'rude'},'reply':{'text':'no'}},"
    "{'when':{'first_user':'busy'},'reply':{'status':429,'error':'slow'}},"
    "{'when':{'first_user':'long'},'reply':{'calls':[{'name':'write','arguments':{'text':"
    "'a very long text that does not fit into the limit of sixteen tokens by any count'}}]}},"
    "{'when':{'first_user':'cached'},'reply':{'text':'x','usage':{'prompt_tokens':100,"
    "'completion_tokens':5,'prompt_tokens_details':{'cached_tokens':60},"
    "'completion_tokens_details':{'reasoning_tokens':3}}}},"
    "{'reply':{'text':'hello'}}]}";

static struct response post(struct scripted *server, const char *body, const char *key)
{
    struct buf text;
    buf_init(&text, 1u << 24);
    struct request request = {.path = "/v1/responses", .key = key, .body = json_text(&text, body)};
    struct response response = request_send(scripted_port(server), &request);
    buf_release(&text);
    return response;
}

struct rule {
    const char *name;
    const char *refused;
    const char *message; /* a part of it, with ' for " */
    const char *param;   /* NULL: null */
    const char *accepted;
};

static const struct rule rules[] = {
    {"the body is valid JSON", "{'model':", "We could not parse the JSON body", NULL,
     WITH("'top_p':1")},
    {"unknown fields are refused", WITH("'max_tokens':100"), "Unknown parameter: 'max_tokens'.",
     "max_tokens", WITH("'max_output_tokens':100")},
    {"messages are called input", "{'model':'scripted','input':'a','messages':[]}",
     "Unknown parameter: 'messages'.", "messages", WITH("'store':false")},
    {"there is a model", "{" HI "}", "Missing required parameter: 'model'.", "model",
     "{'model':'scripted'," HI "}"},
    {"the model is a string", "{'model':7," HI "}",
     "Invalid type for 'model': expected a string, but got an integer instead.", "model",
     "{'model':'scripted'," HI "}"},
    {"the model exists", "{'model':'other'," HI "}", "The requested model 'other' does not exist.",
     "model", "{'model':'scripted'," HI "}"},
    {"there is input", "{'model':'scripted'}", "One of 'input' or 'previous_response_id'", "input",
     "{'model':'scripted','input':[" USER("a") "]}"},
    {"input is not empty", INPUT(""), "One of 'input' or 'previous_response_id'", "input",
     INPUT(USER("a"))},
    {"nothing was stored", WITH("'previous_response_id':'resp_1'"),
     "Previous response with id 'resp_1' not found.", "previous_response_id",
     WITH("'previous_response_id':null")},
    {"the output limit is 16 at least", WITH("'max_output_tokens':15"),
     "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got "
     "15 instead.",
     "max_output_tokens", WITH("'max_output_tokens':16")},
    {"the output limit is the model's at most", WITH("'max_output_tokens':501"),
     "max_output_tokens is too large: 501", "max_output_tokens", WITH("'max_output_tokens':500")},
    {"the temperature ends at 2", WITH("'temperature':2.5"),
     "Invalid 'temperature': decimal above maximum value.", "temperature", WITH("'temperature':2")},
    {"what is included is known", WITH("'include':['reasoning']"), "Invalid value: 'reasoning'.",
     "include", WITH("'include':['reasoning.encrypted_content']")},
    {"models that do not reason seal nothing", OLD(HI ",'include':['reasoning.encrypted_content']"),
     "Encrypted content is not supported with this model.", "include", OLD(HI)},
    {"options of a stream are known", WITH("'stream':true,'stream_options':{'include_usage':true}"),
     "Unknown parameter: 'stream_options.include_usage'.", "stream_options.include_usage",
     WITH("'stream':true,'stream_options':{'include_obfuscation':false}")},
    {"items are known", INPUT("{'type':'tool_result'}"), "Invalid value: 'tool_result'.",
     "input[0].type", INPUT(USER("a"))},
    {"items are objects", INPUT("'a'"), "Invalid type for 'input[0]': expected an object",
     "input[0]", INPUT(USER("a"))},
    {"roles are known", INPUT("{'role':'tool','content':'a'}"),
     "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
     "input[0].role", INPUT("{'role':'developer','content':'a'}")},
    {"messages have no unknown fields", INPUT("{'role':'user','content':'a','name':'x'}"),
     "Unknown parameter: 'input[0].name'.", "input[0].name",
     INPUT("{'role':'user','content':'a'}")},
    {"contents have a type", INPUT("{'role':'user','content':[{'text':'a'}]}"),
     "Missing required parameter: 'input[0].content[0].type'.", "input[0].content[0].type",
     INPUT(USER("a"))},
    {"text has the Responses API's own types", INPUT(MESSAGE("user", "text", "a")),
     "Invalid value: 'text'.", "input[0].content[0]", INPUT(USER("a"))},
    {"assistants do not say input", INPUT(USER("a") "," MESSAGE("assistant", "input_text", "b")),
     "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
     "input[1].content[0]", INPUT(USER("a") "," ASSISTANT("b"))},
    {"users do not say output", INPUT(MESSAGE("user", "output_text", "a")),
     "Invalid value: 'output_text'.", "input[0].content[0]", INPUT(USER("a"))},
    {"a message's id is one", INPUT("{'role':'assistant','id':'rs_1','content':'a'}"),
     "Expected an ID that begins with 'msg'.", "input[0].id",
     INPUT("{'role':'assistant','id':'msg_1','content':'a'}")},
    {"a call's id is one",
     INPUT("{'type':'function_call','id':'call_1','call_id':'a','name':'f','arguments':'{}'}," //
           OUTPUT("a")),
     "Invalid 'input[0].id': 'call_1'. Expected an ID that begins with 'fc'.", "input[0].id",
     INPUT("{'type':'function_call','id':'fc_1','call_id':'a','name':'f','arguments':'{}'}," //
           OUTPUT("a"))},
    {"arguments are a string",
     INPUT("{'type':'function_call','call_id':'a','name':'f','arguments':{}}," OUTPUT("a")),
     "Invalid type for 'input[0].arguments': expected a string, but got an object instead.",
     "input[0].arguments", INPUT(CALL("a") "," OUTPUT("a"))},
    {"names match the pattern",
     INPUT("{'type':'function_call','call_id':'a','name':'f g','arguments':'{}'}," OUTPUT("a")),
     "Invalid 'input[0].name': string does not match pattern.", "input[0].name",
     INPUT(CALL("a") "," OUTPUT("a"))},
    {"names are not empty",
     INPUT("{'type':'function_call','call_id':'a','name':'','arguments':'{}'}," OUTPUT("a")),
     "Invalid 'input[0].name': empty string.", "input[0].name", INPUT(CALL("a") "," OUTPUT("a"))},
    {"a call has an id", INPUT(CALL("") "," OUTPUT("")),
     "Invalid 'input[0].call_id': empty string.", "input[0].call_id",
     INPUT(CALL("a") "," OUTPUT("a"))},
    {"an id is not too long", INPUT(CALL(LONG_ID "x") "," OUTPUT(LONG_ID "x")),
     "Invalid 'input[0].call_id': string too long.", "input[0].call_id",
     INPUT(CALL(LONG_ID) "," OUTPUT(LONG_ID))},
    {"calls have different ids", INPUT(CALL("a") "," OUTPUT("a") "," CALL("a")),
     "Duplicate function call with call_id a.", "input[2].call_id",
     INPUT(CALL("a") "," OUTPUT("a") "," CALL("b") "," OUTPUT("b"))},
    {"an output has its call", INPUT(USER("a") "," OUTPUT("a")),
     "No tool call found for function call output with call_id a.", "input",
     INPUT(USER("a") "," CALL("a") "," OUTPUT("a"))},
    {"a call has its output", INPUT(CALL("a") "," CALL("b") "," OUTPUT("a")),
     "No tool output found for function call b.", "input",
     INPUT(CALL("a") "," CALL("b") "," OUTPUT("b") "," OUTPUT("a"))},
    {"an output says something", INPUT(CALL("a") ",{'type':'function_call_output','call_id':'a'}"),
     "Missing required parameter: 'input[1].output'.", "input[1].output",
     INPUT(CALL("a") ",{'type':'function_call_output','call_id':'a','output':''}")},
    {"reasoning has a summary", INPUT("{'type':'reasoning','id':'rs_1'}"),
     "Missing required parameter: 'input[0].summary'.", "input[0].summary", INPUT(USER("a"))},
    {"reasoning that was not stored comes sealed", INPUT(REASONING("") "," ASSISTANT("a")),
     "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
     "input", INPUT(ASSISTANT("a"))},
    {"seals are checked", INPUT(REASONING(",'encrypted_content':'x'") "," ASSISTANT("a")),
     "The encrypted content for item rs_1 could not be verified.", "input", INPUT(ASSISTANT("a"))},
    {"models that do not reason take no reasoning",
     OLD("'input':[" REASONING(",'encrypted_content':'x'") "," ASSISTANT("a") "]"),
     "Reasoning input items can only be provided to a reasoning or computer use model.", "input",
     OLD("'input':[" ASSISTANT("a") "]")},
    {"tools have no function object",
     TOOL("{'type':'function','function':{'name':'f','parameters':{'type':'object'}}}"),
     "Missing required parameter: 'tools[0].name'.", "tools[0].name", TOOL(FUNCTION(SCHEMA))},
    {"tools have a type", TOOL("{'name':'f'" SCHEMA "}"),
     "Missing required parameter: 'tools[0].type'.", "tools[0].type", TOOL(FUNCTION(SCHEMA))},
    {"tools have parameters", TOOL(FUNCTION("")),
     "Missing required parameter: 'tools[0].parameters'.", "tools[0].parameters",
     TOOL(FUNCTION(",'parameters':null"))},
    {"schemas are of objects", TOOL(FUNCTION(",'parameters':{'type':'string'}")),
     "Invalid schema for function 'f'", "tools.[0].parameters", TOOL(FUNCTION(SCHEMA))},
    {"tool names match the pattern", TOOL("{'type':'function','name':'f g'" SCHEMA "}"),
     "Invalid 'tools[0].name': string does not match pattern.", "tools[0].name",
     TOOL(FUNCTION(SCHEMA))},
    {"tool names are unique", TOOL(FUNCTION(SCHEMA) "," FUNCTION(SCHEMA)),
     "Tool names must be unique", "tools[1].name", TOOL(FUNCTION(SCHEMA))},
    {"a strict schema is closed", TOOL(FUNCTION(SCHEMA ",'strict':true")),
     "'additionalProperties' is required to be supplied and to be false.", "tools[0].parameters",
     TOOL(FUNCTION(STRICT))},
    {"a choice is known", WITH("'tool_choice':'any'"), "Invalid value: 'any'.", "tool_choice",
     WITH("'tool_choice':'none'")},
    {"a chosen tool is there", WITH("'tool_choice':{'type':'function','name':'g'}"),
     "Tool choice 'g' not found in 'tools' parameter.", "tool_choice",
     WITH("'tools':[" FUNCTION(SCHEMA) "],'tool_choice':{'type':'function','name':'f'}")},
};

static void check_refused(const struct rule *rule, const struct response *response)
{
    struct js *document = document_of(response);
    const struct js *error = js_get(document, "error");
    struct str message = js_get_str(error, "message"), param = js_get_str(error, "param");
    struct buf said;
    buf_init(&said, 4096);
    for (size_t i = 0; i < message.n; i++)
        buf_char(&said, message.p[i] == '"' ? '\'' : message.p[i]);
    if (response->status != 400 && response->status != 404)
        fail_msg("%s: status %ld", rule->name, response->status);
    assert_true(str_is(js_get_str(error, "type"), "invalid_request_error"));
    if (strstr(said.p, rule->message) == NULL)
        fail_msg("%s: %s", rule->name, said.p);
    if (!str_eq(param, rule->param != NULL ? str_from(rule->param) : STR_NONE))
        fail_msg("%s: param %.*s", rule->name, STR_FMT(param));
    buf_release(&said);
    js_free(document);
}

static void what_the_real_api_refuses_is_refused_in_its_words(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    size_t count = sizeof rules / sizeof rules[0];
    for (size_t i = 0; i < count; i++) {
        struct response response = post(server, rules[i].refused, NULL);
        check_refused(&rules[i], &response);
        response_release(&response);
        response = post(server, rules[i].accepted, NULL);
        if (response.status != 200)
            fail_msg("%s: %.*s", rules[i].name, STR_FMT(buf_view(&response.body)));
        response_release(&response);
    }
    struct scripted_stats stats = stats_of(server);
    assert_int_equal(stats.refused, count);
    assert_int_equal(stats.accepted, count);
    scripted_stop(server);
}

static void the_window_holds_prompt_and_output(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    struct buf body;
    buf_init(&body, 100000);
    const struct {
        int bytes;
        long status;
    } rows[] = {{4004, 400}, {3996, 400}, {3800, 200}};
    for (size_t i = 0; i < 3; i++) {
        buf_clear(&body);
        buf_printf(&body, "{'model':'scripted','max_output_tokens':50,'input':'%0*d'}",
                   rows[i].bytes, 1);
        struct response response = post(server, body.p, NULL);
        assert_int_equal(response.status, rows[i].status);
        if (rows[i].status != 200)
            assert_contains(buf_view(&response.body), "exceeds the context window of this model");
        response_release(&response);
    }
    buf_release(&body);
    scripted_stop(server);
}

static void the_key_is_checked(void **state)
{
    struct scripted *server = server_start(script, "sk-right", 1);
    const struct {
        const char *key;
        long status;
    } rows[] = {{NULL, 401}, {"sk-wrong", 401}, {"sk-right", 200}};
    for (size_t i = 0; i < 3; i++) {
        struct response response = post(server, WITH("'stream':false"), rows[i].key);
        assert_int_equal(response.status, rows[i].status);
        response_release(&response);
    }
    scripted_stop(server);
}

/* --- answers ------------------------------------------------------------------------------------------ */

static struct response say(struct scripted *server, const char *first_user, const char *rest)
{
    struct buf body;
    buf_init(&body, 10000);
    buf_printf(&body, "{'model':'scripted',%s'input':[" USER("%s") "]}", rest, first_user);
    struct response response = post(server, body.p, NULL);
    assert_int_equal(response.status, 200);
    buf_release(&body);
    return response;
}

static void a_whole_answer_is_a_response(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    struct response response = say(server, "call", "");
    struct js *document = document_of(&response);
    const struct js *output = js_get(document, "output"), *call = js_at(output, 1);
    assert_true(str_is(js_get_str(document, "object"), "response"));
    assert_true(str_is(js_get_str(document, "status"), "completed"));
    assert_true(str_starts(js_get_str(document, "id"), STR("resp_")));
    assert_int_equal(js_count(output), 3);
    assert_true(
        str_is(js_get_str(js_at(js_get(js_at(output, 0), "content"), 0), "text"), "Let me."));
    assert_true(str_is(js_get_str(call, "type"), "function_call"));
    assert_true(str_starts(js_get_str(call, "id"), STR("fc_")));
    assert_true(str_starts(js_get_str(call, "call_id"), STR("call_")));
    assert_true(str_is(js_get_str(call, "arguments"), "{\"path\":\"a.txt\"}"));
    js_free(document);
    response_release(&response);
    scripted_stop(server);
}

/* The types of a stream's events, one letter each, in order; sequence numbers are counted. */
static void check_order(const struct response *response, const char *expected)
{
    static const struct {
        const char *type;
        char letter;
    } letters[] = {{"created", 'S'},
                   {"in_progress", 'p'},
                   {"output_item.added", '('},
                   {"content_part.added", '['},
                   {"output_text.delta", 't'},
                   {"output_text.done", 'T'},
                   {"content_part.done", ']'},
                   {"function_call_arguments.delta", 'a'},
                   {"function_call_arguments.done", 'A'},
                   {"reasoning_summary_part.added", '{'},
                   {"reasoning_summary_text.delta", 'r'},
                   {"reasoning_summary_text.done", 'R'},
                   {"reasoning_summary_part.done", '}'},
                   {"output_item.done", ')'},
                   {"completed", 'E'},
                   {"incomplete", 'I'}};
    struct str rest = buf_view(&response->body);
    char order[200] = "";
    size_t n = 0;
    while (rest.n > 0 && n < sizeof order - 1) {
        const char *end = memmem(rest.p, rest.n, "\n\n", 2);
        const char *data = memmem(rest.p, rest.n, "\ndata: ", 7);
        struct err err = ERR_INIT;
        assert_true(end != NULL && data != NULL && str_starts(rest, STR("event: response.")));
        struct js *event = js_parse((struct str){data + 7, (size_t)(end - data) - 7}, &err);
        struct str type = js_get_str(event, "type");
        assert_memory_equal(rest.p + 7, type.p, type.n);
        assert_int_equal(js_get_int(event, "sequence_number", -1), n);
        for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
            if (str_is((struct str){type.p + 9, type.n - 9}, letters[i].type))
                order[n++] = letters[i].letter;
        js_free(event);
        rest = (struct str){end + 2, rest.n - (size_t)(end - rest.p) - 2};
    }
    assert_string_equal(order, expected);
}

static void a_stream_has_the_events_of_the_real_api(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    struct response response = say(server, "call", "'stream':true,");
    check_order(&response, "Sp([ttT])(aaaaA)(aA)E");
    response_release(&response);
    response = say(server, "think", "'stream':true,");
    check_order(&response, "Sp({rrR})([ttT])E");
    response_release(&response);
    scripted_stop(server);
}

static void reasoning_is_sealed_on_request_and_taken_back_unchanged_only(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    struct response response = say(server, "think", "");
    assert_null(memmem(response.body.p, response.body.n, "encrypted_content", 17));
    response_release(&response);
    response = say(server, "think", "'include':['reasoning.encrypted_content'],");
    struct js *document = document_of(&response);
    const struct js *item = js_at(js_get(document, "output"), 0);
    struct str sealed = js_get_str(item, "encrypted_content");
    assert_true(str_is(js_get_str(js_at(js_get(item, "summary"), 0), "text"), "so it is"));
    const struct {
        const char *format, *summary;
        long status;
    } rows[] = {
        {INPUT(USER("a") "," SEALED "," ASSISTANT("b") "," USER("c")), "so it is", 200},
        {INPUT(USER("a") "," SEALED "," ASSISTANT("b") "," USER("c")), "so it was", 400},
        {INPUT(USER("a") "," SEALED "," CALL("x") "," OUTPUT("x")), "so it is", 200},
        {INPUT(USER("a") "," SEALED "," USER("c")), "so it is", 400},
        {INPUT(USER("a") "," SEALED), "so it is", 400},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf body;
        buf_init(&body, 10000);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        buf_printf(&body, rows[i].format, rows[i].summary, STR_FMT(sealed));
#pragma GCC diagnostic pop
        struct response echoed = post(server, body.p, NULL);
        assert_int_equal(echoed.status, rows[i].status);
        if (i > 2)
            assert_contains(buf_view(&echoed.body), "Item 'rs_1' of type 'reasoning' was provided "
                                                    "without its required following item.");
        response_release(&echoed);
        buf_release(&body);
    }
    js_free(document);
    response_release(&response);
    scripted_stop(server);
}

static void check_says(struct scripted *server, const char *body, const char *expected)
{
    struct response response = post(server, body, NULL);
    struct js *document = document_of(&response);
    const struct js *content = js_get(js_at(js_get(document, "output"), 0), "content");
    if (!str_is(js_get_str(js_at(content, 0), "text"), expected))
        fail_msg("expected '%s': %.*s", expected, STR_FMT(buf_view(&response.body)));
    js_free(document);
    response_release(&response);
}

static void rules_match_as_for_chat_requests(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    check_says(
        server,
        INPUT(USER("call") "," ASSISTANT("x") "," CALL("a") "," CALL("b") "," OUTPUT(
            "a") ","
                 "{'type':'function_call_output','call_id':'b','output':[{'type':'input_text',"
                 "'text':'two'}]}"),
        "two 1");
    check_says(server,
               INPUT(USER("call") "," CALL("a") "," OUTPUT("a") "," CALL("b") "," OUTPUT("b")),
               "done 2");
    check_says(server, WITH("'instructions':'be rude'"), "no");
    check_says(server, INPUT("{'role':'developer','content':'be rude'}," USER("a")), "no");
    scripted_stop(server);
}

static void a_reply_is_cut_at_the_limit(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    struct response response = say(server, "long", "'max_output_tokens':16,'stream':true,");
    check_order(&response, "Sp(aaaaA)I");
    assert_contains(buf_view(&response.body),
                    "\"incomplete_details\":{\"reason\":\"max_output_tokens\"}");
    assert_contains(buf_view(&response.body),
                    "\"type\":\"function_call\",\"status\":\"incomplete\"");
    response_release(&response);
    scripted_stop(server);
}

static void failures_have_the_shape_of_the_api(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    struct response response = post(server, INPUT(USER("busy")), NULL);
    assert_int_equal(response.status, 429);
    assert_contains(buf_view(&response.body), "{\"error\":{\"message\":\"slow\"");
    assert_int_equal(stats_of(server).failures, 1);
    response_release(&response);
    scripted_stop(server);
}

static void usage_has_its_details_and_is_tallied(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    struct response response = say(server, "cached", "'stream':true,");
    assert_contains(buf_view(&response.body),
                    "\"usage\":{\"input_tokens\":100,\"input_tokens_details\":{\"cached_tokens\":"
                    "60},\"output_tokens\":5,\"output_tokens_details\":{\"reasoning_tokens\":3},"
                    "\"total_tokens\":105}");
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
        cmocka_unit_test(the_key_is_checked),
        cmocka_unit_test(a_whole_answer_is_a_response),
        cmocka_unit_test(a_stream_has_the_events_of_the_real_api),
        cmocka_unit_test(reasoning_is_sealed_on_request_and_taken_back_unchanged_only),
        cmocka_unit_test(rules_match_as_for_chat_requests),
        cmocka_unit_test(a_reply_is_cut_at_the_limit),
        cmocka_unit_test(failures_have_the_shape_of_the_api),
        cmocka_unit_test(usage_has_its_details_and_is_tallied),
    };
    curl_global_init(CURL_GLOBAL_DEFAULT);
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    curl_global_cleanup();
    return result;
}
