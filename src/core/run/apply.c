/* run_apply: the only code that changes a run. One function per kind of event, in one table; the same code folds the log on
 * resume and replay. It trusts nothing that it can check cheaply: an event that cannot follow is CORRUPT. Pure. */
#include <stdlib.h>

#include "base/json.h"
#include "core/run/state.h"

typedef int apply_fn(struct run *run, struct agent *agent, const struct event *event,
                     struct err *err);

static int out_of_place(const struct event *e, struct err *err)
{
    return err_set(err, ERR_CORRUPT, "event %llu (%s) cannot follow the state before it",
                   (unsigned long long)e->seq, event_type_text(e->type));
}

static int64_t number(int64_t value, int64_t otherwise)
{
    return value == EVENT_ABSENT ? otherwise : value;
}

/* --- conversation ------------------------------------------------------------------------------------------- */

static void attempt_reset(struct run *run, struct agent *agent)
{
    arena_release(&agent->history);
    agent->message_count = 0;
    agent->compact_at = 0;
    agent->steered_told = 0;
    agent->summaries = SUMMARIES_WORK;
    agent->generation++;
    memset(&agent->conversation, 0, sizeof agent->conversation);
    memset(&agent->last_turn_hash, 0, sizeof agent->last_turn_hash);
    calls_forget(agent);
    agent->context_known = agent->context_before = agent->context_new = 0;
    agent->tries = agent->turns_alike = agent->nudges = 0;
    agent->turns = TURNS_FREE;
    agent->limit_outcome = OUTCOME_NONE;
    agent->stopping = OUTCOME_NONE;
    agent->stop_reason = STR_NONE;
    agent->request_id = agent->model_now = agent->model_asked = STR_NONE;
    timer_set(run, agent, TIMER_BACKOFF, 0);
}

/* --- run ------------------------------------------------------------------------------------------------------ */

