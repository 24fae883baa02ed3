/* An agent's loop: may it ask, what does the request cost, what does the reply mean. One turn is: advance → model.requested →
 * reply → calls → results → advance. Pure. */
#include "base/json.h"
#include "base/mark.h"
#include "core/run/plan_run.h"

#define NUDGES_MAX 2 /* cut or empty replies in a row before the agent is ended */
#define ALIKE_MAX 4  /* identical turns in a row */
#define REFITS_MAX 3 /* requests of one turn that were too long for the model and are asked again */
/* Kept back for the last turn, where tokens or dollars are limited: what the last results may add, and an answer. */
#define LAST_TURN_INPUT 3072
#define LAST_TURN_OUTPUT 1024

void message_add(struct deciding *d, struct agent *agent, const char *role, const char *note,
                 struct str text)
{
    struct event *e = draft(d, agent->no, EVENT_AGENT_MESSAGE);
    e->role = str_from(role);
    if (note != NULL)
        e->note = str_from(note);
    e->text = text;
    emit(d, e);
}

static const struct model_settings *model_of(const struct deciding *d, const struct agent *agent)
{
    return settings_model(&d->run->settings, pool_pick(d->run, agent, d->now));
}

/* Whether the circuit breaker of a root comes before its budget. */
static bool has_breaker(const struct run *run, const struct agent *agent)
{
    int64_t limit = agent->contract.execution.budget.tool_calls;
    return agent->no == 0 && run->settings.pause_at > 0 &&
           (limit < 0 || run->settings.pause_at < limit);
}

/* How many calls the agent may make: its budget; a root that nobody watches, or whose user said no, stops where the circuit
 * breaker pauses. */
int64_t turn_call_limit(const struct run *run, const struct agent *agent)
{
    bool stops = run->asker != ASKER_ROOT_TERMINAL || agent->pause == PAUSE_STOP;
    return has_breaker(run, agent) && stops ? run->settings.pause_at
                                            : agent->contract.execution.budget.tool_calls;
}

void turn_ask_again(struct deciding *d, const struct agent *agent)
{
    struct effect *effect = effect_add(d, EFFECT_ASK, EFFECT_OUTWARD, agent, agent->pause_id);
    effect->arguments = arena_printf(&d->out->arena, "{\"tool_calls\":%lld,\"hard_stop_at\":%lld}",
                                     (long long)agent->account.tool_calls,
                                     (long long)agent->contract.execution.budget.tool_calls);
    effect_seal(d, effect);
}

bool turn_pauses(struct deciding *d, struct agent *agent)
{
    if (agent->pause == PAUSE_ASKED)
        return true;
    if (agent->pause != PAUSE_AHEAD || agent->turns == TURNS_LAST ||
        d->run->asker != ASKER_ROOT_TERMINAL || !has_breaker(d->run, agent) ||
        agent->account.tool_calls < d->run->settings.pause_at)
        return false;
    struct event *e = draft(d, agent->no, EVENT_RUN_PAUSED);
    e->call_id = arena_printf(&d->out->arena, "p%llu", (unsigned long long)(d->run->seq + 1));
    e->count = agent->account.tool_calls;
    emit(d, e);
    if (!d->failed)
        turn_ask_again(d, agent);
    return true;
}

/* What the last turn will need, so that there is one: a part of a small limit, a full reserve of a large one. Dollars need the larger
 * part: they pay for the whole conversation again, tokens only for what is new in it. */
struct amount turn_reserve(const struct agent *agent, const struct model_settings *model,
                           int64_t input)
{
    struct amount reserve = {0, 0};
    const struct limits *limits = &agent->account.limits;
    if (agent->turns == TURNS_LAST)
        return reserve;
    if (limits->tokens >= 0) {
        int64_t full = LAST_TURN_INPUT + LAST_TURN_OUTPUT;
        reserve.tokens = limits->tokens / 5 < full ? limits->tokens / 5 : full;
    }
    if (limits->cost_nano >= 0) {
        int64_t full = cost_of(input + LAST_TURN_INPUT, price_of_dearest_input(model)) +
                       cost_of(LAST_TURN_OUTPUT, model->price_out_nano);
        reserve.cost_nano = limits->cost_nano / 2 < full ? limits->cost_nano / 2 : full;
    }
    return reserve;
}

static void refuse(struct deciding *d, struct agent *agent, struct str reason)
{
    struct event *e = draft(d, agent->no, EVENT_BUDGET_REFUSED);
    e->reason = reason;
    emit(d, e);
}

