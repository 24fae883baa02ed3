/* Fills in the script's templates, derives ids, stops at the output limit and counts tokens. Pure: any thread. */
#include "scripted/draft.h"

#include "base/utf8.h"
#include "scripted/template.h"
#include "scripted/vendor.h"

#define CALLS_MAX 10000

static const struct {
    const char *call, *answer;
} id_prefixes[] = {
    [ASKED_CHAT] = {"call_", "chatcmpl-"},
    [ASKED_MESSAGES] = {"toolu_", "msg_"},
    [ASKED_RESPONSES] = {"call_", "resp_"},
};

/* A prefix and hex digits of a hash over the conversation and the index. */
static void derive_id(char *out, const char *prefix, const struct hash *conversation,
                      uint64_t index)
{
    struct hasher hasher;
    hasher_init(&hasher);
    hasher_add(&hasher, conversation->bytes, sizeof conversation->bytes);
    hasher_str(&hasher, str_from(prefix));
    hasher_u64(&hasher, index);
    struct hash hash = hasher_end(&hasher);
    char hex[HASH_HEX + 1];
    hash_hex(&hash, hex);
    size_t n = strlen(prefix);
    memcpy(out, prefix, n);
    memcpy(out + n, hex, DRAFT_ID_HEX);
    out[n + DRAFT_ID_HEX] = '\0';
}

/* The id of the draft's next call: the script's own, or a derived one of the shape that the server wants. */
static void call_id(struct draft_call *call, struct str given, const struct script *script,
                    const struct asked *asked, size_t index)
{
    bool mistral = script->ids == SCRIPT_IDS_MISTRAL && asked->api == ASKED_CHAT;
    if (given.n > 0 && given.n < sizeof call->id) {
        memcpy(call->id, given.p, given.n);
        call->id[given.n] = '\0';
        return;
    }
    derive_id(call->id, mistral ? "" : id_prefixes[asked->api].call, &asked->conversation, index);
    if (mistral)
        call->id[VENDOR_MISTRAL_ID] = '\0';
}

static void draft_calls(struct draft *draft, const struct script *script, const struct asked *asked,
                        const struct script_match *match)
{
    const struct js *calls = match->reply->calls;
    size_t total = 0;
    for (size_t i = 0; i < js_count(calls) && total < CALLS_MAX; i++)
        total += (size_t)js_get_int(js_at(calls, i), "repeat", 1);
    total = total < CALLS_MAX ? total : CALLS_MAX;
    draft->calls = arena_alloc(&draft->arena, (total + 1) * sizeof *draft->calls);
    struct buf text;
    buf_init(&text, DRAFT_MAX);
    for (size_t i = 0; i < js_count(calls); i++) {
        const struct js *call = js_at(calls, i), *arguments = js_get(call, "arguments");
        int64_t repeat = js_get_int(call, "repeat", 1);
        for (int64_t r = 0; r < repeat && draft->call_count < total; r++) {
            struct template_values values = {asked, match, r};
            struct draft_call *out = &draft->calls[draft->call_count];
            struct jw w;
            buf_clear(&text);
            jw_init(&w, &text);
            if (js_kind(arguments) == JS_STRING) /* sent as it is: it may be no JSON at all */
                template_text(&values, js_str(arguments), &text);
            else if (arguments != NULL)
                template_json(&values, arguments, &w);
            else
                buf_text(&text, "{}");
            out->arguments = arena_copy(&draft->arena, buf_view(&text));
            out->name = js_get_str(call, "name");
            out->extra = js_get(call, "extra_content");
            call_id(out, js_get_str(call, "id"), script, asked, draft->call_count);
            draft->call_count++;
        }
    }
    buf_release(&text);
}

/* A real model stops at its output limit, wherever it is: in the text or inside a call's arguments. */
static void draft_limit(struct draft *draft, int64_t tokens, int64_t bytes_per_token)
{
    size_t left = (size_t)tokens * (size_t)bytes_per_token;
    if (draft->text.n > left) {
        draft->text.n = utf8_cut(buf_view(&draft->text), left).n;
        draft->call_count = 0;
        draft->state = DRAFT_CUT;
        return;
    }
    left -= draft->text.n;
    for (size_t i = 0; i < draft->call_count; i++) {
        struct draft_call *call = &draft->calls[i];
        if (call->name.n + call->arguments.n <= left) {
            left -= call->name.n + call->arguments.n;
            continue;
        }
        bool name_fits = call->name.n <= left;
        if (name_fits)
            call->arguments = utf8_cut(call->arguments, left - call->name.n);
        draft->call_count = name_fits ? i + 1 : i;
        draft->state = DRAFT_CUT;
        return;
    }
}

static void draft_usage(struct draft *draft, const struct script *script, const struct asked *asked,
                        const struct script_reply *reply)
{
    draft->usage_kind = reply->usage_kind;
    draft->usage = reply->usage;
    if (reply->usage_kind == USAGE_GIVEN) {
        draft->prompt_tokens = js_get_int(reply->usage, "prompt_tokens", 0);
        draft->completion_tokens = js_get_int(reply->usage, "completion_tokens", 0);
    } else if (reply->usage_kind == USAGE_ESTIMATED) {
        size_t bytes = draft->text.n;
        for (size_t i = 0; i < draft->call_count; i++)
            bytes += draft->calls[i].name.n + draft->calls[i].arguments.n;
        int64_t per = script->bytes_per_token;
        draft->prompt_tokens = asked->prompt_tokens;
        draft->completion_tokens = ((int64_t)bytes + per - 1) / per;
    }
}

void draft_make(struct draft *draft, const struct script *script, const struct asked *asked,
                const struct script_match *match)
{
    const struct script_reply *reply = match->reply;
    struct template_values values = {asked, match, 0};
    *draft = (struct draft){0};
    arena_init(&draft->arena);
    buf_init(&draft->thinking, DRAFT_MAX);
    buf_init(&draft->text, DRAFT_MAX);
    draft->reasoning = reply->reasoning;
    template_text(&values, reply->thinking, &draft->thinking);
    for (int64_t i = 0; i < reply->text_repeat && reply->text.n > 0 && !draft->text.failed; i++)
        template_text(&values, reply->text, &draft->text);
    derive_id(draft->id, id_prefixes[asked->api].answer, &asked->conversation, 0);
    draft_calls(draft, script, asked, match);
    draft_limit(draft,
                asked->output_limit == ASKED_NO_LIMIT ? asked->model->max_output
                                                      : asked->output_limit,
                script->bytes_per_token);
    if (reply->finish.p != NULL)
        draft->finish = reply->finish;
    else if (draft->state == DRAFT_CUT)
        draft->finish = STR("length");
    else
        draft->finish = draft->call_count > 0 ? STR("tool_calls") : STR("stop");
    draft_usage(draft, script, asked, reply);
}

void draft_release(struct draft *draft)
{
    buf_release(&draft->thinking);
    buf_release(&draft->text);
    arena_release(&draft->arena);
}

struct str draft_piece(struct str *text, size_t total, size_t chunks)
{
    size_t size = (total + chunks - 1) / chunks;
    struct str piece = utf8_cut(*text, size < 4 ? 4 : size);
    *text = (struct str){text->p + piece.n, text->n - piece.n};
    return piece;
}
