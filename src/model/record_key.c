/* Hashes a request in its normal form: text goes into the hash in runs, with a mark in place of what is left out. Pure. */
#include "model/record_key.h"

#include "base/mask.h"

/* No UTF-8 text has these bytes: a mark cannot be confused with content. */
#define MARK_WORKSPACE "\xFE"
#define MARK_DURATION "\xFD"
#define MARK_MASK "\xFC"
#define MARK_END "\xFF"

struct normal {
    struct hasher *hasher;
    struct str workspaces[2];
    enum { NUMBERS_COUNT, DURATIONS_DROPPED } numbers;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

/* Length of the workspace's path at the start of text; 0: it does not stand there. */
static size_t workspace_length(const struct normal *normal, struct str text)
{
    size_t length = 0;
    for (size_t i = 0; i < 2; i++) {
        struct str path = normal->workspaces[i];
        if (path.n > 1 && path.n > length && str_starts(text, path) &&
            (text.n == path.n || !is_word(text.p[path.n])))
            length = path.n;
    }
    return length;
}

/* Length of the duration at the start of text ("1.2s", "350ms", "60 seconds"); 0: there is none. */
static size_t duration_length(struct str text)
{
    static const char *const units[] = {"s", "ms", " s", " ms", " seconds"};
    size_t n = 0;
    while (n < text.n && is_digit(text.p[n]))
        n++;
    if (n > 0 && n + 1 < text.n && text.p[n] == '.' && is_digit(text.p[n + 1])) {
        n++;
        while (n < text.n && is_digit(text.p[n]))
            n++;
    }
    struct str rest = {text.p + n, text.n - n};
    for (size_t i = 0; n > 0 && i < sizeof units / sizeof units[0]; i++) {
        struct str unit = str_from(units[i]);
        if (str_starts(rest, unit) && (rest.n == unit.n || !is_word(rest.p[unit.n])))
            return n + unit.n;
    }
    return 0;
}

static void add_text(const struct normal *normal, struct str text)
{
    size_t done = 0;
    for (size_t i = 0; i < text.n;) {
        struct str rest = {text.p + i, text.n - i};
        const char *mark = MARK_WORKSPACE;
        size_t skip = rest.p[0] == '/' ? workspace_length(normal, rest) : 0;
        if (skip == 0 && normal->numbers == DURATIONS_DROPPED && is_digit(rest.p[0]) &&
            (i == 0 || (!is_word(text.p[i - 1]) && text.p[i - 1] != '.'))) {
            skip = duration_length(rest);
            mark = MARK_DURATION;
        }
        if (skip == 0 && rest.p[0] == '[') {
            skip = mask_length(rest);
            mark = MARK_MASK;
        }
        if (skip == 0) {
            i++;
            continue;
        }
        hasher_add(normal->hasher, text.p + done, i - done);
        hasher_add(normal->hasher, mark, 1);
        i += skip;
        done = i;
    }
    if (text.n > done)
        hasher_add(normal->hasher, text.p + done, text.n - done);
    hasher_add(normal->hasher, MARK_END, 1);
}

static struct hash message_hash(const struct message *message, const struct str workspaces[2])
{
    struct hasher h;
    struct normal normal = {.hasher = &h,
                            .workspaces = {workspaces[0], workspaces[1]},
                            .numbers =
                                message->role == MESSAGE_TOOL || message->role == MESSAGE_SYSTEM
                                    ? DURATIONS_DROPPED
                                    : NUMBERS_COUNT};
    hasher_init(&h);
    hasher_u64(&h, (uint64_t)message->role);
    add_text(&normal, message->text);
    hasher_u64(&h, message->role == MESSAGE_TOOL ? (uint64_t)message->outcome : 0);
    hasher_u64(&h, message->call_count);
    for (size_t i = 0; i < message->call_count; i++) {
        hasher_str(&h, message->calls[i].name);
        add_text(&normal, message->calls[i].arguments);
    }
    return hasher_end(&h);
}

static uint32_t print_of(const struct hash *hash)
{
    return (uint32_t)hash->bytes[0] << 24 | (uint32_t)hash->bytes[1] << 16 |
           (uint32_t)hash->bytes[2] << 8 | hash->bytes[3];
}

static struct hash tools_hash(const struct model_request *request)
{
    struct hasher h;
    hasher_init(&h);
    for (size_t i = 0; i < request->tool_count; i++) {
        hasher_str(&h, request->tools[i].name);
        hasher_str(&h, request->tools[i].description);
        hasher_str(&h, request->tools[i].schema);
    }
    return hasher_end(&h);
}

void record_key(const struct model_request *request, struct str other_workspace,
                struct record_key *key)
{
    const struct message whole = {.role = MESSAGE_USER, .text = request->fragments};
    const struct model_conversation *conversation = request->conversation;
    const struct message *messages = conversation != NULL ? conversation->messages : &whole;
    const struct str workspaces[2] = {conversation != NULL ? conversation->workspace : STR_NONE,
                                      other_workspace};
    struct hasher h;
    struct hash tools = tools_hash(request);
    key->model = request->model;
    key->tools = print_of(&tools);
    key->message_count = conversation != NULL ? conversation->message_count : 1;
    key->print_count = 0;
    hasher_init(&h);
    hasher_str(&h, STR("cadre request 1"));
    hasher_str(&h, request->model);
    hasher_add(&h, tools.bytes, sizeof tools.bytes);
    for (size_t i = 0; i < key->message_count; i++) {
        struct hash hash = message_hash(&messages[i], workspaces);
        hasher_add(&h, hash.bytes, sizeof hash.bytes);
        if (key->message_count - i <= RECORD_PRINTS_MAX)
            key->prints[key->print_count++] =
                (struct record_print){messages[i].role, print_of(&hash)};
    }
    key->hash = hasher_end(&h);
}

/* --- the first difference --------------------------------------------------------------------------- */

static const char *role_text(enum message_role role)
{
    static const char *const texts[] = {
        [MESSAGE_SYSTEM] = "the system prompt",
        [MESSAGE_USER] = "a user message",
        [MESSAGE_ASSISTANT] = "an answer of the model",
        [MESSAGE_TOOL] = "a tool result",
    };
    return texts[role];
}

void record_difference(const struct record_key *asked, const struct record_key *recorded,
                       struct buf *out)
{
    if (!str_eq(asked->model, recorded->model)) {
        buf_printf(out, "the model is %.*s, the recorded one %.*s", STR_FMT(asked->model),
                   STR_FMT(recorded->model));
        return;
    }
    /* Both know the last messages only; message numbers count from 1 as in the conversation. */
    size_t asked_first = asked->message_count - asked->print_count;
    size_t recorded_first = recorded->message_count - recorded->print_count;
    size_t from = asked_first > recorded_first ? asked_first : recorded_first;
    for (size_t i = from; i < asked->message_count && i < recorded->message_count; i++) {
        const struct record_print *a = &asked->prints[i - asked_first];
        const struct record_print *b = &recorded->prints[i - recorded_first];
        if (a->role == b->role && a->print == b->print)
            continue;
        buf_printf(out, "message %zu (%s)", i + 1, role_text(a->role));
        return;
    }
    if (asked->message_count != recorded->message_count)
        buf_printf(out, "it has %zu messages, the recorded one %zu", asked->message_count,
                   recorded->message_count);
    else if (asked->tools != recorded->tools)
        buf_text(out, "the tools that are offered");
    else
        buf_text(out, "an earlier message");
}
