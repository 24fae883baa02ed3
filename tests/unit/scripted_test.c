/* The scripted model: which scripts load, which rule answers and what answers look like. */
#include "unit/scripted_hear.h"

#include "base/map.h"
#include "scripted/demo_script.h"

/* --- scripts ----------------------------------------------------------------------------------------- */

static void a_wrong_script_says_what_and_where(void **state)
{
    static const struct {
        const char *script, *message;
    } wrong[] = {
        {"{'rules':", "script"},
        {"[]", "expected an object"},
        {"{}", "Missing required parameter: 'rules'"},
        {RULES("{'reply':{}},{'when':{'x':1},'reply':{}}"), "rules.[1].when.x"},
        {RULES("{'reply':{'text':1}}"), "rules.[0].reply.text"},
        {RULES("{'reply':{'drop':'later'}}"), "drop is 'later'"},
        {RULES("{'reply':{'status':99}}"), "rules.[0].reply.status"},
        {RULES("{'reply':{'then':{}}}"), "'then' belongs to a reply with fail_times"},
        {RULES("{'reply':{'calls':[{'x':1}]}}"), "rules.[0].calls.[0].x"},
        {RULES("{'when':{'first_user_regex':'('},'reply':{}}"), "first_user_regex, character 1"},
        {"{'models':[{'id':'a','window':0}],'rules':[]}", "models.[0].window"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct buf text;
        buf_init(&text, 1000);
        struct scripted *server = NULL;
        struct err err = ERR_INIT;
        struct scripted_config config = {.script = json_text(&text, wrong[i].script)};
        assert_int_equal(scripted_start(&config, &server, &err), -1);
        assert_int_equal(err.class, ERR_USAGE);
        assert_contains(str_from(err.message), wrong[i].message);
        buf_release(&text);
    }
}

static void a_port_in_use_is_an_error(void **state)
{
    struct scripted *first = server_start(RULES("{'reply':{}}"), NULL, 1), *second = NULL;
    struct err err = ERR_INIT;
    struct scripted_config config = {.script = STR("{\"rules\":[]}"), .port = scripted_port(first)};
    assert_int_equal(scripted_start(&config, &second, &err), -1);
    assert_int_equal(err.class, ERR_IO);
    scripted_stop(first);
}

static void the_first_rule_that_matches_answers(void **state)
{
    struct scripted *server =
        server_start(RULES("{'when':{'first_user':'blue'},'reply':{'text':'1'}},"
                           "{'when':{'first_user_regex':'^r'},'reply':{'text':'2'}},"
                           "{'when':{'first_user':'red'},'reply':{'text':'3'}},"
                           "{'when':{'first_user':'bluered'},'reply':{'text':'4'}},"
                           "{'when':{'first_user':'a'},'reply':{'text':'5'}},"
                           "{'reply':{'text':'6'}},"
                           "{'when':{'first_user':'late'},'reply':{'text':'7'}}"),
                     NULL, 1);
    assert_says(server, ASK("bluered"), "1");
    assert_says(server, ASK("red"), "2");
    assert_says(server, ASK("so red"), "3");
    assert_says(server, ASK("x"), "6");
    assert_says(server, ASK("late"), "5");
    scripted_stop(server);
}

static void thousands_of_rules_keep_their_order(void **state)
{
    struct buf script;
    buf_init(&script, 1u << 22);
    buf_text(&script, "{'rules':[");
    for (int i = 0; i < 3000; i++)
        buf_printf(&script,
                   "{'when':{'first_user':'task %04d','turn':0},'reply':{'text':'%d'}},"
                   "{'when':{'first_user':'task %04d'},'reply':{'text':'again'}},",
                   i, i, i);
    buf_text(&script, "{'reply':{'text':'none'}}]}");
    struct scripted *server = server_start(script.p, NULL, 1);
    assert_says(server, ASK("do task 2999 now"), "2999");
    assert_says(server, ASK("task 0017, not task 0016"), "16");
    assert_says(server, ASK("task 3000"), "none");
    buf_release(&script);
    scripted_stop(server);
}

static void rules_look_at_turn_system_last_and_tools(void **state)
{
    struct scripted *server =
        server_start(RULES("{'when':{'turn':1,'last':'beta'},'reply':{'text':'turn and last'}},"
                           "{'when':{'turn':1},'reply':{'text':'turn'}},"
                           "{'when':{'system':'strict'},'reply':{'text':'system'}},"
                           "{'when':{'has_tool':'read'},'reply':{'text':'tool'}}"),
                     NULL, 1);
    assert_says(server,
                "{'model':'scripted','messages':[{'role':'user','content':'a'},"
                "{'role':'assistant','content':'b'},{'role':'user','content':'alphabeta'}]}",
                "turn and last");
    assert_says(server,
                "{'model':'scripted','messages':[{'role':'user','content':'beta'},"
                "{'role':'assistant','content':'beta'},{'role':'user','content':'a'}]}",
                "turn");
    assert_says(server,
                "{'model':'scripted','messages':[{'role':'system','content':'be strict'},"
                "{'role':'user','content':'a'}]}",
                "system");
    assert_says(server,
                "{'model':'scripted','messages':[{'role':'user','content':'a'}],"
                "'tools':[{'type':'function','function':{'name':'read'}}]}",
                "tool");
    scripted_stop(server);
}

static void a_request_that_no_rule_matches_gets_500_and_is_counted(void **state)
{
    struct scripted *server = server_start(RULES("{'when':{'turn':7},'reply':{}}"), NULL, 1);
    struct response response = ask(server, ASK("lonely"));
    assert_int_equal(response.status, 500);
    assert_contains(buf_view(&response.body), "no rule matches this request: turn 0");
    assert_contains(buf_view(&response.body), "lonely");
    assert_int_equal(stats_of(server).unmatched, 1);
    assert_int_equal(stats_of(server).refused, 0);
    response_release(&response);
    scripted_stop(server);
}

static void templates_are_filled_from_the_request(void **state)
{
    struct scripted *server = server_start(
        RULES("{'when':{'first_user_regex':'job (\\\\d+) (\\\\w+)'},'reply':"
              "{'text':'{{turn}} {{match:2}}-{{match:1}} [{{last}}] {{other}} {{ {{match:9}}{{',"
              "'calls':[{'name':'f','arguments':{'a':['{{first_user}}',1],'b':'{{index}}'},"
              "'repeat':2},{'name':'g','arguments':'{broken {{match:1}}'},{'name':'h'}]}}"),
        NULL, 1);
    struct response response = ask(server, ASK("job 12 x"));
    struct js *document = document_of(&response);
    assert_text(js_get_str(message_of(document), "content"), "0 x-12 [job 12 x] {{other}} {{ {{");
    static const char *const arguments[] = {"{\"a\":[\"job 12 x\",1],\"b\":\"0\"}",
                                            "{\"a\":[\"job 12 x\",1],\"b\":\"1\"}", "{broken 12",
                                            "{}"};
    for (size_t i = 0; i < 4; i++)
        assert_text(js_get_str(js_get(call_of(document, i), "function"), "arguments"),
                    arguments[i]);
    js_free(document);
    response_release(&response);
    scripted_stop(server);
}

/* --- answers ----------------------------------------------------------------------------------------- */

static void a_whole_answer_has_the_apis_shape(void **state)
{
    struct scripted *server =
        server_start(RULES("{'reply':{'calls':[{'name':'f','arguments':{'a':1}}]}}"), NULL, 1);
    struct response response = ask(server, ASK("12345678"));
    struct js *document = document_of(&response);
    assert_text(js_get_str(document, "object"), "chat.completion");
    assert_text(js_get_str(js_at(js_get(document, "choices"), 0), "finish_reason"), "tool_calls");
    assert_int_equal(js_kind(js_get(message_of(document), "content")), JS_NULL);
    assert_text(js_get_str(call_of(document, 0), "type"), "function");
    assert_text(js_get_str(js_get(call_of(document, 0), "function"), "arguments"), "{\"a\":1}");
    const struct js *usage = js_get(document, "usage");
    assert_int_equal(js_get_int(usage, "prompt_tokens", -1), 3);     /* "user" + 8 bytes */
    assert_int_equal(js_get_int(usage, "completion_tokens", -1), 2); /* "f" + 7 bytes */
    assert_int_equal(js_get_int(usage, "total_tokens", -1), 5);
    assert_int_equal(stats_of(server).prompt_tokens, 3);
    assert_int_equal(stats_of(server).completion_tokens, 2);
    js_free(document);
    response_release(&response);
    scripted_stop(server);
}

static void a_stream_has_role_text_calls_finish_usage_and_done(void **state)
{
    struct scripted *server =
        server_start(RULES("{'reply':{'text':'drei Äpfel für Ännchen','chunks':3,"
                           "'calls':[{'name':'f','arguments':{'path':'a.txt'}},{'name':'g'}]}}"),
                     NULL, 1);
    struct response response = ask(server, "{'model':'scripted','stream':true,'stream_options':"
                                           "{'include_usage':true},'messages':"
                                           "[{'role':'user','content':'x'}]}");
    struct heard heard;
    hear(&heard, &response);
    assert_contains(buf_view(&response.headers), "text/event-stream");
    assert_text(buf_view(&heard.order), "rtttcaaacaFUD");
    assert_text(buf_view(&heard.text), "drei Äpfel für Ännchen");
    assert_text(buf_view(&heard.arguments[0]), "{\"path\":\"a.txt\"}");
    assert_text(buf_view(&heard.arguments[1]), "{}");
    assert_text(buf_view(&heard.names), "fg");
    assert_int_equal(heard.completion_tokens, 12); /* 25 + 17 + 3 bytes by 4 */
    assert_int_equal(stats_of(server).completion_tokens, 12);
    heard_release(&heard);
    response_release(&response);
    scripted_stop(server);
}

static void a_stream_has_no_usage_unless_asked(void **state)
{
    struct scripted *server = server_start(RULES("{'reply':{'text':'hi','chunks':1}}"), NULL, 1);
    struct response response = ask(server, STREAM("x"));
    struct heard heard;
    hear(&heard, &response);
    assert_text(buf_view(&heard.order), "rtFD");
    assert_null(memmem(response.body.p, response.body.n, "usage", 5));
    assert_int_equal(stats_of(server).completion_tokens, 0);
    heard_release(&heard);
    response_release(&response);
    scripted_stop(server);
}

static void usage_is_what_the_script_says_or_absent(void **state)
{
    struct scripted *server =
        server_start(RULES("{'when':{'first_user':'given'},'reply':{'text':'a','usage':"
                           "{'prompt_tokens':70,'completion_tokens':7,'total_tokens':77}}},"
                           "{'reply':{'text':'a','usage':null}}"),
                     NULL, 1);
    struct response given = ask(server, ASK("given")), absent = ask(server, ASK("none"));
    assert_contains(buf_view(&given.body), "\"completion_tokens\":7,");
    assert_null(memmem(absent.body.p, absent.body.n, "usage", 5));
    assert_int_equal(stats_of(server).prompt_tokens, 70);
    response_release(&given);
    response_release(&absent);
    scripted_stop(server);
}

static void the_same_request_gets_the_same_bytes(void **state)
{
    struct scripted *server =
        server_start(RULES("{'reply':{'text':'a','calls':[{'name':'f'}]}}"), NULL, 1);
    struct response first = ask(server, STREAM("x")), second = ask(server, STREAM("x"));
    assert_true(first.body.n > 0 && str_eq(buf_view(&first.body), buf_view(&second.body)));
    response_release(&first);
    response_release(&second);
    scripted_stop(server);
}

static void call_ids_are_unique_in_a_conversation(void **state)
{
    struct scripted *server =
        server_start(RULES("{'reply':{'calls':[{'name':'f','repeat':3}]}}"), NULL, 1);
    struct map ids;
    map_init(&ids);
    struct buf body;
    buf_init(&body, 1u << 16);
    for (int turn = 0; turn < 3; turn++) {
        buf_clear(&body);
        buf_text(&body, "{'model':'scripted','messages':[{'role':'user','content':'x'}");
        for (int i = 0; i < turn; i++)
            buf_text(&body, ",{'role':'assistant','content':'y'},{'role':'user','content':'x'}");
        buf_text(&body, "]}");
        struct response response = ask(server, body.p);
        struct js *document = document_of(&response);
        for (size_t i = 0; i < 3; i++) {
            struct str id = js_get_str(call_of(document, i), "id");
            assert_true(id.n > 0 && id.n <= 40);
            assert_null(map_set(&ids, id, server));
        }
        js_free(document);
        response_release(&response);
    }
    assert_int_equal(ids.count, 9);
    map_release(&ids);
    buf_release(&body);
    scripted_stop(server);
}

static void assert_cut(struct scripted *server, const char *body, const char *text,
                       const char *arguments)
{
    struct response response = ask(server, body);
    struct js *document = document_of(&response);
    assert_text(js_get_str(js_at(js_get(document, "choices"), 0), "finish_reason"), "length");
    assert_text(js_get_str(message_of(document), "content"), text);
    assert_text(js_get_str(js_get(call_of(document, 0), "function"), "arguments"), arguments);
    assert_int_equal(js_get_int(js_get(document, "usage"), "completion_tokens", -1), 2);
    js_free(document);
    response_release(&response);
}

static void the_output_limit_cuts_the_reply(void **state)
{
    struct scripted *server = server_start(
        RULES("{'when':{'first_user':'text'},'reply':{'text':'0123456789'}},"
              "{'reply':{'text':'01','calls':[{'name':'f','arguments':{'key':'v'}}]}}"),
        NULL, 1);
    assert_cut(server, LIMITED("'max_tokens':2", "text"), "01234567", "");
    assert_cut(server, LIMITED("'max_tokens':2", "x"), "01", "{\"key");
    scripted_stop(server);
}

static void reasoning_is_sent_in_pieces(void **state)
{
    struct scripted *server = server_start(
        RULES("{'reply':{'text':'yes','reasoning':{'reasoning_content':'eight "
              "by','reasoning_details':"
              "[{'type':'reasoning.text','text':'t'}]},'chunks':2,'calls':[{'name':'f',"
              "'extra_content':{'google':{'thought_signature':'s'}}}]}}"),
        NULL, 1);
    struct response response = ask(server, STREAM("x"));
    assert_contains(buf_view(&response.body), "\"delta\":{\"reasoning_content\":\"eigh\"}");
    assert_contains(buf_view(&response.body), "\"delta\":{\"reasoning_content\":\"t by\"}");
    assert_contains(
        buf_view(&response.body),
        "\"delta\":{\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"t\"}]}");
    assert_contains(buf_view(&response.body),
                    "\"extra_content\":{\"google\":{\"thought_signature\":\"s\"}}");
    response_release(&response);
    scripted_stop(server);
}

#define ECHOING(message, call)                                                                     \
    "{'model':'scripted','messages':[{'role':'user','content':'x'},{'role':'assistant','content':" \
    "null,'tool_calls':[{'id':'a','type':'function','function':{'name':'f','arguments':'{}'}" call \
    "}]" message "},{'role':'tool','tool_call_id':'a','content':'r'}]}"
#define SIGNED ",'extra_content':{'s':'1'}"

static void what_a_rule_expects_must_come_back_unchanged(void **state)
{
    static const struct {
        const char *body;
        long status;
    } rows[] = {
        {ECHOING(",'reasoning_content':'hm'", SIGNED), 200},
        {ECHOING(",'reasoning_content':'hm '", SIGNED), 400},
        {ECHOING("", SIGNED), 400},
        {ECHOING(",'reasoning_content':'hm'", ""), 400},
        {ECHOING(",'reasoning_content':'hm'", ",'extra_content':{'s':'2'}"), 400},
        {ECHOING(",'reasoning_content':'hm','reasoning':'hm'", SIGNED), 400},
    };
    struct scripted *server = server_start(
        RULES("{'expects':{'reasoning_content':'hm','extra_content':[{'s':'1'}]},'reply':{'text':"
              "'ok'}}"),
        NULL, 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct response response = ask(server, rows[i].body);
        assert_int_equal(response.status, rows[i].status);
        response_release(&response);
    }
    assert_int_equal(stats_of(server).refused, 5);
    assert_int_equal(stats_of(server).accepted, 1);
    scripted_stop(server);
}

static void raw_bytes_are_sent_as_they_are(void **state)
{
    struct scripted *server = server_start(
        RULES("{'reply':{'raw':'data: {nonsense\\n\\n{{turn}}','status':502}}"), NULL, 1);
    struct response response = ask(server, STREAM("x"));
    assert_text(buf_view(&response.body), "data: {nonsense\n\n{{turn}}");
    assert_int_equal(response.status, 502);
    response_release(&response);
    scripted_stop(server);
}

static void the_demos_root_asks_for_two_children_at_once(void **state)
{
    struct scripted *server = NULL;
    struct err err = ERR_INIT;
    struct scripted_config config = {.script = str_from(demo_script)};
    assert_int_equal(scripted_start(&config, &server, &err), 0);
    struct response response =
        ask(server, "{'model':'scripted','messages':[{'role':'user','content':'the demo'}],"
                    "'tools':[{'type':'function','function':{'name':'spawn_agent'}}]}");
    struct js *document = document_of(&response);
    assert_int_equal(js_count(js_get(message_of(document), "tool_calls")), 2);
    for (size_t i = 0; i < 2; i++)
        assert_text(js_get_str(js_get(call_of(document, i), "function"), "name"), "spawn_agent");
    js_free(document);
    response_release(&response);
    scripted_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_script_says_what_and_where),
        cmocka_unit_test(a_port_in_use_is_an_error),
        cmocka_unit_test(the_first_rule_that_matches_answers),
        cmocka_unit_test(thousands_of_rules_keep_their_order),
        cmocka_unit_test(rules_look_at_turn_system_last_and_tools),
        cmocka_unit_test(a_request_that_no_rule_matches_gets_500_and_is_counted),
        cmocka_unit_test(templates_are_filled_from_the_request),
        cmocka_unit_test(a_whole_answer_has_the_apis_shape),
        cmocka_unit_test(a_stream_has_role_text_calls_finish_usage_and_done),
        cmocka_unit_test(a_stream_has_no_usage_unless_asked),
        cmocka_unit_test(usage_is_what_the_script_says_or_absent),
        cmocka_unit_test(the_same_request_gets_the_same_bytes),
        cmocka_unit_test(call_ids_are_unique_in_a_conversation),
        cmocka_unit_test(the_output_limit_cuts_the_reply),
        cmocka_unit_test(reasoning_is_sent_in_pieces),
        cmocka_unit_test(what_a_rule_expects_must_come_back_unchanged),
        cmocka_unit_test(raw_bytes_are_sent_as_they_are),
        cmocka_unit_test(the_demos_root_asks_for_two_children_at_once),
    };
    curl_global_init(CURL_GLOBAL_DEFAULT);
    int failed = cmocka_run_group_tests_name("scripted", tests, NULL, NULL);
    curl_global_cleanup();
    return failed;
}
