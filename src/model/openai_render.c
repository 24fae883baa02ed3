/* Renders messages and request bodies for Chat Completions. Does not send them. Pure; any thread.
 */
#include "model/openai_render.h"

#include "base/json.h"
#include "model/call_id.h"
#include "model/openai_extras.h"
#include "model/params_text.h"
#include "model/tool_name.h"
#include "model/tools_text.h"

static const char *role_name(enum message_role role)
{
    static const char *const names[] = {
        [MESSAGE_SYSTEM] = "system",
        [MESSAGE_USER] = "user",
        [MESSAGE_ASSISTANT] = "assistant",
        [MESSAGE_TOOL] = "tool",
    };
    return names[role];
}

static void render_call(struct jw *w, const struct message *message, size_t i, struct str provider,
                        const struct openai_echo *echo)
{
    const struct tool_call *call = &message->calls[i];
    char name[TOOL_NAME_MAX], id[CALL_ID_DERIVED];
    jw_object(w);
    jw_kstr(w, "id", call_id_of(message, i, provider, id));
    jw_ktext(w, "type", "function");
    jw_key(w, "function");
    jw_object(w);
    jw_kstr(w, "name", tool_name(call->name, name));
    jw_kstr(w, "arguments", call->arguments);
    jw_end_object(w);
    openai_echo_call(echo, i, w);
    jw_end_object(w);
}

/* The texts of a group with a blank line between them. */
static void render_texts(struct jw *w, const struct message_group *group)
{
    struct buf joined;
    size_t bytes = 1;
    for (size_t i = 0; i < group->count; i++)
        bytes += group->messages[i].text.n + 2;
    buf_init(&joined, bytes);
    for (size_t i = 0; i < group->count; i++) {
        const struct message *message = &group->messages[i];
        if (message->text.n == 0 || message_says_nothing(message))
            continue;
        if (joined.n > 0)
            buf_text(&joined, "\n\n");
        buf_str(&joined, message->text);
    }
    jw_str(w, buf_view(&joined));
    buf_release(&joined);
}

void openai_render_group(const struct message_group *group, struct buf *out)
{
    const struct message *message = &group->messages[0];
    char id[CALL_ID_DERIVED];
    struct jw w;
    struct openai_echo echo = openai_echo_of(message, group->provider);
    if (out->n > 0)
        buf_char(out, ',');
    jw_init(&w, out);
    jw_object(&w);
    jw_ktext(&w, "role", role_name(message->role));
    if (message->role == MESSAGE_TOOL)
        jw_kstr(&w, "tool_call_id", call_id_answered(message, group->provider, id));
    jw_key(&w, "content");
    if (message->text.n == 0 && message->call_count > 0)
        jw_null(&w);
    else if (group->count == 1)
        jw_str(&w, message->text.p ? message->text : STR(""));
    else
        render_texts(&w, group);
    if (message->role == MESSAGE_ASSISTANT && message->call_count > 0) {
        jw_key(&w, "tool_calls");
        jw_array(&w);
        for (size_t i = 0; i < message->call_count; i++)
            render_call(&w, message, i, group->provider, &echo);
        jw_end_array(&w);
    }
    openai_echo_message(&echo, &w);
    jw_end_object(&w);
    openai_echo_release(&echo);
}

static void render_tool(struct jw *w, const struct model_tool *tool)
{
    jw_object(w);
    jw_ktext(w, "type", "function");
    jw_key(w, "function");
    jw_object(w);
    jw_kstr(w, "name", tool->name);
    if (tool->description.n > 0)
        jw_kstr(w, "description", tool->description);
    jw_kraw(w, "parameters",
            tool->schema.n > 0 ? tool->schema : STR("{\"type\":\"object\",\"properties\":{}}"));
    jw_end_object(w);
    jw_end_object(w);
}

static void write_format(struct jw *w, const struct model_request *request, struct dialect *dialect)
{
    enum schema_fit fit = params_schema(request, dialect);
    if (fit == SCHEMA_UNFIT || !dialect_sends(dialect, SENDS_FORMAT))
        return;
    jw_key(w, "response_format");
    jw_object(w);
    jw_ktext(w, "type", "json_schema");
    jw_key(w, "json_schema");
    jw_object(w);
    jw_ktext(w, "name", "answer");
    jw_kraw(w, "schema", request->schema);
    if (fit == SCHEMA_STRICT && dialect_sends(dialect, SENDS_STRICT))
        jw_kbool(w, "strict", true);
    jw_end_object(w);
    jw_end_object(w);
}

