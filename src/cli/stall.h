/* How long the loop stands still: for the benchmark, and for whoever hunts a call that blocks. A timer of a millisecond notes by how
 * much it came late, and how much of that was no wait for a core: work on the loop, a lock, a slow system call. A long delay counts
 * once for every millisecond that it covered, so that a few long ones are not lost among many short ones. Off unless
 * CADRE_STALL_FILE names a file, which gets one JSON object at the end. Loop thread. */
#ifndef CADRE_CLI_STALL_H
#define CADRE_CLI_STALL_H

#include <uv.h>

#define STALL_BUCKET_US 100
#define STALL_BUCKETS 20000 /* up to two seconds; longer ones count as that */

struct delays {
    uint64_t samples, longest_us;
    uint32_t *counts; /* by bucket */
};

struct stall {
    uv_timer_t timer;
    const char *path;      /* NULL: off */
    uint64_t last, waited; /* nanoseconds; of the thread's life, ready to run and without a core */
    int schedstat;         /* -1: the kernel does not tell */
    struct delays late, blocked; /* all of it; without the wait for a core */
};

/* Looks at the environment; does nothing without the variable. */
void stall_start(struct stall *stall, uv_loop_t *loop);
/* Writes the file and closes the timer; the loop must run until it is closed. */
void stall_stop(struct stall *stall);

#endif
