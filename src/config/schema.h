/* A JSON Schema that stands in a config file as YAML. */
#ifndef CADRE_CONFIG_SCHEMA_H
#define CADRE_CONFIG_SCHEMA_H

#include "config/yaml.h"

/* Its compact JSON, in the arena. An error points to the line that says something which cadre does not enforce. */
int config_schema_read(struct arena *arena, const struct yaml_node *node, struct str *json,
                       struct err *err) NODISCARD;

#endif
