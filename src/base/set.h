/* A set of byte strings that keeps the order in which they were added. Adding and looking up take the same time whatever the size;
 * memory follows the number of items. Their texts live in the caller's arena, so views of items live as long as that. All zero is an
 * empty set. Pure; one thread at a time. */
#ifndef CADRE_BASE_SET_H
#define CADRE_BASE_SET_H

#include "base/arena.h"

struct set {
    struct str *items;
    size_t n;
    size_t capacity;
    uint32_t *slots; /* open addressing: place of an item + 1; 0: free */
    size_t slot_count;
};

void set_release(struct set *set); /* the set is empty afterwards */
/* Copies the item into the arena. False: the set has it already. */
bool set_add(struct set *set, struct arena *arena, struct str item);
bool set_has(const struct set *set, struct str item);

#endif
