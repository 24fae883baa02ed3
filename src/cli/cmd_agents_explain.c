/* `cadre agents explain`: the contract that a child of this role, or this agent, would get from a root here and now, and where each
 * of its values comes from. Derives it as a run would; starts nothing. */
#include <math.h>
#include <stdio.h>

#include "cli/agents.h"
#include "cli/asked.h"
#include "core/contract/contract.h"

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"model", "NAME", "as for cadre run"},
    {"base-url", "URL", "as for cadre run"},
    {"mode", "MODE", "as for cadre run"},
    {"effort", "EFFORT", "as for cadre run"},
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_agents_explain = {
    .name = "agents explain",
    .summary =
        "show the contract that a role or an agent would get, and where each value comes from",
    .usage = "ROLE|@AGENT",
    .details = "A role is researcher, planner, executor, reviewer or tester; an agent is an entry "
               "of the registry.",
    .example = "cadre agents explain reviewer --base-url http://127.0.0.1:9/v1 --model any",
    .options = options,
    .operand_min = 1,
    .operand_max = 1,
    .run = run,
};

struct explained {
    struct arena arena;
    struct settings *settings;
    struct settings config, defaults;
    struct delegation request;
    struct asked asked;
    struct contract root, child;
    const struct role *role;
};

/* --- where values come from ------------------------------------------------------------------------------- */

static const char *setting_source(int64_t value, int64_t built_in)
{
    return value != built_in ? "config" : "built-in";
}

static const char *clamped_by(const struct contract *contract, const char *field)
{
    for (size_t i = 0; i < contract->receipt.clamp_count; i++)
        if (str_is(contract->receipt.clamps[i].field, field))
            return contract->receipt.clamps[i].by.p;
    return NULL;
}

static const char *budget_source(const struct explained *x, const char *key)
{
    const struct limits *child = &x->settings->child, *built_in = &x->defaults.child;
    if (strcmp(key, "tool_calls") == 0)
        return x->role ? "role" : setting_source(child->tool_calls, built_in->tool_calls);
    if (strcmp(key, "context_tokens") == 0)
        return x->role                                    ? "role"
               : x->request.context_window != ASK_NOTHING ? "profile"
               : child->context_tokens != built_in->context_tokens
                   ? "config"
                   : "a quarter of the model's window";
    if (strcmp(key, "wall_ms") == 0)
        return x->child.execution.budget.wall_ms != UNLIMITED ? "config" : "built-in";
    if (strcmp(key, "tokens") == 0)
        return setting_source(child->tokens, built_in->tokens);
    if (strcmp(key, "cost_usd") == 0)
        return setting_source(child->cost_nano, built_in->cost_nano);
    return setting_source(child->turns, built_in->turns);
}

static const char *tools_source(const struct explained *x)
{
    return x->role ? "role" : x->request.allowed_tools.state == LIST_SET ? "profile" : "parent";
}

static const char *model_source(const struct explained *x)
{
    return x->request.model.p ? "profile" : "parent";
}

struct value_row {
    const char *section, *key;
    const char *(*source)(const struct explained *x);
    const char *fixed;
};

static const char *retries_source(const struct explained *x)
{
    return setting_source(x->settings->max_retries, x->defaults.max_retries);
}

static const char *attempt_source(const struct explained *x)
{
    return x->child.execution.attempt_timeout_ms != UNLIMITED ? "config" : "built-in";
}

static const char *silence_source(const struct explained *x)
{
    return x->settings->idle_timeout_ms > 0 ? "config" : x->role ? "role" : "built-in";
}

static const char *most_source(const struct explained *x)
{
    return setting_source(x->settings->max_wall_ms, x->defaults.max_wall_ms);
}

static const char *gate_source(const struct explained *x)
{
    return setting_source(x->settings->gate, x->defaults.gate);
}

static const char *mode_source(const struct explained *x)
{
    return x->settings->inherit_mode == SWITCH_ON ? "parent" : "config";
}

static const char *spawn_source(const struct explained *x)
{
    return x->role ? "role" : "parent";
}

static const char *write_source(const struct explained *x)
{
    return x->role && x->role->writes != ROLE_WRITES ? "role" : "parent";
}

static const char *skills_source(const struct explained *x)
{
    return x->request.skills.state == LIST_SET ? "registry and profile" : "parent";
}

static const char *network_source(const struct explained *x)
{
    if (!str_eq(x->child.permissions.network, x->root.permissions.network))
        return x->role ? "role" : "profile";
    return str_eq(x->settings->network, x->defaults.network) ? "built-in" : "config";
}

static const char *modes_source(const struct explained *x)
{
    return x->settings->override_count > 0 ? "mode and config" : "mode";
}

static const char *schema_source(const struct explained *x)
{
    return x->request.schema.p != NULL         ? "profile"
           : x->child.outputs.schema.p != NULL ? "role"
                                               : "not set";
}

static const char *checks_source(const struct explained *x)
{
    return x->request.checks.state == LIST_SET ? "profile"
           : x->child.outputs.checks.n == 0    ? "not set"
                                               : "config";
}

