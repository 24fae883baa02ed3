/* The checks of a contract: commands that must succeed before an agent's work counts as done. */
#ifndef CADRE_TOOL_CHECKS_H
#define CADRE_TOOL_CHECKS_H

#include "port/tool.h"

/* tool_port's `check`. */
enum tool_checks checks_run(const struct tool_context *context, const struct js *checks,
                            struct tool_result *result, struct buf *evidence);

#endif
