/* Showing a file in numbered pages, for the tools that do. */
#ifndef CADRE_TOOL_READ_H
#define CADRE_TOOL_READ_H

#include "os/scope.h"
#include "port/tool.h"

/* Shows a page of an opened file as the arguments "offset" and "limit" say, or makes the
 * result an error. The file stays the caller's. */
void read_show(const struct tool_context *context, const struct scope_file *file,
               const struct js *arguments, struct tool_result *result);

#endif
