/* run_apply: the only code that changes a run. One function per kind of event, in one table; the same code folds the log on
 * resume and replay. It trusts nothing that it can check cheaply: an event that cannot follow is CORRUPT. What concerns the run
 * as a whole stands here; children, turns and calls have files of their own. Pure. */
#include <stdlib.h>

#include "base/json.h"
#include "core/run/apply.h"

int apply_out_of_place(const struct event *e, struct err *err)
{
    return err_set(err, ERR_CORRUPT, "event %llu (%s) cannot follow the state before it",
                   (unsigned long long)e->seq, event_type_text(e->type));
}

int64_t event_number(int64_t value, int64_t otherwise)
{
    return value == EVENT_ABSENT ? otherwise : value;
}

void account_open(struct run *run, struct agent *agent)
{
    agent->account.parent =
        agent->no == 0 ? NULL : &agent_to_change(run, agent->parent_no)->account;
    agent->account.limits = agent->contract.execution.budget;
}

static int control_take(struct run *run, struct str text, struct err *err)
{
    control_init(&run->control);
    if (text.p == NULL)
        return 0;
    struct js *doc = js_parse(text, err);
    int result = doc != NULL ? control_parse(&run->arena, doc, &run->control, err) : -1;
    js_free(doc);
    if (result == 0)
        control_settings(&run->arena, &run->control, &run->settings);
    return result;
}

/* What its owner's terminal and sandbox are like. */
static void owner_facts(struct run *run, const struct event *e)
{
    if (e->asker.n > 0)
        run->asker = asker_parse(e->asker);
    if (e->walls.n > 0)
        run->walls = str_is(e->walls, "all") ? WALLS_UP : WALLS_DOWN;
}

static int apply_run_started(struct run *run, struct agent *agent, const struct event *e,
                             struct err *err)
{
    if (run->status != RUN_NEW || agent->no != 0 || !phase_moves(agent, MOVE_STARTED))
        return apply_out_of_place(e, err);
    run->session_id = arena_copy(&run->arena, e->session_id);
    run->user_id = arena_copy(&run->arena, e->user_id);
    run->workspace_id = arena_copy(&run->arena, e->workspace_id);
    run->workspace_path = arena_copy(&run->arena, e->workspace_path);
    run->task = arena_copy(&run->arena, e->task);
    owner_facts(run, e);
    struct js *doc = js_parse(e->settings, err);
    if (doc == NULL)
        return -1;
    int result = settings_parse(&run->arena, doc, &run->settings, err);
    js_free(doc);
    if (result != 0)
        return -1;
    if (control_take(run, e->control, err) != 0)
        return -1;
    members_open(run);
    if (e->contract.p != NULL &&
        contract_parse(&agent->arena, e->contract, &agent->contract, err) != 0)
        return -1;
    run->status = RUN_RUNNING;
    agent->life = LIFE_RUNNING;
    agent->objective = run->task;
    agent->created_at = agent->started_at = e->ts;
    account_open(run, agent);
    deadline_set(run, agent, TIMER_WALL, e->ts, contract_deadline_ms(&agent->contract));
    return 0;
}

static int apply_run_ended(struct run *run, struct agent *agent, const struct event *e,
                           struct err *err)
{
    if (run->status != RUN_RUNNING || agent->no != 0 || agent->children_open > 0 ||
        !phase_moves(agent, MOVE_ENDED))
        return apply_out_of_place(e, err);
    run->status = e->type == EVENT_RUN_COMPLETED ? RUN_COMPLETED
                  : e->type == EVENT_RUN_FAILED  ? RUN_FAILED
                                                 : RUN_CANCELLED;
    run->outcome = agent->outcome = outcome_parse(e->outcome);
    run->result = arena_copy(&run->arena, e->result);
    agent->response = arena_copy(&agent->arena, e->response);
    agent->error = arena_copy(&agent->arena, e->error);
    agent->finished_at = e->ts;
    for (int kind = 0; kind < TIMER_COUNT; kind++)
        timer_set(run, agent, (enum timer_kind)kind, 0);
    budget_unqueue(run, agent);
    return 0;
}

int64_t run_ended_at(const struct run *run, int64_t alive_at)
{
    int64_t ended = alive_at > run->slept ? alive_at - run->slept : 0;
    return ended > run->last_ts ? ended : run->last_ts;
}

static int apply_run_resumed(struct run *run, struct agent *agent, const struct event *e,
                             struct err *err)
{
    if (run->status != RUN_RUNNING && run->status != RUN_PARKED)
        return apply_out_of_place(e, err);
    run->status = RUN_RUNNING;
    owner_facts(run, e);
    patience_anew(run);
    if (str_is(e->kind, "forgive"))
        broken_forgive(run);
    /* Nobody worked while no process owned the run: that time is not the agents'. The last owner may have lived on after its last
     * event, in a long request: that time is. Its sign of life is wall time, its events leave out its sleeps. */
    int64_t ended = run_ended_at(run, event_number(e->alive_at, 0));
    int64_t unowned = e->ts > ended ? e->ts - ended : 0;
    run->changes++; /* nor is it known what happened to the files meanwhile */
    timers_shift(run, unowned);
    spent_shift(run, unowned);
    run->slept = 0;
    return 0;
}

static int apply_run_parked(struct run *run, struct agent *agent, const struct event *e,
                            struct err *err)
{
    if (agent->no != 0)
        return apply_out_of_place(e, err);
    run->status = RUN_PARKED;
    return 0;
}

