/* `api: replay`, from keys to settings. The file itself is not looked at here: whoever opens it says what is wrong with it.
 * Runs on the main thread before the loop starts. */
#include "config/recording.h"

#include "config/entry.h"
#include "config/models.h"

static const struct config_entry *find(const struct config *config, enum config_key_id key,
                                       struct str name)
{
    return config_entries_find(config->entries, key, name, 0);
}

bool config_is_replay(const struct config *config, struct str provider)
{
    const struct config_entry *api = find(config, KEY_PROVIDER_API, provider);
    return api && str_is(api->value.text, "replay");
}

/* A recording needs `file`, and neither address nor key; servers have no use for its keys. */
static int check_keys(const struct config *config, struct err *err)
{
    static const struct {
        enum config_key_id key;
        enum { FOR_REPLAY, FOR_SERVERS } whom;
    } rules[] = {
        {KEY_PROVIDER_URL, FOR_SERVERS},  {KEY_PROVIDER_KEY, FOR_SERVERS},
        {KEY_PROVIDER_FILE, FOR_REPLAY},  {KEY_PROVIDER_STRICT, FOR_REPLAY},
        {KEY_PROVIDER_SPEED, FOR_REPLAY},
    };
    for (size_t i = 0; i < config->entries->n; i++) {
        const struct config_entry *entry = &config->entries->items[i];
        bool replay = config_is_replay(config, entry->name);
        if (entry->key->id == KEY_PROVIDER && replay &&
            !find(config, KEY_PROVIDER_FILE, entry->name))
            return config_error(&entry->place, EXCERPT_LINE, err,
                                "a provider with api: replay needs file: the recording that it "
                                "answers from");
        for (size_t k = 0; k < sizeof rules / sizeof rules[0]; k++)
            if (entry->key->id == rules[k].key && replay != (rules[k].whom == FOR_REPLAY))
                return config_error(&entry->key_place, EXCERPT_LINE, err,
                                    replay ? "a provider with api: replay speaks to no server"
                                           : "only a provider with api: replay has this key");
    }
    return 0;
}

/* The one form of a recording's address; model/replay.h takes it apart. */
static struct str address(struct config *config, struct str path, const char *strict,
                          const char *speed)
{
    return arena_printf(&config->arena, "file%s%s:%.*s", strict, speed, STR_FMT(path));
}

static void answer_from(struct model_settings *model, struct str base_url)
{
    model->api = STR("replay");
    model->base_url = base_url;
    model->api_key_env = STR_NONE;
}

int config_recordings(struct config *config, const struct config_environment *environment,
                      struct err *err)
{
    if (check_keys(config, err) != 0)
        return -1;
    for (size_t i = 0; i < config->settings.model_count; i++) {
        struct model_settings *model = &config->settings.models[i];
        struct str path;
        /* A model from flags has a server of its own, whatever a file calls it. */
        if (model->api.p || !config_is_replay(config, model->provider))
            continue;
        const struct config_entry *strict = find(config, KEY_PROVIDER_STRICT, model->provider);
        const struct config_entry *speed = find(config, KEY_PROVIDER_SPEED, model->provider);
        if (config_path(config, environment, find(config, KEY_PROVIDER_FILE, model->provider),
                        &path, err) != 0)
            return -1;
        answer_from(model, address(config, path, strict && strict->value.number ? "+strict" : "",
                                   speed && speed->value.number ? "+recorded" : ""));
    }
    return 0;
}

int config_replay(struct config *config, struct str path, struct str model, struct err *err)
{
    struct settings *settings = &config->settings;
    struct str base_url = address(config, path, "", "");
    if (settings->model_count == 0 &&
        config_local_model(config, STR("http://localhost"), model, err) != 0)
        return -1;
    for (size_t i = 0; i < settings->model_count; i++)
        answer_from(&settings->models[i], base_url);
    config->model_source = arena_printf(&config->arena, "the recording %.*s", STR_FMT(path));
    return 0;
}
