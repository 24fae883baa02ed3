/* How agents end: finishing, stopping, another attempt, and the one close that every child gets. Only this file ends a run. Pure. */
#include "base/utf8.h"
#include "core/run/plan_run.h"

#define UNMERGED "held, and its parent ended without merging it"
#define SHARED "worked in the shared tree; nothing to merge"

/* Whoever waits for the child goes on: the call that made it, calls that await it, a parent that has answered already. */
static void tell(struct deciding *d, struct agent *parent, struct agent *child)
{
    struct call *call = parent->phase == PHASE_TOOLS ? call_find(parent, child->parent_call) : NULL;
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
    if (d->failed)
        return;
    if (parent->phase == PHASE_JOINING && child->life == LIFE_WAITING_FOR_MERGE) {
        child_drop(d, child, STR(UNMERGED)); /* and delivers that */
    } else if (parent->phase == PHASE_JOINING && parent->stopping == OUTCOME_NONE) {
        if (parent->children_open == 0)
            agent_finish(d, parent, parent->joining, keep(d, parent->joining_error));
    } else if (parent->phase == PHASE_TOOLS || parent->phase == PHASE_READY) {
        calls_advance(d, parent);
    } else {
        agent_settle_stop(d, parent);
    }
}

static void deliver(struct deciding *d, struct agent *child)
{
    struct agent *parent = run_agent_at(d->run, child->parent_no);
    if (d->failed)
        return;
    tell(d, parent, child);
    trees_advance(d, parent); /* its tree may have been the next one */
}

static void close_as(struct deciding *d, struct agent *child, const char *status, struct str why,
                     struct str result)
{
    struct event *e = draft(d, child->no, EVENT_SUBAGENT_CLOSED);
    child_stamp(child, e);
    e->final_status = str_from(status);
    e->close_reason = why;
    e->result = result;
    emit(d, e);
}

static void integrate(struct deciding *d, struct agent *child, struct str how, struct str result)
{
    struct event *e = draft(d, child->no, EVENT_SUBAGENT_COMPLETED);
    child_stamp(child, e);
    emit(d, e);
    close_as(d, child, "completed", how, result);
}

/* What it answered. A long answer stands in its last reply already. */
static void add_response(struct deciding *d, const struct agent *agent, struct str response,
                         struct event *e)
{
    if (response.n > REPEATED_MAX && str_eq(response, agent->response))
        e->opening = keep(d, utf8_cut(response, OPENING_BYTES));
    else
        e->response = response;
}

static void close_child(struct deciding *d, struct agent *agent, const struct ending *ending)
{
    bool worked = ending_worked(ending->outcome);
    struct str result = result_object(d, agent, ending);
    struct event *e = draft(d, agent->no, worked ? EVENT_SUBAGENT_WAITING : EVENT_SUBAGENT_FAILED);
    child_stamp(agent, e);
    e->outcome = str_from(outcome_text(ending->outcome));
    add_response(d, agent, ending->response, e);
    /* What a merge closes later has no other place for why its budget did not suffice. */
    if (!worked || (tree_is_there(agent) && ending->outcome != OUTCOME_COMPLETED))
        e->error = ending->error;
    emit(d, e);
    if (agent->phase == PHASE_LEAVING) {
        tree_leave(d, agent);
        plan_leaving(d, agent);
        return; /* child_left closes it */
    }
    if (!worked)
        close_as(d, agent, "failed", ending->error, result);
    else if (agent->contract.execution.close == CLOSE_ON_COMPLETION)
        integrate(d, agent, STR(SHARED), result);
    deliver(d, agent);
}

void child_integrate(struct deciding *d, struct agent *child)
{
    struct ending ending = {child->outcome, keep(d, child->response), keep(d, child->error)};
    integrate(d, child, STR(SHARED), result_object(d, child, &ending));
}

void child_left(struct deciding *d, struct agent *child, enum tool_outcome outcome,
                struct str message)
{
    struct ending ending = {child->outcome, keep(d, child->response), keep(d, child->error)};
    if (child->life == LIFE_WAITING_FOR_MERGE && outcome != TOOL_OK) {
        ending.outcome = child->stopping != OUTCOME_NONE ? OUTCOME_CANCELLED : OUTCOME_ERROR;
        ending.error = message;
        struct event *e = draft(d, child->no, EVENT_SUBAGENT_FAILED);
        child_stamp(child, e);
        e->outcome = str_from(outcome_text(ending.outcome));
        add_response(d, child, ending.response, e);
        e->error = message;
        emit(d, e);
    }
    struct str result = result_object(d, child, &ending);
    if (child->life == LIFE_WAITING_FOR_MERGE)
        integrate(d, child, message, result);
    else
        close_as(d, child, "failed", ending.error, result);
    deliver(d, child);
}

void child_drop(struct deciding *d, struct agent *child, struct str why)
{
    struct ending ending = {OUTCOME_CANCELLED, keep(d, child->response), why};
    struct str result = result_object(d, child, &ending);
    struct event *e = draft(d, child->no, EVENT_SUBAGENT_FAILED);
    child_stamp(child, e);
    e->outcome = str_from(outcome_text(ending.outcome));
    add_response(d, child, ending.response, e);
    e->error = why;
    emit(d, e);
    if (child->phase == PHASE_LEAVING) {
        tree_leave(d, child);
        return;
    }
    close_as(d, child, "failed", why, result);
    deliver(d, child);
}

