/* A world for one run, without a machine: virtual time, seeded chance, a store in memory that loses what was not committed, models that
 * answer at random and go through every door, files that count their writes. It drives the engine's own pump, so what holds here holds
 * there.
 *
 * Everything is a function of the seed and the plan: a failure is repeated with SIM_SEED=n. */
#ifndef CADRE_TESTS_SIM_WORLD_H
#define CADRE_TESTS_SIM_WORLD_H

#include "engine/pump.h"

struct world;

struct world_plan {
    uint64_t seed;
    int64_t crash_after;    /* crash right after this many commits; 0: never */
    int64_t crash_every;    /* and then again with this chance in 1000 after each commit */
    int64_t max_concurrent; /* 0: any number */
    int64_t delegate_concurrency;
    int64_t token_limit;     /* of the root; UNLIMITED */
    int64_t fault_permille;  /* of model answers that fail */
    int64_t cancel_permille; /* chance that somebody cancels */
    int64_t cancel_at;       /* somebody cancels after this many steps; 0: nobody does */
    int64_t depth, retries;
    int64_t root_ms, child_ms, attempt_ms; /* deadlines */
    int64_t window;                        /* of the model, in tokens */
    int64_t true_window;                   /* of its server; 0: as the settings say */
    enum {
        CRASH_LOSES_QUEUE,
        CRASH_KEEPS_QUEUE
    } crash_kind; /* whether what was queued for the journal had been committed */
    enum { CHILDREN_CLOSED, CHILDREN_HELD } holding; /* when they are done */
    enum {
        WATCHED_BY_NOBODY,
        WATCHED_AT_A_TERMINAL,
        WATCHED_BY_INBOX
    } watched; /* who answers questions, when the run starts */
    enum {
        PLAN_BOLD,
        PLAN_CAREFUL
    } care; /* CAREFUL: mode safe, which asks before files are changed */
    enum { PLAN_WALLED, PLAN_OPEN } walls;
    enum {
        RESULTS_ONCE,
        RESULTS_REUSED,
        RESULTS_REPEATED /* REUSED, and models ask for the same again and again and change nothing */
    } results;
    enum {
        ISOLATED_NOBODY,
        ISOLATED_CHILDREN, /* as in a chat: the root works in the user's files */
        ISOLATED_ALL,
        ISOLATED_IN_PLACE /* where there is no repository: the root asks for a tree and works in place */
    } isolation;
    int64_t idle_ms; /* after which silent effects are told; 0: never */
    /* The provider cannot be reached now and then, sometimes for longer than patience lasts. Somebody may park the run. */
    enum { OUTAGES_NEVER, OUTAGES_HAPPEN } outages;
    /* The machine is suspended now and then, for up to some hours. */
    enum { SLEEPS_NEVER, SLEEPS_HAPPEN } sleeps;
    /* The owner is stopped now and then, goes on later, and another process may have taken the run over meanwhile. */
    enum { STOPS_NEVER, STOPS_HAPPEN } stops;
    /* Somebody sets the wall clock between two owners. */
    enum { CLOCK_IS_RIGHT, CLOCK_IS_SET } clock;
};

/* What happened how often, by committed events. */
enum sighting {
    SEEN_MASKED,
    SEEN_COMPACTED,
    SEEN_FALLBACK,
    SEEN_RETRY, /* another attempt of a child */
    SEEN_REFUSED_ITEM,
    SEEN_AWAITING,
    SEEN_HELD, /* calls of a long reply */
    SEEN_STEERED,
    SEEN_JOINING,
    SEEN_DROPPED, /* a child that was held and given up */
    SEEN_MERGED,  /* or taken */
    SEEN_TIMEOUT,
    SEEN_SPAWN_AGENT,
    SEEN_SPAWN,
    SEEN_SPAWN_AWAIT,
    SEEN_FAN_OUT,
    SEEN_DELEGATE_TASK,
    SEEN_STATUS,
    SEEN_SEND,
    SEEN_CANCEL,
    SEEN_RESULT,
    SEEN_MERGE,
    SEEN_DELEGATE,
    SEEN_PLAN,
    SEEN_STEP, /* that was completed */
    SEEN_PAUSED,
    SEEN_GOES_ON, /* somebody said so */
    SEEN_IDLE,
    SEEN_REUSED,
    SEEN_REUSED_TASK,    /* for a task of fan_out */
    SEEN_REUSED_PLANNER, /* for a plan's planner */
    SEEN_CORRECTED,      /* an answer that did not match its schema */
    SEEN_MISMATCH,       /* and one that never did */
    SEEN_UNMADE,         /* a tree that could not be had */
    SEEN_TREE_AGAIN,
    SEEN_TREE_MERGED,
    SEEN_MERGED_LATER, /* not when it was done: its turn had not come */
    SEEN_OUT_OF_TURN,  /* before one that comes first, because a step waited for nothing else */
    SEEN_CONFLICT,
    SEEN_MERGE_STOPPED,
    SEEN_KEPT,
    SEEN_LONG_ANSWER, /* one that took longer than the silence it may have */
    SEEN_LONG_TOOL,
    SEEN_STALLED,  /* an answer that stopped half way, under a limit that nobody set */
    SEEN_OVERFLOW, /* a request that was too long for the server */
    SEEN_OUTAGE,
    SEEN_PARKED,
    SEEN_UNRESOLVED, /* a provider that never answered ended as an error */
    SEEN_HELD_BACK,  /* a request that waited for admission */
    SEEN_CLOCK_STANDS,
    SEEN_SLEPT,
    SEEN_CHILD_ASKED, /* somebody was asked about a child's call */
    SEEN_GRANTED,
    SEEN_REFUSED, /* a call that would have had to be asked for, and nobody was there */
    SEEN_OVERDUE, /* a question that nobody answered in time */
    SEEN_STOPPED, /* an owner that was stopped and is still the owner */
    SEEN_UNSURE,  /* and had to ask the store before it went on */
    SEEN_TAKEN_OVER,
    SEEN_STALE_HELD, /* an owner that was taken over would have started something */
    SEEN_SET_BACK,   /* the wall clock, behind what the log says */
    SIGHTINGS
};

struct world_result {
    int64_t slept_crashes; /* of an owner that had slept */
    int64_t commits, crashes, events, children, closes, requests, replayed;
    int64_t steps;
    int64_t cancel_steps; /* between the cancel at `cancel_at` and the end; 0: ended before */
    int64_t seen[SIGHTINGS];
    int64_t deepest; /* level of the deepest child */
    enum run_status status;
    enum { WORLD_ENDED, WORLD_STUCK, WORLD_TOO_LONG } how;
    char problem[1024];
};

void world_run(const struct world_plan *plan, struct world_result *result);

#endif
