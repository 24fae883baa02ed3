/* The top level of a Responses request: known fields, limits, tools and the window. The input has a file of its own. Pure: any
 * thread. */
#include "scripted/responses.h"

#include <math.h>
#include <stdio.h>

#include "base/utf8.h"
#include "scripted/script.h"
#include "scripted/vendor.h"

static const struct field request_fields[] = {
    {"model", KIND(STRING), FIELD_REQUIRED},
    {"input", KIND(STRING) | KIND(ARRAY), FIELD_OPTIONAL}, /* its absence has words of its own */
    {"background", KIND_OR_NULL(BOOL), FIELD_OPTIONAL},
    {"context_management", KIND_OR_NULL(ARRAY), FIELD_OPTIONAL},
    {"conversation", KIND_OR_NULL(STRING) | KIND(OBJECT), FIELD_OPTIONAL},
    {"include", KIND_OR_NULL(ARRAY), FIELD_OPTIONAL},
    {"instructions", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"max_output_tokens", KIND_OR_NULL(INT), FIELD_OPTIONAL},
    {"max_tool_calls", KIND_OR_NULL(INT), FIELD_OPTIONAL},
    {"metadata", KIND_OR_NULL(OBJECT), FIELD_OPTIONAL},
    {"moderation", KIND_OR_NULL(OBJECT), FIELD_OPTIONAL},
    {"parallel_tool_calls", KIND_OR_NULL(BOOL), FIELD_OPTIONAL},
    {"previous_response_id", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"prompt", KIND_OR_NULL(OBJECT), FIELD_OPTIONAL},
    {"prompt_cache_key", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"prompt_cache_options", KIND_OR_NULL(OBJECT), FIELD_OPTIONAL},
    {"prompt_cache_retention", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"reasoning", KIND_OR_NULL(OBJECT), FIELD_OPTIONAL},
    {"safety_identifier", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"service_tier", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"store", KIND_OR_NULL(BOOL), FIELD_OPTIONAL},
    {"stream", KIND_OR_NULL(BOOL), FIELD_OPTIONAL},
    {"stream_options", KIND_OR_NULL(OBJECT), FIELD_OPTIONAL},
    {"temperature", KIND_NUMBER_OR_NULL, FIELD_OPTIONAL},
    {"text", KIND(OBJECT), FIELD_OPTIONAL},
    {"tool_choice", KIND(STRING) | KIND(OBJECT), FIELD_OPTIONAL},
    {"tools", KIND(ARRAY), FIELD_OPTIONAL},
    {"top_logprobs", KIND_OR_NULL(INT), FIELD_OPTIONAL},
    {"top_p", KIND_NUMBER_OR_NULL, FIELD_OPTIONAL},
    {"truncation", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"user", KIND(STRING), FIELD_OPTIONAL},
};
static const struct field tool_fields[] = {
    {"name", KIND(STRING), FIELD_REQUIRED},
    {"type", KIND(STRING), FIELD_REQUIRED},
    {"parameters", KIND_OR_NULL(OBJECT), FIELD_REQUIRED},
    {"description", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"strict", KIND_OR_NULL(BOOL), FIELD_OPTIONAL},
};

static const struct field_table request_table = FIELD_TABLE(request_fields);
static const struct field_table tool_table = FIELD_TABLE(tool_fields);

/* "a string", "one of a string or array" … as the API lists what is allowed. */
static void print_wanted(unsigned kinds, char *out, size_t size)
{
    unsigned named = kinds & ~KIND(NULL);
    if ((named & KIND(REAL)) != 0)
        named &= ~KIND(INT);
    size_t used = 0;
    out[0] = '\0';
    for (int kind = JS_BOOL; kind <= JS_OBJECT; kind++)
        if ((named & (1u << kind)) != 0 && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? " or " : "",
                                     refusal_kind((enum js_kind)kind));
}

