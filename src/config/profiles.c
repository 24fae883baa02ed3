/* Spawn profiles and roles, from keys to settings: the switches of tools.spawn and sub_agent that go with them, and the pools that
 * profiles name. Single values were checked when they were read (entry.c); prompt files are read at each spawn, not here. Runs on the main
 * thread before the loop starts. */
#include <stddef.h>

#include "base/path.h"
#include "config/entry.h"
#include "config/models.h"

static const struct config_entry *find(const struct config *config, enum config_key_id key,
                                       struct str profile)
{
    return config_entries_find(config->entries, key, profile, 0);
}

static struct str text_of(const struct config *config, enum config_key_id key, struct str profile)
{
    const struct config_entry *entry = find(config, key, profile);
    return entry ? entry->value.text : STR("");
}

static struct str schema_of(const struct config *config, struct str profile)
{
    const struct config_entry *entry = find(config, KEY_PROFILE_SCHEMA, profile);
    return entry ? entry->value.text : STR_NONE;
}

static struct str network_of(const struct config *config, struct str profile)
{
    const struct config_entry *entry = find(config, KEY_PROFILE_NETWORK, profile);
    return entry ? entry->value.text : STR_NONE;
}

static struct list names_of(struct config *config, enum config_key_id key, struct str profile)
{
    const struct config_entry *entry = find(config, key, profile);
    struct list names = {LIST_SET, NULL, 0};
    for (size_t i = 0; entry && i < entry->value.name_count; i++)
        list_add(&config->arena, &names, entry->value.names[i].text);
    return names;
}

/* An empty list is "none"; a key that is not there asks the next who may say. */
static struct list checks_of(struct config *config, enum config_key_id key, struct str name)
{
    return find(config, key, name) ? names_of(config, key, name) : LIST_NONE;
}

/* A pool that no child could use would refuse every spawn. */
static int check_pool(const struct config *config, const struct config_entry *entry,
                      struct err *err)
{
    const struct settings *settings = &config->settings;
    struct str name = entry->value.text;
    const struct pool *pool = settings_pool(settings, name);
    if (!pool)
        return config_dangling(config, &entry->place, "pool", name, KEY_POOL_MODEL, err);
    for (size_t i = 0; i < pool->models.n; i++)
        if (list_has(&settings->allowed_models, pool->models.items[i]))
            return 0;
    return config_error(&entry->place, EXCERPT_LINE, err,
                        "no model of the pool '%.*s' is in llm.allowed_models", STR_FMT(name));
}

/* A role that is bound to directories, and names of single directories. */
static int read_directories(struct config *config, const struct config_entry *entry,
                            struct err *err)
{
    if (!str_is(entry->name, "tester"))
        return config_error(&entry->key_place, EXCERPT_LINE, err,
                            "only the role tester is bound to directories");
    for (size_t i = 0; i < entry->value.name_count; i++) {
        const struct config_name *name = &entry->value.names[i];
        struct str normal = path_normal(&config->arena, name->text);
        if (!str_eq(normal, name->text) || memchr(name->text.p, '/', name->text.n) ||
            memchr(name->text.p, '*', name->text.n) || str_is(normal, "."))
            return config_error(&name->place, EXCERPT_LINE, err,
                                "expected the name of a directory, without / and *");
        list_add(&config->arena, &config->settings.test_directories, name->text);
    }
    return 0;
}

