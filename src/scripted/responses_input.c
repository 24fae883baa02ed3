/* The input of a Responses request: messages, calls and their outputs, reasoning. One pass; on the way it takes down the texts
 * that rules look at, the bytes that count as tokens and the conversation's hash. Items that the model made one after the
 * other are one turn. Pure: any thread. */
#include <stdio.h>

#include "base/utf8.h"
#include "scripted/responses.h"

#define CALL_ID_MAX 64

/* One tool call that the conversation has made. */
struct made_call {
    enum { CALL_WAITING, CALL_ANSWERED } state;
};

enum maker { MAKER_OTHERS, MAKER_MODEL };

struct walk {
    struct asked *asked;
    struct refusal *refusal;
    struct hasher hasher;
    struct map calls; /* id → struct made_call */
    size_t at;
    char path[32];       /* "input[3]" */
    struct str last;     /* what the last item says */
    struct str thinking; /* id of a reasoning item, until something follows it; STR_NONE: none */
    enum maker maker;    /* of the last item */
};

#define CONTENT (KIND(STRING) | KIND(ARRAY))

static const struct field message_fields[] = {
    {"role", KIND(STRING), FIELD_REQUIRED},
    {"content", CONTENT, FIELD_REQUIRED},
    {"type", KIND(STRING), FIELD_OPTIONAL},
    {"id", KIND(STRING), FIELD_OPTIONAL},
    {"status", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"phase", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
};
static const struct field call_fields[] = {
    {"type", KIND(STRING), FIELD_REQUIRED},       {"call_id", KIND(STRING), FIELD_REQUIRED},
    {"name", KIND(STRING), FIELD_REQUIRED},       {"arguments", KIND(STRING), FIELD_REQUIRED},
    {"id", KIND_OR_NULL(STRING), FIELD_OPTIONAL}, {"status", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
};
static const struct field output_fields[] = {
    {"type", KIND(STRING), FIELD_REQUIRED},
    {"call_id", KIND(STRING), FIELD_REQUIRED},
    {"output", CONTENT, FIELD_REQUIRED},
    {"id", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"status", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
};
static const struct field reasoning_fields[] = {
    {"type", KIND(STRING), FIELD_REQUIRED},
    {"summary", KIND(ARRAY), FIELD_REQUIRED},
    {"id", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"encrypted_content", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
    {"content", KIND_OR_NULL(ARRAY), FIELD_OPTIONAL},
    {"status", KIND_OR_NULL(STRING), FIELD_OPTIONAL},
};
static const struct field input_text_fields[] = {
    {"type", KIND(STRING), FIELD_REQUIRED},
    {"text", KIND(STRING), FIELD_REQUIRED},
};
static const struct field output_text_fields[] = {
    {"type", KIND(STRING), FIELD_REQUIRED},
    {"text", KIND(STRING), FIELD_REQUIRED},
    {"annotations", KIND(ARRAY), FIELD_OPTIONAL},
    {"logprobs", KIND_OR_NULL(ARRAY), FIELD_OPTIONAL},
};
static const struct field refusal_part_fields[] = {
    {"type", KIND(STRING), FIELD_REQUIRED},
    {"refusal", KIND(STRING), FIELD_REQUIRED},
};

static const struct part_kind {
    const char *type, *field;
    enum maker maker;
    struct field_table table;
} part_kinds[] = {
    {"input_text", "text", MAKER_OTHERS, FIELD_TABLE(input_text_fields)},
    {"output_text", "text", MAKER_MODEL, FIELD_TABLE(output_text_fields)},
    {"refusal", "refusal", MAKER_MODEL, FIELD_TABLE(refusal_part_fields)},
};

static int check_message(struct walk *walk, const struct js *item);
static int check_call(struct walk *walk, const struct js *item);
static int check_output(struct walk *walk, const struct js *item);
static int check_reasoning(struct walk *walk, const struct js *item);

static const struct item_kind {
    const char *type;
    struct field_table table;
    int (*check)(struct walk *walk, const struct js *item);
} item_kinds[] = {
    {"message", FIELD_TABLE(message_fields), check_message},
    {"function_call", FIELD_TABLE(call_fields), check_call},
    {"function_call_output", FIELD_TABLE(output_fields), check_output},
    {"reasoning", FIELD_TABLE(reasoning_fields), check_reasoning},
};

/* Refuses something at a leaf of the item. */
__attribute__((format(printf, 4, 5))) static int refuse(struct walk *walk, const char *code,
                                                        const char *leaf, const char *format, ...)
{
    char words[700], place[96];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    snprintf(place, sizeof place, "%s%s%s", walk->path, leaf[0] != '\0' ? "." : "", leaf);
    return refusal_set(walk->refusal, 400, code, place, "%s", words);
}

static void note_text(struct walk *walk, struct str text)
{
    hasher_str(&walk->hasher, text);
    walk->asked->message_bytes += text.n;
}

/* --- contents ------------------------------------------------------------------------------------------ */

static int check_part(struct walk *walk, const struct js *part, size_t at, const char *list,
                      enum maker maker)
{
    char path[64];
    const struct part_kind *kind = NULL;
    struct str type = js_get_str(part, "type");
    snprintf(path, sizeof path, "%s.%s[%zu]", walk->path, list, at);
    if (js_kind(part) != JS_OBJECT)
        return refusal_set(walk->refusal, 400, "invalid_type", path,
                           "Invalid type for '%s': expected an object, but got %s instead.", path,
                           refusal_kind(js_kind(part)));
    for (size_t i = 0; i < sizeof part_kinds / sizeof part_kinds[0]; i++)
        if (str_is(type, part_kinds[i].type) && part_kinds[i].maker == maker)
            kind = &part_kinds[i];
    if (kind == NULL && type.p != NULL)
        return refusal_set(walk->refusal, 400, "invalid_value", path,
                           "Invalid value: '%.*s'. Supported values are: %s.",
                           STR_FMT(utf8_cut(type, 100)),
                           maker == MAKER_MODEL ? "'output_text' and 'refusal'"
                                                : "'input_text', 'input_image', and 'input_file'");
    if (kind == NULL)
        kind = &part_kinds[0];
    if (responses_fields(part, &kind->table, path, walk->refusal) != 0)
        return -1;
    note_text(walk, js_get_str(part, kind->field));
    return 0;
}

/* Texts and parts; walk->last becomes the whole text. */
static int check_content(struct walk *walk, const struct js *content, const char *list,
                         enum maker maker)
{
    struct buf text;
    walk->last = js_str(content);
    if (js_kind(content) == JS_STRING) {
        note_text(walk, walk->last);
        return 0;
    }
    if (js_count(content) == 0)
        return refuse(walk, "empty_array", list,
                      "Invalid '%s.%s': empty array. Expected an array with minimum length 1, but "
                      "got an empty array instead.",
                      walk->path, list);
    buf_init(&text, 64u << 20);
    for (size_t i = 0; i < js_count(content); i++) {
        const struct js *part = js_at(content, i);
        if (check_part(walk, part, i, list, maker) != 0) {
            buf_release(&text);
            return -1;
        }
        buf_str(&text, js_get_str(part, js_get(part, "text") ? "text" : "refusal"));
    }
    walk->last = arena_copy(&walk->asked->arena, buf_view(&text));
    buf_release(&text);
    return 0;
}

/* --- items --------------------------------------------------------------------------------------------- */

/* The model's next item, or somebody else's. */
static void note_maker(struct walk *walk, enum maker maker)
{
    walk->asked->turn += maker == MAKER_MODEL && walk->maker != MAKER_MODEL;
    walk->maker = maker;
}

static int check_id(struct walk *walk, const struct js *item, const char *prefix)
{
    struct str id = js_get_str(item, "id");
    if (id.p == NULL || str_starts(id, str_from(prefix)))
        return 0;
    return refuse(walk, "invalid_value", "id",
                  "Invalid '%s.id': '%.*s'. Expected an ID that begins with '%s'.", walk->path,
                  STR_FMT(utf8_cut(id, 100)), prefix);
}

/* Reasoning is followed by what was made of it. */
static int refuse_dangling(struct walk *walk)
{
    return refusal_set(walk->refusal, 400, NULL, "input",
                       "Item '%.*s' of type 'reasoning' was provided without its required "
                       "following item.",
                       STR_FMT(utf8_cut(walk->thinking, 100)));
}

static int check_message(struct walk *walk, const struct js *item)
{
    struct asked *asked = walk->asked;
    struct str role = js_get_str(item, "role");
    bool model = str_is(role, "assistant"), user = str_is(role, "user");
    if (!model && !user && !str_is(role, "system") && !str_is(role, "developer"))
        return refuse(walk, "invalid_value", "role",
                      "Invalid value: '%.*s'. Supported values are: 'assistant', 'system', "
                      "'developer', and 'user'.",
                      STR_FMT(utf8_cut(role, 100)));
    if (!model && walk->thinking.p != NULL)
        return refuse_dangling(walk);
    walk->thinking = STR_NONE;
    if (check_id(walk, item, "msg") != 0)
        return -1;
    note_text(walk, role);
    if (check_content(walk, js_get(item, "content"), "content",
                      model ? MAKER_MODEL : MAKER_OTHERS) != 0)
        return -1;
    if (user && asked->first_user.n == 0)
        asked->first_user = walk->last;
    if (!user && !model && asked->system.n == 0)
        asked->system = walk->last;
    note_maker(walk, model ? MAKER_MODEL : MAKER_OTHERS);
    return 0;
}

static int check_call_id(struct walk *walk, struct str id)
{
    if (id.n > 0 && id.n <= CALL_ID_MAX)
        return 0;
    if (id.n == 0)
        return refuse(walk, "empty_string", "call_id",
                      "Invalid '%s.call_id': empty string. Expected a string with minimum length "
                      "1, but got an empty string instead.",
                      walk->path);
    return refuse(walk, "string_above_max_length", "call_id",
                  "Invalid '%s.call_id': string too long. Expected a string with maximum length "
                  "%d, but got a string with length %zu instead.",
                  walk->path, CALL_ID_MAX, id.n);
}

static int check_call(struct walk *walk, const struct js *item)
{
    struct str id = js_get_str(item, "call_id"), name = js_get_str(item, "name");
    char path[64];
    snprintf(path, sizeof path, "%s.name", walk->path);
    if (check_call_id(walk, id) != 0 || check_id(walk, item, "fc") != 0 ||
        responses_name(name, path, walk->refusal) != 0)
        return -1;
    if (map_get(&walk->calls, id) != NULL)
        return refuse(walk, "invalid_value", "call_id",
                      "Duplicate function call with call_id %.*s.", STR_FMT(id));
    map_set(&walk->calls, id, arena_alloc(&walk->asked->arena, sizeof(struct made_call)));
    note_text(walk, id);
    note_text(walk, name);
    note_text(walk, js_get_str(item, "arguments"));
    walk->last = STR("");
    walk->thinking = STR_NONE;
    note_maker(walk, MAKER_MODEL);
    return 0;
}

static int check_output(struct walk *walk, const struct js *item)
{
    struct str id = js_get_str(item, "call_id");
    struct made_call *call = map_get(&walk->calls, id);
    if (walk->thinking.p != NULL)
        return refuse_dangling(walk);
    if (check_call_id(walk, id) != 0 || check_id(walk, item, "fc") != 0)
        return -1;
    if (call == NULL)
        return refusal_set(walk->refusal, 400, NULL, "input",
                           "No tool call found for function call output with call_id %.*s.",
                           STR_FMT(id));
    if (call->state == CALL_ANSWERED)
        return refuse(walk, "invalid_value", "call_id",
                      "Duplicate function call output with call_id %.*s.", STR_FMT(id));
    call->state = CALL_ANSWERED;
    note_text(walk, id);
    note_maker(walk, MAKER_OTHERS);
    return check_content(walk, js_get(item, "output"), "output", MAKER_OTHERS);
}

void responses_seal(struct str summary, char out[RESPONSES_SEAL_SIZE])
{
    char hex[HASH_HEX + 1];
    struct hash hash = hash_of(summary);
    hash_hex(&hash, hex);
    snprintf(out, RESPONSES_SEAL_SIZE, "gAAAAA%.32s", hex);
}

static int check_summary(struct walk *walk, const struct js *summary)
{
    for (size_t i = 0; i < js_count(summary); i++) {
        const struct js *part = js_at(summary, i);
        char path[64];
        snprintf(path, sizeof path, "%s.summary[%zu]", walk->path, i);
        if (js_kind(part) != JS_OBJECT || !str_is(js_get_str(part, "type"), "summary_text"))
            return refusal_set(walk->refusal, 400, "invalid_value", path,
                               "Invalid value: '%.*s'. Supported values are: 'summary_text'.",
                               STR_FMT(utf8_cut(js_get_str(part, "type"), 100)));
        if (responses_fields(part, &part_kinds[0].table, path, walk->refusal) != 0)
            return -1;
    }
    return 0;
}

static int check_reasoning(struct walk *walk, const struct js *item)
{
    struct str id = js_get_str(item, "id"), sealed = js_get_str(item, "encrypted_content");
    const struct js *summary = js_get(item, "summary");
    char seal[RESPONSES_SEAL_SIZE];
    if (!responses_reasons(walk->asked->model->id))
        return refusal_set(walk->refusal, 400, NULL, "input",
                           "Reasoning input items can only be provided to a reasoning or computer "
                           "use model. Remove reasoning items from your input and try again.");
    if (check_id(walk, item, "rs") != 0 || check_summary(walk, summary) != 0)
        return -1;
    if (sealed.n == 0) {
        refusal_set(walk->refusal, 404, NULL, "input",
                    "Item with id '%.*s' not found. Items are not persisted when `store` is set to "
                    "false. Try again with `store` set to true, or remove this item from your "
                    "input.",
                    STR_FMT(utf8_cut(id, 100)));
        return -1;
    }
    responses_seal(js_get_str(js_at(summary, 0), "text"), seal);
    if (!str_is(sealed, seal))
        return refusal_set(walk->refusal, 400, "invalid_encrypted_content", "input",
                           "The encrypted content for item %.*s could not be verified. Reason: "
                           "Encrypted content could not be decrypted or parsed.",
                           STR_FMT(utf8_cut(id, 100)));
    note_text(walk, sealed);
    walk->last = STR("");
    walk->thinking = id.p != NULL ? id : STR("rs");
    note_maker(walk, MAKER_MODEL);
    return 0;
}

static int check_item(struct walk *walk, const struct js *item)
{
    struct str type = js_get_str(item, "type");
    const struct item_kind *kind = NULL;
    snprintf(walk->path, sizeof walk->path, "input[%zu]", walk->at);
    if (js_kind(item) != JS_OBJECT)
        return refuse(walk, "invalid_type", "",
                      "Invalid type for '%s': expected an object, but got %s instead.", walk->path,
                      refusal_kind(js_kind(item)));
    if (js_get(item, "type") == NULL) /* a message may leave it out */
        kind = &item_kinds[0];
    for (size_t i = 0; i < sizeof item_kinds / sizeof item_kinds[0] && kind == NULL; i++)
        if (str_is(type, item_kinds[i].type))
            kind = &item_kinds[i];
    if (kind == NULL)
        return refuse(walk, "invalid_value", "type",
                      "Invalid value: '%.*s'. Supported values are: 'message', 'reasoning', "
                      "'function_call', 'function_call_output', and others.",
                      STR_FMT(utf8_cut(type, 100)));
    if (responses_fields(item, &kind->table, walk->path, walk->refusal) != 0)
        return -1;
    hasher_str(&walk->hasher, str_from(kind->type));
    return kind->check(walk, item);
}

static int check_whole(struct walk *walk)
{
    size_t cursor = 0;
    struct str id;
    void *value;
    if (walk->thinking.p != NULL)
        return refuse_dangling(walk);
    while (map_next(&walk->calls, &cursor, &id, &value)) {
        const struct made_call *call = value;
        if (call->state == CALL_WAITING)
            return refusal_set(walk->refusal, 400, NULL, "input",
                               "No tool output found for function call %.*s.", STR_FMT(id));
    }
    return 0;
}

int responses_input(struct asked *asked, const struct js *instructions, const struct js *input,
                    struct refusal *refusal)
{
    struct walk walk = {.asked = asked, .refusal = refusal, .last = STR("")};
    bool text = js_kind(input) == JS_STRING;
    int result = -1;
    map_init(&walk.calls);
    hasher_init(&walk.hasher);
    asked->message_count = text ? 1 : js_count(input);
    if (js_kind(instructions) == JS_STRING) {
        asked->system = js_str(instructions);
        note_text(&walk, asked->system);
    }
    if (text) {
        asked->first_user = walk.last = js_str(input);
        note_text(&walk, walk.last);
    }
    for (; !text && walk.at < asked->message_count; walk.at++)
        if (check_item(&walk, js_at(input, walk.at)) != 0)
            goto out;
    if (check_whole(&walk) != 0)
        goto out;
    asked->last = walk.last;
    asked->conversation = hasher_end(&walk.hasher);
    result = 0;
out:
    map_release(&walk.calls);
    return result;
}
