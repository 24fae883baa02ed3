/* Reads the objects of Chat Completions answers: text, calls, reasoning and usage, from a parsed document or in place. Knows
 * neither streams nor the transport. Runs on the thread that feeds it. */
#include "model/openai_decode.h"

static struct openai_decoder *own(struct decoder *decoder)
{
    return (struct openai_decoder *)decoder;
}

/* --- documents --------------------------------------------------------------------------------- */

/* Content is a string, or a list of parts. */
static void read_content(struct decoder *decoder, const struct js *content)
{
    decoder_text(decoder, js_str(content));
    for (size_t i = 0; js_kind(content) == JS_ARRAY && i < js_count(content); i++) {
        const struct js *part = js_at(content, i);
        decoder_text(decoder, js_kind(part) == JS_STRING ? js_str(part) : js_get_str(part, "text"));
    }
}

/* Some servers send the same reasoning under both names: the first one is shown. */
static void show_reasoning(struct openai_decoder *decoder, enum openai_reasoning which,
                           struct str text)
{
    if (text.n == 0)
        return;
    if (decoder->reasons == REASONS_NONE)
        decoder->reasons = which == REASONING_CONTENT ? REASONS_CONTENT : REASONS_PLAIN;
    if (decoder->reasons == (which == REASONING_CONTENT ? REASONS_CONTENT : REASONS_PLAIN))
        decoder_reasoning(&decoder->base, text);
}

static void take_refusal(struct decoder *decoder, struct str text)
{
    decoder->refused |= text.n > 0;
    decoder_text(decoder, text);
}

static void read_message(struct openai_decoder *decoder, const struct js *message)
{
    struct err err = ERR_INIT;
    show_reasoning(decoder, REASONING_CONTENT, js_get_str(message, "reasoning_content"));
    show_reasoning(decoder, REASONING_PLAIN, js_get_str(message, "reasoning"));
    read_content(&decoder->base, js_get(message, "content"));
    take_refusal(&decoder->base, js_get_str(message, "refusal"));
    const struct js *calls = js_get(message, "tool_calls");
    if (calls && decoder_allows(&decoder->base, openai_calls_bytes(calls)) &&
        openai_calls_read(&decoder->calls, calls, &err) != 0)
        decoder_fail(&decoder->base, err.class, err.message);
    decoder->base.has_call = decoder->calls.count > 0;
    openai_extras_read(&decoder->extras, message);
}

static void read_choice(struct openai_decoder *decoder, const struct js *choice)
{
    const struct js *delta = js_get(choice, "delta"), *message = js_get(choice, "message");
    if (js_kind(choice) != JS_OBJECT || js_get_int(choice, "index", 0) != 0)
        return;
    decoder->base.has_answer = true;
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
        decoder_fail(&decoder->base, ERR_RETRY, "the server ended its answer with an error");
    decoder_finish_reason(&decoder->base, finish);
}

static void read_usage(struct usage *usage, const struct js *value)
{
    if (js_kind(value) != JS_OBJECT)
        return;
    const struct js *input = js_get(value, "prompt_tokens_details");
    const struct js *output = js_get(value, "completion_tokens_details");
    decoder_count(&usage->input, js_get(value, "prompt_tokens"));
    decoder_count(&usage->output, js_get(value, "completion_tokens"));
    decoder_count(&usage->cached, js_get(value, "prompt_cache_hit_tokens"));
    decoder_count(&usage->cached, js_get(input, "cached_tokens"));
    decoder_count(&usage->cache_write, js_get(input, "cache_write_tokens"));
    decoder_count(&usage->reasoning, js_get(output, "reasoning_tokens"));
}

static void read_root(struct decoder *decoder, const struct js *root)
{
    decoder_label(&decoder->response_id, js_get(root, "id"));
    decoder_label(&decoder->model, js_get(root, "model"));
    read_usage(&decoder->usage, js_get(root, "usage"));
    const struct js *choices = js_get(root, "choices");
    for (size_t i = 0; js_kind(choices) == JS_ARRAY && i < js_count(choices); i++)
        read_choice(own(decoder), js_at(choices, i));
}

/* --- chunks in place ------------------------------------------------------------------------------ */

/* What the text says; at most one result at a time. */
static struct str plain_text(struct openai_decoder *decoder, const struct scan_text *text)
{
    if (text->form == SCAN_PLAIN || !text->raw.p)
        return text->raw;
    buf_clear(&decoder->plain);
    scan_unescape(&decoder->plain, text->raw);
    return buf_view(&decoder->plain);
}

static void take_label(struct openai_decoder *decoder, struct buf *label,
                       const struct scan_text *text)
{
    if (label->n == 0)
        decoder_label_text(label, plain_text(decoder, text));
}

