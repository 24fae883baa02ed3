/* The SQL of every operation, one table. Parameters are numbered in order of appearance, which is the order in
 * which the operations give them. No I/O here. */
#include "store/statement.h"

#include <stddef.h>

#define EVENT_COLUMNS                                                                              \
    "SELECT e.seq, e.agent_no, e.agent_prev, e.epoch, e.v, e.ts, t.category, t.type, e.call_id,"   \
    " e.cause_seq, e.summary, e.payload_json, e.payload_hash, b.bytes, e.hash"                     \
    " FROM events e CROSS JOIN event_types t ON t.type_no = e.type_no"                             \
    " LEFT JOIN blobs b ON b.hash = e.payload_hash"

/* FAIL spares SQLite a copy of every page that a statement of several rows might have to restore; who appends rolls the
 * whole transaction back when anything fails. */
#define EVENT_INSERT                                                                               \
    "INSERT OR FAIL INTO events (run_no, seq, agent_no, agent_prev, epoch, v, ts, type_no,"        \
    " call_id, cause_seq, summary, payload_json, payload_hash, hash) VALUES "
#define EVENT_VALUES "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
#define EVENT_VALUES_4 EVENT_VALUES ", " EVENT_VALUES ", " EVENT_VALUES ", " EVENT_VALUES

/* The first parameter is now: a lease that has run out has no owner to show. */
/* Parameters: the boot id (empty: not known), the time on its clock, and the wall time, for leases of older programs,
 * which have no boot id. */
#define LEASE_HOLDS                                                                                \
    "CASE boot_id = nullif(?, '') WHEN 1 THEN boot_until > ? WHEN 0 THEN 0 ELSE expires_at > ? "   \
    "END"

#define RUN_COLUMNS                                                                                \
    "SELECT r.id, r.session_id, r.user_id, r.workspace_id, r.workspace_path, r.task, r.model,"     \
    " r.status, r.error, r.result_json, r.parent_run, r.parent_seq, r.started_at, r.finished_at,"  \
    " (SELECT max(seq) FROM events WHERE run_no = r.run_no),"                                      \
    " (SELECT max(agent_no) FROM sub_agents WHERE run_no = r.run_no),"                             \
    " (SELECT count(*) FROM sub_agents WHERE run_no = r.run_no AND status <> 'closed'),"           \
    " (SELECT owner FROM leases WHERE run_no = r.run_no AND " LEASE_HOLDS "),"                     \
    " r.created_at FROM runs r"

