/* Opening beneath a directory (see scope.h for the promises). Reading side; os/place.c has the
 * writing side. Blocks on the file system, so never on the loop thread.
 *
 * Why links are followed here and not by the kernel: openat2 would follow a link `notes ->
 * .git/config` without telling where it ended, and asking afterwards is a race. With NO_SYMLINKS
 * the text of a path that opens is its true place. */
#include "os/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/filename.h"
#include "base/gitname.h"
#include "base/path.h"
#include "base/pathrule.h"
#include "base/utf8.h"
#include "os/pseudofs.h"

#define RETRIES 64        /* of an openat2 that a signal or a concurrent rename interrupted */
#define LINKS_MAX 16      /* links followed for one path, like the kernel's 40 but enough */
#define ANCESTORS_MAX 512 /* directories between an opened one and the root */

/* --- small parts ------------------------------------------------------------------------------ */

int scope_open_beneath(int directory, const char *path, int flags)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS,
    };
    for (int i = 0; i < RETRIES; i++) {
        long fd = syscall(SYS_openat2, directory, path, &how, sizeof how);
        if (fd >= 0)
            return (int)fd;
        if (errno != EAGAIN && errno != EINTR)
            return -1;
    }
    return -1;
}

int scope_explain(struct err *err, int number, const char *path)
{
    static const struct {
        int number;
        enum err_class class;
        const char *text;
    } words[] = {
        {ENOENT, ERR_NOT_FOUND, "does not exist"},
        {ENOTDIR, ERR_NOT_FOUND, "does not exist: a part of the path is not a directory"},
        {ELOOP, ERR_DENIED, "is or goes through a symbolic link, which is not followed here"},
        {EXDEV, ERR_DENIED, "lies outside the workspace"},
        {EEXIST, ERR_DENIED, "exists already"},
        {ENXIO, ERR_DENIED, "is a socket or a device, not a regular file"},
        {ENODEV, ERR_DENIED, "is a device, not a regular file"},
        {EACCES, ERR_IO, "cannot be opened: permission denied"},
        {EPERM, ERR_IO, "cannot be opened: not permitted"},
        {EROFS, ERR_IO, "lies on a read-only file system"},
        {ENOSPC, ERR_IO, "cannot be written: the disk is full"},
        {EDQUOT, ERR_IO, "cannot be written: the disk quota is used up"},
        {ENAMETOOLONG, ERR_USAGE, "is too long for a path"},
        {EAGAIN, ERR_RETRY, "is being renamed all the time; try again"},
        {ENOSYS, ERR_CONFIG,
         "cannot be opened safely: this kernel has no openat2 (Linux 5.6 or newer is needed)"},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (words[i].number == number)
            return err_set(err, words[i].class, "%s %s", filename_of(str_from(path)).text,
                           words[i].text);
    const char *text = strerrordesc_np(number);
    return err_set(err, ERR_IO, "%s: %s", filename_of(str_from(path)).text,
                   text ? text : "unknown error");
}

static bool same(const struct scope_identity *a, const struct stat *b)
{
    return a->device == b->st_dev && a->inode == b->st_ino;
}

bool scope_is_config(struct str name)
{
    while (name.n > 1 && (name.p[name.n - 1] == '.' || name.p[name.n - 1] == ' '))
        name.n--; /* some file systems drop these */
    return utf8_is_like(name, ".cadre") || utf8_is_like(name, "cadre.yaml");
}

bool scope_holds_config(struct str path)
{
    while (path.n > 0) {
        const char *slash = memchr(path.p, '/', path.n);
        struct str part = {path.p, slash != NULL ? (size_t)(slash - path.p) : path.n};
        size_t taken = slash != NULL ? part.n + 1 : part.n;
        if (scope_is_config(part))
            return true;
        path = (struct str){path.p + taken, path.n - taken};
    }
    return false;
}

/* --- a scope ---------------------------------------------------------------------------------- */

/* The real path of an opened directory, for text only; empty when /proc is not there. */
static void record_real_path(struct scope *scope)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", scope->fd);
    ssize_t n = readlink(link, scope->real, sizeof scope->real - 1);
    scope->real[n > 0 && scope->real[0] == '/' ? n : 0] = '\0';
}

