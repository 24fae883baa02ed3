/* The table of commands and everything that follows from it. */
#include "cli/commands.h"

#include <stdio.h>
#include <stdlib.h>

extern const struct command cmd_run, cmd_agents, cmd_runs, cmd_show, cmd_events, cmd_tree,
    cmd_resume, cmd_cancel, cmd_approve, cmd_apply, cmd_diff, cmd_verify, cmd_replay, cmd_doctor,
    cmd_gc, cmd_config, cmd_demo, cmd_version, cmd_help, cmd_plan, cmd_models;

const struct command *const commands[] = {
    &cmd_run,    &cmd_plan,    &cmd_agents, &cmd_models, &cmd_runs,    &cmd_show,
    &cmd_events, &cmd_tree,    &cmd_resume, &cmd_cancel, &cmd_approve, &cmd_diff,
    &cmd_apply,  &cmd_verify,  &cmd_replay, &cmd_doctor, &cmd_gc,      &cmd_config,
    &cmd_demo,   &cmd_version, &cmd_help,   NULL,
};

static const char codes[] =
    "Exit codes: 0 done, 1 the run failed, 2 usage or config, 3 the root's own budget,\n"
    "4 the root's own timeout, 75 parked (`cadre resume` goes on), 130 cancelled.\n";

static const char json_lines[] =
    "\n## JSON lines of a run\n\n"
    "`cadre run --json` and `cadre resume --json` print these lines, in this order (`delta` and "
    "`progress` anywhere between):\n\n"
    "| `type` | when | fields |\n|---|---|---|\n"
    "| `run` | first | `run_id`, `model`, `source`, `cap_usd`, `timeout_ms` (null: none), "
    "`window`, `window_source`; `unpriced`: models that may answer and have no price |\n"
    "| `event` | when an event is durable | `run_id`, `seq`, `agent_id`, `ts` (milliseconds), "
    "`event`, `summary`, "
    "`payload` |\n"
    "| `delta` | with `--deltas`, text of an answer as it comes in; left out for a reader that "
    "lags behind, who has the whole with its event | `run_id`, `agent_id`, `kind` (text, "
    "reasoning), `text` |\n"
    "| `progress` | while a long call works, at most ten times a second; left out for a reader "
    "that "
    "lags behind | `run_id`, `agent_id`, `call_id`, `text` |\n"
    "| `apply` | with `--apply`, when the run completed | `run_id`, `outcome` (applied, "
    "applied_before, "
    "nothing, in_place, refused), `workspace_path`, `from`, `to`; where applied `way` (commits, "
    "files) and `files` (`path`, `change`, `executed_by`); where refused `reason`, `command`, "
    "`clashes` (`path`, `first_line`, `last_line`, `hunk`) |\n"
    "| `result` | last, when the run ended | `run_id`, `run_status`, the result object's fields "
    "(`tokens` and `cost_usd` are what was billed, `cost_usd` null where a price is missing; "
    "`at_most` where requests broke off without a bill), `head` |\n"
    "| `error` | last, when it could not be brought to its end | `class`, `message` |\n";

const struct command *command_find(struct str name)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (str_is(name, commands[i]->name))
            return commands[i];
    }
    return NULL;
}

static void add_options(const struct option *options, struct buf *out)
{
    for (size_t i = 0; options[i].name != NULL; i++) {
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s", options[i].name,
                 options[i].value != NULL ? " " : "",
                 options[i].value != NULL ? options[i].value : "");
        buf_printf(out, "  %-22s %s\n", left, options[i].help);
    }
}

static const char *space_before(const char *text)
{
    return text[0] != '\0' ? " " : "";
}

static void add_parts(const struct command *command, struct buf *out)
{
    buf_text(out, "\nCommands:\n");
    for (size_t i = 0; command->parts[i] != NULL; i++)
        buf_printf(out, "  %-24s %s\n", command->parts[i]->name, command->parts[i]->summary);
    buf_text(out, "\nEach has --help with an example.\n");
}

void command_help(const struct command *command, struct buf *out)
{
    buf_printf(out, "cadre %s: %s\n\nUsage: cadre %s%s%s\n", command->name, command->summary,
               command->name, space_before(command->usage), command->usage);
    if (command->details != NULL)
        buf_printf(out, "\n%s\n", command->details);
    if (command->parts != NULL)
        add_parts(command, out);
    buf_text(out, "\nOptions:\n");
    add_options(command->options, out);
    buf_printf(out, "\nExample:\n  %s\n", command->example);
}

