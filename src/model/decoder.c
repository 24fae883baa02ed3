/* The shared part of the decoders: tells streams from documents, has each chunk read in place or parses it once (only one
 * that does not parse is mended and tried again), keeps text and labels, and judges the end. Knows neither an API's shapes nor the transport.
 * Runs on the thread that feeds it. */
#include "model/decoder.h"

#include <strings.h>

#include "base/utf8.h"
#include "model/mend.h"

#define FINISH_MAX ((size_t)64)
/* An answer may have twice the limit and a margin: servers count differently. No tokenizer puts
 * more bytes than this into the tokens of a whole answer. */
#define OUTPUT_TIMES 2
#define OUTPUT_TOKEN_BYTES 8
#define OUTPUT_MARGIN ((size_t)16 << 10) /* bytes of text */
/* More bytes of calls, of which one reply may have ten thousand, and of reasoning. */
#define OUTPUT_SPARE ((size_t)4 << 20)
/* Bytes of text that are kept for each token of the limit, where an answer went beyond it. */
#define OUTPUT_KEPT_BYTES 4
#define OUTPUT_KEPT_LEAST ((size_t)1 << 10)
#define OUTPUT_LIMIT_MAX INT64_C(100000000)
#define ODD_MAX 1000 /* data that is not JSON, in one stream */
#define ODD_SHOWN 80 /* characters of it, in an error */
#define CUT_FINISH "length"
#define USAGE_INPUT_MARGIN 100000 /* tokens that a server may add to a prompt */
#define USAGE_OUTPUT_MARGIN                                                                        \
    1000000 /* tokens of reasoning that a server may count beside the limit */
#define USAGE_MAX                                                                                  \
    INT64_C(1000000000000) /* a larger count is nonsense, and sums must not overflow */

static enum sse_next on_event(void *user, const struct sse_event *event);

void decoder_init(struct decoder *decoder, const struct decoder_ops *ops,
                  struct model_server server, void (*delta)(void *user, struct str text),
                  void *user)
{
    *decoder = (struct decoder){.ops = ops,
                                .server = server,
                                .delta = delta,
                                .user = user,
                                .usage = USAGE_NONE,
                                .trouble = TROUBLE_UNKNOWN};
    sse_init(&decoder->sse, on_event, decoder);
    buf_init(&decoder->json, DECODER_TEXT_MAX);
    buf_init(&decoder->mended, SSE_DATA_MAX * 6);
    buf_init(&decoder->text, DECODER_TEXT_MAX);
    buf_init(&decoder->finish, FINISH_MAX);
    buf_init(&decoder->response_id, CALL_LABEL_MAX);
    buf_init(&decoder->model, CALL_LABEL_MAX);
    arena_init(&decoder->arena);
}

void decoder_release(struct decoder *decoder)
{
    decoder->ops->release(decoder);
    sse_release(&decoder->sse);
    buf_release(&decoder->json);
    buf_release(&decoder->mended);
    buf_release(&decoder->text);
    buf_release(&decoder->finish);
    buf_release(&decoder->response_id);
    buf_release(&decoder->model);
    arena_release(&decoder->arena);
}

bool decoder_is_ending(const struct decoder *decoder)
{
    return decoder->has_answer && decoder->finish.n > 0;
}

bool decoder_started(const struct decoder *decoder)
{
    return decoder->text.n > 0 || decoder->has_call;
}

void decoder_fail(struct decoder *decoder, enum err_class class, const char *what)
{
    if (decoder->failed != ERR_NONE)
        return;
    decoder->failed = class;
    decoder->message =
        arena_printf(&decoder->arena, "%.*s: %s", STR_FMT(decoder->server.url), what);
}

static void show_answer(void *user, struct str text)
{
    struct decoder *decoder = user;
    if (decoder->delta)
        decoder->delta(decoder->user, text);
}

static void show_reasoning(void *user, struct str text)
{
    struct decoder *decoder = user;
    if (decoder->reasoning)
        decoder->reasoning(decoder->user, text);
}

static void join_fresh(struct decoder *decoder, enum thinking_more more)
{
    struct buf *text = &decoder->text;
    struct str fresh = {text->p + decoder->shown, text->n - decoder->shown};
    size_t open = more == THINKING_MORE ? mend_open_end(fresh) : 0;
    struct buf joined;
    buf_init(&joined, fresh.n + 1);
    buf_add(&joined, fresh.p, fresh.n - open);
    mend_join(&joined);
    char *at = text->p + decoder->shown;
    memmove(at + joined.n, fresh.p + fresh.n - open, open); /* joining never makes it longer */
    if (joined.n > 0)
        memcpy(at, joined.p, joined.n);
    decoder->shown += joined.n;
    text->n = decoder->shown + open;
    text->p[text->n] = '\0';
    buf_release(&joined);
}

