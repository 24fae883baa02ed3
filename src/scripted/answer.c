/* Builds answers in the real API's shapes: whole JSON, a stream of chunks, failures. Nothing in them depends on the
 * clock or on chance: ids are hashes of the conversation. Pure: any thread. */
#include "scripted/answer.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "scripted/template.h"

#define BODY_MAX (64u << 20)
#define CALLS_MAX 10000
#define CREATED                                                                                    \
    1700000000 /* every answer claims this moment, so that equal requests get equal bytes */
#define FINGERPRINT "fp_scripted"
#define ID_HEX 24

struct draft_call {
    char id[5 + ID_HEX + 1];
    struct str name, arguments;
};

/* What the model says, before it has a form. */
struct draft {
    struct arena arena;
    char id[9 + ID_HEX + 1];
    struct buf text;
    struct draft_call *calls;
    size_t call_count;
    enum { DRAFT_WHOLE, DRAFT_CUT } state; /* cut: it met the output limit */
    struct str finish;
    struct str usage; /* JSON; STR_NONE: none is reported */
};

void answer_init(struct answer *answer)
{
    *answer = (struct answer){.status = 200, .usage_piece = ANSWER_NO_PIECE};
    buf_init(&answer->body, BODY_MAX);
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

void answer_refusal(struct answer *answer, const struct refusal *refusal)
{
    answer->status = refusal->status;
    answer->form = ANSWER_JSON;
    refusal_write(refusal, &answer->body);
}

/* "call_" or "chatcmpl-" and hex digits of a hash over the conversation and the index. */
static void derive_id(char *out, const char *prefix, const struct hash *conversation,
                      uint64_t index)
{
    struct hasher hasher;
    hasher_init(&hasher);
    hasher_add(&hasher, conversation->bytes, sizeof conversation->bytes);
    hasher_str(&hasher, str_from(prefix));
    hasher_u64(&hasher, index);
    struct hash hash = hasher_end(&hasher);
    char hex[HASH_HEX + 1];
    hash_hex(&hash, hex);
    size_t n = strlen(prefix);
    memcpy(out, prefix, n);
    memcpy(out + n, hex, ID_HEX);
    out[n + ID_HEX] = '\0';
}

static void draft_calls(struct draft *draft, const struct asked *asked,
                        const struct script_match *match)
{
    const struct js *calls = match->reply->calls;
    size_t total = 0;
    for (size_t i = 0; i < js_count(calls) && total < CALLS_MAX; i++)
        total += (size_t)js_get_int(js_at(calls, i), "repeat", 1);
    total = total < CALLS_MAX ? total : CALLS_MAX;
    draft->calls = arena_alloc(&draft->arena, (total + 1) * sizeof *draft->calls);
    struct buf text;
    buf_init(&text, BODY_MAX);
    for (size_t i = 0; i < js_count(calls); i++) {
        const struct js *call = js_at(calls, i), *arguments = js_get(call, "arguments");
        int64_t repeat = js_get_int(call, "repeat", 1);
        for (int64_t r = 0; r < repeat && draft->call_count < total; r++) {
            struct template_values values = {asked, match, r};
            struct draft_call *out = &draft->calls[draft->call_count];
            struct jw w;
            buf_clear(&text);
            jw_init(&w, &text);
            if (js_kind(arguments) == JS_STRING) /* sent as it is: it may be no JSON at all */
                template_text(&values, js_str(arguments), &text);
            else if (arguments != NULL)
                template_json(&values, arguments, &w);
            else
                buf_text(&text, "{}");
            out->arguments = arena_copy(&draft->arena, buf_view(&text));
            out->name = js_get_str(call, "name");
            derive_id(out->id, "call_", &asked->conversation, draft->call_count);
            draft->call_count++;
        }
    }
    buf_release(&text);
}

/* A real model stops at its output limit, wherever it is: in the text or inside a call's arguments. */
static void draft_limit(struct draft *draft, int64_t tokens, int64_t bytes_per_token)
{
    size_t left = (size_t)tokens * (size_t)bytes_per_token;
    if (draft->text.n > left) {
        draft->text.n = utf8_cut(buf_view(&draft->text), left).n;
        draft->call_count = 0;
        draft->state = DRAFT_CUT;
        return;
    }
    left -= draft->text.n;
    for (size_t i = 0; i < draft->call_count; i++) {
        struct draft_call *call = &draft->calls[i];
        if (call->name.n + call->arguments.n <= left) {
            left -= call->name.n + call->arguments.n;
            continue;
        }
        bool name_fits = call->name.n <= left;
        if (name_fits)
            call->arguments = utf8_cut(call->arguments, left - call->name.n);
        draft->call_count = name_fits ? i + 1 : i;
        draft->state = DRAFT_CUT;
        return;
    }
}

static void draft_usage(struct draft *draft, struct answer *answer, const struct script *script,
                        const struct asked *asked, const struct script_reply *reply)
{
    struct buf text;
    if (reply->usage_kind == USAGE_ABSENT)
        return;
    buf_init(&text, 1u << 20);
    if (reply->usage_kind == USAGE_GIVEN) {
        answer->prompt_tokens = js_get_int(reply->usage, "prompt_tokens", 0);
        answer->completion_tokens = js_get_int(reply->usage, "completion_tokens", 0);
        js_print(reply->usage, &text);
    } else {
        size_t bytes = draft->text.n;
        for (size_t i = 0; i < draft->call_count; i++)
            bytes += draft->calls[i].name.n + draft->calls[i].arguments.n;
        int64_t per = script->bytes_per_token;
        answer->prompt_tokens = asked->prompt_tokens;
        answer->completion_tokens = ((int64_t)bytes + per - 1) / per;
        buf_printf(&text,
                   "{\"prompt_tokens\":%lld,\"completion_tokens\":%lld,\"total_tokens\":%lld,"
                   "\"prompt_tokens_details\":{\"cached_tokens\":0},"
                   "\"completion_tokens_details\":{\"reasoning_tokens\":0}}",
                   (long long)answer->prompt_tokens, (long long)answer->completion_tokens,
                   (long long)(answer->prompt_tokens + answer->completion_tokens));
    }
    draft->usage = arena_copy(&draft->arena, buf_view(&text));
    buf_release(&text);
}

static void draft_make(struct draft *draft, struct answer *answer, const struct script *script,
                       const struct asked *asked, const struct script_match *match)
{
    const struct script_reply *reply = match->reply;
    struct template_values values = {asked, match, 0};
    arena_init(&draft->arena);
    buf_init(&draft->text, BODY_MAX);
    for (int64_t i = 0; i < reply->text_repeat && reply->text.n > 0 && !draft->text.failed; i++)
        template_text(&values, reply->text, &draft->text);
    derive_id(draft->id, "chatcmpl-", &asked->conversation, 0);
    draft_calls(draft, asked, match);
    draft_limit(draft,
                asked->output_limit == ASKED_NO_LIMIT ? asked->model->max_output
                                                      : asked->output_limit,
                script->bytes_per_token);
    if (reply->finish.p != NULL)
        draft->finish = reply->finish;
    else if (draft->state == DRAFT_CUT)
        draft->finish = STR("length");
    else
        draft->finish = draft->call_count > 0 ? STR("tool_calls") : STR("stop");
    draft_usage(draft, answer, script, asked, reply);
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
}

static void write_whole(struct answer *answer, const struct draft *draft, const struct asked *asked)
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
    if (draft->usage.p != NULL)
        jw_kraw(&w, "usage", draft->usage);
    jw_ktext(&w, "system_fingerprint", FINGERPRINT);
    jw_end_object(&w);
    answer_mark(answer);
    answer->usage_piece = draft->usage.p != NULL ? 0 : ANSWER_NO_PIECE;
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

/* Takes the next piece from the front of text; pieces end between characters. */
static struct str take_piece(struct str *text, size_t size)
{
    struct str piece = utf8_cut(*text, size < 4 ? 4 : size);
    *text = (struct str){text->p + piece.n, text->n - piece.n};
    return piece;
}

static void stream_text(struct stream *stream, struct str text, size_t chunks)
{
    size_t size = (text.n + chunks - 1) / chunks;
    while (text.n > 0) {
        struct jw w;
        jw_init(&w, &stream->delta);
        jw_object(&w);
        jw_kstr(&w, "content", take_piece(&text, size));
        jw_end_object(&w);
        stream_delta(stream, STR_NONE);
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
    size_t size = (rest.n + chunks - 1) / chunks;
    while (rest.n > 0) {
        buf_printf(&stream->delta,
                   "{\"tool_calls\":[{\"index\":%zu,\"function\":{\"arguments\":", index);
        json_quote(&stream->delta, take_piece(&rest, size));
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
    buf_init(&stream.delta, BODY_MAX);
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
    stream_text(&stream, buf_view(&draft->text), chunks);
    for (size_t i = 0; i < draft->call_count; i++)
        stream_call(&stream, &draft->calls[i], i, chunks);
    buf_text(&stream.delta, "{}");
    stream_delta(&stream, draft->finish);
    if (with_usage && draft->usage.p != NULL) {
        buf_str(&answer->body, buf_view(&stream.head));
        buf_text(&answer->body, "],\"usage\":");
        buf_str(&answer->body, draft->usage);
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

static void write_failure(struct answer *answer, const struct script_reply *reply)
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
    answer_refusal(answer, &refusal);
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

void answer_build(struct answer *answer, const struct script *script, const struct asked *asked,
                  const struct script_match *match)
{
    const struct script_reply *reply = match->reply;
    struct draft draft = {0};
    answer->drop = reply->drop;
    answer->delay_ms = reply->delay_ms;
    answer->piece_delay_ms = reply->chunk_delay_ms;
    answer->retry_after = reply->retry_after;
    answer->status = (int)reply->status;
    answer->form = asked->delivery == ASKED_WHOLE ? ANSWER_JSON : ANSWER_EVENTS;
    if (reply->raw.p != NULL) {
        buf_str(&answer->body, reply->raw);
    } else if (reply->status != 200 || reply->error.p != NULL) {
        write_failure(answer, reply);
    } else {
        draft_make(&draft, answer, script, asked, match);
        if (draft.text.failed)
            answer->body.failed = true;
        else if (answer->form == ANSWER_JSON)
            write_whole(answer, &draft, asked);
        else
            write_stream(answer, &draft, asked, (size_t)reply->chunks);
        buf_release(&draft.text);
        arena_release(&draft.arena);
    }
    if (answer->body.failed) {
        struct refusal refusal;
        answer_release(answer);
        refusal_set(&refusal, 500, NULL, NULL, "the scripted reply is larger than %u bytes",
                    BODY_MAX);
        answer_refusal(answer, &refusal);
    }
    answer_mark(answer);
    halve(answer);
}