static void account_open(struct run *run, struct agent *agent)
{
    agent->account.parent = agent->no == 0 ? NULL : &run->agents[agent->parent_no]->account;
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

static int apply_run_started(struct run *run, struct agent *agent, const struct event *e,
                             struct err *err)
{
    if (run->status != RUN_NEW || agent->no != 0)
        return out_of_place(e, err);
    run->session_id = arena_copy(&run->arena, e->session_id);
    run->user_id = arena_copy(&run->arena, e->user_id);
    run->workspace_id = arena_copy(&run->arena, e->workspace_id);
    run->workspace_path = arena_copy(&run->arena, e->workspace_path);
    run->task = arena_copy(&run->arena, e->task);
    run->asker = str_is(e->asker, "terminal") ? ASKER_ROOT_TERMINAL : ASKER_ROOT;
    struct js *doc = js_parse(e->settings, err);
    if (doc == NULL)
        return -1;
    int result = settings_parse(&run->arena, doc, &run->settings, err);
    js_free(doc);
    if (result != 0)
        return -1;
    if (control_take(run, e->control, err) != 0)
        return -1;
    if (e->contract.p != NULL &&
        contract_parse(&agent->arena, e->contract, &agent->contract, err) != 0)
        return -1;
    run->status = RUN_RUNNING;
    agent->life = LIFE_RUNNING;
    agent->phase = PHASE_READY;
    agent->objective = run->task;
    agent->created_at = agent->started_at = e->ts;
    account_open(run, agent);
    if (agent->contract.execution.budget.wall_ms > 0)
        timer_set(run, agent, TIMER_WALL, e->ts + agent->contract.execution.budget.wall_ms);
    return 0;
}

static int apply_run_ended(struct run *run, struct agent *agent, const struct event *e,
                           struct err *err)
{
    if (run->status != RUN_RUNNING || agent->no != 0 || agent->children_open > 0)
        return out_of_place(e, err);
    run->status = e->type == EVENT_RUN_COMPLETED ? RUN_COMPLETED
                  : e->type == EVENT_RUN_FAILED  ? RUN_FAILED
                                                 : RUN_CANCELLED;
    run->outcome = agent->outcome = outcome_parse(e->outcome);
    run->result = arena_copy(&run->arena, e->result);
    agent->response = arena_copy(&agent->arena, e->response);
    agent->error = arena_copy(&agent->arena, e->error);
    agent->phase = PHASE_DONE;
    agent->finished_at = e->ts;
    for (int kind = 0; kind < TIMER_COUNT; kind++)
        timer_set(run, agent, (enum timer_kind)kind, 0);
    budget_unqueue(run, agent);
    return 0;
}

static int apply_run_resumed(struct run *run, struct agent *agent, const struct event *e,
                             struct err *err)
{
    if (run->status != RUN_RUNNING)
        return out_of_place(e, err);
    /* Nobody worked while no process owned the run: that time is not the agents'. */
    timers_shift(run, e->ts > run->last_ts ? e->ts - run->last_ts : 0);
    spent_shift(run, e->ts > run->last_ts ? e->ts - run->last_ts : 0);
    return 0;
}

/* --- children --------------------------------------------------------------------------------------------------- */

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

static int apply_created(struct run *run, struct agent *unused, const struct event *e,
                         struct err *err)
{
    struct agent *parent = run_agent_at(run, (uint32_t)number(e->parent_no, UINT32_MAX));
    if (unused != NULL || e->agent_no != run->agent_count || parent == NULL ||
        parent->phase != PHASE_TOOLS)
        return out_of_place(e, err);
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
    if (contract_take(agent, parent, e, err) != 0)
        return -1;
    account_open(run, agent);
    parent->children_open++;
    struct call *call = call_find(parent, agent->parent_call);
    if (call == NULL)
        return out_of_place(e, err);
    /* A job in the background is not awaited by the call that made it: its parent goes on and keeps its slot. */
    bool awaited = agent->contract.receipt.door != DOOR_SPAWN;
    if (awaited && call->awaits == CALL_WORKS)
        call->awaits = CALL_AWAITS_CHILDREN; /* it is not running yet: nothing to count anew */
    call_adopt(parent, call, agent->no, number(e->item, 0));
    call->children_open += awaited;
    call_move(parent, call, CALL_RUNNING);
    slot_enqueue(run, agent, e->seq);
    slot_yield(run, parent);
    return 0;
}

static int apply_refused(struct run *run, struct agent *agent, const struct event *e,
                         struct err *err)
{
    struct call *call = agent->phase == PHASE_TOOLS ? call_find(agent, e->call_id) : NULL;
    if (call == NULL || call->state == CALL_DONE || e->item == EVENT_ABSENT)
        return out_of_place(e, err);
    if (call->awaits == CALL_WORKS)
        call->awaits = CALL_AWAITS_CHILDREN;
    call_adopt(agent, call, 0, e->item);
    call->children[call->child_count - 1].error = arena_copy(&agent->history, e->error);
    call_move(agent, call, CALL_RUNNING);
    return 0;
}

static int apply_awaiting(struct run *run, struct agent *agent, const struct event *e,
                          struct err *err)
{
    struct call *call = agent->phase == PHASE_TOOLS ? call_find(agent, e->call_id) : NULL;
    struct js *jobs = js_parse(e->jobs, err);
    if (call == NULL || call->state != CALL_GATHERING || js_count(jobs) == 0) {
        js_free(jobs);
        return out_of_place(e, err);
    }
    call->awaits = CALL_AWAITS_JOBS;
    for (size_t i = 0; i < js_count(jobs); i++) {
        int64_t no = js_int(js_at(jobs, i), -1);
        const struct agent *job =
            no > 0 && no < run->agent_count ? run_agent_at(run, (uint32_t)no) : NULL;
        if (job == NULL || job->phase == PHASE_DONE)
            continue;
        call_adopt(agent, call, job->no, (int64_t)i);
        call->children_open++;
    }
    js_free(jobs);
    call_move(agent, call, CALL_RUNNING);
    slot_yield(run, agent);
    return 0;
}

static int apply_joining(struct run *run, struct agent *agent, const struct event *e,
                         struct err *err)
{
    if (agent->phase == PHASE_DONE || agent->phase == PHASE_JOINING || agent->children_open == 0)
        return out_of_place(e, err);
    agent->joining = outcome_parse(e->outcome);
    agent->joining_error = arena_copy(&agent->arena, e->error);
    agent->phase = PHASE_JOINING;
    slot_release(run, agent);
    budget_unqueue(run, agent);
    timer_set(run, agent, TIMER_ATTEMPT, 0);
    timer_set(run, agent, TIMER_BACKOFF, 0);
    return 0;
}

static int apply_steered(struct run *run, struct agent *agent, const struct event *e,
                         struct err *err)
{
    if (agent->phase == PHASE_DONE)
        return out_of_place(e, err);
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
        return out_of_place(e, err);
    agent->life = to;
    return 0;
}

static int apply_started(struct run *run, struct agent *agent, const struct event *e,
                         struct err *err)
{
    if (life_move(agent, LIFE_RUNNING, e, err) != 0)
        return -1;
    agent->started_at = e->ts;
    slot_take(run, agent);
    if (agent->contract.execution.budget.wall_ms != UNLIMITED)
        timer_set(run, agent, TIMER_WALL, e->ts + agent->contract.execution.budget.wall_ms);
    return 0;
}

static int apply_attempt(struct run *run, struct agent *agent, const struct event *e,
                         struct err *err)
{
    if (agent->life != LIFE_RUNNING || agent->no == 0 || agent->children_open > 0)
        return out_of_place(e, err);
    attempt_reset(run, agent);
    agent->response = STR_NONE;
    agent->attempt = number(e->attempt, 0);
    agent->phase = PHASE_READY;
    slot_enqueue(run, agent, e->seq);
    timer_set(run, agent, TIMER_ATTEMPT, e->ts + agent->contract.execution.attempt_timeout_ms);
    return 0;
}

/* Whoever waits for the child has one less to wait for. */
static void child_ended(struct run *run, const struct agent *child)
{
    struct agent *parent = run->agents[child->parent_no];
    struct call *call = parent->phase == PHASE_TOOLS ? call_find(parent, child->parent_call) : NULL;
    if (call != NULL && call->awaits == CALL_AWAITS_CHILDREN)
        call->children_open--;
    for (size_t i = 0; parent->calls_for_jobs > 0 && i < parent->call_count; i++) {
        call = &parent->calls[i];
        for (size_t k = 0; call->awaits == CALL_AWAITS_JOBS && k < call->child_count; k++)
            call->children_open -= call->children[k].no == child->no;
    }
}

static int apply_worked(struct run *run, struct agent *agent, const struct event *e,
                        struct err *err)
{
    bool held = agent->life == LIFE_WAITING_FOR_MERGE;
    if (agent->children_open > 0)
        return out_of_place(e, err);
    if (life_move(agent, e->type == EVENT_SUBAGENT_WAITING ? LIFE_WAITING_FOR_MERGE : LIFE_FAILED,
                  e, err) != 0)
        return -1;
    if (!held) {
        agent->context_size = agent->context_known + agent->context_new;
        child_ended(run, agent);
    }
    agent->outcome = outcome_parse(e->outcome);
    agent->response = arena_copy(&agent->arena, e->response);
    agent->error = arena_copy(&agent->arena, e->error);
    agent->phase = PHASE_DONE;
    agent->finished_at = e->ts;
    agent->account.kept_back = (struct amount){0, 0};
    slot_release(run, agent);
    budget_unqueue(run, agent);
    for (int kind = 0; kind < TIMER_COUNT; kind++)
        timer_set(run, agent, (enum timer_kind)kind, 0);
    return 0;
}

static int apply_completed(struct run *run, struct agent *agent, const struct event *e,
                           struct err *err)
{
    return life_move(agent, LIFE_COMPLETED, e, err);
}

static int apply_closed(struct run *run, struct agent *agent, const struct event *e,
                        struct err *err)
{
    if (life_move(agent, LIFE_CLOSED, e, err) != 0)
        return -1;
    run->agents[agent->parent_no]->children_open--;
    /* A closed child's conversation is in the log; nobody will send it again. */
    attempt_reset(run, agent);
    free(agent->messages);
    agent->messages = NULL;
    agent->message_capacity = 0;
    return 0;
}

/* --- turns --------------------------------------------------------------------------------------------------------- */

static int apply_message(struct run *run, struct agent *agent, const struct event *e,
                         struct err *err)
{
    struct message message = {.text = arena_copy(&agent->history, e->text)};
    message.role = str_is(e->role, "system") ? MESSAGE_SYSTEM : MESSAGE_USER;
    message_push(agent, &message);
    agent->context_new += budget_estimate(message.text);
    if (str_is(e->note, "steer"))
        agent->steered_told = agent->steered.n; /* one message tells all of them */
    else if (str_is(e->note, "warn"))
        agent->turns = TURNS_WARNED;
    else if (str_starts(e->note, STR("last_turn"))) {
        agent->turns = TURNS_LAST;
        agent->limit_outcome =
            str_is(e->note, "last_turn_timeout") ? OUTCOME_TIMEOUT : OUTCOME_BUDGET_EXCEEDED;
    } else if (str_is(e->note, "compact"))
        agent->compact_at = agent->message_count - 1;
    else if (e->note.n > 0)
        agent->nudges++;
    return 0;
}

/* What runs already goes on; nothing new is started until the answer is there. */
static int apply_paused(struct run *run, struct agent *agent, const struct event *e,
                        struct err *err)
{
    if (agent->no != 0 || agent->pause != PAUSE_AHEAD ||
        (agent->phase != PHASE_READY && agent->phase != PHASE_TOOLS))
        return out_of_place(e, err);
    agent->pause = PAUSE_ASKED;
    agent->pause_id = arena_copy(&agent->arena, e->call_id);
    return 0;
}

static int apply_unpaused(struct run *run, struct agent *agent, const struct event *e,
                          struct err *err)
{
    if (agent->pause != PAUSE_ASKED)
        return out_of_place(e, err);
    agent->pause = str_is(e->outcome, "go_on") ? PAUSE_GO_ON : PAUSE_STOP;
    return 0;
}

static int apply_masked(struct run *run, struct agent *agent, const struct event *e,
                        struct err *err)
{
    if (e->kept != EVENT_ABSENT)
        context_cut(agent, (size_t)e->kept);
    else
        context_mask(agent);
    return 0;
}

static int apply_compacted(struct run *run, struct agent *agent, const struct event *e,
                           struct err *err)
{
    if (agent->compact_at == 0 || (agent->phase != PHASE_READY && agent->phase != PHASE_TOOLS))
        return out_of_place(e, err);
    struct str summary = e->text.p != NULL ? e->text : context_summary(agent);
    if (summary.p == NULL)
        return out_of_place(e, err);
    context_compact(agent, summary, (size_t)number(e->kept, 0));
    agent->summaries = str_is(e->outcome, "failed") ? SUMMARIES_FAIL : SUMMARIES_WORK;
    agent->tries = 0;
    agent->phase = PHASE_READY;
    return 0;
}

static int apply_stopping(struct run *run, struct agent *agent, const struct event *e,
                          struct err *err)
{
    if (agent->phase == PHASE_DONE)
        return out_of_place(e, err);
    agent->stopping = outcome_parse(e->outcome);
    agent->stop_reason = arena_copy(&agent->arena, e->reason);
    timer_set(run, agent, TIMER_BACKOFF, 0);
    budget_unqueue(run, agent);
    return 0;
}

/* Not a request that is tried again, nor one to another model of the pool, nor for a summary. */
static bool is_new_turn(const struct agent *agent)
{
    return agent->tries == 0 && agent->model_now.n == 0 && agent->compact_at == 0;
}

static int apply_requested(struct run *run, struct agent *agent, const struct event *e,
                           struct err *err)
{
    if (agent->phase != PHASE_READY)
        return out_of_place(e, err);
    agent->phase = PHASE_ASKING;
    agent->request_id = arena_copy(&agent->history, e->call_id);
    agent->request_input = number(e->estimate, 0);
    agent->reserved = (struct amount){0, 0};
    agent->quoted = (struct amount){number(e->tokens, 0), number(e->cost_nano, 0)};
    agent->model_asked = arena_copy(&agent->history, e->name);
    const struct model_settings *model = settings_model(&run->settings, agent->model_asked);
    if (model != NULL)
        agent->account.kept_back = turn_reserve(agent, model, agent->request_input);
    if (is_new_turn(agent))
        agent->account.turns++;
    slot_take(run, agent);
    budget_unqueue(run, agent);
    return 0;
}

static int apply_reserved(struct run *run, struct agent *agent, const struct event *e,
                          struct err *err)
{
    if (agent->phase != PHASE_ASKING)
        return out_of_place(e, err);
    agent->reserved = (struct amount){number(e->tokens, 0), number(e->cost_nano, 0)};
    budget_reserve(&agent->account, agent->reserved);
    return 0;
}

static int apply_waiting(struct run *run, struct agent *agent, const struct event *e,
                         struct err *err)
{
    if (agent->phase != PHASE_READY)
        return out_of_place(e, err);
    run->budget_queue = grow(run->budget_queue, run->budget_count, &run->budget_capacity,
                             sizeof *run->budget_queue);
    run->budget_queue[run->budget_count++] = agent->no;
    slot_take(run, agent);
    return 0;
}

static int apply_settled(struct run *run, struct agent *agent, const struct event *e,
                         struct err *err)
{
    budget_settle(&agent->account, agent->reserved,
                  (struct amount){number(e->used_tokens, 0), number(e->used_cost_nano, 0)});
    agent->reserved = (struct amount){0, 0};
    return 0;
}

/* The calls of a reply, with ids of our own: providers repeat theirs. */
static int calls_open(struct agent *agent, const struct event *e, struct message *message,
                      struct err *err)
{
    struct js *doc = js_parse(e->calls, err);
    if (doc == NULL)
        return -1;
    size_t n = js_count(doc);
    struct hasher h;
    hasher_init(&h);
    agent->calls = arena_alloc(&agent->history, (n + 1) * sizeof *agent->calls);
    agent->call_count = agent->calls_open = agent->calls_in[CALL_WAITING] = n;
    message->calls = arena_alloc(&agent->history, (n + 1) * sizeof *message->calls);
    message->call_count = n;
    for (size_t i = 0; i < n; i++) {
        const struct js *item = js_at(doc, i);
        struct tool_call *call = &message->calls[i];
        struct buf text;
        buf_init(&text, SIZE_MAX / 4);
        js_print(js_get(item, "arguments"), &text);
        call->id = arena_printf(&agent->history, "c%llu_%zu", (unsigned long long)e->seq, i);
        call->name = arena_copy(&agent->history, js_get_str(item, "name"));
        call->arguments = arena_copy(&agent->history, buf_view(&text));
        buf_release(&text);
        agent->calls[i].call = *call;
        hasher_str(&h, call->name);
        hasher_str(&h, call->arguments);
    }
    js_free(doc);
    struct hash turn = hasher_end(&h);
    agent->turns_alike = hash_eq(&turn, &agent->last_turn_hash) ? agent->turns_alike + 1 : 1;
    agent->last_turn_hash = turn;
    return 0;
}

static int apply_replied(struct run *run, struct agent *agent, const struct event *e,
                         struct err *err)
{
    if (agent->phase != PHASE_ASKING)
        return out_of_place(e, err);
    struct message message = {.role = MESSAGE_ASSISTANT,
                              .text = arena_copy(&agent->history, e->text.p ? e->text : STR(""))};
    message.extras = e->extras.p != NULL ? arena_copy(&agent->history, e->extras) : STR_NONE;
    calls_forget(agent);
    if (e->calls.p != NULL && calls_open(agent, e, &message, err) != 0)
        return -1;
    if (message.text.n > 0 || message.call_count > 0)
        message_push(agent, &message);
    if (message.text.n > 0 && str_is(e->completeness, "whole") && message.call_count == 0)
        agent->nudges = 0;
    if (message.call_count > 0)
        agent->nudges = 0;
    int64_t input = number(e->input_tokens, -1), output = number(e->output_tokens, -1);
    if (output < 0)
        output =
            budget_estimate(message.text) + (e->calls.p != NULL ? budget_estimate(e->calls) : 0);
    if (input < 0)
        input = agent->request_input;
    agent->context_before = agent->context_known;
    agent->context_known = input + output;
    agent->context_new = 0;
    agent->input_tokens += input;
    agent->output_tokens += output;
    agent->tries = 0;
    agent->model_now = STR_NONE;
    agent->request_id = STR_NONE;
    agent->phase = message.call_count > 0 ? PHASE_TOOLS : PHASE_READY;
    if (e->model_effective.n > 0)
        agent->model_effective = arena_copy(&agent->arena, e->model_effective);
    if (message.text.n > 0)
        agent->response = message.text;
    return 0;
}

static int apply_failed_request(struct run *run, struct agent *agent, const struct event *e,
                                struct err *err)
{
    if (agent->phase != PHASE_ASKING)
        return out_of_place(e, err);
    enum err_class class = err_class_parse(e->class);
    if (class != ERR_CANCELLED)
        agent->tries++;
    else if (is_new_turn(agent))
        agent->account.turns--; /* nothing was answered: asking again is still the same turn */
    agent->request_id = STR_NONE;
    agent->phase = e->retry_at != EVENT_ABSENT ? PHASE_BACKOFF : PHASE_READY;
    if (e->retry_at != EVENT_ABSENT)
        timer_set(run, agent, TIMER_BACKOFF, e->retry_at);
    if (e->fallback.n > 0) {
        agent->model_now = arena_copy(&agent->history, e->fallback);
        agent->tries = 0;
    }
    if (e->partial.n > 0)
        agent->response = arena_copy(&agent->history, e->partial);
    return 0;
}

static int apply_timer(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    static const char *const kinds[] = {"wall", "attempt", "backoff"};
    for (int kind = 0; kind < TIMER_COUNT; kind++) {
        if (str_is(e->kind, kinds[kind])) {
            timer_set(run, agent, (enum timer_kind)kind, 0);
            if (agent->stopping == OUTCOME_NONE)
                agent->spent.timer = (enum timer_kind)kind;
            if (kind == TIMER_BACKOFF && agent->phase == PHASE_BACKOFF)
                agent->phase = PHASE_READY;
            return 0;
        }
    }
    return out_of_place(e, err);
}

/* --- calls -------------------------------------------------------------------------------------------------------------- */

/* The open call that the event is about, or NULL with err. */
static struct call *call_of(struct agent *agent, const struct event *e, struct err *err)
{
    struct call *call = agent->phase == PHASE_TOOLS ? call_find(agent, e->call_id) : NULL;
    if (call != NULL && call->state != CALL_DONE)
        return call;
    out_of_place(e, err);
    return NULL;
}

static int apply_call_requested(struct run *run, struct agent *agent, const struct event *e,
                                struct err *err)
{
    struct call *call = call_of(agent, e, err);
    if (call == NULL)
        return -1;
    const struct tool_info *info = tool_info_find(e->tool);
    agent->account.tool_calls++;
    call_move(agent, call,
              info == NULL                  ? CALL_RUNNING
              : info->kind == TOOL_PREPARED ? CALL_PREPARING
              : info->kind == TOOL_CORE     ? CALL_GATHERING
                                            : CALL_RUNNING);
    return 0;
}

static int apply_prepared(struct run *run, struct agent *agent, const struct event *e,
                          struct err *err)
{
    struct call *call = call_of(agent, e, err);
    if (call == NULL)
        return -1;
    call->path = arena_copy(&agent->history, e->path);
    call->before = arena_copy(&agent->history, e->before);
    call->after = arena_copy(&agent->history, e->after);
    call_move(agent, call, CALL_RUNNING);
    return 0;
}

static int apply_asked(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    struct call *call = call_of(agent, e, err);
    if (call == NULL)
        return -1;
    if (e->type == EVENT_PERMISSION_ASKED) {
        call_move(agent, call, CALL_ASKED);
        slot_yield(run, agent);
    } else if (e->type == EVENT_PERMISSION_GRANTED) {
        call->answer = ANSWER_YES;
        call_move(agent, call, CALL_WAITING);
    } else {
        call->answer = ANSWER_NO;
    }
    return 0;
}

/* Files that a call changed, and for a child also which of them another child had changed before. */
static void modified_add(struct run *run, struct agent *agent, struct str files)
{
    size_t known = agent->files_modified.n;
    files_add(agent, &agent->files_modified, files);
    for (size_t i = known; agent->no != 0 && i < agent->files_modified.n; i++) {
        struct str path = agent->files_modified.items[i];
        const struct agent *earlier = map_set(&run->modifiers, path, agent);
        if (earlier == NULL)
            continue;
        agent->clashes = grow(agent->clashes, agent->clash_count, &agent->clash_capacity,
                              sizeof *agent->clashes);
        agent->clashes[agent->clash_count++] = (struct clash){path, earlier->no};
    }
}

static int apply_call_finished(struct run *run, struct agent *agent, const struct event *e,
                               struct err *err)
{
    struct call *call = call_of(agent, e, err);
    if (call == NULL)
        return -1;
    call->result = arena_copy(&agent->history, e->text.p != NULL ? e->text : STR(""));
    call->outcome =
        e->type == EVENT_TOOL_FINISHED && str_is(e->outcome, "ok") ? TOOL_OK : TOOL_ERROR;
    call_move(agent, call, CALL_DONE);
    files_add(agent, &agent->files_read, e->files_read);
    modified_add(run, agent, e->files_modified);
    agent->context_new += budget_estimate(call->result);
    if (--agent->calls_open > 0) {
        slot_yield(run, agent);
        return 0;
    }
    for (size_t i = 0; i < agent->call_count; i++) {
        const struct call *done = &agent->calls[i];
        struct message message = {.role = MESSAGE_TOOL,
                                  .text = done->result,
                                  .call_id = done->call.id,
                                  .outcome = done->outcome};
        message_push(agent, &message);
    }
    agent->phase = PHASE_READY;
    slot_enqueue(run, agent, e->seq);
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
    [EVENT_AGENT_AWAITING] = apply_awaiting,
    [EVENT_AGENT_STEERED] = apply_steered,
    [EVENT_RUN_JOINING] = apply_joining,
    [EVENT_RUN_PAUSED] = apply_paused,
    [EVENT_RUN_UNPAUSED] = apply_unpaused,
    [EVENT_AGENT_MESSAGE] = apply_message,
    [EVENT_AGENT_MASKED] = apply_masked,
    [EVENT_AGENT_COMPACTED] = apply_compacted,
    [EVENT_AGENT_STOPPING] = apply_stopping,
    [EVENT_MODEL_REQUESTED] = apply_requested,
    [EVENT_MODEL_REPLIED] = apply_replied,
    [EVENT_MODEL_FAILED] = apply_failed_request,
    [EVENT_TOOL_REQUESTED] = apply_call_requested,
    [EVENT_TOOL_PREPARED] = apply_prepared,
    [EVENT_TOOL_FINISHED] = apply_call_finished,
    [EVENT_TOOL_INTERRUPTED] = apply_call_finished,
    [EVENT_FACTS_GATHERED] = apply_nothing,
    [EVENT_PERMISSION_ASKED] = apply_asked,
    [EVENT_PERMISSION_GRANTED] = apply_asked,
    [EVENT_PERMISSION_DENIED] = apply_asked,
    [EVENT_CONTRACT_CLAMPED] = apply_nothing,
    [EVENT_BUDGET_RESERVED] = apply_reserved,
    [EVENT_BUDGET_WAITING] = apply_waiting,
    [EVENT_BUDGET_SETTLED] = apply_settled,
    [EVENT_BUDGET_REFUSED] = apply_nothing,
    [EVENT_BUDGET_WARNED] = apply_nothing,
    [EVENT_TIMER_FIRED] = apply_timer,
};

int run_apply(struct run *run, const struct event *e, struct err *err)
{
    struct agent *agent = run_agent_at(run, e->agent_no);
    if (e->type >= EVENT_TYPE_COUNT || e->seq != run->seq + 1 ||
        (agent == NULL) != (e->type == EVENT_SUBAGENT_CREATED))
        return out_of_place(e, err);
    if (run->status != RUN_RUNNING && e->type != EVENT_RUN_STARTED && e->type != EVENT_INBOX_TAKEN)
        return out_of_place(e, err);
    spent_before(run, agent, e);
    if (table[e->type](run, agent, e, err) != 0)
        return -1;
    run->seq = e->seq;
    run->last_ts = e->ts;
    run->agents[e->agent_no]->last_seq = e->seq;
    return 0;
}
