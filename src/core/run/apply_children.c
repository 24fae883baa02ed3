/* What events do to children: made, started, tried again, ended, closed; and to those who wait for them. Pure. */
#include "base/json.h"
#include "core/run/apply.h"

static void attempt_reset(struct run *run, struct agent *agent)
{
    arena_release(&agent->history);
    agent->message_count = 0;
    agent->compact_at = 0;
    agent->steered_told = 0;
    agent->summaries = SUMMARIES_WORK;
    agent->generation++;
    agent->conversation = agent->last_turn = 0;
    calls_forget(agent);
    agent->context_known = agent->context_new = agent->overflows = 0;
    agent->context_state = CONTEXT_GROWS;
    agent->booked = 0;
    agent->cut = CUT_NOT;
    agent->tries = agent->turns_alike = agent->nudges = agent->corrections = 0;
    agent->partial = PARTIAL_NOT;
    agent->checks = CHECKS_DUE;
    agent->turns = TURNS_FREE;
    agent->limit_outcome = OUTCOME_NONE;
    agent->limit_reached = STR_NONE;
    agent->stopping = OUTCOME_NONE;
    agent->stop_reason = STR_NONE;
    agent->request_id = agent->model_now = agent->model_asked = STR_NONE;
    timer_set(run, agent, TIMER_BACKOFF, 0);
    patience_forget(run, agent);
    broken_keep(agent);
}

/* The contract as the event has it, in the agent's keeping. An event that was just decided brings it along ready-made. */
static int contract_take(struct agent *agent, const struct agent *parent, const struct event *e,
                         struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    int result = 0;
    if (e->contract_made != NULL)
        agent->contract = *e->contract_made;
    else
        result = contract_parse(&arena, e->contract, &agent->contract, err);
    if (result == 0)
        contract_own(&agent->arena, &parent->contract, &agent->contract);
    arena_release(&arena);
    return result;
}

int apply_created(struct run *run, struct agent *unused, const struct event *e, struct err *err)
{
    struct agent *parent = agent_to_change(run, (uint32_t)event_number(e->parent_no, UINT32_MAX));
    if (unused != NULL || e->agent_no != run->agent_count || parent == NULL ||
        parent->phase != PHASE_TOOLS)
        return apply_out_of_place(e, err);
    struct agent *agent = calloc(1, sizeof *agent);
    if (agent == NULL)
        abort();
    arena_init(&agent->arena);
    arena_init(&agent->history);
    run->agents = grow(run->agents, run->agent_count, &run->agent_capacity, sizeof *run->agents);
    run->agents[run->agent_count++] = agent;
    agent->no = e->agent_no;
    agent->parent_no = parent->no;
    agent->life = LIFE_CREATED;
    agent->created_at = e->ts;
    agent->id = arena_copy(&agent->arena, e->sub_agent_id);
    agent->task_id = arena_copy(&agent->arena, e->task_id);
    agent->parent_call = arena_copy(&agent->arena, e->parent_call);
    agent->objective = arena_copy(&agent->arena, e->objective);
    agent->scope = arena_copy(&agent->arena, e->scope);
    agent->context = arena_copy(&agent->arena, e->context);
    agent->prompt = arena_copy(&agent->arena, e->prompt);
    agent->reuse_key = arena_copy(&agent->arena, e->reuse_key);
    if (contract_take(agent, parent, e, err) != 0)
        return -1;
    account_open(run, agent);
    struct amount left =
        e->version >= 4 ? budget_left_settled(&parent->account) : budget_left(&parent->account);
    agent->inherited.tokens = left.tokens == agent->account.limits.tokens;
    agent->inherited.cost = left.cost_nano == agent->account.limits.cost_nano;
    if (tree_adopt(run, agent, e, err) != 0)
        return -1;
    parent->children_open++;
    struct call *call = call_to_change(parent, agent->parent_call);
    if (call == NULL)
        return apply_out_of_place(e, err);
    if (e->gathered != EVENT_ABSENT) {
        agent->gathering = call->gathering;
        if (agent->gathering == NULL || agent->gathering->seq != (uint64_t)e->gathered)
            return apply_out_of_place(e, err);
    }
    /* A job in the background is not awaited by the call that made it: its parent goes on and keeps its slot. */
    bool awaited = agent->contract.receipt.door != DOOR_SPAWN;
    if (awaited && call->awaits == CALL_WORKS)
        call->awaits = CALL_AWAITS_CHILDREN; /* it is not running yet: nothing to count anew */
    call_adopt(parent, call, agent->no, event_number(e->item, 0));
    call->children_open += awaited;
    call_move(parent, call, CALL_RUNNING);
    slot_enqueue(run, agent, e->seq);
    slot_yield(run, parent);
    return 0;
}

