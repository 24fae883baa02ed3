/* Renders messages to lines of content blocks, and lines to request bodies; see the header for the format. Does not send
 * them. Pure; any thread. */
#include "model/anthropic_render.h"

#include <math.h>

#include "base/json.h"
#include "model/anthropic_extras.h"
#include "model/marks.h"
#include "model/tool_name.h"
#include "model/tools_text.h"

/* The API keeps what it has read of a request up to a block with this mark. */
#define CACHE_MARK ",\"cache_control\":{\"type\":\"ephemeral\"}}"

static bool is_blank(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!strchr(" \t\r\n\v\f", text.p[i]) || text.p[i] == '\0')
            return false;
    return true;
}

/* --- fragments --------------------------------------------------------------------------------------- */

static void begin_line(struct buf *out, char kind, struct jw *w)
{
    buf_char(out, kind);
    jw_init(w, out);
    jw_object(w);
}

static void end_line(struct jw *w)
{
    jw_end_object(w);
    buf_char(w->out, '\n');
}

static void text_line(struct buf *out, char kind, struct str text)
{
    struct jw w;
    if (is_blank(text)) /* the API refuses blocks that say nothing */
        return;
    begin_line(out, kind, &w);
    jw_ktext(&w, "type", "text");
    jw_kstr(&w, "text", text);
    end_line(&w);
}

/* Ids of other APIs may have characters that this one refuses. */
static void write_id(struct jw *w, const char *key, struct str id)
{
    char made[HASH_HEX + 1];
    if (!tool_name_fits(id))
        id = marks_id(id, made);
    jw_kstr(w, key, id);
}

static void call_line(struct buf *out, const struct tool_call *call)
{
    char name[TOOL_NAME_MAX];
    struct jw w;
    begin_line(out, 'A', &w);
    jw_ktext(&w, "type", "tool_use");
    write_id(&w, "id", call->id);
    jw_kstr(&w, "name", tool_name(call->name, name));
    size_t start = out->n;
    jw_kraw(&w, "input", call->arguments.n > 0 ? call->arguments : STR("{}"));
    /* Line breaks between the tokens of the model's own JSON. */
    for (size_t i = start; i < out->n; i++)
        if (out->p[i] == '\n' || out->p[i] == '\r')
            out->p[i] = ' ';
    end_line(&w);
}

static void result_line(struct buf *out, const struct message *message)
{
    struct jw w;
    begin_line(out, 'R', &w);
    jw_ktext(&w, "type", "tool_result");
    write_id(&w, "tool_use_id", message->call_id);
    if (!is_blank(message->text))
        jw_kstr(&w, "content", message->text);
    else if (message->outcome == TOOL_ERROR) /* an error must say something */
        jw_ktext(&w, "content", "Error");
    if (message->outcome == TOOL_ERROR)
        jw_kbool(&w, "is_error", true);
    end_line(&w);
}

/* What is left to render of an assistant message. */
struct remaining {
    struct str text;
    size_t next_call;
};

static bool is_echo(const struct js *entry)
{
    struct str type = js_get_str(entry, "type");
    return str_is(type, "thinking") || str_is(type, "redacted_thinking");
}

/* One entry of the extras: an echoed block, or a mark for text or a call. */
static void extra_line(struct buf *out, const struct message *message, const struct js *entry,
                       struct remaining *left)
{
    int64_t bytes = js_get_int(entry, "text", 0);
    if (is_echo(entry)) {
        buf_char(out, 'A');
        js_print(entry, out);
        buf_char(out, '\n');
    } else if (bytes > 0) {
        text_line(out, 'A', (struct str){left->text.p, (size_t)bytes});
        left->text = (struct str){left->text.p + bytes, left->text.n - (size_t)bytes};
    } else if (left->next_call < message->call_count) {
        call_line(out, &message->calls[left->next_call++]);
    }
}

static void render_extras(struct buf *out, const struct message *message, struct remaining *left)
{
    struct err ignored = ERR_INIT;
    struct js *extras = message->extras.n > 0 ? js_parse(message->extras, &ignored) : NULL;
    const struct js *content = js_get(extras, "content");
    if (str_is(js_get_str(extras, "api"), ANTHROPIC_EXTRAS_API) && js_kind(content) == JS_ARRAY &&
        marks_fit(content, message->text))
        for (size_t i = 0; i < marks_count(content, message->call_count, is_echo); i++)
            extra_line(out, message, js_at(content, i), left);
    js_free(extras);
}

static void render_assistant(struct buf *out, const struct message *message)
{
    struct remaining left = {message->text, 0};
    if (is_blank(message->text) && message->call_count == 0)
        return;
    render_extras(out, message, &left);
    text_line(out, 'A', left.text);
    while (left.next_call < message->call_count)
        call_line(out, &message->calls[left.next_call++]);
}

void anthropic_render_message(const struct message *message, struct buf *out)
{
    switch (message->role) {
    case MESSAGE_SYSTEM:
        text_line(out, 'S', message->text);
        break;
    case MESSAGE_USER:
        text_line(out, 'U', is_blank(message->text) ? STR("(empty)") : message->text);
        break;
    case MESSAGE_ASSISTANT:
        render_assistant(out, message);
        break;
    case MESSAGE_TOOL:
        result_line(out, message);
        break;
    }
}

/* --- the body ---------------------------------------------------------------------------------------- */

struct line {
    char kind;
    struct str block;
};

/* Takes the first line from text; false at the end. */
static bool take_line(struct str *text, struct line *line)
{
    const char *end = text->n > 0 ? memchr(text->p, '\n', text->n) : NULL;
    if (!end)
        return false;
    size_t n = (size_t)(end - text->p);
    *line = (struct line){text->p[0], {text->p + 1, n - 1}};
    *text = (struct str){end + 1, text->n - n - 1};
    return true;
}

