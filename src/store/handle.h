/* What the files of this folder share: the handle, calls of prepared statements, transactions, error texts
 * and the operations that sqlite.c puts into one table. Nobody outside src/store includes this. */
#ifndef CADRE_STORE_HANDLE_H
#define CADRE_STORE_HANDLE_H

#include <sqlite3.h>
#include <sys/stat.h>

#include "base/map.h"
#include "port/store.h"
#include "store/statement.h"

#define STORE_VERSION 2       /* of the schema; grows with every change of it */
#define STORE_INLINE_MAX 1024 /* bytes of payload kept in the event itself; longer ones are blobs */
#define STORE_VALUE_MAX EVENT_PAYLOAD_MAX /* bytes of any one text or payload */
#define STORE_BOOT_ID_MAX 64

/* What a file looked like when the store was opened; size -1: it was not there. */
struct still_file {
    int64_t size;
    struct timespec modified, changed;
};

struct sqlite_store {
    struct store store; /* first, so that the port's pointer is this one */
    sqlite3 *db;
    char *path;
    int busy_ms;
    char boot_id[STORE_BOOT_ID_MAX]; /* of this machine; empty: it is not known */
    int64_t wall_at_boot;            /* see sqlite.h */
    int64_t busy_since; /* monotonic milliseconds, when the present wait for a lock began */
    uint64_t random;    /* xorshift state for the sleeps */
    sqlite3_stmt *statements[STATEMENT_COUNT]; /* prepared on first use, kept until close */
    struct map
        types; /* "category type" → type_no; emptied by a rollback, which may undo the newest */
    struct map heads;       /* run id in capitals → struct run_head; see head.c */
    uint32_t heads_version; /* of the file, when the heads were true */
    bool is_readonly;
    bool is_still; /* read without locks: see readonly.c */
    struct still_file still_file, still_log;
};

static inline struct sqlite_store *sqlite_store_of(struct store *store)
{
    return (struct sqlite_store *)store;
}

/* --- calls: one use of a prepared statement --------------------------------------------------------- */

/* Parameters are given in the order of the SQL text; a failure on the way is reported by the step. */
struct call {
    struct sqlite_store *s;
    sqlite3_stmt *stmt;
    int next; /* number of the next parameter */
    int code; /* first failure, SQLITE_OK so far */
};

void call_start(struct call *call, struct sqlite_store *s, enum statement which);
void call_int(struct call *call, int64_t number);
void call_int_or_null(struct call *call, int64_t number);   /* -1 is NULL */
void call_str(struct call *call, struct str text);          /* p == NULL is NULL; not copied */
void call_hash(struct call *call, const struct hash *hash); /* NULL is NULL; not copied */
void call_bytes(struct call *call, struct str bytes);       /* a blob; not copied */
/* 1: a row is there; 0: no more rows; -1 with err. After 0 and -1 the call has ended. */
int call_step(struct call *call, const char *doing, struct err *err) NODISCARD;
/* For statements without rows: steps and ends. */
int call_run(struct call *call, const char *doing, struct err *err) NODISCARD;
void call_end(struct call *call); /* harmless when it has ended */

/* Columns of the present row; views live until the next step. */
int64_t call_number(struct call *call, int column);                  /* NULL is 0 */
int64_t call_number_or_none(struct call *call, int column);          /* NULL is -1 */
struct str call_text(struct call *call, int column);                 /* NULL is STR_NONE */
bool call_hash_at(struct call *call, int column, struct hash *hash); /* false unless 32 bytes */

/* --- transactions ------------------------------------------------------------------------------------ */

int transaction_write(struct sqlite_store *s, struct err *err) NODISCARD; /* takes the write lock */
int transaction_read(struct sqlite_store *s, struct err *err) NODISCARD;  /* one snapshot */
int transaction_commit(struct sqlite_store *s,
                       struct err *err) NODISCARD; /* rolls back on failure */
void transaction_rollback(struct sqlite_store *s); /* harmless without one */

/* --- errors and waiting ------------------------------------------------------------------------------ */

/* Turns a SQLite result code into a class and a message that names the file and says what to do. */
int handle_error(struct sqlite_store *s, int code, const char *doing, struct err *err);
/* SQLite's busy handler: sleeps a little; 0 when busy_ms have passed since the wait began. */
int handle_wait(void *handle, int attempt);

