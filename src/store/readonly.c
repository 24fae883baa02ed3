/* Opening a store for commands that only read: it is never created, and it may lie where this user cannot write, in a
 * directory of another user or on a read-only file system.
 *
 * SQLite reads a file in WAL mode with the help of an index that all processes share (FILE-shm). Where it cannot be
 * made, the files beside the store say what is possible:
 *
 *     FILE-wal        FILE-shm     somebody may be writing; SQLite reads along with the index that is there
 *     none, or empty  any, none    no log: the file alone is the store, and is read as it is (immutable)
 *     has frames      none         a copy, or what a lost index left: the log is read with an index of our own
 *
 * In the last two cases no lock protects the reader, so the handle is marked still: after each step it looks whether
 * the files are what they were (still_check). Runs on the handle's thread. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/handle.h"

enum { SUFFIX_MAX = 8, ESCAPED = 3 };

/* What a file looked like; a file that is not there has size -1. */
static struct still_file look_at(const char *path, const char *suffix)
{
    struct still_file seen = {.size = -1};
    struct stat st;
    size_t n = strlen(path) + SUFFIX_MAX;
    char *name = malloc(n);
    if (name == NULL)
        return seen;
    snprintf(name, n, "%s%s", path, suffix);
    if (stat(name, &st) == 0)
        seen = (struct still_file){st.st_size, st.st_mtim, st.st_ctim};
    free(name);
    return seen;
}

static bool is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_same(const struct still_file *a, const struct still_file *b)
{
    return a->size == b->size && (a->size < 0 || (is_same_time(a->modified, b->modified) &&
                                                  is_same_time(a->changed, b->changed)));
}

int still_check(struct sqlite_store *s, struct err *err)
{
    struct still_file file = look_at(s->path, ""), log = look_at(s->path, "-wal");
    if (is_same(&file, &s->still_file) && is_same(&log, &s->still_log))
        return 0;
    return err_set(err, ERR_RETRY,
                   "store %s: another process began to write to it while it was read; run the"
                   " command again",
                   s->path);
}

static bool can_write(const char *path)
{
    size_t n = strlen(path);
    char *directory = malloc(n + 3);
    if (directory == NULL)
        return false;
    memcpy(directory, path, n + 1);
    char *slash = strrchr(directory, '/');
    if (slash == NULL)
        memcpy(directory, ".", sizeof ".");
    else if (slash == directory)
        directory[1] = '\0';
    else
        *slash = '\0';
    bool both = faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 &&
                faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) == 0;
    free(directory);
    return both;
}

int readonly_access(const char *path, enum store_access *access, struct err *err)
{
    struct stat st;
    *access = ACCESS_WRITE;
    if (path == NULL || path[0] == '\0')
        return err_set(err, ERR_USAGE, "the store's path is empty");
    if (stat(path, &st) != 0 && errno != ENOENT)
        return err_set(err, ERR_IO,
                       "store %s: it cannot be reached (%s); check the permissions of its"
                       " directories, or name another store with --store",
                       path, strerror(errno));
    /* An empty file is what a process leaves that is just making its store. */
    if (stat(path, &st) != 0 || (S_ISREG(st.st_mode) && st.st_size == 0))
        return err_set(err, ERR_NOT_FOUND,
                       "there is no store %s yet: nothing was run; start with: cadre run \"task\","
                       " or name another store with --store",
                       path);
    if (can_write(path))
        return 0;
    bool has_log = look_at(path, "-wal").size > 0, has_index = look_at(path, "-shm").size >= 0;
    bool log_is_there = look_at(path, "-wal").size >= 0;
    *access = log_is_there && has_index ? ACCESS_READ_ALONG
              : has_log                 ? ACCESS_READ_LOG
                                        : ACCESS_READ_FILE;
    return 0;
}

/* "file:PATH?immutable=1", with what has a meaning in a URI escaped. */
static char *immutable_uri(const char *path)
{
    size_t n = ESCAPED * strlen(path) + 32, at;
    char *uri = malloc(n);
    if (uri == NULL)
        return NULL;
    at = (size_t)snprintf(uri, n, "file:");
    for (const char *p = path; *p != '\0'; p++)
        at += (size_t)snprintf(uri + at, n - at, strchr("?#%", *p) != NULL ? "%%%02X" : "%c", *p);
    snprintf(uri + at, n - at, "?immutable=1");
    return uri;
}

int readonly_connect(struct sqlite_store *s, enum store_access access, struct err *err)
{
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, code;
    s->is_readonly = true;
    s->is_still = access != ACCESS_READ_ALONG;
    s->still_file = look_at(s->path, "");
    s->still_log = look_at(s->path, "-wal");
    if (access == ACCESS_READ_FILE) {
        char *uri = immutable_uri(s->path);
        if (uri == NULL)
            return err_set(err, ERR_IO, "store %s: out of memory", s->path);
        code = sqlite3_open_v2(uri, &s->db, flags | SQLITE_OPEN_URI, NULL);
        free(uri);
    } else {
        /* Without locks, because a file that is open for reading cannot be locked for writing. */
        code =
            sqlite3_open_v2(s->path, &s->db, flags, access == ACCESS_READ_LOG ? "unix-none" : NULL);
    }
    if (code == SQLITE_OK && access == ACCESS_READ_LOG)
        code = sqlite3_exec(s->db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL);
    if (!s->db)
        return err_set(err, ERR_IO, "store %s: out of memory", s->path);
    return code == SQLITE_OK ? 0 : handle_error(s, code, "opening it", err);
}

int readonly_schema(struct sqlite_store *s, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    int64_t version = 0;
    int code = sqlite3_prepare_v2(s->db, "SELECT version FROM meta WHERE application = 'cadre'", -1,
                                  &stmt, NULL);
    if (code == SQLITE_ERROR)
        return err_set(err, ERR_CONFIG,
                       "store %s: it is the database of another program, not a cadre store; name"
                       " another file with --store",
                       s->path);
    if (code == SQLITE_OK)
        code = sqlite3_step(stmt);
    if (code == SQLITE_ROW)
        version = sqlite3_column_int64(stmt, 0);
    int result = code == SQLITE_ROW || code == SQLITE_DONE
                     ? 0
                     : handle_error(s, code, "opening it for reading", err);
    sqlite3_finalize(stmt);
    if (result != 0 || version == STORE_VERSION)
        return result;
    if (version < STORE_VERSION)
        return err_set(err, ERR_CONFIG,
                       "store %s: it has the older version %lld, and it is read-only for this user,"
                       " so it cannot be brought to version %d; run `cadre runs` as its owner, or"
                       " on a copy of the store's directory",
                       s->path, (long long)version, STORE_VERSION);
    return err_set(err, ERR_CONFIG,
                   "store %s: it has version %lld and this program knows %d; use the newer cadre"
                   " that wrote it, or name another store with --store",
                   s->path, (long long)version, STORE_VERSION);
}
