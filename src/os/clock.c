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
