/* What events do to an agent's conversation and to its requests: messages, pauses, masking, reservations, replies, timers. Pure. */
#include "base/json.h"
#include "base/mark.h"
#include "core/run/apply.h"

int apply_message(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (e->opening.p != NULL ? agent->no == 0 : e->text.p == NULL)
        return apply_out_of_place(e, err);
    /* With an opening, the text is only the brief of a child's task, and events before version 3 have no
     * brief. */
    struct message message = {.text = e->opening.p != NULL
                                          ? task_text(&agent->history, agent, e->text)
                                          : arena_copy(&agent->history, e->text)};
    message.role = str_is(e->role, "system") ? MESSAGE_SYSTEM : MESSAGE_USER;
    message_push(agent, &message);
    agent->context_new += budget_estimate(message.text);
    if (str_is(e->note, "steer"))
        agent->steered_told = agent->steered.n; /* one message tells all of them */
    else if (str_is(e->note, "warn"))
        agent->turns = TURNS_WARNED;
    else if (str_starts(e->note, STR("last_turn"))) {
        agent->turns = TURNS_LAST;
        /* What is left does not pay for a summary and a last turn: there is no summary. */
        if (e->version >= 3)
            agent->compact_at = 0;
        agent->limit_outcome =
            str_is(e->note, "last_turn_timeout") ? OUTCOME_TIMEOUT : OUTCOME_BUDGET_EXCEEDED;
        agent->limit_reached = arena_copy(&agent->arena, e->reason);
    } else if (str_is(e->note, "compact"))
        agent->compact_at = agent->message_count - 1;
    else if (str_is(e->note, "schema") || str_is(e->note, "check") || str_is(e->note, "verdict"))
        agent->corrections++;
    else if (e->note.n > 0)
        agent->nudges++;
    return 0;
}

/* What runs already goes on; nothing new is started until the answer is there. */
int apply_paused(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (agent->no != 0 || agent->pause != PAUSE_AHEAD ||
        (agent->phase != PHASE_READY && agent->phase != PHASE_TOOLS))
        return apply_out_of_place(e, err);
    agent->pause = PAUSE_ASKED;
    agent->pause_id = arena_copy(&agent->arena, e->call_id);
    agent->clock.for_answers = e->version >= 4;
    return 0;
}

int apply_unpaused(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (agent->pause != PAUSE_ASKED)
        return apply_out_of_place(e, err);
    agent->pause = str_is(e->outcome, "go_on") ? PAUSE_GO_ON : PAUSE_STOP;
    return 0;
}

int apply_masked(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (e->kept != EVENT_ABSENT)
        context_cut(agent, (size_t)e->kept);
    else
        context_mask(agent, e->version);
    return 0;
}

int apply_compacted(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (agent->compact_at == 0 || !phase_moves(agent, MOVE_SUMMARISED))
        return apply_out_of_place(e, err);
    struct str summary = e->text.p != NULL ? e->text : context_summary(agent);
    if (summary.p == NULL)
        return apply_out_of_place(e, err);
    context_compact(agent, summary, (size_t)event_number(e->kept, 0));
    agent->summaries = str_is(e->outcome, "failed") ? SUMMARIES_FAIL : SUMMARIES_WORK;
    agent->tries = 0;
    patience_forget(run, agent);
    broken_keep(agent);
    return 0;
}

int apply_stopping(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (agent->phase == PHASE_DONE)
        return apply_out_of_place(e, err);
    agent->stopping = outcome_parse(e->outcome);
    agent->stop_reason = arena_copy(&agent->arena, e->reason);
    timer_set(run, agent, TIMER_BACKOFF, 0);
    timer_set(run, agent, TIMER_PATIENCE, 0);
    budget_unqueue(run, agent);
    return 0;
}

/* Not a request that is tried again, nor one to another model of the pool, nor for a summary. */
static bool is_new_turn(const struct agent *agent)
{
    return agent->tries == 0 && agent->model_now.n == 0 && agent->compact_at == 0;
}

