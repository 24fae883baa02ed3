/* What the tools of one process remember between calls: files that were read, and processes that run in the background. One per
 * process, made before the engine and freed after it. Any thread. */
#ifndef CADRE_TOOL_MEMORY_H
#define CADRE_TOOL_MEMORY_H

#include "port/tool.h"

struct reads;

struct tool_memory *tool_memory_new(void); /* aborts without memory */
void tool_memory_free(struct tool_memory *memory);
/* The texts of files that were read (tool/reads.h). */
struct reads *tool_memory_reads(struct tool_memory *memory);
/* tool_port's end_agent. */
void tool_memory_end_agent(const struct tool_services *services, struct str run_id,
                           uint32_t agent_no);

#endif
