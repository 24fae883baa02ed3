/* Which values of the environment are secrets: keys by the names that the config and the presets have for them, and what stands in
 * headers. For the shell, which masks them. Main thread. */
#include "config/models.h"
#include "config/presets.h"

struct secrets {
    const struct config_environment *environment;
    config_secret_fn *take;
    void *user;
};

static void take_variable(const struct secrets *secrets, struct str name)
{
    char text[256];
    if (name.n == 0 || name.n >= sizeof text)
        return;
    memcpy(text, name.p, name.n);
    text[name.n] = '\0';
    const char *value = config_variable(secrets->environment, text);
    if (value)
        secrets->take(secrets->user, str_trim(str_from(value)));
}

void config_secrets(const struct config *config, const struct config_environment *environment,
                    config_secret_fn *take, void *user)
{
    const struct secrets secrets = {environment, take, user};
    for (size_t i = 0; i < config->entries->n; i++)
        if (config->entries->items[i].key->type == TYPE_VARIABLE)
            take_variable(&secrets, config->entries->items[i].value.text);
    for (size_t i = 0; i < config->settings.model_count; i++)
        take_variable(&secrets, config->settings.models[i].api_key_env);
    for (size_t i = 0; i < preset_count; i++)
        take_variable(&secrets, str_from(presets[i].key_variable));
    for (size_t i = 0; i < config->provider_count; i++)
        for (size_t k = 0; k < config->providers[i].header_count; k++)
            config_header_variables(&config->providers[i].headers[k], environment, take, user);
    for (size_t i = 0; i < config->access.credential_count; i++)
        config_header_variables(&config->access.credentials[i].header, environment, take, user);
}
