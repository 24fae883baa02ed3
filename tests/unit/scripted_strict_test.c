/* The scripted model refuses what the real API refuses, in its words, and accepts the nearest request that keeps the
 * rule: each rule is one row with both twins. */
#include "unit/scripted_client.h"

#define HI "'messages':[{'role':'user','content':'hi'}]"
#define WITH(rest) "{'model':'scripted'," HI "," rest "}"
#define MESSAGES(list) "{'model':'scripted','messages':[" list "]}"
#define CALL(id, name, arguments)                                                                  \
    "{'id':'" id "','type':'function','function':{'name':'" name "','arguments':'" arguments "'}}"
#define ASSISTANT(calls)                                                                           \
    "{'role':'user','content':'hi'},{'role':'assistant','content':null,'tool_calls':[" calls "]}"
#define RESULT(id) ",{'role':'tool','tool_call_id':'" id "','content':'done'}"
#define TOOL(function) WITH("'tools':[{'type':'function','function':" function "}]")
#define CALLED(call, id) MESSAGES(ASSISTANT(call) RESULT(id))
#define LETTERS_40 "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"
#define LETTERS_64 LETTERS_40 "aaaaaaaaaabbbbbbbbbbcccc"

static const char script[] = "{'models':[{'id':'scripted','window':1000,'max_output':500}],"
                             "'rules':[{'reply':{'text':'hello'}}]}";

struct rule {
    const char *name;
    const char *refused;
    const char *message; /* a part of it */
    const char *param;   /* NULL: null */
    const char *accepted;
};

