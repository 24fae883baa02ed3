/* Renders messages to lines of input items, and lines to request bodies; see the header for the format. Does not send
 * them. Pure; any thread. */
#include "model/responses_render.h"

#include "base/json.h"
#include "model/call_id.h"
#include "model/marks.h"
#include "model/params_text.h"
#include "model/responses_extras.h"
#include "model/tool_name.h"
#include "model/tools_text.h"

/* --- fragments --------------------------------------------------------------------------------------- */

static void begin_item(struct buf *out, const char *type, struct jw *w)
{
    buf_char(out, 'I');
    jw_init(w, out);
    jw_object(w);
    jw_ktext(w, "type", type);
}

static void end_item(struct jw *w)
{
    jw_end_object(w);
    buf_char(w->out, '\n');
}

static void text_item(struct buf *out, const char *role, const char *part, struct str text)
{
    struct jw w;
    begin_item(out, "message", &w);
    jw_ktext(&w, "role", role);
    jw_key(&w, "content");
    jw_array(&w);
    jw_object(&w);
    jw_ktext(&w, "type", part);
    jw_kstr(&w, "text", text);
    jw_end_object(&w);
    jw_end_array(&w);
    end_item(&w);
}

/* As a plain text: a part of type output_text must have annotations, and its message an id of the API. */
static void said_item(struct buf *out, struct str text)
{
    struct jw w;
    if (text.n == 0)
        return;
    begin_item(out, "message", &w);
    jw_ktext(&w, "role", "assistant");
    jw_kstr(&w, "content", text);
    end_item(&w);
}

/* Without the item's own id: the API would look for the reasoning that came with it. */
static void call_item(struct buf *out, const struct message *message, size_t i, struct str provider)
{
    const struct tool_call *call = &message->calls[i];
    char name[TOOL_NAME_MAX], id[CALL_ID_DERIVED];
    struct jw w;
    begin_item(out, "function_call", &w);
    jw_kstr(&w, "call_id", call_id_of(message, i, provider, id));
    jw_kstr(&w, "name", tool_name(call->name, name));
    jw_kstr(&w, "arguments", call->arguments.n > 0 ? call->arguments : STR("{}"));
    end_item(&w);
}

static void result_item(struct buf *out, const struct message *message, struct str provider)
{
    char id[CALL_ID_DERIVED];
    struct jw w;
    begin_item(out, "function_call_output", &w);
    jw_kstr(&w, "call_id", call_id_answered(message, provider, id));
    jw_kstr(&w, "output", message->text.p ? message->text : STR(""));
    end_item(&w);
}

/* What is left to render of an assistant message. */
struct remaining {
    struct str text;
    size_t next_call;
    struct str provider; /* that is asked */
};

static bool is_reasoning(const struct js *entry)
{
    return str_is(js_get_str(entry, "type"), "reasoning");
}

/* One entry of the extras: an echoed item, or a mark for text or a call. */
static void extra_item(struct buf *out, const struct message *message, struct str host,
                       const struct js *entry, struct remaining *left)
{
    int64_t bytes = js_get_int(entry, "text", 0);
    if (is_reasoning(entry)) {
        buf_char(out, 'R');
        buf_str(out, host);
        buf_char(out, ' ');
        js_print(entry, out);
        buf_char(out, '\n');
    } else if (bytes > 0) {
        said_item(out, (struct str){left->text.p, (size_t)bytes});
        left->text = (struct str){left->text.p + bytes, left->text.n - (size_t)bytes};
    } else if (left->next_call < message->call_count) {
        call_item(out, message, left->next_call++, left->provider);
    }
}

