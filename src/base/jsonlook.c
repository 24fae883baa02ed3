/* Looking into a parsed document. Every function accepts NULL, an absent value. Pure. */
#include "base/json_node.h"

enum js_kind js_kind(const struct js *value)
{
    return value != NULL ? value->kind : JS_ABSENT;
}

const struct js *js_get(const struct js *object, const char *key)
{
    if (js_kind(object) != JS_OBJECT)
        return NULL;
    size_t n = strlen(key);
    for (size_t i = 0; i < object->n; i++) {
        const struct js *at = &object->items[2 * i];
        if (at->n == n && memcmp(at->text, key, n) == 0)
            return at + 1;
    }
    return NULL;
}

struct str js_str(const struct js *value)
{
    return js_kind(value) == JS_STRING ? (struct str){value->text, value->n} : STR_NONE;
}

struct str js_source(struct str text, const struct js *value)
{
    return value != NULL ? (struct str){text.p + value->begin, value->end - value->begin}
                         : STR_NONE;
}

int64_t js_int(const struct js *value, int64_t otherwise)
{
    return js_kind(value) == JS_INT ? value->integer : otherwise;
}

double js_real(const struct js *value, double otherwise)
{
    enum js_kind kind = js_kind(value);
    return kind == JS_INT ? (double)value->integer : kind == JS_REAL ? value->real : otherwise;
}

bool js_bool(const struct js *value, bool otherwise)
{
    return js_kind(value) == JS_BOOL ? value->truth : otherwise;
}

size_t js_count(const struct js *value)
{
    enum js_kind kind = js_kind(value);
    return kind == JS_ARRAY || kind == JS_OBJECT ? value->n : 0;
}

const struct js *js_at(const struct js *array, size_t i)
{
    return js_kind(array) == JS_ARRAY && i < array->n ? &array->items[i] : NULL;
}

void *js_next(const struct js *object, void *iter, struct str *key, const struct js **value)
{
    if (js_count(object) == 0 || js_kind(object) != JS_OBJECT)
        return NULL;
    const struct js *at = iter != NULL ? (const struct js *)iter + 2 : object->items;
    if (at == object->items + 2 * object->n)
        return NULL;
    *key = (struct str){at->text, at->n};
    *value = at + 1;
    return (void *)at;
}

struct str js_get_str(const struct js *object, const char *key)
{
    return js_str(js_get(object, key));
}

bool js_number(const struct js *value, double *out)
{
    struct str text = js_str(value);
    struct err ignored = ERR_INIT;
    *out = js_real(value, 0);
    if (js_kind(value) == JS_INT || js_kind(value) == JS_REAL)
        return true;
    /* A number ends with a digit, and what it begins with is one or a sign: JSON's blanks are not taken. */
    if (text.n == 0 || text.n > 32 ||
        !(text.p[0] == '-' || (text.p[0] >= '0' && text.p[0] <= '9')) || text.p[text.n - 1] < '0' ||
        text.p[text.n - 1] > '9')
        return false;
    struct js *number = js_parse(text, &ignored);
    bool is_number = js_kind(number) == JS_INT || js_kind(number) == JS_REAL;
    *out = js_real(number, 0);
    js_free(number);
    return is_number;
}

bool js_whole(const struct js *value, int64_t *out)
{
    double number;
    *out = js_int(value, 0);
    if (js_kind(value) == JS_INT)
        return true;
    if (!js_number(value, &number) || !(number > -1e15 && number < 1e15) ||
        (double)(int64_t)number != number)
        return false;
    *out = (int64_t)number;
    return true;
}

int64_t js_get_int(const struct js *object, const char *key, int64_t otherwise)
{
    return js_int(js_get(object, key), otherwise);
}

bool js_get_bool(const struct js *object, const char *key, bool otherwise)
{
    return js_bool(js_get(object, key), otherwise);
}