int apply_requested(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (!phase_moves(agent, MOVE_REQUESTED))
        return apply_out_of_place(e, err);
    agent->held = HELD_NEVER;
    agent->request_id = arena_copy(&agent->history, e->call_id);
    agent->request_input = event_number(e->estimate, 0);
    agent->request_output = event_number(e->output_limit, 0);
    agent->request_most = event_number(e->output_most, 0);
    agent->reserved = (struct amount){0, 0};
    agent->quoted = (struct amount){event_number(e->tokens, 0), event_number(e->cost_nano, 0)};
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

int apply_reserved(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (agent->phase != PHASE_ASKING)
        return apply_out_of_place(e, err);
    agent->reserved = (struct amount){event_number(e->tokens, 0), event_number(e->cost_nano, 0)};
    budget_reserve(&agent->account, agent->reserved);
    return 0;
}

int apply_waiting(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (agent->phase != PHASE_READY)
        return apply_out_of_place(e, err);
    run->budget_queue = grow(run->budget_queue, run->budget_count, &run->budget_capacity,
                             sizeof *run->budget_queue);
    run->budget_queue[run->budget_count++] = agent->no;
    agent->waits_for_budget = true;
    slot_take(run, agent);
    return 0;
}

int apply_settled(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    budget_settle(
        &agent->account, agent->reserved,
        (struct amount){event_number(e->used_tokens, 0), event_number(e->used_cost_nano, 0)});
    agent->reserved = (struct amount){0, 0};
    return 0;
}

/* What was really used: `tokens` counts each token once, when it first enters the context; dollars count what is billed.
 * known: the context before this request, as it was last reported. */
static struct amount used_by(const struct run *run, const struct agent *agent,
                             const struct event *e, int64_t input, int64_t output, int64_t known)
{
    const struct model_settings *model = settings_model(&run->settings, agent->model_asked);
    bool reported = e->input_tokens != EVENT_ABSENT;
    int64_t fresh = input > known ? input - known : 0;
    if (e->version >= 3 && agent->context_state == CONTEXT_REBUILT) {
        int64_t unbooked = context_unbooked(agent);
        fresh = unbooked < input ? unbooked : input;
    }
    struct amount used = {.tokens = fresh + output, .cost_nano = 0};
    if (model != NULL)
        used.cost_nano =
            cost_of_request(model, input, reported ? event_number(e->cached_tokens, -1) : -1,
                            reported ? event_number(e->cache_write_tokens, -1) : -1, output);
    return used;
}

/* What a failed request used is told by a report, or is nothing: it was never sent, or was refused before anything was
 * generated. Else nobody knows, and it counts in full. */
bool request_is_billed(const struct event *e)
{
    return str_is(e->sent, "no") || event_number(e->http_status, 0) >= 300 ||
           str_is(e->trouble, "overflow") ||
           (e->input_tokens != EVENT_ABSENT && e->output_tokens != EVENT_ABSENT);
}

static struct amount used_by_failed(const struct run *run, const struct agent *agent,
                                    const struct event *e)
{
    if (str_is(e->sent, "no"))
        return (struct amount){0, 0};
    if (e->input_tokens != EVENT_ABSENT && e->output_tokens != EVENT_ABSENT)
        return used_by(run, agent, e, e->input_tokens, e->output_tokens, agent->context_known);
    return request_is_billed(e) ? (struct amount){0, 0} : agent->quoted;
}

/* Where something is limited, and in older logs, budget.settled books it. */
static void request_ended(const struct run *run, struct agent *agent, const struct event *e,
                          struct amount used)
{
    const struct model_settings *model = settings_model(&run->settings, agent->model_asked);
    agent->used = used;
    if (used.tokens > 0 && model != NULL && !model_is_priced(model))
        budget_unpriced(&agent->account);
    if (e->version >= 2 && !budget_limited(&agent->account))
        budget_settle(&agent->account, agent->reserved, used);
}

/* Takes the server's id from every call of a reply that shares it with an earlier call of the reply or the conversation:
 * a server that repeats its ids would read two calls as one. */
static void origins_settle(const struct agent *agent, struct call_origin *origins, size_t count)
{
    struct map known;
    map_init(&known);
    for (size_t i = 0; i < count; i++) {
        if (origins[i].id.n > 0 && map_get(&known, origins[i].id) != NULL)
            origins[i].id = STR_NONE;
        else if (origins[i].id.n > 0)
            map_set(&known, origins[i].id, &origins[i]);
    }
    for (size_t m = 0; m < agent->message_count; m++) {
        const struct message *message = &agent->messages[m];
        for (size_t c = 0; message->origins != NULL && c < message->call_count; c++) {
            struct call_origin *same = map_get(&known, message->origins[c].id);
            if (same != NULL)
                same->id = STR_NONE;
        }
    }
    map_release(&known);
}

/* The request has ended. Time that it waited for admission and that nobody was told of was not the agent's. */
static void request_left(struct run *run, struct agent *agent, const struct event *e)
{
    if (agent->held == HELD_NEVER)
        clock_shift(run, agent, event_number(e->admitted_ms, 0));
    agent->held = HELD_NEVER;
    agent->request_id = STR_NONE;
}

int apply_held(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (agent->phase != PHASE_ASKING || agent->held == HELD_NOW)
        return apply_out_of_place(e, err);
    agent->held = HELD_NOW;
    clock_shift(run, agent, event_number(e->waited_ms, 0));
    return 0;
}

int apply_admitted(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (agent->phase != PHASE_ASKING || agent->held != HELD_NOW)
        return apply_out_of_place(e, err);
    agent->held = HELD_EARLIER;
    return 0;
}

/* The calls of a reply, with ids of our own: providers repeat theirs. */
int calls_open(struct agent *agent, const struct event *e, struct str provider,
               struct message *message, struct err *err)
{
    struct js *doc = js_parse(e->calls, err);
    if (doc == NULL)
        return -1;
    size_t n = js_count(doc);
    uint64_t turn = 0;
    struct call *calls = arena_alloc(&agent->history, (n + 1) * sizeof *calls);
    agent->calls = calls;
    agent->call_count = agent->calls_open = agent->calls_in[CALL_WAITING] = n;
    message->calls = arena_alloc(&agent->history, (n + 1) * sizeof *message->calls);
    message->origins = arena_alloc(&agent->history, (n + 1) * sizeof *message->origins);
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
        calls[i].call = *call;
        message->origins[i] = (struct call_origin){
            .id = provider.n > 0 ? arena_copy(&agent->history, js_get_str(item, "id")) : STR_NONE,
            .provider = provider};
        turn = mark_str(mark_str(turn, call->name), call->arguments);
    }
    js_free(doc);
    origins_settle(agent, message->origins, n);
    for (size_t i = 0; i < n; i++)
        calls[i].origin = message->origins[i];
    /* Calls in place of a summary are not executed, so they are not a turn. */
    if (e->version >= 3 && agent->compact_at != 0)
        return 0;
    agent->turns_alike = turn == agent->last_turn ? agent->turns_alike + 1 : 1;
    agent->last_turn = turn;
    return 0;
}

