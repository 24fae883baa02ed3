/* Providers with `api: replay`: which recording they answer from, and how. */
#ifndef CADRE_CONFIG_RECORDING_H
#define CADRE_CONFIG_RECORDING_H

#include "config/config.h"

/* Whether the provider of this name answers from a recording. */
bool config_is_replay(const struct config *config, struct str provider);
/* Checks the keys of all providers, and fills what models have of a replaying provider: api, and the base_url that
 * model/replay.h describes. */
int config_recordings(struct config *config, const struct config_environment *environment,
                      struct err *err) NODISCARD;

#endif
