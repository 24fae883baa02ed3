/* The store: where events, blobs, leases, inbox messages and projections live. One vtable for every
 * database; tests/unit/store_conformance.h holds the promises that each implementation is tested for.
 *
 * Threads: a `struct store` belongs to one thread at a time. Each thread that needs the store opens its own.
 * Every call may block (disk, a lock held by another process) and is bounded: a busy database is retried
 * with small random sleeps for at most `busy_ms`, then answers ERR_RETRY. Nothing here is called on the loop.
 *
 * Error classes: IO (disk full, read-only, permission), CORRUPT, CONFIG (a newer version, not a store), RETRY,
 * NOT_FOUND, USAGE. Messages name the file and say what to do.
 *
 * Views handed to callbacks live until the callback returns. */
#ifndef CADRE_PORT_STORE_H
#define CADRE_PORT_STORE_H

#include "base/buf.h"
#include "base/err.h"
#include "core/run/row.h"

struct store;

/* --- appending ------------------------------------------------------------------------------------- */

enum append_result {
    APPEND_DURABLE, /* committed and synced */
    APPEND_FENCED, /* another owner holds the run now, or first_seq is not the next one: this process must let go */
    APPEND_REFUSED, /* a constraint said no (illegal edge, contract changed, inbox message taken twice):
                       nothing of this run's batch was written; err says why; other runs' batches were not touched */
    APPEND_UNKNOWN, /* an I/O error: it may or may not have been committed; the process must end */
};

/* Everything that one run appends at once; atomic. */
struct append_batch {
    struct str run_id;
    uint64_t epoch;                 /* of the lease under which this is written */
    const struct event_row *events; /* seq: first, first + 1, … */
    size_t event_count;
    const struct row *rows;
    size_t row_count;
    const int64_t *inbox_ids; /* messages that these events consume: each exactly once, ever */
    size_t inbox_count;
    enum append_result result; /* out */
    struct err err;            /* out, where refused or unknown */
};

/* --- reading --------------------------------------------------------------------------------------- */

struct stored_event {
    struct event_row row; /* payload resolved from its blob; p == NULL when it was purged */
    uint64_t epoch;
    struct hash payload_hash;
    struct hash hash; /* chain value as stored */
};

struct stored_run {
    struct str run_id, session_id, user_id, workspace_id, workspace_path, task, model, status,
        error, result_json, parent_run;
    int64_t parent_seq, started_at, finished_at; /* -1 where not set */
    int64_t created_at;                          /* when its start message was sent */
    uint64_t last_seq;
    int64_t children, children_open;
    struct str owner; /* who holds a lease that has not run out, or STR_NONE */
};

struct stored_agent {
    uint32_t agent_no;
    struct str run_id; /* of the run that it belongs to, as its row has it */
    struct str id, parent_id, name, status, worktree_path, branch_name, merge_status, context_json,
        error;
    int64_t step_idx, started_at, finished_at;
};

struct inbox_message {
    int64_t id;
    struct str kind; /* start, cancel, send, approve */
    struct str body; /* JSON object */
    struct str sender;
    int64_t at;
};

struct lease {
    uint64_t epoch; /* grows with every new owner; 0 when held by another */
    uint64_t
        held_epoch; /* the holder's, when held: who knows that the holder is dead may release it */
    char holder[128];   /* who holds it, when held */
    int64_t expires_at; /* milliseconds since 1970, in its owner's wall time */
    /* Of a lease that was taken: when the one before it ran out, or would have. Its owner renewed it a time to live earlier. 0: the
     * run never had an owner. */
    int64_t replaced_expires_at;
};

/* A run that starts: what the three calls that `begin` stands for would be given. */
struct run_begin {
    struct str run_id; /* new */
    struct str session_id, user_id, workspace_id;
    struct str body, sender; /* of the message "start" */
    struct str owner;        /* of the lease */
    int64_t ttl_ms;
    int64_t sent_at; /* as `sent_at` of lease */
    int64_t now;
};

