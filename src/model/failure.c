/* Reads errors in the shapes that model servers send, and turns them into a class and a
 * sentence. Does not decide about retries beyond the class. Pure; any thread. */
#include "model/failure.h"

#include <strings.h>

#include "base/utf8.h"

enum { SECRET_MIN = 4, SHAPE_DEPTH = 6 };

static const struct {
    int status;
    const char *advice;
} advices[] = {
    {400, "the server does not accept this request"},
    {401, "check the API key"},
    {402, "check the account's balance"},
    {403, "check that the API key may use this model"},
    {404, "check the model's name and the base URL"},
    {405, "check the base URL"},
    {413, "the request is too large for this server"},
    {429, "the server limits the rate of requests"},
};

/* What a server's words ask for, whatever the status. Matched anywhere, in any case, without
 * regard to quotes; the first row counts. */
#define OTHER_MODEL "this model does not take tools: choose another one"
static const struct {
    const char *words, *advice;
} hints[] = {
    /* llama.cpp (GitHub: ggml-org/llama.cpp, tools/server) */
    {"requires --jinja",
     "start llama-server with --jinja and a chat template that supports tools, or choose another "
     "model"},
    /* vLLM, "Tool calling" */
    {"--enable-auto-tool-choice",
     "start vLLM with --enable-auto-tool-choice and the --tool-call-parser of this model"},
    /* OpenRouter: no provider of this model takes them */
    {"no endpoints found that support tool", OTHER_MODEL},
    /* Ollama; Amazon Bedrock; DeepSeek, Mistral, Groq and gateways */
    {"not support tool",
     OTHER_MODEL ", or on a local server a chat template that supports them (llama.cpp: --jinja)"},
    {"nt support tool", OTHER_MODEL},
    {"tools is not supported", OTHER_MODEL},
    {"tools are not supported", OTHER_MODEL},
    {"tool use is not ", OTHER_MODEL},
    {"tool calling is not ", OTHER_MODEL},
    {"tool calls are not ", OTHER_MODEL},
    {"not support function call", OTHER_MODEL},
    {"function calling is not ", OTHER_MODEL},
    {"unsupported parameter: tools", OTHER_MODEL},
    {"unsupported parameter(s): tools", OTHER_MODEL},
};

/* Types and codes of errors that come again when the request is repeated. Matched anywhere in the
 * text. */
static const char *const final_kinds[] = {
    "invalid",        "authentication", "permission",    "not_found", "notfound", "badrequest",
    "bad_request",    "unauthorized",   "forbidden",     "quota",     "billing",  "unsupported",
    "content_filter", "context_length", "unprocessable", "too_large",
};

/* Types and codes that say "too much", and the status that says the same. */
static const struct {
    const char *word;
    int status;
} load_kinds[] = {
    {"overload", 529},           {"rate_limit", 429},      {"ratelimit", 429},
    {"too_many_requests", 429},  {"toomanyrequests", 429}, {"unavailable", 503},
    {"resource_exhausted", 429},
};

enum err_class failure_status_class(int status)
{
    bool retry = status == 408 || status == 409 || status == 429 || status >= 500;
    return retry ? ERR_RETRY : ERR_PROVIDER;
}

/* null, false, "" and {} are what servers send where there is no error. */
static bool says_something(const struct js *value)
{
    switch (js_kind(value)) {
    case JS_ABSENT:
    case JS_NULL:
        return false;
    case JS_BOOL:
        return js_bool(value, false);
    case JS_STRING:
        return js_str(value).n > 0;
    case JS_ARRAY:
    case JS_OBJECT:
        return js_count(value) > 0;
    case JS_INT:
    case JS_REAL:
        return js_real(value, 0) != 0;
    }
    return false;
}

/* Some servers wrap an error in an array. */
static const struct js *unwrapped(const struct js *root)
{
    return js_kind(root) == JS_ARRAY ? js_at(root, 0) : root;
}

bool failure_is_error(const struct js *root)
{
    root = unwrapped(root);
    if (says_something(js_get(root, "error")) || str_is(js_get_str(root, "object"), "error"))
        return true;
    if (js_get(root, "choices") || js_get(root, "usage"))
        return false;
    return says_something(js_get(root, "detail")) || js_kind(js_get(root, "message")) == JS_STRING;
}