int responses_fields(const struct js *object, const struct field_table *table, const char *path,
                     struct refusal *refusal)
{
    struct field_fault fault = field_fault(object, table);
    char place[160], words[100];
    /* A field that is missing is named before one that is too much. */
    for (size_t i = 0; i < table->count; i++)
        if (table->fields[i].presence == FIELD_REQUIRED && !js_get(object, table->fields[i].name)) {
            fault = (struct field_fault){.kind = FAULT_MISSING, .field = &table->fields[i]};
            break;
        }
    if (fault.kind == FAULT_NONE)
        return 0;
    struct str name =
        fault.kind == FAULT_UNKNOWN ? utf8_cut(fault.key, 60) : str_from(fault.field->name);
    snprintf(place, sizeof place, "%s%s%.*s", path, path[0] != '\0' ? "." : "", STR_FMT(name));
    if (fault.kind == FAULT_UNKNOWN)
        return refusal_set(refusal, 400, "unknown_parameter", place, "Unknown parameter: '%s'.",
                           place);
    if (fault.kind == FAULT_MISSING)
        return refusal_set(refusal, 400, "missing_required_parameter", place,
                           "Missing required parameter: '%s'.", place);
    print_wanted(fault.field->kinds, words, sizeof words);
    return refusal_set(refusal, 400, "invalid_type", place,
                       "Invalid type for '%s': expected %s, but got %s instead.", place, words,
                       refusal_kind(fault.got));
}

int responses_name(struct str name, const char *path, struct refusal *refusal)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (name.n == 0)
        return refusal_set(refusal, 400, "empty_string", path,
                           "Invalid '%s': empty string. Expected a string with minimum length 1, "
                           "but got an empty string instead.",
                           path);
    if (name.n > 64)
        return refusal_set(refusal, 400, "string_above_max_length", path,
                           "Invalid '%s': string too long. Expected a string with maximum length "
                           "64, but got a string with length %zu instead.",
                           path, name.n);
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] == '\0' || strchr(letters, name.p[i]) == NULL)
            return refusal_set(refusal, 400, "invalid_value", path,
                               "Invalid '%s': string does not match pattern. Expected a string "
                               "that matches the pattern '^[a-zA-Z0-9_-]+$'.",
                               path);
    return 0;
}

bool responses_reasons(struct str model)
{
    static const char *const plain[] = {"gpt-3.5", "gpt-4", "chatgpt-", "gpt-5-chat"};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (str_starts(model, str_from(plain[i])))
            return false;
    return true;
}

/* --- tools -------------------------------------------------------------------------------------------- */

/* A strict schema names every property as required and allows no other. */
static int check_strict(struct str name, const struct js *parameters, const char *path,
                        struct refusal *refusal)
{
    const struct js *extra = js_get(parameters, "additionalProperties");
    size_t properties = js_count(js_get(parameters, "properties"));
    if (js_kind(extra) != JS_BOOL || js_bool(extra, true))
        return refusal_set(refusal, 400, "invalid_function_parameters", path,
                           "Invalid schema for function '%.*s': In context=(), "
                           "'additionalProperties' is required to be supplied and to be false.",
                           STR_FMT(name));
    if (js_count(js_get(parameters, "required")) != properties)
        return refusal_set(refusal, 400, "invalid_function_parameters", path,
                           "Invalid schema for function '%.*s': In context=(), 'required' is "
                           "required to be supplied and to be an array including every key in "
                           "properties.",
                           STR_FMT(name));
    return 0;
}

static int check_tool(struct asked *asked, const struct js *tool, size_t at,
                      struct refusal *refusal)
{
    char path[32], place[64];
    const struct place schema = {.list = "tools", .index = at};
    snprintf(path, sizeof path, "tools[%zu]", at);
    if (js_kind(tool) != JS_OBJECT)
        return refusal_set(refusal, 400, "invalid_type", path,
                           "Invalid type for '%s': expected an object, but got %s instead.", path,
                           refusal_kind(js_kind(tool)));
    struct str type = js_get_str(tool, "type"), name = js_get_str(tool, "name");
    snprintf(place, sizeof place, "%s.type", path);
    if (type.p != NULL && !str_is(type, "function"))
        return refusal_set(refusal, 400, "invalid_value", place,
                           "Invalid value: '%.*s'. Supported values are: 'function'.",
                           STR_FMT(utf8_cut(type, 100)));
    snprintf(place, sizeof place, "%s.name", path);
    if (responses_fields(tool, &tool_table, path, refusal) != 0 ||
        responses_name(name, place, refusal) != 0)
        return -1;
    if (map_set(&asked->tools, name, (void *)tool) != NULL)
        return refusal_set(refusal, 400, "invalid_value", place,
                           "Tool names must be unique: '%.*s' is there twice.", STR_FMT(name));
    asked->tool_bytes += name.n + js_get_str(tool, "description").n;
    const struct js *parameters = js_get(tool, "parameters");
    snprintf(place, sizeof place, "%s.parameters", path);
    if (js_kind(parameters) == JS_NULL)
        return 0;
    if (asked_parameters(asked, name, parameters, &schema, refusal) != 0)
        return -1;
    return js_get_bool(tool, "strict", false) ? check_strict(name, parameters, place, refusal) : 0;
}

