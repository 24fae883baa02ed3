/* What the committed log must say, event by event: legal edges, one close per child and before its parent's, one answer per call, no
 * message to a child lost; and at the end that replay gives the same bytes and the chain holds. Also counts what was seen. */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "core/run/plan_run.h"
#include "engine/verify.h"
#include "inside.h"

/* --- calls ----------------------------------------------------------------------------------------------------------------- */

/* Ids of calls are c<seq of the reply>_<place>. */
static struct call_record *call_record(struct world *w, struct str id)
{
    unsigned long long seq = 0, place = 0;
    char text[40];
    snprintf(text, sizeof text, "%.*s", STR_FMT(id));
    if (sscanf(text, "c%llu_%llu", &seq, &place) != 2 || place >= CALLS_PER_REPLY) {
        wrong(w, "the call id %s is none of ours", text);
        return NULL;
    }
    size_t at = (size_t)seq * CALLS_PER_REPLY + (size_t)place;
    if (at >= w->calls_capacity) {
        size_t capacity = (at + 1) * 2;
        w->calls = realloc(w->calls, capacity * sizeof *w->calls);
        if (w->calls == NULL)
            abort();
        memset(w->calls + w->calls_capacity, 0, (capacity - w->calls_capacity) * sizeof *w->calls);
        w->calls_capacity = capacity;
    }
    return &w->calls[at];
}

static void take_call(struct world *w, const struct event_row *row)
{
    bool requested = str_is(row->type, "tool.requested");
    if (!requested && !str_is(row->type, "tool.finished") && !str_is(row->type, "tool.interrupted"))
        return;
    struct call_record *call = call_record(w, row->call_id);
    if (call == NULL)
        return;
    if (requested && ++call->requested > 1)
        wrong(w, "call %.*s of agent %u was requested twice", STR_FMT(row->call_id), row->agent_no);
    if (!requested && ++call->finished > 1)
        wrong(w, "call %.*s of agent %u was answered twice", STR_FMT(row->call_id), row->agent_no);
}

/* --- children ---------------------------------------------------------------------------------------------------------------- */

static void take_edge(struct world *w, const struct event_row *event, struct str next)
{
    char *status = w->children[event->agent_no].status;
    bool legal = status[0] == '\0' && str_is(next, "created");
    for (size_t k = 0; k < lifecycle_edge_count; k++)
        legal = legal || (strcmp(lifecycle_edges[k].from, status) == 0 &&
                          str_is(next, lifecycle_edges[k].to));
    if (!legal)
        wrong(w, "child %u goes from %s to %.*s", event->agent_no, status, STR_FMT(next));
    if (str_is(next, "closed") && ++w->children[event->agent_no].closes > 1)
        wrong(w, "child %u was closed twice", event->agent_no);
    snprintf(status, sizeof w->children[0].status, "%.*s", STR_FMT(next));
}

/* When an agent has ended, all its children are closed. */
static void require_closed_children(struct world *w, uint32_t no)
{
    for (uint32_t i = 1; i < AGENTS_MAX && w->children[i].status[0] != '\0'; i++) {
        if (w->children[i].parent_no == no && w->children[i].closes != 1)
            wrong(w, "agent %u ended before its child %u was closed", no, i);
    }
}

static bool is_one_of(struct str type, const char *const *types, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (str_is(type, types[i]))
            return true;
    }
    return false;
}

static bool ends_agent(struct str type)
{
    static const char *const types[] = {"agent.subagent_waiting_for_merge",
                                        "agent.subagent_failed",
                                        "agent.subagent_closed",
                                        "run.completed",
                                        "run.failed",
                                        "run.cancelled"};
    return is_one_of(type, types, sizeof types / sizeof types[0]);
}

/* --- messages and what was seen ---------------------------------------------------------------------------------------------- */

static void see(struct world *w, enum sighting what)
{
    w->result->seen[what]++;
}

static void see_tool(struct world *w, const struct event_row *row, struct str tool)
{
    struct call_record *call = call_record(w, row->call_id);
    static const struct {
        const char *tool;
        enum sighting what;
    } doors[] = {{"spawn_agent", SEEN_SPAWN_AGENT},
                 {"spawn", SEEN_SPAWN},
                 {"spawn_await", SEEN_SPAWN_AWAIT},
                 {"fan_out", SEEN_FAN_OUT},
                 {"delegate_task", SEEN_DELEGATE_TASK},
                 {"agent_status", SEEN_STATUS},
                 {"agent_send", SEEN_SEND},
                 {"agent_cancel", SEEN_CANCEL},
                 {"agent_result", SEEN_RESULT},
                 {"agent_merge", SEEN_MERGE},
                 {"delegate", SEEN_DELEGATE},
                 {"plan", SEEN_PLAN}};
    for (size_t i = 0; i < sizeof doors / sizeof doors[0]; i++)
        if (str_is(tool, doors[i].tool)) {
            see(w, doors[i].what);
            call->door = doors[i].what;
        }
}