/* --- shared lookups ---------------------------------------------------------------------------------- */

struct known_run {
    int64_t run_no;
    struct id
        id; /* as stored, whatever the case of the caller's letters: the chain starts from it */
};

/* NOT_FOUND for an unknown run. */
int run_known(struct sqlite_store *s, struct str run_id, struct known_run *run,
              struct err *err) NODISCARD;
int run_number(struct sqlite_store *s, struct str run_id, int64_t *run_no,
               struct err *err) NODISCARD;
/* NOT_FOUND for an unknown run; *epoch is that of the lease in force, 0 where nobody holds the run. */
int run_leased(struct sqlite_store *s, struct str run_id, struct known_run *run, uint64_t *epoch,
               struct err *err) NODISCARD;
/* NOT_FOUND for an unknown run; CANCELLED unless the lease's epoch is this one and it was not released. */
int run_owned(struct sqlite_store *s, struct str run_id, uint64_t epoch, struct known_run *run,
              struct err *err) NODISCARD;
/* Parts of operations, for callers that hold the write lock. A message of kind start makes its run known. */
int message_insert(struct sqlite_store *s, struct str run_id, struct str kind, struct str body,
                   struct str sender, int64_t now, int64_t *id, struct err *err) NODISCARD;
/* Gives a call the three parameters that tell whether a lease holds. */
void lease_clock(struct call *call, const struct sqlite_store *s, int64_t now);
/* Checks what a lease is asked for with. */
int lease_terms(struct str owner, int64_t ttl_ms, int64_t now, struct err *err) NODISCARD;
int lease_take(struct sqlite_store *s, struct str run_id, struct str owner, int64_t ttl_ms,
               int64_t now, struct lease *lease, struct err *err) NODISCARD;
/* Writes changes of the projections, in order, inside the caller's transaction. */
int projection_write(struct sqlite_store *s, const struct known_run *run, const struct row *rows,
                     size_t count, struct err *err) NODISCARD;

/* --- appending: parts of one transaction ------------------------------------------------------------- */

/* Where a run's log ends, with the events that wait to be inserted. */
struct run_head {
    struct known_run run;
    uint64_t epoch; /* of the lease in force; 0: nobody holds the run */
    uint64_t seq;
    struct hash hash;
};

/* Call with the write lock held. *head lives until the next heads_forget. NOT_FOUND for an unknown run. */
int head_find(struct sqlite_store *s, struct str run_id, struct run_head **head,
              struct err *err) NODISCARD;
void heads_check(struct sqlite_store *s);  /* first in a transaction: forgets what others changed */
void heads_keep(struct sqlite_store *s);   /* after its commit: the heads are what the file says */
void heads_forget(struct sqlite_store *s); /* instead, when it was rolled back */

#define INSERT_ROWS 16 /* events in the widest insert */

/* Events with their hashes, on their way into the table; the rows belong to the caller until the flush. */
struct waiting_event {
    const struct event_row *row;
    int64_t run_no, type_no;
    uint64_t epoch;
    struct hash payload_hash, hash;
};

struct inserts {
    struct sqlite_store *s;
    struct waiting_event events[INSERT_ROWS];
    size_t count;
};

/* Moves the head; the event is in the table after the flush at the latest. */
int insert_add(struct inserts *inserts, struct run_head *head, const struct event_row *row,
               struct err *err) NODISCARD;
int insert_flush(struct inserts *inserts, struct err *err) NODISCARD;

/* The last events of the agents that a transaction touches. */
struct tail {
    int64_t run_no;
    uint32_t agent_no;
    uint64_t
        origin;    /* the tail before this transaction, as its first event of this agent names it */
    uint64_t last; /* 0: an empty place of the table */
};

struct tails {
    struct tail *places; /* open addressing; capacity is a power of two */
    size_t capacity, count;
};

int tails_follow(struct tails *tails, int64_t run_no, const struct event_row *row,
                 struct err *err) NODISCARD;
int tails_write(struct tails *tails, struct sqlite_store *s, struct err *err) NODISCARD;
void tails_release(struct tails *tails);

/* --- opening ----------------------------------------------------------------------------------------- */

int place_prepare(const char *path,
                  struct err *err) NODISCARD; /* directory and file, see sqlite.h */