static bool sets(const struct model_params *params, const char *key)
{
    if (params == NULL)
        return false;
    return strcmp(key, "effort") == 0        ? params->effort.p != NULL
           : strcmp(key, "temperature") == 0 ? isfinite(params->temperature)
           : strcmp(key, "top_p") == 0       ? isfinite(params->top_p)
           : strcmp(key, "seed") == 0        ? params->seed != PARAM_SEED_UNSET
                                             : params->stop.state == LIST_SET;
}

/* The uppermost layer that sets it, in the order of derive.c. */
static const char *param_source(const struct explained *x, const char *key)
{
    const struct model_settings *model = settings_model(x->settings, x->child.model.name);
    bool same = str_eq(x->child.model.name, x->root.model.name);
    if (strcmp(key, "max_output_tokens") == 0)
        return model_output_most(model, &x->child.model.params) > model->max_tokens
                   ? "the model, with room for its effort"
                   : "model";
    if (sets(&x->request.params, key))
        return "profile";
    if (x->role && sets(settings_role_params(x->settings, str_from(x->role->name)), key))
        return "role";
    if (sets(model->params, key))
        return same ? "parent, from llm.models" : "llm.models";
    return sets(&x->settings->params, key) ? "parent, from llm" : "not set";
}

static const struct value_row rows[] = {
    {"model", "model", model_source, NULL},
    {"model", "pool", model_source, NULL},
    {"model", "allowed_models", model_source, NULL},
    {"permissions", "mode", mode_source, NULL},
    {"permissions", "allowed_tools", tools_source, NULL},
    {"permissions", "tool_modes", modes_source, NULL},
    {"permissions", "skills", skills_source, NULL},
    {"permissions", "mcp_servers", skills_source, NULL},
    {"permissions", "read_paths", NULL, "parent"},
    {"permissions", "write_paths", write_source, NULL},
    {"permissions", "network", network_source, NULL},
    {"permissions", "can_spawn_children", spawn_source, NULL},
    {"permissions", "max_delegation_depth", NULL, "config"},
    {"permissions", "spawn_roles", spawn_source, NULL},
    {"execution", "attempt_timeout_ms", attempt_source, NULL},
    {"execution", "idle_timeout_ms", silence_source, NULL},
    {"execution", "max_wall_ms", most_source, NULL},
    {"execution", "max_retries", retries_source, NULL},
    {"execution", "working_directory", NULL, "parent"},
    {"isolation", "strategy", NULL, "built-in"},
    {"outputs", "gate", gate_source, NULL},
    {"outputs", "schema", schema_source, NULL},
    {"outputs", "checks", checks_source, NULL},
};

/* --- the contract ---------------------------------------------------------------------------------------------- */

static int fill_agent(struct explained *x, const struct plane *plane, struct str name,
                      struct err *err)
{
    const struct registry_agent *agent = registry_find(&plane->registry, name);
    struct profile_models models;
    if (agent == NULL)
        return err_set(err, ERR_NOT_FOUND, "no role and no registered agent is called \"%.*s\"",
                       (int)(name.n < 64 ? name.n : 64), name.p);
    const struct plane_profile *found = plane_profile(plane, agent->profile_id);
    if (found == NULL)
        return err_set(err, ERR_CONFIG, "the profile of this agent is gone");
    if (agent_profile_models(&x->arena, &found->profile, x->settings, &models, err) != 0)
        return -1;
    x->request.door = DOOR_DELEGATE;
    x->request.model = models.name;
    x->request.allowed_models = models.allowed_models;
    x->request.allowed_tools = tool_normal_list(&x->arena, &found->profile.allowed_tools);
    x->request.profile_id = found->profile.id;
    x->request.prompt = found->profile.system_prompt;
    x->request.schema = found->profile.output_schema;
    x->request.working_directory = found->profile.working_directory;
    x->request.params = agent_profile_params(&found->profile);
    x->request.agent_id = agent->agent_id;
    x->request.skills =
        registry_skills(&x->arena, &x->root.permissions.skills, &found->profile, agent);
    x->request.mcp_servers =
        registry_mcp_servers(&x->arena, &x->root.permissions.mcp_servers, agent);
    if (found->profile.context_window != UNLIMITED)
        x->request.context_window = found->profile.context_window;
    return 0;
}

static int derive(struct explained *x, const struct plane *plane, struct str name, struct err *err)
{
    struct facts facts = {.run_id = STR("RUN"),
                          .parent_agent_id = STR("ROOT"),
                          .agent_id = STR("CHILD"),
                          .workspace_path = STR("."),
                          .remaining_tokens = UNLIMITED,
                          .remaining_cost_nano = UNLIMITED,
                          .remaining_wall_ms = UNLIMITED,
                          .ordinal = 1,
                          .asker = x->asked.asker};
    x->root = x->asked.root;
    delegation_init(&x->request, DOOR_SPAWN_AGENT);
    x->request.task = STR("the child's task");
    x->role = role_find(name);
    if (x->role)
        x->request.role = name;
    else if (fill_agent(x, plane, name, err) != 0)
        return -1;
    return contract_derive(&x->arena, &x->root, &x->request, &facts, x->settings, &x->child, err);
}

