/* See upward.h. Looks at paths, so that somebody who moves the directories meanwhile can change what is found; whoever can do that to
 * directories of the user and root is one of the two. */
#include "config/upward.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

bool upward_trusted(const struct stat *status)
{
    return status->st_uid == geteuid() || status->st_uid == 0;
}

static const char *name_in(struct arena *arena, struct str directory, const char *name)
{
    return arena_printf(arena, "%.*s/%s", STR_FMT(directory), name).p;
}

/* A directory with a HEAD, or a file that leads to one. An empty .git is neither. */
static bool is_top(struct arena *arena, struct str directory)
{
    struct stat status;
    if (lstat(name_in(arena, directory, ".git"), &status) != 0)
        return false;
    if (S_ISREG(status.st_mode))
        return status.st_size > 0;
    return S_ISDIR(status.st_mode) && access(name_in(arena, directory, ".git/HEAD"), F_OK) == 0;
}

static bool is_mount_point(struct str directory)
{
    struct statx status;
    return syscall(SYS_statx, AT_FDCWD, directory.p, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS,
                   &status) != 0 ||
           (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/* The directory above, where the way there can be relied on. */
static bool go_up(struct arena *arena, struct str *at)
{
    struct stat status;
    size_t n = at->n;
    while (n > 1 && at->p[n - 1] != '/')
        n--;
    if (at->n <= 1 || is_mount_point(*at))
        return false;
    struct str above = arena_copy(arena, (struct str){at->p, n > 1 ? n - 1 : n});
    if (lstat(above.p, &status) != 0 || !S_ISDIR(status.st_mode) || !upward_trusted(&status) ||
        (status.st_mode & S_IWOTH) != 0)
        return false;
    *at = above;
    return true;
}

void upward_find(struct arena *arena, struct str workspace, struct upward *out)
{
    struct str at = arena_copy(arena, workspace);
    size_t levels = 1;
    bool found;
    while (!(found = is_top(arena, at)) && go_up(arena, &at))
        levels++;
    levels = found ? levels : 1;
    *out = (struct upward){arena_alloc(arena, levels * sizeof *out->directories), levels};
    struct str directory = arena_copy(arena, workspace);
    for (size_t i = levels; i-- > 0;) {
        out->directories[i] = directory;
        size_t n = directory.n;
        while (n > 1 && directory.p[n - 1] != '/')
            n--;
        directory = arena_copy(arena, (struct str){directory.p, n > 1 ? n - 1 : n});
    }
}
