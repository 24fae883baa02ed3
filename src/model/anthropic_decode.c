/* Reads the events of Messages API answers: blocks by their index, usage, the end. A whole message is read as if its
 * blocks had come one after the other. Knows neither streams nor the transport. Runs on the thread that feeds it. */
#include "model/anthropic_decode.h"

#include <stdlib.h>

#include "model/anthropic_extras.h"

enum block_kind { BLOCK_TEXT, BLOCK_CALL, BLOCK_THINKING, BLOCK_REDACTED, BLOCK_OTHER };

/* Which buffers a block uses depends on its kind; blocks stand in the order in which their content came. */
struct anthropic_block {
    enum block_kind kind;
    int64_t index;
    size_t text_bytes;    /* text: how much of the reply's text it brought */
    struct buf id, name;  /* call */
    struct buf whole;     /* call: the input that its start brought */
    struct buf content;   /* call: input in pieces; thinking; data */
    struct buf signature; /* thinking */
};

static struct anthropic_decoder *own(struct decoder *decoder)
{
    return (struct anthropic_decoder *)decoder;
}

static void release(struct decoder *base)
{
    struct anthropic_decoder *decoder = own(base);
    for (size_t i = 0; i < decoder->block_count; i++) {
        struct anthropic_block *block = &decoder->blocks[i];
        buf_release(&block->id);
        buf_release(&block->name);
        buf_release(&block->whole);
        buf_release(&block->content);
        buf_release(&block->signature);
    }
    free(decoder->blocks);
    decoder->blocks = NULL;
    decoder->block_count = decoder->block_capacity = 0;
}

/* --- blocks ---------------------------------------------------------------------------------------- */