static void take_pieces(struct openai_decoder *decoder, const struct openai_chunk *chunk)
{
    struct err err = ERR_INIT;
    size_t bytes = 0;
    for (size_t i = 0; i < chunk->piece_count; i++)
        bytes += plain_text(decoder, &chunk->pieces[i].arguments).n;
    if (!decoder_allows(&decoder->base, bytes))
        return;
    openai_calls_chunk(&decoder->calls);
    for (size_t i = 0; i < chunk->piece_count; i++) {
        const struct openai_chunk_piece *in = &chunk->pieces[i];
        const struct openai_piece piece = {
            .id = in->id.raw,
            .name = in->name.raw,
            .arguments = plain_text(decoder, &in->arguments),
            .index = in->index,
            .has_index = in->numbered == PIECE_WITH_INDEX,
        };
        if (openai_calls_piece(&decoder->calls, &piece, &err) != 0) {
            decoder_fail(&decoder->base, err.class, err.message);
            return;
        }
    }
}

static void take_delta(struct openai_decoder *decoder, const struct openai_chunk *chunk)
{
    struct openai_extras *extras = &decoder->extras;
    decoder->has_delta = true;
    show_reasoning(decoder, REASONING_CONTENT, plain_text(decoder, &chunk->reasoning_content));
    show_reasoning(decoder, REASONING_PLAIN, plain_text(decoder, &chunk->reasoning));
    decoder_text(&decoder->base, plain_text(decoder, &chunk->content));
    take_refusal(&decoder->base, plain_text(decoder, &chunk->refusal));
    if (chunk->calls == CHUNK_WITH_CALLS)
        take_pieces(decoder, chunk);
    decoder->base.has_call = decoder->calls.count > 0;
    openai_extras_text(extras, REASONING_CONTENT, plain_text(decoder, &chunk->reasoning_content));
    openai_extras_text(extras, REASONING_PLAIN, plain_text(decoder, &chunk->reasoning));
}

static void take_usage(struct usage *usage, const struct openai_chunk *chunk)
{
    decoder_count_number(&usage->input, chunk->counts[CHUNK_PROMPT_TOKENS]);
    decoder_count_number(&usage->output, chunk->counts[CHUNK_COMPLETION_TOKENS]);
    decoder_count_number(&usage->cached, chunk->counts[CHUNK_CACHE_HITS]);
    decoder_count_number(&usage->cached, chunk->counts[CHUNK_CACHED_TOKENS]);
    decoder_count_number(&usage->cache_write, chunk->counts[CHUNK_CACHE_WRITES]);
    decoder_count_number(&usage->reasoning, chunk->counts[CHUNK_REASONING_TOKENS]);
}

static enum decoder_reading read_quick(struct decoder *base, struct str text)
{
    struct openai_decoder *decoder = own(base);
    const struct openai_chunk *chunk = openai_chunks_read(&decoder->chunks, text);
    if (!chunk)
        return DECODER_THOROUGH;
    take_label(decoder, &base->response_id, &chunk->id);
    take_label(decoder, &base->model, &chunk->model);
    take_usage(&base->usage, chunk);
    if (chunk->choices == 0 || chunk->index != 0)
        return DECODER_QUICK;
    base->has_answer = true;
    if (chunk->delta == CHUNK_WITH_DELTA)
        take_delta(decoder, chunk);
    decoder_finish_reason(base, chunk->finish.raw);
    return DECODER_QUICK;
}

/* --- the end --------------------------------------------------------------------------------------- */

static size_t list_drafts(struct decoder *decoder, struct call_draft **drafts)
{
    return openai_calls_drafts(&own(decoder)->calls, &decoder->arena, drafts);
}

static struct str write_extras(struct decoder *decoder)
{
    return openai_extras_write(&own(decoder)->extras, &own(decoder)->calls, decoder->halves,
                               &decoder->arena);
}

static void release(struct decoder *decoder)
{
    openai_calls_release(&own(decoder)->calls);
    openai_extras_release(&own(decoder)->extras);
    openai_chunks_release(&own(decoder)->chunks);
    buf_release(&own(decoder)->plain);
}

static const struct decoder_ops openai_decoder_ops = {
    .content = "choices",
    .quick = read_quick,
    .read = read_root,
    .drafts = list_drafts,
    .extras = write_extras,
    .release = release,
};

void openai_decoder_init(struct openai_decoder *decoder, struct model_server server,
                         void (*delta)(void *user, struct str text), void *user)
{
    *decoder = (struct openai_decoder){0};
    decoder_init(&decoder->base, &openai_decoder_ops, server, delta, user);
    openai_calls_init(&decoder->calls);
    openai_extras_init(&decoder->extras);
    openai_chunks_init(&decoder->chunks);
    buf_init(&decoder->plain, SSE_DATA_MAX);
}
