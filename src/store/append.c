/* Appending: all batches in one transaction, so that one sync pays for all; where the database refuses something,
 * run by run, so that only the guilty run stops. The hash chain is computed here. Runs on the writer's thread.
 *
 * A batch is checked before it writes anything: its lease (fence) and its first seq. A fenced batch is left
 * out and the others go on. Refusals are errors of class USAGE or NOT_FOUND and undo the transaction; every
 * other error means that nobody knows what is on the disk. */
#include <stdlib.h>

#include "store/handle.h"

enum outcome {
    OUTCOME_WRITTEN,
    OUTCOME_FENCED,
    OUTCOME_REFUSED,
    OUTCOME_BROKEN,
};

/* One run's state during its batch. */
struct appending {
    struct sqlite_store *s;
    const struct append_batch *batch;
    struct known_run run;
    uint64_t head_seq;
    struct hash head_hash;
};

static enum outcome outcome_of(const struct err *err)
{
    return err->class == ERR_USAGE || err->class == ERR_NOT_FOUND ? OUTCOME_REFUSED
                                                                  : OUTCOME_BROKEN;
}

/* --- one event ------------------------------------------------------------------------------------------ */

static int type_insert(struct sqlite_store *s, const struct event_row *row, int64_t *type_no,
                       struct err *err)
{
    struct call call;
    call_start(&call, s, STATEMENT_TYPE_GET);
    call_str(&call, row->category);
    call_str(&call, row->type);
    int found = call_step(&call, "appending events", err);
    if (found == 1)
        *type_no = call_number(&call, 0);
    call_end(&call);
    if (found != 0)
        return found < 0 ? -1 : 0;
    call_start(&call, s, STATEMENT_TYPE_INSERT);
    call_str(&call, row->category);
    call_str(&call, row->type);
    if (call_run(&call, "appending events", err) < 0)
        return -1;
    *type_no = sqlite3_last_insert_rowid(s->db);
    return 0;
}

static int type_number(struct sqlite_store *s, const struct event_row *row, int64_t *type_no,
                       struct err *err)
{
    char text[128];
    struct str key = {text, row->category.n + 1 + row->type.n};
    if (row->category.n == 0 || row->type.n == 0 || row->category.n > sizeof text / 2 ||
        key.n > sizeof text)
        return err_set(err, ERR_USAGE, "event %llu has no type, or too long a one",
                       (unsigned long long)row->seq);
    memcpy(text, row->category.p, row->category.n);
    text[row->category.n] = ' ';
    memcpy(text + row->category.n + 1, row->type.p, row->type.n);
    void *known = map_get(&s->types, key);
    if (known) {
        *type_no = (int64_t)(intptr_t)known;
        return 0;
    }
    if (type_insert(s, row, type_no, err) < 0)
        return -1;
    map_set(&s->types, key, (void *)(intptr_t)*type_no);
    return 0;
}

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

static int blob_insert(struct sqlite_store *s, const struct hash *hash, struct str bytes,
                       struct err *err)
{
    struct call call;
    call_start(&call, s, STATEMENT_BLOB_INSERT);
    call_hash(&call, hash);
    call_bytes(&call, bytes);
    call_int(&call, (int64_t)bytes.n);
    return call_run(&call, "appending a payload", err);
}