void commands_help(struct buf *out)
{
    buf_text(out, "cadre runs agents that hand work to other agents, each bound by a contract.\n\n"
                  "Usage: cadre COMMAND [OPTIONS]\n\nCommands:\n");
    for (size_t i = 0; commands[i] != NULL; i++)
        buf_printf(out, "  %-9s %s\n", commands[i]->name, commands[i]->summary);
    buf_text(out, "\nStart here:\n  cadre demo\n  cadre run \"Summarise README.md\"\n\n"
                  "cadre COMMAND --help says more about one of them.\n");
    buf_text(out, codes);
}

static bool has_option(const struct command *command, const char *name)
{
    for (size_t i = 0; command != NULL && command->options[i].name != NULL; i++) {
        if (strcmp(command->options[i].name, name) == 0)
            return true;
    }
    return false;
}

/* A table of the options that the command above (NULL: none) does not have too. */
static void add_option_table(const struct command *command, const struct command *above,
                             struct buf *out)
{
    const char *heading = "\n| option | |\n|---|---|\n";
    for (size_t i = 0; command->options[i].name != NULL; i++) {
        const struct option *option = &command->options[i];
        if (has_option(above, option->name))
            continue;
        buf_text(out, heading);
        heading = "";
        buf_printf(out, "| `--%s%s%s` | %s |\n", option->name, option->value != NULL ? " " : "",
                   option->value != NULL ? option->value : "", option->help);
    }
}

static void add_markdown(const struct command *command, const struct command *above,
                         struct buf *out)
{
    buf_printf(out, "\n%s cadre %s\n\n%c%s.\n\n```\ncadre %s%s%s\n```\n",
               above != NULL ? "###" : "##", command->name, command->summary[0] - 'a' + 'A',
               command->summary + 1, command->name, space_before(command->usage), command->usage);
    if (command->details != NULL)
        buf_printf(out, "\n%s\n", command->details);
    add_option_table(command, above, out);
    buf_printf(out, "\nExample: `%s`\n", command->example);
    for (size_t i = 0; command->parts != NULL && command->parts[i] != NULL; i++)
        add_markdown(command->parts[i], above != NULL ? above : command, out);
}

void commands_markdown(struct buf *out)
{
    buf_text(out, "# The command line\n\n"
                  "<!-- Written by `cadre help --markdown`; a test compares. Change the entries in "
                  "src/cli/cmd_*.c. -->\n\n"
                  "Every command has `--json`: JSON lines, one object each, for programs. Errors "
                  "go to stderr as\n"
                  "`cadre: what went wrong`. Where a command takes RUN, the start of a run's id is "
                  "enough if no other\n"
                  "run's id starts so, and `last` is the newest run.\n\n");
    buf_text(out, codes);
    buf_text(out, json_lines);
    buf_text(out, "\n## Commands\n\n| command | |\n|---|---|\n");
    for (size_t i = 0; commands[i] != NULL; i++)
        buf_printf(out, "| [`%s`](#cadre-%s) | %s |\n", commands[i]->name, commands[i]->name,
                   commands[i]->summary);
    for (size_t i = 0; commands[i] != NULL; i++)
        add_markdown(commands[i], NULL, out);
}

enum exit_code command_fail(struct invocation *invocation, const struct err *err)
{
    struct output *output = &invocation->output;
    output_error(output, "%s", err->message);
    if (output->format == OUTPUT_JSON) {
        struct buf line;
        struct jw w;
        buf_init(&line, 16384);
        jw_init(&w, &line);
        jw_object(&w);
        jw_ktext(&w, "type", "error");
        jw_ktext(&w, "class", err_class_text(err->class));
        jw_ktext(&w, "message", err->message);
        jw_end_object(&w);
        output_json(output, &line);
        buf_release(&line);
    }
    return exit_of_error(err->class);
}

static const char *next_command(const void *table, size_t i)
{
    const struct command *const *list = table;
    return list[i] != NULL ? list[i]->name : NULL;
}

int command_unknown(struct str name, struct err *err)
{
    const char *near = suggest(name, next_command, commands);
    if (near != NULL)
        return err_set(err, ERR_USAGE, "unknown command \"%.*s\"; did you mean \"%s\"?",
                       STR_FMT(name), near);
    return err_set(err, ERR_USAGE, "unknown command \"%.*s\"; cadre help lists the commands",
                   STR_FMT(name));
}

static int count_operands(const struct command *command, int count, struct err *err)
{
    if (count >= command->operand_min && count <= command->operand_max)
        return 0;
    return err_set(
        err, ERR_USAGE, "too %s: cadre %s%s%s%s",
        count < command->operand_min ? "few words" : "many words", command->name,
        space_before(command->usage), command->usage,
        command->operand_max == 1 && count > 1 ? "\nText with spaces needs quotes around it." : "");
}

