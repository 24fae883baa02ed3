/* What a plan may cost before anything is spent, and how a run's budget is shared among its steps.
 *
 * The most that a step may cost follows from its contract: a request carries at most its context and is answered with at most its
 * output limit, and there are at most as many as it has turns, or calls and two more (the answer, and the last turn).
 * Requests that fail and are sent again, and summaries of a conversation that grew too long, are not counted; a limit in dollars
 * or tokens is, and holds whatever happens.
 *
 * Shares: each step gets its part of the budget by weight. What a finished step did not use goes to those that have not started;
 * what is in progress keeps the share that its contract says.
 *
 * Pure, saturating; any thread. */
#ifndef CADRE_CORE_PLAN_ESTIMATE_H
#define CADRE_CORE_PLAN_ESTIMATE_H

#include "core/contract/contract.h"
#include "core/plan/plan.h"

struct estimate {
    int64_t calls; /* UNLIMITED: nothing bounds it; the same for the others */
    int64_t requests;
    int64_t tokens;    /* that enter or leave, each counted once */
    int64_t cost_nano; /* UNLIMITED also where the model's prices are not known */
};

/* model: the one that the contract names. */
void estimate_step(const struct contract *contract, const struct model_settings *model,
                   struct estimate *out);
/* Of both; UNLIMITED where one is. */
void estimate_add(struct estimate *sum, const struct estimate *step);
/* No more than the run's own budget. */
void estimate_within(struct estimate *sum, const struct limits *limits);

/* One step's part of a budget. */
struct share {
    int64_t weight; /* estimated calls; 1 to 1000000 counts */
    enum {
        SHARE_WAITS, /* has not started: amount is set */
        SHARE_RUNS,  /* amount is what its contract says */
        SHARE_ENDED, /* amount is what it spent; of a skipped step 0 */
    } state;
    int64_t amount;
};

/* Sets the amounts of those that wait: what is left of total, by weight, to the last unit. Nothing where nothing is left, UNLIMITED
 * where the total is. */
void estimate_share(int64_t total, struct share *shares, size_t count);

#endif
