/* See set.h. The items stand in one array; a table of their places finds them. The hash has no seed, as in map.c. Running out of
 * memory aborts. */
#include "base/set.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FIRST_ITEMS = 8, FIRST_SLOTS = 16 }; /* powers of two */

void set_release(struct set *set)
{
    free(set->items);
    free(set->slots);
    *set = (struct set){0};
}

/* The slot that holds the item, or the free one where it would go. */
static size_t slot_of(const struct set *set, struct str item)
{
    size_t mask = set->slot_count - 1;
    size_t i = XXH3_64bits(item.p ? item.p : "", item.n) & mask;
    while (set->slots[i] != 0 && !str_eq(set->items[set->slots[i] - 1], item))
        i = (i + 1) & mask;
    return i;
}

static void grow_slots(struct set *set)
{
    size_t count = set->slot_count != 0 ? set->slot_count * 2 : FIRST_SLOTS;
    free(set->slots);
    set->slots = calloc(count, sizeof *set->slots);
    if (set->slots == NULL)
        abort();
    set->slot_count = count;
    for (size_t i = 0; i < set->n; i++)
        set->slots[slot_of(set, set->items[i])] = (uint32_t)(i + 1);
}

bool set_has(const struct set *set, struct str item)
{
    return set->n > 0 && set->slots[slot_of(set, item)] != 0;
}

bool set_add(struct set *set, struct arena *arena, struct str item)
{
    if (set->n + 1 > set->slot_count / 4 * 3)
        grow_slots(set);
    size_t slot = slot_of(set, item);
    if (set->slots[slot] != 0)
        return false;
    if (set->n == set->capacity) {
        set->capacity = set->capacity != 0 ? set->capacity * 2 : FIRST_ITEMS;
        set->items = realloc(set->items, set->capacity * sizeof *set->items);
        if (set->items == NULL || set->n >= UINT32_MAX - 1)
            abort();
    }
    set->items[set->n++] = arena_copy(arena, item.p != NULL ? item : STR(""));
    set->slots[slot] = (uint32_t)set->n;
    return true;
}
