/* `cadre models`: what a server offers, with window and price where the server or the built-in tables know them. What
 * the server says is hostile until it was checked. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "cli/command.h"
#include "cli/gateway.h"
#include "cli/localserver.h"
#include "cli/wire.h"
#include "config/known.h"
#include "config/models.h"
#include "config/prices.h"

#define LIST_MS 15000
#define LIST_MAX ((size_t)16 << 20)
#define URL_MAX 2048
#define NAME_MAX_BYTES 256

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"base-url", "URL", "ask this server, for example http://127.0.0.1:8080/v1"},
    {"api", "API", "with --base-url: what the server speaks: openai, anthropic or responses"},
    {"workspace", "DIR", "the directory whose cadre.yaml counts (default: the current one)"},
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_models = {
    .name = "models",
    .summary = "list the models that a server offers",
    .usage = "[PROVIDER]",
    .details =
        "PROVIDER is one of llm.providers or a preset (docs/models.md). Without it: the server of "
        "the model that a\n"
        "run would use. Windows and prices are the server's where it tells them, else those of the "
        "built-in tables.",
    .example = "cadre models",
    .options = options,
    .operand_max = 1,
    .run = run,
};

/* One entry of the list; -1: not known. Prices are dollars for a million tokens. */
struct offer {
    char id[NAME_MAX_BYTES];
    int64_t window;
    double price_in, price_out;
    bool window_told, price_told; /* by the server */
};

/* --- whom to ask --------------------------------------------------------------------------------- */

static int address_of_default(struct wire *wire, struct provider_address *address,
                              struct localserver *found, struct err *err)
{
    const struct config *config = wire_config(wire);
    const struct model_settings *model =
        settings_model(&config->settings, config->settings.default_model);
    if (model != NULL && str_is(model->api, "replay"))
        return err_set(err, ERR_USAGE,
                       "the default model answers from a recording: name a PROVIDER");
    if (model != NULL) {
        *address = (struct provider_address){.name = model->provider,
                                             .api = model->api,
                                             .base_url = model->base_url,
                                             .api_key_env = model->api_key_env};
        return 0;
    }
    if (localserver_find(LOCALSERVER_FIND_MS, found, err) != 0)
        return err_set(err, ERR_USAGE,
                       "which server? Name a PROVIDER or --base-url URL; docs/models.md lists the "
                       "presets");
    *address = (struct provider_address){
        .name = STR("local"), .api = STR("openai"), .base_url = str_from(found->base_url)};
    return 0;
}

static int find_address(struct invocation *invocation, struct wire *wire,
                        struct provider_address *address, struct localserver *found,
                        struct err *err)
{
    const struct arguments *arguments = &invocation->arguments;
    struct str url = arguments_value(arguments, "base-url");
    struct str api = arguments_value(arguments, "api");
    if (api.p != NULL && url.p == NULL)
        return err_set(err, ERR_USAGE, "--api goes with --base-url URL");
    if (url.p == NULL)
        return arguments->operand_count > 0
                   ? wire_provider_find(wire, arguments->operands[0], address, err)
                   : address_of_default(wire, address, found, err);
    if (arguments->operand_count > 0)
        return err_set(err, ERR_USAGE, "give PROVIDER or --base-url, not both");
    return wire_url_address(wire, url, api, address, err);
}

/* --- the list ------------------------------------------------------------------------------------ */

static int refuse_status(const struct provider_address *address, int status, struct err *err)
{
    bool key = status == 401 || status == 403;
    return err_set(err, ERR_PROVIDER, "%.*s answers with status %d%s%.*s",
                   STR_FMT(address->base_url), status,
                   !key                          ? ": it may not list its models"
                   : address->api_key_env.n == 0 ? ": it wants a key"
                                                 : ": is the key right that is in ",
                   STR_FMT(key ? address->api_key_env : STR("")));
}

static int fetch_list(struct wire *wire, const struct provider_address *address, struct js **list,
                      struct err *err)
{
    const struct provider_bounds *bounds = wire_provider(wire, address->name, address->base_url);
    struct fetch *fetch = calloc(1, sizeof *fetch);
    struct gateway_headers headers;
    struct buf url, key;
    int result = -1;
    if (fetch == NULL)
        abort();
    gateway_headers_init(&headers);
    buf_init(&url, URL_MAX);
    buf_init(&key, 16384);
    if (gateway_headers_make(&headers, bounds, err) != 0 ||
        wire_key(wire, bounds, address->api_key_env, &key, err) != 0)
        goto out;
    gateway_headers_key(&headers, address->api, buf_view(&key));
    bool paged = str_is(address->api, "anthropic") &&
                 memchr(address->base_url.p, '?', address->base_url.n) == NULL;
    gateway_url(&url, address->base_url, paged ? "/models?limit=1000" : "/models");
    fetch->url = buf_view(&url);
    fetch->headers = headers.lines;
    fetch->header_count = headers.count;
    fetch->total_ms = LIST_MS;
    fetch->answer_max = LIST_MAX;
    if (wire_fetch(fetch, 1, err) != 0)
        goto out;
    if (fetch->class != ERR_NONE)
        err_set(err, fetch->class, "%s", fetch->message);
    else if (fetch->status != 200)
        refuse_status(address, fetch->status, err);
    else if ((*list = js_parse(buf_view(&fetch->answer), err)) == NULL)
        err_set(err, ERR_PROVIDER, "%.*s/models does not answer with JSON",
                STR_FMT(address->base_url));
    else
        result = 0;
out:
    if (key.p != NULL)
        explicit_bzero(key.p, key.capacity);
    buf_release(&key);
    buf_release(&url);
    buf_release(&fetch->answer);
    gateway_headers_release(&headers);
    free(fetch);
    return result;
}

