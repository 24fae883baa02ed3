/* Asking the person at the terminal whether a project's config file that widens is trusted. Blocking: before the loop starts. */
#ifndef CADRE_CLI_TRUST_H
#define CADRE_CLI_TRUST_H

#include "cli/output.h"
#include "config/config.h"

/* A config_consent_fn whose user is the command's struct output: denied where there is no terminal to ask on. As with calls, that is
 * the controlling one where stdin is something else. */
config_consent_fn trust_ask;
/* The same for commands that need nothing of the project's file: says on stderr that it was left out. */
config_consent_fn trust_leave_out;
/* What the file widens, each whole: "  mode: safe (built-in) -> auto". What a terminal would not show is marked. */
void trust_list(struct output *output, const struct config *config,
                const struct config_project_file *project);

#endif
