/* The steps of a plan that a call carries out: which of them ended, can never start, must be asked about, may start now, and what
 * each may spend. What may start when is core/plan's to say. Pure. */
#include "base/utf8.h"
#include "core/plan/estimate.h"
#include "core/plan/prompt.h"
#include "core/plan/request.h"
#include "core/run/plan_run.h"

#define PASSED_ON_BYTES 16384 /* of what prerequisites said */

const struct call_child *call_item(const struct call *call, int64_t item)
{
    for (size_t i = 0; i < call->child_count; i++) {
        if (call->children[i].item == item)
            return &call->children[i];
    }
    return NULL;
}

const struct agent *call_item_agent(const struct run *run, const struct call *call, int64_t item)
{
    const struct call_child *child = call_item(call, item);
    return child != NULL && child->no != 0 ? run_agent_at(run, child->no) : NULL;
}

static struct event *step_event(struct deciding *d, const struct agent *agent,
                                const struct call *call, size_t step, const char *status)
{
    struct event *e = draft(d, agent->no, EVENT_PLAN_STEP);
    e->call_id = keep(d, call->call.id);
    e->item = (int64_t)step;
    e->name = keep(d, call->plan->plan.steps[step].id);
    e->kind = str_from(status);
    return e;
}

void plan_step_is(struct deciding *d, const struct agent *agent, const struct call *call,
                  size_t step, const char *status, struct str reason)
{
    struct event *e = step_event(d, agent, call, step, status);
    if (reason.n > 0)
        e->reason = reason;
    emit(d, e);
}

void plan_step_approved(struct deciding *d, const struct agent *agent, const struct call *call,
                        size_t step, struct str shown)
{
    struct event *e = step_event(d, agent, call, step, "approved");
    e->shown = shown;
    emit(d, e);
}

bool plan_child_worked(const struct agent *child)
{
    return ending_worked(child->outcome) &&
           (child->outcome != OUTCOME_BUDGET_EXCEEDED || child->account.tool_calls > 0);
}

struct str plan_child_error(const struct agent *child)
{
    return child->error.n > 0 ? child->error : STR("the budget is used up");
}

void plan_steps_settle(struct deciding *d, const struct agent *agent, const struct call *call)
{
    for (size_t i = 0; i < call->plan->plan.count && !d->failed; i++) {
        const struct agent *child = call_item_agent(d->run, call, (int64_t)i);
        if (call->plan->states[i].status != STEP_IN_PROGRESS || child == NULL ||
            child->phase != PHASE_DONE)
            continue;
        bool worked = plan_child_worked(child);
        bool whole = child->outcome == OUTCOME_COMPLETED;
        plan_step_is(d, agent, call, i, worked ? "completed" : "failed",
                     whole ? STR_NONE : keep(d, plan_child_error(child)));
    }
}

/* Why a step can never start: the first of its prerequisites that was not done. */
static struct str missing(struct deciding *d, const struct plan_run *plan, size_t step)
{
    const struct plan_step *skipped = &plan->plan.steps[step];
    for (size_t k = 0; k < skipped->depends_on.n; k++) {
        enum step_status status = plan->states[skipped->needs[k]].status;
        if (status == STEP_FAILED || status == STEP_SKIPPED)
            return arena_printf(&d->out->arena, "it needs %.*s, which was not done",
                                STR_FMT(skipped->depends_on.items[k]));
    }
    return STR("something that it needs was not done");
}

static void skip_steps(struct deciding *d, const struct agent *agent, const struct call *call)
{
    size_t steps[PLAN_STEPS_MAX];
    size_t count = schedule_to_skip(&call->plan->schedule, call->plan->states, steps);
    for (size_t i = 0; i < count && !d->failed; i++)
        plan_step_is(d, agent, call, steps[i], "skipped", missing(d, call->plan, steps[i]));
}

/* --- what is asked ------------------------------------------------------------------------------------------------------------ */

