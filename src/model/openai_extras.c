/* Collects reasoning and signatures, writes them as extras, and back into requests; see the header for the rules. Does not
 * look into what it keeps beyond joining its pieces. Pure; any thread. */
#include "model/openai_extras.h"

#include <stdlib.h>

static const char *const text_names[REASONING_TEXTS] = {
    [REASONING_CONTENT] = "reasoning_content",
    [REASONING_PLAIN] = "reasoning",
};
#define DETAILS_NAME "reasoning_details"

void openai_extras_init(struct openai_extras *extras)
{
    *extras = (struct openai_extras){0};
    for (size_t i = 0; i < REASONING_TEXTS; i++)
        buf_init(&extras->texts[i], OPENAI_EXTRAS_MAX);
    buf_init(&extras->details, OPENAI_EXTRAS_MAX);
    buf_init(&extras->scratch, OPENAI_EXTRAS_MAX);
}

void openai_extras_release(struct openai_extras *extras)
{
    for (size_t i = 0; i < REASONING_TEXTS; i++)
        buf_release(&extras->texts[i]);
    for (size_t i = 0; extras->open && i < OPENAI_DETAIL_MEMBERS; i++) {
        buf_release(&extras->open[i].key);
        buf_release(&extras->open[i].value);
    }
    free(extras->open);
    extras->open = NULL;
    buf_release(&extras->details);
    buf_release(&extras->scratch);
}

void openai_extras_text(struct openai_extras *extras, enum openai_reasoning which, struct str text)
{
    if (text.n > 0)
        buf_str(&extras->texts[which], text);
}

/* --- reasoning_details --------------------------------------------------------------------------- */

static bool is_joined(struct str key)
{
    return str_is(key, "text") || str_is(key, "summary");
}

static bool is_nothing(const struct js *value)
{
    return js_kind(value) == JS_ABSENT || js_kind(value) == JS_NULL;
}

static struct openai_detail *find_member(struct openai_extras *extras, struct str key)
{
    for (size_t i = 0; i < extras->open_count; i++)
        if (str_eq(buf_view(&extras->open[i].key), key))
            return &extras->open[i];
    return NULL;
}

static void entry_begin(struct openai_extras *extras)
{
    if (extras->details.n > 0)
        buf_char(&extras->details, ',');
}

/* The open entry is complete. */
static void entry_close(struct openai_extras *extras)
{
    struct jw w;
    if (extras->open_count == 0)
        return;
    entry_begin(extras);
    jw_init(&w, &extras->details);
    jw_object(&w);
    for (size_t i = 0; i < extras->open_count; i++) {
        struct openai_detail *member = &extras->open[i];
        jw_key_str(&w, buf_view(&member->key));
        if (member->form == DETAIL_TEXT)
            jw_str(&w, buf_view(&member->value));
        else
            jw_raw(&w, buf_view(&member->value)); /* nothing at all is written as null */
        if (member->value.failed || member->key.failed)
            extras->details.failed = true;
        buf_clear(&member->key);
        buf_clear(&member->value);
        member->form = DETAIL_NULL;
    }
    jw_end_object(&w);
    extras->open_count = 0;
}

static void set_value(struct openai_detail *member, struct str key, const struct js *value)
{
    if (is_nothing(value))
        return;
    member->form = is_joined(key) && js_kind(value) == JS_STRING ? DETAIL_TEXT : DETAIL_JSON;
    if (member->form == DETAIL_TEXT)
        buf_str(&member->value, js_str(value));
    else
        js_print(value, &member->value);
}

static void entries_init(struct openai_extras *extras)
{
    if (extras->open)
        return;
    extras->open = calloc(OPENAI_DETAIL_MEMBERS, sizeof *extras->open);
    if (!extras->open)
        abort();
    for (size_t i = 0; i < OPENAI_DETAIL_MEMBERS; i++) {
        buf_init(&extras->open[i].key, OPENAI_EXTRAS_MAX);
        buf_init(&extras->open[i].value, OPENAI_EXTRAS_MAX);
    }
}

/* There is room for all members of the piece. */
static void entry_add(struct openai_extras *extras, const struct js *piece)
{
    struct str key;
    const struct js *value;
    entries_init(extras);
    for (void *i = js_next(piece, NULL, &key, &value); i; i = js_next(piece, i, &key, &value)) {
        struct openai_detail *member = find_member(extras, key);
        if (!member) {
            member = &extras->open[extras->open_count++];
            buf_str(&member->key, key);
        }
        if (member->form == DETAIL_NULL)
            set_value(member, key, value);
        else if (member->form == DETAIL_TEXT)
            buf_str(&member->value, js_str(value));
    }
}

enum agreement { AGREES_IN_BOTH, AGREES_OR_MISSING };

/* Whether the open entry and the piece have the same value, or one of them may have and has none. */
static bool agrees(struct openai_extras *extras, const struct js *piece, const char *key,
                   enum agreement wanted)
{
    const struct openai_detail *member = find_member(extras, str_from(key));
    const struct js *value = js_get(piece, key);
    bool missing = !member || member->form == DETAIL_NULL;
    if (missing || is_nothing(value))
        return wanted == AGREES_OR_MISSING || (missing && is_nothing(value));
    buf_clear(&extras->scratch);
    js_print(value, &extras->scratch);
    return str_eq(buf_view(&extras->scratch), buf_view(&member->value));
}

