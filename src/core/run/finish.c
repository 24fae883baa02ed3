/* How agents end: finishing, stopping, another attempt, and the one close that every child gets. Only this file ends a run. Nobody goes
 * on from here: who waits for an end hears of it when the present step is over (continue.c). Pure. */
#include "base/utf8.h"
#include "core/run/continue.h"

#define STOPPED_ABOVE "its parent was stopped"
#define SHARED "worked in the shared tree; nothing to merge"

static void close_as(struct deciding *d, const struct agent *child, const char *status,
                     struct str why, struct str result)
{
    struct event *e = draft(d, child->no, EVENT_SUBAGENT_CLOSED);
    child_stamp(child, e);
    e->final_status = str_from(status);
    e->close_reason = why;
    e->result = result;
    emit(d, e);
}

static void integrate(struct deciding *d, const struct agent *child, struct str how,
                      struct str result)
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
    if (response.n > REPEATED_MAX && agent->response.p != NULL && str_eq(response, agent->response))
        e->opening = keep(d, utf8_cut(response, OPENING_BYTES));
    else
        e->response = response;
}

static void close_child(struct deciding *d, const struct agent *agent, const struct ending *ending)
{
    bool worked = ending_worked(ending->outcome);
    struct str result = result_object(d, agent, ending);
    struct event *e = draft(d, agent->no, worked ? EVENT_SUBAGENT_WAITING : EVENT_SUBAGENT_FAILED);
    child_stamp(agent, e);
    e->outcome = str_from(outcome_text(ending->outcome));
    add_response(d, agent, ending->response, e);
    if (ending->outcome != OUTCOME_COMPLETED)
        e->error = ending->error;
    if (worked)
        e->output_path = run_report_path(d->run, agent, &d->out->arena);
    emit(d, e);
    if (agent->phase == PHASE_LEAVING) {
        tree_leave(d, agent);
        return; /* child_left closes it */
    }
    if (!worked)
        close_as(d, agent, "failed", ending->error, result);
    else if (agent->contract.execution.close == CLOSE_ON_COMPLETION)
        integrate(d, agent, STR(SHARED), result);
    due_tell(d, agent);
}

void child_integrate(struct deciding *d, const struct agent *child)
{
    struct ending ending = {child->outcome, keep(d, child->response), keep(d, child->error)};
    integrate(d, child, STR(SHARED), result_object(d, child, &ending));
}

void child_left(struct deciding *d, const struct agent *child, enum tool_outcome outcome,
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
    due_tell(d, child);
}

void child_drop(struct deciding *d, const struct agent *child, struct str why)
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
    due_tell(d, child);
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

static void close_run(struct deciding *d, const struct agent *root, struct ending *ending)
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
static void join(struct deciding *d, const struct agent *agent, const struct ending *ending)
{
    bool worked = ending_worked(ending->outcome);
    if (agent->phase == PHASE_JOINING)
        return;
    struct event *e = draft(d, agent->no, EVENT_RUN_JOINING);
    e->outcome = str_from(outcome_text(ending->outcome));
    e->error = ending->error;
    emit(d, e);
    for (uint32_t no = 1; no < d->run->agent_count && !d->failed; no++) {
        const struct agent *child = d->run->agents[no];
        if (child->parent_no == agent->no && child->life == LIFE_WAITING_FOR_MERGE &&
            child->phase == PHASE_DONE)
            child_drop(d, child, STR(CHILD_UNMERGED));
    }
    if (worked)
        trees_advance(d, agent);
    if (!worked && !d->failed && agent->phase == PHASE_JOINING)
        children_stop(d, agent, STR("its parent failed"));
}

void agent_joined(struct deciding *d, const struct agent *agent)
{
    if (agent->children_open == 0)
        agent_finish(d, agent, agent->joining, keep(d, agent->joining_error));
}