static const struct rule rules[] = {
    {"the body is a JSON object", "[1]", "could not parse the JSON body", NULL, WITH("'seed':1")},
    {"the body is valid JSON", "{'model':", "could not parse the JSON body", NULL, WITH("'n':1")},
    {"unknown fields are refused", WITH("'x':1"), "Unrecognized request argument supplied: x", NULL,
     WITH("'user':'u'")},
    {"a model is named", "{" HI "}", "you must provide a model parameter", "model",
     "{'model':'scripted'," HI "}"},
    {"the model exists", "{'model':'other'," HI "}", "The model `other` does not exist", NULL,
     "{'model':'scripted'," HI "}"},
    {"messages are required", "{'model':'scripted'}", "Missing required parameter: 'messages'",
     "messages", "{'model':'scripted'," HI "}"},
    {"messages are an array", "{'model':'scripted','messages':'hi'}",
     "Invalid type for 'messages': expected an array, but got a string", "messages",
     "{'model':'scripted'," HI "}"},
    {"messages are not empty", MESSAGES(""), "[] is too short - 'messages'", "messages",
     MESSAGES("{'role':'user','content':''}")},
    {"a message is an object", MESSAGES("'hi'"), "expected an object", "messages.[0]",
     MESSAGES("{'role':'user','content':'hi'}")},
    {"roles are known", MESSAGES("{'role':'human','content':'hi'}"), "Invalid value: 'human'",
     "messages.[0].role", MESSAGES("{'role':'developer','content':'hi'}")},
    {"messages have no unknown fields", MESSAGES("{'role':'user','content':'hi','x':1}"),
     "Unknown parameter: 'messages.[0].x'", "messages.[0].x",
     MESSAGES("{'role':'user','content':'hi','name':'me'}")},
    {"a user message has content", MESSAGES("{'role':'user'}"),
     "Missing required parameter: 'messages.[0].content'", "messages.[0].content",
     MESSAGES("{'role':'user','content':''}")},
    {"user content is not null", MESSAGES("{'role':'user','content':null}"),
     "expected one of a string or an array, but got null", "messages.[0].content",
     MESSAGES("{'role':'user','content':''}")},
    {"content arrays are not empty", MESSAGES("{'role':'system','content':[]}"),
     "[] is too short - 'messages.0.content'", "messages.[0].content",
     MESSAGES("{'role':'system','content':[{'type':'text','text':'a'}]}")},
    {"text blocks are not empty", MESSAGES("{'role':'user','content':[{'type':'text','text':''}]}"),
     "must be non-empty", "messages.[0].content.[0].text",
     MESSAGES("{'role':'user','content':[{'type':'text','text':'a'}]}")},
    {"blocks are of a known type", MESSAGES("{'role':'user','content':[{'type':'video'}]}"),
     "Invalid value: 'video'", "messages.[0].content.[0].type",
     MESSAGES("{'role':'user','content':[{'type':'text','text':'a'}]}")},
    {"an assistant says something or calls", MESSAGES("{'role':'assistant','content':null}"),
     "expected a string, got null", "messages.[0].content",
     MESSAGES("{'role':'assistant','content':'a'}")},
    {"reasoning comes back with assistant messages only",
     MESSAGES("{'role':'user','content':'hi','reasoning_content':'hm'}"),
     "Unknown parameter: 'messages.[0].reasoning_content'", "messages.[0].reasoning_content",
     MESSAGES("{'role':'assistant','content':'a','reasoning_content':'hm','reasoning':'hm',"
              "'reasoning_details':[{'type':'reasoning.text'}]}")},
    {"reasoning details are a list",
     MESSAGES("{'role':'assistant','content':'a','reasoning_details':'hm'}"),
     "expected an array, but got a string", "messages.[0].reasoning_details",
     MESSAGES("{'role':'assistant','content':'a','reasoning_details':[]}")},
    {"what belongs to a call is an object",
     CALLED("{'id':'a','type':'function','function':{'name':'f','arguments':'{}'},"
            "'extra_content':7}",
            "a"),
     "expected an object, but got", "messages.[1].tool_calls.[0].extra_content",
     CALLED("{'id':'a','type':'function','function':{'name':'f','arguments':'{}'},"
            "'extra_content':{'google':{'thought_signature':'s'}}}",
            "a")},
    {"empty tool_calls are refused", MESSAGES("{'role':'assistant','content':'a','tool_calls':[]}"),
     "[] is too short - 'messages.0.tool_calls'", "messages.[0].tool_calls",
     MESSAGES("{'role':'assistant','content':'a'}")},
    {"call ids have at most 40 characters", CALLED(CALL(LETTERS_40 "x", "f", "{}"), LETTERS_40 "x"),
     "but got a string with length 41", "messages.[1].tool_calls.[0].id",
     CALLED(CALL(LETTERS_40, "f", "{}"), LETTERS_40)},
    {"calls have an id",
     MESSAGES(ASSISTANT("{'type':'function','function':{'name':'f','arguments':'{}'}}")),
     "Missing required parameter", "messages.[1].tool_calls.[0].id",
     CALLED(CALL("a", "f", "{}"), "a")},
    {"calls are of type function",
     CALLED("{'id':'a','type':'tool','function':{'name':'f','arguments':'{}'}}", "a"),
     "Supported values are: 'function'", "messages.[1].tool_calls.[0].type",
     CALLED(CALL("a", "f", "{}"), "a")},
    {"called names match the pattern", CALLED(CALL("a", "f.g", "{}"), "a"),
     "does not match pattern", "messages.[1].tool_calls.[0].function.name",
     CALLED(CALL("a", "f-G_1", "{}"), "a")},
    {"called names have at most 64 characters", CALLED(CALL("a", LETTERS_64 "x", "{}"), "a"),
     "string too long", "messages.[1].tool_calls.[0].function.name",
     CALLED(CALL("a", LETTERS_64, "{}"), "a")},
    {"called names are not empty", CALLED(CALL("a", "", "{}"), "a"), "empty string",
     "messages.[1].tool_calls.[0].function.name", CALLED(CALL("a", "f", "{}"), "a")},
    {"arguments are a string",
     CALLED("{'id':'a','type':'function','function':{'name':'f','arguments':{}}}", "a"),
     "expected a string, but got an object", "messages.[1].tool_calls.[0].function.arguments",
     CALLED(CALL("a", "f", "{}"), "a")},
    {"arguments are valid JSON", CALLED(CALL("a", "f", "{"), "a"), "valid JSON",
     "messages.[1].tool_calls.[0].function.arguments", CALLED(CALL("a", "f", "{}"), "a")},
    {"call ids are unique in a message",
     MESSAGES(ASSISTANT(CALL("a", "f", "{}") "," CALL("a", "f", "{}")) RESULT("a")),
     "Duplicate value for 'tool_call_id' of 'a'", "messages.[1].tool_calls.[1].id",
     MESSAGES(ASSISTANT(CALL("a", "f", "{}") "," CALL("b", "f", "{}")) RESULT("b") RESULT("a"))},
    {"call ids are unique in a conversation",
     MESSAGES(ASSISTANT(CALL("a", "f", "{}")) RESULT("a") "," ASSISTANT(CALL("a", "f", "{}"))
                  RESULT("a")),
     "Duplicate value for 'tool_call_id' of 'a'", "messages.[4].tool_calls.[0].id",
     MESSAGES(ASSISTANT(CALL("a", "f", "{}")) RESULT("a") "," ASSISTANT(CALL("b", "f", "{}"))
                  RESULT("b"))},
    {"calls are answered before the next message",
     MESSAGES(ASSISTANT(CALL("a", "f", "{}") "," CALL("b", "f", "{}"))
                  RESULT("a") ",{'role':'user','content':'on'}"),
     "did not have response messages: b", "messages.[1].role",
     MESSAGES(ASSISTANT(CALL("a", "f", "{}") "," CALL("b", "f", "{}")) RESULT("a")
                  RESULT("b") ",{'role':'user','content':'on'}")},
    {"calls are answered at the end", MESSAGES(ASSISTANT(CALL("a", "f", "{}"))),
     "must be followed by tool messages responding to each 'tool_call_id'", "messages.[1].role",
     CALLED(CALL("a", "f", "{}"), "a")},
    {"a tool message follows a call", MESSAGES("{'role':'user','content':'hi'}" RESULT("a")),
     "must be a response to a preceeding message with 'tool_calls'", "messages.[1].role",
     CALLED(CALL("a", "f", "{}"), "a")},
    {"a tool message does not come late",
     MESSAGES(ASSISTANT(CALL("a", "f", "{}"))
                  RESULT("a") ",{'role':'user','content':'x'}" RESULT("a")),
     "must be a response to a preceeding message with 'tool_calls'", "messages.[4].role",
     CALLED(CALL("a", "f", "{}"), "a")},
    {"a tool message answers a call of the last reply",
     MESSAGES(ASSISTANT(CALL("a", "f", "{}")) RESULT("b")), "'tool_call_id' of 'b' not found",
     "messages.[2].tool_call_id", CALLED(CALL("b", "f", "{}"), "b")},
    {"a call is answered once", MESSAGES(ASSISTANT(CALL("a", "f", "{}")) RESULT("a") RESULT("a")),
     "Duplicate value for 'tool_call_id' of 'a'", "messages.[3].tool_call_id",
     CALLED(CALL("a", "f", "{}"), "a")},
    {"a tool message has content",
     MESSAGES(ASSISTANT(CALL("a", "f", "{}")) ",{'role':'tool','tool_call_id':'a'}"),
     "Missing required parameter", "messages.[2].content", CALLED(CALL("a", "f", "{}"), "a")},
    {"tools are not empty", WITH("'tools':[]"), "[] is too short - 'tools'", "tools",
     TOOL("{'name':'f'}")},
    {"tools are of type function", WITH("'tools':[{'type':'x','function':{'name':'f'}}]"),
     "Invalid value: 'x'", "tools.[0].type", TOOL("{'name':'f'}")},
    {"tool names match the pattern", TOOL("{'name':'a b'}"), "does not match pattern",
     "tools.[0].function.name", TOOL("{'name':'a_b'}")},
    {"tool names are unique",
     WITH("'tools':[{'type':'function','function':{'name':'f'}},"
          "{'type':'function','function':{'name':'f'}}]"),
     "Tool names must be unique", "tools.[1].function.name",
     WITH("'tools':[{'type':'function','function':{'name':'f'}},"
          "{'type':'function','function':{'name':'g'}}]")},
    {"a tool's description is a string", TOOL("{'name':'f','description':1}"),
     "expected a string, but got an integer", "tools.[0].function.description",
     TOOL("{'name':'f','description':'d'}")},
    {"a tool's parameters are of type object", TOOL("{'name':'f','parameters':{'type':'string'}}"),
     "got 'type: \"string\"'", "tools.[0].function.parameters",
     TOOL("{'name':'f','parameters':{'type':'object'}}")},
    {"array schemas have items",
     TOOL("{'name':'f','parameters':{'type':'object','properties':{'p':{'type':'array'}}}}"),
     "array schema missing items", "tools.[0].function.parameters",
     TOOL("{'name':'f','parameters':{'type':'object','properties':{'p':{'type':'array',"
          "'items':{'type':'string'}}}}}")},
    {"a schema's required is a list of strings",
     TOOL("{'name':'f','parameters':{'type':'object','required':'p'}}"),
     "'required' is not an array", "tools.[0].function.parameters",
     TOOL("{'name':'f','parameters':{'type':'object','required':['p']}}")},
    {"tool_choice needs tools", WITH("'tool_choice':'auto'"),
     "'tool_choice' is only allowed when 'tools' are specified", "tool_choice",
     WITH("'tools':[{'type':'function','function':{'name':'f'}}],'tool_choice':'auto'")},
    {"tool_choice names a tool of the request",
     WITH("'tools':[{'type':'function','function':{'name':'f'}}],"
          "'tool_choice':{'type':'function','function':{'name':'g'}}"),
     "'g' is not in 'tools'", "tool_choice",
     WITH("'tools':[{'type':'function','function':{'name':'f'}}],"
          "'tool_choice':{'type':'function','function':{'name':'f'}}")},
    {"parallel_tool_calls needs tools", WITH("'parallel_tool_calls':true"),
     "only allowed when 'tools' are specified", "parallel_tool_calls",
     WITH("'tools':[{'type':'function','function':{'name':'f'}}],'parallel_tool_calls':true")},
    {"max_tokens is an integer", WITH("'max_tokens':1.5"), "expected an integer, but got a decimal",
     "max_tokens", WITH("'max_tokens':1")},
    {"max_tokens is positive", WITH("'max_tokens':0"), "integer below minimum value", "max_tokens",
     WITH("'max_tokens':1")},
    {"max_tokens is within the model's output", WITH("'max_tokens':501"),
     "max_tokens is too large: 501. This model supports at most 500", "max_tokens",
     WITH("'max_tokens':500")},
    {"max_completion_tokens is within the model's output", WITH("'max_completion_tokens':501"),
     "max_completion_tokens is too large", "max_completion_tokens",
     WITH("'max_completion_tokens':500")},
    {"one output limit at a time", WITH("'max_tokens':1,'max_completion_tokens':1"),
     "at the same time is not supported", "max_completion_tokens",
     WITH("'max_tokens':1,'max_completion_tokens':null")},
    {"temperature is a number", WITH("'temperature':'1'"), "expected a decimal, but got a string",
     "temperature", WITH("'temperature':1")},
    {"temperature is at most 2", WITH("'temperature':2.1"), "decimal above maximum value",
     "temperature", WITH("'temperature':2.0")},
    {"temperature is at least 0", WITH("'temperature':-0.1"), "decimal below minimum value",
     "temperature", WITH("'temperature':0")},
    {"stream is a boolean", WITH("'stream':'yes'"), "expected a boolean", "stream",
     WITH("'stream':false")},
    {"stream_options need stream", WITH("'stream_options':{'include_usage':true}"),
     "only allowed when 'stream' is enabled", "stream_options",
     WITH("'stream':true,'stream_options':{'include_usage':true}")},
    {"stream_options have no unknown fields", WITH("'stream':true,'stream_options':{'x':1}"),
     "Unknown parameter: 'stream_options.x'", "stream_options.x",
     WITH("'stream':true,'stream_options':{}")},
    {"n is an integer", WITH("'n':'1'"), "expected an integer", "n", WITH("'n':1")},
    {"stop has at most 4 strings", WITH("'stop':['a','b','c','d','e']"), "1 to 4 strings", "stop",
     WITH("'stop':['a','b','c','d']")},
    {"stop holds strings", WITH("'stop':[1]"), "expected a string, but got an integer", "stop",
     WITH("'stop':'a'")},
    {"response_format is known", WITH("'response_format':{'type':'xml'}"), "Invalid value: 'xml'",
     "response_format.type", WITH("'response_format':{'type':'json_object'}")},
    {"reasoning_effort is known", WITH("'reasoning_effort':'huge'"), "'huge' is not supported",
     "reasoning_effort", WITH("'reasoning_effort':'low'")},
};

