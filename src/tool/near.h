/* Help for a path that does not exist: names in its directory that look like the one that was
 * asked for. */
#ifndef CADRE_TOOL_NEAR_H
#define CADRE_TOOL_NEAR_H

#include "base/err.h"
#include "port/tool.h"

/* Makes the result an error: err's message and, where the directory may be read, near names.
 * Returns -1. */
int near_fail(const struct tool_context *context, struct str path, const struct err *err,
              struct tool_result *result);
/* Edits (insert, remove, replace, ASCII case ignored) between two names of at most NEAR_NAME
 * bytes; more than that: SIZE_MAX. */
#define NEAR_NAME 96
size_t near_distance(struct str a, struct str b);

#endif
