/* Programs in the background: started by a call, looked at by later ones, dead when their agent has ended, when it starts anew,
 * and when the process ends. A job is known by (run, agent, number); nobody else can look at it.
 *
 * Each has a thread of its own that runs it behind the walls of the call that started it. What it prints is kept until it is
 * looked at, the latest of it where it is much. Any thread. */
#ifndef CADRE_TOOL_JOBS_H
#define CADRE_TOOL_JOBS_H

#include "tool/changes.h"

#define JOBS_RUNNING_MAX 8    /* of one agent */
#define JOBS_KEPT_MAX 32      /* of one agent, with those that have ended */
#define JOBS_UNREAD_MAX 65536 /* bytes */

struct jobs;

struct jobs *jobs_new(void);
void jobs_free(struct jobs *jobs); /* kills what still runs, and waits for its end */

/* Starts `sh -c command`. DENIED where the agent has too many, or where it cannot be confined; that is told by the first look
 * when the walls fail later. */
NODISCARD int jobs_start(struct jobs *jobs, const struct tool_context *context, struct str command,
                         int64_t wall_ms, int64_t *number, struct err *err);

/* What a look finds. The caller releases it. */
struct jobs_look {
    enum { JOB_RUNNING, JOB_ENDED, JOB_NOT_RUN } state; /* NOT_RUN: `err` says why */
    struct sandbox_outcome outcome;                     /* of one that has ended; without buffers */
    struct err err;
    int64_t wall_ms;        /* that it may take */
    struct buf unread;      /* printed since the last look */
    uint64_t dropped;       /* bytes before those that were not kept */
    struct changes *before; /* the tree at the last look, or at the start */
    struct opened *opened;  /* what was read since then; NULL: not known */
    int tree;               /* as in confined.h: whether another agent worked in it */
};

/* Waits until it has ended, at most wait_ms. NOT_FOUND: this agent has no such job. */
NODISCARD int jobs_look(struct jobs *jobs, const struct tool_context *context, int64_t number,
                        int64_t wait_ms, struct jobs_look *look, struct err *err);
/* Kills it, waits for its end and looks. */
NODISCARD int jobs_stop(struct jobs *jobs, const struct tool_context *context, int64_t number,
                        struct jobs_look *look, struct err *err);
/* The tree as it is after a look, for the next one, which is taken over, and so is the look's watch of what is read. */
void jobs_seen(struct jobs *jobs, const struct tool_context *context, int64_t number,
               struct jobs_look *look, struct changes *now);
void jobs_look_release(struct jobs_look *look);

/* See tool_port. */
enum tool_remains jobs_end_agent(struct jobs *jobs, struct str run_id, uint32_t agent_no);
void jobs_await_agent(struct jobs *jobs, struct str run_id, uint32_t agent_no);

#endif
