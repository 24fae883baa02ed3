/* What a plan's call says: how far it is, and the answer of the whole. Pure. */
#include "base/utf8.h"
#include "core/run/plan_run.h"

#define SUMMARY_CHARS 500
#define REASON_CHARS 300

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

static void add_said(struct buf *out, const struct agent *agent)
{
    struct str said = ending_worked(agent->outcome) ? agent->response : agent->error;
    if (!ending_worked(agent->outcome))
        buf_text(out, "failed: ");
    utf8_clean(out, utf8_cut_chars(said, SUMMARY_CHARS), UTF8_LINES);
}

static void add_review(const struct run *run, const struct call *call, struct buf *out)
{
    const struct agent *review = plan_last_review(run, call);
    enum review_end end = plan_review_end(run, call);
    buf_text(out, "\nReview: ");
    if (review == NULL)
        buf_text(out, "none");
    else if (!ending_worked(review->outcome) ||
             plan_verdict(review->response, out) == REVIEW_IN_WORDS)
        add_said(out, review);
    if (end == REVIEW_NOT_DONE && review != NULL && ending_worked(review->outcome))
        buf_text(out, "\nWhat was changed after it was not reviewed again.");
}

static void add_steps(const struct plan_run *plan, const struct run *run, const struct call *call,
                      struct buf *out)
{
    for (size_t i = 0; i < plan->plan.count; i++) {
        const struct agent *child = call_item_agent(run, call, (int64_t)i);
        buf_printf(out, "- [%s] ", step_status_text(plan->states[i].status));
        utf8_clean(out, plan->plan.steps[i].title, UTF8_ONE_LINE);
        if (child != NULL && child->tree != NULL && child->tree->merge.n > 0)
            buf_printf(out, " (%.*s)", STR_FMT(child->tree->merge));
        if (plan->reasons[i].n > 0) {
            buf_text(out, ": ");
            utf8_clean(out, utf8_cut_chars(plan->reasons[i], REASON_CHARS), UTF8_ONE_LINE);
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
    enum review_end end = plan_review_end(run, call);
    size_t done = 0;
    for (size_t i = 0; i < plan->plan.count; i++)
        done += plan->states[i].status == STEP_COMPLETED;
    buf_text(out, "Planning: ");
    if (plan->plan.summary.n > 0)
        utf8_clean(out, utf8_cut_chars(plan->plan.summary, SUMMARY_CHARS), UTF8_LINES);
    else
        utf8_clean(out, utf8_cut_chars(plan->plan.goal, SUMMARY_CHARS), UTF8_LINES);
    buf_printf(out, "\n\nExecution: %zu of %zu steps completed\n", done, plan->plan.count);
    add_steps(plan, run, call, out);
    add_review(run, call, out);
    buf_printf(out, "\n\nTotal tool calls: %lld", (long long)calls_made(run, call));
    if (done < plan->plan.count)
        buf_text(out, "\n\nNot everything was done: see the steps that are not completed, each "
                      "with its reason.");
    if (end == REVIEW_REFUSED)
        buf_text(out, "\n\nNot everything was done: the review did not approve the result, and no "
                      "round of mending is left.");
    else if (end == REVIEW_NOT_DONE)
        buf_text(out, "\n\nNot everything was done: the result was not reviewed.");
}
