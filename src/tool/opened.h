/* Which files of the read paths a program read: those that were opened for reading and closed while it ran, as the kernel tells
 * (inotify, one watch for each directory). What ignore rules leave out is not watched. Nothing is known where there are too many
 * directories or files, or where the machine gives no watches.
 *
 * Blocks on the file system, so never on the loop thread. */
#ifndef CADRE_TOOL_OPENED_H
#define CADRE_TOOL_OPENED_H

#include "port/tool.h"

#define OPENED_DIRECTORIES_MAX 8192
#define OPENED_FILES_MAX 1000 /* that are told */

struct opened;

/* From here on. NULL: nothing can be known. */
struct opened *opened_watch(const struct tool_context *context);
/* Adds what was read since to the result's files. */
void opened_tell(struct opened *opened, const struct tool_context *context,
                 struct tool_result *result);
void opened_free(struct opened *opened); /* NULL is fine */

#endif
