/* model/openai_render: messages and bodies, byte for byte. */
#include "model/openai_render.h"

#include <math.h>

#include "base/json.h"
#include "check.h"
#include "model/anthropic_render.h"
#include "model/responses_render.h"

#define BAD "\xEF\xBF\xBD"

static void render_one(const struct message *message, struct buf *out)
{
    openai_render_group(&(struct message_group){message, 1, STR("p")}, out);
}

static void openai_body(const struct model_request *request, struct buf *out)
{
    struct dialect dialect;
    dialect_resolve(DIALECT_CHAT, request, NULL, &dialect);
    openai_render_body(request, &dialect, out);
}

static void anthropic_body(const struct model_request *request, struct buf *out)
{
    struct dialect dialect;
    dialect_resolve(DIALECT_MESSAGES, request, NULL, &dialect);
    anthropic_render_body(request, &dialect, out);
}

static void responses_body(const struct model_request *request, struct buf *out)
{
    struct dialect dialect;
    dialect_resolve(DIALECT_RESPONSES, request, NULL, &dialect);
    responses_render_body(request, &dialect, out);
}

static void check_render(const struct message *message, const char *expected)
{
    struct buf out;
    struct err err = ERR_INIT;
    buf_init(&out, 100000);
    render_one(message, &out);
    check_str(buf_view(&out), expected);
    struct js *parsed = js_parse(buf_view(&out), &err);
    assert_non_null(parsed);
    js_free(parsed);
    buf_release(&out);
}

static void each_role_is_rendered_as_the_api_wants_it(void **state)
{
    struct tool_call calls[] = {{STR("c1_0"), STR("read"), STR("{\"path\":\"a\\\"b\"}")},
                                {STR("c2_0"), STR("ls"), STR("{}")}};
    check_render(&(struct message){.role = MESSAGE_SYSTEM, .text = STR("be \"good\"\n")},
                 "{\"role\":\"system\",\"content\":\"be \\\"good\\\"\\n\"}");
    check_render(&(struct message){.role = MESSAGE_USER, .text = STR("hi")},
                 "{\"role\":\"user\",\"content\":\"hi\"}");
    check_render(&(struct message){.role = MESSAGE_ASSISTANT, .text = STR("yes")},
                 "{\"role\":\"assistant\",\"content\":\"yes\"}");
    check_render(
        &(struct message){.role = MESSAGE_ASSISTANT, .calls = calls, .call_count = 2},
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":["
        "{\"id\":\"000001000\",\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":"
        "\"{\\\"path\\\":\\\"a\\\\\\\"b\\\"}\"}},"
        "{\"id\":\"000002000\",\"type\":\"function\",\"function\":{\"name\":\"ls\",\"arguments\":"
        "\"{}\"}}]}");
    check_render(
        &(struct message){.role = MESSAGE_TOOL, .call_id = STR("c1_0"), .text = STR("Error: no")},
        "{\"role\":\"tool\",\"tool_call_id\":\"000001000\",\"content\":\"Error: no\"}");
}

static void invalid_utf8_is_mended_when_rendered(void **state)
{
    check_render(&(struct message){.role = MESSAGE_USER,
                                   .text = STR("a\xFF"
                                               "b")},
                 "{\"role\":\"user\",\"content\":\"a" BAD "b\"}");
}

static void a_name_that_no_server_takes_back_is_made_acceptable(void **state)
{
    struct tool_call call = {STR("c7_1"), STR("do it.now/\xC3\xA4"), STR("{}")};
    check_render(
        &(struct message){.role = MESSAGE_ASSISTANT, .calls = &call, .call_count = 1},
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"000007001\",\"type\":"
        "\"function\",\"function\":{\"name\":\"do_it_now___\",\"arguments\":\"{}\"}}]}");
}

static void fragments_are_joined_by_commas_into_a_body(void **state)
{
    struct buf fragments, body;
    buf_init(&fragments, 10000);
    buf_init(&body, 10000);
    render_one(&(struct message){.role = MESSAGE_SYSTEM, .text = STR("s")}, &fragments);
    render_one(&(struct message){.role = MESSAGE_USER, .text = STR("u")}, &fragments);
    const struct model_tool tool = {STR("read"), STR("Reads."), STR("{\"type\":\"object\"}")};
    struct model_request request = {
        .model = STR("m"),
        .fragments = buf_view(&fragments),
        .tools = &tool,
        .tool_count = 1,
        .max_output_tokens = 512,
        .params =
            &(struct model_params){.temperature = 0.5, .top_p = NAN, .seed = PARAM_SEED_UNSET},
    };
    openai_body(&request, &body);
    check_str(
        buf_view(&body),
        "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"s\"},"
        "{\"role\":\"user\",\"content\":\"u\"}],\"tools\":[{\"type\":\"function\",\"function\":"
        "{\"name\":\"read\",\"description\":\"Reads.\",\"parameters\":{\"type\":\"object\"}}}],"
        "\"stream\":true,\"stream_options\":{\"include_usage\":true},\"max_tokens\":512,"
        "\"temperature\":0.5}");
    buf_clear(&body);
    request.tool_count = 0;
    request.params = NULL;
    openai_body(&request, &body);
    check_str(buf_view(&body),
              "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"s\"},"
              "{\"role\":\"user\",\"content\":\"u\"}],\"stream\":true,\"stream_options\":"
              "{\"include_usage\":true},\"max_tokens\":512}");
    buf_release(&fragments);
    buf_release(&body);
}

/* Appends a body with one tool, whose text is kept in the memo where there is one. */
static void body_with(struct tools_memo *memo,
                      void (*render)(const struct model_request *, struct buf *), struct buf *out)
{
    static const struct model_tool tool = {{"read", 4}, {"Reads a \"file\".\n", 17}, {NULL, 0}};
    const struct model_request request = {
        .model = STR("m"), .tools = &tool, .tool_count = 1, .tools_memo = memo};
    render(&request, out);
}

static void kept_text_of_tools_gives_the_same_body_with_every_api(void **state)
{
    void (*const renders[])(const struct model_request *, struct buf *) = {
        openai_body, openai_body, anthropic_body, responses_body, openai_body};
    struct tools_memo memo = {0};
    buf_init(&memo.text, 100000);
    for (size_t i = 0; i < sizeof renders / sizeof renders[0]; i++) {
        struct buf kept, fresh;
        buf_init(&kept, 100000);
        buf_init(&fresh, 100000);
        body_with(&memo, renders[i], &kept);
        body_with(NULL, renders[i], &fresh);
        assert_non_null(strstr(fresh.p, "\"tools\":[{"));
        if (!str_eq(buf_view(&kept), buf_view(&fresh)))
            fail_msg("%s is not %s", kept.p, fresh.p);
        buf_release(&kept);
        buf_release(&fresh);
    }
    buf_release(&memo.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_text_of_tools_gives_the_same_body_with_every_api),
        cmocka_unit_test(each_role_is_rendered_as_the_api_wants_it),
        cmocka_unit_test(invalid_utf8_is_mended_when_rendered),
        cmocka_unit_test(a_name_that_no_server_takes_back_is_made_acceptable),
        cmocka_unit_test(fragments_are_joined_by_commas_into_a_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
