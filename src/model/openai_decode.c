/* The decoder of Chat Completions answers: events or a document in, text, calls and usage out. Each
 * chunk is parsed once; only one that does not parse is mended and tried again. Does not know the
 * transport. Runs on the thread that feeds it. */
#include "model/openai_decode.h"

#include "base/utf8.h"
#include "model/openai_mend.h"

#define FINISH_MAX ((size_t)64)
#define USAGE_MAX                                                                                  \
    INT64_C(1000000000000) /* a larger count is nonsense, and sums must not overflow */

static enum sse_next on_event(void *user, const struct sse_event *event);

void openai_decoder_init(struct openai_decoder *decoder, struct openai_server server,
                         void (*delta)(void *user, struct str text), void *user)
{
    *decoder = (struct openai_decoder){
        .server = server, .delta = delta, .user = user, .usage = USAGE_NONE};
    sse_init(&decoder->sse, on_event, decoder);
    buf_init(&decoder->json, OPENAI_TEXT_MAX);
    buf_init(&decoder->mended, SSE_DATA_MAX * 6);
    buf_init(&decoder->text, OPENAI_TEXT_MAX);
    buf_init(&decoder->finish, FINISH_MAX);
    buf_init(&decoder->response_id, OPENAI_LABEL_MAX);
    buf_init(&decoder->model, OPENAI_LABEL_MAX);
    openai_calls_init(&decoder->calls);
    arena_init(&decoder->arena);
}

void openai_decoder_release(struct openai_decoder *decoder)
{
    sse_release(&decoder->sse);
    buf_release(&decoder->json);
    buf_release(&decoder->mended);
    buf_release(&decoder->text);
    buf_release(&decoder->finish);
    buf_release(&decoder->response_id);
    buf_release(&decoder->model);
    openai_calls_release(&decoder->calls);
    arena_release(&decoder->arena);
}

bool openai_decoder_started(const struct openai_decoder *decoder)
{
    return decoder->text.n > 0 || decoder->calls.count > 0;
}

static void fail(struct openai_decoder *decoder, enum err_class class, const char *what)
{
    if (decoder->failed != ERR_NONE)
        return;
    decoder->failed = class;
    decoder->message =
        arena_printf(&decoder->arena, "%.*s: %s", STR_FMT(decoder->server.url), what);
}

/* --- what a chunk holds
 * ------------------------------------------------------------------------------ */

static void add_text(struct openai_decoder *decoder, struct str text)
{
    if (text.n == 0)
        return;
    buf_str(&decoder->text, text);
    if (decoder->text.failed)
        fail(decoder, ERR_RETRY, "the answer holds more than 16 MB of text");
    else if (decoder->delta)
        decoder->delta(decoder->user, text);
}

/* Content is a string, or a list of parts. */
static void read_content(struct openai_decoder *decoder, const struct js *content)
{
    add_text(decoder, js_str(content));
    for (size_t i = 0; js_kind(content) == JS_ARRAY && i < js_count(content); i++) {
        const struct js *part = js_at(content, i);
        add_text(decoder, js_kind(part) == JS_STRING ? js_str(part) : js_get_str(part, "text"));
    }
}

static void read_message(struct openai_decoder *decoder, const struct js *message)
{
    struct err err = ERR_INIT;
    read_content(decoder, js_get(message, "content"));
    add_text(decoder, js_get_str(message, "refusal"));
    const struct js *calls = js_get(message, "tool_calls");
    if (calls && openai_calls_read(&decoder->calls, calls, &err) != 0)
        fail(decoder, err.class, err.message);
}

static void read_choice(struct openai_decoder *decoder, const struct js *choice)
{
    const struct js *delta = js_get(choice, "delta"), *message = js_get(choice, "message");
    if (js_kind(choice) != JS_OBJECT || js_get_int(choice, "index", 0) != 0)
        return;
    decoder->has_answer = true;
    if (js_kind(delta) == JS_OBJECT) {
        decoder->has_delta = true;
        read_message(decoder, delta);
    } else if (js_kind(message) == JS_OBJECT && !decoder->has_delta) {
        /* After deltas, a message only repeats what came. */
        decoder->has_delta = true;
        read_message(decoder, message);
    }
    struct str finish = js_get_str(choice, "finish_reason");
    if (str_is(finish, "error"))
        fail(decoder, ERR_RETRY, "the server ended its answer with an error");
    if (finish.n > 0) {
        buf_clear(&decoder->finish);
        buf_str(&decoder->finish, utf8_cut(finish, FINISH_MAX));
    }
}

