/* Fuzzes base/json against a second reader (jansson): both accept the same texts, and what they read prints alike; and a value's source
 * parses to the value again. */
#include <jansson.h>
#include <stdlib.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void same(const struct js *ours, const json_t *theirs);

static void same_object(const struct js *ours, const json_t *theirs)
{
    struct str key;
    const struct js *member;
    require(js_count(ours) == json_object_size(theirs));
    for (void *i = js_next(ours, NULL, &key, &member); i; i = js_next(ours, i, &key, &member)) {
        require(key.p[key.n] == '\0' && js_get(ours, key.p) == member);
        same(member, json_object_get(theirs, key.p));
    }
}

static void same(const struct js *ours, const json_t *theirs)
{
    require(theirs != NULL);
    switch (json_typeof(theirs)) {
    case JSON_OBJECT:
        require(js_kind(ours) == JS_OBJECT);
        same_object(ours, theirs);
        break;
    case JSON_ARRAY:
        require(js_kind(ours) == JS_ARRAY && js_count(ours) == json_array_size(theirs));
        for (size_t i = 0; i < js_count(ours); i++)
            same(js_at(ours, i), json_array_get(theirs, i));
        break;
    case JSON_STRING:
        require(js_kind(ours) == JS_STRING && js_str(ours).n == json_string_length(theirs) &&
                memcmp(js_str(ours).p, json_string_value(theirs), js_str(ours).n) == 0);
        break;
    case JSON_INTEGER:
        require(js_kind(ours) == JS_INT && js_int(ours, 0) == json_integer_value(theirs));
        break;
    case JSON_REAL:
        require(js_kind(ours) == JS_REAL && js_real(ours, 0) == json_real_value(theirs));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        require(js_kind(ours) == JS_BOOL && js_bool(ours, false) == json_is_true(theirs));
        break;
    case JSON_NULL:
        require(js_kind(ours) == JS_NULL);
        break;
    }
}

static bool is_deep(struct str text)
{
    int depth = 0;
    for (size_t i = 0; i < text.n; i++)
        depth += text.p[i] == '[' || text.p[i] == '{';
    return depth > 64; /* at most: also counts what stands in strings or beside each other */
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *copy = malloc(n + 1);
    require(copy != NULL);
    memcpy(copy, bytes, n);
    struct str text = {copy, n};
    struct err err = ERR_INIT;
    json_error_t error;
    struct js *ours = js_parse(text, &err);
    json_t *theirs =
        json_loadb(copy, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
    require(ours == NULL || theirs != NULL);
    require(theirs == NULL || ours != NULL || is_deep(text) || n > 1024 ||
            memchr(copy, 0, n) != NULL); /* jansson takes a NUL for the end */
    if (ours != NULL) {
        same(ours, theirs);
        struct js *again = js_parse(js_source(text, ours), &err);
        require(again != NULL);
        same(again, theirs);
        js_free(again);
    }
    js_free(ours);
    json_decref(theirs);
    free(copy);
    return 0;
}
