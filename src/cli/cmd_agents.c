/* `cadre agents`: the agents that tasks can be delegated to. Holds the table of its parts, and the two that only look:
 * list and show. */
#include "cli/agents.h"
#include "cli/text.h"

static enum exit_code list(struct invocation *invocation);
static enum exit_code show(struct invocation *invocation);

extern const struct command cmd_agents_register, cmd_agents_unregister, cmd_agents_profile,
    cmd_agents_registry, cmd_agents_pin, cmd_agents_unpin, cmd_agents_pins, cmd_agents_history,
    cmd_agents_explain;

static const struct option options[] = {
    OPTIONS_COMMON,
    OPTION_END,
};

static const struct command cmd_agents_list = {
    .name = "agents list",
    .summary = "list the registered agents",
    .usage = "",
    .example = "cadre agents list",
    .options = options,
    .run = list,
};

static const struct command cmd_agents_show = {
    .name = "agents show",
    .summary = "show an agent: its profile, what it may use, its model",
    .usage = "@AGENT",
    .example = "cadre agents show @writer",
    .options = options,
    .operand_min = 1,
    .operand_max = 1,
    .run = show,
};

static const struct command *const parts[] = {
    &cmd_agents_list,       &cmd_agents_show,    &cmd_agents_explain,  &cmd_agents_register,
    &cmd_agents_unregister, &cmd_agents_profile, &cmd_agents_registry, &cmd_agents_pin,
    &cmd_agents_unpin,      &cmd_agents_pins,    &cmd_agents_history,  NULL,
};

const struct command cmd_agents = {
    .name = "agents",
    .summary = "manage the agents that tasks are delegated to, their profiles, and pins",
    .usage = "[COMMAND]",
    .details = "An agent (@writer) is an entry of the registry and has a profile "
               "(profile:writer:v1): a model, "
               "tools,\n"
               "skills and a prompt. A pin makes a profile the default of a session, a user, a "
               "workspace or "
               "everybody.\n"
               "Without a command, lists the agents. See docs/agents.md.",
    .example = "cadre agents list",
    .options = options,
    .parts = parts,
    .run = list,
};

static void list_line(struct output *output, const struct registry_agent *agent, int columns)
{
    enum text_ellipsis ellipsis = output->glyphs == GLYPHS_UTF8 ? ELLIPSIS_UTF8 : ELLIPSIS_ASCII;
    struct buf line;
    buf_init(&line, 65536);
    text_column(&line, agent->agent_id, 20, ellipsis);
    buf_text(&line, "  ");
    text_column(&line, agent->profile_id, 28, ellipsis);
    buf_text(&line, "  ");
    text_cut(&line, agent->description, columns > 100 ? columns - 52 : 48, ellipsis);
    output_print(output, "%.*s\n", STR_FMT(buf_view(&line)));
    buf_release(&line);
}

static enum exit_code list(struct invocation *invocation)
{
    struct output *output = &invocation->output;
    struct agents agents;
    struct err err = ERR_INIT;
    int columns, lines;
    if (agents_open(&agents, invocation, &err) != 0)
        return command_fail(invocation, &err);
    const struct registry *registry = &agents.plane.registry;
    agents_warn(&agents);
    output_size(output, &columns, &lines);
    if (output->format == OUTPUT_TEXT && registry->count == 0)
        output_print(output, "No agents are registered. Register one: cadre agents register "
                             "@writer PROFILE_ID \"description\"\n");
    else if (output->format == OUTPUT_TEXT)
        output_print(output, "%-20s  %-28s  %s\n", "AGENT", "PROFILE", "DESCRIPTION");
    for (size_t i = 0; i < registry->count; i++) {
        if (output->format == OUTPUT_JSON)
            agents_json_agent(&agents, &registry->agents[i]);
        else
            list_line(output, &registry->agents[i], columns);
    }
    agents_close(&agents);
    return EXIT_CODE_DONE;
}

static void show_text(struct agents *agents, const struct registry_agent *agent)
{
    struct output *output = &agents->invocation->output;
    const struct plane_profile *found = plane_profile(&agents->plane, agent->profile_id);
    agents_line(output, "agent", agent->agent_id);
    agents_line(output, "description", agent->description);
    agents_line_list(output, "tags", &agent->tags, "none");
    agents_line_list(output, "forwards skills", &agent->default_forward_skills, "none");
    agents_line_list(output, "may forward skills", &agent->allowed_forward_skills,
                     "what the profile and the parent allow");
    agents_line_list(output, "uses MCP servers", &agent->default_mcp_servers, "none");
    agents_line_list(output, "may use MCP servers", &agent->allowed_mcp_servers, "none");
    agents_line(output, "profile", agent->profile_id);
    if (found == NULL) {
        agents_line(output, "", STR("this profile is not there"));
        return;
    }
    const struct agent_profile *profile = &found->profile;
    agents_line(output, "  provider", profile->provider);
    agents_line(output, "  model", profile->model);
    agents_line_list(output, "  other models", &profile->allowed_models, "all that llm allows");
    agents_line_list(output, "  tools", &profile->allowed_tools, "the parent's");
    agents_line_list(output, "  skills", &profile->allowed_skills, "the parent's");
}

static enum exit_code show(struct invocation *invocation)
{
    struct str name = invocation->arguments.operands[0];
    struct agents agents;
    struct err err = ERR_INIT;
    if (agents_open(&agents, invocation, &err) != 0)
        return command_fail(invocation, &err);
    const struct registry_agent *agent = registry_find(&agents.plane.registry, name);
    agents_warn(&agents);
    if (agent == NULL)
        err_set(&err, ERR_NOT_FOUND, "no agent %.*s is registered; cadre agents list shows them",
                STR_FMT(name));
    else if (invocation->output.format == OUTPUT_JSON)
        agents_json_agent(&agents, agent);
    else
        show_text(&agents, agent);
    agents_close(&agents);
    return agent != NULL ? EXIT_CODE_DONE : command_fail(invocation, &err);
}
