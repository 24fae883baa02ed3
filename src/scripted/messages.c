/* The messages of a chat request: fields by role, contents, tool calls and their answers. One pass; on the way it
 * takes down the texts that rules look at, the bytes that count as tokens and the conversation's hash.
 * Pure: any thread. */
#include "base/utf8.h"
#include "scripted/asked.h"

#define CALL_ID_MAX 40

/* One tool call that the conversation has made. */
struct made_call {
    enum { CALL_WAITING, CALL_ANSWERED } state;
};

struct walk {
    struct asked *asked;
    struct refusal *refusal;
    struct hasher hasher;
    struct map calls;            /* id → struct made_call */
    const struct js *open_calls; /* of the last assistant message, while answers may follow */
    size_t open_at;              /* that message's index */
    size_t waiting;              /* calls of it without an answer */
};

#define TEXT_CONTENT (KIND(STRING) | KIND(ARRAY))

static const struct field prompt_fields[] = {
    {"role", KIND(STRING), FIELD_REQUIRED},
    {"content", TEXT_CONTENT, FIELD_REQUIRED},
    {"name", KIND(STRING), FIELD_OPTIONAL},
};
static const struct field assistant_fields[] = {
    {"role", KIND(STRING), FIELD_REQUIRED},
    {"content", TEXT_CONTENT | KIND(NULL), FIELD_OPTIONAL},
    {"tool_calls", KIND(ARRAY), FIELD_OPTIONAL},
    {"refusal", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"audio", KIND_OR_NULL(OBJECT), FIELD_OPTIONAL},
    {"reasoning_content", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"reasoning", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"reasoning_details", KIND(ARRAY), FIELD_OPTIONAL},
    {"name", KIND(STRING), FIELD_OPTIONAL},
};
static const struct field tool_fields[] = {
    {"role", KIND(STRING), FIELD_REQUIRED},
    {"content", TEXT_CONTENT, FIELD_REQUIRED},
    {"tool_call_id", KIND(STRING), FIELD_REQUIRED},
};
static const struct field block_fields[] = {
    {"type", KIND(STRING), FIELD_REQUIRED},
    {"text", KIND(STRING), FIELD_REQUIRED},
};
static const struct field call_fields[] = {
    {"id", KIND(STRING), FIELD_REQUIRED},
    {"type", KIND(STRING), FIELD_REQUIRED},
    {"function", KIND(OBJECT), FIELD_REQUIRED},
    {"extra_content", KIND(OBJECT), FIELD_OPTIONAL},
};
static const struct field function_fields[] = {
    {"name", KIND(STRING), FIELD_REQUIRED},
    {"arguments", KIND(STRING), FIELD_REQUIRED},
};

static const struct field_table block_table = FIELD_TABLE(block_fields);
static const struct field_table call_table = FIELD_TABLE(call_fields);
static const struct field_table function_table = FIELD_TABLE(function_fields);

static int check_prompt(struct walk *walk, const struct js *message, size_t at);
static int check_assistant(struct walk *walk, const struct js *message, size_t at);
static int check_tool(struct walk *walk, const struct js *message, size_t at);

static const struct role {
    const char *name;
    struct field_table table;
    int (*check)(struct walk *walk, const struct js *message, size_t at);
} roles[] = {
    {"system", FIELD_TABLE(prompt_fields), check_prompt},
    {"developer", FIELD_TABLE(prompt_fields), check_prompt},
    {"user", FIELD_TABLE(prompt_fields), check_prompt},
    {"assistant", FIELD_TABLE(assistant_fields), check_assistant},
    {"tool", FIELD_TABLE(tool_fields), check_tool},
};

static void note_text(struct walk *walk, struct str text)
{
    hasher_str(&walk->hasher, text);
    walk->asked->message_bytes += text.n;
}

static int check_block(struct walk *walk, const struct js *block, const struct place *place)
{
    struct refusal *refusal = walk->refusal;
    if (refusal_object(block, place, NULL, refusal) != 0)
        return -1;
    struct str type = js_get_str(block, "type");
    if (type.p != NULL && !str_is(type, "text"))
        return refusal_at(refusal, "invalid_value", place, "type",
                          "Invalid value: '%.*s'. Supported values are: 'text'.",
                          STR_FMT(utf8_cut(type, 100)));
    if (refusal_fields(block, &block_table, place, refusal) != 0)
        return -1;
    struct str text = js_get_str(block, "text");
    if (text.n == 0)
        return refusal_at(refusal, "invalid_value", place, "text",
                          "Invalid value for 'text': text content blocks must be non-empty.");
    note_text(walk, text);
    return 0;
}

