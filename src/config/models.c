/* Which models there are and which one is the default. Follows the references between llm's keys (model to provider,
 * pool and list to model) and says where one leads nowhere. Does not check single values (entry.c) and opens no
 * connection. Runs on the main thread before the loop starts. */
#include "config/models.h"

#include "config/prices.h"
#include "config/recording.h"
#include "config/value.h"

/* The APIs that are spoken, with the server, the key and the model that each is used with unless something else is
 * said. */
static const struct model_api {
    const char *name, *base_url, *key_variable, *model;
} model_apis[] = {
    {"openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-4.1-mini"},
    {"anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", "claude-sonnet-4-5"},
    {"responses", "https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-4.1-mini"},
};
enum { API_COUNT = sizeof model_apis / sizeof model_apis[0] };

static const char unknown_api[] = "expected openai (any server with OpenAI's chat completions), "
                                  "anthropic (any server with Anthropic's messages), "
                                  "responses (any server with OpenAI's responses) or replay (a "
                                  "recording)";

/* Models that are known without a config file. */
static const struct known_model {
    const char *model, *api;
    int64_t max_tokens, max_context_tokens;
} known_models[] = {
    {"gpt-4.1-mini", "openai", 8192, 128000},
    {"claude-sonnet-4-5", "anthropic", 8192, 200000},
};

static const struct model_api *api_find(struct str name)
{
    for (size_t i = 0; i < API_COUNT; i++)
        if (str_is(name, model_apis[i].name))
            return &model_apis[i];
    return NULL;
}

static const struct known_model *known_find(struct str model)
{
    for (size_t i = 0; i < sizeof known_models / sizeof known_models[0]; i++)
        if (str_is(model, known_models[i].model))
            return &known_models[i];
    return NULL;
}

const char *config_variable(const struct config_environment *environment, const char *name)
{
    const char *value = environment->get ? environment->get(environment->user, name) : NULL;
    return value && value[0] ? value : NULL;
}

