/* The messages of a Messages request: roles, blocks, tool calls and their results. One pass; on the way it takes down the
 * texts that rules look at, the bytes that count as tokens and the conversation's hash. Pure: any thread. */
#include <stdio.h>

#include "base/utf8.h"
#include "scripted/anthropic.h"

#define CACHE_MARKS_MAX 4

/* One tool call that the conversation has made. */
struct made_call {
    enum { CALL_WAITING, CALL_ANSWERED } state;
    size_t message; /* that made it */
};

enum speaker { SPEAKER_USER, SPEAKER_ASSISTANT };

struct walk {
    struct asked *asked;
    struct refusal *refusal;
    struct hasher hasher;
    struct map calls; /* id → struct made_call */
    size_t waiting;   /* calls of the last assistant message without a result */
    size_t cache_marks;
    size_t tool_blocks;
    enum speaker speaker; /* of the message that is being read */
    size_t at, block;     /* its index, and that of the block */
    char path[64];        /* "messages.3.content.0" */
    bool texts_seen;      /* no result may follow a text */
    struct str last;      /* what the last block says */
};

static const struct field message_fields[] = {
    {"role", KIND(STRING), FIELD_REQUIRED},
    {"content", KIND(STRING) | KIND(ARRAY), FIELD_REQUIRED},
};
static const struct field text_fields[] = {
    {"type", KIND(STRING), FIELD_REQUIRED},
    {"text", KIND(STRING), FIELD_REQUIRED},
    {"cache_control", KIND_OR_NULL(OBJECT), FIELD_OPTIONAL},
    {"citations", KIND_OR_NULL(ARRAY), FIELD_OPTIONAL},
};
static const struct field call_fields[] = {
    {"type", KIND(STRING), FIELD_REQUIRED},
    {"id", KIND(STRING), FIELD_REQUIRED},
    {"name", KIND(STRING), FIELD_REQUIRED},
    {"input", KIND(OBJECT), FIELD_REQUIRED},
    {"cache_control", KIND_OR_NULL(OBJECT), FIELD_OPTIONAL},
};
static const struct field result_fields[] = {
    {"type", KIND(STRING), FIELD_REQUIRED},
    {"tool_use_id", KIND(STRING), FIELD_REQUIRED},
    {"content", KIND(STRING) | KIND(ARRAY), FIELD_OPTIONAL},
    {"is_error", KIND(BOOL), FIELD_OPTIONAL},
    {"cache_control", KIND_OR_NULL(OBJECT), FIELD_OPTIONAL},
};
static const struct field thinking_fields[] = {
    {"type", KIND(STRING), FIELD_REQUIRED},
    {"thinking", KIND(STRING), FIELD_REQUIRED},
    {"signature", KIND(STRING), FIELD_REQUIRED},
};
static const struct field redacted_fields[] = {
    {"type", KIND(STRING), FIELD_REQUIRED},
    {"data", KIND(STRING), FIELD_REQUIRED},
};

static int check_text(struct walk *walk, const struct js *block);
static int check_call(struct walk *walk, const struct js *block);
static int check_result(struct walk *walk, const struct js *block);
static int check_thinking(struct walk *walk, const struct js *block);
static int check_redacted(struct walk *walk, const struct js *block);

#define BY_USER (1u << SPEAKER_USER)
#define BY_ASSISTANT (1u << SPEAKER_ASSISTANT)

static const struct block_kind {
    const char *type;
    unsigned speakers;
    struct field_table table;
    int (*check)(struct walk *walk, const struct js *block);
} block_kinds[] = {
    {"text", BY_USER | BY_ASSISTANT, FIELD_TABLE(text_fields), check_text},
    {"tool_use", BY_ASSISTANT, FIELD_TABLE(call_fields), check_call},
    {"tool_result", BY_USER, FIELD_TABLE(result_fields), check_result},
    {"thinking", BY_ASSISTANT, FIELD_TABLE(thinking_fields), check_thinking},
    {"redacted_thinking", BY_ASSISTANT, FIELD_TABLE(redacted_fields), check_redacted},
};
static const struct field_table message_table = FIELD_TABLE(message_fields);

static void note_text(struct walk *walk, struct str text)
{
    hasher_str(&walk->hasher, text);
    walk->asked->message_bytes += text.n;
    walk->last = text;
}

static int check_words(struct walk *walk, struct str text)
{
    size_t n = 0;
    while (n < text.n && (text.p[n] == ' ' || (text.p[n] >= '\t' && text.p[n] <= '\r')))
        n++;
    if (text.n == 0)
        return anthropic_refuse(walk->refusal, "messages", "text content blocks must be non-empty");
    if (n == text.n)
        return anthropic_refuse(walk->refusal, "messages",
                                "text content blocks must contain non-whitespace text");
    return 0;
}

