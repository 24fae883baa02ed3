/* Reading JSON: jansson behind an opaque type, so that no other file knows it. Depth is measured before
 * parsing, on the text: jansson recurses, and its own limit is far deeper. Writing and
 * printing are in jsonwriter.c. Pure; a document belongs to one thread at a time. */
#include "base/json.h"

#include <jansson.h>

enum { DEPTH_MAX = 64 };

static const json_t *json_of(const struct js *value)
{
    return (const json_t *)(const void *)value;
}

static const struct js *js_of(const json_t *json)
{
    return (const struct js *)(const void *)json;
}

/* Position of the bracket that opens level max + 1, or text.n. Brackets inside strings do not count. */
static size_t depth_exceeded(struct str text, int max)
{
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > max)
                return i;
        } else if (c == ']' || c == '}') {
            depth--;
        }
    }
    return text.n;
}

static void position_of(struct str text, size_t offset, int *line, int *column)
{
    *line = 1;
    *column = 1;
    for (size_t i = 0; i < offset; i++) {
        *column += 1;
        if (text.p[i] == '\n') {
            *line += 1;
            *column = 1;
        }
    }
}

struct js *js_parse(struct str text, struct err *err)
{
    return js_parse_within(text, DEPTH_MAX, err);
}

struct js *js_parse_within(struct str text, int levels, struct err *err)
{
    if (!text.p)
        text = STR("");
    size_t too_deep = depth_exceeded(text, levels);
    if (too_deep < text.n) {
        int line, column;
        position_of(text, too_deep, &line, &column);
        err_set(err, ERR_CORRUPT, "JSON, line %d, column %d: nested deeper than %d levels", line,
                column, levels);
        return NULL;
    }
    json_error_t error;
    json_t *json = json_loadb(text.p, text.n,
                              JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
    if (!json) {
        err_set(err, ERR_CORRUPT, "JSON, line %d, column %d: %s", error.line, error.column,
                error.text);
        return NULL;
    }
    return (struct js *)(void *)json;
}

void js_free(struct js *root)
{
    json_decref((json_t *)(void *)root);
}

enum js_kind js_kind(const struct js *value)
{
    if (!value)
        return JS_ABSENT;
    switch (json_typeof(json_of(value))) {
    case JSON_OBJECT:
        return JS_OBJECT;
    case JSON_ARRAY:
        return JS_ARRAY;
    case JSON_STRING:
        return JS_STRING;
    case JSON_INTEGER:
        return JS_INT;
    case JSON_REAL:
        return JS_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return JS_BOOL;
    case JSON_NULL:
        return JS_NULL;
    }
    return JS_ABSENT;
}

const struct js *js_get(const struct js *object, const char *key)
{
    return js_of(json_object_get(json_of(object), key));
}

struct str js_str(const struct js *value)
{
    if (js_kind(value) != JS_STRING)
        return STR_NONE;
    return (struct str){json_string_value(json_of(value)), json_string_length(json_of(value))};
}

int64_t js_int(const struct js *value, int64_t otherwise)
{
    return js_kind(value) == JS_INT ? json_integer_value(json_of(value)) : otherwise;
}

double js_real(const struct js *value, double otherwise)
{
    enum js_kind kind = js_kind(value);
    return kind == JS_INT || kind == JS_REAL ? json_number_value(json_of(value)) : otherwise;
}

bool js_bool(const struct js *value, bool otherwise)
{
    return js_kind(value) == JS_BOOL ? json_is_true(json_of(value)) : otherwise;
}

size_t js_count(const struct js *value)
{
    enum js_kind kind = js_kind(value);
    if (kind == JS_ARRAY)
        return json_array_size(json_of(value));
    return kind == JS_OBJECT ? json_object_size(json_of(value)) : 0;
}

const struct js *js_at(const struct js *array, size_t i)
{
    return js_of(json_array_get(json_of(array), i));
}

void *js_next(const struct js *object, void *iter, struct str *key, const struct js **value)
{
    /* jansson's iterators take a mutable object and do not change it. */
    json_t *json = (json_t *)(void *)object;
    void *next = iter ? json_object_iter_next(json, iter) : json_object_iter(json);
    if (!next)
        return NULL;
    *key = (struct str){json_object_iter_key(next), json_object_iter_key_len(next)};
    *value = js_of(json_object_iter_value(next));
    return next;
}

struct str js_get_str(const struct js *object, const char *key)
{
    return js_str(js_get(object, key));
}

int64_t js_get_int(const struct js *object, const char *key, int64_t otherwise)
{
    return js_int(js_get(object, key), otherwise);
}

bool js_get_bool(const struct js *object, const char *key, bool otherwise)
{
    return js_bool(js_get(object, key), otherwise);
}
