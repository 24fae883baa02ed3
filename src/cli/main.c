/* The program `cadre`. Everything is in the commands; which adapters they meet is in wire.c. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/commands.h"
#include "os/limit.h"

#define DESCRIPTORS_LEAST                                                                          \
    24 /* store, loop, a request, a file: with fewer even a run without commands breaks off */

/* Descriptors of ours must not land on 0, 1 or 2, where a message would be written into them. */
static int fill_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd)
            return -1;
    }
    return 0;
}

/* Whatever opens one too many would say so in its own words, or abort. */
static int check_descriptors(void)
{
    size_t limit = limit_raise_descriptors(256), open = limit_open_descriptors(limit);
    if (limit >= open + DESCRIPTORS_LEAST)
        return 0;
    fprintf(stderr,
            "cadre: only %zu files may be open at a time here, and %zu are open already: cadre "
            "needs %d more; raise the "
            "limit with `ulimit -n 1024`\n",
            limit, open, DESCRIPTORS_LEAST);
    return -1;
}

/* abort() is called where memory cannot be had. malloc says so in errno, which belongs to the thread that aborts: abort raises
 * the signal in it, so reading errno here is safe. */
static void on_abort(int number)
{
    static const char text[] = "cadre: out of memory; what was done is in the log, and cadre "
                               "resume goes on with the run\n";
    if (errno != ENOMEM) /* NOLINT(bugprone-signal-handler) */
        return;          /* a bug: the process ends with the signal */
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(1);
    _exit(1);
}

int main(int argc, char **argv)
{
    if (fill_standard_descriptors() != 0 || check_descriptors() != 0)
        return 1;
    /* The loop has an arena, all other threads share another: with one of their own each, much would be held that nobody uses, and
     * with the loop's, the loop would wait for them. */
    mallopt(M_ARENA_MAX, 2);
    /* A reader that goes away is noticed by what is written, in every command. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGABRT, on_abort);
    return commands_main(argc, argv);
}
