/* The clocks. Only the shell reads them: core gets `now` as an input. */
#ifndef CADRE_OS_CLOCK_H
#define CADRE_OS_CLOCK_H

#include <stdint.h>

#include "base/str.h"

int64_t clock_now_ms(void);       /* since 1970; may jump when somebody sets the clock */
int64_t clock_monotonic_ms(void); /* for durations and deadlines; never goes back */
/* Since the machine was started, suspended times included; nobody can set it. */
int64_t clock_boottime_ms(void);
int64_t clock_suspended_ms(void); /* how long the machine was suspended since it was started */

/* Names this start of the machine; empty where it is not told. */
struct str clock_boot_id(void);
/* What, added to clock_boottime_ms, is the wall time of the moment at which this was first called. It stays
 * the same for this process, however often somebody sets the clock: what is counted with it never jumps. */
int64_t clock_wall_at_boot(void);
int64_t clock_steady_ms(void); /* their sum: wall time that does not jump */

#endif
