/* What events do to a plan that a call carries out: made, made longer by a review, and each step's status. Pure. */
#include "core/run/apply.h"
#include "core/run/plan_run.h"

static struct call *plan_call(struct agent *agent, const struct event *e)
{
    struct call *call = agent->phase == PHASE_TOOLS ? call_to_change(agent, e->call_id) : NULL;
    return call != NULL && call->state != CALL_DONE && str_is(call->call.name, "plan") ? call
                                                                                       : NULL;
}

/* The plan is of this program's own making, so it must parse. */
static int read_plan(struct agent *agent, struct str text, struct plan *plan, struct err *err)
{
    struct problems problems;
    struct js *doc = js_parse_within(text, 32, err);
    if (doc == NULL)
        return -1;
    problems_init(&problems, &agent->history);
    int result = plan_parse(&agent->history, doc, plan, &problems);
    js_free(doc);
    return result == 0 ? 0 : err_set(err, ERR_CORRUPT, "the plan of an event cannot be read");
}

int apply_plan_made(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    struct call *call = plan_call(agent, e);
    const struct plan_run *before = call != NULL ? call->plan : NULL;
    struct plan_run *after = arena_alloc(&agent->history, sizeof *after);
    *after = (struct plan_run){.version = event_number(e->count, 1)};
    if (call == NULL || read_plan(agent, e->plan, &after->plan, err) != 0)
        return apply_out_of_place(e, err);
    after->warnings = before != NULL ? before->warnings : arena_copy(&agent->history, e->reason);
    size_t count = after->plan.count;
    if (before != NULL && before->plan.count > count)
        return apply_out_of_place(e, err);
    after->states = arena_alloc(&agent->history, count * sizeof *after->states);
    after->reasons = arena_alloc(&agent->history, count * sizeof *after->reasons);
    after->offered = arena_alloc(&agent->history, count * sizeof *after->offered);
    schedule_init(&after->schedule, &agent->history, &after->plan);
    schedule_states(&after->plan, after->states);
    for (size_t i = 0; i < count; i++)
        after->reasons[i] = after->offered[i] = STR_NONE;
    for (size_t i = 0; before != NULL && i < before->plan.count; i++) {
        after->states[i] = before->states[i];
        after->reasons[i] = before->reasons[i];
        after->offered[i] = before->offered[i];
    }
    call->plan = after;
    agent->plans_made++;
    if (call->awaits == CALL_WORKS)
        call->awaits = CALL_AWAITS_CHILDREN;
    call_move(agent, call, CALL_RUNNING);
    return 0;
}

static bool waits_for_approval(const struct agent *agent)
{
    for (size_t k = 0; k < agent->call_count; k++) {
        const struct plan_run *plan = agent->calls[k].plan;
        for (size_t i = 0; plan != NULL && i < plan->plan.count; i++) {
            if (plan->states[i].status == STEP_BLOCKED)
                return true;
        }
    }
    return false;
}

/* Whoever is asked has the whole time from the last question on; when nobody is asked any more, there is nothing to wait for. */
static void set_deadline(struct run *run, struct agent *agent, const struct step_state *changed,
                         int64_t now)
{
    if (!waits_for_approval(agent))
        timer_set(run, agent, TIMER_APPROVAL, 0);
    else if (changed->status == STEP_BLOCKED && run->settings.approval_timeout_ms > 0)
        timer_set(run, agent, TIMER_APPROVAL, now + run->settings.approval_timeout_ms);
}

int apply_plan_step(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    struct call *call = plan_call(agent, e);
    struct plan_run *plan = call != NULL ? (struct plan_run *)call->plan : NULL;
    int64_t step = event_number(e->item, -1);
    if (plan == NULL || step < 0 || (size_t)step >= plan->plan.count)
        return apply_out_of_place(e, err);
    struct step_state *state = &plan->states[step];
    if (str_is(e->kind, "approved")) {
        state->approval = APPROVAL_GRANTED;
        state->status = STEP_PENDING;
    } else if (!step_status_parse(e->kind, &state->status)) {
        return apply_out_of_place(e, err);
    }
    plan->reasons[step] = arena_copy(&agent->history, e->reason);
    set_deadline(run, agent, state, e->ts);
    agent->clock.steps_blocked = e->version >= 4 && waits_for_approval(agent);
    return 0;
}

int apply_shown(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    int64_t step = event_number(e->item, -1);
    struct call *call = agent->phase == PHASE_TOOLS ? call_to_change(agent, e->call_id) : NULL;
    if (call == NULL)
        return apply_out_of_place(e, err);
    if (step < 0)
        call->offered = arena_copy(&agent->history, e->shown);
    else if (call->plan != NULL && (size_t)step < call->plan->plan.count)
        call->plan->offered[step] = arena_copy(&agent->history, e->shown);
    else
        return apply_out_of_place(e, err);
    return 0;
}

int apply_directed(struct run *run, struct agent *agent, const struct event *e, struct err *err)
{
    struct message message = {.role = MESSAGE_ASSISTANT, .text = STR("")};
    if (agent->no != 0 || run->agent_count > 1 || agent->account.turns > 0 ||
        !phase_moves(agent, MOVE_DIRECTED))
        return apply_out_of_place(e, err);
    if (calls_open(agent, e, STR_NONE, &message, err) != 0)
        return -1;
    message_push(agent, &message);
    run->directed = true;
    return 0;
}
