/* Reading the projections: runs and their sub-agents, and resolving what a person typed. */
#include <ctype.h>

#include "store/handle.h"

/* The columns are RUN_COLUMNS of statement.c. */
static void run_from_row(struct call *call, struct stored_run *run)
{
    *run = (struct stored_run){
        .run_id = call_text(call, 0),
        .session_id = call_text(call, 1),
        .user_id = call_text(call, 2),
        .workspace_id = call_text(call, 3),
        .workspace_path = call_text(call, 4),
        .task = call_text(call, 5),
        .model = call_text(call, 6),
        .status = call_text(call, 7),
        .error = call_text(call, 8),
        .result_json = call_text(call, 9),
        .parent_run = call_text(call, 10),
        .parent_seq = call_number_or_none(call, 11),
        .started_at = call_number_or_none(call, 12),
        .finished_at = call_number_or_none(call, 13),
        .last_seq = (uint64_t)call_number(call, 14),
        .children = call_number(call, 15),
        .children_open = call_number(call, 16),
        .owner = call_text(call, 17),
        .created_at = call_number(call, 18),
    };
}

/* Steps through runs; *found counts them. */
static int runs_walk(struct call *call, store_run_fn *fn, void *user, size_t *found,
                     struct err *err)
{
    int row;
    while ((row = call_step(call, "reading runs", err)) == 1) {
        struct stored_run run;
        run_from_row(call, &run);
        ++*found;
        if (fn(user, &run) != 0)
            break;
    }
    call_end(call);
    return row < 0 ? -1 : 0;
}

int sqlite_runs(struct store *store, struct str status, size_t limit, int64_t now, store_run_fn *fn,
                void *user, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(store);
    struct call call;
    size_t found = 0;
    call_start(&call, s, status.p ? STATEMENT_RUNS_BY_STATUS : STATEMENT_RUNS_ALL);
    lease_clock(&call, s, now);
    if (status.p)
        call_str(&call, status);
    call_int(&call, limit == 0 || limit > INT64_MAX ? -1 : (int64_t)limit);
    return runs_walk(&call, fn, user, &found, err);
}

int sqlite_run(struct store *store, struct str run_id, int64_t now, store_run_fn *fn, void *user,
               struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(store);
    struct call call;
    size_t found = 0;
    if (!id_valid(run_id))
        return err_set(err, ERR_NOT_FOUND, "that is not the id of a run (26 letters and digits)");
    call_start(&call, s, STATEMENT_RUN_ONE);
    lease_clock(&call, s, now);
    call_str(&call, run_id);
    if (runs_walk(&call, fn, user, &found, err) < 0)
        return -1;
    if (found == 0)
        return err_set(err, ERR_NOT_FOUND, "no run %.*s in store %s", STR_FMT(run_id), s->path);
    return 0;
}

int sqlite_run_find(struct store *store, struct str prefix, struct id *run_id, struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(store);
    char end[ID_LENGTH + 2];
    struct call call;
    size_t found = 0;
    int row;
    if (prefix.n == 0 || prefix.n > ID_LENGTH)
        return err_set(err, ERR_USAGE, "a run is named by the first letters of its id, 1 to %d",
                       ID_LENGTH);
    for (size_t i = 0; i < prefix.n; i++) {
        if (!isalnum((unsigned char)prefix.p[i]))
            return err_set(err, ERR_USAGE, "the id of a run has only letters and digits");
    }
    memcpy(end, prefix.p, prefix.n);
    end[prefix.n] = '~'; /* sorts behind every letter and digit */
    call_start(&call, s, STATEMENT_RUN_FIND);
    call_str(&call, prefix);
    call_str(&call, (struct str){end, prefix.n + 1});
    while ((row = call_step(&call, "looking for a run", err)) == 1) {
        struct str id = call_text(&call, 0);
        *run_id = (struct id){{0}};
        memcpy(run_id->text, id.p, id.n < ID_LENGTH ? id.n : ID_LENGTH);
        found++;
    }
    if (row < 0)
        return -1;
    if (found == 0)
        return err_set(err, ERR_NOT_FOUND,
                       "no run in store %s starts with %.*s; `cadre runs` lists"
                       " them",
                       s->path, STR_FMT(prefix));
    if (found > 1)
        return err_set(err, ERR_USAGE, "several runs start with %.*s; give more letters",
                       STR_FMT(prefix));
    return 0;
}

int sqlite_agents(struct store *store, struct str run_id, store_agent_fn *fn, void *user,
                  struct err *err)
{
    struct sqlite_store *s = sqlite_store_of(store);
    struct call call;
    int64_t run_no = 0;
    int row;
    if (run_number(s, run_id, &run_no, err) < 0)
        return -1;
    call_start(&call, s, STATEMENT_AGENTS);
    call_int(&call, run_no);
    while ((row = call_step(&call, "reading sub-agents", err)) == 1) {
        struct stored_agent agent = {
            .id = call_text(&call, 0),
            .parent_id = call_text(&call, 1),
            .name = call_text(&call, 2),
            .status = call_text(&call, 3),
            .worktree_path = call_text(&call, 4),
            .branch_name = call_text(&call, 5),
            .merge_status = call_text(&call, 6),
            .context_json = call_text(&call, 7),
            .error = call_text(&call, 8),
            .step_idx = call_number_or_none(&call, 9),
            .started_at = call_number_or_none(&call, 10),
            .finished_at = call_number_or_none(&call, 11),
            .agent_no = (uint32_t)call_number(&call, 12),
            .run_id = call_text(&call, 13),
        };
        if (fn(user, &agent) != 0)
            break;
    }
    call_end(&call);
    return row < 0 ? -1 : 0;
}
