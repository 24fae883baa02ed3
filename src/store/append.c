/* Appending: all batches in one transaction, so that one sync pays for all; where the database refuses something,
 * run by run, so that only the guilty run stops. The hash chain is computed here. Runs on the writer's thread.
 *
 * A batch is checked before it writes anything: its lease (fence) and its first seq. A fenced batch is left
 * out and the others go on. Refusals are errors of class USAGE or NOT_FOUND and undo the transaction; every
 * other error means that nobody knows what is on the disk. Batches of one run share what they have in common: its
 * head (head.c), statements of several rows (insert.c) and one move per agent's tail (tails.c). */
#include "store/handle.h"

enum outcome {
    OUTCOME_WRITTEN,
    OUTCOME_FENCED,
    OUTCOME_REFUSED,
    OUTCOME_BROKEN,
};

/* One transaction. */
struct appending {
    struct inserts inserts;
    struct tails tails;
};

static enum outcome outcome_of(const struct err *err)
{
    return err->class == ERR_USAGE || err->class == ERR_NOT_FOUND ? OUTCOME_REFUSED
                                                                  : OUTCOME_BROKEN;
}

/* --- one batch --------------------------------------------------------------------------------------------- */

static int event_check(const struct event_row *row, uint64_t seq, struct err *err)
{
    if (row->seq != seq)
        return err_set(err, ERR_USAGE, "event %llu stands where event %llu should be",
                       (unsigned long long)row->seq, (unsigned long long)seq);
    if (!row->payload.p || row->payload.n == 0)
        return err_set(err, ERR_USAGE, "event %llu has no payload", (unsigned long long)seq);
    if (row->cause_seq >= seq)
        return err_set(err, ERR_USAGE, "event %llu names a later event as its cause",
                       (unsigned long long)seq);
    return 0;
}

static int inbox_consume(struct sqlite_store *s, int64_t run_no, uint64_t seq, int64_t id,
                         struct err *err)
{
    struct call call;
    call_start(&call, s, STATEMENT_INBOX_CONSUME);
    call_int(&call, (int64_t)seq);
    call_int(&call, id);
    call_int(&call, run_no);
    if (call_run(&call, "consuming an inbox message", err) < 0)
        return -1;
    if (sqlite3_changes(s->db) == 1)
        return 0;
    return err_set(err, ERR_USAGE,
                   "inbox message %lld is not one of this run, or was consumed already",
                   (long long)id);
}

/* Finds the run, checks the fence and where its log ends. */
static enum outcome batch_open(struct sqlite_store *s, const struct append_batch *batch,
                               struct run_head **head, struct err *err)
{
    if (batch->event_count == 0 || batch->events[0].seq == 0) {
        err_set(err, ERR_USAGE, "a batch needs an event, and seq starts at 1");
        return OUTCOME_REFUSED;
    }
    if (head_find(s, batch->run_id, head, err) < 0)
        return outcome_of(err);
    if ((*head)->epoch == 0 || batch->epoch != (*head)->epoch) {
        err_set(err, ERR_CANCELLED, "run %s has another owner now", (*head)->run.id.text);
        return OUTCOME_FENCED;
    }
    if (batch->events[0].seq != (*head)->seq + 1) {
        err_set(err, ERR_CANCELLED, "the log of run %s ends at event %llu, not before event %llu",
                (*head)->run.id.text, (unsigned long long)(*head)->seq,
                (unsigned long long)batch->events[0].seq);
        return OUTCOME_FENCED;
    }
    return OUTCOME_WRITTEN;
}

static enum outcome batch_write(struct appending *a, const struct append_batch *batch,
                                struct err *err)
{
    struct sqlite_store *s = a->inserts.s;
    struct run_head *head = NULL;
    enum outcome outcome = batch_open(s, batch, &head, err);
    if (outcome != OUTCOME_WRITTEN)
        return outcome;
    for (size_t i = 0; i < batch->event_count; i++) {
        const struct event_row *row = &batch->events[i];
        if (event_check(row, head->seq + 1, err) < 0 ||
            tails_follow(&a->tails, head->run.run_no, row, err) < 0 ||
            insert_add(&a->inserts, head, row, err) < 0)
            return outcome_of(err);
    }
    if (projection_write(s, &head->run, batch->rows, batch->row_count, err) < 0)
        return outcome_of(err);
    for (size_t i = 0; i < batch->inbox_count; i++) {
        if (inbox_consume(s, head->run.run_no, batch->events[0].seq, batch->inbox_ids[i], err) < 0)
            return outcome_of(err);
    }
    return OUTCOME_WRITTEN;
}

/* --- the transaction ----------------------------------------------------------------------------------------- */

static void mark_unknown(struct append_batch *batches, size_t count, const struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        batches[i].result = APPEND_UNKNOWN;
        batches[i].err = *err;
    }
}

/* Writes what can be written; every batch is marked durable or fenced, or the first guilty one refused. */
static enum outcome batches_write(struct appending *a, struct append_batch *batches, size_t count,
                                  struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct append_batch *batch = &batches[i];
        batch->err = ERR_INIT;
        enum outcome outcome = batch_write(a, batch, &batch->err);
        batch->result = outcome == OUTCOME_WRITTEN  ? APPEND_DURABLE
                        : outcome == OUTCOME_FENCED ? APPEND_FENCED
                                                    : APPEND_REFUSED;
        if (outcome == OUTCOME_REFUSED || outcome == OUTCOME_BROKEN) {
            *err = batch->err;
            return outcome;
        }
    }
    if (insert_flush(&a->inserts, err) == 0 && tails_write(&a->tails, a->inserts.s, err) == 0)
        return OUTCOME_WRITTEN;
    /* Whose it was is known when there is one; several are repeated one by one. */
    batches[0].result = APPEND_REFUSED;
    batches[0].err = *err;
    return outcome_of(err);
}

/* WRITTEN: every batch is marked durable or fenced. REFUSED: nothing was written; the guilty one is marked where
 * there is only one. BROKEN: all are marked unknown. */
static enum outcome append_together(struct sqlite_store *s, struct append_batch *batches,
                                    size_t count)
{
    struct err err = ERR_INIT;
    struct appending a = {.inserts.s = s};
    enum outcome outcome = OUTCOME_BROKEN;
    if (transaction_write(s, &err) == 0) {
        heads_check(s);
        outcome = batches_write(&a, batches, count, &err);
        if (outcome == OUTCOME_WRITTEN && transaction_commit(s, &err) < 0)
            outcome = OUTCOME_BROKEN;
        if (outcome == OUTCOME_WRITTEN) {
            heads_keep(s);
            /* What was written may be in a file that nobody will find again. */
            if (place_stands(s, &err) < 0)
                outcome = OUTCOME_BROKEN;
        } else {
            transaction_rollback(s);
            heads_forget(s);
        }
    }
    if (outcome == OUTCOME_BROKEN)
        mark_unknown(batches, count, &err);
    tails_release(&a.tails);
    return outcome;
}

void sqlite_append(struct store *store, struct append_batch *batches, size_t count)
{
    struct sqlite_store *s = sqlite_store_of(store);
    if (append_together(s, batches, count) != OUTCOME_REFUSED || count == 1)
        return;
    for (size_t i = 0; i < count; i++) {
        if (append_together(s, &batches[i], 1) == OUTCOME_BROKEN) {
            struct err err = batches[i].err;
            mark_unknown(&batches[i], count - i, &err);
            return;
        }
    }
}
