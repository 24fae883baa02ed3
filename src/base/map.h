/* A hash map from byte strings to non-NULL pointers. Keys are copied; values belong to the caller. */
#ifndef CADRE_BASE_MAP_H
#define CADRE_BASE_MAP_H

#include <stdint.h>

#include "base/str.h"

struct map_slot;

struct map {
    struct map_slot *slots;
    size_t capacity;
    size_t count;
};

void map_init(struct map *map);
void map_release(struct map *map);
void *map_get(const struct map *map, struct str key);
/* Sets and returns the earlier value, or NULL. value must not be NULL. */
void *map_set(struct map *map, struct str key, void *value);
/* Removes and returns the value, or NULL. */
void *map_remove(struct map *map, struct str key);
/* Walks in no particular order: *cursor starts at 0; returns false at the end. */
bool map_next(const struct map *map, size_t *cursor, struct str *key, void **value);

#endif
