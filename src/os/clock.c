/* Reads the clocks in milliseconds. Any thread. */
#include "os/clock.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

int64_t clock_boottime_ms(void)
{
    return read_ms(CLOCK_BOOTTIME);
}

/* --- once for a process --------------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char boot_id[64];
static int64_t wall_at_boot;

static void read_once(void)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, boot_id, sizeof boot_id - 1) : -1;
    if (fd >= 0)
        close(fd);
    boot_id[n > 0 ? n : 0] = '\0';
    boot_id[strcspn(boot_id, "\n")] = '\0';
    wall_at_boot = read_ms(CLOCK_REALTIME) - read_ms(CLOCK_BOOTTIME);
}

struct str clock_boot_id(void)
{
    pthread_once(&once, read_once);
    return str_from(boot_id);
}

int64_t clock_wall_at_boot(void)
{
    pthread_once(&once, read_once);
    return wall_at_boot;
}

int64_t clock_steady_ms(void)
{
    return clock_boottime_ms() + clock_wall_at_boot();
}
