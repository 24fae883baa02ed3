/* See strictable.h. Pure; any thread. */
#include "model/strictable.h"

#include "base/json.h"

#define DEPTH_MAX 5        /* levels of objects and arrays */
#define PROPERTIES_MAX 100 /* in all objects together */

struct walk {
    size_t properties;
};

static bool is_strict(const struct js *schema, int depth, struct walk *walk);

static bool requires(const struct js *required, struct str key)
{
    for (size_t i = 0; i < js_count(required); i++)
        if (str_eq(js_str(js_at(required, i)), key))
            return true;
    return false;
}

static bool object_is_strict(const struct js *schema, int depth, struct walk *walk)
{
    const struct js *properties = js_get(schema, "properties"), *value;
    struct str key;
    if (js_kind(js_get(schema, "additionalProperties")) != JS_BOOL ||
        js_get_bool(schema, "additionalProperties", true) || js_kind(properties) != JS_OBJECT)
        return false;
    walk->properties += js_count(properties);
    for (void *i = js_next(properties, NULL, &key, &value); i;
         i = js_next(properties, i, &key, &value))
        if (!requires(js_get(schema, "required"), key) || !is_strict(value, depth - 1, walk))
            return false;
    return walk->properties <= PROPERTIES_MAX;
}

static bool keywords_known(const struct js *schema)
{
    static const char *const known[] = {"type",  "properties",          "required", "enum",
                                        "items", "description",         "title",    "const",
                                        "anyOf", "additionalProperties"};
    struct str key;
    const struct js *value;
    for (void *i = js_next(schema, NULL, &key, &value); i; i = js_next(schema, i, &key, &value)) {
        size_t k = 0;
        while (k < sizeof known / sizeof known[0] && !str_is(key, known[k]))
            k++;
        if (k == sizeof known / sizeof known[0])
            return false;
    }
    return true;
}

static bool is_strict(const struct js *schema, int depth, struct walk *walk)
{
    const struct js *type = js_get(schema, "type"), *any = js_get(schema, "anyOf");
    if (depth < 0 || js_kind(schema) != JS_OBJECT || !keywords_known(schema))
        return false;
    for (size_t i = 0; i < js_count(any); i++)
        if (!is_strict(js_at(any, i), depth - 1, walk))
            return false;
    bool object = str_is(js_str(type), "object"), array = str_is(js_str(type), "array");
    for (size_t i = 0; js_kind(type) == JS_ARRAY && i < js_count(type); i++) {
        object |= str_is(js_str(js_at(type, i)), "object");
        array |= str_is(js_str(js_at(type, i)), "array");
    }
    if (object && !object_is_strict(schema, depth, walk))
        return false;
    if (array && !is_strict(js_get(schema, "items"), depth - 1, walk))
        return false;
    return object || array || js_count(any) > 0 || js_kind(type) == JS_STRING ||
           js_kind(type) == JS_ARRAY || js_kind(js_get(schema, "enum")) == JS_ARRAY ||
           js_get(schema, "const");
}

enum schema_fit schema_strictable(struct str schema)
{
    struct err ignored = ERR_INIT;
    struct walk walk = {0};
    struct js *root = schema.n > 0 ? js_parse(schema, &ignored) : NULL;
    enum schema_fit fit = SCHEMA_UNFIT;
    if (str_is(js_get_str(root, "type"), "object"))
        fit = !js_get(root, "anyOf") && is_strict(root, DEPTH_MAX, &walk) ? SCHEMA_STRICT
                                                                          : SCHEMA_LOOSE;
    js_free(root);
    return fit;
}
