/* What a plan's call says: the answer of the whole, the task of its review, and what a review's words mean. Pure. */
#include "base/utf8.h"
#include "core/plan/find.h"
#include "core/run/plan_run.h"

#define SUMMARY_CHARS 500
#define REASON_CHARS 300
#define SAID_BYTES 2000 /* of a step's answer, for the review */
#define FINDINGS_MAX 8  /* of one review that become steps */
#define FINDING_BYTES 4000

bool plan_worked(const struct plan_run *plan)
{
    for (size_t i = 0; i < plan->plan.count; i++) {
        if (plan->states[i].status != STEP_COMPLETED)
            return false;
    }
    return true;
}

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

/* The last review, or NULL. */
static const struct agent *last_review(const struct run *run, const struct call *call)
{
    const struct agent *review = NULL, *next;
    for (int64_t round = 0; (next = call_item_agent(run, call, ITEM_REVIEWER + round)) != NULL;
         round++)
        review = next;
    return review;
}

static void add_said(struct buf *out, const struct agent *agent)
{
    struct str said = ending_worked(agent->outcome) ? agent->response : agent->error;
    if (!ending_worked(agent->outcome))
        buf_text(out, "failed: ");
    utf8_clean(out, utf8_cut_chars(said, SUMMARY_CHARS), UTF8_LINES);
}

/* A verdict in words; what is no verdict, as it was said. */
static void add_review(struct buf *out, const struct agent *review)
{
    struct finder finder;
    struct js *value;
    bool whole;
    finder_init(&finder, review->response);
    value = ending_worked(review->outcome) ? finder_next(&finder, &whole) : NULL;
    const struct js *findings = js_get(value, "findings");
    if (js_kind(findings) != JS_ARRAY) {
        add_said(out, review);
        js_free(value);
        return;
    }
    buf_text(out, js_count(findings) == 0 ? "approved. " : "open findings. ");
    utf8_clean(out, utf8_cut_chars(js_get_str(value, "summary"), SUMMARY_CHARS), UTF8_LINES);
    for (size_t i = 0; i < js_count(findings) && i < FINDINGS_MAX; i++) {
        const struct js *finding = js_at(findings, i);
        struct str title =
            js_kind(finding) == JS_STRING ? js_str(finding) : js_get_str(finding, "title");
        buf_text(out, "\n- ");
        utf8_clean(out, utf8_cut_chars(title, PLAN_TITLE_MAX), UTF8_ONE_LINE);
    }
    js_free(value);
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
    const struct agent *review = last_review(run, call);
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
    buf_text(out, "\nReview: ");
    if (review != NULL)
        add_review(out, review);
    else
        buf_text(out, "none");
    buf_printf(out, "\n\nTotal tool calls: %lld", (long long)calls_made(run, call));
    if (done < plan->plan.count)
        buf_text(out, "\n\nNot everything was done: see the steps that are not completed, each "
                      "with its reason.");
}

/* --- the review ------------------------------------------------------------------------------------------------------------- */

static void add_list(struct buf *out, const char *title, const struct list *list)
{
    if (list->n > 0)
        buf_printf(out, "\n%s\n", title);
    for (size_t i = 0; i < list->n; i++) {
        buf_text(out, "- ");
        utf8_clean(out, list->items[i], UTF8_ONE_LINE);
        buf_char(out, '\n');
    }
}

static void add_evidence(const struct run *run, const struct call *call, const struct plan *plan,
                         struct buf *out)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct agent *child = call_item_agent(run, call, (int64_t)i);
        buf_printf(out, "\nStep %zu: ", i + 1);
        utf8_clean(out, plan->steps[i].title, UTF8_ONE_LINE);
        buf_printf(out, " [%s]\n", step_status_text(call->plan->states[i].status));
        if (child == NULL)
            continue;
        if (child->evidence.n > 0)
            buf_printf(out, "Checks that were run: %.*s\n", STR_FMT(child->evidence));
        add_list(out, "Files that it changed:", &child->files_modified);
        buf_text(out, "What it said:\n");
        utf8_clean(out, utf8_cut(child->response, SAID_BYTES), UTF8_LINES);
        buf_char(out, '\n');
    }
}

