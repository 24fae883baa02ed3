/* Makes contracts. A sequence of steps: check what was asked, put layer over layer (later wins),
 * narrow, fill in who it is. The order of the steps is the rule: it stands in two tables, one
 * for children and one for roots. A new layer (profile, registry entry) is a new row between
 * "role" and "call". Narrowing itself is narrow.c's work. Deterministic: no clock, no ids of its
 * own. Pure; any thread. */
#include "core/contract/derive.h"

#include <math.h>
#include <stddef.h>

#include "base/utf8.h"
#include "core/contract/budget.h"
#include "core/contract/money.h"
#include "core/contract/registry.h"
#include "core/contract/schema.h"

enum {
    TASK_BYTES_MAX = 1024 * 1024,
    ASKED_ITEMS_MAX = 256,
    TITLE_CHARACTERS = 120,
    NAME_CHARACTERS = 64,
    TIMEOUT_MS_MIN = 5000,
    CHARACTERS_PER_TOKEN = 4,
};

static const struct limits limits_none = {UNLIMITED, UNLIMITED, UNLIMITED,
                                          UNLIMITED, UNLIMITED, UNLIMITED};

void delegation_init(struct delegation *request, enum door door)
{
    *request = (struct delegation){
        .door = door,
        .asked = {ASK_NOTHING, ASK_NOTHING, ASK_NOTHING, ASK_NOTHING, ASK_NOTHING, ASK_NOTHING},
        .max_retries = ASK_NOTHING,
        .attempt_timeout_ms = ASK_NOTHING,
        .step_idx = ASK_NOTHING,
        .context_window = ASK_NOTHING,
    };
    params_init(&request->params);
}

/* Checks of the request itself */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The first line that has something on it, without blanks around; empty if there is none. */
static struct str first_line(struct str text)
{
    while (text.n > 0 && is_blank(text.p[0])) {
        text.p++;
        text.n--;
    }
    const char *end = text.n > 0 ? memchr(text.p, '\n', text.n) : NULL;
    if (end)
        text.n = (size_t)(end - text.p);
    while (text.n > 0 && is_blank(text.p[text.n - 1]))
        text.n--;
    return text;
}

