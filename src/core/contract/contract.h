/* The contract: everything that binds an agent, immutable once made. CONTRACT.md is the rule
 * book; the JSON shape there is what contract_print writes and contract_parse reads. A text that
 * does not parse, lacks a section or has a wrong type is refused: no contract, no agent.
 *
 * Pure. All views belong to the arena given. */
#ifndef CADRE_CORE_CONTRACT_CONTRACT_H
#define CADRE_CORE_CONTRACT_CONTRACT_H

#include "core/contract/params.h"
#include "core/contract/role.h"
#include "core/contract/settings.h"

/* What changed:
 *   2  effort and sampling in model.params; execution.max_wall_ms and idle_timeout_ms; budget.wall_ms null where nobody set it. */
#define CONTRACT_VERSION 2
#define CLAMPS_MAX 32
/* Of the JSON of every contract that was made. A task of 1 MB stands in it twice, and escaped. */
#define CONTRACT_BYTES_MAX (16 << 20)

enum door {
    DOOR_ROOT,
    DOOR_SPAWN,
    DOOR_SPAWN_AGENT,
    DOOR_DELEGATE_TASK,
    DOOR_FAN_OUT,
    DOOR_DELEGATE,
    DOOR_PLAN
};
const char *door_text(enum door door);

struct clamp {
    struct str field; /* "execution.budget.tool_calls" */
    struct str asked; /* JSON text */
    struct str got;   /* JSON text */
    struct str by;    /* config | parent | budget | role | door | mode | model */
};

struct contract {
    int64_t version; /* by whose rules it is read: CONTRACT_VERSION, or lower in an older log */
    struct {         /* agent */
        struct str id, name, role, profile_id, agent_id, runner;
        int64_t depth;
    } agent;
    struct {
        struct str run_id, agent_id, session_id, task_prompt, goal_summary;
        int64_t step_idx;
    } parent;
    struct {
        struct str title, description;
        struct list success_criteria;
    } step;
    struct {
        struct str pool, name, provider, model; /* name: the settings' name of the model */
        struct list allowed_models;
        struct model_params params;
    } model;
    struct {
        enum mode mode;
        struct list allowed_tools; /* always set in a finished contract */
        struct {
            struct str tool;
            enum permission permission;
        } * tool_modes; /* one per allowed tool */
        size_t tool_mode_count;
        struct list skills, mcp_servers, read_paths, write_paths;
        struct str network;
        enum { SPAWN_NEVER, SPAWN_MAY } can_spawn_children;
        int64_t max_delegation_depth;
        struct list spawn_roles;
    } permissions;
    struct {
        int64_t attempt_timeout_ms, max_retries; /* attempt: UNLIMITED where nobody set it */
        int64_t idle_timeout_ms;                 /* silence that ends an attempt; 0: any time */
        int64_t
            max_wall_ms; /* the whole never passes this, whatever shows signs of life; 0: no such limit */
        enum { CLOSE_HELD, CLOSE_ON_COMPLETION } close;
        struct str working_directory;
        struct limits budget;
    } execution;
    struct {
        struct str strategy, base_ref;
        struct list ownership;
        int64_t integration_order;
    } isolation;
    struct {
        struct str report_format, report_path_pattern;
        enum gate gate;
        struct str schema; /* compact JSON text (js_print) or STR_NONE */
        struct list checks;
    } outputs;
    struct {
        enum door door;
        struct str prompt_hash;
        struct clamp *clamps;
        size_t clamp_count;
    } receipt;
    struct str json; /* of a contract that was just derived: what contract_print writes */
};

/* What a door asks for. STR_NONE, LIST_ABSENT and ASK_NOTHING where the caller said nothing.
 * Already typed: doors turn "abc" for a number into a tool error before they get here. */
#define ASK_NOTHING INT64_MIN
struct delegation {
    enum door door;
    struct str task;  /* required, not blank */
    struct str name;  /* display name; default: role or "agent" and the ordinal */
    struct str title; /* of the step; default: the task's first line */
    struct list success_criteria;
    struct str scope;   /* a focus, not a wall */
    struct str context; /* text that the parent passes on */
    struct str prompt;  /* stands before the usual system prompt */
    struct str pool;    /* a pool that the profile names */
    struct str schema;  /* of the answer: JSON; STR_NONE: the role's, if it has one */
    struct list
        checks; /* that the work must pass; absent: the role's, else those of all children */
    struct list context_files;
    struct str network; /* of processes; STR_NONE: the role's, else as the parent's */
    struct str role, mode;
    struct list allowed_tools;
    struct limits asked; /* ASK_NOTHING per field */
    int64_t max_retries, attempt_timeout_ms;
    struct list write_paths, ownership;
    struct str working_directory;
    struct str model;                /* a model that the caller names */
    struct str model_asked;          /* what a model wanted instead of `model`, and does not get */
    struct list allowed_models;      /* names of settings; absent: as the parent's */
    struct str profile_id, agent_id; /* of the registry */
    struct list skills, mcp_servers; /* already within the parent's; absent: as the parent's */
    struct list skills_asked, servers_asked; /* what the call or the entry wanted of these */
    int64_t context_window;                  /* of the profile */
    struct model_params params;              /* of the profile, the role and the call */
    int64_t step_idx;
};

