/* Where the store's file lives: makes the missing directories (0700) and the file itself (0600), so that SQLite
 * never creates it under a wide umask. Its log and index files take their mode from it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/handle.h"

/* A new entry is durable when its directory is synced; SQLite does so only for the files that it makes itself.
 * Not every file system can sync a directory, so a failure is no error. */
static void sync_directory_of(const char *path)
{
    char copy[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    if (n >= sizeof copy)
        return;
    memcpy(copy, path, n);
    copy[n] = '\0';
    int fd = open(n > 0 ? copy : slash ? "/" : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

static int make_directory(const char *directory, const char *store, struct err *err)
{
    if (mkdir(directory, 0700) == 0) {
        sync_directory_of(directory);
        return 0;
    }
    if (errno == EEXIST)
        return 0;
    return err_set(err, ERR_IO,
                   "store %s: its directory %s cannot be created (%s); check the permissions of the"
                   " directory above it, or name another store with --store",
                   store, directory, strerror(errno));
}

static int make_parents(const char *path, struct err *err)
{
    char copy[PATH_MAX];
    if ((size_t)snprintf(copy, sizeof copy, "%s", path) >= sizeof copy)
        return err_set(err, ERR_USAGE, "the store's path is longer than %d bytes", PATH_MAX - 1);
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (make_directory(copy, path, err) < 0)
            return -1;
        *slash = '/';
    }
    return 0;
}

/* The file is only ever opened where it did not exist: closing a descriptor of a database in use would
 * drop the locks that this process holds on it. */
static int create_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST ? 0 : -1;
    close(fd);
    sync_directory_of(path);
    return 0;
}

/* SQLite finds its log and its index by the name of the store, and its locks are the file's: two processes that reach one
 * file by two names write over each other. */
static int check_names(const char *path, const struct stat *st, struct err *err)
{
    char real[PATH_MAX];
    struct statx file, directory;
    if (st->st_nlink > 1)
        return err_set(err, ERR_CONFIG,
                       "store %s: the file has %llu hard links, and a store must have one name;"
                       " remove the others (find them with `find DIR -samefile`), or copy the file",
                       path, (unsigned long long)st->st_nlink);
    char *slash = realpath(path, real) != NULL ? strrchr(real, '/') : NULL;
    if (slash == NULL || statx(AT_FDCWD, real, 0, STATX_MNT_ID, &file) != 0)
        return 0;
    slash[slash == real ? 1 : 0] = '\0';
    /* Kernels before 5.8 do not tell. */
    if (statx(AT_FDCWD, real, 0, STATX_MNT_ID, &directory) != 0 ||
        (file.stx_mask & directory.stx_mask & STATX_MNT_ID) == 0 ||
        file.stx_mnt_id == directory.stx_mnt_id)
        return 0;
    return err_set(
        err, ERR_CONFIG,
        "store %s: the file itself is a mount (a bind mount), so that it has another name"
        " elsewhere; mount its directory instead",
        path);
}

int place_stands(struct sqlite_store *s, struct err *err)
{
    int moved = 0;
    if (sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK || !moved)
        return 0;
    return err_set(err, ERR_NOT_FOUND,
                   "store %s was removed, moved or replaced while it was in use; put it back, then"
                   " go on with `cadre resume`",
                   s->path);
}

int place_prepare(const char *path, struct err *err)
{
    struct stat st;
    if (!path || !path[0])
        return err_set(err, ERR_USAGE, "the store's path is empty");
    if (stat(path, &st) == 0) {
        if (S_ISREG(st.st_mode))
            return check_names(path, &st, err);
        return err_set(err, ERR_CONFIG,
                       "store %s: it is %s, not a file; name a file inside it or another one"
                       " with --store",
                       path, S_ISDIR(st.st_mode) ? "a directory" : "a special file");
    }
    if (errno == ENOENT) {
        if (make_parents(path, err) < 0)
            return -1;
        if (create_file(path) == 0)
            return 0;
    }
    return err_set(err, ERR_IO,
                   "store %s: it cannot be created or reached (%s); check the permissions of its"
                   " directory, or name another store with --store",
                   path, strerror(errno));
}
