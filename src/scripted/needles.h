/* Many substrings looked for in one text at once, without trying each of them: thousands of rules cost a
 * request no more than a few. Built once, then read by any thread. */
#ifndef CADRE_SCRIPTED_NEEDLES_H
#define CADRE_SCRIPTED_NEEDLES_H

#include "base/arena.h"
#include "base/map.h"

struct needle {
    struct str text;    /* not empty */
    size_t first, last; /* for the caller: the chain that this needle leads to, 0 while it is new */
    struct needle *next; /* of the same length */
};

struct needle_group; /* all needles of one length */

struct needles {
    struct needle_group *groups;
};

void needles_init(struct needles *needles);
void needles_release(struct needles *needles);
/* The needle with this text, made if there is none. text and arena outlive the needles. */
struct needle *needles_add(struct needles *needles, struct arena *arena, struct str text);
/* Calls found for every needle that occurs in text, at least once each, in no particular order. */
void needles_find(const struct needles *needles, struct str text,
                  void (*found)(void *user, const struct needle *needle), void *user);

#endif
