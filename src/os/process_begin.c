/* Starts programs and ends those that live on: see process.h. Runs on whichever thread asks. */
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/priority.h"

/* The program's ends of the pipes, and ours. */
struct pipes {
    int input[2], output[2], errors[2]; /* read end, write end */
    int null;
};

static void close_handle(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void pipes_close(struct pipes *pipes)
{
    for (size_t i = 0; i < 2; i++) {
        close_handle(&pipes->input[i]);
        close_handle(&pipes->output[i]);
        close_handle(&pipes->errors[i]);
    }
    close_handle(&pipes->null);
}

static int pipes_open(const struct process_command *command, enum process_input input,
                      struct pipes *pipes, struct err *err)
{
    *pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}, -1};
    bool failed = pipe2(pipes->output, O_CLOEXEC) != 0;
    if (command->streams == PROCESS_APART)
        failed |= pipe2(pipes->errors, O_CLOEXEC) != 0;
    if (input == PROCESS_INPUT_PIPE)
        failed |= pipe2(pipes->input, O_CLOEXEC) != 0;
    else
        failed |= (pipes->null = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0;
    if (failed) {
        err_set(err, ERR_IO, "cannot make pipes for a program: %s", strerror(errno));
        pipes_close(pipes);
        return -1;
    }
    /* Ours must never hold up whoever reads and writes them. */
    fcntl(pipes->output[0], F_SETFL, O_NONBLOCK);
    if (pipes->errors[0] >= 0)
        fcntl(pipes->errors[0], F_SETFL, O_NONBLOCK);
    if (pipes->input[1] >= 0)
        fcntl(pipes->input[1], F_SETFL, O_NONBLOCK);
    return 0;
}

/* Descriptors are put in place from above, so that none is overwritten before it was copied: everything first moves out of the way of
 * the numbers that the program will have. */
static int lift(int fd, int above)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, above);
}

/* The descriptors that the program will have as 0, 1, 2 …, out of the way. */
static int lift_handles(const struct process_command *command, const struct pipes *pipes,
                        int *lifted, int count, struct err *err)
{
    int sources[3 + PROCESS_HANDLES_MAX] = {
        pipes->input[0] >= 0 ? pipes->input[0] : pipes->null, pipes->output[1],
        pipes->errors[1] >= 0 ? pipes->errors[1] : pipes->output[1]};
    for (size_t i = 0; i < command->handle_count; i++)
        sources[3 + i] = command->handles[i];
    for (int i = 0; i < count; i++) {
        lifted[i] = lift(sources[i], count + 1);
        if (lifted[i] < 0)
            return err_set(err, ERR_IO, "cannot hand a descriptor to a program: %s",
                           strerror(errno));
    }
    return 0;
}

/* In the new process, which shares this one's memory until it is another program: system calls alone. `report` is told why there is
 * none. */
static void become(const struct process_command *command, const int *lifted, int count, int report)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &usual, NULL);
    priority_program();
    bool ready = setpgid(0, 0) == 0;
    ready = ready && (command->directory < 0 || fchdir(command->directory) == 0);
    for (int i = 0; i < count && ready; i++)
        ready = dup2(lifted[i], i) == i;
    ready = ready && dup2(report, count) == count && fcntl(count, F_SETFD, FD_CLOEXEC) == 0 &&
            close_range((unsigned)count + 1, ~0U, 0) == 0;
    if (ready) {
        sigprocmask(SIG_SETMASK, &none, NULL);
        execve(command->program, (char *const *)command->argv, (char *const *)command->environment);
    }
    int number = errno;
    if (write(ready ? count : report, &number, sizeof number) < 0)
        _exit(126);
    _exit(127);
}

static int refused(const struct process_command *command, int number, struct err *err)
{
    return err_set(err,
                   number == ENOENT                      ? ERR_NOT_FOUND
                   : number == EACCES || number == EPERM ? ERR_DENIED
                                                         : ERR_IO,
                   "cannot start %s: %s", command->program, strerror(number));
}