static const char *const sql[STATEMENT_COUNT] = {
    [STATEMENT_BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [STATEMENT_BEGIN_READ] = "BEGIN",
    [STATEMENT_COMMIT] = "COMMIT",
    [STATEMENT_ROLLBACK] = "ROLLBACK",

    [STATEMENT_RUN_NUMBER] = "SELECT run_no, id FROM runs WHERE id = ?",

    [STATEMENT_LEASE_GET] =
        "SELECT epoch, owner, expires_at, " LEASE_HOLDS " FROM leases WHERE run_no = ?",
    [STATEMENT_LEASE_SET] =
        "INSERT INTO leases (run_no, epoch, owner, expires_at, boot_id, boot_until)"
        " VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (run_no) DO UPDATE SET epoch = excluded.epoch, owner = excluded.owner,"
        " expires_at = excluded.expires_at, boot_id = excluded.boot_id,"
        " boot_until = excluded.boot_until WHERE excluded.epoch > leases.epoch",
    [STATEMENT_LEASE_RENEW] = "UPDATE leases SET expires_at = ?, boot_id = ?, boot_until = ?"
                              " WHERE run_no = ? AND epoch = ? AND owner IS NOT NULL",
    [STATEMENT_LEASE_RELEASE] = "UPDATE leases SET owner = NULL"
                                " WHERE run_no = ? AND epoch = ? AND owner IS NOT NULL",

    [STATEMENT_OWNED_RUN] = "SELECT r.run_no, r.id, l.epoch, l.owner IS NOT NULL"
                            " FROM runs r LEFT JOIN leases l ON l.run_no = r.run_no WHERE r.id = ?",
    [STATEMENT_HEAD] = "SELECT seq, hash FROM events WHERE run_no = ? ORDER BY seq DESC LIMIT 1",
    [STATEMENT_EVENT_INSERT_1] = EVENT_INSERT EVENT_VALUES,
    [STATEMENT_EVENT_INSERT_4] = EVENT_INSERT EVENT_VALUES_4,
    [STATEMENT_EVENT_INSERT_16] =
        EVENT_INSERT EVENT_VALUES_4 ", " EVENT_VALUES_4 ", " EVENT_VALUES_4 ", " EVENT_VALUES_4,
    [STATEMENT_TYPE_GET] = "SELECT type_no FROM event_types WHERE category = ? AND type = ?",
    [STATEMENT_TYPE_INSERT] = "INSERT INTO event_types (category, type) VALUES (?, ?)",
    [STATEMENT_BLOB_INSERT] =
        "INSERT INTO blobs (hash, bytes, size) VALUES (?, ?, ?) ON CONFLICT (hash) DO NOTHING",
    [STATEMENT_BLOB_GET] = "SELECT bytes FROM blobs WHERE hash = ?",

    [STATEMENT_TAIL_INSERT] = "INSERT INTO agent_tails (run_no, agent_no, seq) VALUES (?, ?, ?)"
                              " ON CONFLICT (run_no, agent_no) DO NOTHING",
    [STATEMENT_TAIL_MOVE] =
        "UPDATE agent_tails SET seq = ? WHERE run_no = ? AND agent_no = ? AND seq = ?",
    [STATEMENT_TAIL_GET] = "SELECT seq FROM agent_tails WHERE run_no = ? AND agent_no = ?",
    [STATEMENT_EVENT_PREV] = "SELECT agent_prev, agent_no FROM events WHERE run_no = ? AND seq = ?",
    [STATEMENT_EVENTS] = EVENT_COLUMNS " WHERE e.run_no = ? AND e.seq > ? ORDER BY e.seq LIMIT ?",
    [STATEMENT_EVENT_ONE] = EVENT_COLUMNS " WHERE e.run_no = ? AND e.seq = ?",

    [STATEMENT_RUN_DESCRIBE] =
        "UPDATE runs SET described = 1, status = ?, session_id = ?, user_id = ?, workspace_id = ?,"
        " workspace_path = ?, task = ?, model = ?, parent_run = ?, parent_seq = ?, started_at = ?,"
        " error = ? WHERE run_no = ? AND described = 0",
    [STATEMENT_RUN_STATUS] =
        "UPDATE runs SET status = ?, error = ?, finished_at = ?, result_json = ? WHERE run_no = ?"
        " AND status NOT IN ('completed', 'failed', 'cancelled')",
    [STATEMENT_AGENT_INSERT] =
        "INSERT INTO sub_agents (run_no, agent_no, run_id, id, parent_id, step_idx, name, status,"
        " worktree_path, branch_name, merge_status, context_json, started_at, finished_at, error)"
        " VALUES (?1, (SELECT coalesce(max(agent_no), 0) + 1 FROM sub_agents WHERE run_no = ?1),"
        " ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    [STATEMENT_AGENT_STATUS] =
        "UPDATE sub_agents SET status = coalesce(?, status),"
        " worktree_path = coalesce(?, worktree_path), branch_name = coalesce(?, branch_name),"
        " merge_status = coalesce(?, merge_status), started_at = coalesce(?, started_at),"
        " finished_at = coalesce(?, finished_at), error = coalesce(?, error)"
        " WHERE id = ? AND run_no = ? AND status <> 'closed' AND (?10 IS NULL OR status = ?10 OR"
        " EXISTS (SELECT 1 FROM lifecycle_edges WHERE from_status = status AND to_status = ?10))",
    [STATEMENT_AGENT_STATUS_GET] = "SELECT status FROM sub_agents WHERE id = ? AND run_no = ?",

    [STATEMENT_RUN_INSERT] = "INSERT INTO runs (id, status, described, created_at)"
                             " VALUES (?, 'queued', 0, ?) ON CONFLICT (id) DO NOTHING",
    [STATEMENT_INBOX_INSERT] =
        "INSERT INTO inbox (run_no, kind, body, sender, at) VALUES (?, ?, ?, ?, ?)",
    [STATEMENT_INBOX_OPEN] = "SELECT id, kind, body, sender, at FROM inbox"
                             " WHERE run_no = ? AND consumed_seq IS NULL ORDER BY id",
    [STATEMENT_INBOX_CONSUME] = "UPDATE inbox SET consumed_seq = ?"
                                " WHERE id = ? AND run_no = ? AND consumed_seq IS NULL",

    [STATEMENT_RUNS_ALL] = RUN_COLUMNS " ORDER BY r.run_no DESC LIMIT ?",
    [STATEMENT_RUNS_BY_STATUS] = RUN_COLUMNS " WHERE r.status = ? ORDER BY r.run_no DESC LIMIT ?",
    [STATEMENT_RUN_ONE] = RUN_COLUMNS " WHERE r.id = ?",
    [STATEMENT_RUN_FIND] = "SELECT id FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT 2",
    [STATEMENT_AGENTS] =
        "SELECT a.id, a.parent_id, a.name, a.status, a.worktree_path, a.branch_name,"
        " a.merge_status, a.context_json, a.error, a.step_idx, a.started_at, a.finished_at,"
        " a.agent_no, a.run_id"
        " FROM sub_agents a WHERE a.run_no = ? ORDER BY a.agent_no",

    [STATEMENT_SESSION_GET] = "SELECT 1 FROM sessions WHERE id = ?",
    [STATEMENT_SESSION_INSERT] =
        "INSERT INTO sessions (id, user_id, workspace_id, created_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (id) DO NOTHING",

    [STATEMENT_RECORD_GET] =
        "SELECT version, value_json, who FROM records WHERE resource_type = ? AND resource_id = ?",
    [STATEMENT_RECORD_LAST_VERSION] =
        "SELECT version, who FROM records_history WHERE resource_type = ? AND resource_id = ?"
        " ORDER BY version DESC LIMIT 1",
    [STATEMENT_RECORD_SET] =
        "INSERT INTO records (resource_type, resource_id, version, value_json, who, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (resource_type, resource_id) DO UPDATE SET"
        " version = excluded.version, value_json = excluded.value_json, who = excluded.who,"
        " updated_at = excluded.updated_at",
    [STATEMENT_RECORD_REMOVE] = "DELETE FROM records WHERE resource_type = ? AND resource_id = ?",
    [STATEMENT_RECORD_HISTORY] =
        "INSERT INTO records_history (resource_type, resource_id, version, value_json, who,"
        " updated_at) VALUES (?, ?, ?, ?, ?, ?)",
    [STATEMENT_RECORDS] = "SELECT resource_type, resource_id, version, value_json, who, updated_at"
                          " FROM records WHERE ?1 IS NULL OR resource_type = ?1"
                          " ORDER BY resource_type, resource_id",
    /* rowid: nothing is ever deleted there, so it grows with time, which updated_at need not. */
    [STATEMENT_RECORDS_HISTORY] =
        "SELECT resource_type, resource_id, version, value_json, who, updated_at"
        " FROM records_history WHERE (?1 IS NULL OR resource_type = ?1)"
        " AND (?2 IS NULL OR resource_id = ?2) ORDER BY rowid DESC LIMIT ?3",

    [STATEMENT_INTEGRITY] = "PRAGMA integrity_check(1)",
    [STATEMENT_PAGES] = "PRAGMA quick_check(1)",
    [STATEMENT_FOREIGN_KEYS] = "PRAGMA foreign_key_check",
    /* Goes from run to run in the index, not from event to event. */
    [STATEMENT_ORPHAN] =
        "WITH RECURSIVE owner (run_no) AS (SELECT min(run_no) FROM events UNION ALL"
        " SELECT (SELECT min(run_no) FROM events WHERE run_no > owner.run_no) FROM owner"
        " WHERE owner.run_no IS NOT NULL)"
        " SELECT run_no FROM owner WHERE run_no IS NOT NULL"
        " AND run_no NOT IN (SELECT run_no FROM runs) LIMIT 1",
    [STATEMENT_GUARD] = "SELECT sql FROM sqlite_schema WHERE type = ? AND name = ?",
    [STATEMENT_TRIGGERS] = "SELECT name FROM sqlite_schema WHERE type = 'trigger' ORDER BY name",
    [STATEMENT_EDGES] = "SELECT from_status, to_status FROM lifecycle_edges",
    [STATEMENT_TRACES] = "SELECT 0, agent_no, seq, -1 FROM agent_tails WHERE run_no = ?1 UNION ALL"
                         " SELECT 1, id, consumed_seq, iif(kind = 'start', at, -1) FROM inbox"
                         " WHERE run_no = ?1 AND consumed_seq IS NOT NULL",
};

const char *statement_sql(enum statement which)
{
    return sql[which];
}
