/* Lists with the rule of CONTRACT.md: an absent list means "no constraint of my own", an empty
 * one "none". */
#ifndef CADRE_CORE_CONTRACT_LIST_H
#define CADRE_CORE_CONTRACT_LIST_H

#include "base/arena.h"
#include "base/json.h"

struct list {
    enum { LIST_ABSENT, LIST_SET } state;
    struct str *items;
    size_t n;
};

#define LIST_NONE ((struct list){LIST_ABSENT, NULL, 0})
#define LIST_ITEMS_MAX 4096 /* that list_parse accepts */

bool list_has(const struct list *list, struct str item); /* an absent list has everything */
/* Items of a that b has too, in a's order, without repeats; an absent side constrains nothing. */
struct list list_intersect(struct arena *arena, const struct list *a, const struct list *b);
bool list_subset(const struct list *a, const struct list *b); /* a ⊆ b */
struct list list_copy(struct arena *arena, const struct list *list);
/* Sets the list; copies item; keeps one of each. */
void list_add(struct arena *arena, struct list *list, struct str item);
struct list list_split(struct arena *arena, const char *words); /* "a,b" */
/* null when absent; key may be NULL. */
void list_print(struct jw *w, const char *key, const struct list *list);
/* JSON null or absent: LIST_ABSENT; an array of strings; anything else -1. */
int list_parse(struct arena *arena, const struct js *value, const char *where, struct list *out,
               struct err *err);

#endif
