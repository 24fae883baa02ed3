/* Placeholders for missing names: see guard.h. Any thread. */
#include "sandbox/guard.h"

#include <ctype.h>
#include <dirent.h>
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
    mode_t mode = status.st_mode & 07777;
    bool ours = (S_ISDIR(status.st_mode) && mode == PLACEHOLDER_MODE) ||
                (S_ISREG(status.st_mode) && mode == PLACEHOLDER_FILE_MODE && status.st_size == 0);
    return ours && status.st_uid == geteuid() ? FOUND_PLACEHOLDER : FOUND_OTHER;
}

bool guard_is_empty_placeholder(int directory, const char *name)
{
    const struct dirent *entry;
    bool empty = look(directory, name) == FOUND_PLACEHOLDER;
    int fd = empty ? scope_open_beneath(directory, name, O_RDONLY | O_DIRECTORY) : -1;
    DIR *opened = fd >= 0 ? fdopendir(fd) : NULL;
    while (opened != NULL && (entry = readdir(opened)) != NULL)
        empty &= strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (opened != NULL)
        closedir(opened);
    return empty;
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
    struct guard *guard = guard_new(guards, directory, err);
    if (guard == NULL || lock_shared(directory, path, err) != 0)
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
            guard->purpose = GUARD_MAKES;
            guard->names[guard->name_count++] = name;
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

static void release_kept(int directory, const char *name)
{
    if (look(directory, name) == FOUND_PLACEHOLDER)
        unlinkat(directory, name, AT_REMOVEDIR);
}

static void release_names(const struct guard *guard, int directory)
{
    for (size_t i = 0; i < guard->name_count; i++)
        if (guard->purpose == GUARD_MAKES)
            release_made(directory, guard->names[i]);
        else
            release_kept(directory, guard->names[i]);
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
                    release_names(&guards->items[k], guard->directory);
        close(guard->directory);
    }
    guards->count = 0;
}
