/* How agents end: finishing, stopping, another attempt, and the one close that every child gets. Only this file ends a run. Pure. */
#include "core/run/state.h"

/* The parent gets the result as the answer to its call, and goes on. */
static void deliver(struct deciding *d, const struct agent *child, struct str text,
                    enum tool_outcome outcome)
{
    struct agent *parent = run_agent_at(d->run, child->parent_no);
    struct call *call = call_find(parent, child->parent_call);
    if (d->failed || call == NULL || call->state == CALL_DONE)
        return;
    call_finish(d, parent, call, outcome, text);
    calls_advance(d, parent);
}

static void close_child(struct deciding *d, struct agent *agent, const struct ending *ending)
{
    bool worked =
        ending->outcome == OUTCOME_COMPLETED || ending->outcome == OUTCOME_BUDGET_EXCEEDED;
    struct str result = result_object(d, agent, ending), text = result_text(d, agent, ending);
    struct event *e = draft(d, agent->no, worked ? EVENT_SUBAGENT_WAITING : EVENT_SUBAGENT_FAILED);
    child_stamp(agent, e);
    e->outcome = str_from(outcome_text(ending->outcome));
    e->response = ending->response;
    if (!worked)
        e->error = ending->error;
    emit(d, e);
    if (worked) {
        /* It worked in the parent's own tree: there is nothing to merge. */
        e = draft(d, agent->no, EVENT_SUBAGENT_COMPLETED);
        child_stamp(agent, e);
        emit(d, e);
    }
    e = draft(d, agent->no, EVENT_SUBAGENT_CLOSED);
    child_stamp(agent, e);
    e->final_status = worked ? STR("completed") : STR("failed");
    e->close_reason = worked ? STR("worked in the shared tree; nothing to merge") : ending->error;
    e->result = result;
    emit(d, e);
    deliver(d, agent, text, worked ? TOOL_OK : TOOL_ERROR);
}

static bool gate_failed(const struct run *run)
{
    for (uint32_t no = 1; no < run->agent_count; no++) {
        const struct agent *child = run->agents[no];
        if (child->contract.outputs.gate == GATE_RUN && child->outcome != OUTCOME_COMPLETED &&
            child->outcome != OUTCOME_BUDGET_EXCEEDED)
            return true;
    }
    return false;
}

static void close_run(struct deciding *d, struct agent *root, struct ending *ending)
{
    if (ending->outcome == OUTCOME_COMPLETED && gate_failed(d->run)) {
        ending->outcome = OUTCOME_ERROR;
        ending->error = STR("a child that gates the run failed");
    }
    enum event_type type = ending->outcome == OUTCOME_COMPLETED   ? EVENT_RUN_COMPLETED
                           : ending->outcome == OUTCOME_CANCELLED ? EVENT_RUN_CANCELLED
                                                                  : EVENT_RUN_FAILED;
    struct event *e = draft(d, root->no, type);
    e->outcome = str_from(outcome_text(ending->outcome));
    e->response = ending->response;
    if (type != EVENT_RUN_COMPLETED)
        e->error = ending->error;
    e->result = result_object(d, root, ending);
    emit(d, e);
}

void agent_finish(struct deciding *d, struct agent *agent, enum outcome outcome, struct str error)
{
    if (d->failed || agent->phase == PHASE_DONE)
        return;
    struct ending ending = {outcome, keep(d, agent->response.p != NULL ? agent->response : STR("")),
                            error};
    if (ending.error.p == NULL && outcome != OUTCOME_COMPLETED)
        ending.error =
            outcome == OUTCOME_BUDGET_EXCEEDED ? STR("the budget is used up") : STR("failed");
    if (agent->no == 0)
        close_run(d, agent, &ending);
    else
        close_child(d, agent, &ending);
}

void agent_give_up(struct deciding *d, struct agent *agent, enum outcome outcome, struct str error)
{
    bool in_time =
        agent->contract.execution.budget.wall_ms == UNLIMITED || agent->timers[TIMER_WALL] > d->now;
    /* A parent that is being stopped stopped this agent too, which may have been stopping already for its own reason. */
    bool wanted = run_agent_at(d->run, agent->parent_no)->stopping == OUTCOME_NONE;
    bool again = agent->no != 0 && agent->life == LIFE_RUNNING &&
                 agent->attempt < agent->contract.execution.max_retries && in_time && wanted &&
                 agent->turns != TURNS_LAST &&
                 (outcome == OUTCOME_ERROR || outcome == OUTCOME_TIMEOUT);
    if (again && !d->failed)
        child_attempt(d, agent, agent->attempt + 1);
    else
        agent_finish(d, agent, outcome, error);
}

static void abort_effect(struct deciding *d, const struct agent *agent, struct str call_id)
{
    effect_seal(d, effect_add(d, EFFECT_ABORT, EFFECT_PURE, agent, call_id));
}

void agent_stop(struct deciding *d, struct agent *agent, enum outcome outcome, struct str reason)
{
    if (d->failed || agent->phase == PHASE_DONE || agent->stopping != OUTCOME_NONE)
        return;
    struct event *e = draft(d, agent->no, EVENT_AGENT_STOPPING);
    e->outcome = str_from(outcome_text(outcome));
    e->reason = reason;
    emit(d, e);
    if (agent->phase == PHASE_ASKING)
        abort_effect(d, agent, agent->request_id);
    /* Counts are read anew each time: stopping the last child may end this agent and drop its calls. */
    for (size_t i = 0; agent->phase == PHASE_TOOLS && i < agent->call_count; i++) {
        const struct call *call = &agent->calls[i];
        if (call->state == CALL_RUNNING && call->child_no != 0)
            agent_stop(d, run_agent_at(d->run, call->child_no), OUTCOME_CANCELLED,
                       STR("its parent was stopped"));
        else if (call->state == CALL_RUNNING || call->state == CALL_PREPARING ||
                 call->state == CALL_GATHERING)
            abort_effect(d, agent, call->call.id);
    }
    agent_settle_stop(d, agent);
}

void agent_settle_stop(struct deciding *d, struct agent *agent)
{
    if (d->failed || agent->phase == PHASE_DONE || agent->stopping == OUTCOME_NONE ||
        agent_busy(agent) || agent->children_open > 0)
        return;
    struct str reason = keep(d, agent->stop_reason);
    if (agent->stopping == OUTCOME_TIMEOUT)
        agent_give_up(d, agent, OUTCOME_TIMEOUT, reason);
    else
        agent_finish(d, agent, agent->stopping, reason);
}