int scope_open(struct scope *scope, const char *path, struct err *err)
{
    struct stat status;
    *scope = (struct scope){.fd = -1};
    if (strlen(path) >= sizeof scope->given)
        return scope_explain(err, ENAMETOOLONG, "the workspace's path");
    scope->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (scope->fd < 0 || fstat(scope->fd, &status) != 0) {
        scope_explain(err, errno, path);
        goto fail;
    }
    scope->root = (struct scope_identity){status.st_dev, status.st_ino};
    if (path[0] == '/') {
        size_t n = strlen(path);
        while (n > 1 && path[n - 1] == '/')
            n--;
        memcpy(scope->given, path, n);
    }
    record_real_path(scope);
    int probe = scope_open_beneath(scope->fd, ".", O_PATH | O_DIRECTORY);
    if (probe < 0) {
        /* Old system call filters answer EPERM to what they do not know. */
        scope_explain(err, errno == EPERM ? ENOSYS : errno, path);
        goto fail;
    }
    close(probe);
    return 0;
fail:
    scope_close(scope);
    return -1;
}

int scope_show_as(struct scope *scope, const char *path, struct err *err)
{
    if (path[0] != '/' || strlen(path) >= sizeof scope->given)
        return scope_explain(err, ENAMETOOLONG, "the workspace's path");
    memset(scope->given, 0, sizeof scope->given);
    memcpy(scope->given, path, strlen(path));
    scope->shown = SCOPE_AS_GIVEN;
    return 0;
}

const char *scope_shown(const struct scope *scope)
{
    return scope->shown == SCOPE_AS_GIVEN ? scope->given : scope->real;
}

void scope_close(struct scope *scope)
{
    if (scope->fd >= 0)
        close(scope->fd);
    *scope = (struct scope){.fd = -1};
}

void scope_rest(struct scope *scope)
{
    /* Without /proc its path is not known, and it stays open. */
    if (scope->fd < 0 || scope->real[0] == '\0')
        return;
    close(scope->fd);
    scope->fd = -1;
}

