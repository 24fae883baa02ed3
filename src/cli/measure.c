/* The course of a measurement and its bounds: every request goes through measuring_send. What is found out stands in
 * measure_window.c and measure_speed.c. Main thread; blocks. */
#include "cli/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/gateway.h"
#include "cli/measuring.h"
#include "os/clock.h"

#define ANSWER_MAX ((size_t)1 << 20)
#define TOLD_MAX ((size_t)8 << 20) /* a gateway lists hundreds of models */
#define URL_MAX 2048
#define UNKNOWN_SERVER "an unknown server"
#define TRAINED_BELIEVED 100000 /* the default window */
#define LOOK_MS 3000

void fact_unknown(struct fact *fact, const char *format, ...)
{
    va_list args;
    fact->value = -1;
    fact->bound = FACT_EXACT;
    va_start(args, format);
    vsnprintf(fact->how, sizeof fact->how, format, args);
    va_end(args);
}

void fact_set(struct fact *fact, int64_t value, const char *format, ...)
{
    va_list args;
    fact->value = value;
    fact->bound = FACT_EXACT;
    va_start(args, format);
    vsnprintf(fact->how, sizeof fact->how, format, args);
    va_end(args);
}

int measuring_left(const struct measuring *m)
{
    return MEASURE_REQUESTS_MAX - m->out->requests;
}

int measuring_send(struct measuring *m, struct fetch *fetches, size_t count)
{
    struct err err = ERR_INIT;
    int64_t left = m->deadline - clock_monotonic_ms();
    if (count > (size_t)measuring_left(m) || left <= 0) {
        snprintf(m->why, sizeof m->why, "%s",
                 left <= 0 ? "the time for measuring was over" : "it would take too many requests");
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        fetches[i].api_key = m->request->api_key;
        fetches[i].headers = m->request->headers;
        fetches[i].header_count = m->request->header_count;
        fetches[i].answer_max = m->answer_max;
        if (fetches[i].total_ms > left)
            fetches[i].total_ms = left;
    }
    m->out->requests += (int)count;
    if (m->request->fetch(fetches, count, &err) == 0)
        return 0;
    snprintf(m->why, sizeof m->why, "%.*s", (int)sizeof m->why - 1, err.message);
    return -1;
}

struct js *measuring_json(struct measuring *m, const char *base, const char *path,
                          const struct buf *body)
{
    struct buf url;
    struct err err = ERR_INIT;
    struct fetch *fetch = calloc(1, sizeof *fetch);
    struct js *doc = NULL;
    if (fetch == NULL)
        abort();
    buf_init(&url, URL_MAX);
    gateway_url(&url, str_from(base), path);
    fetch->url = buf_view(&url);
    fetch->body = body != NULL ? buf_view(body) : STR_NONE;
    fetch->total_ms = LOOK_MS;
    if (measuring_send(m, fetch, 1) != 0)
        goto out;
    if (fetch->class != ERR_NONE)
        snprintf(m->why, sizeof m->why, "%s: %.150s", path, fetch->message);
    else if (fetch->status != 200)
        snprintf(m->why, sizeof m->why, "%s answers with status %d", path, fetch->status);
    else if ((doc = js_parse(buf_view(&fetch->answer), &err)) == NULL)
        snprintf(m->why, sizeof m->why, "%s does not answer with JSON", path);
out:
    buf_release(&fetch->answer);
    buf_release(&url);
    free(fetch);
    return doc;
}

/* Text that may stand in a URL, in YAML and on a terminal. */
static bool copy_name(char *out, size_t size, struct str text)
{
    if (text.n == 0 || text.n >= size)
        return false;
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] <= ' ' || (unsigned char)text.p[i] >= 127)
            return false;
    memcpy(out, text.p, text.n);
    out[text.n] = '\0';
    return true;
}

static int choose_model(struct measuring *m, const struct js *models, struct err *err)
{
    const struct js *data = js_get(models, "data");
    if (copy_name(m->out->model, sizeof m->out->model, m->request->model))
        return 0;
    for (size_t i = 0; m->request->model.n == 0 && i < js_count(data); i++)
        if (copy_name(m->out->model, sizeof m->out->model, js_get_str(js_at(data, i), "id")))
            return 0;
    if (models == NULL)
        return err_set(err, ERR_RETRY, "%s", m->why);
    return err_set(err, ERR_PROVIDER, "the server names no model; give --model NAME");
}

