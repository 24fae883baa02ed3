/* Lists of names with three states: absent, empty, filled. Items keep their order. Lists are
 * short (tools, paths, models), so membership is a plain search; list_parse refuses longer ones.
 * Pure; any thread. */
#include "core/contract/list.h"

static bool items_have(const struct str *items, size_t n, struct str item)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(items[i], item))
            return true;
    return false;
}

bool list_has(const struct list *list, struct str item)
{
    return list->state == LIST_ABSENT || items_have(list->items, list->n, item);
}

static struct str *items_alloc(struct arena *arena, size_t n)
{
    return n > 0 ? arena_alloc(arena, n * sizeof(struct str)) : NULL;
}

struct list list_intersect(struct arena *arena, const struct list *a, const struct list *b)
{
    if (a->state == LIST_ABSENT)
        return list_copy(arena, b);
    struct list out = {LIST_SET, items_alloc(arena, a->n), 0};
    for (size_t i = 0; i < a->n; i++)
        if (list_has(b, a->items[i]) && !items_have(out.items, out.n, a->items[i]))
            out.items[out.n++] = arena_copy(arena, a->items[i]);
    return out;
}

bool list_subset(const struct list *a, const struct list *b)
{
    if (b->state == LIST_ABSENT)
        return true;
    if (a->state == LIST_ABSENT)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!list_has(b, a->items[i]))
            return false;
    return true;
}

struct list list_copy(struct arena *arena, const struct list *list)
{
    struct list out = {list->state, items_alloc(arena, list->n), list->n};
    for (size_t i = 0; i < list->n; i++)
        out.items[i] = arena_copy(arena, list->items[i]);
    return out;
}

void list_add(struct arena *arena, struct list *list, struct str item)
{
    if (list->state == LIST_SET && items_have(list->items, list->n, item))
        return;
    /* A new array each time: the old one may be shared with another list or be constant. */
    struct str *items = items_alloc(arena, list->n + 1);
    if (list->n > 0)
        memcpy(items, list->items, list->n * sizeof *items);
    items[list->n] = arena_copy(arena, item);
    *list = (struct list){LIST_SET, items, list->n + 1};
}

struct list list_split(struct arena *arena, const char *words)
{
    struct list out = {LIST_SET, NULL, 0};
    while (*words) {
        size_t n = strcspn(words, ",");
        list_add(arena, &out, (struct str){words, n});
        words += words[n] ? n + 1 : n;
    }
    return out;
}

void list_print(struct jw *w, const char *key, const struct list *list)
{
    if (key)
        jw_key(w, key);
    if (list->state == LIST_ABSENT) {
        jw_null(w);
        return;
    }
    jw_array(w);
    for (size_t i = 0; i < list->n; i++)
        jw_str(w, list->items[i]);
    jw_end_array(w);
}

int list_parse(struct arena *arena, const struct js *value, const char *where, struct list *out,
               struct err *err)
{
    *out = LIST_NONE;
    enum js_kind kind = js_kind(value);
    if (kind == JS_ABSENT || kind == JS_NULL)
        return 0;
    if (kind != JS_ARRAY)
        return err_set(err, ERR_CORRUPT, "%s: expected a list of strings or null", where);
    size_t n = js_count(value);
    if (n > LIST_ITEMS_MAX)
        return err_set(err, ERR_CORRUPT, "%s: %zu items, at most %d are allowed", where, n,
                       LIST_ITEMS_MAX);
    struct list list = {LIST_SET, items_alloc(arena, n), n};
    for (size_t i = 0; i < n; i++) {
        const struct js *item = js_at(value, i);
        if (js_kind(item) != JS_STRING)
            return err_set(err, ERR_CORRUPT, "%s[%zu]: expected a string", where, i);
        list.items[i] = arena_copy(arena, js_str(item));
    }
    *out = list;
    return 0;
}
