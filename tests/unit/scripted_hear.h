/* How the tests of the scripted model read its answers: a reply's parts, and a stream put together again. */
#ifndef CADRE_TESTS_SCRIPTED_HEAR_H
#define CADRE_TESTS_SCRIPTED_HEAR_H

#include "unit/scripted_client.h"

#define ASK(text) "{'model':'scripted','messages':[{'role':'user','content':'" text "'}]}"
#define STREAM(text)                                                                               \
    "{'model':'scripted','stream':true,'messages':[{'role':'user','content':'" text "'}]}"
#define LIMITED(limit, text)                                                                       \
    "{'model':'scripted'," limit ",'messages':[{'role':'user','content':'" text "'}]}"
#define RULES(rules) "{'rules':[" rules "]}"

static inline const struct js *message_of(const struct js *document)
{
    return js_get(js_at(js_get(document, "choices"), 0), "message");
}

static inline const struct js *call_of(const struct js *document, size_t index)
{
    return js_at(js_get(message_of(document), "tool_calls"), index);
}

static inline void assert_text(struct str text, const char *expected)
{
    if (!str_is(text, expected))
        fail_msg("expected '%s', got '%.*s'", expected, STR_FMT(text));
}

/* Asks and compares the text of the reply. */
static inline void assert_says(struct scripted *server, const char *body, const char *expected)
{
    struct response response = ask(server, body);
    if (response.status != 200)
        fail_msg("status %ld: %.*s", response.status, STR_FMT(buf_view(&response.body)));
    struct js *document = document_of(&response);
    assert_text(js_get_str(message_of(document), "content"), expected);
    js_free(document);
    response_release(&response);
}

/* What a client makes of a stream. */
struct heard {
    struct buf text, arguments[2], names, order;
    size_t chunks, pieces;
    int64_t completion_tokens;
};

static inline void hear_chunk(struct heard *heard, struct str data)
{
    struct err err = ERR_INIT;
    if (str_is(data, "[DONE]")) {
        buf_text(&heard->order, "D");
        return;
    }
    struct js *chunk = js_parse(data, &err);
    assert_non_null(chunk);
    assert_text(js_get_str(chunk, "object"), "chat.completion.chunk");
    heard->chunks++;
    const struct js *choice = js_at(js_get(chunk, "choices"), 0), *delta = js_get(choice, "delta");
    const struct js *call = js_at(js_get(delta, "tool_calls"), 0),
                    *function = js_get(call, "function");
    if (js_kind(js_get(chunk, "usage")) == JS_OBJECT) {
        assert_int_equal(js_count(js_get(chunk, "choices")), 0);
        heard->completion_tokens = js_get_int(js_get(chunk, "usage"), "completion_tokens", -1);
        buf_text(&heard->order, "U");
    } else if (js_get(delta, "role") != NULL) {
        buf_text(&heard->order, "r");
    } else if (js_kind(js_get(choice, "finish_reason")) == JS_STRING) {
        buf_text(&heard->order, "F");
    } else if (call != NULL && js_get(call, "id") != NULL) {
        buf_text(&heard->order, "c");
        buf_str(&heard->names, js_get_str(function, "name"));
    } else if (call != NULL) {
        buf_text(&heard->order, "a");
        buf_str(&heard->arguments[js_get_int(call, "index", 0)], js_get_str(function, "arguments"));
    } else {
        heard->pieces++;
        buf_text(&heard->order, "t");
        buf_str(&heard->text, js_get_str(delta, "content"));
    }
    js_free(chunk);
}

static inline void hear(struct heard *heard, const struct response *response)
{
    struct buf *bufs[] = {&heard->text, &heard->arguments[0], &heard->arguments[1], &heard->names,
                          &heard->order};
    *heard = (struct heard){.completion_tokens = -1};
    for (size_t i = 0; i < 5; i++)
        buf_init(bufs[i], 1u << 20);
    struct str rest = buf_view(&response->body);
    const char *end;
    while ((end = memmem(rest.p, rest.n, "\n\n", 2)) != NULL) {
        struct str line = {rest.p, (size_t)(end - rest.p)};
        assert_true(str_starts(line, STR("data: ")));
        hear_chunk(heard, (struct str){line.p + 6, line.n - 6});
        rest = (struct str){end + 2, rest.n - line.n - 2};
    }
    assert_int_equal(rest.n, 0);
}

static inline void heard_release(struct heard *heard)
{
    buf_release(&heard->text);
    buf_release(&heard->arguments[0]);
    buf_release(&heard->arguments[1]);
    buf_release(&heard->names);
    buf_release(&heard->order);
}

#endif