static int check_text(struct walk *walk, const struct js *block)
{
    struct str text = js_get_str(block, "text");
    if (check_words(walk, text) != 0)
        return -1;
    walk->texts_seen = true;
    note_text(walk, text);
    if (walk->speaker == SPEAKER_USER && walk->asked->first_user.n == 0)
        walk->asked->first_user = text;
    return 0;
}

static int check_call(struct walk *walk, const struct js *block)
{
    struct str id = js_get_str(block, "id"), name = js_get_str(block, "name");
    struct buf input;
    char path[96];
    bool id_fits = anthropic_name_fits(id, SIZE_MAX);
    snprintf(path, sizeof path, "%s.tool_use.%s", walk->path, id_fits ? "name" : "id");
    if (!id_fits)
        return anthropic_refuse(walk->refusal, path,
                                "String should match pattern '^[a-zA-Z0-9_-]+$'");
    if (!anthropic_name_fits(name, 200))
        return anthropic_refuse(walk->refusal, path,
                                "String should match pattern '^[a-zA-Z0-9_-]{1,200}$'");
    if (map_get(&walk->calls, id) != NULL)
        return anthropic_refuse(walk->refusal, walk->path, "`tool_use` ids must be unique");
    struct made_call *call = arena_alloc(&walk->asked->arena, sizeof *call);
    call->message = walk->at;
    map_set(&walk->calls, id, call);
    walk->waiting++;
    walk->tool_blocks++;
    buf_init(&input, 64u << 20);
    js_print(js_get(block, "input"), &input);
    note_text(walk, id);
    note_text(walk, name);
    note_text(walk, buf_view(&input));
    walk->last = STR("");
    buf_release(&input);
    return 0;
}

/* The content of a result: a string, or blocks of text. */
static int check_result_content(struct walk *walk, const struct js *content)
{
    walk->last = STR("");
    if (js_kind(content) == JS_STRING)
        note_text(walk, js_str(content));
    for (size_t i = 0; js_kind(content) == JS_ARRAY && i < js_count(content); i++) {
        const struct js *part = js_at(content, i);
        char path[128];
        snprintf(path, sizeof path, "%s.tool_result.content.%zu", walk->path, i);
        if (!str_is(js_get_str(part, "type"), "text"))
            return anthropic_refuse(walk->refusal, path,
                                    "Input tag does not match any of the expected tags: 'text'");
        if (anthropic_fields(part, &block_kinds[0].table, path, walk->refusal) != 0 ||
            check_words(walk, js_get_str(part, "text")) != 0)
            return -1;
        note_text(walk, js_get_str(part, "text"));
    }
    return 0;
}

static int refuse_unanswered(struct walk *walk);

static int check_result(struct walk *walk, const struct js *block)
{
    struct str id = js_get_str(block, "tool_use_id");
    struct made_call *call = map_get(&walk->calls, id);
    const struct js *content = js_get(block, "content");
    if (call == NULL || call->message + 1 != walk->at)
        return anthropic_refuse(walk->refusal, walk->path,
                                "unexpected `tool_use_id` found in `tool_result` blocks: %.*s. "
                                "Each `tool_result` block must have a corresponding `tool_use` "
                                "block in the previous message.",
                                STR_FMT(utf8_cut(id, 100)));
    if (call->state == CALL_ANSWERED)
        return anthropic_refuse(walk->refusal, walk->path,
                                "each tool_use must have a single result. Found multiple "
                                "`tool_result` blocks with id: %.*s",
                                STR_FMT(utf8_cut(id, 100)));
    if (walk->texts_seen)
        return refuse_unanswered(walk);
    call->state = CALL_ANSWERED;
    walk->waiting--;
    walk->tool_blocks++;
    note_text(walk, id);
    bool empty = js_kind(content) == JS_STRING ? js_str(content).n == 0 : js_count(content) == 0;
    if (empty && js_get_bool(block, "is_error", false))
        return anthropic_refuse(walk->refusal, walk->path,
                                "content cannot be empty if `is_error` is true");
    return check_result_content(walk, content);
}

void anthropic_signature(struct str thinking, char out[ANTHROPIC_SIGNATURE_SIZE])
{
    char hex[HASH_HEX + 1];
    struct hash hash = hash_of(thinking);
    hash_hex(&hash, hex);
    snprintf(out, ANTHROPIC_SIGNATURE_SIZE, "sig%.32s", hex);
}

