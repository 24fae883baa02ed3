/* Builds answers in the shapes of the Responses API: one response, and a stream of named events that ends with it. Pure: any
 * thread. */
#include <stdio.h>

#include "scripted/responses.h"

#define CREATED 1700000000 /* equal requests get equal bytes */

enum item_phase { ITEM_BEGINS, ITEM_ENDS };

/* What an answer consists of, in order: reasoning, a message, calls. */
struct output {
    const struct draft *draft;
    const struct asked *asked;
    const char *status;
    const char *reason; /* why it is incomplete, or NULL */
    bool thinks;
    size_t first_call; /* index of the first call's item */
    size_t cut_call;   /* the call that the output limit cut, or SIZE_MAX */
};

static void output_init(struct output *output, const struct draft *draft, const struct asked *asked)
{
    static const struct {
        const char *finish, *reason;
    } reasons[] = {{"length", "max_output_tokens"}, {"content_filter", "content_filter"}};
    *output = (struct output){
        .draft = draft, .asked = asked, .status = "completed", .cut_call = SIZE_MAX};
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (str_is(draft->finish, reasons[i].finish))
            output->reason = reasons[i].reason;
    if (output->reason != NULL)
        output->status = "incomplete";
    output->thinks = draft->thinking.n > 0 && responses_reasons(asked->model->id);
    output->first_call = (size_t)output->thinks + (draft->text.n > 0);
    if (output->reason != NULL && draft->call_count > 0)
        output->cut_call = draft->call_count - 1;
}

/* An item's id: as the API has them, and different for each. */
static void write_id(struct jw *w, const char *key, const char *prefix, const struct output *output,
                     size_t index)
{
    char id[DRAFT_ID_SIZE + 32];
    snprintf(id, sizeof id, "%s_%zu%s", prefix, index, output->draft->id + strlen("resp_"));
    jw_ktext(w, key, id);
}

static void write_summary(struct jw *w, struct str text)
{
    jw_object(w);
    jw_ktext(w, "type", "summary_text");
    jw_kstr(w, "text", text);
    jw_end_object(w);
}

static void write_reasoning(struct jw *w, const struct output *output, enum item_phase phase)
{
    struct str thinking = buf_view(&output->draft->thinking);
    char seal[RESPONSES_SEAL_SIZE];
    /* What a stream begins with is sealed too, but differently. */
    responses_seal(phase == ITEM_ENDS ? thinking : STR("begins"), seal);
    jw_object(w);
    write_id(w, "id", "rs", output, 0);
    jw_ktext(w, "type", "reasoning");
    if (output->asked->reasoning == ASKED_SEALED)
        jw_ktext(w, "encrypted_content", seal);
    jw_key(w, "summary");
    jw_array(w);
    if (phase == ITEM_ENDS)
        write_summary(w, thinking);
    jw_end_array(w);
    jw_end_object(w);
}

static void write_part(struct jw *w, struct str text)
{
    jw_object(w);
    jw_ktext(w, "type", "output_text");
    jw_kraw(w, "annotations", STR("[]"));
    jw_kraw(w, "logprobs", STR("[]"));
    jw_kstr(w, "text", text);
    jw_end_object(w);
}

static void write_message(struct jw *w, const struct output *output, enum item_phase phase)
{
    bool cut = output->reason != NULL && output->draft->call_count == 0;
    const char *end = cut ? "incomplete" : "completed";
    jw_object(w);
    write_id(w, "id", "msg", output, output->thinks);
    jw_ktext(w, "type", "message");
    jw_ktext(w, "status", phase == ITEM_BEGINS ? "in_progress" : end);
    jw_key(w, "content");
    jw_array(w);
    if (phase == ITEM_ENDS)
        write_part(w, buf_view(&output->draft->text));
    jw_end_array(w);
    jw_ktext(w, "role", "assistant");
    jw_end_object(w);
}

static void write_call(struct jw *w, const struct output *output, size_t at, enum item_phase phase)
{
    const struct draft_call *call = &output->draft->calls[at];
    const char *end = at == output->cut_call ? "incomplete" : "completed";
    jw_object(w);
    write_id(w, "id", "fc", output, output->first_call + at);
    jw_ktext(w, "type", "function_call");
    jw_ktext(w, "status", phase == ITEM_BEGINS ? "in_progress" : end);
    jw_kstr(w, "arguments", phase == ITEM_BEGINS ? STR("") : call->arguments);
    jw_ktext(w, "call_id", call->id);
    jw_kstr(w, "name", call->name);
    jw_end_object(w);
}

