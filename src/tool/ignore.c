/* Parsing and matching of ignore rules (see ignore.h). Any thread; touches no file. */
#include "tool/ignore.h"

#include "base/path.h"

#define PATTERN_MOST 1024 /* bytes; longer rules are passed over */

/* Spaces at the end do not count unless a backslash stands before them. */
static struct str trim(struct str line)
{
    if (line.n > 0 && line.p[line.n - 1] == '\r')
        line.n--;
    size_t end = 0;
    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] == '\\' && i + 1 < line.n)
            i++;
        else if (line.p[i] == ' ')
            continue;
        end = i + 1;
    }
    line.n = end;
    return line;
}

/* git compares text: such patterns match no path that a walk can produce, but path_glob would pass
 * over their empty parts. */
static bool can_match(struct str pattern)
{
    size_t start = 0;
    for (size_t i = 0; i <= pattern.n; i++) {
        if (i < pattern.n && pattern.p[i] != '/')
            continue;
        struct str part = {pattern.p + start, i - start};
        if (part.n == 0 || str_is(part, ".") || str_is(part, ".."))
            return false;
        start = i + 1;
    }
    return true;
}

/* Where the class that starts at `at` is closed; the pattern's end when it is not. */
static size_t class_end(struct str pattern, size_t at)
{
    at++;
    if (at < pattern.n && (pattern.p[at] == '!' || pattern.p[at] == '^'))
        at++;
    for (bool first = true; at < pattern.n && (first || pattern.p[at] != ']'); at++) {
        const char *name = NULL; /* the end of "[:alpha:]", which closes nothing */
        if (pattern.p[at] == '[' && at + 1 < pattern.n && pattern.p[at + 1] == ':')
            name = memmem(pattern.p + at + 2, pattern.n - at - 2, ":]", 2);
        at = name ? (size_t)(name + 1 - pattern.p) : at + (pattern.p[at] == '\\');
        first = false;
    }
    return at < pattern.n ? at : pattern.n;
}

/* A class that is never closed and a backslash at the end match nothing. */
static bool is_complete(struct str pattern)
{
    for (size_t i = 0; i < pattern.n; i++) {
        if (pattern.p[i] == '\\')
            i++;
        else if (pattern.p[i] == '[')
            i = class_end(pattern, i);
        else
            continue;
        if (i >= pattern.n)
            return false;
    }
    return true;
}

/* More than two stars in a row mean what two mean. */
static struct str fewer_stars(struct arena *arena, struct str pattern)
{
    if (!memmem(pattern.p, pattern.n, "***", 3))
        return pattern;
    char *out = arena_alloc(arena, pattern.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < pattern.n; i++)
        if (n < 2 || pattern.p[i] != '*' || out[n - 1] != '*' || out[n - 2] != '*')
            out[n++] = pattern.p[i];
    return (struct str){out, n};
}

static bool parse_rule(struct str line, struct arena *arena, struct ignore_rule *rule)
{
    *rule = (struct ignore_rule){0};
    line = trim(line);
    if (line.n == 0 || line.n > PATTERN_MOST || line.p[0] == '#')
        return false;
    if (line.p[0] == '!') {
        rule->effect = IGNORE_TAKES_BACK;
        line.p++;
        line.n--;
    }
    if (line.n > 0 && line.p[line.n - 1] == '/') {
        rule->kinds = IGNORE_DIRECTORIES;
        line.n--;
    }
    if (line.n > 0 && memchr(line.p, '/', line.n))
        rule->compares = IGNORE_BY_PATH;
    if (line.n > 0 && line.p[0] == '/') {
        line.p++;
        line.n--;
    }
    line = fewer_stars(arena, line);
    rule->pattern = line;
    /* Two stars at the end are everything inside and not the directory itself; path_glob lets them
     * stand for nothing. */
    if (line.n > 3 && memcmp(line.p + line.n - 3, "/**", 3) == 0)
        rule->pattern = arena_printf(arena, "%.*s/*", STR_FMT(line));
    return line.n > 0 && can_match(line) && is_complete(line);
}

void ignore_parse(struct ignore_level *level, struct arena *arena, struct str text)
{
    if (str_starts(text, STR("\xef\xbb\xbf"))) {
        text.p += 3;
        text.n -= 3;
    }
    size_t room = 0;
    for (size_t i = 0; i < text.n; i++)
        room += text.p[i] == '\n';
    room = room + 1 < IGNORE_RULES_MAX ? room + 1 : IGNORE_RULES_MAX;
    level->count = 0;
    level->rules = arena_alloc(arena, room * sizeof *level->rules);
    while (text.n > 0 && level->count < room) {
        const char *newline = memchr(text.p, '\n', text.n);
        size_t n = newline ? (size_t)(newline - text.p) : text.n;
        if (parse_rule((struct str){text.p, n}, arena, &level->rules[level->count]))
            level->count++;
        size_t taken = newline ? n + 1 : n;
        text.p += taken;
        text.n -= taken;
    }
}

/* --- matching --------------------------------------------------------------------------------- */

static bool rule_matches(const struct ignore_rule *rule, struct str path, struct str name,
                         enum ignore_entry entry)
{
    if (rule->kinds == IGNORE_DIRECTORIES && entry != IGNORE_DIRECTORY)
        return false;
    return path_glob(rule->pattern, rule->compares == IGNORE_BY_NAME ? name : path);
}

bool ignore_match(const struct ignore_level *level, struct str path, enum ignore_entry entry)
{
    const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
    size_t start = slash ? (size_t)(slash + 1 - path.p) : 0;
    struct str name = {path.p + start, path.n - start};
    for (; level; level = level->above) {
        size_t cut = str_is(level->directory, ".") ? 0 : level->directory.n + 1;
        if (cut > path.n)
            continue;
        struct str below = {path.p + cut, path.n - cut};
        for (size_t i = level->count; i-- > 0;)
            if (rule_matches(&level->rules[i], below, name, entry))
                return level->rules[i].effect == IGNORE_LEAVES_OUT;
    }
    return false;
}
