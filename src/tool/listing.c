/* Reads a directory through its descriptor. Runs on a pool thread. Where the file system does
 * not say what kind an entry is, one fstatat per name asks. */
#include "tool/listing.h"
#include "base/gitname.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/gitname.h"
#include "os/scope.h"

#define FIRST_ROOM 64

static enum listing_kind kind_of(DIR *stream, const struct dirent *entry)
{
    unsigned char type = entry->d_type;
    if (type == DT_UNKNOWN) {
        struct stat status;
        if (fstatat(dirfd(stream), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            return LISTING_OTHER;
        type = IFTODT(status.st_mode);
    }
    switch (type) {
    case DT_REG:
        return LISTING_FILE;
    case DT_DIR:
        return LISTING_DIRECTORY;
    case DT_LNK:
        return LISTING_LINK;
    default:
        return LISTING_OTHER;
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct listing_entry *)a)->name, ((const struct listing_entry *)b)->name);
}

static void add(struct listing *listing, struct arena *arena, size_t *room,
                struct listing_entry entry)
{
    if (listing->count == *room) {
        *room = *room ? *room * 2 : FIRST_ROOM;
        struct listing_entry *grown = arena_alloc(arena, *room * sizeof *grown);
        if (listing->count)
            memcpy(grown, listing->entries, listing->count * sizeof *grown);
        listing->entries = grown;
    }
    listing->entries[listing->count++] = entry;
}

int listing_read(struct listing *listing, struct arena *arena, int directory, struct err *err)
{
    *listing = (struct listing){0};
    /* A new description of the same directory: its read position is not shared with the
     * caller's. */
    int own = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = own < 0 ? NULL : fdopendir(own);
    if (!stream) {
        int number = errno;
        if (own >= 0)
            close(own);
        return scope_explain(err, number, "the directory");
    }
    size_t room = 0;
    const struct dirent *entry;
    while ((entry = readdir(stream))) {
        struct str name = str_from(entry->d_name);
        if (str_is(name, ".") || str_is(name, "..") || gitname_is_git(name))
            continue;
        if (listing->count == LISTING_MAX) {
            listing->cut = true;
            break;
        }
        add(listing, arena, &room,
            (struct listing_entry){arena_copy(arena, name).p, kind_of(stream, entry)});
    }
    closedir(stream);
    if (listing->count)
        qsort(listing->entries, listing->count, sizeof *listing->entries, by_name);
    return 0;
}