static int check_thinking(struct walk *walk, const struct js *block)
{
    char signature[ANTHROPIC_SIGNATURE_SIZE];
    anthropic_signature(js_get_str(block, "thinking"), signature);
    if (!str_is(js_get_str(block, "signature"), signature))
        return anthropic_refuse(walk->refusal, walk->path,
                                "Invalid `signature` in `thinking` block");
    note_text(walk, js_get_str(block, "thinking"));
    walk->last = STR("");
    return 0;
}

static int check_redacted(struct walk *walk, const struct js *block)
{
    note_text(walk, js_get_str(block, "data"));
    walk->last = STR("");
    return 0;
}

static int check_block(struct walk *walk, const struct js *block)
{
    struct str type = js_get_str(block, "type");
    const struct block_kind *kind = NULL;
    char path[96];
    if (js_kind(block) != JS_OBJECT)
        return anthropic_refuse(walk->refusal, walk->path, "Input should be a valid dictionary");
    for (size_t i = 0; i < sizeof block_kinds / sizeof block_kinds[0] && kind == NULL; i++)
        if (str_is(type, block_kinds[i].type))
            kind = &block_kinds[i];
    if (kind == NULL)
        return anthropic_refuse(walk->refusal, walk->path,
                                "Input tag '%.*s' found using 'type' does not match any of the "
                                "expected tags",
                                STR_FMT(utf8_cut(type, 60)));
    if ((kind->speakers & (1u << walk->speaker)) == 0)
        return anthropic_refuse(walk->refusal, walk->path,
                                "`%s` blocks can only be in `%s` messages", kind->type,
                                walk->speaker == SPEAKER_USER ? "assistant" : "user");
    snprintf(path, sizeof path, "%s.%s", walk->path, kind->type);
    if (anthropic_fields(block, &kind->table, path, walk->refusal) != 0)
        return -1;
    walk->cache_marks += js_kind(js_get(block, "cache_control")) == JS_OBJECT;
    hasher_str(&walk->hasher, type);
    return kind->check(walk, block);
}

static int check_content(struct walk *walk, const struct js *content)
{
    size_t count = js_kind(content) == JS_STRING ? 1 : js_count(content);
    if (count == 0 || (js_kind(content) == JS_STRING && js_str(content).n == 0)) {
        char path[32];
        snprintf(path, sizeof path, "messages.%zu", walk->at);
        return anthropic_refuse(walk->refusal, path,
                                "all messages must have non-empty content except for the optional "
                                "final assistant message");
    }
    walk->texts_seen = false;
    if (js_kind(content) == JS_STRING) {
        note_text(walk, js_str(content));
        if (walk->speaker == SPEAKER_USER && walk->asked->first_user.n == 0)
            walk->asked->first_user = js_str(content);
        return 0;
    }
    for (walk->block = 0; walk->block < count; walk->block++) {
        snprintf(walk->path, sizeof walk->path, "messages.%zu.content.%zu", walk->at, walk->block);
        if (check_block(walk, js_at(content, walk->block)) != 0)
            return -1;
    }
    struct str last = js_get_str(js_at(content, count - 1), "type");
    if (str_is(last, "thinking") || str_is(last, "redacted_thinking"))
        return anthropic_refuse(walk->refusal, walk->path,
                                "The final block in an assistant message cannot be `thinking`.");
    return 0;
}

static int refuse_unanswered(struct walk *walk)
{
    struct buf ids;
    char path[32];
    size_t cursor = 0;
    struct str id;
    void *value;
    buf_init(&ids, 400);
    while (map_next(&walk->calls, &cursor, &id, &value) && !ids.failed) {
        const struct made_call *call = value;
        if (call->state == CALL_WAITING)
            buf_printf(&ids, "%s%.*s", ids.n > 0 ? ", " : "", STR_FMT(id));
    }
    /* It is missed in the message after the calls, or behind the last. */
    snprintf(path, sizeof path, "messages.%zu", walk->at - 1);
    anthropic_refuse(walk->refusal, path,
                     "`tool_use` ids were found without `tool_result` blocks immediately after: "
                     "%.*s. Each `tool_use` block must have a corresponding `tool_result` block in "
                     "the next message.",
                     STR_FMT(buf_view(&ids)));
    buf_release(&ids);
    return -1;
}