/* Says that no more turns follow and that no call is executed, then asks once more. */
static void last_turn(struct deciding *d, struct agent *agent, enum outcome why)
{
    message_add(d, agent, "user", why == OUTCOME_TIMEOUT ? "last_turn_timeout" : "last_turn",
                prompt_last_turn(d, agent, why));
    turn_advance(d, agent);
}

static void ask(struct deciding *d, struct agent *agent, const struct model_settings *model,
                int64_t estimate, const struct amount *amount, int64_t output_limit)
{
    bool executes = agent->turns != TURNS_LAST && agent->compact_at == 0;
    char hex[MARK_HEX + 1];
    mark_hex(agent->conversation, hex);
    struct event *e = draft(d, agent->no, EVENT_MODEL_REQUESTED);
    e->call_id = arena_printf(&d->out->arena, "m%llu", (unsigned long long)(d->run->seq + 1));
    e->name = keep(d, model->name);
    e->model = keep(d, model->model);
    e->provider = keep(d, model->provider);
    e->origin = agent->compact_at != 0 ? STR("compact") : STR("loop");
    e->attempt = agent->tries;
    e->tools = executes ? STR("offered") : STR("kept");
    e->estimate = estimate;
    e->output_limit = output_limit;
    e->tokens = amount->tokens;
    e->cost_nano = amount->cost_nano;
    e->request = keep(d, (struct str){hex, MARK_HEX});
    emit(d, e);
    if (budget_limited(&agent->account)) {
        struct event *reserved = draft(d, agent->no, EVENT_BUDGET_RESERVED);
        reserved->call_id = e->call_id;
        reserved->tokens = amount->tokens;
        reserved->cost_nano = amount->cost_nano;
        emit(d, reserved);
    }
    struct effect *effect = effect_add(d, EFFECT_MODEL, EFFECT_COSTLY, agent, e->call_id);
    effect->output_limit = output_limit;
    effect->conversation = agent->conversation;
    effect_seal(d, effect);
}

static void wait_for_budget(struct deciding *d, struct agent *agent, const struct amount *amount)
{
    if (agent->waits_for_budget)
        return;
    struct event *e = draft(d, agent->no, EVENT_BUDGET_WAITING);
    e->tokens = amount->tokens;
    e->cost_nano = amount->cost_nano;
    emit(d, e);
}

/* What one request of this agent may have. */
static int64_t context_bound(const struct agent *agent, const struct model_settings *model)
{
    int64_t bound = agent->contract.execution.budget.context_tokens;
    return bound < 0 || bound > model->max_context_tokens ? model->max_context_tokens : bound;
}

/* New input tokens that are left when the shortest answer is paid for. */
static int64_t affordable_input(const struct agent *agent, const struct model_settings *model)
{
    struct amount left = budget_left(&agent->account);
    int64_t tokens = left.tokens >= 0 ? left.tokens - OUTPUT_MIN : INT64_MAX;
    int64_t price = price_of_dearest_input(model);
    if (left.cost_nano >= 0 && price > 0) {
        int64_t money = left.cost_nano - cost_of(OUTPUT_MIN, model->price_out_nano) -
                        cost_of(agent->context_known, price);
        int64_t paid = money > 0 ? money / price : 0;
        tokens = paid < tokens ? paid : tokens;
    }
    return tokens;
}

bool turn_refits(const struct agent *agent)
{
    return agent->overflows < REFITS_MAX;
}

/* Nothing makes the conversation short enough. */
static void finish_too_long(struct deciding *d, struct agent *agent,
                            const struct model_settings *model, int64_t estimate, int64_t bound)
{
    struct str why = arena_printf(
        &d->out->arena,
        "the conversation needs about %lld tokens and a request to \"%.*s\" may have %lld",
        (long long)(estimate + OUTPUT_MIN), STR_FMT(model->name), (long long)bound);
    refuse(d, agent, why);
    agent_finish(d, agent, OUTCOME_ERROR, why);
}

