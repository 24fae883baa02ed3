/* What the proxy of `access.network: {allow: …}` needs besides names: hosts with private addresses, addresses of hosts, and headers
 * with keys. For the shell only: it is not part of a run's settings, so no log has it. Main thread. */
#include "config/models.h"

static void read_private(struct config *config, const struct config_value *value)
{
    struct config_access *access = &config->access;
    access->private_hosts =
        arena_alloc(&config->arena, (value->name_count + 1) * sizeof *access->private_hosts);
    for (size_t i = 0; i < value->name_count; i++)
        access->private_hosts[access->private_count++] = value->names[i].text;
}

static void read_credentials(struct config *config, const struct config_entry *entry)
{
    struct config_access *access = &config->access;
    for (size_t i = 0; i < entry->value.name_count; i++) {
        struct str line = entry->value.names[i].text; /* "Name: value" */
        size_t n = (size_t)((const char *)memchr(line.p, ':', line.n) - line.p);
        access->credentials[access->credential_count++] = (struct config_credential){
            entry->name, {{line.p, n}, {line.p + n + 2, line.n - n - 2}}};
    }
}

void config_access(struct config *config)
{
    struct config_access *access = &config->access;
    const struct config_entries *entries = config->entries;
    size_t headers = 0;
    for (size_t i = 0; i < entries->n; i++)
        if (entries->items[i].key->id == KEY_ACCESS_CREDENTIALS)
            headers += entries->items[i].value.name_count;
    access->addresses = arena_alloc(&config->arena, (entries->n + 1) * sizeof *access->addresses);
    access->credentials = arena_alloc(&config->arena, (headers + 1) * sizeof *access->credentials);
    for (size_t i = 0; i < entries->n; i++) {
        const struct config_entry *entry = &entries->items[i];
        if (entry->key->id == KEY_ACCESS_PRIVATE)
            read_private(config, &entry->value);
        else if (entry->key->id == KEY_ACCESS_ADDRESS)
            access->addresses[access->address_count++] =
                (struct config_address){entry->name, entry->value.text};
        else if (entry->key->id == KEY_ACCESS_CREDENTIALS)
            read_credentials(config, entry);
    }
}
