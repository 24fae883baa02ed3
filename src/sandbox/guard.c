/* Placeholders for missing names: see guard.h. Any thread. */
#include "sandbox/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/scope.h"

#define PLACEHOLDER_MODE 01755 /* the sticky bit tells ours from others */
#define LOCK_WAIT_MS 2000
#define LOCK_STEP_US 1000

const char *const *guard_names(enum guard_kind kind)
{
    static const char *const in_any[] = {".git", NULL};
    static const char *const in_root[] = {".git", ".cadre", "cadre.yaml", NULL};
    return kind == GUARD_ROOT ? in_root : in_any;
}

enum found { FOUND_NOTHING, FOUND_PLACEHOLDER, FOUND_OTHER };

static enum found look(int directory, const char *name)
{
    struct stat status;
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? FOUND_NOTHING : FOUND_OTHER;
    bool ours = S_ISDIR(status.st_mode) && (status.st_mode & 07777) == PLACEHOLDER_MODE &&
                status.st_uid == geteuid();
    return ours ? FOUND_PLACEHOLDER : FOUND_OTHER;
}

/* Somebody who cleans up holds the lock alone, for a moment. */
static int lock_shared(int directory, const char *path, struct err *err)
{
    int64_t until = clock_monotonic_ms() + LOCK_WAIT_MS;
    while (flock(directory, LOCK_SH | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return err_set(err, ERR_IO, "cannot lock %s: %s", path, strerror(errno));
        if (clock_monotonic_ms() >= until)
            return err_set(err, ERR_DENIED, "another program keeps %s locked", path);
        usleep(LOCK_STEP_US);
    }
    return 0;
}

static int make(int directory, const char *name, const char *path, struct err *err)
{
    if (mkdirat(directory, name, PLACEHOLDER_MODE) == 0)
        return fchmodat(directory, name, PLACEHOLDER_MODE, 0) == 0
                   ? 0
                   : err_set(err, ERR_IO, "cannot keep %s in %s: %s", name, path, strerror(errno));
    return errno == EEXIST
               ? 0
               : err_set(err, ERR_IO, "cannot keep %s out of %s: %s", name, path, strerror(errno));
}

int guards_add(struct guards *guards, int workspace, const char *path, enum guard_kind kind,
               struct err *err)
{
    const char *const *names = guard_names(kind);
    int directory = scope_open_beneath(workspace, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return 0; /* a file, a link or nothing: nothing will be mounted in it */
    bool needed = false;
    for (size_t i = 0; names[i] != NULL; i++)
        needed |= look(directory, names[i]) != FOUND_OTHER;
    if (!needed) {
        close(directory);
        return 0;
    }
    if (guards->count == GUARDS_MAX) {
        close(directory);
        return err_set(err, ERR_USAGE, "more than %d directories to write to", GUARDS_MAX);
    }
    struct guard *guard = &guards->items[guards->count++];
    *guard = (struct guard){.directory = directory};
    if (lock_shared(directory, path, err) != 0)
        return -1;
    for (size_t i = 0; names[i] != NULL; i++) {
        if (look(directory, names[i]) == FOUND_OTHER)
            continue;
        guard->names[guard->name_count++] = names[i];
        if (make(directory, names[i], path, err) != 0)
            return -1;
    }
    return 0;
}

void guards_release(struct guards *guards)
{
    for (size_t i = 0; i < guards->count; i++) {
        struct guard *guard = &guards->items[i];
        if (flock(guard->directory, LOCK_EX | LOCK_NB) == 0)
            for (size_t name = 0; name < guard->name_count; name++)
                if (look(guard->directory, guard->names[name]) == FOUND_PLACEHOLDER)
                    unlinkat(guard->directory, guard->names[name], AT_REMOVEDIR);
        close(guard->directory);
    }
    guards->count = 0;
}
