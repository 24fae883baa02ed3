/* Loading: finds the files, reads them in order, lays flags over them and fills the settings. Each step's rules live
 * elsewhere: key.h (keys), entry.c (files against the table), models.c (llm), profiles.c (spawn), web.c. Runs on the main thread before the loop
 * starts; nothing here touches the network. */
#include "config/config.h"

#include <stddef.h>

#include "base/path.h"
#include "config/models.h"
#include "config/recording.h"
#include "config/trust.h"
#include "config/upward.h"
#include "config/widen.h"

struct loader {
    struct config *config;
    const struct config_flags *flags;
    const struct config_environment *environment;
    struct err *err;
    struct config_file_id *read; /* as many as there may be files */
};

/* Keys whose value is one number of the settings. */
static const struct {
    enum config_key_id key;
    size_t offset;
} slots[] = {
    {KEY_MAX_DEPTH, offsetof(struct settings, max_depth)},
    {KEY_MAX_CONCURRENT, offsetof(struct settings, max_concurrent)},
    {KEY_DELEGATE_CONCURRENCY, offsetof(struct settings, delegate_concurrency)},
    {KEY_CHILD_TOOL_CALLS, offsetof(struct settings, child.tool_calls)},
    {KEY_CHILD_CONTEXT, offsetof(struct settings, child.context_tokens)},
    {KEY_CHILD_WALL, offsetof(struct settings, child.wall_ms)},
    {KEY_ATTEMPT_TIMEOUT, offsetof(struct settings, attempt_timeout_ms)},
    {KEY_MAX_RETRIES, offsetof(struct settings, max_retries)},
    {KEY_MAX_WALL, offsetof(struct settings, max_wall_ms)},
    {KEY_PATIENCE, offsetof(struct settings, patience_ms)},
    {KEY_IDLE_TIMEOUT, offsetof(struct settings, idle_timeout_ms)},
    {KEY_PLAN_ROUNDS, offsetof(struct settings, review_rounds)},
    {KEY_PLAN_APPROVAL, offsetof(struct settings, approval_timeout_ms)},
    {KEY_APPROVALS_TIMEOUT, offsetof(struct settings, question_timeout_ms)},
    {KEY_WARN_AT, offsetof(struct settings, warn_at)},
    {KEY_PAUSE_AT, offsetof(struct settings, pause_at)},
    {KEY_HARD_STOP_AT, offsetof(struct settings, hard_stop_at)},
    {KEY_COST, offsetof(struct settings, root.cost_nano)},
    {KEY_TOKENS, offsetof(struct settings, root.tokens)},
    {KEY_WALL, offsetof(struct settings, root.wall_ms)},
};

enum file_need { MUST_EXIST, MAY_BE_ABSENT };

/* A directory of the user: an absolute path in `variable`, else `inside_home` under HOME, else STR_NONE. */
static struct str user_folder(const struct loader *loader, const char *variable,
                              const char *inside_home)
{
    const char *folder = config_variable(loader->environment, variable);
    if (folder && folder[0] == '/')
        return arena_copy(&loader->config->arena, str_from(folder));
    const char *home = config_variable(loader->environment, "HOME");
    if (!home || home[0] != '/')
        return STR_NONE;
    return arena_printf(&loader->config->arena, "%s/%s", home, inside_home);
}

static bool read_before(const struct loader *loader, const struct config_file_id *id)
{
    for (size_t i = 0; i < loader->config->file_count; i++)
        if (loader->read[i].device == id->device && loader->read[i].inode == id->inode)
            return true;
    return false;
}

