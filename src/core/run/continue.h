/* Private to the files that carry out one phase each: what continue.c calls. Everybody else calls agent_continue (state.h). */
#ifndef CADRE_CORE_RUN_CONTINUE_H
#define CADRE_CORE_RUN_CONTINUE_H

#include "core/run/state.h"

/* PHASE_READY: asks the model, or ends. turn.c */
void turn_advance(struct deciding *d, const struct agent *agent);
/* PHASE_TOOLS: makes the calls that may be made now. calls.c */
void calls_advance(struct deciding *d, const struct agent *agent);
/* PHASE_JOINING: ends with its last job. finish.c */
void agent_joined(struct deciding *d, const struct agent *agent);
/* It is being stopped: ends when nothing of it is under way. finish.c */
void agent_settle_stop(struct deciding *d, const struct agent *agent);

#endif
