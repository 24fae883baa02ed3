/* The table of all tools in this build. A new tool is one file and one line in table.h. */
#include "tool/table.h"

const struct tool *const tool_table[] = {
#define X(name) &tool_##name,
    TOOLS(X)
#undef X
};
const size_t tool_count = sizeof tool_table / sizeof tool_table[0];

const struct tool *tool_find(struct str name)
{
    for (size_t i = 0; i < tool_count; i++)
        if (str_is(name, tool_table[i]->name))
            return tool_table[i];
    return NULL;
}