/* What is encrypted comes whole, and two of it are two entries. */
static bool continues(struct openai_extras *extras, const struct js *piece)
{
    return extras->open_count > 0 &&
           extras->open_count + js_count(piece) <= OPENAI_DETAIL_MEMBERS &&
           is_nothing(js_get(piece, "data")) && agrees(extras, piece, "type", AGREES_IN_BOTH) &&
           agrees(extras, piece, "index", AGREES_IN_BOTH) &&
           agrees(extras, piece, "id", AGREES_OR_MISSING);
}

static void read_detail(struct openai_extras *extras, const struct js *piece)
{
    if (js_kind(piece) != JS_OBJECT)
        return;
    if (!continues(extras, piece))
        entry_close(extras);
    if (js_count(piece) <= OPENAI_DETAIL_MEMBERS) {
        entry_add(extras, piece);
        return;
    }
    entry_begin(extras);
    js_print(piece, &extras->details);
}

void openai_extras_read(struct openai_extras *extras, const struct js *message)
{
    const struct js *details = js_get(message, DETAILS_NAME);
    for (size_t i = 0; i < REASONING_TEXTS; i++)
        openai_extras_text(extras, (enum openai_reasoning)i, js_get_str(message, text_names[i]));
    for (size_t i = 0; js_kind(details) == JS_ARRAY && i < js_count(details); i++)
        read_detail(extras, js_at(details, i));
}

/* --- the extras of a reply ------------------------------------------------------------------------ */

static bool has_message(const struct openai_extras *extras)
{
    return extras->texts[REASONING_CONTENT].n > 0 || extras->texts[REASONING_PLAIN].n > 0 ||
           extras->details.n > 0;
}

static bool has_calls(const struct openai_calls *calls)
{
    for (size_t i = 0; i < calls->count; i++)
        if (openai_calls_extra(calls, i).n > 0)
            return true;
    return false;
}

static void write_message(const struct openai_extras *extras, struct jw *w)
{
    jw_key(w, "message");
    jw_object(w);
    for (size_t i = 0; i < REASONING_TEXTS; i++)
        if (extras->texts[i].n > 0)
            jw_kstr(w, text_names[i], buf_view(&extras->texts[i]));
    if (extras->details.n > 0) {
        jw_key(w, DETAILS_NAME);
        jw_array(w);
        jw_raw(w, buf_view(&extras->details));
        jw_end_array(w);
    }
    jw_end_object(w);
}

static void write_calls(const struct openai_calls *calls, struct jw *w)
{
    jw_key(w, "calls");
    jw_array(w);
    for (size_t i = 0; i < calls->count; i++)
        jw_raw(w, openai_calls_extra(calls, i));
    jw_end_array(w);
}

static bool too_long(const struct openai_extras *extras)
{
    return extras->texts[REASONING_CONTENT].failed || extras->texts[REASONING_PLAIN].failed ||
           extras->details.failed || extras->scratch.failed;
}

struct str openai_extras_write(struct openai_extras *extras, const struct openai_calls *calls,
                               enum mend_halves halves, struct arena *arena)
{
    struct str text = STR_NONE;
    struct buf out;
    struct jw w;
    entry_close(extras);
    if ((!has_message(extras) && !has_calls(calls)) || too_long(extras))
        return STR_NONE;
    buf_init(&out, OPENAI_EXTRAS_MAX);
    jw_init(&w, &out);
    jw_object(&w);
    jw_ktext(&w, "api", OPENAI_EXTRAS_API);
    if (has_message(extras))
        write_message(extras, &w);
    if (has_calls(calls))
        write_calls(calls, &w);
    jw_end_object(&w);
    if (halves == MEND_HALVES)
        mend_join(&out);
    if (!out.failed)
        text = arena_copy(arena, buf_view(&out));
    buf_release(&out);
    return text;
}

/* --- the echo --------------------------------------------------------------------------------------- */

struct openai_echo openai_echo_of(const struct message *message, struct str provider)
{
    struct err ignored = ERR_INIT;
    struct openai_echo echo = {NULL};
    if (message->role != MESSAGE_ASSISTANT || message->call_count == 0 || message->extras.n == 0)
        return echo;
    if (message->origins && !str_eq(message->origins[0].provider, provider))
        return echo;
    echo.document = js_parse(message->extras, &ignored);
    if (!str_is(js_get_str(echo.document, "api"), OPENAI_EXTRAS_API))
        openai_echo_release(&echo);
    return echo;
}

void openai_echo_release(struct openai_echo *echo)
{
    js_free(echo->document);
    echo->document = NULL;
}

/* Nothing but what was written above comes back, whatever a log may hold. */
static void echo_member(struct jw *w, const char *key, const struct js *value, enum js_kind wanted)
{
    struct buf text;
    if (js_kind(value) != wanted)
        return;
    buf_init(&text, OPENAI_EXTRAS_MAX * 2); /* as it is logged, it may be escaped otherwise */
    js_print(value, &text);
    if (!text.failed)
        jw_kraw(w, key, buf_view(&text));
    buf_release(&text);
}

void openai_echo_message(const struct openai_echo *echo, struct jw *w)
{
    const struct js *message = js_get(echo->document, "message");
    for (size_t i = 0; i < REASONING_TEXTS; i++)
        echo_member(w, text_names[i], js_get(message, text_names[i]), JS_STRING);
    echo_member(w, DETAILS_NAME, js_get(message, DETAILS_NAME), JS_ARRAY);
}

void openai_echo_call(const struct openai_echo *echo, size_t i, struct jw *w)
{
    echo_member(w, "extra_content", js_at(js_get(echo->document, "calls"), i), JS_OBJECT);
}
