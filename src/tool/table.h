/* One line per tool: each is defined in the file of its name. */
#ifndef CADRE_TOOL_TABLE_H
#define CADRE_TOOL_TABLE_H

#include "port/tool.h"

extern const struct tool tool_read;
extern const struct tool tool_ls;
extern const struct tool tool_grep;
extern const struct tool tool_write;
extern const struct tool tool_edit;
extern const struct tool tool_multi_edit;
extern const struct tool tool_delete;

#endif
