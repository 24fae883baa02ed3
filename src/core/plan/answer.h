/* A planner's answer becomes a plan, whatever it looks like: plain JSON, in a code fence, inside prose; an object with steps or a
 * list of them; with the names that planners use for things (seed 004's and their spellings). What cannot be used is left out with
 * a warning; an answer without any steps becomes one step that has the goal as its task.
 *
 * Prerequisites may be named by id, by title or by number: "2", "step 2", "#2". Numbers count from 1, unless one of them is 0.
 * Steps that depend on each other in a circle run one after the other, as written.
 *
 * Pure; any thread. All views belong to the arena given. */
#ifndef CADRE_CORE_PLAN_ANSWER_H
#define CADRE_CORE_PLAN_ANSWER_H

#include "core/plan/plan.h"

#define ANSWER_BYTES_MAX (256 << 10) /* of an answer; the rest is not looked at */

/* The plan is always a valid one: plan_parse accepts what plan_print prints of it, and that has at most PLAN_BYTES_MAX bytes. The goal is what the planner was asked; where
 * that is empty, the answer's own. */
void answer_read(struct arena *arena, struct str answer, struct str goal, struct plan *out,
                 struct problems *warnings);

#endif
