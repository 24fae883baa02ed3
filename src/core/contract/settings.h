/* Config as the core sees it: resolved values, no files. Logged with run.started as JSON, so
 * that resume and replay derive the same contracts without reading a disk. All views belong to
 * the arena it was parsed into. */
#ifndef CADRE_CORE_CONTRACT_SETTINGS_H
#define CADRE_CORE_CONTRACT_SETTINGS_H

#include "core/contract/network.h"
#include "core/contract/params.h"
#include "core/contract/permission.h"
#include "core/contract/profile.h"

#define UNLIMITED (-1)
/* Built-in time limits of children: they measure silence (timing.c). */
#define CHILD_TIMEOUT_MS 60000
#define ATTEMPT_TIMEOUT_MS 90000

/* Limits of one agent; UNLIMITED where there is none (null in JSON). Money is in nano-dollars
 * inside, dollars at the edge. */
struct limits {
    int64_t tool_calls, turns, context_tokens, tokens, cost_nano, wall_ms;
};

struct model_settings {
    struct str name;     /* what contracts and pools call it */
    struct str provider; /* a key of providers */
    struct str model;    /* what the provider calls it */
    struct str api;      /* "openai" … */
    struct str base_url;
    struct str api_key_env;                /* name of the variable, never its value */
    int64_t max_tokens;                    /* output limit of one request */
    int64_t max_context_tokens;            /* window */
    int64_t price_in_nano, price_out_nano; /* per token; UNLIMITED (-1): unknown */
    /* Of input that the provider had cached, or puts into its cache; UNLIMITED: as other input. */
    int64_t price_cached_nano, price_cache_write_nano;
    enum { TEXT_CALLS_ARE_TEXT, TEXT_CALLS_READ } text_tool_calls; /* calls written as text */
    /* Output limit of agents that have an effort: reasoning counts as output. 0: max_tokens. */
    int64_t effort_tokens;
    const struct model_params *params; /* of this model; NULL: none is set */
};

/* The longest answer that an agent with these parameters may ask of the model. */
int64_t model_output_most(const struct model_settings *model, const struct model_params *params);

/* Models that stand in for each other, in order: a call that fails goes to the next. */
struct pool {
    struct str name;
    struct list models; /* names of models */
};

/* A skill that was there when the run started. */
struct skill_listed {
    struct str name, description;
};

