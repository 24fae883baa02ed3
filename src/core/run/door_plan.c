/* plan (seed 004): a goal becomes steps, the steps children, and their work one reviewed result. The call's children are a planner, one
 * child for each step, and a reviewer for each round; what may start when is core/plan's to say. Steps start as soon as what they
 * need is integrated. Findings of a review become steps of their own, for as many rounds as config allows. Pure. */
#include "base/utf8.h"
#include "core/plan/answer.h"
#include "core/plan/prompt.h"
#include "core/plan/request.h"
#include "core/run/plan_run.h"

#define GOAL_BYTES_MAX (64 << 10)

/* What is asked for. Views into the arguments. */
struct asked {
    struct str goal;
    const struct js *plan; /* ABSENT: a planner makes one */
    enum { CARRY_OUT, PLAN_ONLY } extent;
};

static int read_arguments(const struct js *arguments, struct asked *asked, struct err *err)
{
    *asked = (struct asked){.plan = js_get(arguments, "plan")};
    if (arguments_known(arguments, "goal plan plan_only", "plan", err) != 0 ||
        argument_text(arguments, "goal", &asked->goal, err) != 0)
        return -1;
    const struct js *only = js_get(arguments, "plan_only");
    asked->extent = js_bool(only, false) ? PLAN_ONLY : CARRY_OUT;
    if (js_kind(only) != JS_BOOL && js_kind(only) != JS_NULL && only != NULL)
        return err_set(err, ERR_USAGE, "plan_only must be true or false");
    if (js_kind(asked->plan) == JS_OBJECT)
        return 0;
    if (asked->plan != NULL && js_kind(asked->plan) != JS_NULL)
        return err_set(err, ERR_USAGE, "plan must be an object with goal and steps");
    if (utf8_is_blank(asked->goal))
        return err_set(err, ERR_USAGE, "goal must not be empty: say what is to be done");
    return asked->goal.n <= GOAL_BYTES_MAX
               ? 0
               : err_set(err, ERR_USAGE, "goal may have at most %d bytes", GOAL_BYTES_MAX);
}

/* --- the plan itself -------------------------------------------------------------------------------------------------------- */

static void emit_plan(struct deciding *d, const struct agent *agent, const struct call *call,
                      const struct plan *plan, int64_t version, struct str note)
{
    struct buf text;
    struct jw w;
    buf_init(&text, 4 * PLAN_BYTES_MAX);
    jw_init(&w, &text);
    plan_print(plan, &w);
    struct event *e = draft(d, agent->no, EVENT_PLAN_MADE);
    e->call_id = keep(d, call->call.id);
    e->plan = keep(d, buf_view(&text));
    e->count = version;
    if (note.n > 0)
        e->reason = note;
    buf_release(&text);
    emit(d, e);
}

/* A line for each, without an end to the last. */
static struct str problems_text(struct deciding *d, const struct problems *problems)
{
    struct buf out;
    buf_init(&out, 8192);
    problems_print(problems, &out);
    struct str text = keep(d, buf_view(&out));
    text.n -= text.n > 0 && text.p[text.n - 1] == '\n';
    buf_release(&out);
    return text;
}

/* What somebody's words make of a plan is looked at before it is logged: an event that cannot be applied ends the run for good. */
static bool reads_back(struct deciding *d, const struct plan *plan)
{
    struct problems problems;
    struct plan again;
    struct err ignored = ERR_INIT;
    struct buf text;
    struct jw w;
    buf_init(&text, 4 * PLAN_BYTES_MAX);
    jw_init(&w, &text);
    plan_print(plan, &w);
    problems_init(&problems, &d->out->arena);
    struct js *doc = text.failed ? NULL : js_parse_within(buf_view(&text), 32, &ignored);
    bool good = doc != NULL && plan_parse(&d->out->arena, doc, &again, &problems) == 0;
    js_free(doc);
    buf_release(&text);
    return good;
}

/* That nobody need agree to a deployment is a person's to say: in a plan that a run was started with, not in a model's call. */
static void guard_deployments(const struct run *run, struct plan *plan)
{
    for (size_t i = 0; !run->directed && i < plan->count; i++)
        if (plan->steps[i].type == STEP_DEPLOYMENT)
            plan->steps[i].approval = APPROVAL_NEEDED;
}

/* A plan that somebody wrote: it is right, or the call fails. */
static void take_written(struct deciding *d, const struct agent *agent, const struct call *call,
                         const struct asked *asked)
{
    struct problems problems;
    struct plan plan;
    problems_init(&problems, &d->out->arena);
    if (plan_parse(&d->out->arena, asked->plan, &plan, &problems) == 0) {
        guard_deployments(d->run, &plan);
        if (!reads_back(d, &plan))
            problems_add(&problems, "", "it cannot be kept as it is");
    }
    if (problems.found == 0)
        emit_plan(d, agent, call, &plan, 1, STR_NONE);
    else
        call_finish(d, agent, call, TOOL_ERROR,
                    arena_printf(&d->out->arena, "Error: Planning failed: %.*s",
                                 STR_FMT(problems_text(d, &problems))));
}

