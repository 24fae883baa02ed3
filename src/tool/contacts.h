/* What a program reached over the network by name, and what it was refused: told to the model, and kept for the log. */
#ifndef CADRE_TOOL_CONTACTS_H
#define CADRE_TOOL_CONTACTS_H

#include "port/tool.h"

/* Adds every contact to the result's record, and a line about those that failed to its text. */
void contacts_tell(const struct tool_context *context, const struct sandbox_contacts *contacts,
                   struct tool_result *result);

#endif
