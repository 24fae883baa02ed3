/* See changes.h. A walk depth first with sorted names gives paths in an order in which "/" comes before every other byte, so two
 * snapshots are compared by going through both once. One fstatat per file and three system calls per directory. */
#include "tool/changes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/path.h"
#include "os/scope.h"
#include "tool/file.h"
#include "tool/listing.h"
#include "tool/result.h"
#include "tool/writable.h"

#define DEPTH_MAX 64
#define FIRST_ROOM 256

struct entry {
    struct str path;
    ino_t inode;
    off_t size;
    mode_t mode;
    struct timespec modified, changed;
};

struct changes {
    struct arena arena;
    struct entry *entries;
    size_t count, room;
    enum { SNAPSHOT_WHOLE, SNAPSHOT_CUT } state;
};

/* --- taking ------------------------------------------------------------------------------------------------------------- */

static void add(struct changes *snapshot, struct str path, const struct stat *status)
{
    if (snapshot->count == CHANGES_FILES_MAX) {
        snapshot->state = SNAPSHOT_CUT;
        return;
    }
    if (snapshot->count == snapshot->room) {
        snapshot->room = snapshot->room > 0 ? snapshot->room * 2 : FIRST_ROOM;
        struct entry *grown =
            realloc(snapshot->entries, snapshot->room * sizeof *snapshot->entries);
        if (grown == NULL)
            abort();
        snapshot->entries = grown;
    }
    snapshot->entries[snapshot->count++] = (struct entry){.path = path,
                                                          .inode = status->st_ino,
                                                          .size = status->st_size,
                                                          .mode = status->st_mode,
                                                          .modified = status->st_mtim,
                                                          .changed = status->st_ctim};
}

static struct str join(struct arena *arena, struct str directory, const char *name)
{
    if (str_is(directory, "."))
        return arena_copy(arena, str_from(name));
    size_t n = strlen(name);
    char *path = arena_alloc(arena, directory.n + n + 2);
    memcpy(path, directory.p, directory.n);
    path[directory.n] = '/';
    memcpy(path + directory.n + 1, name, n);
    return (struct str){path, directory.n + 1 + n};
}

static void walk(const struct tool_context *context, struct changes *snapshot, int directory,
                 struct str path, int depth)
{
    struct err err = ERR_INIT;
    struct arena names;
    struct listing listing;
    struct stat status;
    arena_init(&names);
    if (listing_read(&listing, &names, directory, &err) != 0)
        listing.count = 0; /* not ours to read: nor is it the program's to change */
    if (listing.cut || (listing.count > 0 && depth == DEPTH_MAX) || tool_cancelled(context))
        snapshot->state = SNAPSHOT_CUT;
    for (size_t i = 0; i < listing.count && snapshot->state == SNAPSHOT_WHOLE; i++) {
        const struct listing_entry *entry = &listing.entries[i];
        if (entry->kind != LISTING_DIRECTORY) {
            if (fstatat(directory, entry->name, &status, AT_SYMLINK_NOFOLLOW) == 0)
                add(snapshot, join(&snapshot->arena, path, entry->name), &status);
            continue;
        }
        int below = scope_open_entry(context->scope, directory, entry->name, O_DIRECTORY, &status);
        if (below < 0)
            continue;
        walk(context, snapshot, below, join(&snapshot->arena, path, entry->name), depth + 1);
        close(below);
    }
    arena_release(&names);
}

/* One write path: a directory, a file, or nothing yet. */
static void take_path(const struct tool_context *context, struct changes *snapshot, struct str path)
{
    struct err err = ERR_INIT;
    struct scope_file file;
    struct scope_allow allow = file_write_allow(context);
    if (scope_open_dir(context->scope, path, allow, SCOPE_REFUSE_LINKS, &file, &err) == 0)
        walk(context, snapshot, file.fd, path, 0);
    else if (scope_open_read(context->scope, path, allow, SCOPE_REFUSE_LINKS, &file, &err) == 0)
        add(snapshot, path, &file.status);
    else
        return;
    close(file.fd);
}

/* "/" before every other byte: the order of a walk. */
static int compare_paths(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n, i = 0;
    while (i < n && a.p[i] == b.p[i])
        i++;
    if (i == n)
        return (a.n > b.n) - (a.n < b.n);
    unsigned of_a = a.p[i] == '/' ? 0 : (unsigned char)a.p[i];
    unsigned of_b = b.p[i] == '/' ? 0 : (unsigned char)b.p[i];
    return (of_a > of_b) - (of_a < of_b);
}

static int by_path(const void *a, const void *b)
{
    return compare_paths(*(const struct str *)a, *(const struct str *)b);
}

struct changes *changes_take(const struct tool_context *context)
{
    struct changes *snapshot = calloc(1, sizeof *snapshot);
    if (snapshot == NULL)
        abort();
    arena_init(&snapshot->arena);
    struct writable writable;
    writable_places(context, &snapshot->arena, &writable);
    qsort(writable.paths, writable.count, sizeof *writable.paths, by_path);
    struct str last = STR_NONE;
    for (size_t i = 0; i < writable.count && snapshot->state == SNAPSHOT_WHOLE; i++) {
        if (last.p != NULL && path_within(writable.paths[i], last))
            continue;
        last = writable.paths[i];
        take_path(context, snapshot, last);
    }
    return snapshot;
}

void changes_free(struct changes *snapshot)
{
    if (snapshot == NULL)
        return;
    free(snapshot->entries);
    arena_release(&snapshot->arena);
    free(snapshot);
}

/* --- comparing ----------------------------------------------------------------------------------------------------------- */

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same(const struct entry *a, const struct entry *b)
{
    return a->inode == b->inode && a->size == b->size && a->mode == b->mode &&
           same_time(&a->modified, &b->modified) && same_time(&a->changed, &b->changed);
}

int changes_compare(const struct changes *before, const struct changes *after,
                    void (*each)(void *user, enum change change, struct str path), void *user)
{
    size_t i = 0, k = 0;
    if (before->state != SNAPSHOT_WHOLE || after->state != SNAPSHOT_WHOLE)
        return -1;
    while (i < before->count || k < after->count) {
        const struct entry *old = i < before->count ? &before->entries[i] : NULL;
        const struct entry *new = k < after->count ? &after->entries[k] : NULL;
        int order = old == NULL ? 1 : new == NULL ? -1 : compare_paths(old->path, new->path);
        if (old != NULL && order < 0)
            each(user, CHANGE_DELETED, old->path);
        else if (new != NULL && order > 0)
            each(user, CHANGE_CREATED, new->path);
        else if (old != NULL && new != NULL && !same(old, new))
            each(user, CHANGE_MODIFIED, new->path);
        i += order <= 0;
        k += order >= 0;
    }
    return 0;
}