static int read_speaker(struct walk *walk, const struct js *message)
{
    struct str role = js_get_str(message, "role");
    bool user = str_is(role, "user");
    if (str_is(role, "system"))
        return anthropic_refuse(walk->refusal, "messages",
                                "Unexpected role \"system\". The Messages API accepts a top-level "
                                "`system` parameter, not \"system\" as an input message role.");
    if (!user && !str_is(role, "assistant"))
        return anthropic_refuse(walk->refusal, "messages",
                                "Unexpected role \"%.*s\". Allowed roles are \"user\" or "
                                "\"assistant\"",
                                STR_FMT(utf8_cut(role, 60)));
    enum speaker speaker = user ? SPEAKER_USER : SPEAKER_ASSISTANT;
    if (walk->at == 0 && !user)
        return anthropic_refuse(walk->refusal, "messages",
                                "first message must use the \"user\" role");
    if (walk->at > 0 && speaker == walk->speaker)
        return anthropic_refuse(walk->refusal, "messages",
                                "roles must alternate between \"user\" and \"assistant\", but "
                                "found multiple \"%.*s\" roles in a row",
                                STR_FMT(role));
    walk->speaker = speaker;
    return 0;
}

static int check_message(struct walk *walk, const struct js *message)
{
    char path[32];
    snprintf(path, sizeof path, "messages.%zu", walk->at);
    if (js_kind(message) != JS_OBJECT)
        return anthropic_refuse(walk->refusal, path, "Input should be a valid dictionary");
    if (anthropic_fields(message, &message_table, path, walk->refusal) != 0 ||
        read_speaker(walk, message) != 0)
        return -1;
    hasher_str(&walk->hasher, js_get_str(message, "role"));
    walk->asked->turn += walk->speaker == SPEAKER_ASSISTANT;
    if (check_content(walk, js_get(message, "content")) != 0)
        return -1;
    return walk->speaker == SPEAKER_USER && walk->waiting > 0 ? refuse_unanswered(walk) : 0;
}

static int check_system(struct walk *walk, const struct js *system)
{
    if (js_kind(system) == JS_STRING) {
        walk->asked->system = js_str(system);
        note_text(walk, js_str(system));
    }
    for (size_t i = 0; js_kind(system) == JS_ARRAY && i < js_count(system); i++) {
        const struct js *block = js_at(system, i);
        char path[32];
        snprintf(path, sizeof path, "system.%zu", i);
        if (js_kind(block) != JS_OBJECT || !str_is(js_get_str(block, "type"), "text"))
            return anthropic_refuse(walk->refusal, path, "Input should be a text block");
        struct str text = js_get_str(block, "text");
        if (anthropic_fields(block, &block_kinds[0].table, path, walk->refusal) != 0)
            return -1;
        if (text.n == 0)
            return anthropic_refuse(walk->refusal, "system",
                                    "text content blocks must be non-empty");
        walk->cache_marks += js_kind(js_get(block, "cache_control")) == JS_OBJECT;
        if (walk->asked->system.n == 0)
            walk->asked->system = text;
        note_text(walk, text);
    }
    return 0;
}

static int check_whole(struct walk *walk, const struct js *messages)
{
    const struct js *last = js_at(messages, walk->at - 1);
    struct str said = walk->last;
    if (walk->waiting > 0)
        return refuse_unanswered(walk);
    if (walk->tool_blocks > 0 && walk->asked->tools.count == 0)
        return anthropic_refuse(walk->refusal, "",
                                "Requests which include `tool_use` or `tool_result` blocks must "
                                "define tools");
    size_t marks = walk->cache_marks + walk->asked->tool_marks;
    if (marks > CACHE_MARKS_MAX)
        return anthropic_refuse(walk->refusal, "",
                                "A maximum of %d blocks with cache_control may be provided. Found "
                                "%zu.",
                                CACHE_MARKS_MAX, marks);
    if (str_is(js_get_str(last, "role"), "assistant") && said.n > 0 &&
        (said.p[said.n - 1] == ' ' || said.p[said.n - 1] == '\n'))
        return anthropic_refuse(walk->refusal, "messages",
                                "final assistant content cannot end with trailing whitespace");
    return 0;
}

int anthropic_messages(struct asked *asked, const struct js *system, const struct js *messages,
                       struct refusal *refusal)
{
    struct walk walk = {.asked = asked, .refusal = refusal};
    size_t count = js_count(messages);
    int result = -1;
    if (count == 0)
        return anthropic_refuse(refusal, "messages", "at least one message is required");
    map_init(&walk.calls);
    hasher_init(&walk.hasher);
    asked->message_count = count;
    if (check_system(&walk, system) != 0)
        goto out;
    for (walk.at = 0; walk.at < count; walk.at++)
        if (check_message(&walk, js_at(messages, walk.at)) != 0)
            goto out;
    if (check_whole(&walk, messages) != 0)
        goto out;
    asked->last = walk.last;
    asked->conversation = hasher_end(&walk.hasher);
    result = 0;
out:
    map_release(&walk.calls);
    return result;
}