static void see_reused(struct world *w, const struct event_row *row, const struct js *payload)
{
    struct call_record *call = call_record(w, row->call_id);
    bool planner = js_get_int(payload, "item", 0) == ITEM_PLANNER;
    see(w, SEEN_REUSED);
    if (call->door == SEEN_FAN_OUT)
        see(w, SEEN_REUSED_TASK);
    else if (call->door == SEEN_PLAN && planner)
        see(w, SEEN_REUSED_PLANNER);
}

static void see_simple(struct world *w, const struct event_row *row)
{
    static const struct {
        const char *type;
        enum sighting what;
    } types[] = {{"agent.masked", SEEN_MASKED},
                 {"agent.compacted", SEEN_COMPACTED},
                 {"agent.item_refused", SEEN_REFUSED_ITEM},
                 {"agent.awaiting", SEEN_AWAITING},
                 {"agent.calls_held", SEEN_HELD},
                 {"agent.steered", SEEN_STEERED},
                 {"run.joining", SEEN_JOINING},
                 {"run.paused", SEEN_PAUSED},
                 {"agent.idle", SEEN_IDLE}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (str_is(row->type, types[i].type))
            see(w, types[i].what);
    w->result->children += str_is(row->type, "agent.subagent_created");
    w->result->closes += str_is(row->type, "agent.subagent_closed");
}

/* A child that answers of its own accord has seen what its parent sent. */
static void take_message(struct world *w, const struct event_row *row, const struct js *payload)
{
    struct child_record *child = &w->children[row->agent_no];
    if (str_is(row->type, "agent.steered"))
        child->unseen++;
    else if (str_is(row->type, "agent.message") && str_is(js_get_str(payload, "note"), "steer"))
        child->unseen = 0;
    else if (str_is(row->type, "agent.subagent_waiting_for_merge") && child->unseen > 0 &&
             str_is(js_get_str(payload, "outcome"), "completed"))
        wrong(w, "child %u completed and never saw a message that it was sent", row->agent_no);
}

/* A result is used again only while everything is as the child that made it could read it. */
static void take_reuse(struct world *w, const struct event_row *row, const struct js *payload)
{
    int64_t earlier = js_get_int(payload, "earlier_no", -1);
    if (str_is(row->type, "run.resumed") || js_count(js_get(payload, "files_modified")) > 0)
        w->changed = row->seq;
    if (str_is(row->type, "agent.subagent_attempt"))
        w->children[row->agent_no].began = row->seq;
    if (!str_is(row->type, "agent.result_reused"))
        return;
    see_reused(w, row, payload);
    if (earlier <= 0 || earlier >= AGENTS_MAX || w->children[earlier].closes != 1 ||
        w->children[earlier].began < w->changed)
        wrong(w, "event %llu uses a result of agent %lld that is not there or old",
              (unsigned long long)row->seq, (long long)earlier);
}

static void take_payload(struct world *w, const struct event_row *row)
{
    static const char *const types[] = {"agent.message",
                                        "agent.subagent_created",
                                        "agent.subagent_attempt",
                                        "agent.subagent_waiting_for_merge",
                                        "agent.subagent_failed",
                                        "agent.steered",
                                        "model.failed",
                                        "model.held",
                                        "run.failed",
                                        "tool.requested",
                                        "tool.finished",
                                        "agent.result_reused",
                                        "run.resumed",
                                        "run.unpaused"};
    struct err err = ERR_INIT;
    if (!is_one_of(row->type, types, sizeof types / sizeof types[0]))
        return;
    struct js *payload = js_parse(row->payload, &err);
    const char *status = w->children[row->agent_no].status;
    if (str_is(row->type, "agent.subagent_created"))
        w->children[row->agent_no].parent_no = (uint32_t)js_get_int(payload, "parent_no", 0);
    else if (str_is(row->type, "tool.requested"))
        see_tool(w, row, js_get_str(payload, "tool"));
    else if (str_is(row->type, "agent.subagent_attempt") && js_get_int(payload, "attempt", 0) > 0)
        see(w, SEEN_RETRY);
    else if (str_is(row->type, "model.failed") && js_get(payload, "fallback") != NULL)
        see(w, SEEN_FALLBACK);
    else if (str_is(row->type, "model.held"))
        see(w, SEEN_HELD_BACK);
    else if (str_is(row->type, "run.failed") &&
             memmem(row->payload.p, row->payload.n, "cannot be resolved", 18) != NULL)
        see(w, SEEN_UNRESOLVED);
    else if (str_is(row->type, "agent.subagent_failed") && strcmp(status, "waiting_for_merge") == 0)
        see(w, SEEN_DROPPED);
    else if (str_is(row->type, "agent.subagent_failed") &&
             str_is(js_get_str(payload, "outcome"), "timeout"))
        see(w, SEEN_TIMEOUT);
    else if (str_is(row->type, "agent.message") && str_is(js_get_str(payload, "note"), "schema"))
        see(w, SEEN_CORRECTED);
    else if (str_is(row->type, "agent.subagent_failed") &&
             memmem(row->payload.p, row->payload.n, "outputs.schema", 14) != NULL)
        see(w, SEEN_MISMATCH);
    else if (str_is(row->type, "run.unpaused") && str_is(js_get_str(payload, "outcome"), "go_on"))
        see(w, SEEN_GOES_ON);
    take_reuse(w, row, payload);
    take_message(w, row, payload);
    js_free(payload);
}

/* --- the whole ------------------------------------------------------------------------------------------------------------------ */

void ledger_take(struct world *w, const struct batch *batch)
{
    size_t at = 0;
    for (size_t i = 0; i < batch->append.event_count; i++) {
        const struct event_row *event = &batch->append.events[i];
        see_simple(w, event);
        time_ledger_take(w, event);
        take_call(w, event);
        if (event->agent_no >= AGENTS_MAX) {
            wrong(w, "more agents than the ledger follows");
            continue;
        }
        take_payload(w, event);
        tree_ledger_take(w, event);
        if (str_is(event->type, "agent.subagent_completed") &&
            (i == 0 || batch->append.events[i - 1].agent_no != event->agent_no))
            see(w, SEEN_MERGED); /* not in one go with its end */
        if (ends_agent(event->type))
            require_closed_children(w, event->agent_no);
        if (!str_starts(event->type, STR("agent.subagent_")) ||
            str_is(event->type, "agent.subagent_attempt"))
            continue;
        while (at < batch->append.row_count && batch->append.rows[at].kind < ROW_AGENT_INSERT)
            at++;
        if (at == batch->append.row_count) {
            wrong(w, "event %llu changes no row", (unsigned long long)event->seq);
            continue;
        }
        take_edge(w, event, batch->append.rows[at++].status);
    }
}

void ledger_end(struct world *w)
{
    struct verify_report report;
    struct err err = ERR_INIT;
    if (w->result->closes != w->result->children)
        wrong(w, "%lld children, %lld closes", (long long)w->result->children,
              (long long)w->result->closes);
    for (size_t i = 0; i < w->calls_capacity; i++) {
        if (w->calls[i].requested > 0 && w->calls[i].finished != 1)
            wrong(w, "call c%zu_%zu was never answered", i / CALLS_PER_REPLY, i % CALLS_PER_REPLY);
    }
    if (w->result->problem[0] != '\0')
        return;
    if (replay_run(&w->store.store, STR(SIM_RUN), &report, &err) != 0 ||
        report.findings[0].text[0] != '\0')
        wrong(w, "replay: event %llu: %s%s", (unsigned long long)report.bad_seq,
              report.findings[0].text, err.message);
    w->result->replayed = (int64_t)report.events;
    if (verify_log(&w->store.store, STR(SIM_RUN), STR_NONE, &report, &err) != 0 ||
        report.findings[0].text[0] != '\0')
        wrong(w, "verify: event %llu: %s%s", (unsigned long long)report.bad_seq,
              report.findings[0].text, err.message);
}

static void print_batch(const struct batch *batch, const char *where)
{
    for (size_t i = 0; i < batch->append.event_count; i++) {
        const struct event_row *row = &batch->append.events[i];
        fprintf(stderr, "%s %4llu agent %u %.*s %.*s: %.*s\n", where, (unsigned long long)row->seq,
                row->agent_no, STR_FMT(row->type), STR_FMT(row->call_id), STR_FMT(row->summary));
    }
}

void ledger_print(const struct world *w)
{
    for (size_t i = 0; i < w->store.count; i++)
        print_batch(w->store.committed[i], "committed");
    for (size_t i = 0; i < w->queue_count; i++)
        print_batch(w->queue[i], "queued   ");
}
