/* Prints and parses the lines of a recording; see the header for the format. A recording may come from anywhere: every
 * type and every range is checked. Pure; any thread. */
#include "model/record_line.h"

#include <stdio.h>

#include "base/utf8.h"
#include "core/run/input.h"
#include "model/calls.h"

#define VERSION 1
#define LABEL_MAX ((size_t)4096)                /* bytes of a name, an id or a path */
#define TOKENS_MAX ((int64_t)1000000000000)     /* of one number of a usage */
#define TIME_MAX_MS ((int64_t)24 * 3600 * 1000) /* of one request, or asked for before the next */

static const char roles[] = {
    [MESSAGE_SYSTEM] = 's', [MESSAGE_USER] = 'u', [MESSAGE_ASSISTANT] = 'a', [MESSAGE_TOOL] = 't'};

static const struct {
    const char *name;
    size_t offset;
} usage_fields[] = {
    {"input", offsetof(struct usage, input)},
    {"cached", offsetof(struct usage, cached)},
    {"cache_write", offsetof(struct usage, cache_write)},
    {"output", offsetof(struct usage, output)},
    {"reasoning", offsetof(struct usage, reasoning)},
};
enum { USAGE_COUNT = sizeof usage_fields / sizeof usage_fields[0] };

/* What a failure may be; a bug of ours or a refused start is never recorded. */
static const enum err_class failure_classes[] = {ERR_RETRY, ERR_PROVIDER, ERR_TIMEOUT,
                                                 ERR_CANCELLED};

/* --- printing ------------------------------------------------------------------------------------------ */

/* What is printed must be readable again: within the bounds that parsing knows. */
static int64_t within(int64_t number, int64_t maximum)
{
    return number < maximum ? number : maximum;
}

static void print_label(struct jw *w, const char *key, struct str text)
{
    jw_kstr(w, key, utf8_cut(text, LABEL_MAX));
}

static const char *class_text(enum err_class class)
{
    for (size_t i = 0; i < sizeof failure_classes / sizeof failure_classes[0]; i++)
        if (class == failure_classes[i])
            return err_class_text(class);
    return err_class_text(ERR_PROVIDER);
}

static void print_usage(struct jw *w, const struct usage *usage)
{
    jw_key(w, "usage");
    jw_object(w);
    for (size_t i = 0; i < USAGE_COUNT; i++) {
        int64_t number;
        memcpy(&number, (const char *)usage + usage_fields[i].offset, sizeof number);
        if (number >= 0)
            jw_kint(w, usage_fields[i].name, within(number, TOKENS_MAX));
    }
    jw_end_object(w);
}

static void print_reply(struct jw *w, const struct model_reply *reply)
{
    jw_key(w, "reply");
    jw_object(w);
    jw_kstr(w, "text", reply->text);
    jw_key(w, "calls");
    jw_array(w);
    for (size_t i = 0; i < reply->call_count; i++) {
        jw_object(w);
        jw_kstr(w, "id", reply->calls[i].id);
        jw_kstr(w, "name", reply->calls[i].name);
        jw_kstr(w, "arguments", reply->calls[i].arguments);
        jw_end_object(w);
    }
    jw_end_array(w);
    print_label(w, "finish", reply->finish);
    jw_kbool(w, "cut", reply->completeness == REPLY_CUT);
    print_usage(w, &reply->usage);
    print_label(w, "response_id", reply->response_id);
    print_label(w, "model", reply->model);
    jw_kint(w, "first_token_ms", within(reply->first_token_ms, TIME_MAX_MS));
    if (reply->extras.p != NULL)
        jw_kstr(w, "extras", reply->extras);
    jw_end_object(w);
}