/* project: NULL for the user's own file. */
static int read_file(struct loader *loader, struct str path, struct config_project_file *project,
                     enum file_need need)
{
    struct config *config = loader->config;
    struct config_source *source = arena_alloc(&config->arena, sizeof *source);
    struct config_file_id id;
    enum config_found found;
    struct yaml_node *root;
    if (config_source_read(&config->arena, path, project != NULL ? LINKS_REFUSED : LINKS_FOLLOWED,
                           source, &id, &found, loader->err) != 0)
        return -1;
    if (found == SOURCE_ABSENT) {
        if (need == MAY_BE_ABSENT)
            return 0;
        return err_set(loader->err, ERR_CONFIG, "there is no config file %.*s", STR_FMT(path));
    }
    /* The project's file that was named with --config is the user's choice already. */
    if (read_before(loader, &id))
        return 0;
    loader->read[config->file_count] = id;
    config->files[config->file_count++] = source->name;
    if (yaml_parse(&config->arena, source, &root, loader->err) != 0)
        return -1;
    if (project == NULL)
        return config_entries_read(config->entries, root, LEVEL_USER, loader->err);
    size_t before = config->entries->widening_count;
    project->text = source->text;
    int result = config_entries_read(config->entries, root, LEVEL_PROJECT, loader->err);
    project->widens = config->entries->widening_count - before;
    return result;
}

/* What is typed, on the command line or into a variable, starts where the user stands. */
static int typed(struct loader *loader, struct str path, struct str *out)
{
    struct str here = loader->environment->here;
    if (here.n == 0 && path.p[0] != '/')
        return err_set(loader->err, ERR_USAGE, "%.*s: the current directory is gone",
                       STR_FMT(path));
    *out = path_from(&loader->config->arena, here, path);
    return 0;
}

static int read_user_file(struct loader *loader)
{
    struct arena *arena = &loader->config->arena;
    const char *named = config_variable(loader->environment, "CADRE_CONFIG");
    struct str file = loader->flags->config_file.p ? loader->flags->config_file : str_from(named);
    if (loader->flags->config_file.p && file.n == 0)
        return err_set(loader->err, ERR_USAGE, "--config needs the path of a file");
    if (file.p)
        return typed(loader, file, &file) == 0 ? read_file(loader, file, NULL, MUST_EXIST) : -1;
    struct str folder = user_folder(loader, "XDG_CONFIG_HOME", ".config");
    return folder.p ? read_file(loader, path_from(arena, folder, STR("cadre/cadre.yaml")), NULL,
                                MAY_BE_ABSENT)
                    : 0;
}

/* 0: the mistake in loader->err is kept for the list, and the load goes on. */
static int skip_mistake(const struct loader *loader)
{
    return config_mistake_keep(loader->environment->mistakes, loader->err);
}

/* A whole file is missing from the entries: no reference between keys can be judged. */
static int skip_file(const struct loader *loader)
{
    if (skip_mistake(loader) != 0)
        return -1;
    loader->environment->mistakes->sections = CONFIG_IN_ALL;
    return 0;
}

static int read_files(struct loader *loader)
{
    struct config *config = loader->config;
    if (read_user_file(loader) != 0 && skip_file(loader) != 0)
        return -1;
    for (size_t i = 0; i < config->project_count; i++)
        if (read_file(loader, config->projects[i].file, &config->projects[i], MAY_BE_ABSENT) != 0 &&
            skip_file(loader) != 0)
            return -1;
    return 0;
}

/* Where files may be. */
static void find_projects(struct loader *loader)
{
    struct config *config = loader->config;
    struct upward upward;
    upward_find(&config->arena, loader->environment->workspace, &upward);
    config->project_count = upward.count;
    config->projects = arena_alloc(&config->arena, upward.count * sizeof *config->projects);
    for (size_t i = 0; i < upward.count; i++)
        config->projects[i] = (struct config_project_file){
            .file = path_from(&config->arena, upward.directories[i], STR("cadre.yaml")),
            .text = STR_NONE};
    struct str own = user_folder(loader, "XDG_CONFIG_HOME", ".config");
    config->above.directories =
        arena_alloc(&config->arena, (upward.count + 1) * sizeof *config->above.directories);
    config->above_has_own = own.p != NULL;
    if (own.p != NULL)
        config->above.directories[config->above.count++] =
            path_from(&config->arena, own, STR("cadre"));
    for (size_t i = 0; i + 1 < upward.count; i++)
        config->above.directories[config->above.count++] = upward.directories[i];
    config->files = arena_alloc(&config->arena, (upward.count + 1) * sizeof *config->files);
    loader->read = arena_alloc(&config->arena, (upward.count + 1) * sizeof *loader->read);
}

