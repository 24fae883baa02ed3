/* A child process of a command: its output shown, thrown away or read, every wait with a deadline.
 * Blocking. */
#ifndef CADRE_CLI_PROCESS_H
#define CADRE_CLI_PROCESS_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

enum process_output {
    PROCESS_SHOWN,     /* it writes where we write */
    PROCESS_DISCARDED, /* stdout to /dev/null */
    PROCESS_READ,      /* stdout through process_line or process_rest; stderr to /dev/null */
};

struct process {
    pid_t pid;
    int out; /* -1 unless PROCESS_READ */
    struct buf pending;
};

/* argv[0] is looked for in PATH unless it has a slash. environment NULL: ours. stdin is /dev/null
 * unless shown. */
int process_start(struct process *process, const char *const *argv, char *const *environment,
                  enum process_output output, struct err *err) NODISCARD;
/* The next line without its newline; lives until the next call. -1: TIMEOUT, or NOT_FOUND at the
 * end. */
int process_line(struct process *process, int64_t deadline, struct str *line,
                 struct err *err) NODISCARD;
/* Waits for its end; kills it when the deadline (monotonic milliseconds) passes. *code: exit code,
 * or 128 + the signal's number. Releases everything. */
int process_end(struct process *process, int64_t deadline, int *code, struct err *err) NODISCARD;

#endif
