/* Writes the rows that the core projected from its events: runs and sub_agents. What is illegal is refused: a child
 * starts as created, walks only the edges of the lifecycle and never changes when it is closed. Runs inside the
 * append's transaction.
 *
 * Neighbouring rows of one child become one write: each edge inside is checked here, the first one by the statement
 * against the database's own table. Where an edge inside is illegal the rows stay apart, and the statement refuses. */
#include "core/run/lifecycle.h"
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

/* Sets all four columns: a parked run that goes on has no error. The row of a run that has ended never changes. */
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
    if (call_run(&call, "changing the status of a run", err) < 0)
        return -1;
    if (sqlite3_changes(s->db) == 1)
        return 0;
    return err_set(err, ERR_USAGE, "the run has ended: its row never changes");
}

static int agent_insert(struct sqlite_store *s, struct str run_id, int64_t run_no,
                        const struct row *row, struct str first, struct err *err)
{
    struct call call;
    if (!str_is(first, life_text(LIFE_CREATED)))
        return err_set(err, ERR_USAGE, "sub-agent %.*s: a sub-agent starts as created",
                       STR_FMT(row->id));
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

/* Why the statement found no row to change. */
static int agent_refused(struct sqlite_store *s, int64_t run_no, const struct row *row,
                         struct str first, struct err *err)
{
    struct call call;
    call_start(&call, s, STATEMENT_AGENT_STATUS_GET);
    call_str(&call, row->id);
    call_int(&call, run_no);
    int found = call_step(&call, "changing the status of a sub-agent", err);
    if (found == 1 && str_is(call_text(&call, 0), life_text(LIFE_CLOSED)))
        err_set(err, ERR_USAGE, "sub-agent %.*s: a closed sub-agent never changes",
                STR_FMT(row->id));
    else if (found == 1)
        err_set(err, ERR_USAGE, "sub-agent %.*s: from %.*s to %.*s is no edge of the lifecycle",
                STR_FMT(row->id), STR_FMT(call_text(&call, 0)), STR_FMT(first));
    else if (found == 0)
        err_set(err, ERR_USAGE, "sub-agent %.*s is not one of this run", STR_FMT(row->id));
    call_end(&call);
    return -1;
}

static int agent_status(struct sqlite_store *s, int64_t run_no, const struct row *row,
                        struct str first, struct err *err)
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
    call_str(&call, first);
    if (call_run(&call, "changing the status of a sub-agent", err) < 0)
        return err_prefix(err, "sub-agent %.*s to %.*s", STR_FMT(row->id), STR_FMT(row->status));
    if (sqlite3_changes(s->db) == 1)
        return 0;
    return agent_refused(s, run_no, row, first, err);
}

/* Staying is no edge: a second attempt keeps the child running; only closed is final. */
static bool may_follow(struct str from, struct str to)
{
    if (!from.p || !to.p || str_is(from, life_text(LIFE_CLOSED)))
        return false;
    if (str_eq(from, to))
        return true;
    for (size_t i = 0; i < lifecycle_edge_count; i++) {
        if (str_is(from, lifecycle_edges[i].from) && str_is(to, lifecycle_edges[i].to))
            return true;
    }
    return false;
}

static void take_str(struct str *into, struct str from)
{
    if (from.p)
        *into = from;
}

static void take_time(int64_t *into, int64_t from)
{
    if (from != -1)
        *into = from;
}

/* Copies the first row into *folded, and what follows it of the same child; the answer is how many rows those are. */
static size_t fold_rows(const struct row *rows, size_t count, struct row *folded)
{
    size_t n = 1;
    *folded = rows[0];
    if (folded->kind != ROW_AGENT_INSERT && folded->kind != ROW_AGENT_STATUS)
        return n;
    for (; n < count && rows[n].kind == ROW_AGENT_STATUS && str_eq(rows[n].id, folded->id) &&
           may_follow(folded->status, rows[n].status);
         n++) {
        folded->status = rows[n].status;
        take_str(&folded->worktree_path, rows[n].worktree_path);
        take_str(&folded->branch_name, rows[n].branch_name);
        take_str(&folded->merge_status, rows[n].merge_status);
        take_time(&folded->started_at, rows[n].started_at);
        take_time(&folded->finished_at, rows[n].finished_at);
        take_str(&folded->error, rows[n].error);
    }
    return n;
}

static int row_write(struct sqlite_store *s, const struct known_run *run, const struct row *row,
                     struct str first, struct err *err)
{
    switch (row->kind) {
    case ROW_RUN_INSERT:
        return run_describe(s, id_str(&run->id), run->run_no, row, err);
    case ROW_RUN_STATUS:
        return run_status(s, run->run_no, row, err);
    case ROW_AGENT_INSERT:
        return agent_insert(s, id_str(&run->id), run->run_no, row, first, err);
    case ROW_AGENT_STATUS:
        return agent_status(s, run->run_no, row, first, err);
    }
    return err_set(err, ERR_USAGE, "a row of an unknown kind");
}

int projection_write(struct sqlite_store *s, const struct known_run *run, const struct row *rows,
                     size_t count, struct err *err)
{
    struct row folded;
    for (size_t i = 0; i < count;) {
        struct str first = rows[i].status;
        i += fold_rows(rows + i, count - i, &folded);
        if (row_write(s, run, &folded, first, err) < 0)
            return -1;
    }
    return 0;
}
