/* Private to core/run: what the delegation doors share. A door is a tool of the core: it reads its call's arguments, makes children
 * through child_make, and finishes the call when they have ended. Nothing is enforced here: that is the contract's. */
#ifndef CADRE_CORE_RUN_DOOR_H
#define CADRE_CORE_RUN_DOOR_H

#include "core/run/arguments.h"
#include "core/run/doors.h"
#include "core/run/state.h"

/* Of arguments that every door takes. */
#define CONTEXT_BYTES_MAX 65536
#define SCOPE_BYTES_MAX 4096

struct door_ops {
    /* The call was requested: makes children, asks for facts, or finishes it. */
    void (*start)(struct deciding *d, const struct agent *agent, const struct call *call,
                  const struct js *arguments);
    /* The call has the files that it asked for; NULL: it asks for none. */
    void (*gathered)(struct deciding *d, const struct agent *agent, const struct call *call,
                     const struct js *arguments);
    /* A child of the call has ended, or it is an earlier one whose result is used again: both come
     * through here. Child NULL: something else changed that the call waits for (an approval, a
     * merge). NULL: the call does not wait for its children. */
    void (*ended)(struct deciding *d, const struct agent *agent, const struct call *call,
                  const struct agent *child);
    /* The agent is being stopped and no child of the call is open: finishes it. NULL: what its last
     * child said is its answer. */
    void (*stopped)(struct deciding *d, const struct agent *agent, const struct call *call);
};

/* doors.c's table names these. */
extern const struct door_ops door_spawn_agent, door_spawn, door_spawn_await, door_fan_out,
    door_delegate_task, door_delegate, door_agent_status, door_agent_send, door_agent_cancel,
    door_agent_result, door_agent_merge, door_ask_user, door_plan;

/* children.c */
/* Makes a child for the call; the context files of the request are those that the call has gathered. item: its place among the call's
 * tasks, EVENT_ABSENT where there is one. CHILD_NEW, or CHILD_REPEATED: the call has an earlier child whose result is used again;
 * delegate.c gives it to the door's `ended` when the door has returned. -1 with err: refused. */
int child_make(struct deciding *d, const struct agent *parent, const struct call *call,
               const struct delegation *request, int64_t item, struct err *err);
/* The call's answer is this error; a refusal by policy or budget is an event of its own. */
void door_refuse(struct deciding *d, const struct agent *agent, const struct call *call,
                 const struct err *why);
/* Asks for the files of a JSON array of paths: as the read tool shows them, or their bare texts for a prompt. */
void door_gather(struct deciding *d, const struct agent *agent, const struct call *call,
                 struct str paths);
void door_gather_texts(struct deciding *d, const struct agent *agent, const struct call *call,
                       struct str paths);
/* A child's answer as far as it fits into what is left of the agent's context, which it shares with `count` - 1 others. */
struct str door_share(struct deciding *d, const struct agent *agent, struct str text, size_t count);
/* result_text of a child of the agent's call, its share of it, with a line where it is a repeated one. */
struct str child_text(struct deciding *d, const struct agent *agent, const struct call *call,
                      const struct agent *child, const struct ending *ending);
/* How a child that has ended did. */
struct ending ending_of(const struct agent *child);
/* A child of this agent by the id that the model knows, or NULL with err. */
const struct agent *child_named(const struct deciding *d, const struct agent *agent, struct str id,
                                struct err *err);

#endif
