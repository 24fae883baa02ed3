/* Private to the simulator: the world's state, and what its files share. world.c, sleep.c and stop.c move time, model.c, plan.c, tools.c and
 * disk.c answer, invariants.c looks at the run after every step, ledger.c, time_ledger.c, tree_ledger.c and plan_ledger.c at every event
 * that was committed. */
#ifndef CADRE_TESTS_SIM_INSIDE_H
#define CADRE_TESTS_SIM_INSIDE_H

#include "chance.h"
#include "memory_store.h"
#include "world.h"

/* Of the answers of planners, reviewers and the profile "counter". */
#define SIM_SCHEMA                                                                                 \
    "{\"type\":\"object\",\"required\":[\"n\"],\"properties\":{\"n\":{\"type\":\"integer\"}}}"
#define SIM_RUN "01SIMULATEDSIMULATEDSIMULA"
#define FILES 8
#define MESSAGES_MAX 256
#define AGENTS_MAX 1024     /* that the ledger follows */
#define CALLS_PER_REPLY 256 /* more than any simulated model makes */
#define CHILDREN_ENOUGH 120 /* simulated models start no more when a run has so many agents */
#define CALLS_MANY 255      /* in one reply, seldom: they start a part at a time */

struct pending {
    int64_t at;
    uint64_t order;
    /* SILENCE: the effect has shown no sign of life; QUESTION: a person answers. */
    enum {
        PENDING_ANSWER,
        PENDING_COMMIT,
        PENDING_MESSAGE,
        PENDING_SILENCE,
        PENDING_QUESTION,
        PENDING_PARK,
        PENDING_HELD, /* the request of the effect waits for admission, or (ADMITTED) no longer */
        PENDING_ADMITTED,
        PENDING_SLEEP, /* the machine is suspended, and (WAKE) the owner notices it */
        PENDING_WAKE,
        PENDING_STOP,     /* the owner is stopped */
        PENDING_RENEW,    /* the store answers that the run is still its owner's */
        PENDING_CONTINUE, /* an owner that was taken over goes on */
    } kind;
    struct effect effect; /* of an answer, a silence or a question; strings owned */
    char strings[1024];
    int aborted;
};

/* What the committed events say about one child. */
struct child_record {
    char status[24];
    uint32_t parent_no;
    int64_t closes;
    int64_t unseen; /* messages that were sent to it and that it was not told yet */
    uint64_t began; /* seq of its last attempt */
};

/* What they say about the tree of one agent. */
struct tree_record {
    uint32_t parent_no;
    int64_t step;
    bool isolates, held, awaited;
    bool there, leaving;
    bool fresh;       /* made, and not worked in yet */
    uint32_t merging; /* the child that is being merged into it; 0: none is */
};

#define PLAN_RECORDS 16
#define RECORDED_STEPS 64

/* What they say about a plan that a call of the root carries out. */
struct plan_record {
    char call[32];
    size_t count;
    struct {
        uint64_t needs; /* a bit for each step */
        bool waits, completed;
        uint32_t child; /* 0: none yet */
    } steps[RECORDED_STEPS];
};

/* The files of one agent, where it has its own. */
struct disk_tree {
    enum { DISK_ABSENT, DISK_MADE, DISK_GONE } state;
    enum { DISK_MERGED, DISK_CONFLICT, DISK_BROKEN, DISK_STOPPED, DISK_KEPT } end; /* how it went */
    uint64_t base[FILES], files[FILES]; /* content numbers */
    int merges;
};

/* The time limits of one child, and since when they hold. */
struct time_record {
    int64_t whole_ms, attempt_ms, silence_ms, started_at;
    int64_t unowned_before; /* the run's, when it started */
    char asked[32];         /* the call or the pause about which somebody is asked; empty: none */
    int64_t asked_at;       /* in time that somebody owned */
    int64_t asked_ms;       /* in all, since it started */
};

/* The present owner's sleeps. Its time is wall time less all of them, and world.now is that time. */
struct sleep_record {
    int64_t slept, told;
    int64_t durable;   /* what committed events tell; the lease is renewed only after that */
    int64_t asleep_at; /* wall time: when the first sleep began that they do not tell */
};

/* Owners that are stopped. */
struct stop_record {
    bool unsure, asked; /* the last renewal is old; the store was asked */
    struct pump *stale; /* of a process that was stopped when another took the run over; owned */
    uint64_t stale_seq; /* what was committed of its log */
    struct batch *fenced[4096]; /* that it would have written; owned */
    size_t fenced_count;
};

