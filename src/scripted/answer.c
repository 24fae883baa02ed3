/* Builds answers in the shapes of Chat Completions: whole JSON, a stream of chunks, failures; the Messages API's are in
 * anthropic_answer.c, the Responses API's in responses_answer.c. Pure: any thread. */
#include "scripted/answer.h"

#include <stdlib.h>

#include "scripted/anthropic.h"
#include "scripted/draft.h"
#include "scripted/echo.h"
#include "scripted/responses.h"

#define CREATED                                                                                    \
    1700000000 /* every answer claims this moment, so that equal requests get equal bytes */
#define FINGERPRINT "fp_scripted"

void answer_init(struct answer *answer)
{
    *answer = (struct answer){.status = 200, .usage_piece = ANSWER_NO_PIECE};
    buf_init(&answer->body, DRAFT_MAX);
}

void answer_release(struct answer *answer)
{
    buf_release(&answer->body);
    free(answer->ends);
    answer_init(answer);
}

void answer_mark(struct answer *answer)
{
    size_t start = answer->piece_count > 0 ? answer->ends[answer->piece_count - 1] : 0;
    if (answer->body.n == start)
        return;
    if (answer->piece_count == answer->piece_capacity) {
        size_t capacity = answer->piece_capacity > 0 ? answer->piece_capacity * 2 : 16;
        size_t *ends = reallocarray(answer->ends, capacity, sizeof *ends);
        if (ends == NULL)
            abort();
        answer->ends = ends;
        answer->piece_capacity = capacity;
    }
    answer->ends[answer->piece_count++] = answer->body.n;
}

void answer_refusal(struct answer *answer, const struct refusal *refusal, enum asked_api api)
{
    answer->status = refusal->status;
    answer->form = ANSWER_JSON;
    if (api == ASKED_MESSAGES)
        anthropic_refusal(refusal, &answer->body);
    else
        refusal_write(refusal, &answer->body);
}

static void write_usage(const struct draft *draft, struct buf *out)
{
    if (draft->usage_kind == USAGE_GIVEN)
        js_print(draft->usage, out);
    else
        buf_printf(out,
                   "{\"prompt_tokens\":%lld,\"completion_tokens\":%lld,\"total_tokens\":%lld,"
                   "\"prompt_tokens_details\":{\"cached_tokens\":0},"
                   "\"completion_tokens_details\":{\"reasoning_tokens\":0}}",
                   (long long)draft->prompt_tokens, (long long)draft->completion_tokens,
                   (long long)(draft->prompt_tokens + draft->completion_tokens));
}

static void write_call(struct jw *w, const struct draft_call *call, struct str arguments)
{
    jw_ktext(w, "id", call->id);
    jw_ktext(w, "type", "function");
    jw_key(w, "function");
    jw_object(w);
    jw_kstr(w, "name", call->name);
    jw_kstr(w, "arguments", arguments);
    jw_end_object(w);
    if (call->extra != NULL) {
        struct buf extra;
        buf_init(&extra, DRAFT_MAX);
        js_print(call->extra, &extra);
        jw_kraw(w, "extra_content", buf_view(&extra));
        buf_release(&extra);
    }
}

static void write_whole(struct answer *answer, const struct draft *draft, const struct asked *asked,
                        size_t chunks)
{
    struct jw w;
    jw_init(&w, &answer->body);
    jw_object(&w);
    jw_ktext(&w, "id", draft->id);
    jw_ktext(&w, "object", "chat.completion");
    jw_kint(&w, "created", CREATED);
    jw_kstr(&w, "model", asked->model->id);
    jw_key(&w, "choices");
    jw_array(&w);
    jw_object(&w);
    jw_kint(&w, "index", 0);
    jw_key(&w, "message");
    jw_object(&w);
    jw_ktext(&w, "role", "assistant");
    jw_key(&w, "content");
    if (draft->text.n == 0 && draft->call_count > 0)
        jw_null(&w);
    else
        jw_str(&w, buf_view(&draft->text));
    jw_kraw(&w, "refusal", STR("null"));
    echo_write(&w, draft->reasoning);
    if (draft->call_count > 0) {
        jw_key(&w, "tool_calls");
        jw_array(&w);
        for (size_t i = 0; i < draft->call_count; i++) {
            jw_object(&w);
            write_call(&w, &draft->calls[i], draft->calls[i].arguments);
            jw_end_object(&w);
        }
        jw_end_array(&w);
    }
    jw_end_object(&w);
    jw_kraw(&w, "logprobs", STR("null"));
    jw_kstr(&w, "finish_reason", draft->finish);
    jw_end_object(&w);
    jw_end_array(&w);
    struct buf usage;
    buf_init(&usage, 1u << 20);
    write_usage(draft, &usage);
    if (draft->usage_kind != USAGE_ABSENT)
        jw_kraw(&w, "usage", buf_view(&usage));
    buf_release(&usage);
    jw_ktext(&w, "system_fingerprint", FINGERPRINT);
    jw_end_object(&w);
    answer_mark(answer);
    answer->usage_piece = draft->usage_kind != USAGE_ABSENT ? 0 : ANSWER_NO_PIECE;
}

