/* Hosts in config files: lists of names, and the value of `network`. */
#ifndef CADRE_CONFIG_HOSTS_H
#define CADRE_CONFIG_HOSTS_H

#include "base/arena.h"
#include "config/value.h"
#include "config/yaml.h"

/* A list of host rules, in small letters inside. */
int config_hosts_read(struct arena *arena, const struct yaml_node *list, struct config_value *value,
                      struct err *err) NODISCARD;
/* {allow: [HOST, …]}, as the contract's text. */
int config_network_read(struct arena *arena, const struct yaml_node *mapping,
                        struct config_value *value, struct err *err) NODISCARD;
/* The key of a mapping that must be a host's name. */
int config_host_check(const struct yaml_node *key, struct err *err) NODISCARD;

#endif