static void count_cache(const struct run *run, struct agent *agent, const struct event *e)
{
    struct cache_use *cache = &agent->cache;
    const struct model_settings *model = settings_model(&run->settings, agent->model_asked);
    if (e->input_tokens == EVENT_ABSENT || e->cached_tokens == EVENT_ABSENT)
        return;
    int64_t written = event_number(e->cache_write_tokens, 0);
    cache->input += e->input_tokens;
    cache->read += e->cached_tokens;
    cache->written += written;
    if (model == NULL || model->price_in_nano == UNLIMITED)
        return;
    cache->priced += e->input_tokens;
    cache->saved_nano += cost_saved_by_cache(model, e->input_tokens, e->cached_tokens, written);
}

int apply_replied(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (!phase_may_move(agent, MOVE_ANSWERED))
        return apply_out_of_place(e, err);
    struct message message = {.role = MESSAGE_ASSISTANT,
                              .text = arena_copy(&agent->history, e->text.p ? e->text : STR(""))};
    message.extras = e->extras.p != NULL ? arena_copy(&agent->history, e->extras) : STR_NONE;
    calls_forget(agent);
    const struct model_settings *model = settings_model(&run->settings, agent->model_asked);
    struct str provider = model != NULL ? model_server_name(model) : STR_NONE;
    bool early = output_cut_early(agent, e);
    if (e->calls.p != NULL && !early && calls_open(agent, e, provider, &message, err) != 0)
        return -1;
    if (e->version >= 3 && message.call_count == 0 && str_is_blank(message.text))
        message.text = STR("");
    bool whole = str_is(e->completeness, "whole"), goes_on = agent->partial == PARTIAL_CUT;
    if ((message.text.n > 0 && whole) || message.call_count > 0)
        agent->nudges = 0;
    if (e->version >= 4 && !early && agent->compact_at == 0)
        agent->partial =
            message.call_count == 0 && !whole && message.text.n > 0 ? PARTIAL_CUT : PARTIAL_NOT;
    int64_t input = event_number(e->input_tokens, -1), output = event_number(e->output_tokens, -1);
    if (output < 0)
        output =
            budget_estimate(message.text) + (e->calls.p != NULL ? budget_estimate(e->calls) : 0);
    if (input < 0)
        input = agent->request_input;
    request_ended(run, agent, e, used_by(run, agent, e, input, output, agent->context_known));
    count_cache(run, agent, e);
    notices_apply(run, e->notice);
    output_learn(run, agent, e, output);
    if (!early && (message.text.n > 0 || message.call_count > 0))
        message_push(agent, &message);
    agent->cut = early ? CUT_EARLY : CUT_NOT;
    agent->context_known = early ? input : input + output;
    agent->context_new = 0;
    agent->context_state = CONTEXT_GROWS;
    agent->booked = agent->message_count;
    if (agent->compact_at == 0)
        agent->overflows = 0;
    agent->input_tokens += input;
    agent->output_tokens += output;
    agent->tries = 0;
    agent->model_now = STR_NONE;
    request_left(run, agent, e);
    patience_forget(run, agent);
    broken_keep(agent);
    member_answered(run, agent, e->ts);
    phase_moves(agent, message.call_count > 0 ? MOVE_CALLED : MOVE_ANSWERED);
    if (early && agent->compact_at == 0)
        agent->account.turns--; /* asking again is still the same turn */
    if (e->model_effective.n > 0)
        agent->model_effective = arena_copy(&agent->arena, e->model_effective);
    if (message.text.n > 0 && goes_on && !early)
        agent->response = arena_printf(&agent->history, "%.*s%.*s", STR_FMT(agent->response),
                                       STR_FMT(message.text));
    else if (message.text.n > 0)
        agent->response = message.text;
    return 0;
}