struct stream {
    struct answer *answer;
    struct buf head;  /* what every chunk starts with */
    struct buf delta; /* scratch */
    struct str tail;  /* what every chunk but the usage chunk ends with */
};

static void stream_delta(struct stream *stream, struct str finish)
{
    struct buf *out = &stream->answer->body;
    buf_str(out, buf_view(&stream->head));
    buf_text(out, "{\"index\":0,\"delta\":");
    buf_str(out, buf_view(&stream->delta));
    buf_text(out, ",\"logprobs\":null,\"finish_reason\":");
    if (finish.p != NULL)
        json_quote(out, finish);
    else
        buf_text(out, "null");
    buf_char(out, '}');
    buf_str(out, stream->tail);
    answer_mark(stream->answer);
    buf_clear(&stream->delta);
}

static void stream_text(struct stream *stream, struct str text, size_t chunks)
{
    size_t total = text.n;
    while (text.n > 0) {
        struct jw w;
        jw_init(&w, &stream->delta);
        jw_object(&w);
        jw_kstr(&w, "content", draft_piece(&text, total, chunks));
        jw_end_object(&w);
        stream_delta(stream, STR_NONE);
    }
}

/* Texts in pieces, details one by one. */
static void stream_reasoning(struct stream *stream, const struct js *reasoning, size_t chunks)
{
    struct str key;
    const struct js *value;
    for (void *i = js_next(reasoning, NULL, &key, &value); i;
         i = js_next(reasoning, i, &key, &value)) {
        struct str text = js_str(value);
        size_t total = text.n;
        while (text.n > 0) {
            buf_printf(&stream->delta, "{\"%.*s\":", STR_FMT(key));
            json_quote(&stream->delta, draft_piece(&text, total, chunks));
            buf_char(&stream->delta, '}');
            stream_delta(stream, STR_NONE);
        }
        for (size_t k = 0; js_kind(value) == JS_ARRAY && k < js_count(value); k++) {
            buf_printf(&stream->delta, "{\"%.*s\":[", STR_FMT(key));
            js_print(js_at(value, k), &stream->delta);
            buf_text(&stream->delta, "]}");
            stream_delta(stream, STR_NONE);
        }
    }
}

static void stream_call(struct stream *stream, const struct draft_call *call, size_t index,
                        size_t chunks)
{
    struct jw w;
    jw_init(&w, &stream->delta);
    jw_object(&w);
    jw_key(&w, "tool_calls");
    jw_array(&w);
    jw_object(&w);
    jw_kint(&w, "index", (int64_t)index);
    write_call(&w, call, STR(""));
    jw_end_object(&w);
    jw_end_array(&w);
    jw_end_object(&w);
    stream_delta(stream, STR_NONE);
    struct str rest = call->arguments;
    while (rest.n > 0) {
        buf_printf(&stream->delta,
                   "{\"tool_calls\":[{\"index\":%zu,\"function\":{\"arguments\":", index);
        json_quote(&stream->delta, draft_piece(&rest, call->arguments.n, chunks));
        buf_text(&stream->delta, "}}]}");
        stream_delta(stream, STR_NONE);
    }
}

static void write_stream(struct answer *answer, const struct draft *draft,
                         const struct asked *asked, size_t chunks)
{
    bool with_usage = asked->delivery == ASKED_STREAM_WITH_USAGE;
    struct stream stream = {.answer = answer,
                            .tail = with_usage ? STR("],\"usage\":null}\n\n") : STR("]}\n\n")};
    buf_init(&stream.head, 1u << 16);
    buf_init(&stream.delta, DRAFT_MAX);
    buf_printf(
        &stream.head,
        "data: {\"id\":\"%s\",\"object\":\"chat.completion.chunk\",\"created\":%d,\"model\":",
        draft->id, CREATED);
    json_quote(&stream.head, asked->model->id);
    buf_text(&stream.head, ",\"system_fingerprint\":\"" FINGERPRINT "\",\"choices\":[");
    buf_text(&stream.delta, draft->text.n == 0 && draft->call_count > 0
                                ? "{\"role\":\"assistant\",\"content\":null}"
                                : "{\"role\":\"assistant\",\"content\":\"\",\"refusal\":null}");
    stream_delta(&stream, STR_NONE);
    stream_reasoning(&stream, draft->reasoning, chunks);
    stream_text(&stream, buf_view(&draft->text), chunks);
    for (size_t i = 0; i < draft->call_count; i++)
        stream_call(&stream, &draft->calls[i], i, chunks);
    buf_text(&stream.delta, "{}");
    stream_delta(&stream, draft->finish);
    if (with_usage && draft->usage_kind != USAGE_ABSENT) {
        buf_str(&answer->body, buf_view(&stream.head));
        buf_text(&answer->body, "],\"usage\":");
        write_usage(draft, &answer->body);
        buf_text(&answer->body, "}\n\n");
        answer->usage_piece = answer->piece_count;
        answer_mark(answer);
    }
    buf_text(&answer->body, "data: [DONE]\n\n");
    answer_mark(answer);
    answer->body.failed |= stream.delta.failed || stream.head.failed;
    buf_release(&stream.head);
    buf_release(&stream.delta);
}