static int check_task(struct derivation *d, struct err *err)
{
    if (utf8_is_blank(d->request->task))
        return err_set(err, ERR_USAGE, "task must not be empty");
    if (d->request->task.n > TASK_BYTES_MAX)
        return err_set(err, ERR_USAGE, "task is longer than %d bytes", TASK_BYTES_MAX);
    const struct {
        const char *name;
        const struct list *list;
    } lists[] = {
        {"allowed_tools", &d->request->allowed_tools},
        {"write_paths", &d->request->write_paths},
        {"ownership", &d->request->ownership},
        {"context_files", &d->request->context_files},
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (lists[i].list->n > ASKED_ITEMS_MAX)
            return err_set(err, ERR_USAGE, "%s: at most %d items", lists[i].name, ASKED_ITEMS_MAX);
    return 0;
}

static int check_numbers(struct derivation *d, struct err *err)
{
    const struct limits *asked = &d->request->asked;
    const struct {
        int64_t value, least;
        const char *text;
    } rows[] = {
        {asked->tool_calls, 1, "maxToolCalls must be positive"},
        {asked->wall_ms, TIMEOUT_MS_MIN, "timeoutMs must be at least 5000"},
        {asked->context_tokens, 1, "maxTokens must be positive"},
        {asked->tokens, 1, "tokens must be positive"},
        {asked->turns, 1, "turns must be positive"},
        {asked->cost_nano, 1, "cost_usd must be positive"},
        {d->request->attempt_timeout_ms, TIMEOUT_MS_MIN,
         "attempt_timeout_ms must be at least 5000"},
        {d->request->max_retries, 0, "max_retries must not be negative"},
        {d->request->step_idx, 0, "step_idx must not be negative"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].value != ASK_NOTHING && rows[i].value < rows[i].least)
            return err_set(err, ERR_USAGE, "%s", rows[i].text);
    if (asked->cost_nano > DOLLARS_MAX * NANO_PER_DOLLAR)
        return err_set(err, ERR_USAGE, "cost_usd must be at most %d", (int)DOLLARS_MAX);
    return 0;
}

static int check_facts(struct derivation *d, struct err *err)
{
    if (!d->facts->run_id.p || !d->facts->agent_id.p)
        return err_set(err, ERR_BUG, "a contract needs the ids of its run and its agent");
    return 0;
}

/* Checks against the parent */

static int check_depth(struct derivation *d, struct err *err)
{
    int64_t depth = d->parent->agent.depth;
    if (depth >= d->settings->max_depth)
        return err_set(err, ERR_USAGE, "Maximum sub-agent depth (%lld) exceeded",
                       (long long)d->settings->max_depth);
    if (d->parent->permissions.can_spawn_children != SPAWN_MAY)
        return err_set(err, ERR_DENIED, "this agent may not start sub-agents");
    if (depth >= d->parent->permissions.max_delegation_depth)
        return err_set(err, ERR_USAGE, "Maximum sub-agent depth (%lld) exceeded",
                       (long long)d->parent->permissions.max_delegation_depth);
    d->out->agent.depth = depth + 1;
    return 0;
}

/* A plan is no tool: whoever runs it decided so. */
static int check_door(struct derivation *d, struct err *err)
{
    if (d->request->door == DOOR_ROOT)
        return err_set(err, ERR_BUG, "a root has no parent");
    if (d->request->door == DOOR_PLAN)
        return 0;
    return contract_permits(d->parent, str_from(door_text(d->request->door)), err) > PERMIT_DENY
               ? 0
               : -1;
}

static int check_role(struct derivation *d, struct err *err)
{
    const struct list *may_start = &d->parent->permissions.spawn_roles;
    struct str asked = d->request->role;
    struct list roles = {LIST_SET, NULL, 0};
    for (size_t i = 0; i < role_count; i++)
        if (list_has(may_start, str_from(role_table[i].name)))
            list_add(d->arena, &roles, str_from(role_table[i].name));
    char words[256];
    list_words(&roles, words, sizeof words);
    int shown = (int)(asked.n < 64 ? asked.n : 64);
    if (!asked.p && may_start->state == LIST_SET)
        return err_set(err, ERR_DENIED, "name a role; this agent may start only: %s", words);
    if (!asked.p)
        return 0;
    d->role = role_find(asked);
    if (!d->role)
        return err_set(err, ERR_USAGE, "unknown role \"%.*s\"; this agent may start: %s", shown,
                       asked.p, words);
    if (!list_has(may_start, asked))
        return err_set(err, ERR_DENIED,
                       "role \"%.*s\" is not allowed; this agent may start only: %s", shown,
                       asked.p, words);
    return 0;
}

static int check_root(struct derivation *d, struct err *err)
{
    if (d->request->role.p)
        return err_set(err, ERR_USAGE, "a root has no role; start a sub-agent with one");
    return 0;
}

/* Model: named or inherited, never replaced */

static struct list models_of(struct derivation *d)
{
    struct list all = {LIST_SET, NULL, 0};
    if (d->parent)
        all = d->parent->model.allowed_models;
    else if (d->settings->allowed_models.state == LIST_SET)
        all = d->settings->allowed_models;
    else
        for (size_t i = 0; i < d->settings->model_count; i++)
            list_add(d->arena, &all, d->settings->models[i].name);
    return list_intersect(d->arena, &all, &d->request->allowed_models);
}

/* The first model of the pool that the contract may use. */
static int pool_model(struct derivation *d, struct str pool_name, struct str *name, struct err *err)
{
    const struct pool *pool = settings_pool(d->settings, pool_name);
    for (size_t i = 0; pool && i < pool->models.n; i++)
        if (list_has(&d->out->model.allowed_models, pool->models.items[i])) {
            *name = pool->models.items[i];
            return 0;
        }
    return err_set(err, ERR_DENIED, "pool \"%.*s\" %s", (int)(pool_name.n < 64 ? pool_name.n : 64),
                   pool_name.p, pool ? "has no model that is allowed here" : "is not configured");
}

static void layer_params(struct model_params *params, const struct model_params *upper)
{
    if (upper)
        params_layer(params, upper);
}

/* Effort and sampling. Later wins: config or the parent, the model, the role, profile and call. A child with its
 * parent's model keeps what the parent has: that is what the model's own came to, or what was put over it. */
static int choose_params(struct derivation *d, struct err *err)
{
    struct model_params *params = &d->out->model.params;
    bool same = d->parent && str_eq(d->parent->model.name, d->model->name);
    if (d->request->params.effort.p && !effort_known(d->request->params.effort))
        return err_set(err, ERR_USAGE,
                       "effort must be one of none, minimal, low, medium, high, xhigh, max");
    *params = d->parent ? d->parent->model.params : d->settings->params;
    if (!same)
        layer_params(params, d->model->params);
    if (d->role)
        layer_params(params, settings_role_params(d->settings, str_from(d->role->name)));
    params_layer(params, &d->request->params);
    params->max_output_tokens = model_output_most(d->model, params);
    return 0;
}

static int choose_model(struct derivation *d, struct err *err)
{
    struct contract *out = d->out;
    struct str name = d->request->model;
    bool pooled = d->request->pool.n > 0 && !name.p;
    if (!name.p)
        name = d->parent ? d->parent->model.name : d->settings->default_model;
    out->model.allowed_models = models_of(d);
    if (pooled && pool_model(d, d->request->pool, &name, err) != 0)
        return -1;
    d->model = settings_model(d->settings, name);
    if (!d->model || !list_has(&out->model.allowed_models, name)) {
        char words[512];
        return err_set(err, d->request->model.p ? ERR_DENIED : ERR_CONFIG,
                       "model \"%.*s\" is not allowed; the allowed models are: %s",
                       (int)(name.n < 64 ? name.n : 64), name.p ? name.p : "",
                       list_words(&out->model.allowed_models, words, sizeof words));
    }
    out->model.name = arena_copy(d->arena, d->model->name);
    out->model.provider = arena_copy(d->arena, d->model->provider);
    out->model.model = arena_copy(d->arena, d->model->model);
    /* A model that was named is pinned: no other stands in for it. */
    struct str pool = pooled      ? d->request->pool
                      : d->parent ? d->parent->model.pool
                                  : d->settings->default_pool;
    out->model.pool = d->request->model.p ? STR_NONE : arena_copy(d->arena, pool);
    return choose_params(d, err);
}

/* Layers: each overwrites what it has an opinion on */

/* A limit in dollars binds the whole run. It is left out only where none of the models that may answer has a price. */
static bool any_model_is_priced(const struct derivation *d)
{
    const struct list *allowed = &d->out->model.allowed_models;
    for (size_t i = 0; i < d->settings->model_count; i++)
        if (list_has(allowed, d->settings->models[i].name) &&
            model_is_priced(&d->settings->models[i]))
            return true;
    return false;
}

/* Built-in defaults are inside: settings start from settings_init. */
static int layer_settings(struct derivation *d, struct err *err)
{
    d->limits = d->settings->child;
    int64_t window = model_window(d->model);
    if (d->limits.context_tokens == UNLIMITED && window != UNLIMITED)
        d->limits.context_tokens = window / 4;
    d->out->execution.max_retries = d->settings->max_retries;
    return 0;
}

static int layer_root_settings(struct derivation *d, struct err *err)
{
    d->limits = d->settings->root;
    d->limits.tool_calls = d->settings->hard_stop_at;
    d->limits.context_tokens = model_window(d->model);
    if (!any_model_is_priced(d))
        d->limits.cost_nano = UNLIMITED;
    d->out->execution.max_retries = d->settings->max_retries;
    return 0;
}

/* Whether a role that may start others is offered this tool of its parent's: the door that takes one role,
 * and what looks after children. Doors that take no role would only ever be refused. */
static bool is_door_of_roles(struct str tool)
{
    const struct tool_info *info = tool_info_find(tool);
    return info && info->group == GROUP_DELEGATE &&
           (str_is(tool, door_text(DOOR_SPAWN_AGENT)) || str_starts(tool, STR("agent_")));
}

/* A role that may start others needs the parent's doors to do so; its own list names only its
 * work. */
static int layer_role(struct derivation *d, struct err *err)
{
    if (!d->role)
        return 0;
    d->limits.tool_calls = d->role->tool_calls;
    d->limits.context_tokens = d->role->context_chars / CHARACTERS_PER_TOKEN;
    d->tools = list_split(d->arena, d->role->tools);
    const struct list *has = &d->parent->permissions.allowed_tools;
    for (size_t i = 0; d->role->spawn_roles[0] && i < has->n; i++) {
        if (d->out->agent.depth < d->parent->permissions.max_delegation_depth &&
            is_door_of_roles(has->items[i]))
            list_add(d->arena, &d->tools, has->items[i]);
    }
    return 0;
}

static void overlay(int64_t *value, int64_t asked)
{
    if (asked != ASK_NOTHING)
        *value = asked;
}

static int layer_call(struct derivation *d, struct err *err)
{
    const struct limits *asked = &d->request->asked;
    if (asked->cost_nano != ASK_NOTHING && !model_is_priced(d->model))
        return err_set(err, ERR_USAGE, "cost_usd needs a model with prices; \"%.*s\" has none",
                       (int)(d->model->name.n < 64 ? d->model->name.n : 64), d->model->name.p);
    overlay(&d->limits.tool_calls, asked->tool_calls);
    overlay(&d->limits.turns, asked->turns);
    overlay(&d->limits.context_tokens, d->request->context_window);
    overlay(&d->limits.context_tokens, asked->context_tokens);
    overlay(&d->limits.tokens, asked->tokens);
    overlay(&d->limits.cost_nano, asked->cost_nano);
    overlay(&d->out->execution.max_retries, d->request->max_retries);
    if (d->request->allowed_tools.state == LIST_SET)
        d->tools = tool_normal_list(d->arena, &d->request->allowed_tools);
    return 0;
}

/* Who it is and how its work ends */

static int fill_identity(struct derivation *d, struct err *err)
{
    struct contract *out = d->out;
    struct arena *arena = d->arena;
    const struct facts *facts = d->facts;
    const char *kind = d->role ? d->role->name : "agent";
    int64_t ordinal = facts->ordinal > 0 ? facts->ordinal : 0;
    struct str name = utf8_cut_chars(first_line(d->request->name), NAME_CHARACTERS);
    out->agent.id = arena_copy(arena, facts->agent_id);
    out->agent.name = arena_copy(arena, name);
    if (name.n == 0)
        out->agent.name = d->parent ? arena_printf(arena, "%s-%lld", kind, (long long)ordinal)
                                    : arena_copy(arena, STR("root"));
    out->agent.role = d->role ? str_from(d->role->name) : STR_NONE;
    out->agent.profile_id = arena_copy(arena, d->request->profile_id);
    out->agent.agent_id = arena_copy(arena, d->request->agent_id);
    out->agent.runner = STR("native");
    out->parent.run_id = arena_copy(arena, facts->run_id);
    out->parent.agent_id = arena_copy(arena, facts->parent_agent_id);
    out->parent.session_id = arena_copy(arena, facts->session_id);
    out->parent.task_prompt = arena_copy(arena, facts->parent_task);
    if (facts->parent_task.p)
        out->parent.goal_summary =
            arena_copy(arena, utf8_cut_chars(first_line(facts->parent_task), TITLE_CHARACTERS));
    out->parent.step_idx = ordinal;
    overlay(&out->parent.step_idx, d->request->step_idx);
    bool titled = d->request->title.n > 0;
    struct str title =
        utf8_cut_chars(first_line(titled ? d->request->title : d->request->task), TITLE_CHARACTERS);
    out->step.title = arena_copy(arena, title);
    out->step.description = arena_copy(arena, d->request->task);
    out->step.success_criteria = list_copy(arena, &d->request->success_criteria);
    out->step.success_criteria.state = LIST_SET;
    out->isolation.integration_order = ordinal;
    return 0;
}

/* The root may use every skill that was there when the run started. */
static struct list skill_names(struct derivation *d)
{
    struct list names = {LIST_SET, NULL, 0};
    for (size_t i = 0; i < d->settings->skill_count; i++)
        list_add(d->arena, &names, d->settings->skills[i].name);
    return names;
}

/* Whether the agent could change files. */
static bool may_change(const struct contract *contract)
{
    const struct list *tools = &contract->permissions.allowed_tools;
    for (size_t i = 0; i < tools->n; i++) {
        const struct tool_info *info = tool_info_find(tools->items[i]);
        if (info != NULL && (info->group == GROUP_WRITE || info->group == GROUP_SHELL))
            return contract->permissions.write_paths.n > 0;
    }
    return false;
}

/* Whoever can change files works in a tree of its own; so does a root that can start such children. */
static struct str isolation_strategy(const struct derivation *d)
{
    const struct contract *out = d->out;
    bool starts = !d->parent && out->permissions.can_spawn_children == SPAWN_MAY;
    int wanted = d->parent ? d->settings->isolate_children : d->settings->isolate_root;
    return wanted == SWITCH_ON && (starts || may_change(out)) ? STR("worktree") : STR("shared");
}

static bool names_have(const struct list *list, struct str bare)
{
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(registry_bare_name(list->items[i]), bare))
            return true;
    return false;
}

