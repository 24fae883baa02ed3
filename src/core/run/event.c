/* Printing and parsing of events by their field table, and the timeline's one-line summaries. Pure. */
#include "core/run/event.h"

#include <stdio.h>

#include "base/json.h"
#include "base/utf8.h"

enum field_kind { FIELD_S, FIELD_I, FIELD_J };

struct field {
    const char *name;
    size_t length; /* of the name: fields are looked up for every event */
    enum field_kind kind;
    size_t offset;
};

static const struct field fields[] = {
#define X(name, kind) {#name, sizeof #name - 1, FIELD_##kind, offsetof(struct event, name)},
    EVENT_FIELDS(X)
#undef X
};

#define FIELD_COUNT (sizeof fields / sizeof fields[0])

static const struct {
    const char *text;
    const char *fields;
} types[] = {
#define X(symbol, text, fields) {text, fields},
    EVENT_TYPES(X)
#undef X
};

void event_init(struct event *event, enum event_type type)
{
    memset(event, 0, sizeof *event);
    event->type = type;
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (fields[i].kind == FIELD_I)
            *(int64_t *)((char *)event + fields[i].offset) = EVENT_ABSENT;
    }
}

const char *event_type_text(enum event_type type)
{
    return type < EVENT_TYPE_COUNT ? types[type].text : "?";
}

const char *event_fields_text(enum event_type type)
{
    return type < EVENT_TYPE_COUNT ? types[type].fields : "";
}

/* The next field named in the list at *cursor, or NULL at its end. A name that is not a field is a bug in the table:
 * the unit test walks every type. */
static const struct field *next_field(const char **cursor)
{
    const char *p = *cursor;
    while (*p == ' ')
        p++;
    size_t n = strcspn(p, " ");
    *cursor = p + n;
    for (size_t i = 0; n > 0 && i < FIELD_COUNT; i++) {
        if (fields[i].length == n && memcmp(fields[i].name, p, n) == 0)
            return &fields[i];
    }
    return NULL;
}

void event_mend(struct event *event, struct arena *arena)
{
    const char *cursor = types[event->type].fields;
    for (const struct field *f; (f = next_field(&cursor)) != NULL;) {
        struct str *text = (struct str *)((char *)event + f->offset);
        if (f->kind != FIELD_S || utf8_valid(*text) == text->n)
            continue;
        struct buf mended;
        buf_init(&mended, SIZE_MAX / 4);
        utf8_mend(&mended, *text);
        *text = arena_copy(arena, buf_view(&mended));
        buf_release(&mended);
    }
}

void event_print(const struct event *event, struct buf *out)
{
    struct jw w;
    const char *cursor = types[event->type].fields;
    jw_init(&w, out);
    jw_object(&w);
    for (const struct field *f; (f = next_field(&cursor)) != NULL;) {
        const void *at = (const char *)event + f->offset;
        const struct str *text = at;
        if (f->kind == FIELD_I) {
            if (*(const int64_t *)at != EVENT_ABSENT)
                jw_kint(&w, f->name, *(const int64_t *)at);
        } else if (text->p != NULL) {
            if (f->kind == FIELD_S)
                jw_kstr(&w, f->name, *text);
            else
                jw_kraw(&w, f->name, *text);
        }
    }
    jw_end_object(&w);
}

static int type_find(struct str text)
{
    for (int i = 0; i < EVENT_TYPE_COUNT; i++) {
        if (str_is(text, types[i].text))
            return i;
    }
    return -1;
}

/* End of the JSON value that starts at i; the text is known to be valid. */
static size_t value_end(struct str text, size_t i)
{
    int depth = 0;
    bool in_string = false;
    for (; i < text.n; i++) {
        char c = text.p[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            if (depth-- == 0)
                return i;
        } else if (c == ',' && depth == 0) {
            return i;
        }
    }
    return i;
}

/* The exact bytes of a member of a compact object: printing an event again must give the bytes that were logged. */
static struct str raw_member(struct str object, const char *key)
{
    size_t i = 1, key_length = strlen(key);
    while (i < object.n && object.p[i] == '"') {
        size_t start = i + 1;
        for (i = start; i < object.n && object.p[i] != '"'; i++) {
            if (object.p[i] == '\\')
                i++;
        }
        bool found = i - start == key_length && memcmp(object.p + start, key, key_length) == 0;
        size_t value = i + 2; /* behind the quote and the colon */
        i = value_end(object, value);
        if (found && i <= object.n)
            return (struct str){object.p + value, i - value};
        i++;
    }
    return STR_NONE;
}