static void read_count(int64_t *count, const struct js *value)
{
    int64_t number = js_int(value, -1);
    if (number >= 0 && number <= USAGE_MAX)
        *count = number;
}

static void read_usage(struct usage *usage, const struct js *value)
{
    if (js_kind(value) != JS_OBJECT)
        return;
    const struct js *input = js_get(value, "prompt_tokens_details");
    const struct js *output = js_get(value, "completion_tokens_details");
    read_count(&usage->input, js_get(value, "prompt_tokens"));
    read_count(&usage->output, js_get(value, "completion_tokens"));
    read_count(&usage->cached, js_get(value, "prompt_cache_hit_tokens"));
    read_count(&usage->cached, js_get(input, "cached_tokens"));
    read_count(&usage->cache_write, js_get(input, "cache_write_tokens"));
    read_count(&usage->reasoning, js_get(output, "reasoning_tokens"));
}

/* The first one counts; one that is too long is cut. */
static void read_label(struct buf *label, const struct js *value)
{
    if (label->n == 0)
        buf_str(label, utf8_cut(js_str(value), OPENAI_LABEL_MAX));
}

static void read_error(struct openai_decoder *decoder, const struct js *root, struct str raw)
{
    struct str words = openai_error_words(&decoder->server, root, raw, &decoder->arena);
    decoder->failed = openai_error_class(root);
    decoder->message =
        arena_printf(&decoder->arena, "%.*s answered with an error%s%.*s",
                     STR_FMT(decoder->server.url), words.n > 0 ? ": " : "", STR_FMT(words));
}

static void read_root(struct openai_decoder *decoder, const struct js *root)
{
    read_label(&decoder->response_id, js_get(root, "id"));
    read_label(&decoder->model, js_get(root, "model"));
    read_usage(&decoder->usage, js_get(root, "usage"));
    const struct js *choices = js_get(root, "choices");
    for (size_t i = 0; js_kind(choices) == JS_ARRAY && i < js_count(choices); i++)
        read_choice(decoder, js_at(choices, i));
}

/* Parses text, mending it if need be; NULL when it is no JSON. */
static struct js *parse(struct openai_decoder *decoder, struct str text)
{
    struct err ignored = ERR_INIT; /* it may quote the text, and that is the server's */
    struct js *root = js_parse(text, &ignored);
    if (root)
        return root;
    buf_clear(&decoder->mended);
    openai_mend(&decoder->mended, text);
    return decoder->mended.failed ? NULL : js_parse(buf_view(&decoder->mended), &ignored);
}

static struct str trim(struct str text)
{
    while (text.n > 0 && (unsigned char)text.p[0] <= ' ')
        text = (struct str){text.p + 1, text.n - 1};
    while (text.n > 0 && (unsigned char)text.p[text.n - 1] <= ' ')
        text.n--;
    return text;
}

static enum sse_next on_event(void *user, const struct sse_event *event)
{
    struct openai_decoder *decoder = user;
    struct str data = trim(event->data);
    if (data.n == 0)
        return SSE_GO_ON;
    if (str_is(data, "[DONE]")) {
        decoder->done = true;
        return SSE_STOP;
    }
    struct js *root = parse(decoder, data);
    if (str_is(event->type, "error") || openai_is_error(root)) {
        read_error(decoder, root, data);
    } else if (js_kind(root) == JS_OBJECT) {
        read_root(decoder, root);
    } else {
        fail(decoder, ERR_RETRY, "the stream holds a chunk that is no JSON object");
    }
    js_free(root);
    return decoder->failed == ERR_NONE ? SSE_GO_ON : SSE_STOP;
}

/* --- the body
 * ----------------------------------------------------------------------------------------- */

/* The first byte that is neither white space nor part of a byte order mark tells what the body is.
 */
