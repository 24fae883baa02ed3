/* Paths to write to that are missing: see guard.h. Any thread. */
#include "sandbox/guard.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/scope.h"

#define PLACEHOLDER_MODE 01755 /* the sticky bit tells ours from others */
#define PLACEHOLDER_FILE_MODE 01644
#define LOCK_WAIT_MS 2000
#define LOCK_STEP_US 1000

enum found { FOUND_NOTHING, FOUND_PLACEHOLDER, FOUND_OTHER };

static enum found look(int directory, const char *name)
{
    struct stat status;
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? FOUND_NOTHING : FOUND_OTHER;
    mode_t mode = status.st_mode & 07777;
    bool ours = (S_ISDIR(status.st_mode) && mode == PLACEHOLDER_MODE) ||
                (S_ISREG(status.st_mode) && mode == PLACEHOLDER_FILE_MODE && status.st_size == 0);
    return ours && status.st_uid == geteuid() ? FOUND_PLACEHOLDER : FOUND_OTHER;
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

static struct guard *guard_new(struct guards *guards, int directory, struct err *err)
{
    struct stat status;
    if (guards->count == GUARDS_MAX) {
        close(directory);
        err_set(err, ERR_USAGE, "more than %d directories to write to", GUARDS_MAX);
        return NULL;
    }
    struct guard *guard = &guards->items[guards->count++];
    *guard = (struct guard){.directory = directory};
    if (fstat(directory, &status) == 0)
        guard->identity = (struct scope_identity){status.st_dev, status.st_ino};
    return guard;
}

/* --- paths to write to ------------------------------------------------------------------------------------------------------ */

/* "notes.md", and not "v1.2", ".config" or "conf.d". */
static bool is_file_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    bool letters = false;
    if (dot == NULL || dot == name || strlen(dot) > 9 || strcmp(dot, ".d") == 0)
        return false;
    for (const char *c = dot + 1; *c != '\0'; c++) {
        if (!isalnum((unsigned char)*c))
            return false;
        letters |= isalpha((unsigned char)*c) != 0;
    }
    return letters;
}

/* The time of a file that nobody has touched yet. */
static const struct timespec untouched[2] = {{0, 0}, {0, 0}};

/* 0, or -1 where it cannot be made. */
static int make_missing(int directory, const char *name, bool file)
{
    if (!file)
        return mkdirat(directory, name, PLACEHOLDER_MODE) == 0
                   ? fchmodat(directory, name, PLACEHOLDER_MODE, 0)
                   : -(errno != EEXIST);
    int fd =
        openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, PLACEHOLDER_FILE_MODE);
    if (fd < 0)
        return -(errno != EEXIST);
    int failed = fchmod(fd, PLACEHOLDER_FILE_MODE) | futimens(fd, untouched);
    close(fd);
    return failed;
}

int guards_make(struct guards *guards, int workspace, struct str path, struct arena *arena,
                struct err *err)
{
    int at = scope_open_beneath(workspace, ".", O_RDONLY | O_DIRECTORY);
    while (at >= 0 && path.n > 0 && !str_is(path, ".")) {
        const char *slash = memchr(path.p, '/', path.n);
        size_t n = slash != NULL ? (size_t)(slash - path.p) : path.n;
        const char *name = arena_copy(arena, (struct str){path.p, n}).p;
        bool last = slash == NULL;
        path = last ? STR("") : (struct str){slash + 1, path.n - n - 1};
        bool missing = look(at, name) != FOUND_OTHER;
        if (missing) {
            struct guard *guard = guard_new(guards, at, err);
            if (guard == NULL || lock_shared(at, name, err) != 0)
                return -1;
            guard->name = name;
            if (make_missing(at, name, last && is_file_name(name)) != 0)
                return 0;
        }
        int next = last ? -1 : scope_open_beneath(at, name, O_RDONLY | O_DIRECTORY);
        if (!missing)
            close(at); /* a guard keeps the others */
        at = next;
    }
    if (at >= 0)
        close(at);
    return 0;
}

/* What was used stays, without its mark. */
static void release_made(int directory, const char *name)
{
    struct stat status;
    if (look(directory, name) != FOUND_PLACEHOLDER ||
        fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        /* A file that has bytes by now still has the mark. */
        if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode) && (status.st_mode & 07777) == PLACEHOLDER_FILE_MODE)
            fchmodat(directory, name, 0644, 0);
        return;
    }
    if (S_ISDIR(status.st_mode)) {
        if (unlinkat(directory, name, AT_REMOVEDIR) != 0)
            fchmodat(directory, name, 0755, 0);
    } else if (status.st_mtim.tv_sec == 0) {
        unlinkat(directory, name, 0);
    } else {
        fchmodat(directory, name, 0644, 0);
    }
}

static bool is_same(const struct guard *a, const struct guard *b)
{
    return a->identity.device == b->identity.device && a->identity.inode == b->identity.inode;
}

/* The last first: a directory that was made may hold another. Of several on one directory, whose locks are in each other's way, the
 * first cleans up for all. */
void guards_release(struct guards *guards)
{
    for (size_t i = guards->count; i-- > 0;) {
        struct guard *guard = &guards->items[i];
        size_t first = 0;
        while (!is_same(&guards->items[first], guard))
            first++;
        if (first == i && flock(guard->directory, LOCK_EX | LOCK_NB) == 0)
            for (size_t k = guards->count; k-- > i;)
                if (is_same(&guards->items[k], guard))
                    release_made(guard->directory, guards->items[k].name);
        close(guard->directory);
    }
    guards->count = 0;
}