static void write_params(struct jw *w, const struct model_request *request, struct dialect *dialect)
{
    const char *effort = params_effort(request, dialect);
    params_write_sampling(w, request, dialect, 2);
    params_write_stop(w, request, dialect, "stop");
    if (request->params && request->params->seed != PARAM_SEED_UNSET &&
        dialect_sends(dialect, SENDS_SEED))
        jw_kint(w, "seed", request->params->seed);
    if (effort && dialect_sends(dialect, SENDS_EFFORT))
        jw_ktext(w, "reasoning_effort", effort);
    if (request->cache_key.n > 0 && dialect_sends(dialect, SENDS_CACHE_KEY))
        jw_kstr(w, "prompt_cache_key", request->cache_key);
}

/* Whether a message of the user stands right behind a tool's result. Quotes within texts are escaped, so what is looked for
 * is found between messages only. */
static bool user_follows_tool(struct str fragments)
{
    static const char tool[] = ",{\"role\":\"tool\"", seam[] = "},{\"role\":\"";
    const char *p = fragments.p, *end = fragments.p + fragments.n;
    while (fragments.n > 0 && (p = memmem(p, (size_t)(end - p), tool, sizeof tool - 1))) {
        p = memmem(p + 1, (size_t)(end - p - 1), seam, sizeof seam - 1);
        if (!p)
            return false;
        struct str role = {p + sizeof seam - 1, (size_t)(end - p) - (sizeof seam - 1)};
        if (str_starts(role, STR("user\"")))
            return true;
    }
    return false;
}

/* Members of messages that hold reasoning, as they stand in fragments and as an edit finds them. Quotes within texts are
 * escaped, as above. */
static const struct {
    enum dialect_param param;
    const char *text, *path;
} echoes[] = {
    {SENDS_ECHOED_CONTENT, ",\"reasoning_content\":", "*.reasoning_content"},
    {SENDS_ECHOED_TEXT, ",\"reasoning\":", "*.reasoning"},
    {SENDS_ECHOED_DETAILS, ",\"reasoning_details\":", "*.reasoning_details"},
};
enum { ECHOES = sizeof echoes / sizeof echoes[0] };

/* The fragments without the reasoning that the server does not take. The result is a view of
 * `fragments` or of `kept`. */
static struct str drop_echoes(struct str fragments, struct dialect *dialect, struct buf *kept)
{
    struct body_edit edits[ECHOES];
    struct buf list;
    size_t count = 0;
    for (size_t i = 0; i < ECHOES && fragments.n > 0; i++)
        if (memmem(fragments.p, fragments.n, echoes[i].text, strlen(echoes[i].text)) &&
            !dialect_sends(dialect, echoes[i].param))
            edits[count++] = (struct body_edit){.path = echoes[i].path};
    if (count == 0)
        return fragments;
    buf_init(&list, fragments.n + 3);
    buf_char(&list, '[');
    buf_str(&list, fragments);
    buf_char(&list, ']');
    body_edit(buf_view(&list), edits, count, kept);
    buf_release(&list);
    return kept->n > 2 ? (struct str){kept->p + 1, kept->n - 2} : STR_NONE;
}

static void write_messages(struct jw *w, struct str fragments, struct dialect *dialect)
{
    struct buf kept;
    buf_init(&kept, fragments.n + 3);
    fragments = drop_echoes(fragments, dialect, &kept);
    jw_key(w, "messages");
    jw_array(w);
    if (user_follows_tool(fragments) && !dialect_sends(dialect, SENDS_USER_AFTER_TOOL))
        body_part_roles(fragments, w->out);
    else if (fragments.n > 0)
        jw_raw(w, fragments);
    jw_end_array(w);
    w->out->failed |= kept.failed;
    buf_release(&kept);
}

void openai_render_body(const struct model_request *request, struct dialect *dialect,
                        struct buf *out)
{
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    jw_kstr(&w, "model", request->model);
    write_messages(&w, request->fragments, dialect);
    tools_write(&w, request, render_tool);
    jw_kbool(&w, "stream", true);
    if (dialect_sends(dialect, SENDS_USAGE_WISH))
        jw_kraw(&w, "stream_options", STR("{\"include_usage\":true}"));
    if (request->max_output_tokens > 0 && dialect_sends(dialect, SENDS_LIMIT))
        jw_kint(&w, dialect->limit, request->max_output_tokens);
    write_params(&w, request, dialect);
    write_format(&w, request, dialect);
    jw_end_object(&w);
}
