/* model/responses_render: fragments and bodies, byte for byte, and that a body is what the API wants whatever was said. */
#include "model/responses_render.h"

#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "check.h"
#include "model/responses_extras.h"

#define BAD "\xEF\xBF\xBD"
#define ITEM(role, type, text)                                                                     \
    "{\"type\":\"message\",\"role\":\"" role "\",\"content\":[{\"type\":\"" type                   \
    "\",\"text\":\"" text "\"}]}"
#define USER(text) ITEM("user", "input_text", text)
#define ASSISTANT(text) "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"" text "\"}"
#define SYSTEM(text) ITEM("system", "input_text", text)
#define CALL(id, name, arguments)                                                                  \
    "{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"" name                          \
    "\",\"arguments\":\"" arguments "\"}"
#define RESULT(id, text)                                                                           \
    "{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":\"" text "\"}"
#define THOUGHT                                                                                    \
    "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":\"x\"}"
#define TAIL ",\"stream\":true,\"store\":false,\"include\":[\"reasoning.encrypted_content\"]}"
#define LINE(item) "I" item "\n"

static const struct tool_call two_calls[] = {{STR("c1_0"), STR("read"), STR("{\"path\": \"a\"}")},
                                             {STR("c2_0"), STR("ls"), STR("{}")}};

#define SAYS(role_, text_)                                                                         \
    {                                                                                              \
        .role = MESSAGE_##role_, .text = STR(text_)                                                \
    }
#define CALLS(list, text_)                                                                         \
    {                                                                                              \
        .role = MESSAGE_ASSISTANT, .text = STR(text_), .calls = (struct tool_call *)list,          \
        .call_count = sizeof list / sizeof list[0]                                                 \
    }
#define ANSWERS(id, text_)                                                                         \
    {                                                                                              \
        .role = MESSAGE_TOOL, .call_id = STR(id), .text = STR(text_)                               \
    }

static void check_body(const struct model_request *request, const char *expected)
{
    struct dialect dialect;
    struct buf body;
    struct err err = ERR_INIT;
    buf_init(&body, 100000);
    dialect_resolve(DIALECT_RESPONSES, request, NULL, &dialect);
    responses_render_body(request, &dialect, &body);
    check_str(buf_view(&body), expected);
    struct js *parsed = js_parse(buf_view(&body), &err);
    assert_non_null(parsed);
    js_free(parsed);
    buf_release(&body);
}

/* What stands in the body between the model and the tail. */
static void check_conversation(const struct message *messages, size_t count, const char *expected)
{
    struct buf fragments, wanted;
    buf_init(&fragments, 100000);
    buf_init(&wanted, 100000);
    for (size_t i = 0; i < count; i++)
        responses_render_group(&(struct message_group){&messages[i], 1, STR("p")}, &fragments);
    assert_false(fragments.failed);
    const struct model_request request = {.model = STR("m"), .fragments = buf_view(&fragments)};
    buf_printf(&wanted, "{\"model\":\"m\",%s" TAIL, expected);
    check_body(&request, wanted.p);
    buf_release(&fragments);
    buf_release(&wanted);
}

#define CONVERSATION(expected, ...)                                                                \
    do {                                                                                           \
        const struct message messages_[] = {__VA_ARGS__};                                          \
        check_conversation(messages_, sizeof messages_ / sizeof messages_[0], expected);           \
    } while (0)

static void system_texts_before_all_items_are_the_instructions(void **state)
{
    CONVERSATION("\"instructions\":\"be \\\"good\\\"\\n\\n\\nbe brief\",\"input\":[" USER("hi") "]",
                 SAYS(SYSTEM, "be \"good\"\n"), SAYS(SYSTEM, "be brief"), SAYS(USER, "hi"));
}

static void a_later_system_text_stays_in_its_place(void **state)
{
    CONVERSATION(
        "\"instructions\":\"s\",\"input\":[" USER("a") "," SYSTEM("late\\n") "," USER("b") "]",
        SAYS(SYSTEM, "s"), SAYS(USER, "a"), SAYS(SYSTEM, "late\n"), SAYS(USER, "b"));
}

#define FIRST_CALL CALL("000001000", "read", "{\\\"path\\\": \\\"a\\\"}")
#define SECOND_CALL CALL("000002000", "ls", "{}")

static void each_message_call_and_result_is_an_item(void **state)
{
    static const char expected[] =
        "\"input\":[" USER("go") "," ASSISTANT("so") "," FIRST_CALL "," SECOND_CALL "," RESULT(
            "000001000", "one") "," RESULT("000002000", "two") "]";
    CONVERSATION(expected, SAYS(USER, "go"), CALLS(two_calls, "so"), ANSWERS("c1_0", "one"),
                 ANSWERS("c2_0", "two"));
}

static void texts_that_are_empty_make_no_item_of_the_model(void **state)
{
    const struct tool_call call[] = {{STR("c1_0"), STR("ls"), STR("")}};
    CONVERSATION("\"input\":[" USER("(empty)") "," CALL("000001000", "ls",
                                                        "{}") "," RESULT("000001000", "") "]",
                 SAYS(USER, ""), CALLS(call, ""), {.role = MESSAGE_TOOL, .call_id = STR("c1_0")},
                 SAYS(ASSISTANT, ""));
}