static void start_planner(struct deciding *d, const struct agent *agent, const struct call *call,
                          const struct asked *asked)
{
    struct err why = ERR_INIT;
    struct delegation request;
    struct buf task;
    buf_init(&task, 4 * GOAL_BYTES_MAX);
    plan_prompt_planner(asked->goal, &task);
    plan_planner_request(buf_view(&task), &request);
    if (child_make(d, agent, call, &request, ITEM_PLANNER, &why) < 0)
        call_finish(d, agent, call, TOOL_ERROR,
                    arena_printf(&d->out->arena, "Error: Planning failed: %s", why.message));
    buf_release(&task);
}

/* The planner has answered. */
static void take_planned(struct deciding *d, const struct agent *agent, const struct call *call,
                         const struct asked *asked, const struct agent *planner)
{
    struct problems warnings;
    struct plan plan;
    if (!ending_worked(planner->outcome) ||
        (planner->outcome == OUTCOME_BUDGET_EXCEEDED && planner->response.n == 0)) {
        call_finish(d, agent, call, TOOL_ERROR,
                    arena_printf(&d->out->arena, "Error: Planning failed: %.*s",
                                 STR_FMT(plan_child_error(planner))));
        return;
    }
    problems_init(&warnings, &d->out->arena);
    answer_read(&d->out->arena, planner->response, asked->goal, &plan, &warnings);
    if (reads_back(d, &plan))
        emit_plan(d, agent, call, &plan, 1, problems_text(d, &warnings));
    else
        call_finish(d, agent, call, TOOL_ERROR,
                    STR("Error: Planning failed: the planner's answer cannot be used"));
}

/* --- the review ------------------------------------------------------------------------------------------------------------- */

static int64_t rounds_begun(const struct call *call)
{
    int64_t round = 0;
    while (call_item(call, ITEM_REVIEWER + round) != NULL)
        round++;
    return round;
}

static bool start_review(struct deciding *d, const struct agent *agent, const struct call *call,
                         int64_t round)
{
    struct err why = ERR_INIT;
    struct delegation request;
    struct buf task;
    buf_init(&task, 1 << 20);
    plan_review_task(d->run, call, &task);
    plan_reviewer_request(&call->plan->plan, buf_view(&task), &request);
    int made = child_make(d, agent, call, &request, ITEM_REVIEWER + round, &why);
    buf_release(&task);
    return made >= 0;
}

/* Findings become steps behind all others. False: there is nothing more to do. */
static bool take_findings(struct deciding *d, const struct agent *agent, const struct call *call,
                          int64_t round)
{
    const struct agent *review = call_item_agent(d->run, call, ITEM_REVIEWER + round);
    const struct plan *before = &call->plan->plan;
    struct plan after = *before;
    if (review == NULL || !plan_child_worked(review) || before->count >= PLAN_STEPS_MAX ||
        round >= d->run->settings.review_rounds)
        return false;
    after.steps = arena_alloc(&d->out->arena, PLAN_STEPS_MAX * sizeof *after.steps);
    memcpy(after.steps, before->steps, before->count * sizeof *after.steps);
    if (plan_findings(&d->out->arena, review->response, round, &after) == 0 ||
        !reads_back(d, &after))
        return false;
    emit_plan(d, agent, call, &after, call->plan->version + 1, STR("findings of the review"));
    return !d->failed;
}

/* All steps are over. True: there is more to do. */
static bool go_on_after_steps(struct deciding *d, const struct agent *agent,
                              const struct call *call)
{
    const struct settings *settings = &d->run->settings;
    int64_t begun = rounds_begun(call);
    int64_t most = settings->plan_review == SWITCH_ON ? settings->review_rounds + 1 : 0;
    const struct agent *review =
        begun > 0 ? call_item_agent(d->run, call, ITEM_REVIEWER + begun - 1) : NULL;
    if (review != NULL && review->phase != PHASE_DONE)
        return true; /* it is at work */
    if (begun > 0 && call->plan->version == begun && take_findings(d, agent, call, begun - 1))
        return true;
    bool changed = begun == 0 || call->plan->version > begun;
    bool any = false;
    for (size_t i = 0; i < call->plan->plan.count; i++)
        any |= call->plan->states[i].status == STEP_COMPLETED;
    return !d->failed && any && changed && begun < most && start_review(d, agent, call, begun);
}

struct str plan_problem(const struct run *run, const struct call *call)
{
    static const struct str problems[] = {
        [REVIEWED_WELL] = {NULL, 0},
        [REVIEWED_NOT] = STR("the plan's result was not reviewed"),
        [REVIEWED_OPEN] = STR("the review did not approve the plan's result")};
    for (size_t i = 0; i < call->plan->plan.count; i++) {
        if (call->plan->states[i].status != STEP_COMPLETED)
            return STR("not all steps of the plan were done");
    }
    return problems[plan_reviewed(run, call)];
}

static void answer(struct deciding *d, const struct agent *agent, const struct call *call)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    plan_answer_text(d->run, call, &out);
    call_finish(d, agent, call, plan_problem(d->run, call).n == 0 ? TOOL_OK : TOOL_ERROR,
                keep(d, buf_view(&out)));
    buf_release(&out);
}

