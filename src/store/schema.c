/* The schema, and what the database itself refuses. Tables keep integers (run_no, agent_no, type_no); the view
 * event_log shows text ids. Creates a new store, migrates one of an older version; any other costs one read.
 *
 * events is a rowid table in order of commit with a small unique index. By CPU time per insert, one key packed
 * from (run_no, seq) is a fifth cheaper for one run and nearly twice as dear for 64 runs with one event each, because
 * every run's last page is written at each commit; WITHOUT ROWID is dearer still.
 *
 * agent_tails holds the seq of each agent's last event, changed in place, at most once per agent and batch:
 * reading one agent starts there and follows agent_prev. It adds at most a tenth to an insert; an index over
 * (run_no, agent_no, seq) adds two fifths to three quarters. */
#include <stdio.h>

#include "base/utf8.h"
#include "core/run/lifecycle.h"
#include "store/handle.h"

static const char schema_tables[] =
    "CREATE TABLE meta (application TEXT NOT NULL, version INTEGER NOT NULL) STRICT;"
    "CREATE TABLE runs ("
    " run_no INTEGER PRIMARY KEY, id TEXT NOT NULL COLLATE NOCASE UNIQUE, status TEXT NOT NULL,"
    " described INTEGER NOT NULL, session_id TEXT, user_id TEXT, workspace_id TEXT,"
    " workspace_path TEXT, model TEXT, parent_run TEXT, parent_seq INTEGER,"
    " created_at INTEGER NOT NULL, started_at INTEGER, finished_at INTEGER, error TEXT, task TEXT,"
    " result_json TEXT) STRICT;"
    "CREATE TABLE event_types (type_no INTEGER PRIMARY KEY, category TEXT NOT NULL,"
    " type TEXT NOT NULL, UNIQUE (category, type)) STRICT;"
    "CREATE TABLE events ("
    " g INTEGER PRIMARY KEY, run_no INTEGER NOT NULL, seq INTEGER NOT NULL,"
    " agent_no INTEGER NOT NULL, agent_prev INTEGER NOT NULL, epoch INTEGER NOT NULL,"
    " v INTEGER NOT NULL, ts INTEGER NOT NULL, type_no INTEGER NOT NULL, call_id TEXT,"
    " cause_seq INTEGER NOT NULL, summary TEXT NOT NULL, payload_json TEXT, payload_hash BLOB,"
    " hash BLOB NOT NULL, UNIQUE (run_no, seq)) STRICT;"
    "CREATE TABLE blobs (hash BLOB NOT NULL PRIMARY KEY, bytes BLOB NOT NULL,"
    " size INTEGER NOT NULL) STRICT;"
    "CREATE TABLE agent_tails (run_no INTEGER NOT NULL, agent_no INTEGER NOT NULL,"
    " seq INTEGER NOT NULL, PRIMARY KEY (run_no, agent_no)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE sub_agents ("
    " run_no INTEGER NOT NULL REFERENCES runs, agent_no INTEGER NOT NULL, run_id TEXT NOT NULL,"
    " id TEXT NOT NULL UNIQUE, parent_id TEXT, step_idx INTEGER, name TEXT, status TEXT NOT NULL,"
    " worktree_path TEXT, branch_name TEXT, merge_status TEXT, started_at INTEGER,"
    " finished_at INTEGER, error TEXT, context_json TEXT NOT NULL,"
    " PRIMARY KEY (run_no, agent_no)) STRICT;"
    "CREATE INDEX sub_agents_open ON sub_agents (run_no) WHERE status <> 'closed';"
    "CREATE TABLE lifecycle_edges (from_status TEXT NOT NULL, to_status TEXT NOT NULL,"
    " PRIMARY KEY (from_status, to_status)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE worktrees ("
    " path TEXT NOT NULL, host TEXT NOT NULL, run_id TEXT NOT NULL, agent_id TEXT NOT NULL,"
    " branch_name TEXT, base_ref TEXT, status TEXT NOT NULL, created_at INTEGER NOT NULL,"
    " removed_at INTEGER, PRIMARY KEY (host, path)) STRICT;"
    "CREATE TABLE sessions (id TEXT PRIMARY KEY NOT NULL, user_id TEXT, workspace_id TEXT,"
    " created_at INTEGER NOT NULL) STRICT;"
    "CREATE TABLE jobs ("
    " id TEXT NOT NULL, session_id TEXT NOT NULL, run_id TEXT NOT NULL, agent_id TEXT NOT NULL,"
    " status TEXT NOT NULL, created_at INTEGER NOT NULL, finished_at INTEGER,"
    " PRIMARY KEY (session_id, id)) STRICT;"
    "CREATE TABLE records ("
    " resource_type TEXT NOT NULL, resource_id TEXT NOT NULL, version INTEGER NOT NULL,"
    " value_json TEXT NOT NULL, who TEXT, updated_at INTEGER NOT NULL,"
    " PRIMARY KEY (resource_type, resource_id)) STRICT;"
    "CREATE TABLE records_history ("
    " resource_type TEXT NOT NULL, resource_id TEXT NOT NULL, version INTEGER NOT NULL,"
    " value_json TEXT, who TEXT, updated_at INTEGER NOT NULL,"
    " PRIMARY KEY (resource_type, resource_id, version)) STRICT;"
    "CREATE TABLE leases (run_no INTEGER PRIMARY KEY REFERENCES runs, epoch INTEGER NOT NULL,"
    " owner TEXT, expires_at INTEGER NOT NULL, boot_id TEXT, boot_until INTEGER) STRICT;"
    /* AUTOINCREMENT: an id names one message for ever. */
    "CREATE TABLE inbox ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, run_no INTEGER NOT NULL REFERENCES runs,"
    " kind TEXT NOT NULL, body TEXT NOT NULL, sender TEXT, at INTEGER NOT NULL,"
    " consumed_seq INTEGER) STRICT;"
    "CREATE INDEX inbox_open ON inbox (run_no, id) WHERE consumed_seq IS NULL;";