int apply_refused(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    struct call *call = agent->phase == PHASE_TOOLS ? call_to_change(agent, e->call_id) : NULL;
    if (call == NULL || call->state == CALL_DONE || e->item == EVENT_ABSENT)
        return apply_out_of_place(e, err);
    if (call->awaits == CALL_WORKS)
        call->awaits = CALL_AWAITS_CHILDREN;
    call_adopt(agent, call, 0, e->item);
    call->children[call->child_count - 1].error = arena_copy(&agent->history, e->error);
    call_move(agent, call, CALL_RUNNING);
    return 0;
}

int apply_reused(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    struct call *call = agent->phase == PHASE_TOOLS ? call_to_change(agent, e->call_id) : NULL;
    const struct agent *earlier =
        run_agent_at(run, (uint32_t)event_number(e->earlier_no, UINT32_MAX));
    if (call == NULL || call->state == CALL_DONE || earlier == NULL || earlier->no == 0 ||
        earlier->life != LIFE_CLOSED)
        return apply_out_of_place(e, err);
    if (call->awaits == CALL_WORKS)
        call->awaits = CALL_AWAITS_CHILDREN;
    call_adopt(agent, call, earlier->no, event_number(e->item, 0));
    call->children[call->child_count - 1].origin = CHILD_REPEATED;
    if (earlier->parent_no != agent->no) {
        agent->reused = grow(agent->reused, agent->reused_count, &agent->reused_capacity,
                             sizeof *agent->reused);
        agent->reused[agent->reused_count++] = earlier->no;
    }
    call_move(agent, call, CALL_RUNNING);
    return 0;
}

int apply_awaiting(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    struct call *call = agent->phase == PHASE_TOOLS ? call_to_change(agent, e->call_id) : NULL;
    struct js *jobs = js_parse(e->jobs, err);
    if (call == NULL || call->state != CALL_GATHERING || js_count(jobs) == 0) {
        js_free(jobs);
        return apply_out_of_place(e, err);
    }
    call->awaits = CALL_AWAITS_JOBS;
    for (size_t i = 0; i < js_count(jobs); i++) {
        int64_t no = js_int(js_at(jobs, i), -1);
        struct agent *job =
            no > 0 && no < run->agent_count ? agent_to_change(run, (uint32_t)no) : NULL;
        if (job == NULL)
            continue;
        if (job->tree != NULL)
            tree_to_change(job)->turn = TURN_AWAITED;
        if (tree_is_there(job) && job->life == LIFE_WAITING_FOR_MERGE)
            phase_moves(job, MOVE_AWAITED); /* it was held */
        if (job->phase == PHASE_DONE)
            continue;
        call_adopt(agent, call, job->no, (int64_t)i);
        call->children_open++;
    }
    js_free(jobs);
    call_move(agent, call, CALL_RUNNING);
    slot_yield(run, agent);
    return 0;
}

int apply_joining(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (agent->children_open == 0 || !phase_moves(agent, MOVE_JOINING))
        return apply_out_of_place(e, err);
    agent->joining = outcome_parse(e->outcome);
    agent->joining_error = arena_copy(&agent->arena, e->error);
    slot_release(run, agent);
    budget_unqueue(run, agent);
    timer_set(run, agent, TIMER_ATTEMPT, 0);
    timer_set(run, agent, TIMER_BACKOFF, 0);
    timer_set(run, agent, TIMER_PATIENCE, 0);
    return 0;
}

int apply_steered(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (agent->phase == PHASE_DONE)
        return apply_out_of_place(e, err);
    /* Not in the history: what was sent to a child that has not started yet, or starts anew, is not lost. */
    size_t n = agent->steered.n;
    struct str *items = arena_alloc(&agent->arena, (n + 1) * sizeof *items);
    for (size_t i = 0; i < n; i++)
        items[i] = agent->steered.items[i];
    items[n] = arena_copy(&agent->arena, e->text);
    agent->steered = (struct list){LIST_SET, items, n + 1};
    return 0;
}