#define RULE_COUNT (sizeof rules / sizeof rules[0])

static void refuses_and_accepts(void **state)
{
    const struct rule *rule = *state;
    struct scripted *server = server_start(script, NULL, 1);
    struct response refused = ask(server, rule->refused);
    struct js *document = document_of(&refused);
    const struct js *error = js_get(document, "error");
    assert_int_equal(refused.status,
                     str_is(js_get_str(error, "code"), "model_not_found") ? 404 : 400);
    assert_contains(js_get_str(error, "message"), rule->message);
    assert_true(str_is(js_get_str(error, "type"), "invalid_request_error"));
    if (rule->param == NULL)
        assert_int_equal(js_kind(js_get(error, "param")), JS_NULL);
    else if (!str_is(js_get_str(error, "param"), rule->param))
        fail_msg("param is %.*s", STR_FMT(js_get_str(error, "param")));
    assert_int_equal(stats_of(server).refused, 1);
    assert_int_equal(stats_of(server).accepted, 0);

    struct response accepted = ask(server, rule->accepted);
    if (accepted.status != 200)
        fail_msg("refused: %.*s", STR_FMT(buf_view(&accepted.body)));
    assert_int_equal(stats_of(server).refused, 1);
    assert_int_equal(stats_of(server).accepted, 1);
    js_free(document);
    response_release(&refused);
    response_release(&accepted);
    scripted_stop(server);
}