static void there_is_always_something_to_answer(void **state)
{
    CONVERSATION("\"instructions\":\"s\",\"input\":[" USER("Continue.") "]", SAYS(SYSTEM, "s"));
}

static void names_and_ids_of_others_are_made_acceptable(void **state)
{
    const struct tool_call call[] = {{STR(""), STR("re ad\xC3\xA4"), STR("{}")}};
    CONVERSATION("\"input\":[" CALL("EPJ6ch5sk", "re_ad__", "{}") "," RESULT("EPJ6ch5sk", "x") "]",
                 CALLS(call, ""), ANSWERS("", "x"));
}

static void invalid_utf8_is_mended_when_rendered(void **state)
{
    CONVERSATION("\"input\":[" USER("a" BAD) "]", SAYS(USER, "a\xFF"));
}

/* --- extras ------------------------------------------------------------------------------------------- */

#define EXTRAS(content)                                                                            \
    "{\"api\":\"responses\",\"host\":\"api.example.com\",\"content\":[" content "]}"
#define SEALED "Rapi.example.com " THOUGHT "\n"

static void check_assistant(const char *extras, struct str text, size_t calls, const char *expected)
{
    const struct message message = {.role = MESSAGE_ASSISTANT,
                                    .text = text,
                                    .calls = (struct tool_call *)two_calls + 1,
                                    .call_count = calls,
                                    .extras = str_from(extras)};
    struct buf out;
    buf_init(&out, 10000);
    responses_render_group(&(struct message_group){&message, 1, STR("p")}, &out);
    check_str(buf_view(&out), expected);
    buf_release(&out);
}

static void reasoning_is_echoed_unchanged_and_in_its_place(void **state)
{
    check_assistant(EXTRAS(THOUGHT ",{\"text\":2},{\"text\":1}," THOUGHT ",{\"call\":1}"),
                    STR("Hi!"), 1,
                    SEALED LINE(ASSISTANT("Hi")) LINE(ASSISTANT("!"))
                        SEALED LINE(CALL("000002000", "ls", "{}")));
}

static void what_another_api_wants_echoed_is_ignored(void **state)
{
    check_assistant("{\"api\":\"anthropic\",\"host\":\"h\",\"content\":[" THOUGHT ",{\"text\":2}]}",
                    STR("Hi"), 0, LINE(ASSISTANT("Hi")));
    check_assistant("[1]", STR("Hi"), 0, LINE(ASSISTANT("Hi")));
    check_assistant("{", STR("Hi"), 0, LINE(ASSISTANT("Hi")));
}

static void a_host_that_is_none_is_not_written(void **state)
{
    check_assistant("{\"api\":\"responses\",\"host\":\"a b\\n\",\"content\":[" THOUGHT
                    ",{\"text\":2}]}",
                    STR("Hi"), 0, LINE(ASSISTANT("Hi")));
    check_assistant("{\"api\":\"responses\",\"content\":[" THOUGHT ",{\"text\":2}]}", STR("Hi"), 0,
                    LINE(ASSISTANT("Hi")));
}

static void reasoning_about_a_text_that_has_changed_is_dropped(void **state)
{
    check_assistant(EXTRAS(THOUGHT ",{\"text\":3}"), STR("Hi"), 1,
                    LINE(ASSISTANT("Hi")) LINE(CALL("000002000", "ls", "{}")));
    check_assistant(EXTRAS(THOUGHT ",{\"text\":1},{\"text\":1}"), STR("\xC3\xA4"), 0,
                    LINE(ASSISTANT("\xC3\xA4")));
    check_assistant(EXTRAS(THOUGHT ",{\"text\":-1},{\"text\":3}"), STR("Hi"), 0,
                    LINE(ASSISTANT("Hi")));
}

static void something_always_follows_reasoning(void **state)
{
    check_assistant(EXTRAS(THOUGHT ",{\"text\":2}," THOUGHT ",{\"call\":1}"), STR("Hi"), 0,
                    SEALED LINE(ASSISTANT("Hi")));
    check_assistant(EXTRAS(THOUGHT), STR(""), 0, "");
}

static void check_sealed(const char *base_url, const char *model, const char *expected)
{
    const struct model_request request = {
        .model = str_from(model),
        .base_url = str_from(base_url),
        .fragments = STR(SEALED LINE(ASSISTANT("Hi"))),
    };
    struct buf wanted;
    buf_init(&wanted, 10000);
    buf_printf(&wanted, "{\"model\":\"%s\",\"input\":[%s}", model, expected);
    check_body(&request, wanted.p);
    buf_release(&wanted);
}

#define WITHOUT ASSISTANT("Hi") "],\"stream\":true,\"store\":false"
#define ASKED ",\"include\":[\"reasoning.encrypted_content\"]"

