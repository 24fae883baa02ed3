/* The scripted model refuses what single vendors and model families refuse; each rule with its
 * accepted twin. */
#include "unit/scripted_client.h"

#define USER "{'role':'user','content':'hi'}"
#define SAID "{'role':'assistant','content':'a'}"
#define CALLED(id)                                                                                 \
    "{'role':'assistant','content':null,'tool_calls':[{'id':'" id                                  \
    "','type':'function','function':{'name':'f','arguments':'{}'}}]},"                             \
    "{'role':'tool','tool_call_id':'" id "','content':'done'}"
#define CHAT(model, list, rest) "{'model':'" model "','messages':[" list "]" rest "}"
#define SCRIPT(more)                                                                               \
    "{'models':[{'id':'gpt-5','refuses':['seed']},{'id':'plain'}]," more                           \
    "'rules':[{'reply':{'text':'hello'}}]}"

static const struct rule {
    const char *name, *script, *refused, *message, *accepted;
} rules[] = {
    {"newer families take max_completion_tokens", SCRIPT(""),
     CHAT("gpt-5", USER, ",'max_tokens':9"), "Use 'max_completion_tokens' instead",
     CHAT("gpt-5", USER, ",'max_completion_tokens':9")},
    {"older ones take max_tokens", SCRIPT(""), CHAT("gpt-5", USER, ",'max_tokens':9"), "max_tokens",
     CHAT("plain", USER, ",'max_tokens':9")},
    {"newer families take no temperature", SCRIPT(""), CHAT("gpt-5", USER, ",'temperature':0.5"),
     "Only the default (1) value", CHAT("gpt-5", USER, ",'temperature':1")},
    {"a model refuses what the script names", SCRIPT(""), CHAT("gpt-5", USER, ",'seed':1"),
     "Unsupported parameter: 'seed'", CHAT("plain", USER, ",'seed':1")},
    {"ids have nine characters", SCRIPT("'ids':'mistral',"),
     CHAT("plain", USER "," CALLED("c7_0"), ""),
     "Tool call id was c7_0 but must be a-z, A-Z, 0-9, with a length of 9",
     CHAT("plain", USER "," CALLED("000007000"), "")},
    {"users take turns with answers", SCRIPT("'template':'alternating',"),
     CHAT("plain", USER "," USER, ""), "roles must alternate",
     CHAT("plain", USER "," SAID "," USER, "")},
    {"a result does not take a turn", SCRIPT("'template':'alternating',"),
     CHAT("plain", USER "," CALLED("a") "," USER, ""), "roles must alternate",
     CHAT("plain", USER "," CALLED("a") "," SAID "," USER, "")},
    {"a system message comes first", SCRIPT("'template':'alternating',"),
     CHAT("plain", USER ",{'role':'system','content':'s'}", ""), "roles must alternate",
     CHAT("plain", "{'role':'system','content':'s'}," USER, "")},
};

#define RULE_COUNT (sizeof rules / sizeof rules[0])

static void refuses_and_accepts(void **state)
{
    const struct rule *rule = *state;
    struct scripted *server = server_start(rule->script, NULL, 1);
    struct response refused = ask(server, rule->refused);
    struct js *document = document_of(&refused);
    assert_int_equal(refused.status, 400);
    assert_contains(js_get_str(js_get(document, "error"), "message"), rule->message);
    struct response accepted = ask(server, rule->accepted);
    if (accepted.status != 200)
        fail_msg("refused: %.*s", STR_FMT(buf_view(&accepted.body)));
    js_free(document);
    response_release(&refused);
    response_release(&accepted);
    scripted_stop(server);
}

int main(void)
{
    struct CMUnitTest tests[RULE_COUNT];
    for (size_t i = 0; i < RULE_COUNT; i++)
        tests[i] =
            (struct CMUnitTest){rules[i].name, refuses_and_accepts, NULL, NULL, (void *)&rules[i]};
    curl_global_init(CURL_GLOBAL_DEFAULT);
    int failed = cmocka_run_group_tests_name("scripted_vendor", tests, NULL, NULL);
    curl_global_cleanup();
    return failed;
}