/* Puts together what came since the last time and shows it; half a character at the end waits
 * for the other half. */
static void show_text(struct decoder *decoder, enum thinking_more more)
{
    const struct thinking_sink sink = {show_answer, show_reasoning, decoder};
    struct buf *text = &decoder->text;
    if (text->n > decoder->shown && decoder->halves == MEND_HALVES)
        join_fresh(decoder, more);
    else
        decoder->shown = text->n;
    thinking_read(&decoder->thinking, (struct str){buf_view(text).p, decoder->shown}, more, &sink);
}

void decoder_limit(struct decoder *decoder, int64_t tokens)
{
    if (tokens <= 0 || tokens > OUTPUT_LIMIT_MAX)
        return;
    size_t kept = (size_t)tokens * OUTPUT_KEPT_BYTES;
    decoder->output.limited = true;
    decoder->output.limit = tokens;
    decoder->output.left = (size_t)tokens * OUTPUT_TIMES * OUTPUT_TOKEN_BYTES + OUTPUT_MARGIN;
    decoder->output.spare = OUTPUT_SPARE;
    decoder->output.kept = kept > OUTPUT_KEPT_LEAST ? kept : OUTPUT_KEPT_LEAST;
}

/* The output went far beyond what was asked for. What came counts as cut by length. */
static void cut_here(struct decoder *decoder)
{
    if (decoder->output.passed)
        return;
    decoder_finish_reason(decoder, STR(CUT_FINISH));
    decoder->output.passed = true;
    decoder->has_answer = true;
    decoder->done = true;
}

/* Whether this many more bytes of text are within the limit. */
static bool allows_text(struct decoder *decoder, size_t bytes)
{
    if (!decoder->output.limited)
        return true;
    if (bytes > decoder->output.left)
        cut_here(decoder);
    else
        decoder->output.left -= bytes;
    return !decoder->output.passed;
}

bool decoder_allows(struct decoder *decoder, size_t bytes)
{
    size_t spare = bytes < decoder->output.spare ? bytes : decoder->output.spare;
    decoder->output.spare -= spare;
    return allows_text(decoder, bytes - spare);
}

void decoder_reasoning(struct decoder *decoder, struct str text)
{
    if (text.n == 0 || !decoder_allows(decoder, text.n))
        return;
    if (decoder->text.n == 0)
        thinking_off(&decoder->thinking);
    if (decoder->halves == MEND_NO_HALVES) {
        show_reasoning(decoder, text);
        return;
    }
    struct buf joined;
    buf_init(&joined, text.n + 1);
    buf_str(&joined, text);
    mend_join(&joined);
    show_reasoning(decoder, buf_view(&joined));
    buf_release(&joined);
}

void decoder_text(struct decoder *decoder, struct str text)
{
    if (text.n == 0 || !allows_text(decoder, text.n))
        return;
    buf_str(&decoder->text, text);
    if (decoder->text.failed)
        decoder_fail(decoder, ERR_RETRY, "the answer holds more than 16 MB of text");
    else
        show_text(decoder, THINKING_MORE);
}

void decoder_finish_reason(struct decoder *decoder, struct str reason)
{
    if (reason.n == 0 || decoder->output.passed)
        return;
    buf_clear(&decoder->finish);
    buf_str(&decoder->finish, utf8_cut(reason, FINISH_MAX));
}

void decoder_label_text(struct buf *label, struct str text)
{
    if (label->n == 0)
        buf_str(label, utf8_cut(text, CALL_LABEL_MAX));
}

void decoder_label(struct buf *label, const struct js *value)
{
    decoder_label_text(label, js_str(value));
}

void decoder_count_number(int64_t *count, int64_t number)
{
    if (number >= 0 && number <= USAGE_MAX)
        *count = number;
}

void decoder_count(int64_t *count, const struct js *value)
{
    decoder_count_number(count, js_int(value, -1));
}

void decoder_offer(struct decoder *decoder, const struct model_tool *tools, size_t count)
{
    text_tools_copy(&decoder->tools, tools, count, &decoder->arena);
}