static int check_content(struct walk *walk, const struct js *content, size_t at)
{
    struct place place = {.list = "messages", .index = at};
    hasher_u64(&walk->hasher, js_kind(content));
    if (js_kind(content) == JS_STRING)
        note_text(walk, js_str(content));
    if (js_kind(content) != JS_ARRAY)
        return 0;
    size_t count = js_count(content);
    if (count == 0)
        return refusal_at(walk->refusal, "empty_array", &place, "content",
                          "[] is too short - 'messages.%zu.content'", at);
    place.inner = "content";
    for (place.inner_index = 0; place.inner_index < count; place.inner_index++)
        if (check_block(walk, js_at(content, place.inner_index), &place) != 0)
            return -1;
    return 0;
}

/* The text of a content that was checked: a view of it, or its blocks one after the other. */
static struct str content_text(struct arena *arena, const struct js *content)
{
    if (js_kind(content) == JS_STRING)
        return js_str(content);
    size_t count = js_kind(content) == JS_ARRAY ? js_count(content) : 0;
    if (count == 0)
        return STR("");
    if (count == 1)
        return js_get_str(js_at(content, 0), "text");
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += js_get_str(js_at(content, i), "text").n;
    char *text = arena_alloc(arena, total + 1);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        struct str part = js_get_str(js_at(content, i), "text");
        memcpy(text + used, part.p, part.n);
        used += part.n;
    }
    return (struct str){text, used};
}

static int check_prompt(struct walk *walk, const struct js *message, size_t at)
{
    struct asked *asked = walk->asked;
    const struct js *content = js_get(message, "content");
    if (check_content(walk, content, at) != 0)
        return -1;
    struct str *kept =
        str_is(js_get_str(message, "role"), "user") ? &asked->first_user : &asked->system;
    if (kept->n == 0)
        *kept = content_text(&asked->arena, content);
    return 0;
}

static int check_arguments(struct str arguments, const struct place *place, struct refusal *refusal)
{
    struct err err = ERR_INIT;
    struct js *value = js_parse(arguments, &err);
    if (value == NULL)
        return refusal_at(refusal, "invalid_value", place, "arguments",
                          "Invalid value for 'arguments': expected a string of valid JSON (%s).",
                          err.message);
    js_free(value);
    return 0;
}

static int check_call(struct walk *walk, const struct js *call, struct place place)
{
    struct refusal *refusal = walk->refusal;
    if (refusal_object(call, &place, NULL, refusal) != 0 ||
        refusal_fields(call, &call_table, &place, refusal) != 0)
        return -1;
    struct str id = js_get_str(call, "id");
    if (id.n == 0 || id.n > CALL_ID_MAX)
        return refusal_at(
            refusal, id.n == 0 ? "empty_string" : "string_above_max_length", &place, "id",
            "Invalid 'messages[%zu].tool_calls[%zu].id': string too %s. Expected a string "
            "with length 1 to %d, but got a string with length %zu instead.",
            place.index, place.inner_index, id.n == 0 ? "short" : "long", CALL_ID_MAX, id.n);
    if (map_get(&walk->calls, id) != NULL)
        return refusal_at(refusal, "invalid_value", &place, "id",
                          "Duplicate value for 'tool_call_id' of '%.*s' in message[%zu]",
                          STR_FMT(id), place.index);
    struct str type = js_get_str(call, "type");
    if (!str_is(type, "function"))
        return refusal_at(refusal, "invalid_value", &place, "type",
                          "Invalid value: '%.*s'. Supported values are: 'function'.",
                          STR_FMT(utf8_cut(type, 100)));
    const struct js *function = js_get(call, "function");
    place.within = "function";
    struct str name = js_get_str(function, "name"), arguments = js_get_str(function, "arguments");
    if (refusal_fields(function, &function_table, &place, refusal) != 0 ||
        asked_function_name(name, &place, refusal) != 0 ||
        check_arguments(arguments, &place, refusal) != 0)
        return -1;
    map_set(&walk->calls, id, arena_alloc(&walk->asked->arena, sizeof(struct made_call)));
    note_text(walk, id);
    note_text(walk, name);
    note_text(walk, arguments);
    return 0;
}

