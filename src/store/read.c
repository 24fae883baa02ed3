/* Reading events and blobs. Only committed rows are seen; one walk sees one moment of the store. Payloads are
 * checked against the hash that names them. Runs on the handle's thread, which may be any but the loop. */
#include <stdlib.h>

#include "store/handle.h"

/* An agent's events are collected as seq numbers before the first is handed out. */
#define AGENT_EVENTS_MAX (16u << 20)

static int event_corrupt(struct sqlite_store *s, const struct stored_event *event, const char *what,
                         struct err *err)
{
    return err_set(err, ERR_CORRUPT, "store %s: event %llu: %s; restore the store from a backup",
                   s->path, (unsigned long long)event->row.seq, what);
}

static int event_payload(struct call *call, struct stored_event *event, struct err *err)
{
    struct str json = call_text(call, 11);
    if (json.p) {
        event->row.payload = json;
        event->payload_hash = hash_of(json);
        return 0;
    }
    if (!call_hash_at(call, 12, &event->payload_hash))
        return event_corrupt(call->s, event, "it has neither a payload nor a payload's hash", err);
    event->row.payload = call_text(call, 13);
    if (!event->row.payload.p)
        return 0;
    struct hash actual = hash_of(event->row.payload);
    if (!hash_eq(&actual, &event->payload_hash))
        return event_corrupt(call->s, event, "its payload is not the one that was written", err);
    return 0;
}

/* The columns are EVENT_COLUMNS of statement.c. */
static int event_from_row(struct call *call, struct stored_event *event, struct err *err)
{
    int64_t agent_no = call_number(call, 1), version = call_number(call, 4);
    *event = (struct stored_event){
        .row = {.seq = (uint64_t)call_number(call, 0),
                .agent_no = (uint32_t)agent_no,
                .agent_prev = (uint64_t)call_number(call, 2),
                .version = (uint16_t)version,
                .ts = call_number(call, 5),
                .category = call_text(call, 6),
                .type = call_text(call, 7),
                .call_id = call_text(call, 8),
                .cause_seq = (uint64_t)call_number(call, 9),
                .summary = call_text(call, 10)},
        .epoch = (uint64_t)call_number(call, 3),
    };
    if (agent_no < 0 || agent_no >= STORE_ALL_AGENTS || version < 0 || version > UINT16_MAX)
        return event_corrupt(call->s, event, "its agent or its version is not a number of cadre's",
                             err);
    if (!call_hash_at(call, 14, &event->hash))
        return event_corrupt(call->s, event, "it has no hash", err);
    return event_payload(call, event, err);
}

/* 1: the callback stopped the walk. */
static int hand_out(struct call *call, store_event_fn *fn, void *user, struct err *err)
{
    struct stored_event event;
    if (event_from_row(call, &event, err) < 0)
        return -1;
    return fn(user, &event) != 0;
}

static int read_all(struct sqlite_store *s, int64_t run_no, uint64_t after_seq, size_t limit,
                    store_event_fn *fn, void *user, struct err *err)
{
    struct call call;
    call_start(&call, s, STATEMENT_EVENTS);
    call_int(&call, run_no);
    call_int(&call, (int64_t)after_seq);
    call_int(&call, limit == 0 || limit > INT64_MAX ? -1 : (int64_t)limit);
    int result;
    while ((result = call_step(&call, "reading events", err)) == 1) {
        result = hand_out(&call, fn, user, err);
        if (result != 0)
            break;
    }
    call_end(&call);
    return result < 0 ? -1 : 0;
}

/* --- one agent -------------------------------------------------------------------------------------------- */

struct walk {
    uint64_t *seqs; /* newest first */
    size_t count, capacity;
};

static int walk_add(struct walk *walk, uint64_t seq, struct err *err)
{
    if (walk->count == walk->capacity) {
        size_t capacity = walk->capacity ? walk->capacity * 2 : 64;
        uint64_t *grown =
            capacity > AGENT_EVENTS_MAX ? NULL : realloc(walk->seqs, capacity * sizeof *grown);
        if (!grown)
            return err_set(err, ERR_IO, "an agent has too many events to read them at once");
        walk->seqs = grown;
        walk->capacity = capacity;
    }
    walk->seqs[walk->count++] = seq;
    return 0;
}

static int tail_get(struct sqlite_store *s, int64_t run_no, uint32_t agent_no, uint64_t *seq,
                    struct err *err)
{
    struct call call;
    *seq = 0;
    call_start(&call, s, STATEMENT_TAIL_GET);
    call_int(&call, run_no);
    call_int(&call, agent_no);
    int row = call_step(&call, "reading an agent's events", err);
    if (row == 1)
        *seq = (uint64_t)call_number(&call, 0);
    call_end(&call);
    return row < 0 ? -1 : 0;
}

