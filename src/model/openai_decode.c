/* Reads the objects of Chat Completions answers: text, calls and usage. Knows neither streams nor the transport. Runs on
 * the thread that feeds it. */
#include "model/openai_decode.h"

/* Content is a string, or a list of parts. */
static void read_content(struct decoder *decoder, const struct js *content)
{
    decoder_text(decoder, js_str(content));
    for (size_t i = 0; js_kind(content) == JS_ARRAY && i < js_count(content); i++) {
        const struct js *part = js_at(content, i);
        decoder_text(decoder, js_kind(part) == JS_STRING ? js_str(part) : js_get_str(part, "text"));
    }
}

static void read_message(struct openai_decoder *decoder, const struct js *message)
{
    struct err err = ERR_INIT;
    read_content(&decoder->base, js_get(message, "content"));
    decoder_text(&decoder->base, js_get_str(message, "refusal"));
    const struct js *calls = js_get(message, "tool_calls");
    if (calls && openai_calls_read(&decoder->calls, calls, &err) != 0)
        decoder_fail(&decoder->base, err.class, err.message);
    decoder->base.has_call = decoder->calls.count > 0;
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
        read_choice((struct openai_decoder *)decoder, js_at(choices, i));
}

static size_t list_drafts(struct decoder *decoder, struct call_draft **drafts)
{
    return openai_calls_drafts(&((struct openai_decoder *)decoder)->calls, &decoder->arena, drafts);
}

static void release(struct decoder *decoder)
{
    openai_calls_release(&((struct openai_decoder *)decoder)->calls);
}

static const struct decoder_ops openai_decoder_ops = {
    .content = "choices",
    .read = read_root,
    .drafts = list_drafts,
    .release = release,
};

void openai_decoder_init(struct openai_decoder *decoder, struct model_server server,
                         void (*delta)(void *user, struct str text), void *user)
{
    *decoder = (struct openai_decoder){0};
    decoder_init(&decoder->base, &openai_decoder_ops, server, delta, user);
    openai_calls_init(&decoder->calls);
}
