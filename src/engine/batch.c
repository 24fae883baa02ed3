/* Decisions into rows and rows into runs. No thread of its own: the loop serialises, whoever resumes folds. */
#include "engine/batch.h"

#include <stdlib.h>

struct batch *batch_new(const struct run *run, struct decision *decision, uint64_t epoch)
{
    struct batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL)
        abort();
    /* The strings of the effects go along: the batch lives until its events are durable, and nobody acts on it before. */
    batch->arena = decision->arena;
    arena_init(&decision->arena);
    batch->events = decision->events;
    batch->rows = decision->rows;
    batch->inbox_id = decision->inbox_id;
    if (decision->event_count > 0)
        batch->last_seq = decision->events[decision->event_count - 1].seq;
    batch->append = (struct append_batch){.run_id = arena_copy(&batch->arena, run_id(run)),
                                          .epoch = epoch,
                                          .events = batch->events,
                                          .event_count = decision->event_count,
                                          .rows = batch->rows,
                                          .row_count = decision->row_count,
                                          .inbox_ids = &batch->inbox_id,
                                          .inbox_count = decision->inbox_id != 0 ? 1 : 0};
    decision->events = NULL;
    decision->rows = NULL;
    decision->event_count = decision->event_capacity = 0;
    decision->row_count = decision->row_capacity = 0;
    return batch;
}

void batch_free(struct batch *batch)
{
    if (batch == NULL)
        return;
    arena_release(&batch->arena);
    free(batch->events);
    free(batch->rows);
    free(batch);
}

int fold_row(struct run *run, const struct event_row *row, struct err *err)
{
    struct arena arena;
    struct event event;
    arena_init(&arena);
    int result = event_parse(row, &arena, &event, err) == 0 ? run_apply(run, &event, err) : -1;
    arena_release(&arena);
    return result;
}

struct folding {
    struct run *run;
    struct err *err;
    int result;
};

static int fold_one(void *user, const struct stored_event *event)
{
    struct folding *folding = user;
    folding->result = fold_row(folding->run, &event->row, folding->err);
    return folding->result;
}

int fold_run(struct store *store, struct str id, struct run **run, struct err *err)
{
    struct folding folding = {run_new(id), err, 0};
    if (store->ops->read(store, id, 0, STORE_ALL_AGENTS, 0, fold_one, &folding, err) != 0 ||
        folding.result != 0) {
        run_free(folding.run);
        return -1;
    }
    *run = folding.run;
    return 0;
}
