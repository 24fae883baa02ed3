/* The run: the unit of consistency. run_decide turns an input into events and effects; run_apply is the only function that
 * changes state, and folds the log on resume and replay with the same code. No clock, no files, no globals.
 *
 * run_decide applies its events as it makes them: afterwards the run is already in the new state, ahead of the disk.
 * The shell must append the decision's events as one atomic batch and must not act on costly or outward effects before
 * that batch is durable. If appending fails for good, the run in memory is worthless: drop it. */
#ifndef CADRE_CORE_RUN_RUN_H
#define CADRE_CORE_RUN_RUN_H

#include "core/run/agent.h"
#include "core/run/effect.h"
#include "core/run/event.h"
#include "core/run/input.h"

/* PARKED: nobody works on it, nothing of it has ended; run.resumed makes it RUNNING again. */
enum run_status { RUN_NEW, RUN_RUNNING, RUN_COMPLETED, RUN_FAILED, RUN_CANCELLED, RUN_PARKED };
const char *run_status_text(enum run_status status);

struct run;

/* What run_decide answers: events as they will be stored, the rows that they change, and effects, in order. All strings live in its
 * arena. Events are printed as they are made: one decision may start ten thousand children. */
struct decision {
    struct arena arena;
    struct event_row *events;
    size_t event_count, event_capacity;
    struct row *rows;
    size_t row_count, row_capacity;
    struct buf scratch;
    struct arena passing; /* for what is over when its event was emitted */
    struct effect *effects;
    size_t effect_count, effect_capacity;
    int64_t inbox_id; /* the message that the batch consumes, or 0 */
};

void decision_init(struct decision *decision);
void decision_reset(struct decision *decision); /* empty again, for the next one */
void decision_release(struct decision *decision);

struct run *run_new(struct str run_id);
void run_free(struct run *run);

/* Never fails for hostile content, only for a broken rule (BUG). An input that changes nothing gives no events. */
int run_decide(struct run *run, const struct input *input, struct decision *out, struct err *err);
/* Whether a run with this start message would begin, decided on a run that is thrown away: its settings, its contract and what is
 * pinned. CONFIG: it would fail at once, and err says why. For who wants to know before anything is stored. */
int run_preflight(struct str run_id, struct str body, int64_t now, struct err *err);
/* Folds one event. CORRUPT when the event cannot follow this state: the log was not written by run_decide. */
int run_apply(struct run *run, const struct event *event, struct err *err);

/* --- reading ----------------------------------------------------------------------------------------------- */
struct str run_id(const struct run *run);
enum run_status run_state(const struct run *run);
bool run_ended(const struct run *run); /* completed, failed or cancelled; not parked */
uint64_t run_seq(const struct run *run);
/* What a new owner whose clock says `now` adds to it, so that the time of the run does not fall: 0 or more. alive_at: as in
 * INPUT_RESUME. */
int64_t run_time_ahead(const struct run *run, int64_t alive_at, int64_t now);
/* Absolute time of the earliest deadline, or INT64_MAX: the shell then sends INPUT_TICK until it lies ahead again. */
int64_t run_deadline(const struct run *run);
uint32_t run_agent_count(const struct run *run); /* with the root */
/* The model of its pool that the agent asks when the one that it asked last fails now; STR_NONE: there is none. */
struct str run_fallback(const struct run *run, const struct agent *agent, int64_t now);
const struct agent *run_agent(const struct run *run, uint32_t no); /* NULL: no such agent */
const struct settings *run_settings(const struct run *run);
struct str run_workspace(const struct run *run);
struct str run_result(const struct run *run); /* JSON of the result object, once ended */
enum outcome run_outcome(const struct run *run);
/* Where the child's report is published, from the workspace: the pattern of its contract. */
struct str run_report_path(const struct run *run, const struct agent *child,
                           struct arena *arena); /* of the root, once ended */
/* What a person should know about the models that were asked, in the order in which it was told. */
#define RUN_NOTICES_MAX 16
size_t run_notices(const struct run *run, const struct str **notices);
/* Whether a person allowed what has this hash (hex) for always, in this run. */
bool run_allows(const struct run *run, struct str shown);
/* A question that waits for a person's yes or no. */
struct run_question {
    enum { ASKED_CALL, ASKED_STEP } kind;
    struct str tool;      /* of a call, by its usual name */
    struct str arguments; /* of a call; of a step a JSON object that says what was agreed with it */
    struct str offered;   /* hash of what was last shown of it; empty: nothing was yet */
};
/* False: no question of this id waits. What is made for it lives in the arena. */
bool run_asked(const struct run *run, uint32_t agent_no, struct str id, struct arena *arena,
               struct run_question *question);
/* How far a plan is that a call carries out; false: it has none (yet). */
struct plan_progress {
    size_t steps, completed, in_progress, blocked, failed; /* failed: skipped ones too */
};
bool call_plan_progress(const struct call *call, struct plan_progress *out);
/* Whether an agent or a call of it can never end, because nothing that it waits for will come; appends which one, and why. The answer
 * is no after every decision. For checks, not for speed. */
bool run_waits_for_nobody(const struct run *run, struct buf *who);
/* Appends the whole state as text: equal text, equal state. For checks, not for speed. */
void run_print(const struct run *run, struct buf *out);

#endif