static const struct failure {
    int status;
    const char *type, *code, *message;
} failures[] = {
    {401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided."},
    {403, "invalid_request_error", NULL, "You are not allowed to do this."},
    {429, "requests", "rate_limit_exceeded",
     "Rate limit reached for requests. Please try again later."},
    {500, "server_error", NULL,
     "The server had an error while processing your request. Sorry about that!"},
    {503, "server_error", NULL, "The server is overloaded or not ready yet."},
    {0, "server_error", NULL, "The script asks for this failure."},
};

static void write_failure(struct answer *answer, const struct script_reply *reply,
                          enum asked_api api)
{
    const struct failure *failure = failures;
    int status = reply->status == 200 ? 500 : (int)reply->status;
    while (failure->status != 0 && failure->status != status)
        failure++;
    struct refusal refusal;
    refusal_set(&refusal, status, failure->code, NULL, "%.*s",
                STR_FMT(reply->error.p != NULL ? reply->error : str_from(failure->message)));
    refusal.type = failure->type;
    if (status < 500 && failure->status == 0)
        refusal.type = "invalid_request_error";
    answer_refusal(answer, &refusal, api);
}

/* A body that is dropped half-way needs two halves. */
static void halve(struct answer *answer)
{
    if (answer->drop != DROP_MID_STREAM || answer->piece_count > 1 || answer->body.n < 2)
        return;
    size_t whole = answer->body.n;
    answer->piece_count = 0;
    answer->body.n = whole / 2;
    answer_mark(answer);
    answer->body.n = whole;
    answer_mark(answer);
    if (answer->usage_piece != ANSWER_NO_PIECE)
        answer->usage_piece = 1;
}

/* By API and form. */
typedef void answer_writer(struct answer *answer, const struct draft *draft,
                           const struct asked *asked, size_t chunks);
static answer_writer *const writers[][2] = {
    [ASKED_CHAT] = {[ANSWER_JSON] = write_whole, [ANSWER_EVENTS] = write_stream},
    [ASKED_MESSAGES] = {[ANSWER_JSON] = anthropic_whole, [ANSWER_EVENTS] = anthropic_stream},
    [ASKED_RESPONSES] = {[ANSWER_JSON] = responses_whole, [ANSWER_EVENTS] = responses_stream},
};

void answer_build(struct answer *answer, const struct script *script, const struct asked *asked,
                  const struct script_match *match)
{
    const struct script_reply *reply = match->reply;
    struct draft draft;
    answer->drop = reply->drop;
    answer->delay_ms = reply->delay_ms;
    answer->piece_delay_ms = reply->chunk_delay_ms;
    answer->retry_after = reply->retry_after;
    answer->status = (int)reply->status;
    answer->form = asked->delivery == ASKED_WHOLE ? ANSWER_JSON : ANSWER_EVENTS;
    if (reply->raw.p != NULL) {
        buf_str(&answer->body, reply->raw);
    } else if (reply->status != 200 || reply->error.p != NULL) {
        write_failure(answer, reply, asked->api);
    } else {
        draft_make(&draft, script, asked, match);
        answer->prompt_tokens = draft.prompt_tokens;
        answer->completion_tokens = draft.completion_tokens;
        if (draft.text.failed || draft.thinking.failed)
            answer->body.failed = true;
        else
            writers[asked->api][answer->form](answer, &draft, asked, (size_t)reply->chunks);
        draft_release(&draft);
    }
    if (answer->body.failed) {
        struct refusal refusal;
        answer_release(answer);
        refusal_set(&refusal, 500, NULL, NULL, "the scripted reply is larger than %u bytes",
                    DRAFT_MAX);
        answer_refusal(answer, &refusal, asked->api);
    }
    answer_mark(answer);
    halve(answer);
}
