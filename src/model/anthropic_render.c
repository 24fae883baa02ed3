/* Renders messages to lines of content blocks, and lines to request bodies; see the header for the format. Does not send
 * them. Pure; any thread. */
#include "model/anthropic_render.h"

#include "base/json.h"
#include "model/anthropic_extras.h"
#include "model/call_id.h"
#include "model/marks.h"
#include "model/params_text.h"
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

/* A provider's own id may come from another of its APIs, with characters that this one refuses. */
static struct str plain_id(struct str id, struct str ours, char out[CALL_ID_DERIVED])
{
    return tool_name_fits(id) ? id : call_id_derived(ours, out);
}

static void call_line(struct buf *out, const struct message *message, size_t which,
                      struct str provider)
{
    const struct tool_call *call = &message->calls[which];
    char name[TOOL_NAME_MAX], id[CALL_ID_DERIVED];
    struct jw w;
    begin_line(out, 'A', &w);
    jw_ktext(&w, "type", "tool_use");
    jw_kstr(&w, "id", plain_id(call_id_of(message, which, provider, id), call->id, id));
    jw_kstr(&w, "name", tool_name(call->name, name));
    size_t start = out->n;
    jw_kraw(&w, "input", call->arguments.n > 0 ? call->arguments : STR("{}"));
    /* Line breaks between the tokens of the model's own JSON. */
    for (size_t i = start; i < out->n; i++)
        if (out->p[i] == '\n' || out->p[i] == '\r')
            out->p[i] = ' ';
    end_line(&w);
}

