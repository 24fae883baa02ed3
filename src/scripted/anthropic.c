/* The top level of a Messages request: headers, known fields, limits, tools and the window. Messages have a file of their
 * own. Pure: any thread. */
#include "scripted/anthropic.h"

#include <math.h>
#include <stdio.h>

#include "base/utf8.h"
#include "scripted/script.h"
#include "scripted/vendor.h"

#define SCHEMA_BYTES_MAX (8u << 20)

static const struct field request_fields[] = {
    {"model", KIND(STRING), FIELD_REQUIRED},
    {"messages", KIND(ARRAY), FIELD_REQUIRED},
    {"max_tokens", KIND(INT), FIELD_REQUIRED},
    {"container", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"metadata", KIND(OBJECT), FIELD_OPTIONAL},
    {"service_tier", KIND(STRING), FIELD_OPTIONAL},
    {"output_config", KIND_OR_NULL(OBJECT), FIELD_OPTIONAL},
    {"stop_sequences", KIND(ARRAY), FIELD_OPTIONAL},
    {"stream", KIND(BOOL), FIELD_OPTIONAL},
    {"system", KIND(STRING) | KIND(ARRAY), FIELD_OPTIONAL},
    {"temperature", KIND(INT) | KIND(REAL), FIELD_OPTIONAL},
    {"thinking", KIND(OBJECT), FIELD_OPTIONAL},
    {"tool_choice", KIND(OBJECT), FIELD_OPTIONAL},
    {"tools", KIND(ARRAY), FIELD_OPTIONAL},
    {"top_k", KIND(INT), FIELD_OPTIONAL},
    {"top_p", KIND(INT) | KIND(REAL), FIELD_OPTIONAL},
};
static const struct field_table request_table = {request_fields,
                                                 sizeof request_fields / sizeof request_fields[0]};

static const struct field output_fields[] = {
    {"effort", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"format", KIND_OR_NULL(OBJECT), FIELD_OPTIONAL},
};
static const struct field_table output_table = {output_fields,
                                                sizeof output_fields / sizeof output_fields[0]};

static const struct field format_fields[] = {
    {"type", KIND(STRING), FIELD_REQUIRED},
    {"schema", KIND(OBJECT), FIELD_REQUIRED},
};
static const struct field_table format_table = {format_fields,
                                                sizeof format_fields / sizeof format_fields[0]};

static const struct field thinking_fields[] = {
    {"type", KIND(STRING), FIELD_REQUIRED},
    {"budget_tokens", KIND(INT), FIELD_OPTIONAL},
    {"display", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
};
static const struct field_table thinking_table = {thinking_fields, sizeof thinking_fields /
                                                                       sizeof thinking_fields[0]};

static const struct field tool_fields[] = {
    {"name", KIND(STRING), FIELD_REQUIRED},
    {"input_schema", KIND(OBJECT), FIELD_REQUIRED},
    {"description", KIND(STRING), FIELD_OPTIONAL},
    {"type", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"cache_control", KIND_OR_NULL(OBJECT), FIELD_OPTIONAL},
};
static const struct field_table tool_table = {tool_fields,
                                              sizeof tool_fields / sizeof tool_fields[0]};

int anthropic_refuse(struct refusal *refusal, const char *path, const char *format, ...)
{
    char words[900];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    return refusal_set(refusal, 400, NULL, path, "%s%s%s", path, path[0] != '\0' ? ": " : "",
                       words);
}

static const char *wanted(unsigned kinds)
{
    static const struct {
        unsigned kind;
        const char *text;
    } texts[] = {
        {KIND(STRING), "Input should be a valid string"},
        {KIND(ARRAY), "Input should be a valid list"},
        {KIND(OBJECT), "Input should be a valid dictionary"},
        {KIND(BOOL), "Input should be a valid boolean"},
        {KIND(REAL), "Input should be a valid number"},
        {KIND(INT), "Input should be a valid integer"},
    };
    size_t i = 0;
    while ((kinds & texts[i].kind) == 0)
        i++;
    return texts[i].text;
}

int anthropic_fields(const struct js *object, const struct field_table *table, const char *path,
                     struct refusal *refusal)
{
    struct field_fault fault = field_fault(object, table);
    char place[160];
    if (fault.kind == FAULT_NONE)
        return 0;
    struct str name =
        fault.kind == FAULT_UNKNOWN ? utf8_cut(fault.key, 60) : str_from(fault.field->name);
    snprintf(place, sizeof place, "%s%s%.*s", path, path[0] != '\0' ? "." : "", STR_FMT(name));
    if (fault.kind == FAULT_UNKNOWN)
        return anthropic_refuse(refusal, place, "Extra inputs are not permitted");
    return anthropic_refuse(refusal, place, "%s",
                            fault.kind == FAULT_MISSING ? "Field required"
                                                        : wanted(fault.field->kinds));
}

int anthropic_headers(const char *given_key, const char *version, struct str key,
                      struct refusal *refusal)
{
    if (given_key == NULL || given_key[0] == '\0')
        return refusal_set(refusal, 401, NULL, NULL, "x-api-key header is required");
    if (key.p != NULL && !str_is(key, given_key))
        return refusal_set(refusal, 401, NULL, NULL, "invalid x-api-key");
    if (version == NULL)
        return anthropic_refuse(refusal, "anthropic-version", "header is required");
    if (strcmp(version, "2023-06-01") != 0)
        return anthropic_refuse(refusal, "anthropic-version", "\"%.40s\" is not a valid version",
                                version);
    return 0;
}

/* --- tools -------------------------------------------------------------------------------------------- */

bool anthropic_name_fits(struct str name, size_t max)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] == '\0' || strchr(letters, name.p[i]) == NULL)
            return false;
    return name.n >= 1 && name.n <= max;
}

