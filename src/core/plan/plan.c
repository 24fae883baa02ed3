/* Plans as documents: the tables of their keys, read and printed by the same rows as other documents that people write
 * (contract/registry_fields.h), and the words for types and statuses. What must hold between steps is check.c's work. Pure; any
 * thread. */
#include "core/plan/plan.h"

#include <stdio.h>

#include "base/utf8.h"
#include "core/contract/registry_fields.h"
#include "core/plan/check.h"

/* --- words -------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text, *role;
} types[STEP_TYPE_COUNT] = {
#define X(name, text, role) [STEP_##name] = {text, role},
    STEP_TYPES(X)
#undef X
};

static const char *const statuses[STEP_STATUS_COUNT] = {
#define X(name, text) [STEP_##name] = text,
    STEP_STATUSES(X)
#undef X
};

const char *step_type_text(enum step_type type)
{
    return types[type].text;
}

bool step_type_parse(struct str text, enum step_type *type)
{
    for (size_t i = 0; i < STEP_TYPE_COUNT; i++)
        if (str_is(text, types[i].text)) {
            *type = (enum step_type)i;
            return true;
        }
    return false;
}

const struct role *step_type_role(enum step_type type)
{
    return role_find(str_from(types[type].role));
}

const char *step_status_text(enum step_status status)
{
    return statuses[status];
}

bool step_status_parse(struct str text, enum step_status *status)
{
    for (size_t i = 0; i < STEP_STATUS_COUNT; i++)
        if (str_is(text, statuses[i])) {
            *status = (enum step_status)i;
            return true;
        }
    return false;
}

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool step_id_valid(struct str id)
{
    if (id.n == 0 || id.n > PLAN_STEP_ID_MAX || !is_letter_or_digit(id.p[0]))
        return false;
    for (size_t i = 1; i < id.n; i++)
        if (!is_letter_or_digit(id.p[i]) && id.p[i] != '_' && id.p[i] != '.' && id.p[i] != '-')
            return false;
    return true;
}

static bool is_type(struct str text)
{
    enum step_type type;
    return step_type_parse(text, &type);
}

static bool is_role(struct str text)
{
    return role_find(text) != NULL;
}

static bool is_status(struct str text)
{
    enum step_status status;
    return step_status_parse(text, &status);
}

/* --- documents ---------------------------------------------------------------------------------------------- */

/* A step and a plan as they stand in a document. */
struct step_document {
    struct str id, title, description, type, role, status, working_directory;
    struct list success_criteria, depends_on, ownership, allowed_tools;
    int64_t estimated_calls, max_retries;
    int requires_approval;
};

struct plan_document {
    int64_t version;
    struct str id, goal, summary;
    struct list completion_criteria;
};