static void request(struct deciding *d, struct agent *agent)
{
    const struct model_settings *model = model_of(d, agent);
    if (model == NULL) {
        bool known = settings_model(&d->run->settings, agent->contract.model.name) != NULL;
        agent_finish(d, agent, OUTCOME_ERROR,
                     known ? pool_error(d, agent, STR_NONE)
                           : STR("the contract's model is not in the run's settings"));
        return;
    }
    int64_t tools = 0;
    if (agent->context_known == 0) /* else they were reported with the conversation */
        tools = settings_tool_tokens(&d->run->settings, &agent->contract.permissions.allowed_tools);
    int64_t fresh = agent->context_new + tools;
    int64_t estimate = agent->context_known + fresh;
    int64_t window = model->max_context_tokens, bound = context_bound(agent, model);
    if (estimate > bound * 7 / 10 && context_reduce(d, agent, bound)) {
        request(d, agent);
        return;
    }
    if (estimate > bound || estimate + OUTPUT_MIN > window) {
        if (agent->compact_at != 0) {
            /* Too long even to be summarised. */
            context_compacted(d, agent, STR_NONE, bound);
            turn_advance(d, agent);
            return;
        }
        if (context_fit(d, agent, bound * 7 / 10 - (estimate - context_unbooked(agent))))
            request(d, agent);
        else
            finish_too_long(d, agent, model, estimate, bound);
        return;
    }
    struct quote quote = {
        .input_tokens = estimate,
        .new_tokens = agent->context_state == CONTEXT_REBUILT ? context_unbooked(agent) : fresh,
        .output_limit = agent->contract.model.params.max_output_tokens};
    quote.price_in_nano = price_of_dearest_input(model);
    quote.price_out_nano = model->price_out_nano;
    if (quote.output_limit > model->max_tokens)
        quote.output_limit = model->max_tokens;
    if (quote.output_limit > window - estimate)
        quote.output_limit = window - estimate;
    struct amount amount = {0, 0};
    int64_t output_limit = 0;
    switch (budget_quote(&agent->account, &quote, turn_reserve(agent, model, estimate), &amount,
                         &output_limit)) {
    case BUDGET_GRANTED:
        ask(d, agent, model, estimate, &amount, output_limit);
        return;
    case BUDGET_WAIT:
        wait_for_budget(d, agent, &amount);
        return;
    case BUDGET_NEVER:
        refuse(d, agent, STR("what is left of the budget does not pay for another request"));
        if (agent->turns != TURNS_LAST)
            last_turn(d, agent, OUTCOME_BUDGET_EXCEEDED);
        else if (context_fit(d, agent, affordable_input(agent, model) - tools))
            request(d, agent);
        else
            agent_finish(d, agent, OUTCOME_BUDGET_EXCEEDED, STR("the budget is used up"));
        return;
    }
}

static void warn_once(struct deciding *d, struct agent *agent)
{
    int percent = budget_percent(&agent->account);
    bool many = agent->no == 0 && d->run->settings.warn_at > 0 &&
                agent->account.tool_calls >= d->run->settings.warn_at;
    if (agent->turns != TURNS_FREE || (percent < 80 && !many))
        return;
    struct event *e = draft(d, agent->no, EVENT_BUDGET_WARNED);
    e->percent = percent;
    emit(d, e);
    message_add(d, agent, "user", "warn", prompt_warning(d, agent, percent));
}

/* What its parent sent meanwhile: now it stands behind all results of the last turn. */
static void tell_steered(struct deciding *d, struct agent *agent)
{
    struct buf out;
    if (agent->steered.n == agent->steered_told || agent->compact_at != 0)
        return;
    buf_init(&out, SIZE_MAX / 4);
    buf_text(&out, "Message from the agent that started you:");
    for (size_t i = agent->steered_told; i < agent->steered.n; i++) {
        buf_text(&out, "\n\n");
        buf_str(&out, agent->steered.items[i]);
    }
    message_add(d, agent, "user", "steer", keep(d, buf_view(&out)));
    buf_release(&out);
}

static struct str directed_error(const struct run *run, const struct agent *agent, struct str text)
{
    const struct call *call = &agent->calls[agent->call_count - 1];
    if (str_starts(text, STR("Error: ")))
        return (struct str){text.p + 7, text.n - 7};
    return call->plan != NULL ? plan_problem(run, call) : text;
}

/* A root that asks no model has done what it was started for: the result of its call is its answer. */
static void finish_directed(struct deciding *d, struct agent *agent)
{
    const struct message *last = &agent->messages[agent->message_count - 1];
    struct str text = keep(d, last->text);
    if (last->outcome == TOOL_OK)
        agent_finish(d, agent, OUTCOME_COMPLETED, STR_NONE);
    else
        agent_finish(d, agent, OUTCOME_ERROR, directed_error(d->run, agent, text));
}

