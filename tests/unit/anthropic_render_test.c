/* model/anthropic_render: fragments and bodies, byte for byte, and that a body is what the API wants whatever was said. */
#include "model/anthropic_render.h"

#include <math.h>

#include "base/json.h"
#include "check.h"

#define BAD "\xEF\xBF\xBD"
#define MARK ",\"cache_control\":{\"type\":\"ephemeral\"}"
#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define MARKED(text) "{\"type\":\"text\",\"text\":\"" text "\"" MARK "}"
#define USER(blocks) "{\"role\":\"user\",\"content\":[" blocks "]}"
#define ASSISTANT(blocks) "{\"role\":\"assistant\",\"content\":[" blocks "]}"
#define CALL(id, name, input)                                                                      \
    "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name "\",\"input\":" input "}"
#define RESULT(id, text)                                                                           \
    "{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":\"" text "\"}"

static const struct tool_call one_call[] = {{STR("c1_0"), STR("read"), STR("{\"path\": \"a\"}")}};
static const struct tool_call two_calls[] = {{STR("c1_0"), STR("read"), STR("{}")},
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

static void render_body(const struct model_request *request, struct buf *out)
{
    struct dialect dialect;
    dialect_resolve(DIALECT_MESSAGES, request, NULL, &dialect);
    anthropic_render_body(request, &dialect, out);
}

static void render_all(const struct message *messages, size_t count, struct buf *out)
{
    buf_init(out, 100000);
    for (size_t i = 0; i < count; i++)
        anthropic_render_group(&(struct message_group){&messages[i], 1, STR("p")}, out);
    assert_false(out->failed);
}

/* The value of "system" and "messages" in the body that the messages make. */
static void check_conversation(const struct message *messages, size_t count, const char *system,
                               const char *expected)
{
    struct buf fragments, body, wanted;
    struct err err = ERR_INIT;
    render_all(messages, count, &fragments);
    const struct model_request request = {
        .model = STR("m"), .fragments = buf_view(&fragments), .max_output_tokens = 5};
    buf_init(&body, 100000);
    buf_init(&wanted, 100000);
    render_body(&request, &body);
    buf_printf(&wanted, "%s%s%s\"messages\":[%s],\"max_tokens\":5,\"stream\":true}",
               system ? "\"system\":[" : "", system ? system : "", system ? "]," : "", expected);
    assert_true(body.n > wanted.n && wanted.n > 0);
    check_str(((struct str){body.p + body.n - wanted.n, wanted.n}), wanted.p);
    assert_true((strstr(body.p, "\"system\":") != NULL) == (system != NULL));
    struct js *parsed = js_parse(buf_view(&body), &err);
    assert_non_null(parsed);
    js_free(parsed);
    buf_release(&fragments);
    buf_release(&body);
    buf_release(&wanted);
}

#define CONVERSATION(system, expected, ...)                                                        \
    do {                                                                                           \
        const struct message messages_[] = {__VA_ARGS__};                                          \
        check_conversation(messages_, sizeof messages_ / sizeof messages_[0], system, expected);   \
    } while (0)

static void system_texts_stand_apart(void **state)
{
    CONVERSATION(TEXT("be \\\"good\\\"\\n") "," MARKED("be brief"), USER(MARKED("hi")),
                 SAYS(SYSTEM, "be \"good\"\n"), SAYS(SYSTEM, "be brief"), SAYS(USER, "hi"));
}

static void a_system_text_in_the_middle_does_not_part_a_message(void **state)
{
    CONVERSATION(TEXT("s") "," MARKED("late"), USER(TEXT("a") "," MARKED("b")), SAYS(SYSTEM, "s"),
                 SAYS(USER, "a"), SAYS(SYSTEM, "late"), SAYS(USER, "b"));
}

static void neighbours_of_one_role_become_one_message(void **state)
{
    CONVERSATION(NULL,
                 USER(TEXT("a") "," MARKED("b")) "," ASSISTANT(TEXT("c") "," TEXT("d")) "," USER(
                     MARKED("e")),
                 SAYS(USER, "a"), SAYS(USER, "b"), SAYS(ASSISTANT, "c"), SAYS(ASSISTANT, "d"),
                 SAYS(USER, "e"));
}

static void results_come_first_in_the_message_after_their_calls(void **state)
{
    CONVERSATION(
        NULL,
        USER(MARKED("go")) "," ASSISTANT(TEXT("so") "," CALL("000001000", "read", "{}") "," CALL(
            "000002000", "ls",
            "{}")) "," USER(RESULT("000001000",
                                   "one") "," RESULT("000002000",
                                                     "two") "," TEXT("hurry") "," MARKED("now")),
        SAYS(USER, "go"), CALLS(two_calls, "so"), ANSWERS("c1_0", "one"), SAYS(USER, "hurry"),
        ANSWERS("c2_0", "two"), SAYS(USER, "now"));
}

static void the_last_result_is_marked_where_no_text_follows(void **state)
{
    CONVERSATION(
        NULL,
        USER(MARKED("go")) "," ASSISTANT(CALL("000001000", "read", "{\"path\": \"a\"}")) "," USER(
            "{\"type\":\"tool_result\",\"tool_use_id\":\"000001000\",\"content\":\"one\"" MARK "}"),
        SAYS(USER, "go"), CALLS(one_call, ""), ANSWERS("c1_0", "one"));
}

static void nothing_empty_is_sent(void **state)
{
    CONVERSATION(NULL,
                 USER(MARKED("(empty)")) "," ASSISTANT(
                     CALL("000001000", "read",
                          "{\"path\": \"a\"}")) "," USER("{\"type\":\"tool_result\",\"tool_use_"
                                                         "id\":\"000001000\"}," MARKED("x")),
                 SAYS(SYSTEM, " \n"), SAYS(USER, ""), CALLS(one_call, " \n"), ANSWERS("c1_0", " "),
                 SAYS(ASSISTANT, ""), SAYS(USER, "x"));
}

static void an_error_is_flagged_and_says_something(void **state)
{
    const struct message messages[] = {
        {.role = MESSAGE_TOOL, .call_id = STR("c1_0"), .text = STR("no"), .outcome = TOOL_ERROR},
        {.role = MESSAGE_TOOL, .call_id = STR("c2_0"), .outcome = TOOL_ERROR}};
    struct buf out;
    render_all(messages, 2, &out);
    check_str(
        buf_view(&out),
        "R{\"type\":\"tool_result\",\"tool_use_id\":\"000001000\",\"content\":\"no\",\"is_error\":"
        "true}\nR{\"type\":\"tool_result\",\"tool_use_id\":\"000002000\",\"content\":\"Error\","
        "\"is_error\":true}\n");
    buf_release(&out);
}

static void a_conversation_begins_and_ends_with_the_user(void **state)
{
    CONVERSATION(NULL, USER(TEXT("(start)")) "," ASSISTANT(TEXT("a")) "," USER(TEXT("Continue.")),
                 SAYS(ASSISTANT, "a"));
    CONVERSATION(MARKED("s"), USER(TEXT("Continue.")), SAYS(SYSTEM, "s"));
}

static void line_breaks_in_arguments_do_not_break_the_line(void **state)
{
    const struct tool_call call[] = {{STR("c1_0"), STR("read"), STR("{\n\"a\":\"x\\ny\"\r\n}")}};
    CONVERSATION(
        NULL,
        USER(MARKED("go")) "," ASSISTANT(
            CALL("000001000", "read",
                 "{ \"a\":\"x\\ny\"  }")) "," USER("{\"type\":\"tool_result\",\"tool_use_id\":"
                                                   "\"000001000\",\"content\":\"one\"" MARK "}"),
        SAYS(USER, "go"), CALLS(call, ""), ANSWERS("c1_0", "one"));
}

static void names_and_ids_of_others_are_made_acceptable(void **state)
{
    const struct tool_call call[] = {{STR("call:1/\xC3\xA4"), STR("do it.now"), STR("{}")}};
    const struct message messages[] = {CALLS(call, ""), ANSWERS("call:1/\xC3\xA4", "x"),
                                       ANSWERS("call:2", "y")};
    struct buf out;
    render_all(messages, 3, &out);
    const char *used = strstr(out.p, "\"id\":\""), *first = strstr(out.p, "\"tool_use_id\":\"");
    const char *second = strstr(first + 1, "\"tool_use_id\":\"");
    assert_non_null(strstr(out.p, "\"name\":\"do_it_now\""));
    assert_memory_equal(used + 6, first + 15, 10);
    assert_memory_not_equal(first + 15, second + 15, 9);
    assert_int_equal(used[6 + 9], '"');
    buf_release(&out);
}

static void invalid_utf8_is_mended_when_rendered(void **state)
{
    CONVERSATION(NULL, USER(MARKED("a" BAD "b")),
                 SAYS(USER, "a\xFF"
                            "b"));
}

/* --- extras ------------------------------------------------------------------------------------------- */

#define THOUGHT "{\"type\":\"thinking\",\"thinking\":\"so\",\"signature\":\"s==\"}"
#define HIDDEN "{\"type\":\"redacted_thinking\",\"data\":\"xyz\"}"
#define EXTRAS(content) "{\"api\":\"anthropic\",\"content\":[" content "]}"

static void check_assistant(const char *extras, struct str text, size_t call_count,
                            const char *expected)
{
    const struct message message = {.role = MESSAGE_ASSISTANT,
                                    .text = text,
                                    .calls = (struct tool_call *)two_calls,
                                    .call_count = call_count,
                                    .extras = str_from(extras)};
    struct buf out;
    render_all(&message, 1, &out);
    check_str(buf_view(&out), expected);
    buf_release(&out);
}

#define LINE(block) "A" block "\n"

static void thoughts_are_echoed_unchanged_and_in_their_place(void **state)
{
    check_assistant(
        EXTRAS(THOUGHT ",{\"text\":2}," HIDDEN ",{\"call\":1}," THOUGHT ",{\"call\":1}"), STR("Hi"),
        2,
        LINE(THOUGHT) LINE(TEXT("Hi")) LINE(HIDDEN) LINE(CALL("000001000", "read", "{}"))
            LINE(THOUGHT) LINE(CALL("000002000", "ls", "{}")));
}

static void what_another_api_wants_echoed_is_ignored(void **state)
{
    check_assistant("{\"api\":\"other\",\"content\":[" THOUGHT "]}", STR("Hi"), 0,
                    LINE(TEXT("Hi")));
    check_assistant("[1]", STR("Hi"), 0, LINE(TEXT("Hi")));
    check_assistant("{", STR("Hi"), 0, LINE(TEXT("Hi")));
}

static void thoughts_about_a_text_that_has_changed_are_dropped(void **state)
{
    check_assistant(EXTRAS(THOUGHT ",{\"text\":3}"), STR("Hi"), 1,
                    LINE(TEXT("Hi")) LINE(CALL("000001000", "read", "{}")));
    check_assistant(EXTRAS(THOUGHT ",{\"text\":1},{\"text\":1}"), STR("\xC3\xA4"), 0,
                    LINE(TEXT("\xC3\xA4")));
    check_assistant(EXTRAS(THOUGHT ",{\"text\":-1},{\"text\":3}"), STR("Hi"), 0, LINE(TEXT("Hi")));
}

static void a_message_does_not_end_in_thoughts(void **state)
{
    check_assistant(EXTRAS(THOUGHT ",{\"text\":2}," THOUGHT ",{\"call\":1}"), STR("Hi"), 0,
                    LINE(THOUGHT) LINE(TEXT("Hi")));
    check_assistant(EXTRAS(THOUGHT), STR(""), 0, "");
}

/* --- bodies ------------------------------------------------------------------------------------------- */

static void a_body_holds_what_was_asked_for(void **state)
{
    const struct model_tool tool = {STR("read"), STR("Reads."), STR("{\"type\":\"object\"}")};
    struct model_request request = {
        .model = STR("m"),
        .fragments = STR("U" TEXT("u") "\n"),
        .tools = &tool,
        .tool_count = 1,
        .max_output_tokens = 512,
        .params =
            &(struct model_params){.temperature = 1.5, .top_p = NAN, .seed = PARAM_SEED_UNSET}};
    struct buf body;
    buf_init(&body, 10000);
    render_body(&request, &body);
    check_str(buf_view(&body),
              "{\"model\":\"m\",\"tools\":[{\"name\":\"read\",\"description\":\"Reads.\","
              "\"input_schema\":{\"type\":\"object\"}" MARK "}],\"messages\":[" USER(
                  MARKED("u")) "],\"max_tokens\":512,\"stream\":true,\"temperature\":1.0}");
    buf_clear(&body);
    request.tool_count = 0;
    request.params = NULL;
    request.max_output_tokens = 0;
    render_body(&request, &body);
    check_str(buf_view(&body), "{\"model\":\"m\",\"messages\":[" USER(
                                   MARKED("u")) "],\"max_tokens\":4096,\"stream\":true}");
    buf_release(&body);
}

static void calls_in_the_past_need_a_tool_even_when_none_is_offered(void **state)
{
    const struct message messages[] = {SAYS(USER, "go"), CALLS(one_call, ""), ANSWERS("c1_0", "x")};
    struct buf fragments, body;
    render_all(messages, 3, &fragments);
    const struct model_request request = {
        .model = STR("m"), .fragments = buf_view(&fragments), .max_output_tokens = 5};
    buf_init(&body, 10000);
    render_body(&request, &body);
    assert_non_null(strstr(body.p, "\"tools\":[{\"name\":\"none\","));
    assert_non_null(strstr(body.p, "\"tool_choice\":{\"type\":\"none\"}"));
    buf_release(&fragments);
    buf_release(&body);
}

static void fragments_that_were_cut_off_end_the_body(void **state)
{
    const struct model_request request = {.model = STR("m"),
                                          .fragments = STR("U" TEXT("u") "\nU{\"type\":\"te"),
                                          .max_output_tokens = 5};
    struct buf body;
    buf_init(&body, 10000);
    render_body(&request, &body);
    check_str(buf_view(&body), "{\"model\":\"m\",\"messages\":[" USER(
                                   MARKED("u")) "],\"max_tokens\":5,\"stream\":true}");
    buf_release(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(system_texts_stand_apart),
        cmocka_unit_test(a_system_text_in_the_middle_does_not_part_a_message),
        cmocka_unit_test(neighbours_of_one_role_become_one_message),
        cmocka_unit_test(results_come_first_in_the_message_after_their_calls),
        cmocka_unit_test(the_last_result_is_marked_where_no_text_follows),
        cmocka_unit_test(nothing_empty_is_sent),
        cmocka_unit_test(an_error_is_flagged_and_says_something),
        cmocka_unit_test(a_conversation_begins_and_ends_with_the_user),
        cmocka_unit_test(line_breaks_in_arguments_do_not_break_the_line),
        cmocka_unit_test(names_and_ids_of_others_are_made_acceptable),
        cmocka_unit_test(invalid_utf8_is_mended_when_rendered),
        cmocka_unit_test(thoughts_are_echoed_unchanged_and_in_their_place),
        cmocka_unit_test(what_another_api_wants_echoed_is_ignored),
        cmocka_unit_test(thoughts_about_a_text_that_has_changed_are_dropped),
        cmocka_unit_test(a_message_does_not_end_in_thoughts),
        cmocka_unit_test(a_body_holds_what_was_asked_for),
        cmocka_unit_test(calls_in_the_past_need_a_tool_even_when_none_is_offered),
        cmocka_unit_test(fragments_that_were_cut_off_end_the_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