/* "0.000003" for a token, as OpenRouter says it. */
static double told_price(const struct js *entry, const char *key)
{
    struct str text = js_get_str(js_get(entry, "pricing"), key);
    char number[32];
    char *end = NULL;
    if (text.n == 0 || text.n >= sizeof number)
        return -1;
    snprintf(number, sizeof number, "%.*s", STR_FMT(text));
    double price = round(strtod(number, &end) * 1e12) / 1e6;
    return end != number && *end == '\0' && price >= 0 && price < 1e6 ? price : -1;
}

static bool read_offer(const struct provider_address *address, const struct js *entry,
                       struct offer *offer)
{
    static const char *const keys[] = {"context_length", "context_window", "max_model_len",
                                       "max_context_length", "max_input_tokens"};
    struct str id = js_get_str(entry, "id");
    *offer = (struct offer){.window = -1};
    if (id.n == 0 || id.n >= sizeof offer->id || memchr(id.p, '\0', id.n) != NULL)
        return false;
    snprintf(offer->id, sizeof offer->id, "%.*s", STR_FMT(id));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && offer->window < 0; i++) {
        int64_t tokens = js_get_int(entry, keys[i], -1);
        if (tokens >= 256 && tokens <= 100000000)
            offer->window = tokens;
    }
    offer->window_told = offer->window >= 0;
    const struct known_model *known = known_model_find(address->base_url, id);
    if (!offer->window_told && known != NULL)
        offer->window = known->window;
    offer->price_in = told_price(entry, "prompt");
    offer->price_out = told_price(entry, "completion");
    offer->price_told = offer->price_in >= 0 && offer->price_out >= 0;
    const struct price *price = price_find(address->base_url, id, 0);
    if (!offer->price_told) {
        offer->price_in = price != NULL ? (double)price->in / 1000 : -1;
        offer->price_out = price != NULL ? (double)price->out / 1000 : -1;
    }
    return true;
}

/* --- showing it ---------------------------------------------------------------------------------- */

static void number_or_null(struct jw *w, const char *key, double value)
{
    jw_key(w, key);
    if (value < 0)
        jw_null(w);
    else
        jw_real(w, value);
}

static void show_json(struct output *output, const struct provider_address *address,
                      const struct offer *offer)
{
    struct buf line;
    struct jw w;
    buf_init(&line, 16384);
    jw_init(&w, &line);
    jw_object(&w);
    jw_ktext(&w, "type", "model");
    jw_ktext(&w, "id", offer->id);
    jw_kstr(&w, "provider", address->name);
    jw_key(&w, "window");
    if (offer->window < 0)
        jw_null(&w);
    else
        jw_int(&w, offer->window);
    jw_kbool(&w, "window_from_server", offer->window_told);
    number_or_null(&w, "price_in", offer->price_in);
    number_or_null(&w, "price_out", offer->price_out);
    jw_kbool(&w, "prices_from_server", offer->price_told);
    jw_end_object(&w);
    output_json(output, &line);
    buf_release(&line);
}

static void cell(char *out, size_t size, int digits, double value)
{
    if (value < 0)
        snprintf(out, size, "-");
    else
        snprintf(out, size, "%.*f", digits, value);
}

static void show_text(struct output *output, const struct offer *offer)
{
    char window[32], in[32], price[32], line[NAME_MAX_BYTES + 128];
    cell(window, sizeof window, 0, (double)offer->window);
    cell(in, sizeof in, 2, offer->price_in);
    cell(price, sizeof price, 2, offer->price_out);
    snprintf(line, sizeof line, "%-48s %10s %9s %9s", offer->id, window, in, price);
    output_clean(output, str_from(line), UTF8_ONE_LINE);
    output_print(output, "\n");
}

static int show_list(struct output *output, const struct provider_address *address,
                     const struct js *list, struct err *err)
{
    const struct js *data = js_kind(list) == JS_ARRAY ? list : js_get(list, "data");
    size_t shown = 0;
    for (size_t i = 0; js_kind(data) == JS_ARRAY && i < js_count(data); i++) {
        struct offer offer;
        if (!read_offer(address, js_at(data, i), &offer))
            continue;
        if (output->format == OUTPUT_JSON) {
            show_json(output, address, &offer);
        } else {
            if (shown == 0)
                output_print(output, "%-48s %10s %9s %9s\n", "MODEL", "WINDOW", "$/M IN",
                             "$/M OUT");
            show_text(output, &offer);
        }
        shown++;
    }
    return shown > 0
               ? 0
               : err_set(err, ERR_PROVIDER, "%.*s names no model", STR_FMT(address->base_url));
}

static enum exit_code run(struct invocation *invocation)
{
    struct wire_request request = {
        .need = WIRE_MODEL, .workspace = arguments_value(&invocation->arguments, "workspace")};
    struct provider_address address = {0};
    struct localserver found;
    struct wire *wire = NULL;
    struct err err = ERR_INIT;
    struct js *list = NULL;
    wire_flags(&invocation->arguments, &request.flags);
    request.flags.base_url = request.flags.api = STR_NONE; /* whom to ask, not what a run uses */
    if (wire_open(&request, &wire, &err) == 0 &&
        find_address(invocation, wire, &address, &found, &err) == 0 &&
        fetch_list(wire, &address, &list, &err) == 0)
        (void)show_list(&invocation->output, &address, list, &err);
    js_free(list);
    enum exit_code code = err.class == ERR_NONE ? EXIT_CODE_DONE : command_fail(invocation, &err);
    wire_close(wire);
    return code;
}