static const char schema_view[] =
    "CREATE VIEW event_log AS SELECT r.id AS run_id, e.seq AS seq,"
    " CASE e.agent_no WHEN 0 THEN r.id ELSE a.id END AS agent_id, e.ts AS ts,"
    " t.category AS category, t.type AS type, e.summary AS summary,"
    " coalesce(e.payload_json, CAST(b.bytes AS TEXT)) AS payload_json,"
    " lower(hex(e.hash)) AS hash"
    " FROM runs r JOIN events e ON e.run_no = r.run_no JOIN event_types t ON t.type_no = e.type_no"
    " LEFT JOIN sub_agents a ON a.run_no = e.run_no AND a.agent_no = e.agent_no"
    " LEFT JOIN blobs b ON b.hash = e.payload_hash";

/* steps[i] brings the tables of version i + 1 to version i + 2. The view and all triggers are made anew after the
 * last step. A trigger that has no successor of its name is dropped here.
 * 2: blobs, event types, tails and the rows of ended runs are guarded. Leases count from the machine's start; one
 * without a boot id is an older program's. */
static const char *const steps[] = {
    "ALTER TABLE leases ADD COLUMN boot_id TEXT;"
    "ALTER TABLE leases ADD COLUMN boot_until INTEGER;",
};
_Static_assert(sizeof steps / sizeof steps[0] == STORE_VERSION - 1, "each version has its step");

/* One line, one refusal: name, when it fires, what it says. Triggers BEFORE INSERT guard against REPLACE INTO,
 * which would remove the old row without firing any trigger on DELETE. They bind every program that opens the file;
 * this program's own handles are bound without them: an insert with a trigger costs twice as much (confine.c). */
struct refusal {
    const char *name, *when, *text;
};

#define ENDED "('completed', 'failed', 'cancelled')"
#define RUN_ENDED(row)                                                                             \
    "EXISTS (SELECT 1 FROM runs WHERE run_no = " row ".run_no AND status IN " ENDED ")"

