/* Exit codes: one place says what each end of a command tells the shell. */
#ifndef CADRE_CLI_EXIT_H
#define CADRE_CLI_EXIT_H

#include "base/err.h"

enum exit_code {
    EXIT_CODE_DONE = 0,
    EXIT_CODE_FAILED = 1,  /* the run failed, or the machine did */
    EXIT_CODE_USAGE = 2,   /* usage or config */
    EXIT_CODE_BUDGET = 3,  /* the root's own budget */
    EXIT_CODE_TIMEOUT = 4, /* the root's own timeout */
    EXIT_CODE_PARKED =
        75, /* nothing has ended: `cadre resume` goes on (EX_TEMPFAIL of sysexits.h) */
    EXIT_CODE_CANCELLED = 130,
};

/* For a command that could not do its work. */
enum exit_code exit_of_error(enum err_class class);
/* For a run that nobody works on: its status ("completed", "failed", "cancelled", "parked") and its root's outcome
 * ("budget_exceeded" …, may be empty). */
enum exit_code exit_of_run(struct str status, struct str outcome);

#endif