/* Names that were asked for and not given. Whether the parent lacks one of them decides who narrowed it. */
static void record_narrowed(struct derivation *d, const char *field, const struct list *asked,
                            const struct list *got, const struct list *parents)
{
    bool lost = false, parent_lacks = false;
    for (size_t i = 0; asked->state == LIST_SET && i < asked->n; i++) {
        struct str name = registry_bare_name(asked->items[i]);
        lost = lost || !names_have(got, name);
        parent_lacks = parent_lacks || (parents->state == LIST_SET && !names_have(parents, name));
    }
    if (lost)
        clamp_record(d, field, json_of_list(d->arena, asked), json_of_list(d->arena, got),
                     parent_lacks ? "parent" : "profile");
}

static int fill_outputs(struct derivation *d, struct err *err)
{
    struct contract *out = d->out;
    const struct list none = {LIST_SET, NULL, 0};
    const struct contract *parent = d->parent;
    out->permissions.skills =
        parent ? list_copy(d->arena, &parent->permissions.skills) : skill_names(d);
    out->permissions.mcp_servers =
        parent ? list_copy(d->arena, &parent->permissions.mcp_servers) : none;
    if (d->request->skills.state == LIST_SET)
        out->permissions.skills = list_copy(d->arena, &d->request->skills);
    if (d->request->mcp_servers.state == LIST_SET)
        out->permissions.mcp_servers = list_copy(d->arena, &d->request->mcp_servers);
    if (parent) {
        record_narrowed(d, "permissions.skills", &d->request->skills_asked,
                        &out->permissions.skills, &parent->permissions.skills);
        record_narrowed(d, "permissions.mcp_servers", &d->request->servers_asked,
                        &out->permissions.mcp_servers, &parent->permissions.mcp_servers);
    }
    if (d->request->model_asked.p)
        clamp_record(d, "model.model", json_of_text(d->arena, d->request->model_asked),
                     json_of_text(d->arena, out->model.model), "profile");
    /* Nobody could ask for the work of a plan's step, and the steps behind it need it. */
    bool held = parent && d->settings->hold_children && d->request->door != DOOR_PLAN;
    out->execution.close = held ? CLOSE_HELD : CLOSE_ON_COMPLETION;
    out->isolation.strategy = isolation_strategy(d);
    out->isolation.ownership = list_copy(d->arena, &d->request->ownership);
    out->outputs.report_format = STR("markdown");
    out->outputs.report_path_pattern = STR(".cadre/reports/<run>/<agent>-step-<idx>-result.md");
    bool gates = d->settings->gate == GATE_RUN || d->request->door == DOOR_PLAN;
    out->outputs.gate = gates ? GATE_RUN : GATE_PARENT;
    out->receipt.door = parent ? d->request->door : DOOR_ROOT;
    return 0;
}