static int event_insert(struct appending *a, const struct event_row *row, struct err *err)
{
    struct call call;
    int64_t type_no = 0;
    if (event_check(row, a->head_seq + 1, err) < 0 || type_number(a->s, row, &type_no, err) < 0)
        return -1;
    struct hash payload_hash = hash_of(row->payload);
    struct hash hash = chain_next(&a->head_hash, row, &payload_hash);
    bool is_blob = row->payload.n > STORE_INLINE_MAX;
    if (is_blob && blob_insert(a->s, &payload_hash, row->payload, err) < 0)
        return -1;
    call_start(&call, a->s, STATEMENT_EVENT_INSERT);
    call_int(&call, a->run.run_no);
    call_int(&call, (int64_t)row->seq);
    call_int(&call, row->agent_no);
    call_int(&call, (int64_t)row->agent_prev);
    call_int(&call, (int64_t)a->batch->epoch);
    call_int(&call, row->version);
    call_int(&call, row->ts);
    call_int(&call, type_no);
    call_str(&call, row->call_id);
    call_int(&call, (int64_t)row->cause_seq);
    call_str(&call, row->summary.p ? row->summary : STR(""));
    call_str(&call, is_blob ? STR_NONE : row->payload);
    call_hash(&call, is_blob ? &payload_hash : NULL);
    call_hash(&call, &hash);
    if (call_run(&call, "appending events", err) < 0)
        return -1;
    a->head_seq = row->seq;
    a->head_hash = hash;
    return 0;
}

/* --- each agent's chain ------------------------------------------------------------------------------------ */

static int chain_broken(const struct event_row *row, struct err *err)
{
    return err_set(err, ERR_USAGE,
                   "event %llu names event %llu as the previous one of agent %u, which it is not",
                   (unsigned long long)row->seq, (unsigned long long)row->agent_prev,
                   (unsigned)row->agent_no);
}

/* Moves an agent's tail from the event that the batch's first one of this agent names to its last one. */
static int tail_move(struct appending *a, const struct event_row *row, uint64_t from,
                     struct err *err)
{
    struct call call;
    if (from == 0) {
        call_start(&call, a->s, STATEMENT_TAIL_INSERT);
        call_int(&call, a->run.run_no);
        call_int(&call, row->agent_no);
        call_int(&call, (int64_t)row->seq);
    } else {
        call_start(&call, a->s, STATEMENT_TAIL_MOVE);
        call_int(&call, (int64_t)row->seq);
        call_int(&call, a->run.run_no);
        call_int(&call, row->agent_no);
        call_int(&call, (int64_t)from);
    }
    if (call_run(&call, "appending events", err) < 0)
        return -1;
    return sqlite3_changes(a->s->db) == 1 ? 0 : chain_broken(row, err);
}

struct link {
    uint64_t origin; /* agent_prev of this agent's first event in the batch */
    bool followed;   /* a later event of the batch continues from this one */
};

/* Each event either continues an event of this batch, which must be the same agent's and not continued before,
 * or the agent's tail in the database. Together this proves that no event of an agent is missed. */
static int tails_update(struct appending *a, struct err *err)
{
    const struct append_batch *batch = a->batch;
    uint64_t first = batch->events[0].seq;
    int result = -1;
    struct link *links = calloc(batch->event_count, sizeof *links);
    if (!links)
        return err_set(err, ERR_IO, "out of memory");
    for (size_t i = 0; i < batch->event_count; i++) {
        const struct event_row *row = &batch->events[i];
        links[i].origin = row->agent_prev;
        if (row->agent_prev < first)
            continue;
        uint64_t previous = row->agent_prev - first;
        if (previous >= i || links[previous].followed ||
            batch->events[previous].agent_no != row->agent_no) {
            chain_broken(row, err);
            goto out;
        }
        links[previous].followed = true;
        links[i].origin = links[previous].origin;
    }
    for (size_t i = 0; i < batch->event_count; i++) {
        if (!links[i].followed && tail_move(a, &batch->events[i], links[i].origin, err) < 0)
            goto out;
    }
    result = 0;
out:
    free(links);
    return result;
}

/* --- one batch --------------------------------------------------------------------------------------------- */

static int inbox_consume(struct appending *a, int64_t id, struct err *err)
{
    struct call call;
    call_start(&call, a->s, STATEMENT_INBOX_CONSUME);
    call_int(&call, (int64_t)a->batch->events[0].seq);
    call_int(&call, id);
    call_int(&call, a->run.run_no);
    if (call_run(&call, "consuming an inbox message", err) < 0)
        return -1;
    if (sqlite3_changes(a->s->db) == 1)
        return 0;
    return err_set(err, ERR_USAGE, "inbox message %lld is not one of this run", (long long)id);
}

