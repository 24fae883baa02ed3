/* `cadre agents profile put`, `list`, `show` and `remove`. */
#include "cli/agents.h"
#include "cli/text.h"

static enum exit_code put(struct invocation *invocation);
static enum exit_code list(struct invocation *invocation);
static enum exit_code show(struct invocation *invocation);
static enum exit_code remove_profile(struct invocation *invocation);

static const struct option look_options[] = {
    OPTIONS_COMMON,
    OPTION_END,
};

static const struct option write_options[] = {
    OPTION_IF_VERSION,
    OPTIONS_COMMON,
    OPTION_END,
};

static const struct command cmd_put = {
    .name = "agents profile put",
    .summary = "store a profile from a file",
    .usage = "FILE.json|- [--if-version N]",
    .details =
        "The file names itself with \"id\": \"profile:NAME:VERSION\". A profile that exists is "
        "replaced only with\n"
        "--if-version. docs/agents.md lists the keys.",
    .example =
        "echo '{\"id\":\"profile:editor:v1\",\"provider\":\"local\",\"model\":\"scripted\"}' | "
        "cadre agents profile put -",
    .options = write_options,
    .operand_min = 1,
    .operand_max = 1,
    .run = put,
};

static const struct command cmd_list = {
    .name = "agents profile list",
    .summary = "list the profiles",
    .usage = "",
    .example = "cadre agents profile list",
    .options = look_options,
    .run = list,
};

static const struct command cmd_show = {
    .name = "agents profile show",
    .summary = "print a profile as JSON; its version goes to stderr",
    .usage = "PROFILE_ID",
    .example = "cadre agents profile show profile:writer:v1",
    .options = look_options,
    .operand_min = 1,
    .operand_max = 1,
    .run = show,
};

static const struct command cmd_remove = {
    .name = "agents profile remove",
    .summary = "remove a profile that no agent has",
    .usage = "PROFILE_ID [--if-version N]",
    .details =
        "Pins to it are told and stay: each is an error where it counts, until it is removed.",
    .example = "cadre agents profile remove profile:editor:v1",
    .options = write_options,
    .operand_min = 1,
    .operand_max = 1,
    .run = remove_profile,
};

static const struct command *const parts[] = {&cmd_put, &cmd_list, &cmd_show, &cmd_remove, NULL};

const struct command cmd_agents_profile = {
    .name = "agents profile",
    .summary = "store, list, show and remove profiles",
    .usage = "put|list|show|remove",
    .example = "cadre agents profile list",
    .options = look_options,
    .parts = parts,
    .run = list,
};

/* The document names its record; whether the name is a valid one is for plane_write to say. */
static int profile_id_of(struct agents *agents, struct str text, struct str *id, struct err *err)
{
    struct js *value = js_parse(text, err);
    if (value == NULL) {
        err->class = ERR_USAGE;
        return err_prefix(err, "the profile is not JSON");
    }
    *id = arena_copy(&agents->plane.arena, js_get_str(value, "id"));
    js_free(value);
    if (profile_id_valid(*id))
        return 0;
    return err_set(
        err, ERR_USAGE,
        "the profile needs \"id\": \"profile:NAME:VERSION\", in small letters, digits and "
        "_ . : -");
}

/* A tool that nothing offers would never be there, and its name is a mistake.. */
static int check_tools(struct agents *agents, struct str text, struct err *err)
{
    const struct list *known = &wire_config(agents->wire)->settings.available_tools;
    struct err ignored = ERR_INIT;
    struct js *value = js_parse(text, &ignored);
    const struct js *tools = js_get(value, "allowed_tools");
    int result = 0;
    for (size_t i = 0; i < js_count(tools) && result == 0; i++) {
        struct str name = js_str(js_at(tools, i));
        struct buf names;
        if (name.p == NULL || list_has(known, tool_normal_name(name)))
            continue;
        buf_init(&names, 4096);
        for (size_t k = 0; k < known->n; k++)
            buf_printf(&names, "%s%.*s", k > 0 ? ", " : "", STR_FMT(known->items[k]));
        result = err_set(err, ERR_USAGE,
                         "allowed_tools[%zu]: there is no tool \"%.*s\"; the tools are: %.*s", i,
                         (int)(name.n < 64 ? name.n : 64), name.p, STR_FMT(buf_view(&names)));
        buf_release(&names);
    }
    js_free(value);
    return result;
}