static int life_move(struct agent *agent, enum life_state to, const struct event *e,
                     struct err *err)
{
    if (agent->no == 0 || !life_legal(agent->life, to))
        return apply_out_of_place(e, err);
    agent->life = to;
    return 0;
}

int apply_started(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (life_move(agent, LIFE_RUNNING, e, err) != 0)
        return -1;
    agent->started_at = e->ts;
    slot_take(run, agent);
    deadline_set(run, agent, TIMER_WALL, e->ts, contract_deadline_ms(&agent->contract));
    return 0;
}

int apply_attempt(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (agent->life != LIFE_RUNNING || agent->no == 0 || agent->children_open > 0 ||
        !phase_moves(agent, MOVE_STARTED))
        return apply_out_of_place(e, err);
    attempt_reset(run, agent);
    agent->response = STR_NONE;
    agent->attempt = event_number(e->attempt, 0);
    agent->changes_seen = run->changes;
    slot_enqueue(run, agent, e->seq);
    deadline_set(run, agent, TIMER_ATTEMPT, e->ts, agent->contract.execution.attempt_timeout_ms);
    return 0;
}

/* The call waits for the child no more. One that was held ends twice, and the second end is news only to calls that came later. */
static void call_told(struct call *call, const struct agent *child)
{
    for (size_t i = 0; i < call->child_count; i++) {
        struct call_child *known = &call->children[i];
        if (known->no != child->no || known->state == CHILD_ENDED)
            continue;
        known->state = CHILD_ENDED;
        call->children_open--;
    }
}

/* The agent is done. Whoever waits for it has one less to wait for. */
static void child_done(struct run *run, struct agent *child)
{
    struct agent *parent = agent_to_change(run, child->parent_no);
    struct call *call =
        parent->phase == PHASE_TOOLS ? call_to_change(parent, child->parent_call) : NULL;
    phase_moves(child, MOVE_ENDED);
    if (call != NULL && call->awaits == CALL_AWAITS_CHILDREN)
        call_told(call, child);
    for (size_t i = 0; parent->calls_for_jobs > 0 && i < parent->call_count; i++) {
        if (parent->calls[i].awaits == CALL_AWAITS_JOBS)
            call_told((struct call *)&parent->calls[i], child);
    }
}

int apply_worked(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    bool waited = agent->life == LIFE_WAITING_FOR_MERGE;
    bool worked = e->type == EVENT_SUBAGENT_WAITING;
    bool held = worked && agent->contract.execution.close == CLOSE_HELD;
    if (agent->children_open > 0)
        return apply_out_of_place(e, err);
    if (life_move(agent, worked ? LIFE_WAITING_FOR_MERGE : LIFE_FAILED, e, err) != 0)
        return -1;
    if (!waited)
        agent->context_size = agent->context_known + agent->context_new;
    if (tree_is_there(agent))
        tree_to_change(agent)->leaves = worked ? LEAVES_MERGED : LEAVES_KEPT;
    if (tree_is_there(agent) && !held)
        phase_moves(agent, MOVE_LEAVING);
    else if (agent->phase != PHASE_DONE)
        child_done(run, agent);
    agent->outcome = outcome_parse(e->outcome);
    if (e->opening.p == NULL || e->response.p != NULL)
        agent->response = e->response;
    agent->response = arena_copy(&agent->arena, agent->response);
    agent->error = arena_copy(&agent->arena, e->error);
    agent->finished_at = e->ts;
    agent->account.kept_back = (struct amount){0, 0};
    broken_keep(agent);
    slot_release(run, agent);
    budget_unqueue(run, agent);
    for (int kind = 0; kind < TIMER_COUNT; kind++)
        timer_set(run, agent, (enum timer_kind)kind, 0);
    return 0;
}

int apply_completed(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (life_move(agent, LIFE_COMPLETED, e, err) != 0)
        return -1;
    if (agent->phase != PHASE_DONE)
        child_done(run, agent);
    return 0;
}

int apply_closed(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (life_move(agent, LIFE_CLOSED, e, err) != 0)
        return -1;
    if (agent->phase != PHASE_DONE)
        child_done(run, agent);
    agent_to_change(run, agent->parent_no)->children_open--;
    tree_child_closed(run, agent);
    reuse_learn(run, agent);
    /* A closed child's conversation is in the log; nobody will send it again. */
    attempt_reset(run, agent);
    free(agent->messages);
    agent->messages = NULL;
    agent->message_capacity = 0;
    return 0;
}
