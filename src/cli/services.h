/* What the tools of this process have to work with, from config and from what the machine can do. Made before an engine, released
 * after it. */
#ifndef CADRE_CLI_SERVICES_H
#define CADRE_CLI_SERVICES_H

#include "config/config.h"
#include "port/tool.h"

/* hidden: the directories that no process may see; they must outlive the services. */
void services_open(struct tool_services *services, const struct config *config,
                   const struct str *hidden, size_t hidden_count);
void services_release(struct tool_services *services);

#endif