static const struct refusal refusals[] = {
    {"events_update", "BEFORE UPDATE ON events", "events are append-only"},
    {"events_delete", "BEFORE DELETE ON events", "events are append-only"},
    {"events_dense",
     "BEFORE INSERT ON events WHEN NEW.seq <> 1 +"
     " (SELECT coalesce(max(seq), 0) FROM events WHERE run_no = NEW.run_no)"
     " OR EXISTS (SELECT 1 FROM events WHERE g = NEW.g)",
     "events are append-only and their seq has no gaps"},
    {"blobs_update", "BEFORE UPDATE ON blobs", "a blob is named by its content"},
    {"blobs_replace",
     "BEFORE INSERT ON blobs WHEN EXISTS (SELECT 1 FROM blobs WHERE hash = NEW.hash"
     " AND bytes <> NEW.bytes)",
     "a blob is named by its content"},
    {"blobs_delete", "BEFORE DELETE ON blobs", "a blob is never deleted"},
    {"types_update", "BEFORE UPDATE ON event_types", "a type of events never changes"},
    {"types_delete", "BEFORE DELETE ON event_types", "a type of events never changes"},
    {"types_replace",
     "BEFORE INSERT ON event_types WHEN EXISTS (SELECT 1 FROM event_types"
     " WHERE type_no = NEW.type_no OR (category = NEW.category AND type = NEW.type))",
     "a type of events never changes"},
    {"tails_update",
     "BEFORE UPDATE ON agent_tails WHEN NEW.run_no IS NOT OLD.run_no"
     " OR NEW.agent_no IS NOT OLD.agent_no OR NEW.seq <= OLD.seq",
     "the last event of an agent only moves on"},
    {"tails_delete", "BEFORE DELETE ON agent_tails", "the last event of an agent only moves on"},
    {"tails_replace",
     "BEFORE INSERT ON agent_tails WHEN EXISTS (SELECT 1 FROM agent_tails"
     " WHERE run_no = NEW.run_no AND agent_no = NEW.agent_no)",
     "the last event of an agent only moves on"},
    {"runs_replace",
     "BEFORE INSERT ON runs WHEN EXISTS (SELECT 1 FROM runs WHERE id = NEW.id)"
     " OR EXISTS (SELECT 1 FROM runs WHERE run_no = NEW.run_no)",
     "this run exists already"},
    {"runs_ended", "BEFORE UPDATE ON runs WHEN OLD.status IN " ENDED,
     "the row of a run that has ended never changes"},
    {"runs_delete", "BEFORE DELETE ON runs", "a run is never deleted"},
    {"runs_identity",
     "BEFORE UPDATE OF run_no, id ON runs WHEN NEW.run_no IS NOT OLD.run_no"
     " OR NEW.id IS NOT OLD.id",
     "the id of a run never changes"},
    {"sub_agents_insert", "BEFORE INSERT ON sub_agents WHEN NEW.status <> 'created'",
     "a sub-agent starts as created"},
    {"sub_agents_replace",
     "BEFORE INSERT ON sub_agents WHEN EXISTS (SELECT 1 FROM sub_agents WHERE id = NEW.id)"
     " OR EXISTS (SELECT 1 FROM sub_agents WHERE run_no = NEW.run_no AND agent_no = NEW.agent_no)",
     "this sub-agent exists already"},
    {"sub_agents_ended", "BEFORE UPDATE ON sub_agents WHEN " RUN_ENDED("OLD"),
     "the sub-agents of a run that has ended never change"},
    {"sub_agents_late", "BEFORE INSERT ON sub_agents WHEN " RUN_ENDED("NEW"),
     "the sub-agents of a run that has ended never change"},
    {"sub_agents_delete", "BEFORE DELETE ON sub_agents", "a sub-agent is never deleted"},
    {"sub_agents_closed", "BEFORE UPDATE ON sub_agents WHEN OLD.status = 'closed'",
     "a closed sub-agent never changes"},
    {"sub_agents_lifecycle",
     "BEFORE UPDATE OF status ON sub_agents WHEN NEW.status <> OLD.status AND NOT EXISTS"
     " (SELECT 1 FROM lifecycle_edges WHERE from_status = OLD.status AND to_status = NEW.status)",
     "this change of status is no edge of the lifecycle"},
    {"sub_agents_contract",
     "BEFORE UPDATE OF context_json ON sub_agents WHEN NEW.context_json IS NOT OLD.context_json",
     "a contract never changes"},
    {"sub_agents_identity",
     "BEFORE UPDATE OF run_no, agent_no, run_id, id, parent_id ON sub_agents"
     " WHEN NEW.run_no IS NOT OLD.run_no OR NEW.agent_no IS NOT OLD.agent_no"
     " OR NEW.run_id IS NOT OLD.run_id OR NEW.id IS NOT OLD.id"
     " OR NEW.parent_id IS NOT OLD.parent_id",
     "the identity of a sub-agent never changes"},
    {"leases_epoch", "BEFORE UPDATE ON leases WHEN NEW.epoch < OLD.epoch",
     "the epoch of a lease only grows"},
    {"leases_delete", "BEFORE DELETE ON leases", "the epoch of a lease only grows"},
    {"inbox_once", "BEFORE UPDATE ON inbox WHEN OLD.consumed_seq IS NOT NULL",
     "this inbox message was consumed already"},
    {"inbox_content", "BEFORE UPDATE OF id, run_no, kind, body, sender, at ON inbox",
     "an inbox message never changes"},
    {"inbox_delete", "BEFORE DELETE ON inbox", "an inbox message is never deleted"},
    {"records_history_update", "BEFORE UPDATE ON records_history", "history never changes"},
    {"records_history_delete", "BEFORE DELETE ON records_history", "history never changes"},
    {"edges_insert", "BEFORE INSERT ON lifecycle_edges", "the lifecycle never changes"},
    {"edges_update", "BEFORE UPDATE ON lifecycle_edges", "the lifecycle never changes"},
    {"edges_delete", "BEFORE DELETE ON lifecycle_edges", "the lifecycle never changes"},
};