static struct str sniff(struct openai_decoder *decoder, struct str bytes)
{
    while (bytes.n > 0 && memchr(" \t\r\n\xEF\xBB\xBF", bytes.p[0], 7))
        bytes = (struct str){bytes.p + 1, bytes.n - 1};
    if (bytes.n == 0)
        return bytes;
    if (bytes.p[0] == '{' || bytes.p[0] == '[')
        decoder->body = BODY_JSON;
    else
        decoder->body = bytes.p[0] == '<' ? BODY_PAGE : BODY_EVENTS;
    return bytes;
}

enum openai_next openai_decoder_feed(struct openai_decoder *decoder, struct str bytes)
{
    struct err err = ERR_INIT;
    if (decoder->failed != ERR_NONE)
        return OPENAI_FAILED;
    if (decoder->body == BODY_UNKNOWN)
        bytes = sniff(decoder, bytes);
    if (decoder->body == BODY_EVENTS && sse_feed(&decoder->sse, bytes, &err) != 0)
        fail(decoder, err.class, err.message);
    if (decoder->body == BODY_JSON) {
        buf_str(&decoder->json, bytes);
        if (decoder->json.failed)
            fail(decoder, ERR_RETRY, "the answer holds more than 16 MB");
    }
    if (decoder->failed != ERR_NONE)
        return OPENAI_FAILED;
    return decoder->done ? OPENAI_COMPLETE : OPENAI_GO_ON;
}

static void finish_document(struct openai_decoder *decoder)
{
    struct js *root = parse(decoder, buf_view(&decoder->json));
    if (!root)
        fail(decoder, ERR_RETRY, "the answer is not complete JSON");
    else if (openai_is_error(root))
        read_error(decoder, root, buf_view(&decoder->json));
    else
        read_root(decoder, root);
    decoder->done = decoder->has_answer;
    js_free(root);
}

static void finish_body(struct openai_decoder *decoder, enum openai_closing closing)
{
    struct err err = ERR_INIT;
    bool closed = closing == OPENAI_CLOSED && decoder->failed == ERR_NONE;
    if (closed && decoder->body == BODY_EVENTS && sse_finish(&decoder->sse, &err) != 0)
        fail(decoder, err.class, err.message);
    if (closed && decoder->body == BODY_JSON)
        finish_document(decoder);
    if (decoder->body == BODY_PAGE)
        fail(decoder, ERR_PROVIDER,
             "the answer is a web page and not a model's: check the base URL");
    else if (decoder->has_answer && (decoder->done || decoder->finish.n > 0))
        return;
    else if (decoder->body == BODY_UNKNOWN)
        fail(decoder, ERR_RETRY, "the answer is empty");
    else if (decoder->body == BODY_JSON && closing == OPENAI_CLOSED)
        fail(decoder, ERR_RETRY, "the answer holds no choices");
    else
        fail(decoder, ERR_RETRY,
             decoder->done ? "the stream held no answer" : "the stream ended early");
}

static bool is_cut(struct str finish)
{
    return str_is(finish, "length") || str_is(finish, "max_tokens");
}

bool openai_decoder_finish(struct openai_decoder *decoder, enum openai_closing closing,
                           struct model_reply *reply, struct model_failure *failure)
{
    struct tool_call *calls = NULL;
    size_t count = 0;
    struct err err = ERR_INIT;
    finish_body(decoder, closing);
    struct str finish = buf_view(&decoder->finish);
    enum openai_ending ending = is_cut(finish) ? OPENAI_CUT : OPENAI_WHOLE;
    if (decoder->failed == ERR_NONE &&
        openai_calls_finish(&decoder->calls, ending, &decoder->arena, &calls, &count, &err) != 0)
        fail(decoder, err.class, err.message);
    if (decoder->failed != ERR_NONE) {
        *failure = (struct model_failure){
            .class = decoder->failed,
            .retry_after_ms = -1,
            .message = decoder->message,
            .partial = buf_view(&decoder->text),
            .usage = decoder->usage,
        };
        return false;
    }
    *reply = (struct model_reply){
        .text = buf_view(&decoder->text),
        .calls = calls,
        .call_count = count,
        .finish = finish,
        .completeness = ending == OPENAI_CUT ? REPLY_CUT : REPLY_WHOLE,
        .usage = decoder->usage,
        .response_id = buf_view(&decoder->response_id),
        .model = buf_view(&decoder->model),
        .first_token_ms = -1,
    };
    return true;
}