#define AT(member) offsetof(struct step_document, member)
#define CRITERIA 0, PLAN_CRITERIA_MAX, PLAN_CRITERION_MAX, NULL, NULL
static const struct record_field step_fields[] = {
    {"id", RECORD_LINE, RECORD_REQUIRED, AT(id), 0, PLAN_STEP_ID_MAX, 0, step_id_valid,
     "^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$"},
    {"title", RECORD_LINE, RECORD_REQUIRED, AT(title), 0, PLAN_TITLE_MAX, 0, NULL, NULL},
    {"description", RECORD_TEXT, RECORD_REQUIRED, AT(description), 0, PLAN_DESCRIPTION_MAX, 0, NULL,
     NULL},
    {"success_criteria", RECORD_NAMES, RECORD_OPTIONAL, AT(success_criteria), CRITERIA},
    {"type", RECORD_LINE, RECORD_OPTIONAL, AT(type), 0, 32, 0, is_type,
     "research|planning|implementation|testing|review|deployment"},
    {"role", RECORD_LINE, RECORD_OPTIONAL, AT(role), 0, 32, 0, is_role,
     "researcher|planner|executor|reviewer|tester"},
    {"depends_on", RECORD_NAMES, RECORD_OPTIONAL, AT(depends_on), 0, PLAN_DEPENDS_MAX,
     PLAN_STEP_ID_MAX, NULL, NULL},
    {"ownership", RECORD_NAMES_IF_PRESENT, RECORD_OPTIONAL, AT(ownership), 0, PLAN_OWNERSHIP_MAX,
     PLAN_GLOB_MAX, NULL, NULL},
    {"working_directory", RECORD_LINE, RECORD_OPTIONAL, AT(working_directory), 0, PLAN_GLOB_MAX, 0,
     NULL, NULL},
    {"allowed_tools", RECORD_NAMES_IF_PRESENT, RECORD_OPTIONAL, AT(allowed_tools), 0,
     PLAN_TOOLS_MAX, REGISTRY_NAME_MAX, NULL, NULL},
    {"estimated_calls", RECORD_COUNT, RECORD_OPTIONAL, AT(estimated_calls), 1, PLAN_CALLS_MAX, 0,
     NULL, NULL},
    {"requires_approval", RECORD_SWITCH, RECORD_OPTIONAL, AT(requires_approval), 0, 0, 0, NULL,
     NULL},
    {"max_retries", RECORD_COUNT, RECORD_OPTIONAL, AT(max_retries), 0, PLAN_RETRIES_MAX, 0, NULL,
     NULL},
    {"status", RECORD_LINE, RECORD_OPTIONAL, AT(status), 0, 32, 0, is_status,
     "pending|in_progress|completed|failed|skipped|blocked"},
    {0},
};
#undef AT

#define AT(member) offsetof(struct plan_document, member)
static const struct record_field plan_fields[] = {
    {"version", RECORD_COUNT, RECORD_OPTIONAL, AT(version), PLAN_VERSION, PLAN_VERSION, 0, NULL,
     NULL},
    {"id", RECORD_LINE, RECORD_OPTIONAL, AT(id), 0, PLAN_ID_MAX, 0, NULL, NULL},
    {"goal", RECORD_TEXT, RECORD_REQUIRED, AT(goal), 0, PLAN_GOAL_MAX, 0, NULL, NULL},
    {"summary", RECORD_TEXT, RECORD_OPTIONAL, AT(summary), 0, PLAN_SUMMARY_MAX, 0, NULL, NULL},
    {"completion_criteria", RECORD_NAMES, RECORD_OPTIONAL, AT(completion_criteria), CRITERIA},
    {"steps", RECORD_ITEMS, RECORD_REQUIRED, 0, 1, PLAN_STEPS_MAX, 0, NULL, NULL},
    {0},
};
#undef AT

/* --- reading ------------------------------------------------------------------------------------------------ */

static void check_not_blank(struct str text, const char *where, const char *key,
                            struct problems *problems)
{
    char path[RECORD_PATH_BYTES];
    if (!text.p || !utf8_is_blank(text)) /* without p: missing or wrong, which was told already */
        return;
    snprintf(path, sizeof path, "%s%s", where, key);
    problems_add(problems, path, "must not be blank");
}

static void read_step(struct arena *arena, const struct js *value, size_t i, struct plan_step *step,
                      struct problems *problems)
{
    struct step_document document;
    char where[32], before[36];
    snprintf(where, sizeof where, "steps[%zu]", i);
    snprintf(before, sizeof before, "%s.", where);
    record_fields_read(step_fields, arena, value, where, &document, problems);
    check_not_blank(document.description, before, "description", problems);
    *step = (struct plan_step){
        .id = document.id,
        .title = document.title,
        .description = document.description,
        .success_criteria = document.success_criteria,
        .type = STEP_IMPLEMENTATION,
        .depends_on = document.depends_on,
        .ownership = document.ownership,
        .working_directory = document.working_directory,
        .allowed_tools = document.allowed_tools,
        .estimated_calls = document.estimated_calls,
        .approval = document.requires_approval ? APPROVAL_NEEDED : APPROVAL_NOT_NEEDED,
        .max_retries = document.max_retries,
        .status = STEP_PENDING,
    };
    if (document.type.p)
        step_type_parse(document.type, &step->type);
    if (document.status.p)
        step_status_parse(document.status, &step->status);
    step->role = document.role.p ? role_find(document.role) : step_type_role(step->type);
}

