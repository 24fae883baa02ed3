/* Servers by name: their addresses, and what llm.providers says besides (requests at once, deadlines, headers, members of
 * bodies, key helpers). Nothing but addresses is part of a run's settings, so that a resumed run uses what holds now.
 * Runs on the main thread before the loop starts. */
#include <stdio.h>

#include "base/json.h"
#include "config/models.h"
#include "config/recording.h"

static const struct model_api apis[] = {
    {"openai", "https://api.openai.com/v1", "OPENAI_API_KEY"},
    {"anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"},
    {"responses", "https://api.openai.com/v1", "OPENAI_API_KEY"},
};

const struct model_api *config_api_find(struct str name)
{
    for (size_t i = 0; i < sizeof apis / sizeof apis[0]; i++)
        if (str_is(name, apis[i].name))
            return &apis[i];
    return NULL;
}

static const struct config_entry *find(const struct config *config, enum config_key_id key,
                                       struct str name)
{
    return config_entries_find(config->entries, key, name, 0);
}

static int64_t number_of(const struct config *config, enum config_key_id key, struct str name)
{
    const struct config_entry *entry = find(config, key, name);
    return entry ? entry->value.number : config_value_default(&config_keys[key]).number;
}

/* --- addresses --------------------------------------------------------------------------------- */

struct str config_url_normal(struct config *config, struct str url)
{
    const char *mark = url.n > 0 ? memchr(url.p, '?', url.n) : NULL;
    struct str path = {url.p, mark ? (size_t)(mark - url.p) : url.n};
    struct str query = {url.p + path.n, url.n - path.n};
    while (path.n > 0 && path.p[path.n - 1] == '/')
        path.n--;
    return query.n > 0 ? arena_printf(&config->arena, "%.*s%.*s", STR_FMT(path), STR_FMT(query))
                       : path;
}

static int provider_missing(const struct config *config, struct str name,
                            const struct config_place *place, struct err *err)
{
    struct config_nearest nearest;
    struct str shown = {name.p, name.n < 128 ? name.n : 128};
    config_nearest_init(&nearest, name);
    for (size_t i = 0; i < config->entries->n; i++)
        if (config->entries->items[i].key->id == KEY_PROVIDER)
            config_nearest_offer(&nearest, config->entries->items[i].name);
    for (size_t i = 0; i < preset_count; i++)
        config_nearest_offer(&nearest, str_from(presets[i].name));
    if (nearest.best.p)
        return config_error(place, EXCERPT_LINE, err,
                            "there is no provider '%.*s'; did you mean '%.*s'?", STR_FMT(shown),
                            STR_FMT(nearest.best));
    return config_error(place, EXCERPT_LINE, err,
                        "there is no provider '%.*s' in llm.providers, and no preset has this "
                        "name (docs/models.md)",
                        STR_FMT(shown));
}

/* Another API than the preset's is another server's, except that OpenAI's two are spoken by many. */
static const char *own_url(const struct provider_address *out)
{
    bool other =
        out->preset && str_is(out->api, "anthropic") && strcmp(out->preset->api, "anthropic") != 0;
    return out->preset && !other ? out->preset->base_url : config_api_find(out->api)->base_url;
}

int config_provider_find(struct config *config, struct str name, const struct config_place *place,
                         struct provider_address *out, struct err *err)
{
    const struct config_entry *url = find(config, KEY_PROVIDER_URL, name);
    const struct config_entry *key = find(config, KEY_PROVIDER_KEY, name);
    const struct config_entry *api = find(config, KEY_PROVIDER_API, name);
    *out = (struct provider_address){.name = name, .preset = preset_find(name)};
    if (!find(config, KEY_PROVIDER, name) && !out->preset)
        return provider_missing(config, name, place, err);
    if (config_is_replay(config, name)) /* config_recordings fills in the rest */
        return 0;
    out->choice = api ? API_CHOSEN : API_ASSUMED;
    out->api = api ? api->value.text : out->preset ? str_from(out->preset->api) : STR("openai");
    const char *own = own_url(out);
    if (!url && !own && out->preset)
        return config_error(place, EXCERPT_LINE, err,
                            "provider '%.*s' needs the address of your own resource: "
                            "llm.providers.%.*s.base_url, such as %s",
                            STR_FMT(name), STR_FMT(name), out->preset->address);
    out->base_url = url ? config_url_normal(config, url->value.text) : str_from(own);
    if (key)
        out->api_key_env = key->value.text;
    else if (find(config, KEY_PROVIDER_KEY_CMD, name))
        out->api_key_env = STR_NONE;
    else if (out->preset && (!url || !own)) /* a key goes to no server that it was not made for */
        out->api_key_env = str_from(out->preset->key_variable);
    else if (!url)
        out->api_key_env = str_from(config_api_find(out->api)->key_variable);
    return 0;
}

/* --- members of request bodies ----------------------------------------------------------------- */

