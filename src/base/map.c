/* Open addressing with linear probing over XXH3; removal shifts the followers back, so there are no
 * tombstones. The hash has no seed: the same keys give the same walk, which keeps replays equal.
 * Running out of memory aborts, as in arena.c. Pure; one thread at a time. */
#include "base/map.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FIRST_CAPACITY = 16 }; /* a power of two, always */

struct map_slot {
    uint64_t hash;
    char *key;
    size_t key_length;
    void *value; /* NULL: the slot is free */
};

void map_init(struct map *map)
{
    *map = (struct map){0};
}

void map_release(struct map *map)
{
    for (size_t i = 0; i < map->capacity; i++)
        free(map->slots[i].key);
    free(map->slots);
    map_init(map);
}

static uint64_t key_hash(struct str key)
{
    return XXH3_64bits(key.p ? key.p : "", key.n);
}

/* The slot that holds the key, or the free one where it would go. The map has at least one free slot. */
static size_t slot_find(const struct map *map, struct str key, uint64_t hash)
{
    size_t mask = map->capacity - 1;
    size_t i = hash & mask;
    for (;; i = (i + 1) & mask) {
        const struct map_slot *slot = &map->slots[i];
        if (!slot->value)
            return i;
        if (slot->hash == hash && str_eq((struct str){slot->key, slot->key_length}, key))
            return i;
    }
}

static void map_grow(struct map *map)
{
    if (map->capacity > SIZE_MAX / 2)
        abort();
    size_t capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY;
    struct map_slot *slots = calloc(capacity, sizeof *slots);
    if (!slots)
        abort();
    for (size_t i = 0; i < map->capacity; i++) {
        if (!map->slots[i].value)
            continue;
        size_t at = map->slots[i].hash & (capacity - 1);
        while (slots[at].value)
            at = (at + 1) & (capacity - 1);
        slots[at] = map->slots[i];
    }
    free(map->slots);
    map->slots = slots;
    map->capacity = capacity;
}

void *map_get(const struct map *map, struct str key)
{
    if (map->count == 0)
        return NULL;
    return map->slots[slot_find(map, key, key_hash(key))].value;
}

void *map_set(struct map *map, struct str key, void *value)
{
    if (!value)
        abort();
    if (map->count + 1 > map->capacity / 4 * 3)
        map_grow(map);
    uint64_t hash = key_hash(key);
    struct map_slot *slot = &map->slots[slot_find(map, key, hash)];
    void *earlier = slot->value;
    slot->value = value;
    if (earlier)
        return earlier;
    slot->key = malloc(key.n + 1);
    if (!slot->key)
        abort();
    if (key.n > 0)
        memcpy(slot->key, key.p, key.n);
    slot->key[key.n] = '\0';
    slot->key_length = key.n;
    slot->hash = hash;
    map->count++;
    return NULL;
}

void *map_remove(struct map *map, struct str key)
{
    if (map->count == 0)
        return NULL;
    size_t mask = map->capacity - 1;
    size_t hole = slot_find(map, key, key_hash(key));
    void *value = map->slots[hole].value;
    if (!value)
        return NULL;
    free(map->slots[hole].key);
    for (size_t i = (hole + 1) & mask; map->slots[i].value; i = (i + 1) & mask) {
        size_t home = map->slots[i].hash & mask;
        /* Only an entry that probed past the hole may move into it. */
        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        map->slots[hole] = map->slots[i];
        hole = i;
    }
    map->slots[hole] = (struct map_slot){0};
    map->count--;
    return value;
}

bool map_next(const struct map *map, size_t *cursor, struct str *key, void **value)
{
    for (size_t i = *cursor; i < map->capacity; i++) {
        const struct map_slot *slot = &map->slots[i];
        if (!slot->value)
            continue;
        *cursor = i + 1;
        *key = (struct str){slot->key, slot->key_length};
        *value = slot->value;
        return true;
    }
    *cursor = map->capacity;
    return false;
}