int plan_parse(struct arena *arena, const struct js *value, struct plan *out,
               struct problems *problems)
{
    struct plan_document document;
    struct plan plan = {0};
    size_t before = problems->found;
    const struct js *steps = js_get(value, "steps");
    record_fields_read(plan_fields, arena, value, "", &document, problems);
    check_not_blank(document.goal, "", "goal", problems);
    plan.id = document.id;
    plan.goal = document.goal;
    plan.summary = document.summary;
    plan.completion_criteria = document.completion_criteria;
    if (js_kind(steps) == JS_ARRAY && js_count(steps) <= PLAN_STEPS_MAX) {
        plan.count = js_count(steps);
        plan.steps = arena_alloc(arena, (plan.count + 1) * sizeof *plan.steps);
        for (size_t i = 0; i < plan.count; i++)
            read_step(arena, js_at(steps, i), i, &plan.steps[i], problems);
        plan_check(arena, steps, &plan, problems);
    }
    if (problems->found > before)
        return -1;
    *out = plan;
    return 0;
}

/* --- printing ----------------------------------------------------------------------------------------------- */

static void print_step(const struct plan_step *step, struct jw *w)
{
    struct step_document document = {
        .id = step->id,
        .title = step->title,
        .description = step->description,
        .type = str_from(step_type_text(step->type)),
        .role = str_from(step->role->name),
        .status = step->status == STEP_PENDING ? STR_NONE : str_from(statuses[step->status]),
        .success_criteria = step->success_criteria,
        .depends_on = step->depends_on,
        .ownership = step->ownership,
        .working_directory = step->working_directory,
        .allowed_tools = step->allowed_tools,
        .estimated_calls = step->estimated_calls,
        .max_retries = step->max_retries,
        .requires_approval = step->approval == APPROVAL_NEEDED,
    };
    record_fields_print(step_fields, w, &document);
}

static void print_steps(const struct plan *plan, struct jw *w)
{
    jw_key(w, "steps");
    jw_array(w);
    for (size_t i = 0; i < plan->count; i++)
        print_step(&plan->steps[i], w);
    jw_end_array(w);
}

void plan_print(const struct plan *plan, struct jw *w)
{
    jw_object(w);
    jw_kint(w, "version", PLAN_VERSION);
    if (plan->id.p)
        jw_kstr(w, "id", plan->id);
    jw_kstr(w, "goal", plan->goal);
    if (plan->summary.p)
        jw_kstr(w, "summary", plan->summary);
    list_print(w, "completion_criteria", &plan->completion_criteria);
    print_steps(plan, w);
    jw_end_object(w);
}

/* --- looking ------------------------------------------------------------------------------------------------ */

int64_t plan_step_calls(const struct plan_step *step)
{
    return step->estimated_calls != UNLIMITED ? step->estimated_calls : step->role->tool_calls;
}

bool plan_step_has(const struct plan_step *step, enum tool_group group)
{
    struct arena arena;
    bool has = false;
    arena_init(&arena);
    struct list tools = step->allowed_tools.state == LIST_SET
                            ? step->allowed_tools
                            : list_split(&arena, step->role->tools);
    for (size_t i = 0; i < tools.n && !has; i++) {
        const struct tool_info *tool = tool_info_find(tools.items[i]);
        has = tool != NULL && tool->group == group;
    }
    arena_release(&arena);
    return has;
}

size_t plan_find(const struct plan *plan, struct str id)
{
    size_t i = 0;
    while (i < plan->count && !str_eq(plan->steps[i].id, id))
        i++;
    return i;
}
