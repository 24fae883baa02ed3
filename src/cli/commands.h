/* The list of all commands, help from their entries, and the way from argv to a command. */
#ifndef CADRE_CLI_COMMANDS_H
#define CADRE_CLI_COMMANDS_H

#include "cli/command.h"

extern const struct command *const commands[]; /* ends with NULL */

const struct command *command_find(struct str name); /* NULL: unknown */
/* "unknown command", with the nearest known one. Returns -1. */
int command_unknown(struct str name, struct err *err);
/* "cadre run: …" usage, options and one example. */
void command_help(const struct command *command, struct buf *out);
/* The overview: one line per command. */
void commands_help(struct buf *out);
/* docs/cli.md, whole. */
void commands_markdown(struct buf *out);
/* The program: finds the command, parses its options, runs it. Returns the process's exit code. */
int commands_main(int argc, char *const *argv);

#endif