static int read_roles(struct config *config, struct err *err)
{
    struct settings *settings = &config->settings;
    const struct config_entries *entries = config->entries;
    settings->role_outputs =
        arena_alloc(&config->arena, (entries->n + 1) * sizeof *settings->role_outputs);
    for (size_t i = 0; i < entries->n; i++) {
        const struct config_entry *entry = &entries->items[i];
        if (entry->key->id == KEY_ROLE_SCHEMA)
            settings->role_outputs[settings->role_outputs_count++] =
                (struct role_outputs){entry->name, entry->value.text};
        if (entry->key->id == KEY_ROLE_DIRECTORIES && read_directories(config, entry, err) != 0 &&
            config_mistake_keep(entries->mistakes, err) != 0)
            return -1;
    }
    settings->role_checks =
        arena_alloc(&config->arena, (entries->n + 1) * sizeof *settings->role_checks);
    for (size_t i = 0; i < entries->n; i++) {
        const struct config_entry *entry = &entries->items[i];
        if (entry->key->id == KEY_ROLE_CHECKS || entry->key->id == KEY_CHILD_CHECKS)
            settings->role_checks[settings->role_checks_count++] =
                (struct role_checks){entry->name, checks_of(config, entry->key->id, entry->name)};
    }
    settings->role_networks =
        arena_alloc(&config->arena, (entries->n + 1) * sizeof *settings->role_networks);
    for (size_t i = 0; i < entries->n; i++) {
        const struct config_entry *entry = &entries->items[i];
        if (entry->key->id == KEY_ROLE_NETWORK)
            settings->role_networks[settings->role_network_count++] =
                (struct role_network){entry->name, entry->value.text};
    }
    return 0;
}

/* Keys that are true or false, and the switches that they set. */
static const struct {
    enum config_key_id key;
    size_t setting;
    enum { AS_IT_IS, TURNED_ROUND } sense;
} switches[] = {
    {KEY_SPAWN_ENABLED, offsetof(struct settings, spawn_enabled), AS_IT_IS},
    {KEY_CLOSE_ON_COMPLETION, offsetof(struct settings, hold_children), TURNED_ROUND},
    {KEY_REUSE, offsetof(struct settings, reuse_results), AS_IT_IS},
    {KEY_ISOLATE_CHILDREN, offsetof(struct settings, isolate_children), AS_IT_IS},
    {KEY_ISOLATE_ROOT, offsetof(struct settings, isolate_root), AS_IT_IS},
    {KEY_ISOLATE_SNAPSHOT, offsetof(struct settings, refuse_dirty), TURNED_ROUND},
    {KEY_PLAN_ENABLED, offsetof(struct settings, plan_enabled), AS_IT_IS},
    {KEY_PLAN_REVIEW, offsetof(struct settings, plan_review), AS_IT_IS},
};

int config_profiles(struct config *config, struct err *err)
{
    struct settings *settings = &config->settings;
    const struct config_entries *entries = config->entries;
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
        bool on = config_entries_value(entries, switches[i].key).number != 0;
        int *setting = (int *)((char *)settings + switches[i].setting);
        *setting = on == (switches[i].sense == AS_IT_IS) ? SWITCH_ON : SWITCH_OFF;
    }
    if (read_roles(config, err) != 0)
        return -1;
    settings->profiles = arena_alloc(&config->arena, (entries->n + 1) * sizeof *settings->profiles);
    for (size_t i = 0; i < entries->n; i++) {
        const struct config_entry *entry = &entries->items[i];
        struct str name = entry->name;
        if (entry->key->id == KEY_PROFILE_POOL && entry->value.text.n > 0 &&
            check_pool(config, entry, err) != 0 && config_mistake_keep(entries->mistakes, err) != 0)
            return -1;
        if (entry->key->id != KEY_PROFILE)
            continue;
        settings->profiles[settings->profile_count++] = (struct profile){
            .name = name,
            .system_prompt = text_of(config, KEY_PROFILE_PROMPT, name),
            .system_prompt_file = text_of(config, KEY_PROFILE_FILE, name),
            .bootstrap_files = names_of(config, KEY_PROFILE_BOOTSTRAP, name),
            .tools = names_of(config, KEY_PROFILE_TOOLS, name),
            .pool = text_of(config, KEY_PROFILE_POOL, name),
            .schema = schema_of(config, name),
            .checks = checks_of(config, KEY_PROFILE_CHECKS, name),
            .network = network_of(config, name),
            .working_directory = text_of(config, KEY_PROFILE_DIRECTORY, name),
            .params = config_params_of(config, PARAMS_OF_PROFILE, name),
        };
    }
    return 0;
}
