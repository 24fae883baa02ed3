/* Reviews of what a plan's steps delivered: the task of the child that looks at it, what its words mean, and what of them becomes
 * further steps. A verdict is a JSON object with findings, wherever it stands in the answer. Pure. */
#include "base/utf8.h"
#include "core/plan/find.h"
#include "core/run/plan_run.h"

#define SUMMARY_CHARS 500
#define STEPS_BYTES (96 << 10) /* of a review's task: what is told of all steps */
#define SAID_BYTES 2000        /* of a step's answer */
#define FINDINGS_MAX 8         /* of one review that become steps */
#define FINDING_BYTES 4000

/* --- the task --------------------------------------------------------------------------------------------------------------- */

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

static void add_step(struct buf *out, const struct run *run, const struct call *call, size_t i)
{
    const struct agent *child = call_item_agent(run, call, (int64_t)i);
    buf_printf(out, "\nStep %zu: ", i + 1);
    utf8_clean(out, call->plan->plan.steps[i].title, UTF8_ONE_LINE);
    buf_printf(out, " [%s]\n", step_status_text(call->plan->states[i].status));
    if (child == NULL)
        return;
    if (child->evidence.n > 0)
        buf_printf(out, "Checks that were run: %.*s\n", STR_FMT(child->evidence));
    add_list(out, "Files that it changed:", &child->files_modified);
    buf_text(out, "What it said:\n");
    utf8_clean(out, utf8_cut(child->response, SAID_BYTES), UTF8_LINES);
    buf_char(out, '\n');
}

/* Each step has the same part of the room: however many there are, the task can be given to a child. */
static void add_steps(struct buf *out, const struct run *run, const struct call *call)
{
    size_t count = call->plan->plan.count, part = STEPS_BYTES / (count > 0 ? count : 1);
    struct buf step;
    buf_init(&step, 1 << 20);
    for (size_t i = 0; i < count; i++) {
        buf_clear(&step);
        add_step(&step, run, call, i);
        buf_str(out, utf8_cut(buf_view(&step), part));
        if (step.n > part || step.failed)
            buf_text(out, "\n[cut]\n");
    }
    buf_release(&step);
}

void plan_review_task(const struct run *run, const struct call *call, struct buf *out)
{
    const struct plan *plan = &call->plan->plan;
    buf_text(out, "Review the result of a plan against its goal. The files as they are now hold "
                  "everything that was merged.\n\nGoal: ");
    utf8_clean(out, plan->goal, UTF8_LINES);
    buf_char(out, '\n');
    add_list(out, "It is complete when:", &plan->completion_criteria);
    add_steps(out, run, call);
    buf_text(out,
             "\nLook at the files; what the steps said about themselves is a claim, not evidence. "
             "Answer with one JSON object: {\"approved\": true or false, \"summary\": \"…\", "
             "\"findings\": [{\"title\": \"…\", \"description\": \"what is wrong, where, and what "
             "to do\"}]}. List only what must be changed for the goal to be reached; no findings "
             "where there is nothing.");
}

/* --- the verdict ------------------------------------------------------------------------------------------------------------- */

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

/* The first verdict in the text, or NULL; free with js_free. */
static struct js *find_verdict(struct str review)
{
    struct finder finder;
    struct js *value;
    bool whole;
    finder_init(&finder, review);
    while ((value = finder_next(&finder, &whole)) != NULL) {
        if (js_kind(js_get(value, "findings")) == JS_ARRAY ||
            js_kind(js_get(value, "approved")) == JS_BOOL)
            break;
        js_free(value);
    }
    return value;
}

size_t plan_findings(struct arena *arena, struct str review, int64_t round, struct plan *plan)
{
    struct js *verdict = find_verdict(review);
    size_t count = add_findings(arena, js_get(verdict, "findings"), round, plan);
    js_free(verdict);
    return count;
}

/* The titles of findings that say something, a line each; how many there are. */
static size_t add_titles(const struct js *findings, struct buf *out)
{
    struct arena arena;
    size_t count = 0;
    arena_init(&arena);
    for (size_t i = 0; i < js_count(findings) && count < FINDINGS_MAX; i++) {
        struct plan_step step;
        if (!read_finding(&arena, js_at(findings, i), &step))
            continue;
        buf_printf(out, "\n- %.*s", STR_FMT(step.title));
        count++;
    }
    arena_release(&arena);
    return count;
}

enum review_end plan_verdict(struct str review, struct buf *out)
{
    struct js *verdict = find_verdict(review);
    bool refuses = !js_bool(js_get(verdict, "approved"), true);
    struct buf titles;
    if (verdict == NULL)
        return REVIEW_IN_WORDS;
    buf_init(&titles, FINDINGS_MAX * (4 * PLAN_TITLE_MAX + 4));
    size_t findings = add_titles(js_get(verdict, "findings"), &titles);
    buf_text(out, findings > 0 ? "open findings. " : refuses ? "not approved. " : "approved. ");
    utf8_clean(out, utf8_cut_chars(js_get_str(verdict, "summary"), SUMMARY_CHARS), UTF8_LINES);
    buf_str(out, buf_view(&titles));
    buf_release(&titles);
    js_free(verdict);
    return findings > 0 || refuses ? REVIEW_REFUSED : REVIEW_APPROVED;
}

/* --- how far they are ------------------------------------------------------------------------------------------------------- */

static size_t reviews_made(const struct run *run, const struct call *call)
{
    size_t count = 0;
    while (call_item_agent(run, call, ITEM_REVIEWER + (int64_t)count) != NULL)
        count++;
    return count;
}

const struct agent *plan_last_review(const struct run *run, const struct call *call)
{
    size_t count = reviews_made(run, call);
    return count > 0 ? call_item_agent(run, call, ITEM_REVIEWER + (int64_t)count - 1) : NULL;
}

enum review_end plan_review_end(const struct run *run, const struct call *call)
{
    const struct agent *review = plan_last_review(run, call);
    struct buf words;
    if (run->settings.plan_review != SWITCH_ON)
        return REVIEW_NOT_WANTED;
    if (review == NULL || !ending_worked(review->outcome) ||
        (int64_t)reviews_made(run, call) < call->plan->version)
        return REVIEW_NOT_DONE;
    buf_init(&words, 1 << 20);
    enum review_end end = plan_verdict(review->response, &words);
    buf_release(&words);
    return end;
}
