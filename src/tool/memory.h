/* What the tools of one process remember between calls: files that were read, and processes that run in the background. One per
 * process, made before the engine and freed after it. Any thread. */
#ifndef CADRE_TOOL_MEMORY_H
#define CADRE_TOOL_MEMORY_H

#include "port/tool.h"

struct jobs;
struct presences;
struct reads;

struct tool_memory *tool_memory_new(void); /* aborts without memory */
/* Kills what still runs, and waits for its end. */
void tool_memory_free(struct tool_memory *memory);
/* The texts of files that were read (tool/reads.h). */
struct reads *tool_memory_reads(struct tool_memory *memory);
/* Processes in the background (tool/jobs.h), and who runs programs in which tree (tool/presence.h). */
struct jobs *tool_memory_jobs(struct tool_memory *memory);
struct presences *tool_memory_presences(struct tool_memory *memory);
/* tool_port's end_agent and await_agent. */
enum tool_remains tool_memory_end_agent(const struct tool_services *services, struct str run_id,
                                        uint32_t agent_no);
void tool_memory_await_agent(const struct tool_services *services, struct str run_id,
                             uint32_t agent_no);

#endif
