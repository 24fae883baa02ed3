/* Walks JSON text without parsing what it only copies; see the header. Pure; any thread. */
#include "model/body.h"

#include "base/json.h"

static const char *const limit_names[] = {"max_tokens", "max_completion_tokens",
                                          "max_output_tokens"};
#define LIMIT_NAMES (sizeof limit_names / sizeof limit_names[0])

static size_t skip_space(struct str text, size_t at)
{
    while (at < text.n && strchr(" \t\r\n", text.p[at]) && text.p[at] != '\0')
        at++;
    return at;
}

/* The index behind the string that starts at `at`. */
static size_t skip_string(struct str text, size_t at)
{
    for (at++; at < text.n && text.p[at] != '"'; at++)
        if (text.p[at] == '\\')
            at++;
    return at < text.n ? at + 1 : text.n;
}

/* The index behind the value that starts at `at`. */
static size_t skip_value(struct str text, size_t at)
{
    size_t depth = 0;
    while (at < text.n) {
        char c = text.p[at];
        if (c == '"') {
            at = skip_string(text, at);
        } else if (c == '{' || c == '[') {
            depth++;
            at++;
            continue;
        } else if (depth > 0 && (c == '}' || c == ']')) {
            depth--;
            at++;
        } else if (depth > 0) {
            at++;
            continue;
        } else {
            while (at < text.n && !strchr(",]} \t\r\n", text.p[at]))
                at++;
        }
        if (depth == 0)
            return at;
    }
    return text.n;
}

/* What is left of each edit's path at some place; NULL: the edit does not reach it. */
struct paths {
    const struct body_edit *edits;
    size_t count;
    const char *left[BODY_EDITS_MAX];
};

/* Goes one step down each path. *done is the edit whose path ends here, or NULL. Returns whether
 * any path goes on. */
static bool paths_step(const struct paths *paths, struct str name, struct paths *inner,
                       const struct body_edit **done)
{
    bool goes_on = false;
    *done = NULL;
    *inner = (struct paths){.edits = paths->edits, .count = paths->count};
    for (size_t i = 0; i < paths->count; i++) {
        const char *left = paths->left[i];
        size_t n = left ? strcspn(left, ".") : 0;
        if (!left || n != name.n || memcmp(left, name.p, n) != 0)
            continue;
        if (left[n] == '\0') {
            *done = &paths->edits[i];
        } else {
            inner->left[i] = left + n + 1;
            goes_on = true;
        }
    }
    return goes_on;
}

static size_t copy_value(struct str text, size_t at, const struct paths *paths, struct buf *out);

/* Whether the copy of the value at `at`, which starts at `start` of out, lost all of its members. */
static bool is_emptied(struct str text, size_t at, const struct buf *out, size_t start)
{
    size_t inside = skip_space(text, at + 1);
    return !out->failed && out->n == start + 2 && memcmp(out->p + start, "{}", 2) == 0 &&
           inside < text.n && text.p[inside] != '}';
}

/* Copies one member whose key starts at `at`; the separator before it is written where it is
 * needed. */
static size_t copy_member(struct str text, size_t at, const struct paths *paths, bool *first,
                          struct buf *out)
{
    struct paths inner;
    const struct body_edit *done;
    size_t key_end = skip_string(text, at);
    struct str key = {text.p + at + 1, key_end - at - 2};
    size_t value = skip_space(text, skip_space(text, key_end) + 1);
    bool goes_on = paths_step(paths, key, &inner, &done);
    if (done && !done->rename && !done->value)
        return skip_value(text, value);
    size_t before = out->n;
    if (!*first)
        buf_char(out, ',');
    buf_char(out, '"');
    buf_str(out, done && done->rename ? str_from(done->rename) : key);
    buf_text(out, "\":");
    size_t start = out->n, end = 0;
    if (done && done->value) {
        buf_text(out, done->value);
        end = skip_value(text, value);
    } else if (goes_on) {
        end = copy_value(text, value, &inner, out);
        /* A server that refuses all members of an object refuses the object, too. */
        if (is_emptied(text, value, out, start)) {
            out->n = before;
            return end;
        }
    } else {
        end = skip_value(text, value);
        buf_add(out, text.p + value, end - value);
    }
    *first = false;
    return end;
}

static size_t copy_element(struct str text, size_t at, const struct paths *paths, bool *first,
                           struct buf *out)
{
    struct paths inner;
    const struct body_edit *done;
    if (!*first)
        buf_char(out, ',');
    *first = false;
    paths_step(paths, STR("*"), &inner, &done);
    return copy_value(text, at, &inner, out);
}