static bool is_for(char kind, const char *kinds)
{
    return strchr(kinds, kind) != NULL;
}

/* Takes the lines of one message; system lines between them do not part it. *last is the last block of a kind in
 * `order`, which lists kinds in the order in which the API wants them. */
static struct str take_message(struct str *text, const char *order, struct str *last)
{
    struct str message = *text, rest = *text;
    struct line line;
    size_t best = 0;
    *last = STR_NONE;
    while (take_line(&rest, &line)) {
        if (line.kind != 'S' && !is_for(line.kind, order))
            break;
        *text = rest;
        size_t rank = line.kind == 'S' ? 0 : (size_t)(strchr(order, line.kind) - order) + 1;
        if (rank > 0 && rank >= best) {
            best = rank;
            *last = line.block;
        }
    }
    message.n -= text->n;
    return message;
}

enum cache_mark { CACHE_NONE, CACHE_HERE };

static void write_block(struct jw *w, struct str block, enum cache_mark mark)
{
    jw_raw(w, mark == CACHE_HERE ? (struct str){block.p, block.n - 1} : block);
    if (mark == CACHE_HERE)
        buf_text(w->out, CACHE_MARK);
}

/* All blocks of one kind; `marked` is the one that gets the mark. */
static void write_blocks(struct jw *w, struct str text, char kind, struct str marked)
{
    struct line line;
    while (take_line(&text, &line))
        if (line.kind == kind)
            write_block(w, line.block, line.block.p == marked.p ? CACHE_HERE : CACHE_NONE);
}

static void begin_message(struct jw *w, const char *role)
{
    jw_object(w);
    jw_ktext(w, "role", role);
    jw_key(w, "content");
    jw_array(w);
}

static void end_message(struct jw *w)
{
    jw_end_array(w);
    jw_end_object(w);
}

/* A conversation begins and ends with the user, whatever was said. */
static void write_filler(struct jw *w, const char *text)
{
    begin_message(w, "user");
    jw_object(w);
    jw_ktext(w, "type", "text");
    jw_ktext(w, "text", text);
    jw_end_object(w);
    end_message(w);
}

static void write_system(struct jw *w, struct str text)
{
    struct str rest = text, last = STR_NONE;
    struct line line;
    while (take_line(&rest, &line))
        if (line.kind == 'S')
            last = line.block;
    if (!last.p)
        return;
    jw_key(w, "system");
    jw_array(w);
    write_blocks(w, text, 'S', last);
    jw_end_array(w);
}

static void write_messages(struct jw *w, struct str text)
{
    struct str last;
    enum { TURN_NONE, TURN_USER, TURN_ASSISTANT } turn = TURN_NONE;
    jw_key(w, "messages");
    jw_array(w);
    for (size_t before = text.n + 1; text.n > 0 && text.n < before;) {
        before = text.n;
        struct str user = take_message(&text, "RU", &last);
        if (last.p) {
            begin_message(w, "user");
            write_blocks(w, user, 'R', text.n == 0 ? last : STR_NONE);
            write_blocks(w, user, 'U', text.n == 0 ? last : STR_NONE);
            end_message(w);
            turn = TURN_USER;
        }
        struct str assistant = take_message(&text, "A", &last);
        if (!last.p)
            continue;
        if (turn == TURN_NONE)
            write_filler(w, "(start)");
        begin_message(w, "assistant");
        write_blocks(w, assistant, 'A', STR_NONE);
        end_message(w);
        turn = TURN_ASSISTANT;
    }
    if (turn != TURN_USER)
        write_filler(w, "Continue.");
    jw_end_array(w);
}

static void write_tool(struct jw *w, const struct model_tool *tool)
{
    jw_object(w);
    jw_kstr(w, "name", tool->name);
    if (tool->description.n > 0)
        jw_kstr(w, "description", tool->description);
    jw_kraw(w, "input_schema",
            tool->schema.n > 0 ? tool->schema : STR("{\"type\":\"object\",\"properties\":{}}"));
    jw_end_object(w);
}

static bool has_calls(struct str text)
{
    static const struct str call = {"{\"type\":\"tool_use\"", 18};
    struct line line;
    while (take_line(&text, &line))
        if (line.kind == 'R' || (line.kind == 'A' && str_starts(line.block, call)))
            return true;
    return false;
}

static void write_tools(struct jw *w, const struct model_request *request)
{
    static const struct model_tool none = {
        {"none", 4}, {"No tool can be called now.", 26}, {NULL, 0}};
    tools_write(w, request, write_tool);
    /* The API refuses calls in a conversation that defines no tools. */
    if (request->tool_count > 0 || !has_calls(request->fragments))
        return;
    jw_key(w, "tools");
    jw_array(w);
    write_tool(w, &none);
    jw_end_array(w);
    jw_kraw(w, "tool_choice", STR("{\"type\":\"none\"}"));
}

void anthropic_render_body(const struct model_request *request, struct buf *out)
{
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    jw_kstr(&w, "model", request->model);
    jw_kint(&w, "max_tokens",
            request->max_output_tokens > 0 ? request->max_output_tokens : ANTHROPIC_OUTPUT_TOKENS);
    write_system(&w, request->fragments);
    write_messages(&w, request->fragments);
    write_tools(&w, request);
    jw_kbool(&w, "stream", true);
    if (request->params && isfinite(request->params->temperature)) {
        jw_key(&w, "temperature");
        jw_real(&w, request->params->temperature > 1 ? 1 : request->params->temperature);
    }
    jw_end_object(&w);
}
