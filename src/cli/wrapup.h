/* What follows when a run has ended: its reports are published, its result is taken over where that was asked for, and its end is
 * printed. Blocking; the loop has ended. */
#ifndef CADRE_CLI_WRAPUP_H
#define CADRE_CLI_WRAPUP_H

#include "cli/ending.h"
#include "cli/publish.h"
#include "cli/wire.h"

struct wrapup {
    struct wire *wire;
    struct id run_id;
    struct publication publication;
    struct cache_use cache; /* of all agents */
    struct ending_changes changes;
    enum { WRAPUP_FAILED, WRAPUP_COMPLETED } run; /* how it ended */
    enum { WRAPUP_LEAVES, WRAPUP_APPLIES } result;
};

/* When the run has ended, while it is still in memory. */
void wrapup_note(struct wrapup *wrapup, const struct run *run);
/* *code: the run's; a result that could not be taken over is a failure. */
int wrapup_print(const struct wrapup *wrapup, struct output *output, enum ending_parts parts,
                 enum exit_code *code, struct err *err) NODISCARD;
void wrapup_release(struct wrapup *wrapup);

#endif