static void print_failure(struct jw *w, const struct model_failure *failure)
{
    jw_key(w, "failure");
    jw_object(w);
    jw_ktext(w, "class", class_text(failure->class));
    jw_kint(w, "http_status", failure->http_status);
    jw_kint(w, "retry_after_ms", within(failure->retry_after_ms, TIME_MAX_MS));
    jw_kstr(w, "message", failure->message);
    jw_kstr(w, "partial", failure->partial);
    print_usage(w, &failure->usage);
    jw_kbool(w, "sent", failure->sent == REQUEST_SENT);
    if (failure->trouble != TROUBLE_NONE)
        jw_ktext(w, "trouble", model_trouble_text(failure->trouble));
    if (failure->window > 0)
        jw_kint(w, "window", within(failure->window, TOKENS_MAX));
    if (failure->needed > 0)
        jw_kint(w, "needed", within(failure->needed, TOKENS_MAX));
    jw_end_object(w);
}

void record_line_print(const struct record_line *line, const struct model_reply *reply,
                       const struct model_failure *failure, struct buf *out)
{
    struct jw w;
    char hex[HASH_HEX + 1], print[16];
    hash_hex(&line->key.hash, hex);
    jw_init(&w, out);
    jw_object(&w);
    jw_kint(&w, "v", VERSION);
    jw_ktext(&w, "key", hex);
    jw_kint(&w, "agent", line->agent_no);
    jw_kint(&w, "turn", line->turn);
    print_label(&w, "workspace", line->workspace);
    print_label(&w, "model", line->key.model);
    snprintf(print, sizeof print, "%08x", line->key.tools);
    jw_ktext(&w, "tools", print);
    jw_kint(&w, "messages", (int64_t)line->key.message_count);
    jw_key(&w, "prints");
    jw_array(&w);
    for (size_t i = 0; i < line->key.print_count; i++) {
        const struct record_print *one = &line->key.prints[i];
        snprintf(print, sizeof print, "%c%08x", roles[one->role], one->print);
        jw_text(&w, print);
    }
    jw_end_array(&w);
    jw_kint(&w, "ms", within(line->ms, TIME_MAX_MS));
    if (reply != NULL)
        print_reply(&w, reply);
    else
        print_failure(&w, failure);
    jw_end_object(&w);
    buf_char(out, '\n');
}

/* --- parsing ------------------------------------------------------------------------------------------- */

/* A member of an object, where in messages it is, and who takes its memory: the readers below share these. */
struct reading {
    const struct js *object;
    const char *where; /* "reply", "failure", or "" for the line itself */
    struct arena *arena;
    struct err *err;
};

static int wrong(const struct reading *reading, const char *key, const char *expected)
{
    return err_set(reading->err, ERR_CORRUPT, "\"%s%s%s\" should be %s", reading->where,
                   reading->where[0] ? "." : "", key, expected);
}

static int read_text(const struct reading *reading, const char *key, size_t max, struct str *text)
{
    struct str found = js_get_str(reading->object, key);
    if (found.p == NULL)
        return wrong(reading, key, "a text");
    if (found.n > max)
        return wrong(reading, key, "shorter");
    *text = arena_copy(reading->arena, found);
    return 0;
}

static int read_number(const struct reading *reading, const char *key, int64_t minimum,
                       int64_t maximum, int64_t *number)
{
    const struct js *found = js_get(reading->object, key);
    *number = js_int(found, minimum);
    if (js_kind(found) != JS_INT || *number < minimum || *number > maximum)
        return wrong(reading, key, "a whole number in its range");
    return 0;
}

static int read_switch(const struct reading *reading, const char *key, bool *on)
{
    const struct js *found = js_get(reading->object, key);
    *on = js_bool(found, false);
    return js_kind(found) == JS_BOOL ? 0 : wrong(reading, key, "true or false");
}

static bool hex_parse(struct str text, uint32_t *number)
{
    *number = 0;
    for (size_t i = 0; i < text.n; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = text.p[i] != '\0' ? strchr(digits, text.p[i]) : NULL;
        if (digit == NULL)
            return false;
        *number = *number << 4 | (uint32_t)(digit - digits);
    }
    return text.n == 8;
}

static bool print_parse(struct str text, struct record_print *print)
{
    const char *role = text.n > 0 ? memchr(roles, text.p[0], sizeof roles) : NULL;
    if (role == NULL)
        return false;
    print->role = (enum message_role)(role - roles);
    return hex_parse((struct str){text.p + 1, text.n - 1}, &print->print);
}