static int refuse_widening(const struct loader *loader)
{
    const struct config_entries *entries = loader->config->entries;
    const struct config_widening *first = &entries->widenings[0];
    struct buf more;
    buf_init(&more, 64);
    if (entries->widening_count > 1)
        buf_printf(&more, " (and %zu more)", entries->widening_count - 1);
    config_error(
        &first->place, EXCERPT_LINE, loader->err,
        "a project's file may not set %.*s%.*s unless you trust it%.*s: cadre config trust "
        "--show lists what it widens, cadre config trust trusts it; or put this into your "
        "own file (--config, CADRE_CONFIG or ~/.config/cadre/cadre.yaml)",
        STR_FMT(first->key), STR_FMT(first->reason), STR_FMT(buf_view(&more)));
    buf_release(&more);
    return -1;
}

/* Everything once more, and the project's files left out. */
static int read_without_project(struct loader *loader)
{
    struct config *config = loader->config;
    config->entries = arena_alloc(&config->arena, sizeof *config->entries);
    config->entries->arena = &config->arena;
    config->entries->mistakes = loader->environment->mistakes;
    config->file_count = 0;
    for (size_t i = 0; i < config->project_count; i++)
        config->projects[i] =
            (struct config_project_file){.file = config->projects[i].file, .text = STR_NONE};
    return read_user_file(loader);
}

/* What a project's files widen holds only with the user's consent to this very content. */
static int check_trust(struct loader *loader)
{
    struct config *config = loader->config;
    const struct config_environment *environment = loader->environment;
    struct str folder = user_folder(loader, "XDG_STATE_HOME", ".local/state");
    if (folder.p)
        config->trust_directory = path_from(&config->arena, folder, STR("cadre/trust"));
    if (config->entries->widening_count == 0 || config_trust_known(config))
        return 0;
    enum config_consent consent = environment->consent
                                      ? environment->consent(environment->consent_user, config)
                                      : CONSENT_DENIED;
    if (consent == CONSENT_DENIED)
        return refuse_widening(loader);
    if (consent == CONSENT_WITHOUT_IT)
        return read_without_project(loader);
    return consent == CONSENT_KEPT ? config_trust_keep(config, loader->err) : 0;
}

static int read_flags(struct loader *loader)
{
    const struct config_flags *flags = loader->flags;
    const struct {
        enum config_key_id key;
        const char *flag;
        struct str text;
    } table[] = {
        {KEY_MODE, "--mode", flags->mode},
        {KEY_STORE, "--store", flags->store},
        {KEY_COST, "--max-cost", flags->max_cost},
        {KEY_WALL, "--timeout", flags->timeout},
        {KEY_MAX_CONCURRENT, "--max-concurrent", flags->max_concurrent},
        {KEY_LLM_EFFORT, "--effort", flags->effort},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].text.p &&
            config_entries_flag(loader->config->entries, table[i].key, table[i].flag, table[i].text,
                                loader->err) != 0 &&
            skip_mistake(loader) != 0)
            return -1;
    return 0;
}

static int is_set(const struct config_entries *entries, enum config_key_id key)
{
    return config_entries_find(entries, key, STR(""), 0) != NULL ? SWITCH_ON : SWITCH_OFF;
}

