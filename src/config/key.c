/* The key table, and questions about it: which row a path means, what was meant by a wrong one, what is expected.
 * Knows no values and no files. Pure; any thread. */
#include "config/key.h"

#include <stdio.h>

#include "core/contract/network.h"
#include "core/contract/permission.h"

const struct config_key config_keys[KEY_COUNT_OF_KEYS] = {
#define X(id, path, type, project, fallback, minimum, maximum, meaning)                            \
    [KEY_##id] = {KEY_##id, path,    TYPE_##type, PROJECT_##project,                               \
                  fallback, minimum, maximum,     meaning},
    CONFIG_KEYS(X)
#undef X
};

/* The rest of path behind prefix and a dot; NULL when path does not lie beneath prefix. */
static const char *path_beneath(const char *path, const char *prefix)
{
    size_t n = strlen(prefix);
    if (n == 0)
        return path;
    return strncmp(path, prefix, n) == 0 && path[n] == '.' ? path + n + 1 : NULL;
}

/* First component of a path: up to a dot or "[]". */
static struct str first_component(const char *path)
{
    return (struct str){path, strcspn(path, ".[")};
}

static struct config_pattern pattern_lookup(const char *pattern)
{
    struct config_pattern found = {.row = NULL};
    size_t n = strlen(pattern);
    for (size_t i = 0; i < KEY_COUNT_OF_KEYS; i++) {
        const char *path = config_keys[i].path;
        /* The analyzer takes the table's first path for NULL; the unit test walks every row. */
        if (strcmp(path, pattern) == 0) /* NOLINT(clang-analyzer-core.NonNullParamChecker) */
            found.row = &config_keys[i];
        else if (path_beneath(path, pattern))
            found.beneath = BENEATH_MEMBERS;
        else if (strncmp(path, pattern, n) == 0 && strncmp(path + n, "[].", 3) == 0)
            found.beneath = BENEATH_ITEMS;
    }
    return found;
}

bool config_pattern_member(const char *parent, struct str member, char pattern[CONFIG_PATTERN_MAX],
                           struct config_pattern *out)
{
    for (size_t i = 0; i < KEY_COUNT_OF_KEYS; i++) {
        const char *rest = path_beneath(config_keys[i].path, parent);
        if (!rest)
            continue;
        struct str component = first_component(rest);
        if (!str_is(component, "*") && !str_eq(component, member))
            continue;
        snprintf(pattern, CONFIG_PATTERN_MAX, "%s%s%.*s", parent, parent[0] ? "." : "",
                 STR_FMT(component));
        *out = pattern_lookup(pattern);
        return true;
    }
    return false;
}

enum { WORD_MAX = 40 };

