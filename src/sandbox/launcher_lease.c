/* The lease of the run that a command belongs to. Cadre may be stopped (Ctrl-Z, a paused container), and a stopped process
 * cannot stop its commands, while another process takes the run over. So the launcher knows until when the run is certainly
 * its cadre's, hears over the lifeline when that moment moves, and ends the command by itself. One thread. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/launcher.h"

/* Suspended times count: another process may have woken up first. */
static long long boottime_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool launch_is_cut(void)
{
    struct pollfd lifeline = {LAUNCH_LIFELINE, 0, 0};
    return poll(&lifeline, 1, 0) != 0;
}

bool launch_hear_lifeline(struct launch *launch)
{
    int64_t numbers[64];
    ssize_t n = read(LAUNCH_LIFELINE, numbers, sizeof numbers);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    for (size_t i = 0; i < (size_t)n / sizeof numbers[0]; i++)
        if (launch->lease_until != 0 && numbers[i] > launch->lease_until)
            launch->lease_until = numbers[i];
    return n > 0;
}

int launch_lease_left(const struct launch *launch, int most)
{
    long long left = launch->lease_until - boottime_ms();
    if (launch->lease_until == 0 || left > most)
        return most;
    return left > 0 ? (int)left : 0;
}

void launch_lease_begin(struct launch *launch)
{
    launch->lease_until = launch->head->lease_until;
    if (!launch_hear_lifeline(launch))
        _exit(1);
    if (launch_lease_left(launch, 1) == 0)
        launch_refuse("lease", "cadre was stopped for so long that another process may own the run "
                               "now");
}