static void render_extras(struct buf *out, const struct message *message, struct remaining *left)
{
    struct err ignored = ERR_INIT;
    struct js *extras = message->extras.n > 0 ? js_parse(message->extras, &ignored) : NULL;
    const struct js *content = js_get(extras, "content");
    struct buf url;
    buf_init(&url, 1024);
    buf_text(&url, "https://");
    buf_str(&url, js_get_str(extras, "host"));
    struct str host = responses_host(buf_view(&url));
    if (str_is(js_get_str(extras, "api"), RESPONSES_EXTRAS_API) && js_kind(content) == JS_ARRAY &&
        host.n > 0 && marks_fit(content, message->text))
        for (size_t i = 0; i < marks_count(content, message->call_count, is_reasoning); i++)
            extra_item(out, message, host, js_at(content, i), left);
    buf_release(&url);
    js_free(extras);
}

static void render_assistant(struct buf *out, const struct message *message, struct str provider)
{
    struct remaining left = {message->text, 0, provider};
    if (message_says_nothing(message))
        return;
    render_extras(out, message, &left);
    said_item(out, left.text);
    while (left.next_call < message->call_count)
        call_item(out, message, left.next_call++, provider);
}

static void render_message(const struct message *message, struct str provider, struct buf *out)
{
    switch (message->role) {
    case MESSAGE_SYSTEM:
        buf_char(out, 'S');
        json_quote(out, message->text);
        buf_char(out, '\n');
        break;
    case MESSAGE_USER:
        text_item(out, "user", "input_text", message->text.n > 0 ? message->text : STR("(empty)"));
        break;
    case MESSAGE_ASSISTANT:
        render_assistant(out, message, provider);
        break;
    case MESSAGE_TOOL:
        result_item(out, message, provider);
        break;
    }
}

void responses_render_group(const struct message_group *group, struct buf *out)
{
    for (size_t i = 0; i < group->count; i++)
        render_message(&group->messages[i], group->provider, out);
}

/* --- the body ---------------------------------------------------------------------------------------- */

struct line {
    char kind;
    struct str host; /* R only */
    struct str json;
};

/* Takes the first line from text; false at the end. */
static bool take_line(struct str *text, struct line *line)
{
    const char *end = text->n > 0 ? memchr(text->p, '\n', text->n) : NULL;
    if (!end)
        return false;
    size_t n = (size_t)(end - text->p);
    *line = (struct line){text->p[0], STR_NONE, {text->p + 1, n - 1}};
    const char *space = line->kind == 'R' ? memchr(line->json.p, ' ', line->json.n) : NULL;
    if (space) {
        line->host = (struct str){line->json.p, (size_t)(space - line->json.p)};
        line->json = (struct str){space + 1, line->json.n - line->host.n - 1};
    }
    *text = (struct str){end + 1, text->n - n - 1};
    return true;
}

/* The system texts before all items become one; *text is what follows them. */
static void write_instructions(struct jw *w, struct str *text)
{
    struct str rest = *text;
    struct line line;
    struct buf joined;
    buf_init(&joined, text->n + 2);
    while (take_line(&rest, &line) && line.kind == 'S') {
        buf_text(&joined, joined.n == 0 ? "\"" : "\\n\\n");
        buf_str(&joined, (struct str){line.json.p + 1, line.json.n - 2}); /* without its quotes */
        *text = rest;
    }
    buf_char(&joined, '"');
    if (joined.n > 1)
        jw_kraw(w, "instructions", buf_view(&joined));
    buf_release(&joined);
}

static void write_system(struct jw *w, struct str text)
{
    jw_object(w);
    jw_ktext(w, "type", "message");
    jw_ktext(w, "role", "system");
    jw_key(w, "content");
    jw_array(w);
    jw_object(w);
    jw_ktext(w, "type", "input_text");
    jw_kraw(w, "text", text);
    jw_end_object(w);
    jw_end_array(w);
    jw_end_object(w);
}

enum reasoning_use { REASONING_DROPPED, REASONING_ECHOED };