static int check_tool(struct asked *asked, const struct js *tool, size_t at,
                      struct refusal *refusal)
{
    char path[64], place[96];
    snprintf(path, sizeof path, "tools.%zu.custom", at);
    if (js_kind(tool) != JS_OBJECT)
        return anthropic_refuse(refusal, path, "%s", wanted(KIND(OBJECT)));
    if (anthropic_fields(tool, &tool_table, path, refusal) != 0)
        return -1;
    struct str name = js_get_str(tool, "name");
    const struct js *schema = js_get(tool, "input_schema");
    const struct js *properties = js_get(schema, "properties");
    snprintf(place, sizeof place, "%s.name", path);
    if (!anthropic_name_fits(name, 128))
        return anthropic_refuse(refusal, place,
                                "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'");
    snprintf(place, sizeof place, "%s.input_schema.type", path);
    if (js_get(schema, "type") == NULL)
        return anthropic_refuse(refusal, place, "Field required");
    if (!str_is(js_get_str(schema, "type"), "object"))
        return anthropic_refuse(refusal, place, "Input should be 'object'");
    if (properties != NULL && js_kind(properties) != JS_OBJECT) {
        snprintf(place, sizeof place, "%s.input_schema", path);
        return anthropic_refuse(refusal, place,
                                "JSON schema is invalid. It must match JSON Schema draft 2020-12");
    }
    asked->tool_marks += js_kind(js_get(tool, "cache_control")) == JS_OBJECT;
    if (map_set(&asked->tools, name, (void *)tool) != NULL)
        return anthropic_refuse(refusal, "tools", "Tool names must be unique.");
    struct buf text;
    buf_init(&text, SCHEMA_BYTES_MAX);
    js_print(schema, &text);
    asked->tool_bytes += name.n + js_get_str(tool, "description").n + text.n;
    buf_release(&text);
    return 0;
}

static int check_choice(const struct asked *asked, const struct js *choice, struct refusal *refusal)
{
    struct str type = js_get_str(choice, "type"), name = js_get_str(choice, "name");
    if (choice == NULL)
        return 0;
    if (asked->tools.count == 0)
        return anthropic_refuse(refusal, "tool_choice",
                                "may only be specified while providing tools");
    if (str_is(type, "auto") || str_is(type, "any") || str_is(type, "none"))
        return 0;
    if (!str_is(type, "tool"))
        return anthropic_refuse(refusal, "tool_choice",
                                "Input tag '%.*s' found using 'type' does not match any of the "
                                "expected tags: 'auto', 'any', 'tool', 'none'",
                                STR_FMT(utf8_cut(type, 60)));
    if (name.n == 0)
        return anthropic_refuse(refusal, "tool_choice.tool.name", "Field required");
    if (map_get(&asked->tools, name) == NULL)
        return anthropic_refuse(refusal, "", "Tool '%.*s' not found in provided tools",
                                STR_FMT(utf8_cut(name, 128)));
    return 0;
}

