/* Time limits, checked from outside: a limit that nobody set never ends a child by the clock, and
 * only an answer that stopped half way counts as silent. Time in which nobody owned the run or the machine
 * slept is not the agents'. Reads committed events and the plan. */
#include <stdio.h>

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
    int64_t worked =
        row->ts - time->started_at - (w->unowned - time->unowned_before) - time->asked_ms;
    if (time->asked[0] != '\0' && (str_is(kind, "wall") || str_is(kind, "attempt")))
        wrong(w, "agent %u: a deadline passed while a person was asked", row->agent_no);
    if (str_is(kind, "question"))
        w->result->seen[SEEN_OVERDUE]++;
    if (str_is(kind, "wall") && worked < time->whole_ms)
        wrong(w, "agent %u was stopped after %lld of %lld ms", row->agent_no, (long long)worked,
              (long long)time->whole_ms);
    if (row->agent_no == 0)
        return;
    if (str_is(kind, "attempt") && time->attempt_ms == UNLIMITED)
        wrong(w, "child %u: an attempt ended by a clock that nobody set", row->agent_no);
}

static void take_start(struct world *w, const struct event_row *row, const struct js *payload)
{
    struct time_record *time = &w->times[row->agent_no];
    if (row->agent_no == 0)
        time->whole_ms = w->plan.root_ms;
    time->started_at = row->ts;
    time->unowned_before = w->unowned;
    time->asked_ms = 0;
}

/* A question that is put again is the same question. Whoever awaits an answer changes nothing else meanwhile, so there is one. */
static void take_asked(struct world *w, const struct event_row *row, const struct js *payload)
{
    struct time_record *time = &w->times[row->agent_no];
    if (row->agent_no != 0)
        w->result->seen[SEEN_CHILD_ASKED]++;
    if (str_is(row->call_id, time->asked))
        return;
    if (time->asked[0] != '\0')
        wrong(w, "agent %u asks while it awaits an answer", row->agent_no);
    snprintf(time->asked, sizeof time->asked, "%.*s", STR_FMT(row->call_id));
    time->asked_at = row->ts - w->unowned;
}

static bool says_nobody(struct str reason)
{
    static const char words[] = "nobody can be asked";
    return reason.n > 0 && memmem(reason.p, reason.n, words, sizeof words - 1) != NULL;
}

static void take_answer(struct world *w, const struct event_row *row, const struct js *payload)
{
    struct time_record *time = &w->times[row->agent_no];
    if (str_is(row->type, "permission.granted"))
        w->result->seen[SEEN_GRANTED]++;
    if (str_is(row->type, "permission.denied") && says_nobody(js_get_str(payload, "reason")))
        w->result->seen[SEEN_REFUSED]++;
    if (time->asked[0] == '\0' || !str_is(row->call_id, time->asked))
        return;
    time->asked[0] = '\0';
    time->asked_ms += row->ts - w->unowned - time->asked_at;
}

static void take_sleep(struct world *w, const struct event_row *row, const struct js *payload)
{
    int64_t slept = js_get_int(payload, "slept_ms", 0);
    if (slept <= 0)
        wrong(w, "a sleep of %lld ms", (long long)slept);
    w->owner_slept += slept;
    w->sleep.durable += slept;
    w->result->seen[SEEN_SLEPT]++;
}

/* The last owner's sign of life is wall time; its events have its own time, without its sleeps. */
static void take_resume(struct world *w, const struct event_row *row, const struct js *payload)
{
    int64_t ended = js_get_int(payload, "alive_at", 0) - w->owner_slept;
    if (ended < w->last_ts)
        ended = w->last_ts;
    w->unowned += row->ts - ended;
    w->owner_slept = 0;
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

static void take_one(struct world *w, const struct event_row *row)
{
    static const struct {
        const char *type;
        void (*take)(struct world *w, const struct event_row *row, const struct js *payload);
    } takers[] = {
        {"agent.subagent_created", take_contract},
        {"run.started", take_start},
        {"agent.subagent_started", take_start},
        {"timer.fired", take_timer},
        {"agent.idle", take_silence},
        {"run.slept", take_sleep},
        {"run.resumed", take_resume},
        {"permission.asked", take_asked},
        {"run.paused", take_asked},
        {"permission.granted", take_answer},
        {"permission.denied", take_answer},
        {"tool.finished", take_answer},
        {"run.unpaused", take_answer},
    };
    for (size_t i = 0; i < sizeof takers / sizeof takers[0]; i++) {
        struct err err = ERR_INIT;
        if (!str_is(row->type, takers[i].type))
            continue;
        struct js *payload = js_parse(row->payload, &err);
        takers[i].take(w, row, payload);
        js_free(payload);
    }
}

void time_ledger_take(struct world *w, const struct event_row *row)
{
    take_one(w, row);
    w->last_ts = row->ts;
}
