/* What each agent of a run waits for. An agent that has not ended waits for an answer from outside, a timer, a person, a slot, budget
 * or another agent. One that waits for nobody keeps its run open for ever, whatever deadline passes and whoever cancels it. Only checks
 * ask: builds with check_fold after each decision, the unit tests and the simulator. Pure. */
#include "core/run/state.h"

/* Why nothing will ever end this call; NULL: something will. */
static const char *call_problem(const struct call *call)
{
    const struct tool_info *info = tool_info_find(call->call.name);
    bool core = info != NULL && info->kind == TOOL_CORE;
    struct plan_progress plan;
    bool asks = call_plan_progress(call, &plan) && plan.blocked > 0;
    if (call->state == CALL_GATHERING && !delegate_gathers(call))
        return "waits for files that nobody reads";
    if (call->state != CALL_RUNNING)
        return NULL;
    if (call->awaits == CALL_WORKS)
        return core ? "runs and does nothing" : NULL;
    return call->children_open > 0 || asks ? NULL : "waits for nobody";
}

static bool calls_go_on(const struct agent *agent)
{
    const size_t *in = agent->calls_in;
    return tree_busy(agent) || agent->pause == PAUSE_ASKED || agent->slot == SLOT_QUEUED ||
           agent->timers[TIMER_CALLS] != 0 ||
           in[CALL_ASKED] + in[CALL_GATHERING] + in[CALL_PREPARING] + in[CALL_RUNNING] > 0;
}

/* Why the agent will never go on; NULL: it will. */
static const char *agent_problem(const struct run *run, const struct agent *agent)
{
    bool stopping = agent->stopping != OUTCOME_NONE && agent->phase < PHASE_LEAVING;
    if (stopping && !agent_busy(agent) && agent->children_open == 0)
        return "is being stopped, and nothing of it is under way";
    if (stopping)
        return NULL;
    switch (agent->phase) {
    case PHASE_NEW:
        return agent->slot == SLOT_QUEUED || tree_busy(agent) ? NULL : "never starts";
    case PHASE_READY:
        return agent->slot == SLOT_QUEUED || agent->waits_for_budget || agent->pause == PAUSE_ASKED
                   ? NULL
                   : "may ask its model and does not";
    case PHASE_BACKOFF:
        return agent->timers[TIMER_BACKOFF] != 0 ? NULL : "waits for no time";
    case PHASE_TOOLS:
        return calls_go_on(agent) ? NULL : "has calls that are never made";
    case PHASE_JOINING:
        return agent->children_open > 0 ? NULL : "waits for no job";
    case PHASE_LEAVING:
        return tree_busy(agent) || tree_waits(run, agent) ? NULL : "is never merged";
    default:
        return NULL;
    }
}

bool run_waits_for_nobody(const struct run *run, struct buf *who)
{
    for (uint32_t no = 0; run->status == RUN_RUNNING && no < run->agent_count; no++) {
        const struct agent *agent = run->agents[no];
        const char *problem = agent_problem(run, agent);
        if (problem != NULL)
            buf_printf(who, "agent %u %s", no, problem);
        for (size_t i = 0; problem == NULL && agent->phase == PHASE_TOOLS && i < agent->call_count;
             i++) {
            problem = call_problem(&agent->calls[i]);
            if (problem != NULL)
                buf_printf(who, "call %.*s (%.*s) of agent %u %s", STR_FMT(agent->calls[i].call.id),
                           STR_FMT(agent->calls[i].call.name), no, problem);
        }
        if (problem != NULL)
            return true;
    }
    return false;
}