static int check_tools(struct asked *asked, const struct js *root, struct refusal *refusal)
{
    const struct js *tools = js_get(root, "tools");
    for (size_t i = 0; i < js_count(tools); i++)
        if (check_tool(asked, js_at(tools, i), i, refusal) != 0)
            return -1;
    return check_choice(asked, js_get(root, "tool_choice"), refusal);
}

/* --- thinking and output ------------------------------------------------------------------------------ */

/* Anthropic's guide "Extended thinking": budgets, and what cannot be set beside them. */
static int check_thinking(const struct js *root, struct refusal *refusal)
{
    const struct js *thinking = js_get(root, "thinking");
    if (thinking == NULL)
        return 0;
    if (anthropic_fields(thinking, &thinking_table, "thinking", refusal) != 0)
        return -1;
    struct str type = js_get_str(thinking, "type");
    bool enabled = str_is(type, "enabled");
    if (!enabled && !str_is(type, "adaptive") && !str_is(type, "disabled"))
        return anthropic_refuse(refusal, "thinking",
                                "Input tag '%.*s' found using 'type' does not match any of the "
                                "expected tags: 'adaptive', 'disabled', 'enabled'",
                                STR_FMT(utf8_cut(type, 60)));
    int64_t budget = js_get_int(thinking, "budget_tokens", 0);
    if (enabled && budget < 1024)
        return anthropic_refuse(refusal, "thinking.enabled.budget_tokens",
                                "Input should be greater than or equal to 1024");
    if (enabled && budget >= js_get_int(root, "max_tokens", 0))
        return anthropic_refuse(refusal, "",
                                "`max_tokens` must be greater than `thinking.budget_tokens`");
    if (str_is(type, "disabled"))
        return 0;
    if (js_real(js_get(root, "temperature"), 1) != 1)
        return anthropic_refuse(refusal, "",
                                "`temperature` may only be set to 1 when thinking is enabled");
    if (js_real(js_get(root, "top_p"), 1) < 0.95)
        return anthropic_refuse(refusal, "",
                                "`top_p` must be greater than or equal to 0.95 or unset when "
                                "thinking is enabled");
    return 0;
}

/* Anthropic's guide "Structured outputs": every object says that it has no other members. */
static int check_closed(const struct js *schema, struct refusal *refusal)
{
    struct str name;
    const struct js *property;
    const struct js *properties = js_get(schema, "properties");
    if (str_is(js_get_str(schema, "type"), "object") &&
        js_get_bool(schema, "additionalProperties", true))
        return anthropic_refuse(refusal, "output_config.format.schema",
                                "For 'object' type, 'additionalProperties' must be explicitly set "
                                "to false");
    for (void *at = js_next(properties, NULL, &name, &property); at != NULL;
         at = js_next(properties, at, &name, &property))
        if (check_closed(property, refusal) != 0)
            return -1;
    const struct js *items = js_get(schema, "items");
    return items != NULL ? check_closed(items, refusal) : 0;
}

static int check_output(const struct js *root, struct refusal *refusal)
{
    static const char *const efforts[] = {"low", "medium", "high", "xhigh", "max"};
    const struct js *output = js_get(root, "output_config");
    if (js_kind(output) != JS_OBJECT)
        return 0;
    if (anthropic_fields(output, &output_table, "output_config", refusal) != 0)
        return -1;
    struct str effort = js_get_str(output, "effort");
    bool known = effort.p == NULL;
    for (size_t i = 0; i < sizeof efforts / sizeof efforts[0]; i++)
        known = known || str_is(effort, efforts[i]);
    if (!known)
        return anthropic_refuse(refusal, "output_config.effort",
                                "Input should be 'low', 'medium', 'high', 'xhigh' or 'max'");
    const struct js *format = js_get(output, "format");
    if (js_kind(format) != JS_OBJECT)
        return 0;
    if (anthropic_fields(format, &format_table, "output_config.format", refusal) != 0)
        return -1;
    if (!str_is(js_get_str(format, "type"), "json_schema"))
        return anthropic_refuse(refusal, "output_config.format.type",
                                "Input should be 'json_schema'");
    return check_closed(js_get(format, "schema"), refusal);
}