static void fill_settings(struct config *config)
{
    struct settings *settings = &config->settings;
    const struct config_entries *entries = config->entries;
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        int64_t *slot = (int64_t *)(void *)((char *)settings + slots[i].offset);
        *slot = config_entries_value(entries, slots[i].key).number;
    }
    settings->child_timeout_set = is_set(entries, KEY_CHILD_WALL);
    settings->attempt_timeout_set = is_set(entries, KEY_ATTEMPT_TIMEOUT);
    settings->sub_agent_enabled =
        config_entries_value(entries, KEY_SUB_AGENT_ENABLED).number ? SWITCH_ON : SWITCH_OFF;
    settings->inherit_mode =
        config_entries_value(entries, KEY_INHERIT_MODE).number ? SWITCH_ON : SWITCH_OFF;
    settings->gate = (enum gate)config_entries_value(entries, KEY_GATE).number;
    settings->children_refused =
        config_entries_value(entries, KEY_CHILD_ASK).number == PERMIT_DENY ? SWITCH_ON : SWITCH_OFF;
    config->unattended = (enum asker)config_entries_value(entries, KEY_APPROVALS_VIA).number;
    settings->mode = (enum mode)config_entries_value(entries, KEY_MODE).number;
    settings->network = config_entries_value(entries, KEY_ACCESS_NETWORK).text;

    settings->overrides =
        arena_alloc(&config->arena, (entries->n + 1) * sizeof *settings->overrides);
    for (size_t i = 0; i < entries->n; i++) {
        const struct config_entry *entry = &entries->items[i];
        if (entry->key->id != KEY_PERMISSION)
            continue;
        settings->overrides[settings->override_count].tool = entry->name;
        settings->overrides[settings->override_count++].permission =
            (enum permission)entry->value.number;
    }
}

/* Where something is set, for people. */
static struct str origin_of(struct config *config, const struct config_entry *entry)
{
    struct buf origin;
    buf_init(&origin, SIZE_MAX / 4);
    config_place_print(&entry->place, &origin);
    for (size_t i = 0; i < config->project_count; i++)
        if (str_eq(entry->place.source->name, config->projects[i].file))
            buf_text(&origin, " (the project's own file)");
    struct str text = arena_copy(&config->arena, buf_view(&origin));
    buf_release(&origin);
    return text;
}

static void fill_tools(struct config *config)
{
    const struct config_entry *command =
        config_entries_find(config->entries, KEY_TEST_COMMAND, STR(""), 0);
    config->test_command = command ? command->value.text : STR("");
    config->secrets = config_entries_value(config->entries, KEY_SECRETS_MASK).number
                          ? SECRETS_MASKED
                          : SECRETS_SHOWN;
    config->test_origin = command != NULL ? origin_of(config, command) : STR("");
    config->checks_origins =
        arena_alloc(&config->arena, (config->entries->n + 1) * sizeof *config->checks_origins);
    for (size_t i = 0; i < config->entries->n; i++) {
        const struct config_entry *entry = &config->entries->items[i];
        struct checks_origin *of = &config->checks_origins[config->checks_origin_count];
        if (entry->key->id != KEY_ROLE_CHECKS && entry->key->id != KEY_CHILD_CHECKS)
            continue;
        *of = (struct checks_origin){.key = entry->key->id == KEY_CHILD_CHECKS
                                                ? STR("sub_agent.outputs.checks")
                                                : arena_printf(&config->arena,
                                                               "roles.%.*s.outputs.checks",
                                                               STR_FMT(entry->name)),
                                     .origin = origin_of(config, entry),
                                     .checks = {LIST_SET, NULL, 0}};
        for (size_t k = 0; k < entry->value.name_count; k++)
            list_add(&config->arena, &of->checks, entry->value.names[k].text);
        config->checks_origin_count++;
    }
}

static struct str folder_of(struct str path)
{
    while (path.n > 1 && path.p[path.n - 1] != '/')
        path.n--;
    return (struct str){path.p, path.n > 1 ? path.n - 1 : path.n};
}

int config_path(struct config *config, const struct config_environment *environment,
                const struct config_entry *entry, struct str *out, struct err *err)
{
    /* Of a program with arguments, the program. */
    struct str path =
        entry->key->type == TYPE_ARGV ? entry->value.names[0].text : entry->value.text;
    bool from_file = entry->place.source->text.p != NULL;
    struct str folder = from_file ? folder_of(entry->place.source->name) : environment->here;
    if (from_file && str_starts(path, STR("~/"))) {
        const char *home = config_variable(environment, "HOME");
        if (!home || home[0] != '/')
            return config_error(&entry->place, EXCERPT_LINE, err,
                                "HOME is not set, so ~ means nothing here");
        folder = str_from(home);
        path = (struct str){path.p + 2, path.n - 2};
    }
    if (path.n == 0 || path.p[path.n - 1] == '/')
        return config_error(&entry->place, EXCERPT_LINE, err,
                            "expected the path of a file, not of a directory");
    if (folder.n == 0 && path.p[0] != '/')
        return config_error(&entry->place, EXCERPT_LINE, err, "the current directory is gone");
    *out = path_from(&config->arena, folder, path);
    return 0;
}

