/* Runs that carry out a plan: the plan's file with all its mistakes told, what the start message says, and the plan that a run
 * made. Blocking. */
#ifndef CADRE_CLI_PLANNED_H
#define CADRE_CLI_PLANNED_H

#include "cli/command.h"
#include "cli/planfile.h"
#include "cli/wire.h"
#include "port/store.h"

enum planned_extent { PLANNED_CARRIED_OUT, PLANNED_ONLY };

/* Reads a plan's file. DONE, or what was wrong was said on stderr, each mistake with its place. Everything belongs to the arena. */
enum exit_code planned_read(struct invocation *invocation, struct arena *arena, struct str name,
                            struct plan *plan);
/* Says each problem with its place; kind stands before it ("warning: "). */
void planned_tell(struct output *output, const struct planfile *file,
                  const struct problems *problems, const char *kind);
/* Says that steps which should change files, or run commands, cannot in a run that is started here; plan: NULL where a planner
 * will make it. */
void planned_warn(struct output *output, struct wire *wire, const struct plan *plan);
/* The start message's `plan`: a goal, and the steps where there are some. */
struct str planned_start(struct arena *arena, struct str goal, const struct plan *plan,
                         enum planned_extent extent);
/* The plan that a run made, from its log, and what was said about the planner's answer. NOT_FOUND: it made none. */
int planned_of_run(struct store *store, struct str run_id, struct arena *arena, struct plan *plan,
                   struct str *warnings, struct err *err) NODISCARD;
/* Draws the plan as it was written. */
void planned_draw(struct output *output, const struct plan *plan);

#endif
