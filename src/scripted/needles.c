/* Needles are grouped by length. A group of a few is searched one needle after the other with memmem, which is
 * fastest; in a larger group every window of the text is looked up in a hash map. Pure: any thread. */
#include "scripted/needles.h"

#define FEW 8

struct needle_group {
    size_t length;
    size_t count;
    struct needle *list;
    struct map by_text;
    struct needle_group *next;
};

void needles_init(struct needles *needles)
{
    needles->groups = NULL;
}

void needles_release(struct needles *needles)
{
    for (struct needle_group *group = needles->groups; group != NULL; group = group->next)
        map_release(&group->by_text);
    needles_init(needles);
}

struct needle *needles_add(struct needles *needles, struct arena *arena, struct str text)
{
    struct needle_group *group = needles->groups;
    while (group != NULL && group->length != text.n)
        group = group->next;
    if (group == NULL) {
        group = arena_alloc(arena, sizeof *group);
        group->length = text.n;
        map_init(&group->by_text);
        group->next = needles->groups;
        needles->groups = group;
    }
    struct needle *needle = map_get(&group->by_text, text);
    if (needle != NULL)
        return needle;
    needle = arena_alloc(arena, sizeof *needle);
    needle->text = text;
    needle->next = group->list;
    group->list = needle;
    group->count++;
    map_set(&group->by_text, text, needle);
    return needle;
}

void needles_find(const struct needles *needles, struct str text,
                  void (*found)(void *user, const struct needle *needle), void *user)
{
    for (const struct needle_group *group = needles->groups; group != NULL; group = group->next) {
        if (group->length > text.n)
            continue;
        if (group->count <= FEW) {
            for (const struct needle *n = group->list; n != NULL; n = n->next)
                if (memmem(text.p, text.n, n->text.p, n->text.n) != NULL)
                    found(user, n);
            continue;
        }
        const struct needle *previous = NULL;
        for (size_t at = 0; at + group->length <= text.n; at++) {
            const struct needle *n =
                map_get(&group->by_text, (struct str){text.p + at, group->length});
            if (n != NULL && n != previous)
                found(user, n);
            previous = n != NULL ? n : previous;
        }
    }
}
