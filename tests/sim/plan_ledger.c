/* What the committed log says about plans: which step needs which, and how far they are. By the events alone. The trees' ledger asks
 * it whose work may be merged before its turn. */
#include <stdio.h>

#include "base/json.h"
#include "inside.h"

/* The record of a call's plan; a new one where there is none, NULL where there is no room. */
static struct plan_record *record_of(struct world *w, struct str call)
{
    for (size_t i = 0; i < PLAN_RECORDS; i++) {
        struct plan_record *record = &w->plans[i];
        if (record->call[0] == '\0')
            snprintf(record->call, sizeof record->call, "%.*s", STR_FMT(call));
        if (str_is(call, record->call))
            return record;
    }
    wrong(w, "a run has more plans than are recorded");
    return NULL;
}

static size_t place_of(const struct js *steps, struct str id)
{
    size_t i = 0;
    while (i < js_count(steps) && !str_eq(js_get_str(js_at(steps, i), "id"), id))
        i++;
    return i;
}

/* A later version of a plan has more steps behind those that it had. */
static void take_plan(struct plan_record *record, const struct js *steps)
{
    size_t known = record->count;
    record->count = js_count(steps) < RECORDED_STEPS ? js_count(steps) : RECORDED_STEPS;
    for (size_t i = known; i < record->count; i++) {
        const struct js *needs = js_get(js_at(steps, i), "depends_on");
        record->steps[i].waits = true;
        for (size_t k = 0; k < js_count(needs); k++)
            record->steps[i].needs |= (uint64_t)1 << place_of(steps, js_str(js_at(needs, k)));
    }
}

void plan_ledger_take(struct world *w, const struct event_row *row, const struct js *payload)
{
    bool made = str_is(row->type, "plan.made"), step = str_is(row->type, "plan.step");
    bool created = str_is(row->type, "agent.subagent_created");
    int64_t item = js_get_int(payload, "item", -1);
    struct str call = created ? js_get_str(payload, "parent_call") : row->call_id;
    if (made)
        take_plan(record_of(w, call), js_get(js_get(payload, "plan"), "steps"));
    for (size_t i = 0; (step || created) && i < PLAN_RECORDS; i++) {
        struct plan_record *record = &w->plans[i];
        if (!str_is(call, record->call) || item < 0 || item >= (int64_t)record->count)
            continue;
        if (created)
            record->steps[item].child = row->agent_no;
        record->steps[item].waits = step && (str_is(js_get_str(payload, "kind"), "approved") ||
                                             str_is(js_get_str(payload, "kind"), "blocked"));
        record->steps[item].completed = str_is(js_get_str(payload, "kind"), "completed");
    }
}

static bool is_needed_in(const struct world *w, const struct plan_record *record, uint32_t no)
{
    for (size_t i = 0; i < record->count; i++) {
        bool by_it = false, rest = record->steps[i].waits;
        for (size_t k = 0; k < record->count; k++) {
            uint32_t child = record->steps[k].child;
            if ((record->steps[i].needs >> k & 1) == 0)
                continue;
            by_it |= child == no;
            rest &= record->steps[k].completed ||
                    strcmp(w->children[child].status, "waiting_for_merge") == 0;
        }
        if (by_it && rest)
            return true;
    }
    return false;
}

bool plan_ledger_needs(const struct world *w, uint32_t no)
{
    for (size_t i = 0; i < PLAN_RECORDS; i++) {
        if (is_needed_in(w, &w->plans[i], no))
            return true;
    }
    return false;
}