/* Finds the run, checks the fence and reads where its log ends. */
static enum outcome batch_open(struct appending *a, struct err *err)
{
    const struct append_batch *batch = a->batch;
    struct call call;
    if (batch->event_count == 0 || batch->events[0].seq == 0) {
        err_set(err, ERR_USAGE, "a batch needs an event, and seq starts at 1");
        return OUTCOME_REFUSED;
    }
    if (run_owned(a->s, batch->run_id, batch->epoch, &a->run, err) < 0)
        return err->class == ERR_CANCELLED ? OUTCOME_FENCED : outcome_of(err);
    call_start(&call, a->s, STATEMENT_HEAD);
    call_int(&call, a->run.run_no);
    int row = call_step(&call, "appending events", err);
    if (row < 0)
        return OUTCOME_BROKEN;
    a->head_hash = chain_start(id_str(&a->run.id));
    if (row == 1) {
        a->head_seq = (uint64_t)call_number(&call, 0);
        if (!call_hash_at(&call, 1, &a->head_hash))
            err_set(err, ERR_CORRUPT, "store %s: event %llu of run %s has no hash", a->s->path,
                    (unsigned long long)a->head_seq, a->run.id.text);
    }
    call_end(&call);
    if (err->class == ERR_CORRUPT)
        return OUTCOME_BROKEN;
    if (batch->events[0].seq != a->head_seq + 1) {
        err_set(err, ERR_CANCELLED, "the log of run %s ends at event %llu, not before event %llu",
                a->run.id.text, (unsigned long long)a->head_seq,
                (unsigned long long)batch->events[0].seq);
        return OUTCOME_FENCED;
    }
    return OUTCOME_WRITTEN;
}

static enum outcome batch_write(struct sqlite_store *s, const struct append_batch *batch,
                                struct err *err)
{
    struct appending a = {.s = s, .batch = batch};
    enum outcome outcome = batch_open(&a, err);
    if (outcome != OUTCOME_WRITTEN)
        return outcome;
    for (size_t i = 0; i < batch->event_count; i++) {
        if (event_insert(&a, &batch->events[i], err) < 0)
            return outcome_of(err);
    }
    if (tails_update(&a, err) < 0)
        return outcome_of(err);
    for (size_t i = 0; i < batch->row_count; i++) {
        if (projection_write(s, id_str(&a.run.id), a.run.run_no, &batch->rows[i], err) < 0)
            return outcome_of(err);
    }
    for (size_t i = 0; i < batch->inbox_count; i++) {
        if (inbox_consume(&a, batch->inbox_ids[i], err) < 0)
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

/* WRITTEN: every batch is marked durable or fenced. REFUSED: the guilty one is marked, nothing was written.
 * BROKEN: all are marked unknown. */
static enum outcome append_together(struct sqlite_store *s, struct append_batch *batches,
                                    size_t count)
{
    struct err err = ERR_INIT;
    if (transaction_write(s, &err) < 0) {
        mark_unknown(batches, count, &err);
        return OUTCOME_BROKEN;
    }
    for (size_t i = 0; i < count; i++) {
        struct append_batch *batch = &batches[i];
        batch->err = ERR_INIT;
        batch->result = APPEND_DURABLE;
        switch (batch_write(s, batch, &batch->err)) {
        case OUTCOME_WRITTEN:
            break;
        case OUTCOME_FENCED:
            batch->result = APPEND_FENCED;
            break;
        case OUTCOME_REFUSED:
            batch->result = APPEND_REFUSED;
            transaction_rollback(s);
            return OUTCOME_REFUSED;
        case OUTCOME_BROKEN:
            err = batch->err;
            transaction_rollback(s);
            mark_unknown(batches, count, &err);
            return OUTCOME_BROKEN;
        }
    }
    if (transaction_commit(s, &err) < 0) {
        mark_unknown(batches, count, &err);
        return OUTCOME_BROKEN;
    }
    return OUTCOME_WRITTEN;
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
