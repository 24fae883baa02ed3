/* posix_spawn, a pipe and a pidfd. */
#include "cli/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"

#define PENDING_MAX ((size_t)16 << 20)

extern char **environ;

int process_start(struct process *process, const char *const *argv, char *const *environment,
                  enum process_output output, struct err *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults, none;
    int ends[2] = {-1, -1};
    *process = (struct process){.out = -1};
    if (output == PROCESS_READ && pipe2(ends, O_CLOEXEC) != 0)
        return err_set(err, ERR_IO, "no pipe: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    /* We ignore SIGPIPE, and may hold others back; a child starts with what is usual. */
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    if (output != PROCESS_SHOWN)
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (output == PROCESS_DISCARDED)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (output == PROCESS_READ) {
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
    int result = posix_spawnp(&process->pid, argv[0], &actions, &attributes,
                              (char *const *)(const void *)argv,
                              environment != NULL ? environment : environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (output == PROCESS_READ)
        close(ends[1]);
    if (result != 0) {
        if (output == PROCESS_READ)
            close(ends[0]);
        return err_set(err, result == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s cannot be started: %s",
                       argv[0], strerror(result));
    }
    process->out = ends[0];
    buf_init(&process->pending, PENDING_MAX);
    return 0;
}

/* Waits for something to read. 0, or -1 with TIMEOUT. */
static int wait_readable(int fd, int64_t deadline, struct err *err)
{
    for (;;) {
        int64_t left = deadline - clock_monotonic_ms();
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        int ready = left > 0 ? poll(&poll_fd, 1, left < 60000 ? (int)left : 60000) : 0;
        if (ready > 0)
            return 0;
        if (ready == 0 && clock_monotonic_ms() >= deadline)
            return err_set(err, ERR_TIMEOUT, "the process did not get done in time");
        if (ready < 0 && errno != EINTR)
            return err_set(err, ERR_IO, "poll: %s", strerror(errno));
    }
}

int process_line(struct process *process, int64_t deadline, struct str *line, struct err *err)
{
    struct buf *pending = &process->pending;
    /* The line that was handed out last time still stands in front, ended by a NUL. */
    const char *used = pending->n > 0 ? memchr(pending->p, '\0', pending->n) : NULL;
    if (used != NULL) {
        size_t n = (size_t)(used + 1 - pending->p);
        memmove(pending->p, used + 1, pending->n - n);
        pending->n -= n;
    }
    for (;;) {
        char *end = pending->n > 0 ? memchr(pending->p, '\n', pending->n) : NULL;
        if (end != NULL) {
            *end = '\0';
            *line = (struct str){pending->p, (size_t)(end - pending->p)};
            return 0;
        }
        if (wait_readable(process->out, deadline, err) != 0)
            return -1;
        char *room = buf_reserve(pending, 16384);
        if (room == NULL)
            return err_set(err, ERR_IO, "a line of the process is too long");
        ssize_t n = read(process->out, room, 16384);
        if (n == 0 || (n < 0 && errno != EINTR))
            return err_set(err, ERR_NOT_FOUND, "the process wrote no more lines");
        pending->n += n > 0 ? (size_t)n : 0;
    }
}

int process_end(struct process *process, int64_t deadline, int *code, struct err *err)
{
    int status = 0, result = 0;
    int pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (process->out >= 0)
        close(process->out);
    if (pidfd < 0 || wait_readable(pidfd, deadline, err) != 0) {
        kill(process->pid, SIGKILL);
        result = err_set(err, ERR_TIMEOUT, "the process did not end in time");
    }
    while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (pidfd >= 0)
        close(pidfd);
    buf_release(&process->pending);
    *code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return result;
}
