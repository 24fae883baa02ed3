/* The top level of a chat request: known fields and their kinds, ranges, the model, output limits and the
 * context window. Messages and tools have files of their own. Pure: any thread. */
#include "scripted/asked.h"

#include <math.h>

#include "base/utf8.h"
#include "scripted/script.h"
#include "scripted/vendor.h"

static const struct field request_fields[] = {
    {"model", KIND(STRING), FIELD_OPTIONAL}, /* its absence has words of its own */
    {"messages", KIND(ARRAY), FIELD_REQUIRED},
    {"audio", KIND_OR_NULL(OBJECT), FIELD_OPTIONAL},
    {"frequency_penalty", KIND_NUMBER_OR_NULL, FIELD_OPTIONAL},
    {"logit_bias", KIND_OR_NULL(OBJECT), FIELD_OPTIONAL},
    {"logprobs", KIND_OR_NULL(BOOL), FIELD_OPTIONAL},
    {"max_completion_tokens", KIND_OR_NULL(INT), FIELD_OPTIONAL},
    {"max_tokens", KIND_OR_NULL(INT), FIELD_OPTIONAL},
    {"metadata", KIND_OR_NULL(OBJECT), FIELD_OPTIONAL},
    {"modalities", KIND_OR_NULL(ARRAY), FIELD_OPTIONAL},
    {"n", KIND_OR_NULL(INT), FIELD_OPTIONAL},
    {"parallel_tool_calls", KIND(BOOL), FIELD_OPTIONAL},
    {"prediction", KIND_OR_NULL(OBJECT), FIELD_OPTIONAL},
    {"presence_penalty", KIND_NUMBER_OR_NULL, FIELD_OPTIONAL},
    {"prompt_cache_key", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"reasoning_effort", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"response_format", KIND_OR_NULL(OBJECT), FIELD_OPTIONAL},
    {"safety_identifier", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"seed", KIND_OR_NULL(INT), FIELD_OPTIONAL},
    {"service_tier", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"stop", KIND_OR_NULL(STRING) | KIND(ARRAY), FIELD_OPTIONAL},
    {"store", KIND_OR_NULL(BOOL), FIELD_OPTIONAL},
    {"stream", KIND_OR_NULL(BOOL), FIELD_OPTIONAL},
    {"stream_options", KIND_OR_NULL(OBJECT), FIELD_OPTIONAL},
    {"temperature", KIND_NUMBER_OR_NULL, FIELD_OPTIONAL},
    {"tool_choice", KIND(STRING) | KIND(OBJECT), FIELD_OPTIONAL},
    {"tools", KIND(ARRAY), FIELD_OPTIONAL},
    {"top_logprobs", KIND_OR_NULL(INT), FIELD_OPTIONAL},
    {"top_p", KIND_NUMBER_OR_NULL, FIELD_OPTIONAL},
    {"user", KIND(STRING), FIELD_OPTIONAL},
    {"verbosity", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
};
static const struct field_table request_table = {request_fields,
                                                 sizeof request_fields / sizeof request_fields[0]};

static const struct field stream_fields[] = {
    {"include_usage", KIND_OR_NULL(BOOL), FIELD_OPTIONAL},
    {"include_obfuscation", KIND_OR_NULL(BOOL), FIELD_OPTIONAL},
};
static const struct field_table stream_table = {stream_fields,
                                                sizeof stream_fields / sizeof stream_fields[0]};

static const struct range {
    const char *name;
    double low, high;
} ranges[] = {
    {"temperature", 0, 2},
    {"top_p", 0, 1},
    {"presence_penalty", -2, 2},
    {"frequency_penalty", -2, 2},
    {"n", 1, 128},
    {"top_logprobs", 0, 20},
    {"max_tokens", 1, INFINITY},
    {"max_completion_tokens", 1, INFINITY},
};

static const struct choice {
    const char *name;
    const char *values[8];
} choices[] = {
    {"reasoning_effort", {"none", "minimal", "low", "medium", "high", "xhigh", "max", NULL}},
    {"service_tier", {"auto", "default", "flex", "scale", "priority", NULL}},
    {"verbosity", {"low", "medium", "high", NULL}},
};

static int check_ranges(const struct js *root, struct refusal *refusal)
{
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        const struct range *range = &ranges[i];
        const struct js *value = js_get(root, range->name);
        if (value == NULL || js_kind(value) == JS_NULL)
            continue;
        double number = js_real(value, NAN);
        const char *noun = js_kind(value) == JS_INT ? "integer" : "decimal";
        if (number < range->low)
            return refusal_set(refusal, 400,
                               js_kind(value) == JS_INT ? "integer_below_min_value"
                                                        : "decimal_below_min_value",
                               range->name,
                               "Invalid '%s': %s below minimum value. Expected a value >= %g, but "
                               "got %.15g instead.",
                               range->name, noun, range->low, number);
        if (number > range->high)
            return refusal_set(refusal, 400,
                               js_kind(value) == JS_INT ? "integer_above_max_value"
                                                        : "decimal_above_max_value",
                               range->name,
                               "Invalid '%s': %s above maximum value. Expected a value <= %g, but "
                               "got %.15g instead.",
                               range->name, noun, range->high, number);
    }
    return 0;
}