static int read_key(const struct reading *reading, struct record_key *key)
{
    const struct js *prints = js_get(reading->object, "prints");
    int64_t count;
    if (!hash_parse(js_get_str(reading->object, "key"), &key->hash))
        return wrong(reading, "key", "64 hexadecimal digits");
    if (!hex_parse(js_get_str(reading->object, "tools"), &key->tools))
        return wrong(reading, "tools", "8 hexadecimal digits");
    if (read_text(reading, "model", LABEL_MAX, &key->model) != 0 ||
        read_number(reading, "messages", 0, INT32_MAX, &count) != 0)
        return -1;
    key->message_count = (size_t)count;
    key->print_count = js_count(prints);
    if (js_kind(prints) != JS_ARRAY || key->print_count > RECORD_PRINTS_MAX ||
        key->print_count > key->message_count)
        return wrong(reading, "prints", "a list of prints of the last messages");
    for (size_t i = 0; i < key->print_count; i++)
        if (!print_parse(js_str(js_at(prints, i)), &key->prints[i]))
            return wrong(reading, "prints", "a list such as [\"u01234567\"]");
    return 0;
}

static int read_usage(const struct reading *reading, struct usage *usage)
{
    const struct reading inner = {js_get(reading->object, "usage"), "usage", reading->arena,
                                  reading->err};
    *usage = USAGE_NONE;
    if (js_kind(inner.object) != JS_OBJECT)
        return wrong(reading, "usage", "an object");
    for (size_t i = 0; i < USAGE_COUNT; i++) {
        int64_t number;
        if (js_kind(js_get(inner.object, usage_fields[i].name)) == JS_ABSENT)
            continue;
        if (read_number(&inner, usage_fields[i].name, 0, TOKENS_MAX, &number) != 0)
            return -1;
        memcpy((char *)usage + usage_fields[i].offset, &number, sizeof number);
    }
    return 0;
}

static int read_calls(const struct reading *reading, struct model_reply *reply)
{
    const struct js *calls = js_get(reading->object, "calls");
    struct call_draft *drafts;
    reply->call_count = js_count(calls);
    if (js_kind(calls) != JS_ARRAY || reply->call_count > CALLS_MAX)
        return wrong(reading, "calls", "a list of at most 128 calls");
    drafts = arena_alloc(reading->arena, (reply->call_count + 1) * sizeof *drafts);
    for (size_t i = 0; i < reply->call_count; i++) {
        const struct reading call = {js_at(calls, i), "reply.calls", reading->arena, reading->err};
        if (read_text(&call, "id", CALL_LABEL_MAX, &drafts[i].id) != 0 ||
            read_text(&call, "name", CALL_LABEL_MAX, &drafts[i].name) != 0 ||
            read_text(&call, "arguments", CALL_ARGUMENTS_MAX, &drafts[i].arguments) != 0)
            return -1;
        if (drafts[i].name.n == 0)
            return wrong(&call, "name", "a tool's name");
    }
    calls_finish(drafts, &reply->call_count, CALLS_WHOLE, reading->arena, &reply->calls);
    return 0;
}

static int read_reply(const struct reading *reading, struct model_reply *reply)
{
    bool cut;
    *reply = (struct model_reply){.extras = STR_NONE};
    if (read_text(reading, "text", RECORD_LINE_MAX, &reply->text) != 0 ||
        read_calls(reading, reply) != 0 ||
        read_text(reading, "finish", LABEL_MAX, &reply->finish) != 0 ||
        read_switch(reading, "cut", &cut) != 0 || read_usage(reading, &reply->usage) != 0 ||
        read_text(reading, "response_id", LABEL_MAX, &reply->response_id) != 0 ||
        read_text(reading, "model", LABEL_MAX, &reply->model) != 0 ||
        read_number(reading, "first_token_ms", -1, TIME_MAX_MS, &reply->first_token_ms) != 0)
        return -1;
    reply->completeness = cut ? REPLY_CUT : REPLY_WHOLE;
    if (js_kind(js_get(reading->object, "extras")) == JS_ABSENT)
        return 0;
    return read_text(reading, "extras", RECORD_LINE_MAX, &reply->extras);
}

