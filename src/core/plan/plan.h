/* A plan: a goal, and the steps that lead to it as a graph without circles (seed 004, with the steps of seed 000). What it
 * holds, how it is read, checked and printed. What may start when is schedule.h's business, what it costs estimate.h's, how a
 * planner's answer becomes one answer.h's.
 *
 *   {"version":1,"id":…,"goal":…,"summary":…,"completion_criteria":[…],
 *    "steps":[{"id":…,"title":…,"description":…,"success_criteria":[…],"type":…,"role":…,"depends_on":[…],"ownership":[…],
 *              "allowed_tools":[…],"estimated_calls":…,"requires_approval":true,"max_retries":…,"status":…}]}
 *
 * A step needs an id, a title and a description; a plan needs a goal and a step. A plan that was read never changes: how far
 * its steps are is kept beside it (struct step_state). Everything has a limit, since models write plans.
 *
 * Pure; any thread. All views belong to the arena given. */
#ifndef CADRE_CORE_PLAN_PLAN_H
#define CADRE_CORE_PLAN_PLAN_H

#include "core/contract/registry.h" /* struct problems */
#include "core/contract/role.h"
#include "core/contract/tools.h"

#define PLAN_VERSION 1
#define PLAN_BYTES_MAX (1 << 20) /* of a plan as text, JSON or YAML */
#define PLAN_STEPS_MAX 100
#define PLAN_GOAL_MAX (64 << 10)        /* bytes */
#define PLAN_SUMMARY_MAX (16 << 10)     /* bytes */
#define PLAN_ID_MAX 64                  /* characters */
#define PLAN_STEP_ID_MAX 40             /* characters */
#define PLAN_TITLE_MAX 120              /* characters */
#define PLAN_DESCRIPTION_MAX (32 << 10) /* bytes of one step's */
#define PLAN_CRITERIA_MAX 32            /* of one list */
#define PLAN_CRITERION_MAX 500          /* characters */
#define PLAN_DEPENDS_MAX PLAN_STEPS_MAX /* of one step: it may need all others */
#define PLAN_OWNERSHIP_MAX 32           /* globs of one step */
#define PLAN_GLOBS_MAX 256              /* of the whole plan: they are compared each with each */
#define PLAN_GLOB_MAX 256               /* characters */
#define PLAN_TOOLS_MAX 64
#define PLAN_CALLS_MAX 1000
#define PLAN_RETRIES_MAX 10

/* What a step is about, and who does it where the plan does not say. */
#define STEP_TYPES(X)                                                                              \
    X(RESEARCH, "research", "researcher")                                                          \
    X(PLANNING, "planning", "planner")                                                             \
    X(IMPLEMENTATION, "implementation", "executor")                                                \
    X(TESTING, "testing", "tester")                                                                \
    X(REVIEW, "review", "reviewer")                                                                \
    X(DEPLOYMENT, "deployment", "executor")
enum step_type {
#define X(name, text, role) STEP_##name,
    STEP_TYPES(X)
#undef X
        STEP_TYPE_COUNT
};

#define STEP_STATUSES(X)                                                                           \
    X(PENDING, "pending")         /* waits for its prerequisites, a slot, its paths */             \
    X(IN_PROGRESS, "in_progress") /* started and not integrated yet */                             \
    X(COMPLETED, "completed")     /* and integrated */                                             \
    X(FAILED, "failed")           /* or denied, or it could not be integrated */                   \
    X(SKIPPED, "skipped")         /* because something before it failed */                         \
    X(BLOCKED, "blocked")         /* waits for a person's approval */
enum step_status {
#define X(name, text) STEP_##name,
    STEP_STATUSES(X)
#undef X
        STEP_STATUS_COUNT
};

struct plan_step {
    struct str id;          /* ^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$, unique in the plan */
    struct str title;       /* one line */
    struct str description; /* what is to be done */
    struct list success_criteria;
    enum step_type type;     /* implementation where the plan does not say */
    const struct role *role; /* never NULL: the plan's, else the type's */
    struct list depends_on;  /* ids of steps */
    size_t *needs;           /* the same as indexes into steps, one for each */
    struct list ownership;   /* globs from the workspace, in normal form; absent: see ownership.h */
    struct str working_directory; /* from the workspace; STR_NONE: the workspace itself */
    struct list allowed_tools;    /* absent: the role's */
    int64_t estimated_calls;      /* UNLIMITED: nobody said; see plan_step_calls */
    enum { APPROVAL_NOT_NEEDED, APPROVAL_NEEDED } approval;
    int64_t max_retries;     /* UNLIMITED: as config says */
    enum step_status status; /* when the plan was written: pending unless it says more */
};

struct plan {
    struct str id; /* STR_NONE: it has none yet */
    struct str goal;
    struct str summary; /* STR_NONE: none */
    struct list completion_criteria;
    struct plan_step *steps; /* at least one */
    size_t count;
};

/* "research", "pending"; and back: false for an unknown text. */
const char *step_type_text(enum step_type type);
bool step_type_parse(struct str text, enum step_type *type);
const struct role *step_type_role(enum step_type type);
const char *step_status_text(enum step_status status);
bool step_status_parse(struct str text, enum step_status *status);
bool step_id_valid(struct str id);

/* Reads and checks a document: keys, types and limits, ids that are unique, prerequisites that exist, no circle (it is named:
 * "a → b → a"), known roles, sound globs. All that is wrong is added to problems, each with its path ("steps[2].depends_on[0]");
 * -1 where something was. Out is filled only where nothing is wrong. */
int plan_parse(struct arena *arena, const struct js *value, struct plan *out,
               struct problems *problems) NODISCARD;
/* What is allowed and may still not be meant: ownership of who cannot write, steps that nothing can run beside, tools that there are
 * not, work without a tool for it. */
void plan_warn(const struct plan *plan, struct problems *warnings);
/* Canonical JSON: the same plan gives the same bytes, and reads back as the same plan. */
void plan_print(const struct plan *plan, struct jw *w);
/* The same as YAML for people to edit: reads back as the same plan. */
void plan_print_yaml(const struct plan *plan, struct buf *out);

/* The tool calls that a step probably takes: what it says, else what its role has. */
int64_t plan_step_calls(const struct plan_step *step);
/* Whether the tools that it names, else its role's, have one of this group. */
bool plan_step_has(const struct plan_step *step, enum tool_group group);
/* The index of a step; plan->count: there is none. */
size_t plan_find(const struct plan *plan, struct str id);
/* Of a graph whose needs are set: a circle as "a → b → a", or STR_NONE. The steps' own order decides which one is found. */
struct str plan_circle(struct arena *arena, const struct plan *plan);

#endif
