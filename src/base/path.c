/* Paths as text: the normal form, containment by whole components, and globs. A glob is matched with one
 * backtracking point per level (the last star), so hostile patterns cost a product of lengths and no more.
 * Pure; any thread. */
#include "base/path.h"

#include <stdint.h>

#include "base/utf8.h"

/* Takes the first component off a path; false at the end. "." and empty components are passed over. */
static bool component_next(struct str *rest, struct str *component)
{
    while (rest->n > 0) {
        const char *slash = memchr(rest->p, '/', rest->n);
        size_t length = slash ? (size_t)(slash - rest->p) : rest->n;
        *component = (struct str){rest->p, length};
        size_t taken = slash ? length + 1 : length;
        rest->p += taken;
        rest->n -= taken;
        if (length > 0 && !str_is(*component, "."))
            return true;
    }
    return false;
}

struct str path_normal(struct arena *arena, struct str path)
{
    if (!path.p || path.n == 0 || path.p[0] == '/' || memchr(path.p, '\0', path.n))
        return STR_NONE;
    char *out = arena_alloc(arena, path.n + 2);
    size_t n = 0;
    struct str component;
    while (component_next(&path, &component)) {
        if (!str_is(component, "..")) {
            if (n > 0)
                out[n++] = '/';
            memcpy(out + n, component.p, component.n);
            n += component.n;
            continue;
        }
        if (n == 0)
            return STR_NONE;
        while (n > 0 && out[n - 1] != '/')
            n--;
        if (n > 0)
            n--;
    }
    if (n == 0)
        out[n++] = '.';
    out[n] = '\0';
    return (struct str){out, n};
}

struct str path_from(struct arena *arena, struct str folder, struct str path)
{
    if (path.n > 0 && path.p[0] == '/')
        return arena_copy(arena, path);
    while (str_starts(path, STR("./")))
        path = (struct str){path.p + 2, path.n - 2};
    return arena_printf(arena, "%.*s/%.*s", STR_FMT(folder), STR_FMT(path));
}

bool path_within(struct str a, struct str b)
{
    if (a.n == 0 || b.n == 0)
        return false;
    if (str_is(b, "."))
        return true;
    return str_starts(a, b) && (a.n == b.n || a.p[b.n] == '/');
}

/* Decodes one character; a bad byte stands for itself, apart from all code points. */
static uint32_t character_next(struct str *rest)
{
    uint32_t code;
    size_t length = utf8_next(*rest, &code);
    if (code == UTF8_BAD) {
        length = 1;
        code = 0x110000u + (unsigned char)rest->p[0];
    }
    rest->p += length;
    rest->n -= length;
    return code;
}

/* "[:alpha:]" inside a class, ASCII only: steps over it and notes whether code is one. False where no
 * such name stands. */
static bool named_class(struct str *rest, uint32_t code, bool *found)
{
    static const struct {
        struct str name;
        const char *ranges; /* pairs of first and last */
    } names[] = {
        {STR("[:alpha:]"), "azAZ"},    {STR("[:digit:]"), "09"},
        {STR("[:alnum:]"), "azAZ09"},  {STR("[:upper:]"), "AZ"},
        {STR("[:lower:]"), "az"},      {STR("[:space:]"), "\t\r  "},
        {STR("[:blank:]"), "\t\t  "},  {STR("[:graph:]"), "!~"},
        {STR("[:print:]"), " ~"},      {STR("[:punct:]"), "!/:@[`{~"},
        {STR("[:xdigit:]"), "09afAF"}, {STR("[:cntrl:]"), "\1\x1f\x7f\x7f"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!str_starts(*rest, names[i].name))
            continue;
        for (const char *range = names[i].ranges; *range; range += 2)
            *found |= code >= (uint32_t)range[0] && code <= (uint32_t)range[1];
        rest->p += names[i].name.n;
        rest->n -= names[i].name.n;
        return true;
    }
    return false;
}

enum class_match { CLASS_NO, CLASS_YES, CLASS_OPEN };

/* Matches code against the class behind '['. CLASS_OPEN: there is no closing ']'. */
static enum class_match class_match(struct str *pattern, uint32_t code)
{
    struct str rest = *pattern;
    bool negated = rest.n > 0 && (rest.p[0] == '!' || rest.p[0] == '^');
    if (negated)
        character_next(&rest);
    bool found = false;
    for (bool first = true; rest.n > 0; first = false) {
        if (named_class(&rest, code, &found))
            continue;
        uint32_t low = character_next(&rest);
        if (low == ']' && !first) {
            *pattern = rest;
            return found != negated ? CLASS_YES : CLASS_NO;
        }
        if (low == '\\' && rest.n > 0)
            low = character_next(&rest);
        uint32_t high = low;
        if (rest.n > 1 && rest.p[0] == '-' && rest.p[1] != ']') {
            character_next(&rest);
            high = character_next(&rest);
            if (high == '\\' && rest.n > 0)
                high = character_next(&rest);
        }
        if (low <= code && code <= high)
            found = true;
    }
    return CLASS_OPEN;
}

/* Matches one pattern item that is not a star against one character and steps over both. */
static bool item_match(struct str *pattern, struct str *text)
{
    uint32_t code = character_next(text);
    uint32_t item = character_next(pattern);
    if (item == '?')
        return true;
    if (item == '[') {
        enum class_match match = class_match(pattern, code);
        return match == CLASS_OPEN ? code == '[' : match == CLASS_YES;
    }
    if (item == '\\' && pattern->n > 0)
        item = character_next(pattern);
    return item == code;
}

static bool component_match(struct str pattern, struct str text)
{
    struct str after_star = STR_NONE;
    struct str retry = STR_NONE;
    while (text.n > 0 || pattern.n > 0) {
        if (pattern.n > 0 && pattern.p[0] == '*') {
            pattern.p++;
            pattern.n--;
            after_star = pattern;
            retry = text;
            continue;
        }
        if (text.n > 0 && pattern.n > 0 && item_match(&pattern, &text))
            continue;
        if (!after_star.p || retry.n == 0)
            return false;
        character_next(&retry);
        pattern = after_star;
        text = retry;
    }
    return true;
}

bool path_glob(struct str pattern, struct str path)
{
    if (!pattern.p || !path.p)
        return false;
    bool starred = false;
    struct str after_star = STR_NONE;
    struct str retry = STR_NONE;
    for (;;) {
        struct str pattern_rest = pattern;
        struct str path_rest = path;
        struct str item;
        struct str component;
        bool has_item = component_next(&pattern_rest, &item);
        bool has_component = component_next(&path_rest, &component);
        if (!has_item && !has_component)
            return true;
        if (has_item && str_is(item, "**")) {
            starred = true;
            after_star = pattern = pattern_rest;
            retry = path;
            continue;
        }
        if (has_item && has_component && component_match(item, component)) {
            pattern = pattern_rest;
            path = path_rest;
            continue;
        }
        if (!starred || !component_next(&retry, &component))
            return false;
        pattern = after_star;
        path = retry;
    }
}
