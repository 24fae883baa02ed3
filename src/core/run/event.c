/* Printing and parsing of events by their field table, and the timeline's one-line summaries. Pure. */
#include "core/run/event.h"

#include <stdio.h>

#include "base/filename.h"
#include "base/json.h"
#include "base/utf8.h"

enum field_kind { FIELD_S, FIELD_I, FIELD_J };

enum field_id {
#define X(name, kind) ID_##name,
    EVENT_FIELDS(X)
#undef X
        FIELD_COUNT,
    ID_END = FIELD_COUNT
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset;
};

static const struct field fields[] = {
#define X(name, kind) {#name, FIELD_##kind, offsetof(struct event, name)},
    EVENT_FIELDS(X)
#undef X
};

/* A list of names (a, b, c) into ID_a, ID_b, ID_c, ID_END: at most 23 fields, and a row with more does not compile. */
#define IDS(list) IDS_OF list
#define IDS_OF(...)                                                                                \
    PICK(__VA_ARGS__, I23, I22, I21, I20, I19, I18, I17, I16, I15, I14, I13, I12, I11, I10, I9,    \
         I8, I7, I6, I5, I4, I3, I2, I1)                                                           \
    (__VA_ARGS__)
#define PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, name, ...) name
#define I1(a) ID_##a, ID_END
#define I2(a, ...) ID_##a, I1(__VA_ARGS__)
#define I3(a, ...) ID_##a, I2(__VA_ARGS__)
#define I4(a, ...) ID_##a, I3(__VA_ARGS__)
#define I5(a, ...) ID_##a, I4(__VA_ARGS__)
#define I6(a, ...) ID_##a, I5(__VA_ARGS__)
#define I7(a, ...) ID_##a, I6(__VA_ARGS__)
#define I8(a, ...) ID_##a, I7(__VA_ARGS__)
#define I9(a, ...) ID_##a, I8(__VA_ARGS__)
#define I10(a, ...) ID_##a, I9(__VA_ARGS__)
#define I11(a, ...) ID_##a, I10(__VA_ARGS__)
#define I12(a, ...) ID_##a, I11(__VA_ARGS__)
#define I13(a, ...) ID_##a, I12(__VA_ARGS__)
#define I14(a, ...) ID_##a, I13(__VA_ARGS__)
#define I15(a, ...) ID_##a, I14(__VA_ARGS__)
#define I16(a, ...) ID_##a, I15(__VA_ARGS__)
#define I17(a, ...) ID_##a, I16(__VA_ARGS__)
#define I18(a, ...) ID_##a, I17(__VA_ARGS__)
#define I19(a, ...) ID_##a, I18(__VA_ARGS__)
#define I20(a, ...) ID_##a, I19(__VA_ARGS__)
#define I21(a, ...) ID_##a, I20(__VA_ARGS__)
#define I22(a, ...) ID_##a, I21(__VA_ARGS__)
#define I23(a, ...) ID_##a, I22(__VA_ARGS__)

static const struct {
    const char *text;
    const uint8_t *fields; /* up to ID_END */
} types[] = {
#define X(symbol, text, list) {text, (const uint8_t[]){IDS(list)}},
    EVENT_TYPES(X)
#undef X
};

_Static_assert(FIELD_COUNT <= UINT8_MAX, "field ids are bytes");

void event_init(struct event *event, enum event_type type)
{
    static const struct event blank = {
#define S {0}
#define J                                                                                          \
    {                                                                                              \
        0                                                                                          \
    }
#define I EVENT_ABSENT
#define X(name, kind) .name = kind,
        EVENT_FIELDS(X)
#undef X
#undef S
#undef J
#undef I
    };
    *event = blank;
    event->type = type;
    event->version = EVENT_VERSION;
}

const char *event_type_text(enum event_type type)
{
    return type < EVENT_TYPE_COUNT ? types[type].text : "?";
}

void event_fields_print(enum event_type type, struct buf *out)
{
    const char *separator = "";
    for (const uint8_t *id = types[type].fields; *id != ID_END; id++) {
        buf_printf(out, "%s%s", separator, fields[*id].name);
        separator = " ";
    }
}

void event_mend(struct event *event, struct arena *arena)
{
    for (const uint8_t *id = types[event->type].fields; *id != ID_END; id++) {
        const struct field *f = &fields[*id];
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
    jw_init(&w, out);
    jw_object(&w);
    for (const uint8_t *id = types[event->type].fields; *id != ID_END; id++) {
        const struct field *f = &fields[*id];
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
        /* Its exact bytes: printing an event again must give what was logged. */
        *(struct str *)at = arena_copy(arena, js_source(row->payload, value));
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
    event->version = row->version;
    event->cause_seq = row->cause_seq;
    event->agent_prev = row->agent_prev;
    event->agent_no = row->agent_no;
    event->ts = row->ts;
    event->call_id = row->call_id.n > 0 ? arena_copy(arena, row->call_id) : STR_NONE;
    int result = 0;
    for (const uint8_t *id = types[type].fields; result == 0 && *id != ID_END; id++)
        result = read_field(&fields[*id], js_get(doc, fields[*id].name), arena, event, row, err);
    js_free(doc);
    return result;
}

#define SUMMARY_CHARS 120

static bool is_printable(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < ' ' || text.p[i] > '~')
            return false;
    }
    return true;
}