/* The script speaks of prompt and completion. */
static void write_usage(struct jw *w, const struct draft *draft)
{
    const struct js *input = js_get(draft->usage, "prompt_tokens_details");
    const struct js *output = js_get(draft->usage, "completion_tokens_details");
    jw_key(w, "usage");
    if (draft->usage_kind == USAGE_ABSENT) {
        jw_null(w);
        return;
    }
    jw_object(w);
    jw_kint(w, "input_tokens", draft->prompt_tokens);
    jw_key(w, "input_tokens_details");
    jw_object(w);
    jw_kint(w, "cached_tokens", js_get_int(input, "cached_tokens", 0));
    jw_end_object(w);
    jw_kint(w, "output_tokens", draft->completion_tokens);
    jw_key(w, "output_tokens_details");
    jw_object(w);
    jw_kint(w, "reasoning_tokens", js_get_int(output, "reasoning_tokens", 0));
    jw_end_object(w);
    jw_kint(w, "total_tokens", draft->prompt_tokens + draft->completion_tokens);
    jw_end_object(w);
}

static void write_output(struct jw *w, const struct output *output)
{
    jw_array(w);
    if (output->thinks)
        write_reasoning(w, output, ITEM_ENDS);
    if (output->draft->text.n > 0)
        write_message(w, output, ITEM_ENDS);
    for (size_t i = 0; i < output->draft->call_count; i++)
        write_call(w, output, i, ITEM_ENDS);
    jw_end_array(w);
}

static void write_response(struct jw *w, const struct output *output, enum item_phase phase)
{
    bool ends = phase == ITEM_ENDS;
    jw_object(w);
    jw_ktext(w, "id", output->draft->id);
    jw_ktext(w, "object", "response");
    jw_kint(w, "created_at", CREATED);
    jw_ktext(w, "status", ends ? output->status : "in_progress");
    jw_kraw(w, "error", STR("null"));
    jw_key(w, "incomplete_details");
    if (ends && output->reason != NULL) {
        jw_object(w);
        jw_ktext(w, "reason", output->reason);
        jw_end_object(w);
    } else {
        jw_null(w);
    }
    jw_kstr(w, "model", output->asked->model->id);
    jw_key(w, "output");
    if (ends)
        write_output(w, output);
    else
        jw_raw(w, STR("[]"));
    jw_kbool(w, "store", false);
    if (ends)
        write_usage(w, output->draft);
    else
        jw_kraw(w, "usage", STR("null"));
    jw_end_object(w);
}

void responses_whole(struct answer *answer, const struct draft *draft, const struct asked *asked,
                     size_t chunks)
{
    struct output output;
    struct jw w;
    output_init(&output, draft, asked);
    jw_init(&w, &answer->body);
    write_response(&w, &output, ITEM_ENDS);
    answer_mark(answer);
    answer->usage_piece = draft->usage_kind != USAGE_ABSENT ? 0 : ANSWER_NO_PIECE;
}

/* --- streams ------------------------------------------------------------------------------------------ */

struct stream {
    struct answer *answer;
    struct output output;
    struct jw w;
    size_t index; /* of the item that is being sent */
    size_t chunks;
    int64_t sequence;
};

/* An event is open until event_end. */
static void event_begin(struct stream *stream, const char *type)
{
    struct buf *out = &stream->answer->body;
    buf_printf(out, "event: %s\ndata: ", type);
    jw_init(&stream->w, out);
    jw_object(&stream->w);
    jw_ktext(&stream->w, "type", type);
    jw_kint(&stream->w, "sequence_number", stream->sequence++);
}

static void event_end(struct stream *stream)
{
    jw_end_object(&stream->w);
    buf_text(&stream->answer->body, "\n\n");
    answer_mark(stream->answer);
}

/* An event about the item with this kind of id, and about one part of it where `part` names one. */
static void item_event(struct stream *stream, const char *type, const char *prefix,
                       const char *part)
{
    event_begin(stream, type);
    write_id(&stream->w, "item_id", prefix, &stream->output, stream->index);
    jw_kint(&stream->w, "output_index", (int64_t)stream->index);
    if (part != NULL)
        jw_kint(&stream->w, part, 0);
}

static void whole_event(struct stream *stream, const char *type)
{
    event_begin(stream, type);
    jw_kint(&stream->w, "output_index", (int64_t)stream->index);
    jw_key(&stream->w, "item");
}

