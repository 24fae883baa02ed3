/* Keeps the items of an answer; see the header for the rules. Text goes to the decoder as it comes, and an item remembers
 * only where it stands there. Knows no events. Pure; runs on the thread that feeds it. */
#include "model/responses_items.h"

#include <stdlib.h>

#include "model/responses_extras.h"

enum item_kind { KIND_TEXT, KIND_CALL, KIND_REASONING };

/* Which parts an item uses depends on its kind. A text is one part of a message, or a stretch of it. */
struct responses_item {
    enum item_kind kind;
    int64_t index;
    bool matched;               /* by an item of the final response */
    int64_t part;               /* text: which of the message's */
    size_t start, bytes;        /* text: its place in the reply's text */
    bool told;                  /* text, call: all of it came at once, and not as a beginning */
    struct buf id;              /* call, reasoning: of the item itself */
    struct buf call_id, name;   /* call */
    struct buf pieces, whole;   /* call: arguments as they came, and all at once */
    struct buf summary, sealed; /* reasoning: a JSON array, and the encrypted content */
    enum { CALL_OPEN, CALL_WHOLE, CALL_CUT } state; /* call: CUT stays, whatever follows */
};

void responses_items_init(struct responses_items *items, struct decoder *decoder)
{
    *items = (struct responses_items){.decoder = decoder};
}

void responses_items_release(struct responses_items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        struct responses_item *item = &items->list[i];
        struct buf *const bufs[] = {&item->id,    &item->call_id, &item->name,  &item->pieces,
                                    &item->whole, &item->summary, &item->sealed};
        for (size_t b = 0; b < sizeof bufs / sizeof bufs[0]; b++)
            buf_release(bufs[b]);
    }
    free(items->list);
    responses_items_init(items, items->decoder);
}

static struct responses_item *add_item(struct responses_items *items, enum item_kind kind,
                                       int64_t index)
{
    if (items->count == RESPONSES_ITEMS_MAX) {
        decoder_fail(items->decoder, ERR_RETRY, "the answer holds more than 1024 items");
        return NULL;
    }
    if (kind == KIND_CALL && items->call_count++ == CALLS_IN_BLOCKS_MAX) {
        decoder_fail(items->decoder, ERR_RETRY, "the answer holds more than 128 tool calls");
        return NULL;
    }
    if (items->count == items->capacity) {
        items->capacity = items->capacity ? items->capacity * 2 : 4;
        items->list = realloc(items->list, items->capacity * sizeof *items->list);
        if (!items->list)
            abort();
    }
    struct responses_item *item = &items->list[items->count++];
    *item = (struct responses_item){.kind = kind, .index = index};
    buf_init(&item->id, CALL_LABEL_MAX);
    buf_init(&item->call_id, CALL_LABEL_MAX);
    buf_init(&item->name, CALL_LABEL_MAX);
    buf_init(&item->pieces, CALL_ARGUMENTS_MAX);
    buf_init(&item->whole, CALL_ARGUMENTS_MAX);
    buf_init(&item->summary, CALL_ARGUMENTS_MAX);
    buf_init(&item->sealed, CALL_ARGUMENTS_MAX);
    items->decoder->has_call |= kind == KIND_CALL;
    return item;
}

static void check_item(struct responses_items *items, const struct responses_item *item)
{
    if (item->pieces.failed || item->whole.failed || item->summary.failed || item->sealed.failed)
        decoder_fail(items->decoder, ERR_RETRY, "the answer holds an item of more than 16 MB");
}

/* --- text ------------------------------------------------------------------------------------------ */

void responses_items_text(struct responses_items *items, int64_t index, int64_t part,
                          struct str piece)
{
    struct responses_item *last = items->count > 0 ? &items->list[items->count - 1] : NULL;
    if (piece.n == 0)
        return;
    if (!last || last->kind != KIND_TEXT || last->index != index || last->part != part) {
        last = add_item(items, KIND_TEXT, index);
        if (!last)
            return;
        last->part = part;
        last->start = items->decoder->text.n;
    }
    last->bytes += piece.n;
    decoder_text(items->decoder, piece);
}

/* Whether the whole text begins with what came of this item. Mended text may have become shorter: then nobody knows. */
static bool covers(const struct responses_items *items, const struct responses_item *item,
                   struct str text)
{
    const struct decoder *decoder = items->decoder;
    return decoder->halves == MEND_HALVES ||
           (item->bytes <= text.n && item->start + item->bytes <= decoder->text.n &&
            memcmp(decoder->text.p + item->start, text.p, item->bytes) == 0);
}