static enum exit_code put(struct invocation *invocation)
{
    struct agents agents;
    struct err err = ERR_INIT;
    struct buf value;
    struct str id = STR_NONE;
    uint64_t present = 0, expected = 0;
    enum exit_code code;
    if (agents_open(&agents, invocation, &err) != 0)
        return command_fail(invocation, &err);
    buf_init(&value, RECORD_VALUE_MAX + 8192);
    int result = agents_read_file(invocation->arguments.operands[0], &value, &err) != 0 ||
                         profile_id_of(&agents, buf_view(&value), &id, &err) != 0 ||
                         check_tools(&agents, buf_view(&value), &err) != 0 ||
                         agents_version(&agents, RECORD_PROFILE, id, &present, &err) != 0 ||
                         agents_expected(&agents, 0, &expected, &err) != 0
                     ? -1
                     : 0;
    if (result == 0 && present > 0 && !arguments_has(&invocation->arguments, "if-version"))
        result = err_set(&err, ERR_USAGE,
                         "%.*s exists, with version %llu: --if-version %llu replaces it",
                         STR_FMT(id), (unsigned long long)present, (unsigned long long)present);
    code = result == 0 ? agents_write(&agents, RECORD_PROFILE, id, expected, buf_view(&value),
                                      arena_printf(&agents.plane.arena, "stored %.*s", STR_FMT(id)))
                       : command_fail(invocation, &err);
    buf_release(&value);
    agents_close(&agents);
    return code;
}

static void list_line(struct output *output, const struct plane_profile *entry)
{
    enum text_ellipsis ellipsis = output->glyphs == GLYPHS_UTF8 ? ELLIPSIS_UTF8 : ELLIPSIS_ASCII;
    struct buf line;
    buf_init(&line, 65536);
    text_column(&line, entry->profile.id, 32, ellipsis);
    buf_printf(&line, "  %7llu  ", (unsigned long long)entry->version.version);
    text_column(&line, entry->profile.provider, 14, ellipsis);
    buf_text(&line, "  ");
    text_column(&line, entry->profile.model, 24, ellipsis);
    buf_text(&line, "  ");
    text_cut(&line, entry->profile.description, 60, ellipsis);
    output_print(output, "%.*s\n", STR_FMT(buf_view(&line)));
    buf_release(&line);
}

static enum exit_code list(struct invocation *invocation)
{
    struct output *output = &invocation->output;
    struct agents agents;
    struct err err = ERR_INIT;
    if (agents_open(&agents, invocation, &err) != 0)
        return command_fail(invocation, &err);
    agents_warn(&agents);
    if (output->format == OUTPUT_TEXT && agents.plane.profile_count == 0)
        output_print(output, "No profiles are stored. Store one: cadre agents profile put FILE\n");
    else if (output->format == OUTPUT_TEXT)
        output_print(output, "%-32s  %7s  %-14s  %-24s  %s\n", "PROFILE", "VERSION", "PROVIDER",
                     "MODEL", "DESCRIPTION");
    for (size_t i = 0; i < agents.plane.profile_count; i++) {
        if (output->format == OUTPUT_JSON)
            agents_json_profile(&agents, &agents.plane.profiles[i]);
        else
            list_line(output, &agents.plane.profiles[i]);
    }
    agents_close(&agents);
    return EXIT_CODE_DONE;
}

static enum exit_code show(struct invocation *invocation)
{
    struct output *output = &invocation->output;
    struct str id = invocation->arguments.operands[0];
    struct agents agents;
    struct err err = ERR_INIT;
    if (agents_open(&agents, invocation, &err) != 0)
        return command_fail(invocation, &err);
    const struct plane_profile *profile = plane_profile(&agents.plane, id);
    agents_warn(&agents);
    if (profile == NULL) {
        err_set(&err, ERR_NOT_FOUND, "no profile %.*s; cadre agents profile list shows them",
                STR_FMT(id));
    } else if (output->format == OUTPUT_JSON) {
        agents_json_profile(&agents, profile);
    } else {
        struct buf text;
        struct jw w;
        buf_init(&text, SIZE_MAX / 4);
        jw_init(&w, &text);
        agent_profile_print(&profile->profile, &w);
        output_error(output, "version %llu", (unsigned long long)profile->version.version);
        agents_document(output, &text);
        buf_release(&text);
    }
    agents_close(&agents);
    return profile != NULL ? EXIT_CODE_DONE : command_fail(invocation, &err);
}

static enum exit_code remove_profile(struct invocation *invocation)
{
    struct str id = invocation->arguments.operands[0];
    struct agents agents;
    struct err err = ERR_INIT;
    uint64_t present = 0, expected = 0;
    enum exit_code code;
    if (agents_open(&agents, invocation, &err) != 0)
        return command_fail(invocation, &err);
    int result = agents_version(&agents, RECORD_PROFILE, id, &present, &err);
    if (result == 0 && present == 0)
        result = err_set(&err, ERR_NOT_FOUND,
                         "no profile %.*s; cadre agents profile list shows them", STR_FMT(id));
    if (result == 0)
        result = agents_expected(&agents, present, &expected, &err);
    code = result == 0
               ? agents_write(&agents, RECORD_PROFILE, id, expected, STR_NONE,
                              arena_printf(&agents.plane.arena, "removed %.*s", STR_FMT(id)))
               : command_fail(invocation, &err);
    for (size_t i = 0; code == EXIT_CODE_DONE && i < agents.plane.pin_count; i++) {
        const struct pin *pin = &agents.plane.all_pins[i].pin;
        if (str_eq(pin->profile_id, id))
            output_error(&invocation->output,
                         "warning: %.*s still pins it, and is an error until it is removed",
                         STR_FMT(pin->record_id));
    }
    agents_close(&agents);
    return code;
}