static enum exit_code help_on(struct invocation *invocation)
{
    struct buf text;
    buf_init(&text, 65536);
    command_help(invocation->command, &text);
    output_print(&invocation->output, "%.*s", STR_FMT(buf_view(&text)));
    buf_release(&text);
    return EXIT_CODE_DONE;
}

/* "register" of "agents register". */
static const char *last_word(const char *name)
{
    const char *space = strrchr(name, ' ');
    return space != NULL ? space + 1 : name;
}

static const char *next_part(const void *table, size_t i)
{
    const struct command *const *parts = table;
    return parts[i] != NULL ? last_word(parts[i]->name) : NULL;
}

/* "--store FILE" is two words; "--store=FILE", "--json" and what is unknown are one. */
static int option_words(const struct option *options, const char *word)
{
    for (size_t i = 0; options[i].name != NULL; i++) {
        if (word[1] == '-' && strcmp(word + 2, options[i].name) == 0)
            return options[i].value != NULL ? 2 : 1;
    }
    return 1;
}

/* Where the first word stands that is neither an option nor an option's value; argc: there is none. */
static int first_operand(const struct option *options, int argc, char *const *argv)
{
    int i = 0;
    while (i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0)
        i += option_words(options, argv[i]);
    return i < argc && argv[i][0] != '-' ? i : argc;
}

/* Goes from a command to the part that its words name and takes those words out. A command without such a word is run
 * itself. */
static int find_part(const struct command **command, int *argc, char **argv, struct err *err)
{
    while ((*command)->parts != NULL) {
        const struct command *const *parts = (*command)->parts;
        int at = first_operand((*command)->options, *argc, argv);
        if (at == *argc)
            return 0;
        size_t i = 0;
        while (parts[i] != NULL && strcmp(last_word(parts[i]->name), argv[at]) != 0)
            i++;
        if (parts[i] == NULL && (*command)->operand_max > 0)
            return 0; /* the word is its own */
        if (parts[i] == NULL) {
            const char *near = suggest(str_from(argv[at]), next_part, parts);
            return err_set(err, ERR_USAGE, "unknown word \"%s\" after cadre %s; %s%s", argv[at],
                           (*command)->name, near != NULL ? "did you mean " : "--help lists them",
                           near != NULL ? near : "");
        }
        *command = parts[i];
        *argc -= 1;
        memmove(&argv[at], &argv[at + 1], (size_t)(*argc - at) * sizeof *argv);
    }
    return 0;
}

static enum exit_code run_words(struct invocation *invocation, int argc, char **argv)
{
    struct err err = ERR_INIT;
    if (find_part(&invocation->command, &argc, argv, &err) != 0)
        return command_fail(invocation, &err);
    const struct command *command = invocation->command;
    if (options_parse(command->options, argc, argv, &invocation->arguments, &err) != 0)
        return command_fail(invocation, &err);
    if (arguments_has(&invocation->arguments, "help"))
        return help_on(invocation);
    if (arguments_has(&invocation->arguments, "json"))
        output_open(&invocation->output, OUTPUT_JSON);
    if (count_operands(command, invocation->arguments.operand_count, &err) != 0)
        return command_fail(invocation, &err);
    return command->run(invocation);
}

static enum exit_code run_command(struct invocation *invocation, int argc, char *const *argv)
{
    char **words = calloc((size_t)argc + 1, sizeof *words);
    if (words == NULL)
        abort();
    if (argc > 0)
        memcpy(words, argv, (size_t)argc * sizeof *words);
    enum exit_code code = run_words(invocation, argc, words);
    free(words);
    return code;
}

int commands_main(int argc, char *const *argv)
{
    struct invocation invocation = {0};
    struct err err = ERR_INIT;
    struct str name = argc > 1 ? str_from(argv[1]) : STR("help");
    enum exit_code code;
    output_open(&invocation.output, OUTPUT_TEXT);
    if (str_is(name, "--help") || str_is(name, "-h"))
        name = STR("help");
    if (str_is(name, "--version"))
        name = STR("version");
    invocation.command = command_find(name);
    if (invocation.command == NULL) {
        command_unknown(name, &err);
        code = command_fail(&invocation, &err);
    } else {
        code = run_command(&invocation, argc > 2 ? argc - 2 : 0, argv + 2);
    }
    if (output_close(&invocation.output, &err) != 0) {
        output_error(&invocation.output, "%s", err.message);
        if (code == EXIT_CODE_DONE)
            code = EXIT_CODE_FAILED;
    }
    return code;
}