int scope_open_again(struct scope *scope, const struct scope *resting, struct err *err)
{
    struct stat status;
    *scope = *resting;
    scope->fd = resting->fd >= 0
                    ? fcntl(resting->fd, F_DUPFD_CLOEXEC, 0)
                    : open(resting->real, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (scope->fd < 0 || fstat(scope->fd, &status) != 0) {
        scope_explain(err, errno, resting->real);
    } else if (status.st_dev != resting->root.device || status.st_ino != resting->root.inode) {
        err_set(err, ERR_DENIED, "another directory is in the place of %s now", resting->real);
    } else {
        return 0;
    }
    scope_close(scope);
    return -1;
}

int scope_deny(struct scope *scope, const char *directory, struct err *err)
{
    struct stat status;
    if (scope->denied_count == SCOPE_DENIED_MAX)
        return err_set(err, ERR_BUG, "a scope can deny at most %d directories", SCOPE_DENIED_MAX);
    if (stat(directory, &status) != 0)
        return scope_explain(err, errno, directory);
    if (!S_ISDIR(status.st_mode))
        return err_set(err, ERR_USAGE, "%s is not a directory", directory);
    scope->denied[scope->denied_count++] = (struct scope_identity){status.st_dev, status.st_ino};
    return 0;
}

/* --- text ------------------------------------------------------------------------------------- */

/* The part of an absolute path below root; STR_NONE when it lies elsewhere. */
static struct str below(struct str path, const char *root)
{
    struct str prefix = str_from(root);
    if (prefix.n == 0)
        return STR_NONE;
    if (prefix.n == 1) /* "/" */
        return path;
    if (!str_starts(path, prefix) || (path.n > prefix.n && path.p[prefix.n] != '/'))
        return STR_NONE;
    return (struct str){path.p + prefix.n, path.n - prefix.n};
}

static int outside(const struct scope *scope, struct str path, struct err *err)
{
    const char *root = scope->given[0] ? scope->given : scope->real;
    return err_set(err, ERR_DENIED,
                   "%s lies outside the workspace (%s); use a path relative to the workspace",
                   filename_of(path).text, filename_of(str_from(root)).text);
}

int scope_path(const struct scope *scope, struct arena *arena, struct str base, struct str path,
               struct str *normal, struct err *err)
{
    if (path.n == 0)
        return err_set(err, ERR_USAGE, "the path is empty; use \".\" for the workspace itself");
    if (memchr(path.p, '\0', path.n))
        return err_set(err, ERR_USAGE, "the path has a NUL character in it");
    if (path.n >= SCOPE_PATH_MAX)
        return err_set(err, ERR_USAGE, "the path is too long: %zu bytes, at most %d", path.n,
                       SCOPE_PATH_MAX - 1);
    path = filename_read(arena, path);
    struct str relative = path;
    if (path.p[0] == '/') {
        relative = below(path, scope->given);
        if (!relative.p)
            relative = below(path, scope->real);
        if (!relative.p)
            return outside(scope, path, err);
        base = STR(".");
    }
    struct str joined = arena_printf(arena, "%.*s/./%.*s", STR_FMT(base), STR_FMT(relative));
    *normal = path_normal(arena, joined);
    if (!normal->p)
        return outside(scope, path, err);
    if (normal->n >= SCOPE_PATH_MAX)
        return err_set(err, ERR_USAGE, "the path is too long with its working directory");
    return 0;
}

static int not_allowed(struct str path, struct scope_allow allow, struct err *err)
{
    char list[512];
    size_t n = 0;
    list[0] = '\0';
    for (size_t i = 0; i < allow.count && n < sizeof list - 1; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%.*s", i ? ", " : "",
                              STR_FMT(allow.paths[i]));
    return err_set(err, ERR_DENIED, "%s is outside the paths of this task; allowed: %s",
                   filename_of(path).text, allow.count ? list : "none");
}

int scope_check(struct str path, struct scope_allow allow, struct err *err)
{
    if (path.n == 0 || path.n >= SCOPE_PATH_MAX || path.p[0] == '/')
        return err_set(err, ERR_USAGE, "the path is not in normal form");
    for (size_t start = 0; start <= path.n;) {
        const char *slash = memchr(path.p + start, '/', path.n - start);
        size_t end = slash ? (size_t)(slash - path.p) : path.n;
        struct str name = {path.p + start, end - start};
        if (name.n == 0 || str_is(name, "..") || (str_is(name, ".") && path.n != 1))
            return err_set(err, ERR_USAGE, "the path is not in normal form");
        if (name.n >= SCOPE_NAME_MAX)
            return err_set(err, ERR_USAGE, "a part of the path is longer than %d bytes",
                           SCOPE_NAME_MAX - 1);
        if (gitname_is_git(name))
            return err_set(err, ERR_DENIED, "%s: files in .git are not opened; use the git tool",
                           filename_of(path).text);
        start = end + 1;
    }
    for (size_t i = 0; i < allow.count; i++)
        if (pathrule_holds(allow.paths[i], path))
            return 0;
    return not_allowed(path, allow, err);
}

/* --- denied directories ----------------------------------------------------------------------- */

static bool is_denied(const struct scope *scope, const struct stat *status)
{
    for (size_t i = 0; i < scope->denied_count; i++)
        if (same(&scope->denied[i], status))
            return true;
    return false;
}

/* A file system that shows the kernel (proc, sysfs) and is mounted below the workspace: what it shows is this process's to see, and
 * not the agent's. */
static bool shows_the_kernel(const struct scope *scope, int fd, const struct stat *status)
{
    struct statfs system;
    return status->st_dev != scope->root.device && fstatfs(fd, &system) == 0 &&
           pseudofs_is((long)system.f_type);
}

/* Walks from the opened directory up to the root and compares identities: renaming a denied
 * directory does not hide it. Directories above the root are never reached, so denying one of
 * them denies nothing. */
int scope_check_directory(const struct scope *scope, int directory, struct err *err)
{
    struct stat opened;
    if (fstat(directory, &opened) == 0 && shows_the_kernel(scope, directory, &opened))
        return err_set(err, ERR_DENIED, "this directory shows the kernel of this machine");
    if (scope->denied_count == 0)
        return 0;
    int at = directory;
    int result = -1;
    for (int i = 0; at >= 0 && i < ANCESTORS_MAX; i++) {
        struct stat status;
        if (fstat(at, &status) != 0)
            break;
        if (same(&scope->root, &status)) {
            result = 0;
            break;
        }
        if (is_denied(scope, &status))
            break;
        int up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (at != directory)
            close(at);
        at = up;
    }
    if (at >= 0 && at != directory)
        close(at);
    if (result != 0)
        err_set(err, ERR_DENIED, "this directory belongs to cadre's own store");
    return result;
}

/* --- opening for reading ---------------------------------------------------------------------- */

/* Opens the parent first and asks where it lies, then the file in it: for scopes that hold a
 * denied directory. What stands in the root itself has the root as its parent, which is open and not denied. */
static int open_checked(const struct scope *scope, const char *path, int flags, struct err *err)
{
    if (scope->denied_count == 0)
        return scope_open_beneath(scope->fd, path, flags);
    char parent_path[SCOPE_PATH_MAX];
    const char *slash = strrchr(path, '/');
    int parent = scope->fd;
    if (slash) {
        snprintf(parent_path, sizeof parent_path, "%.*s", (int)(slash - path), path);
        parent = scope_open_beneath(scope->fd, parent_path, O_PATH | O_DIRECTORY);
    }
    if (parent < 0)
        return -1;
    int fd = -1;
    int number = EACCES;
    if (scope_check_directory(scope, parent, err) == 0) {
        fd = scope_open_beneath(parent, slash ? slash + 1 : path, flags);
        number = errno;
    }
    struct stat status;
    if (fd >= 0 && (fstat(fd, &status) != 0 ||
                    (S_ISDIR(status.st_mode) && scope_check_directory(scope, fd, err) != 0))) {
        close(fd);
        fd = -1;
        number = EACCES;
    }
    if (parent != scope->fd)
        close(parent);
    errno = number;
    return fd;
}

/* Replaces the first symbolic link in file->path by what it says. -1 when it leads outside. */
static int follow_link(const struct scope *scope, struct scope_file *file, struct err *err)
{
    char prefix[SCOPE_PATH_MAX];
    char target[SCOPE_PATH_MAX];
    size_t length = strlen(file->path);
    for (size_t end = 1; end <= length; end++) {
        if (file->path[end] != '/' && file->path[end] != '\0')
            continue;
        memcpy(prefix, file->path, end);
        prefix[end] = '\0';
        int fd = scope_open_beneath(scope->fd, prefix, O_PATH | O_NOFOLLOW);
        if (fd < 0)
            return scope_explain(err, errno, file->path);
        ssize_t n = readlinkat(fd, "", target, sizeof target);
        close(fd);
        if (n < 0)
            continue; /* a directory */
        if (n == 0 || n == (ssize_t)sizeof target || target[0] == '/')
            return err_set(err, ERR_DENIED,
                           "%s goes through a symbolic link that leads out of the workspace",
                           file->path);
        size_t parent = end;
        while (parent > 0 && prefix[parent - 1] != '/')
            parent--;
        struct arena arena;
        arena_init(&arena);
        struct str next =
            path_normal(&arena, arena_printf(&arena, "./%.*s%.*s%s", (int)parent, prefix, (int)n,
                                             target, file->path + end));
        int result = 0;
        if (!next.p || next.n >= sizeof file->path)
            result = err_set(err, ERR_DENIED,
                             "%s goes through a symbolic link that leads out of the workspace",
                             file->path);
        else
            memcpy(file->path, next.p, next.n + 1);
        arena_release(&arena);
        return result;
    }
    return 0; /* the link is gone by now: the next try will tell */
}

static int open_any(const struct scope *scope, struct str path, struct scope_allow allow, int flags,
                    enum scope_links links, struct scope_file *file, struct err *err)
{
    file->fd = -1;
    if (scope_check(path, allow, err) != 0)
        return -1;
    memcpy(file->path, path.p, path.n);
    file->path[path.n] = '\0';
    for (int i = 0; i < LINKS_MAX; i++) {
        if (i > 0 && scope_check(str_from(file->path), allow, err) != 0)
            return err_prefix(err, "%s goes through a symbolic link", filename_of(path).text);
        struct err denied = ERR_INIT;
        file->fd = open_checked(scope, file->path, flags, &denied);
        if (file->fd >= 0)
            break;
        if (denied.class != ERR_NONE)
            return err_set(err, denied.class, "%s: %s", filename_of(str_from(file->path)).text,
                           denied.message);
        if (errno != ELOOP || links == SCOPE_REFUSE_LINKS)
            return scope_explain(err, errno, file->path);
        if (follow_link(scope, file, err) != 0)
            return -1;
    }
    if (file->fd < 0)
        return err_set(err, ERR_DENIED, "%s goes through too many symbolic links",
                       filename_of(path).text);
    if (fstat(file->fd, &file->status) != 0)
        scope_explain(err, errno, file->path);
    else if (shows_the_kernel(scope, file->fd, &file->status))
        err_set(err, ERR_DENIED, "%s shows the kernel of this machine and is not a file",
                filename_of(str_from(file->path)).text);
    else
        return 0;
    close(file->fd);
    file->fd = -1;
    return -1;
}

int scope_open_read(const struct scope *scope, struct str path, struct scope_allow allow,
                    enum scope_links links, struct scope_file *file, struct err *err)
{
    /* O_NONBLOCK: a FIFO without a writer must not hold the thread. */
    if (open_any(scope, path, allow, O_RDONLY | O_NONBLOCK | O_NOCTTY, links, file, err) != 0)
        return -1;
    if (S_ISREG(file->status.st_mode))
        return 0;
    if (S_ISDIR(file->status.st_mode))
        err_set(err, ERR_USAGE, "%s is a directory, not a file",
                filename_of(str_from(file->path)).text);
    else
        err_set(err, ERR_DENIED, "%s is a device or a FIFO, not a regular file",
                filename_of(str_from(file->path)).text);
    close(file->fd);
    file->fd = -1;
    return -1;
}

int scope_open_dir(const struct scope *scope, struct str path, struct scope_allow allow,
                   enum scope_links links, struct scope_file *file, struct err *err)
{
    if (open_any(scope, path, allow, O_RDONLY | O_NONBLOCK | O_NOCTTY, links, file, err) != 0)
        return -1;
    if (S_ISDIR(file->status.st_mode))
        return 0;
    err_set(err, ERR_USAGE, "%s is not a directory", filename_of(str_from(file->path)).text);
    close(file->fd);
    file->fd = -1;
    return -1;
}

int scope_open_entry(const struct scope *scope, int directory, const char *name, int flags,
                     struct stat *status)
{
    errno = EACCES;
    if (gitname_is_git(str_from(name)))
        return -1;
    int fd = scope_open_beneath(directory, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags);
    if (fd < 0)
        return -1;
    int number = 0;
    if (fstat(fd, status) != 0)
        number = errno;
    else if (is_denied(scope, status) || shows_the_kernel(scope, fd, status))
        number = EACCES;
    else if (!(flags & O_DIRECTORY) && !S_ISREG(status->st_mode))
        number = EINVAL;
    if (number == 0)
        return fd;
    close(fd);
    errno = number;
    return -1;
}
