/* Private to core/run: the loop of an agent as a table. An agent is in one phase, and only what stands in the table moves it: phase.c
 * holds it, run_apply is its only user. What an agent does next follows from its phase: continue.h. */
#ifndef CADRE_CORE_RUN_PHASE_H
#define CADRE_CORE_RUN_PHASE_H

#include "core/run/agent.h"

#define PHASES (PHASE_DONE + 1)

/* What moves an agent, and the event that says so. */
#define PHASE_MOVES(X)                                                                             \
    X(STARTED)    /* run.started, agent.subagent_attempt */                                        \
    X(ISOLATING)  /* agent.isolating, of a child: it begins (anew) when its tree is there */       \
    X(DIRECTED)   /* run.directed */                                                               \
    X(REQUESTED)  /* model.requested */                                                            \
    X(ANSWERED)   /* model.replied without calls; model.failed, and it is asked again at once */   \
    X(CALLED)     /* model.replied with calls */                                                   \
    X(DELAYED)    /* model.failed, and it is asked again later */                                  \
    X(RETRIED)    /* timer.fired: later is now */                                                  \
    X(SUMMARISED) /* agent.compacted */                                                            \
    X(RESULTS)    /* tool.finished, tool.interrupted: the last call of the reply has ended */      \
    X(JOINING)    /* run.joining */                                                                \
    X(CHECKING)   /* agent.checking */                                                             \
    X(CHECKED)    /* agent.checked */                                                              \
    X(LEAVING)    /* agent.subagent_waiting_for_merge or _failed: its tree is still there */       \
    X(AWAITED)    /* agent.awaiting: a child that was held is to be merged after all */            \
    X(PUT_AWAY)   /* agent.merging, of a root */                                                   \
    X(LEFT)       /* agent.worktree_merged, of a root: its end follows */                          \
    X(ENDED)      /* run.completed, run.failed, run.cancelled; the end of a child */

enum phase_move {
#define X(name) MOVE_##name,
    PHASE_MOVES(X)
#undef X
        MOVE_COUNT
};

/* The phase that the move leads to from this one; PHASES: the move cannot happen there. */
enum phase phase_next(enum phase from, enum phase_move move);
const char *phase_text(enum phase phase);
const char *phase_move_text(enum phase_move move);

/* For apply alone. False: the move cannot happen now, and nothing was changed. */
bool phase_moves(struct agent *agent, enum phase_move move);
bool phase_may_move(const struct agent *agent, enum phase_move move);

#endif
