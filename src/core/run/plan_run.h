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
    struct str
        warnings; /* a line for each thing that was made of the planner's answer and may not be meant; empty: none */
    struct step_state *states;
    struct str *reasons; /* of each step: why it failed, was denied or skipped */
    struct str *offered; /* of each step: hash of what its question shows; empty: none yet */
    int64_t version;     /* grows with each round of findings */
};

/* plan_steps.c: how far the steps are. */
/* The child of the call for an item, or NULL; and the agent, NULL also where it was refused. */
const struct call_child *call_item(const struct call *call, int64_t item);
const struct agent *call_item_agent(const struct run *run, const struct call *call, int64_t item);
/* Whether a step or a review was done. One that ran out of budget before it used a tool was not, whatever it says in its last turn: that
 * a child without money counts as completed is for those who read what it says. */
bool plan_child_worked(const struct agent *child);
struct str plan_child_error(const struct agent *child); /* of one that did not */
/* Settles what ended. */
void plan_steps_settle(struct deciding *d, const struct agent *agent, const struct call *call);
/* The same, and starts or asks about what may start now. */
void plan_steps_advance(struct deciding *d, const struct agent *agent, const struct call *call);
/* Logs a step's new status ("approved": it may start), and why; STR_NONE: no reason. */
void plan_step_is(struct deciding *d, const struct agent *agent, const struct call *call,
                  size_t step, const char *status, struct str reason);
/* The same for a person's yes; shown: hash of what that person saw, or STR_NONE. */
void plan_step_approved(struct deciding *d, const struct agent *agent, const struct call *call,
                        size_t step, struct str shown);
/* The first child whose work waits to be merged and is needed by a step that waits for nothing else; NULL: there is none. */
const struct agent *plan_needs_merged(const struct run *run, const struct agent *agent);
/* What a person who is asked about the step should know, as JSON: the step itself, and what its agent would be bound by. Appends. */
void plan_step_terms(const struct run *run, const struct agent *agent, const struct call *call,
                     size_t step, struct buf *out);
/* The agent's call and step that a question is about; NULL: no such step waits for an answer. */
const struct call *plan_step_asked(const struct agent *agent, struct str id, size_t *step);
/* Puts the questions again that were open before a crash. */
void plan_ask_again(struct deciding *d, const struct agent *agent, const struct call *call);

/* plan_text.c: what the call says. Appends. */
/* The answer of the whole: seed 004's parts, and what was not done and why. */
void plan_answer_text(const struct run *run, const struct call *call, struct buf *out);

/* plan_review.c: reviews of what was merged. */
/* The task of the child that reviews. Appends. */
void plan_review_task(const struct run *run, const struct call *call, struct buf *out);
/* The findings of a review, as further steps of the plan, whose own end at `count`; how many were added behind them. */
size_t plan_findings(struct arena *arena, struct str review, int64_t round, struct plan *plan);
/* The last review that there was, or NULL. */
const struct agent *plan_last_review(const struct run *run, const struct call *call);
/* The agent is a plan's reviewer whose answer has no verdict, and it was told so: it is to answer again. Once. */
bool plan_verdict_asked(struct deciding *d, const struct agent *agent);
/* How the plan as it stands fared. Well is also where config wants no review. */
enum reviewed {
    REVIEWED_WELL,
    REVIEWED_NOT, /* there was none, it was not done, has no verdict, or something was changed after it */
    REVIEWED_OPEN /* it did not approve, or found something */
};
enum reviewed plan_reviewed(const struct run *run, const struct call *call);

/* door_plan.c */
/* Why the plan's result is not what was asked for; empty: it is. */
struct str plan_problem(const struct run *run, const struct call *call);
/* An answer to a question about a step: true where the id names one. */
enum step_answer { STEP_DENIED, STEP_ALLOWED };
bool plan_approve(struct deciding *d, const struct agent *agent, struct str id,
                  enum step_answer answer, struct str shown);
void plan_overdue(struct deciding *d, const struct agent *agent); /* nobody approved in time */
/* A child waits to be merged and holds no slot any more: another step may start. */
void plan_leaving(struct deciding *d, const struct agent *child);

#endif