static int check_choices(const struct js *root, struct refusal *refusal)
{
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++) {
        const struct choice *choice = &choices[i];
        const struct js *value = js_get(root, choice->name);
        if (js_kind(value) != JS_STRING)
            continue;
        size_t v = 0;
        while (choice->values[v] != NULL && !str_is(js_str(value), choice->values[v]))
            v++;
        if (choice->values[v] == NULL)
            return refusal_set(refusal, 400, "invalid_value", choice->name,
                               "Invalid value for '%s': '%.*s' is not supported.", choice->name,
                               STR_FMT(utf8_cut(js_str(value), 100)));
    }
    return 0;
}

static int check_stop(const struct js *stop, struct refusal *refusal)
{
    if (js_kind(stop) != JS_ARRAY)
        return 0;
    if (js_count(stop) == 0 || js_count(stop) > 4)
        return refusal_set(refusal, 400, "invalid_value", "stop",
                           "Invalid 'stop': expected an array of 1 to 4 strings, but got %zu.",
                           js_count(stop));
    for (size_t i = 0; i < js_count(stop); i++)
        if (js_kind(js_at(stop, i)) != JS_STRING)
            return refusal_set(refusal, 400, "invalid_type", "stop",
                               "Invalid type for 'stop.[%zu]': expected a string, but got %s "
                               "instead.",
                               i, refusal_kind(js_kind(js_at(stop, i))));
    return 0;
}

static int check_format(const struct js *format, struct refusal *refusal)
{
    if (js_kind(format) != JS_OBJECT)
        return 0;
    struct str type = js_get_str(format, "type");
    if (str_is(type, "text") || str_is(type, "json_object"))
        return 0;
    if (str_is(type, "json_schema") && js_kind(js_get(format, "json_schema")) == JS_OBJECT)
        return 0;
    return refusal_set(refusal, 400, "invalid_value", "response_format.type",
                       "Invalid value: '%.*s'. Supported values are: 'json_object', 'json_schema', "
                       "and 'text'.",
                       STR_FMT(utf8_cut(type, 100)));
}

static int read_delivery(struct asked *asked, const struct js *root, struct refusal *refusal)
{
    bool stream = js_get_bool(root, "stream", false);
    const struct js *options = js_get(root, "stream_options");
    asked->delivery = stream ? ASKED_STREAM : ASKED_WHOLE;
    if (js_kind(options) != JS_OBJECT)
        return 0;
    if (!stream)
        return refusal_set(refusal, 400, NULL, "stream_options",
                           "The 'stream_options' parameter is only allowed when 'stream' is "
                           "enabled.");
    struct place place = {.within = "stream_options"};
    if (refusal_fields(options, &stream_table, &place, refusal) != 0)
        return -1;
    if (js_get_bool(options, "include_usage", false))
        asked->delivery = ASKED_STREAM_WITH_USAGE;
    return 0;
}

static int read_model(struct asked *asked, const struct script *script, const struct js *root,
                      struct refusal *refusal)
{
    struct str name = js_get_str(root, "model");
    if (name.n == 0)
        return refusal_set(refusal, 400, NULL, "model", "you must provide a model parameter");
    asked->model = script_model(script, name);
    if (asked->model == NULL)
        return refusal_set(refusal, 404, "model_not_found", NULL,
                           "The model `%.*s` does not exist or you do not have access to it.",
                           STR_FMT(utf8_cut(name, 200)));
    return 0;
}

