/* model/text_calls: calls that models write into their text, in the shapes of several families, and what is no call. */
#include "model/text_calls.h"

#include "check.h"
#include "model/openai_decode.h"

static const struct model_tool offered[] = {
    {STR("read"), STR("Reads a file."),
     STR("{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"limit\":{\"type\":"
         "\"integer\"},\"all\":{\"type\":\"boolean\"},\"lines\":{\"type\":\"array\"},\"note\":{"
         "\"type\":[\"string\",\"null\"]}}}")},
    {STR("ls"), STR("Lists."), STR("{\"type\":\"object\"}")},
};

/* "<text left> name arguments …" */
static void describe(struct str text, struct buf *out)
{
    struct text_tools tools;
    struct arena arena;
    struct call_draft *drafts = NULL;
    struct tool_call *calls = NULL;
    arena_init(&arena);
    text_tools_copy(&tools, offered, 2, &arena);
    size_t count = text_calls_take(&tools, &text, &arena, &drafts);
    calls_finish(drafts, &count, CALLS_WHOLE, &arena, &calls);
    buf_printf(out, "<%.*s>", STR_FMT(text));
    for (size_t i = 0; i < count; i++)
        buf_printf(out, " %.*s %.*s", STR_FMT(calls[i].name), STR_FMT(calls[i].arguments));
    arena_release(&arena);
}

static void check_text(const char *text, const char *expected)
{
    struct buf out;
    buf_init(&out, 1000000);
    describe(str_from(text), &out);
    check_str(buf_view(&out), expected);
    buf_release(&out);
}

/* Stays as it is. */
static void check_no_call(const char *text)
{
    struct buf expected;
    buf_init(&expected, 1000000);
    buf_printf(&expected, "<%s>", text);
    check_text(text, expected.p);
    buf_release(&expected);
}

static void json_in_a_tag_is_a_call(void **state)
{
    check_text("<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}</tool_call>",
               "<> read {\"path\":\"a\"}");
    check_text("<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>",
               "<> read {\"path\":\"a\"}");
    check_text("<tool_call>{\"name\":\"read\",\"parameters\":{\"path\":\"a\"}}</tool_call>",
               "<> read {\"path\":\"a\"}");
    check_text("<tool_call>{\"name\":\"ls\"}</tool_call>", "<> ls {}");
    check_text(
        "<tool_call>{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"a\\\"}\"}</tool_call>",
        "<> read {\"path\":\"a\"}");
}

static void several_calls_and_the_text_around_them_are_told_apart(void **state)
{
    check_text(
        "I look first.\n<tool_call>{\"name\":\"ls\",\"arguments\":{}}</tool_call>\n"
        "<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"b\"}}</tool_call>\n\nThen I "
        "write.\n",
        "<I look first.\nThen I write.> ls {} read {\"path\":\"b\"}");
}

static void fences_inside_and_around_do_not_matter(void **state)
{
    check_text("<tool_call>\n```json\n{\"name\":\"ls\",\"arguments\":{}}\n```\n</tool_call>",
               "<> ls {}");
    check_text("See:\n```xml\n<tool_call>{\"name\":\"ls\"}</tool_call>\n```\nDone.",
               "<See:\nDone.> ls {}");
    check_text(
        "```\n<tool_call>{\"name\":\"ls\"}</tool_call>\n<tool_call>{\"name\":\"ls\"}</tool_call>"
        "\n```",
        "<> ls {} ls {}");
    check_text("```c\nint x;\n```\n<tool_call>{\"name\":\"ls\"}</tool_call>\n```c\nint y;\n```",
               "<```c\nint x;\n```\n```c\nint y;\n```> ls {}");
}

static void the_last_closing_tag_may_be_missing(void **state)
{
    check_text("ok <tool_call>{\"name\":\"ls\",\"arguments\":{}}", "<ok> ls {}");
    check_text("<tool_call>\n{\"name\":\"ls\",\"arguments\":{}}\n", "<> ls {}");
    check_text("<function=read>{\"path\":\"a\"}", "<> read {\"path\":\"a\"}");
    check_text("<tool_call>\n<function=read>\n<parameter=path>\na\n</parameter>\n",
               "<> read {\"path\":\"a\"}");
    check_no_call("<tool_call>{\"name\":\"ls\",\"arguments\":{}} is how it is done");
}

static void a_tag_inside_of_a_string_ends_nothing(void **state)
{
    check_text(
        "<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a</tool_call>b\"}}</tool_call>",
        "<> read {\"path\":\"a</tool_call>b\"}");
    check_text("<function=read><parameter=path>a</parameter>b</parameter></function>",
               "<> read {\"path\":\"a</parameter>b\"}");
}

static void parameters_in_tags_are_text_unless_the_schema_says_otherwise(void **state)
{
    check_text(
        "<tool_call>\n<function=read>\n<parameter=path>\n12\n</parameter>\n<parameter=limit>\n40\n"
        "</parameter>\n<parameter=all>True</parameter>\n<parameter=lines>[1, 2]</parameter>\n"
        "</function>\n</tool_call>",
        "<> read {\"path\":\"12\",\"limit\":40,\"all\":true,\"lines\":[1, 2]}");
    check_text("<function=read><parameter=limit>many</parameter><parameter=note>null</parameter>"
               "<parameter=other>7</parameter></function>",
               "<> read {\"limit\":\"many\",\"note\":null,\"other\":\"7\"}");
    check_text("<function=read><parameter=path>\n  two\nlines\n\n</parameter></function>",
               "<> read {\"path\":\"  two\\nlines\\n\"}");
    check_text("<function=ls></function>", "<> ls {}");
}

