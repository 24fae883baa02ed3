/* What a plan's call says: how far it is, and the answer of the whole. Pure. */
#include "base/utf8.h"
#include "core/plan/review.h"
#include "core/run/plan_run.h"

#define SUMMARY_CHARS 500
#define REASON_CHARS 300
#define WARNINGS_CHARS 1000

bool call_plan_progress(const struct call *call, struct plan_progress *out)
{
    size_t in[STEP_STATUS_COUNT] = {0};
    if (call->plan == NULL)
        return false;
    for (size_t i = 0; i < call->plan->plan.count; i++)
        in[call->plan->states[i].status]++;
    *out = (struct plan_progress){call->plan->plan.count, in[STEP_COMPLETED], in[STEP_IN_PROGRESS],
                                  in[STEP_BLOCKED], in[STEP_FAILED] + in[STEP_SKIPPED]};
    return true;
}

/* What became of a review without a verdict. */
static void add_said(struct buf *out, const struct agent *agent)
{
    bool worked = plan_child_worked(agent);
    buf_text(out, worked ? "not reviewed: the reviewer gave no verdict. It said: " : "failed: ");
    utf8_clean(out,
               utf8_cut_chars(worked ? agent->response : plan_child_error(agent), SUMMARY_CHARS),
               UTF8_LINES);
}

static void add_review(const struct run *run, const struct call *call, struct buf *out)
{
    const struct agent *review = plan_last_review(run, call);
    struct arena arena;
    struct review verdict;
    buf_text(out, "\nReview: ");
    if (review == NULL) {
        buf_text(out, "none");
        return;
    }
    arena_init(&arena);
    review_read(&arena, plan_child_worked(review) ? review->response : STR(""), &verdict);
    if (verdict.is == REVIEW_NONE) {
        add_said(out, review);
    } else {
        buf_text(out, verdict.is == REVIEW_APPROVED ? "approved. " : "open findings. ");
        buf_str(out, utf8_cut_chars(verdict.summary, SUMMARY_CHARS));
    }
    for (size_t i = 0; i < verdict.count; i++)
        buf_printf(out, "\n- %.*s", STR_FMT(verdict.findings[i].title));
    arena_release(&arena);
}

static void add_planning(const struct plan_run *plan, struct buf *out)
{
    buf_text(out, "Planning: ");
    utf8_clean(out,
               utf8_cut_chars(plan->plan.summary.n > 0 ? plan->plan.summary : plan->plan.goal,
                              SUMMARY_CHARS),
               UTF8_LINES);
    if (plan->warnings.n > 0) {
        buf_text(out, "\nWarning: ");
        utf8_clean(out, utf8_cut_chars(plan->warnings, WARNINGS_CHARS), UTF8_LINES);
    }
}

static void add_steps(const struct plan_run *plan, const struct run *run, const struct call *call,
                      struct buf *out)
{
    for (size_t i = 0; i < plan->plan.count; i++) {
        const struct agent *child = call_item_agent(run, call, (int64_t)i);
        enum step_status status = plan->states[i].status;
        buf_printf(out, "- [%s] ", step_status_text(status));
        utf8_clean(out, plan->plan.steps[i].title, UTF8_ONE_LINE);
        if (child != NULL && child->tree != NULL && child->tree->merge.n > 0)
            buf_printf(out, " (%.*s)", STR_FMT(child->tree->merge));
        struct str why = plan->reasons[i];
        if (why.n == 0 && status == STEP_PENDING)
            why = STR("not started");
        else if (why.n == 0 && (status == STEP_FAILED || status == STEP_SKIPPED))
            why = STR("the plan said so when the run began");
        if (why.n > 0) {
            buf_text(out, ": ");
            utf8_clean(out, utf8_cut_chars(why, REASON_CHARS), UTF8_ONE_LINE);
        }
        buf_char(out, '\n');
    }
}

static int64_t calls_made(const struct run *run, const struct call *call)
{
    int64_t calls = 0;
    for (size_t i = 0; i < call->child_count; i++) {
        if (call->children[i].no != 0 && call->children[i].origin == CHILD_NEW)
            calls += run_agent_at(run, call->children[i].no)->account.tool_calls;
    }
    return calls;
}

void plan_answer_text(const struct run *run, const struct call *call, struct buf *out)
{
    const struct plan_run *plan = call->plan;
    enum reviewed reviewed = plan_reviewed(run, call);
    size_t done = 0;
    for (size_t i = 0; i < plan->plan.count; i++)
        done += plan->states[i].status == STEP_COMPLETED;
    add_planning(plan, out);
    buf_printf(out, "\n\nExecution: %zu of %zu steps completed\n", done, plan->plan.count);
    add_steps(plan, run, call, out);
    add_review(run, call, out);
    buf_printf(out, "\n\nTotal tool calls: %lld", (long long)calls_made(run, call));
    if (done < plan->plan.count)
        buf_text(out, "\n\nNot everything was done: see the steps that are not completed, each "
                      "with its reason.");
    if (reviewed == REVIEWED_OPEN)
        buf_text(out, "\n\nNot everything was done: the review did not approve the result, and no "
                      "round of mending is left.");
    else if (reviewed == REVIEWED_NOT)
        buf_text(out, "\n\nNot everything was done: the result was not reviewed.");
}