/* A window below this is not believed: no request would fit. */
#define WINDOW_LEAST (2 * OUTPUT_MIN)

/* The window of the model, after its server refused what was sent as too long. The server's number
 * counts where it explains the refusal. Otherwise our estimate was too low, or the server does not
 * tell the truth: then the limit is a part of what was refused. Either way it is lower than before. */
static int64_t window_learned(const struct agent *agent, const struct event *e)
{
    int64_t window = event_number(e->window, 0), needed = event_number(e->needed, 0);
    if (window >= WINDOW_LEAST && window < agent->request_input + agent->request_output)
        return window;
    int64_t sent = agent->request_input + agent->request_output;
    /* The number is that of input and output together where it is nearer to both than to the input. */
    bool both = needed > sent - agent->request_output / 2;
    if (window >= WINDOW_LEAST && needed > 0 && (both || needed <= window)) {
        int64_t ours = both ? sent : agent->request_input;
        int64_t scaled = (int64_t)((double)window * (double)ours / (double)needed);
        if (scaled < sent && scaled > ours / 2)
            return scaled;
    }
    double part = 0.75;
    if (window >= WINDOW_LEAST && needed > window && (double)window / (double)needed < part)
        part = (double)window / (double)needed;
    return (int64_t)((double)agent->request_input * part) + 1;
}

