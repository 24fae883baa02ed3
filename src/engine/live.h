/* Private to the engine: a run that this process owns, and its effects in flight. */
#ifndef CADRE_ENGINE_LIVE_H
#define CADRE_ENGINE_LIVE_H

#include <stdatomic.h>

#include "base/map.h"
#include "engine/board.h"
#include "engine/crew.h"
#include "engine/engine.h"
#include "engine/journal.h"
#include "engine/lookup.h"
#include "engine/offer.h"
#include "engine/pump.h"

struct asking;
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

/* What an agent works in. RESTS: its descriptor was closed, since there are few; each call opens the same directory again, for
 * itself, with the tool port's open_again. */
struct agent_place {
    struct scope *scope; /* NULL: none */
    enum { PLACE_OPEN, PLACE_RESTS } state;
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
    struct err scope_problem;   /* why it could not be opened */
    struct agent_place *places; /* by agent number: trees of their own; empty where there is none */
    size_t place_count;
    struct flight *flights;
    struct lookup flight_names; /* the same, by agent and call */
    size_t asks;                /* of these, requests to models */
    struct asking *untold;      /* admitted to their provider, and the run does not know */
    struct offers offers;
    struct rendered *rendered; /* by agent number */
    size_t rendered_count;
    int64_t ahead;      /* what live_now adds to engine_now: the time of a run never falls */
    int64_t slept_told; /* of engine_slept, what the run was told */
    /* ownership.c: until when this process owns the run for certain, on the clock of leases; 0: it does not. Commands
     * read it on their threads: they end before. */
    atomic_int_least64_t owned_until;
    bool renewing;       /* a renewal is under way */
    bool renew_wanted;   /* and one is to be sent on the next turn of the loop */
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
    int64_t suspended;                  /* when the engine was made */
    uint64_t store_device, store_inode; /* of its file, when it was opened; 0: it has none */
    struct arena arena;
    struct journal *journal;
    struct crew *crew;    /* threads for long calls */
    struct crew *readers; /* a few for brief ones */
    /* By the descriptors that calls need, before they get a thread: a queue for each crew. */
    struct admission work_room, brief_room;
    size_t scopes_open;  /* of trees, between calls */
    struct board *board; /* what calls say while they work */
    struct map lives;
    struct wake *wake;
    uv_timer_t *heartbeat;
    size_t flights; /* effects under way, of runs that are gone too */
};

/* Wall time as it was when this process started, and counted on from there; nobody can set it. Any thread. Leases and
 * messages show it. */
int64_t engine_wall(const struct engine *engine);
/* The time of runs: the same, less what the machine was suspended since the engine was made. Any thread. */
int64_t engine_now(const struct engine *engine);
/* The time of this run, which goes on where its last owner's stopped, also when the wall clock was set back between the two. */
int64_t live_now(const struct live *live);
/* What engine_now leaves out. */
int64_t engine_slept(const struct engine *engine);
/* Less than this is how far the two readings of the clocks lie apart. */
#define SLEEP_LEAST_MS 1000
struct live *engine_live(struct engine *engine, struct str run_id);
struct live *live_new(struct engine *engine, struct str run_id);
void live_open(struct live *live, struct run *run,
               uint64_t durable);      /* its log is folded: it has a pump now */
void live_arm(struct live *live);      /* sets the timer to its earliest deadline */
void live_end(struct live *live);      /* releases the lease, then watch.end, then frees */
void handle_free(uv_handle_t *handle); /* close callback: frees the handle itself */
/* Feeds an input, whose `now` is engine_now; lets go of the run when its own rule broke. */
void live_input(struct live *live, const struct input *input);
/* Tells the run that the machine has slept, if it has since the run was last told. */
void live_tell_slept(struct live *live);
/* Lets go: aborts what is in flight, releases the lease, then watch.end. */
void live_let_go(struct live *live, const struct err *failure);
/* Ends a run whose last event is durable, and lets go of one that its own decision parked: requests were aborted with that and
 * have told what they cost, other effects are reported as interrupted by the resume. */
void live_look(struct live *live);
void live_go_on_soon(
    struct live *live); /* tells and starts what waits, from the next turn of the loop */

/* ask.c: model requests. flights.c: the list of both kinds. */
void ask_start(struct live *live, const struct effect *effect);
/* Tells the run which requests wait for admission to their provider, and which no longer do: their clocks stand still. */
void ask_report(struct live *live);
/* Tells it at once of those that it knows as waiting and that have left. */
void ask_tell(struct live *live);
void rendered_drop(struct live *live, uint32_t agent_no);
void rendered_release(struct live *live);
/* work.c: tools on threads */
void work_start(struct live *live, const struct effect *effect);
/* The one place where a working call is heard of before it ends: the board's `shown`. */
void work_progress(struct board_note *note, struct str text);
/* places.c: the files that agents work in */
/* What the agent works in: its tree, or that of the nearest agent above it, or the workspace. NULL: it is gone. */
struct agent_place place_of(const struct live *live, const struct agent *agent);
void place_set(struct live *live, uint32_t agent_no, struct scope *scope); /* takes it */
void place_drop(struct live *live, uint32_t agent_no);
void places_release(struct live *live);
/* Opens the trees of a run that was folded; on a thread that may wait. What is gone stays empty. */
struct agent_place *places_open(const struct engine *engine, const struct run *run, size_t *count);
void places_close(const struct engine *engine, struct agent_place *places, size_t count);
/* They are the live run's from now on. */
void places_take(struct live *live, struct agent_place *places, size_t count);

/* ownership.c: is the run still ours? */
#define LEASE_MS 15000
void ownership_begin(struct live *live, int64_t sent_at); /* the lease was asked for at that time */
void ownership_renew(struct live *live);                  /* with every heartbeat */
void ownership_renewed(struct live *live, int64_t sent_at);
void ownership_end(struct live *live);
/* For the pump: true while the last renewal is young; else the store is asked, and the pump goes on after its answer. */
bool ownership_is_certain(struct live *live);
void ownership_note_store(struct engine *engine);
/* On the thread of a work, right before it changes something: waits until ownership is certain. False, with the reason:
 * the run was let go of, or (NOT_FOUND) the store is no longer where it was. */
struct work;
bool ownership_await(struct work *work, struct err *err);

/* farewell.c: agents whose end was decided lose what they left running. Nothing new starts in the run until that is dead. */
void farewell_events(struct live *live, const struct batch *batch);
void farewell_run(struct live *live);

/* One effect under way. It holds names, never pointers into a run: a late answer finds no run and is dropped. */
struct flight {
    struct lookup_entry name;  /* first: it is cast back */
    struct flight *next, **at; /* in its live's list; at == NULL: the run is gone */
    struct engine *engine;
    struct id run;
    uint32_t agent_no;
    struct str call_id; /* owned */
    void (*abort)(struct flight *flight);
    atomic_int_least64_t alive_at; /* its last sign of life, or FLIGHT_WAITS */
    int64_t told_at;               /* when its run was last told that it is idle */
    bool answers;                  /* a model request: bytes of its answer have come */
    /* The run is let go of: whatever comes of the effect, the next owner settles it or does it again. */
    atomic_bool abandoned;
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
