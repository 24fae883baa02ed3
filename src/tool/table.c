/* The table of all tools in this build. A new tool is one file and one line here. */
#include "tool/table.h"

const struct tool *const tool_table[] = {
    &tool_read, &tool_ls, &tool_grep, &tool_write, &tool_edit, &tool_multi_edit, &tool_delete,
};
const size_t tool_count = sizeof tool_table / sizeof tool_table[0];

const struct tool *tool_find(struct str name)
{
    for (size_t i = 0; i < tool_count; i++)
        if (str_is(name, tool_table[i]->name))
            return tool_table[i];
    return NULL;
}