/* A user message of so many bytes. "user" itself counts too. */
static struct response ask_bytes(struct scripted *server, size_t bytes, const char *rest)
{
    struct buf body;
    buf_init(&body, RESPONSE_MAX);
    buf_text(&body, "{'model':'scripted','messages':[{'role':'user','content':'");
    for (size_t i = 4; i < bytes; i++)
        buf_char(&body, 'x');
    buf_printf(&body, "'}]%s}", rest);
    struct response response = ask(server, body.p);
    buf_release(&body);
    return response;
}

static void assert_too_long(const struct response *response, const char *message)
{
    struct js *document = document_of(response);
    const struct js *error = js_get(document, "error");
    assert_int_equal(response->status, 400);
    assert_true(str_is(js_get_str(error, "code"), "context_length_exceeded"));
    assert_contains(js_get_str(error, "message"), message);
    js_free(document);
}

static void the_prompt_and_the_output_limit_fit_the_window(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    struct response over = ask_bytes(server, 2404, ",'max_tokens':400");
    struct response fits = ask_bytes(server, 2400, ",'max_tokens':400");
    assert_too_long(&over,
                    "maximum context length is 1000 tokens. However, you requested 1001 tokens "
                    "(601 in the messages, 400 in the completion)");
    assert_int_equal(fits.status, 200);
    response_release(&over);
    response_release(&fits);
    scripted_stop(server);
}