static enum block_kind block_kind(struct str type)
{
    static const struct {
        const char *type;
        enum block_kind kind;
    } kinds[] = {
        {"text", BLOCK_TEXT},
        {"tool_use", BLOCK_CALL},
        {"thinking", BLOCK_THINKING},
        {"redacted_thinking", BLOCK_REDACTED},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (str_is(type, kinds[i].type))
            return kinds[i].kind;
    return BLOCK_OTHER;
}

static struct anthropic_block *add_block(struct anthropic_decoder *decoder, enum block_kind kind,
                                         int64_t index)
{
    if (decoder->block_count == ANTHROPIC_BLOCKS_MAX) {
        decoder_fail(&decoder->base, ERR_RETRY, "the answer holds more than 1024 blocks");
        return NULL;
    }
    if (kind == BLOCK_CALL && decoder->call_count++ == CALLS_IN_BLOCKS_MAX) {
        decoder_fail(&decoder->base, ERR_RETRY, "the answer holds more than 128 tool calls");
        return NULL;
    }
    if (decoder->block_count == decoder->block_capacity) {
        decoder->block_capacity = decoder->block_capacity ? decoder->block_capacity * 2 : 4;
        decoder->blocks =
            realloc(decoder->blocks, decoder->block_capacity * sizeof *decoder->blocks);
        if (!decoder->blocks)
            abort();
    }
    struct anthropic_block *block = &decoder->blocks[decoder->block_count++];
    *block = (struct anthropic_block){.kind = kind, .index = index};
    buf_init(&block->id, CALL_LABEL_MAX);
    buf_init(&block->name, CALL_LABEL_MAX);
    buf_init(&block->whole, CALL_ARGUMENTS_MAX);
    buf_init(&block->content, CALL_ARGUMENTS_MAX);
    buf_init(&block->signature, CALL_ARGUMENTS_MAX);
    decoder->base.has_call |= kind == BLOCK_CALL;
    return block;
}

/* The latest block with this index. */
static struct anthropic_block *find_block(struct anthropic_decoder *decoder, int64_t index)
{
    for (size_t i = decoder->block_count; i-- > 0;)
        if (decoder->blocks[i].index == index)
            return &decoder->blocks[i];
    return NULL;
}

/* Text goes to the reply as it comes; the last block of the list, if it is text, remembers how much. */
static void add_text(struct anthropic_decoder *decoder, int64_t index, struct str text)
{
    struct anthropic_block *last =
        decoder->block_count > 0 ? &decoder->blocks[decoder->block_count - 1] : NULL;
    if (text.n == 0)
        return;
    if (!last || last->kind != BLOCK_TEXT)
        last = add_block(decoder, BLOCK_TEXT, index);
    if (!last)
        return;
    last->text_bytes += text.n;
    decoder_text(&decoder->base, text);
}

static void check_block(struct anthropic_decoder *decoder, const struct anthropic_block *block)
{
    if (block->whole.failed || block->content.failed || block->signature.failed)
        decoder_fail(&decoder->base, ERR_RETRY, "the answer holds a block of more than 16 MB");
}

/* A block's start may bring nothing, a part, or all of it. */
static void read_block(struct anthropic_decoder *decoder, int64_t index, const struct js *value)
{
    const struct js *input = js_get(value, "input");
    if (js_kind(value) != JS_OBJECT)
        return;
    decoder->base.has_answer = true;
    struct anthropic_block *block =
        add_block(decoder, block_kind(js_get_str(value, "type")), index);
    if (!block)
        return;
    switch (block->kind) {
    case BLOCK_TEXT:
        add_text(decoder, index, js_get_str(value, "text"));
        return;
    case BLOCK_CALL:
        buf_str(&block->id, js_get_str(value, "id"));
        buf_str(&block->name, js_get_str(value, "name"));
        if (js_kind(input) == JS_STRING)
            buf_str(&block->whole, js_str(input));
        else if (js_count(input) > 0)
            js_print(input, &block->whole);
        break;
    case BLOCK_THINKING:
        buf_str(&block->content, js_get_str(value, "thinking"));
        decoder_reasoning(&decoder->base, js_get_str(value, "thinking"));
        buf_str(&block->signature, js_get_str(value, "signature"));
        break;
    case BLOCK_REDACTED:
        buf_str(&block->content, js_get_str(value, "data"));
        break;
    case BLOCK_OTHER:
        break;
    }
    check_block(decoder, block);
}

static void read_delta(struct anthropic_decoder *decoder, const struct js *root)
{
    const struct js *delta = js_get(root, "delta");
    int64_t index = js_get_int(root, "index", 0);
    struct anthropic_block *block = find_block(decoder, index);
    struct str type = js_get_str(delta, "type");
    decoder->base.has_answer = true;
    if (str_is(type, "text_delta")) {
        if (!block || block->kind == BLOCK_TEXT)
            add_text(decoder, index, js_get_str(delta, "text"));
        return;
    }
    if (!block)
        return;
    if (block->kind == BLOCK_CALL && str_is(type, "input_json_delta") &&
        decoder_allows(&decoder->base, js_get_str(delta, "partial_json").n))
        buf_str(&block->content, js_get_str(delta, "partial_json"));
    if (block->kind == BLOCK_THINKING && str_is(type, "thinking_delta")) {
        buf_str(&block->content, js_get_str(delta, "thinking"));
        decoder_reasoning(&decoder->base, js_get_str(delta, "thinking"));
    }
    if (block->kind == BLOCK_THINKING && str_is(type, "signature_delta")) {
        buf_clear(&block->signature);
        buf_str(&block->signature, js_get_str(delta, "signature"));
    }
    check_block(decoder, block);
}

/* --- the message ----------------------------------------------------------------------------------- */

/* Counts are sums so far: a later report may be larger or leave some out. */
static void read_larger(int64_t *count, const struct js *value)
{
    int64_t number = -1;
    decoder_count(&number, value);
    if (number > *count)
        *count = number;
}

enum usage_moment { USAGE_EARLY, USAGE_FINAL };

/* What a stream says of its output before it has come says nothing: a call that breaks off then has no report of it. */
static void read_usage(struct anthropic_decoder *decoder, const struct js *value,
                       enum usage_moment moment)
{
    struct anthropic_usage *usage = &decoder->usage;
    if (js_kind(value) != JS_OBJECT)
        return;
    read_larger(&usage->fresh, js_get(value, "input_tokens"));
    read_larger(&usage->cached, js_get(value, "cache_read_input_tokens"));
    read_larger(&usage->cache_write, js_get(value, "cache_creation_input_tokens"));
    if (moment == USAGE_FINAL)
        read_larger(&usage->output, js_get(value, "output_tokens"));
    decoder->base.usage = (struct usage){
        .input = usage->fresh,
        .cached = usage->cached,
        .cache_write = usage->cache_write,
        .output = usage->output,
        .reasoning = -1,
    };
    if (usage->fresh >= 0)
        decoder->base.usage.input += (usage->cached > 0 ? usage->cached : 0) +
                                     (usage->cache_write > 0 ? usage->cache_write : 0);
}

static void read_start(struct anthropic_decoder *decoder, const struct js *message,
                       enum usage_moment moment)
{
    if (js_kind(message) != JS_OBJECT)
        return;
    decoder->base.has_answer = true;
    decoder_label(&decoder->base.response_id, js_get(message, "id"));
    decoder_label(&decoder->base.model, js_get(message, "model"));
    read_usage(decoder, js_get(message, "usage"), moment);
    decoder_finish_reason(&decoder->base, js_get_str(message, "stop_reason"));
    const struct js *content = js_get(message, "content");
    for (size_t i = 0; js_kind(content) == JS_ARRAY && i < js_count(content); i++)
        read_block(decoder, (int64_t)i, js_at(content, i));
}

static void on_message(struct anthropic_decoder *decoder, const struct js *root)
{
    /* As a part of a stream, {"type":"message"} would be a second answer. */
    if (decoder->base.body == BODY_JSON)
        read_start(decoder, root, USAGE_FINAL);
}

static void on_start(struct anthropic_decoder *decoder, const struct js *root)
{
    read_start(decoder, js_get(root, "message"), USAGE_EARLY);
}

static void on_block_start(struct anthropic_decoder *decoder, const struct js *root)
{
    read_block(decoder, js_get_int(root, "index", 0), js_get(root, "content_block"));
}

static void on_delta(struct anthropic_decoder *decoder, const struct js *root)
{
    read_usage(decoder, js_get(root, "usage"), USAGE_FINAL);
    decoder_finish_reason(&decoder->base, js_get_str(js_get(root, "delta"), "stop_reason"));
}

static void on_stop(struct anthropic_decoder *decoder, const struct js *root)
{
    decoder->base.done = true;
}

static const struct {
    const char *type;
    void (*read)(struct anthropic_decoder *decoder, const struct js *root);
} events[] = {
    {"message_start", on_start},         {"content_block_start", on_block_start},
    {"content_block_delta", read_delta}, {"message_delta", on_delta},
    {"message_stop", on_stop},           {"message", on_message},
};

static void read_root(struct decoder *base, const struct js *root)
{
    struct str type = js_get_str(root, "type");
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        if (str_is(type, events[i].type))
            events[i].read(own(base), root);
}

/* --- the end ------------------------------------------------------------------------------------------ */

static size_t list_drafts(struct decoder *base, struct call_draft **drafts)
{
    struct anthropic_decoder *decoder = own(base);
    size_t count = 0;
    *drafts = arena_alloc(&base->arena, (decoder->call_count + 1) * sizeof **drafts);
    for (size_t i = 0; i < decoder->block_count; i++) {
        const struct anthropic_block *block = &decoder->blocks[i];
        if (block->kind == BLOCK_CALL)
            (*drafts)[count++] = (struct call_draft){
                buf_view(&block->id), calls_name(&block->name),
                buf_view(block->content.n > 0 ? &block->content : &block->whole)};
    }
    return count;
}

/* A thinking block that was cut off has no signature, and the API takes none back without. */
static bool is_echoed(const struct anthropic_block *block)
{
    return (block->kind == BLOCK_THINKING && block->signature.n > 0) ||
           (block->kind == BLOCK_REDACTED && block->content.n > 0);
}

static void write_extra(struct jw *w, const struct anthropic_block *block)
{
    bool marks = block->kind == BLOCK_CALL || (block->kind == BLOCK_TEXT && block->text_bytes > 0);
    if (!marks && !is_echoed(block))
        return;
    jw_object(w);
    if (block->kind == BLOCK_TEXT) {
        jw_kint(w, "text", (int64_t)block->text_bytes);
    } else if (block->kind == BLOCK_CALL) {
        jw_kint(w, "call", 1);
    } else if (block->kind == BLOCK_THINKING) {
        jw_ktext(w, "type", "thinking");
        jw_kstr(w, "thinking", buf_view(&block->content));
        jw_kstr(w, "signature", buf_view(&block->signature));
    } else {
        jw_ktext(w, "type", "redacted_thinking");
        jw_kstr(w, "data", buf_view(&block->content));
    }
    jw_end_object(w);
}

static struct str write_extras(struct decoder *base)
{
    struct anthropic_decoder *decoder = own(base);
    struct str extras = STR_NONE;
    size_t echoed = 0;
    struct buf text;
    struct jw w;
    for (size_t i = 0; i < decoder->block_count; i++)
        echoed += is_echoed(&decoder->blocks[i]);
    if (echoed == 0)
        return STR_NONE;
    buf_init(&text, CALL_ARGUMENTS_MAX);
    jw_init(&w, &text);
    jw_object(&w);
    jw_ktext(&w, "api", ANTHROPIC_EXTRAS_API);
    jw_key(&w, "content");
    jw_array(&w);
    for (size_t i = 0; i < decoder->block_count; i++)
        write_extra(&w, &decoder->blocks[i]);
    jw_end_array(&w);
    jw_end_object(&w);
    if (!text.failed) /* thoughts too long to keep are left out: all of them, never a part */
        extras = arena_copy(&base->arena, buf_view(&text));
    buf_release(&text);
    return extras;
}

static const struct decoder_ops anthropic_decoder_ops = {
    .content = "content",
    .read = read_root,
    .drafts = list_drafts,
    .extras = write_extras,
    .places = DECODER_PLACES,
    .release = release,
};

void anthropic_decoder_init(struct anthropic_decoder *decoder, struct model_server server,
                            void (*delta)(void *user, struct str text), void *user)
{
    *decoder = (struct anthropic_decoder){.usage = {-1, -1, -1, -1}};
    decoder_init(&decoder->base, &anthropic_decoder_ops, server, delta, user);
}
