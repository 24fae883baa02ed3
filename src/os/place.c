/* Changing one file in an opened directory (see place.h). Blocks on the disk, so never on the
 * loop thread. */
#include "os/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/filename.h"
#include "base/gitname.h"
#include "base/hash.h"

#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_NONBLOCK)
#define TEMPORARY_NAME_MAX 64

/* --- finding the place ------------------------------------------------------------------------ */

/* A file system that cannot sync a directory says EINVAL; there is nothing more to be done on
 * it. */
static int sync_directory(int directory)
{
    return fsync(directory) != 0 && errno != EINVAL ? -1 : 0;
}

/* Creates what is missing of a directory path, one component at a time: each is opened from the
 * root again, so that every step is resolved beneath it. Returns the opened directory, or -1
 * with errno. */
static int make_directories(const struct scope *scope, const char *path)
{
    char prefix[SCOPE_PATH_MAX];
    size_t length = strlen(path);
    int parent = scope_open_beneath(scope->fd, ".", DIRECTORY_FLAGS);
    size_t start = 0;
    for (size_t end = 1; parent >= 0 && end <= length; end++) {
        if (path[end] != '/' && path[end] != '\0')
            continue;
        memcpy(prefix, path, end);
        prefix[end] = '\0';
        int next = scope_open_beneath(scope->fd, prefix, DIRECTORY_FLAGS);
        if (next < 0 && errno == ENOENT) {
            int made = mkdirat(parent, prefix + start, 0777);
            if ((made == 0 && sync_directory(parent) == 0) || errno == EEXIST)
                next = scope_open_beneath(scope->fd, prefix, DIRECTORY_FLAGS);
        }
        int number = errno;
        close(parent);
        errno = number;
        parent = next;
        start = end + 1;
    }
    return parent;
}

static int open_parent(const struct scope *scope, const char *path, enum place_parents parents)
{
    int fd = scope_open_beneath(scope->fd, path, DIRECTORY_FLAGS);
    if (fd < 0 && errno == ENOENT && parents == PLACE_MAKES_PARENTS)
        fd = make_directories(scope, path);
    return fd;
}

/* Before a directory is made: the deepest one that exists must not be a denied one. */
static int check_existing(const struct scope *scope, const char *path, struct err *err)
{
    char prefix[SCOPE_PATH_MAX];
    snprintf(prefix, sizeof prefix, "%s", path);
    for (;;) {
        int fd = scope_open_beneath(scope->fd, prefix, O_PATH | O_DIRECTORY);
        if (fd >= 0) {
            int result = scope_check_directory(scope, fd, err);
            close(fd);
            return result;
        }
        char *slash = strrchr(prefix, '/');
        if (!slash)
            return 0;
        *slash = '\0';
    }
}

/* --- repositories ----------------------------------------------------------------------------- */

/* Names that a file system folds into `.git`, and that git refuses to carry. */
static int check_names(struct str path, struct err *err)
{
    for (size_t start = 0; start < path.n;) {
        const char *slash = memchr(path.p + start, '/', path.n - start);
        size_t end = slash != NULL ? (size_t)(slash - path.p) : path.n;
        if (gitname_is_alias((struct str){path.p + start, end - start}))
            return err_set(err, ERR_DENIED,
                           "%s: git or a file system takes a part of this path for .git; give it "
                           "another name",
                           filename_of(path).text);
        start = end + 1;
    }
    return 0;
}

static unsigned parts_in(int directory)
{
    struct stat status;
    unsigned parts = 0;
    for (unsigned i = 0; i < GITNAME_PARTS; i++)
        if (fstatat(directory, gitname_parts[i], &status, AT_SYMLINK_NOFOLLOW) == 0)
            parts |= 1u << i;
    return parts;
}

/* Would a directory on the way be one that git takes for a repository by what is in it? */
static int check_layouts(const struct scope *scope, struct str path, struct err *err)
{
    char prefix[SCOPE_PATH_MAX] = ".";
    for (size_t start = 0; start < path.n;) {
        const char *slash = memchr(path.p + start, '/', path.n - start);
        size_t end = slash != NULL ? (size_t)(slash - path.p) : path.n;
        int directory = scope_open_beneath(scope->fd, prefix, O_PATH | O_DIRECTORY);
        if (directory < 0)
            return 0; /* what is new from here on holds one name each */
        unsigned parts =
            parts_in(directory) | gitname_part((struct str){path.p + start, end - start});
        close(directory);
        if (gitname_is_layout(parts))
            return err_set(err, ERR_DENIED,
                           "%s: git takes a directory with HEAD, objects and refs (or commondir) "
                           "for a repository and obeys its config, so nothing is written in %s",
                           filename_of(path).text, filename_of(str_from(prefix)).text);
        snprintf(prefix, sizeof prefix, "%.*s", (int)end, path.p);
        start = end + 1;
    }
    return 0;
}

