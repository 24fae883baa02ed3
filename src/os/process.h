/* Runs one program to its end: vfork, so that the cost does not grow with the size of this process, a pidfd, pipes, a
 * deadline. Blocking: for threads that may wait. Or starts one that lives on. Nothing is inherited but what the command names.
 *
 * The program leads a process group of its own, and the whole group is killed when its time is over, when the caller cancels or
 * when the program itself has ended. Who leaves the group (a daemon) is beyond this file: confined processes live in a pid
 * namespace that dies as a whole (src/sandbox). SIGPIPE must be ignored in this process. */
#ifndef CADRE_OS_PROCESS_H
#define CADRE_OS_PROCESS_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

#define PROCESS_HANDLES_MAX 16
#define PROCESS_END_MS                                                                             \
    30000 /* for a program that ends itself, and cleans up, when its lifeline is cut */
#define PROCESS_REAP_MS 10000 /* a killed program that takes longer hangs in the kernel */

enum process_streams {
    PROCESS_JOINED, /* both into `output`, in the order in which they came */
    PROCESS_APART,  /* what the program writes to its error output goes to `errors` */
};

struct process_command {
    const char *program; /* absolute; nothing is searched */
    const char *const *argv;
    const char *const *environment; /* the whole of it */
    int directory;                  /* descriptor of the working directory; -1: the caller's */
    const int *handles;             /* further descriptors: the program has them as 3, 4, … */
    size_t handle_count;
    /* Our end of a pipe, or NULL. Whoever has the other end ends itself, with all that it started, when this one is closed: that is
     * how the program is killed, and only if it is not gone soon after, its group. Set to -1 when it was closed. */
    int *lifeline;
    /* A number that grows now and then, or NULL: each new value is written to the lifeline, 8 bytes. */
    const atomic_int_least64_t *extended;
    struct str input; /* for its standard input; empty: /dev/null */
    enum process_streams streams;
    int64_t wall_ms;              /* > 0 */
    size_t output_max;            /* bytes kept of each stream: the first and the last half of it */
    const atomic_bool *cancelled; /* looked at ten times a second; may be NULL */
    /* Both streams as they come, on the calling thread; may be NULL. Bytes, not text. */
    void (*heard)(void *user, struct str bytes);
    void *user;
};

enum process_end { PROCESS_EXITED, PROCESS_KILLED, PROCESS_TIMEOUT, PROCESS_CANCELLED };

struct process_outcome {
    enum process_end end;
    int code; /* EXITED: its status; KILLED: the signal */
    struct buf output,
        errors; /* the caller releases them; bytes, with a line where some were left out */
    uint64_t output_bytes, errors_bytes; /* that were written in all */
    int64_t wall_ms;
};

/* -1: it could not be started (NOT_FOUND, DENIED, IO); the outcome then holds nothing. */
NODISCARD int process_run(const struct process_command *command, struct process_outcome *outcome,
                          struct err *err);
/* A program that lives until it is stopped. */
struct process_alive {
    pid_t pid;
    int handle;                /* a pidfd: readable when it has ended */
    int input, output, errors; /* our ends of its streams, which do not block; -1: there is none */
};

enum process_input { PROCESS_INPUT_NONE /* /dev/null */, PROCESS_INPUT_PIPE };

/* Starts it and returns. What the command says of input, time and output is for process_run alone. Errors as there. */
NODISCARD int process_begin(const struct process_command *command, enum process_input input,
                            struct process_alive *process, struct err *err);
/* Ends it, by its lifeline (NULL: it has none) or by killing its group, waits until it is dead, and closes everything. */
void process_stop(struct process_alive *process, int *lifeline);
/* Closes the descriptors of one that is dead. */
void process_release(struct process_alive *process);
/* Closes our end of a lifeline and sets it to -1. */
void process_cut(int *lifeline);
void process_outcome_release(struct process_outcome *outcome);

#endif
