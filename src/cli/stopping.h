/* The signals that stop a command: Ctrl-C, SIGTERM and SIGHUP. While a run is driven they park it
 * (drive.c). Before that there is nothing to park: they end the process at once. Main thread. */
#ifndef CADRE_CLI_STOPPING_H
#define CADRE_CLI_STOPPING_H

#include <stdbool.h>

#include "cli/exit.h"

#define STOPPING_SIGNALS 3

struct stopping_signal {
    int number;
    const char *reason; /* why the run parked, for people */
};
extern const struct stopping_signal stopping_signals[STOPPING_SIGNALS];

/* What a signal finds before a run is driven. */
enum stopping_before {
    STOPPING_NO_RUN, /* nothing is stored: exit code 130 */
    STOPPING_RESUME, /* a stored run was to go on, and stays as it is: exit code 75 */
};
/* Whether the signal stays without effect: a SIGHUP that whoever started the command ignores, as
 * nohup does. */
bool stopping_is_ignored(int number);
/* From now on a signal says so on stderr and exits at once, until the loop takes the signals over. */
void stopping_early(enum stopping_before before);

#endif
