/* Reads the clocks in milliseconds. Any thread. */
#include "os/clock.h"

#include <time.h>

static int64_t read_ms(clockid_t which)
{
    struct timespec at = {0};
    clock_gettime(which, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

int64_t clock_now_ms(void)
{
    return read_ms(CLOCK_REALTIME);
}

int64_t clock_monotonic_ms(void)
{
    return read_ms(CLOCK_MONOTONIC);
}

/* The difference of two clocks that cannot be read at one moment: read until nothing came between them. */
int64_t clock_suspended_ms(void)
{
    int64_t before = 0, boot = 0, after = 0;
    for (int tries = 0; tries < 8 && (tries == 0 || after != before); tries++) {
        before = read_ms(CLOCK_MONOTONIC);
        boot = read_ms(CLOCK_BOOTTIME);
        after = read_ms(CLOCK_MONOTONIC);
    }
    return boot - before;
}
