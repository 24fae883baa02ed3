/* A queue in front of a descriptor, drained by a thread of its own: whoever prints never waits for
 * the reader, however slow it is. What is queued is bounded by a mark that those who print much
 * respect (they ask outpipe_state first), and by a maximum that nobody can pass.
 *
 * Everything here may be called from any one thread beside the writer; only outpipe_drain and
 * outpipe_close wait, and at most as long as they are told. */
#ifndef CADRE_CLI_OUTPIPE_H
#define CADRE_CLI_OUTPIPE_H

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

#define OUTPIPE_MARK ((size_t)1 << 20) /* bytes queued; from here on the pipe is FULL */
#define OUTPIPE_MAX                                                                                \
    ((size_t)64 << 20) /* what would go beyond breaks the pipe: nothing is skipped */

struct outpipe;

enum outpipe_state {
    OUTPIPE_IDLE,   /* all that was queued has been taken */
    OUTPIPE_BUSY,   /* something is queued */
    OUTPIPE_FULL,   /* more than the mark: queue nothing that can wait */
    OUTPIPE_BROKEN, /* the descriptor took an error: all that follows is lost */
};

/* Starts the writer. The descriptor stays the caller's, and open until the process ends. */
int outpipe_open(int fd, struct outpipe **pipe, struct err *err) NODISCARD;
/* One more stream into the queue; what is written to it is queued when it is flushed. Writing fails
 * once the pipe is broken. The caller closes it, before outpipe_close. */
FILE *outpipe_stream(struct outpipe *pipe);
enum outpipe_state outpipe_state(struct outpipe *pipe);
/* Bytes that the descriptor has taken so far: while this grows, the reader is alive. */
uint64_t outpipe_taken(struct outpipe *pipe);
/* `changed` is called on the writer's thread, under the queue's lock, when a full pipe has room again
 * and when the pipe breaks: it must do no more than wake somebody. NULL: nobody, from now on. */
void outpipe_listen(struct outpipe *pipe, void (*changed)(void *user), void *user);

/* Waits until the pipe is idle or broken, as long as the reader takes something every standstill_ms.
 * -1 with class IO where it broke, TIMEOUT where the reader stands still. */
int outpipe_drain(struct outpipe *pipe, int64_t standstill_ms, struct err *err) NODISCARD;
/* The same, then ends the writer and frees. A writer whose reader stands still cannot be ended: it
 * keeps the queue and goes with the process. */
int outpipe_close(struct outpipe *pipe, int64_t standstill_ms, struct err *err) NODISCARD;

#endif
