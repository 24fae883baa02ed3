/* Opening the store for a command, and copies of what it holds. */
#include "cli/history.h"

#include <stdlib.h>

#include "cli/trust.h"
#include "engine/wake.h"
#include "os/clock.h"

enum history_use { HISTORY_READS, HISTORY_WRITES };

static int open_with(struct history *history, struct invocation *invocation,
                     config_consent_fn *consent, enum history_use use, struct err *err)
{
    const struct arguments *arguments = &invocation->arguments;
    struct wire_request request = {
        .need = WIRE_STORE, .consent = consent, .consent_user = &invocation->output};
    *history = (struct history){0};
    wire_flags(arguments, &request.flags);
    if (wire_open(&request, &history->wire, err) != 0)
        return -1;
    int opened = use == HISTORY_READS ? wire_store_reading(history->wire, &history->store, err)
                                      : wire_store(history->wire, &history->store, err);
    if (opened == 0 && (arguments->operand_count == 0 ||
                        wire_find_run(history->wire, history->store, arguments->operands[0],
                                      &history->run_id, err) == 0))
        return 0;
    history_close(history);
    return -1;
}

int history_open(struct history *history, struct invocation *invocation, struct err *err)
{
    return open_with(history, invocation, trust_leave_out, HISTORY_WRITES, err);
}

int history_open_reading(struct history *history, struct invocation *invocation, struct err *err)
{
    return open_with(history, invocation, trust_leave_out, HISTORY_READS, err);
}

int history_open_trusted(struct history *history, struct invocation *invocation, struct err *err)
{
    return open_with(history, invocation, NULL, HISTORY_WRITES, err);
}

void history_close(struct history *history)
{
    if (history->store != NULL)
        history->store->ops->close(history->store);
    wire_close(history->wire);
    *history = (struct history){0};
}

struct str history_owner(const struct history *history, const struct stored_run *run)
{
    if (run->owner.n == 0 ||
        wake_owner(wire_config(history->wire)->store_path, run->owner) == WAKE_GONE)
        return STR_NONE;
    return run->owner;
}

struct str history_status(const struct history *history, const struct stored_run *run)
{
    return str_is(run->status, "running") && history_owner(history, run).n == 0 ? STR("stopped")
                                                                                : run->status;
}

static int copy_run(void *user, const struct stored_run *run)
{
    struct history_run *copy = user;
    struct stored_run *out = &copy->run;
    *out = *run;
    out->owner = history_owner(copy->history, run);
    out->status = history_status(copy->history, run);
    struct str *const texts[] = {
        &out->run_id,         &out->session_id,  &out->user_id,    &out->workspace_id,
        &out->workspace_path, &out->task,        &out->model,      &out->status,
        &out->error,          &out->result_json, &out->parent_run, &out->owner,
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        *texts[i] = arena_copy(&copy->arena, *texts[i]);
    return 1;
}

int history_run(struct history *history, struct history_run *copy, struct err *err)
{
    copy->history = history;
    arena_init(&copy->arena);
    return history->store->ops->run(history->store, id_str(&history->run_id), clock_boottime_ms(),
                                    copy_run, copy, err);
}

void history_run_release(struct history_run *copy)
{
    arena_release(&copy->arena);
}

struct fold {
    struct run *run;
    struct arena arena;
    struct err err;
};

static int fold_event(void *user, const struct stored_event *stored)
{
    struct fold *fold = user;
    struct event event;
    if (event_parse(&stored->row, &fold->arena, &event, &fold->err) != 0 ||
        run_apply(fold->run, &event, &fold->err) != 0)
        return 1;
    return 0;
}

int history_fold(struct history *history, struct run **run, struct err *err)
{
    struct str id = id_str(&history->run_id);
    struct fold fold = {.run = run_new(id)};
    arena_init(&fold.arena);
    int result = history->store->ops->read(history->store, id, 0, STORE_ALL_AGENTS, 0, fold_event,
                                           &fold, err);
    if (result == 0 && fold.err.class != ERR_NONE) {
        *err = fold.err;
        result = -1;
    }
    arena_release(&fold.arena);
    if (result != 0)
        run_free(fold.run);
    *run = result == 0 ? fold.run : NULL;
    return result;
}

static int copy_agent(void *user, const struct stored_agent *agent)
{
    struct history_agents *agents = user;
    /* Grows by doubling: a count that is a power of two is full. */
    if ((agents->count & (agents->count - 1)) == 0) {
        struct stored_agent *grown =
            realloc(agents->agents, agents->count * 2 * sizeof *agents->agents);
        if (grown == NULL)
            abort();
        agents->agents = grown;
    }
    struct stored_agent *out = &agents->agents[agents->count++];
    *out = *agent;
    struct str *const texts[] = {
        &out->id,           &out->parent_id,     &out->name,
        &out->status,       &out->worktree_path, &out->branch_name,
        &out->merge_status, &out->context_json,  &out->error,
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        *texts[i] = arena_copy(&agents->arena, *texts[i]);
    return 0;
}

int history_agents(struct history *history, struct history_agents *agents, struct err *err)
{
    arena_init(&agents->arena);
    agents->agents = calloc(1, sizeof *agents->agents);
    agents->count = 1;
    if (agents->agents == NULL)
        abort();
    agents->agents[0] =
        (struct stored_agent){.id = arena_copy(&agents->arena, id_str(&history->run_id)),
                              .name = STR("root"),
                              .step_idx = -1,
                              .started_at = -1,
                              .finished_at = -1};
    return history->store->ops->agents(history->store, id_str(&history->run_id), copy_agent, agents,
                                       err);
}

void history_agents_release(struct history_agents *agents)
{
    free(agents->agents);
    arena_release(&agents->arena);
    *agents = (struct history_agents){0};
}

struct str history_agent_name(const struct history_agents *agents, uint32_t no)
{
    return no < agents->count ? agents->agents[no].name : STR("?");
}

struct str history_agent_id(const struct history_agents *agents, uint32_t no)
{
    return no < agents->count ? agents->agents[no].id : STR("?");
}
