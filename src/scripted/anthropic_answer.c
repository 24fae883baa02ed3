/* Builds answers in the shapes of the Messages API: one message, a stream of named events, errors. Pure: any thread. */
#include "scripted/anthropic.h"

#include <stdio.h>

/* Input of a call as an object: what the script sends as text may be none. */
static void write_input(struct jw *w, struct str arguments)
{
    struct err ignored = ERR_INIT;
    struct js *parsed = js_parse(arguments, &ignored);
    jw_kraw(w, "input", js_kind(parsed) == JS_OBJECT ? arguments : STR("{}"));
    js_free(parsed);
}

static struct str stop_reason(struct str finish)
{
    static const struct {
        const char *finish, *reason;
    } reasons[] = {
        {"stop", "end_turn"},
        {"tool_calls", "tool_use"},
        {"length", "max_tokens"},
        {"content_filter", "refusal"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (str_is(finish, reasons[i].finish))
            return str_from(reasons[i].reason);
    return finish;
}

enum usage_moment { USAGE_AT_START, USAGE_AT_END };

/* The script speaks of prompt and completion; cached tokens are counted apart here. */
static void write_usage(struct jw *w, const struct draft *draft, enum usage_moment moment)
{
    const struct js *details = js_get(draft->usage, "prompt_tokens_details");
    int64_t cached = js_get_int(details, "cached_tokens", 0);
    int64_t written = js_get_int(details, "cache_write_tokens", 0);
    if (draft->usage_kind == USAGE_ABSENT)
        return;
    jw_key(w, "usage");
    jw_object(w);
    jw_kint(w, "input_tokens", draft->prompt_tokens - cached - written);
    jw_kint(w, "cache_creation_input_tokens", written);
    jw_kint(w, "cache_read_input_tokens", cached);
    jw_kint(w, "output_tokens", moment == USAGE_AT_START ? 1 : draft->completion_tokens);
    jw_end_object(w);
}

static void write_head(struct jw *w, const struct draft *draft, const struct asked *asked)
{
    jw_ktext(w, "id", draft->id);
    jw_ktext(w, "type", "message");
    jw_ktext(w, "role", "assistant");
    jw_kstr(w, "model", asked->model->id);
}

static void write_text(struct jw *w, struct str text)
{
    jw_object(w);
    jw_ktext(w, "type", "text");
    jw_kstr(w, "text", text);
    jw_end_object(w);
}

static void write_thinking(struct jw *w, struct str thinking, const char *signature)
{
    jw_object(w);
    jw_ktext(w, "type", "thinking");
    jw_kstr(w, "thinking", thinking);
    jw_ktext(w, "signature", signature);
    jw_end_object(w);
}

static void write_call(struct jw *w, const struct draft_call *call, struct str input)
{
    jw_object(w);
    jw_ktext(w, "type", "tool_use");
    jw_ktext(w, "id", call->id);
    jw_kstr(w, "name", call->name);
    write_input(w, input);
    jw_end_object(w);
}

void anthropic_whole(struct answer *answer, const struct draft *draft, const struct asked *asked,
                     size_t chunks)
{
    char signature[ANTHROPIC_SIGNATURE_SIZE];
    struct jw w;
    jw_init(&w, &answer->body);
    jw_object(&w);
    write_head(&w, draft, asked);
    jw_key(&w, "content");
    jw_array(&w);
    anthropic_signature(buf_view(&draft->thinking), signature);
    if (draft->thinking.n > 0)
        write_thinking(&w, buf_view(&draft->thinking), signature);
    if (draft->text.n > 0)
        write_text(&w, buf_view(&draft->text));
    for (size_t i = 0; i < draft->call_count; i++)
        write_call(&w, &draft->calls[i], draft->calls[i].arguments);
    jw_end_array(&w);
    jw_kstr(&w, "stop_reason", stop_reason(draft->finish));
    jw_kraw(&w, "stop_sequence", STR("null"));
    write_usage(&w, draft, USAGE_AT_END);
    jw_end_object(&w);
    answer_mark(answer);
    answer->usage_piece = draft->usage_kind != USAGE_ABSENT ? 0 : ANSWER_NO_PIECE;
}

/* --- streams ------------------------------------------------------------------------------------------ */

struct stream {
    struct answer *answer;
    struct jw w;
    size_t index; /* of the block that is being sent */
    size_t chunks;
};

/* An event is open until event_end. */
static void event_begin(struct stream *stream, const char *type)
{
    struct buf *out = &stream->answer->body;
    buf_printf(out, "event: %s\ndata: ", type);
    jw_init(&stream->w, out);
    jw_object(&stream->w);
    jw_ktext(&stream->w, "type", type);
}

static void event_end(struct stream *stream)
{
    jw_end_object(&stream->w);
    buf_text(&stream->answer->body, "\n\n");
    answer_mark(stream->answer);
}

static void stream_ping(struct stream *stream)
{
    event_begin(stream, "ping");
    event_end(stream);
}

static void block_begin(struct stream *stream)
{
    event_begin(stream, "content_block_start");
    jw_kint(&stream->w, "index", (int64_t)stream->index);
    jw_key(&stream->w, "content_block");
}

/* One delta {"type":type, key:text}. */
static void stream_delta(struct stream *stream, const char *type, const char *key, struct str text)
{
    event_begin(stream, "content_block_delta");
    jw_kint(&stream->w, "index", (int64_t)stream->index);
    jw_key(&stream->w, "delta");
    jw_object(&stream->w);
    jw_ktext(&stream->w, "type", type);
    jw_kstr(&stream->w, key, text);
    jw_end_object(&stream->w);
    event_end(stream);
}

static void stream_pieces(struct stream *stream, const char *type, const char *key, struct str text)
{
    size_t total = text.n;
    while (text.n > 0)
        stream_delta(stream, type, key, draft_piece(&text, total, stream->chunks));
}

static void block_end(struct stream *stream)
{
    event_begin(stream, "content_block_stop");
    jw_kint(&stream->w, "index", (int64_t)stream->index);
    event_end(stream);
    stream->index++;
}

static void stream_thinking(struct stream *stream, struct str thinking)
{
    char signature[ANTHROPIC_SIGNATURE_SIZE];
    anthropic_signature(thinking, signature);
    block_begin(stream);
    write_thinking(&stream->w, STR(""), "");
    event_end(stream);
    stream_pieces(stream, "thinking_delta", "thinking", thinking);
    stream_delta(stream, "signature_delta", "signature", str_from(signature));
    block_end(stream);
}

static void stream_text(struct stream *stream, struct str text)
{
    block_begin(stream);
    write_text(&stream->w, STR(""));
    event_end(stream);
    stream_ping(stream);
    stream_pieces(stream, "text_delta", "text", text);
    block_end(stream);
}

static void stream_call(struct stream *stream, const struct draft_call *call)
{
    block_begin(stream);
    write_call(&stream->w, call, STR("{}"));
    event_end(stream);
    stream_delta(stream, "input_json_delta", "partial_json", STR(""));
    stream_pieces(stream, "input_json_delta", "partial_json", call->arguments);
    block_end(stream);
}

static void stream_start(struct stream *stream, const struct draft *draft,
                         const struct asked *asked)
{
    struct jw *w = &stream->w;
    event_begin(stream, "message_start");
    jw_key(w, "message");
    jw_object(w);
    write_head(w, draft, asked);
    jw_kraw(w, "content", STR("[]"));
    jw_kraw(w, "stop_reason", STR("null"));
    jw_kraw(w, "stop_sequence", STR("null"));
    write_usage(w, draft, USAGE_AT_START);
    jw_end_object(w);
    event_end(stream);
}

static void stream_finish(struct stream *stream, const struct draft *draft)
{
    struct jw *w = &stream->w;
    if (draft->usage_kind != USAGE_ABSENT)
        stream->answer->usage_piece = stream->answer->piece_count;
    event_begin(stream, "message_delta");
    jw_key(w, "delta");
    jw_object(w);
    jw_kstr(w, "stop_reason", stop_reason(draft->finish));
    jw_kraw(w, "stop_sequence", STR("null"));
    jw_end_object(w);
    write_usage(w, draft, USAGE_AT_END);
    event_end(stream);
    event_begin(stream, "message_stop");
    event_end(stream);
}

void anthropic_stream(struct answer *answer, const struct draft *draft, const struct asked *asked,
                      size_t chunks)
{
    struct stream stream = {.answer = answer, .chunks = chunks};
    stream_start(&stream, draft, asked);
    stream_ping(&stream);
    if (draft->thinking.n > 0)
        stream_thinking(&stream, buf_view(&draft->thinking));
    if (draft->text.n > 0)
        stream_text(&stream, buf_view(&draft->text));
    for (size_t i = 0; i < draft->call_count; i++)
        stream_call(&stream, &draft->calls[i]);
    stream_finish(&stream, draft);
}

/* --- errors ------------------------------------------------------------------------------------------- */

void anthropic_refusal(const struct refusal *refusal, struct buf *out)
{
    static const struct {
        int status;
        const char *type;
    } types[] = {
        {401, "authentication_error"}, {403, "permission_error"}, {404, "not_found_error"},
        {413, "request_too_large"},    {429, "rate_limit_error"}, {529, "overloaded_error"},
    };
    const char *type = refusal->status >= 500 ? "api_error" : "invalid_request_error";
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].status == refusal->status)
            type = types[i].type;
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    jw_ktext(&w, "type", "error");
    jw_key(&w, "error");
    jw_object(&w);
    jw_ktext(&w, "type", type);
    jw_ktext(&w, "message", refusal->message);
    jw_end_object(&w);
    jw_end_object(&w);
}