static int read_field(const struct field *f, const struct js *value, struct arena *arena,
                      struct event *event, const struct event_row *row, struct err *err)
{
    void *at = (char *)event + f->offset;
    enum js_kind kind = js_kind(value);
    if (kind == JS_ABSENT)
        return 0;
    if (f->kind == FIELD_I && kind == JS_INT) {
        *(int64_t *)at = js_int(value, 0);
        return 0;
    }
    if (f->kind == FIELD_S && kind == JS_STRING) {
        *(struct str *)at = arena_copy(arena, js_str(value));
        return 0;
    }
    if (f->kind == FIELD_J) {
        *(struct str *)at = arena_copy(arena, raw_member(row->payload, f->name));
        return 0;
    }
    return err_set(err, ERR_CORRUPT, "event %llu (%.*s): field %s has the wrong type",
                   (unsigned long long)row->seq, STR_FMT(row->type), f->name);
}

int event_parse(const struct event_row *row, struct arena *arena, struct event *event,
                struct err *err)
{
    int type = type_find(row->type);
    if (type < 0 || row->version > EVENT_VERSION)
        return err_set(err, ERR_CORRUPT,
                       "event %llu is a %.*s of version %u, which this cadre does not know; use a "
                       "newer cadre",
                       (unsigned long long)row->seq, STR_FMT(row->type), (unsigned)row->version);
    if (row->payload.p == NULL)
        return err_set(err, ERR_CORRUPT, "the payload of event %llu was purged",
                       (unsigned long long)row->seq);
    struct js *doc = js_parse(row->payload, err);
    if (doc == NULL)
        return err_prefix(err, "event %llu (%.*s)", (unsigned long long)row->seq,
                          STR_FMT(row->type));
    if (js_kind(doc) != JS_OBJECT) {
        js_free(doc);
        return err_set(err, ERR_CORRUPT, "event %llu (%.*s): the payload is not an object",
                       (unsigned long long)row->seq, STR_FMT(row->type));
    }
    event_init(event, (enum event_type)type);
    event->seq = row->seq;
    event->cause_seq = row->cause_seq;
    event->agent_prev = row->agent_prev;
    event->agent_no = row->agent_no;
    event->ts = row->ts;
    event->call_id = row->call_id.n > 0 ? arena_copy(arena, row->call_id) : STR_NONE;
    int result = 0;
    const char *cursor = types[type].fields;
    for (const struct field *f; result == 0 && (f = next_field(&cursor)) != NULL;)
        result = read_field(f, js_get(doc, f->name), arena, event, row, err);
    js_free(doc);
    return result;
}

#define SUMMARY_CHARS 120

/* One line, cleaned and cut. */
static void add_line(struct buf *out, struct str text)
{
    struct buf clean;
    buf_init(&clean, 4096);
    utf8_clean(&clean, utf8_cut(text, 1024), UTF8_ONE_LINE);
    struct str cut = utf8_cut_chars(buf_view(&clean), SUMMARY_CHARS);
    buf_str(out, cut);
    if (cut.n < clean.n || text.n > 1024)
        buf_text(out, "…");
    buf_release(&clean);
}

/* The same, with what stands between it and the text behind it. Names come from models too. */
static void add_label(struct buf *out, struct str text, const char *separator)
{
    add_line(out, text);
    buf_text(out, separator);
}

static void add_tokens(const struct event *e, struct buf *out)
{
    if (e->input_tokens != EVENT_ABSENT && e->output_tokens != EVENT_ABSENT)
        buf_printf(out, " (%lld in, %lld out)", (long long)e->input_tokens,
                   (long long)e->output_tokens);
}

static void summary_of_model(const struct event *e, struct buf *out)
{
    if (e->type == EVENT_MODEL_REQUESTED) {
        buf_text(out, "asks ");
        add_line(out, e->model);
        buf_printf(out, ", ~%lld tokens, at most %lld out", (long long)e->estimate,
                   (long long)e->output_limit);
    } else if (e->type == EVENT_MODEL_REPLIED) {
        if (e->text.n > 0)
            add_line(out, e->text);
        else
            buf_text(out, "calls tools");
        add_tokens(e, out);
    } else {
        buf_text(out, "model failed (");
        add_label(out, e->class, "): ");
        add_line(out, e->error);
    }
}