static int read_limit(struct asked *asked, const struct js *root, struct refusal *refusal)
{
    static const char *const names[] = {"max_tokens", "max_completion_tokens"};
    for (size_t i = 0; i < 2; i++) {
        const struct js *value = js_get(root, names[i]);
        if (js_kind(value) != JS_INT)
            continue;
        if (asked->output_limit != ASKED_NO_LIMIT)
            return refusal_set(refusal, 400, "invalid_parameter_combination",
                               "max_completion_tokens",
                               "Setting 'max_tokens' and 'max_completion_tokens' at the same time "
                               "is not supported.");
        int64_t limit = js_int(value, 0);
        if (limit > asked->model->max_output)
            return refusal_set(refusal, 400, "invalid_value", names[i],
                               "%s is too large: %lld. This model supports at most %lld completion "
                               "tokens, whereas you provided %lld.",
                               names[i], (long long)limit, (long long)asked->model->max_output,
                               (long long)limit);
        asked->output_limit = limit;
    }
    return 0;
}

static int64_t tokens_of(size_t bytes, const struct script *script)
{
    return ((int64_t)bytes + script->bytes_per_token - 1) / script->bytes_per_token;
}

void asked_count(struct asked *asked, const struct script *script)
{
    asked->prompt_tokens =
        tokens_of(asked->message_bytes, script) + tokens_of(asked->tool_bytes, script);
}

static int check_window(struct asked *asked, const struct script *script, struct refusal *refusal)
{
    int64_t messages = tokens_of(asked->message_bytes, script);
    int64_t functions = tokens_of(asked->tool_bytes, script);
    int64_t completion = asked->output_limit == ASKED_NO_LIMIT ? 0 : asked->output_limit;
    int64_t window = asked->model->window;
    asked_count(asked, script);
    if (messages + functions + completion <= window)
        return 0;
    static const char code[] = "context_length_exceeded";
    if (completion == 0)
        return refusal_set(refusal, 400, code, "messages",
                           "This model's maximum context length is %lld tokens. However, your "
                           "messages resulted in %lld tokens. Please reduce the length of the "
                           "messages.",
                           (long long)window, (long long)(messages + functions));
    if (functions == 0)
        return refusal_set(refusal, 400, code, "messages",
                           "This model's maximum context length is %lld tokens. However, you "
                           "requested %lld tokens (%lld in the messages, %lld in the completion). "
                           "Please reduce the length of the messages or completion.",
                           (long long)window, (long long)(messages + completion),
                           (long long)messages, (long long)completion);
    return refusal_set(refusal, 400, code, "messages",
                       "This model's maximum context length is %lld tokens. However, you requested "
                       "%lld tokens (%lld in the messages, %lld in the functions, and %lld in the "
                       "completion). Please reduce the length of the messages, functions, or "
                       "completion.",
                       (long long)window, (long long)(messages + functions + completion),
                       (long long)messages, (long long)functions, (long long)completion);
}

void asked_init(struct asked *asked)
{
    *asked = (struct asked){
        .output_limit = ASKED_NO_LIMIT, .first_user = STR(""), .last = STR(""), .system = STR("")};
    arena_init(&asked->arena);
    map_init(&asked->tools);
}

void asked_release(struct asked *asked)
{
    map_release(&asked->tools);
    arena_release(&asked->arena);
    js_free(asked->document);
    asked_init(asked);
}

int asked_parse(struct asked *asked, struct str body, struct refusal *refusal)
{
    struct err err = ERR_INIT;
    asked->document = js_parse(body, &err);
    if (js_kind(asked->document) == JS_OBJECT)
        return 0;
    return refusal_set(refusal, 400, NULL, NULL,
                       "We could not parse the JSON body of your request. (HINT: This likely means "
                       "you aren't using your HTTP library correctly. The API expects a JSON "
                       "object: %s)",
                       err.class == ERR_NONE ? "this is another value" : err.message);
}

int asked_read(struct asked *asked, const struct script *script, struct str body,
               struct refusal *refusal)
{
    if (asked_parse(asked, body, refusal) != 0)
        return -1;
    const struct js *root = asked->document;
    const struct place top = {0};
    if (read_model(asked, script, root, refusal) != 0 ||
        refusal_fields(root, &request_table, &top, refusal) != 0 ||
        vendor_refuses(asked, refusal) != 0 || check_ranges(root, refusal) != 0 ||
        check_choices(root, refusal) != 0 || check_stop(js_get(root, "stop"), refusal) != 0 ||
        check_format(js_get(root, "response_format"), refusal) != 0 ||
        read_delivery(asked, root, refusal) != 0 ||
        asked_messages(asked, js_get(root, "messages"), refusal) != 0 ||
        vendor_chat(asked, script, refusal) != 0 || asked_tools(asked, root, refusal) != 0 ||
        read_limit(asked, root, refusal) != 0)
        return -1;
    return check_window(asked, script, refusal);
}
