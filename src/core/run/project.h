/* The rows of runs and sub_agents that an event changes; written in the same transaction as the event. Pure. */
#ifndef CADRE_CORE_RUN_PROJECT_H
#define CADRE_CORE_RUN_PROJECT_H

#include "core/run/run.h"

#define PROJECT_MAX 2

/* Call after the event was applied. Fills at most PROJECT_MAX rows and returns how many; views live as long as event and
 * run do. */
/* The row's views become the arena's. */
void row_own(struct arena *arena, struct row *row);
size_t project(const struct run *run, const struct event *event, struct row rows[PROJECT_MAX]);

#endif