/* --- limits ------------------------------------------------------------------------------------------- */

static int check_ranges(const struct js *root, struct refusal *refusal)
{
    static const struct {
        const char *name;
        double low, high;
    } ranges[] = {{"temperature", 0, 1}, {"top_p", 0, 1}, {"top_k", 0, INFINITY}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        const struct js *value = js_get(root, ranges[i].name);
        double number = js_real(value, ranges[i].low);
        if (number < ranges[i].low)
            return anthropic_refuse(refusal, ranges[i].name,
                                    "Input should be greater than or equal to %g", ranges[i].low);
        if (number > ranges[i].high)
            return anthropic_refuse(refusal, ranges[i].name, "range: %g..%g", ranges[i].low,
                                    ranges[i].high);
    }
    if (js_get_int(root, "max_tokens", 0) < 1)
        return anthropic_refuse(refusal, "max_tokens",
                                "Input should be greater than or equal to 1");
    return 0;
}

static int check_limits(struct asked *asked, const struct script *script, struct refusal *refusal)
{
    const struct script_model *model = asked->model;
    asked_count(asked, script);
    if (asked->output_limit > model->max_output)
        return anthropic_refuse(refusal, "max_tokens",
                                "%lld > %lld, which is the maximum allowed number of output tokens "
                                "for %.*s",
                                (long long)asked->output_limit, (long long)model->max_output,
                                STR_FMT(model->id));
    if (asked->prompt_tokens > model->window)
        return anthropic_refuse(refusal, "", "prompt is too long: %lld tokens > %lld maximum",
                                (long long)asked->prompt_tokens, (long long)model->window);
    if (asked->prompt_tokens + asked->output_limit > model->window)
        return anthropic_refuse(refusal, "",
                                "input length and `max_tokens` exceed context limit: %lld + %lld > "
                                "%lld, decrease input length or `max_tokens` and try again",
                                (long long)asked->prompt_tokens, (long long)asked->output_limit,
                                (long long)model->window);
    return 0;
}

int anthropic_read(struct asked *asked, const struct script *script, struct str body,
                   struct refusal *refusal)
{
    struct err err = ERR_INIT;
    asked->document = js_parse(body, &err);
    const struct js *root = asked->document;
    if (root == NULL)
        return anthropic_refuse(refusal, "", "The request body is not valid JSON: %s", err.message);
    if (js_kind(root) != JS_OBJECT)
        return anthropic_refuse(refusal, "", "%s", wanted(KIND(OBJECT)));
    if (anthropic_fields(root, &request_table, "", refusal) != 0 ||
        check_ranges(root, refusal) != 0 || check_thinking(root, refusal) != 0 ||
        check_output(root, refusal) != 0)
        return -1;
    struct str name = js_get_str(root, "model");
    asked->model = script_model(script, name);
    asked->output_limit = js_get_int(root, "max_tokens", 0);
    asked->delivery = js_get_bool(root, "stream", false) ? ASKED_STREAM_WITH_USAGE : ASKED_WHOLE;
    if (asked->model == NULL)
        return refusal_set(refusal, 404, NULL, "model", "model: %.*s",
                           STR_FMT(utf8_cut(name, 200)));
    if (vendor_refuses(asked, refusal) != 0 || vendor_messages(asked, refusal) != 0 ||
        check_tools(asked, root, refusal) != 0 ||
        anthropic_messages(asked, js_get(root, "system"), js_get(root, "messages"), refusal) != 0)
        return -1;
    return check_limits(asked, script, refusal);
}