int place_open(struct place *place, const struct scope *scope, struct str path,
               struct scope_allow allow, enum place_parents parents, struct err *err)
{
    char parent[SCOPE_PATH_MAX];
    place->directory = -1;
    if (scope_check(path, allow, err) != 0)
        return -1;
    if (str_is(path, "."))
        return err_set(err, ERR_USAGE, "the path names the workspace itself, not a file in it");
    if (check_names(path, err) != 0 || check_layouts(scope, path, err) != 0)
        return -1;
    snprintf(place->path, sizeof place->path, "%.*s", STR_FMT(path));
    const char *slash = strrchr(place->path, '/');
    const char *name = slash ? slash + 1 : place->path;
    memcpy(place->name, name, strlen(name) + 1); /* scope_check bounds every component */
    snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - place->path) : 1,
             slash ? place->path : ".");
    if (check_existing(scope, parent, err) != 0)
        return err_prefix(err, "%s", filename_of(str_from(place->path)).text);
    place->directory = open_parent(scope, parent, parents);
    if (place->directory < 0)
        return scope_explain(err, errno, place->path);
    if (scope_check_directory(scope, place->directory, err) != 0) {
        place_close(place);
        return err_prefix(err, "%s", filename_of(str_from(place->path)).text);
    }
    return 0;
}

void place_close(struct place *place)
{
    if (place->directory >= 0)
        close(place->directory);
    place->directory = -1;
}

/* --- looking ---------------------------------------------------------------------------------- */

/* What kind of thing a name is, in words; NULL for a regular file. */
static const char *wrong_kind(mode_t mode)
{
    if (S_ISREG(mode))
        return NULL;
    if (S_ISLNK(mode))
        return "is a symbolic link; only regular files are changed";
    return S_ISDIR(mode) ? "is a directory, not a file"
                         : "is a device, a socket or a FIFO, not a regular file";
}

/* 0 for a regular file; NOT_FOUND when nothing is there. */
static int look(const struct place *place, struct stat *status, struct err *err)
{
    if (fstatat(place->directory, place->name, status, AT_SYMLINK_NOFOLLOW) != 0)
        return scope_explain(err, errno, place->path);
    const char *wrong = wrong_kind(status->st_mode);
    if (!wrong)
        return 0;
    return err_set(err, S_ISDIR(status->st_mode) ? ERR_USAGE : ERR_DENIED, "%s %s",
                   filename_of(str_from(place->path)).text, wrong);
}

int place_read(const struct place *place, struct scope_file *file, struct err *err)
{
    file->fd = -1;
    if (look(place, &file->status, err) != 0)
        return -1;
    int fd = scope_open_beneath(place->directory, place->name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return scope_explain(err, errno, place->path);
    if (fstat(fd, &file->status) != 0 || !S_ISREG(file->status.st_mode)) {
        close(fd);
        return err_set(err, ERR_DENIED, "%s is not a regular file",
                       filename_of(str_from(place->path)).text);
    }
    file->fd = fd;
    memcpy(file->path, place->path, sizeof file->path);
    return 0;
}

/* --- changing --------------------------------------------------------------------------------- */

static int write_all(int fd, struct str content)
{
    while (content.n > 0) {
        ssize_t n = write(fd, content.p, content.n);
        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0) {
            content.p += n;
            content.n -= (size_t)n;
        }
    }
    return 0;
}

/* The replaced file's owner and permissions, without set-user-id and the like: new content does
 * not inherit power. The owner can be kept only by root; anyone else owns what they write. */
static int keep_mode(int fd, const struct stat *old)
{
    int ignored = fchown(fd, old->st_uid, old->st_gid);
    (void)ignored;
    return fchmod(fd, old->st_mode & 0777);
}

