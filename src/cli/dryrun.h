/* What a plan would start, and the most that it may cost: contracts as a run would derive them, and nothing is started. */
#ifndef CADRE_CLI_DRYRUN_H
#define CADRE_CLI_DRYRUN_H

#include "cli/command.h"
#include "cli/wire.h"
#include "core/plan/plan.h"

/* plan: the steps, or NULL where a planner would make them from the goal first: then only the planner is known. */
enum exit_code dryrun_show(struct invocation *invocation, struct wire *wire, struct str goal,
                           const struct plan *plan);

#endif
