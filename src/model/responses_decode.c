/* Reads the events of Responses API answers: which item each is about, usage, and how the answer ended. A whole response is
 * read as the last event of a stream without any other. Knows neither streams nor the transport. Runs on the thread that
 * feeds it. */
#include "model/responses_decode.h"

#define CUT_REASON "max_output_tokens"

static struct responses_decoder *own(struct decoder *decoder)
{
    return (struct responses_decoder *)decoder;
}

/* --- the response ------------------------------------------------------------------------------------- */

static void read_labels(struct decoder *decoder, const struct js *response)
{
    decoder_label(&decoder->response_id, js_get(response, "id"));
    decoder_label(&decoder->model, js_get(response, "model"));
}

static void read_usage(struct usage *usage, const struct js *value)
{
    if (js_kind(value) != JS_OBJECT)
        return;
    const struct js *input = js_get(value, "input_tokens_details");
    const struct js *output = js_get(value, "output_tokens_details");
    decoder_count(&usage->input, js_get(value, "input_tokens"));
    decoder_count(&usage->output, js_get(value, "output_tokens"));
    decoder_count(&usage->cached, js_get(input, "cached_tokens"));
    decoder_count(&usage->cache_write, js_get(input, "cache_write_tokens"));
    decoder_count(&usage->reasoning, js_get(output, "reasoning_tokens"));
}

/* holder: has the error, or is it. */
static void fail(struct decoder *decoder, const struct js *holder, const char *otherwise)
{
    struct str words = failure_words(&decoder->server, holder, STR(""), &decoder->arena);
    struct str what = arena_printf(&decoder->arena, "the answer failed: %.*s",
                                   STR_FMT(words.n > 0 ? words : str_from(otherwise)));
    if (decoder->failed != ERR_NONE)
        return;
    decoder->load_status = failure_load_status(holder);
    decoder_fail(decoder, failure_class(holder), what.p);
    decoder_trouble(decoder, holder, STR(""));
}

/* Whether a response is an answer and not only the promise of one. */
static bool has_content(const struct js *response, struct str status)
{
    return js_count(js_get(response, "output")) > 0 || str_is(status, "completed") ||
           str_is(status, "incomplete") ||
           (status.n == 0 && js_kind(js_get(response, "output")) == JS_ARRAY);
}

/* How an answer ends is in its content: an error, a reason why it is incomplete, a call that is cut. `said` is what the
 * event claims. */
static void read_end(struct responses_decoder *decoder, const struct js *response,
                     enum items_ending said)
{
    struct decoder *base = &decoder->base;
    struct str status = js_get_str(response, "status");
    struct str reason = js_get_str(js_get(response, "incomplete_details"), "reason");
    read_labels(base, response);
    read_usage(&base->usage, js_get(response, "usage"));
    if (failure_is_error(response) || str_is(status, "failed") || str_is(status, "cancelled")) {
        fail(base, response, "the server does not say why");
        return;
    }
    responses_items_final(&decoder->items, js_get(response, "output"));
    base->has_answer = true;
    base->done = true;
    bool cut = said == ITEMS_INCOMPLETE || reason.n > 0 || str_is(status, "incomplete") ||
               responses_items_any_cut(&decoder->items);
    decoder->ending = cut ? ITEMS_INCOMPLETE : ITEMS_WHOLE;
    decoder_finish_reason(base, !cut ? STR("completed") : reason.n > 0 ? reason : STR(CUT_REASON));
}

/* --- events ------------------------------------------------------------------------------------------- */

static int64_t index_of(const struct js *root)
{
    int64_t index = js_get_int(root, "output_index", RESPONSES_NO_INDEX);
    return index >= 0 ? index : RESPONSES_NO_INDEX;
}

static void on_created(struct responses_decoder *decoder, const struct js *root)
{
    read_labels(&decoder->base, js_get(root, "response"));
}

static void on_item_added(struct responses_decoder *decoder, const struct js *root)
{
    decoder->base.has_answer = true;
    responses_items_read(&decoder->items, index_of(root), js_get(root, "item"), ITEM_ADDED);
}

static void on_item_done(struct responses_decoder *decoder, const struct js *root)
{
    decoder->base.has_answer = true;
    responses_items_read(&decoder->items, index_of(root), js_get(root, "item"), ITEM_DONE);
}

static void on_text(struct responses_decoder *decoder, const struct js *root)
{
    decoder->base.has_answer = true;
    responses_items_text(&decoder->items, index_of(root), js_get_int(root, "content_index", 0),
                         js_get_str(root, "delta"));
}

static void on_refusal(struct responses_decoder *decoder, const struct js *root)
{
    decoder->base.refused = true;
    on_text(decoder, root);
}

static void on_text_done(struct responses_decoder *decoder, const struct js *root)
{
    struct str text = js_get_str(root, "text");
    decoder->base.has_answer = true;
    decoder->base.refused |= js_get_str(root, "refusal").n > 0;
    responses_items_whole_text(&decoder->items, index_of(root),
                               js_get_int(root, "content_index", 0),
                               text.n > 0 ? text : js_get_str(root, "refusal"));
}