/* The members of both objects; where both have one, it is `upper`'s. */
static struct str bodies_join(struct config *config, struct str lower, struct str upper)
{
    struct err unused = ERR_INIT;
    struct str key;
    const struct js *value;
    if (!lower.p || !upper.p)
        return lower.p ? lower : upper;
    struct js *low = js_parse(lower, &unused), *up = js_parse(upper, &unused);
    struct buf text, piece;
    struct jw w;
    buf_init(&text, 2 * CONFIG_BODY_MAX);
    buf_init(&piece, CONFIG_BODY_MAX);
    jw_init(&w, &text);
    jw_object(&w);
    for (int second = 0; second < 2; second++)
        for (void *i = js_next(second ? up : low, NULL, &key, &value); i;
             i = js_next(second ? up : low, i, &key, &value)) {
            char name[CONFIG_BODY_KEY_MAX + 1];
            snprintf(name, sizeof name, "%.*s", STR_FMT(key));
            if (!second && js_get(up, name))
                continue;
            buf_clear(&piece);
            js_print(value, &piece);
            jw_key_str(&w, key);
            jw_raw(&w, buf_view(&piece));
        }
    jw_end_object(&w);
    struct str joined = arena_copy(&config->arena, buf_view(&text));
    buf_release(&text);
    buf_release(&piece);
    js_free(low);
    js_free(up);
    return joined;
}

static struct str body_of(const struct config *config, enum config_key_id key, struct str name)
{
    const struct config_entry *entry = find(config, key, name);
    return entry ? entry->value.text : STR_NONE;
}

static void extras_fill(struct config *config)
{
    const struct settings *settings = &config->settings;
    config->extras =
        arena_alloc(&config->arena, (settings->model_count + 1) * sizeof *config->extras);
    for (size_t i = 0; i < settings->model_count; i++) {
        const struct model_settings *model = &settings->models[i];
        struct str own = find(config, KEY_MODEL, model->name)
                             ? body_of(config, KEY_MODEL_EXTRA, model->name)
                             : STR_NONE;
        if (own.p)
            config->extras[config->extra_count++] = (struct model_extra){
                model->name,
                bodies_join(config, body_of(config, KEY_PROVIDER_EXTRA, model->provider), own)};
    }
}

/* --- headers ----------------------------------------------------------------------------------- */

static void headers_fill(struct config *config, struct str name, struct provider_bounds *bounds)
{
    const struct config_entry *entry = find(config, KEY_PROVIDER_HEADERS, name);
    size_t count = entry ? entry->value.name_count : 0;
    bounds->headers = arena_alloc(&config->arena, (count + 1) * sizeof *bounds->headers);
    for (size_t i = 0; i < count; i++) {
        struct str line = entry->value.names[i].text;
        const char *colon = memchr(line.p, ':', line.n);
        size_t n = (size_t)(colon - line.p);
        bounds->headers[bounds->header_count++] =
            (struct config_header){{line.p, n}, {line.p + n + 2, line.n - n - 2}};
    }
}

static bool is_name(char c, bool first)
{
    return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (!first && c >= '0' && c <= '9');
}

/* The variable's name at the start of text, which stands behind a '$'; *used: what it takes of the text. */
static struct str variable_at(struct str text, size_t *used)
{
    bool braces = text.n > 0 && text.p[0] == '{';
    size_t n = braces;
    while (n < text.n && is_name(text.p[n], n == (size_t)braces))
        n++;
    struct str name = {text.p + braces, n - braces};
    bool closed = !braces || (n < text.n && text.p[n] == '}');
    *used = n + braces;
    return closed && name.n > 0 && name.n < 128 ? name : STR_NONE;
}

bool config_template_ok(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        size_t used = 0;
        unsigned char c = (unsigned char)text.p[i];
        if ((c < 0x20 && c != '\t') || c == 0x7F)
            return false;
        if (c != '$')
            continue;
        struct str rest = {text.p + i + 1, text.n - i - 1};
        if (rest.n > 0 && rest.p[0] == '$')
            used = 1;
        else if (!variable_at(rest, &used).p)
            return false;
        i += used;
    }
    return true;
}

void config_header_variables(const struct config_header *header,
                             const struct config_environment *environment, config_secret_fn *take,
                             void *user)
{
    struct str text = header->value;
    for (size_t i = 0; i < text.n; i++) {
        size_t used = 0;
        char name[128];
        if (text.p[i] != '$')
            continue;
        struct str variable = variable_at((struct str){text.p + i + 1, text.n - i - 1}, &used);
        snprintf(name, sizeof name, "%.*s", STR_FMT(variable));
        const char *value = variable.n > 0 ? config_variable(environment, name) : NULL;
        if (value)
            take(user, str_from(value));
        i += used > 0 ? used : 1; /* $$ */
    }
}