struct world {
    struct world_plan plan;
    struct world_result *result;
    struct chance chance;
    struct memory_store store;
    struct pump *pump;
    int64_t now;
    uint64_t order, epoch;
    struct pending **pending; /* owned */
    size_t pending_count, pending_capacity;
    struct batch *queue[4096];
    size_t queue_count;
    bool commit_pending;
    int64_t inbox_taken; /* highest consumed, by committed events */
    struct {
        int64_t step, at; /* when somebody cancelled, as the plan has it; step 0: not yet */
        uint64_t epoch;
        int64_t steps_most; /* within which the run must end */
    } cancelled;
    int64_t inbox_next;
    struct {
        int64_t id;
        char kind[16];
        struct str body;
    } inbox[MESSAGES_MAX];
    size_t inbox_count;
    struct str start_body;
    struct arena arena;
    struct {
        char call[32];
        int64_t applied;
    } writes[4096];
    size_t write_count;
    uint64_t files[FILES]; /* the user's: content numbers */
    struct disk_tree disk[AGENTS_MAX];
    struct tree_record trees[AGENTS_MAX];
    struct plan_record plans[PLAN_RECORDS];
    uint64_t waited_seq; /* of the last agent.subagent_waiting_for_merge */
    uint64_t acknowledged;
    int64_t down_until; /* the provider cannot be reached before */
    int64_t flights;    /* answers still to come, of the living process */
    int64_t children_asking;
    uint32_t within_checked;
    struct child_record children[AGENTS_MAX];
    struct time_record times[AGENTS_MAX];
    struct sleep_record sleep;
    struct stop_record stop;
    /* By committed events: how long nobody owned the run, how long its last owner slept, and the time of the last event. */
    int64_t unowned, owner_slept, last_ts;
    uint64_t changed; /* seq of the last event after which what was read before is old */
    struct call_record {
        uint8_t requested, finished;
        enum sighting door; /* of a delegation */
    } * calls;              /* owned; by the seq of the reply, then the place in it */
    size_t calls_capacity;
};

/* As the start message and resumes say it. */
const char *watched_text(const struct world_plan *plan);
const char *walls_text(const struct world_plan *plan);

/* The first problem is kept. */
void wrong(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* world.c: something that happens so many milliseconds from now */
struct pending *pending_add(struct world *w, int kind, int64_t delay);

/* sleep.c */
void sleep_plan(struct world *w,
                int64_t delay); /* within so many milliseconds, if machines sleep in this plan */
void sleep_begin(struct world *w);
void sleep_tell(struct world *w); /* the owner notices it */
/* When the owner last renewed its lease, in wall time: never after a sleep that the log does not have. */
int64_t sleep_renewed_at(const struct world *w);

/* stop.c */
#define SIM_LEASE_MS 15000
#define SIM_YOUNG_MS 9000                       /* so long a renewal is proof enough */
void stop_plan(struct world *w, int64_t delay); /* as sleep_plan */
void stop_begin(struct world *w);
/* The owner is stopped for longer than its lease, and another process goes on. False: not now. */
bool stop_taken_over(struct world *w);
bool stop_owns(struct world *w, const struct pump *pump); /* the pump's port */
void stop_fenced(struct world *w, struct batch *batch);   /* of the stale owner; taken over */
void stop_renewed(struct world *w);
void stop_continue(struct world *w); /* the stale owner goes on, and learns that it is none */
/* world.c: another process takes the run over, from one that has died or is stopped. */
void world_take_over(struct world *w);

/* settings.c: the body of the start message */
struct str settings_of_plan(struct arena *arena, const struct world_plan *plan);

/* model.c, tools.c: the answer to an effect goes into the pump */
void answer_model(struct world *w, const struct pending *p);
void answer_tool(struct world *w, const struct pending *p);
/* The change that an effect was to make is made in the world, whether or not the answer arrives. */
void apply_write(struct world *w, const struct pending *p);
int64_t file_of(struct str path);

/* disk.c: trees */
void answer_tree(struct world *w, const struct pending *p);
/* The files that the agent works in. */
uint64_t *files_of(struct world *w, uint32_t agent_no);
/* What was asked for is done, though nobody was told. */
void disk_crash(struct world *w, const struct pending *p);
void disk_end(struct world *w);

/* invariants.c */
void check_conversation(struct world *w, const struct agent *agent);
void check_step(struct world *w);
void check_end(struct world *w);

/* ledger.c */
void ledger_take(struct world *w, const struct batch *batch);
void ledger_end(struct world *w);
void ledger_print(const struct world *w);

/* plan_ledger.c */
void plan_ledger_take(struct world *w, const struct event_row *row, const struct js *payload);
/* A step that waits needs this child's work, and whatever else it needs is completed or waits to be merged too. */
bool plan_ledger_needs(const struct world *w, uint32_t no);

/* time_ledger.c */
void time_ledger_take(struct world *w, const struct event_row *row);

/* tree_ledger.c */
void tree_ledger_take(struct world *w, const struct event_row *row);

/* plan.c */
/* Arguments of a call of `plan` with steps that depend on each other at random. */
struct str plan_at_random(struct chance *chance, struct arena *arena);
/* What must hold of a plan that a call carries out. */
void check_plan(struct world *w, const struct run *run, const struct agent *agent,
                const struct call *call);

#endif
