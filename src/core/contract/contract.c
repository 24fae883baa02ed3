/* What a finished contract says: which tool may be called, and whether one contract lies within
 * another. A zeroed contract (one that did not parse) permits nothing. Making contracts is
 * derive.c's work. Pure; any thread. */
#include "core/contract/contract.h"

#include "base/pathrule.h"
#include "core/contract/derive.h"

static const char *const door_texts[] = {
    [DOOR_ROOT] = "root",
    [DOOR_SPAWN] = "spawn",
    [DOOR_SPAWN_AGENT] = "spawn_agent",
    [DOOR_DELEGATE_TASK] = "delegate_task",
    [DOOR_FAN_OUT] = "fan_out",
    [DOOR_DELEGATE] = "delegate",
    [DOOR_PLAN] = "plan",
};

const char *door_text(enum door door)
{
    return (unsigned)door <= DOOR_PLAN ? door_texts[door] : "unknown";
}

enum permission contract_tool_mode(const struct contract *contract, struct str tool)
{
    /* An absent list means "no constraint" elsewhere; in a contract it means that there is no
     * contract. */
    if (contract->permissions.allowed_tools.state != LIST_SET ||
        !list_has(&contract->permissions.allowed_tools, tool))
        return PERMIT_DENY;
    for (size_t i = 0; i < contract->permissions.tool_mode_count; i++)
        if (str_eq(contract->permissions.tool_modes[i].tool, tool))
            return contract->permissions.tool_modes[i].permission;
    return PERMIT_DENY;
}

enum permission contract_permits(const struct contract *contract, struct str tool, struct err *err)
{
    struct str name = tool_normal_name(tool);
    enum permission permission = contract_tool_mode(contract, name);
    if (permission > PERMIT_DENY)
        return permission;

    const struct tool_info *info = tool_info_find(name);
    enum mode mode = contract->permissions.mode;
    enum permission cell = mode_table[mode][info ? info->group : GROUP_OTHER];
    struct buf tools;
    buf_init(&tools, sizeof err->message);
    for (size_t i = 0; i < contract->permissions.allowed_tools.n; i++)
        buf_printf(&tools, "%s%.*s", i > 0 ? ", " : "",
                   STR_FMT(contract->permissions.allowed_tools.items[i]));
    const char *why = "is not in this agent's contract";
    if (info == NULL)
        why = "does not exist";
    else if (contract->agent.depth > 0 && info->group == GROUP_ASK)
        why = "is denied: a sub-agent cannot ask the user";
    else if (cell <= PERMIT_DENY)
        why = "is denied by the mode";
    err_set(err, ERR_DENIED, "tool \"%.*s\" %s; mode %s, allowed tools: %s",
            (int)(tool.n < 64 ? tool.n : 64), tool.p ? tool.p : "", why, mode_text(mode),
            tools.n > 0 ? tools.p : "none");
    buf_release(&tools);
    return PERMIT_DENY;
}

/* child ⊆ parent, one function per dimension. */

static bool tools_within(const struct contract *child, const struct contract *parent)
{
    const struct list *tools = &child->permissions.allowed_tools;
    const struct list *bound = &parent->permissions.allowed_tools;
    if (tools->state != LIST_SET || bound->state != LIST_SET || !list_subset(tools, bound))
        return false;
    for (size_t i = 0; i < tools->n; i++)
        if (contract_tool_mode(child, tools->items[i]) >
            contract_tool_mode(parent, tools->items[i]))
            return false;
    return true;
}

static bool modes_within(const struct contract *child, const struct contract *parent)
{
    return mode_within(child->permissions.mode, parent->permissions.mode);
}

static bool each_path_within(const struct list *paths, const struct list *bounds)
{
    if (bounds->state == LIST_ABSENT)
        return true;
    if (paths->state == LIST_ABSENT)
        return false;
    for (size_t i = 0; i < paths->n; i++) {
        bool inside = false;
        for (size_t k = 0; k < bounds->n && !inside; k++)
            inside = pathrule_within(paths->items[i], bounds->items[k]);
        if (!inside)
            return false;
    }
    return true;
}

static bool reads_within(const struct contract *child, const struct contract *parent)
{
    return each_path_within(&child->permissions.read_paths, &parent->permissions.read_paths);
}

static bool writes_within(const struct contract *child, const struct contract *parent)
{
    return each_path_within(&child->permissions.write_paths, &parent->permissions.write_paths);
}

static bool reach_within(const struct contract *child, const struct contract *parent)
{
    return network_within(child->permissions.network, parent->permissions.network);
}

static bool skills_within(const struct contract *child, const struct contract *parent)
{
    return list_subset(&child->permissions.skills, &parent->permissions.skills);
}

static bool servers_within(const struct contract *child, const struct contract *parent)
{
    return list_subset(&child->permissions.mcp_servers, &parent->permissions.mcp_servers);
}

static bool models_within(const struct contract *child, const struct contract *parent)
{
    return list_subset(&child->model.allowed_models, &parent->model.allowed_models) &&
           list_has(&child->model.allowed_models, child->model.name);
}

static bool depth_within(const struct contract *child, const struct contract *parent)
{
    return parent->permissions.can_spawn_children == SPAWN_MAY &&
           child->agent.depth == parent->agent.depth + 1 &&
           child->agent.depth <= parent->permissions.max_delegation_depth &&
           child->permissions.max_delegation_depth <= parent->permissions.max_delegation_depth;
}

static bool roles_within(const struct contract *child, const struct contract *parent)
{
    const struct list *may_start = &parent->permissions.spawn_roles;
    bool role_may_start = may_start->state == LIST_ABSENT || list_has(may_start, child->agent.role);
    return role_may_start && list_subset(&child->permissions.spawn_roles, may_start);
}

static bool limit_within(int64_t child, int64_t parent)
{
    return parent == UNLIMITED || (child != UNLIMITED && child <= parent);
}

static bool tokens_within(const struct contract *child, const struct contract *parent)
{
    return limit_within(child->execution.budget.tokens, parent->execution.budget.tokens);
}

static bool cost_within(const struct contract *child, const struct contract *parent)
{
    return limit_within(child->execution.budget.cost_nano, parent->execution.budget.cost_nano);
}

static bool wall_within(const struct contract *child, const struct contract *parent)
{
    return limit_within(contract_deadline_ms(child), contract_deadline_ms(parent));
}

static const struct {
    const char *name;
    bool (*within)(const struct contract *child, const struct contract *parent);
} dimensions[] = {
    {"tools", tools_within},         {"mode", modes_within},    {"read_paths", reads_within},
    {"write_paths", writes_within},  {"network", reach_within}, {"skills", skills_within},
    {"mcp_servers", servers_within}, {"models", models_within}, {"depth", depth_within},
    {"spawn_roles", roles_within},   {"tokens", tokens_within}, {"cost", cost_within},
    {"wall", wall_within},
};

int contract_within(const struct contract *child, const struct contract *parent,
                    struct str *dimension)
{
    for (size_t i = 0; i < sizeof dimensions / sizeof dimensions[0]; i++)
        if (!dimensions[i].within(child, parent)) {
            *dimension = str_from(dimensions[i].name);
            return 0;
        }
    *dimension = STR_NONE;
    return 1;
}