void decoder_trouble(struct decoder *decoder, const struct js *root, struct str raw)
{
    decoder->trouble = trouble_read(0, root, raw);
    if (decoder->trouble.kind != TROUBLE_NONE) {
        decoder->failed = ERR_PROVIDER;
        decoder->load_status = 0;
    }
}

static void read_error(struct decoder *decoder, const struct js *root, struct str raw)
{
    struct str words = failure_words(&decoder->server, root, raw, &decoder->arena);
    decoder->failed = failure_class(root);
    decoder->load_status = failure_load_status(root);
    decoder_trouble(decoder, root, raw);
    decoder->message =
        arena_printf(&decoder->arena, "%.*s answered with an error%s%.*s",
                     STR_FMT(decoder->server.url), words.n > 0 ? ": " : "", STR_FMT(words));
}

/* Parses text, mending it if need be; NULL when it is no JSON. */
static struct js *parse(struct decoder *decoder, struct str text)
{
    struct err ignored = ERR_INIT; /* it may quote the text, and that is the server's */
    struct js *root = js_parse(text, &ignored);
    if (root)
        return root;
    buf_clear(&decoder->mended);
    if (mend_json(&decoder->mended, text) == MEND_HALVES)
        decoder->halves = MEND_HALVES;
    return decoder->mended.failed ? NULL : js_parse(buf_view(&decoder->mended), &ignored);
}

/* Comments that servers send as data, and data that is not JSON. Broken JSON that has content in
 * it is not skipped: a part of the answer would be lost. */
static void skip_odd(struct decoder *decoder, struct str data)
{
    static const char *const content[] = {"choices", "delta", "content", "output", "response"};
    bool broken = false;
    for (size_t i = 0; data.p[0] == '{' && i < sizeof content / sizeof content[0]; i++)
        broken |= memmem(data.p, data.n, content[i], strlen(content[i])) != NULL;
    if (broken) {
        decoder_fail(decoder, ERR_RETRY, "the stream holds a chunk that is not whole JSON");
        return;
    }
    if (decoder->odd.count++ == 0) {
        struct str words = failure_words(&decoder->server, NULL, data, &decoder->arena);
        decoder->odd.first = utf8_cut_chars(words, ODD_SHOWN);
    }
    if (decoder->odd.count > ODD_MAX)
        decoder_fail(decoder, ERR_RETRY,
                     "the stream holds more than 1000 pieces of data that are not JSON");
}

static enum sse_next on_event(void *user, const struct sse_event *event)
{
    struct decoder *decoder = user;
    struct str data = str_trim(event->data);
    if (data.n == 0)
        return SSE_GO_ON;
    if (str_is(data, "[DONE]")) {
        decoder->done = true;
        return SSE_STOP;
    }
    bool named_error = str_is(event->type, "error");
    if (!named_error && decoder->ops->quick && decoder->reading == DECODER_QUICK &&
        decoder->ops->quick(decoder, data) == DECODER_QUICK) {
        decoder->heard++;
        return decoder->failed == ERR_NONE && !decoder->done ? SSE_GO_ON : SSE_STOP;
    }
    struct js *root = parse(decoder, data);
    if (named_error || failure_is_error(root)) {
        read_error(decoder, root, data);
    } else if (js_kind(root) == JS_OBJECT) {
        decoder->heard += !str_is(event->type, "ping");
        decoder->ops->read(decoder, root);
    } else {
        skip_odd(decoder, data);
    }
    js_free(root);
    return decoder->failed == ERR_NONE && !decoder->done ? SSE_GO_ON : SSE_STOP;
}

/* --- the body ------------------------------------------------------------------------------------ */

/* The first byte that is neither white space nor part of a byte order mark tells what the body is. */
static struct str sniff(struct decoder *decoder, struct str bytes)
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

enum decoder_next decoder_feed(struct decoder *decoder, struct str bytes)
{
    struct err err = ERR_INIT;
    if (decoder->failed != ERR_NONE)
        return DECODER_FAILED;
    if (decoder->body == BODY_UNKNOWN)
        bytes = sniff(decoder, bytes);
    if (decoder->body == BODY_EVENTS && sse_feed(&decoder->sse, bytes, &err) != 0)
        decoder_fail(decoder, err.class, err.message);
    if (decoder->body == BODY_JSON) {
        buf_str(&decoder->json, bytes);
        if (decoder->json.failed)
            decoder_fail(decoder, ERR_RETRY, "the answer holds more than 16 MB");
    }
    if (decoder->failed != ERR_NONE)
        return DECODER_FAILED;
    return decoder->done ? DECODER_COMPLETE : DECODER_GO_ON;
}

