/* SQLite's result codes as errors for people, and the wait for a lock that another process holds. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/handle.h"

#define SLEEP_SHORTEST_US 100
#define SLEEP_LONGEST_US 10000

struct explanation {
    int code; /* primary result code */
    enum err_class class;
    const char *text;
};

/* What to do about the cause. Which command goes on then is the caller's to say: it knows whether there is a run. */
static const struct explanation explanations[] = {
    {SQLITE_FULL, ERR_IO, "the disk is full; free some space on its disk"},
    {SQLITE_READONLY, ERR_IO,
     "it is read-only for this user; check the owner and the permissions of the file and of its"
     " directory, or name another store with --store"},
    {SQLITE_CANTOPEN, ERR_IO,
     "it cannot be opened; check that its directory exists and can be written, or name another"
     " store with --store"},
    {SQLITE_PERM, ERR_IO, "permission denied; check the owner of the file"},
    {SQLITE_IOERR, ERR_IO, "the disk reported an error; check the disk"},
    {SQLITE_NOMEM, ERR_IO, "out of memory"},
    {SQLITE_NOTADB, ERR_CONFIG,
     "it is not a cadre store; name another file with --store, or move this one away"},
    {SQLITE_CORRUPT, ERR_CORRUPT,
     "it is damaged; restore it from a backup, or save what can be read with `sqlite3 FILE"
     " .recover`"},
    {SQLITE_LOCKED, ERR_RETRY, "another handle keeps it locked; try again"},
    {SQLITE_PROTOCOL, ERR_RETRY, "too many processes open it at once; try again"},
    {SQLITE_TOOBIG, ERR_USAGE, "a value is too large"},
    {SQLITE_CONSTRAINT, ERR_USAGE, "refused"},
    {SQLITE_MISUSE, ERR_BUG, "an operation was entered again from its own callback"},
};

static const char header_magic[16] = "SQLite format 3";

/* Not a database at all, or a database whose header was overwritten behind its first bytes. Asks
 * SQLite's own file: opening the path once more would drop this process's locks when closed. */
static bool header_is_ours(struct sqlite_store *s)
{
    sqlite3_file *file = NULL;
    char head[sizeof header_magic];
    if (sqlite3_file_control(s->db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
        !file || !file->pMethods)
        return false;
    if (file->pMethods->xRead(file, head, sizeof head, 0) != SQLITE_OK)
        return false;
    return memcmp(head, header_magic, sizeof head) == 0;
}

/* --- who holds the lock -------------------------------------------------------------------------- */

static uint64_t inode_of(const char *path, const char *suffix)
{
    char name[PATH_MAX];
    struct stat st;
    int n = snprintf(name, sizeof name, "%s%s", path, suffix);
    return n > 0 && (size_t)n < sizeof name && stat(name, &st) == 0 ? st.st_ino : 0;
}

/* The process that holds a lock for writing on the store or its index, or 0. The kernel's list is read, because opening
 * one of the files to ask would drop this process's own locks when it is closed. */
static int lock_holder(const char *path)
{
    uint64_t file = inode_of(path, ""), index = inode_of(path, "-shm");
    char line[256], mode[16];
    int holder = 0, pid;
    unsigned long long inode;
    FILE *locks = fopen("/proc/locks", "re");
    while (locks != NULL && holder == 0 && fgets(line, sizeof line, locks) != NULL)
        if (sscanf(line, "%*d: POSIX %*s %15s %d %*x:%*x:%llu", mode, &pid, &inode) == 3 &&
            inode != 0 && (inode == file || inode == index) && strcmp(mode, "WRITE") == 0 &&
            pid > 0 && pid != getpid())
            holder = pid;
    if (locks != NULL)
        fclose(locks);
    return holder;
}

static int locked_by_another(struct sqlite_store *s, const char *doing, struct err *err)
{
    int pid = lock_holder(s->path);
    char path[64], name[32] = "";
    if (pid == 0)
        return err_set(err, ERR_RETRY,
                       "store %s: while %s: another process keeps it locked; try again", s->path,
                       doing);
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *comm = fopen(path, "re");
    if (comm != NULL) {
        if (fgets(name, sizeof name, comm) == NULL)
            name[0] = '\0';
        fclose(comm);
    }
    size_t n = 0;
    while (name[n] >= ' ' && name[n] <= '~')
        n++;
    name[n] = '\0';
    return err_set(
        err, ERR_RETRY,
        "store %s: while %s: process %d (%s) keeps it locked; wait for it or end it, then"
        " try again",
        s->path, doing, pid, n > 0 ? name : "name not known");
}

int handle_error(struct sqlite_store *s, int code, const char *doing, struct err *err)
{
    int primary = code & 0xff;
    if (primary == SQLITE_NOTADB && header_is_ours(s))
        primary = SQLITE_CORRUPT;
    if (primary == SQLITE_BUSY)
        return locked_by_another(s, doing, err);
    const struct explanation *found = NULL;
    for (size_t i = 0; i < sizeof explanations / sizeof explanations[0] && !found; i++) {
        if (explanations[i].code == primary)
            found = &explanations[i];
    }
    if (!found)
        return err_set(err, ERR_BUG, "store %s: while %s: SQLite error %d: %s", s->path, doing,
                       code, sqlite3_errmsg(s->db));
    int system = sqlite3_system_errno(s->db);
    if (primary == SQLITE_CONSTRAINT)
        return err_set(err, found->class, "store %s: while %s: refused: %s", s->path, doing,
                       sqlite3_errmsg(s->db));
    if ((primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN) && system != 0)
        return err_set(err, found->class, "store %s: while %s: %s (%s)", s->path, doing,
                       found->text, strerror(system));
    return err_set(err, found->class, "store %s: while %s: %s", s->path, doing, found->text);
}

static int64_t monotonic_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static uint64_t random_next(struct sqlite_store *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return s->random;
}

int handle_wait(void *handle, int attempt)
{
    struct sqlite_store *s = handle;
    int64_t now = monotonic_ms();
    if (attempt == 0)
        s->busy_since = now;
    if (now - s->busy_since >= s->busy_ms)
        return 0;
    /* The range doubles with each attempt, so that a crowd spreads out. */
    uint64_t range = SLEEP_LONGEST_US;
    if (attempt < 6)
        range = (uint64_t)SLEEP_SHORTEST_US << attempt;
    uint64_t us = SLEEP_SHORTEST_US / 2 + random_next(s) % range;
    struct timespec pause = {.tv_sec = 0, .tv_nsec = (long)(us * 1000)};
    nanosleep(&pause, NULL);
    return 1;
}
