/* What the tables runs and sub_agents must say of a run, worked out from its log, and the comparison with what they
 * say. Keeps a short hash of each column: memory grows with the number of children, not with their texts or the log. */
#ifndef CADRE_ENGINE_PROJECTED_H
#define CADRE_ENGINE_PROJECTED_H

#include "port/store.h"

struct projected;

/* Told once for each difference: where it is ("table runs, column status"), and what is wrong there. */
typedef void projected_fn(void *user, const char *place, const char *text);

struct projected *projected_new(struct str run_id);
void projected_free(struct projected *projected);

/* A row that an event of this agent changes (core/run/project.h), in the order of the log. */
void projected_note(struct projected *projected, uint32_t agent_no, const struct row *row);

void projected_compare_run(const struct projected *projected, const struct stored_run *stored,
                           projected_fn *fn, void *user);
/* Call for each stored row of sub_agents, then projected_compare_end, which tells of rows that are missing. */
void projected_compare_agent(struct projected *projected, const struct stored_agent *stored,
                             projected_fn *fn, void *user);
void projected_compare_end(const struct projected *projected, projected_fn *fn, void *user);

#endif