static void the_prompt_alone_fits_the_window(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    struct response over = ask_bytes(server, 4001, "");
    struct response fits = ask_bytes(server, 4000, "");
    assert_too_long(&over, "your messages resulted in 1001 tokens");
    assert_int_equal(fits.status, 200);
    response_release(&over);
    response_release(&fits);
    scripted_stop(server);
}

static void tools_count_against_the_window(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    struct response over =
        ask_bytes(server, 3996, ",'tools':[{'type':'function','function':{'name':'fffff'}}]");
    struct response fits =
        ask_bytes(server, 3996, ",'tools':[{'type':'function','function':{'name':'ffff'}}]");
    assert_too_long(&over, "1001 tokens");
    assert_int_equal(fits.status, 200);
    response_release(&over);
    response_release(&fits);
    scripted_stop(server);
}

static void a_key_is_asked_for_and_checked(void **state)
{
    struct scripted *server = server_start(script, "secret", 1);
    static const struct {
        const char *key;
        int status;
    } tries[] = {{NULL, 401}, {"wrong", 401}, {"secretx", 401}, {"secret", 200}};
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        struct request request = {.method = "GET", .path = "/v1/models", .key = tries[i].key};
        struct response response = request_send(scripted_port(server), &request);
        assert_int_equal(response.status, tries[i].status);
        response_release(&response);
    }
    assert_int_equal(stats_of(server).refused, 3);
    scripted_stop(server);
}