static int spawn(const struct process_command *command, const struct pipes *pipes, pid_t *pid,
                 struct err *err)
{
    int lifted[3 + PROCESS_HANDLES_MAX], report[2] = {-1, -1}, result = -1, number = 0;
    int count = 3 + (int)command->handle_count;
    sigset_t all, before;
    for (size_t i = 0; i < sizeof lifted / sizeof lifted[0]; i++)
        lifted[i] = -1;
    if (lift_handles(command, pipes, lifted, count, err) != 0)
        goto out;
    if (pipe2(report, O_CLOEXEC) != 0 || (number = lift(report[1], count + 1)) < 0) {
        err_set(err, ERR_IO, "cannot make pipes for a program: %s", strerror(errno));
        goto out;
    }
    close(report[1]);
    report[1] = number;
    /* No handler of ours may run in the new process. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    /* NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
    *pid = vfork();
    if (*pid == 0)
        become(command, lifted, count, report[1]);
    /* NOLINTEND(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
    number = *pid < 0 ? errno : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close_handle(&report[1]);
    bool told = *pid > 0 && read(report[0], &number, sizeof number) == (ssize_t)sizeof number;
    if (told)
        waitpid(*pid, NULL, 0);
    result = *pid < 0 || told ? refused(command, number, err) : 0;
out:
    close_handle(&report[0]);
    close_handle(&report[1]);
    for (size_t i = 0; i < sizeof lifted / sizeof lifted[0]; i++)
        close_handle(&lifted[i]);
    return result;
}

int process_begin(const struct process_command *command, enum process_input input,
                  struct process_alive *process, struct err *err)
{
    struct pipes pipes;
    *process =
        (struct process_alive){.pid = -1, .handle = -1, .input = -1, .output = -1, .errors = -1};
    if (command->handle_count > PROCESS_HANDLES_MAX)
        return err_set(err, ERR_BUG, "too many descriptors for a program");
    if (pipes_open(command, input, &pipes, err) != 0)
        return -1;
    if (spawn(command, &pipes, &process->pid, err) != 0) {
        pipes_close(&pipes);
        return -1;
    }
    process->handle = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (process->handle < 0) {
        err_set(err, ERR_IO, "cannot watch a program: %s", strerror(errno));
        kill(-process->pid, SIGKILL);
        waitpid(process->pid, NULL, 0);
        pipes_close(&pipes);
        return -1;
    }
    process->input = pipes.input[1];
    process->output = pipes.output[0];
    process->errors = pipes.errors[0];
    pipes.input[1] = pipes.output[0] = pipes.errors[0] = -1;
    pipes_close(&pipes);
    return 0;
}

void process_cut(int *lifeline)
{
    close_handle(lifeline);
}

void process_release(struct process_alive *process)
{
    close_handle(&process->input);
    close_handle(&process->output);
    close_handle(&process->errors);
    close_handle(&process->handle);
}

static bool ends_within(const struct process_alive *process, int64_t ms)
{
    struct pollfd poll_handle = {process->handle, POLLIN, 0};
    int64_t until = clock_monotonic_ms() + ms;
    for (int64_t left = ms; left >= 0; left = until - clock_monotonic_ms())
        if (poll(&poll_handle, 1, (int)left) > 0)
            return true;
    return false;
}

void process_stop(struct process_alive *process, int *lifeline)
{
    siginfo_t info;
    if (lifeline != NULL)
        process_cut(lifeline);
    bool ended = ends_within(process, lifeline != NULL ? PROCESS_END_MS : 0);
    kill(-process->pid, SIGKILL); /* or what it left in its group */
    if (!ended)
        ended = ends_within(process, PROCESS_REAP_MS);
    while (waitid(P_PIDFD, (id_t)process->handle, &info, ended ? WEXITED : WEXITED | WNOHANG) !=
               0 &&
           errno == EINTR)
        continue;
    process_release(process);
}