/* Moves no timer: the owner's time stood still meanwhile. */
static int apply_run_slept(struct run *run, struct agent *agent, const struct event *e,
                           struct err *err)
{
    int64_t slept = event_number(e->slept_ms, 0);
    if (agent->no != 0 || slept <= 0 || slept > INT64_MAX - run->slept)
        return apply_out_of_place(e, err);
    run->slept += slept;
    return 0;
}

static int apply_nothing(struct run *run, struct agent *agent, const struct event *e,
                         struct err *err)
{
    return 0;
}

static apply_fn *const table[EVENT_TYPE_COUNT] = {
    [EVENT_INBOX_TAKEN] = apply_nothing,
    [EVENT_RUN_STARTED] = apply_run_started,
    [EVENT_RUN_RESUMED] = apply_run_resumed,
    [EVENT_RUN_PARKED] = apply_run_parked,
    [EVENT_RUN_SLEPT] = apply_run_slept,
    [EVENT_RUN_COMPLETED] = apply_run_ended,
    [EVENT_RUN_FAILED] = apply_run_ended,
    [EVENT_RUN_CANCELLED] = apply_run_ended,
    [EVENT_SUBAGENT_CREATED] = apply_created,
    [EVENT_SUBAGENT_STARTED] = apply_started,
    [EVENT_SUBAGENT_ATTEMPT] = apply_attempt,
    [EVENT_SUBAGENT_WAITING] = apply_worked,
    [EVENT_SUBAGENT_FAILED] = apply_worked,
    [EVENT_SUBAGENT_COMPLETED] = apply_completed,
    [EVENT_SUBAGENT_CLOSED] = apply_closed,
    [EVENT_ITEM_REFUSED] = apply_refused,
    [EVENT_RESULT_REUSED] = apply_reused,
    [EVENT_AGENT_AWAITING] = apply_awaiting,
    [EVENT_CALLS_HELD] = apply_calls_held,
    [EVENT_AGENT_STEERED] = apply_steered,
    [EVENT_RUN_JOINING] = apply_joining,
    [EVENT_RUN_DIRECTED] = apply_directed,
    [EVENT_PLAN_MADE] = apply_plan_made,
    [EVENT_PLAN_STEP] = apply_plan_step,
    [EVENT_AGENT_ISOLATING] = apply_isolating,
    [EVENT_WORKTREE_CREATED] = apply_worktree_created,
    [EVENT_AGENT_MERGING] = apply_merging,
    [EVENT_WORKTREE_MERGED] = apply_worktree_merged,
    [EVENT_AGENT_CHECKING] = apply_checking,
    [EVENT_AGENT_CHECKED] = apply_checked,
    [EVENT_RUN_PAUSED] = apply_paused,
    [EVENT_RUN_UNPAUSED] = apply_unpaused,
    [EVENT_AGENT_MESSAGE] = apply_message,
    [EVENT_AGENT_MASKED] = apply_masked,
    [EVENT_AGENT_COMPACTED] = apply_compacted,
    [EVENT_AGENT_STOPPING] = apply_stopping,
    [EVENT_MODEL_REQUESTED] = apply_requested,
    [EVENT_MODEL_REPLIED] = apply_replied,
    [EVENT_MODEL_FAILED] = apply_failed_request,
    [EVENT_MODEL_HELD] = apply_held,
    [EVENT_MODEL_ADMITTED] = apply_admitted,
    [EVENT_TOOL_REQUESTED] = apply_call_requested,
    [EVENT_TOOL_PREPARED] = apply_prepared,
    [EVENT_TOOL_FINISHED] = apply_call_finished,
    [EVENT_TOOL_INTERRUPTED] = apply_call_finished,
    [EVENT_FACTS_GATHERED] = apply_gathered,
    [EVENT_PERMISSION_ASKED] = apply_asked,
    [EVENT_PERMISSION_SHOWN] = apply_shown,
    [EVENT_PERMISSION_GRANTED] = apply_asked,
    [EVENT_PERMISSION_DENIED] = apply_asked,
    [EVENT_CONTRACT_CLAMPED] = apply_nothing,
    [EVENT_BUDGET_RESERVED] = apply_reserved,
    [EVENT_BUDGET_WAITING] = apply_waiting,
    [EVENT_BUDGET_SETTLED] = apply_settled,
    [EVENT_BUDGET_REFUSED] = apply_nothing,
    [EVENT_BUDGET_WARNED] = apply_nothing,
    [EVENT_TIMER_FIRED] = apply_timer,
    [EVENT_AGENT_IDLE] = apply_idle,
};

int run_apply(struct run *run, const struct event *e, struct err *err)
{
    struct agent *agent = agent_to_change(run, e->agent_no);
    if (e->type >= EVENT_TYPE_COUNT || e->seq != run->seq + 1 ||
        (agent == NULL) != (e->type == EVENT_SUBAGENT_CREATED))
        return apply_out_of_place(e, err);
    bool opens = e->type == EVENT_RUN_STARTED || e->type == EVENT_INBOX_TAKEN ||
                 (e->type == EVENT_RUN_RESUMED && run->status == RUN_PARKED);
    /* What a parked run aborted still tells what it cost. */
    bool settles = run->status == RUN_PARKED &&
                   (e->type == EVENT_MODEL_FAILED || e->type == EVENT_BUDGET_SETTLED);
    if (run->status != RUN_RUNNING && !opens && !settles)
        return apply_out_of_place(e, err);
    spent_before(run, agent, e);
    if (table[e->type](run, agent, e, err) != 0)
        return -1;
    run->seq = e->seq;
    run->last_ts = e->ts;
    agent = agent_to_change(run, e->agent_no); /* it may have been made by the event */
    agent->last_seq = e->seq;
    clock_update(run, agent, e->ts);
    return 0;
}