/* Lower case without _ and -: maxDepth, max-depth and max_depth are one word. */
static size_t word_fold(struct str word, char out[WORD_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < word.n && n < WORD_MAX; i++) {
        char c = word.p[i];
        if (c == '_' || c == '-')
            continue;
        out[n++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return n;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits (insert, delete, replace, swap of neighbours) that lead from one word to the other. */
static size_t edit_distance(const char *a, size_t an, const char *b, size_t bn)
{
    size_t rows[3][WORD_MAX + 1];
    for (size_t j = 0; j <= bn; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= an; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= bn; j++) {
            row[j] =
                smaller(smaller(row[j - 1], above[j]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], second[j - 2] + 1);
        }
    }
    return rows[an % 3][bn];
}

void config_nearest_init(struct config_nearest *nearest, struct str word)
{
    *nearest = (struct config_nearest){.word = word, .distance = SIZE_MAX};
}

void config_nearest_offer(struct config_nearest *nearest, struct str candidate)
{
    char word[WORD_MAX], other[WORD_MAX];
    size_t n = word_fold(nearest->word, word), m = word_fold(candidate, other);
    size_t distance = edit_distance(word, n, other, m);
    size_t most = n / 3; /* short words are near to everything */
    bool starts = n >= 3 && m > n && memcmp(word, other, n) == 0;
    if (distance > most && starts)
        distance = most; /* `api_key` for `api_key_env` */
    if (distance > most || distance >= nearest->distance)
        return;
    nearest->best = candidate;
    nearest->distance = distance;
}

bool config_key_suggest(const char *parent, struct str member, struct buf *out)
{
    struct config_nearest nearest;
    config_nearest_init(&nearest, member);
    for (size_t i = 0; i < KEY_COUNT_OF_KEYS; i++) {
        const char *rest = path_beneath(config_keys[i].path, parent);
        if (rest)
            config_nearest_offer(&nearest, first_component(rest));
    }
    if (nearest.best.p) {
        buf_str(out, nearest.best);
        return true;
    }
    /* The right key in a wrong place: only an exact name, since any place may be meant; rather one that needs no name. */
    const char *meant = NULL;
    for (size_t i = 0; i < KEY_COUNT_OF_KEYS; i++) {
        const char *path = config_keys[i].path;
        const char *last = strrchr(path, '.');
        config_nearest_init(&nearest, member);
        config_nearest_offer(&nearest, str_from(last ? last + 1 : path));
        bool better = !meant || (strchr(meant, '*') && !strchr(path, '*'));
        if (nearest.best.p && nearest.distance == 0 && better)
            meant = path;
    }
    if (meant)
        config_key_print(meant, STR("NAME"), 0, out);
    return meant != NULL;
}

void config_key_print(const char *pattern, struct str name, size_t index, struct buf *out)
{
    for (const char *p = pattern; *p; p++) {
        if (*p == '*')
            buf_str(out, name);
        else
            buf_char(out, *p);
        if (*p == '[')
            buf_int(out, (int64_t)index);
    }
}

static const char *const expected_texts[TYPE_COUNT_OF_TYPES] = {
    [TYPE_OBJECT] = "a mapping",
    [TYPE_TEXT] = "a text",
    [TYPE_PROSE] = "a text of at most 64 KB",
    [TYPE_FILE] = "the path of a file inside the workspace",
    [TYPE_POOL] = "the name of a pool",
    [TYPE_API] = "openai, anthropic, responses or replay",
    [TYPE_URL] = "a URL such as http://localhost:8080/v1",
    [TYPE_VARIABLE] = "the NAME of an environment variable (capitals, digits and _)",
    [TYPE_NAMES] = "a list of names",
    [TYPE_FILES] = "a list of paths inside the workspace",
    [TYPE_TOOLS] = "a list of tools",
    [TYPE_COMMANDS] = "a list of commands for sh",
    [TYPE_SWITCH] = "true or false",
    [TYPE_COUNT] = "a whole number",
    [TYPE_LIMIT] = "null or a whole number",
    [TYPE_MILLISECONDS] = "milliseconds, or a time such as 90s or 5m",
    [TYPE_IDLE] = "0, or a time of at least a second such as 90s or 5m",
    [TYPE_MONEY] = "dollars such as 2.50, or null for no limit",
    [TYPE_PRICE] = "dollars for a million tokens, such as 0.40",
#define X(name, text) text " "
    [TYPE_MODE] = "one of " MODES(X) "(or normal, which is safe)",
#undef X
    [TYPE_PERMISSION] = "allow, ask or deny",
    [TYPE_GATE] = "parent or run",
    [TYPE_ALLOWANCE] = "allow or deny",
    [TYPE_VIA] = "terminal or inbox",
    [TYPE_SPEED] = "instant or recorded",
    [TYPE_SCHEMA] = "a JSON Schema",
    [TYPE_NETWORK] = NETWORK_EXPECTED,
    [TYPE_ADDRESS] = "an address such as 10.0.0.7, 10.0.0.7:8443 or [fd00::7]:8443",
    [TYPE_HOSTS] = "a list of hosts by name",
    [TYPE_HEADERS] = "a mapping of header names to values",
    [TYPE_BODY] = "a mapping",
    [TYPE_ARGV] = "a list: a program and its arguments",
    [TYPE_EFFORT] = "none, minimal, low, medium, high, xhigh or max",
    [TYPE_DECIMAL] = "a number",
    [TYPE_STOPS] = "a list of at most 4 texts",
    [TYPE_SEARCH] = "searxng, brave or tavily",
};

const char *config_type_expected(enum config_type type)
{
    return expected_texts[type];
}

void config_key_expected(const struct config_key *key, struct buf *out)
{
    buf_text(out, expected_texts[key->type]);
    if (key->type == TYPE_COUNT || key->type == TYPE_LIMIT || key->type == TYPE_DECIMAL)
        buf_printf(out, " from %lld to %lld", (long long)key->minimum, (long long)key->maximum);
}
