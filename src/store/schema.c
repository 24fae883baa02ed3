/* The schema, and what the database itself refuses. Tables keep integers (run_no, agent_no, type_no); the view
 * event_log shows text ids. Runs once, when the file is new; an existing store costs one read.
 *
 * events is a rowid table in order of commit with a small unique index. By CPU time per insert, one key packed
 * from (run_no, seq) is a fifth cheaper for one run and nearly twice as dear for 64 runs with one event each, because
 * every run's last page is written at each commit; WITHOUT ROWID is dearer still.
 *
 * agent_tails holds the seq of each agent's last event, changed in place, at most once per agent and batch:
 * reading one agent starts there and follows agent_prev. It adds at most a tenth to an insert; an index over
 * (run_no, agent_no, seq) adds two fifths to three quarters. */
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
    " owner TEXT, expires_at INTEGER NOT NULL) STRICT;"
    /* AUTOINCREMENT: an id names one message for ever. */
    "CREATE TABLE inbox ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, run_no INTEGER NOT NULL REFERENCES runs,"
    " kind TEXT NOT NULL, body TEXT NOT NULL, sender TEXT, at INTEGER NOT NULL,"
    " consumed_seq INTEGER) STRICT;"
    "CREATE INDEX inbox_open ON inbox (run_no, id) WHERE consumed_seq IS NULL;"
    "CREATE VIEW event_log AS SELECT r.id AS run_id, e.seq AS seq,"
    " CASE e.agent_no WHEN 0 THEN r.id ELSE a.id END AS agent_id, e.ts AS ts,"
    " t.category AS category, t.type AS type, e.summary AS summary,"
    " coalesce(e.payload_json, CAST(b.bytes AS TEXT)) AS payload_json,"
    " lower(hex(e.hash)) AS hash"
    " FROM runs r JOIN events e ON e.run_no = r.run_no JOIN event_types t ON t.type_no = e.type_no"
    " LEFT JOIN sub_agents a ON a.run_no = e.run_no AND a.agent_no = e.agent_no"
    " LEFT JOIN blobs b ON b.hash = e.payload_hash;";

/* One line, one refusal: name, when it fires, what it says. Triggers BEFORE INSERT guard against REPLACE INTO,
 * which would remove the old row without firing any trigger on DELETE. They bind every program that opens the file;
 * this program's own handles are bound without them: an insert with a trigger costs twice as much (confine.c). */
struct refusal {
    const char *name, *when, *text;
};

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

enum { SCHEMA_MAX = 64 * 1024 };

static void schema_text(struct buf *out)
{
    buf_text(out, schema_tables);
    for (size_t i = 0; i < lifecycle_edge_count; i++)
        buf_printf(out, "INSERT INTO lifecycle_edges VALUES ('%s', '%s');", lifecycle_edges[i].from,
                   lifecycle_edges[i].to);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        buf_printf(out, "CREATE TRIGGER %s %s BEGIN SELECT RAISE(ABORT, '%s'); END;",
                   refusals[i].name, refusals[i].when, refusals[i].text);
    buf_printf(out, "INSERT INTO meta VALUES ('cadre', %d);", STORE_VERSION);
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

/* 1: a store of this version; 0: no store; -1 with err. */
static int schema_version(struct sqlite_store *s, struct err *err)
{
    int64_t version = 0;
    int found =
        read_number(s, "SELECT version FROM meta WHERE application = 'cadre'", &version, err);
    if (found <= 0 || version == STORE_VERSION)
        return found;
    return err_set(err, ERR_CONFIG,
                   "store %s: it has version %lld and this program knows %d; use the newer cadre"
                   " that wrote it, or name another store with --store",
                   s->path, (long long)version, STORE_VERSION);
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

static int schema_create(struct sqlite_store *s, struct err *err)
{
    struct buf text;
    int64_t objects = 0;
    int result = -1;
    buf_init(&text, SCHEMA_MAX);
    if (schema_wal(s, err) < 0 || transaction_write(s, err) < 0)
        goto out;
    /* Another process may have been quicker while this one waited for the lock. */
    int found = schema_version(s, err);
    if (found != 0) {
        result = found < 0 ? -1 : 0;
        goto out;
    }
    if (read_number(s, "SELECT count(*) FROM sqlite_schema", &objects, err) < 0)
        goto out;
    if (objects > 0) {
        not_ours(s, err);
        goto out;
    }
    schema_text(&text);
    if (text.failed) {
        err_set(err, ERR_BUG, "the store's schema is larger than %d bytes", SCHEMA_MAX);
        goto out;
    }
    int code = sqlite3_exec(s->db, text.p, NULL, NULL, NULL);
    if (code != SQLITE_OK)
        handle_error(s, code, "creating it", err);
    else
        result = transaction_commit(s, err);
out:
    transaction_rollback(s);
    buf_release(&text);
    return result;
}

int schema_ready(struct sqlite_store *s, struct err *err)
{
    int64_t objects = 0;
    int found = schema_version(s, err);
    if (found == 0) {
        if (read_number(s, "SELECT count(*) FROM sqlite_schema", &objects, err) < 0)
            return -1;
        if (objects == 0)
            return schema_create(s, err);
        /* Not empty: another program's, or ours and born between the two reads. */
        found = schema_version(s, err);
        if (found == 0)
            return not_ours(s, err);
    }
    return found < 0 ? -1 : schema_wal(s, err);
}
