/* What may start when. Questions about a plan and how far its steps are; nothing here changes a state, starts a child or keeps
 * time. The answers depend on nothing but plan and states, so a run that is folded from its log decides as the first one did.
 *
 * Rules: a step starts when all its prerequisites are completed, which means integrated; when it has the approval that it needs;
 * when no step in progress may change the same places; and when there is a slot. Where several could start and not all can, the
 * one goes first from which the longest way leads to the end; where that is equal, the one that stands first. What failed or was
 * skipped skips all that depends on it, and nothing else.
 *
 * Steps that are in progress at once own different places, so their merges commute; `order` says which of several that wait to be
 * merged goes first.
 *
 * Pure; any thread. */
#ifndef CADRE_CORE_PLAN_SCHEDULE_H
#define CADRE_CORE_PLAN_SCHEDULE_H

#include "core/plan/plan.h"

/* How far a step is. One for each, in the plan's order. */
struct step_state {
    enum step_status status;
    enum { APPROVAL_OPEN, APPROVAL_GRANTED } approval; /* of a step that needs one */
};

/* What follows from the plan alone, worked out once. Belongs to the arena, and refers to the plan. */
struct schedule {
    const struct plan *plan;
    size_t *order; /* integration order: prerequisites first, else as the plan has them */
    size_t *rank;  /* of each step: its place in `order` */
    /* Of each step: calls from its start to the plan's end, along the longest way. */
    int64_t *remains;
    unsigned char *overlap; /* count × count: 1 where both may change the same place */
};

void schedule_init(struct schedule *schedule, struct arena *arena, const struct plan *plan);
/* As the plan was written. What was in progress or blocked then is pending again. */
void schedule_states(const struct plan *plan, struct step_state *states);
bool schedule_overlaps(const struct schedule *schedule, size_t a, size_t b);

/* Each fills out (room for plan->count) with indexes of steps, in integration order unless it says otherwise, and returns how
 * many. */

/* That may start now, all of them at once, first the most urgent: at most `slots` of them. */
size_t schedule_ready(const struct schedule *schedule, const struct step_state *states,
                      size_t slots, size_t *out);
/* Pending, with all prerequisites completed, and nobody was asked for the approval that they need. They become blocked. */
size_t schedule_to_ask(const struct schedule *schedule, const struct step_state *states,
                       size_t *out);
/* Pending or blocked, and can never start, because something that they depend on, directly or not, failed or was skipped. */
size_t schedule_to_skip(const struct schedule *schedule, const struct step_state *states,
                        size_t *out);
/* Nothing is pending, in progress or blocked any more. */
bool schedule_is_over(const struct schedule *schedule, const struct step_state *states);
/* The longest way through the plan, in order; *calls is its length (plan_step_calls). */
size_t schedule_critical_path(const struct schedule *schedule, size_t *out, int64_t *calls);

#endif
