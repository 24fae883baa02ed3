/* Which model a run uses besides those of files: what flags name, what a key in the environment stands for, and what
 * a local server was found to have. Opens no connection. Runs on the main thread before the loop starts. */
#include "config/models.h"
#include "config/prices.h"

int config_flags_check(const struct config_flags *flags, struct err *err)
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
    if (flags->api.p && !config_api_find(flags->api))
        return err_set(err, ERR_USAGE, "--api %.*s: %s",
                       (int)(flags->api.n < 64 ? flags->api.n : 64), flags->api.p,
                       config_unknown_api);
    if (flags->base_url.p && !flags->model.p)
        return err_set(err, ERR_USAGE,
                       "--base-url needs --model NAME: what the server calls its model");
    if (flags->provider.p && (flags->base_url.p || flags->api.p))
        return err_set(err, ERR_USAGE,
                       "--provider names a server with its address and API: leave out %s",
                       flags->base_url.p ? "--base-url" : "--api");
    return 0;
}

/* The first preset whose key is set: rather one whose price list has this model. NULL: none. */
static const struct preset *preset_choose(struct str model,
                                          const struct config_environment *environment)
{
    const struct preset *first = NULL;
    for (size_t i = 0; i < preset_count; i++) {
        const struct preset *preset = &presets[i];
        if (!preset->model || !preset->key_variable ||
            !config_variable(environment, preset->key_variable))
            continue;
        if (model.p && price_find(str_from(preset->base_url), model, 0))
            return preset;
        first = first ? first : preset;
    }
    return first;
}

/* The API's own server. */
static struct provider_address api_address(const struct model_api *api)
{
    return (struct provider_address){.name = str_from(api->name),
                                     .api = str_from(api->name),
                                     .base_url = str_from(api->base_url),
                                     .api_key_env = str_from(api->key_variable),
                                     .choice = API_CHOSEN};
}

int config_url_address(struct config *config, struct str url, struct str api,
                       struct provider_address *out, struct err *err)
{
    const struct config_flags flags = {.base_url = url, .api = api, .model = STR("any")};
    if (config_flags_check(&flags, err) != 0)
        return -1;
    *out = api_address(config_api_find(api.p ? api : STR("openai")));
    out->name = STR("flags");
    out->base_url = config_url_normal(config, arena_copy(&config->arena, url));
    return 0;
}

/* --base-url URL --model NAME, and perhaps --api. */
static void model_from_url(struct config *config, const struct config_flags *flags,
                           const struct config_environment *environment)
{
    struct str api = flags->api.p ? flags->api : STR("openai");
    struct provider_address address = api_address(config_api_find(api));
    address.name = STR("flags");
    address.base_url = config_url_normal(config, arena_copy(&config->arena, flags->base_url));
    if (!config_variable(environment, config_api_find(api)->key_variable))
        address.api_key_env = STR_NONE;
    config_model_add(config, &address, arena_copy(&config->arena, flags->model), STR("flags"));
}

static int model_from_flags(struct config *config, const struct config_flags *flags,
                            const struct config_environment *environment, struct err *err)
{
    struct settings *settings = &config->settings;
    if (flags->base_url.p) {
        model_from_url(config, flags, environment);
        return 0;
    }
    struct str name = arena_copy(&config->arena, flags->model);
    if (flags->api.p) {
        struct provider_address address = api_address(config_api_find(flags->api));
        config_model_add(config, &address, name, STR("flags"));
        return 0;
    }
    if (settings_model(settings, name)) {
        settings->default_model = settings_model(settings, name)->name;
        settings->default_pool = STR_NONE; /* the model was named: no other stands in for it */
        config->model_source = STR("flags");
        return 0;
    }
    const struct preset *preset = preset_choose(name, environment);
    struct config_source flag = {.name = STR("--model"), .class = ERR_USAGE};
    struct config_place place = {.source = &flag};
    struct provider_address address;
    if (settings->model_count > 0)
        return config_dangling(config, &place, "model", flags->model, KEY_MODEL, err);
    if (!preset)
        return config_error(&place, EXCERPT_LINE, err,
                            "which server has it? Give --provider NAME or --base-url URL too, or "
                            "set OPENAI_API_KEY, ANTHROPIC_API_KEY or another vendor's key "
                            "(docs/models.md)");
    if (config_provider_find(config, str_from(preset->name), &place, &address, err) != 0)
        return -1;
    config_model_add(config, &address, name, STR("flags"));
    return 0;
}

static const struct model_settings *model_of_provider(const struct settings *settings,
                                                      struct str provider, struct str name)
{
    for (size_t i = 0; i < settings->model_count; i++) {
        const struct model_settings *model = &settings->models[i];
        if (str_eq(model->provider, provider) &&
            (!name.p || str_eq(model->name, name) || str_eq(model->model, name)))
            return model;
    }
    return NULL;
}