const struct call *plan_step_asked(const struct agent *agent, struct str id, size_t *step)
{
    struct arena arena;
    const struct call *found = NULL;
    arena_init(&arena);
    for (size_t k = 0; found == NULL && agent->phase == PHASE_TOOLS && question_is_of_step(id) &&
                       k < agent->call_count;
         k++) {
        const struct call *call = &agent->calls[k];
        if (call->plan == NULL || call->state == CALL_DONE || !str_starts(id, call->call.id))
            continue;
        for (size_t i = 0; found == NULL && i < call->plan->plan.count; i++) {
            if (call->plan->states[i].status == STEP_BLOCKED &&
                str_eq(question_of_step(&arena, call->call.id, (int64_t)i), id)) {
                found = call;
                *step = i;
            }
        }
    }
    arena_release(&arena);
    return found;
}

static void print_list(struct jw *w, const char *key, const struct list *list)
{
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < list->n; i++)
        jw_str(w, list->items[i]);
    jw_end_array(w);
}

/* The contract as it would be now; a budget that others use up meanwhile is no part of what is shown. */
static void print_contract(const struct run *run, const struct agent *agent,
                           const struct call *call, size_t step, struct jw *w)
{
    struct err why = ERR_INIT;
    struct arena arena;
    struct delegation request;
    struct contract contract;
    struct facts facts = {.run_id = run->id,
                          .session_id = run->session_id,
                          .parent_agent_id = agent->id,
                          .agent_id = STR("step"),
                          .parent_task = agent->objective,
                          .workspace_path = run->workspace_path,
                          .remaining_tokens = UNLIMITED,
                          .remaining_cost_nano = UNLIMITED,
                          .remaining_wall_ms = UNLIMITED,
                          .ordinal = run->agent_count,
                          .asker = run->asker};
    arena_init(&arena);
    plan_step_request(&arena, &call->plan->plan, step, call->plan->plan.steps[step].description,
                      &request);
    if (contract_derive(&arena, &agent->contract, &request, &facts, &run->settings, &contract,
                        &why) != 0) {
        jw_kstr(w, "problem", str_from(why.message));
        arena_release(&arena);
        return;
    }
    jw_key(w, "tools");
    jw_array(w);
    for (size_t i = 0; i < contract.permissions.tool_mode_count; i++)
        if (contract.permissions.tool_modes[i].permission != PERMIT_DENY)
            jw_str(w, contract.permissions.tool_modes[i].tool);
    jw_end_array(w);
    jw_kstr(w, "network", contract.permissions.network);
    if (contract.isolation.ownership.state != LIST_ABSENT)
        print_list(w, "owns", &contract.isolation.ownership);
    print_list(w, "checks", &contract.outputs.checks);
    struct list of_role = settings_role_checks(&run->settings, request.role);
    if (contract.outputs.checks.n > 0)
        jw_kstr(w, "checks_from",
                of_role.state == LIST_ABSENT
                    ? STR("sub_agent.outputs.checks")
                    : arena_printf(&arena, "roles.%.*s.outputs.checks", STR_FMT(request.role)));
    arena_release(&arena);
}

void plan_step_terms(const struct run *run, const struct agent *agent, const struct call *call,
                     size_t step, struct buf *out)
{
    const struct plan_step *asked = &call->plan->plan.steps[step];
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    jw_kstr(&w, "step", asked->id);
    jw_kstr(&w, "title", asked->title);
    jw_kstr(&w, "description", asked->description);
    print_list(&w, "success_criteria", &asked->success_criteria);
    jw_ktext(&w, "role", asked->role->name);
    print_contract(run, agent, call, step, &w);
    jw_end_object(&w);
}

