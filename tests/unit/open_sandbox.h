/* A sandbox without walls, for tests of what stands on the port: the program runs as it would anywhere. */
#ifndef CADRE_TESTS_OPEN_SANDBOX_H
#define CADRE_TESTS_OPEN_SANDBOX_H

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "os/process.h"
#include "port/sandbox.h"

static inline int open_sandbox_run(void *self, const struct sandbox_walls *walls,
                                   const struct sandbox_command *command,
                                   struct sandbox_outcome *outcome, struct err *err)
{
    static const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};
    char directory[4096];
    snprintf(directory, sizeof directory, "%.*s", STR_FMT(command->directory));
    int at = openat(walls->workspace, directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return err_set(err, ERR_NOT_FOUND, "%s is no directory", directory);
    const struct process_command open_command = {.program = command->argv[0],
                                                 .argv = command->argv,
                                                 .environment = environment,
                                                 .directory = at,
                                                 .input = command->input,
                                                 .streams = PROCESS_JOINED,
                                                 .wall_ms = command->wall_ms,
                                                 .output_max = command->output_max,
                                                 .cancelled = command->cancelled,
                                                 .heard = command->heard,
                                                 .user = command->user};
    struct process_outcome done;
    int result = process_run(&open_command, &done, err);
    close(at);
    if (result != 0)
        return -1;
    static const int ends[] = {[PROCESS_EXITED] = SANDBOX_EXITED,
                               [PROCESS_KILLED] = SANDBOX_KILLED,
                               [PROCESS_TIMEOUT] = SANDBOX_TIMEOUT,
                               [PROCESS_CANCELLED] = SANDBOX_CANCELLED};
    *outcome = (struct sandbox_outcome){.code = done.code,
                                        .output = done.output,
                                        .errors = done.errors,
                                        .output_bytes = done.output_bytes,
                                        .errors_bytes = done.errors_bytes,
                                        .wall_ms = done.wall_ms};
    outcome->end = ends[done.end];
    return 0;
}

static const struct sandbox_port open_sandbox = {.run = open_sandbox_run};

#endif
