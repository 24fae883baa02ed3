/* The delegation tools as a model sees them: description and schema. They are the core's own; no adapter runs them. */
#ifndef CADRE_CORE_RUN_DOORS_H
#define CADRE_CORE_RUN_DOORS_H

#include "base/str.h"

struct door_tool {
    const char *name, *description, *schema;
};

extern const struct door_tool door_tools[];
extern const size_t door_tool_count;
const struct door_tool *door_tool_find(struct str name); /* NULL: no such door */

#endif
