/* The program that stands between cadre and a confined command. It reads the policy, makes new namespaces, and waits for the first
 * process in them, which builds the walls (launcher_root.c, launcher_walls.c, launcher_refusals.c) and then runs the command (launcher_init.c).
 *
 * Who dies when: the first process ends when its command has ended or when the lifeline does, and the kernel then kills whoever
 * is left in the namespace. This process ends after it: when cadre sees that, everything is dead. One thread, no heap but the
 * message's. */
#include "sandbox/launcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void launch_say(const char *line)
{
    size_t n = strlen(line);
    ssize_t written = write(LAUNCH_STATUS, line, n);
    (void)written; /* nobody listens: nothing to be done about it */
}

__attribute__((format(printf, 2, 0))) static void say_why(const char *wall, const char *format,
                                                          va_list args, int number)
{
    char line[LAUNCH_STATUS_MAX], text[LAUNCH_STATUS_MAX - 128];
    vsnprintf(text, sizeof text, format, args);
    if (number != 0)
        snprintf(line, sizeof line, "! %s %s: %s\n", wall, text, strerror(number));
    else
        snprintf(line, sizeof line, "! %s %s\n", wall, text);
    launch_say(line);
}

void launch_fail(const char *wall, const char *format, ...)
{
    int number = errno;
    va_list args;
    va_start(args, format);
    say_why(wall, format, args, number);
    va_end(args);
    _exit(1);
}

void launch_refuse(const char *wall, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say_why(wall, format, args, 0);
    va_end(args);
    _exit(1);
}

long long launch_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool launch_has(const struct launch *launch, enum launch_wall wall)
{
    return (launch->head->walls & (1u << wall)) != 0;
}

static void write_text(const char *wall, const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        launch_fail(wall, "cannot write %s", path);
    close(fd);
}

/* Inside, the user has the numbers that it has outside, and there is nobody else. */
static void map_user(uid_t uid, gid_t gid)
{
    char line[64];
    snprintf(line, sizeof line, "%u %u 1\n", uid, uid);
    write_text("namespaces", "/proc/self/uid_map", line);
    write_text("namespaces", "/proc/self/setgroups", "deny");
    snprintf(line, sizeof line, "%u %u 1\n", gid, gid);
    write_text("namespaces", "/proc/self/gid_map", line);
}

/* Cadre may be gone already, which only the lifeline tells. */
static void die_if_alone(void)
{
    if (launch_is_cut())
        _exit(1);
}

/* Killed with its parent. */
static void die_with_parent(void)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        launch_fail("namespaces", "cannot ask to die with the parent");
    die_if_alone();
}

/* Not with a session of its own, which would take the terminal away as well: to a kernel that shares the machine out by session
 * (autogroup), twenty commands would then be twenty users, and cadre's loop one among them. */
static void leave_terminal(void)
{
    int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (terminal < 0)
        return; /* there is none */
    if (ioctl(terminal, TIOCNOTTY) != 0)
        launch_fail("processes", "cannot leave the terminal");
    close(terminal);
}

/* The first process of the new namespaces. */
static _Noreturn void be_first(struct launch *launch, uid_t uid, gid_t gid)
{
    die_with_parent();
    /* Where memory runs out, the kernel takes commands before anything else of the user's. */
    write_text("limits", "/proc/self/oom_score_adj", "1000");
    if (launch_has(launch, LAUNCH_WALL_NAMESPACES)) {
        map_user(uid, gid);
        if (sethostname("cadre", 5) != 0)
            launch_fail("namespaces", "cannot set the host name");
        if (launch->head->network != LAUNCH_NET_FULL) {
            launch_raise_loopback();
            launch_open_sockets(launch);
        }
        launch_make_root(launch);
    }
    launch_drop_privileges();
    launch_restrict_files(launch);
    launch_open_places(launch);
    close(LAUNCH_WORKSPACE);
    launch_set_limits(launch);
    /* What drops privileges also forgets who to die with. */
    die_with_parent();
    if (launch->head->network == LAUNCH_NET_RELAY)
        launch_start_relay(launch);
    launch_command(launch);
}

/* A mount can only be copied from a namespace of one's own, so the descriptor is followed to its name here, and opened again, and
 * compared, in the new namespace. */
static void find_workspace(struct launch *launch)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", LAUNCH_WORKSPACE);
    ssize_t n = readlink(link, launch->workspace_now, sizeof launch->workspace_now - 1);
    if (n <= 0)
        launch_fail("namespaces", "cannot find the workspace through /proc");
    launch->workspace_now[n] = '\0';
}

static pid_t start_first(const struct launch *launch)
{
    unsigned long flags = SIGCHLD;
    if (launch_has(launch, LAUNCH_WALL_NAMESPACES)) {
        flags |= CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
                 CLONE_NEWCGROUP;
        if (launch->head->network != LAUNCH_NET_FULL)
            flags |= CLONE_NEWNET;
    }
    return (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
}

/* The parent of a process, or 0. */
static pid_t parent_of(const char *process)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%.20s/stat", process);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    /* The name in brackets may hold anything; the last bracket ends it. */
    const char *after = strrchr(text, ')');
    int parent = 0;
    return after != NULL && sscanf(after, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* Without a pid namespace: children of whoever has died become this process's, until there is none. */
static void kill_descendants(void)
{
    do {
        DIR *proc = opendir("/proc");
        struct dirent *entry;
        while (proc != NULL && (entry = readdir(proc)) != NULL)
            if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
                parent_of(entry->d_name) == getpid())
                kill((pid_t)atoi(entry->d_name), SIGKILL);
        if (proc != NULL)
            closedir(proc);
    } while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
}

int main(void)
{
    static struct launch launch;
    struct launch_disk disk;
    uid_t uid = geteuid();
    gid_t gid = getegid();
    int status = 0;
    die_if_alone();
    close(LAUNCH_IMAGE);
    launch_read_message(&launch);
    close(LAUNCH_MESSAGE);
    umask(022);
    prctl(PR_SET_NAME, "cadre-launcher");
    leave_terminal();
    find_workspace(&launch);
    launch_find_kept(&launch);
    /* Further groups would be kept: they cannot be given up inside. Who may not give them up keeps them. */
    if (uid == 0 && setgroups(0, NULL) != 0 && errno != EPERM)
        launch_fail("namespaces", "cannot leave the groups");
    bool namespaces = launch_has(&launch, LAUNCH_WALL_NAMESPACES);
    if (!namespaces && prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        launch_fail("processes", "cannot take over orphans");
    launch_share_refusals(&launch);
    launch_lease_begin(&launch);
    launch_open_disk(&launch, &disk);
    /* Many short commands write as much as a long one: once the limit is reached, none is started. */
    if (launch_has_filled_the_disk(&launch, &disk)) {
        launch_say("d\na \n");
        return 0;
    }
    pid_t first = start_first(&launch);
    if (first < 0)
        launch_fail("namespaces", "cannot make namespaces");
    if (first == 0)
        be_first(&launch, uid, gid);
    close_range(0, 2, 0); /* whoever reads the command's output waits for its last writer */
    launch_keep_watch(&launch, &disk, first);
    while (waitpid(first, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!namespaces)
        kill_descendants();
    launch_say_refusals(&launch);
    launch_sweep(&launch);
    return 0;
}
