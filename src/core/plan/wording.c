/* See wording.h. Pure; any thread. */
#include "core/plan/wording.h"

enum { NAMES = 10, WORD_MAX = 40 };

/* In small letters without anything between words; the first that an object has counts. */
static const char *const part_names[PART_COUNT][NAMES] = {
    [PART_STEPS] = {"steps", "plansteps", "plan", "executionplan", "tasks", "subtasks", "actions",
                    "phases", "items"},
    [PART_GOAL] = {"goal", "objective", "task"},
    [PART_SUMMARY] = {"summary", "overview", "approach", "description", "strategy"},
    [PART_COMPLETION] = {"completioncriteria", "successcriteria", "acceptancecriteria", "donewhen",
                         "definitionofdone", "criteria"},
    [PART_ID] = {"id", "stepid", "taskid", "key", "number", "stepnumber", "index", "step"},
    [PART_TITLE] = {"title", "name", "step", "task", "summary", "label"},
    [PART_DESCRIPTION] = {"description", "details", "instructions", "task", "action", "what",
                          "objective", "prompt", "content", "text"},
    [PART_SUCCESS] = {"successcriteria", "acceptancecriteria", "criteria", "donewhen",
                      "expectedoutput", "expectedoutcome", "verification", "deliverables"},
    [PART_TYPE] = {"type", "steptype", "kind", "category", "phase"},
    [PART_ROLE] = {"role", "subagentrole", "agentrole", "agent", "assignee", "assignedto"},
    [PART_DEPENDS] = {"dependson", "dependencies", "dependency", "deps", "depends", "requires",
                      "prerequisites", "needs", "blockedby", "after"},
    [PART_OWNERSHIP] = {"ownership", "owns", "files", "paths", "writepaths", "targetfiles",
                        "filestomodify", "filestochange", "filesmodified"},
    [PART_TOOLS] = {"allowedtools", "tools", "toolset"},
    [PART_CALLS] = {"estimatedcalls", "estimatedtoolcalls", "toolcalls", "toolbudget", "budget",
                    "maxtoolcalls", "estimate", "effort"},
    [PART_APPROVAL] = {"requiresapproval", "needsapproval", "approvalrequired", "approval"},
    [PART_RETRIES] = {"maxretries", "retries", "retrylimit"},
    [PART_APPROVED] = {"approved", "isapproved", "approve", "accepted", "verdict"},
    [PART_FINDINGS] = {"findings", "issues", "problems", "defects"},
    [PART_FINDING_TITLE] = {"title", "issue", "problem", "finding", "summary"},
    [PART_FINDING_TEXT] = {"description", "details", "detail", "fix", "message", "suggestion",
                           "recommendation", "comment", "explanation"},
    [PART_FINDING_PLACE] = {"file", "path", "location", "where"},
};

static const struct {
    const char *start;
    enum step_type type;
} type_words[] = {
    {"research", STEP_RESEARCH},
    {"analy", STEP_RESEARCH},
    {"investigat", STEP_RESEARCH},
    {"explor", STEP_RESEARCH},
    {"discover", STEP_RESEARCH},
    {"plan", STEP_PLANNING},
    {"design", STEP_PLANNING},
    {"architect", STEP_PLANNING},
    {"implement", STEP_IMPLEMENTATION},
    {"cod", STEP_IMPLEMENTATION},
    {"develop", STEP_IMPLEMENTATION},
    {"execut", STEP_IMPLEMENTATION},
    {"refactor", STEP_IMPLEMENTATION},
    {"build", STEP_IMPLEMENTATION},
    {"fix", STEP_IMPLEMENTATION},
    {"doc", STEP_IMPLEMENTATION},
    {"edit", STEP_IMPLEMENTATION},
    {"writ", STEP_IMPLEMENTATION},
    {"test", STEP_TESTING},
    {"qa", STEP_TESTING},
    {"review", STEP_REVIEW},
    {"verif", STEP_REVIEW},
    {"validat", STEP_REVIEW},
    {"audit", STEP_REVIEW},
    {"deploy", STEP_DEPLOYMENT},
    {"releas", STEP_DEPLOYMENT},
    {"publish", STEP_DEPLOYMENT},
};

static const struct {
    const char *start, *role;
} role_words[] = {
    {"research", "researcher"}, {"analy", "researcher"},   {"explor", "researcher"},
    {"plan", "planner"},        {"architect", "planner"},  {"design", "planner"},
    {"execut", "executor"},     {"implement", "executor"}, {"cod", "executor"},
    {"develop", "executor"},    {"engineer", "executor"},  {"program", "executor"},
    {"build", "executor"},      {"writ", "executor"},      {"deploy", "executor"},
    {"review", "reviewer"},     {"audit", "reviewer"},     {"critic", "reviewer"},
    {"test", "tester"},         {"qa", "tester"},
};

/* Small letters and digits of a word, as far as they fit. */
static struct str folded(struct str word, char out[WORD_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < word.n && n < WORD_MAX; i++) {
        char c = word.p[i];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            out[n++] = c;
    }
    return (struct str){out, n};
}

const struct js *wording_member(const struct js *object, enum part part)
{
    const struct js *found = NULL, *value;
    size_t best = NAMES;
    struct str key;
    for (void *i = js_next(object, NULL, &key, &value); i; i = js_next(object, i, &key, &value)) {
        char room[WORD_MAX];
        struct str name = folded(key, room);
        for (size_t k = 0; k < best && part_names[part][k]; k++)
            if (js_kind(value) != JS_NULL && str_is(name, part_names[part][k])) {
                best = k;
                found = value;
            }
    }
    return found;
}

bool wording_left_out(const struct js *object, enum part part)
{
    struct str key;
    const struct js *value;
    for (void *i = js_next(object, NULL, &key, &value); i; i = js_next(object, i, &key, &value)) {
        char room[WORD_MAX];
        struct str name = folded(key, room);
        for (size_t k = 0; js_kind(value) == JS_NULL && k < NAMES && part_names[part][k]; k++)
            if (str_is(name, part_names[part][k]))
                return true;
    }
    return false;
}

bool wording_type(struct str word, enum step_type *type)
{
    char room[WORD_MAX];
    struct str name = folded(word, room);
    for (size_t i = 0; i < sizeof type_words / sizeof type_words[0]; i++)
        if (str_starts(name, str_from(type_words[i].start))) {
            *type = type_words[i].type;
            return true;
        }
    return false;
}

const struct role *wording_role(struct str word)
{
    char room[WORD_MAX];
    struct str name = folded(word, room);
    for (size_t i = 0; i < sizeof role_words / sizeof role_words[0]; i++)
        if (str_starts(name, str_from(role_words[i].start)))
            return role_find(str_from(role_words[i].role));
    return NULL;
}

enum step_type wording_type_of_role(const struct role *role)
{
    static const enum step_type order[] = {STEP_RESEARCH, STEP_PLANNING, STEP_IMPLEMENTATION,
                                           STEP_TESTING, STEP_REVIEW};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (step_type_role(order[i]) == role)
            return order[i];
    return STEP_IMPLEMENTATION;
}