/* --provider NAME, and perhaps --model: a model of llm.models there, else one of that name, else the preset's. A local
 * server that has neither is asked when the run starts. */
static int model_from_provider(struct config *config, const struct config_flags *flags,
                               struct err *err)
{
    struct settings *settings = &config->settings;
    struct config_source flag = {.name = STR("--provider"), .class = ERR_USAGE};
    struct config_place place = {.source = &flag};
    struct str provider = arena_copy(&config->arena, flags->provider);
    struct provider_address address;
    const struct model_settings *known = model_of_provider(settings, provider, flags->model);
    if (config_provider_find(config, provider, &place, &address, err) != 0)
        return -1;
    if (known) {
        settings->default_model = known->name;
        settings->default_pool = STR_NONE;
        config->model_source = STR("flags");
        return 0;
    }
    if (flags->model.p || (address.preset && address.preset->model)) {
        struct str name = flags->model.p ? arena_copy(&config->arena, flags->model)
                                         : str_from(address.preset->model);
        config_model_add(config, &address, name, STR("flags"));
        return 0;
    }
    if (!str_starts(address.base_url, STR("http://")))
        return err_set(err, ERR_USAGE,
                       "--provider %.*s needs --model NAME; cadre models %.*s "
                       "lists what the server offers",
                       STR_FMT(provider), STR_FMT(provider));
    config->server_to_ask = address.base_url;
    config->server_name = provider;
    settings->default_model = STR_NONE;
    settings->default_pool = STR_NONE;
    return 0;
}

static int model_from_environment(struct config *config,
                                  const struct config_environment *environment, struct err *err)
{
    const struct preset *preset = preset_choose(STR_NONE, environment);
    struct provider_address address;
    struct config_place nowhere = {0};
    if (!preset)
        return 0;
    if (config_provider_find(config, str_from(preset->name), &nowhere, &address, err) != 0)
        return -1;
    config_model_add(config, &address, str_from(preset->model), str_from(preset->key_variable));
    return 0;
}

/* --api NAME alone: its own server, with the key that is set for it. */
static int model_from_api(struct config *config, const struct config_flags *flags,
                          const struct config_environment *environment, struct err *err)
{
    const struct model_api *api = config_api_find(flags->api);
    const struct preset *preset = preset_of_host(str_from(api->base_url));
    struct provider_address address = api_address(api);
    if (!config_variable(environment, api->key_variable))
        return err_set(err, ERR_USAGE,
                       "--api %.*s alone needs the key in %s; or name the server "
                       "and its model with --base-url URL --model NAME",
                       STR_FMT(flags->api), api->key_variable);
    config_model_add(config, &address, str_from(preset->model), str_from(api->key_variable));
    return 0;
}

int config_model_choose(struct config *config, const struct config_flags *flags,
                        const struct config_environment *environment, struct err *err)
{
    if (flags->provider.p)
        return model_from_provider(config, flags, err);
    if (flags->model.p)
        return model_from_flags(config, flags, environment, err);
    if (flags->api.p)
        return model_from_api(config, flags, environment, err);
    return config->settings.model_count == 0 ? model_from_environment(config, environment, err) : 0;
}

/* The port of a URL that url_ok accepted, as text. */
static struct str port_of(struct str url)
{
    size_t host = str_starts(url, STR("https://")) ? 8 : 7;
    struct str port = host == 8 ? STR("443") : STR("80");
    size_t end = host;
    while (end < url.n && url.p[end] != '/' && url.p[end] != '?')
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
    size_t count = settings->model_count;
    if (!base_url.p || !model.p || config_flags_check(&found, err) != 0)
        return err_set(err, ERR_CONFIG, "the local server gave no usable address or model name");
    struct model_settings *models = arena_alloc(&config->arena, (count + 1) * sizeof *models);
    struct model_origin *origins = arena_alloc(&config->arena, (count + 1) * sizeof *origins);
    if (count > 0) {
        memcpy(models, settings->models, count * sizeof *models);
        memcpy(origins, config->origins, count * sizeof *origins);
    }
    settings->models = models;
    config->origins = origins;

    struct provider_address address = api_address(config_api_find(STR("openai")));
    address.name = config->server_name.p ? config->server_name : STR("local");
    address.base_url = config_url_normal(config, arena_copy(&config->arena, base_url));
    address.api_key_env = STR_NONE;
    struct str port = port_of(address.base_url);
    config_model_add(config, &address, arena_copy(&config->arena, model),
                     arena_printf(&config->arena, "a server on port %.*s", STR_FMT(port)));
    return config_cost(config, err);
}
