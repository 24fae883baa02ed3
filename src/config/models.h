/* Providers, models, pools and prices: from entries, flags and the environment to settings.models. */
#ifndef CADRE_CONFIG_MODELS_H
#define CADRE_CONFIG_MODELS_H

#include "config/config.h"
#include "config/entry.h"
#include "config/presets.h"

/* Fills settings.models, allowed_models, default_model and model_source. Needs config->entries. */
int config_models(struct config *config, const struct config_flags *flags,
                  const struct config_environment *environment, struct err *err) NODISCARD;
/* A server by name: an entry of llm.providers, a preset, or an entry over the preset of its name. */
struct provider_address {
    struct str name, api, base_url, api_key_env;
    const struct preset *preset;             /* NULL: none has this name */
    enum { API_ASSUMED, API_CHOSEN } choice; /* CHOSEN: by the user */
};
/* place: of the reference, for the error of a name that nobody has. */
int config_provider_find(struct config *config, struct str name, const struct config_place *place,
                         struct provider_address *out, struct err *err) NODISCARD;
/* The API's own server: address and variable of its key. NULL: there is no such API. */
struct model_api {
    const char *name, *base_url, *key_variable;
};
const struct model_api *config_api_find(struct str name);
/* A server that is named by its URL and API alone (STR_NONE: openai), with the variable of that API's key. USAGE. */
int config_url_address(struct config *config, struct str url, struct str api,
                       struct provider_address *out, struct err *err) NODISCARD;
/* Without slashes at the end of its path. */
struct str config_url_normal(struct config *config, struct str url);
/* Flags that make no sense, alone or together. */
int config_flags_check(const struct config_flags *flags, struct err *err) NODISCARD;
/* The model that flags or the environment choose, where they do. Needs what files say. */
int config_model_choose(struct config *config, const struct config_flags *flags,
                        const struct config_environment *environment, struct err *err) NODISCARD;
/* Adds a model on this server (there is room for one), or puts it in place of one of that name, as the default. */
void config_model_add(struct config *config, const struct provider_address *address,
                      struct str name, struct str source);
extern const char config_unknown_api[]; /* what is expected instead */
/* Fills spawn_enabled, hold_children and the spawn profiles; config_models comes first. */
int config_profiles(struct config *config, struct err *err) NODISCARD;
/* Fills config->providers; config_models comes first. */
int config_providers(struct config *config, const struct config_environment *environment,
                     struct err *err) NODISCARD;
/* Fills config->sandbox. */
int config_sandbox(struct config *config, struct err *err) NODISCARD;
/* Fills config->access. */
void config_access(struct config *config);
/* Fills config->web. */
int config_web(struct config *config, struct err *err) NODISCARD;
/* Whose effort and sampling. */
enum params_place { PARAMS_OF_RUN, PARAMS_OF_MODEL, PARAMS_OF_ROLE, PARAMS_OF_PROFILE };
/* What the keys of this place set; name: of the model, role or profile, empty for the run. */
void config_params_read(struct config *config, enum params_place place, struct str name,
                        struct model_params *params);
/* The same in the config's arena; NULL: nothing is set. */
const struct model_params *config_params_of(struct config *config, enum params_place place,
                                            struct str name);
/* Fills settings.params and role_params; config_models comes first. */
void config_params(struct config *config);
/* The root's cost limit: one that was set needs prices; the default holds where they are known. */
int config_cost(struct config *config, struct err *err) NODISCARD;
/* "there is no WHAT 'name'; did you mean …": for a reference to a name that no entry of `among` has. Returns -1. */
int config_dangling(const struct config *config, const struct config_place *place, const char *what,
                    struct str name, enum config_key_id among, struct err *err);
/* The absolute path that a key means: from its file's directory, or from the home with ~/. */
int config_path(struct config *config, const struct config_environment *environment,
                const struct config_entry *entry, struct str *path, struct err *err) NODISCARD;
/* A variable's value; NULL when it is not set or empty. */
const char *config_variable(const struct config_environment *environment, const char *name);

/* The values of the variables in a header, as config_header_expand puts them in. */
void config_header_variables(const struct config_header *header,
                             const struct config_environment *environment, config_secret_fn *take,
                             void *user);

#endif
