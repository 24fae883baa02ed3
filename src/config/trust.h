/* Trust in a project's file that widens: one file in the user's state directory for each (path, content) that was trusted, so
 * that a changed file, or the same one elsewhere, is asked about anew. Never in the project. Blocking; main thread. */
#ifndef CADRE_CONFIG_TRUST_H
#define CADRE_CONFIG_TRUST_H

#include "config/config.h"

/* Makes the directory of records, so that tools can be kept out of it even where it lies inside the workspace. False: it cannot be
 * made, so neither can a record. */
bool config_trust_prepare(const struct config *config);
/* Whether each of config->projects that widens is trusted as it was read. What cannot be looked up is not. */
bool config_trust_known(const struct config *config);
/* Trusts each of them that widens, as it was read. */
int config_trust_keep(const struct config *config, struct err *err) NODISCARD;
/* Forgets all of config->projects, whatever their content was; *count: how many were trusted. */
int config_trust_revoke(const struct config *config, size_t *count, struct err *err) NODISCARD;

#endif