/* Goes no deeper than the paths do. */
static size_t copy_value(struct str text, size_t at, const struct paths *paths, struct buf *out)
{
    char open = at < text.n ? text.p[at] : '\0', close = open == '{' ? '}' : ']';
    bool first = true;
    if (open != '{' && open != '[') {
        size_t end = skip_value(text, at);
        buf_add(out, text.p + at, end - at);
        return end;
    }
    buf_char(out, open);
    at = skip_space(text, at + 1);
    while (at < text.n && text.p[at] != close) {
        at = open == '{' ? copy_member(text, at, paths, &first, out)
                         : copy_element(text, at, paths, &first, out);
        at = skip_space(text, at);
        if (at < text.n && text.p[at] == ',')
            at = skip_space(text, at + 1);
    }
    buf_char(out, close);
    return at < text.n ? at + 1 : text.n;
}

void body_edit(struct str text, const struct body_edit *edits, size_t count, struct buf *out)
{
    struct paths paths = {.edits = edits, .count = count < BODY_EDITS_MAX ? count : BODY_EDITS_MAX};
    for (size_t i = 0; i < paths.count; i++)
        paths.left[i] = edits[i].path;
    copy_value(text, skip_space(text, 0), &paths, out);
}

/* --- roles ------------------------------------------------------------------------------------ */

size_t body_part_roles(struct str messages, struct buf *out)
{
    static const struct str tool = {"{\"role\":\"tool\"", 14}, user = {"{\"role\":\"user\"", 14};
    struct str before = STR_NONE;
    size_t added = 0;
    for (size_t at = 0; messages.p && at < messages.n;) {
        size_t end = skip_value(messages, at);
        struct str message = {messages.p + at, end - at};
        if (before.p)
            buf_char(out, ',');
        if (str_starts(message, user) && str_starts(before, tool)) {
            buf_text(out, "{\"role\":\"assistant\",\"content\":\"(continued)\"},");
            added++;
        }
        buf_str(out, message);
        before = message;
        at = end + 1; /* behind the comma */
    }
    return added;
}

/* --- members from the config ------------------------------------------------------------------ */

static bool is_limit(struct str key)
{
    for (size_t i = 0; i < LIMIT_NAMES; i++)
        if (str_is(key, limit_names[i]))
            return true;
    return false;
}

/* Whether the member counts: a limit that would lift ours does not. */
static bool counts(struct str key, const struct js *value, int64_t tokens)
{
    int64_t asked = js_int(value, 0);
    return tokens <= 0 || !is_limit(key) || (asked > 0 && asked <= tokens);
}

int body_merge(struct str text, struct str extra, const char *limit, int64_t tokens,
               struct buf *out, struct err *err)
{
    struct js *doc = js_parse(extra, err);
    struct str key;
    const struct js *value;
    struct body_edit edits[BODY_EDITS_MAX];
    char names[BODY_EDITS_MAX][64];
    size_t count = 0;
    if (js_kind(doc) != JS_OBJECT || js_count(doc) >= BODY_EDITS_MAX) {
        js_free(doc);
        return err_set(err, ERR_CONFIG,
                       "extra_body must be a JSON object with fewer than %d members",
                       BODY_EDITS_MAX);
    }
    for (void *i = js_next(doc, NULL, &key, &value); i; i = js_next(doc, i, &key, &value)) {
        /* A longer name, or one with a dot, is not one of ours. */
        if (key.n >= sizeof names[0] || memchr(key.p, '.', key.n) || !counts(key, value, tokens))
            continue;
        bool lower = tokens > 0 && is_limit(key);
        memcpy(names[count], key.p, key.n);
        names[count][key.n] = '\0';
        edits[count] = (struct body_edit){.path = lower ? limit : names[count]};
        count++;
    }
    body_edit(text, edits, count, out);
    if (out->n > 0)
        out->n--; /* its closing brace */
    for (void *i = js_next(doc, NULL, &key, &value); i; i = js_next(doc, i, &key, &value)) {
        if (js_kind(value) == JS_NULL || !counts(key, value, tokens))
            continue;
        if (out->n > 0 && out->p[out->n - 1] != '{')
            buf_char(out, ',');
        json_quote(out, key);
        buf_char(out, ':');
        js_print(value, out);
    }
    buf_char(out, '}');
    js_free(doc);
    return 0;
}
