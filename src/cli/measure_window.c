/* How many tokens a request may have: from what servers say of themselves, each in its own place, else from the error
 * that a request past the limit brings. What a model was trained for is not what its server gives it, and is not
 * taken for it. Main thread; blocks. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/measuring.h"

enum { WINDOW_MIN = 256, WINDOW_MAX = 100000000, PROBE_MS = 20000 };
enum { PROBE_LOW = 10, PROBE_HIGH = 20 }; /* powers of two */

static bool is_window(int64_t tokens)
{
    return tokens >= WINDOW_MIN && tokens <= WINDOW_MAX;
}

static const struct js *entry_of(const struct js *models, const char *list, const char *key,
                                 const char *name)
{
    const struct js *items = js_get(models, list);
    for (size_t i = 0; js_kind(items) == JS_ARRAY && i < js_count(items); i++)
        if (str_is(js_get_str(js_at(items, i), key), name))
            return js_at(items, i);
    return NULL;
}

/* Who it is, and the limit, where the list of models says so. */
void measure_window_listed(struct measuring *m, const struct js *models)
{
    static const struct {
        const char *owner, *server;
    } owners[] = {{"vllm", "vLLM"},
                  {"llamacpp", "llama.cpp"},
                  {"library", "Ollama"},
                  {"organization_owner", "LM Studio"},
                  {"sglang", "SGLang"}};
    static const char *const keys[] = {"max_model_len", "context_length", "context_window",
                                       "max_context_length", "max_input_tokens"};
    const struct js *entry = entry_of(models, "data", "id", m->out->model);
    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++)
        if (str_is(js_get_str(entry, "owned_by"), owners[i].owner))
            m->out->server = owners[i].server;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        int64_t tokens = js_get_int(entry, keys[i], -1);
        if (m->out->window.value < 0 && is_window(tokens))
            fact_set(&m->out->window, tokens, "%s in /models", keys[i]);
    }
}

static void slots_of_llama(struct measuring *m)
{
    struct js *slots = measuring_json(m, m->root, "/slots", NULL);
    size_t count = js_kind(slots) == JS_ARRAY ? js_count(slots) : 0;
    int64_t least = -1;
    for (size_t i = 0; i < count && i < 1024; i++) {
        int64_t tokens = js_get_int(js_at(slots, i), "n_ctx", -1);
        if (is_window(tokens) && (least < 0 || tokens < least))
            least = tokens;
    }
    if (count > 0 && count <= 1024)
        fact_set(&m->out->slots, (int64_t)count, "/slots");
    if (least >= 0)
        fact_set(&m->out->window, least, "n_ctx in /slots");
    js_free(slots);
}

/* llama.cpp: a window for each slot. */
static void window_of_llama(struct measuring *m)
{
    struct js *props = measuring_json(m, m->root, "/props", NULL);
    int64_t slots = js_get_int(props, "total_slots", -1);
    int64_t tokens = js_get_int(js_get(props, "default_generation_settings"), "n_ctx", -1);
    if (slots >= 1 && slots <= 1024)
        fact_set(&m->out->slots, slots, "total_slots in /props");
    if (is_window(tokens))
        fact_set(&m->out->window, tokens, "n_ctx in /props");
    if (slots >= 1 || is_window(tokens)) {
        m->out->server = "llama.cpp";
        slots_of_llama(m);
    }
    js_free(props);
}

void measure_window(struct measuring *m, const struct js *models)
{
    measure_window_listed(m, models);
    static const char *const others[] = {"vLLM", "Ollama", "LM Studio", "SGLang"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(m->out->server, others[i]) == 0)
            return;
    window_of_llama(m);
}

/* "num_ctx                        8192" among Ollama's parameters. */
static int64_t parameter_of(struct str text, const char *name)
{
    const char *at = memmem(text.p != NULL ? text.p : "", text.n, name, strlen(name));
    if (at == NULL)
        return -1;
    int64_t number = 0;
    for (at += strlen(name); at < text.p + text.n && (*at == ' ' || *at == '\t'); at++)
        continue;
    for (; at < text.p + text.n && *at >= '0' && *at <= '9' && number <= WINDOW_MAX; at++)
        number = number * 10 + (*at - '0');
    return number;
}

static int64_t trained_for(const struct js *info)
{
    struct str key, end = STR(".context_length");
    const struct js *value;
    for (void *i = js_next(info, NULL, &key, &value); i != NULL; i = js_next(info, i, &key, &value))
        if (key.n > end.n && memcmp(key.p + key.n - end.n, end.p, end.n) == 0)
            return js_int(value, -1);
    return -1;
}

static void window_of_ollama(struct measuring *m)
{
    struct buf body;
    struct jw w;
    struct js *loaded = measuring_json(m, m->root, "/api/ps", NULL);
    int64_t tokens =
        js_get_int(entry_of(loaded, "models", "name", m->out->model), "context_length", -1);
    if (js_kind(js_get(loaded, "models")) == JS_ARRAY)
        m->out->server = "Ollama";
    js_free(loaded);
    if (is_window(tokens)) {
        fact_set(&m->out->window, tokens, "the loaded model in /api/ps");
        return;
    }
    if (strcmp(m->out->server, "Ollama") != 0)
        return;
    buf_init(&body, 1024);
    jw_init(&w, &body);
    jw_object(&w);
    jw_ktext(&w, "model", m->out->model);
    jw_end_object(&w);
    struct js *show = measuring_json(m, m->root, "/api/show", &body);
    tokens = parameter_of(js_get_str(show, "parameters"), "num_ctx");
    int64_t trained = trained_for(js_get(show, "model_info"));
    if (is_window(tokens))
        fact_set(&m->out->window, tokens, "num_ctx in /api/show");
    else if (is_window(trained)) {
        m->out->trained = trained;
        fact_unknown(
            &m->out->window,
            "the model was trained for %lld, but Ollama does not say what it gives it; set "
            "num_ctx",
            (long long)trained);
    }
    js_free(show);
    buf_release(&body);
}

