/* `cadre config`: the table of its parts, and `config check`: what the config says in the end, or what is wrong with it. */
#include "cli/allowed.h"
#include "cli/asked.h"
#include "cli/command.h"
#include "cli/wire.h"
#include "config/source.h"

static enum exit_code run(struct invocation *invocation);
static enum exit_code check(struct invocation *invocation);

extern const struct command cmd_config_trust;

static const struct option options[] = {
    {"workspace", "DIR", "the directory whose cadre.yaml counts (default: the current one)"},
    OPTIONS_COMMON,
    OPTION_END,
};

static const struct command cmd_config_check = {
    .name = "config check",
    .summary = "check the config and print what it comes to",
    .usage = "[FILE]",
    .details = "With FILE, that file is used in place of the user's own. Keys are never printed, "
               "only the names of\n"
               "their variables. Where the config has mistakes, all of them are listed; other "
               "commands stop at the\n"
               "first one.",
    .example = "cadre config check",
    .options = options,
    .operand_max = 1,
    .run = check,
};

static const struct command *const parts[] = {&cmd_config_check, &cmd_config_trust, NULL};

const struct command cmd_config = {
    .name = "config",
    .summary = "check the config, and say which project's config is trusted",
    .usage = "COMMAND",
    .example = "cadre config check",
    .options = options,
    .parts = parts,
    .run = run,
};

/* asked: NULL where no run could be started with this config. */
static void print_json(struct output *output, const struct config *config,
                       const struct asked *asked, const struct allowed *allowed)
{
    struct buf line;
    struct jw w;
    buf_init(&line, SIZE_MAX / 4);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "config");
    jw_kstr(&w, "store", config->store_path);
    jw_kstr(&w, "model_source", config->model_source);
    jw_key(&w, "files");
    jw_array(&w);
    for (size_t i = 0; i < config->file_count; i++)
        jw_str(&w, config->files[i]);
    jw_end_array(&w);
    jw_key(&w, "settings");
    settings_print(&config->settings, &w);
    if (asked != NULL) {
        jw_key(&w, "calls");
        asked_json(asked, &w);
    }
    jw_key(&w, "always");
    allowed_json(allowed, &w);
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

static enum exit_code run(struct invocation *invocation)
{
    struct err err = ERR_INIT;
    err_set(&err, ERR_USAGE, "cadre config needs a command: check or trust");
    return command_fail(invocation, &err);
}

static void print_mistakes_json(struct output *output, const struct config_mistakes *mistakes)
{
    struct buf line;
    struct jw w;
    buf_init(&line, SIZE_MAX / 4);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "error");
    jw_ktext(&w, "class", err_class_text(mistakes->items[0].class));
    jw_ktext(&w, "message", mistakes->items[0].message);
    jw_key(&w, "mistakes");
    jw_array(&w);
    for (size_t i = 0; i < config_mistakes_kept(mistakes); i++) {
        jw_object(&w);
        jw_ktext(&w, "class", err_class_text(mistakes->items[i].class));
        jw_ktext(&w, "message", mistakes->items[i].message);
        jw_end_object(&w);
    }
    jw_end_array(&w);
    jw_kint(&w, "found", (int64_t)mistakes->found);
    jw_kbool(&w, "complete", !mistakes->incomplete);
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

/* All mistakes, where a load of the config found some. */
static enum exit_code fail(struct invocation *invocation, const struct config_mistakes *mistakes)
{
    struct output *output = &invocation->output;
    size_t kept = config_mistakes_kept(mistakes);
    for (size_t i = 0; i < kept; i++)
        output_error(output, "%s", mistakes->items[i].message);
    if (mistakes->found > kept)
        output_error(output, "and %zu more", mistakes->found - kept);
    if (mistakes->incomplete)
        output_error(output, "references between keys are not all checked yet: mend the mistakes, "
                             "then run this command again");
    if (output->format == OUTPUT_JSON)
        print_mistakes_json(output, mistakes);
    return exit_of_error(mistakes->items[0].class);
}

static enum exit_code check(struct invocation *invocation)
{
    struct config_mistakes mistakes = {.found = 0};
    const struct arguments *arguments = &invocation->arguments;
    struct wire_request request = {.need = WIRE_MODEL,
                                   .workspace = arguments_value(arguments, "workspace"),
                                   .mistakes = &mistakes};
    struct wire *wire = NULL;
    struct err err = ERR_INIT;
    wire_flags(arguments, &request.flags);
    if (arguments->operand_count > 0)
        request.flags.config_file = arguments->operands[0];
    if (wire_open(&request, &wire, &err) != 0)
        return mistakes.found > 0 ? fail(invocation, &mistakes) : command_fail(invocation, &err);
    struct arena arena;
    struct asked asked;
    struct allowed allowed;
    struct err ignored = ERR_INIT;
    arena_init(&arena);
    allowed_open(&allowed, wire_config(wire), wire_workspace(wire)->path);
    bool runs = asked_open(&asked, &wire_config(wire)->settings, &arena, &invocation->output, wire,
                           &ignored) == 0;
    if (invocation->output.format == OUTPUT_JSON) {
        print_json(&invocation->output, wire_config(wire), runs ? &asked : NULL, &allowed);
    } else {
        struct buf text;
        buf_init(&text, (size_t)16 << 20);
        config_describe(wire_config(wire), &text);
        if (runs)
            asked_text(&asked, &text);
        allowed_text(&allowed, &text);
        output_clean(&invocation->output, buf_view(&text), UTF8_LINES);
        buf_release(&text);
    }
    allowed_release(&allowed);
    arena_release(&arena);
    wire_close(wire);
    return EXIT_CODE_DONE;
}
