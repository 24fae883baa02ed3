/* Effort and sampling, from keys to settings: of the run, of a model, of a role and of a spawn profile. Single values
 * were checked when they were read (entry.c). Runs on the main thread before the loop starts. */
#include "config/models.h"

#include "core/contract/role.h"

/* The five keys of one place. */
struct params_keys {
    enum config_key_id effort, temperature, top_p, stop, seed;
};

#define KEYS(id)                                                                                   \
    {                                                                                              \
        KEY_##id##EFFORT, KEY_##id##TEMPERATURE, KEY_##id##TOP_P, KEY_##id##STOP, KEY_##id##SEED   \
    }
static const struct params_keys places[] = {
    [PARAMS_OF_RUN] = KEYS(LLM_),
    [PARAMS_OF_MODEL] = KEYS(MODEL_),
    [PARAMS_OF_ROLE] = KEYS(ROLE_),
    [PARAMS_OF_PROFILE] = KEYS(PROFILE_),
};
#undef KEYS

static double decimal_of(const struct config_entry *entry, double otherwise)
{
    return entry ? (double)entry->value.number / 1e6 : otherwise;
}

void config_params_read(struct config *config, enum params_place place, struct str name,
                        struct model_params *params)
{
    const struct params_keys *keys = &places[place];
    const struct config_entries *entries = config->entries;
    const struct config_entry *effort = config_entries_find(entries, keys->effort, name, 0);
    const struct config_entry *stop = config_entries_find(entries, keys->stop, name, 0);
    const struct config_entry *seed = config_entries_find(entries, keys->seed, name, 0);
    params_init(params);
    if (effort)
        params->effort = effort->value.text;
    params->temperature =
        decimal_of(config_entries_find(entries, keys->temperature, name, 0), params->temperature);
    params->top_p = decimal_of(config_entries_find(entries, keys->top_p, name, 0), params->top_p);
    if (seed)
        params->seed = seed->value.number;
    if (stop)
        params->stop.state = LIST_SET;
    for (size_t i = 0; stop && i < stop->value.name_count; i++)
        list_add(&config->arena, &params->stop, stop->value.names[i].text);
}

const struct model_params *config_params_of(struct config *config, enum params_place place,
                                            struct str name)
{
    struct model_params *params = arena_alloc(&config->arena, sizeof *params);
    config_params_read(config, place, name, params);
    return params_are_unset(params) ? NULL : params;
}

/* --effort was typed for this run: it replaces what files say of the run and of its models. */
static void effort_from_flag(struct config *config)
{
    struct settings *settings = &config->settings;
    const struct config_entry *effort =
        config_entries_find(config->entries, KEY_LLM_EFFORT, STR(""), 0);
    if (!effort || effort->place.source->text.p)
        return;
    for (size_t i = 0; i < settings->model_count; i++) {
        const struct model_params *old = settings->models[i].params;
        if (!old || !old->effort.p)
            continue;
        struct model_params *params = arena_alloc(&config->arena, sizeof *params);
        *params = *old;
        params->effort = STR_NONE;
        settings->models[i].params = params_are_unset(params) ? NULL : params;
    }
}

void config_params(struct config *config)
{
    struct settings *settings = &config->settings;
    config_params_read(config, PARAMS_OF_RUN, STR(""), &settings->params);
    effort_from_flag(config);
    settings->role_params = arena_alloc(&config->arena, role_count * sizeof *settings->role_params);
    for (size_t i = 0; i < role_count; i++) {
        struct role_params role = {.role = str_from(role_table[i].name)};
        config_params_read(config, PARAMS_OF_ROLE, role.role, &role.params);
        if (!params_are_unset(&role.params))
            settings->role_params[settings->role_params_count++] = role;
    }
}
