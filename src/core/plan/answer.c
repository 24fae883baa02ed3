/* See answer.h. Three passes: find the steps in the answer, read each as far as it can be used (answer_values.c), link them
 * (answer_links.c). Nothing here can fail: what is left in the end is a valid plan. Pure; any thread. */
#include "core/plan/answer.h"

#include <stdio.h>

#include "base/utf8.h"
#include "core/contract/registry_fields.h"
#include "core/contract/tools.h"
#include "core/plan/answer_inside.h"
#include "core/plan/find.h"
#include "core/plan/ownership.h"
#include "core/plan/wording.h"

enum { NESTING_MAX = 3, TITLE_FROM_TEXT = 80 };

/* --- finding the steps -------------------------------------------------------------------------------------- */

/* A sentence is a step; a list of names, numbers or paths is none. */
static bool is_sentence(struct str text)
{
    return memchr(text.p ? text.p : "", ' ', text.n) != NULL;
}

static bool is_step(const struct js *value)
{
    return js_kind(value) == JS_OBJECT && (wording_member(value, PART_TITLE) != NULL ||
                                           wording_member(value, PART_DESCRIPTION) != NULL);
}

static bool is_step_or_sentence(const struct js *value)
{
    return is_step(value) || (js_kind(value) == JS_STRING && is_sentence(js_str(value)));
}

/* A list of steps, or an object that has them by their ids. */
static bool is_steps(const struct js *value)
{
    struct str key;
    const struct js *item;
    for (size_t i = 0; js_kind(value) == JS_ARRAY && i < js_count(value); i++)
        if (is_step_or_sentence(js_at(value, i)))
            return true;
    for (void *i = js_next(value, NULL, &key, &item); i; i = js_next(value, i, &key, &item))
        if (is_step(item))
            return true;
    return false;
}

/* Sets steps, and the plan around them (itself where there is none), where the value has any. */
static bool find_steps(struct reading_answer *r, const struct js *value, int nesting)
{
    const struct js *inner = js_kind(value) == JS_OBJECT ? wording_member(value, PART_STEPS) : NULL;
    if (inner && is_steps(inner)) {
        r->steps = inner;
        r->around = value;
        return true;
    }
    if (inner && nesting < NESTING_MAX && find_steps(r, inner, nesting + 1))
        return true;
    if (js_kind(value) == JS_ARRAY && is_steps(value)) {
        r->steps = value;
        r->around = NULL;
        return true;
    }
    return false;
}

/* Whether steps that were found inside of something broken, or in an answer that was cut, are the plan's own: not what one step says
 * of itself, such as its criteria or the parts that it has. */
static bool are_the_plans(const struct reading_answer *r, const struct js *value, size_t open)
{
    for (size_t i = 0; js_kind(r->steps) == JS_ARRAY && i < js_count(r->steps); i++)
        if (!is_step(js_at(r->steps, i)))
            return false;
    return open <= 1 && !is_step(value);
}

/* Nothing but sentences. They are steps where the answer has no others. */
static bool are_sentences(const struct js *value)
{
    for (size_t i = 0; i < js_count(value); i++)
        if (js_kind(js_at(value, i)) != JS_STRING)
            return false;
    return js_kind(value) == JS_ARRAY;
}

/* The first value of the answer that has steps; a list of sentences, or one that is a step itself, does where nothing else is there.
 * Free with js_free. */
static struct js *find_plan(struct reading_answer *r, struct str answer)
{
    struct finder finder;
    struct js *value, *second_best = NULL;
    bool whole;
    finder_init(&finder, utf8_cut(answer, ANSWER_BYTES_MAX));
    while ((value = finder_next(&finder, &whole)) != NULL) {
        bool has_steps = find_steps(r, value, 0), sentences = are_sentences(value);
        if (has_steps && !sentences && (whole || are_the_plans(r, value, finder.open))) {
            js_free(second_best);
            return value;
        }
        if (!second_best && whole && (has_steps || is_step(value)))
            second_best = value;
        else
            js_free(value);
    }
    r->steps = r->around = NULL;
    if (!find_steps(r, second_best, 0))
        r->single = second_best;
    return second_best;
}

/* --- reading a step ----------------------------------------------------------------------------------------- */

static void warn(struct reading_answer *r, size_t i, const char *what, struct str about)
{
    char path[RECORD_PATH_BYTES];
    snprintf(path, sizeof path, "steps[%zu]", i);
    problems_add(r->warnings, path, "%s%s%.*s", what, about.n > 0 ? ": " : "",
                 STR_FMT(utf8_cut(about, 80)));
}

