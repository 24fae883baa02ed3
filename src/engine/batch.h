/* One decision, serialised: what the journal appends at once. It owns all its bytes, so that it can go to the writer thread while
 * the run moves on. */
#ifndef CADRE_ENGINE_BATCH_H
#define CADRE_ENGINE_BATCH_H

#include "core/run/run.h"
#include "port/store.h"

struct batch {
    struct arena arena;
    struct append_batch append; /* points into the arena */
    uint64_t last_seq;
};

/* Prints the decision's events and the rows that they change. Call right after run_decide. */
struct batch *batch_new(const struct run *run, const struct decision *decision, uint64_t epoch);
void batch_free(struct batch *batch);

/* Folds one stored row into a run. */
int fold_row(struct run *run, const struct event_row *row, struct err *err);
/* Reads a whole run from the store and folds it. Blocking. */
int fold_run(struct store *store, struct str run_id, struct run **run, struct err *err);

#endif
