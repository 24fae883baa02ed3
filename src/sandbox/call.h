/* One start of the launcher, from walls and a command to descriptors that it is started with, and what it answers. Internal to the
 * sandbox: run (sandbox.c) and start (lasting.c) stand on it. Any thread. */
#ifndef CADRE_SANDBOX_CALL_H
#define CADRE_SANDBOX_CALL_H

#include <pthread.h>

#include "base/arena.h"
#include "os/process.h"
#include "sandbox/disk.h"
#include "sandbox/filter.h"
#include "sandbox/guard.h"
#include "sandbox/policy.h"
#include "sandbox/sandbox.h"

struct sandbox {
    struct sandbox_options options;
    struct sandbox_port port;
    char missing[128];
    pthread_mutex_t making; /* guards the rest, which the first command makes */
    struct buf filters[FILTER_KINDS];
    int image;          /* -1: not made yet */
    struct disks disks; /* has a lock of its own */
};

/* What one call has open. */
struct call {
    struct guards guards;
    struct buf message;
    struct arena arena;
    struct proxy *proxy; /* of a command that reaches hosts by name; or NULL */
    char tmp[64];        /* without namespaces: a directory that is removed afterwards */
    int message_fd, disk_fd, status[2], lifeline[2];
    int handles[LAUNCH_HANDLES_END - LAUNCH_IMAGE]; /* of the launcher */
};

void call_init(struct call *call);
/* Everything that the launcher needs; `launcher` then runs it, with views into the call. Release the call also after -1. */
NODISCARD int call_prepare(struct call *call, struct sandbox *sandbox,
                           const struct sandbox_walls *walls, const struct sandbox_command *command,
                           enum launch_life life, struct process_command *launcher,
                           struct err *err);
/* Closes the launcher's ends, once it has them. */
void call_close_theirs(struct call *call);
/* The next line that the launcher wrote, without its end; "" where there is none. */
void call_read_status(struct call *call, char text[LAUNCH_STATUS_MAX]);
/* What the line of a refusal means. Returns -1. */
int call_refusal(char *status, struct err *err);
/* When it has ended: what its lines mean. -1: nothing was run. */
NODISCARD int call_read_outcome(struct call *call, struct sandbox_outcome *outcome,
                                struct err *err);
/* Ends the proxy, if there is one; what it let through and what it refused is in the outcome then. */
void call_end_proxy(struct call *call, struct sandbox_outcome *outcome);
void call_release(struct call *call);

/* lasting.c: as port/sandbox.h says. */
int sandbox_start(void *self, const struct sandbox_walls *walls,
                  const struct sandbox_command *command, struct sandbox_program **program,
                  struct err *err);
void sandbox_stop(void *self, struct sandbox_program *program, struct sandbox_outcome *outcome);

#endif