static int rename_into(const struct place *place, const char *temporary, enum place_expects expects)
{
    if (expects == PLACE_EXPECTS_FILE)
        return renameat(place->directory, temporary, place->directory, place->name);
    if (renameat2(place->directory, temporary, place->directory, place->name, RENAME_NOREPLACE) ==
        0)
        return 0;
    if (errno != EINVAL)
        return -1;
    /* Some network file systems have no RENAME_NOREPLACE; a hard link refuses to replace too. */
    if (linkat(place->directory, temporary, place->directory, place->name, 0) != 0)
        return -1;
    return unlinkat(place->directory, temporary, 0);
}

/* Whatever stands there must be what the caller saw: a file that may be written, or nothing. */
static int check_target(const struct place *place, enum place_expects expects, struct stat *old,
                        struct err *err)
{
    struct err looked = ERR_INIT;
    int found = look(place, old, &looked);
    if (found != 0 && (expects == PLACE_EXPECTS_FILE || looked.class != ERR_NOT_FOUND)) {
        *err = looked;
        return -1;
    }
    if (found == 0 && expects == PLACE_EXPECTS_NOTHING)
        return scope_explain(err, EEXIST, place->path);
    if (found == 0 && faccessat(place->directory, place->name, W_OK, AT_EACCESS) != 0)
        return err_set(err, ERR_IO, "%s is read-only", filename_of(str_from(place->path)).text);
    return 0;
}

static void name_temporary(struct str call, char name[TEMPORARY_NAME_MAX])
{
    char hex[HASH_HEX + 1];
    struct hash hash = hash_of(call);
    hash_hex(&hash, hex);
    snprintf(name, TEMPORARY_NAME_MAX, ".cadre-%.16s.tmp", hex);
}

void place_sweep(const struct place *place, struct str call)
{
    char temporary[TEMPORARY_NAME_MAX];
    name_temporary(call, temporary);
    unlinkat(place->directory, temporary, 0);
}

int place_write(const struct place *place, struct str content, enum place_expects expects,
                struct str call, struct err *err)
{
    struct stat old;
    char temporary[TEMPORARY_NAME_MAX];
    bool made = false;
    int result = -1;

    if (check_target(place, expects, &old, err) != 0)
        return -1;
    name_temporary(call, temporary);
    unlinkat(place->directory, temporary, 0);
    /* Nobody else reads a private file's new content before its permissions are set. */
    mode_t mode = expects == PLACE_EXPECTS_FILE ? 0600 : 0666;
    int fd = openat(place->directory, temporary,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        goto out;
    made = true;
    if (write_all(fd, content) != 0)
        goto out;
    if (expects == PLACE_EXPECTS_FILE && keep_mode(fd, &old) != 0)
        goto out;
    if (fsync(fd) != 0 || rename_into(place, temporary, expects) != 0)
        goto out;
    made = false;
    if (sync_directory(place->directory) != 0)
        goto out;
    result = 0;
out:
    if (result != 0)
        scope_explain(err, errno, place->path);
    if (fd >= 0)
        close(fd);
    if (made)
        unlinkat(place->directory, temporary, 0);
    return result;
}

/* The name of an open file, for linkat. */
static int link_unnamed(const struct place *place, int fd)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, path, place->directory, place->name, AT_SYMLINK_FOLLOW);
}

int place_create(const struct place *place, struct str content, struct str call, struct err *err)
{
    struct stat old;
    if (check_target(place, PLACE_EXPECTS_NOTHING, &old, err) != 0)
        return -1;
    int fd = openat(place->directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    bool linked =
        fd >= 0 && write_all(fd, content) == 0 && fsync(fd) == 0 && link_unnamed(place, fd) == 0;
    int number = errno;
    if (fd >= 0)
        close(fd);
    if (!linked && number == EEXIST)
        return scope_explain(err, number, place->path);
    if (!linked)
        return place_write(place, content, PLACE_EXPECTS_NOTHING, call, err);
    return sync_directory(place->directory) == 0 ? 0 : scope_explain(err, errno, place->path);
}

int place_delete(const struct place *place, struct err *err)
{
    struct stat status;
    if (look(place, &status, err) != 0)
        return -1;
    if (unlinkat(place->directory, place->name, 0) != 0 || sync_directory(place->directory) != 0)
        return scope_explain(err, errno, place->path);
    return 0;
}