/* One line, cleaned and cut. */
#define SUMMARY_BYTES 1024 /* of a text that are looked at */

/* clean: the beginning of a text that had `whole` bytes, as it may be shown. */
static void add_beginning(struct buf *out, struct str clean, size_t whole)
{
    struct str cut = utf8_cut_chars(clean, SUMMARY_CHARS);
    buf_str(out, cut);
    if (cut.n < clean.n || whole > SUMMARY_BYTES)
        buf_text(out, "…");
}

static void add_line(struct buf *out, struct str text)
{
    struct buf clean;
    if (text.n <= SUMMARY_CHARS && is_printable(text)) {
        buf_str(out, text);
        return;
    }
    buf_init(&clean, 4096);
    utf8_clean(&clean, utf8_cut(text, SUMMARY_BYTES), UTF8_ONE_LINE);
    add_beginning(out, buf_view(&clean), text.n);
    buf_release(&clean);
}

/* Arguments of a call: what cannot be shown is escaped and not left out, or a name would look like another one. */
static void add_arguments(struct buf *out, struct str json)
{
    struct buf escaped;
    if (json.n <= SUMMARY_CHARS && is_printable(json)) {
        buf_str(out, json);
        return;
    }
    buf_init(&escaped, (size_t)16 * SUMMARY_BYTES);
    utf8_escape_json(&escaped, utf8_cut(json, SUMMARY_BYTES));
    add_beginning(out, buf_view(&escaped), json.n);
    buf_release(&escaped);
}

/* The same, with what stands between it and the text behind it. Names come from models too. */
static void add_label(struct buf *out, struct str text, const char *separator)
{
    add_line(out, text);
    buf_text(out, separator);
}

/* What stands behind something else, where there is any. */
static void add_more(struct buf *out, const char *separator, struct str text)
{
    if (text.n == 0)
        return;
    buf_text(out, separator);
    add_line(out, text);
}

/* Without printf: most events have such a line. */
static void add_numbers(struct buf *out, const char *before, int64_t a, const char *between,
                        int64_t b, const char *behind)
{
    buf_text(out, before);
    buf_int(out, a);
    buf_text(out, between);
    buf_int(out, b);
    buf_text(out, behind);
}

static void add_tokens(const struct event *e, struct buf *out)
{
    if (e->input_tokens != EVENT_ABSENT && e->output_tokens != EVENT_ABSENT)
        add_numbers(out, " (", e->input_tokens, " in, ", e->output_tokens, " out)");
}

static void add_amount(struct buf *out, int64_t tokens, int64_t nano)
{
    char digits[8];
    int64_t micro = nano / 1000 + (nano % 1000 >= 500), rest = micro % 1000000;
    for (int i = 5; i >= 0; i--, rest /= 10)
        digits[i] = (char)('0' + rest % 10);
    add_numbers(out, "", tokens, " tokens, $", micro / 1000000, ".");
    buf_add(out, digits, 6);
}

static void summary_of_model(const struct event *e, struct buf *out)
{
    if (e->type == EVENT_MODEL_REQUESTED) {
        buf_text(out, "asks ");
        add_line(out, e->model);
        add_numbers(out, ", ~", e->estimate, " tokens, at most ", e->output_limit, " out");
    } else if (e->type == EVENT_MODEL_REPLIED) {
        if (e->text.n > 0)
            add_line(out, e->text);
        else
            buf_text(out, "calls tools");
        add_tokens(e, out);
        add_more(out, "; notice: ", e->notice);
    } else {
        buf_text(out, "model failed (");
        add_label(out, e->class, "): ");
        add_line(out, e->error);
        if (e->server_request.n > 0) {
            buf_text(out, " (request id ");
            add_label(out, e->server_request, ")");
        }
    }
}

static void summary_of_tool(const struct event *e, struct buf *out)
{
    if (e->type == EVENT_TOOL_REQUESTED || e->type == EVENT_PERMISSION_ASKED) {
        if (e->type == EVENT_PERMISSION_ASKED)
            buf_text(out, "asks to ");
        add_label(out, e->tool, " ");
        add_arguments(out, e->shortened.p != NULL ? e->shortened : e->arguments);
    } else if (e->type == EVENT_TOOL_PREPARED) {
        buf_text(out, "will change ");
        add_line(out, str_from(filename_of(e->path).text));
    } else {
        add_line(out, e->text);
    }
}

