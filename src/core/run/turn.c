/* An agent's loop: may it ask, what does the request cost, what does the reply mean. One turn is: advance → model.requested →
 * reply → calls → results → advance. Pure. */
#include "base/json.h"
#include "base/mark.h"
#include "core/run/continue.h"
#include "core/run/plan_run.h"

#define NUDGES_MAX 2 /* cut or empty replies in a row before the agent is ended */
#define ALIKE_MAX 4  /* identical turns in a row */
#define REFITS_MAX 3 /* requests of one turn that were too long for the model and are asked again */
/* Kept back for the last turn, where tokens or dollars are limited: what the last results may add, and an answer. */
#define LAST_TURN_INPUT 3072
#define LAST_TURN_OUTPUT 1024

void message_add(struct deciding *d, const struct agent *agent, const char *role, const char *note,
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

bool turn_stops_at_pause(const struct run *run, const struct agent *agent)
{
    return has_breaker(run, agent) && (run->asker != ASKER_TERMINAL || agent->pause == PAUSE_STOP);
}

int64_t turn_call_limit(const struct run *run, const struct agent *agent)
{
    return turn_stops_at_pause(run, agent) ? run->settings.pause_at
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

bool turn_pauses(struct deciding *d, const struct agent *agent)
{
    if (agent->pause == PAUSE_ASKED)
        return true;
    if (agent->pause != PAUSE_AHEAD || agent->turns == TURNS_LAST ||
        d->run->asker != ASKER_TERMINAL || !has_breaker(d->run, agent) ||
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

static struct amount last_turn_needs(const struct model_settings *model, int64_t input)
{
    return (struct amount){LAST_TURN_INPUT + LAST_TURN_OUTPUT,
                           cost_of(input + LAST_TURN_INPUT, price_of_dearest_input(model)) +
                               cost_of(LAST_TURN_OUTPUT, model->price_out_nano)};
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* What the last turn will need, so that there is one: a part of a small limit, a full reserve of a large one. Dollars need the larger
 * part: they pay for the whole conversation again, tokens only for what is new in it. */
struct amount turn_reserve(const struct agent *agent, const struct model_settings *model,
                           int64_t input)
{
    struct amount reserve = {0, 0}, full = last_turn_needs(model, input);
    const struct limits *limits = &agent->account.limits;
    if (agent->turns == TURNS_LAST)
        return reserve;
    if (limits->tokens >= 0)
        reserve.tokens = smaller(limits->tokens / 5, full.tokens);
    if (limits->cost_nano >= 0)
        reserve.cost_nano = smaller(limits->cost_nano / 2, full.cost_nano);
    return reserve;
}

static void refuse(struct deciding *d, const struct agent *agent, struct str reason)
{
    struct event *e = draft(d, agent->no, EVENT_BUDGET_REFUSED);
    e->reason = reason;
    emit(d, e);
}

/* Says that no more turns follow and that no call is executed, then asks once more. limit: which one was reached. */
static void last_turn(struct deciding *d, const struct agent *agent, enum limit_kind kind,
                      struct str limit)
{
    struct event *e = draft(d, agent->no, EVENT_AGENT_MESSAGE);
    e->role = STR("user");
    e->note = STR("last_turn");
    e->text = prompt_last_turn(d, agent, kind, limit);
    e->reason = limit;
    emit(d, e);
    turn_advance(d, agent);
}

/* most: the output limit without what was learnt, where that lowered it; else EVENT_ABSENT. */
static void ask(struct deciding *d, const struct agent *agent, const struct model_settings *model,
                int64_t estimate, const struct amount *amount, int64_t output_limit, int64_t most)
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
    e->output_most = most;
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

static void wait_for_budget(struct deciding *d, const struct agent *agent,
                            const struct amount *amount)
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
static void finish_too_long(struct deciding *d, const struct agent *agent,
                            const struct model_settings *model, int64_t estimate, int64_t bound)
{
    struct str why = arena_printf(
        &d->out->arena,
        "the conversation needs about %lld tokens and a request to \"%.*s\" may have %lld (%.*s)",
        (long long)(estimate + OUTPUT_MIN), STR_FMT(model->name), (long long)bound,
        STR_FMT(limit_context_key(d, agent, model)));
    refuse(d, agent, why);
    agent_finish(d, agent, OUTCOME_ERROR, why);
}

static void request(struct deciding *d, const struct agent *agent);

/* Tokens of the tools' schemas, where they were not reported with the conversation yet. */
static int64_t unknown_tools(const struct deciding *d, const struct agent *agent)
{
    return agent->context_known == 0 ? contract_tool_tokens(&agent->contract, &d->run->settings)
                                     : 0;
}

/* What is left of this limit does not pay for the request: a last turn, a last turn with less in it, or the end. */
static void finish_unpaid(struct deciding *d, const struct agent *agent,
                          const struct model_settings *model, enum limit_kind kind,
                          struct str limit)
{
    int64_t tools = unknown_tools(d, agent);
    refuse(d, agent,
           arena_printf(&d->out->arena,
                        "what is left of the budget does not pay for another request%s%.*s",
                        limit.n > 0 ? ": " : "", STR_FMT(limit)));
    if (agent->turns != TURNS_LAST)
        last_turn(d, agent, kind, limit);
    else if (context_fit(d, agent, affordable_input(agent, model) - tools))
        request(d, agent);
    else
        agent_finish(d, agent, OUTCOME_BUDGET_EXCEEDED, limit_error(d, limit));
}

/* The limit that does not pay for the request, and how much would: also for a full last turn, which a larger limit keeps back. */
static struct str unpaid_limit(struct deciding *d, const struct agent *agent,
                               const struct model_settings *model, const struct quote *quote,
                               struct budget_bound bound)
{
    struct amount needed = last_turn_needs(model, quote->input_tokens);
    needed.tokens += quote->new_tokens + OUTPUT_MIN;
    needed.cost_nano += cost_of(quote->input_tokens, quote->price_in_nano) +
                        cost_of(OUTPUT_MIN, quote->price_out_nano);
    return limit_of_bound(d, agent, bound, needed);
}

/* Lowers the quote's output limit to what was learnt, where a budget must be shared and pays for the request once more with twice
 * that limit: if the answer is cut off. Reservations of others do not count for that: most of what they hold comes back. Nor is a
 * request squeezed below what was learnt because of them; it waits. Returns the limit that it had, or EVENT_ABSENT where it stays
 * as it is. */
static int64_t lower_output(const struct deciding *d, const struct agent *agent,
                            const struct model_settings *model, struct quote *quote,
                            struct amount reserve)
{
    int64_t most = quote->output_limit;
    if (!budget_limited(&agent->account))
        return EVENT_ABSENT;
    int64_t learnt = output_learnt(d->run, agent, model->name, most);
    quote->output_limit = quote->output_least = learnt;
    if (learnt < most &&
        budget_covers_again(&agent->account, quote, reserve, learnt < most / 2 ? 2 * learnt : most))
        return most;
    quote->output_limit = most;
    return EVENT_ABSENT;
}

static void request(struct deciding *d, const struct agent *agent)
{
    const struct model_settings *model = model_of(d, agent);
    if (model == NULL) {
        bool known = settings_model(&d->run->settings, agent->contract.model.name) != NULL;
        agent_finish(d, agent, OUTCOME_ERROR,
                     known ? pool_error(d, agent, STR_NONE)
                           : STR("the contract's model is not in the run's settings"));
        return;
    }
    int64_t fresh = agent->context_new + unknown_tools(d, agent);
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
    /* Another model of the pool may write less than the contract's own. */
    int64_t writes = model_output_most(model, &agent->contract.model.params);
    if (quote.output_limit > writes)
        quote.output_limit = writes;
    if (quote.output_limit > window - estimate)
        quote.output_limit = window - estimate;
    struct amount amount = {0, 0}, reserve = turn_reserve(agent, model, estimate);
    int64_t output_limit = 0, most = lower_output(d, agent, model, &quote, reserve);
    struct budget_bound bound_of = budget_tightest(&agent->account, &quote, reserve);
    switch (budget_quote(&agent->account, &quote, reserve, &amount, &output_limit)) {
    case BUDGET_GRANTED:
        if (output_limit < quote.output_limit)
            most = EVENT_ABSENT; /* the budget leaves even less */
        ask(d, agent, model, estimate, &amount, output_limit, most);
        return;
    case BUDGET_WAIT:
        wait_for_budget(d, agent, &amount);
        return;
    case BUDGET_NEVER:
        if (budget_is_broken(&agent->account, &quote, reserve)) {
            run_park_broken(d, agent);
            return;
        }
        finish_unpaid(d, agent, model, bound_of.kind,
                      unpaid_limit(d, agent, model, &quote, bound_of));
        return;
    }
}

static void warn_once(struct deciding *d, const struct agent *agent)
{
    int percent = budget_percent(&agent->account);
    int64_t calls = turn_call_limit(d->run, agent);
    /* A root that nobody watches stops where the breaker pauses, long before its budget of calls is used up. */
    int of_calls = calls > 0 ? (int)(agent->account.tool_calls * 100 / calls) : 0;
    enum limit_kind kind = budget_fullest(&agent->account);
    if (of_calls > percent) {
        percent = of_calls;
        kind = LIMIT_TOOL_CALLS;
    }
    bool many = agent->no == 0 && d->run->settings.warn_at > 0 &&
                agent->account.tool_calls >= d->run->settings.warn_at;
    if (agent->turns != TURNS_FREE || (percent < 80 && !many))
        return;
    struct event *e = draft(d, agent->no, EVENT_BUDGET_WARNED);
    e->percent = percent;
    e->reason = percent < 80 ? limit_warn_at(d) : limit_of(d, agent, kind);
    emit(d, e);
    message_add(
        d, agent, "user", "warn",
        prompt_warning(d, agent, percent, percent < 80 ? LIMIT_TOOL_CALLS : kind, e->reason));
}

/* What its parent sent meanwhile: now it stands behind all results of the last turn. */
static void tell_steered(struct deciding *d, const struct agent *agent)
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
static void finish_directed(struct deciding *d, const struct agent *agent)
{
    const struct message *last = &agent->messages[agent->message_count - 1];
    struct str text = keep(d, last->text);
    if (last->outcome == TOOL_OK)
        agent_finish(d, agent, OUTCOME_COMPLETED, STR_NONE);
    else
        agent_finish(d, agent, OUTCOME_ERROR, directed_error(d->run, agent, text));
}

void turn_advance(struct deciding *d, const struct agent *agent)
{
    if (d->failed || agent->phase != PHASE_READY)
        return;
    if (d->run->directed && agent->no == 0) {
        finish_directed(d, agent);
        return;
    }
    if (turn_pauses(d, agent))
        return;
    tell_steered(d, agent);
    int64_t calls = turn_call_limit(d->run, agent), turns = agent->contract.execution.budget.turns;
    bool no_calls = calls >= 0 && agent->account.tool_calls >= calls;
    bool spent = no_calls || (turns >= 0 && agent->account.turns + 1 >= turns);
    if (spent && agent->turns != TURNS_LAST && agent->account.turns > 0 && agent->tries == 0) {
        enum limit_kind kind = no_calls ? LIMIT_TOOL_CALLS : LIMIT_TURNS;
        last_turn(d, agent, kind, limit_of(d, agent, kind));
        return;
    }
    if (agent->tries == 0 && agent->account.turns > 0)
        warn_once(d, agent);
    request(d, agent);
}

/* --- answers ---------------------------------------------------------------------------------------------------------- */

void turn_settle(struct deciding *d, const struct agent *agent)
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

static void nudge(struct deciding *d, const struct agent *agent, const char *note, struct str text)
{
    message_add(d, agent, "user", note, text);
    turn_advance(d, agent);
}

/* Half an answer is not an answer, and another attempt would get another half. */
#define CUT_AGAIN                                                                                  \
    "the output limit cut the model's answer off three times in a row, so it is not complete: "    \
    "raise max_tokens of the model, or ask for less at once"

/* What came of it stands in the conversation, and the parts are joined (apply_replied). */
static void reply_cut(struct deciding *d, const struct agent *agent)
{
    if (agent->nudges < NUDGES_MAX)
        nudge(d, agent, "cut",
              STR("Your last reply was cut off by the output limit. Go on exactly where it ended, "
                  "without repeating any of it; or make one short tool call."));
    else if (agent->response.n > 0)
        agent_finish(d, agent, OUTCOME_ERROR, STR(CUT_AGAIN));
    else
        agent_give_up(d, agent, OUTCOME_ERROR,
                      STR("the output limit cut the model's answer off three times in a row, "
                          "before any text came: raise max_tokens of the model, or lower the "
                          "effort"));
}

static void reply_blank(struct deciding *d, const struct agent *agent)
{
    if (agent->nudges < NUDGES_MAX)
        nudge(d, agent, "empty",
              STR("Your last reply was empty. Call a tool, or answer with text."));
    else if (agent->response.n > 0)
        agent_finish(d, agent, OUTCOME_COMPLETED, STR_NONE);
    else
        agent_give_up(d, agent, OUTCOME_ERROR,
                      STR("the model's answer was empty or white space three times in a row: try "
                          "another model, or put the task in other words"));
}

static void reply_without_calls(struct deciding *d, const struct agent *agent,
                                const struct model_reply *reply)
{
    if (agent->limit_outcome != OUTCOME_NONE) {
        agent_finish(d, agent, agent->limit_outcome, STR_NONE);
    } else if (reply->completeness == REPLY_CUT) {
        reply_cut(d, agent);
    } else if (str_is_blank(reply->text)) {
        reply_blank(d, agent);
    } else if (agent->steered.n > agent->steered_told) {
        turn_advance(d, agent); /* it was told something that it has not seen */
    } else if (answer_corrected(d, agent) || plan_verdict_asked(d, agent)) {
        turn_advance(d, agent);
    } else {
        agent_finish(d, agent, OUTCOME_COMPLETED, STR_NONE);
    }
}

static void summarised(struct deciding *d, const struct agent *agent, struct str summary)
{
    const struct model_settings *model = model_of(d, agent);
    context_compacted(d, agent, summary, model != NULL ? context_bound(agent, model) : 0);
    turn_advance(d, agent);
}

/* The model was asked for a summary. Tool schemas are sent with that request too, so it may answer with
 * calls: they are not executed, and it is told so once. */
static void summary_replied(struct deciding *d, const struct agent *agent,
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

void turn_replied(struct deciding *d, const struct agent *agent, const struct model_reply *reply)
{
    if (d->failed)
        return;
    turn_settle(d, agent);
    if (agent->stopping != OUTCOME_NONE) {
        agent_continue(d, agent);
        return;
    }
    if (agent->cut == CUT_EARLY) {
        turn_advance(d, agent);
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
    agent_continue(d, agent);
}

/* The server refuses every length that was tried. */
static void finish_refused(struct deciding *d, const struct agent *agent,
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

void turn_failed(struct deciding *d, const struct agent *agent, const struct model_failure *failure,
                 const struct verdict *verdict)
{
    if (d->failed)
        return;
    turn_settle(d, agent);
    if (agent->stopping != OUTCOME_NONE)
        agent_continue(d, agent);
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

void turn_interrupted(struct deciding *d, const struct agent *agent)
{
    struct event *e = draft(d, agent->no, EVENT_MODEL_FAILED);
    e->call_id = keep(d, agent->request_id);
    e->class = str_from(err_class_text(ERR_CANCELLED));
    e->error = STR("the process ended while the request was out; it is asked again");
    if (agent->held == HELD_NOW)
        e->sent = STR("no");
    emit(d, e);
    turn_settle(d, agent);
}
