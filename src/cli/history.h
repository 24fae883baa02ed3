/* What every command about stored runs opens: the config's store, and the run that was named.
 * Blocking. */
#ifndef CADRE_CLI_HISTORY_H
#define CADRE_CLI_HISTORY_H

#include "cli/command.h"
#include "cli/wire.h"
#include "core/run/run.h"

struct history {
    struct wire *wire;
    struct store *store;
    struct id run_id; /* of the first operand, where the command has one */
};

/* Opens the store and finds the run that the first operand names. On failure nothing stays open. A project's config that is not trusted
 * is left out. */
int history_open(struct history *history, struct invocation *invocation, struct err *err) NODISCARD;
/* The same for a command that only reads: the store may be read-only, and none is made (NOT_FOUND). */
int history_open_reading(struct history *history, struct invocation *invocation,
                         struct err *err) NODISCARD;
/* The same for a command that goes on with the run: such a config is an error. */
int history_open_trusted(struct history *history, struct invocation *invocation,
                         struct err *err) NODISCARD;
void history_close(struct history *history);

/* The process that works on the run, or STR_NONE. A lease outlives a process that was killed: the
 * owner itself is asked. */
struct str history_owner(const struct history *history, const struct stored_run *run);

/* The run's status as every command shows it: that of its row, or "stopped" where it says "running" and no process works on it. */
struct str history_status(const struct history *history, const struct stored_run *run);

/* A run's row, copied out: the store's views do not outlive their callback. The owner is one that
 * lives, the status that of history_status. */
struct history_run {
    const struct history *history;
    struct arena arena;
    struct stored_run run;
};
int history_run(struct history *history, struct history_run *copy, struct err *err) NODISCARD;
void history_run_release(struct history_run *copy);

/* The run as its log folds, with the same code that a resume uses. End it with run_free. */
int history_fold(struct history *history, struct run **run, struct err *err) NODISCARD;

/* Names and ids by agent number; the root is number 0. */
struct history_agents {
    struct arena arena;
    struct stored_agent *agents; /* the root's has the run's id and the name "root" */
    size_t count;
};
int history_agents(struct history *history, struct history_agents *agents,
                   struct err *err) NODISCARD;
void history_agents_release(struct history_agents *agents);
struct str history_agent_name(const struct history_agents *agents, uint32_t no);
struct str history_agent_id(const struct history_agents *agents, uint32_t no);

#endif