static void window_of_studio(struct measuring *m)
{
    struct js *list = measuring_json(m, m->root, "/api/v0/models", NULL);
    int64_t tokens =
        js_get_int(entry_of(list, "data", "id", m->out->model), "loaded_context_length", -1);
    if (is_window(tokens)) {
        m->out->server = "LM Studio";
        fact_set(&m->out->window, tokens, "the loaded model in /api/v0/models");
    }
    js_free(list);
}

/* After the first request: what the server has loaded by now. */
void measure_window_loaded(struct measuring *m)
{
    if (m->out->window.value >= 0 || strcmp(m->out->server, "llama.cpp") == 0)
        return;
    if (strcmp(m->out->server, "LM Studio") != 0)
        window_of_ollama(m);
    if (m->out->window.value < 0 && strcmp(m->out->server, "Ollama") != 0)
        window_of_studio(m);
}

/* The limit that an error names: as a number of its own, or in a sentence. */
static int64_t window_in_error(struct str answer)
{
    static const char *const phrases[] = {
        "maximum context length is", "context length of", "maximum context length of",
        "context window of",         "context size (",    "available context size of",
        "context length is only",    "max_model_len"};
    struct err err = ERR_INIT;
    struct js *root = js_parse(answer, &err);
    int64_t tokens = js_get_int(js_get(root, "error"), "n_ctx", -1);
    js_free(root);
    for (size_t i = 0; !is_window(tokens) && i < sizeof phrases / sizeof phrases[0]; i++) {
        const char *at = memmem(answer.p, answer.n, phrases[i], strlen(phrases[i]));
        const char *end = answer.p + answer.n;
        if (at == NULL)
            continue;
        at += strlen(phrases[i]);
        for (int skipped = 0; at < end && (*at < '0' || *at > '9') && skipped < 8; skipped++)
            at++;
        for (tokens = 0; at < end && *at >= '0' && *at <= '9' && tokens <= WINDOW_MAX; at++)
            tokens = tokens * 10 + (*at - '0');
    }
    return is_window(tokens) ? tokens : -1;
}

enum probe { PROBE_TAKEN, PROBE_REFUSED, PROBE_UNCLEAR };

/* Sends a request that is likely too large and reads what becomes of it, no further than its first event. */
static enum probe probe(struct measuring *m, int64_t max_tokens, size_t words, int64_t *window)
{
    char url[512];
    struct buf body;
    struct fetch *fetch = calloc(1, sizeof *fetch);
    enum probe result = PROBE_UNCLEAR;
    if (fetch == NULL)
        abort();
    m->nonce++;
    *window = -1;
    snprintf(url, sizeof url, "%s/chat/completions", m->out->base_url);
    buf_init(&body, words * 8 + 65536);
    chat_body(m, &body, max_tokens, words);
    fetch->url = str_from(url);
    fetch->body = buf_view(&body);
    fetch->total_ms = PROBE_MS;
    fetch->until = FETCH_FIRST_EVENT;
    if (measuring_send(m, fetch, 1) == 0 && fetch->class == ERR_NONE) {
        if (fetch->status == 200)
            result = PROBE_TAKEN;
        else if (fetch->status == 400 || fetch->status == 413 || fetch->status == 422 ||
                 fetch->status == 500)
            result = PROBE_REFUSED;
        *window = window_in_error(buf_view(&fetch->answer));
    }
    buf_release(&fetch->answer);
    buf_release(&body);
    free(fetch);
    return result;
}

static void probe_between(struct measuring *m)
{
    struct fact *fact = &m->out->window;
    int low = PROBE_LOW - 1, high = PROBE_HIGH;
    while (high - low > 1) {
        int64_t window;
        int middle = (low + high) / 2;
        enum probe taken = probe(m, 1, (size_t)1 << middle, &window);
        if (window >= 0) {
            fact_set(fact, window, "the server's error for a prompt that is too long");
            return;
        }
        if (taken == PROBE_UNCLEAR)
            break;
        if (taken == PROBE_TAKEN)
            low = middle;
        else
            high = middle;
    }
    if (low < PROBE_LOW) {
        fact_unknown(fact, "it refuses long prompts and does not say from where on");
        return;
    }
    fact_set(fact, INT64_C(1) << low, "a prompt of about %lld tokens was refused", 1LL << high);
    fact->bound = FACT_AT_LEAST;
}

void measure_window_probe(struct measuring *m)
{
    struct fact *fact = &m->out->window;
    int64_t window;
    if (strcmp(m->out->server, "Ollama") == 0)
        return; /* it cuts prompts off in silence */
    if (m->request->prompts == MEASURE_SMALL_PROMPTS) {
        fact_unknown(fact, "long prompts would cost money; look it up");
        return;
    }
    probe(m, WINDOW_MAX, 1, &window);
    if (window >= 0) {
        fact_set(fact, window, "the server's error for too many output tokens");
        return;
    }
    switch (probe(m, 1, (size_t)1 << PROBE_HIGH, &window)) {
    case PROBE_TAKEN:
        fact_unknown(fact,
                     "it takes a prompt of a million words, so it cuts prompts off somewhere");
        return;
    case PROBE_UNCLEAR:
        fact_unknown(fact, "a long prompt brought no clear answer");
        return;
    case PROBE_REFUSED:
        break;
    }
    if (window >= 0)
        fact_set(fact, window, "the server's error for a prompt that is too long");
    else
        probe_between(m);
}