/* A schema was checked where it entered; one that comes from a log or a record is checked here as well, because an agent must not
 * work under one that is enforced by half. */
static int fill_schema(struct derivation *d, struct err *err)
{
    struct str schema = d->request->schema;
    struct buf compact;
    if (!schema.p && d->role)
        schema = settings_role_schema(d->settings, str_from(d->role->name));
    if (!schema.p)
        return 0;
    buf_init(&compact, 4 * SCHEMA_BYTES_MAX);
    int result = schema_read(schema, &compact, err);
    if (result == 0)
        d->out->outputs.schema = arena_copy(d->arena, buf_view(&compact));
    buf_release(&compact);
    return result == 0 ? 0 : err_prefix(err, "outputs.schema");
}

/* From the profile, else the role, else what holds for every child: never from the call. */
static int fill_checks(struct derivation *d, struct err *err)
{
    struct list checks = d->request->checks;
    if (checks.state == LIST_ABSENT && d->role)
        checks = settings_role_checks(d->settings, str_from(d->role->name));
    if (checks.state == LIST_ABSENT && may_change(d->out))
        checks = settings_role_checks(d->settings, STR(""));
    d->out->outputs.checks = list_copy(d->arena, &checks);
    d->out->outputs.checks.state = LIST_SET;
    return 0;
}

