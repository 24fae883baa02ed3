/* What must hold between the parts of a plan: ids, prerequisites, circles, ownership, and limits of the whole. Goes on after a
 * mistake, and names the place of each. Pure; any thread. */
#include "core/plan/check.h"

#include <stdio.h>

#include "core/contract/registry_fields.h"
#include "core/plan/ownership.h"

#define NO_STEP SIZE_MAX

struct checking {
    struct arena *arena;
    const struct js *steps;
    struct plan *plan;
    struct problems *problems;
};

static void check_id(struct checking *c, size_t i)
{
    char path[RECORD_PATH_BYTES];
    struct str id = c->plan->steps[i].id;
    size_t first = id.p ? plan_find(c->plan, id) : i;
    if (first >= i)
        return;
    snprintf(path, sizeof path, "steps[%zu].id", i);
    problems_add(c->problems, path, "%.*s is steps[%zu] already", STR_FMT(id), first);
}

/* --- prerequisites ------------------------------------------------------------------------------------------ */

/* Where the list of the document, which may say things twice, has this item. */
static size_t item_place(const struct checking *c, size_t i, const char *key, struct str item)
{
    const struct js *list = js_get(js_at(c->steps, i), key);
    size_t k = 0;
    while (k < js_count(list) && !str_eq(js_str(js_at(list, k)), item))
        k++;
    return k;
}

static void check_needs(struct checking *c, size_t i)
{
    struct plan_step *step = &c->plan->steps[i];
    step->needs = arena_alloc(c->arena, (step->depends_on.n + 1) * sizeof *step->needs);
    for (size_t k = 0; k < step->depends_on.n; k++) {
        struct str id = step->depends_on.items[k];
        size_t found = plan_find(c->plan, id);
        step->needs[k] = found < c->plan->count ? found : NO_STEP;
        if (found < c->plan->count)
            continue;
        char path[RECORD_PATH_BYTES];
        snprintf(path, sizeof path, "steps[%zu].depends_on[%zu]", i,
                 item_place(c, i, "depends_on", id));
        problems_add(c->problems, path, "there is no step %.*s", STR_FMT(id));
    }
}

/* A walk along prerequisites. The way is the chain from where it started to where it is. */
struct walk {
    const struct plan *plan;
    size_t way[PLAN_STEPS_MAX + 1];
    size_t length;
    enum { STEP_UNSEEN, STEP_ON_WAY, STEP_SEEN } seen[PLAN_STEPS_MAX];
};

/* True where the way ends in a step that is on it already. */
static bool walk_from(struct walk *walk, size_t i)
{
    const struct plan_step *step = &walk->plan->steps[i];
    walk->way[walk->length++] = i;
    if (walk->seen[i] == STEP_ON_WAY)
        return true;
    if (walk->seen[i] == STEP_UNSEEN) {
        walk->seen[i] = STEP_ON_WAY;
        for (size_t k = 0; k < step->depends_on.n; k++)
            if (step->needs[k] != NO_STEP && walk_from(walk, step->needs[k]))
                return true;
        walk->seen[i] = STEP_SEEN;
    }
    walk->length--;
    return false;
}

static bool find_circle(struct walk *walk, const struct plan *plan)
{
    *walk = (struct walk){.plan = plan};
    for (size_t i = 0; i < plan->count; i++)
        if (walk_from(walk, i))
            return true;
    return false;
}

/* Where on the way the circle starts. */
static size_t circle_start(const struct walk *walk)
{
    size_t first = 0;
    while (walk->way[first] != walk->way[walk->length - 1])
        first++;
    return first;
}

/* "a → b → a": each before what needs it, so against the way. */
static struct str circle_text(struct arena *arena, const struct walk *walk)
{
    struct buf text;
    buf_init(&text, (PLAN_STEPS_MAX + 1) * (PLAN_STEP_ID_MAX + 8));
    for (size_t k = walk->length, first = circle_start(walk); k-- > first;) {
        buf_str(&text, walk->plan->steps[walk->way[k]].id);
        buf_text(&text, k > first ? " → " : "");
    }
    struct str out = arena_copy(arena, buf_view(&text));
    buf_release(&text);
    return out;
}

struct str plan_circle(struct arena *arena, const struct plan *plan)
{
    struct walk walk;
    return find_circle(&walk, plan) ? circle_text(arena, &walk) : STR_NONE;
}

static void check_circle(struct checking *c)
{
    struct walk walk;
    char path[RECORD_PATH_BYTES];
    if (!find_circle(&walk, c->plan))
        return;
    snprintf(path, sizeof path, "steps[%zu].depends_on", walk.way[circle_start(&walk)]);
    problems_add(c->problems, path, "the steps depend on each other in a circle: %.*s",
                 STR_FMT(circle_text(c->arena, &walk)));
}