/* Of the parts, text and refusals are the reply's; the text of reasoning is not. */
static void on_part_done(struct responses_decoder *decoder, const struct js *root)
{
    const struct js *part = js_get(root, "part");
    struct str type = js_get_str(part, "type");
    decoder->base.has_answer = true;
    decoder->base.refused |= str_is(type, "refusal");
    if (str_is(type, "output_text") || str_is(type, "refusal"))
        responses_items_whole_text(&decoder->items, index_of(root),
                                   js_get_int(root, "content_index", 0),
                                   js_get_str(part, str_is(type, "refusal") ? "refusal" : "text"));
}

/* A summary of reasoning, or the reasoning itself where the server shows it. */
static void on_reasoning(struct responses_decoder *decoder, const struct js *root)
{
    decoder->base.has_answer = true;
    decoder_reasoning(&decoder->base, js_get_str(root, "delta"));
}

static void on_reasoning_end(struct responses_decoder *decoder, const struct js *root)
{
    decoder_reasoning(&decoder->base, STR("\n"));
}

static void on_arguments(struct responses_decoder *decoder, const struct js *root)
{
    decoder->base.has_answer = true;
    responses_items_arguments(&decoder->items, index_of(root), js_get_str(root, "item_id"),
                              js_get_str(root, "delta"));
}

static void on_arguments_done(struct responses_decoder *decoder, const struct js *root)
{
    decoder->base.has_answer = true;
    responses_items_whole_arguments(&decoder->items, index_of(root), js_get_str(root, "item_id"),
                                    js_get(root, "arguments"));
}

static void on_completed(struct responses_decoder *decoder, const struct js *root)
{
    read_end(decoder, js_get(root, "response"), ITEMS_WHOLE);
}

static void on_incomplete(struct responses_decoder *decoder, const struct js *root)
{
    read_end(decoder, js_get(root, "response"), ITEMS_INCOMPLETE);
}

static void on_failed(struct responses_decoder *decoder, const struct js *root)
{
    const struct js *response = js_get(root, "response");
    read_labels(&decoder->base, response);
    read_usage(&decoder->base.usage, js_get(response, "usage"));
    fail(&decoder->base, response, "the server does not say why");
}

static void on_error(struct responses_decoder *decoder, const struct js *root)
{
    fail(&decoder->base, root, "the server does not say why");
}

static const struct {
    const char *type;
    void (*read)(struct responses_decoder *decoder, const struct js *root);
} events[] = {
    {"response.output_text.delta", on_text},
    {"response.function_call_arguments.delta", on_arguments},
    {"response.created", on_created},
    {"response.in_progress", on_created},
    {"response.output_item.added", on_item_added},
    {"response.output_item.done", on_item_done},
    {"response.content_part.done", on_part_done},
    {"response.output_text.done", on_text_done},
    {"response.refusal.delta", on_refusal},
    {"response.refusal.done", on_text_done},
    {"response.function_call_arguments.done", on_arguments_done},
    {"response.reasoning_summary_text.delta", on_reasoning},
    {"response.reasoning_text.delta", on_reasoning},
    {"response.reasoning_summary_text.done", on_reasoning_end},
    {"response.completed", on_completed},
    {"response.done", on_completed},
    {"response.incomplete", on_incomplete},
    {"response.failed", on_failed},
    {"response.cancelled", on_failed},
    {"error", on_error},
};

static void read_root(struct decoder *base, const struct js *root)
{
    struct str type = js_get_str(root, "type");
    if (base->body == BODY_JSON) {
        if (has_content(root, js_get_str(root, "status")))
            read_end(own(base), root, ITEMS_WHOLE);
        return;
    }
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        if (str_is(type, events[i].type)) {
            events[i].read(own(base), root);
            return;
        }
}

/* --- the end ------------------------------------------------------------------------------------------ */

/* An answer that cadre cut off is one that the server did not complete. */
static enum items_ending ending_of(const struct decoder *base)
{
    return base->output.passed ? ITEMS_INCOMPLETE
                               : ((const struct responses_decoder *)base)->ending;
}

static size_t list_drafts(struct decoder *base, struct call_draft **drafts)
{
    return responses_items_drafts(&own(base)->items, ending_of(base), drafts);
}

static struct str write_extras(struct decoder *base)
{
    return responses_items_extras(&own(base)->items, ending_of(base));
}

static void release(struct decoder *base)
{
    responses_items_release(&own(base)->items);
}

static const struct decoder_ops responses_decoder_ops = {
    .content = "output",
    .read = read_root,
    .drafts = list_drafts,
    .extras = write_extras,
    .places = DECODER_PLACES,
    .release = release,
};

void responses_decoder_init(struct responses_decoder *decoder, struct model_server server,
                            void (*delta)(void *user, struct str text), void *user)
{
    *decoder = (struct responses_decoder){0};
    decoder_init(&decoder->base, &responses_decoder_ops, server, delta, user);
    responses_items_init(&decoder->items, &decoder->base);
}
