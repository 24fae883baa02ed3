/* Assembles tool calls; see the header for the rules. The end of a call's arguments is found by
 * counting brackets as the bytes come, so that no argument text is parsed before the stream has
 * ended. calls.h finishes them. Pure; runs on the thread that feeds it. */
#include "model/openai_calls.h"

#include <stdlib.h>

/* Follows the text of one JSON object or array to its closing bracket. */
struct bracket_count {
    size_t depth;
    bool in_string, escaped;
    bool closed; /* it was opened, and its last bracket has come */
};

struct openai_call {
    struct buf id, name, arguments;
    struct buf extra; /* text of a JSON object */
    struct bracket_count brackets;
    int64_t index;
    bool has_index;
    bool named_again; /* its name came once more, alone, behind its complete arguments */
    uint64_t chunk;   /* the last array that had a piece of this call */
    size_t before;    /* place + 1 of an earlier call with the same id, once there are many */
};

void openai_calls_init(struct openai_calls *calls)
{
    *calls = (struct openai_calls){0};
    map_init(&calls->by_id);
    map_init(&calls->by_index);
}

void openai_calls_release(struct openai_calls *calls)
{
    for (size_t i = 0; i < calls->count; i++) {
        buf_release(&calls->items[i].id);
        buf_release(&calls->items[i].name);
        buf_release(&calls->items[i].arguments);
        buf_release(&calls->items[i].extra);
    }
    free(calls->items);
    map_release(&calls->by_id);
    map_release(&calls->by_index);
    openai_calls_init(calls);
}

static void count_brackets(struct bracket_count *count, struct str text)
{
    for (size_t i = 0; i < text.n && !count->closed; i++) {
        char c = text.p[i];
        if (count->escaped) {
            count->escaped = false;
        } else if (count->in_string) {
            count->escaped = c == '\\';
            count->in_string = c != '"';
        } else if (c == '"') {
            count->in_string = count->depth > 0;
        } else if (c == '{' || c == '[') {
            count->depth++;
        } else if ((c == '}' || c == ']') && count->depth > 0) {
            count->closed = --count->depth == 0;
        }
    }
}

static bool read_index(const struct js *value, int64_t *index)
{
    struct str text = js_str(value);
    if (js_kind(value) == JS_INT) {
        *index = js_int(value, 0);
        return true;
    }
    if (text.n == 0 || text.n > 9)
        return false;
    *index = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        *index = *index * 10 + (text.p[i] - '0');
    }
    return true;
}

static struct openai_piece read_piece(const struct js *entry)
{
    const struct js *function = js_get(entry, "function");
    if (js_kind(function) != JS_OBJECT)
        function = entry;
    const struct js *arguments = js_get(function, "arguments");
    struct openai_piece piece = {
        .id = js_get_str(entry, "id"),
        .name = js_get_str(function, "name"),
        .arguments = js_str(arguments),
        .extra = js_get(entry, "extra_content"),
    };
    if (js_kind(arguments) != JS_STRING && js_kind(arguments) != JS_NULL)
        piece.value = arguments;
    piece.has_index = read_index(js_get(entry, "index"), &piece.index);
    return piece;
}

static bool other_index(const struct openai_call *call, const struct openai_piece *piece)
{
    return piece->has_index && call->has_index && piece->index != call->index;
}

/* The piece would belong to `call`: does it begin another one all the same? */
static bool begins_another(const struct openai_calls *calls, const struct openai_call *call,
                           const struct openai_piece *piece)
{
    if (piece->name.n == 0)
        return false;
    if (call->chunk == calls->chunk)
        return true;
    bool same_name = call->name.n == 0 || str_eq(piece->name, buf_view(&call->name));
    if (piece->id.n > 0 && str_eq(piece->id, buf_view(&call->id)))
        return !same_name && call->brackets.closed;
    bool brings = piece->arguments.n > 0 || js_kind(piece->value) == JS_OBJECT;
    /* The same call sent once more in full is a repetition, not a second call. */
    bool repeats = same_name && str_eq(piece->arguments, buf_view(&call->arguments));
    return (!same_name && call->arguments.n > 0) || (call->brackets.closed && brings && !repeats);
}

/* A name that came alone behind a complete call belongs to the object that follows, unless that is the same once more. */
static bool begins_again(const struct openai_call *call, const struct openai_piece *piece)
{
    struct str text = piece->arguments;
    while (text.n > 0 && strchr(" \t\r\n", text.p[0]) && text.p[0] != '\0')
        text = (struct str){text.p + 1, text.n - 1};
    return call->named_again && piece->id.n == 0 && piece->name.n == 0 && text.n > 0 &&
           text.p[0] == '{' && !str_eq(piece->arguments, buf_view(&call->arguments));
}

