/* Effects of a run by (agent, call): those that are held and those under way. There may be ten thousand of them, and a cancel asks
 * for each. The entry is part of the caller's struct, so nothing is allocated for it. Loop thread. */
#ifndef CADRE_ENGINE_LOOKUP_H
#define CADRE_ENGINE_LOOKUP_H

#include <stdint.h>

#include "base/str.h"

struct lookup_entry {
    struct lookup_entry *next, **at; /* in its bucket; at == NULL: not listed */
    uint64_t hash;
    uint32_t agent_no;
    struct str call_id; /* the caller's; must outlive the entry's time in the list */
};

/* All zero is an empty one. */
struct lookup {
    struct lookup_entry **buckets;
    size_t bucket_count; /* 0, or a power of two */
    size_t count;
};

void lookup_release(struct lookup *lookup); /* forgets all entries */
void lookup_add(struct lookup *lookup, struct lookup_entry *entry, uint32_t agent_no,
                struct str call_id);
void lookup_remove(struct lookup *lookup, struct lookup_entry *entry); /* fine when not listed */
/* The entry that was added last with these names, or NULL. */
struct lookup_entry *lookup_find(const struct lookup *lookup, uint32_t agent_no,
                                 struct str call_id);

#endif
