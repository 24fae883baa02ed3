/* Private to the engine: a run that this process owns, and its effects in flight. */
#ifndef CADRE_ENGINE_LIVE_H
#define CADRE_ENGINE_LIVE_H

#include <stdatomic.h>

#include "base/map.h"
#include "engine/board.h"
#include "engine/crew.h"
#include "engine/engine.h"
#include "engine/journal.h"
#include "engine/offer.h"
#include "engine/pump.h"

struct flight;
struct wake;

/* What was rendered of an agent's conversation so far; dropped when the agent is done. */
struct rendered {
    struct buf fragments;
    size_t message_count;
    uint64_t generation;         /* of the agent's conversation */
    const struct model_ops *ops; /* whose rendering this is */
    uint64_t server;             /* mark of the provider that it is for */
    /* The last group of neighbours: its first message and where its fragment begins. */
    size_t group_first, group_at;
};

struct live {
    struct engine *engine;
    struct id id;
    uint64_t epoch;
    struct pump *pump; /* NULL while the lease is being taken */
    uv_timer_t *timer; /* the run's earliest deadline */
    uv_timer_t *idle;  /* the next look at whether effects show signs of life */
    uv_idle_t *more;   /* runs while effects may start and wait for the next turn */
    struct scope
        *scope; /* the workspace, opened once: whoever swaps the path later changes nothing */
    struct err scope_problem; /* why it could not be opened */
    struct scope **places;    /* by agent number: trees of their own; NULL where there is none */
    size_t place_count;
    struct flight *flights;
    struct offers offers;
    struct rendered *rendered; /* by agent number */
    size_t rendered_count;
    int64_t reported_at; /* when ask_report last looked */
    int64_t inbox_seen;  /* highest message that was fed to the run */
    bool inbox_busy;     /* a look into the inbox is under way */
    bool inbox_again;    /* and another is wanted after it */
    size_t farewells;    /* agents that have ended and whose processes have not */
    bool ending;         /* ended or let go: waits for the lease's release */
    struct err failure;  /* why it was let go */
};

struct engine {
    struct engine_config config;
    struct str store_path, owner;
    int64_t suspended; /* when the engine was made */
    struct arena arena;
    struct journal *journal;
    struct crew *crew;    /* threads for long calls */
    struct crew *readers; /* a few for brief ones */
    struct board *board;  /* what calls say while they work */
    struct map lives;
    struct wake *wake;
    uv_timer_t *heartbeat;
    size_t flights; /* effects under way, of runs that are gone too */
};

/* The time of runs: wall time, less what the machine was suspended since the engine was made. Any thread. Leases and
 * the inbox have wall time: other processes compare it. */
int64_t engine_now(const struct engine *engine);
struct live *engine_live(struct engine *engine, struct str run_id);
struct live *live_new(struct engine *engine, struct str run_id);
void live_open(struct live *live, struct run *run,
               uint64_t durable);      /* its log is folded: it has a pump now */
void live_arm(struct live *live);      /* sets the timer to its earliest deadline */
void live_end(struct live *live);      /* releases the lease, then watch.end, then frees */
void handle_free(uv_handle_t *handle); /* close callback: frees the handle itself */
/* Feeds an input; lets go of the run when its own rule broke. */
void live_input(struct live *live, const struct input *input);
/* Lets go: aborts what is in flight, releases the lease, then watch.end. */
void live_let_go(struct live *live, const struct err *failure);
/* The same for a run that its own decision parked: what is in flight is reported as interrupted by the resume. */
void live_park(struct live *live);

/* ask.c: model requests. flights.c: the list of both kinds. */
void ask_start(struct live *live, const struct effect *effect);
/* Tells the run which requests wait for admission to their provider, and which no longer do: their clocks stand still. */
void ask_report(struct live *live);
void rendered_drop(struct live *live, uint32_t agent_no);
void rendered_release(struct live *live);
/* work.c: tools on threads */
void work_start(struct live *live, const struct effect *effect);
/* The one place where a working call is heard of before it ends: the board's `shown`. */
void work_progress(struct board_note *note, struct str text);
/* places.c: the files that agents work in */
/* What the agent works in: its tree, or that of the nearest agent above it, or the workspace. NULL: it is gone. */
struct scope *place_of(const struct live *live, const struct agent *agent);
void place_set(struct live *live, uint32_t agent_no, struct scope *scope); /* takes it */
void place_drop(struct live *live, uint32_t agent_no);
void places_release(struct live *live);
/* Opens the trees of a run that was folded; on a thread that may wait. What is gone stays NULL. */
struct scope **places_open(const struct engine *engine, const struct run *run, size_t *count);
void places_close(const struct engine *engine, struct scope **places, size_t count);

/* farewell.c: agents whose end was decided lose what they left running. Nothing new starts in the run until that is dead. */
void farewell_events(struct live *live, const struct batch *batch);
void farewell_run(struct live *live);

/* One effect under way. It holds names, never pointers into a run: a late answer finds no run and is dropped. */
struct flight {
    struct flight *next, **at; /* in its live's list; at == NULL: the run is gone */
    struct engine *engine;
    struct id run;
    uint32_t agent_no;
    struct str call_id; /* owned */
    void (*abort)(struct flight *flight);
    atomic_int_least64_t alive_at; /* its last sign of life, or FLIGHT_WAITS */
    int64_t told_at;               /* when its run was last told that it is idle */
    bool answers;                  /* a model request: bytes of its answer have come */
};
#define FLIGHT_WAITS INT64_MAX /* for its turn: it cannot show any */
void flight_init(struct flight *flight, struct live *live, const struct effect *effect,
                 void (*abort)(struct flight *));
void flight_unlink(struct flight *flight);
/* The run that this answer is for, or NULL. */
struct live *flight_live(const struct flight *flight);
struct flight *flight_find(struct live *live, uint32_t agent_no, struct str call_id);
void flight_release(struct flight *flight);

/* idle.c */
void flight_alive(struct flight *flight); /* any thread */
void flight_waits(struct flight *flight);
void flight_answers(struct flight *flight); /* a byte of a model's answer came; loop thread */
/* The effect can be silent from now on: it will be looked at. */
void idle_arm(struct live *live, const struct flight *flight);

/* wake.c: a datagram socket that others write one byte to when there is something in the inbox. */
struct wake *wake_new(struct engine *engine, struct err *err);
void wake_free(struct wake *wake);
void live_look_into_inbox(struct live *live);

#endif
