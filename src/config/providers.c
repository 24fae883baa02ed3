/* What each server of llm.providers bears: requests at once and deadlines. For the shell only: it is not part of a run's
 * settings, so that a resumed run uses what holds now. Runs on the main thread before the loop starts. */
#include "config/models.h"

static int64_t number_of(const struct config *config, enum config_key_id key, struct str name)
{
    const struct config_entry *entry = config_entries_find(config->entries, key, name, 0);
    return entry ? entry->value.number : config_value_default(&config_keys[key]).number;
}

static int check_total(const struct config *config, const struct provider_bounds *bounds,
                       struct err *err)
{
    const struct config_entry *total =
        config_entries_find(config->entries, KEY_PROVIDER_TOTAL, bounds->name, 0);
    if (total == NULL || bounds->total_ms >= bounds->first_byte_ms)
        return 0;
    return config_error(&total->place, EXCERPT_LINE, err,
                        "expected at least first_byte_ms: %lld, which is part of it",
                        (long long)bounds->first_byte_ms);
}

int config_providers(struct config *config, struct err *err)
{
    const struct config_entries *entries = config->entries;
    config->providers = arena_alloc(&config->arena, (entries->n + 1) * sizeof *config->providers);
    for (size_t i = 0; i < entries->n; i++) {
        struct str name = entries->items[i].name;
        if (entries->items[i].key->id != KEY_PROVIDER)
            continue;
        struct provider_bounds *bounds = &config->providers[config->provider_count];
        *bounds = (struct provider_bounds){
            .name = name,
            .base_url = config_provider_url(config, name),
            .max_concurrent = number_of(config, KEY_PROVIDER_MAX_CONCURRENT, name),
            .first_byte_ms = number_of(config, KEY_PROVIDER_FIRST_BYTE, name),
            .idle_ms = number_of(config, KEY_PROVIDER_IDLE, name),
            .total_ms = number_of(config, KEY_PROVIDER_TOTAL, name),
        };
        if (check_total(config, bounds, err) != 0)
            return -1;
        /* A longer wait for the first byte is meant to be possible. */
        if (bounds->total_ms < bounds->first_byte_ms)
            bounds->total_ms = bounds->first_byte_ms;
        config->provider_count++;
    }
    return 0;
}
