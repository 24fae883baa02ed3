/* See memory.h. Any thread. */
#include "tool/memory.h"

#include <stdlib.h>

#include "tool/reads.h"

struct tool_memory {
    struct reads *reads;
};

struct tool_memory *tool_memory_new(void)
{
    struct tool_memory *memory = calloc(1, sizeof *memory);
    if (memory == NULL)
        abort();
    memory->reads = reads_new(READS_MAX);
    return memory;
}

void tool_memory_free(struct tool_memory *memory)
{
    if (memory == NULL)
        return;
    reads_free(memory->reads);
    free(memory);
}

struct reads *tool_memory_reads(struct tool_memory *memory)
{
    return memory->reads;
}

void tool_memory_end_agent(const struct tool_services *services, struct str run_id,
                           uint32_t agent_no)
{
    (void)services;
    (void)run_id;
    (void)agent_no;
}
