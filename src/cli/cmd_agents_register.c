/* `cadre agents register` and `unregister`: one entry of the registry, the rest as it is. */
#include "cli/agents.h"

static enum exit_code register_agent(struct invocation *invocation);
static enum exit_code unregister_agent(struct invocation *invocation);

static const struct option register_options[] = {
    {"tags", "A,B", "words that help to choose it, or none"},
    {"forward-skills", "A,B", "skills that it gets unasked, or none"},
    {"allow-forward-skills", "A,B", "skills that it may get, or none (not given: not narrowed)"},
    {"mcp", "A,B", "MCP servers that it gets unasked, or none"},
    {"allow-mcp", "A,B", "MCP servers that it may use, or none"},
    OPTION_IF_VERSION,
    OPTIONS_COMMON,
    OPTION_END,
};

static const struct option unregister_options[] = {
    OPTION_IF_VERSION,
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_agents_register = {
    .name = "agents register",
    .summary = "register an agent, or change one",
    .usage = "@AGENT PROFILE_ID \"DESCRIPTION\" [OPTIONS]",
    .details =
        "The description is one line of at most 300 characters; every root prompt shows it. "
        "What is registered\n"
        "again keeps its tags and lists unless they are given. `none` is an empty list: it "
        "allows nothing.\n"
        "To lift a list of allowed skills altogether, edit the registry (cadre agents registry "
        "put).",
    .example = "cadre agents register @writer profile:writer:v1 \"Writes docs | edits prose\" "
               "--tags writing,docs",
    .options = register_options,
    .operand_min = 3,
    .operand_max = 3,
    .run = register_agent,
};

const struct command cmd_agents_unregister = {
    .name = "agents unregister",
    .summary = "take an agent out of the registry",
    .usage = "@AGENT",
    .details = "Its profile and pins to that profile stay.",
    .example = "cadre agents unregister @writer",
    .options = unregister_options,
    .operand_min = 1,
    .operand_max = 1,
    .run = unregister_agent,
};

/* "a,b" as a list; "none" as the empty one. An option that was not given leaves the list as it is. */
static int take_list(struct agents *agents, const char *option, struct list *list, struct err *err)
{
    struct str rest = arguments_value(&agents->invocation->arguments, option);
    if (rest.p == NULL)
        return 0;
    struct list taken = {LIST_SET, NULL, 0};
    for (bool more = !str_is(rest, "none"); more;) {
        const char *comma = memchr(rest.p, ',', rest.n);
        struct str name = {rest.p, comma != NULL ? (size_t)(comma - rest.p) : rest.n};
        if (name.n == 0 || str_is(name, "none"))
            return err_set(err, ERR_USAGE,
                           "option --%s needs names with commas between them, or none alone",
                           option);
        list_add(&agents->plane.arena, &taken, name);
        more = comma != NULL;
        if (more)
            rest = (struct str){comma + 1, rest.n - name.n - 1};
    }
    *list = taken;
    return 0;
}

/* A default that is not allowed would be given to nobody: a mistake, where a person types it. */
static int check_defaults(struct agents *agents, const struct registry_agent *agent,
                          struct err *err)
{
    struct arena *arena = &agents->plane.arena;
    struct list everything = LIST_NONE;
    struct list servers = registry_mcp_servers(arena, &everything, agent);
    struct list got = registry_default_mcp_servers(arena, &servers, agent);
    if (got.n < agent->default_mcp_servers.n)
        return err_set(
            err, ERR_USAGE,
            "an MCP server that the agent gets unasked must be allowed too: --allow-mcp");
    struct list skills = registry_default_skills(arena, &agent->allowed_forward_skills, agent);
    if (skills.n < agent->default_forward_skills.n)
        return err_set(err, ERR_USAGE,
                       "a skill that the agent gets unasked must be allowed too: "
                       "--allow-forward-skills");
    return 0;
}

static enum exit_code write_registry(struct agents *agents, uint64_t expected, const char *done,
                                     struct str agent_id)
{
    struct buf value;
    struct jw w;
    buf_init(&value, SIZE_MAX / 4);
    jw_init(&w, &value);
    registry_print(&agents->plane.registry, &w);
    enum exit_code code =
        agents_write(agents, RECORD_POLICY, REGISTRY_ID, expected, buf_view(&value),
                     arena_printf(&agents->plane.arena, "%s %.*s", done, STR_FMT(agent_id)));
    buf_release(&value);
    return code;
}

/* A registry that cannot be read must not be replaced by one that holds a single agent. */
static int check_readable(const struct agents *agents, struct err *err)
{
    for (size_t i = 0; i < agents->plane.problems.count; i++)
        if (str_eq(agents->plane.problems.items[i].path, REGISTRY_ID))
            return err_set(
                err, ERR_CORRUPT,
                "the registry in the store cannot be read; put a whole one: cadre agents "
                "registry put FILE --if-version %llu",
                (unsigned long long)agents->plane.registry_version.version);
    return 0;
}

static enum exit_code register_agent(struct invocation *invocation)
{
    const struct str *operands = invocation->arguments.operands;
    struct agents agents;
    struct err err = ERR_INIT;
    uint64_t expected = 0;
    if (agents_open(&agents, invocation, &err) != 0)
        return command_fail(invocation, &err);
    struct registry *registry = &agents.plane.registry;
    const struct registry_agent *before = registry_find(registry, operands[0]);
    struct list none = {LIST_SET, NULL, 0};
    struct registry_agent agent = {.default_forward_skills = none,
                                   .allowed_forward_skills = LIST_NONE,
                                   .default_mcp_servers = none,
                                   .allowed_mcp_servers = none,
                                   .tags = none};
    if (before != NULL)
        agent = *before;
    agent.agent_id = operands[0];
    agent.profile_id = operands[1];
    agent.description = operands[2];
    enum exit_code code;
    if (check_readable(&agents, &err) != 0 || take_list(&agents, "tags", &agent.tags, &err) != 0 ||
        take_list(&agents, "forward-skills", &agent.default_forward_skills, &err) != 0 ||
        take_list(&agents, "allow-forward-skills", &agent.allowed_forward_skills, &err) != 0 ||
        take_list(&agents, "mcp", &agent.default_mcp_servers, &err) != 0 ||
        take_list(&agents, "allow-mcp", &agent.allowed_mcp_servers, &err) != 0 ||
        check_defaults(&agents, &agent, &err) != 0 ||
        agents_expected(&agents, agents.plane.registry_version.version, &expected, &err) != 0) {
        code = command_fail(invocation, &err);
    } else {
        registry_set(&agents.plane.arena, registry, &agent);
        code = write_registry(&agents, expected, before != NULL ? "changed" : "registered",
                              agent.agent_id);
    }
    agents_close(&agents);
    return code;
}

static enum exit_code unregister_agent(struct invocation *invocation)
{
    struct str name = invocation->arguments.operands[0];
    struct agents agents;
    struct err err = ERR_INIT;
    uint64_t expected = 0;
    enum exit_code code;
    if (agents_open(&agents, invocation, &err) != 0)
        return command_fail(invocation, &err);
    int result = check_readable(&agents, &err);
    if (result == 0 && !registry_remove(&agents.plane.registry, name))
        result =
            err_set(&err, ERR_NOT_FOUND,
                    "no agent %.*s is registered; cadre agents list shows them", STR_FMT(name));
    if (result == 0)
        result = agents_expected(&agents, agents.plane.registry_version.version, &expected, &err);
    code = result == 0 ? write_registry(&agents, expected, "unregistered", name)
                       : command_fail(invocation, &err);
    agents_close(&agents);
    return code;
}