static int check_assistant(struct walk *walk, const struct js *message, size_t at)
{
    struct place place = {.list = "messages", .index = at};
    const struct js *content = js_get(message, "content"), *calls = js_get(message, "tool_calls");
    walk->asked->turn++;
    walk->asked->last_assistant = message;
    if (calls == NULL && (js_kind(content) == JS_NULL || content == NULL))
        return refusal_at(walk->refusal, NULL, &place, "content",
                          "Invalid value for 'content': expected a string, got null.");
    if (check_content(walk, content, at) != 0)
        return -1;
    if (calls == NULL)
        return 0;
    size_t count = js_count(calls);
    if (count == 0)
        return refusal_at(walk->refusal, "empty_array", &place, "tool_calls",
                          "[] is too short - 'messages.%zu.tool_calls'", at);
    place.inner = "tool_calls";
    for (place.inner_index = 0; place.inner_index < count; place.inner_index++)
        if (check_call(walk, js_at(calls, place.inner_index), place) != 0)
            return -1;
    walk->open_calls = calls;
    walk->open_at = at;
    walk->waiting = count;
    return 0;
}

/* An id may be answered only right after the message that made the call, and once. */
static int check_tool(struct walk *walk, const struct js *message, size_t at)
{
    struct place place = {.list = "messages", .index = at};
    struct str id = js_get_str(message, "tool_call_id");
    struct made_call *call = map_get(&walk->calls, id);
    if (walk->open_calls == NULL)
        return refusal_at(walk->refusal, NULL, &place, "role",
                          "Invalid parameter: messages with role 'tool' must be a response to a "
                          "preceeding message with 'tool_calls'.");
    if (call == NULL)
        return refusal_at(
            walk->refusal, NULL, &place, "tool_call_id",
            "Invalid parameter: 'tool_call_id' of '%.*s' not found in 'tool_calls' of "
            "previous message.",
            STR_FMT(utf8_cut(id, 100)));
    if (call->state == CALL_ANSWERED)
        return refusal_at(walk->refusal, "invalid_value", &place, "tool_call_id",
                          "Duplicate value for 'tool_call_id' of '%.*s' in message[%zu]",
                          STR_FMT(id), at);
    call->state = CALL_ANSWERED;
    walk->waiting--;
    note_text(walk, id);
    return check_content(walk, js_get(message, "content"), at);
}

static int refuse_unanswered(struct walk *walk)
{
    struct buf ids;
    buf_init(&ids, 400);
    for (size_t i = 0; i < js_count(walk->open_calls) && !ids.failed; i++) {
        struct str id = js_get_str(js_at(walk->open_calls, i), "id");
        const struct made_call *call = map_get(&walk->calls, id);
        if (call != NULL && call->state == CALL_WAITING)
            buf_printf(&ids, "%s%.*s", ids.n > 0 ? ", " : "", STR_FMT(id));
    }
    struct place place = {.list = "messages", .index = walk->open_at};
    refusal_at(
        walk->refusal, NULL, &place, "role",
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: %.*s",
        STR_FMT(buf_view(&ids)));
    buf_release(&ids);
    return -1;
}

static int check_message(struct walk *walk, const struct js *message, size_t at)
{
    struct place place = {.list = "messages", .index = at};
    if (refusal_object(message, &place, NULL, walk->refusal) != 0)
        return -1;
    struct str name = js_get_str(message, "role");
    const struct role *role = NULL;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0] && role == NULL; i++)
        if (str_is(name, roles[i].name))
            role = &roles[i];
    if (role == NULL)
        return refusal_at(
            walk->refusal, "invalid_value", &place, "role",
            "Invalid value: '%.*s'. Supported values are: 'system', 'assistant', 'user', "
            "'tool', and 'developer'.",
            STR_FMT(utf8_cut(name, 100)));
    if (role->check != check_tool) {
        if (walk->waiting > 0)
            return refuse_unanswered(walk);
        walk->open_calls = NULL;
    }
    if (refusal_fields(message, &role->table, &place, walk->refusal) != 0)
        return -1;
    note_text(walk, name);
    return role->check(walk, message, at);
}

int asked_messages(struct asked *asked, const struct js *messages, struct refusal *refusal)
{
    struct walk walk = {.asked = asked, .refusal = refusal};
    size_t count = js_count(messages);
    int result = -1;
    if (count == 0)
        return refusal_set(refusal, 400, "empty_array", "messages", "[] is too short - 'messages'");
    map_init(&walk.calls);
    hasher_init(&walk.hasher);
    asked->message_count = count;
    for (size_t i = 0; i < count; i++)
        if (check_message(&walk, js_at(messages, i), i) != 0)
            goto out;
    if (walk.waiting > 0) {
        refuse_unanswered(&walk);
        goto out;
    }
    asked->last = content_text(&asked->arena, js_get(js_at(messages, count - 1), "content"));
    asked->conversation = hasher_end(&walk.hasher);
    result = 0;
out:
    map_release(&walk.calls);
    return result;
}
