/* How agents go on. What an agent does next follows from its state alone, so there is one function for it, and whoever changed that
 * state calls it. Nothing that ends an agent calls it: who has to hear of an end stands in a list (`due`) until the present step is
 * over, so that no end runs inside another one. Slots and budget that became free are given away last. Pure. */
#include "core/run/continue.h"

#include "core/run/phase.h"
#include "core/run/plan_run.h"

/* --- one agent ---------------------------------------------------------------------------------------------------------------- */

/* What an agent can do by itself. In the other phases something must come first: a slot, an answer, a timer, a merge. */
static void (*const by_phase[PHASES])(struct deciding *d, const struct agent *agent) = {
    [PHASE_READY] = turn_advance, [PHASE_TOOLS] = calls_advance, [PHASE_JOINING] = agent_joined};

static void go_on(struct deciding *d, const struct agent *agent)
{
    if (agent->stopping != OUTCOME_NONE)
        agent_settle_stop(d, agent);
    else if (by_phase[agent->phase] != NULL)
        by_phase[agent->phase](d, agent);
}

/* Who asks a model needs a slot: schedule() gives them in the order in which they were wanted. */
static bool may_go_on(const struct agent *agent)
{
    return agent->phase != PHASE_READY || agent->stopping != OUTCOME_NONE || agent->no == 0 ||
           agent->slot == SLOT_HELD;
}

void agent_continue(struct deciding *d, const struct agent *agent)
{
    bool calls = agent->phase == PHASE_TOOLS && agent->stopping == OUTCOME_NONE;
    if (!d->failed && may_go_on(agent))
        go_on(d, agent);
    if (!d->failed && calls && agent->phase == PHASE_READY && may_go_on(agent))
        go_on(d, agent); /* all its calls have ended */
}

/* --- who hears of an end --------------------------------------------------------------------------------------------------------- */

static void due_add(struct deciding *d, uint32_t agent_no, enum due_kind kind)
{
    struct due *due = arena_alloc(&d->out->arena, sizeof *due);
    *due = (struct due){.agent_no = agent_no, .kind = kind};
    if (d->due_last != NULL)
        d->due_last->next = due;
    else
        d->due = due;
    d->due_last = due;
}

void due_continue(struct deciding *d, const struct agent *agent)
{
    due_add(d, agent->no, DUE_CONTINUES);
}

void due_tell(struct deciding *d, const struct agent *child)
{
    due_add(d, child->no, DUE_IS_TOLD);
}

/* The call that made the child, and calls that await it. */
static void tell_calls(struct deciding *d, const struct agent *parent, const struct agent *child)
{
    const struct call *call =
        parent->phase == PHASE_TOOLS ? call_find(parent, child->parent_call) : NULL;
    if (call != NULL && call->state == CALL_RUNNING && call->awaits == CALL_AWAITS_CHILDREN)
        delegate_ended(d, parent, call, child);
    for (size_t i = 0; parent->phase == PHASE_TOOLS && parent->calls_for_jobs > 0 &&
                       i < parent->call_count && !d->failed;
         i++) {
        call = &parent->calls[i];
        if (call->state == CALL_RUNNING && call->awaits == CALL_AWAITS_JOBS &&
            call->children_open == 0)
            delegate_ended(d, parent, call, child);
    }
}

/* A child has ended, or its work is done and waits to be merged or put away. */
static void tell(struct deciding *d, const struct agent *child)
{
    const struct agent *parent = run_agent_at(d->run, child->parent_no);
    if (child->phase == PHASE_LEAVING) {
        trees_advance(d, parent);
        plan_leaving(d, child);
        return;
    }
    tell_calls(d, parent, child);
    if (parent->phase == PHASE_JOINING && child->life == LIFE_WAITING_FOR_MERGE)
        child_drop(d, child, STR(CHILD_UNMERGED)); /* which is told as well */
    else
        agent_continue(d, parent);
    trees_advance(d, parent); /* its tree may have been the next one */
}

void due_settle(struct deciding *d)
{
    while (!d->failed && d->due != NULL && d->run->status == RUN_RUNNING) {
        struct due due = *d->due;
        const struct agent *agent = run_agent_at(d->run, due.agent_no);
        d->due = due.next;
        if (d->due == NULL)
            d->due_last = NULL;
        if (due.kind == DUE_CONTINUES)
            agent_continue(d, agent);
        else
            tell(d, agent);
    }
}

/* --- who gets a slot, or budget ------------------------------------------------------------------------------------------------- */

static void give_slots(struct deciding *d)
{
    const struct agent *agent;
    while (!d->failed && d->run->status == RUN_RUNNING && slot_is_free(d->run) &&
           (agent = slot_first(d->live)) != NULL) {
        if (agent->life == LIFE_CREATED)
            child_start(d, agent);
        else
            go_on(d, agent);
        due_settle(d);
        if (agent->slot == SLOT_QUEUED)
            break;
    }
}

/* First come, first served: the oldest that still does not fit holds the others back, or it would starve. */
static void give_budget(struct deciding *d)
{
    const struct run *run = d->run;
    while (!d->failed && run->budget_count > 0 && run->status == RUN_RUNNING) {
        uint32_t oldest = run->budget_queue[0];
        agent_continue(d, run_agent_at(run, oldest));
        due_settle(d);
        if (run->budget_count > 0 && run->budget_queue[0] == oldest)
            break;
    }
}

/* Each may end agents and so make room, or children, for the other. */
void schedule(struct deciding *d)
{
    uint64_t before;
    do {
        before = d->run->seq;
        give_slots(d);
        give_budget(d);
    } while (!d->failed && d->run->seq != before);
}