/* --- ownership ---------------------------------------------------------------------------------------------- */

static void check_ownership(struct checking *c, size_t i)
{
    struct plan_step *step = &c->plan->steps[i];
    struct list normal = {step->ownership.state, NULL, 0};
    char path[RECORD_PATH_BYTES];
    for (size_t k = 0; k < step->ownership.n; k++) {
        const char *why = NULL;
        struct str item = step->ownership.items[k];
        struct str glob = ownership_normal(c->arena, item, &why);
        if (glob.p) {
            list_add(c->arena, &normal, glob);
            continue;
        }
        snprintf(path, sizeof path, "steps[%zu].ownership[%zu]", i,
                 item_place(c, i, "ownership", item));
        problems_add(c->problems, path, "%s", why);
    }
    if (step->ownership.state == LIST_SET &&
        js_count(js_get(js_at(c->steps, i), "ownership")) == 0) {
        snprintf(path, sizeof path, "steps[%zu].ownership", i);
        problems_add(c->problems, path,
                     "must name a path; leave it out where the step may change anything");
    }
    step->ownership = normal;
}

/* --- the whole ---------------------------------------------------------------------------------------------- */

static void check_globs(struct checking *c)
{
    size_t globs = 0;
    for (size_t i = 0; i < c->plan->count; i++)
        globs += c->plan->steps[i].ownership.n;
    if (globs > PLAN_GLOBS_MAX)
        problems_add(c->problems, "steps", "own %zu paths in all, at most %d are allowed", globs,
                     PLAN_GLOBS_MAX);
}

void plan_check(struct arena *arena, const struct js *steps, struct plan *plan,
                struct problems *problems)
{
    struct checking c = {arena, steps, plan, problems};
    for (size_t i = 0; i < plan->count; i++) {
        check_id(&c, i);
        check_needs(&c, i);
        check_ownership(&c, i);
    }
    check_circle(&c);
    check_globs(&c);
}

/* --- warnings ----------------------------------------------------------------------------------------------- */

/* Marks the step and all that it depends on. */
static void mark_needs(const struct plan *plan, size_t i, bool marked[PLAN_STEPS_MAX])
{
    if (marked[i])
        return;
    marked[i] = true;
    for (size_t k = 0; k < plan->steps[i].depends_on.n; k++)
        mark_needs(plan, plan->steps[i].needs[k], marked);
}

/* Whether some other step that changes something could run beside this one, if both owned less. */
static bool keeps_others_waiting(const struct plan *plan, size_t i)
{
    bool before[PLAN_STEPS_MAX] = {false};
    mark_needs(plan, i, before);
    for (size_t other = 0; other < plan->count; other++) {
        bool after[PLAN_STEPS_MAX] = {false};
        mark_needs(plan, other, after);
        if (plan->steps[other].role->writes != ROLE_READS && !before[other] && !after[i])
            return true;
    }
    return false;
}

/* Of what a person named: a planner's unknown tools are left out before. */
static void warn_of_tools(const struct plan_step *step, size_t i, struct problems *warnings)
{
    char path[RECORD_PATH_BYTES];
    snprintf(path, sizeof path, "steps[%zu].allowed_tools", i);
    for (size_t k = 0; k < step->allowed_tools.n; k++)
        if (tool_info_find(step->allowed_tools.items[k]) == NULL)
            problems_add(warnings, path, "there is no tool %.*s: the step will fail",
                         STR_FMT(step->allowed_tools.items[k]));
    if (step->allowed_tools.state == LIST_SET && step->type == STEP_IMPLEMENTATION &&
        step->role->writes != ROLE_READS && !plan_step_has(step, GROUP_WRITE) &&
        !plan_step_has(step, GROUP_SHELL))
        problems_add(warnings, path,
                     "has no tool that changes a file: the step can change nothing");
}

void plan_warn(const struct plan *plan, struct problems *warnings)
{
    char path[RECORD_PATH_BYTES];
    if (plan->completion_criteria.n == 0)
        problems_add(warnings, "completion_criteria",
                     "there are none: a review has nothing but the goal to go by");
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_step *step = &plan->steps[i];
        warn_of_tools(step, i, warnings);
        snprintf(path, sizeof path, "steps[%zu].ownership", i);
        if (step->role->writes == ROLE_READS && step->ownership.state == LIST_SET)
            problems_add(warnings, path, "has no effect: a %s changes nothing", step->role->name);
        if (step->role->writes != ROLE_READS && step->ownership.state == LIST_ABSENT &&
            keeps_others_waiting(plan, i))
            problems_add(warnings, path,
                         "is missing: the step owns everything, so no other step that changes "
                         "something runs beside it");
    }
}