static void result_line(struct buf *out, const struct message *message, struct str provider)
{
    char id[CALL_ID_DERIVED];
    struct jw w;
    begin_line(out, 'R', &w);
    jw_ktext(&w, "type", "tool_result");
    jw_kstr(&w, "tool_use_id",
            plain_id(call_id_answered(message, provider, id), message->call_id, id));
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
    struct str provider; /* that is asked */
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
        /* A signature counts for the server that made it. */
        if (message->origins && !str_eq(message->origins[0].provider, left->provider))
            return;
        buf_char(out, 'A');
        js_print(entry, out);
        buf_char(out, '\n');
    } else if (bytes > 0) {
        text_line(out, 'A', (struct str){left->text.p, (size_t)bytes});
        left->text = (struct str){left->text.p + bytes, left->text.n - (size_t)bytes};
    } else if (left->next_call < message->call_count) {
        call_line(out, message, left->next_call++, left->provider);
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

static void render_assistant(struct buf *out, const struct message *message, struct str provider)
{
    struct remaining left = {message->text, 0, provider};
    if (message_says_nothing(message))
        return;
    render_extras(out, message, &left);
    text_line(out, 'A', left.text);
    while (left.next_call < message->call_count)
        call_line(out, message, left.next_call++, provider);
}

static void render_message(const struct message *message, struct str provider, struct buf *out)
{
    switch (message->role) {
    case MESSAGE_SYSTEM:
        text_line(out, 'S', message->text);
        break;
    case MESSAGE_USER:
        text_line(out, 'U', is_blank(message->text) ? STR("(empty)") : message->text);
        break;
    case MESSAGE_ASSISTANT:
        render_assistant(out, message, provider);
        break;
    case MESSAGE_TOOL:
        result_line(out, message, provider);
        break;
    }
}

void anthropic_render_group(const struct message_group *group, struct buf *out)
{
    for (size_t i = 0; i < group->count; i++)
        render_message(&group->messages[i], group->provider, out);
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

static void write_system(struct jw *w, struct str text, struct dialect *dialect)
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
    write_blocks(w, text, 'S', dialect_sends(dialect, SENDS_CACHE_MARKS) ? last : STR_NONE);
    jw_end_array(w);
}

/* The last blocks of the last two user messages: what the next request of this conversation begins with. */
struct marked {
    struct str last, before;
};

static struct marked find_marked(struct str text)
{
    struct marked marked = {STR_NONE, STR_NONE};
    struct str last;
    for (size_t before = text.n + 1; text.n > 0 && text.n < before;) {
        before = text.n;
        take_message(&text, "RU", &last);
        if (last.p)
            marked = (struct marked){last, marked.last};
        take_message(&text, "A", &last);
    }
    return marked;
}

static void write_messages(struct jw *w, struct str text, struct dialect *dialect)
{
    struct marked marked = {STR_NONE, STR_NONE};
    struct str last;
    enum { TURN_NONE, TURN_USER, TURN_ASSISTANT } turn = TURN_NONE;
    if (dialect_sends(dialect, SENDS_CACHE_MARKS))
        marked = find_marked(text);
    jw_key(w, "messages");
    jw_array(w);
    for (size_t before = text.n + 1; text.n > 0 && text.n < before;) {
        before = text.n;
        struct str user = take_message(&text, "RU", &last);
        if (last.p) {
            bool marks = last.p == marked.last.p || last.p == marked.before.p;
            begin_message(w, "user");
            write_blocks(w, user, 'R', marks ? last : STR_NONE);
            write_blocks(w, user, 'U', marks ? last : STR_NONE);
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

static void write_tools(struct jw *w, const struct model_request *request, struct dialect *dialect)
{
    static const struct model_tool none = {
        {"none", 4}, {"No tool can be called now.", 26}, {NULL, 0}};
    tools_write(w, request, write_tool);
    if (request->tool_count > 0 && dialect_sends(dialect, SENDS_CACHE_MARKS) && w->out->n > 2) {
        w->out->n -= 2; /* the brackets of the last tool and of the list */
        buf_text(w->out, CACHE_MARK "]");
    }
    /* The API refuses calls in a conversation that defines no tools. */
    if (request->tool_count > 0 || !has_calls(request->fragments))
        return;
    jw_key(w, "tools");
    jw_array(w);
    write_tool(w, &none);
    jw_end_array(w);
    jw_kraw(w, "tool_choice", STR("{\"type\":\"none\"}"));
}

/* --- thinking --------------------------------------------------------------------------------------- */

/* Tokens to think with, by effort. */
static const struct {
    const char *effort;
    int64_t tokens;
} budgets[] = {
    {"low", 4096},
    {"medium", 10240},
    {"high", 20480},
    {"max", 32768},
};

/* What is left of the limit stays for the answer; 0: too little is left to think with. */
static int64_t thinking_budget(const char *effort, int64_t limit)
{
    int64_t answer = limit / 4 > ANTHROPIC_THINKING_MIN ? limit / 4 : ANTHROPIC_THINKING_MIN;
    int64_t budget = 0;
    for (size_t i = 0; i < sizeof budgets / sizeof budgets[0]; i++)
        if (strcmp(budgets[i].effort, effort) == 0)
            budget = budgets[i].tokens;
    if (budget > limit - answer)
        budget = limit - answer;
    return budget >= ANTHROPIC_THINKING_MIN ? budget : 0;
}

/* Within a loop of calls the API wants a budgeted turn to begin with its thoughts. A turn of another model has none. */
static bool may_think(struct str text)
{
    static const struct str thinking = {"{\"type\":\"thinking\"", 18},
                            redacted = {"{\"type\":\"redacted_thinking\"", 27};
    enum { THOUGHTS_NONE, THOUGHTS_FIRST } turn = THOUGHTS_FIRST;
    char before = 'U';
    struct line line;
    bool answered = false;
    while (take_line(&text, &line)) {
        if (line.kind == 'S')
            continue;
        if (line.kind == 'A' && before != 'A') {
            turn = str_starts(line.block, thinking) || str_starts(line.block, redacted)
                       ? THOUGHTS_FIRST
                       : THOUGHTS_NONE;
            answered = false;
        }
        answered |= line.kind == 'R';
        before = line.kind;
    }
    return !answered || turn == THOUGHTS_FIRST;
}

enum thinks { THINKS_NOT, THINKS };

static enum thinks write_thinking(struct jw *w, const struct model_request *request,
                                  struct dialect *dialect, const char *effort, int64_t limit)
{
    bool none = effort && strcmp(effort, "none") == 0;
    int64_t budget = 0;
    if (!effort)
        return THINKS_NOT;
    if (dialect->left_out & SENDS_THINKING) {
        dialect->withheld |= SENDS_THINKING;
        return THINKS_NOT;
    }
    if (dialect->thinking == THINKING_BUDGET) {
        budget = none || !may_think(request->fragments) ? 0 : thinking_budget(effort, limit);
        if (budget == 0)
            return THINKS_NOT;
    }
    dialect_sends(dialect, SENDS_THINKING);
    jw_key(w, "thinking");
    jw_object(w);
    jw_ktext(w, "type", none ? "disabled" : budget > 0 ? "enabled" : "adaptive");
    if (budget > 0)
        jw_kint(w, "budget_tokens", budget);
    jw_end_object(w);
    return none ? THINKS_NOT : THINKS;
}

/* The effort of models that think as much as they see fit, and the answer's schema. */
static void write_output_config(struct jw *w, const struct model_request *request,
                                struct dialect *dialect, const char *effort)
{
    bool format =
        params_schema(request, dialect) == SCHEMA_STRICT && dialect_sends(dialect, SENDS_FORMAT);
    bool efforts = effort && strcmp(effort, "none") != 0 &&
                   dialect->thinking == THINKING_ADAPTIVE && dialect_sends(dialect, SENDS_EFFORT);
    if (!format && !efforts)
        return;
    jw_key(w, "output_config");
    jw_object(w);
    if (efforts)
        jw_ktext(w, "effort", effort);
    if (format) {
        jw_key(w, "format");
        jw_object(w);
        jw_ktext(w, "type", "json_schema");
        jw_kraw(w, "schema", request->schema);
        jw_end_object(w);
    }
    jw_end_object(w);
}

/* Beside thinking the API refuses temperature, and top_p below 0.95. */
static void write_sampling(struct jw *w, const struct model_request *request,
                           struct dialect *dialect, enum thinks thinks)
{
    uint32_t left_out = dialect->left_out;
    if (thinks == THINKS)
        dialect->left_out |= SENDS_TEMPERATURE;
    if (thinks == THINKS && request->params && request->params->top_p < 0.95)
        dialect->left_out |= SENDS_TOP_P;
    params_write_sampling(w, request, dialect, 1);
    dialect->left_out = left_out;
    params_write_stop(w, request, dialect, "stop_sequences");
}

void anthropic_render_body(const struct model_request *request, struct dialect *dialect,
                           struct buf *out)
{
    const char *effort = params_effort(request, dialect);
    int64_t limit =
        request->max_output_tokens > 0 ? request->max_output_tokens : ANTHROPIC_OUTPUT_TOKENS;
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    jw_kstr(&w, "model", request->model);
    write_tools(&w, request, dialect);
    write_system(&w, request->fragments, dialect);
    write_messages(&w, request->fragments, dialect);
    if (dialect_sends(dialect, SENDS_LIMIT))
        jw_kint(&w, "max_tokens", limit);
    jw_kbool(&w, "stream", true);
    enum thinks thinks = write_thinking(&w, request, dialect, effort, limit);
    write_sampling(&w, request, dialect, thinks);
    write_output_config(&w, request, dialect, effort);
    jw_end_object(&w);
}
