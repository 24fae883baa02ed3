/* Braces are expanded when a glob is compiled; matching is base/path.h's (see glob.h). */
#include "tool/glob.h"

#include "base/path.h"

#define STEPS                                                                                      \
    4096 /* of expanding: alternatives without an end would be nested braces without commas */

/* The parts of the first pair of braces that holds a comma. */
struct braces {
    size_t open, close;
};

static bool find_braces(struct str text, size_t from, struct braces *braces)
{
    size_t depth = 0;
    bool comma = false;
    for (size_t i = from; i < text.n; i++) {
        if (text.p[i] == '\\') {
            i++;
        } else if (text.p[i] == '{') {
            if (depth++ == 0) {
                braces->open = i;
                comma = false;
            }
        } else if (text.p[i] == ',') {
            comma |= depth == 1;
        } else if (text.p[i] == '}' && depth > 0 && --depth == 0) {
            braces->close = i;
            return comma || find_braces(text, braces->open + 1, braces);
        }
    }
    /* A brace that is never closed is a character like any other. */
    return depth > 0 && find_braces(text, braces->open + 1, braces);
}

/* The end of the alternative that starts at `at`: its comma, or the closing brace. */
static size_t alternative_end(struct str text, size_t at, size_t close)
{
    size_t depth = 0;
    for (; at < close; at++) {
        if (text.p[at] == '\\')
            at++;
        else if (text.p[at] == '{')
            depth++;
        else if (text.p[at] == '}')
            depth--;
        else if (text.p[at] == ',' && depth == 0)
            return at;
    }
    return close;
}

struct expansion {
    struct arena *arena;
    struct str pending[GLOB_ALTERNATIVES + 1]; /* texts that may still hold braces, last first */
    size_t count;
};

/* Replaces the braces of text by each alternative; false when there are too many. */
static bool push_alternatives(struct expansion *expansion, struct str text, struct braces braces)
{
    for (size_t at = braces.open + 1; at <= braces.close;) {
        size_t end = alternative_end(text, at, braces.close);
        if (expansion->count > GLOB_ALTERNATIVES)
            return false;
        expansion->pending[expansion->count++] = arena_printf(
            expansion->arena, "%.*s%.*s%.*s", (int)braces.open, text.p, (int)(end - at),
            text.p + at, (int)(text.n - braces.close - 1), text.p + braces.close + 1);
        at = end + 1;
    }
    return true;
}

int glob_compile(struct glob *glob, struct arena *arena, struct str text, struct err *err)
{
    struct expansion expansion = {.arena = arena};
    bool fits = true;
    *glob = (struct glob){0};
    if (text.n > GLOB_MAX)
        return err_set(err, ERR_USAGE, "the glob is longer than %d bytes", GLOB_MAX);
    glob->alternatives = arena_alloc(arena, GLOB_ALTERNATIVES * sizeof *glob->alternatives);
    expansion.pending[expansion.count++] = text;
    for (int step = 0; fits && expansion.count > 0; step++) {
        struct braces braces = {0};
        struct str next = expansion.pending[--expansion.count];
        if (step == STEPS)
            fits = false;
        else if (find_braces(next, 0, &braces))
            fits = push_alternatives(&expansion, next, braces);
        else if (glob->count == GLOB_ALTERNATIVES)
            fits = false;
        else
            glob->alternatives[glob->count++] = next;
    }
    if (!fits)
        return err_set(err, ERR_USAGE, "the braces of the glob stand for more than %d patterns",
                       GLOB_ALTERNATIVES);
    return 0;
}

static struct str last_name(struct str path)
{
    const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
    size_t start = slash ? (size_t)(slash + 1 - path.p) : 0;
    return (struct str){path.p + start, path.n - start};
}

bool glob_match(const struct glob *glob, struct str path)
{
    for (size_t i = 0; i < glob->count; i++) {
        struct str pattern = glob->alternatives[i];
        if (pattern.n == 0)
            continue;
        bool by_name = !memchr(pattern.p, '/', pattern.n) && !str_is(pattern, "**");
        if (path_glob(pattern, by_name ? last_name(path) : path))
            return true;
    }
    return false;
}
