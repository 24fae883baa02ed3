/* The words: what a planner is asked, what a step's child is told to do, and what it is told of the steps before it. Texts that come
 * from a plan or from another child's answer are data: they are mended to valid UTF-8, and the marks around them cannot be imitated
 * within them.
 *
 * Pure, byte-stable; any thread. */
#ifndef CADRE_CORE_PLAN_PROMPT_H
#define CADRE_CORE_PLAN_PROMPT_H

#include "core/plan/plan.h"

/* The task of the planner: the goal, what a plan looks like, and the rules that it must keep. */
void plan_prompt_planner(struct str goal, struct buf *out);

/* The task of a step's child: the goal, its step, the success criteria, and which paths are its own. */
void plan_prompt_step(const struct plan *plan, size_t step, struct buf *out);

/* What a finished prerequisite said. */
struct step_said {
    size_t step; /* index */
    struct str response;
};

/* What its prerequisites said, in the order given; nothing where there are none. The responses have at most `bytes` together: a short
 * one leaves room for the others, and what is cut says so. */
void plan_prompt_results(const struct plan *plan, const struct step_said *said, size_t count,
                         size_t bytes, struct buf *out);

#endif
