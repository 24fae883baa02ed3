/* See disk.h. Places belong to trees: a workspace, or the checkout of an agent. What was in a tree before its first command does not
 * count, so all places of a tree have the time of that command. A tree that was made anew under an old name is a new tree. */
#include "sandbox/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "os/clock.h"

/* What tells one directory from another, though it has the same name and the same number. */
struct tree {
    char path[LAUNCH_DISK_PATH_MAX];
    dev_t device;
    ino_t inode;
    int64_t born; /* 0 where the file system does not tell */
    int64_t since;
};

struct disk_run {
    char *id;
    size_t id_bytes;
    uint64_t turn; /* of its last command */
    int fd;
    struct launch_disk_sum *sum;
    dev_t systems[LAUNCH_SYSTEMS_MAX];
    uint32_t system_count;
    struct tree trees[LAUNCH_DISK_PLACES_MAX]; /* of each place */
};

static int64_t nanoseconds(int64_t seconds, int64_t rest)
{
    return seconds * 1000000000 + rest;
}

/* --- runs ----------------------------------------------------------------------------------------------------------------------- */

void disks_init(struct disks *disks)
{
    *disks = (struct disks){.count = 0};
    if (pthread_mutex_init(&disks->lock, NULL) != 0)
        abort();
}

static void run_free(struct disk_run *run)
{
    if (run->sum != NULL)
        munmap(run->sum, sizeof *run->sum);
    if (run->fd >= 0)
        close(run->fd);
    free(run->id);
    free(run);
}

void disks_release(struct disks *disks)
{
    for (size_t i = 0; i < disks->count; i++)
        run_free(disks->runs[i]);
    pthread_mutex_destroy(&disks->lock);
}

static struct disk_run *run_new(struct str id)
{
    struct disk_run *run = calloc(1, sizeof *run);
    if (run == NULL || (run->id = malloc(id.n + 1)) == NULL)
        abort();
    memcpy(run->id, id.n > 0 ? id.p : "", id.n);
    run->id_bytes = id.n;
    run->fd = memfd_create("disk", MFD_CLOEXEC);
    void *sum = run->fd >= 0 && ftruncate(run->fd, sizeof *run->sum) == 0
                    ? mmap(NULL, sizeof *run->sum, PROT_READ | PROT_WRITE, MAP_SHARED, run->fd, 0)
                    : MAP_FAILED;
    if (sum == MAP_FAILED) {
        run_free(run);
        return NULL;
    }
    run->sum = sum;
    atomic_store(&run->sum->walk_at, clock_monotonic_ms() + LAUNCH_WALK_MS);
    return run;
}

/* NULL with errno. */
static struct disk_run *find_run(struct disks *disks, struct str id)
{
    size_t quiet = 0;
    for (size_t i = 0; i < disks->count; i++) {
        if (str_eq((struct str){disks->runs[i]->id, disks->runs[i]->id_bytes}, id))
            return disks->runs[i];
        if (disks->runs[i]->turn < disks->runs[quiet]->turn)
            quiet = i;
    }
    struct disk_run *run = run_new(id);
    if (run == NULL)
        return NULL;
    if (disks->count < DISK_RUNS_MAX) {
        disks->runs[disks->count++] = run;
        return run;
    }
    run_free(disks->runs[quiet]);
    disks->runs[quiet] = run;
    return run;
}

/* --- trees and places ------------------------------------------------------------------------------------------------------------- */

/* False where that cannot be told: then what is written there does not count. */
static bool look_at_tree(int workspace, struct tree *tree)
{
    char link[64];
    struct statx status;
    struct timespec now;
    snprintf(link, sizeof link, "/proc/self/fd/%d", workspace);
    ssize_t n = readlink(link, tree->path, sizeof tree->path);
    if (n <= 0 || (size_t)n >= sizeof tree->path ||
        statx(workspace, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) != 0)
        return false;
    tree->path[n] = '\0';
    tree->device = makedev(status.stx_dev_major, status.stx_dev_minor);
    tree->inode = status.stx_ino;
    tree->born = (status.stx_mask & STATX_BTIME) != 0
                     ? nanoseconds(status.stx_btime.tv_sec, status.stx_btime.tv_nsec)
                     : 0;
    /* The kernel stamps files by a coarser clock, which is never ahead of this one. */
    clock_gettime(CLOCK_REALTIME, &now);
    tree->since = nanoseconds(now.tv_sec, now.tv_nsec);
    return true;
}

