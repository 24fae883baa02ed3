/* See lookup.h. Buckets are lists with the latest entry first; there are at least as many buckets as entries. */
#include "engine/lookup.h"

#include <stdlib.h>

#include "base/mark.h"

enum { FIRST_BUCKETS = 64 };

static uint64_t hash_of_names(uint32_t agent_no, struct str call_id)
{
    return mark_str(mark_u64(0, agent_no), call_id);
}

static void put(struct lookup *lookup, struct lookup_entry *entry)
{
    struct lookup_entry **at = &lookup->buckets[entry->hash & (lookup->bucket_count - 1)];
    entry->next = *at;
    entry->at = at;
    if (entry->next != NULL)
        entry->next->at = &entry->next;
    *at = entry;
}

static void grow(struct lookup *lookup)
{
    struct lookup old = *lookup;
    lookup->bucket_count = old.bucket_count != 0 ? old.bucket_count * 2 : FIRST_BUCKETS;
    lookup->buckets = calloc(lookup->bucket_count, sizeof(struct lookup_entry *));
    if (lookup->buckets == NULL)
        abort();
    for (size_t i = 0; i < old.bucket_count; i++) {
        /* From the oldest to the latest, so that the latest comes first again. */
        struct lookup_entry *oldest = NULL;
        for (struct lookup_entry *entry = old.buckets[i]; entry != NULL;) {
            struct lookup_entry *next = entry->next;
            entry->next = oldest;
            oldest = entry;
            entry = next;
        }
        while (oldest != NULL) {
            struct lookup_entry *entry = oldest;
            oldest = entry->next;
            put(lookup, entry);
        }
    }
    free(old.buckets);
}

void lookup_release(struct lookup *lookup)
{
    for (size_t i = 0; i < lookup->bucket_count; i++)
        for (struct lookup_entry *entry = lookup->buckets[i]; entry != NULL; entry = entry->next)
            entry->at = NULL;
    free(lookup->buckets);
    *lookup = (struct lookup){0};
}

void lookup_add(struct lookup *lookup, struct lookup_entry *entry, uint32_t agent_no,
                struct str call_id)
{
    if (lookup->count >= lookup->bucket_count)
        grow(lookup);
    entry->agent_no = agent_no;
    entry->call_id = call_id;
    entry->hash = hash_of_names(agent_no, call_id);
    put(lookup, entry);
    lookup->count++;
}

void lookup_remove(struct lookup *lookup, struct lookup_entry *entry)
{
    if (entry->at == NULL)
        return;
    *entry->at = entry->next;
    if (entry->next != NULL)
        entry->next->at = entry->at;
    entry->at = NULL;
    lookup->count--;
}

struct lookup_entry *lookup_find(const struct lookup *lookup, uint32_t agent_no, struct str call_id)
{
    if (lookup->count == 0)
        return NULL;
    uint64_t hash = hash_of_names(agent_no, call_id);
    struct lookup_entry *entry = lookup->buckets[hash & (lookup->bucket_count - 1)];
    while (entry != NULL &&
           (entry->hash != hash || entry->agent_no != agent_no || !str_eq(entry->call_id, call_id)))
        entry = entry->next;
    return entry;
}
