/* Time limits, checked from outside: a limit that nobody set never ends a child by the clock, and
 * only an answer that stopped half way counts as silent. Reads committed events and the plan. */
#include "inside.h"

static void take_contract(struct world *w, const struct event_row *row, const struct js *payload)
{
    const struct js *execution = js_get(js_get(payload, "contract"), "execution");
    const struct js *budget = js_get(execution, "budget");
    struct time_record *time = &w->times[row->agent_no];
    int64_t wall = js_get_int(budget, "wall_ms", UNLIMITED);
    int64_t attempt = js_get_int(execution, "attempt_timeout_ms", UNLIMITED);
    *time = (struct time_record){
        .whole_ms = wall != UNLIMITED ? wall : js_get_int(execution, "max_wall_ms", 0),
        .attempt_ms = attempt,
        .silence_ms = js_get_int(execution, "idle_timeout_ms", 0)};
    if (w->plan.child_ms == CHILD_TIMEOUT_MS && wall == CHILD_TIMEOUT_MS)
        wrong(w, "child %u: the built-in limit became a wall", row->agent_no);
    if (w->plan.attempt_ms == ATTEMPT_TIMEOUT_MS && attempt != UNLIMITED)
        wrong(w, "child %u: the built-in limit of an attempt became a wall", row->agent_no);
    if (time->whole_ms <= 0)
        wrong(w, "child %u may work for ever", row->agent_no);
}

static void take_timer(struct world *w, const struct event_row *row, const struct js *payload)
{
    const struct time_record *time = &w->times[row->agent_no];
    struct str kind = js_get_str(payload, "kind");
    if (row->agent_no == 0)
        return;
    if (str_is(kind, "attempt") && time->attempt_ms == UNLIMITED)
        wrong(w, "child %u: an attempt ended by a clock that nobody set", row->agent_no);
    if (str_is(kind, "wall") && row->ts - time->started_at < time->whole_ms)
        wrong(w, "child %u was stopped after %lld of %lld ms", row->agent_no,
              (long long)(row->ts - time->started_at), (long long)time->whole_ms);
}

static void take_silence(struct world *w, const struct event_row *row, const struct js *payload)
{
    const struct time_record *time = &w->times[row->agent_no];
    if (w->plan.idle_ms == 0 && !str_is(js_get_str(payload, "kind"), "model"))
        wrong(w, "child %u: a running tool was taken for silence", row->agent_no);
    if (time->silence_ms == 0 || js_get_int(payload, "idle_ms", 0) < time->silence_ms)
        wrong(w, "child %u was not silent for long enough", row->agent_no);
    if (w->plan.idle_ms == 0)
        w->result->seen[SEEN_STALLED]++;
}

void time_ledger_take(struct world *w, const struct event_row *row)
{
    struct err err = ERR_INIT;
    bool made = str_is(row->type, "agent.subagent_created");
    bool fired = str_is(row->type, "timer.fired"), silent = str_is(row->type, "agent.idle");
    if (str_is(row->type, "agent.subagent_started"))
        w->times[row->agent_no].started_at = row->ts;
    if (!made && !fired && !silent)
        return;
    struct js *payload = js_parse(row->payload, &err);
    if (made)
        take_contract(w, row, payload);
    else if (fired)
        take_timer(w, row, payload);
    else
        take_silence(w, row, payload);
    js_free(payload);
}
