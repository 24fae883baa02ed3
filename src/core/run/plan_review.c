/* Reviews of what a plan's steps delivered: the task of the child that looks at it, what of its findings becomes further steps, and
 * how the plan stands with them. What a review's words mean is core/plan/review's to say. Pure. */
#include "core/plan/review.h"

#include "base/utf8.h"
#include "core/run/plan_run.h"

/* What a review is told, so that even of a hundred steps it leaves room in the reviewer's context. */
#define REVIEW_GOAL_BYTES 8000
#define SAID_BYTES 2000    /* of one step's answer, */
#define SAID_IN_ALL 12000  /* shared among all steps; */
#define SHOWN_BYTES 4000   /* of what a step's checks showed, */
#define SHOWN_IN_ALL 12000 /* shared in the same way; */
#define FILES_IN_ALL 120   /* files that were changed, of each step at least two */

#define VERDICT_SHAPE                                                                              \
    "{\"approved\": true or false, \"summary\": \"…\", \"findings\": [{\"title\": \"…\", "     \
    "\"description\": \"what is wrong, where, and what to do\"}]}"

/* --- the task --------------------------------------------------------------------------------------------------------------- */

static void add_list(struct buf *out, const char *title, struct list list, size_t most)
{
    if (list.n > 0)
        buf_printf(out, "\n%s\n", title);
    for (size_t i = 0; i < list.n && i < most; i++) {
        buf_text(out, "- ");
        utf8_clean(out, list.items[i], UTF8_ONE_LINE);
        buf_char(out, '\n');
    }
    if (list.n > most)
        buf_printf(out, "- and %zu more\n", list.n - most);
}

static void add_cut(struct buf *out, struct str text, size_t bytes)
{
    struct str shown = utf8_cut(text, bytes);
    utf8_clean(out, shown, UTF8_LINES);
    if (shown.n < text.n)
        buf_printf(out, "\n[cut: the first %zu of %zu bytes]", shown.n, text.n);
    buf_char(out, '\n');
}

/* The part of each of `count` in what all have together. */
static size_t part_of(size_t in_all, size_t count, size_t least, size_t most)
{
    size_t part = in_all / count;
    return part < least ? least : part > most ? most : part;
}

static void add_evidence(const struct run *run, const struct call *call, const struct plan *plan,
                         struct buf *out)
{
    size_t said = part_of(SAID_IN_ALL, plan->count, 0, SAID_BYTES);
    size_t shown = part_of(SHOWN_IN_ALL, plan->count, 0, SHOWN_BYTES);
    size_t files = part_of(FILES_IN_ALL, plan->count, 2, FILES_IN_ALL);
    for (size_t i = 0; i < plan->count; i++) {
        const struct agent *child = call_item_agent(run, call, (int64_t)i);
        buf_printf(out, "\nStep %zu: ", i + 1);
        utf8_clean(out, plan->steps[i].title, UTF8_ONE_LINE);
        buf_printf(out, " [%s]\n", step_status_text(call->plan->states[i].status));
        if (child == NULL)
            continue;
        if (child->evidence.n > 0) {
            buf_text(out, "Checks that were run: ");
            add_cut(out, child->evidence, shown);
        }
        add_list(out, "Files that it changed:", files_list(&child->files_modified), files);
        buf_text(out, "What it said:\n");
        add_cut(out, child->response, said);
    }
}

void plan_review_task(const struct run *run, const struct call *call, struct buf *out)
{
    const struct plan *plan = &call->plan->plan;
    buf_text(out, "Review the result of a plan against its goal. The files as they are now hold "
                  "everything that was merged.\n\nGoal: ");
    add_cut(out, plan->goal, REVIEW_GOAL_BYTES);
    add_list(out, "It is complete when:", plan->completion_criteria, PLAN_CRITERIA_MAX);
    add_evidence(run, call, plan, out);
    buf_text(out,
             "\nLook at the files; what the steps said about themselves is a claim, not evidence. "
             "Answer with one JSON object: " VERDICT_SHAPE
             ". List only what must be changed for the goal to be reached; no findings "
             "where there is nothing.");
}

/* --- the verdict ------------------------------------------------------------------------------------------------------------ */

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

size_t plan_findings(struct arena *arena, struct str review, int64_t round, struct plan *plan)
{
    struct review verdict;
    size_t before = plan->count;
    review_read(arena, review, &verdict);
    for (size_t i = 0; i < verdict.count && plan->count < PLAN_STEPS_MAX; i++) {
        plan->steps[plan->count] =
            (struct plan_step){.id = finding_id(arena, plan, round),
                               .title = verdict.findings[i].title,
                               .description = verdict.findings[i].description,
                               .type = STEP_IMPLEMENTATION,
                               .role = step_type_role(STEP_IMPLEMENTATION),
                               .success_criteria = LIST_NONE,
                               .depends_on = LIST_NONE,
                               .ownership = LIST_NONE,
                               .allowed_tools = LIST_NONE,
                               .estimated_calls = UNLIMITED,
                               .max_retries = UNLIMITED};
        plan->count++;
    }
    return plan->count - before;
}

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

/* What the words of a review make of the plan. */
static enum reviewed review_says(struct str review)
{
    static const enum reviewed by_verdict[] = {[REVIEW_NONE] = REVIEWED_NOT,
                                               [REVIEW_APPROVED] = REVIEWED_WELL,
                                               [REVIEW_OPEN] = REVIEWED_OPEN};
    struct arena arena;
    struct review verdict;
    arena_init(&arena);
    review_read(&arena, review, &verdict);
    arena_release(&arena);
    return by_verdict[verdict.is];
}

static bool reviews_a_plan(const struct run *run, const struct agent *agent)
{
    const struct agent *parent = agent->no != 0 ? run_agent_at(run, agent->parent_no) : NULL;
    const struct call *call = parent != NULL && parent->phase == PHASE_TOOLS
                                  ? call_find(parent, agent->parent_call)
                                  : NULL;
    return call != NULL && call->plan != NULL && plan_last_review(run, call) == agent;
}

bool plan_verdict_asked(struct deciding *d, const struct agent *agent)
{
    if (agent->corrections > 0 || !reviews_a_plan(d->run, agent) ||
        review_says(agent->response) != REVIEWED_NOT)
        return false;
    message_add(d, agent, "user", "verdict",
                STR("Your review has no verdict. Answer again with one JSON object, and with no "
                    "text before or behind it: " VERDICT_SHAPE));
    return true;
}

enum reviewed plan_reviewed(const struct run *run, const struct call *call)
{
    const struct agent *review = plan_last_review(run, call);
    if (run->settings.plan_review != SWITCH_ON)
        return REVIEWED_WELL;
    if (review == NULL || !plan_child_worked(review) ||
        (int64_t)reviews_made(run, call) < call->plan->version)
        return REVIEWED_NOT;
    return review_says(review->response);
}