static int check_choice(const struct asked *asked, const struct js *choice, struct refusal *refusal)
{
    struct str text = js_str(choice), name = js_get_str(choice, "name");
    if (choice == NULL)
        return 0;
    if (js_kind(choice) == JS_STRING) {
        if (str_is(text, "required") && asked->tools.count == 0)
            return refusal_set(refusal, 400, NULL, "tool_choice",
                               "Tool choice 'required' must be specified with 'tools' parameter.");
        if (str_is(text, "none") || str_is(text, "auto") || str_is(text, "required"))
            return 0;
        return refusal_set(refusal, 400, "invalid_value", "tool_choice",
                           "Invalid value: '%.*s'. Supported values are: 'none', 'auto', and "
                           "'required'.",
                           STR_FMT(utf8_cut(text, 100)));
    }
    if (!str_is(js_get_str(choice, "type"), "function") || map_get(&asked->tools, name) == NULL)
        return refusal_set(refusal, 400, NULL, "tool_choice",
                           "Tool choice '%.*s' not found in 'tools' parameter.",
                           STR_FMT(utf8_cut(name, 100)));
    return 0;
}

static int check_tools(struct asked *asked, const struct js *root, struct refusal *refusal)
{
    const struct js *tools = js_get(root, "tools");
    if (asked_tool_count(tools, refusal) != 0)
        return -1;
    for (size_t i = 0; i < js_count(tools); i++)
        if (check_tool(asked, js_at(tools, i), i, refusal) != 0)
            return -1;
    return check_choice(asked, js_get(root, "tool_choice"), refusal);
}

/* --- limits ------------------------------------------------------------------------------------------- */

static int check_ranges(const struct js *root, struct refusal *refusal)
{
    static const struct {
        const char *name;
        double low, high;
    } ranges[] = {
        {"temperature", 0, 2},
        {"top_p", 0, 1},
        {"top_logprobs", 0, 20},
        {"max_tool_calls", 1, INFINITY},
        {"max_output_tokens", 16, INFINITY},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        const struct js *value = js_get(root, ranges[i].name);
        double number = js_real(value, ranges[i].low);
        const char *noun = js_kind(value) == JS_INT ? "integer" : "decimal";
        bool low = number < ranges[i].low;
        if (!low && number <= ranges[i].high)
            continue;
        refusal_set(refusal, 400, NULL, ranges[i].name,
                    "Invalid '%s': %s %s value. Expected a value %s %g, but got %.15g instead.",
                    ranges[i].name, noun, low ? "below minimum" : "above maximum",
                    low ? ">=" : "<=", low ? ranges[i].low : ranges[i].high, number);
        refusal->code = js_kind(value) == JS_INT
                            ? (low ? "integer_below_min_value" : "integer_above_max_value")
                            : (low ? "decimal_below_min_value" : "decimal_above_max_value");
        return -1;
    }
    return 0;
}

static int check_include(struct asked *asked, const struct js *include, struct refusal *refusal)
{
    static const char sealed[] = "reasoning.encrypted_content";
    static const char *const known[] = {sealed,
                                        "code_interpreter_call.outputs",
                                        "computer_call_output.output.image_url",
                                        "file_search_call.results",
                                        "message.input_image.image_url",
                                        "message.output_text.logprobs",
                                        "web_search_call.action.sources",
                                        "web_search_call.results"};
    for (size_t i = 0; js_kind(include) == JS_ARRAY && i < js_count(include); i++) {
        struct str name = js_str(js_at(include, i));
        size_t k = 0;
        while (k < sizeof known / sizeof known[0] && !str_is(name, known[k]))
            k++;
        if (k == sizeof known / sizeof known[0])
            return refusal_set(refusal, 400, "invalid_value", "include",
                               "Invalid value: '%.*s'. Supported values are: '%s' and others.",
                               STR_FMT(utf8_cut(name, 100)), sealed);
        if (!str_is(name, sealed))
            continue;
        if (!responses_reasons(asked->model->id))
            return refusal_set(refusal, 400, NULL, "include",
                               "Encrypted content is not supported with this model.");
        asked->reasoning = ASKED_SEALED;
    }
    return 0;
}

