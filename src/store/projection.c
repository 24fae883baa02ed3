/* Writes the rows that the core projected from its events: runs and sub_agents. Interprets nothing; what is
 * illegal is refused by the schema's triggers. Runs inside the append's transaction. */
#include "store/handle.h"

static int run_describe(struct sqlite_store *s, struct str run_id, int64_t run_no,
                        const struct row *row, struct err *err)
{
    struct call call;
    call_start(&call, s, STATEMENT_RUN_DESCRIBE);
    call_str(&call, row->status);
    call_str(&call, row->session_id);
    call_str(&call, row->user_id);
    call_str(&call, row->workspace_id);
    call_str(&call, row->workspace_path);
    call_str(&call, row->task);
    call_str(&call, row->model);
    call_str(&call, row->parent_run);
    call_int_or_null(&call, row->parent_seq);
    call_int_or_null(&call, row->started_at);
    call_str(&call, row->error);
    call_int(&call, run_no);
    if (call_run(&call, "inserting a run", err) < 0)
        return -1;
    if (sqlite3_changes(s->db) == 1)
        return 0;
    return err_set(err, ERR_USAGE, "run %.*s was inserted already", STR_FMT(run_id));
}

/* Sets all four columns: a run that goes on after a failure has no error and no end. */
static int run_status(struct sqlite_store *s, int64_t run_no, const struct row *row,
                      struct err *err)
{
    struct call call;
    call_start(&call, s, STATEMENT_RUN_STATUS);
    call_str(&call, row->status);
    call_str(&call, row->error);
    call_int_or_null(&call, row->finished_at);
    call_str(&call, row->result_json);
    call_int(&call, run_no);
    return call_run(&call, "changing the status of a run", err);
}

static int agent_insert(struct sqlite_store *s, struct str run_id, int64_t run_no,
                        const struct row *row, struct err *err)
{
    struct call call;
    call_start(&call, s, STATEMENT_AGENT_INSERT);
    call_int(&call, run_no);
    call_str(&call, run_id);
    call_str(&call, row->id);
    call_str(&call, row->parent_id);
    call_int_or_null(&call, row->step_idx);
    call_str(&call, row->name);
    call_str(&call, row->status);
    call_str(&call, row->worktree_path);
    call_str(&call, row->branch_name);
    call_str(&call, row->merge_status);
    call_str(&call, row->context_json);
    call_int_or_null(&call, row->started_at);
    call_int_or_null(&call, row->finished_at);
    call_str(&call, row->error);
    return call_run(&call, "inserting a sub-agent", err);
}

static int agent_status(struct sqlite_store *s, int64_t run_no, const struct row *row,
                        struct err *err)
{
    struct call call;
    call_start(&call, s, STATEMENT_AGENT_STATUS);
    call_str(&call, row->status);
    call_str(&call, row->worktree_path);
    call_str(&call, row->branch_name);
    call_str(&call, row->merge_status);
    call_int_or_null(&call, row->started_at);
    call_int_or_null(&call, row->finished_at);
    call_str(&call, row->error);
    call_str(&call, row->id);
    call_int(&call, run_no);
    if (call_run(&call, "changing the status of a sub-agent", err) < 0)
        return err_prefix(err, "sub-agent %.*s to %.*s", STR_FMT(row->id), STR_FMT(row->status));
    if (sqlite3_changes(s->db) == 1)
        return 0;
    return err_set(err, ERR_USAGE, "sub-agent %.*s is not one of this run", STR_FMT(row->id));
}

int projection_write(struct sqlite_store *s, struct str run_id, int64_t run_no,
                     const struct row *row, struct err *err)
{
    switch (row->kind) {
    case ROW_RUN_INSERT:
        return run_describe(s, run_id, run_no, row, err);
    case ROW_RUN_STATUS:
        return run_status(s, run_no, row, err);
    case ROW_AGENT_INSERT:
        return agent_insert(s, run_id, run_no, row, err);
    case ROW_AGENT_STATUS:
        return agent_status(s, run_no, row, err);
    }
    return err_set(err, ERR_USAGE, "a row of an unknown kind");
}
