/* See asked.h. */
#include "cli/asked.h"

#include "cli/question.h"
#include "cli/services.h"

enum asker asked_by(const struct output *output, const struct config *config)
{
    enum asker here = questions_asker(output);
    return here == ASKER_NOBODY ? config->unattended : here;
}

/* As engine/trees.c finds it out: a root has a tree only in a repository that the user may write to. */
static enum call_place root_place(struct arena *arena, struct wire *wire,
                                  const struct contract *root)
{
    struct vcs_port *vcs = NULL;
    struct vcs_view view;
    struct err ignored = ERR_INIT;
    if (!str_is(root->isolation.strategy, "worktree") || wire_vcs(wire, &vcs, &ignored) != 0)
        return PLACE_USERS_FILES;
    int found = vcs->view(vcs->self, arena, wire_workspace(wire)->path, &view, &ignored);
    services_vcs_close(vcs);
    return found == 0 && view.access == VCS_WRITABLE ? PLACE_TREE : PLACE_USERS_FILES;
}

int asked_open(struct asked *asked, const struct settings *settings, struct arena *arena,
               const struct output *output, struct wire *wire, struct err *err)
{
    const struct config *config = wire_config(wire);
    struct delegation request;
    struct buf walls;
    *asked = (struct asked){.settings = settings, .asker = asked_by(output, config)};
    struct facts facts = {.run_id = STR("RUN"),
                          .agent_id = STR("ROOT"),
                          .workspace_path = STR("."),
                          .remaining_tokens = UNLIMITED,
                          .remaining_cost_nano = UNLIMITED,
                          .remaining_wall_ms = UNLIMITED,
                          .asker = asked->asker};
    buf_init(&walls, 256);
    services_walls_text(config, &walls);
    asked->walls = str_is(buf_view(&walls), "all") ? WALLS_UP : WALLS_DOWN;
    buf_release(&walls);
    delegation_init(&request, DOOR_ROOT);
    request.task = STR("the root's task");
    if (contract_root(arena, asked->settings, &request, &facts, &asked->root, err) != 0)
        return -1;
    asked->place = root_place(arena, wire, &asked->root);
    return 0;
}

struct contract asked_child(const struct asked *asked)
{
    struct contract child = asked->root;
    child.agent.depth = 1;
    if (asked->settings->isolate_children != SWITCH_ON)
        child.isolation.strategy = STR("shared");
    return child;
}

struct call_facts asked_facts(const struct asked *asked, const struct contract *contract,
                              struct str tool)
{
    const struct tool_info *info = tool_info_find(tool);
    bool child = contract->agent.depth > 0;
    struct call_facts facts = {.kind = child ? AGENT_CHILD : AGENT_ROOT,
                               .mode = contract->permissions.mode,
                               .group = info != NULL ? info->group : GROUP_OTHER,
                               .place = asked->place,
                               .walls = asked->walls,
                               .network = NETWORK_FULL,
                               .asker = asked->asker};
    network_parse(contract->permissions.network, &facts.network);
    /* A child's tree is a copy where there is no repository. */
    if (child && str_is(contract->isolation.strategy, "worktree"))
        facts.place = PLACE_TREE;
    if (child && asked->settings->children_refused == SWITCH_ON)
        facts.asker = ASKER_NOBODY;
    return facts;
}

const char *asked_word(const struct asked *asked, const struct contract *contract, struct str tool)
{
    struct call_facts facts = asked_facts(asked, contract, tool);
    switch (permission_decide(contract_tool_mode(contract, tool), &facts)) {
    case PERMIT_ALLOW:
        return "allowed";
    case PERMIT_ASK:
        return facts.asker == ASKER_INBOX ? "asked with `cadre approve`" : "asked";
    default:
        return "refused";
    }
}

static bool is_asked(const struct asked *asked, struct str tool)
{
    enum permission value = contract_tool_mode(&asked->root, tool);
    return value == PERMIT_ASK || value == PERMIT_ASK_MODE;
}

void asked_text(const struct asked *asked, struct buf *out)
{
    const struct list *tools = &asked->root.permissions.allowed_tools;
    struct contract child = asked_child(asked);
    buf_printf(
        out,
        "\n# A run that is started here: answers from %s, %s, its root in %s.\n"
        "# A call of a tool that is not named here is allowed, or the tool is not offered.\n",
        asker_text(asked->asker), asked->walls == WALLS_UP ? "all walls up" : "a wall is off",
        asked->place == PLACE_TREE ? "a tree of cadre's" : "your files");
    for (size_t i = 0; i < tools->n; i++)
        if (is_asked(asked, tools->items[i]))
            buf_printf(out, "# %.*s: %s; root %s, child %s\n", STR_FMT(tools->items[i]),
                       permission_text(contract_tool_mode(&asked->root, tools->items[i])),
                       asked_word(asked, &asked->root, tools->items[i]),
                       asked_word(asked, &child, tools->items[i]));
}

void asked_json(const struct asked *asked, struct jw *w)
{
    const struct list *tools = &asked->root.permissions.allowed_tools;
    struct contract child = asked_child(asked);
    jw_object(w);
    jw_ktext(w, "asker", asker_text(asked->asker));
    jw_kbool(w, "all_walls", asked->walls == WALLS_UP);
    jw_kbool(w, "root_in_tree", asked->place == PLACE_TREE);
    jw_key(w, "tools");
    jw_object(w);
    for (size_t i = 0; i < tools->n; i++) {
        struct str tool = tools->items[i];
        jw_key_str(w, tool);
        jw_object(w);
        jw_ktext(w, "value", permission_text(contract_tool_mode(&asked->root, tool)));
        jw_ktext(w, "root", asked_word(asked, &asked->root, tool));
        jw_ktext(w, "child", asked_word(asked, &child, tool));
        jw_end_object(w);
    }
    jw_end_object(w);
    jw_end_object(w);
}
