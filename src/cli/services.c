/* Puts sandbox, memory and endpoints together for the tools: see services.h. Knows adapters, as wire.c does. Loop thread. */
#include "cli/services.h"

#include "sandbox/sandbox.h"
#include "tool/memory.h"

void services_open(struct tool_services *services, const struct config *config,
                   const struct str *hidden, size_t hidden_count)
{
    struct sandbox_options options = {0};
    (void)config;
    *services = (struct tool_services){.sandbox = sandbox_port(sandbox_open(&options)),
                                       .memory = tool_memory_new(),
                                       .hidden = hidden,
                                       .hidden_count = hidden_count};
}

void services_release(struct tool_services *services)
{
    tool_memory_free(services->memory);
    if (services->sandbox != NULL)
        sandbox_close(services->sandbox->self);
    *services = (struct tool_services){0};
}