/* Adds what is missing at the end, where the text still ends with this item. */
static void complete_text(struct responses_items *items, struct responses_item *item,
                          struct str text)
{
    struct decoder *decoder = items->decoder;
    if (decoder->halves == MEND_HALVES || item->start + item->bytes != decoder->text.n ||
        !covers(items, item, text))
        return;
    struct str rest = {text.p + item->bytes, text.n - item->bytes};
    item->bytes = text.n;
    decoder_text(decoder, rest);
}

/* The item that a whole text repeats, or NULL when there is none: one in its very place (*stretches: how many are), else one
 * that has not been told whole and begins as it does, because servers number deltas and ends differently. */
static struct responses_item *find_text(const struct responses_items *items, int64_t index,
                                        int64_t part, struct str text, size_t *stretches)
{
    struct responses_item *found = NULL, *similar = NULL;
    *stretches = 0;
    for (size_t i = 0; i < items->count; i++) {
        struct responses_item *item = &items->list[i];
        if (item->kind != KIND_TEXT)
            continue;
        if (item->index == index && item->part == part) {
            found = item;
            ++*stretches;
        } else if (!item->told && covers(items, item, text)) {
            similar = item;
        }
    }
    return found ? found : similar;
}

void responses_items_whole_text(struct responses_items *items, int64_t index, int64_t part,
                                struct str text)
{
    size_t stretches;
    if (text.n == 0)
        return;
    struct responses_item *item = find_text(items, index, part, text, &stretches);
    if (!item) {
        responses_items_text(items, index, part, text);
        item = find_text(items, index, part, text, &stretches);
    } else if (stretches <= 1) {
        complete_text(items, item, text);
    }
    if (!item)
        return;
    item->told = true;
    item->index = index;
    item->part = part;
}

static struct str part_text(const struct js *part)
{
    struct str type = js_get_str(part, "type");
    if (str_is(type, "output_text"))
        return js_get_str(part, "text");
    return str_is(type, "refusal") ? js_get_str(part, "refusal") : STR_NONE;
}

static void read_message(struct responses_items *items, int64_t index, const struct js *item,
                         enum item_moment moment)
{
    const struct js *content = js_get(item, "content");
    size_t ignored;
    struct str role = js_get_str(item, "role");
    if (role.n > 0 && !str_is(role, "assistant"))
        return;
    for (size_t i = 0; i < js_count(content) && js_kind(content) == JS_ARRAY; i++) {
        struct str text = part_text(js_at(content, i));
        items->decoder->refused |= js_get_str(js_at(content, i), "refusal").n > 0;
        /* What was shown stays, even where the final response has other words. */
        if (text.n > 0 && (moment != ITEM_FINAL || !items->text_streamed ||
                           find_text(items, index, (int64_t)i, text, &ignored)))
            responses_items_whole_text(items, index, (int64_t)i, text);
    }
}

/* --- calls ----------------------------------------------------------------------------------------- */

/* The call that a piece of arguments belongs to: by index and id, by index, by id, else the last; NULL: there is none. */
static struct responses_item *find_piece(const struct responses_items *items, int64_t index,
                                         struct str item_id)
{
    struct responses_item *by_index = NULL, *by_id = NULL, *last = NULL;
    for (size_t i = 0; i < items->count; i++) {
        struct responses_item *item = &items->list[i];
        if (item->kind != KIND_CALL)
            continue;
        bool same_index = index != RESPONSES_NO_INDEX && item->index == index;
        bool same_id = item_id.n > 0 && str_eq(buf_view(&item->id), item_id);
        if (same_index && same_id)
            return item;
        if (same_index)
            by_index = item;
        if (same_id)
            by_id = item;
        last = item;
    }
    if (by_index || by_id)
        return by_index ? by_index : by_id;
    return index == RESPONSES_NO_INDEX ? last : NULL;
}

/* A call may be told of before its item is. */
static struct responses_item *take_piece(struct responses_items *items, int64_t index,
                                         struct str item_id)
{
    struct responses_item *item = find_piece(items, index, item_id);
    if (item)
        return item;
    item = add_item(items, KIND_CALL, index);
    if (item)
        buf_str(&item->id, item_id);
    return item;
}

void responses_items_arguments(struct responses_items *items, int64_t index, struct str item_id,
                               struct str piece)
{
    struct responses_item *item = take_piece(items, index, item_id);
    if (!item || !decoder_allows(items->decoder, piece.n))
        return;
    buf_str(&item->pieces, piece);
    check_item(items, item);
}

/* Keeps arguments that say something. */
static void set_arguments(struct responses_item *item, const struct js *arguments,
                          enum item_moment moment)
{
    enum js_kind kind = js_kind(arguments);
    bool object = kind == JS_OBJECT || kind == JS_ARRAY;
    if (!object && js_str(arguments).n == 0)
        return;
    item->told = moment != ITEM_ADDED;
    buf_clear(&item->whole);
    if (object)
        js_print(arguments, &item->whole);
    else
        buf_str(&item->whole, js_str(arguments));
}

