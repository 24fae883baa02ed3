/* What a step asks of the contract: the same request for the child that is started and for the one that a dry run only prices.
 *
 * Pure; any thread. */
#ifndef CADRE_CORE_PLAN_REQUEST_H
#define CADRE_CORE_PLAN_REQUEST_H

#include "core/contract/contract.h"
#include "core/plan/plan.h"

#define PLAN_REVIEW_CALLS 10 /* that a review takes, for its part of the budget */

/* Fills in all but what depends on the run: the budget that is left. Views of the plan and of task; lists belong to the arena. */
void plan_step_request(struct arena *arena, const struct plan *plan, size_t step, struct str task,
                       struct delegation *out);
/* The same for the child that makes a plan, and for one that reviews what was merged. */
void plan_planner_request(struct str task, struct delegation *out);
void plan_reviewer_request(const struct plan *plan, struct str task, struct delegation *out);

#endif