static struct str without_slash(struct str url)
{
    while (url.n > 0 && url.p[url.n - 1] == '/')
        url.n--;
    return url;
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

int config_dangling(const struct config *config, const struct config_place *place, const char *what,
                    struct str name, enum config_key_id among, struct err *err)
{
    struct config_nearest nearest;
    config_nearest_init(&nearest, name);
    for (size_t i = 0; i < config->entries->n; i++)
        if (config->entries->items[i].key->id == among)
            config_nearest_offer(&nearest, config->entries->items[i].name);
    struct str shown = {name.p, name.n < 128 ? name.n : 128};
    if (nearest.best.p)
        return config_error(place, EXCERPT_LINE, err, "there is no %s '%.*s'; did you mean '%.*s'?",
                            what, STR_FMT(shown), STR_FMT(nearest.best));
    return config_error(place, EXCERPT_LINE, err, "there is no %s '%.*s'", what, STR_FMT(shown));
}

struct str config_provider_url(const struct config *config, struct str name)
{
    const struct config_entry *url = find(config, KEY_PROVIDER_URL, name);
    const struct config_entry *named = find(config, KEY_PROVIDER_API, name);
    if (config_is_replay(config, name))
        return STR("");
    const struct model_api *api = named ? api_find(named->value.text) : &model_apis[0];
    return url ? without_slash(url->value.text) : str_from(api->base_url);
}

static int provider_fill(struct config *config, const struct config_entry *reference,
                         struct model_settings *model, struct err *err)
{
    struct str name = reference->value.text;
    if (!find(config, KEY_PROVIDER, name))
        return config_dangling(config, &reference->place, "provider", name, KEY_PROVIDER, err);
    const struct config_entry *url = find(config, KEY_PROVIDER_URL, name);
    const struct config_entry *key = find(config, KEY_PROVIDER_KEY, name);
    const struct config_entry *named = find(config, KEY_PROVIDER_API, name);
    const struct model_api *api = named ? api_find(named->value.text) : &model_apis[0];
    model->provider = name;
    if (config_is_replay(config, name)) /* config_recordings fills in the rest */
        return 0;
    model->api = str_from(api->name);
    model->base_url = config_provider_url(config, name);
    model->api_key_env = key ? key->value.text : STR_NONE;
    if (!key && !url)
        model->api_key_env = str_from(api->key_variable);
    return 0;
}

/* The built-in prices for this server and window, over whatever the model has. */
static void prices_fill(struct model_settings *model)
{
    const struct price *price =
        price_find(model->base_url, model->model, model->max_context_tokens);
    model->price_in_nano = price ? price->in : UNLIMITED;
    model->price_out_nano = price ? price->out : UNLIMITED;
    model->price_cached_nano = price ? price->cached : UNLIMITED;
    model->price_cache_write_nano = price ? price->cache_write : UNLIMITED;
}

/* What the file says of prices, over the built-in ones. Prices of input and output make the built-in ones of the cache
 * void: they belong to another price list. */
static int prices_set(const struct config *config, struct model_settings *model, struct err *err)
{
    const struct config_entry *in = find(config, KEY_MODEL_PRICE_IN, model->name);
    const struct config_entry *out = find(config, KEY_MODEL_PRICE_OUT, model->name);
    const struct config_entry *cached = find(config, KEY_MODEL_PRICE_CACHED, model->name);
    const struct config_entry *write = find(config, KEY_MODEL_PRICE_CACHE_WRITE, model->name);
    if (!in != !out)
        return config_error(in ? &in->place : &out->place, EXCERPT_LINE, err,
                            "price_in and price_out are given together or not at all");
    prices_fill(model);
    if (in) {
        model->price_in_nano = in->value.number;
        model->price_out_nano = out->value.number;
        model->price_cached_nano = model->price_cache_write_nano = UNLIMITED;
    }
    if ((cached || write) && model->price_in_nano == UNLIMITED)
        return config_error(
            cached ? &cached->place : &write->place, EXCERPT_LINE, err,
            "this needs price_in and price_out too: the model has no built-in price");
    if (cached)
        model->price_cached_nano = cached->value.number;
    if (write)
        model->price_cache_write_nano = write->value.number;
    return 0;
}

static int model_fill(struct config *config, const struct config_entry *object,
                      struct model_settings *model, struct err *err)
{
    struct str name = object->name;
    const struct config_entry *provider = find(config, KEY_MODEL_PROVIDER, name);
    const struct config_entry *id = find(config, KEY_MODEL_ID, name);
    const struct config_entry *output = find(config, KEY_MODEL_OUTPUT, name);
    if (!provider)
        return config_error(&object->place, EXCERPT_LINE, err,
                            "model '%.*s' needs a provider: one of llm.providers", STR_FMT(name));
    *model = (struct model_settings){
        .name = name,
        .model = id ? id->value.text : name,
        .max_tokens = number_of(config, KEY_MODEL_OUTPUT, name),
        .max_context_tokens = number_of(config, KEY_MODEL_WINDOW, name),
        .text_tool_calls = number_of(config, KEY_MODEL_TEXT_CALLS, name) != 0 ? TEXT_CALLS_READ
                                                                              : TEXT_CALLS_ARE_TEXT,
    };
    model->params = config_params_of(config, PARAMS_OF_MODEL, name);
    if (!output && model->max_tokens > model->max_context_tokens / 2)
        model->max_tokens = model->max_context_tokens / 2;
    if (model->max_tokens >= model->max_context_tokens)
        return config_error(&output->place, EXCERPT_LINE, err,
                            "expected fewer tokens than the window, max_context_tokens: %lld",
                            (long long)model->max_context_tokens);
    if (provider_fill(config, provider, model, err) != 0)
        return -1;
    return prices_set(config, model, err);
}

static int check_apis(const struct config *config, struct err *err)
{
    for (size_t i = 0; i < config->entries->n; i++) {
        const struct config_entry *entry = &config->entries->items[i];
        if (entry->key->id == KEY_PROVIDER_API && !api_find(entry->value.text) &&
            !config_is_replay(config, entry->name))
            return config_error(&entry->place, EXCERPT_LINE, err, "%s", unknown_api);
    }
    return 0;
}

static int models_fill(struct config *config, struct err *err)
{
    struct settings *settings = &config->settings;
    const struct config_entries *entries = config->entries;
    size_t count = 0;
    for (size_t i = 0; i < entries->n; i++)
        count += entries->items[i].key->id == KEY_MODEL;
    /* One more: flags or the environment may add a model. */
    settings->models = arena_alloc(&config->arena, (count + 1) * sizeof *settings->models);
    for (size_t i = 0; i < entries->n; i++) {
        if (entries->items[i].key->id != KEY_MODEL)
            continue;
        struct model_settings *model = &settings->models[settings->model_count];
        if (model_fill(config, &entries->items[i], model, err) != 0)
            return -1;
        settings->model_count++;
    }
    return 0;
}

static int check_references(struct config *config, struct err *err)
{
    struct settings *settings = &config->settings;
    for (size_t i = 0; i < config->entries->n; i++) {
        const struct config_entry *entry = &config->entries->items[i];
        if (entry->key->id == KEY_POOL_MODEL && !settings_model(settings, entry->value.text))
            return config_dangling(config, &entry->place, "model", entry->value.text, KEY_MODEL,
                                   err);
    }
    const struct config_entry *allowed = find(config, KEY_ALLOWED_MODELS, STR(""));
    if (!allowed)
        return 0;
    settings->allowed_models.state = LIST_SET;
    for (size_t i = 0; i < allowed->value.name_count; i++) {
        const struct config_name *name = &allowed->value.names[i];
        if (!settings_model(settings, name->text))
            return config_dangling(config, &name->place, "model", name->text, KEY_MODEL, err);
        list_add(&config->arena, &settings->allowed_models, name->text);
    }
    return 0;
}

/* Every pool with its members in order. */
static void pools_from_files(struct config *config)
{
    struct settings *settings = &config->settings;
    const struct config_entries *entries = config->entries;
    settings->pools = arena_alloc(&config->arena, (entries->n + 1) * sizeof *settings->pools);
    for (size_t i = 0; i < entries->n; i++) {
        const struct config_entry *entry = &entries->items[i];
        if (entry->key != &config_keys[KEY_POOL_MODEL] || entry->index != 0)
            continue;
        struct pool *pool = &settings->pools[settings->pool_count++];
        pool->name = entry->name;
        const struct config_entry *member;
        for (size_t k = 0; (member = config_entries_find(entries, KEY_POOL_MODEL, entry->name, k));
             k++)
            list_add(&config->arena, &pool->models, member->value.text);
    }
}

enum default_need { DEFAULT_WANTED, DEFAULT_OPTIONAL };

/* The default that files name. None is an error only when nothing else chooses. */
static int default_from_files(struct config *config, enum default_need need, struct err *err)
{
    struct settings *settings = &config->settings;
    const struct config_entry *chosen = find(config, KEY_DEFAULT_POOL, STR(""));
    struct str pool = config_entries_value(config->entries, KEY_DEFAULT_POOL).text;
    const struct config_entry *first = find(config, KEY_POOL_MODEL, pool);
    if (chosen && !first)
        return config_dangling(config, &chosen->place, "pool", pool, KEY_POOL_MODEL, err);
    if (settings->model_count == 0)
        return 0;
    struct config_place place = {0};
    if (first) {
        settings->default_model = first->value.text;
        settings->default_pool = pool;
        place = first->place;
    } else if (settings->model_count == 1) {
        settings->default_model = settings->models[0].name;
        place = find(config, KEY_MODEL, settings->default_model)->place;
    } else if (need == DEFAULT_WANTED) {
        place = find(config, KEY_MODEL, settings->models[1].name)->place;
        return config_error(&place, EXCERPT_LINE, err,
                            "several models and no default: add llm.pools.default: [{model: %.*s}]",
                            STR_FMT(settings->models[0].name));
    } else {
        return 0;
    }
    config->model_source = arena_printf(&config->arena, "config %.*s", STR_FMT(place.source->name));
    return 0;
}

/* A model on the API's own server. */
static struct model_settings api_model(const struct model_api *api, struct str name)
{
    const struct known_model *known = known_find(name);
    struct model_settings model = {
        .name = name,
        .provider = str_from(api->name),
        .model = name,
        .api = str_from(api->name),
        .base_url = str_from(api->base_url),
        .api_key_env = str_from(api->key_variable),
        .max_tokens = config_value_default(&config_keys[KEY_MODEL_OUTPUT]).number,
        .max_context_tokens = config_value_default(&config_keys[KEY_MODEL_WINDOW]).number,
    };
    /* A server's models are the same over each of its APIs. */
    if (known && strcmp(api_find(str_from(known->api))->base_url, api->base_url) == 0) {
        model.max_tokens = known->max_tokens;
        model.max_context_tokens = known->max_context_tokens;
    }
    prices_fill(&model);
    return model;
}

/* Adds the model (there is room for one), or puts it in place of one of that name, as the default. */
static void model_add(struct config *config, const struct model_settings *model, struct str source)
{
    struct settings *settings = &config->settings;
    size_t i = 0;
    while (i < settings->model_count && !str_eq(settings->models[i].name, model->name))
        i++;
    settings->models[i] = *model;
    if (i == settings->model_count)
        settings->model_count++;
    settings->default_model = model->name;
    settings->default_pool = STR_NONE;
    config->model_source = source;
}

static int flag_texts_ok(const struct config_flags *flags, struct err *err)
{
    struct config_value unused;
    struct err problem = ERR_INIT;
    if (flags->base_url.p && config_value_parse(&config_keys[KEY_PROVIDER_URL], flags->base_url,
                                                YAML_QUOTED, &unused, &problem) != 0)
        return err_set(err, ERR_USAGE, "--base-url: %s", problem.message);
    if (flags->model.p && config_value_parse(&config_keys[KEY_MODEL_ID], flags->model, YAML_QUOTED,
                                             &unused, &problem) != 0)
        return err_set(err, ERR_USAGE, "--model: %s", problem.message);
    if (str_is(flags->api, "replay"))
        return err_set(err, ERR_USAGE, "--api replay: use --replay FILE in its place");
    if (flags->api.p && !api_find(flags->api))
        return err_set(err, ERR_USAGE, "--api %.*s: %s",
                       (int)(flags->api.n < 64 ? flags->api.n : 64), flags->api.p, unknown_api);
    if (flags->base_url.p && !flags->model.p)
        return err_set(err, ERR_USAGE,
                       "--base-url needs --model NAME: what the server calls its model");
    return 0;
}

/* The API that a flag names; else of those whose key is set the one that has this model, or the first. NULL: none. */
static const struct model_api *api_choose(const struct config_flags *flags,
                                          const struct config_environment *environment)
{
    const struct model_api *first = NULL;
    if (flags->api.p)
        return api_find(flags->api);
    for (size_t i = 0; i < API_COUNT; i++) {
        if (!config_variable(environment, model_apis[i].key_variable))
            continue;
        if (price_find(str_from(model_apis[i].base_url), flags->model, 0))
            return &model_apis[i];
        first = first ? first : &model_apis[i];
    }
    return first;
}

static int model_from_flags(struct config *config, const struct config_flags *flags,
                            const struct config_environment *environment, struct err *err)
{
    struct settings *settings = &config->settings;
    const struct model_api *api = api_choose(flags, environment);
    bool server_named = flags->base_url.p || flags->api.p;
    if (!server_named && settings_model(settings, flags->model)) {
        settings->default_model = settings_model(settings, flags->model)->name;
        settings->default_pool = STR_NONE; /* the model was named: no other stands in for it */
        config->model_source = STR("flags");
        return 0;
    }
    if (!server_named && (settings->model_count > 0 || !api)) {
        struct config_source flag = {.name = STR("--model"), .class = ERR_USAGE};
        struct config_place place = {.source = &flag};
        if (settings->model_count > 0)
            return config_dangling(config, &place, "model", flags->model, KEY_MODEL, err);
        return config_error(
            &place, EXCERPT_LINE, err,
            "which server has it? Give --base-url URL too, or set OPENAI_API_KEY or "
            "ANTHROPIC_API_KEY");
    }
    /* A server that is not named by its API speaks the one that most servers speak. */
    if (!flags->api.p && flags->base_url.p)
        api = &model_apis[0];
    struct model_settings model = api_model(api, arena_copy(&config->arena, flags->model));
    if (flags->base_url.p) {
        model.provider = STR("flags");
        model.base_url = without_slash(arena_copy(&config->arena, flags->base_url));
        if (!config_variable(environment, api->key_variable))
            model.api_key_env = STR_NONE;
        prices_fill(&model); /* another server's prices are its own */
    }
    model_add(config, &model, STR("flags"));
    return 0;
}

static void model_from_environment(struct config *config, const struct config_flags *flags,
                                   const struct config_environment *environment)
{
    const struct model_api *api = api_choose(flags, environment);
    if (!api || !config_variable(environment, api->key_variable))
        return;
    struct model_settings model = api_model(api, str_from(api->model));
    model_add(config, &model, str_from(api->key_variable));
}

static int check_default_allowed(const struct config *config, struct err *err)
{
    const struct settings *settings = &config->settings;
    if (!settings->default_model.p || list_has(&settings->allowed_models, settings->default_model))
        return 0;
    const struct config_entry *allowed = find(config, KEY_ALLOWED_MODELS, STR(""));
    return config_error(&allowed->key_place, EXCERPT_LINE, err,
                        "model '%.*s' (from %.*s) is to be used, but it is not in this list",
                        STR_FMT(settings->default_model), STR_FMT(config->model_source));
}

int config_models(struct config *config, const struct config_flags *flags,
                  const struct config_environment *environment, struct err *err)
{
    if (flag_texts_ok(flags, err) != 0 || check_apis(config, err) != 0 ||
        models_fill(config, err) != 0 || check_references(config, err) != 0)
        return -1;
    pools_from_files(config);
    if (default_from_files(
            config, flags->model.p || flags->api.p ? DEFAULT_OPTIONAL : DEFAULT_WANTED, err) != 0)
        return -1;
    if (flags->model.p) {
        if (model_from_flags(config, flags, environment, err) != 0)
            return -1;
    } else if (flags->api.p) {
        if (!config_variable(environment, api_find(flags->api)->key_variable))
            return err_set(err, ERR_USAGE,
                           "--api %.*s alone needs the key in %s; or name the server "
                           "and its model with --base-url URL --model NAME",
                           STR_FMT(flags->api), api_find(flags->api)->key_variable);
        model_from_environment(config, flags, environment);
    } else if (config->settings.model_count == 0) {
        model_from_environment(config, flags, environment);
    }
    return check_default_allowed(config, err);
}

void config_price_origin(const struct model_settings *model, struct buf *out)
{
    const struct price *price =
        price_find(model->base_url, model->model, model->max_context_tokens);
    if (price && price->in == model->price_in_nano && price->out == model->price_out_nano &&
        price->cached == model->price_cached_nano &&
        price->cache_write == model->price_cache_write_nano)
        buf_printf(out, "built-in, %s", price->as_of);
    else
        buf_text(out, model->price_in_nano == UNLIMITED ? "not known" : "config");
}

static bool priced(const struct model_settings *model)
{
    return model->price_in_nano != UNLIMITED && model->price_out_nano != UNLIMITED;
}

int config_cost(struct config *config, struct err *err)
{
    struct settings *settings = &config->settings;
    const struct config_entry *limit = find(config, KEY_COST, STR(""));
    const struct model_settings *chosen = settings_model(settings, settings->default_model);
    settings->root.cost_nano = config_entries_value(config->entries, KEY_COST).number;
    if (!chosen)
        return 0;
    if (!limit) {
        if (!priced(chosen))
            settings->root.cost_nano = UNLIMITED;
        return 0;
    }
    for (size_t i = 0; i < settings->model_count && limit->value.number != UNLIMITED; i++) {
        const struct model_settings *model = &settings->models[i];
        if (priced(model) || !list_has(&settings->allowed_models, model->name))
            continue;
        return config_error(
            &limit->place, EXCERPT_LINE, err,
            "a cost limit needs prices, and model '%.*s' has none: add price_in and "
            "price_out to llm.models (0 for a free server), or take the limit away",
            STR_FMT(model->name));
    }
    return 0;
}

/* The port of a URL that url_ok accepted, as text. */
static struct str port_of(struct str url)
{
    size_t host = str_starts(url, STR("https://")) ? 8 : 7;
    struct str port = host == 8 ? STR("443") : STR("80");
    size_t end = host;
    while (end < url.n && url.p[end] != '/')
        end++;
    for (size_t i = end; i > host && url.p[i - 1] != ']'; i--)
        if (url.p[i - 1] == ':')
            return (struct str){url.p + i, end - i};
    return port;
}

int config_local_model(struct config *config, struct str base_url, struct str model,
                       struct err *err)
{
    struct settings *settings = &config->settings;
    const struct config_flags found = {.base_url = base_url, .model = model};
    if (!base_url.p || !model.p || flag_texts_ok(&found, err) != 0)
        return err_set(err, ERR_CONFIG, "the local server gave no usable address or model name");
    struct model_settings *models =
        arena_alloc(&config->arena, (settings->model_count + 1) * sizeof *models);
    if (settings->model_count > 0)
        memcpy(models, settings->models, settings->model_count * sizeof *models);
    settings->models = models;

    struct model_settings local = api_model(&model_apis[0], arena_copy(&config->arena, model));
    local.provider = STR("local");
    local.base_url = without_slash(arena_copy(&config->arena, base_url));
    local.api_key_env = STR_NONE;
    prices_fill(&local);
    struct str port = port_of(local.base_url);
    model_add(config, &local, arena_printf(&config->arena, "a server on port %.*s", STR_FMT(port)));
    return config_cost(config, err);
}
