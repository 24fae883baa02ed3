/* Drives one run to its end and shows it: a live tree on a terminal, plain lines without one, JSON
 * lines for programs, nothing but the answer when quiet. Used by `run`, `resume` and `cancel
 * --now`. Owns the loop while it works. */
#ifndef CADRE_CLI_DRIVE_H
#define CADRE_CLI_DRIVE_H

#include "cli/command.h"
#include "cli/wire.h"

struct drive {
    struct wire *wire;
    enum { DRIVE_START, DRIVE_RESUME } kind;
    enum { DRIVE_SHOWN, DRIVE_QUIET } volume;
    enum { DRIVE_EVENTS, DRIVE_DELTAS } lines; /* of JSON; DELTAS: also text as it comes in */
    enum { DRIVE_LEAVES_RESULT, DRIVE_APPLIES } result; /* APPLIES: when the run completed */
    struct str task;                                    /* DRIVE_START */
    struct str output_schema; /* DRIVE_START: of the answer, or STR_NONE */
    struct str plan;          /* DRIVE_START: of the start message (planned.h), or STR_NONE */
    /* When the run is done, while its reader still listens: its code is the command's. NULL: nothing follows. */
    enum exit_code (*then)(void *user, const struct id *run_id);
    void *user;
    struct id run_id;         /* DRIVE_RESUME */
    enum broken_tries broken; /* DRIVE_RESUME */
    struct str source;        /* for the first line: where the model is from */
    int64_t timeout_ms;       /* UNLIMITED */
};

/* Returns the run's exit code; what goes wrong is said on stderr. */
enum exit_code drive_run(struct invocation *invocation, const struct drive *drive);

#endif
