/* Definitions as universal-ctags sees them. It runs in the sandbox, behind walls that let it read
 * what the call may read and change nothing; nothing that a repository holds configures it. Runs on
 * a thread that may wait. */
#ifndef CADRE_TOOL_CTAGS_H
#define CADRE_TOOL_CTAGS_H

#include "base/err.h"
#include "port/tool.h"

#define CTAGS_FILES_MAX 1000

typedef void ctags_found(void *user, struct str path, int64_t line, struct str kind);

/* Tells every definition of name in these files (from the scope's root, at most CTAGS_FILES_MAX).
 * -1 with the reason where ctags cannot be run; it may have told some by then. */
NODISCARD int ctags_find(const struct tool_context *context, const struct str *paths, size_t count,
                         struct str name, ctags_found *found, void *user, struct err *err);

#endif