void turn_advance(struct deciding *d, struct agent *agent)
{
    if (d->failed || agent->phase != PHASE_READY)
        return;
    if (agent->stopping != OUTCOME_NONE) {
        agent_settle_stop(d, agent);
        return;
    }
    if (d->run->directed && agent->no == 0) {
        finish_directed(d, agent);
        return;
    }
    if (turn_pauses(d, agent))
        return;
    tell_steered(d, agent);
    int64_t calls = turn_call_limit(d->run, agent), turns = agent->contract.execution.budget.turns;
    bool spent = (calls >= 0 && agent->account.tool_calls >= calls) ||
                 (turns >= 0 && agent->account.turns + 1 >= turns);
    if (spent && agent->turns != TURNS_LAST && agent->account.turns > 0 && agent->tries == 0) {
        last_turn(d, agent, OUTCOME_BUDGET_EXCEEDED);
        return;
    }
    if (agent->tries == 0 && agent->account.turns > 0)
        warn_once(d, agent);
    request(d, agent);
}

/* --- answers ---------------------------------------------------------------------------------------------------------- */

/* Books what the request used, where that is not done with its answer. */
static void settle(struct deciding *d, struct agent *agent)
{
    if (!budget_limited(&agent->account))
        return;
    struct event *e = draft(d, agent->no, EVENT_BUDGET_SETTLED);
    e->tokens = agent->reserved.tokens;
    e->cost_nano = agent->reserved.cost_nano;
    e->used_tokens = agent->used.tokens;
    e->used_cost_nano = agent->used.cost_nano;
    emit(d, e);
}

/* failed: the error when nudging did not help. */
static void nudge(struct deciding *d, struct agent *agent, const char *note, struct str text,
                  struct str failed)
{
    if (agent->nudges >= NUDGES_MAX) {
        if (agent->response.n > 0)
            agent_finish(d, agent,
                         agent->limit_outcome != OUTCOME_NONE ? agent->limit_outcome
                                                              : OUTCOME_COMPLETED,
                         STR_NONE);
        else
            agent_give_up(d, agent, OUTCOME_ERROR, failed);
        return;
    }
    message_add(d, agent, "user", note, text);
    turn_advance(d, agent);
}

static void reply_without_calls(struct deciding *d, struct agent *agent,
                                const struct model_reply *reply)
{
    if (agent->limit_outcome != OUTCOME_NONE) {
        agent_finish(d, agent, agent->limit_outcome, STR_NONE);
    } else if (reply->completeness == REPLY_CUT) {
        nudge(d, agent, "cut",
              STR("Your last reply was cut off by the output limit. Go on in smaller steps: one "
                  "short tool call or a shorter answer."),
              STR("the output limit cut the model's answer off three times in a row, before any "
                  "text came: raise max_output_tokens, or lower the effort"));
    } else if (str_is_blank(reply->text)) {
        nudge(d, agent, "empty",
              STR("Your last reply was empty. Call a tool, or answer with text."),
              STR("the model's answer was empty or white space three times in a row: try "
                  "another model, or put the task in other words"));
    } else if (agent->steered.n > agent->steered_told) {
        turn_advance(d, agent); /* it was told something that it has not seen */
    } else if (answer_corrected(d, agent) || plan_verdict_asked(d, agent)) {
        turn_advance(d, agent);
    } else {
        agent_finish(d, agent, OUTCOME_COMPLETED, STR_NONE);
    }
}

static void summarised(struct deciding *d, struct agent *agent, struct str summary)
{
    const struct model_settings *model = model_of(d, agent);
    context_compacted(d, agent, summary, model != NULL ? context_bound(agent, model) : 0);
    turn_advance(d, agent);
}

/* The model was asked for a summary. Tool schemas are sent with that request too, so it may answer with
 * calls: they are not executed, and it is told so once. */
static void summary_replied(struct deciding *d, struct agent *agent,
                            const struct model_reply *reply)
{
    bool told = context_summary_corrected(agent);
    if (agent->phase == PHASE_TOOLS)
        calls_decline(d, agent,
                      STR("Error: this call was not executed. Do not call tools now: answer with "
                          "the summary only, as text."));
    if (d->failed)
        return;
    if (reply->call_count > 0 && !told)
        request(d, agent);
    else
        summarised(d, agent, reply->text);
}

