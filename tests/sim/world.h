/* A world for one run, without a machine: virtual time, seeded chance, a store in memory that loses what was not committed, a model that
 * answers at random, files that count their writes. It drives the engine's own pump, so what holds here holds there.
 *
 * Everything is a function of the seed and the plan: a failure is repeated with SIM_SEED=n. */
#ifndef CADRE_TESTS_SIM_WORLD_H
#define CADRE_TESTS_SIM_WORLD_H

#include "engine/pump.h"

struct world;

struct world_plan {
    uint64_t seed;
    int64_t crash_after; /* crash right after this many commits; 0: never */
    int64_t crash_every; /* and then again with this chance in 1000 after each commit */
    int64_t max_concurrent;
    int64_t token_limit;     /* of the root; UNLIMITED */
    int64_t fault_permille;  /* of model answers that fail */
    int64_t cancel_permille; /* chance that somebody cancels */
    int64_t depth;
    int64_t window; /* of the model, in tokens */
    enum {
        CRASH_LOSES_QUEUE,
        CRASH_KEEPS_QUEUE
    } crash_kind; /* whether what was queued for the journal had been committed */
};

struct world_result {
    int64_t commits, crashes, events, children, closes, requests, replayed, masked, compacted,
        fallbacks;
    int64_t double_writes; /* calls whose change was applied more than once */
    int64_t early_effects; /* costly or outward effects before their intent was durable */
    int64_t over_slots, over_budget, not_within, illegal_edges;
    int64_t lost_events;  /* acknowledged and gone */
    int64_t open_flights; /* under way when the run had ended */
    int64_t twice_taken;  /* inbox messages consumed twice */
    enum run_status status;
    enum { WORLD_ENDED, WORLD_STUCK, WORLD_TOO_LONG, WORLD_BUG } how;
    char problem[1024];
};

void world_run(const struct world_plan *plan, struct world_result *result);

#endif
