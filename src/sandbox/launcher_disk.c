/* How much commands of a run write to the disk, in sum: no limit of the kernel's counts that for a group of processes. The outer process
 * looks at what the file system of the workspace has in use, which costs nothing, and only where that has grown by more than is left
 * does it walk through all places that commands of the run write to and add up the files that were changed since their first
 * command. Others use the same disk too: what they write is left out, and because they may free what a command takes, a walk is made
 * now and then in any case. What a walk found is shared with the launchers of the run's other commands. */
#include "sandbox/launcher.h"

#include <fcntl.h>
#include <fts.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRIES_MAX 2000000 /* of one walk */
#define WALK_SHARE 50       /* a walk that only the clock asks for takes this part of the time */
#define WALK_REST 4         /* and after any walk there is a rest of so many times its length */

struct walk {
    const struct launch *launch;
    const struct launch_disk *disk;
    size_t place, entries;
    bool parted; /* another place lies in this one */
    bool cut;
    uint64_t written;
};

void launch_open_disk(const struct launch *launch, struct launch_disk *disk)
{
    const char *view = NULL;
    *disk = (struct launch_disk){.ended = -1};
    /* Who cannot write need not answer for others who can. */
    while ((view = launch_next(launch, launch->head->views, view)) != NULL)
        if (view[0] == LAUNCH_VIEW_WRITE && disk->sum == NULL)
            disk->sum =
                mmap(NULL, sizeof *disk->sum, PROT_READ | PROT_WRITE, MAP_SHARED, LAUNCH_DISK, 0);
    if (disk->sum == MAP_FAILED)
        disk->sum = NULL;
    close(LAUNCH_DISK);
}

/* Everything must die, or is dead: nobody waits for the end of a walk. */
static bool is_cut(const struct launch_disk *disk)
{
    struct pollfd ended = {disk->ended, POLLIN, 0};
    return launch_is_cut() || poll(&ended, 1, 0) != 0;
}

static size_t place_count(const struct launch_disk *disk)
{
    size_t count = atomic_load(&disk->sum->count);
    return count < LAUNCH_DISK_PLACES_MAX ? count : LAUNCH_DISK_PLACES_MAX;
}

/* Lies the one below the other? What is left of its path, or NULL. */
static const char *below(const char *path, const char *directory)
{
    size_t n = strnlen(directory, LAUNCH_DISK_PATH_MAX);
    return strncmp(path, directory, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

static bool is_parted(const struct launch_disk *disk, size_t place)
{
    for (size_t i = 0; i < place_count(disk); i++)
        if (below(disk->sum->places[i].path, disk->sum->places[place].path) != NULL)
            return true;
    return false;
}

/* A place of its own is walked on its own. rest: the entry's path from the place that is walked through. */
static bool is_another_place(const struct walk *walk, const char *rest)
{
    const struct launch_disk_sum *sum = walk->disk->sum;
    for (size_t i = 0; walk->parted && i < place_count(walk->disk); i++) {
        const char *other = below(sum->places[i].path, sum->places[walk->place].path);
        if (other != NULL && strcmp(other, rest) == 0)
            return true;
    }
    return false;
}

/* The store, for example, which cadre writes to itself. */
static bool is_hidden(const struct launch *launch, const struct stat *status)
{
    const struct launch_kept *kept = &launch->kept;
    for (size_t i = 0; i < kept->hidden_count; i++)
        if (kept->hidden[i].device == status->st_dev && kept->hidden[i].inode == status->st_ino)
            return true;
    return false;
}

/* A file with several names is shared out among them. */
static void add_file(struct walk *walk, const struct stat *status)
{
    int64_t changed = (int64_t)status->st_ctim.tv_sec * 1000000000 + status->st_ctim.tv_nsec;
    if (changed >= atomic_load(&walk->disk->sum->places[walk->place].since) && status->st_nlink > 0)
        walk->written += (uint64_t)status->st_blocks * 512 / status->st_nlink;
}

static void add_entries(struct walk *walk, FTS *tree, size_t prefix)
{
    FTSENT *entry;
    while (!walk->cut && walk->entries < ENTRIES_MAX && (entry = fts_read(tree)) != NULL) {
        if (++walk->entries % 1024 == 0)
            walk->cut = is_cut(walk->disk);
        const char *rest = entry->fts_pathlen > prefix ? entry->fts_path + prefix : "";
        if (entry->fts_info == FTS_D && entry->fts_level > 0 &&
            (is_hidden(walk->launch, entry->fts_statp) || is_another_place(walk, rest)))
            fts_set(tree, entry, FTS_SKIP);
        else if (entry->fts_info == FTS_F && !is_another_place(walk, rest))
            add_file(walk, entry->fts_statp);
    }
}

/* Links are not followed, other file systems not entered. A place that is gone holds nothing. */
static void add_place(struct walk *walk)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
                           .resolve = RESOLVE_NO_SYMLINKS};
    const char *place = walk->disk->sum->places[walk->place].path;
    char path[64];
    char *paths[] = {path, NULL};
    struct stat status;
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, place, &how, sizeof how);
    if (fd < 0)
        return;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        add_file(walk, &status);
    int prefix = snprintf(path, sizeof path, "/proc/self/fd/%d/.", fd);
    FTS *tree = S_ISDIR(status.st_mode)
                    ? fts_open(paths, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL)
                    : NULL;
    if (tree != NULL) {
        walk->parted = is_parted(walk->disk, walk->place);
        add_entries(walk, tree, (size_t)prefix + 1);
        fts_close(tree);
    }
    close(fd);
}

bool launch_has_filled_the_disk(const struct launch *launch, struct launch_disk *disk)
{
    struct launch_disk_sum *sum = disk->sum;
    struct statvfs status;
    uint64_t most = launch->head->disk_bytes;
    long long now = launch_now_ms();
    if (sum == NULL || now < disk->rest_until || fstatvfs(LAUNCH_WORKSPACE, &status) != 0)
        return false;
    uint64_t used = (uint64_t)(status.f_blocks - status.f_bfree) * status.f_frsize;
    uint32_t system = launch->head->disk_system;
    bool grown = system < LAUNCH_SYSTEMS_MAX && used > atomic_load(&sum->bases[system]) + most;
    if (!grown && now < atomic_load(&sum->walk_at) && atomic_load(&sum->written) <= most)
        return false;
    struct walk walk = {.launch = launch, .disk = disk};
    for (; walk.place < place_count(disk); walk.place++)
        add_place(&walk);
    if (walk.cut)
        return false;
    long long took = launch_now_ms() - now;
    atomic_store(&sum->written, walk.written);
    atomic_store(&sum->walk_at,
                 now + (took * WALK_SHARE > LAUNCH_WALK_MS ? took * WALK_SHARE : LAUNCH_WALK_MS));
    if (system < LAUNCH_SYSTEMS_MAX)
        atomic_store(&sum->bases[system], used > walk.written ? used - walk.written : 0);
    disk->rest_until = now + took + took * WALK_REST;
    return walk.written > most;
}