int config_header_expand(const struct config_header *header,
                         const struct config_environment *environment, struct buf *out,
                         struct err *err)
{
    struct str text = header->value;
    size_t start = out->n;
    for (size_t i = 0; i < text.n; i++) {
        size_t used = 0;
        char name[128];
        if (text.p[i] != '$') {
            buf_char(out, text.p[i]);
            continue;
        }
        struct str rest = {text.p + i + 1, text.n - i - 1};
        if (rest.n > 0 && rest.p[0] == '$') {
            buf_char(out, '$');
            i++;
            continue;
        }
        struct str variable = variable_at(rest, &used);
        snprintf(name, sizeof name, "%.*s", STR_FMT(variable));
        const char *value = config_variable(environment, name);
        if (!value)
            return err_set(err, ERR_NOT_FOUND,
                           "the header %.*s needs the environment variable %s, which is not set",
                           STR_FMT(header->name), name);
        buf_text(out, value);
        i += used;
    }
    for (size_t i = start; i < out->n; i++)
        if (((unsigned char)out->p[i] < 0x20 && out->p[i] != '\t') || out->p[i] == 0x7F)
            return err_set(err, ERR_CONFIG,
                           "the header %.*s gets a line break or another control character from "
                           "its environment variable",
                           STR_FMT(header->name));
    return out->failed
               ? err_set(err, ERR_CONFIG, "the header %.*s is too long", STR_FMT(header->name))
               : 0;
}

/* --- the rest ---------------------------------------------------------------------------------- */

static int check_total(const struct config *config, const struct provider_bounds *bounds,
                       struct err *err)
{
    const struct config_entry *total = find(config, KEY_PROVIDER_TOTAL, bounds->name);
    if (total == NULL || bounds->total_ms >= bounds->first_byte_ms)
        return 0;
    return config_error(&total->place, EXCERPT_LINE, err,
                        "expected at least first_byte_ms: %lld, which is part of it",
                        (long long)bounds->first_byte_ms);
}

/* A program in PATH keeps its name. Any other is found from the file that names it: from the current directory, a project could
 * bring one of that name. */
static int key_program(struct config *config, const struct config_environment *environment,
                       const struct config_entry *cmd, struct str *program, struct err *err)
{
    *program = cmd->value.names[0].text;
    return memchr(program->p, '/', program->n) != NULL
               ? config_path(config, environment, cmd, program, err)
               : 0;
}

static int key_cmd_fill(struct config *config, const struct config_environment *environment,
                        struct provider_bounds *bounds, struct err *err)
{
    const struct config_entry *cmd = find(config, KEY_PROVIDER_KEY_CMD, bounds->name);
    const struct config_entry *env = find(config, KEY_PROVIDER_KEY, bounds->name);
    if (cmd && env)
        return config_error(&cmd->key_place, EXCERPT_LINE, err,
                            "api_key_cmd and api_key_env are two ways to get the key: give one");
    bounds->api_key_ttl_ms = number_of(config, KEY_PROVIDER_KEY_TTL, bounds->name);
    if (cmd)
        bounds->api_key_cmd.state = LIST_SET;
    /* Not list_add: an argument may be there twice. */
    size_t count = cmd ? cmd->value.name_count : 0;
    bounds->api_key_cmd.items =
        arena_alloc(&config->arena, (count + 1) * sizeof *bounds->api_key_cmd.items);
    for (size_t i = 0; i < count; i++)
        bounds->api_key_cmd.items[bounds->api_key_cmd.n++] = cmd->value.names[i].text;
    return cmd ? key_program(config, environment, cmd, &bounds->api_key_cmd.items[0], err) : 0;
}

static int bounds_fill(struct config *config, const struct config_entry *provider,
                       struct provider_bounds *bounds, struct err *err)
{
    struct str name = provider->name;
    struct provider_address address;
    if (config_provider_find(config, name, &provider->place, &address, err) != 0)
        return -1;
    *bounds = (struct provider_bounds){
        .name = name,
        .base_url = address.base_url,
        .max_concurrent = number_of(config, KEY_PROVIDER_MAX_CONCURRENT, name),
        .first_byte_ms = number_of(config, KEY_PROVIDER_FIRST_BYTE, name),
        .idle_ms = number_of(config, KEY_PROVIDER_IDLE, name),
        .total_ms = number_of(config, KEY_PROVIDER_TOTAL, name),
        .extra_body = body_of(config, KEY_PROVIDER_EXTRA, name),
    };
    headers_fill(config, name, bounds);
    if (check_total(config, bounds, err) != 0)
        return -1;
    /* A longer wait for the first byte is meant to be possible. */
    if (bounds->total_ms < bounds->first_byte_ms)
        bounds->total_ms = bounds->first_byte_ms;
    return 0;
}

int config_providers(struct config *config, const struct config_environment *environment,
                     struct err *err)
{
    const struct config_entries *entries = config->entries;
    config->providers = arena_alloc(&config->arena, (entries->n + 1) * sizeof *config->providers);
    for (size_t i = 0; i < entries->n; i++) {
        if (entries->items[i].key->id != KEY_PROVIDER)
            continue;
        struct provider_bounds *bounds = &config->providers[config->provider_count];
        if (bounds_fill(config, &entries->items[i], bounds, err) == 0 &&
            key_cmd_fill(config, environment, bounds, err) == 0)
            config->provider_count++;
        else if (config_mistake_keep(entries->mistakes, err) != 0)
            return -1;
    }
    extras_fill(config);
    return 0;
}
