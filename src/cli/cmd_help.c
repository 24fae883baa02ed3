/* `cadre help`: the overview, one command's help, or the page that docs/cli.md holds. */
#include "cli/commands.h"

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"markdown", NULL, "print all of it as docs/cli.md"},
    OPTION_JSON,
    OPTION_HELP,
    OPTION_END,
};

const struct command cmd_help = {
    .name = "help",
    .summary = "list the commands, or explain one",
    .usage = "[COMMAND]",
    .example = "cadre help run",
    .options = options,
    .operand_max = 1,
    .run = run,
};

/* only: NULL for all of them. */
static void print_json(struct output *output, const struct command *only)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (only != NULL && commands[i] != only)
            continue;
        struct buf line;
        struct jw w;
        buf_init(&line, 65536);
        jw_init(&w, &line);
        jw_object(&w);
        jw_ktext(&w, "type", "command");
        jw_ktext(&w, "name", commands[i]->name);
        jw_ktext(&w, "summary", commands[i]->summary);
        jw_ktext(&w, "usage", commands[i]->usage);
        jw_ktext(&w, "example", commands[i]->example);
        jw_end_object(&w);
        output_json(output, &line);
        buf_release(&line);
    }
}

static enum exit_code run(struct invocation *invocation)
{
    const struct arguments *arguments = &invocation->arguments;
    struct err err = ERR_INIT;
    struct buf text;
    const struct command *command = NULL;
    if (arguments->operand_count > 0) {
        command = command_find(arguments->operands[0]);
        if (command == NULL) {
            command_unknown(arguments->operands[0], &err);
            return command_fail(invocation, &err);
        }
    }
    if (invocation->output.format == OUTPUT_JSON) {
        print_json(&invocation->output, command);
        return EXIT_CODE_DONE;
    }
    buf_init(&text, (size_t)1 << 20);
    if (arguments_has(arguments, "markdown"))
        commands_markdown(&text);
    else if (command != NULL)
        command_help(command, &text);
    else
        commands_help(&text);
    output_print(&invocation->output, "%.*s", STR_FMT(buf_view(&text)));
    buf_release(&text);
    return EXIT_CODE_DONE;
}
