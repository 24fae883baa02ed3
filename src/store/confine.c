/* What a handle may change. The schema's triggers refuse what no program may do to the file. In this program's own
 * handles they would run for every event and cost as much as the insert itself; here the same is refused when a
 * statement is prepared, which costs nothing later: only the changes of the table below can be prepared. What depends
 * on values stands in the statements themselves: edges of the lifecycle, closed children, messages consumed once, epochs
 * that only grow; and in append.c: events that follow each other without a gap.
 *
 * Called once, when the handle is open and the schema is there. */
#include "store/handle.h"

struct change {
    int action;
    const char *table;
    const char *column; /* of an update; NULL otherwise */
};

static const struct change changes[] = {
    {SQLITE_INSERT, "runs", NULL},
    {SQLITE_INSERT, "event_types", NULL},
    {SQLITE_INSERT, "events", NULL},
    {SQLITE_INSERT, "blobs", NULL},
    {SQLITE_INSERT, "agent_tails", NULL},
    {SQLITE_INSERT, "sub_agents", NULL},
    {SQLITE_INSERT, "sessions", NULL},
    {SQLITE_INSERT, "records", NULL},
    {SQLITE_INSERT, "records_history", NULL},
    {SQLITE_INSERT, "leases", NULL},
    {SQLITE_INSERT, "inbox", NULL},
    {SQLITE_UPDATE, "runs", "described"},
    {SQLITE_UPDATE, "runs", "status"},
    {SQLITE_UPDATE, "runs", "session_id"},
    {SQLITE_UPDATE, "runs", "user_id"},
    {SQLITE_UPDATE, "runs", "workspace_id"},
    {SQLITE_UPDATE, "runs", "workspace_path"},
    {SQLITE_UPDATE, "runs", "task"},
    {SQLITE_UPDATE, "runs", "model"},
    {SQLITE_UPDATE, "runs", "parent_run"},
    {SQLITE_UPDATE, "runs", "parent_seq"},
    {SQLITE_UPDATE, "runs", "started_at"},
    {SQLITE_UPDATE, "runs", "finished_at"},
    {SQLITE_UPDATE, "runs", "error"},
    {SQLITE_UPDATE, "runs", "result_json"},
    {SQLITE_UPDATE, "agent_tails", "seq"},
    {SQLITE_UPDATE, "sub_agents", "status"},
    {SQLITE_UPDATE, "sub_agents", "worktree_path"},
    {SQLITE_UPDATE, "sub_agents", "branch_name"},
    {SQLITE_UPDATE, "sub_agents", "merge_status"},
    {SQLITE_UPDATE, "sub_agents", "started_at"},
    {SQLITE_UPDATE, "sub_agents", "finished_at"},
    {SQLITE_UPDATE, "sub_agents", "error"},
    {SQLITE_UPDATE, "leases", "epoch"},
    {SQLITE_UPDATE, "leases", "owner"},
    {SQLITE_UPDATE, "leases", "expires_at"},
    {SQLITE_UPDATE, "leases", "boot_id"},
    {SQLITE_UPDATE, "leases", "boot_until"},
    {SQLITE_UPDATE, "inbox", "consumed_seq"},
    {SQLITE_UPDATE, "records", "version"},
    {SQLITE_UPDATE, "records", "value_json"},
    {SQLITE_UPDATE, "records", "who"},
    {SQLITE_UPDATE, "records", "updated_at"},
    {SQLITE_DELETE, "records", NULL},
};

static bool is_listed(int action, const char *table, const char *column)
{
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const struct change *change = &changes[i];
        if (change->action == action && strcmp(change->table, table) == 0 &&
            (!change->column || (column && strcmp(change->column, column) == 0)))
            return true;
    }
    return false;
}

/* SQLite asks for each thing that a statement does, while it is prepared. */
static int authorize(void *user, int action, const char *first, const char *second,
                     const char *database, const char *inside)
{
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
    case SQLITE_FUNCTION:
    case SQLITE_TRANSACTION:
    case SQLITE_PRAGMA:
        return SQLITE_OK;
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
        return first && is_listed(action, first, second) ? SQLITE_OK : SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

int confine(struct sqlite_store *s, struct err *err)
{
    int triggers = 1;
    if (sqlite3_set_authorizer(s->db, authorize, NULL) != SQLITE_OK ||
        sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, &triggers) != SQLITE_OK ||
        triggers != 0)
        return err_set(err, ERR_BUG, "store %s: the handle cannot be confined", s->path);
    return 0;
}
