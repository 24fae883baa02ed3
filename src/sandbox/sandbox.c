/* Runs commands behind walls: see sandbox.h. Each call starts the launcher (call.c) with os/process.h and translates what it says at
 * the end. Any thread. */
#include "sandbox/sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sandbox/call.h"

static const char *const wall_names[] = {
#define X(name, text) text,
    LAUNCH_WALLS(X)
#undef X
};

/* --- running --------------------------------------------------------------------------------------------------------------------- */

static int run(void *self, const struct sandbox_walls *walls, const struct sandbox_command *command,
               struct sandbox_outcome *outcome, struct err *err)
{
    struct sandbox *sandbox = self;
    struct process_command launcher;
    struct process_outcome ran;
    struct call call;
    int result = -1;
    *outcome = (struct sandbox_outcome){.end = SANDBOX_EXITED};
    call_init(&call);
    if (call_prepare(&call, sandbox, walls, command, LAUNCH_FOR_A_CALL, &launcher, err) != 0 ||
        process_run(&launcher, &ran, err) != 0)
        goto out;
    call_end_proxy(&call, outcome);
    result = call_read_outcome(&call, outcome, err);
    if (result != 0) {
        process_outcome_release(&ran);
        goto out;
    }
    if (ran.end == PROCESS_TIMEOUT)
        outcome->end = SANDBOX_TIMEOUT;
    else if (ran.end == PROCESS_CANCELLED)
        outcome->end = SANDBOX_CANCELLED;
    outcome->missing = sandbox->port.missing;
    outcome->output = ran.output;
    outcome->errors = ran.errors;
    outcome->output_bytes = ran.output_bytes;
    outcome->errors_bytes = ran.errors_bytes;
    outcome->wall_ms = ran.wall_ms;
out:
    call_release(&call);
    return result;
}

/* --- opening --------------------------------------------------------------------------------------------------------------------- */

static void name_missing(struct sandbox *sandbox)
{
    size_t n = 0;
    for (size_t i = 0; i < LAUNCH_WALL_COUNT; i++)
        if (sandbox->options.off[i])
            n += (size_t)snprintf(sandbox->missing + n, sizeof sandbox->missing - n, "%s%s",
                                  n > 0 ? ", " : "", wall_names[i]);
}

struct sandbox *sandbox_open(const struct sandbox_options *options)
{
    struct sandbox *sandbox = calloc(1, sizeof *sandbox);
    if (sandbox == NULL || pthread_mutex_init(&sandbox->making, NULL) != 0)
        abort();
    sandbox->options = *options;
    sandbox->port = (struct sandbox_port){
        .run = run, .start = sandbox_start, .stop = sandbox_stop, .self = sandbox};
    sandbox->image = -1;
    disks_init(&sandbox->disks);
    for (size_t i = 0; i < FILTER_KINDS; i++)
        buf_init(&sandbox->filters[i], 65536);
    name_missing(sandbox);
    sandbox->port.missing = str_from(sandbox->missing);
    return sandbox;
}

void sandbox_close(struct sandbox *sandbox)
{
    if (sandbox == NULL)
        return;
    if (sandbox->image >= 0)
        close(sandbox->image);
    for (size_t i = 0; i < FILTER_KINDS; i++)
        buf_release(&sandbox->filters[i]);
    disks_release(&sandbox->disks);
    pthread_mutex_destroy(&sandbox->making);
    free(sandbox);
}

const struct sandbox_port *sandbox_port(const struct sandbox *sandbox)
{
    return &sandbox->port;
}

const char *sandbox_wall_name(enum launch_wall wall)
{
    return wall_names[wall];
}
