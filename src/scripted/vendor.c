/* See vendor.h. Each rule names the page that it is from. */
#include "scripted/vendor.h"

#include <stdio.h>

#include "base/utf8.h"
#include "scripted/anthropic.h"
#include "scripted/script.h"

int vendor_refuses(const struct asked *asked, struct refusal *refusal)
{
    const struct js *names = asked->model->refuses;
    for (size_t i = 0; i < js_count(names); i++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", STR_FMT(js_str(js_at(names, i))));
        if (js_get(asked->document, name) == NULL)
            continue;
        if (asked->api == ASKED_MESSAGES)
            return anthropic_refuse(refusal, name, "Extra inputs are not permitted");
        return refusal_set(refusal, 400, "unsupported_parameter", name,
                           "Unsupported parameter: '%s' is not supported with this model.", name);
    }
    return 0;
}

/* --- Chat Completions ------------------------------------------------------------------------- */

/* OpenAI's guide "Reasoning models": max_completion_tokens, and no sampling parameters. */
static bool is_new_family(struct str model)
{
    static const char *const families[] = {"gpt-5", "gpt-6", "o1", "o3", "o4"};
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        if (str_starts(model, str_from(families[i])))
            return true;
    return false;
}

static int check_family(const struct asked *asked, struct refusal *refusal)
{
    static const char *const sampling[] = {"temperature", "top_p"};
    if (!is_new_family(asked->model->id))
        return 0;
    if (js_kind(js_get(asked->document, "max_tokens")) == JS_INT)
        return refusal_set(refusal, 400, "unsupported_parameter", "max_tokens",
                           "Unsupported parameter: 'max_tokens' is not supported with this model. "
                           "Use 'max_completion_tokens' instead.");
    for (size_t i = 0; i < 2; i++) {
        double value = js_real(js_get(asked->document, sampling[i]), 1);
        if (value < 1 || value > 1)
            return refusal_set(refusal, 400, "unsupported_value", sampling[i],
                               "Unsupported value: '%s' does not support %g with this model. Only "
                               "the default (1) value is supported.",
                               sampling[i], value);
    }
    return 0;
}

/* Mistral's API answers so to any other shape of an id. */
static int check_id(struct str id, struct refusal *refusal)
{
    bool fits = id.n == VENDOR_MISTRAL_ID;
    for (size_t i = 0; i < id.n && fits; i++)
        fits = (id.p[i] >= 'a' && id.p[i] <= 'z') || (id.p[i] >= 'A' && id.p[i] <= 'Z') ||
               (id.p[i] >= '0' && id.p[i] <= '9');
    if (fits)
        return 0;
    return refusal_set(refusal, 400, "3280", NULL,
                       "Tool call id was %.*s but must be a-z, A-Z, 0-9, with a length of 9.",
                       STR_FMT(utf8_cut(id, 100)));
}

static int check_ids(const struct js *messages, struct refusal *refusal)
{
    for (size_t i = 0; i < js_count(messages); i++) {
        const struct js *message = js_at(messages, i), *calls = js_get(message, "tool_calls");
        struct str answered = js_get_str(message, "tool_call_id");
        for (size_t c = 0; c < js_count(calls); c++)
            if (check_id(js_get_str(js_at(calls, c), "id"), refusal) != 0)
                return -1;
        if (answered.p != NULL && check_id(answered, refusal) != 0)
            return -1;
    }
    return 0;
}

/* Templates of Mistral, Gemma and others (tokenizer_config.json, chat_template): one system
 * message at most, at the start; from then on messages of the user and answers without calls
 * take turns. Calls and their results stand between them. */
static int check_alternation(const struct js *messages, struct refusal *refusal)
{
    enum { TURN_USER, TURN_ASSISTANT } turn = TURN_USER;
    for (size_t i = 0; i < js_count(messages); i++) {
        const struct js *message = js_at(messages, i);
        struct str role = js_get_str(message, "role");
        bool user = str_is(role, "user");
        bool calls = js_count(js_get(message, "tool_calls")) > 0;
        if ((i == 0 && str_is(role, "system")) || str_is(role, "tool") || calls)
            continue;
        bool empty = !user && js_get_str(message, "content").n == 0;
        if (empty || str_is(role, "system") || user != (turn == TURN_USER))
            return refusal_set(refusal, 400, NULL, NULL,
                               "After the optional system message, conversation roles must "
                               "alternate user/assistant/user/assistant/... (message %zu, %.*s)",
                               i, STR_FMT(role));
        turn = user ? TURN_ASSISTANT : TURN_USER;
    }
    return 0;
}

int vendor_chat(const struct asked *asked, const struct script *script, struct refusal *refusal)
{
    const struct js *messages = js_get(asked->document, "messages");
    if (check_family(asked, refusal) != 0)
        return -1;
    if (script->ids == SCRIPT_IDS_MISTRAL && check_ids(messages, refusal) != 0)
        return -1;
    return script->roles == SCRIPT_ROLES_ALTERNATE ? check_alternation(messages, refusal) : 0;
}

/* --- Messages --------------------------------------------------------------------------------- */

/* "claude-opus-4-7" and what came after it: Anthropic's guide "Adaptive thinking". */
static bool is_adaptive_only(struct str model)
{
    static const char *const starts[] = {"claude-opus-4-7", "claude-opus-4-8", "claude-opus-5",
                                         "claude-sonnet-5"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (str_starts(model, str_from(starts[i])))
            return true;
    return false;
}

/* Anthropic's guide "Extended thinking": within a loop of calls the last turn begins with its
 * thoughts. */
static int check_loop(const struct js *messages, struct refusal *refusal)
{
    size_t count = js_count(messages);
    const struct js *last = js_get(js_at(messages, count > 0 ? count - 1 : 0), "content");
    const struct js *turn = count > 1 ? js_get(js_at(messages, count - 2), "content") : NULL;
    struct str first = js_get_str(js_at(js_kind(turn) == JS_ARRAY ? turn : NULL, 0), "type");
    bool answered =
        js_kind(last) == JS_ARRAY && str_is(js_get_str(js_at(last, 0), "type"), "tool_result");
    if (!answered || str_is(first, "thinking") || str_is(first, "redacted_thinking"))
        return 0;
    char path[64];
    snprintf(path, sizeof path, "messages.%zu.content.0.type", count - 2);
    return anthropic_refuse(refusal, path,
                            "Expected `thinking` or `redacted_thinking`, but found `%.*s`. When "
                            "`thinking` is enabled, a final `assistant` message must start with a "
                            "thinking block",
                            STR_FMT(first));
}

int vendor_messages(const struct asked *asked, struct refusal *refusal)
{
    const struct js *root = asked->document;
    bool enabled = str_is(js_get_str(js_get(root, "thinking"), "type"), "enabled");
    if (is_adaptive_only(asked->model->id) && js_get(root, "temperature") != NULL)
        return anthropic_refuse(refusal, "", "`temperature` is deprecated for this model.");
    if (enabled && is_adaptive_only(asked->model->id))
        return anthropic_refuse(
            refusal, "",
            "\"thinking.type.enabled\" is not supported for this model. Use "
            "\"thinking.type.adaptive\" and \"output_config.effort\" to control "
            "thinking behavior.");
    return enabled ? check_loop(js_get(root, "messages"), refusal) : 0;
}