static int numeric_code(const struct js *value)
{
    struct str text = js_str(value);
    int64_t code = js_int(value, 0);
    if (text.n == 3)
        for (size_t i = 0; i < 3; i++)
            code = text.p[i] >= '0' && text.p[i] <= '9' ? code * 10 + (text.p[i] - '0') : 1000;
    return code >= 400 && code <= 599 ? (int)code : 0;
}

/* Whether a type or code has this in it, in any case. */
static bool holds_word(struct str kind, const char *word)
{
    char text[128];
    size_t n = kind.n < sizeof text - 1 ? kind.n : sizeof text - 1;
    if (n > 0)
        memcpy(text, kind.p, n);
    text[n] = '\0';
    return strcasestr(text, word) != NULL;
}

static bool is_final_kind(struct str kind)
{
    for (size_t i = 0; i < sizeof final_kinds / sizeof final_kinds[0]; i++)
        if (holds_word(kind, final_kinds[i]))
            return true;
    return false;
}

static const char *const kind_keys[] = {"code", "status", "status_code", "type"};
enum { KIND_KEYS = sizeof kind_keys / sizeof kind_keys[0] };

const struct js *failure_object(const struct js *root)
{
    root = unwrapped(root);
    const struct js *error = js_get(root, "error");
    return js_kind(error) == JS_OBJECT ? error : root;
}

/* The error's status, if it names one; else 0. */
static int error_status(const struct js *error)
{
    int code = 0;
    for (size_t i = 0; i < KIND_KEYS && code == 0; i++)
        code = numeric_code(js_get(error, kind_keys[i]));
    return code;
}

enum err_class failure_class(const struct js *root)
{
    const struct js *error = failure_object(root);
    int status = error_status(error);
    if (status > 0)
        return failure_status_class(status);
    for (size_t i = 0; i < KIND_KEYS; i++)
        if (is_final_kind(js_get_str(error, kind_keys[i])))
            return ERR_PROVIDER;
    return ERR_RETRY;
}

int failure_load_status(const struct js *root)
{
    const struct js *error = failure_object(root);
    int status = error_status(error);
    if (failure_class(root) != ERR_RETRY)
        return 0;
    for (size_t i = 0; i < KIND_KEYS && status == 0; i++)
        for (size_t k = 0; k < sizeof load_kinds / sizeof load_kinds[0] && status == 0; k++)
            if (holds_word(js_get_str(error, kind_keys[i]), load_kinds[k].word))
                status = load_kinds[k].status;
    return status == 429 || status == 503 || status == 529 ? status : 0;
}

bool failure_has_kind(const struct js *error, const char *word)
{
    for (size_t i = 0; i < KIND_KEYS; i++)
        if (holds_word(js_get_str(error, kind_keys[i]), word))
            return true;
    return false;
}

static struct str find_words(const struct js *value, int depth)
{
    static const char *const keys[] = {"message", "msg",    "detail",
                                       "error",   "errors", "description"};
    struct str words = js_str(value);
    if (depth == 0)
        return STR_NONE;
    for (size_t i = 0; js_kind(value) == JS_OBJECT && i < sizeof keys / sizeof keys[0]; i++) {
        words = find_words(js_get(value, keys[i]), depth - 1);
        if (words.n > 0)
            return words;
    }
    for (size_t i = 0; js_kind(value) == JS_ARRAY && i < js_count(value) && i < 8; i++) {
        words = find_words(js_at(value, i), depth - 1);
        if (words.n > 0)
            return words;
    }
    return words;
}

struct str failure_raw_words(const struct js *root)
{
    return find_words(root, SHAPE_DEPTH);
}

static void redact(struct buf *out, struct str text, struct str secret)
{
    if (secret.n < SECRET_MIN) {
        buf_str(out, text);
        return;
    }
    const char *hit;
    while (text.n > 0 && (hit = memmem(text.p, text.n, secret.p, secret.n))) {
        size_t before = (size_t)(hit - text.p);
        buf_add(out, text.p, before);
        buf_text(out, "***");
        text = (struct str){hit + secret.n, text.n - before - secret.n};
    }
    buf_str(out, text);
}