static void ask(struct deciding *d, const struct agent *agent, const struct call *call, size_t step)
{
    struct effect *effect =
        effect_add(d, EFFECT_ASK, EFFECT_OUTWARD, agent,
                   question_of_step(&d->out->arena, call->call.id, (int64_t)step));
    struct buf text;
    buf_init(&text, 1 << 20);
    plan_step_terms(d->run, agent, call, step, &text);
    effect->tool = STR("plan");
    effect->arguments = keep(d, buf_view(&text));
    buf_release(&text);
    effect_seal(d, effect);
}

static void ask_for_steps(struct deciding *d, const struct agent *agent, const struct call *call)
{
    size_t steps[PLAN_STEPS_MAX];
    size_t count = schedule_to_ask(&call->plan->schedule, call->plan->states, steps);
    for (size_t i = 0; i < count && !d->failed; i++) {
        plan_step_is(d, agent, call, steps[i], "blocked", STR("waits for approval"));
        if (!d->failed)
            ask(d, agent, call, steps[i]);
    }
}

void plan_ask_again(struct deciding *d, const struct agent *agent, const struct call *call)
{
    for (size_t i = 0; call->plan != NULL && i < call->plan->plan.count && !d->failed; i++) {
        if (call->plan->states[i].status == STEP_BLOCKED)
            ask(d, agent, call, i);
    }
}

/* --- what is merged out of turn --------------------------------------------------------------------------------------------- */

static bool waits_to_be_merged(const struct agent *child)
{
    return child != NULL && child->phase == PHASE_LEAVING && child->tree != NULL &&
           child->tree->leaves == LEAVES_MERGED && child->tree->state == TREE_THERE;
}

/* Of what the step needs, the first by the plan's order that must be merged, where the rest is completed or waits as well. */
static const struct agent *needed_by(const struct run *run, const struct call *call, size_t step)
{
    const struct plan_step *one = &call->plan->plan.steps[step];
    const struct agent *first = NULL;
    size_t rank = 0;
    for (size_t i = 0; i < one->depends_on.n; i++) {
        const struct agent *child = call_item_agent(run, call, (int64_t)one->needs[i]);
        size_t at = call->plan->schedule.rank[one->needs[i]];
        if (call->plan->states[one->needs[i]].status == STEP_COMPLETED)
            continue;
        if (!waits_to_be_merged(child))
            return NULL;
        if (first == NULL || at < rank) {
            first = child;
            rank = at;
        }
    }
    return first != NULL ? run->agents[first->no] : NULL;
}

const struct agent *plan_needs_merged(const struct run *run, const struct agent *agent)
{
    bool any = agent->plans_made > 0 && agent->phase == PHASE_TOOLS;
    for (size_t k = 0; any && k < agent->call_count; k++) {
        const struct call *call = &agent->calls[k];
        const struct plan_run *plan = call->state == CALL_RUNNING ? call->plan : NULL;
        for (size_t i = 0; plan != NULL && i < plan->plan.count; i++) {
            size_t step = plan->schedule.order[i];
            const struct agent *child =
                plan->states[step].status == STEP_PENDING ? needed_by(run, call, step) : NULL;
            if (child != NULL)
                return child;
        }
    }
    return NULL;
}

/* --- what a step may spend -------------------------------------------------------------------------------------------------- */

enum counted { COUNT_TOKENS, COUNT_DOLLARS };