void responses_items_whole_arguments(struct responses_items *items, int64_t index,
                                     struct str item_id, const struct js *arguments)
{
    struct responses_item *item = take_piece(items, index, item_id);
    if (!item)
        return;
    set_arguments(item, arguments, ITEM_DONE);
    if (item->state == CALL_OPEN)
        item->state = CALL_WHOLE;
    check_item(items, item);
}

/* Whether an item may be about this call: the same index, and no other id. */
static bool same_call(const struct responses_item *item, int64_t index, struct str call_id)
{
    return item->index == index && index != RESPONSES_NO_INDEX &&
           (call_id.n == 0 || item->call_id.n == 0 || str_eq(buf_view(&item->call_id), call_id));
}

/* The call that an item's object is about, or NULL for a new one. */
static struct responses_item *find_call(const struct responses_items *items, int64_t index,
                                        struct str call_id, enum item_moment moment)
{
    struct responses_item *by_id = NULL, *next = NULL;
    for (size_t i = 0; i < items->count; i++) {
        struct responses_item *item = &items->list[i];
        if (item->kind != KIND_CALL || item->matched)
            continue;
        if (same_call(item, index, call_id))
            return item;
        bool unfinished =
            moment == ITEM_FINAL ||
            (item->state == CALL_OPEN && (moment == ITEM_DONE || index == RESPONSES_NO_INDEX));
        if (!by_id && call_id.n > 0 && str_eq(buf_view(&item->call_id), call_id) && unfinished)
            by_id = item;
        if (!next && moment == ITEM_FINAL && items->all_calls_streamed)
            next = item;
    }
    return by_id ? by_id : next;
}

static void close_call(struct responses_item *call, struct str status, enum item_moment moment)
{
    if (moment == ITEM_ADDED)
        return;
    if (str_is(status, "incomplete"))
        call->state = CALL_CUT;
    else if (call->state == CALL_OPEN && !(moment == ITEM_FINAL && str_is(status, "in_progress")))
        call->state = CALL_WHOLE;
}

static void read_call(struct responses_items *items, int64_t index, const struct js *item,
                      enum item_moment moment)
{
    struct str call_id = js_get_str(item, "call_id");
    struct responses_item *call = find_call(items, index, call_id, moment);
    if (!call)
        call = add_item(items, KIND_CALL, index);
    if (!call)
        return;
    call->matched = moment == ITEM_FINAL;
    bool settled = call->state != CALL_OPEN;
    if (call->id.n == 0)
        buf_str(&call->id, js_get_str(item, "id"));
    if (call->call_id.n == 0)
        buf_str(&call->call_id, call_id);
    if (call->name.n == 0)
        buf_str(&call->name, js_get_str(item, "name"));
    /* What ended the call in the stream stands, unless it said nothing. */
    if (!settled || (call->whole.n == 0 && call->pieces.n == 0))
        set_arguments(call, js_get(item, "arguments"), moment);
    close_call(call, js_get_str(item, "status"), moment);
    check_item(items, call);
}

/* --- reasoning -------------------------------------------------------------------------------------- */

static struct responses_item *find_reasoning(const struct responses_items *items, int64_t index,
                                             enum item_moment moment)
{
    struct responses_item *next = NULL;
    for (size_t i = 0; i < items->count; i++) {
        struct responses_item *item = &items->list[i];
        if (item->kind != KIND_REASONING || item->matched)
            continue;
        if (item->index == index && index != RESPONSES_NO_INDEX)
            return item;
        if (!next && moment == ITEM_FINAL)
            next = item;
    }
    return next;
}

static void write_summary(struct buf *out, const struct js *summary)
{
    struct jw w;
    jw_init(&w, out);
    jw_array(&w);
    for (size_t i = 0; js_kind(summary) == JS_ARRAY && i < js_count(summary); i++) {
        struct str text = js_get_str(js_at(summary, i), "text");
        if (!text.p)
            continue;
        jw_object(&w);
        jw_ktext(&w, "type", "summary_text");
        jw_kstr(&w, "text", text);
        jw_end_object(&w);
    }
    jw_end_array(&w);
}

/* The last that is sealed counts, all of it: what an item begins with is not yet what it ends with. */
static void read_reasoning(struct responses_items *items, int64_t index, const struct js *item,
                           enum item_moment moment)
{
    struct str sealed = js_get_str(item, "encrypted_content"), id = js_get_str(item, "id");
    struct responses_item *kept = find_reasoning(items, index, moment);
    if (!kept)
        kept = add_item(items, KIND_REASONING, index);
    if (!kept)
        return;
    kept->matched = moment == ITEM_FINAL;
    if (sealed.n == 0)
        return;
    buf_clear(&kept->id);
    buf_clear(&kept->summary);
    buf_clear(&kept->sealed);
    if (id.n <= CALL_LABEL_MAX)
        buf_str(&kept->id, id);
    buf_str(&kept->sealed, sealed);
    write_summary(&kept->summary, js_get(item, "summary"));
    check_item(items, kept);
}