enum { SCHEMA_MAX = 64 * 1024, GUARD_MAX = 4096 };

static void trigger_text(struct buf *out, const struct refusal *refusal)
{
    buf_printf(out, "CREATE TRIGGER %s %s BEGIN SELECT RAISE(ABORT, '%s'); END", refusal->name,
               refusal->when, refusal->text);
}

/* What is made anew by every migration. */
static void guards_text(struct buf *out)
{
    buf_printf(out, "%s;", schema_view);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        trigger_text(out, &refusals[i]);
        buf_text(out, ";");
    }
}

static void schema_text(struct buf *out)
{
    buf_text(out, schema_tables);
    for (size_t i = 0; i < lifecycle_edge_count; i++)
        buf_printf(out, "INSERT INTO lifecycle_edges VALUES ('%s', '%s');", lifecycle_edges[i].from,
                   lifecycle_edges[i].to);
    guards_text(out);
    buf_printf(out, "INSERT INTO meta VALUES ('cadre', %d);", STORE_VERSION);
}

static void migration_text(struct buf *out, int64_t from)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        buf_printf(out, "DROP TRIGGER IF EXISTS %s;", refusals[i].name);
    buf_text(out, "DROP VIEW IF EXISTS event_log;");
    for (size_t i = (size_t)from - 1; i < sizeof steps / sizeof steps[0]; i++)
        buf_text(out, steps[i]);
    guards_text(out);
    buf_printf(out, "UPDATE meta SET version = %d WHERE application = 'cadre';", STORE_VERSION);
}

/* 1 and *number, 0 where the statement cannot be prepared (no such table) or has no row, -1 on any other failure. */
static int read_number(struct sqlite_store *s, const char *query, int64_t *number, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(s->db, query, -1, &stmt, NULL);
    if (code == SQLITE_ERROR)
        return 0;
    if (code == SQLITE_OK)
        code = sqlite3_step(stmt);
    if (code == SQLITE_ROW)
        *number = sqlite3_column_int64(stmt, 0);
    int result = code == SQLITE_ROW    ? 1
                 : code == SQLITE_DONE ? 0
                                       : handle_error(s, code, "opening it", err);
    sqlite3_finalize(stmt);
    return result;
}