static void assert_status(struct scripted *server, const struct request *request, long status)
{
    struct response response = request_send(scripted_port(server), request);
    struct js *document = document_of(&response);
    assert_int_equal(response.status, status);
    assert_true(str_is(js_get_str(js_get(document, "error"), "type"), "invalid_request_error"));
    js_free(document);
    response_release(&response);
}

static void unknown_paths_are_refused(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    assert_status(server, &(struct request){.path = "/v1/completions"}, 404);
    assert_status(server, &(struct request){.method = "GET", .path = "/v1/models/"}, 404);
    scripted_stop(server);
}

static void other_methods_are_refused(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    assert_status(server, &(struct request){.method = "GET"}, 405);
    assert_status(server, &(struct request){.path = "/v1/models"}, 405);
    scripted_stop(server);
}

static void another_content_type_is_refused(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    struct buf text;
    buf_init(&text, 1000);
    struct str body = json_text(&text, WITH("'n':1"));
    assert_status(server, &(struct request){.header = "Content-Type: text/plain", .body = body},
                  400);
    struct request good = {.header = "Content-Type: application/json; charset=utf-8", .body = body};
    struct response response = request_send(scripted_port(server), &good);
    assert_int_equal(response.status, 200);
    response_release(&response);
    buf_release(&text);
    scripted_stop(server);
}

static void a_body_over_64_mb_is_refused(void **state)
{
    struct scripted *server = server_start(script, NULL, 1);
    size_t n = (64u << 20) + 1;
    char *bytes = malloc(n);
    assert_non_null(bytes);
    memset(bytes, ' ', n);
    assert_status(server, &(struct request){.body = {bytes, n}}, 413);
    free(bytes);
    scripted_stop(server);
}

int main(void)
{
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(the_prompt_and_the_output_limit_fit_the_window),
        cmocka_unit_test(the_prompt_alone_fits_the_window),
        cmocka_unit_test(tools_count_against_the_window),
        cmocka_unit_test(a_key_is_asked_for_and_checked),
        cmocka_unit_test(unknown_paths_are_refused),
        cmocka_unit_test(other_methods_are_refused),
        cmocka_unit_test(another_content_type_is_refused),
        cmocka_unit_test(a_body_over_64_mb_is_refused),
    };
    struct CMUnitTest tests[RULE_COUNT + sizeof others / sizeof others[0]];
    for (size_t i = 0; i < RULE_COUNT; i++)
        tests[i] =
            (struct CMUnitTest){rules[i].name, refuses_and_accepts, NULL, NULL, (void *)&rules[i]};
    memcpy(tests + RULE_COUNT, others, sizeof others);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    int failed = cmocka_run_group_tests_name("scripted_strict", tests, NULL, NULL);
    curl_global_cleanup();
    return failed;
}