/* --- items ------------------------------------------------------------------------------------------ */

void responses_items_read(struct responses_items *items, int64_t index, const struct js *item,
                          enum item_moment moment)
{
    static const struct {
        const char *type;
        void (*read)(struct responses_items *items, int64_t index, const struct js *item,
                     enum item_moment moment);
    } kinds[] = {
        {"message", read_message},
        {"function_call", read_call},
        {"reasoning", read_reasoning},
    };
    struct str type = js_get_str(item, "type");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (str_is(type, kinds[i].type))
            kinds[i].read(items, index, item, moment);
}

void responses_items_final(struct responses_items *items, const struct js *output)
{
    size_t count = js_kind(output) == JS_ARRAY ? js_count(output) : 0, calls = 0;
    for (size_t i = 0; i < count; i++)
        calls += str_is(js_get_str(js_at(output, i), "type"), "function_call");
    items->text_streamed = items->decoder->text.n > 0;
    items->all_calls_streamed = calls <= items->call_count;
    for (size_t i = 0; i < count; i++)
        responses_items_read(items, (int64_t)i, js_at(output, i), ITEM_FINAL);
}

bool responses_items_any_cut(const struct responses_items *items)
{
    for (size_t i = 0; i < items->count; i++)
        if (items->list[i].kind == KIND_CALL && items->list[i].state == CALL_CUT)
            return true;
    return false;
}

/* --- the end ------------------------------------------------------------------------------------------ */

static bool counts(const struct responses_item *item, enum items_ending ending)
{
    return item->kind == KIND_CALL &&
           (item->state == CALL_WHOLE || (item->state == CALL_OPEN && ending == ITEMS_WHOLE));
}

static struct str arguments_of(const struct responses_item *item)
{
    bool pieces = item->pieces.n > 0 && !(item->told && item->whole.n > 0);
    return buf_view(pieces ? &item->pieces : &item->whole);
}

size_t responses_items_drafts(struct responses_items *items, enum items_ending ending,
                              struct call_draft **drafts)
{
    size_t count = 0;
    *drafts = arena_alloc(&items->decoder->arena, (items->call_count + 1) * sizeof **drafts);
    for (size_t i = 0; i < items->count; i++) {
        const struct responses_item *item = &items->list[i];
        if (item->kind == KIND_CALL && item->state == CALL_OPEN && ending == ITEMS_UNENDED)
            decoder_fail(items->decoder, ERR_RETRY, "the stream ended inside a tool call");
        if (counts(item, ending))
            (*drafts)[count++] = (struct call_draft){buf_view(&item->call_id),
                                                     calls_name(&item->name), arguments_of(item)};
    }
    return count;
}

static void write_extra(struct jw *w, const struct responses_item *item, enum items_ending ending)
{
    bool marks = counts(item, ending) || (item->kind == KIND_TEXT && item->bytes > 0);
    if (!marks && item->sealed.n == 0)
        return;
    jw_object(w);
    if (item->kind == KIND_TEXT) {
        jw_kint(w, "text", (int64_t)item->bytes);
    } else if (item->kind == KIND_CALL) {
        jw_kint(w, "call", 1);
    } else {
        jw_ktext(w, "type", "reasoning");
        if (item->id.n > 0)
            jw_kstr(w, "id", buf_view(&item->id));
        jw_kraw(w, "summary", buf_view(&item->summary));
        jw_kstr(w, "encrypted_content", buf_view(&item->sealed));
    }
    jw_end_object(w);
}

struct str responses_items_extras(const struct responses_items *items, enum items_ending ending)
{
    struct str extras = STR_NONE, host = responses_host(items->decoder->server.url);
    size_t sealed = 0;
    struct buf text;
    struct jw w;
    for (size_t i = 0; i < items->count; i++)
        sealed += items->list[i].sealed.n > 0;
    if (sealed == 0 || host.n == 0)
        return STR_NONE;
    buf_init(&text, CALL_ARGUMENTS_MAX);
    jw_init(&w, &text);
    jw_object(&w);
    jw_ktext(&w, "api", RESPONSES_EXTRAS_API);
    jw_kstr(&w, "host", host);
    jw_key(&w, "content");
    jw_array(&w);
    for (size_t i = 0; i < items->count; i++)
        write_extra(&w, &items->list[i], ending);
    jw_end_array(&w);
    jw_end_object(&w);
    if (!text.failed) /* reasoning too long to keep is left out: all of it, never a part */
        extras = arena_copy(&items->decoder->arena, buf_view(&text));
    buf_release(&text);
    return extras;
}