struct settings {
    /* llm */
    struct model_settings *models;
    size_t model_count;
    struct list allowed_models; /* names; absent: all configured */
    struct str default_model;   /* a name in models */
    struct pool *pools;
    size_t pool_count;
    struct str default_pool;    /* the pool that default_model comes from, or STR_NONE */
    struct model_params params; /* of the root; children inherit them */
    /* sub_agent */
    enum { SWITCH_OFF, SWITCH_ON } sub_agent_enabled, inherit_mode;
    int64_t max_depth;            /* 2 */
    int64_t max_concurrent;       /* 3 */
    int64_t delegate_concurrency; /* 1 */
    /* default_budget: tool_calls 15, wall 60000; context_tokens UNLIMITED: a quarter of the window */
    struct limits child;
    int64_t attempt_timeout_ms; /* ATTEMPT_TIMEOUT_MS */
    /* SWITCH_ON: somebody set default_budget.wall_ms, attempt_timeout_ms; else they are built in */
    int child_timeout_set, attempt_timeout_set;
    int64_t max_wall_ms; /* of a child whose time nobody limited: 900000 */
    int64_t max_retries; /* 1 */
    enum gate { GATE_PARENT, GATE_RUN } gate;
    /* mode, permissions, safety */
    enum mode mode;
    struct {
        struct str tool;
        enum permission permission;
    } * overrides; /* permissions: */
    size_t override_count;
    int64_t warn_at, pause_at, hard_stop_at; /* 20, 30, 100 */
    struct limits root;     /* cost $1.00 where prices are known, wall 15 minutes */
    int64_t model_attempts; /* of logs before version 3: tries of one request, 4 */
    int64_t patience_ms;    /* for how long a request is tried again before the run parks */
    int spawn_enabled;      /* SWITCH_ON: tools.spawn.enabled */
    int hold_children;      /* SWITCH_ON: sub_agent.close_on_completion is false */
    struct profile *profiles;
    size_t profile_count;
    struct role_outputs {
        struct str role, schema; /* schema: compact JSON */
    } * role_outputs;            /* roles: of whose answers something is demanded */
    size_t role_outputs_count;
    struct role_checks {
        struct str role; /* empty: every child that may change something */
        struct list checks;
    } * role_checks; /* commands that work must pass */
    size_t role_checks_count;
    struct str network; /* of the root's processes (network.h); children have no more */
    struct role_network {
        struct str role;
        struct str network;
    } * role_networks; /* roles whose processes reach less than their parent's */
    size_t role_network_count;
    struct role_params {
        struct str role;
        struct model_params params;
    } * role_params; /* effort and sampling of roles */
    size_t role_params_count;
    int reuse_results;       /* SWITCH_ON: sub_agent.cache */
    int64_t idle_timeout_ms; /* of a child's attempt from which nothing comes; 0: any time */
    struct skill_listed
        *skills; /* the root's; which ones children get is their contracts' business */
    size_t skill_count;
    struct list available_tools; /* what this build and machine offer */
    struct tool_size {
        struct str tool;
        int64_t bytes; /* of its description and schema in a request; 0: it is never offered */
    } * tool_sizes;    /* as they were when the run started */
    size_t tool_size_count;
    struct list test_directories; /* names that a tester may write to besides the usual ones */
    /* SWITCH_ON: isolation.children, isolation.root; isolation.snapshot is false. Off in logs of runs that knew no trees. */
    int isolate_children, isolate_root, refuse_dirty;
    int plan_enabled, plan_review; /* SWITCH_ON: plan.enabled, plan.review */
    int64_t review_rounds;         /* how often findings of a review become steps */
    int64_t approval_timeout_ms;   /* of a plan's step; 0: as long as the run has */
    int children_refused; /* SWITCH_ON: sub_agent.ask is deny, so nobody is asked for a child */
    int64_t
        question_timeout_ms; /* of a question that waits for `cadre approve`; then the run parks */
    struct list agent_ids;   /* that delegate can name: from the run's registry, not from config */
};

void settings_init(struct settings *settings); /* the built-in defaults above, no models */
const struct model_settings *settings_model(const struct settings *settings, struct str name);
/* Tells one server from another: the provider's name, or the base URL of a model without one. */
struct str model_server_name(const struct model_settings *model);
const struct pool *settings_pool(const struct settings *settings, struct str name); /* NULL: none */
/* Where the config of this process sets a list of checks. A run that is resumed may have others. */
struct checks_origin {
    struct str key;    /* "roles.tester.outputs.checks" */
    struct str origin; /* "FILE:3:5"; says when that is the project's file */
    struct list checks;
};

/* The checks of a role, "" for those of all children; an absent list where there are none. */
struct list settings_role_checks(const struct settings *settings, struct str role);
/* The schema of a role's answers, or STR_NONE. */
struct str settings_role_schema(const struct settings *settings, struct str role);
/* What a role's processes may reach: "full", which narrows nothing, where nobody said. */
struct str settings_role_network(const struct settings *settings, struct str role);
/* Effort and sampling of a role; NULL: none is set. */
const struct model_params *settings_role_params(const struct settings *settings, struct str role);
void settings_print(const struct settings *settings, struct jw *w);
/* Refuses unknown keys and wrong types (CORRUPT: it comes from the log or from config, which
 * checked already). */
int settings_parse(struct arena *arena, const struct js *value, struct settings *settings,
                   struct err *err);
/* The block of the system prompt that names the skills of a list: nothing where there are none. Bounded: what is too much is told
 * by the tool. */
void skills_prompt(const struct settings *settings, const struct list *allowed, struct buf *out);
/* "parent", "run", and back. */
const char *gate_text(enum gate gate);
int gate_parse(const struct js *value, const char *where, enum gate *gate, struct err *err);
/* One object with all six keys; key may be NULL where the value stands alone. */
void limits_print(const struct limits *limits, struct jw *w, const char *key);
int limits_parse(const struct js *value, const char *where, struct limits *limits, struct err *err);

#endif
