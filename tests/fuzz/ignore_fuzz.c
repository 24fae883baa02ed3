/* Globs and ignore rules: a glob gives the answer of a naive matcher, and whatever a file of rules
 * holds, a last rule for everything decides. The input is cut into a pattern and a path over a small
 * alphabet, so that matches are common. */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/path.h"
#include "tool/glob.h"
#include "tool/ignore.h"

#define NAIVE_MAX 14 /* bytes of a pattern that the naive matcher is given */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One component against a pattern of letters, ? and *. */
static bool naive_name(const char *pattern, size_t pn, const char *name, size_t nn)
{
    if (pn == 0)
        return nn == 0;
    if (pattern[0] == '*')
        return naive_name(pattern + 1, pn - 1, name, nn) ||
               (nn > 0 && naive_name(pattern, pn, name + 1, nn - 1));
    return nn > 0 && (pattern[0] == '?' || pattern[0] == name[0]) &&
           naive_name(pattern + 1, pn - 1, name + 1, nn - 1);
}

static size_t head(const char *text, size_t n)
{
    const char *slash = n ? memchr(text, '/', n) : NULL;
    return slash ? (size_t)(slash - text) : n;
}

/* Paths in normal form; the pattern has no empty components either. */
static bool naive_path(const char *pattern, size_t pn, const char *path, size_t n)
{
    if (pn == 0)
        return n == 0;
    size_t part = head(pattern, pn), name = head(path, n);
    size_t pattern_step = part < pn ? part + 1 : part, path_step = name < n ? name + 1 : name;
    if (part == 2 && memcmp(pattern, "**", 2) == 0)
        return naive_path(pattern + pattern_step, pn - pattern_step, path, n) ||
               (n > 0 && naive_path(pattern, pn, path + path_step, n - path_step));
    return n > 0 && naive_name(pattern, part, path, name) &&
           naive_path(pattern + pattern_step, pn - pattern_step, path + path_step, n - path_step);
}

/* Letters, wildcards and single slashes inside. */
static size_t make_pattern(const uint8_t *data, size_t size, char *out, const char *alphabet)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        char c = alphabet[data[i] % strlen(alphabet)];
        if (c == '/' && (n == 0 || out[n - 1] == '/'))
            continue;
        out[n++] = c;
    }
    while (n > 0 && out[n - 1] == '/')
        n--;
    return n;
}

static void check_globs(struct str pattern, struct str path)
{
    if (pattern.n == 0 || pattern.n > NAIVE_MAX || path.n == 0 || path.n > NAIVE_MAX)
        return;
    assert(path_glob(pattern, path) == naive_path(pattern.p, pattern.n, path.p, path.n));
}

static void check_braces(struct str text, struct str path)
{
    struct arena arena;
    struct glob glob;
    struct err err = ERR_INIT;
    arena_init(&arena);
    if (glob_compile(&glob, &arena, text, &err) == 0) {
        assert(glob.count >= 1 && glob.count <= GLOB_ALTERNATIVES);
        (void)glob_match(&glob, path);
    } else {
        assert(err.class == ERR_USAGE);
    }
    arena_release(&arena);
}

static bool ignored(struct str rules, const char *last, struct str path)
{
    struct arena arena;
    struct ignore_level level = {.directory = STR(".")};
    arena_init(&arena);
    struct str text = arena_printf(&arena, "%.*s\n%s", STR_FMT(rules), last);
    ignore_parse(&level, &arena, text);
    bool answer = ignore_match(&level, path, IGNORE_FILE);
    arena_release(&arena);
    return answer;
}

static void check_rules(struct str rules, struct str path)
{
    if (path.n == 0 || memchr(rules.p, '\0', rules.n))
        return;
    assert(!ignored(rules, "!*", path));
    assert(ignored(rules, "*", path));
    (void)ignored(rules, "", path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3 || size > 2000)
        return 0;
    size_t cut = data[0] % (size - 1);
    const uint8_t *first = data + 1, *second = data + 1 + cut;
    size_t second_length = size - 1 - cut;
    char *pattern = malloc(size), *path = malloc(size), *raw = malloc(cut + 1);
    size_t path_length = make_pattern(second, second_length, path, "ab/c");
    size_t pattern_length = make_pattern(first, cut, pattern, "ab/**?*");
    struct str path_view = {path, path_length};
    check_globs((struct str){pattern, pattern_length}, path_view);
    memcpy(raw, first, cut);
    struct str raw_view = {raw, cut};
    check_braces(raw_view, path_view);
    check_rules(raw_view, path_view);
    for (size_t i = 0; i < cut; i++)
        raw[i] = "ab/*?![]\\\n {,}#-"[first[i] % 16];
    check_braces(raw_view, path_view);
    check_rules(raw_view, path_view);
    free(pattern);
    free(path);
    free(raw);
    return 0;
}
