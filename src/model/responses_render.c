/* Renders messages to lines of input items, and lines to request bodies; see the header for the format. Does not send
 * them. Pure; any thread. */
#include "model/responses_render.h"

#include <math.h>

#include "base/json.h"
#include "model/marks.h"
#include "model/responses_extras.h"
#include "model/tool_name.h"
#include "model/tools_text.h"

#define CALL_ID_MAX ((size_t)64)

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

static void said_item(struct buf *out, struct str text)
{
    if (text.n > 0)
        text_item(out, "assistant", "output_text", text);
}

static void write_id(struct jw *w, struct str id)
{
    char made[HASH_HEX + 1];
    if (id.n == 0 || id.n > CALL_ID_MAX)
        id = marks_id(id, made);
    jw_kstr(w, "call_id", id);
}

/* Without the item's own id: the API would look for the reasoning that came with it. */
static void call_item(struct buf *out, const struct tool_call *call)
{
    char name[TOOL_NAME_MAX];
    struct jw w;
    begin_item(out, "function_call", &w);
    write_id(&w, call->id);
    jw_kstr(&w, "name", tool_name(call->name, name));
    jw_kstr(&w, "arguments", call->arguments.n > 0 ? call->arguments : STR("{}"));
    end_item(&w);
}

static void result_item(struct buf *out, const struct message *message)
{
    struct jw w;
    begin_item(out, "function_call_output", &w);
    write_id(&w, message->call_id);
    jw_kstr(&w, "output", message->text.p ? message->text : STR(""));
    end_item(&w);
}

/* What is left to render of an assistant message. */
struct remaining {
    struct str text;
    size_t next_call;
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
        call_item(out, &message->calls[left->next_call++]);
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

static void render_assistant(struct buf *out, const struct message *message)
{
    struct remaining left = {message->text, 0};
    render_extras(out, message, &left);
    said_item(out, left.text);
    while (left.next_call < message->call_count)
        call_item(out, &message->calls[left.next_call++]);
}

void responses_render_message(const struct message *message, struct buf *out)
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
        render_assistant(out, message);
        break;
    case MESSAGE_TOOL:
        result_item(out, message);
        break;
    }
}

/* --- the body ---------------------------------------------------------------------------------------- */

/* Models of OpenAI's that do not reason: they refuse reasoning items, and to be asked for them. The list is closed, because
 * all that came later do. Gateways put a vendor before the name, fine-tuning a mark. */
static bool reasons(struct str model)
{
    static const char *const plain[] = {"gpt-3.5", "gpt-4", "chatgpt-", "gpt-5-chat"};
    for (size_t i = model.n; i-- > 0;)
        if (model.p[i] == '/') {
            model = (struct str){model.p + i + 1, model.n - i - 1};
            break;
        }
    if (str_starts(model, STR("ft:")))
        model = (struct str){model.p + 3, model.n - 3};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (str_starts(model, str_from(plain[i])))
            return false;
    return true;
}

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

/* Strict is what the API takes by itself, and then every optional argument would become a required one. */
static void write_tool(struct jw *w, const struct model_tool *tool)
{
    jw_object(w);
    jw_ktext(w, "type", "function");
    jw_kstr(w, "name", tool->name);
    if (tool->description.n > 0)
        jw_kstr(w, "description", tool->description);
    jw_kraw(w, "parameters",
            tool->schema.n > 0 ? tool->schema : STR("{\"type\":\"object\",\"properties\":{}}"));
    jw_kbool(w, "strict", false);
    jw_end_object(w);
}

void responses_render_body(const struct model_request *request, struct buf *out)
{
    struct str text = request->fragments;
    enum reasoning_use use = reasons(request->model) ? REASONING_ECHOED : REASONING_DROPPED;
    int64_t limit = request->max_output_tokens;
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    jw_kstr(&w, "model", request->model);
    write_instructions(&w, &text);
    write_input(&w, text, responses_host(request->base_url), use);
    tools_write(&w, request, write_tool);
    jw_kbool(&w, "stream", true);
    jw_kbool(&w, "store", false);
    if (use == REASONING_ECHOED)
        jw_kraw(&w, "include", STR("[\"reasoning.encrypted_content\"]"));
    if (limit > 0)
        jw_kint(&w, "max_output_tokens",
                limit < RESPONSES_OUTPUT_MIN ? RESPONSES_OUTPUT_MIN : limit);
    if (request->params && isfinite(request->params->temperature)) {
        jw_key(&w, "temperature");
        jw_real(&w, request->params->temperature);
    }
    jw_end_object(&w);
}
