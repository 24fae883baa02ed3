/* One decision, serialised: what the journal appends at once. It owns all its bytes, so that it can go to the writer thread while
 * the run moves on. */
#ifndef CADRE_ENGINE_BATCH_H
#define CADRE_ENGINE_BATCH_H

#include "core/run/run.h"
#include "port/store.h"

struct batch {
    struct arena arena;
    struct event_row *events;
    struct row *rows;
    int64_t inbox_id;
    struct append_batch append; /* points to all of these */
    uint64_t last_seq;
};

/* Takes over the decision's events, rows and arena; the effects stay, and their strings live as long
 * as the batch. Call right after run_decide. */
struct batch *batch_new(const struct run *run, struct decision *decision, uint64_t epoch);
void batch_free(struct batch *batch);

/* Folds one stored row into a run. */
int fold_row(struct run *run, const struct event_row *row, struct err *err);
/* Reads a whole run from the store and folds it. Blocking. */
int fold_run(struct store *store, struct str run_id, struct run **run, struct err *err);

#endif