bool measure_is_loopback(struct str base_url)
{
    static const char *const hosts[] = {"http://127.",  "http://localhost",  "http://[::1]",
                                        "https://127.", "https://localhost", "https://[::1]"};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        struct str host = str_from(hosts[i]);
        char after = base_url.n > host.n ? base_url.p[host.n] : '/';
        /* "http://localhost.example.org" is somebody else, and so is "http://127.evil.example". */
        if (str_starts(base_url, host) &&
            (after == ':' || after == '/' ||
             (host.p[host.n - 1] == '.' && after >= '0' && after <= '9')))
            return true;
    }
    return false;
}

static int begin(struct measuring *m, const struct measure_request *request,
                 struct measurement *out, int64_t ms, struct err *err)
{
    *m = (struct measuring){.request = request,
                            .out = out,
                            .deadline = clock_monotonic_ms() + ms,
                            .answer_max = ANSWER_MAX,
                            .nonce = (unsigned)clock_now_ms() ^ (unsigned)getpid() << 16};
    *out = (struct measurement){.server = UNKNOWN_SERVER, .trained = -1};
    struct fact *facts[] = {&out->window,         &out->slots,     &out->cold_us,
                            &out->first_token_us, &out->read_rate, &out->write_rate};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        fact_unknown(facts[i], "not measured");
    if (!copy_name(out->base_url, sizeof out->base_url, request->base_url))
        return err_set(err, ERR_USAGE, "\"%.*s\" is not an address", STR_FMT(request->base_url));
    size_t n = strlen(out->base_url);
    while (n > 0 && out->base_url[n - 1] == '/')
        out->base_url[--n] = '\0';
    n = strcspn(out->base_url, "?");
    snprintf(m->root, sizeof m->root, "%.*s", (int)n, out->base_url);
    if (n > 3 && strcmp(m->root + n - 3, "/v1") == 0)
        m->root[n - 3] = '\0';
    return 0;
}

/* Other owners than its own library name models that were pulled from elsewhere. */
static bool is_ollama(const struct measuring *m)
{
    size_t n = strlen(m->root);
    return strcmp(m->out->server, "Ollama") == 0 ||
           (n > 6 && strcmp(m->root + n - 6, ":11434") == 0);
}

int64_t measure_told_window(const struct measure_request *request, enum measure_paths paths,
                            int64_t ms)
{
    struct measuring m;
    struct measurement out;
    struct err err = ERR_INIT;
    if (begin(&m, request, &out, ms, &err) != 0 ||
        !copy_name(out.model, sizeof out.model, request->model))
        return -1;
    m.answer_max = TOLD_MAX;
    struct js *models = measuring_json(&m, out.base_url, "/models", NULL);
    measure_window_listed(&m, models);
    if (is_ollama(&m))
        out.server = "Ollama";
    /* A server that its list does not identify is not asked for paths that it may not have. */
    if (paths == MEASURE_EVERY_PATH && out.window.value < 0 &&
        strcmp(out.server, UNKNOWN_SERVER) != 0) {
        measure_window(&m, models);
        measure_window_loaded(&m);
    }
    js_free(models);
    /* A model gets no more than it was trained for; that it gets as much is not said. */
    int64_t trained = out.trained < TRAINED_BELIEVED ? out.trained : -1;
    return out.window.value >= 0 ? out.window.value : trained;
}

int measure_server(const struct measure_request *request, struct measurement *out, struct err *err)
{
    struct measuring m;
    if (begin(&m, request, out, INT64_C(1000) * MEASURE_SECONDS_MAX, err) != 0)
        return -1;
    struct js *models = measuring_json(&m, out->base_url, "/models", NULL);
    int result = choose_model(&m, models, err);
    if (result == 0) {
        measure_window(&m, models);
        measure_speed(&m);
        measure_window_loaded(&m);
        if (out->write_rate.value >= 0 || out->first_token_us.value >= 0) {
            if (out->window.value < 0)
                measure_window_probe(&m);
            measure_slots(&m);
        }
    }
    js_free(models);
    return result;
}
