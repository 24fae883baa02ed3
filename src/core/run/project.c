/* Events into rows of the projections. One glance: which event changes which row. Pure. */
#include "core/run/project.h"

#include "core/run/state.h"

static struct row row_of(enum row_kind kind)
{
    return (struct row){
        .kind = kind, .step_idx = -1, .started_at = -1, .finished_at = -1, .parent_seq = -1};
}

static enum run_status status_after(enum event_type type)
{
    switch (type) {
    case EVENT_RUN_STARTED:
    case EVENT_RUN_RESUMED:
        return RUN_RUNNING;
    case EVENT_RUN_PARKED:
        return RUN_PARKED;
    case EVENT_RUN_COMPLETED:
        return RUN_COMPLETED;
    case EVENT_RUN_FAILED:
        return RUN_FAILED;
    default:
        return RUN_CANCELLED;
    }
}

static struct row run_row(const struct run *run, const struct event *e)
{
    struct row row = row_of(e->type == EVENT_RUN_STARTED ? ROW_RUN_INSERT : ROW_RUN_STATUS);
    row.status = str_from(run_status_text(status_after(e->type)));
    if (e->type == EVENT_RUN_STARTED) {
        row.session_id = run->session_id;
        row.user_id = run->user_id;
        row.workspace_id = run->workspace_id;
        row.workspace_path = run->workspace_path;
        row.task = run->task;
        row.model = run->agents[0]->contract.model.model;
        row.context_json = e->contract;
        row.started_at = e->ts;
        row.step_idx = 0;
    } else if (e->type == EVENT_RUN_PARKED) {
        row.error = e->reason;
    } else if (e->type != EVENT_RUN_RESUMED) {
        row.finished_at = e->ts;
        row.error = e->error;
        row.result_json = e->result;
    }
    return row;
}

/* By the event, not by the agent: one decision may take it over several edges. */
static enum life_state life_after(enum event_type type)
{
    switch (type) {
    case EVENT_SUBAGENT_CREATED:
        return LIFE_CREATED;
    case EVENT_SUBAGENT_STARTED:
        return LIFE_RUNNING;
    case EVENT_SUBAGENT_WAITING:
        return LIFE_WAITING_FOR_MERGE;
    case EVENT_SUBAGENT_COMPLETED:
        return LIFE_COMPLETED;
    case EVENT_SUBAGENT_FAILED:
        return LIFE_FAILED;
    default:
        return LIFE_CLOSED;
    }
}

static struct str merge_status(const struct agent *agent)
{
    return agent->tree != NULL && agent->tree->merge.n > 0 ? agent->tree->merge : STR_NONE;
}

static struct row agent_row(const struct run *run, const struct event *e)
{
    const struct agent *agent = run->agents[e->agent_no];
    struct row row =
        row_of(e->type == EVENT_SUBAGENT_CREATED ? ROW_AGENT_INSERT : ROW_AGENT_STATUS);
    row.id = agent->id;
    row.status = str_from(life_text(life_after(e->type)));
    if (e->type == EVENT_SUBAGENT_CREATED) {
        row.parent_id = run->agents[agent->parent_no]->id;
        row.step_idx = e->step_idx;
        row.name = e->name;
        row.context_json = e->contract;
    } else if (e->type == EVENT_SUBAGENT_STARTED) {
        row.started_at = e->ts;
        row.worktree_path = e->worktree_path;
        row.branch_name = e->branch;
    } else if (e->type == EVENT_SUBAGENT_FAILED) {
        row.error = e->error;
        row.merge_status = merge_status(agent);
    } else if (e->type == EVENT_SUBAGENT_COMPLETED) {
        row.merge_status = merge_status(agent);
    } else if (e->type == EVENT_SUBAGENT_CLOSED) {
        row.finished_at = e->ts;
        row.merge_status = merge_status(agent);
    }
    return row;
}

size_t project(const struct run *run, const struct event *e, struct row rows[PROJECT_MAX])
{
    switch (e->type) {
    case EVENT_RUN_STARTED:
    case EVENT_RUN_RESUMED:
    case EVENT_RUN_PARKED:
    case EVENT_RUN_COMPLETED:
    case EVENT_RUN_FAILED:
    case EVENT_RUN_CANCELLED:
        rows[0] = run_row(run, e);
        return 1;
    case EVENT_SUBAGENT_CREATED:
    case EVENT_SUBAGENT_STARTED:
    case EVENT_SUBAGENT_WAITING:
    case EVENT_SUBAGENT_FAILED:
    case EVENT_SUBAGENT_COMPLETED:
    case EVENT_SUBAGENT_CLOSED:
        rows[0] = agent_row(run, e);
        return 1;
    default:
        return 0;
    }
}

void row_own(struct arena *arena, struct row *row)
{
    struct str *const views[] = {&row->id,
                                 &row->parent_id,
                                 &row->name,
                                 &row->status,
                                 &row->worktree_path,
                                 &row->branch_name,
                                 &row->merge_status,
                                 &row->context_json,
                                 &row->error,
                                 &row->session_id,
                                 &row->user_id,
                                 &row->workspace_id,
                                 &row->workspace_path,
                                 &row->task,
                                 &row->model,
                                 &row->parent_run,
                                 &row->result_json,
                                 NULL};
    for (size_t i = 0; views[i] != NULL; i++)
        *views[i] = arena_copy(arena, *views[i]);
}
