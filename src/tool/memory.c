/* See memory.h. Any thread. */
#include "tool/memory.h"

#include <stdlib.h>

struct tool_memory {
    int unused;
};

struct tool_memory *tool_memory_new(void)
{
    struct tool_memory *memory = calloc(1, sizeof *memory);
    if (memory == NULL)
        abort();
    return memory;
}

void tool_memory_free(struct tool_memory *memory)
{
    free(memory);
}

void tool_memory_end_agent(const struct tool_services *services, struct str run_id,
                           uint32_t agent_no)
{
    (void)services;
    (void)run_id;
    (void)agent_no;
}