static void reasoning_goes_back_to_the_host_that_sealed_it_only(void **state)
{
    check_sealed("https://api.example.com/v1", "gpt-5", THOUGHT "," WITHOUT ASKED);
    check_sealed("https://user:key@API.example.com?x=1", "gpt-5", THOUGHT "," WITHOUT ASKED);
    check_sealed("https://api.example.com:8080/v1", "gpt-5", WITHOUT ASKED);
    check_sealed("https://other.example.com/v1", "gpt-5", WITHOUT ASKED);
    check_sealed("", "gpt-5", WITHOUT ASKED);
}

static void models_that_do_not_reason_are_not_asked_to(void **state)
{
    static const char *const plain[] = {"gpt-4.1-mini",   "gpt-4o",        "ft:gpt-4o:me::1",
                                        "openai/gpt-4.1", "gpt-3.5-turbo", "gpt-5-chat-latest"};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        check_sealed("https://api.example.com/v1", plain[i], WITHOUT);
    check_sealed("https://api.example.com/v1", "openai/gpt-5-mini", THOUGHT "," WITHOUT ASKED);
}

/* --- bodies ------------------------------------------------------------------------------------------- */

static void a_body_holds_what_was_asked_for(void **state)
{
    const struct model_tool tools[] = {
        {STR("read"), STR("Reads."), STR("{\"type\":\"object\"}")},
        {STR("ls"), STR_NONE, STR_NONE},
    };
    struct model_request request = {
        .model = STR("m"),
        .fragments = STR(LINE(USER("u"))),
        .tools = tools,
        .tool_count = 2,
        .max_output_tokens = 512,
        .params =
            &(struct model_params){.temperature = 1.5, .top_p = NAN, .seed = PARAM_SEED_UNSET}};
    check_body(&request,
               "{\"model\":\"m\",\"input\":[" USER(
                   "u") "],\"tools\":[{\"type\":\"function\",\"name\":\"read\",\"description\":"
                        "\"Reads.\",\"parameters\":{\"type\":\"object\"},\"strict\":false},"
                        "{\"type\":\"function\",\"name\":\"ls\",\"parameters\":{\"type\":"
                        "\"object\",\"properties\":{}},\"strict\":false}],\"stream\":true,"
                        "\"store\":false" ASKED ",\"max_output_tokens\":512,\"temperature\":1.5}");
}

static void the_output_limit_is_never_below_what_the_api_takes(void **state)
{
    struct model_request request = {.model = STR("m"), .fragments = STR(LINE(USER("u")))};
    const struct {
        int64_t limit;
        const char *sent;
    } rows[] = {{1, "16"}, {15, "16"}, {16, "16"}, {17, "17"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf wanted;
        buf_init(&wanted, 1000);
        buf_printf(&wanted,
                   "{\"model\":\"m\",\"input\":[" USER(
                       "u") "],\"stream\":true,\"store\":false" ASKED ",\"max_output_tokens\":%s}",
                   rows[i].sent);
        request.max_output_tokens = rows[i].limit;
        check_body(&request, wanted.p);
        buf_release(&wanted);
    }
}

static void fragments_that_were_cut_off_end_the_body(void **state)
{
    const struct model_request request = {.model = STR("m"),
                                          .fragments = STR(LINE(USER("u")) "I{\"type\":\"mes")};
    check_body(&request, "{\"model\":\"m\",\"input\":[" USER("u") "]" TAIL);
}

static void hosts_are_found_in_urls(void **state)
{
    check_str(responses_host(STR("https://api.openai.com/v1/responses")), "api.openai.com");
    check_str(responses_host(STR("http://[::1]:80?x=http://y")), "[::1]:80");
    check_str(responses_host(STR("http://a:b@c@host#x")), "host");
    check_str(responses_host(STR("host/v1")), "");
    check_str(responses_host(STR("http://ho st/")), "");
    check_str(responses_host(STR("://")), "");
    check_str(responses_host(STR_NONE), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(system_texts_before_all_items_are_the_instructions),
        cmocka_unit_test(a_later_system_text_stays_in_its_place),
        cmocka_unit_test(each_message_call_and_result_is_an_item),
        cmocka_unit_test(texts_that_are_empty_make_no_item_of_the_model),
        cmocka_unit_test(there_is_always_something_to_answer),
        cmocka_unit_test(names_and_ids_of_others_are_made_acceptable),
        cmocka_unit_test(invalid_utf8_is_mended_when_rendered),
        cmocka_unit_test(reasoning_is_echoed_unchanged_and_in_its_place),
        cmocka_unit_test(what_another_api_wants_echoed_is_ignored),
        cmocka_unit_test(a_host_that_is_none_is_not_written),
        cmocka_unit_test(reasoning_about_a_text_that_has_changed_is_dropped),
        cmocka_unit_test(something_always_follows_reasoning),
        cmocka_unit_test(reasoning_goes_back_to_the_host_that_sealed_it_only),
        cmocka_unit_test(models_that_do_not_reason_are_not_asked_to),
        cmocka_unit_test(a_body_holds_what_was_asked_for),
        cmocka_unit_test(the_output_limit_is_never_below_what_the_api_takes),
        cmocka_unit_test(fragments_that_were_cut_off_end_the_body),
        cmocka_unit_test(hosts_are_found_in_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