static void read_words(struct reading_answer *r, const struct js *value, struct draft *draft)
{
    struct plan_step *step = &draft->step;
    if (js_kind(value) == JS_STRING) {
        step->description = answer_text(r->arena, value, PLAN_DESCRIPTION_MAX);
    } else {
        step->title = answer_line(r->arena, wording_member(value, PART_TITLE), PLAN_TITLE_MAX);
        step->description =
            answer_text(r->arena, wording_member(value, PART_DESCRIPTION), PLAN_DESCRIPTION_MAX);
    }
    if (step->title.n == 0)
        step->title = answer_first_line(r->arena, step->description, TITLE_FROM_TEXT);
    if (step->description.n == 0)
        step->description = step->title;
}

static void read_kind(struct reading_answer *r, const struct js *value, struct draft *draft)
{
    struct plan_step *step = &draft->step;
    struct str type = js_str(wording_member(value, PART_TYPE));
    struct str role = js_str(wording_member(value, PART_ROLE));
    bool typed = wording_type(type, &step->type);
    step->role = wording_role(role);
    if (type.n > 0 && !typed)
        warn(r, draft->place, "has a type that is not known", type);
    if (role.n > 0 && !step->role)
        warn(r, draft->place, "has a role that is not known", role);
    if (!typed)
        step->type = step->role ? wording_type_of_role(step->role) : STEP_IMPLEMENTATION;
    if (!step->role)
        step->role = step_type_role(step->type);
}

/* Paths that cannot be understood leave the step with everything: fewer than were meant would be refused later. */
static void read_ownership(struct reading_answer *r, const struct js *value, struct draft *draft)
{
    struct plan_step *step = &draft->step;
    struct list said = answer_words(r->arena, wording_member(value, PART_OWNERSHIP), LIST_ITEMS_MAX,
                                    PLAN_GLOB_MAX);
    struct list globs = {LIST_SET, NULL, 0};
    if (said.n == 0 || step->role->writes == ROLE_READS)
        return;
    for (size_t i = 0; i < said.n; i++) {
        const char *why = NULL;
        struct str glob = ownership_normal(r->arena, said.items[i], &why);
        if (!glob.p) {
            warn(r, draft->place, "owns everything, since a path of it cannot be used",
                 said.items[i]);
            return;
        }
        list_add(r->arena, &globs, glob);
    }
    if (globs.n > PLAN_OWNERSHIP_MAX || globs.n > PLAN_GLOBS_MAX - r->globs) {
        warn(r, draft->place, "owns everything, since it names too many paths", STR(""));
        return;
    }
    r->globs += globs.n;
    step->ownership = globs;
}

/* A tool that there is not would fail the step. Where none is left it has its role's, as without any. */
static void read_tools(struct reading_answer *r, const struct js *value, struct draft *draft)
{
    struct list said = answer_words(r->arena, wording_member(value, PART_TOOLS), PLAN_TOOLS_MAX,
                                    REGISTRY_NAME_MAX);
    struct list tools = {LIST_SET, NULL, 0};
    for (size_t i = 0; i < said.n; i++) {
        if (tool_info_find(said.items[i]))
            list_add(r->arena, &tools, said.items[i]);
        else
            warn(r, draft->place, "names a tool that is not there, which is left out",
                 said.items[i]);
    }
    if (tools.n > 0)
        draft->step.allowed_tools = tools;
}

/* Rounding would make up a limit that the planner did not give. Such a number spoils its own field alone. */
static int64_t read_count(struct reading_answer *r, const struct js *value, struct draft *draft,
                          const char *what, int64_t least, int64_t most)
{
    if (answer_is_no_count(value)) {
        struct buf said;
        buf_init(&said, 512);
        js_print(value, &said);
        warn(r, draft->place, what, buf_view(&said));
        buf_release(&said);
    }
    return answer_number(value, least, most);
}