int place_stands(struct sqlite_store *s,
                 struct err *err) NODISCARD; /* NOT_FOUND: it was moved, removed or replaced */
int schema_ready(struct sqlite_store *s,
                 struct err *err) NODISCARD; /* creates or migrates it, or refuses its version */
int confine(struct sqlite_store *s, struct err *err) NODISCARD; /* after that: see confine.c */

/* How a store that is only read is opened: readonly.c. */
enum store_access {
    ACCESS_WRITE, /* as for writing: this user may */
    ACCESS_READ_ALONG,
    ACCESS_READ_FILE,
    ACCESS_READ_LOG,
};
/* NOT_FOUND: there is no store. */
int readonly_access(const char *path, enum store_access *access, struct err *err) NODISCARD;
int readonly_connect(struct sqlite_store *s, enum store_access access, struct err *err) NODISCARD;
/* Checks the version; an older one cannot be brought up to date here. */
int readonly_schema(struct sqlite_store *s, struct err *err) NODISCARD;
/* RETRY: somebody wrote to a store that is read without locks. */
int still_check(struct sqlite_store *s, struct err *err) NODISCARD;

/* --- operations (port/store.h) ----------------------------------------------------------------------- */

int sqlite_lease(struct store *store, struct str run_id, struct str owner, int64_t ttl_ms,
                 int64_t now, struct lease *lease, struct err *err);
int sqlite_renew(struct store *store, struct str run_id, uint64_t epoch, int64_t ttl_ms,
                 int64_t now, struct err *err);
int sqlite_release(struct store *store, struct str run_id, uint64_t epoch, struct err *err);
void sqlite_append(struct store *store, struct append_batch *batches, size_t count);
int sqlite_read(struct store *store, struct str run_id, uint64_t after_seq, uint32_t agent_no,
                size_t limit, store_event_fn *fn, void *user, struct err *err);
int sqlite_head(struct store *store, struct str run_id, uint64_t *seq, struct hash *hash,
                struct err *err);
int sqlite_blob_get(struct store *store, const struct hash *hash, struct buf *out, struct err *err);
int sqlite_inbox_put(struct store *store, struct str run_id, struct str kind, struct str body,
                     struct str sender, int64_t now, int64_t *id, struct err *err);
int sqlite_inbox_look(struct store *store, struct str run_id, store_inbox_fn *fn, void *user,
                      struct err *err);
int sqlite_inbox_take(struct store *store, struct str run_id, uint64_t epoch, store_inbox_fn *fn,
                      void *user, struct err *err);
int sqlite_runs(struct store *store, struct str status, size_t limit, int64_t now, store_run_fn *fn,
                void *user, struct err *err);
int sqlite_run(struct store *store, struct str run_id, int64_t now, store_run_fn *fn, void *user,
               struct err *err);
int sqlite_run_find(struct store *store, struct str prefix, struct id *run_id, struct err *err);
int sqlite_agents(struct store *store, struct str run_id, store_agent_fn *fn, void *user,
                  struct err *err);
int sqlite_session_ensure(struct store *store, struct str session_id, struct str user_id,
                          struct str workspace_id, int64_t now, struct err *err);
int sqlite_begin(struct store *store, const struct run_begin *begin, struct lease *lease,
                 int64_t *message_id, struct err *err);
int sqlite_record_get(struct store *store, struct str type, struct str id, struct buf *value,
                      uint64_t *version, struct err *err);
int sqlite_record_cas(struct store *store, struct str type, struct str id, uint64_t expected,
                      struct str value, struct str who, int64_t now, uint64_t *version,
                      struct err *err);
int sqlite_record_change(struct store *store, const struct record_change *change, uint64_t *version,
                         struct err *err);
int sqlite_records(struct store *store, struct str type, store_record_fn *fn, void *user,
                   struct err *err);
int sqlite_record_history(struct store *store, struct str type, struct str id, size_t limit,
                          store_record_fn *fn, void *user, struct err *err);
int sqlite_check(struct store *store, struct err *err);
int sqlite_check_pages(struct store *store, struct err *err);
int sqlite_guards(struct store *store, store_guard_fn *fn, void *user, struct err *err);
int sqlite_snapshot(struct store *store, struct err *err);
void sqlite_snapshot_end(struct store *store);
int sqlite_traces(struct store *store, struct str run_id, store_trace_fn *fn, void *user,
                  struct err *err);

#endif