static int fill_no_checks(struct derivation *d, struct err *err)
{
    d->out->outputs.checks = (struct list){LIST_SET, NULL, 0};
    return 0;
}

/* Whoever stores a contract may count on its size, whatever long names and paths were asked for. */
static int fill_json(struct derivation *d, struct err *err)
{
    struct buf text;
    buf_init(&text, CONTRACT_BYTES_MAX);
    contract_print(d->out, &text);
    bool fits = !text.failed;
    if (fits)
        d->out->json = arena_copy(d->arena, buf_view(&text));
    buf_release(&text);
    if (!fits)
        return err_set(err, ERR_USAGE, "the request is too large: a contract has at most %d bytes",
                       CONTRACT_BYTES_MAX);
    return 0;
}

typedef int (*derive_step)(struct derivation *d, struct err *err);

static const derive_step child_steps[] = {
    check_task,
    check_numbers,
    check_facts,
    check_depth,
    check_door,
    check_role,
    choose_model,
    /* layers, later wins */
    layer_settings,
    layer_role,
    layer_call,
    layer_time,
    /* clamps */
    narrow_mode,
    narrow_tools,
    narrow_paths,
    narrow_network,
    narrow_time,
    narrow_limits,
    /* the rest */
    fill_identity,
    fill_outputs,
    fill_checks,
    fill_schema,
    fill_prompt,
    fill_json,
    NULL,
};