void plan_review_task(const struct run *run, const struct call *call, struct buf *out)
{
    const struct plan *plan = &call->plan->plan;
    buf_text(out, "Review the result of a plan against its goal. The files as they are now hold "
                  "everything that was merged.\n\nGoal: ");
    utf8_clean(out, plan->goal, UTF8_LINES);
    buf_char(out, '\n');
    add_list(out, "It is complete when:", &plan->completion_criteria);
    add_evidence(run, call, plan, out);
    buf_text(out,
             "\nLook at the files; what the steps said about themselves is a claim, not evidence. "
             "Answer with one JSON object: {\"approved\": true or false, \"summary\": \"…\", "
             "\"findings\": [{\"title\": \"…\", \"description\": \"what is wrong, where, and what "
             "to do\"}]}. List only what must be changed for the goal to be reached; no findings "
             "where there is nothing.");
}

/* Under the first of the names that the finding has; a view. */
static struct str text_of(const struct js *finding, const char *const *keys)
{
    for (; *keys != NULL; keys++) {
        struct str text = js_get_str(finding, *keys);
        if (text.n > 0)
            return utf8_cut(text, FINDING_BYTES);
    }
    return STR_NONE;
}

/* A model's words, without what cannot stand in a plan. */
static struct str clean_copy(struct arena *arena, struct str text, enum utf8_lines lines)
{
    struct buf clean;
    buf_init(&clean, 4 * FINDING_BYTES);
    utf8_clean(&clean, text, lines);
    struct str copy = arena_copy(arena, buf_view(&clean));
    buf_release(&clean);
    return copy;
}

static bool is_blank(struct str text)
{
    size_t n = 0;
    while (n < text.n && (text.p[n] == ' ' || text.p[n] == '\n'))
        n++;
    return n == text.n;
}

static bool read_finding(struct arena *arena, const struct js *finding, struct plan_step *step)
{
    static const char *const titles[] = {"title", "issue", "summary", NULL};
    static const char *const details[] = {"description", "details", "fix", "message", NULL};
    struct str text = js_kind(finding) == JS_STRING ? utf8_cut(js_str(finding), FINDING_BYTES)
                                                    : text_of(finding, details);
    struct str title = text_of(finding, titles);
    if (text.n == 0)
        text = title;
    step->description = clean_copy(arena, text, UTF8_LINES);
    step->title = clean_copy(arena, utf8_cut_chars(title.n > 0 ? title : text, PLAN_TITLE_MAX - 8),
                             UTF8_ONE_LINE);
    return !is_blank(step->title) && !is_blank(step->description);
}

/* An id that no step has: whoever made the plan may have used the first. */
static struct str finding_id(struct arena *arena, const struct plan *plan, int64_t round)
{
    struct str id;
    size_t number = 1;
    do
        id = arena_printf(arena, "review-%lld-%zu", (long long)round + 1, number++);
    while (plan_find(plan, id) < plan->count);
    return id;
}

static size_t add_findings(struct arena *arena, const struct js *findings, int64_t round,
                           struct plan *plan)
{
    size_t before = plan->count;
    for (size_t i = 0; i < js_count(findings); i++) {
        struct plan_step *step = &plan->steps[plan->count];
        if (plan->count == PLAN_STEPS_MAX || plan->count - before == FINDINGS_MAX)
            break;
        *step = (struct plan_step){.type = STEP_IMPLEMENTATION,
                                   .role = step_type_role(STEP_IMPLEMENTATION),
                                   .success_criteria = LIST_NONE,
                                   .depends_on = LIST_NONE,
                                   .ownership = LIST_NONE,
                                   .allowed_tools = LIST_NONE,
                                   .estimated_calls = UNLIMITED,
                                   .max_retries = UNLIMITED};
        if (!read_finding(arena, js_at(findings, i), step))
            continue;
        step->id = finding_id(arena, plan, round);
        plan->count++;
    }
    return plan->count - before;
}

size_t plan_findings(struct arena *arena, struct str review, int64_t round, struct plan *plan)
{
    struct finder finder;
    struct js *value;
    bool whole;
    finder_init(&finder, review);
    while ((value = finder_next(&finder, &whole)) != NULL) {
        const struct js *findings = js_get(value, "findings");
        bool is_verdict = js_kind(findings) == JS_ARRAY;
        size_t count = is_verdict ? add_findings(arena, findings, round, plan) : 0;
        js_free(value);
        if (is_verdict)
            return count;
    }
    return 0;
}
