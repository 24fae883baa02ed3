/* The tools of a chat request: names, schemas, tool_choice. Pure: any thread. */
#include "base/utf8.h"
#include "scripted/asked.h"

#define SCHEMA_BYTES_MAX (8u << 20)
#define TOOLS_MAX 128

static const struct field tool_fields[] = {
    {"type", KIND(STRING), FIELD_REQUIRED},
    {"function", KIND(OBJECT), FIELD_REQUIRED},
};
static const struct field function_fields[] = {
    {"name", KIND(STRING), FIELD_REQUIRED},
    {"description", KIND(STRING), FIELD_OPTIONAL},
    {"parameters", KIND(OBJECT), FIELD_OPTIONAL},
    {"strict", KIND_OR_NULL(BOOL), FIELD_OPTIONAL},
};
static const struct field_table tool_table = FIELD_TABLE(tool_fields);
static const struct field_table function_table = FIELD_TABLE(function_fields);

int asked_tool_count(const struct js *tools, struct refusal *refusal)
{
    if (js_count(tools) <= TOOLS_MAX)
        return 0;
    return refusal_set(refusal, 400, "array_above_max_length", "tools",
                       "Invalid 'tools': array too long. Expected an array with maximum length %d, "
                       "but got an array with length %zu instead.",
                       TOOLS_MAX, js_count(tools));
}

int asked_function_name(struct str name, const struct place *place, struct refusal *refusal)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    char path[160];
    refusal_place(place, "name", path, sizeof path);
    if (name.n == 0)
        return refusal_at(
            refusal, "empty_string", place, "name",
            "Invalid '%s': empty string. Expected a string with minimum length 1, but "
            "got an empty string instead.",
            path);
    if (name.n > 64)
        return refusal_at(
            refusal, "string_above_max_length", place, "name",
            "Invalid '%s': string too long. Expected a string with maximum length 64, "
            "but got a string with length %zu instead.",
            path, name.n);
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] == '\0' || strchr(letters, name.p[i]) == NULL)
            return refusal_at(refusal, "invalid_value", place, "name",
                              "Invalid '%s': string does not match pattern. Expected a string that "
                              "matches the pattern '^[a-zA-Z0-9_-]+$'.",
                              path);
    return 0;
}

static int refuse_schema(struct str function, const struct place *place, struct refusal *refusal,
                         const char *why, struct str what)
{
    return refusal_at(refusal, "invalid_function_parameters", place, "parameters",
                      "Invalid schema for function '%.*s': %s%.*s.", STR_FMT(function), why,
                      STR_FMT(utf8_cut(what, 100)));
}

/* What the API checks in a schema whether or not it is strict: kinds of the keywords, and items of arrays. */
static int check_schema(struct str function, const struct js *schema, struct str name,
                        const struct place *place, struct refusal *refusal)
{
    if (js_kind(schema) == JS_BOOL)
        return 0;
    if (js_kind(schema) != JS_OBJECT)
        return refuse_schema(function, place, refusal, "not an object or a boolean: ", name);
    const struct js *type = js_get(schema, "type"), *properties = js_get(schema, "properties");
    const struct js *required = js_get(schema, "required"), *items = js_get(schema, "items");
    if (type != NULL && js_kind(type) != JS_STRING && js_kind(type) != JS_ARRAY)
        return refuse_schema(function, place, refusal,
                             "'type' is not a string or an array in: ", name);
    if (properties != NULL && js_kind(properties) != JS_OBJECT)
        return refuse_schema(function, place, refusal, "'properties' is not an object in: ", name);
    if (required != NULL && js_kind(required) != JS_ARRAY)
        return refuse_schema(function, place, refusal, "'required' is not an array in: ", name);
    for (size_t i = 0; i < js_count(required); i++)
        if (js_kind(js_at(required, i)) != JS_STRING)
            return refuse_schema(function, place, refusal,
                                 "'required' holds more than strings in: ", name);
    if (str_is(js_str(type), "array") && items == NULL)
        return refuse_schema(function, place, refusal, "array schema missing items: ", name);
    if (items != NULL && check_schema(function, items, name, place, refusal) != 0)
        return -1;
    struct str key;
    const struct js *value;
    for (void *iter = js_next(properties, NULL, &key, &value); iter != NULL;
         iter = js_next(properties, iter, &key, &value))
        if (check_schema(function, value, key, place, refusal) != 0)
            return -1;
    return 0;
}

