/* What a command is. Each lives in a file of its own, cmd_<name>.c, that opens with its entry and
 * ends with the function that runs it; commands.c lists the entries once. To add a command, copy a
 * neighbour, change its entry, and add it to that list: help, docs/cli.md and suggestions follow
 * from the entry. */
#ifndef CADRE_CLI_COMMAND_H
#define CADRE_CLI_COMMAND_H

#include "cli/exit.h"
#include "cli/options.h"
#include "cli/output.h"

struct invocation {
    const struct command *command;
    struct arguments arguments;
    struct output output;
};

struct command {
    const char *name;
    const char *summary;          /* one line, no full stop */
    const char *usage;            /* what follows the name: "RUN [--full]" */
    const char *details;          /* a paragraph for --help, or NULL */
    const char *example;          /* a whole command line that works */
    const struct option *options; /* ends with a row without a name */
    int operand_min, operand_max;
    /* Commands of its own, "agents register" of "agents", each a whole entry; ends with NULL. The word that names one may stand
     * behind the command's own options. NULL: it has none. */
    const struct command *const *parts;
    enum exit_code (*run)(struct invocation *invocation);
};

/* Prints what the error says on stderr (and as a JSON line where the caller asked for JSON);
 * returns its exit code. */
enum exit_code command_fail(struct invocation *invocation, const struct err *err);

#endif