/* A root's system prompt is put together from project files elsewhere: no hash of it here. */
static const derive_step root_steps[] = {
    check_task,
    check_numbers,
    check_facts,
    check_root,
    choose_model,
    /* layers, later wins */
    layer_root_settings,
    layer_call,
    layer_root_time,
    /* clamps */
    narrow_mode,
    narrow_tools,
    narrow_paths,
    narrow_network,
    narrow_limits,
    /* the rest */
    fill_identity,
    fill_outputs,
    fill_no_checks,
    fill_schema,
    fill_json,
    NULL,
};

/* Whoever ignores a failure holds a zeroed contract, which permits nothing. */
static int derive_run(const derive_step *steps, struct derivation *d, struct err *err)
{
    *d->out = (struct contract){.version = CONTRACT_VERSION};
    d->limits = limits_none;
    d->tools = LIST_NONE;
    for (; *steps; steps++)
        if ((*steps)(d, err) != 0) {
            *d->out = (struct contract){0};
            return -1;
        }
    return 0;
}

int contract_root(struct arena *arena, const struct settings *settings,
                  const struct delegation *request, const struct facts *facts, struct contract *out,
                  struct err *err)
{
    struct derivation d = {
        .arena = arena,
        .request = request,
        .facts = facts,
        .settings = settings,
        .out = out,
    };
    return derive_run(root_steps, &d, err);
}

int contract_derive(struct arena *arena, const struct contract *parent,
                    const struct delegation *request, const struct facts *facts,
                    const struct settings *settings, struct contract *out, struct err *err)
{
    struct derivation d = {
        .arena = arena,
        .parent = parent,
        .request = request,
        .facts = facts,
        .settings = settings,
        .out = out,
    };
    return derive_run(child_steps, &d, err);
}
