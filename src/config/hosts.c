/* See hosts.h. Runs on the main thread before the loop starts. */
#include "config/hosts.h"

#include "base/hostrule.h"
#include "core/contract/network.h"

enum { HOSTS_MAX = 256, SHOWN_MAX = 80 };

static int refuse(const struct yaml_node *node, struct err *err)
{
    struct str text = node->kind == YAML_SCALAR ? node->text : STR("");
    struct str shown = {text.p, text.n < SHOWN_MAX ? text.n : SHOWN_MAX};
    if (host_is_address(text))
        return config_error(&node->place, EXCERPT_LINE, err,
                            "expected the name of a host, found the address '%.*s'; "
                            "access.addresses gives a name its address",
                            STR_FMT(shown));
    return config_error(&node->place, EXCERPT_LINE, err,
                        "expected the name of a host such as registry.example or "
                        "\"*.example.org\", without scheme, port and path");
}

static struct str folded(struct arena *arena, struct str text)
{
    char *out = arena_alloc(arena, text.n + 1);
    for (size_t i = 0; i < text.n; i++)
        out[i] = text.p[i] >= 'A' && text.p[i] <= 'Z' ? (char)(text.p[i] - 'A' + 'a') : text.p[i];
    return (struct str){out, text.n};
}

int config_hosts_read(struct arena *arena, const struct yaml_node *list, struct config_value *value,
                      struct err *err)
{
    if (list->kind != YAML_LIST || list->count > HOSTS_MAX)
        return config_error(&list->place, EXCERPT_LINE, err,
                            "expected a list of at most %d hosts by name", HOSTS_MAX);
    value->names = arena_alloc(arena, (list->count + 1) * sizeof *value->names);
    for (const struct yaml_node *item = list->first; item; item = item->next) {
        struct str text = item->kind == YAML_SCALAR ? folded(arena, item->text) : STR("");
        if (!hostrule_ok(text))
            return refuse(item, err);
        value->names[value->name_count++] = (struct config_name){text, item->place};
    }
    return 0;
}

int config_network_read(struct arena *arena, const struct yaml_node *mapping,
                        struct config_value *value, struct err *err)
{
    const struct yaml_node *allow = mapping->first;
    struct config_value hosts = {0};
    if (allow == NULL || allow->next != NULL || !str_is(allow->key->text, "allow"))
        return config_error(allow ? &allow->key->place : &mapping->place, EXCERPT_LINE, err,
                            "expected " NETWORK_EXPECTED);
    if (config_hosts_read(arena, allow, &hosts, err) != 0)
        return -1;
    struct str *rules = arena_alloc(arena, (hosts.name_count + 1) * sizeof *rules);
    for (size_t i = 0; i < hosts.name_count; i++)
        rules[i] = hosts.names[i].text;
    value->text = network_of_names(arena, rules, hosts.name_count);
    return 0;
}

int config_host_check(const struct yaml_node *key, struct err *err)
{
    return host_name_ok(key->text) ? 0 : refuse(key, err);
}