static void summary_of_sleep(const struct event *e, struct buf *out)
{
    long long seconds = e->slept_ms == EVENT_ABSENT ? 0 : e->slept_ms / 1000;
    buf_text(out, "the machine slept for ");
    if (seconds >= 3600)
        buf_printf(out, "%lld h %lld m", seconds / 3600, seconds / 60 % 60);
    else if (seconds >= 60)
        buf_printf(out, "%lld m %lld s", seconds / 60, seconds % 60);
    else
        buf_printf(out, "%lld s", seconds);
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
    case EVENT_RUN_PARKED:
        buf_text(out, "parked: ");
        add_line(out, e->reason);
        break;
    case EVENT_RUN_SLEPT:
        summary_of_sleep(e, out);
        break;
    case EVENT_MODEL_HELD:
        buf_text(out, "waits for its provider: ");
        add_line(out, e->reason);
        break;
    case EVENT_MODEL_ADMITTED:
        buf_text(out, "admitted by its provider");
        break;
    case EVENT_RUN_COMPLETED:
    case EVENT_SUBAGENT_WAITING:
        add_line(out, e->opening.p != NULL ? e->opening : e->response);
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
    case EVENT_ITEM_REFUSED:
        add_line(out, e->error);
        break;
    case EVENT_RESULT_REUSED:
        buf_text(out, "uses the result of ");
        add_label(out, e->task_id, " again");
        break;
    case EVENT_AGENT_IDLE:
        buf_printf(out, "no sign of life for %lld ms from its ", (long long)e->idle_ms);
        add_line(out, str_is(e->kind, "model") ? STR("model") : e->tool);
        break;
    case EVENT_CALLS_HELD:
        buf_printf(out, "%lld more calls follow", (long long)e->count);
        break;
    case EVENT_AGENT_AWAITING:
        buf_text(out, "waits for ");
        add_line(out, e->jobs);
        break;
    case EVENT_AGENT_STEERED:
        buf_text(out, "told: ");
        add_line(out, e->text);
        break;
    case EVENT_RUN_JOINING:
        buf_text(out, "has answered; waits for its open jobs");
        break;
    case EVENT_RUN_DIRECTED:
        buf_text(out, "carries out what it was started for");
        break;
    case EVENT_PLAN_MADE:
        buf_printf(out, "plan, version %lld", (long long)e->count);
        add_more(out, " ", e->reason);
        break;
    case EVENT_PLAN_STEP:
        add_label(out, e->name, ": ");
        add_line(out, e->kind);
        add_more(out, " ", e->reason);
        break;
    case EVENT_AGENT_ISOLATING:
        buf_text(out, "gets a tree of its own");
        break;
    case EVENT_WORKTREE_CREATED:
        add_label(out, e->strategy, " ");
        add_line(out, e->error.p != NULL ? e->error : e->branch);
        break;
    case EVENT_AGENT_MERGING:
        buf_text(out, str_is(e->kind, "merge") ? "its tree is merged" : "its work is put away");
        break;
    case EVENT_WORKTREE_MERGED:
        add_label(out, e->merge_strategy, ": ");
        add_line(out, e->merge_message);
        break;
    case EVENT_AGENT_CHECKING:
        buf_text(out, "has answered; runs its checks ");
        add_line(out, e->checks);
        break;
    case EVENT_AGENT_CHECKED:
        add_line(out, e->outcome);
        add_more(out, ": ", e->text);
        break;
    case EVENT_RUN_PAUSED:
        buf_printf(out, "%lld tool calls made: go on?", (long long)e->count);
        break;
    case EVENT_RUN_UNPAUSED:
        buf_text(out, str_is(e->outcome, "go_on") ? "goes on" : "stops");
        break;
    case EVENT_SUBAGENT_STARTED:
        buf_text(out, "started (");
        add_label(out, e->strategy, ")");
        break;
    case EVENT_SUBAGENT_ATTEMPT:
        buf_printf(out, "attempt %lld", (long long)e->attempt);
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
        add_line(out, e->opening.p != NULL ? e->opening : e->text);
        break;
    case EVENT_AGENT_MASKED:
        buf_printf(out, "%lld old tool results masked, about %lld tokens", (long long)e->count,
                   (long long)e->tokens);
        break;
    case EVENT_AGENT_COMPACTED:
        buf_printf(out, "conversation compacted, %lld messages kept: ", (long long)e->kept);
        add_line(out, e->opening.p != NULL ? e->opening : e->text);
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
    case EVENT_PERMISSION_SHOWN:
        buf_text(out, "the question shows ");
        add_line(out, e->shown);
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
        add_amount(out, e->tokens, e->cost_nano);
        break;
    case EVENT_BUDGET_SETTLED:
        add_amount(out, e->used_tokens, e->used_cost_nano);
        break;
    case EVENT_BUDGET_WARNED:
        buf_printf(out, "%lld %% used", (long long)e->percent);
        add_more(out, ": ", e->reason);
        break;
    case EVENT_TYPE_COUNT:
        break;
    }
}
