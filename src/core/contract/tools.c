/* Every tool that a contract can name, one row each. What is not in the table (a tool of an MCP
 * server) has the group OTHER and counts as outward. Nothing here runs a tool. Pure; any thread. */
#include "core/contract/tools.h"

/* Web calls are outward although they only read: after a crash their outcome is unknown and
 * nobody may repeat them silently. */
const struct tool_info tool_infos[] = {
    {"read", GROUP_READ, EFFECT_PURE, TOOL_ADAPTER, TOOL_COMMON, {"read_file"}},
    {"ls", GROUP_READ, EFFECT_PURE, TOOL_ADAPTER, TOOL_COMMON, {"list_files", "list_dir"}},
    {"grep", GROUP_READ, EFFECT_PURE, TOOL_ADAPTER, TOOL_COMMON, {"search_files"}},
    {"search", GROUP_READ, EFFECT_PURE, TOOL_ADAPTER, TOOL_COMMON, {"find_files"}},
    {"code_search", GROUP_READ, EFFECT_PURE, TOOL_ADAPTER, TOOL_COMMON, {NULL}},
    {"overview", GROUP_READ, EFFECT_PURE, TOOL_ADAPTER, TOOL_SPECIAL, {NULL}},
    {"docs_coverage", GROUP_READ, EFFECT_PURE, TOOL_ADAPTER, TOOL_SPECIAL, {NULL}},
    {"plan_files", GROUP_READ, EFFECT_PURE, TOOL_ADAPTER, TOOL_SPECIAL, {NULL}},
    {"git", GROUP_READ, EFFECT_PURE, TOOL_ADAPTER, TOOL_COMMON, {NULL}},
    {"git_diff", GROUP_READ, EFFECT_PURE, TOOL_ADAPTER, TOOL_COMMON, {NULL}},
    {"skill", GROUP_READ, EFFECT_PURE, TOOL_ADAPTER, TOOL_COMMON, {NULL}},
    {"web_fetch", GROUP_READ, EFFECT_OUTWARD, TOOL_ADAPTER, TOOL_COMMON, {NULL}},
    {"web_search", GROUP_READ, EFFECT_OUTWARD, TOOL_ADAPTER, TOOL_COMMON, {NULL}},

    {"write", GROUP_WRITE, EFFECT_OUTWARD, TOOL_PREPARED, TOOL_COMMON, {"write_file"}},
    {"edit", GROUP_WRITE, EFFECT_OUTWARD, TOOL_PREPARED, TOOL_COMMON, {"edit_file"}},
    {"multi_edit", GROUP_WRITE, EFFECT_OUTWARD, TOOL_PREPARED, TOOL_SPECIAL, {NULL}},
    {"delete", GROUP_WRITE, EFFECT_OUTWARD, TOOL_PREPARED, TOOL_COMMON, {NULL}},

    {"shell", GROUP_SHELL, EFFECT_OUTWARD, TOOL_ADAPTER, TOOL_COMMON, {"run_command"}},
    {"test", GROUP_SHELL, EFFECT_OUTWARD, TOOL_ADAPTER, TOOL_COMMON, {NULL}},
    {"git_commit", GROUP_COMMIT, EFFECT_OUTWARD, TOOL_ADAPTER, TOOL_COMMON, {NULL}},

    {"spawn", GROUP_DELEGATE, EFFECT_OUTWARD, TOOL_CORE, TOOL_COMMON, {NULL}},
    {"spawn_await", GROUP_DELEGATE, EFFECT_OUTWARD, TOOL_CORE, TOOL_COMMON, {NULL}},
    {"spawn_agent", GROUP_DELEGATE, EFFECT_OUTWARD, TOOL_CORE, TOOL_COMMON, {NULL}},
    {"delegate_task", GROUP_DELEGATE, EFFECT_OUTWARD, TOOL_CORE, TOOL_COMMON, {NULL}},
    {"fan_out", GROUP_DELEGATE, EFFECT_OUTWARD, TOOL_CORE, TOOL_SPECIAL, {NULL}},
    {"delegate", GROUP_DELEGATE, EFFECT_OUTWARD, TOOL_CORE, TOOL_COMMON, {NULL}},
    {"plan", GROUP_DELEGATE, EFFECT_OUTWARD, TOOL_CORE, TOOL_COMMON, {NULL}},
    {"agent_status", GROUP_DELEGATE, EFFECT_PURE, TOOL_CORE, TOOL_COMMON, {NULL}},
    {"agent_send", GROUP_DELEGATE, EFFECT_OUTWARD, TOOL_CORE, TOOL_COMMON, {NULL}},
    {"agent_cancel", GROUP_DELEGATE, EFFECT_OUTWARD, TOOL_CORE, TOOL_COMMON, {NULL}},
    {"agent_result", GROUP_DELEGATE, EFFECT_PURE, TOOL_CORE, TOOL_COMMON, {NULL}},
    {"agent_merge", GROUP_DELEGATE, EFFECT_OUTWARD, TOOL_CORE, TOOL_COMMON, {NULL}},

    {"ask_user", GROUP_ASK, EFFECT_OUTWARD, TOOL_QUESTION, TOOL_COMMON, {NULL}},
};
const size_t tool_info_count = sizeof tool_infos / sizeof tool_infos[0];

enum { ALIASES = sizeof tool_infos[0].aliases / sizeof tool_infos[0].aliases[0] };

/* By the first letter before the whole name: every call is looked up several times. */
static bool is_called(const char *known, struct str name)
{
    return known[0] == name.p[0] && str_is(name, known);
}

const struct tool_info *tool_info_find(struct str name)
{
    for (size_t i = 0; name.n > 0 && i < tool_info_count; i++)
        if (is_called(tool_infos[i].name, name))
            return &tool_infos[i];
    /* Contracts and nearly all models use the names. */
    for (size_t i = 0; name.n > 0 && i < tool_info_count; i++)
        for (size_t a = 0; a < ALIASES && tool_infos[i].aliases[a]; a++)
            if (is_called(tool_infos[i].aliases[a], name))
                return &tool_infos[i];
    return NULL;
}

struct str tool_normal_name(struct str name)
{
    const struct tool_info *info = tool_info_find(name);
    return info ? str_from(info->name) : name;
}

bool tool_is_special(struct str name)
{
    const struct tool_info *info = tool_info_find(name);
    return info != NULL && info->use == TOOL_SPECIAL;
}

struct list tool_normal_list(struct arena *arena, const struct list *names)
{
    if (names->state == LIST_ABSENT)
        return LIST_NONE;
    struct list normal = {LIST_SET, NULL, names->n};
    if (names->n > 0)
        normal.items = arena_alloc(arena, names->n * sizeof *normal.items);
    for (size_t i = 0; i < names->n; i++)
        normal.items[i] = tool_normal_name(names->items[i]);
    /* An alias and its tool in one list are one tool: intersecting with no constraint drops
     * repeats. */
    return list_intersect(arena, &normal, &LIST_NONE);
}