static bool is_same_tree(const struct tree *a, const struct tree *b)
{
    return a->device == b->device && a->inode == b->inode && a->born == b->born &&
           strcmp(a->path, b->path) == 0;
}

/* The first of: the place itself, one beyond the last, one that is gone. LAUNCH_DISK_PLACES_MAX: there is no room. */
static size_t room_for(const struct disk_run *run, const char *path)
{
    size_t count = atomic_load(&run->sum->count), gone = 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(run->sum->places[i].path, path) == 0)
            return i;
    if (count < LAUNCH_DISK_PLACES_MAX)
        return count;
    while (gone < count && access(run->sum->places[gone].path, F_OK) == 0)
        gone++;
    return gone;
}

static void add_place(struct disk_run *run, const struct tree *tree, const char *path)
{
    size_t at = room_for(run, path);
    if (at == LAUNCH_DISK_PLACES_MAX)
        return;
    struct launch_disk_place *place = &run->sum->places[at];
    if (strcmp(place->path, path) != 0) {
        /* Nothing counts while a launcher may see half of a path. */
        atomic_store(&place->since, INT64_MAX);
        snprintf(place->path, sizeof place->path, "%s", path);
    }
    run->trees[at] = *tree;
    atomic_store(&place->since, tree->since);
    if (at == atomic_load(&run->sum->count))
        atomic_store(&run->sum->count, (uint32_t)at + 1);
}

static void add_places(struct disk_run *run, const struct sandbox_walls *walls)
{
    char path[LAUNCH_DISK_PATH_MAX];
    struct tree tree;
    if (walls->write_count == 0 || !look_at_tree(walls->workspace, &tree))
        return;
    for (size_t i = 0; i < atomic_load(&run->sum->count); i++)
        if (is_same_tree(&run->trees[i], &tree))
            tree.since = run->trees[i].since;
        else if (strcmp(run->trees[i].path, tree.path) == 0) { /* made anew */
            run->trees[i] = tree;
            atomic_store(&run->sum->places[i].since, tree.since);
        }
    for (size_t i = 0; i < walls->write_count; i++) {
        struct str below = walls->write_paths[i];
        int n = str_is(below, ".")
                    ? snprintf(path, sizeof path, "%s", tree.path)
                    : snprintf(path, sizeof path, "%s/%.*s", tree.path, STR_FMT(below));
        if (n > 0 && (size_t)n < sizeof path)
            add_place(run, &tree, path);
    }
}

/* --- file systems ----------------------------------------------------------------------------------------------------------------- */

/* What it has in use when the run first meets it is not the run's. */
static uint32_t find_system(struct disk_run *run, int workspace)
{
    struct stat status;
    struct statvfs system;
    uint32_t i = 0;
    if (fstat(workspace, &status) != 0 || fstatvfs(workspace, &system) != 0)
        return LAUNCH_SYSTEMS_MAX;
    while (i < run->system_count && run->systems[i] != status.st_dev)
        i++;
    if (i < run->system_count || i == LAUNCH_SYSTEMS_MAX)
        return i;
    run->systems[run->system_count++] = status.st_dev;
    atomic_store(&run->sum->bases[i],
                 (uint64_t)(system.f_blocks - system.f_bfree) * system.f_frsize);
    return i;
}

int disks_join(struct disks *disks, const struct sandbox_walls *walls, uint32_t *system,
               struct err *err)
{
    int fd = -1;
    pthread_mutex_lock(&disks->lock);
    struct disk_run *run = find_run(disks, walls->run);
    if (run != NULL) {
        run->turn = ++disks->turn;
        *system = find_system(run, walls->workspace);
        add_places(run, walls);
        fd = fcntl(run->fd, F_DUPFD_CLOEXEC, 3);
    }
    if (fd < 0)
        err_set(err, ERR_IO, "cannot share memory with the launcher: %s", strerror(errno));
    pthread_mutex_unlock(&disks->lock);
    return fd;
}
