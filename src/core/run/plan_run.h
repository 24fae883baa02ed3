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
};

/* plan_steps.c: how far the steps are. */
/* The child of the call for an item, or NULL; and the agent, NULL also where it was refused. */
const struct call_child *call_item(const struct call *call, int64_t item);
const struct agent *call_item_agent(const struct run *run, const struct call *call, int64_t item);
/* Settles what ended, and starts or asks about what may start now. */
void plan_steps_advance(struct deciding *d, struct agent *agent, struct call *call);
/* Logs a step's new status ("approved": it may start), and why; STR_NONE: no reason. */
void plan_step_is(struct deciding *d, const struct agent *agent, const struct call *call,
                  size_t step, const char *status, struct str reason);
/* The first child whose work waits to be merged and is needed by a step that waits for nothing else; NULL: there is none. */
struct agent *plan_needs_merged(const struct run *run, const struct agent *agent);
/* What is asked names the step: the call's id, a dot and the step's place. */
struct str plan_question_id(struct arena *arena, const struct call *call, size_t step);
/* Puts the questions again that were open before a crash. */
void plan_ask_again(struct deciding *d, const struct agent *agent, const struct call *call);

/* plan_text.c: what the call says. Appends. */
/* The answer of the whole: seed 004's parts, and what was not done and why. */
void plan_answer_text(const struct run *run, const struct call *call, struct buf *out);

/* plan_review.c: reviews of what was merged. */
/* How far the reviews are with the plan as it stands: where config wants none, it needs none. */
enum review_end {
    REVIEW_NOT_WANTED,
    REVIEW_NOT_DONE, /* it did not start or did not end as it should, or something was changed behind it */
    REVIEW_IN_WORDS, /* without a verdict */
    REVIEW_APPROVED,
    REVIEW_REFUSED /* there are open findings, or it says that it does not approve */
};
enum review_end plan_review_end(const struct run *run, const struct call *call);
/* The last review that there was, or NULL. */
const struct agent *plan_last_review(const struct run *run, const struct call *call);
/* The task of the child that reviews what was merged. Appends. */
void plan_review_task(const struct run *run, const struct call *call, struct buf *out);
/* What a review's answer means, and the verdict in words: its summary and the findings' titles. Appends nothing where it has none. */
enum review_end plan_verdict(struct str review, struct buf *out);
/* The findings of a review, as further steps of the plan, whose own end at `count`; how many were added behind them. */
size_t plan_findings(struct arena *arena, struct str review, int64_t round, struct plan *plan);

/* door_plan.c */
/* An answer to a question about a step: true where the id names one. */
enum step_answer { STEP_DENIED, STEP_ALLOWED };
bool plan_approve(struct deciding *d, struct agent *agent, struct str id, enum step_answer answer);
void plan_overdue(struct deciding *d, struct agent *agent); /* nobody approved in time */
/* The agent is being stopped: a plan that only waits for approvals has nothing left that would end it. */
void plan_stop(struct deciding *d, struct agent *agent);

#endif