static int read_failure(const struct reading *reading, struct model_failure *failure)
{
    struct str class = STR_NONE;
    int64_t status = 0;
    bool sent = false;
    *failure = (struct model_failure){.class = ERR_NONE};
    if (read_text(reading, "class", LABEL_MAX, &class) != 0 ||
        read_number(reading, "http_status", 0, 999, &status) != 0 ||
        read_number(reading, "retry_after_ms", -1, TIME_MAX_MS, &failure->retry_after_ms) != 0 ||
        read_text(reading, "message", RECORD_LINE_MAX, &failure->message) != 0 ||
        read_text(reading, "partial", RECORD_LINE_MAX, &failure->partial) != 0 ||
        read_usage(reading, &failure->usage) != 0 || read_switch(reading, "sent", &sent) != 0)
        return -1;
    failure->trouble = model_trouble_parse(js_get_str(reading->object, "trouble"));
    failure->window = within(js_get_int(reading->object, "window", -1), TOKENS_MAX);
    failure->needed = within(js_get_int(reading->object, "needed", -1), TOKENS_MAX);
    failure->http_status = (int)status;
    failure->sent = sent ? REQUEST_SENT : REQUEST_UNSENT;
    for (size_t i = 0; i < sizeof failure_classes / sizeof failure_classes[0]; i++)
        if (str_is(class, err_class_text(failure_classes[i])))
            failure->class = failure_classes[i];
    if (failure->class == ERR_NONE)
        return wrong(reading, "class", "retry, provider, timeout or cancelled");
    return 0;
}

static int read_answer(const struct js *root, struct arena *arena, struct model_reply *reply,
                       struct model_failure *failure, struct err *err)
{
    const struct reading replied = {js_get(root, "reply"), "reply", arena, err};
    const struct reading failed = {js_get(root, "failure"), "failure", arena, err};
    if ((js_kind(replied.object) == JS_OBJECT) == (js_kind(failed.object) == JS_OBJECT))
        return err_set(err, ERR_CORRUPT, "expected either a \"reply\" or a \"failure\"");
    if (js_kind(replied.object) == JS_OBJECT)
        return read_reply(&replied, reply);
    return read_failure(&failed, failure);
}

int record_answer_parse(struct str text, struct arena *arena, struct model_reply *reply,
                        struct model_failure *failure, struct err *err)
{
    struct js *root = js_parse(text, err);
    int result = root != NULL ? read_answer(root, arena, reply, failure, err) : -1;
    js_free(root);
    return result;
}

static int read_line(const struct reading *reading, struct record_line *line)
{
    struct model_reply reply;
    struct model_failure failure;
    struct arena scratch;
    int64_t version, agent;
    if (js_kind(reading->object) != JS_OBJECT)
        return err_set(reading->err, ERR_CORRUPT, "expected an object");
    version = js_get_int(reading->object, "v", 0);
    if (version != VERSION)
        return err_set(reading->err, ERR_CORRUPT,
                       "\"v\" should be %d: this is no line of a recording, or one of another "
                       "version of cadre",
                       VERSION);
    if (read_key(reading, &line->key) != 0 ||
        read_number(reading, "agent", 0, UINT32_MAX, &agent) != 0 ||
        read_number(reading, "turn", 0, INT32_MAX, &line->turn) != 0 ||
        read_number(reading, "ms", 0, TIME_MAX_MS, &line->ms) != 0 ||
        read_text(reading, "workspace", LABEL_MAX, &line->workspace) != 0)
        return -1;
    line->agent_no = (uint32_t)agent;
    line->kind =
        js_kind(js_get(reading->object, "reply")) == JS_OBJECT ? RECORD_REPLY : RECORD_FAILURE;
    arena_init(&scratch);
    int result = read_answer(reading->object, &scratch, &reply, &failure, reading->err);
    arena_release(&scratch);
    return result;
}

int record_line_parse(struct str text, struct arena *arena, struct record_line *line,
                      struct err *err)
{
    struct js *root = js_parse(text, err);
    const struct reading reading = {root, "", arena, err};
    int result = root != NULL ? read_line(&reading, line) : -1;
    js_free(root);
    return result;
}
