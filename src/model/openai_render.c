/* Renders messages and request bodies for Chat Completions. Does not send them. Pure; any thread.
 */
#include "model/openai_render.h"

#include <math.h>

#include "base/json.h"
#include "model/openai_extras.h"
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

static void render_call(struct jw *w, const struct message *message, size_t i,
                        const struct openai_echo *echo)
{
    const struct tool_call *call = &message->calls[i];
    char name[TOOL_NAME_MAX];
    jw_object(w);
    jw_kstr(w, "id", call->id);
    jw_ktext(w, "type", "function");
    jw_key(w, "function");
    jw_object(w);
    jw_kstr(w, "name", tool_name(call->name, name));
    jw_kstr(w, "arguments", call->arguments);
    jw_end_object(w);
    openai_echo_call(echo, i, w);
    jw_end_object(w);
}

void openai_render_message(const struct message *message, struct buf *out)
{
    struct jw w;
    struct openai_echo echo = openai_echo_of(message);
    if (out->n > 0)
        buf_char(out, ',');
    jw_init(&w, out);
    jw_object(&w);
    jw_ktext(&w, "role", role_name(message->role));
    if (message->role == MESSAGE_TOOL)
        jw_kstr(&w, "tool_call_id", message->call_id);
    jw_key(&w, "content");
    if (message->text.n == 0 && message->call_count > 0)
        jw_null(&w);
    else
        jw_str(&w, message->text.p ? message->text : STR(""));
    if (message->role == MESSAGE_ASSISTANT && message->call_count > 0) {
        jw_key(&w, "tool_calls");
        jw_array(&w);
        for (size_t i = 0; i < message->call_count; i++)
            render_call(&w, message, i, &echo);
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

void openai_render_body(const struct model_request *request, struct buf *out)
{
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    jw_kstr(&w, "model", request->model);
    jw_key(&w, "messages");
    jw_array(&w);
    if (request->fragments.n > 0)
        jw_raw(&w, request->fragments);
    jw_end_array(&w);
    tools_write(&w, request, render_tool);
    jw_kbool(&w, "stream", true);
    jw_key(&w, "stream_options");
    jw_object(&w);
    jw_kbool(&w, "include_usage", true);
    jw_end_object(&w);
    if (request->max_output_tokens > 0)
        jw_kint(&w, OPENAI_OUTPUT_LIMIT_FIELD, request->max_output_tokens);
    if (request->params && isfinite(request->params->temperature)) {
        jw_key(&w, "temperature");
        jw_real(&w, request->params->temperature);
    }
    jw_end_object(&w);
}
