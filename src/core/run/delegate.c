/* Delegation calls: finds the door of a call and hands it the arguments, the files that it asked for, and the children that have
 * ended. The doors themselves are the door_*.c files. Pure. */
#include "base/json.h"
#include "core/run/door.h"

static const struct door_ops *ops_of(const struct call *call)
{
    const struct door_tool *door = door_tool_find(tool_normal_name(call->call.name));
    return door != NULL ? door->ops : NULL;
}

/* Gives the call's door the results of earlier children that it was given in place of new ones, those from `first` on: the same way
 * as the end of a new one, so that no door can wait for what is there already. A door may get more of them while it hears of one. */
static void deliver_reused(struct deciding *d, const struct agent *agent, const struct call *call,
                           size_t first)
{
    const struct door_ops *ops = ops_of(call);
    for (size_t i = first; !d->failed && call->state == CALL_RUNNING && i < call->child_count;
         i++) {
        if (call->children[i].origin == CHILD_REPEATED && ops != NULL && ops->ended != NULL)
            ops->ended(d, agent, call, run_agent_at(d->run, call->children[i].no));
    }
}

void delegate_call(struct deciding *d, const struct agent *agent, const struct call *call)
{
    struct err why = ERR_INIT;
    const struct door_ops *ops = ops_of(call);
    struct js *arguments = js_parse(call->call.arguments, &why);
    size_t known = call->child_count;
    if (ops == NULL)
        err_set(&why, ERR_USAGE, "this build has no such door");
    if (arguments == NULL || ops == NULL)
        door_refuse(d, agent, call, &why);
    else
        ops->start(d, agent, call, arguments);
    js_free(arguments);
    deliver_reused(d, agent, call, known);
}

void delegate_gathered(struct deciding *d, const struct agent *agent, const struct call *call)
{
    struct err why = ERR_INIT;
    const struct door_ops *ops = ops_of(call);
    struct js *arguments = js_parse(call->call.arguments, &why);
    size_t known = call->child_count;
    if (!d->failed && arguments != NULL && ops != NULL && ops->gathered != NULL)
        ops->gathered(d, agent, call, arguments);
    else if (!d->failed)
        door_refuse(d, agent, call, &why);
    js_free(arguments);
    deliver_reused(d, agent, call, known);
}

void delegate_ended(struct deciding *d, const struct agent *agent, const struct call *call,
                    const struct agent *child)
{
    const struct door_ops *ops = ops_of(call);
    size_t known = call->child_count;
    if (d->failed || ops == NULL || ops->ended == NULL)
        return;
    if (agent->stopping == OUTCOME_NONE || ops->stopped == NULL) {
        ops->ended(d, agent, call, child);
        deliver_reused(d, agent, call, known);
    } else if (call->children_open == 0) {
        ops->stopped(d, agent, call);
    }
}

/* Whether the call waits for children, and none is open. While a plan's steps wait for approval that is right. */
static bool waits_alone(const struct call *call)
{
    return call->state == CALL_RUNNING && call->awaits != CALL_WORKS && call->children_open == 0;
}

static void stop_alone(struct deciding *d, const struct agent *agent, const struct call *call)
{
    const struct door_ops *ops = ops_of(call);
    if (ops != NULL && ops->stopped != NULL)
        ops->stopped(d, agent, call);
    else
        call_finish(d, agent, call, TOOL_ERROR, STR("Error: stopped before it ended."));
}

void delegate_stop(struct deciding *d, const struct agent *agent)
{
    for (size_t i = 0; agent->phase == PHASE_TOOLS && i < agent->call_count && !d->failed; i++) {
        if (waits_alone(&agent->calls[i]))
            stop_alone(d, agent, &agent->calls[i]);
    }
}

void delegate_resume(struct deciding *d, const struct agent *agent, const struct call *call)
{
    if (waits_alone(call) && agent->stopping != OUTCOME_NONE)
        stop_alone(d, agent, call);
    else if (waits_alone(call))
        deliver_reused(d, agent, call, 0);
}

bool delegate_gathers(const struct call *call)
{
    const struct door_ops *ops = ops_of(call);
    return ops != NULL && ops->gathered != NULL;
}