/* --- showing it ------------------------------------------------------------------------------------------------- */

static void show_row(struct output *output, const struct explained *x, const char *section,
                     const char *key, const struct js *value, const char *source)
{
    char field[96];
    struct buf text;
    buf_init(&text, 1 << 20);
    snprintf(field, sizeof field, "%s.%s", section, key);
    const char *clamp = clamped_by(&x->child, field);
    if (output->format == OUTPUT_JSON) {
        struct jw w;
        jw_init(&w, &text);
        jw_object(&w);
        jw_ktext(&w, "type", "value");
        jw_ktext(&w, "field", field);
        struct buf json;
        buf_init(&json, 1 << 20);
        js_print(value, &json);
        jw_kraw(&w, "value", buf_view(&json));
        buf_release(&json);
        jw_ktext(&w, "from", source);
        if (clamp)
            jw_ktext(&w, "narrowed_by", clamp);
        jw_end_object(&w);
        output_json(output, &text);
    } else {
        js_print(value, &text);
        output_print(output, "%-36s ", field);
        output_clean(output, buf_view(&text), UTF8_ONE_LINE);
        output_print(output, "  (%s%s%s)\n", source, clamp ? ", narrowed by " : "",
                     clamp ? clamp : "");
    }
    buf_release(&text);
}

static void show(struct output *output, const struct explained *x, const struct js *contract)
{
    struct str key;
    const struct js *value;
    const struct js *budget = js_get(js_get(contract, "execution"), "budget");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        show_row(output, x, rows[i].section, rows[i].key,
                 js_get(js_get(contract, rows[i].section), rows[i].key),
                 rows[i].source ? rows[i].source(x) : rows[i].fixed);
    static const char *const params[] = {"effort", "temperature", "top_p",
                                         "seed",   "stop",        "max_output_tokens"};
    for (size_t i = 0; i < sizeof params / sizeof params[0]; i++) {
        value = js_get(js_get(js_get(contract, "model"), "params"), params[i]);
        if (js_kind(value) != JS_ABSENT)
            show_row(output, x, "model.params", params[i], value, param_source(x, params[i]));
    }
    for (void *i = js_next(budget, NULL, &key, &value); i; i = js_next(budget, i, &key, &value))
        show_row(output, x, "execution.budget", key.p, value, budget_source(x, key.p));
}

/* What a call of each tool would meet here and now. */
static void show_calls(struct output *output, const struct explained *x)
{
    const struct list *tools = &x->child.permissions.allowed_tools;
    for (size_t i = 0; i < tools->n; i++) {
        struct err ignored = ERR_INIT;
        struct call_facts facts = asked_facts(&x->asked, &x->child, tools->items[i]);
        enum permission value = contract_tool_mode(&x->child, tools->items[i]);
        struct buf key, text, source;
        if (value == PERMIT_ALLOW)
            continue;
        buf_init(&key, 256);
        buf_init(&text, 256);
        buf_init(&source, 512);
        buf_str(&key, tools->items[i]);
        json_quote(&text, str_from(asked_word(&x->asked, &x->child, tools->items[i])));
        buf_printf(&source, "%s, in %s, walls %s, network %s, answers from %s",
                   permission_text(value),
                   facts.place == PLACE_TREE ? "a tree of cadre's" : "the user's files",
                   facts.walls == WALLS_UP ? "up" : "not all up",
                   facts.network == NETWORK_NONE ? "none" : "some", asker_text(facts.asker));
        struct js *word = js_parse(buf_view(&text), &ignored);
        show_row(output, x, "calls", key.p, word, source.p);
        js_free(word);
        buf_release(&key);
        buf_release(&text);
        buf_release(&source);
    }
}

static enum exit_code run(struct invocation *invocation)
{
    struct wire_request request = {.need = WIRE_MODEL, .workspace = STR_NONE};
    struct explained x = {0};
    struct agents agents;
    struct wire *wire = NULL;
    struct err err = ERR_INIT;
    if (agents_open(&agents, invocation, &err) != 0)
        return command_fail(invocation, &err);
    arena_init(&x.arena);
    settings_init(&x.defaults);
    wire_flags(&invocation->arguments, &request.flags);
    enum exit_code code = EXIT_CODE_DONE;
    if (wire_open(&request, &wire, &err) == 0) {
        x.config = wire_config(wire)->settings;
        x.settings = &x.config;
        for (size_t i = 0; i < agents.plane.registry.count; i++)
            list_add(&x.arena, &x.config.agent_ids, agents.plane.registry.agents[i].agent_id);
        if (asked_open(&x.asked, x.settings, &x.arena, &invocation->output, wire, &err) == 0 &&
            derive(&x, &agents.plane, invocation->arguments.operands[0], &err) == 0) {
            struct js *contract = js_parse(x.child.json, &err);
            show(&invocation->output, &x, contract);
            show_calls(&invocation->output, &x);
            js_free(contract);
        }
    }
    if (err.class != ERR_NONE)
        code = command_fail(invocation, &err);
    wire_close(wire);
    arena_release(&x.arena);
    agents_close(&agents);
    return code;
}