/* 1: a store of this or, with *version, of an older version; 0: no store; -1 with err. */
static int schema_version(struct sqlite_store *s, int64_t *version, struct err *err)
{
    *version = 0;
    int found =
        read_number(s, "SELECT version FROM meta WHERE application = 'cadre'", version, err);
    if (found <= 0 || (*version >= 1 && *version <= STORE_VERSION))
        return found;
    if (*version < 1)
        return err_set(err, ERR_CORRUPT,
                       "store %s: its table meta has the version %lld, which no cadre wrote;"
                       " restore the store from a backup",
                       s->path, (long long)*version);
    return err_set(err, ERR_CONFIG,
                   "store %s: it has version %lld and this program knows %d; use the newer cadre"
                   " that wrote it, or name another store with --store",
                   s->path, (long long)*version, STORE_VERSION);
}

static int not_ours(struct sqlite_store *s, struct err *err)
{
    return err_set(err, ERR_CONFIG,
                   "store %s: it is the database of another program, not a cadre store; name"
                   " another file with --store",
                   s->path);
}

/* One attempt; the answer is the mode that the file is in now. */
static int wal_attempt(struct sqlite_store *s, bool *is_wal)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(s->db, "PRAGMA journal_mode = WAL", -1, &stmt, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(stmt);
    *is_wal = code == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(stmt, 0), "wal") == 0;
    sqlite3_finalize(stmt);
    return code;
}

/* Nothing happens where the file is in WAL mode already, which it stays; a restored copy may not be. SQLite
 * does not ask the busy handler where two processes turn a new file to WAL at once. */
static int schema_wal(struct sqlite_store *s, struct err *err)
{
    bool is_wal = false;
    int code;
    for (int attempt = 0;; attempt++) {
        code = wal_attempt(s, &is_wal);
        if ((code & 0xff) != SQLITE_BUSY || !handle_wait(s, attempt))
            break;
    }
    if (code != SQLITE_ROW)
        return handle_error(s, code, "opening it", err);
    if (is_wal)
        return 0;
    return err_set(err, ERR_IO,
                   "store %s: its file system does not support a write-ahead log; name a store on a"
                   " local disk with --store",
                   s->path);
}

/* Creates the schema or migrates it, in one transaction: whole or not at all. */
static int schema_make(struct sqlite_store *s, struct err *err)
{
    struct buf text;
    int64_t objects = 0, version;
    int result = -1;
    buf_init(&text, SCHEMA_MAX);
    if (schema_wal(s, err) < 0 || transaction_write(s, err) < 0)
        goto out;
    /* Another process may have been quicker while this one waited for the lock. */
    int found = schema_version(s, &version, err);
    if (found < 0)
        goto out;
    if (found == 1 && version == STORE_VERSION) {
        result = 0;
        goto out;
    }
    if (read_number(s, "SELECT count(*) FROM sqlite_schema", &objects, err) < 0)
        goto out;
    if (found == 0 && objects > 0) {
        not_ours(s, err);
        goto out;
    }
    if (found == 1)
        migration_text(&text, version);
    else
        schema_text(&text);
    if (text.failed) {
        err_set(err, ERR_BUG, "the store's schema is larger than %d bytes", SCHEMA_MAX);
        goto out;
    }
    int code = sqlite3_exec(s->db, text.p, NULL, NULL, NULL);
    if (code != SQLITE_OK)
        handle_error(s, code, found == 1 ? "migrating it to this version" : "creating it", err);
    else
        result = transaction_commit(s, err);
out:
    transaction_rollback(s);
    buf_release(&text);
    return result;
}

