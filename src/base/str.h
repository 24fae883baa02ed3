/* String views: a pointer and a length that somebody else owns. Never NUL-terminated by contract. */
#ifndef CADRE_BASE_STR_H
#define CADRE_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct str {
    const char *p;
    size_t n;
};

#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})
#define STR_NONE ((struct str){NULL, 0})
/* For printf: "%.*s", STR_FMT(s) */
#define STR_FMT(s) (int)(s).n, (s).p ? (s).p : ""

static inline struct str str_from(const char *text)
{
    return (struct str){text, text ? strlen(text) : 0};
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool str_is(struct str a, const char *text)
{
    return str_eq(a, str_from(text));
}

static inline bool str_starts(struct str a, struct str prefix)
{
    return a.n >= prefix.n && (prefix.n == 0 || memcmp(a.p, prefix.p, prefix.n) == 0);
}

/* Empty, or nothing but white space of ASCII. */
static inline bool str_is_blank(struct str a)
{
    for (size_t i = 0; i < a.n; i++)
        if (a.p[i] != ' ' && (a.p[i] < '\t' || a.p[i] > '\r'))
            return false;
    return true;
}

/* Without white space at both ends. */
static inline struct str str_trim(struct str a)
{
    while (a.n > 0 && str_is_blank((struct str){a.p, 1}))
        a = (struct str){a.p + 1, a.n - 1};
    while (a.n > 0 && str_is_blank((struct str){a.p + a.n - 1, 1}))
        a.n--;
    return a;
}

/* Takes the next line off `rest`, without its newline; false at the end. A last line without a newline counts. */
static inline bool str_next_line(struct str *rest, struct str *line)
{
    if (rest->n == 0)
        return false;
    const char *end = memchr(rest->p, '\n', rest->n);
    *line = (struct str){rest->p, end != NULL ? (size_t)(end - rest->p) : rest->n};
    size_t taken = line->n + (end != NULL);
    *rest = (struct str){rest->p + taken, rest->n - taken};
    return true;
}

#endif
