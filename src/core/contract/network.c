/* See network.h. */
#include "core/contract/network.h"

#include <stdlib.h>

#include "base/hostrule.h"

#define PREFIX STR("allow ")

static const char *const words[NETWORK_COUNT] = {
    [NETWORK_NONE] = "none", [NETWORK_RELAY] = "relay", [NETWORK_FULL] = "full"};

struct str network_next_rule(struct str text, struct str last)
{
    const char *end = text.p + text.n;
    const char *at = last.p != NULL ? last.p + last.n + 1 : text.p + PREFIX.n;
    if (!str_starts(text, PREFIX) || at >= end)
        return STR_NONE;
    const char *space = memchr(at, ' ', (size_t)(end - at));
    return (struct str){at, (size_t)((space != NULL ? space : end) - at)};
}

static bool names_ok(struct str text)
{
    size_t count = 0;
    if (!str_starts(text, PREFIX) || text.n == PREFIX.n || text.p[text.n - 1] == ' ')
        return false;
    for (struct str rule = network_next_rule(text, STR_NONE); rule.p != NULL;
         rule = network_next_rule(text, rule))
        if (!hostrule_ok(rule) || ++count > NETWORK_NAMES_MAX)
            return false;
    return true;
}

bool network_parse(struct str text, enum network *network)
{
    for (int i = NETWORK_NONE; i < NETWORK_COUNT; i++)
        if (words[i] != NULL ? str_is(text, words[i]) : names_ok(text)) {
            *network = (enum network)i;
            return true;
        }
    return false;
}

static int compare(const void *a, const void *b)
{
    const struct str *x = a, *y = b;
    size_t n = x->n < y->n ? x->n : y->n;
    int order = memcmp(x->p, y->p, n);
    return order != 0 ? order : (x->n > y->n) - (x->n < y->n);
}

static bool is_held_by_another(const struct str *rules, size_t count, size_t i)
{
    for (size_t k = 0; k < count; k++) {
        bool same = str_eq(rules[i], rules[k]);
        if (k != i && hostrule_within(rules[i], rules[k]) && (!same || k < i))
            return true;
    }
    return false;
}

struct str network_of_names(struct arena *arena, const struct str *rules, size_t count)
{
    struct str *kept = arena_alloc(arena, (count + 1) * sizeof *kept);
    size_t n = 0, bytes = PREFIX.n;
    for (size_t i = 0; i < count; i++)
        if (!is_held_by_another(rules, count, i))
            kept[n++] = rules[i];
    if (n == 0)
        return STR("none");
    qsort(kept, n, sizeof *kept, compare);
    if (n > NETWORK_NAMES_MAX)
        n = NETWORK_NAMES_MAX; /* fewer names are narrower */
    for (size_t i = 0; i < n; i++)
        bytes += kept[i].n + 1;
    char *text = arena_alloc(arena, bytes + 1), *at = text;
    memcpy(at, PREFIX.p, PREFIX.n);
    at += PREFIX.n;
    for (size_t i = 0; i < n; i++) {
        memcpy(at, kept[i].p, kept[i].n);
        at += kept[i].n;
        *at++ = ' ';
    }
    at[-1] = '\0';
    return (struct str){text, bytes - 1};
}

static bool is_held(struct str rule, struct str wide)
{
    for (struct str by = network_next_rule(wide, STR_NONE); by.p != NULL;
         by = network_next_rule(wide, by))
        if (hostrule_within(rule, by))
            return true;
    return false;
}

bool network_within(struct str narrow, struct str wide)
{
    enum network of_narrow, of_wide;
    if (!network_parse(narrow, &of_narrow) || !network_parse(wide, &of_wide))
        return false;
    if (of_narrow == NETWORK_NONE || of_wide == NETWORK_FULL)
        return true;
    if (of_narrow != of_wide)
        return false;
    for (struct str rule = network_next_rule(narrow, STR_NONE); rule.p != NULL;
         rule = network_next_rule(narrow, rule))
        if (!is_held(rule, wide))
            return false;
    return true;
}

/* The rules of `a` that `b` holds. */
static size_t add_held(struct str a, struct str b, struct str *out)
{
    size_t n = 0;
    for (struct str rule = network_next_rule(a, STR_NONE); rule.p != NULL;
         rule = network_next_rule(a, rule))
        if (is_held(rule, b))
            out[n++] = rule;
    return n;
}

struct str network_meet(struct arena *arena, struct str a, struct str b)
{
    enum network of_a, of_b;
    if (!network_parse(a, &of_a) || !network_parse(b, &of_b))
        return STR("none");
    if (of_a == NETWORK_NAMES && of_b == NETWORK_NAMES) {
        struct str *both = arena_alloc(arena, (2 * (size_t)NETWORK_NAMES_MAX) * sizeof *both);
        size_t n = add_held(a, b, both);
        n += add_held(b, a, both + n);
        return network_of_names(arena, both, n);
    }
    if (network_within(a, b))
        return a;
    return network_within(b, a) ? b : STR("none");
}
