/* The outer process of the launcher while the command runs. It stands outside the walls, out of the command's sight, and is not tied
 * to cadre: when the lifeline ends it ends the command and goes on to look through what is left (launch_sweep), also when cadre was
 * killed.
 *
 * It watches the names that git and cadre would find first: `.git` in every path to write to, `cadre.yaml` in the workspace's root.
 * Whoever makes one while a command runs finds it moved aside at once. A command that goes on making them is killed. */
#include "sandbox/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/gitname.h"

#define TOPS_MAX 64
#define DISK_MS 500   /* between looks at the disk */
#define LOOK_MS 100   /* where the kernel does not tell of changes */
#define MOVES_MOST 16 /* of what one command made */

struct top {
    int directory;
    const char *path;
};

struct keeper {
    struct launch *launch;
    struct top tops[TOPS_MAX];
    size_t count;
    int changes; /* inotify, or -1: then they are looked at again and again */
};

static const char *const watched[] = {".git", "cadre.yaml"};

static size_t watched_in(const char *path)
{
    return strcmp(path, ".") == 0 ? sizeof watched / sizeof watched[0] : 1;
}

/* One limit of the kernel counts all watchers of a user: without, they are looked at by the clock. */
static void watch_top(struct keeper *keeper, const char *path)
{
    char link[64];
    int directory = keeper->count < TOPS_MAX ? launch_open_directory(path) : -1;
    if (directory < 0)
        return;
    keeper->tops[keeper->count++] = (struct top){directory, path};
    snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    if (keeper->changes >= 0 &&
        inotify_add_watch(keeper->changes, link, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) < 0) {
        close(keeper->changes);
        keeper->changes = -1;
    }
}

/* Moved aside, and if it is a directory that git would know by its layout, without its HEAD. */
static void take(struct keeper *keeper, const struct top *top, const char *name)
{
    char aside[LAUNCH_ASIDE_MAX], unused[LAUNCH_ASIDE_MAX], path[LAUNCH_ASIDE_MAX];
    struct stat status;
    if (fstatat(top->directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        launch_is_known(&keeper->launch->kept, &status))
        return;
    launch_move_aside(&keeper->launch->kept, top->directory, top->path, name, aside);
    int moved = aside[0] != '\0'
                    ? openat(top->directory, aside, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                    : -1;
    if (moved < 0)
        return;
    snprintf(path, sizeof path, "%s", aside);
    launch_move_aside(&keeper->launch->kept, moved, path, gitname_parts[0], unused);
    close(moved);
}

static void look(struct keeper *keeper)
{
    for (size_t i = 0; i < keeper->count; i++)
        for (size_t k = 0; k < watched_in(keeper->tops[i].path); k++)
            take(keeper, &keeper->tops[i], watched[k]);
}

static bool is_watched(const char *name)
{
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++)
        if (strcmp(name, watched[i]) == 0)
            return true;
    return false;
}

/* Did any of the changes concern a name that is watched? Where some were dropped, they may have. */
static bool concerns_us(int changes)
{
    char events[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t n = read(changes, events, sizeof events);
    bool found = false;
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *event = (const struct inotify_event *)(events + at);
        found |= (event->mask & IN_Q_OVERFLOW) != 0 || (event->len > 0 && is_watched(event->name));
        at += (ssize_t)(sizeof *event + event->len);
    }
    return found;
}

/* Signals to everybody (a session that ends) must not keep it from looking through what is left. */
static void ignore_signals(void)
{
    static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        signal(ignored[i], SIG_IGN);
}

void launch_keep_watch(struct launch *launch, struct launch_disk *disk, pid_t first)
{
    struct keeper keeper = {.launch = launch, .changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
    const char *view = NULL;
    long long next = launch_now_ms() + DISK_MS;
    ignore_signals();
    while ((view = launch_next(launch, launch->head->views, view)) != NULL)
        if (view[0] == LAUNCH_VIEW_WRITE)
            watch_top(&keeper, view + 1);
    look(&keeper); /* what came before the watch */
    int ended = pidfd_open(first, 0);
    if (ended < 0) {
        kill(first, SIGKILL);
        return;
    }
    struct pollfd polls[] = {
        {ended, POLLIN, 0}, {LAUNCH_LIFELINE, POLLIN, 0}, {keeper.changes, POLLIN, 0}};
    disk->ended = ended;
    for (;;) {
        /* By the clock, and not when nothing else happens: files that are made all the time would put it off for ever. */
        if (launch_now_ms() >= next) {
            if (launch_has_filled_the_disk(launch, disk)) {
                launch_say("d\n");
                break;
            }
            next = launch_now_ms() + DISK_MS;
        }
        int n = poll(polls, 3, launch_lease_left(launch, keeper.changes >= 0 ? DISK_MS : LOOK_MS));
        if (n < 0 && errno != EINTR)
            break;
        if (n > 0 && polls[0].revents != 0)
            break;
        if (n > 0 && polls[1].revents != 0 && !launch_hear_lifeline(launch))
            break;
        if (launch_lease_left(launch, 1) == 0) {
            launch_say("l\n");
            break;
        }
        if (keeper.changes < 0 || (n > 0 && polls[2].revents != 0 && concerns_us(keeper.changes)))
            look(&keeper);
        if (launch->kept.moved > MOVES_MOST) {
            launch_say("g\n");
            break;
        }
    }
    kill(first, SIGKILL); /* with everything in its namespace */
    for (size_t i = 0; i < keeper.count; i++)
        close(keeper.tops[i].directory);
}
