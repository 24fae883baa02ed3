/* Private to core/run: a plan that a call carries out, as state. Only apply_plan.c changes it. Strings live in the agent's history. */
#ifndef CADRE_CORE_RUN_PLAN_RUN_H
#define CADRE_CORE_RUN_PLAN_RUN_H

#include "core/plan/schedule.h"
#include "core/run/door.h"

/* Which of a plan call's children is not a step: its item. Steps have their index. */
#define ITEM_PLANNER (1 << 20)
#define ITEM_REVIEWER (ITEM_PLANNER + 1) /* and the round: 0 is the first */

struct plan_run {
    struct plan plan;
    struct schedule schedule;
    struct step_state *states;
    struct str *reasons; /* of each step: why it failed, was denied or skipped */
    int64_t version;     /* grows with each round of findings */
    size_t first_count;  /* steps of the first version */
};

/* The child of the call for an item, or NULL. */
const struct call_child *call_item(const struct call *call, int64_t item);

/* plan_text.c: what the call says. Appends. */
/* The answer of the whole: seed 004's parts, and what was not done and why. */
void plan_answer_text(const struct run *run, const struct call *call, struct buf *out);
/* The task of the child that reviews what was merged. */
void plan_review_task(const struct run *run, const struct call *call, struct buf *out);
/* The findings of a review, as plan steps; how many were added to `steps`, which has room for `room`. */
size_t plan_findings(struct arena *arena, struct str review, int64_t round, struct plan_step *steps,
                     size_t room);
bool plan_worked(const struct plan_run *plan); /* every step is completed */

/* door_plan.c */
/* An answer to a question about a step: true where the id names one. */
bool plan_approve(struct deciding *d, struct agent *agent, struct str id, bool yes);
void plan_overdue(struct deciding *d, struct agent *agent); /* nobody approved in time */
/* The agent is being stopped: a plan that only waits for approvals has nothing left that would end it. */
void plan_stop(struct deciding *d, struct agent *agent);
void plan_ask_again(struct deciding *d, const struct agent *agent, const struct call *call);

#endif
