/* The names in an opened directory, sorted by bytes, without ".", ".." and ".git". */
#ifndef CADRE_TOOL_LISTING_H
#define CADRE_TOOL_LISTING_H

#include "base/arena.h"
#include "base/err.h"

#define LISTING_MAX 50000 /* names looked at in one directory */

struct listing_entry {
    const char *name;
    enum listing_kind { LISTING_FILE, LISTING_DIRECTORY, LISTING_LINK, LISTING_OTHER } kind;
};

struct listing {
    struct listing_entry *entries; /* in the arena */
    size_t count;
    bool cut; /* there were more than LISTING_MAX */
};

/* Reads the names; the descriptor stays open and the caller's. */
NODISCARD int listing_read(struct listing *listing, struct arena *arena, int directory,
                           struct err *err);

#endif
