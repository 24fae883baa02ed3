/* One line per event: a table says which events are worth one, under which word, and which field of
 * the payload tells most. */
#include "cli/lines.h"

#include "base/json.h"
#include "base/utf8.h"
#include "cli/text.h"

#define TEXT_COLUMNS 160
#define NAME_COLUMNS 16

enum shown {
    SHOWN_FIELD,    /* the field, if it is there */
    SHOWN_TOOL,     /* the tool and its telling argument */
    SHOWN_IF_ERROR, /* the field, when the outcome is an error */
    SHOWN_IF_LATER, /* "attempt N", when N is not the first */
    SHOWN_CLAMPS,   /* which fields, and by what */
    SHOWN_PLAN,     /* how many steps, and what was odd about it */
    SHOWN_STEP,     /* its id, its status and why; a step that starts is a child that does */
    SHOWN_SUMMARY,  /* the event's own summary */
};

static const struct {
    const char *type, *word;
    enum shown shown;
    const char *field;
} table[] = {
    {"run.resumed", "resumed", SHOWN_SUMMARY, NULL},
    {"run.parked", "parked", SHOWN_FIELD, "reason"},
    {"run.slept", "slept", SHOWN_SUMMARY, NULL},
    {"run.paused", "asks", SHOWN_SUMMARY, NULL},
    {"run.unpaused", "answer", SHOWN_SUMMARY, NULL},
    {"plan.made", "plan", SHOWN_PLAN, NULL},
    {"plan.step", "step", SHOWN_STEP, NULL},
    {"agent.subagent_created", "start", SHOWN_FIELD, "objective"},
    {"agent.subagent_attempt", "retry", SHOWN_IF_LATER, NULL},
    {"agent.worktree_merged", "merged", SHOWN_SUMMARY, NULL},
    {"agent.subagent_failed", "failed", SHOWN_SUMMARY, NULL},
    {"agent.subagent_closed", "closed", SHOWN_SUMMARY, NULL},
    {"agent.stopping", "stop", SHOWN_SUMMARY, NULL},
    {"model.replied", "says", SHOWN_FIELD, "text"},
    {"model.failed", "model", SHOWN_SUMMARY, NULL},
    {"tool.requested", "tool", SHOWN_TOOL, NULL},
    {"tool.finished", "error", SHOWN_IF_ERROR, "text"},
    {"tool.interrupted", "lost", SHOWN_FIELD, "text"},
    {"permission.asked", "asks", SHOWN_TOOL, NULL},
    {"permission.granted", "granted", SHOWN_FIELD, "tool"},
    {"permission.denied", "denied", SHOWN_SUMMARY, NULL},
    {"contract.clamped", "clamped", SHOWN_CLAMPS, "clamps"},
    {"budget.refused", "budget", SHOWN_SUMMARY, NULL},
    {"budget.warned", "budget", SHOWN_SUMMARY, NULL},
};

static void add_clamps(const struct js *clamps, struct buf *out)
{
    for (size_t i = 0; i < js_count(clamps); i++) {
        const struct js *clamp = js_at(clamps, i);
        buf_printf(out, "%s%.*s by %.*s", i > 0 ? ", " : "", STR_FMT(js_get_str(clamp, "field")),
                   STR_FMT(js_get_str(clamp, "by")));
    }
}

static void add_plan(const struct js *payload, struct buf *out)
{
    size_t steps = js_count(js_get(js_get(payload, "plan"), "steps"));
    struct str reason = js_get_str(payload, "reason");
    buf_printf(out, "%zu step%s", steps, steps == 1 ? "" : "s");
    if (reason.n > 0)
        buf_printf(out, ": %.*s", STR_FMT(reason));
}

static void add_step(const struct js *payload, struct buf *out)
{
    struct str status = js_get_str(payload, "kind"), reason = js_get_str(payload, "reason");
    if (str_is(status, "in_progress"))
        return;
    buf_printf(out, "%.*s %.*s", STR_FMT(js_get_str(payload, "name")), STR_FMT(status));
    if (reason.n > 0)
        buf_printf(out, ": %.*s", STR_FMT(reason));
}

