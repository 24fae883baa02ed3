/* Delegation calls: finds the door of a call and hands it the arguments, the files that it asked for, and the children that have
 * ended. The doors themselves are the door_*.c files. Pure. */
#include "base/json.h"
#include "core/run/door.h"

static const struct door_ops *ops_of(const struct call *call)
{
    const struct door_tool *door = door_tool_find(tool_normal_name(call->call.name));
    return door != NULL ? door->ops : NULL;
}

void delegate_call(struct deciding *d, struct agent *agent, struct call *call)
{
    struct err why = ERR_INIT;
    const struct door_ops *ops = ops_of(call);
    struct js *arguments = js_parse(call->call.arguments, &why);
    if (ops == NULL)
        err_set(&why, ERR_USAGE, "this build has no such door");
    if (arguments == NULL || ops == NULL)
        door_refuse(d, agent, call, &why);
    else
        ops->start(d, agent, call, arguments);
    js_free(arguments);
}

void delegate_gathered(struct deciding *d, struct agent *agent, struct call *call)
{
    struct err why = ERR_INIT;
    const struct door_ops *ops = ops_of(call);
    struct js *arguments = js_parse(call->call.arguments, &why);
    if (!d->failed && arguments != NULL && ops != NULL && ops->gathered != NULL)
        ops->gathered(d, agent, call, arguments);
    else if (!d->failed)
        door_refuse(d, agent, call, &why);
    js_free(arguments);
}

void delegate_ended(struct deciding *d, struct agent *agent, struct call *call,
                    const struct agent *child)
{
    const struct door_ops *ops = ops_of(call);
    if (!d->failed && ops != NULL && ops->ended != NULL)
        ops->ended(d, agent, call, child);
}