static void summary_of_tool(const struct event *e, struct buf *out)
{
    if (e->type == EVENT_TOOL_REQUESTED || e->type == EVENT_PERMISSION_ASKED) {
        if (e->type == EVENT_PERMISSION_ASKED)
            buf_text(out, "asks to ");
        add_label(out, e->tool, " ");
        add_line(out, e->arguments);
    } else if (e->type == EVENT_TOOL_PREPARED) {
        buf_text(out, "will change ");
        add_line(out, e->path);
    } else {
        add_line(out, e->text);
    }
}

void event_summary(const struct event *e, struct buf *out)
{
    switch (e->type) {
    case EVENT_INBOX_TAKEN:
    case EVENT_TIMER_FIRED:
        add_line(out, e->kind);
        break;
    case EVENT_RUN_STARTED:
        add_line(out, e->task);
        break;
    case EVENT_RUN_RESUMED:
        buf_printf(out, "taken over, epoch %lld", (long long)e->epoch);
        break;
    case EVENT_RUN_COMPLETED:
        add_line(out, e->response);
        break;
    case EVENT_RUN_FAILED:
    case EVENT_RUN_CANCELLED:
    case EVENT_SUBAGENT_FAILED:
        add_label(out, e->outcome, ": ");
        add_line(out, e->error);
        break;
    case EVENT_SUBAGENT_CREATED:
        add_label(out, e->name, ": ");
        add_line(out, e->objective);
        break;
    case EVENT_SUBAGENT_STARTED:
        buf_text(out, "started (");
        add_label(out, e->strategy, ")");
        break;
    case EVENT_SUBAGENT_ATTEMPT:
        buf_printf(out, "attempt %lld", (long long)e->attempt);
        break;
    case EVENT_SUBAGENT_WAITING:
        add_line(out, e->response);
        break;
    case EVENT_SUBAGENT_COMPLETED:
        buf_text(out, "integrated");
        break;
    case EVENT_SUBAGENT_CLOSED:
        add_label(out, e->final_status, ": ");
        add_line(out, e->close_reason);
        break;
    case EVENT_AGENT_MESSAGE:
        add_label(out, e->role, ": ");
        add_line(out, e->text);
        break;
    case EVENT_AGENT_MASKED:
        buf_printf(out, "%lld old tool results masked, about %lld tokens", (long long)e->count,
                   (long long)e->tokens);
        break;
    case EVENT_AGENT_COMPACTED:
        buf_printf(out, "conversation compacted, %lld messages kept: ", (long long)e->kept);
        add_line(out, e->text);
        break;
    case EVENT_AGENT_STOPPING:
    case EVENT_BUDGET_REFUSED:
        add_line(out, e->reason);
        break;
    case EVENT_MODEL_REQUESTED:
    case EVENT_MODEL_REPLIED:
    case EVENT_MODEL_FAILED:
        summary_of_model(e, out);
        break;
    case EVENT_TOOL_REQUESTED:
    case EVENT_TOOL_PREPARED:
    case EVENT_TOOL_FINISHED:
    case EVENT_TOOL_INTERRUPTED:
    case EVENT_PERMISSION_ASKED:
        summary_of_tool(e, out);
        break;
    case EVENT_PERMISSION_GRANTED:
    case EVENT_PERMISSION_DENIED:
        add_label(out, e->tool, " ");
        add_line(out, e->reason);
        break;
    case EVENT_FACTS_GATHERED:
        buf_text(out, "read context files");
        break;
    case EVENT_CONTRACT_CLAMPED:
        add_line(out, e->clamps);
        break;
    case EVENT_BUDGET_WAITING:
        buf_text(out, "waits until others settle: ");
        /* fall through */
    case EVENT_BUDGET_RESERVED:
        buf_printf(out, "%lld tokens, $%.6f", (long long)e->tokens, (double)e->cost_nano / 1e9);
        break;
    case EVENT_BUDGET_SETTLED:
        buf_printf(out, "%lld tokens, $%.6f", (long long)e->used_tokens,
                   (double)e->used_cost_nano / 1e9);
        break;
    case EVENT_BUDGET_WARNED:
        buf_printf(out, "%lld %% used", (long long)e->percent);
        break;
    case EVENT_TYPE_COUNT:
        break;
    }
}