/* From the agent's last event back to after_seq. A chain that does not lead back ends here: seq only shrinks. */
static int walk_back(struct sqlite_store *s, int64_t run_no, uint32_t agent_no, uint64_t after_seq,
                     struct walk *walk, struct err *err)
{
    uint64_t seq;
    if (tail_get(s, run_no, agent_no, &seq, err) < 0)
        return -1;
    while (seq > after_seq) {
        struct call call;
        if (walk_add(walk, seq, err) < 0)
            return -1;
        call_start(&call, s, STATEMENT_EVENT_PREV);
        call_int(&call, run_no);
        call_int(&call, (int64_t)seq);
        int row = call_step(&call, "reading an agent's events", err);
        if (row < 0)
            return -1;
        uint64_t previous = row == 1 ? (uint64_t)call_number(&call, 0) : seq;
        bool same_agent = row == 1 && call_number(&call, 1) == agent_no;
        call_end(&call);
        if (previous >= seq || !same_agent)
            return err_set(err, ERR_CORRUPT,
                           "store %s: event %llu breaks the chain of agent %u; restore the store"
                           " from a backup",
                           s->path, (unsigned long long)seq, (unsigned)agent_no);
        seq = previous;
    }
    return 0;
}

static int read_agent(struct sqlite_store *s, int64_t run_no, uint64_t after_seq, uint32_t agent_no,
                      size_t limit, store_event_fn *fn, void *user, struct err *err)
{
    struct walk walk = {0};
    int result = walk_back(s, run_no, agent_no, after_seq, &walk, err);
    size_t wanted = limit == 0 || limit > walk.count ? walk.count : limit;
    for (size_t i = 0; i < wanted && result == 0; i++) {
        struct call call;
        call_start(&call, s, STATEMENT_EVENT_ONE);
        call_int(&call, run_no);
        call_int(&call, (int64_t)walk.seqs[walk.count - 1 - i]);
        result = call_step(&call, "reading an agent's events", err);
        if (result == 1)
            result = hand_out(&call, fn, user, err);
        call_end(&call);
    }
    free(walk.seqs);
    return result < 0 ? -1 : 0;
}

int sqlite_read(struct store *store, struct str run_id, uint64_t after_seq, uint32_t agent_no,
                size_t limit, store_event_fn *fn, void *user, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(store);
    int64_t run_no = 0;
    if (run_number(s, run_id, &run_no, err) < 0)
        return -1;
    if (after_seq > INT64_MAX)
        return 0;
    if (agent_no == STORE_ALL_AGENTS)
        return read_all(s, run_no, after_seq, limit, fn, user, err);
    /* Several statements, one snapshot. */
    if (transaction_read(s, err) < 0)
        return -1;
    int result = read_agent(s, run_no, after_seq, agent_no, limit, fn, user, err);
    transaction_rollback(s);
    return result;
}

int sqlite_head(struct store *store, struct str run_id, uint64_t *seq, struct hash *hash,
                struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(store);
    struct call call;
    struct known_run run;
    if (run_known(s, run_id, &run, err) < 0)
        return -1;
    *seq = 0;
    *hash = chain_start(id_str(&run.id));
    call_start(&call, s, STATEMENT_HEAD);
    call_int(&call, run.run_no);
    int row = call_step(&call, "reading the end of a log", err);
    if (row == 1) {
        struct stored_event last = {.row.seq = (uint64_t)call_number(&call, 0)};
        *seq = last.row.seq;
        if (!call_hash_at(&call, 1, hash))
            row = event_corrupt(s, &last, "it has no hash", err);
    }
    call_end(&call);
    return row < 0 ? -1 : 0;
}

int sqlite_blob_get(struct store *store, const struct hash *hash, struct buf *out, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(store);
    struct call call;
    char hex[HASH_HEX + 1];
    hash_hex(hash, hex);
    call_start(&call, s, STATEMENT_BLOB_GET);
    call_hash(&call, hash);
    int row = call_step(&call, "reading a payload", err);
    if (row == 0)
        return err_set(err, ERR_NOT_FOUND, "store %s: no payload %s; it may have been purged",
                       s->path, hex);
    if (row < 0)
        return -1;
    struct str bytes = call_text(&call, 0);
    struct hash actual = hash_of(bytes);
    int result = 0;
    if (!hash_eq(&actual, hash)) {
        result = err_set(err, ERR_CORRUPT,
                         "store %s: payload %s is not what was written; restore the store from a"
                         " backup",
                         s->path, hex);
    } else {
        buf_str(out, bytes);
        if (out->failed)
            result = err_set(err, ERR_USAGE, "payload %s is larger than the reader's %zu bytes",
                             hex, out->max);
    }
    call_end(&call);
    return result;
}

int sqlite_snapshot(struct store *store, struct err *err)
{
    return transaction_read(sqlite_store_of(store), err);
}

void sqlite_snapshot_end(struct store *store)
{
    transaction_rollback(sqlite_store_of(store));
}

int sqlite_traces(struct store *store, struct str run_id, store_trace_fn *fn, void *user,
                  struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(store);
    struct call call;
    int64_t run_no = 0;
    int row;
    if (run_number(s, run_id, &run_no, err) < 0)
        return -1;
    call_start(&call, s, STATEMENT_TRACES);
    call_int(&call, run_no);
    while ((row = call_step(&call, "reading what names events", err)) == 1) {
        struct store_trace trace = {.kind = call_number(&call, 0) == 0 ? TRACE_TAIL : TRACE_INBOX,
                                    .id = call_number(&call, 1),
                                    .seq = (uint64_t)call_number(&call, 2),
                                    .started_by = call_number(&call, 3)};
        if (fn(user, &trace) != 0)
            break;
    }
    call_end(&call);
    return row < 0 ? -1 : 0;
}