/* Takes all secrets of the server out of the text. */
static void redact_all(struct buf *out, struct str text, const struct model_server *server)
{
    struct buf before;
    struct str rest = server->more;
    buf_init(&before, text.n + 1);
    redact(out, text, server->secret);
    while (rest.n > 0) {
        const char *end = memchr(rest.p, '\n', rest.n);
        struct str secret = {rest.p, end ? (size_t)(end - rest.p) : rest.n};
        buf_clear(&before);
        buf_str(&before, buf_view(out));
        buf_clear(out);
        redact(out, buf_view(&before), secret);
        size_t taken = secret.n + (end ? 1 : 0);
        rest = (struct str){rest.p + taken, rest.n - taken};
    }
    buf_release(&before);
}

struct str failure_redacted(const struct model_server *server, struct str text, struct arena *arena)
{
    struct buf out;
    buf_init(&out, text.n + 1); /* *** is shorter than any secret */
    redact_all(&out, text, server);
    struct str copy = arena_copy(arena, buf_view(&out));
    buf_release(&out);
    return copy;
}

struct str failure_words(const struct model_server *server, const struct js *root, struct str body,
                         struct arena *arena)
{
    struct str raw = find_words(root, SHAPE_DEPTH);
    if (raw.n == 0)
        raw = body;
    struct buf first, clean, shown;
    buf_init(&first, FAILURE_BODY * 4);
    buf_init(&clean, FAILURE_BODY * 12);
    buf_init(&shown, FAILURE_BODY * 12);
    /* Before cleaning, so that no part of the secret is left of it; after, because cleaning may
     * join its parts. */
    redact_all(&first, utf8_cut(raw, FAILURE_BODY), server);
    utf8_clean(&clean, buf_view(&first), UTF8_ONE_LINE);
    redact_all(&shown, buf_view(&clean), server);
    struct str words = buf_view(&shown);
    while (words.n > 0 && words.p[0] == ' ')
        words = (struct str){words.p + 1, words.n - 1};
    struct str cut = utf8_cut_chars(words, FAILURE_CHARS);
    const char *more = cut.n < words.n ? "…" : "";
    while (cut.n > 0 && (cut.p[cut.n - 1] == ' ' || cut.p[cut.n - 1] == '.'))
        cut.n--;
    words = arena_printf(arena, "%.*s%s", STR_FMT(cut), more);
    buf_release(&first);
    buf_release(&clean);
    buf_release(&shown);
    return words;
}

bool failure_is_quota(int status, const struct js *root)
{
    return status == 429 && failure_has_kind(failure_object(root), "insufficient_quota");
}

/* NULL: the words ask for nothing that is known. */
static const char *hint_of(struct str words)
{
    struct buf plain;
    const char *advice = NULL;
    buf_init(&plain, words.n + 1);
    for (size_t i = 0; i < words.n; i++)
        if (words.p[i] == '\0' || strchr("'\"`", words.p[i]) == NULL)
            buf_char(&plain, words.p[i]);
    for (size_t i = 0; i < sizeof hints / sizeof hints[0] && plain.p && !advice; i++)
        if (strcasestr(plain.p, hints[i].words))
            advice = hints[i].advice;
    buf_release(&plain);
    return advice;
}

struct str failure_status_message(const struct model_server *server, int status, struct str body,
                                  struct arena *arena)
{
    struct err ignored = ERR_INIT;
    struct js *root = js_parse(body, &ignored);
    struct str words = STR_NONE;
    /* A web page says nothing that helps. */
    if (root || body.n == 0 || body.p[0] != '<')
        words = failure_words(server, root, body, arena);
    /* OpenAI's error codes: an account without credit has the status of too many requests. */
    int advised = failure_is_quota(status, root) ? 402 : status;
    js_free(root);
    const char *advice = status >= 500 ? "the server is in trouble" : NULL;
    for (size_t i = 0; i < sizeof advices / sizeof advices[0]; i++)
        if (advices[i].status == advised)
            advice = advices[i].advice;
    const char *hint = hint_of(words);
    if (hint)
        advice = hint;
    return arena_printf(arena, "%.*s answered HTTP %d%s%.*s%s%s%s", STR_FMT(server->url), status,
                        words.n > 0 ? ": " : "", STR_FMT(words), advice ? " (" : "",
                        advice ? advice : "", advice ? ")" : "");
}
