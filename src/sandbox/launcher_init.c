/* The first process of the namespace: starts the command, reaps whoever is left to it, watches the memory. Its end is
 * everybody's end; it comes with the end of the outer process (launcher_keeper.c) at the latest. Signals from inside do
 * not reach it, and nobody inside may look into it. */
#include "sandbox/launcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define WATCH_MS 200                                 /* between looks at what is held, at most */
#define WATCH_LEAST_MS 20                            /* a look takes a part of that */
#define FILLED_IN_A_MS ((unsigned long long)4 << 20) /* bytes, about what a machine can */

extern char **environ;

/* --- memory --------------------------------------------------------------------------------------------------------------------- */

static long long read_number(const char *path, const char *after)
{
    char text[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    const char *found = strstr(text, after);
    return found == NULL ? -1 : strtoll(found + strlen(after), NULL, 10);
}

/* Bytes that a process holds: quick (what is shared counts for each) or exact (shared by all who have it). */
enum precision { QUICK, EXACT };

static unsigned long long held_by(const char *process, enum precision precision)
{
    char path[64];
    long long number = -1;
    if (precision == EXACT) {
        snprintf(path, sizeof path, "/proc/%.20s/smaps_rollup", process);
        number = read_number(path, "\nPss:");
        if (number >= 0)
            return (unsigned long long)number * 1024;
    }
    snprintf(path, sizeof path, "/proc/%.20s/statm", process);
    number = read_number(path, " ");
    return number < 0 ? 0 : (unsigned long long)number * (unsigned long long)sysconf(_SC_PAGESIZE);
}

/* Segments of System V, which may be attached to nobody. */
static unsigned long long held_by_segments(void)
{
    unsigned long long sum = 0, resident, swapped;
    char line[512];
    FILE *file = fopen("/proc/sysvipc/shm", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "%*d %*d %*o %*u %*d %*d %*u %*u %*u %*u %*u %*u %*u %*u %llu %llu",
                   &resident, &swapped) == 2)
            sum += resident + swapped;
    if (file != NULL)
        fclose(file);
    return sum;
}

/* All of the namespace, /tmp included. */
static unsigned long long held_by_all(const struct launch *launch, enum precision precision,
                                      size_t *processes)
{
    struct statvfs tmp;
    unsigned long long most = launch->head->memory_bytes;
    unsigned long long sum = 0;
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    *processes = 0;
    while (proc != NULL && (entry = readdir(proc)) != NULL)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') {
            sum += held_by(entry->d_name, precision);
            ++*processes;
        }
    if (proc != NULL)
        closedir(proc);
    sum += held_by_segments();
    if (statvfs("/tmp", &tmp) == 0)
        sum += (unsigned long long)(tmp.f_blocks - tmp.f_bfree) * tmp.f_frsize;
    return sum + launch_held_by_sockets(launch, sum < most ? most - sum : 0);
}

/* What it used too much of, as the status line says it; NULL: nothing. Address space is not limited: sanitizers and other runtimes
 * reserve terabytes of it. next_ms: until the next look; the less is left, the sooner it may be gone. */
static const char *watch(const struct launch *launch, long long *next_ms)
{
    size_t processes;
    unsigned long long most = launch->head->memory_bytes;
    *next_ms = WATCH_MS;
    if (!launch_has(launch, LAUNCH_WALL_NAMESPACES))
        return NULL;
    unsigned long long held = held_by_all(launch, QUICK, &processes);
    if (held > most && (held = held_by_all(launch, EXACT, &processes)) > most)
        return "m\n";
    if (processes > launch->head->processes + 2)
        return "p\n";
    unsigned long long left_ms = (most - held) / FILLED_IN_A_MS;
    if (left_ms < WATCH_MS)
        *next_ms = left_ms < WATCH_LEAST_MS ? WATCH_LEAST_MS : (long long)left_ms;
    return NULL;
}

/* --- the command ------------------------------------------------------------------------------------------------------------------- */

static pid_t start_command(const struct launch *launch, const sigset_t *mask, int channel)
{
    /* This process has one thread and nothing but system calls to make in its child: vfork costs no copy of anything. volatile: the
     * child writes it, and this process reads it. NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
    volatile int number = 0;
    pid_t pid = vfork();
    if (pid == 0) {
        setpgid(0, 0);
        sigprocmask(SIG_SETMASK, mask, NULL);
        launch_restrict_command_calls(launch, channel);
        close_range(3, ~0u, 0);
        execvp(launch->argv[0], launch->argv);
        number = errno;
        _exit(127);
    }
    /* NOLINTEND(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
    if (pid < 0)
        launch_fail("limits", "cannot start a process");
    if (number != 0) {
        errno = number;
        launch_fail("command", "cannot run %s", launch->argv[0]);
    }
    return pid;
}

static void report(int status)
{
    char line[32];
    if (WIFEXITED(status))
        snprintf(line, sizeof line, "x %d\n", WEXITSTATUS(status));
    else
        snprintf(line, sizeof line, "k %d\n", WTERMSIG(status));
    launch_say(line);
}

/* True when the command itself has ended. */
static bool reap(pid_t command, int *status)
{
    pid_t pid;
    int ended;
    bool found = false;
    while ((pid = waitpid(-1, &ended, WNOHANG)) > 0)
        if (pid == command) {
            *status = ended;
            found = true;
        }
    return found;
}

/* Starts it and closes the descriptors that are the command's alone: only it writes its output and reads its input. */
static pid_t begin(const struct launch *launch, int *listener)
{
    sigset_t none;
    int channel[2];
    sigemptyset(&none);
    environ = launch->environment;
    if (chdir(launch->directory) != 0)
        launch_fail("command", "cannot start in %s", launch->directory);
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, channel) != 0)
        launch_fail("command", "cannot make a channel");
    pid_t command = start_command(launch, &none, channel[1]);
    *listener = launch_receive_listener(channel[0]);
    close(channel[0]);
    close(channel[1]);
    launch_restrict_own_calls(launch);
    if (launch->head->life == LAUNCH_UNTIL_STOPPED)
        launch_say("s\n");
    close_range(0, 2, 0);
    return command;
}

void launch_command(const struct launch *launch)
{
    sigset_t children;
    int status = 0, listener;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, NULL);
    int signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0)
        launch_fail("command", "cannot wait for processes");
    pid_t command = begin(launch, &listener);
    struct pollfd polls[] = {{signals, POLLIN, 0}, {listener, POLLIN, 0}};
    long long next = launch_now_ms() + WATCH_LEAST_MS;
    for (;;) {
        struct signalfd_siginfo info;
        /* By the clock, and not when nothing else happens: children that end all the time would put it off for ever. */
        long long left = next - launch_now_ms();
        if (left <= 0) {
            const char *why = watch(launch, &left);
            if (why != NULL) {
                launch_say(why);
                _exit(1);
            }
            next = launch_now_ms() + left;
        }
        if (poll(polls, 2, (int)left) <= 0)
            continue;
        if ((polls[1].revents & POLLIN) != 0)
            launch_answer(launch, listener);
        else if (polls[1].revents != 0)
            polls[1].fd = -1; /* nobody is left who could ask */
        if (polls[0].revents != 0) {
            ssize_t n = read(signals, &info, sizeof info);
            (void)n; /* how many there were does not matter: all are reaped */
            if (reap(command, &status))
                break;
        }
    }
    report(status);
    _exit(0);
}
