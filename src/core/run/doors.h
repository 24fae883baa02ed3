/* The core's own tools as a model sees them, delegation and ask_user: description and schema. No adapter runs them. */
#ifndef CADRE_CORE_RUN_DOORS_H
#define CADRE_CORE_RUN_DOORS_H

#include "core/contract/contract.h"

struct door_ops;

/* A schema may hold $ROLES, $PROFILES and $AGENTS, in the place of a member: door_schema_print puts what the caller may name. */
struct door_tool {
    const char *name, *description, *schema;
    const struct door_ops *ops;
};

extern const struct door_tool door_tools[];
extern const size_t door_tool_count;
/* Appends the schema as the agent with this contract sees it. */
void door_schema_print(const struct door_tool *door, const struct settings *settings,
                       const struct contract *contract, struct buf *out);
const struct door_tool *door_tool_find(struct str name); /* NULL: no such door */
/* Whether the door is any use to the agent with this contract. An agent that can never look at a
 * child while the child is open has no use for agent_send, for example. */
bool door_is_useful(const struct door_tool *door, const struct settings *settings,
                    const struct contract *contract);

#endif