static void a_function_with_json_is_a_call(void **state)
{
    check_text("Sure. <function=read>{\"path\": \"a\"}</function>",
               "<Sure.> read {\"path\": \"a\"}");
    check_text("<function=read>{'path': 'a',}</function>", "<> read {\"path\":\"a\"}");
}

static void a_closing_tag_without_its_beginning_goes_with_the_call(void **state)
{
    check_text("<function=ls>\n</function>\n</tool_call>", "<> ls {}");
}

static void only_tools_that_were_offered_are_called(void **state)
{
    check_no_call("<tool_call>{\"name\":\"rm\",\"arguments\":{\"path\":\"/\"}}</tool_call>");
    check_no_call("<function=rm>{\"path\":\"/\"}</function>");
    check_no_call("<function=rm>{\"path\":\"<function=ls></function>\"}</function>");
    check_no_call(
        "<tool_call>{\"name\":\"rm\",\"arguments\":{\"x\":\"<tool_call>{\\\"name\\\":\\\"ls\\\"}"
        "</tool_call>\"}}</tool_call>");
}

static void what_cannot_be_read_in_one_way_stays_text(void **state)
{
    check_no_call("");
    check_no_call("<");
    check_no_call("<tool_call>");
    check_no_call("<tool_call></tool_call>");
    check_no_call("<tool_call>{\"name\":\"ls\"");
    check_no_call("<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a</tool_call>");
    check_no_call("<tool_call>{\"name\":\"read\",\"path\":\"a\"}</tool_call>");
    check_no_call("<tool_call>[{\"name\":\"ls\"}]</tool_call>");
    check_no_call("<function=ls>");
    check_no_call("<function=read>path a</function>");
    check_no_call("<function=read><parameter=path>a</function>");
    check_no_call("<function=>{}</function>");
    check_no_call("<function=ls {}</function>");
}

static void the_number_of_calls_is_bounded(void **state)
{
    struct text_tools tools;
    struct arena arena;
    struct call_draft *drafts;
    struct buf text;
    arena_init(&arena);
    buf_init(&text, 1000000);
    text_tools_copy(&tools, offered, 2, &arena);
    for (size_t i = 0; i < TEXT_CALLS_MAX + 5; i++)
        buf_text(&text, "<function=ls></function>");
    struct str left = buf_view(&text);
    assert_int_equal(text_calls_take(&tools, &left, &arena, &drafts), TEXT_CALLS_MAX);
    assert_int_equal(left.n, 5 * strlen("<function=ls></function>"));
    arena_release(&arena);
    buf_release(&text);
}

/* --- in a reply ------------------------------------------------------------------------------------ */

#define STREAM(text, calls, finish)                                                                \
    "data: {\"choices\":[{\"delta\":{\"content\":\"" text "\"" calls                               \
    "},\"finish_reason\":\"" finish "\"}]}\n\ndata: [DONE]\n\n"
#define WRITTEN "Look: <function=ls></function>"

/* "<text> name(id)arguments …" of a reply from whose text calls are read. */
static void check_reply(const char *stream, const char *expected)
{
    struct openai_decoder decoder;
    struct model_reply reply;
    struct model_failure failure;
    struct buf out;
    buf_init(&out, 10000);
    openai_decoder_init(&decoder, (struct model_server){.url = STR("http://s"), .secret = STR("")},
                        NULL, NULL);
    decoder_offer(&decoder.base, offered, 2);
    (void)decoder_feed(&decoder.base, str_from(stream));
    assert_true(decoder_finish(&decoder.base, DECODER_CLOSED, &reply, &failure));
    buf_printf(&out, "<%.*s>", STR_FMT(reply.text));
    for (size_t i = 0; i < reply.call_count; i++)
        buf_printf(&out, " %.*s(%.*s)%.*s", STR_FMT(reply.calls[i].name),
                   STR_FMT(reply.calls[i].id), STR_FMT(reply.calls[i].arguments));
    check_str(buf_view(&out), expected);
    buf_release(&out);
    decoder_release(&decoder.base);
}

static void a_whole_reply_without_calls_is_looked_through(void **state)
{
    check_reply(STREAM(WRITTEN, "", "stop"), "<Look:> ls(call_0){}");
}

static void a_reply_that_was_cut_is_not(void **state)
{
    check_reply(STREAM(WRITTEN, "", "length"), "<" WRITTEN ">");
}

static void a_reply_with_calls_of_its_own_is_not(void **state)
{
    check_reply(STREAM(WRITTEN,
                       ",\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"read\","
                       "\"arguments\":\"{}\"}}]",
                       "tool_calls"),
                "<" WRITTEN "> read(a){}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_in_a_tag_is_a_call),
        cmocka_unit_test(several_calls_and_the_text_around_them_are_told_apart),
        cmocka_unit_test(fences_inside_and_around_do_not_matter),
        cmocka_unit_test(the_last_closing_tag_may_be_missing),
        cmocka_unit_test(a_tag_inside_of_a_string_ends_nothing),
        cmocka_unit_test(parameters_in_tags_are_text_unless_the_schema_says_otherwise),
        cmocka_unit_test(a_function_with_json_is_a_call),
        cmocka_unit_test(a_closing_tag_without_its_beginning_goes_with_the_call),
        cmocka_unit_test(only_tools_that_were_offered_are_called),
        cmocka_unit_test(what_cannot_be_read_in_one_way_stays_text),
        cmocka_unit_test(the_number_of_calls_is_bounded),
        cmocka_unit_test(a_whole_reply_without_calls_is_looked_through),
        cmocka_unit_test(a_reply_that_was_cut_is_not),
        cmocka_unit_test(a_reply_with_calls_of_its_own_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
