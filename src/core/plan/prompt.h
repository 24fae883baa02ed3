/* The words: what a planner is asked, what a step's child is told, and what the child that reviews the whole is told. Texts that
 * come from a goal, a plan or another child's answer are data: they are mended to valid UTF-8 and cut to their share, and a marker
 * of ours cannot be imitated within them.
 *
 * Pure, byte-stable; any thread. */
#ifndef CADRE_CORE_PLAN_PROMPT_H
#define CADRE_CORE_PLAN_PROMPT_H

#include "core/plan/plan.h"

/* The task of the planner child: the goal, what a plan looks like, and the limits that it must keep. */
void plan_prompt_planner(struct str goal, struct buf *out);

/* What a finished prerequisite said. */
struct step_said {
    size_t step; /* index */
    struct str response;
};

/* The task of a step's child: the goal, the step, its success criteria, what it owns, and what its prerequisites said, all of them
 * together within result_bytes, each at most an equal share of what the shorter ones leave. */
void plan_prompt_step(const struct plan *plan, size_t step, const struct step_said *said,
                      size_t said_count, size_t result_bytes, struct buf *out);

#endif