/* A step's part of what is left of the budget; what others do not use comes to those that have not started. */
static int64_t share_of(const struct deciding *d, const struct call *call, size_t step,
                        int64_t limit, int64_t spent_in_all, enum counted counted)
{
    struct share shares[PLAN_STEPS_MAX + 1];
    const struct plan_run *plan = call->plan;
    int64_t elsewhere = spent_in_all;
    if (limit == UNLIMITED)
        return ASK_NOTHING;
    for (size_t i = 0; i < plan->plan.count; i++) {
        const struct agent *child = call_item_agent(d->run, call, (int64_t)i);
        const struct limits *budget = child != NULL ? &child->contract.execution.budget : NULL;
        shares[i] = (struct share){.weight = plan_step_calls(&plan->plan.steps[i])};
        if (child == NULL) {
            bool open = plan->states[i].status <= STEP_IN_PROGRESS ||
                        plan->states[i].status == STEP_BLOCKED;
            shares[i].state = open ? SHARE_WAITS : SHARE_ENDED;
            continue;
        }
        int64_t spent =
            counted == COUNT_DOLLARS ? child->account.spent.cost_nano : child->account.spent.tokens;
        int64_t whole = counted == COUNT_DOLLARS ? budget->cost_nano : budget->tokens;
        shares[i].state = child->phase == PHASE_DONE ? SHARE_ENDED : SHARE_RUNS;
        shares[i].amount = child->phase == PHASE_DONE ? spent : whole;
        elsewhere -= spent;
    }
    shares[plan->plan.count] = (struct share){
        .weight = PLAN_REVIEW_CALLS,
        .state = d->run->settings.plan_review == SWITCH_ON ? SHARE_WAITS : SHARE_ENDED};
    estimate_share(limit > elsewhere ? limit - elsewhere : 0, shares, plan->plan.count + 1);
    return shares[step].amount > 0 ? shares[step].amount : 1;
}

static void step_task(struct deciding *d, const struct call *call, size_t step, struct buf *out)
{
    const struct plan *plan = &call->plan->plan;
    struct step_said said[PLAN_STEPS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < plan->steps[step].depends_on.n; i++) {
        const struct agent *child =
            call_item_agent(d->run, call, (int64_t)plan->steps[step].needs[i]);
        if (child != NULL)
            said[count++] = (struct step_said){plan->steps[step].needs[i], child->response};
    }
    plan_prompt_step(plan, step, out);
    plan_prompt_results(plan, said, count, PASSED_ON_BYTES, out);
}

static void start_step(struct deciding *d, const struct agent *agent, const struct call *call,
                       size_t step)
{
    const struct account *account = &agent->account;
    struct err why = ERR_INIT;
    struct delegation request;
    struct buf task;
    buf_init(&task, 1 << 20);
    step_task(d, call, step, &task);
    plan_step_request(&d->out->arena, &call->plan->plan, step, buf_view(&task), &request);
    request.asked.cost_nano =
        share_of(d, call, step, account->limits.cost_nano, account->spent.cost_nano, COUNT_DOLLARS);
    request.asked.tokens =
        share_of(d, call, step, account->limits.tokens, account->spent.tokens, COUNT_TOKENS);
    if (child_make(d, agent, call, &request, (int64_t)step, &why) < 0)
        plan_step_is(d, agent, call, step, "failed", keep(d, str_from(why.message)));
    else
        plan_step_is(d, agent, call, step, "in_progress", STR_NONE);
    buf_release(&task);
}

/* Children of the call that hold a slot, or will. Who waits to be merged holds none. */
static int64_t at_work(const struct run *run, const struct call *call)
{
    int64_t count = 0;
    for (size_t i = 0; i < call->child_count; i++)
        count += call->children[i].no != 0 &&
                 run_agent_at(run, call->children[i].no)->phase < PHASE_LEAVING;
    return count;
}

/* One at a time: each that starts may keep the next from starting. */
static bool start_one(struct deciding *d, const struct agent *agent, const struct call *call)
{
    int64_t limit = d->run->settings.max_concurrent;
    size_t step;
    if (d->failed || (limit > 0 && at_work(d->run, call) >= limit) ||
        schedule_ready(&call->plan->schedule, call->plan->states, 1, &step) == 0)
        return false;
    start_step(d, agent, call, step);
    return !d->failed;
}

void plan_steps_advance(struct deciding *d, const struct agent *agent, const struct call *call)
{
    plan_steps_settle(d, agent, call);
    skip_steps(d, agent, call);
    ask_for_steps(d, agent, call);
    while (start_one(d, agent, call))
        ;
}
