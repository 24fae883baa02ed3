/* The journal: one writer thread that commits everything queued as one transaction, and carries out store work that must not block
 * the loop. The batch grows with the load; there is no timer. Called on the loop thread; callbacks run on the loop thread. */
#ifndef CADRE_ENGINE_JOURNAL_H
#define CADRE_ENGINE_JOURNAL_H

#include <uv.h>

#include "engine/pump.h"

struct journal;

/* An appended batch came back; its append.result and append.err say how. The callback frees the batch. */
typedef void journal_append_fn(void *user, struct batch *batch);
/* Store work: `work` on the writer thread with its store, then `done` on the loop. Order with appends is kept. */
typedef void journal_work_fn(void *task, struct store *store);
typedef void journal_done_fn(void *task);

/* Begins to open the store, on the writer thread: the caller has other things to do until journal_opened. */
struct journal *journal_new(uv_loop_t *loop, const struct store_opener *opener,
                            journal_append_fn *appended, void *user);
/* Waits for that, before anything else is asked of the journal; -1 with the store's error: all that is left is journal_free. */
NODISCARD int journal_opened(struct journal *journal, struct err *err);
/* Everything queued is written first; callbacks still run. No call after this. */
void journal_free(struct journal *journal);

/* Takes the batch over. A lazy batch is written with the next thing that is not. */
void journal_append(struct journal *journal, struct batch *batch, enum urgency urgency);
void journal_work(struct journal *journal, void *task, journal_work_fn *work,
                  journal_done_fn *done);
/* Things queued or under way, with their callbacks. */
size_t journal_pending(const struct journal *journal);

#endif
