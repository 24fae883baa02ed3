/* Asking the person at the terminal whether a project's config file that widens is trusted. Blocking: before the loop starts. */
#ifndef CADRE_CLI_TRUST_H
#define CADRE_CLI_TRUST_H

#include "cli/output.h"
#include "config/config.h"

/* A config_consent_fn whose user is the command's struct output: denied where there is no terminal to ask on. */
config_consent_fn trust_ask;
/* The same for commands that need nothing of the project's file: says on stderr that it was left out. */
config_consent_fn trust_leave_out;
/* What the file widens, one line each: "  mode: safe (built-in) -> auto". */
void trust_list(struct output *output, const struct config *config);

#endif