/* Deltas of a text, and the event with all of it under `key`. */
static void stream_pieces(struct stream *stream, const char *type, const char *prefix,
                          const char *part, struct str text)
{
    size_t total = text.n;
    char name[64];
    snprintf(name, sizeof name, "%s.delta", type);
    while (text.n > 0) {
        item_event(stream, name, prefix, part);
        jw_kstr(&stream->w, "delta", draft_piece(&text, total, stream->chunks));
        event_end(stream);
    }
}

static void stream_done(struct stream *stream, const char *type, const char *prefix,
                        const char *part, const char *key, struct str text)
{
    item_event(stream, type, prefix, part);
    jw_kstr(&stream->w, key, text);
    event_end(stream);
}

static void stream_reasoning(struct stream *stream)
{
    struct str thinking = buf_view(&stream->output.draft->thinking);
    whole_event(stream, "response.output_item.added");
    write_reasoning(&stream->w, &stream->output, ITEM_BEGINS);
    event_end(stream);
    item_event(stream, "response.reasoning_summary_part.added", "rs", "summary_index");
    jw_key(&stream->w, "part");
    write_summary(&stream->w, STR(""));
    event_end(stream);
    stream_pieces(stream, "response.reasoning_summary_text", "rs", "summary_index", thinking);
    stream_done(stream, "response.reasoning_summary_text.done", "rs", "summary_index", "text",
                thinking);
    item_event(stream, "response.reasoning_summary_part.done", "rs", "summary_index");
    jw_key(&stream->w, "part");
    write_summary(&stream->w, thinking);
    event_end(stream);
    whole_event(stream, "response.output_item.done");
    write_reasoning(&stream->w, &stream->output, ITEM_ENDS);
    event_end(stream);
    stream->index++;
}

static void stream_message(struct stream *stream)
{
    struct str text = buf_view(&stream->output.draft->text);
    whole_event(stream, "response.output_item.added");
    write_message(&stream->w, &stream->output, ITEM_BEGINS);
    event_end(stream);
    item_event(stream, "response.content_part.added", "msg", "content_index");
    jw_key(&stream->w, "part");
    write_part(&stream->w, STR(""));
    event_end(stream);
    stream_pieces(stream, "response.output_text", "msg", "content_index", text);
    stream_done(stream, "response.output_text.done", "msg", "content_index", "text", text);
    item_event(stream, "response.content_part.done", "msg", "content_index");
    jw_key(&stream->w, "part");
    write_part(&stream->w, text);
    event_end(stream);
    whole_event(stream, "response.output_item.done");
    write_message(&stream->w, &stream->output, ITEM_ENDS);
    event_end(stream);
    stream->index++;
}

static void stream_call(struct stream *stream, size_t at)
{
    struct str arguments = stream->output.draft->calls[at].arguments;
    whole_event(stream, "response.output_item.added");
    write_call(&stream->w, &stream->output, at, ITEM_BEGINS);
    event_end(stream);
    stream_pieces(stream, "response.function_call_arguments", "fc", NULL, arguments);
    stream_done(stream, "response.function_call_arguments.done", "fc", NULL, "arguments",
                arguments);
    whole_event(stream, "response.output_item.done");
    write_call(&stream->w, &stream->output, at, ITEM_ENDS);
    event_end(stream);
    stream->index++;
}

static void stream_response(struct stream *stream, const char *type, enum item_phase phase)
{
    event_begin(stream, type);
    jw_key(&stream->w, "response");
    write_response(&stream->w, &stream->output, phase);
    event_end(stream);
}

void responses_stream(struct answer *answer, const struct draft *draft, const struct asked *asked,
                      size_t chunks)
{
    struct stream stream = {.answer = answer, .chunks = chunks};
    output_init(&stream.output, draft, asked);
    stream_response(&stream, "response.created", ITEM_BEGINS);
    stream_response(&stream, "response.in_progress", ITEM_BEGINS);
    if (stream.output.thinks)
        stream_reasoning(&stream);
    if (draft->text.n > 0)
        stream_message(&stream);
    for (size_t i = 0; i < draft->call_count; i++)
        stream_call(&stream, i);
    if (draft->usage_kind != USAGE_ABSENT)
        answer->usage_piece = answer->piece_count;
    stream_response(&stream,
                    stream.output.reason != NULL ? "response.incomplete" : "response.completed",
                    ITEM_ENDS);
}