static void read_step(struct reading_answer *r, struct str key, const struct js *value)
{
    struct draft *draft = &r->drafts[r->count];
    struct plan_step *step = &draft->step;
    *draft = (struct draft){.place = r->seen++, .given_id = key};
    if (js_kind(value) != JS_OBJECT && js_kind(value) != JS_STRING) {
        warn(r, draft->place, "is no step, and left out", STR(""));
        return;
    }
    read_words(r, value, draft);
    if (step->title.n == 0) {
        warn(r, draft->place, "says nothing, and is left out", STR(""));
        return;
    }
    if (js_kind(value) == JS_STRING)
        value = NULL;
    if (wording_member(value, PART_ID))
        draft->given_id = answer_line(r->arena, wording_member(value, PART_ID), PLAN_TITLE_MAX);
    read_kind(r, value, draft);
    read_ownership(r, value, draft);
    draft->depends =
        answer_words(r->arena, wording_member(value, PART_DEPENDS), LIST_ITEMS_MAX, PLAN_TITLE_MAX);
    step->success_criteria = answer_lines(r->arena, wording_member(value, PART_SUCCESS),
                                          PLAN_CRITERIA_MAX, PLAN_CRITERION_MAX);
    if (js_kind(js_get(value, "working_directory")) == JS_STRING)
        step->working_directory =
            answer_line(r->arena, js_get(value, "working_directory"), PLAN_GLOB_MAX);
    read_tools(r, value, draft);
    step->estimated_calls =
        read_count(r, wording_member(value, PART_CALLS), draft,
                   "has no whole number of calls, which is left out", 1, PLAN_CALLS_MAX);
    step->max_retries =
        read_count(r, wording_member(value, PART_RETRIES), draft,
                   "has no whole number of retries, which is left out", 0, PLAN_RETRIES_MAX);
    /* That nobody need agree to a deployment is a person's to say, in a plan that a person wrote. */
    step->approval =
        step->type == STEP_DEPLOYMENT || answer_yes(wording_member(value, PART_APPROVAL))
            ? APPROVAL_NEEDED
            : APPROVAL_NOT_NEEDED;
    r->count++;
}

static void read_steps(struct reading_answer *r)
{
    struct str key;
    const struct js *value;
    size_t said = r->single ? 1 : js_count(r->steps);
    if (said > PLAN_STEPS_MAX) {
        problems_add(r->warnings, "steps", "are %zu, at most %d are allowed", said, PLAN_STEPS_MAX);
        return;
    }
    r->drafts = arena_alloc(r->arena, (said + 1) * sizeof *r->drafts);
    if (r->single) {
        read_step(r, STR_NONE, r->single);
        return;
    }
    for (size_t i = 0; js_kind(r->steps) == JS_ARRAY && i < said; i++)
        read_step(r, STR_NONE, js_at(r->steps, i));
    for (void *i = js_next(r->steps, NULL, &key, &value); i; i = js_next(r->steps, i, &key, &value))
        read_step(r, arena_copy(r->arena, key), value);
}

/* --- the plan ----------------------------------------------------------------------------------------------- */

static void read_around(struct reading_answer *r, struct str goal, struct plan *out)
{
    *out = (struct plan){.goal = answer_clean(r->arena, goal, UTF8_LINES, PLAN_GOAL_MAX),
                         .completion_criteria = {LIST_SET, NULL, 0}};
    if (r->around) {
        struct str summary =
            answer_text(r->arena, wording_member(r->around, PART_SUMMARY), PLAN_SUMMARY_MAX);
        if (out->goal.n == 0)
            out->goal = answer_text(r->arena, wording_member(r->around, PART_GOAL), PLAN_GOAL_MAX);
        if (summary.n > 0)
            out->summary = summary;
        out->completion_criteria =
            answer_lines(r->arena, wording_member(r->around, PART_COMPLETION), PLAN_CRITERIA_MAX,
                         PLAN_CRITERION_MAX);
    }
    if (out->goal.n == 0)
        out->goal = STR("Do what was asked.");
}

/* The goal as one step. */
static void single_step(struct reading_answer *r, struct plan *out)
{
    out->steps = arena_alloc(r->arena, sizeof *out->steps);
    out->count = 1;
    out->steps[0] = (struct plan_step){
        .id = STR("step-1"),
        .title = answer_first_line(r->arena, out->goal, TITLE_FROM_TEXT),
        .description = utf8_cut(out->goal, PLAN_DESCRIPTION_MAX),
        .success_criteria = {LIST_SET, NULL, 0},
        .type = STEP_IMPLEMENTATION,
        .role = step_type_role(STEP_IMPLEMENTATION),
        .depends_on = {LIST_SET, NULL, 0},
        .estimated_calls = UNLIMITED,
        .max_retries = UNLIMITED,
    };
    problems_add(r->warnings, "",
                 "the planner's answer has no steps that can be used: the goal is one step");
}

void answer_read(struct arena *arena, struct str answer, struct str goal, struct plan *out,
                 struct problems *warnings)
{
    struct reading_answer r = {.arena = arena, .warnings = warnings};
    struct js *value = find_plan(&r, answer);
    if (value)
        read_steps(&r);
    read_around(&r, goal, out);
    if (r.count > 0)
        answer_link(&r, out);
    else
        single_step(&r, out);
    js_free(value);
}
