/* Private to the simulator: the world's state, and what its files share. world.c moves time, model.c, plan.c, tools.c and disk.c answer,
 * invariants.c looks at the run after every step, ledger.c, tree_ledger.c and plan_ledger.c at every event that was committed. */
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
        PENDING_ADMITTED
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
    uint64_t changed; /* seq of the last event after which what was read before is old */
    struct call_record {
        uint8_t requested, finished;
    } * calls; /* owned; by the seq of the reply, then the place in it */
    size_t calls_capacity;
};

/* The first problem is kept. */
void wrong(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

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
