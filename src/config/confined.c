/* The keys of `sandbox`, from entries to config->sandbox. The adapter that knows what they mean is src/sandbox. Main thread. */
#include "config/entry.h"
#include "config/models.h"

static struct str *texts_of(struct config *config, enum config_key_id key, size_t *count)
{
    const struct config_entry *entry = config_entries_find(config->entries, key, STR(""), 0);
    *count = entry != NULL ? entry->value.name_count : 0;
    struct str *texts = arena_alloc(&config->arena, (*count + 1) * sizeof *texts);
    for (size_t i = 0; entry != NULL && i < *count; i++)
        texts[i] = arena_copy(&config->arena, entry->value.names[i].text);
    return texts;
}

static int check_shown(const struct config *config, struct err *err)
{
    const struct config_entry *entry =
        config_entries_find(config->entries, KEY_SANDBOX_SHOW, STR(""), 0);
    for (size_t i = 0; entry != NULL && i < entry->value.name_count; i++) {
        const struct config_name *name = &entry->value.names[i];
        if (name->text.n >= 2 && name->text.p[0] == '/')
            continue;
        config_error(&name->place, EXCERPT_LINE, err,
                     "expected an absolute path such as /srv/toolchain");
        if (config_mistake_keep(config->entries->mistakes, err) != 0)
            return -1;
    }
    return 0;
}

/* A relay without a socket would refuse every command. */
static int check_relay(const struct config *config, struct err *err)
{
    const struct config_entry *socket =
        config_entries_find(config->entries, KEY_RELAY_SOCKET, STR(""), 0);
    const struct config_entry *network =
        config_entries_find(config->entries, KEY_ACCESS_NETWORK, STR(""), 0);
    if (socket != NULL && socket->value.text.p[0] != '/')
        return config_error(&socket->place, EXCERPT_LINE, err,
                            "expected the absolute path of a unix socket");
    if (socket == NULL && network != NULL && str_is(network->value.text, "relay"))
        return config_error(&network->place, EXCERPT_LINE, err,
                            "relay needs sandbox.relay.socket: what should it lead to?");
    return 0;
}

int config_sandbox(struct config *config, struct err *err)
{
    static const struct {
        const char *name;
        enum config_key_id key;
    } walls[] = {{"namespaces", KEY_SANDBOX_NAMESPACES},
                 {"landlock", KEY_SANDBOX_LANDLOCK},
                 {"seccomp", KEY_SANDBOX_SECCOMP}};
    struct config_sandbox *sandbox = &config->sandbox;
    const struct config_entries *entries = config->entries;
    for (size_t i = 0; i < sizeof walls / sizeof walls[0]; i++) {
        sandbox->walls[i].name = walls[i].name;
        sandbox->walls[i].off = config_entries_value(entries, walls[i].key).number == 0;
    }
    sandbox->environment = texts_of(config, KEY_SANDBOX_ENVIRONMENT, &sandbox->environment_count);
    sandbox->shown = texts_of(config, KEY_SANDBOX_SHOW, &sandbox->shown_count);
    sandbox->processes = config_entries_value(entries, KEY_SANDBOX_PROCESSES).number;
    sandbox->memory_mb = config_entries_value(entries, KEY_SANDBOX_MEMORY).number;
    sandbox->file_mb = config_entries_value(entries, KEY_SANDBOX_FILE).number;
    sandbox->disk_mb = config_entries_value(entries, KEY_SANDBOX_DISK).number;
    sandbox->open_files = config_entries_value(entries, KEY_SANDBOX_OPEN_FILES).number;
    const struct config_entry *socket = config_entries_find(entries, KEY_RELAY_SOCKET, STR(""), 0);
    sandbox->relay = socket != NULL ? arena_copy(&config->arena, socket->value.text) : STR("");
    sandbox->relay_port = config_entries_value(entries, KEY_RELAY_PORT).number;
    return check_relay(config, err) == 0 ? check_shown(config, err) : -1;
}
