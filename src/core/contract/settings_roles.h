/* Private to settings.c: kinds of fields. Their rows have offset 0: the value is the whole struct settings. */
#ifndef CADRE_CORE_CONTRACT_SETTINGS_ROLES_H
#define CADRE_CORE_CONTRACT_SETTINGS_ROLES_H

#include "core/contract/fields.h"

extern const struct field_kind role_outputs_kind, role_checks_kind, role_networks_kind,
    role_params_kind, network_kind;

#endif
