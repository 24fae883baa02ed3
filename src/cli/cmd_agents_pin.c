/* `cadre agents pin`, `unpin` and `pins`: which profile is the default where. */
#include <stdlib.h>

#include "cli/agents.h"
#include "cli/text.h"

static enum exit_code pin(struct invocation *invocation);
static enum exit_code unpin(struct invocation *invocation);
static enum exit_code pins(struct invocation *invocation);

#define OPTIONS_SCOPE                                                                              \
    {"session", "ID", "in this session (default: the one of CADRE_SESSION)"},                      \
        {"user", NULL, "for this user"}, {"workspace", NULL, "in this workspace"},                 \
    {                                                                                              \
        "global", NULL, "for everybody who uses this store"                                        \
    }

static const struct option write_options[] = {
    OPTIONS_SCOPE,
    OPTION_IF_VERSION,
    OPTIONS_COMMON,
    OPTION_END,
};

static const struct option pins_options[] = {
    {"session", "ID", "show this session's pin (default: the one of CADRE_SESSION)"},
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_agents_pin = {
    .name = "agents pin",
    .summary = "make a profile the default of a session, user, workspace or everybody",
    .usage = "@AGENT|PROFILE_ID [--session ID|--user|--workspace|--global]",
    .details = "Of several pins the first of session, user, workspace and global counts. Without a "
               "scope it is the\n"
               "session that CADRE_SESSION names; without that, a scope must be given.",
    .example = "cadre agents pin @writer --user",
    .options = write_options,
    .operand_min = 1,
    .operand_max = 1,
    .run = pin,
};

const struct command cmd_agents_unpin = {
    .name = "agents unpin",
    .summary = "remove a pin",
    .usage = "[--session ID|--user|--workspace|--global]",
    .example = "cadre agents unpin --user",
    .options = write_options,
    .run = unpin,
};

const struct command cmd_agents_pins = {
    .name = "agents pins",
    .summary = "show the pin of every scope, and which one counts",
    .usage = "[--session ID]",
    .details = "A pin that counts and names a profile that is gone is an error: exit code 2.",
    .example = "cadre agents pins",
    .options = pins_options,
    .run = pins,
};

/* A session of this process alone would take its pin with it. */
static struct str lasting_session(const struct workspace *workspace)
{
    struct str named = str_from(getenv("CADRE_SESSION"));
    return named.n > 0 && str_eq(named, workspace->session_id) ? named : STR_NONE;
}

static int choose_session(struct agents *agents, struct str *id, struct err *err)
{
    *id = arguments_value(&agents->invocation->arguments, "session");
    if (id->p == NULL)
        *id = lasting_session(wire_workspace(agents->wire));
    if (id->p != NULL)
        return 0;
    return err_set(err, ERR_USAGE,
                   "which scope? --session ID, --user, --workspace or --global; without one, "
                   "CADRE_SESSION must name the session");
}

/* The record of the scope that was asked for: at most one; none is the session. */
static int choose_pin(struct agents *agents, enum pin_scope *scope, struct str *record_id,
                      struct err *err)
{
    const struct arguments *arguments = &agents->invocation->arguments;
    const struct workspace *workspace = wire_workspace(agents->wire);
    struct str id = STR_NONE;
    int given = 0;
    *scope = PIN_SESSION;
    for (int i = 0; i < PIN_SCOPE_COUNT; i++) {
        if (!arguments_has(arguments, pin_scope_text((enum pin_scope)i)))
            continue;
        *scope = (enum pin_scope)i;
        given++;
    }
    if (given > 1)
        return err_set(err, ERR_USAGE,
                       "one scope at a time: --session ID, --user, --workspace or --global");
    if (*scope == PIN_SESSION && choose_session(agents, &id, err) != 0)
        return -1;
    if (*scope == PIN_USER)
        id = workspace->user_id;
    if (*scope == PIN_WORKSPACE)
        id = workspace->workspace_id;
    return pin_record_id(&agents->plane.arena, *scope, id, record_id, err);
}

/* An agent stands for its profile. */
static int choose_profile(const struct agents *agents, struct str name, struct str *profile_id,
                          struct err *err)
{
    *profile_id = name;
    if (name.n == 0 || name.p[0] != '@')
        return 0;
    const struct registry_agent *agent = registry_find(&agents->plane.registry, name);
    if (agent == NULL)
        return err_set(err, ERR_NOT_FOUND,
                       "no agent %.*s is registered; cadre agents list shows them", STR_FMT(name));
    *profile_id = agent->profile_id;
    return 0;
}

static enum exit_code pin(struct invocation *invocation)
{
    struct agents agents;
    struct err err = ERR_INIT;
    enum pin_scope scope;
    struct str record_id = STR_NONE, profile_id = STR_NONE;
    struct buf value;
    struct jw w;
    uint64_t present = 0, expected = 0;
    enum exit_code code;
    if (agents_open(&agents, invocation, &err) != 0)
        return command_fail(invocation, &err);
    buf_init(&value, 65536);
    jw_init(&w, &value);
    if (choose_pin(&agents, &scope, &record_id, &err) != 0 ||
        choose_profile(&agents, invocation->arguments.operands[0], &profile_id, &err) != 0 ||
        agents_version(&agents, RECORD_POLICY, record_id, &present, &err) != 0 ||
        agents_expected(&agents, present, &expected, &err) != 0) {
        code = command_fail(invocation, &err);
    } else {
        pin_print(profile_id, &w);
        code = agents_write(&agents, RECORD_POLICY, record_id, expected, buf_view(&value),
                            arena_printf(&agents.plane.arena, "pinned %.*s as %.*s",
                                         STR_FMT(profile_id), STR_FMT(record_id)));
    }
    buf_release(&value);
    agents_close(&agents);
    return code;
}

static enum exit_code unpin(struct invocation *invocation)
{
    struct agents agents;
    struct err err = ERR_INIT;
    enum pin_scope scope;
    struct str record_id = STR_NONE;
    uint64_t present = 0, expected = 0;
    enum exit_code code;
    if (agents_open(&agents, invocation, &err) != 0)
        return command_fail(invocation, &err);
    int result = choose_pin(&agents, &scope, &record_id, &err);
    if (result == 0)
        result = agents_version(&agents, RECORD_POLICY, record_id, &present, &err);
    if (result == 0 && present == 0)
        result = err_set(&err, ERR_NOT_FOUND, "there is no %.*s", STR_FMT(record_id));
    if (result == 0)
        result = agents_expected(&agents, present, &expected, &err);
    code = result == 0
               ? agents_write(&agents, RECORD_POLICY, record_id, expected, STR_NONE,
                              arena_printf(&agents.plane.arena, "removed %.*s", STR_FMT(record_id)))
               : command_fail(invocation, &err);
    agents_close(&agents);
    return code;
}

/* --- pins --------------------------------------------------------------------------------------------------- */

static void print_pin(struct output *output, enum pin_scope scope, const struct plane_pin *entry,
                      bool counts)
{
    enum text_ellipsis ellipsis = output->glyphs == GLYPHS_UTF8 ? ELLIPSIS_UTF8 : ELLIPSIS_ASCII;
    struct buf line;
    buf_init(&line, 65536);
    buf_printf(&line, "%s %-9s  ", counts ? "*" : " ", pin_scope_text(scope));
    text_column(&line, entry->pin.profile_id.p != NULL ? entry->pin.profile_id : STR("-"), 32,
                ellipsis);
    if (entry->pin.profile_id.p != NULL) {
        buf_printf(&line, "  %7llu  ", (unsigned long long)entry->version.version);
        text_date(&line, entry->version.at);
        buf_text(&line, "  ");
        text_cut(&line, entry->version.who, 20, ellipsis);
    }
    output_print(output, "%.*s\n", STR_FMT(buf_view(&line)));
    buf_release(&line);
}

static void print_json(struct output *output, enum pin_scope scope, const struct plane_pin *entry,
                       bool counts)
{
    struct buf line;
    struct jw w;
    buf_init(&line, 65536);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "pin");
    jw_ktext(&w, "scope", pin_scope_text(scope));
    jw_kstr(&w, "resource_id", entry->pin.record_id);
    jw_key(&w, "profileId");
    if (entry->pin.profile_id.p != NULL)
        jw_str(&w, entry->pin.profile_id);
    else
        jw_null(&w);
    jw_kint(&w, "version", (int64_t)entry->version.version);
    jw_kbool(&w, "effective", counts);
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

/* The session that was named in place of the process's own. */
static int show_session(struct agents *agents, struct err *err)
{
    struct str id = arguments_value(&agents->invocation->arguments, "session");
    struct str record_id = STR_NONE;
    struct plane_pin *shown = &agents->plane.pins[PIN_SESSION];
    if (id.p == NULL)
        return 0;
    if (pin_record_id(&agents->plane.arena, PIN_SESSION, id, &record_id, err) != 0)
        return -1;
    *shown = (struct plane_pin){.pin = {record_id, STR_NONE}};
    for (size_t i = 0; i < agents->plane.pin_count; i++)
        if (str_eq(agents->plane.all_pins[i].pin.record_id, record_id))
            *shown = agents->plane.all_pins[i];
    return 0;
}

static enum exit_code pins(struct invocation *invocation)
{
    struct output *output = &invocation->output;
    struct agents agents;
    struct err err = ERR_INIT;
    const struct agent_profile *profile = NULL;
    if (agents_open(&agents, invocation, &err) != 0)
        return command_fail(invocation, &err);
    agents_warn(&agents);
    int result = show_session(&agents, &err);
    if (result == 0 && output->format == OUTPUT_TEXT)
        output_print(output, "  %-9s  %-32s  %7s  %-16s  %s\n", "SCOPE", "PROFILE", "VERSION",
                     "WHEN", "WHO");
    bool counted = false;
    for (int i = 0; result == 0 && i < PIN_SCOPE_COUNT; i++) {
        const struct plane_pin *entry = &agents.plane.pins[i];
        bool counts = !counted && entry->pin.profile_id.p != NULL;
        counted = counted || counts;
        if (output->format == OUTPUT_JSON)
            print_json(output, (enum pin_scope)i, entry, counts);
        else
            print_pin(output, (enum pin_scope)i, entry, counts);
    }
    if (result == 0)
        result = plane_pinned(&agents.plane, &profile, &err);
    if (result == 0 && profile == NULL && output->format == OUTPUT_TEXT)
        output_print(output, "Nothing is pinned: runs use the config's model.\n");
    agents_close(&agents);
    return result == 0 ? EXIT_CODE_DONE : command_fail(invocation, &err);
}
