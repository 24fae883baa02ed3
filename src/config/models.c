/* Which models there are and which one is the default. Follows the references between llm's keys (model to provider,
 * pool and list to model) and says where one leads nowhere. Does not check single values (entry.c) and opens no
 * connection. Runs on the main thread before the loop starts. */
#include "config/models.h"

#include "config/known.h"
#include "config/prices.h"
#include "config/recording.h"
#include "config/value.h"
#include "core/contract/budget.h"

const char config_unknown_api[] = "expected openai (any server with OpenAI's chat completions), "
                                  "anthropic (any server with Anthropic's messages), "
                                  "responses (any server with OpenAI's responses) or replay (a "
                                  "recording)";

const char *config_variable(const struct config_environment *environment, const char *name)
{
    const char *value = environment->get ? environment->get(environment->user, name) : NULL;
    return value && value[0] ? value : NULL;
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

/* Puts the model on a server. OpenAI's own serves some models better over its second API. */
static void model_place(struct model_settings *model, const struct provider_address *address)
{
    model->provider = address->name;
    model->api = address->api;
    model->base_url = address->base_url;
    model->api_key_env = address->api_key_env;
    if (address->choice == API_ASSUMED &&
        known_better_over_responses(model->base_url, model->model))
        model->api = STR("responses");
}

/* --- windows and output limits ------------------------------------------------------------------- */

enum { OUTPUT_REASONING = 16384, OUTPUT_EFFORT = 32768 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static struct model_origin *origin_of(const struct config *config,
                                      const struct model_settings *model)
{
    return &config->origins[model - config->settings.models];
}

/* The output limits of a model for which none is configured: what fits its window, and what it is known to write. */
static void output_fill(const struct config *config, struct model_settings *model)
{
    const struct known_model *known = known_model_find(model->base_url, model->model);
    int64_t usual = config_value_default(&config_keys[KEY_MODEL_OUTPUT]).number;
    int64_t most = model->max_context_tokens / 2;
    if (origin_of(config, model)->output_set)
        return;
    if (known)
        most = least(most, known->output);
    if (known && known->reasons == REASONS_ALWAYS)
        usual = OUTPUT_REASONING;
    model->max_tokens = least(usual, most);
    model->effort_tokens =
        known && known->reasons == REASONS_NEVER ? 0 : least(OUTPUT_EFFORT, most);
}

/* The window of a model for which none is configured. A price that holds for short requests alone bounds it: nobody
 * should pay the price of long ones without having asked for them. */
static void window_fill(const struct config *config, struct model_settings *model)
{
    const struct known_model *known = known_model_find(model->base_url, model->model);
    const struct price *price = price_find(model->base_url, model->model, 0);
    model->max_context_tokens = config_value_default(&config_keys[KEY_MODEL_WINDOW]).number;
    origin_of(config, model)->window = known ? WINDOW_KNOWN : WINDOW_DEFAULT;
    if (known)
        model->max_context_tokens = price ? least(known->window, price->window) : known->window;
}

bool config_window_missing(const struct config *config, size_t i)
{
    return config->origins[i].window == WINDOW_DEFAULT &&
           !str_is(config->settings.models[i].api, "replay");
}

const char *config_window_text(const struct config *config, const struct model_settings *model)
{
    static const char *const texts[] = {[WINDOW_DEFAULT] = "the default",
                                        [WINDOW_KNOWN] = ("built-in, " KNOWN_AS_OF),
                                        [WINDOW_CONFIG] = "config",
                                        [WINDOW_SERVER] = "the server"};
    return texts[origin_of(config, model)->window];
}

/* --- models -------------------------------------------------------------------------------------- */

static int provider_fill(struct config *config, const struct config_entry *reference,
                         struct model_settings *model, struct err *err)
{
    struct provider_address address;
    if (config_provider_find(config, reference->value.text, &reference->place, &address, err) != 0)
        return -1;
    model_place(model, &address);
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
    const struct config_entry *window = find(config, KEY_MODEL_WINDOW, name);
    *model = (struct model_settings){
        .name = name,
        .model = id ? id->value.text : name,
        .text_tool_calls = number_of(config, KEY_MODEL_TEXT_CALLS, name) != 0 ? TEXT_CALLS_READ
                                                                              : TEXT_CALLS_ARE_TEXT,
        .params = config_params_of(config, PARAMS_OF_MODEL, name),
    };
    if (provider_fill(config, provider, model, err) != 0)
        return -1;
    *origin_of(config, model) = (struct model_origin){WINDOW_CONFIG, output != NULL};
    if (window)
        model->max_context_tokens = window->value.number;
    else
        window_fill(config, model);
    output_fill(config, model);
    if (output)
        model->max_tokens = output->value.number;
    if (model->max_tokens >= model->max_context_tokens)
        return config_error(&output->place, EXCERPT_LINE, err,
                            "expected fewer tokens than the window, max_context_tokens: %lld",
                            (long long)model->max_context_tokens);
    return prices_set(config, model, err);
}

static int skip_mistake(const struct config *config, struct err *err)
{
    return config_mistake_keep(config->entries->mistakes, err);
}

static int check_apis(const struct config *config, struct err *err)
{
    for (size_t i = 0; i < config->entries->n; i++) {
        const struct config_entry *entry = &config->entries->items[i];
        if (entry->key->id != KEY_PROVIDER_API || config_api_find(entry->value.text) ||
            config_is_replay(config, entry->name))
            continue;
        config_error(&entry->place, EXCERPT_LINE, err, "%s", config_unknown_api);
        if (skip_mistake(config, err) != 0)
            return -1;
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
    config->origins = arena_alloc(&config->arena, (count + 1) * sizeof *config->origins);
    for (size_t i = 0; i < entries->n; i++) {
        if (entries->items[i].key->id != KEY_MODEL)
            continue;
        struct model_settings *model = &settings->models[settings->model_count];
        if (model_fill(config, &entries->items[i], model, err) == 0)
            settings->model_count++;
        else if (skip_mistake(config, err) != 0)
            return -1;
    }
    return 0;
}

static int check_references(struct config *config, struct err *err)
{
    struct settings *settings = &config->settings;
    for (size_t i = 0; i < config->entries->n; i++) {
        const struct config_entry *entry = &config->entries->items[i];
        if (entry->key->id == KEY_POOL_MODEL && !settings_model(settings, entry->value.text) &&
            config_dangling(config, &entry->place, "model", entry->value.text, KEY_MODEL, err) !=
                0 &&
            skip_mistake(config, err) != 0)
            return -1;
    }
    const struct config_entry *allowed = find(config, KEY_ALLOWED_MODELS, STR(""));
    if (!allowed)
        return 0;
    settings->allowed_models.state = LIST_SET;
    for (size_t i = 0; i < allowed->value.name_count; i++) {
        const struct config_name *name = &allowed->value.names[i];
        if (settings_model(settings, name->text)) {
            list_add(&config->arena, &settings->allowed_models, name->text);
            continue;
        }
        config_dangling(config, &name->place, "model", name->text, KEY_MODEL, err);
        if (skip_mistake(config, err) != 0)
            return -1;
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

/* Adds a model on this server (there is room for one), or puts it in place of one of that name, as the default. */
void config_model_add(struct config *config, const struct provider_address *address,
                      struct str name, struct str source)
{
    struct settings *settings = &config->settings;
    size_t i = 0;
    while (i < settings->model_count && !str_eq(settings->models[i].name, name))
        i++;
    struct model_settings *model = &settings->models[i];
    *model = (struct model_settings){.name = name, .model = name};
    config->origins[i] = (struct model_origin){0};
    model_place(model, address);
    window_fill(config, model);
    output_fill(config, model);
    prices_fill(model);
    if (i == settings->model_count)
        settings->model_count++;
    settings->default_model = model->name;
    settings->default_pool = STR_NONE;
    config->model_source = source;
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

/* Whether there are more than `before`; then what refers to models is not checked. */
static bool mistakes_since(const struct config *config, size_t before)
{
    struct config_mistakes *mistakes = config->entries->mistakes;
    if (mistakes == NULL || mistakes->found == before)
        return false;
    mistakes->incomplete = true;
    return true;
}

int config_models(struct config *config, const struct config_flags *flags,
                  const struct config_environment *environment, struct err *err)
{
    size_t before = config->entries->mistakes != NULL ? config->entries->mistakes->found : 0;
    if (config_flags_check(flags, err) != 0 || check_apis(config, err) != 0 ||
        models_fill(config, err) != 0)
        return -1;
    /* A pool of a model that has a mistake would be told as a second one. */
    if (mistakes_since(config, before) || check_references(config, err) != 0 ||
        mistakes_since(config, before))
        return -1;
    bool named = flags->model.p || flags->api.p || flags->provider.p;
    pools_from_files(config);
    if (default_from_files(config, named ? DEFAULT_OPTIONAL : DEFAULT_WANTED, err) != 0)
        return -1;
    if (config_model_choose(config, flags, environment, err) != 0)
        return -1;
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

static bool allowed(const struct settings *settings, const struct model_settings *model)
{
    return settings->allowed_models.state != LIST_SET ||
           list_has(&settings->allowed_models, model->name);
}

static bool any_priced(const struct settings *settings)
{
    for (size_t i = 0; i < settings->model_count; i++)
        if (allowed(settings, &settings->models[i]) && model_is_priced(&settings->models[i]))
            return true;
    return false;
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
        /* Whichever model answers (a pin, a pool, a child's own), the default holds. */
        if (!any_priced(settings))
            settings->root.cost_nano = UNLIMITED;
        return 0;
    }
    for (size_t i = 0; i < settings->model_count && limit->value.number != UNLIMITED; i++) {
        const struct model_settings *model = &settings->models[i];
        if (model_is_priced(model) || !list_has(&settings->allowed_models, model->name))
            continue;
        return config_error(
            &limit->place, EXCERPT_LINE, err,
            "a cost limit needs prices, and model '%.*s' has none: add price_in and "
            "price_out to llm.models (0 for a free server), or take the limit away",
            STR_FMT(model->name));
    }
    return 0;
}

void config_window_learn(struct config *config, size_t i, int64_t tokens)
{
    struct model_settings *model = &config->settings.models[i];
    struct err unused = ERR_INIT;
    model->max_context_tokens = tokens;
    config->origins[i].window = WINDOW_SERVER;
    if (config->origins[i].output_set && model->max_tokens >= tokens)
        model->max_tokens = tokens / 2;
    output_fill(config, model);
    /* Prices may depend on the window; those of a file do not, and were checked when it was read. */
    if (find(config, KEY_MODEL, model->name))
        (void)prices_set(config, model, &unused);
    else
        prices_fill(model);
}
