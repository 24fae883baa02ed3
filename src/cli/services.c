/* Puts sandbox, memory and endpoints together for the tools: see services.h. Knows adapters, as wire.c does. Loop thread. */
#include "cli/services.h"

#include "tool/memory.h"

void services_open(struct tool_services *services, const struct config *config,
                   const struct str *hidden, size_t hidden_count)
{
    (void)config;
    *services = (struct tool_services){.sandbox = NULL,
                                       .sandbox_problem = STR("this build has no sandbox"),
                                       .memory = tool_memory_new(),
                                       .hidden = hidden,
                                       .hidden_count = hidden_count};
}

void services_release(struct tool_services *services)
{
    tool_memory_free(services->memory);
    *services = (struct tool_services){0};
}