static int find_store(struct loader *loader)
{
    struct config *config = loader->config;
    const struct config_entry *entry = config_entries_find(config->entries, KEY_STORE, STR(""), 0);
    if (!entry) {
        struct str folder = user_folder(loader, "XDG_STATE_HOME", ".local/state");
        if (!folder.p)
            return err_set(
                loader->err, ERR_CONFIG,
                "HOME is not set, so there is no place for the store: give --store FILE");
        config->store_path = path_from(&config->arena, folder, STR("cadre/cadre.db"));
        return 0;
    }
    return config_path(config, loader->environment, entry, &config->store_path, loader->err);
}

/* Models, and what refers to them. Each step needs the one before it. */
static int follow_references(struct loader *loader)
{
    struct config *config = loader->config;
    struct err *err = loader->err;
    if (config_models(config, loader->flags, loader->environment, err) != 0 ||
        config_recordings(config, loader->environment, err) != 0)
        return -1;
    config_params(config);
    return config_providers(config, loader->environment, err) == 0 &&
                   config_profiles(config, err) == 0
               ? config_cost(config, err)
               : -1;
}

/* Fills the settings from the entries, and checks what one key says of another. */
static int take_entries(struct loader *loader)
{
    struct config *config = loader->config;
    struct config_mistakes *mistakes = loader->environment->mistakes;
    unsigned unsound = mistakes != NULL ? mistakes->sections : 0;
    fill_settings(config);
    fill_tools(config);
    config_access(config);
    if (!(unsound & CONFIG_IN_LLM) && follow_references(loader) != 0 && skip_mistake(loader) != 0)
        return -1;
    if (!(unsound & CONFIG_IN_SANDBOX) && config_sandbox(config, loader->err) != 0 &&
        skip_mistake(loader) != 0)
        return -1;
    if (!(unsound & CONFIG_IN_TOOLS) && config_web(config, loader->err) != 0 &&
        skip_mistake(loader) != 0)
        return -1;
    if (find_store(loader) != 0 && skip_mistake(loader) != 0)
        return -1;
    if (mistakes == NULL || mistakes->found == 0)
        return 0;
    mistakes->incomplete |= unsound != 0;
    *loader->err = mistakes->items[0];
    return -1;
}

int config_load(const struct config_flags *flags, const struct config_environment *environment,
                struct config *config, struct err *err)
{
    struct loader loader = {
        .config = config, .flags = flags, .environment = environment, .err = err};
    int result = -1;
    *config = (struct config){.store_path = STR_NONE};
    if (environment->workspace.n == 0 || environment->workspace.p[0] != '/')
        return err_set(err, ERR_BUG, "the workspace must be an absolute path");
    arena_init(&config->arena);
    settings_init(&config->settings);
    config->entries = arena_alloc(&config->arena, sizeof *config->entries);
    config->entries->arena = &config->arena;
    config->entries->mistakes = environment->mistakes;

    find_projects(&loader);
    if (read_files(&loader) != 0)
        goto out;
    if (check_trust(&loader) != 0 && skip_mistake(&loader) != 0)
        goto out;
    if (read_flags(&loader) != 0 || take_entries(&loader) != 0)
        goto out;
    struct str folder = user_folder(&loader, "XDG_CONFIG_HOME", ".config");
    if (folder.p)
        config->skills_directory = path_from(&config->arena, folder, STR("cadre/skills"));
    result = 0;
out:
    if (result != 0)
        config_release(config);
    return result;
}

void config_release(struct config *config)
{
    arena_release(&config->arena);
    *config = (struct config){.store_path = STR_NONE};
}
