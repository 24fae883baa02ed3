/* See leftover.h. */
#include "os/leftover.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/scope.h"

#define MARKED_MODE 01755

static const char *const names[] = {".git", ".cadre", "cadre.yaml"};

#define NAMES (sizeof names / sizeof names[0])

static bool is_marked(int directory, const char *name)
{
    struct stat status;
    return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode) &&
           (status.st_mode & 07777) == MARKED_MODE && status.st_uid == geteuid();
}

void leftover_clean(int workspace)
{
    bool found = false;
    for (size_t i = 0; i < NAMES; i++)
        found |= is_marked(workspace, names[i]);
    int directory =
        found ? scope_open_beneath(workspace, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (directory < 0)
        return;
    /* An older version that runs a command here at this moment holds the lock, and counts on them. */
    if (flock(directory, LOCK_EX | LOCK_NB) == 0)
        for (size_t i = 0; i < NAMES; i++)
            if (is_marked(directory, names[i]))
                unlinkat(directory, names[i], AT_REMOVEDIR);
    close(directory);
}