static bool gate_failed(const struct run *run)
{
    for (uint32_t no = 1; no < run->agent_count; no++) {
        const struct agent *child = run->agents[no];
        if (child->contract.outputs.gate == GATE_RUN && !ending_worked(child->outcome))
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

/* An agent is never done while a child of it is open. One that did its work waits for the jobs that it left, until its own deadline;
 * one that failed takes them down with it. What is held, nobody will merge any more. */
static void join(struct deciding *d, struct agent *agent, const struct ending *ending)
{
    bool worked = ending_worked(ending->outcome);
    if (agent->phase == PHASE_JOINING)
        return;
    struct event *e = draft(d, agent->no, EVENT_RUN_JOINING);
    e->outcome = str_from(outcome_text(ending->outcome));
    e->error = ending->error;
    emit(d, e);
    for (uint32_t no = 1; no < d->run->agent_count && !d->failed; no++) {
        struct agent *child = d->run->agents[no];
        if (child->parent_no == agent->no && child->life == LIFE_WAITING_FOR_MERGE &&
            child->phase == PHASE_DONE)
            child_drop(d, child, STR(UNMERGED));
    }
    if (worked)
        trees_advance(d, agent);
    if (!worked && !d->failed && agent->phase == PHASE_JOINING)
        children_stop(d, agent, STR("its parent failed"));
}

/* Those that only wait to be merged come first: one that stops would make room for them. */
void children_stop(struct deciding *d, struct agent *agent, struct str reason)
{
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t no = agent->no + 1; agent->children_open > 0 && no < d->run->agent_count;
             no++) {
            struct agent *child = d->run->agents[no];
            if (child->parent_no != agent->no || child->life == LIFE_CLOSED || d->failed)
                continue;
            bool waits = child->life == LIFE_WAITING_FOR_MERGE && !tree_busy(child);
            if (waits && pass == 0)
                child_drop(d, child, reason);
            else if (!waits && pass == 1)
                agent_stop(d, child, OUTCOME_CANCELLED, reason);
        }
    }
}

void agent_finish(struct deciding *d, struct agent *agent, enum outcome outcome, struct str error)
{
    if (d->failed || agent->phase >= PHASE_LEAVING)
        return;
    struct ending ending = {outcome, keep(d, agent->response.p != NULL ? agent->response : STR("")),
                            error};
    if (ending.error.p == NULL && outcome != OUTCOME_COMPLETED)
        ending.error =
            outcome == OUTCOME_BUDGET_EXCEEDED ? STR("the budget is used up") : STR("failed");
    answer_settle(d, agent, &ending);
    if (agent->children_open > 0)
        join(d, agent, &ending);
    else if (checks_begin(d, agent, &ending))
        return; /* checks_ended comes back here */
    else if (agent->no == 0 && tree_root_leaves(d, agent, &ending))
        return; /* and so does the end of its tree */
    else if (agent->no == 0)
        close_run(d, agent, &ending);
    else
        close_child(d, agent, &ending);
}

void agent_give_up(struct deciding *d, struct agent *agent, enum outcome outcome, struct str error)
{
    bool in_time = contract_deadline_ms(&agent->contract) == UNLIMITED ||
                   agent_deadline(agent, TIMER_WALL, d->now) > d->now;
    /* A parent that is being stopped stopped this agent too, which may have been stopping already for its own reason. */
    bool wanted = run_agent_at(d->run, agent->parent_no)->stopping == OUTCOME_NONE;
    bool again = agent->no != 0 && agent->life == LIFE_RUNNING &&
                 agent->attempt < agent->contract.execution.max_retries && in_time && wanted &&
                 agent->turns != TURNS_LAST &&
                 (outcome == OUTCOME_ERROR || outcome == OUTCOME_TIMEOUT);
    if (again && agent->children_open > 0)
        agent_stop(d, agent, outcome, error); /* another attempt begins when its jobs have ended */
    else if (again && tree_is_there(agent))
        tree_again(d, agent, agent->attempt + 1);
    else if (again && !d->failed)
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
    /* It only waits for its turn; or its work is being put away, which is never cut short. */
    if (agent->phase == PHASE_LEAVING && (!tree_busy(agent) || agent->tree->leaves == LEAVES_KEPT))
        return;
    struct event *e = draft(d, agent->no, EVENT_AGENT_STOPPING);
    e->outcome = str_from(outcome_text(outcome));
    e->reason = reason;
    emit(d, e);
    if (agent->phase == PHASE_ASKING)
        abort_effect(d, agent, agent->request_id);
    if (agent->phase == PHASE_CHECKING)
        abort_effect(d, agent, agent->check_id);
    if (tree_busy(agent))
        abort_effect(d, agent, agent->tree->id);
    /* Counts are read anew each time: stopping the last child may end this agent and drop its calls. */
    for (size_t i = 0; agent->phase == PHASE_TOOLS && i < agent->call_count; i++) {
        const struct call *call = &agent->calls[i];
        if (call->awaits == CALL_WORKS &&
            (call->state == CALL_RUNNING || call->state == CALL_PREPARING ||
             call->state == CALL_GATHERING))
            abort_effect(d, agent, call->call.id);
    }
    children_stop(d, agent, STR("its parent was stopped"));
    plan_stop(d, agent);
    agent_settle_stop(d, agent);
}

void agent_settle_stop(struct deciding *d, struct agent *agent)
{
    if (d->failed || agent->phase >= PHASE_LEAVING || agent->stopping == OUTCOME_NONE ||
        agent_busy(agent) || agent->children_open > 0)
        return;
    struct str reason = keep(d, agent->stop_reason);
    if (agent->stopping == OUTCOME_TIMEOUT)
        agent_give_up(d, agent, OUTCOME_TIMEOUT, spent_explain(d, agent, reason));
    else if (agent->stopping == OUTCOME_ERROR)
        agent_give_up(d, agent, OUTCOME_ERROR, reason);
    else
        agent_finish(d, agent, agent->stopping, reason);
}