int schema_ready(struct sqlite_store *s, struct err *err)
{
    int64_t objects = 0, version;
    int found = schema_version(s, &version, err);
    if (found == 0) {
        if (read_number(s, "SELECT count(*) FROM sqlite_schema", &objects, err) < 0)
            return -1;
        if (objects == 0)
            return schema_make(s, err);
        /* Not empty: another program's, or ours and born between the two reads. */
        found = schema_version(s, &version, err);
        if (found == 0)
            return not_ours(s, err);
    }
    if (found < 0)
        return -1;
    return version < STORE_VERSION ? schema_make(s, err) : schema_wal(s, err);
}

/* --- guards: is everything still there? --------------------------------------------------------------------- */

/* 0, or 1 where the callback was told; -1 with err. `text`: the SQL that made it. */
static int guard_check(struct sqlite_store *s, const char *kind, const char *name, struct str text,
                       store_guard_fn *fn, void *user, struct err *err)
{
    struct call call;
    char full[96];
    call_start(&call, s, STATEMENT_GUARD);
    call_str(&call, str_from(kind));
    call_str(&call, str_from(name));
    int row = call_step(&call, "checking its triggers", err);
    bool same = row == 1 && str_eq(call_text(&call, 0), text);
    call_end(&call);
    if (row < 0)
        return -1;
    if (same)
        return 0;
    snprintf(full, sizeof full, "%s %s", kind, name);
    fn(user, full, row == 1 ? GUARD_CHANGED : GUARD_MISSING);
    return 1;
}

static bool is_refusal(struct str name)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        if (str_is(name, refusals[i].name))
            return true;
    return false;
}

/* This program's own handles fire no triggers (confine.c), other programs do: a trigger that cadre did not make can write more than
 * such a program asked for. */
static int additions_check(struct sqlite_store *s, store_guard_fn *fn, void *user, struct err *err)
{
    struct call call;
    char full[96];
    int row;
    call_start(&call, s, STATEMENT_TRIGGERS);
    while ((row = call_step(&call, "checking its triggers", err)) == 1) {
        struct str name = call_text(&call, 0);
        if (is_refusal(name))
            continue;
        snprintf(full, sizeof full, "trigger %.*s", STR_FMT(utf8_cut(name, 64)));
        fn(user, full, GUARD_ADDED);
    }
    call_end(&call);
    return row;
}

/* Handles without triggers ask this table which edges are legal (projection.c). */
static int edges_check(struct sqlite_store *s, store_guard_fn *fn, void *user, struct err *err)
{
    struct call call;
    size_t known = 0, rows = 0;
    int row;
    call_start(&call, s, STATEMENT_EDGES);
    while ((row = call_step(&call, "checking its lifecycle", err)) == 1) {
        rows++;
        for (size_t i = 0; i < lifecycle_edge_count; i++)
            known += str_is(call_text(&call, 0), lifecycle_edges[i].from) &&
                     str_is(call_text(&call, 1), lifecycle_edges[i].to);
    }
    if (row == 0 && (rows != lifecycle_edge_count || known != rows))
        fn(user, "table lifecycle_edges", GUARD_CHANGED);
    return row;
}

int sqlite_guards(struct store *store, store_guard_fn *fn, void *user, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(store);
    struct buf text;
    int result = 0;
    buf_init(&text, GUARD_MAX);
    for (size_t i = 0; result >= 0 && i < sizeof refusals / sizeof refusals[0]; i++) {
        buf_clear(&text);
        trigger_text(&text, &refusals[i]);
        result = text.failed
                     ? err_set(err, ERR_BUG, "the text of trigger %s is longer than %d",
                               refusals[i].name, GUARD_MAX)
                     : guard_check(s, "trigger", refusals[i].name, buf_view(&text), fn, user, err);
    }
    if (result >= 0)
        result = guard_check(s, "view", "event_log", STR(schema_view), fn, user, err);
    if (result >= 0)
        result = additions_check(s, fn, user, err);
    if (result >= 0)
        result = edges_check(s, fn, user, err);
    buf_release(&text);
    return result < 0 ? -1 : 0;
}