/* For all agents of the run that use the model. */
static void window_learn(struct run *run, const struct agent *agent, const struct event *e)
{
    int64_t window = window_learned(agent, e);
    for (size_t i = 0; i < run->settings.model_count; i++) {
        struct model_settings *model = &run->settings.models[i];
        if (str_eq(model->name, agent->model_asked) && window < model->max_context_tokens)
            model->max_context_tokens = window;
    }
}

int apply_failed_request(struct run *run, struct agent *agent, const struct event *e,
                         struct err *err)
{
    if (!phase_may_move(agent, MOVE_ANSWERED))
        return apply_out_of_place(e, err);
    struct amount used = used_by_failed(run, agent, e);
    request_ended(run, agent, e, used);
    if (!request_is_billed(e))
        budget_unbilled(&agent->account, used);
    broken_add(agent, e, used);
    enum err_class class = err_class_parse(e->class);
    bool overflow = str_is(e->trouble, "overflow"), refits = overflow && turn_refits(agent);
    if (overflow)
        window_learn(run, agent, e);
    agent->overflows += overflow;
    if (refits)
        agent->tries = 0;
    else if (class != ERR_CANCELLED)
        agent->tries++;
    if ((refits || class == ERR_CANCELLED) && is_new_turn(agent))
        agent->account.turns--; /* nothing was answered: asking again is still the same turn */
    request_left(run, agent, e);
    phase_moves(agent, e->retry_at != EVENT_ABSENT ? MOVE_DELAYED : MOVE_ANSWERED);
    if (e->retry_at != EVENT_ABSENT)
        timer_set(run, agent, TIMER_BACKOFF, e->retry_at);
    if (e->version >= 3) {
        member_failed(run, agent, e);
        patience_failed(run, agent, e);
        if (e->retry_at != EVENT_ABSENT)
            agent->model_now = STR_NONE; /* the order of the pool holds again */
    }
    if (e->fallback.n > 0) {
        agent->model_now = arena_copy(&agent->history, e->fallback);
        agent->tries = 0;
    }
    if (e->partial.n > 0)
        agent->response = arena_copy(&agent->history, e->partial);
    return 0;
}

int apply_timer(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    for (int kind = 0; kind < TIMER_COUNT; kind++) {
        if (str_is(e->kind, timer_names[kind])) {
            int64_t rest = kind == TIMER_PATIENCE ? patience_rest(run, agent) : 0;
            timer_set(run, agent, (enum timer_kind)kind, rest > e->ts ? rest : 0);
            if (agent->stopping == OUTCOME_NONE && (kind == TIMER_WALL || kind == TIMER_ATTEMPT))
                agent->spent.timer = (enum timer_kind)kind;
            if (kind == TIMER_BACKOFF)
                phase_moves(agent, MOVE_RETRIED); /* else nothing waits for it any more */
            return 0;
        }
    }
    return apply_out_of_place(e, err);
}

/* It ends like an attempt whose time is used up. */
int apply_idle(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    if (agent->no == 0 || agent->stopping != OUTCOME_NONE || !agent_busy(agent))
        return apply_out_of_place(e, err);
    agent->spent.timer = TIMER_ATTEMPT;
    return 0;
}
