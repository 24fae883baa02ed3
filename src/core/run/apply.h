/* Private to the files apply*.c: one function per kind of event. Each checks what it can check cheaply and refuses, with
 * CORRUPT, an event that cannot follow the state before it. */
#ifndef CADRE_CORE_RUN_APPLY_H
#define CADRE_CORE_RUN_APPLY_H

#include "core/run/phase.h"
#include "core/run/state.h"

/* agent: the one that the event is about; NULL for the event that makes it. */
typedef int apply_fn(struct run *run, struct agent *agent, const struct event *event,
                     struct err *err);

int apply_out_of_place(const struct event *e, struct err *err); /* sets err; returns -1 */
int64_t event_number(int64_t value, int64_t otherwise);         /* for a field that may be absent */
void account_open(struct run *run, struct agent *agent);

/* What events are about, to be changed. Deciding code has no way to this: its agents and calls are const. */
static inline struct agent *agent_to_change(const struct run *run, uint32_t no)
{
    return (struct agent *)run_agent_at(run, no);
}

static inline struct call *call_to_change(struct agent *agent, struct str call_id)
{
    return (struct call *)call_find(agent, call_id);
}

static inline struct tree *tree_to_change(struct agent *agent)
{
    return (struct tree *)agent->tree;
}

/* apply_children.c */
apply_fn apply_created;
apply_fn apply_refused;
apply_fn apply_reused;
apply_fn apply_awaiting;
apply_fn apply_calls_held;
apply_fn apply_joining;
apply_fn apply_checking;
apply_fn apply_checked;
apply_fn apply_steered;
apply_fn apply_started;
apply_fn apply_attempt;
apply_fn apply_worked;
apply_fn apply_completed;
apply_fn apply_closed;

/* apply_plan.c */
apply_fn apply_directed;
apply_fn apply_plan_made;
apply_fn apply_plan_step;

/* apply_trees.c */
apply_fn apply_isolating;
apply_fn apply_worktree_created;
apply_fn apply_merging;
apply_fn apply_worktree_merged;
/* A child that was just made has a tree if its contract says so. */
int tree_adopt(struct run *run, struct agent *child, const struct event *event, struct err *err);
void tree_child_closed(struct run *run, const struct agent *child);

/* apply_turns.c */
apply_fn apply_message;
apply_fn apply_paused;
apply_fn apply_unpaused;
apply_fn apply_masked;
apply_fn apply_compacted;
apply_fn apply_stopping;
apply_fn apply_requested;
apply_fn apply_reserved;
apply_fn apply_waiting;
apply_fn apply_settled;
apply_fn apply_replied;
apply_fn apply_failed_request;
apply_fn apply_held;
apply_fn apply_admitted;
apply_fn apply_timer;
apply_fn apply_idle;

/* The calls that an event asks for, and their place in the message. provider: whose ids they bring; empty: nobody's. */
int calls_open(struct agent *agent, const struct event *event, struct str provider,
               struct message *message, struct err *err);

/* gathered.c */
apply_fn apply_gathered;

/* apply_calls.c */
/* Files that an agent changed, and for a child also which of them another child had changed before. */
void modified_add(struct run *run, struct agent *agent, struct str files);
apply_fn apply_call_requested;
apply_fn apply_prepared;
apply_fn apply_asked;
apply_fn apply_shown;
apply_fn apply_call_finished;

#endif