/* The run ends before the plan does. */
static void stopped(struct deciding *d, const struct agent *agent, const struct call *call)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    buf_text(&out, "Error: stopped before the plan was done.");
    if (call->plan != NULL) {
        plan_steps_settle(d, agent, call);
        buf_text(&out, "\n\n");
        plan_answer_text(d->run, call, &out);
    }
    if (!d->failed)
        call_finish(d, agent, call, TOOL_ERROR, keep(d, buf_view(&out)));
    buf_release(&out);
}

/* --- the flow --------------------------------------------------------------------------------------------------------------- */

static void work_on(struct deciding *d, const struct agent *agent, const struct call *call)
{
    uint64_t before;
    do {
        before = d->run->seq;
        plan_steps_advance(d, agent, call);
        if (d->failed || !schedule_is_over(&call->plan->schedule, call->plan->states))
            continue;
        if (!go_on_after_steps(d, agent, call) && !d->failed) {
            answer(d, agent, call);
            return;
        }
    } while (!d->failed && d->run->seq != before);
}

/* As a file that can be edited and carried out later. */
static void answer_plan(struct deciding *d, const struct agent *agent, const struct call *call)
{
    struct buf text;
    buf_init(&text, 8 * PLAN_BYTES_MAX);
    plan_print_yaml(&call->plan->plan, &text);
    call_finish(d, agent, call, TOOL_OK, keep(d, buf_view(&text)));
    buf_release(&text);
}

static void advance(struct deciding *d, const struct agent *agent, const struct call *call,
                    const struct asked *asked)
{
    const struct agent *planner = call_item_agent(d->run, call, ITEM_PLANNER);
    if (call->plan == NULL && js_kind(asked->plan) == JS_OBJECT)
        take_written(d, agent, call, asked);
    else if (call->plan == NULL && planner == NULL)
        start_planner(d, agent, call, asked);
    if (call->plan == NULL && planner != NULL && planner->phase == PHASE_DONE)
        take_planned(d, agent, call, asked, planner);
    if (d->failed || call->plan == NULL || call->state == CALL_DONE)
        return;
    if (asked->extent == PLAN_ONLY)
        answer_plan(d, agent, call);
    else
        work_on(d, agent, call);
}

static void start(struct deciding *d, const struct agent *agent, const struct call *call,
                  const struct js *arguments)
{
    struct err why = ERR_INIT;
    struct asked asked;
    if (read_arguments(arguments, &asked, &why) != 0)
        door_refuse(d, agent, call, &why);
    else if (agent->no != 0)
        call_finish(d, agent, call, TOOL_ERROR, STR("Error: only the root carries out plans."));
    else
        advance(d, agent, call, &asked);
}

/* A planner, a step or a reviewer has ended, or a step was decided about: whatever follows from all of it. */
static void ended(struct deciding *d, const struct agent *agent, const struct call *call,
                  const struct agent *child)
{
    struct err why = ERR_INIT;
    struct asked asked;
    struct js *arguments = js_parse(call->call.arguments, &why);
    if (read_arguments(arguments, &asked, &why) == 0)
        advance(d, agent, call, &asked);
    js_free(arguments);
}

void plan_leaving(struct deciding *d, const struct agent *child)
{
    const struct agent *parent = run_agent_at(d->run, child->parent_no);
    const struct call *call =
        parent->phase == PHASE_TOOLS ? call_find(parent, child->parent_call) : NULL;
    if (!d->failed && call != NULL && call->plan != NULL && call->state == CALL_RUNNING)
        delegate_ended(d, parent, call, child);
}

const struct door_ops door_plan = {start, NULL, ended, stopped};

/* --- approvals -------------------------------------------------------------------------------------------------------------- */

bool plan_approve(struct deciding *d, const struct agent *agent, struct str id,
                  enum step_answer answer, struct str shown)
{
    size_t step;
    const struct call *call = plan_step_asked(agent, id, &step);
    if (call == NULL)
        return false;
    if (answer == STEP_ALLOWED)
        plan_step_approved(d, agent, call, step, shown);
    else
        plan_step_is(d, agent, call, step, "failed", STR("denied: the user said no"));
    delegate_ended(d, agent, call, NULL);
    agent_continue(d, agent);
    return true;
}

void plan_overdue(struct deciding *d, const struct agent *agent)
{
    for (size_t k = 0; agent->phase == PHASE_TOOLS && agent->stopping == OUTCOME_NONE &&
                       k < agent->call_count && !d->failed;
         k++) {
        const struct call *call = &agent->calls[k];
        if (call->plan == NULL || call->state == CALL_DONE)
            continue;
        for (size_t i = 0; i < call->plan->plan.count && !d->failed; i++) {
            if (call->plan->states[i].status == STEP_BLOCKED)
                plan_step_is(d, agent, call, i, "failed",
                             STR("denied: nobody approved it in time"));
        }
        delegate_ended(d, agent, call, NULL);
    }
    agent_continue(d, agent);
}