int asked_parameters(struct asked *asked, struct str function, const struct js *parameters,
                     const struct place *place, struct refusal *refusal)
{
    if (parameters == NULL)
        return 0;
    struct str type = js_get_str(parameters, "type");
    if (!str_is(type, "object"))
        return refusal_at(
            refusal, "invalid_function_parameters", place, "parameters",
            "Invalid schema for function '%.*s': schema must be a JSON Schema of 'type: "
            "\"object\"', got 'type: \"%.*s\"'.",
            STR_FMT(function), STR_FMT(utf8_cut(type.p ? type : STR("None"), 100)));
    if (check_schema(function, parameters, STR("parameters"), place, refusal) != 0)
        return -1;
    struct buf text;
    buf_init(&text, SCHEMA_BYTES_MAX);
    js_print(parameters, &text);
    asked->tool_bytes += text.n;
    buf_release(&text);
    return 0;
}

static int check_tool(struct asked *asked, const struct js *tool, size_t at,
                      struct refusal *refusal)
{
    struct place place = {.list = "tools", .index = at};
    if (refusal_object(tool, &place, NULL, refusal) != 0 ||
        refusal_fields(tool, &tool_table, &place, refusal) != 0)
        return -1;
    struct str type = js_get_str(tool, "type");
    if (!str_is(type, "function"))
        return refusal_at(refusal, "invalid_value", &place, "type",
                          "Invalid value: '%.*s'. Supported values are: 'function'.",
                          STR_FMT(utf8_cut(type, 100)));
    const struct js *function = js_get(tool, "function");
    struct str name = js_get_str(function, "name");
    place.within = "function";
    if (refusal_fields(function, &function_table, &place, refusal) != 0 ||
        asked_function_name(name, &place, refusal) != 0)
        return -1;
    if (map_set(&asked->tools, name, (void *)function) != NULL)
        return refusal_at(refusal, "invalid_value", &place, "name",
                          "Tool names must be unique: '%.*s' is there twice.", STR_FMT(name));
    asked->tool_bytes += name.n + js_get_str(function, "description").n;
    return asked_parameters(asked, name, js_get(function, "parameters"), &place, refusal);
}

static int check_choice(const struct asked *asked, const struct js *choice, struct refusal *refusal)
{
    if (choice == NULL)
        return 0;
    if (js_kind(choice) == JS_STRING) {
        struct str text = js_str(choice);
        if (str_is(text, "none") || str_is(text, "auto") || str_is(text, "required"))
            return 0;
        return refusal_set(refusal, 400, "invalid_value", "tool_choice",
                           "Invalid value: '%.*s'. Supported values are: 'none', 'auto', and "
                           "'required'.",
                           STR_FMT(utf8_cut(text, 100)));
    }
    struct str name = js_get_str(js_get(choice, "function"), "name");
    if (!str_is(js_get_str(choice, "type"), "function") || name.p == NULL)
        return refusal_set(refusal, 400, "invalid_value", "tool_choice",
                           "Invalid value for 'tool_choice': expected {\"type\": \"function\", "
                           "\"function\": {\"name\": \"my_function\"}}.");
    if (map_get(&asked->tools, name) == NULL)
        return refusal_set(
            refusal, 400, "invalid_value", "tool_choice",
            "Invalid value for 'tool_choice': the function '%.*s' is not in 'tools'.",
            STR_FMT(utf8_cut(name, 100)));
    return 0;
}

int asked_tools(struct asked *asked, const struct js *root, struct refusal *refusal)
{
    static const char *const dependants[] = {"tool_choice", "parallel_tool_calls"};
    const struct js *tools = js_get(root, "tools");
    if (tools == NULL) {
        for (size_t i = 0; i < sizeof dependants / sizeof dependants[0]; i++)
            if (js_get(root, dependants[i]) != NULL)
                return refusal_set(refusal, 400, NULL, dependants[i],
                                   "Invalid value for '%s': '%s' is only allowed when 'tools' are "
                                   "specified.",
                                   dependants[i], dependants[i]);
        return 0;
    }
    size_t count = js_count(tools);
    if (count == 0)
        return refusal_set(refusal, 400, "empty_array", "tools", "[] is too short - 'tools'");
    if (asked_tool_count(tools, refusal) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (check_tool(asked, js_at(tools, i), i, refusal) != 0)
            return -1;
    return check_choice(asked, js_get(root, "tool_choice"), refusal);
}
