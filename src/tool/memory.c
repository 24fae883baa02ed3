/* See memory.h. Any thread. */
#include "tool/memory.h"

#include <stdlib.h>

#include "tool/jobs.h"
#include "tool/presence.h"
#include "tool/reads.h"

struct tool_memory {
    struct reads *reads;
    struct jobs *jobs;
    struct presences presences;
};

struct tool_memory *tool_memory_new(void)
{
    struct tool_memory *memory = calloc(1, sizeof *memory);
    if (memory == NULL)
        abort();
    memory->reads = reads_new(READS_MAX);
    memory->jobs = jobs_new();
    presences_init(&memory->presences);
    return memory;
}

void tool_memory_free(struct tool_memory *memory)
{
    if (memory == NULL)
        return;
    jobs_free(memory->jobs);
    presences_release(&memory->presences);
    reads_free(memory->reads);
    free(memory);
}

struct reads *tool_memory_reads(struct tool_memory *memory)
{
    return memory->reads;
}

struct jobs *tool_memory_jobs(struct tool_memory *memory)
{
    return memory->jobs;
}

struct presences *tool_memory_presences(struct tool_memory *memory)
{
    return &memory->presences;
}

enum tool_remains tool_memory_end_agent(const struct tool_services *services, struct str run_id,
                                        uint32_t agent_no)
{
    if (services == NULL || services->memory == NULL)
        return REMAINS_NOTHING;
    return jobs_end_agent(services->memory->jobs, run_id, agent_no);
}

void tool_memory_await_agent(const struct tool_services *services, struct str run_id,
                             uint32_t agent_no)
{
    jobs_await_agent(services->memory->jobs, run_id, agent_no);
}