void turn_replied(struct deciding *d, struct agent *agent, const struct model_reply *reply)
{
    if (d->failed)
        return;
    settle(d, agent);
    if (agent->stopping != OUTCOME_NONE) {
        agent_settle_stop(d, agent);
        return;
    }
    if (agent->compact_at != 0) {
        summary_replied(d, agent, reply);
        return;
    }
    if (agent->phase != PHASE_TOOLS) {
        reply_without_calls(d, agent, reply);
        return;
    }
    if (agent->turns == TURNS_LAST) {
        calls_decline(d, agent,
                      STR("Error: this call was not executed: it came with the last turn."));
        agent_finish(d, agent, agent->limit_outcome, STR_NONE);
        return;
    }
    if (agent->turns_alike >= ALIKE_MAX) {
        agent_give_up(d, agent, OUTCOME_ERROR, STR("stopped: four identical turns in a row"));
        return;
    }
    calls_advance(d, agent);
}

/* The server refuses every length that was tried. */
static void finish_refused(struct deciding *d, struct agent *agent,
                           const struct model_failure *failure)
{
    const struct model_settings *model = settings_model(&d->run->settings, agent->model_asked);
    agent_finish(d, agent, OUTCOME_ERROR,
                 arena_printf(&d->out->arena,
                              "\"%.*s\" refused the conversation as too long %lld times; the last "
                              "one had about %lld tokens, and a request may now have %lld: %.*s",
                              STR_FMT(agent->model_asked), (long long)agent->overflows,
                              (long long)agent->request_input,
                              (long long)(model != NULL ? model->max_context_tokens : 0),
                              STR_FMT(failure->message)));
}

void turn_failed(struct deciding *d, struct agent *agent, const struct model_failure *failure,
                 const struct verdict *verdict)
{
    if (d->failed)
        return;
    settle(d, agent);
    if (agent->stopping != OUTCOME_NONE)
        agent_settle_stop(d, agent);
    else if (verdict->kind == VERDICT_NEXT || verdict->kind == VERDICT_REFIT)
        turn_advance(d, agent);
    else if (verdict->kind == VERDICT_PARK)
        run_park(d, agent->model_asked, failure->message);
    else if (verdict->kind == VERDICT_END && agent->compact_at != 0)
        summarised(d, agent, STR_NONE); /* no summary to be had: go on without what came before */
    else if (verdict->kind == VERDICT_END && failure->trouble == TROUBLE_OVERFLOW)
        finish_refused(d, agent, failure);
    else if (verdict->kind == VERDICT_END && failure->class == ERR_CANCELLED)
        agent_give_up(d, agent, OUTCOME_ERROR, keep(d, verdict->text));
    else if (verdict->kind == VERDICT_END)
        agent_finish(d, agent, OUTCOME_ERROR,
                     failure_shown(d, verdict->text, failure)); /* asking again gives the same */
}

void turn_interrupted(struct deciding *d, struct agent *agent)
{
    struct event *e = draft(d, agent->no, EVENT_MODEL_FAILED);
    e->call_id = keep(d, agent->request_id);
    e->class = str_from(err_class_text(ERR_CANCELLED));
    e->error = STR("the process ended while the request was out; it is asked again");
    if (agent->held == HELD_NOW)
        e->sent = STR("no");
    emit(d, e);
    settle(d, agent);
}

/* --- who may go on ----------------------------------------------------------------------------------------------------- */

static void give_slots(struct deciding *d)
{
    struct run *run = d->run;
    while (!d->failed && run->slot_count > 0 && run->status == RUN_RUNNING &&
           (run->settings.max_concurrent <= 0 || run->slots_held < run->settings.max_concurrent)) {
        const struct slot_wait *wait = &run->slot_queue[run->slot_head];
        struct agent *agent = run_agent_at(run, wait->agent_no);
        if (!slot_is_wanted(run, wait)) {
            run->slot_head++;
            run->slot_count--;
        } else if (agent->life == LIFE_CREATED) {
            child_start(d, agent);
        } else {
            turn_advance(d, agent);
            if (agent->slot == SLOT_QUEUED)
                break;
        }
    }
}

/* First come, first served: the oldest that still does not fit holds the others back, or it would starve. */
static void give_budget(struct deciding *d)
{
    struct run *run = d->run;
    while (!d->failed && run->budget_count > 0 && run->status == RUN_RUNNING) {
        uint32_t oldest = run->budget_queue[0];
        turn_advance(d, run_agent_at(run, oldest));
        if (run->budget_count > 0 && run->budget_queue[0] == oldest)
            break;
    }
}

/* Each may end agents and so make room, or children, for the other. */
void schedule(struct deciding *d)
{
    uint64_t before;
    do {
        before = d->run->seq;
        give_slots(d);
        give_budget(d);
    } while (!d->failed && d->run->seq != before);
}