/* One version of a control-plane record. */
struct stored_record {
    struct str type, id;
    uint64_t version;
    struct str value; /* JSON; p == NULL: this version removed the record */
    struct str who;
    int64_t at;
};

/* What must hold of another record at the moment of a write. version 0: it must not exist. */
struct record_condition {
    struct str type, id;
    uint64_t version;
};

struct record_change {
    struct str type, id;
    uint64_t expected; /* the version that the writer saw; 0: there was none */
    struct str value;  /* STR_NONE removes */
    struct str who;
    int64_t now;
    const struct record_condition *conditions;
    size_t condition_count;
};

/* What tables beside the log say of a run's events. */
struct store_trace {
    enum {
        TRACE_TAIL, /* the agent `id` has its last event at seq */
        TRACE_INBOX /* the inbox message `id` was consumed by the event seq */
    } kind;
    int64_t id;
    uint64_t seq;
    int64_t started_by; /* when the message was sent that started the run; -1: another one */
};

/* ADDED: a trigger of somebody else, which could change what a program writes. */
enum guard_state { GUARD_MISSING, GUARD_CHANGED, GUARD_ADDED };

/* A callback returns 0 to go on, anything else to stop early (not an error). */
typedef int store_event_fn(void *user, const struct stored_event *event);
typedef int store_run_fn(void *user, const struct stored_run *run);
typedef int store_agent_fn(void *user, const struct stored_agent *agent);
typedef int store_inbox_fn(void *user, const struct inbox_message *message);
typedef int store_record_fn(void *user, const struct stored_record *record);
typedef int store_trace_fn(void *user, const struct store_trace *trace);
typedef void store_guard_fn(void *user, const char *guard, enum guard_state state);

#define STORE_ALL_AGENTS UINT32_MAX

/* 0 or -1 with err, unless a comment says otherwise. `now` is milliseconds since 1970, from the caller. `sent_at` and
 * `asked_at` are milliseconds on the clock of leases, which counts from the machine's start: a lease is valid for
 * `ttl_ms` from the moment when its owner sent the request, however long that took to arrive. */
struct store_ops {
    void (*close)(struct store *s);

    /* lease.epoch > 0: the run is ours. lease.epoch == 0: held by lease.holder until expires_at. The same owner
     * asking again while it holds the lease gets a new epoch (it crashed and came back). NOT_FOUND: no such run. */
    int (*lease)(struct store *s, struct str run_id, struct str owner, int64_t ttl_ms,
                 int64_t sent_at, struct lease *lease, struct err *err);
    /* -1 with class CANCELLED when the lease was taken over. */
    int (*renew)(struct store *s, struct str run_id, uint64_t epoch, int64_t ttl_ms,
                 int64_t sent_at, struct err *err);
    int (*release)(struct store *s, struct str run_id, uint64_t epoch, struct err *err);

    /* Writes all batches as one transaction; when a constraint refuses, repeats run by run. Fills each batch's result. */
    void (*append)(struct store *s, struct append_batch *batches, size_t count);

    /* Committed events with seq > after_seq in order, at most limit (0: all); of one agent (through agent_prev) or all. */
    int (*read)(struct store *s, struct str run_id, uint64_t after_seq, uint32_t agent_no,
                size_t limit, store_event_fn *fn, void *user, struct err *err);
    /* Highest committed seq (0: none) and its chain value (chain_start when none). */
    int (*head)(struct store *s, struct str run_id, uint64_t *seq, struct hash *hash,
                struct err *err);
    int (*blob_get)(struct store *s, const struct hash *hash, struct buf *out, struct err *err);

    /* A message for a run. kind "start" also makes the run known (run_id is new); others: NOT_FOUND for an unknown run.
     * *id names it from now on. */
    int (*inbox_put)(struct store *s, struct str run_id, struct str kind, struct str body,
                     struct str sender, int64_t now, int64_t *id, struct err *err);
    /* Messages that no event has consumed yet, oldest first. Fenced (class CANCELLED) when epoch is not current. */
    int (*inbox_take)(struct store *s, struct str run_id, uint64_t epoch, store_inbox_fn *fn,
                      void *user, struct err *err);