static void write_input(struct jw *w, struct str text, struct str host, enum reasoning_use use)
{
    struct line line;
    size_t count = 0;
    jw_key(w, "input");
    jw_array(w);
    for (; take_line(&text, &line); count++) {
        if (line.kind == 'S')
            write_system(w, line.json);
        else if (line.kind == 'I' ||
                 (use == REASONING_ECHOED && responses_host_eq(line.host, host)))
            jw_raw(w, line.json);
    }
    if (count == 0) /* the API wants something to answer */
        jw_raw(w, STR("{\"type\":\"message\",\"role\":\"user\",\"content\":["
                      "{\"type\":\"input_text\",\"text\":\"Continue.\"}]}"));
    jw_end_array(w);
}

static void begin_tool(struct jw *w, const struct model_tool *tool)
{
    jw_object(w);
    jw_ktext(w, "type", "function");
    jw_kstr(w, "name", tool->name);
    if (tool->description.n > 0)
        jw_kstr(w, "description", tool->description);
    jw_kraw(w, "parameters",
            tool->schema.n > 0 ? tool->schema : STR("{\"type\":\"object\",\"properties\":{}}"));
}

/* Strict is what the API takes by itself, and then every optional argument would become a required one. */
static void write_tool(struct jw *w, const struct model_tool *tool)
{
    begin_tool(w, tool);
    jw_kbool(w, "strict", false);
    jw_end_object(w);
}

/* For servers that do not know "strict". */
static void write_plain_tool(struct jw *w, const struct model_tool *tool)
{
    begin_tool(w, tool);
    jw_end_object(w);
}

static void write_format(struct jw *w, const struct model_request *request, struct dialect *dialect)
{
    enum schema_fit fit = params_schema(request, dialect);
    if (fit == SCHEMA_UNFIT || !dialect_sends(dialect, SENDS_FORMAT))
        return;
    jw_key(w, "text");
    jw_object(w);
    jw_key(w, "format");
    jw_object(w);
    jw_ktext(w, "type", "json_schema");
    jw_ktext(w, "name", "answer");
    jw_kraw(w, "schema", request->schema);
    if (dialect_sends(dialect, SENDS_STRICT))
        jw_kbool(w, "strict", fit == SCHEMA_STRICT);
    jw_end_object(w);
    jw_end_object(w);
}

static void write_reasoning(struct jw *w, const struct model_request *request,
                            struct dialect *dialect)
{
    const char *effort = params_effort(request, dialect);
    if (!effort || !dialect_sends(dialect, SENDS_EFFORT))
        return;
    jw_key(w, "reasoning");
    jw_object(w);
    jw_ktext(w, "effort", effort);
    if (dialect_sends(dialect, SENDS_SUMMARY))
        jw_ktext(w, "summary", "auto");
    jw_end_object(w);
}

void responses_render_body(const struct model_request *request, struct dialect *dialect,
                           struct buf *out)
{
    struct str text = request->fragments;
    enum reasoning_use use =
        dialect_sends(dialect, SENDS_SEALED) ? REASONING_ECHOED : REASONING_DROPPED;
    int64_t limit = request->max_output_tokens;
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    jw_kstr(&w, "model", request->model);
    write_instructions(&w, &text);
    write_input(&w, text, responses_host(request->base_url), use);
    bool strict = request->tool_count > 0 && dialect_sends(dialect, SENDS_STRICT);
    tools_write(&w, request, strict ? write_tool : write_plain_tool);
    jw_kbool(&w, "stream", true);
    jw_kbool(&w, "store", false);
    if (use == REASONING_ECHOED)
        jw_kraw(&w, "include", STR("[\"reasoning.encrypted_content\"]"));
    if (limit > 0 && dialect_sends(dialect, SENDS_LIMIT))
        jw_kint(&w, dialect->limit, limit < RESPONSES_OUTPUT_MIN ? RESPONSES_OUTPUT_MIN : limit);
    params_write_sampling(&w, request, dialect, 2);
    write_reasoning(&w, request, dialect);
    if (request->cache_key.n > 0 && dialect_sends(dialect, SENDS_CACHE_KEY))
        jw_kstr(&w, "prompt_cache_key", request->cache_key);
    write_format(&w, request, dialect);
    jw_end_object(&w);
}