static void finish_document(struct decoder *decoder)
{
    struct js *root = parse(decoder, buf_view(&decoder->json));
    if (!root)
        decoder_fail(decoder, ERR_RETRY, "the answer is not complete JSON");
    else if (failure_is_error(root))
        read_error(decoder, root, buf_view(&decoder->json));
    else
        decoder->ops->read(decoder, root);
    decoder->done = decoder->has_answer;
    js_free(root);
}

static void finish_body(struct decoder *decoder, enum decoder_closing closing)
{
    struct err err = ERR_INIT;
    bool closed = closing == DECODER_CLOSED && decoder->failed == ERR_NONE;
    if (closed && decoder->body == BODY_EVENTS && sse_finish(&decoder->sse, &err) != 0)
        decoder_fail(decoder, err.class, err.message);
    if (closed && decoder->body == BODY_JSON)
        finish_document(decoder);
    if (decoder->body == BODY_PAGE)
        decoder_fail(decoder, ERR_PROVIDER,
                     "the answer is a web page and not a model's: check the base URL");
    else if (decoder->has_answer && (decoder->done || decoder->finish.n > 0))
        return;
    else if (decoder->body == BODY_UNKNOWN)
        decoder_fail(decoder, ERR_RETRY, "the answer is empty");
    else if (decoder->body == BODY_JSON && closing == DECODER_CLOSED) {
        struct str what =
            arena_printf(&decoder->arena, "the answer holds no %s", decoder->ops->content);
        decoder_fail(decoder, ERR_RETRY, what.p);
    } else if (!decoder->has_answer && decoder->odd.count > 0) {
        struct str what = arena_printf(&decoder->arena, "the stream held no answer, but this: %.*s",
                                       STR_FMT(decoder->odd.first));
        decoder_fail(decoder, ERR_PROVIDER, what.p);
    } else {
        decoder_fail(decoder, ERR_RETRY,
                     decoder->done ? "the stream held no answer" : "the stream ended early");
    }
}

/* Reasons of all APIs: none of them means anything else elsewhere. */
static bool is_cut(struct str finish)
{
    return str_is(finish, "length") || str_is(finish, "max_tokens") ||
           str_is(finish, "max_output_tokens") || str_is(finish, "model_context_window_exceeded");
}

static struct str joined(struct arena *arena, struct str text)
{
    struct buf out;
    buf_init(&out, text.n + 1);
    buf_str(&out, text);
    mend_join(&out);
    struct str copy = arena_copy(arena, buf_view(&out));
    buf_release(&out);
    return copy;
}

/* Halves of characters that came in different chunks are put together in the calls, as show_text does in the text. */
static void join_halves(struct decoder *decoder, struct call_draft *drafts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        drafts[i].id = joined(&decoder->arena, drafts[i].id);
        drafts[i].name = joined(&decoder->arena, drafts[i].name);
        drafts[i].arguments = joined(&decoder->arena, drafts[i].arguments);
    }
}

/* Finish reasons of a content filter: OpenAI, Gemini, Z.ai. In any case. */
static bool is_filtered(struct str finish)
{
    static const struct str reasons[] = {
        STR("content_filter"), STR("safety"),    STR("recitation"), STR("prohibited_content"),
        STR("blocklist"),      STR("sensitive"), STR("spii"),
    };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (finish.n == reasons[i].n && strncasecmp(finish.p, reasons[i].p, finish.n) == 0)
            return true;
    return false;
}

static void fail_filtered(struct decoder *decoder, const char *what)
{
    decoder_fail(decoder, ERR_PROVIDER, what);
    decoder->trouble.kind = TROUBLE_FILTERED;
}

/* An end that is not an answer, although the server calls it one. Anthropic's reasons: API
 * reference "Handling stop reasons". */