/* A request that says nothing yet: fill in what was said. */
void delegation_init(struct delegation *request, enum door door);

/* What was found out for this call, besides config: gathered by an effect, logged, never read
 * again from the machine. */
struct facts {
    struct str run_id, session_id, parent_agent_id;
    struct str agent_id;    /* derived from parent and seq */
    struct str parent_task; /* for audit: the task that the parent works on */
    struct str workspace_path;
    int64_t remaining_tokens, remaining_cost_nano, remaining_wall_ms; /* of the parent; UNLIMITED */
    int64_t passed_tokens; /* estimate for what the parent passes on: context and context_files */
    int64_t ordinal;       /* of this child in the run, from 1 */
    enum asker asker;      /* who answers the questions of the run */
};

/* The root's contract from settings alone (layers without a parent). */
int contract_root(struct arena *arena, const struct settings *settings,
                  const struct delegation *request, const struct facts *facts, struct contract *out,
                  struct err *err);

/* Layers, then clamps: see CONTRACT.md "Derivation". Deterministic: the same four inputs give
 * the same bytes. Errors: USAGE with the verbatim texts ("maxToolCalls must be positive",
 * "timeoutMs must be at least 5000", "Maximum sub-agent depth (2) exceeded"), DENIED where the
 * parent may not do this, BUDGET where nothing is left. */
int contract_derive(struct arena *arena, const struct contract *parent,
                    const struct delegation *request, const struct facts *facts,
                    const struct settings *settings, struct contract *out, struct err *err);

void contract_print(const struct contract *contract, struct buf *out);
/* The clamps of its receipt, as they stand in it. */
void contract_clamps_print(const struct contract *contract, struct jw *w);
int contract_parse(struct arena *arena, struct str json, struct contract *out, struct err *err);
/* The contract is a shallow copy of another: afterwards its texts live in the arena, or are `like`'s where both say the same
 * (a child repeats most of its parent), and it is what contract_parse would read from its print. */
void contract_own(struct arena *arena, const struct contract *like, struct contract *contract);
/* Says 1 when child ⊆ parent in every dimension; else 0 and the dimension's name. The invariant,
 * as code. */
int contract_within(const struct contract *child, const struct contract *parent,
                    struct str *dimension);

/* How long the agent may take in all: wall_ms where it is set, else max_wall_ms; UNLIMITED. */
int64_t contract_deadline_ms(const struct contract *contract);

/* The contract's own decision about a tool's normal name: PERMIT_DENY for everything that it
 * does not name. */
enum permission contract_tool_mode(const struct contract *contract, struct str tool);

/* What the contract says about a call of this tool: ALLOW; ASK or ASK_MODE, about which permission_decide decides; DENY with
 * the reason in err. */
enum permission contract_permits(const struct contract *contract, struct str tool, struct err *err);

/* What the work must pass, where outputs.checks are set. */
/* room.c: is the agent told of tools that are seldom needed (tools.h)? A root, and whoever got tools from a role, a profile or a
 * call. */
bool contract_shows_special_tools(const struct contract *contract, const struct settings *settings);
/* Estimate for the schemas of its tools in a request. */
int64_t contract_tool_tokens(const struct contract *contract, const struct settings *settings);
void contract_prompt_checks(const struct contract *contract, struct buf *out);
/* The rule about the last message, where outputs.schema is set. */
void contract_prompt_schema(const struct contract *contract, struct buf *out);
/* The system prompt of a child. It depends on the role, the profile's prompt (request->prompt) and the
 * workspace alone, so that siblings share it. */
void contract_prompt(const struct contract *contract, const struct delegation *request,
                     struct str workspace_path, struct buf *out);
/* What stands behind the task in a child's first message (seed 002: working directory, scope, "N
 * tool calls"). */
void contract_brief(const struct contract *contract, struct str scope, struct buf *out);

#endif
