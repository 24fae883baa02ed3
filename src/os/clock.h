/* The two clocks. Only the shell reads them: core gets `now` as an input. */
#ifndef CADRE_OS_CLOCK_H
#define CADRE_OS_CLOCK_H

#include <stdint.h>

int64_t clock_now_ms(void);       /* since 1970; may jump when somebody sets the clock */
int64_t clock_monotonic_ms(void); /* for durations and deadlines; never goes back */
int64_t clock_suspended_ms(void); /* how long the machine was suspended since it was started */

#endif