/* What the line says after its word; nothing where the event is not worth a line. */
static void detail_of(const struct event_row *row, size_t i, const struct js *payload,
                      struct buf *out)
{
    switch (table[i].shown) {
    case SHOWN_FIELD:
        buf_str(out, js_get_str(payload, table[i].field));
        break;
    case SHOWN_TOOL:
        buf_str(out, js_get_str(payload, "tool"));
        buf_char(out, ' ');
        text_gist_of(out, js_get(payload, js_kind(js_get(payload, "shortened")) == JS_OBJECT
                                              ? "shortened"
                                              : "arguments"));
        break;
    case SHOWN_IF_ERROR:
        if (str_is(js_get_str(payload, "outcome"), "error"))
            buf_str(out, js_get_str(payload, table[i].field));
        break;
    case SHOWN_IF_LATER:
        if (js_get_int(payload, "attempt", 0) > 0)
            buf_printf(out, "attempt %lld", (long long)js_get_int(payload, "attempt", 0) + 1);
        break;
    case SHOWN_CLAMPS:
        add_clamps(js_get(payload, table[i].field), out);
        break;
    case SHOWN_PLAN:
        add_plan(payload, out);
        break;
    case SHOWN_STEP:
        add_step(payload, out);
        break;
    case SHOWN_SUMMARY:
        buf_str(out, row->summary);
        break;
    }
}

static void add_name(struct buf *out, struct str name)
{
    int width = utf8_width(name);
    text_column(out, name, width > NAME_COLUMNS ? width : NAME_COLUMNS, ELLIPSIS_UTF8);
}

void lines_event(const struct event_row *row, struct str agent_name, struct buf *out)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (!str_is(row->type, table[i].type))
            continue;
        struct err ignored = ERR_INIT;
        struct js *payload = row->payload.p != NULL ? js_parse(row->payload, &ignored) : NULL;
        struct buf detail;
        buf_init(&detail, SIZE_MAX / 4);
        detail_of(row, i, payload, &detail);
        if (detail.n > 0) {
            text_clock(out, row->ts);
            buf_char(out, ' ');
            add_name(out, utf8_cut(agent_name, 64));
            buf_printf(out, "  %-7s  ", table[i].word);
            text_cut(out, buf_view(&detail), TEXT_COLUMNS, ELLIPSIS_UTF8);
            buf_char(out, '\n');
        }
        buf_release(&detail);
        js_free(payload);
        return;
    }
}

void lines_timeline(const struct event_row *row, struct str agent_name, struct buf *out)
{
    buf_printf(out, "%6llu  ", (unsigned long long)row->seq);
    text_clock(out, row->ts);
    buf_text(out, "  ");
    add_name(out, utf8_cut(agent_name, 64));
    buf_text(out, "  ");
    text_column(out, row->type, 32, ELLIPSIS_UTF8);
    buf_text(out, "  ");
    text_cut(out, row->summary, TEXT_COLUMNS, ELLIPSIS_UTF8);
    buf_char(out, '\n');
}

/* A model may have laid its arguments out over several lines. A raw line break in JSON can only
 * stand between values. */
static void add_on_one_line(struct buf *out, struct str json)
{
    size_t from = out->n;
    buf_str(out, json);
    for (size_t i = from; i < out->n; i++) {
        if (out->p[i] == '\n' || out->p[i] == '\r')
            out->p[i] = ' ';
    }
}

void lines_json(const struct event_row *row, struct str run_id, struct str agent_id,
                struct buf *out)
{
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    jw_ktext(&w, "type", "event");
    jw_kstr(&w, "run_id", run_id);
    jw_kint(&w, "seq", (int64_t)row->seq);
    jw_kstr(&w, "agent_id", agent_id);
    jw_kint(&w, "ts", row->ts);
    jw_kstr(&w, "event", row->type);
    jw_kstr(&w, "summary", row->summary);
    struct buf payload;
    buf_init(&payload, SIZE_MAX / 4);
    add_on_one_line(&payload, row->payload.p != NULL ? row->payload : STR("null"));
    jw_kraw(&w, "payload", buf_view(&payload));
    jw_end_object(&w);
    buf_release(&payload);
}

void lines_progress(struct str run_id, struct str agent_id, struct str call_id, struct str text,
                    struct buf *out)
{
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    jw_ktext(&w, "type", "progress");
    jw_kstr(&w, "run_id", run_id);
    jw_kstr(&w, "agent_id", agent_id);
    jw_kstr(&w, "call_id", call_id);
    jw_kstr(&w, "text", text);
    jw_end_object(&w);
}

void lines_delta(struct str run_id, struct str agent_id, const char *kind, struct str text,
                 struct buf *out)
{
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    jw_ktext(&w, "type", "delta");
    jw_kstr(&w, "run_id", run_id);
    jw_kstr(&w, "agent_id", agent_id);
    jw_ktext(&w, "kind", kind);
    jw_kstr(&w, "text", text);
    jw_end_object(&w);
}
