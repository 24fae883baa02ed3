/* The program `cadre`. Everything is in the commands; which adapters they meet is in wire.c. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>

#include "cli/commands.h"

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

int main(int argc, char **argv)
{
    if (fill_standard_descriptors() != 0)
        return 1;
    /* The loop has an arena, all other threads share another: with one of their own each, much would be held that nobody uses, and
     * with the loop's, the loop would wait for them. */
    mallopt(M_ARENA_MAX, 2);
    return commands_main(argc, argv);
}