void agent_finish(struct deciding *d, const struct agent *agent, enum outcome outcome,
                  struct str error)
{
    if (d->failed || agent->phase >= PHASE_LEAVING)
        return;
    struct ending ending = {outcome, keep(d, agent->response.p != NULL ? agent->response : STR("")),
                            error};
    if (ending.error.p == NULL && outcome != OUTCOME_COMPLETED)
        ending.error = outcome == OUTCOME_BUDGET_EXCEEDED ? limit_error(d, agent->limit_reached)
                                                          : STR("failed");
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

void agent_give_up(struct deciding *d, const struct agent *agent, enum outcome outcome,
                   struct str error)
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

/* --- stopping --------------------------------------------------------------------------------------------------------------- */

/* Says that the agent is being stopped, and aborts what it has under way. Its children are the caller's. */
static void stop_one(struct deciding *d, const struct agent *agent, enum outcome outcome,
                     struct str reason)
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
        effect_abort(d, agent, agent->request_id);
    if (agent->phase == PHASE_CHECKING)
        effect_abort(d, agent, agent->check_id);
    if (tree_busy(agent))
        effect_abort(d, agent, agent->tree->id);
    for (size_t i = 0; agent->phase == PHASE_TOOLS && i < agent->call_count; i++) {
        const struct call *call = &agent->calls[i];
        if (call->awaits == CALL_WORKS &&
            (call->state == CALL_RUNNING || call->state == CALL_PREPARING ||
             call->state == CALL_GATHERING))
            effect_abort(d, agent, call->call.id);
    }
    delegate_stop(d, agent);
}

/* It was stopped, and nothing of it is under way any more. */
static bool has_stopped(const struct agent *agent)
{
    return agent->stopping != OUTCOME_NONE && agent->phase < PHASE_LEAVING && !agent_busy(agent) &&
           agent->children_open == 0;
}

/* Ends an agent that has stopped. One that may get another attempt gets it when the present step is over. */
static void end_stopped(struct deciding *d, const struct agent *agent)
{
    if (!has_stopped(agent))
        return;
    if (agent->stopping == OUTCOME_CANCELLED)
        agent_finish(d, agent, OUTCOME_CANCELLED, keep(d, agent->stop_reason));
    else
        due_continue(d, agent);
}

static bool is_below(const struct run *run, const struct agent *agent, const struct agent *above)
{
    while (agent->no > above->no)
        agent = run_agent_at(run, agent->parent_no);
    return agent == above;
}

/* The next agent below this one that is not closed, with a number above `no`; NULL: there is none. */
static const struct agent *next_below(const struct run *run, const struct agent *above, uint32_t no)
{
    while (++no < run->agent_count) {
        if (run->agents[no]->life != LIFE_CLOSED && is_below(run, run->agents[no], above))
            return run->agents[no];
    }
    return NULL;
}

/* Children have higher numbers than their parents, so everybody is stopped after its parent. Whoever has children under way ends when
 * it is told of their end. Those that only wait to be merged are given up first. */
void children_stop(struct deciding *d, const struct agent *agent, struct str reason)
{
    const struct agent *child = agent;
    if (agent->children_open == 0)
        return;
    while (!d->failed && (child = next_below(d->run, agent, child->no)) != NULL) {
        if (child->life == LIFE_WAITING_FOR_MERGE && !tree_busy(child))
            child_drop(d, child, child->parent_no == agent->no ? reason : STR(STOPPED_ABOVE));
    }
    child = agent;
    while (!d->failed && (child = next_below(d->run, agent, child->no)) != NULL) {
        stop_one(d, child, OUTCOME_CANCELLED,
                 child->parent_no == agent->no ? reason : STR(STOPPED_ABOVE));
        end_stopped(d, child);
    }
}

void agent_stop(struct deciding *d, const struct agent *agent, enum outcome outcome,
                struct str reason)
{
    enum outcome before = agent->stopping;
    stop_one(d, agent, outcome, reason);
    if (d->failed || agent->stopping == before)
        return;
    children_stop(d, agent, STR(STOPPED_ABOVE));
    end_stopped(d, agent);
}

void agent_settle_stop(struct deciding *d, const struct agent *agent)
{
    if (d->failed || !has_stopped(agent))
        return;
    struct str reason = keep(d, agent->stop_reason);
    if (agent->stopping == OUTCOME_TIMEOUT)
        agent_give_up(d, agent, OUTCOME_TIMEOUT, spent_explain(d, agent, reason));
    else if (agent->stopping == OUTCOME_ERROR)
        agent_give_up(d, agent, OUTCOME_ERROR, reason);
    else
        agent_finish(d, agent, agent->stopping, reason);
}