enum index_rule { INDEX_FITS, INDEX_ANY };

/* Calls are looked up by id and by index, the last one of each first. */
static struct str index_key(const int64_t *index)
{
    return (struct str){(const char *)index, sizeof *index};
}

static void *place_value(size_t place)
{
    return (void *)(uintptr_t)(place + 1); /* NOLINT(performance-no-int-to-ptr) */
}

static void call_enter(struct openai_calls *calls, size_t place)
{
    struct openai_call *call = &calls->items[place];
    size_t earlier = 0;
    if (call->id.n > 0)
        earlier = (uintptr_t)map_set(&calls->by_id, buf_view(&call->id), place_value(place));
    if (earlier != place + 1)
        call->before = earlier;
    if (call->has_index)
        map_set(&calls->by_index, index_key(&call->index), place_value(place));
}

/* The call has its id now, and is one more than a few. */
static void call_known(struct openai_calls *calls, const struct openai_call *call)
{
    size_t place = (size_t)(call - calls->items);
    if (calls->count == CALLS_FEW + 1 && place == CALLS_FEW)
        for (size_t i = 0; i < place; i++)
            call_enter(calls, i);
    if (calls->count > CALLS_FEW)
        call_enter(calls, place);
}

#define SAME_ID_MAX 32 /* earlier calls with the same id that are looked at */

static struct openai_call *look_up_id(struct openai_calls *calls, const struct openai_piece *piece,
                                      enum index_rule rule)
{
    size_t place = (uintptr_t)map_get(&calls->by_id, piece->id);
    for (int i = 0; place > 0 && i < SAME_ID_MAX; i++) {
        struct openai_call *call = &calls->items[place - 1];
        if (rule == INDEX_ANY || !other_index(call, piece))
            return call;
        place = call->before;
    }
    return NULL;
}

static struct openai_call *find_id(struct openai_calls *calls, const struct openai_piece *piece,
                                   enum index_rule rule)
{
    if (calls->count > CALLS_FEW)
        return look_up_id(calls, piece, rule);
    for (size_t i = calls->count; i-- > 0;)
        if (str_eq(buf_view(&calls->items[i].id), piece->id) &&
            (rule == INDEX_ANY || !other_index(&calls->items[i], piece)))
            return &calls->items[i];
    return NULL;
}

/* The call that the piece continues, or NULL for a new one, whose name the piece has then. */
static struct openai_call *find_call(struct openai_calls *calls, struct openai_piece *piece)
{
    struct openai_call *found = NULL;
    if (piece->id.n > 0) {
        found = find_id(calls, piece, INDEX_FITS);
        if (!found && piece->name.n == 0)
            found = find_id(calls, piece, INDEX_ANY);
        if (!found && piece->name.n > 0)
            return NULL;
    }
    if (!found && piece->has_index && calls->count > CALLS_FEW) {
        size_t place = (uintptr_t)map_get(&calls->by_index, index_key(&piece->index));
        found = place > 0 ? &calls->items[place - 1] : NULL;
    } else if (!found && piece->has_index) {
        for (size_t i = calls->count; i-- > 0 && !found;)
            if (calls->items[i].has_index && calls->items[i].index == piece->index)
                found = &calls->items[i];
    } else if (!found && calls->count > 0) {
        found = &calls->items[calls->count - 1];
    }
    if (found && begins_again(found, piece)) {
        piece->name = buf_view(&found->name);
        return NULL;
    }
    return found && !begins_another(calls, found, piece) ? found : NULL;
}

static struct openai_call *add_call(struct openai_calls *calls, const struct openai_piece *piece)
{
    if (calls->count == calls->capacity) {
        calls->capacity = calls->capacity ? calls->capacity * 2 : 4;
        calls->items = realloc(calls->items, calls->capacity * sizeof *calls->items);
        if (!calls->items)
            abort();
    }
    struct openai_call *call = &calls->items[calls->count++];
    *call = (struct openai_call){.index = piece->index, .has_index = piece->has_index};
    buf_init(&call->id, CALL_LABEL_MAX);
    buf_init(&call->name, CALL_LABEL_MAX);
    buf_init(&call->arguments, CALL_ARGUMENTS_MAX);
    buf_init(&call->extra, OPENAI_CALL_EXTRA_MAX);
    return call;
}