    /* The same for somebody who only looks: nothing is fenced. */
    int (*inbox_look)(struct store *s, struct str run_id, store_inbox_fn *fn, void *user,
                      struct err *err);

    int (*runs)(struct store *s, struct str status, size_t limit, int64_t asked_at,
                store_run_fn *fn, void *user,
                struct err *err); /* newest first; status STR_NONE: all */
    int (*run)(struct store *s, struct str run_id, int64_t asked_at, store_run_fn *fn, void *user,
               struct err *err); /* NOT_FOUND */
    /* The full ids that start with prefix (case-insensitive), to resolve what a person typed; 0, 1 or AMBIGUOUS → USAGE/NOT_FOUND err. */
    int (*run_find)(struct store *s, struct str prefix, struct id *run_id, struct err *err);
    int (*agents)(struct store *s, struct str run_id, store_agent_fn *fn, void *user,
                  struct err *err); /* spawn order */

    /* Sessions and identities: created on first use. */
    int (*session_ensure)(struct store *s, struct str session_id, struct str user_id,
                          struct str workspace_id, int64_t now, struct err *err);

    /* session_ensure, inbox_put "start" and lease as one change, which is there whole or not at all: a run that starts costs one
     * sync before its first event. USAGE when the run exists already. */
    int (*begin)(struct store *s, const struct run_begin *begin, struct lease *lease,
                 int64_t *message_id, struct err *err);

    /* Control-plane records. expected version 0: must not exist. On a mismatch -1 with class RETRY and *version = the current one.
     * value STR_NONE removes. History is kept. */
    int (*record_get)(struct store *s, struct str type, struct str id, struct buf *value,
                      uint64_t *version, struct err *err); /* NOT_FOUND */
    int (*record_cas)(struct store *s, struct str type, struct str id, uint64_t expected,
                      struct str value, struct str who, int64_t now, uint64_t *version,
                      struct err *err);
    /* The same, only if every condition holds, all in one transaction. RETRY, where the version or a condition does not hold,
     * with a message that says who wrote what is there now; *version is the present one of the record itself. */
    int (*record_change)(struct store *s, const struct record_change *change, uint64_t *version,
                         struct err *err);
    /* Records as they are, by type and id; of one type or (STR_NONE) all: one snapshot. */
    int (*records)(struct store *s, struct str type, store_record_fn *fn, void *user,
                   struct err *err);
    /* Every version ever written, newest first, at most limit (0: all); STR_NONE: of every type, of every id. */
    int (*record_history)(struct store *s, struct str type, struct str id, size_t limit,
                          store_record_fn *fn, void *user, struct err *err);

    /* The whole store's own integrity (pages, constraints). */
    int (*check)(struct store *s, struct err *err);
    /* The same without comparing each row with its entries in indexes, which takes several times as long. */
    int (*check_pages)(struct store *s, struct err *err);
    /* Whether the database still refuses what it must, and shows people what it must: tells of each trigger, view and table of
     * rules that is missing or is not what this version made ("trigger events_update"). */
    int (*guards)(struct store *s, store_guard_fn *fn, void *user, struct err *err);

    /* Until snapshot_end every reading operation on this handle sees the same moment of the store. No operation that writes,
     * and no reading of one agent, in between. */
    int (*snapshot)(struct store *s, struct err *err);
    void (*snapshot_end)(struct store *s);
    int (*traces)(struct store *s, struct str run_id, store_trace_fn *fn, void *user,
                  struct err *err);
};

struct store {
    const struct store_ops *ops;
};

/* How a process opens one more handle on its store (one per thread). */
struct store_opener {
    int (*open)(void *user, struct store **store, struct err *err);
    void *user;
};

#endif