static int check_stream(struct asked *asked, const struct js *root, struct refusal *refusal)
{
    static const struct field fields[] = {
        {"include_obfuscation", KIND(BOOL), FIELD_OPTIONAL},
    };
    static const struct field_table table = FIELD_TABLE(fields);
    const struct js *options = js_get(root, "stream_options");
    bool stream = js_get_bool(root, "stream", false);
    asked->delivery = stream ? ASKED_STREAM_WITH_USAGE : ASKED_WHOLE;
    if (js_kind(options) != JS_OBJECT)
        return 0;
    if (!stream)
        return refusal_set(refusal, 400, NULL, "stream_options",
                           "The 'stream_options' parameter is only allowed when 'stream' is "
                           "enabled.");
    return responses_fields(options, &table, "stream_options", refusal);
}

/* What a request can only refer to does not exist: nothing was stored. */
static int check_references(const struct js *root, struct refusal *refusal)
{
    struct str previous = js_get_str(root, "previous_response_id");
    const struct js *input = js_get(root, "input");
    if (previous.n > 0)
        return refusal_set(refusal, 400, "previous_response_not_found", "previous_response_id",
                           "Previous response with id '%.*s' not found.",
                           STR_FMT(utf8_cut(previous, 100)));
    if (input == NULL || (js_kind(input) == JS_ARRAY && js_count(input) == 0))
        return refusal_set(refusal, 400, "missing_required_parameter", "input",
                           "One of \"input\" or \"previous_response_id\" or 'prompt' or "
                           "'conversation_id' must be provided.");
    return 0;
}

static int check_limits(struct asked *asked, const struct script *script, struct refusal *refusal)
{
    const struct script_model *model = asked->model;
    int64_t output = asked->output_limit == ASKED_NO_LIMIT ? 0 : asked->output_limit;
    asked_count(asked, script);
    if (output > model->max_output)
        return refusal_set(refusal, 400, "invalid_value", "max_output_tokens",
                           "max_output_tokens is too large: %lld. This model supports at most %lld "
                           "output tokens, whereas you provided %lld.",
                           (long long)output, (long long)model->max_output, (long long)output);
    if (asked->prompt_tokens + output > model->window)
        return refusal_set(refusal, 400, "context_length_exceeded", "input",
                           "Your input exceeds the context window of this model. Please adjust "
                           "your input and try again. (%lld + %lld > %lld)",
                           (long long)asked->prompt_tokens, (long long)output,
                           (long long)model->window);
    return 0;
}

int responses_read(struct asked *asked, const struct script *script, struct str body,
                   struct refusal *refusal)
{
    if (asked_parse(asked, body, refusal) != 0)
        return -1;
    const struct js *root = asked->document;
    if (responses_fields(root, &request_table, "", refusal) != 0 ||
        check_ranges(root, refusal) != 0)
        return -1;
    struct str name = js_get_str(root, "model");
    asked->model = script_model(script, name);
    asked->output_limit = js_get_int(root, "max_output_tokens", ASKED_NO_LIMIT);
    if (asked->model == NULL)
        return refusal_set(refusal, 400, "model_not_found", "model",
                           "The requested model '%.*s' does not exist.",
                           STR_FMT(utf8_cut(name, 200)));
    if (vendor_refuses(asked, refusal) != 0 || check_references(root, refusal) != 0 ||
        check_include(asked, js_get(root, "include"), refusal) != 0 ||
        check_stream(asked, root, refusal) != 0 || check_tools(asked, root, refusal) != 0 ||
        responses_input(asked, js_get(root, "instructions"), js_get(root, "input"), refusal) != 0)
        return -1;
    return check_limits(asked, script, refusal);
}