/* A name may come whole, again and again, growing, or in parts. */
static void join_name(struct openai_call *call, struct str name)
{
    struct str have = buf_view(&call->name);
    if (name.n == 0 || str_eq(name, have) || (have.n > 0 && call->arguments.n > 0))
        return;
    if (str_starts(name, have))
        buf_clear(&call->name);
    buf_str(&call->name, name);
}

static void join_arguments(struct openai_call *call, const struct openai_piece *piece)
{
    struct str text = piece->arguments;
    if (piece->value) {
        call->brackets = (struct bracket_count){0};
        buf_clear(&call->arguments);
        js_print(piece->value, &call->arguments);
        count_brackets(&call->brackets, buf_view(&call->arguments));
        return;
    }
    if (!text.p || (call->brackets.closed && str_eq(text, buf_view(&call->arguments))))
        return;
    count_brackets(&call->brackets, text);
    buf_str(&call->arguments, text);
}

/* The last one that says something counts. One that is too long is left out: it would be of no use in part. */
static void keep_extra(struct openai_call *call, const struct js *extra)
{
    if (js_kind(extra) != JS_OBJECT || js_count(extra) == 0)
        return;
    buf_clear(&call->extra);
    js_print(extra, &call->extra);
    if (call->extra.failed)
        buf_clear(&call->extra);
}

void openai_calls_chunk(struct openai_calls *calls)
{
    calls->chunk++;
}

int openai_calls_piece(struct openai_calls *calls, const struct openai_piece *came, struct err *err)
{
    struct openai_piece own = *came, *piece = &own;
    bool empty = piece->id.n == 0 && piece->name.n == 0 && !piece->arguments.p && !piece->value;
    if (empty && !piece->extra)
        return 0;
    struct openai_call *call = find_call(calls, piece);
    if (!call && empty) /* an extra alone begins no call */
        return 0;
    if (!call && calls->count == CALLS_MAX)
        return err_set(err, ERR_RETRY, "the answer holds more than %d tool calls", CALLS_MAX);
    bool fresh = call == NULL;
    if (fresh)
        call = add_call(calls, piece);
    call->chunk = calls->chunk;
    bool named = call->id.n == 0 && piece->id.n > 0;
    if (named)
        buf_str(&call->id, piece->id);
    if (fresh || named)
        call_known(calls, call);
    call->named_again = call->brackets.closed && piece->name.n > 0 && piece->id.n == 0 &&
                        piece->arguments.n == 0 && !piece->value;
    join_name(call, piece->name);
    join_arguments(call, piece);
    keep_extra(call, piece->extra);
    if (call->arguments.failed)
        return err_set(err, ERR_RETRY, "the answer holds a tool call of more than 16 MB");
    return 0;
}

static int read_entry(struct openai_calls *calls, const struct js *entry, struct err *err)
{
    if (js_kind(entry) != JS_OBJECT)
        return 0;
    struct openai_piece piece = read_piece(entry);
    return openai_calls_piece(calls, &piece, err);
}

static size_t entry_bytes(const struct js *entry)
{
    return js_kind(entry) == JS_OBJECT ? read_piece(entry).arguments.n : 0;
}

size_t openai_calls_bytes(const struct js *array)
{
    size_t bytes = entry_bytes(array);
    for (size_t i = 0; js_kind(array) == JS_ARRAY && i < js_count(array); i++)
        bytes += entry_bytes(js_at(array, i));
    return bytes;
}

int openai_calls_read(struct openai_calls *calls, const struct js *array, struct err *err)
{
    openai_calls_chunk(calls);
    if (js_kind(array) == JS_OBJECT)
        return read_entry(calls, array, err);
    if (js_kind(array) != JS_ARRAY)
        return 0;
    for (size_t i = 0; i < js_count(array); i++)
        if (read_entry(calls, js_at(array, i), err) != 0)
            return -1;
    return 0;
}

size_t openai_calls_drafts(const struct openai_calls *calls, struct arena *arena,
                           struct call_draft **drafts)
{
    *drafts = calls->count > 0 ? arena_alloc(arena, calls->count * sizeof **drafts) : NULL;
    for (size_t i = 0; i < calls->count; i++)
        (*drafts)[i] =
            (struct call_draft){buf_view(&calls->items[i].id), calls_name(&calls->items[i].name),
                                buf_view(&calls->items[i].arguments)};
    return calls->count;
}

struct str openai_calls_extra(const struct openai_calls *calls, size_t i)
{
    return i < calls->count ? buf_view(&calls->items[i].extra) : STR("");
}