static void judge_finish(struct decoder *decoder, struct str text, size_t call_count)
{
    struct str finish = buf_view(&decoder->finish);
    if (str_is(finish, "pause_turn")) {
        decoder_fail(decoder, ERR_PROVIDER,
                     "the server paused its turn (pause_turn), as it does for tools that it runs "
                     "itself: cadre does not use them, so remove them from extra_body");
    } else if (str_is(finish, "refusal") || (decoder->refused && call_count == 0)) {
        struct str words = failure_words(&decoder->server, NULL, text, &decoder->arena);
        struct str what = arena_printf(&decoder->arena, "the model refused to answer%s%.*s",
                                       words.n > 0 ? ": " : "", STR_FMT(words));
        fail_filtered(decoder, what.p);
    } else if (is_filtered(finish)) {
        /* Calls do not make it an answer: one of them may be what the filter objects to. */
        fail_filtered(decoder,
                      "the provider's content filter stopped the answer: put the task in other "
                      "words, or use another model");
    }
}

/* The calls, finished. *text is the reply's and loses the calls that are written in it. */
static size_t finish_calls(struct decoder *decoder, struct str *text, struct tool_call **calls)
{
    struct call_draft *drafts = NULL;
    struct str finish = buf_view(&decoder->finish);
    bool cut = is_cut(finish) || is_filtered(finish);
    size_t count = decoder->ops->drafts(decoder, &drafts);
    if (decoder->halves == MEND_HALVES)
        join_halves(decoder, drafts, count);
    if (count == 0 && !cut)
        count = text_calls_take(&decoder->tools, text, &decoder->arena, &drafts);
    calls_finish(drafts, &count, cut ? CALLS_CUT : CALLS_WHOLE, &decoder->arena, calls);
    judge_finish(decoder, *text, count);
    return count;
}

/* Counts that cannot be are not reported, so that an estimate stands in for them: no request is
 * empty, an answer with content has tokens, a request has no more tokens than bytes, and no
 * output is many times the limit. */
static void doubt_usage(struct decoder *decoder, struct str text, size_t call_count)
{
    struct usage *usage = &decoder->usage;
    int64_t most_input = decoder->request_bytes > 0
                             ? (int64_t)decoder->request_bytes + USAGE_INPUT_MARGIN
                             : USAGE_MAX;
    int64_t most_output = decoder->output.limited
                              ? decoder->output.limit * OUTPUT_TIMES + USAGE_OUTPUT_MARGIN
                              : USAGE_MAX;
    if (usage->input == 0 || usage->input > most_input)
        usage->input = -1;
    if (usage->cached > usage->input)
        usage->cached = -1;
    if (usage->cache_write > usage->input)
        usage->cache_write = -1;
    if ((usage->output == 0 && (text.n > 0 || call_count > 0)) || usage->output > most_output)
        usage->output = -1;
    if (usage->reasoning > usage->output)
        usage->reasoning = -1;
}

/* Extras that name places in the text fit only the whole text. */
static struct str reply_extras(struct decoder *decoder)
{
    if (!decoder->ops->extras || (decoder->ops->places == DECODER_PLACES &&
                                  (decoder->thinking.answer_at > 0 || decoder->output.passed)))
        return STR_NONE;
    return decoder->ops->extras(decoder);
}

bool decoder_finish(struct decoder *decoder, enum decoder_closing closing,
                    struct model_reply *reply, struct model_failure *failure)
{
    struct tool_call *calls = NULL;
    size_t count = 0;
    finish_body(decoder, closing);
    show_text(decoder, THINKING_END);
    struct str finish = buf_view(&decoder->finish);
    struct str text = thinking_answer(&decoder->thinking, buf_view(&decoder->text));
    struct str partial = text;
    if (decoder->output.passed)
        text = utf8_cut(text, decoder->output.kept);
    if (decoder->failed == ERR_NONE)
        count = finish_calls(decoder, &text, &calls);
    doubt_usage(decoder, buf_view(&decoder->text), count);
    if (decoder->failed != ERR_NONE) {
        *failure = (struct model_failure){
            .class = decoder->failed,
            .retry_after_ms = -1,
            .message = decoder->message,
            .partial = partial,
            .usage = decoder->usage,
            .load_status = decoder->load_status,
            .trouble = decoder->trouble.kind,
            .window = decoder->trouble.window,
            .needed = decoder->trouble.needed,
        };
        return false;
    }
    *reply = (struct model_reply){
        .text = text,
        .calls = calls,
        .call_count = count,
        .finish = finish,
        .completeness = is_cut(finish) ? REPLY_CUT : REPLY_WHOLE,
        .usage = decoder->usage,
        .response_id = buf_view(&decoder->response_id),
        .model = buf_view(&decoder->model),
        .first_token_ms = -1,
        .extras = reply_extras(decoder),
    };
    return true;
}
