/* Entries: walks a YAML tree along the key table, checks every key, type and value, and keeps what was set with its
 * place. Does not follow references between keys (models.c does). Runs on the main thread before the loop starts. */
#include "config/entry.h"

#include <stdio.h>
#include <strings.h>

#include "base/json.h"
#include "base/path.h"
#include "config/config.h"
#include "config/hosts.h"
#include "config/schema.h"
#include "config/widen.h"
#include "core/contract/role.h"
#include "core/contract/settings.h"

enum { HEADER_MAX_BYTES = 4096, NAME_MAX_BYTES = 128, PROFILE_NAME_MAX = 64, NAMES_MAX = 256 };

struct walk {
    struct config_entries *entries;
    struct config_entries before; /* a copy: what was set before this file was read */
    enum config_level level;
    struct err *err;
};

/* Where in the table the walk stands. */
struct position {
    char pattern[CONFIG_PATTERN_MAX];
    struct str name;
    size_t index;
};

void config_entries_put(struct config_entries *entries, const struct config_entry *entry)
{
    for (size_t i = 0; i < entries->n; i++) {
        struct config_entry *old = &entries->items[i];
        if (old->key == entry->key && old->index == entry->index &&
            str_eq(old->name, entry->name)) {
            *old = *entry;
            return;
        }
    }
    if (entries->n == entries->capacity) {
        size_t capacity = entries->capacity ? entries->capacity * 2 : 64;
        struct config_entry *items = arena_alloc(entries->arena, capacity * sizeof *items);
        if (entries->n > 0)
            memcpy(items, entries->items, entries->n * sizeof *items);
        entries->items = items;
        entries->capacity = capacity;
    }
    entries->items[entries->n++] = *entry;
}

const struct config_entry *config_entries_find(const struct config_entries *entries,
                                               enum config_key_id key, struct str name,
                                               size_t index)
{
    for (size_t i = 0; i < entries->n; i++) {
        const struct config_entry *entry = &entries->items[i];
        if (entry->key->id == key && entry->index == index && str_eq(entry->name, name))
            return entry;
    }
    return NULL;
}

struct config_value config_entries_value(const struct config_entries *entries,
                                         enum config_key_id key)
{
    const struct config_entry *entry = config_entries_find(entries, key, STR(""), 0);
    return entry ? entry->value : config_value_default(&config_keys[key]);
}

/* 0: the mistake in walk->err is kept for the list, and the walk goes on behind it. */
static int skip_mistake(const struct walk *walk)
{
    return config_mistake_keep(walk->entries->mistakes, walk->err);
}

static int unknown_key(const struct walk *walk, const struct position *parent,
                       const struct yaml_node *key)
{
    struct buf hint, place;
    buf_init(&hint, 1024);
    buf_init(&place, 1024);
    if (config_key_suggest(parent->pattern, key->text, &place))
        buf_printf(&hint, "; did you mean '%.*s'?", STR_FMT(buf_view(&place)));
    buf_clear(&place);
    if (parent->pattern[0]) {
        buf_text(&place, " in ");
        config_key_print(parent->pattern, parent->name, parent->index, &place);
    }
    struct str shown = {key->text.p, key->text.n < NAME_MAX_BYTES ? key->text.n : NAME_MAX_BYTES};
    config_error(&key->place, EXCERPT_HIDE_REST, walk->err, "unknown key '%.*s'%.*s%.*s",
                 STR_FMT(shown), STR_FMT(buf_view(&place)), STR_FMT(buf_view(&hint)));
    buf_release(&hint);
    buf_release(&place);
    return -1;
}

/* A user's name for a provider, model or pool: what may stand in messages and logs as it is. */
static int check_name(const struct walk *walk, const struct yaml_node *key)
{
    bool good = key->text.n > 0 && key->text.n <= NAME_MAX_BYTES;
    for (size_t i = 0; good && i < key->text.n; i++) {
        char c = key->text.p[i];
        good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               (c != '\0' && strchr("._:/@+-", c));
    }
    if (good)
        return 0;
    return config_error(&key->place, EXCERPT_LINE, walk->err,
                        "expected a name: at most 128 letters, digits and . _ : / @ + -");
}

/* A model reads these names in a schema and writes them back. */
static int check_profile_name(const struct walk *walk, const struct yaml_node *key)
{
    bool good = key->text.n > 0 && key->text.n <= PROFILE_NAME_MAX;
    for (size_t i = 0; good && i < key->text.n; i++) {
        char c = key->text.p[i];
        good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    }
    if (good)
        return 0;
    return config_error(&key->place, EXCERPT_LINE, walk->err,
                        "expected a profile's name: at most 64 small letters, digits, _ and -");
}

static int check_role_name(const struct walk *walk, const struct yaml_node *key)
{
    if (role_find(key->text))
        return 0;
    return config_error(&key->place, EXCERPT_LINE, walk->err,
                        "expected a role: researcher, planner, executor, reviewer or tester");
}

static int check_tool(const struct walk *walk, const struct yaml_node *key, struct str *name)
{
    const struct tool_info *info = tool_info_find(key->text);
    if (info) {
        *name = str_from(info->name);
        return 0;
    }
    struct config_nearest nearest;
    config_nearest_init(&nearest, key->text);
    for (size_t i = 0; i < tool_info_count; i++)
        config_nearest_offer(&nearest, str_from(tool_infos[i].name));
    struct str shown = {key->text.p, key->text.n < NAME_MAX_BYTES ? key->text.n : NAME_MAX_BYTES};
    if (nearest.best.p)
        return config_error(&key->place, EXCERPT_LINE, walk->err,
                            "unknown tool '%.*s'; did you mean '%.*s'?", STR_FMT(shown),
                            STR_FMT(nearest.best));
    return config_error(&key->place, EXCERPT_LINE, walk->err, "unknown tool '%.*s'",
                        STR_FMT(shown));
}

static int wrong_type(const struct walk *walk, const struct yaml_node *node, const char *expected)
{
    const char *found = yaml_found(node);
    return config_error(&node->place, found ? EXCERPT_LINE : EXCERPT_HIDE_VALUE, walk->err,
                        "expected %s, found %s", expected, found ? found : "a single value");
}

/* The path in normal form. Walls are the scope's work; this only tells early what it would refuse. */
static int check_file(const struct walk *walk, const struct yaml_node *node, struct str *path)
{
    *path = path_normal(walk->entries->arena, node->text);
    if (path->p && !str_is(*path, ".") && node->text.p[node->text.n - 1] != '/')
        return 0;
    return config_error(&node->place, EXCERPT_LINE, walk->err,
                        "expected the path of a file inside the workspace, relative to it");
}

static const char *item_expected(enum config_type type)
{
    return type == TYPE_FILES      ? "a path"
           : type == TYPE_STOPS    ? "a text"
           : type == TYPE_ARGV     ? "an argument"
           : type == TYPE_TOOLS    ? "a tool"
           : type == TYPE_COMMANDS ? "a command"
                                   : "a name";
}

static int read_name(const struct walk *walk, const struct config_key *key,
                     const struct yaml_node *item, struct config_name *name)
{
    struct str text = item->text;
    if (item->kind != YAML_SCALAR || item->text.n == 0 || yaml_is_null(item) ||
        memchr(item->text.p, '\0', item->text.n))
        return wrong_type(walk, item, item_expected(key->type));
    if (key->type == TYPE_FILES && check_file(walk, item, &text) != 0)
        return -1;
    if (key->type == TYPE_TOOLS && check_tool(walk, item, &text) != 0)
        return -1;
    *name = (struct config_name){text, item->place};
    return 0;
}

static int read_names(const struct walk *walk, const struct config_key *key,
                      const struct yaml_node *list, struct config_value *value)
{
    if (list->kind != YAML_LIST)
        return wrong_type(walk, list, config_type_expected(key->type));
    if (key->type != TYPE_NAMES && list->count > NAMES_MAX)
        return config_error(&list->place, EXCERPT_LINE, walk->err, "expected at most %d items",
                            NAMES_MAX);
    if (key->type == TYPE_ARGV && list->count == 0)
        return wrong_type(walk, list, config_type_expected(key->type));
    if (key->type == TYPE_STOPS && list->count > PARAM_STOPS_MAX)
        return config_error(&list->place, EXCERPT_LINE, walk->err, "expected at most %d texts",
                            PARAM_STOPS_MAX);
    value->names = arena_alloc(walk->entries->arena, list->count * sizeof *value->names);
    for (const struct yaml_node *item = list->first; item; item = item->next) {
        if (read_name(walk, key, item, &value->names[value->name_count]) == 0)
            value->name_count++;
        else if (skip_mistake(walk) != 0)
            return -1;
    }
    return 0;
}

/* Members that cadre counts on: a run's limits and its conversation are in them. */
static int check_body_key(const struct walk *walk, const struct yaml_node *member)
{
    static const char *const own[] = {
        "model",      "messages",          "input",  "system", "instructions",          "tools",
        "max_tokens", "max_output_tokens", "stream", "n",      "max_completion_tokens", "store"};
    struct str key = member->key->text;
    if (key.n > CONFIG_BODY_KEY_MAX)
        return config_error(&member->key->place, EXCERPT_LINE, walk->err,
                            "expected a name of at most %d bytes", CONFIG_BODY_KEY_MAX);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (str_is(key, own[i]))
            return config_error(&member->key->place, EXCERPT_LINE, walk->err,
                                "extra_body may not hold '%s': cadre sets it itself%s", own[i],
                                strncmp(own[i], "max_", 4) == 0 ? "; see llm.models.*.max_tokens"
                                                                : "");
    return 0;
}

static int read_body(const struct walk *walk, const struct yaml_node *node, struct str *json)
{
    struct err problem = ERR_INIT;
    struct buf text;
    if (node->kind != YAML_MAPPING)
        return wrong_type(walk, node, "a mapping");
    for (const struct yaml_node *member = node->first; member; member = member->next)
        if (check_body_key(walk, member) != 0 && skip_mistake(walk) != 0)
            return -1;
    buf_init(&text, CONFIG_BODY_MAX);
    yaml_print_json(node, NULL, &text);
    struct js *body = text.failed ? NULL : js_parse_within(buf_view(&text), 16, &problem);
    if (body) {
        buf_clear(&text);
        js_print(body, &text);
        *json = arena_copy(walk->entries->arena, buf_view(&text));
    } else {
        config_error(&node->place, EXCERPT_LINE, walk->err,
                     "expected a mapping of at most %d bytes and 16 levels", CONFIG_BODY_MAX);
    }
    js_free(body);
    buf_release(&text);
    return body ? 0 : -1;
}

/* Letters, digits and - _ of a header's name; not those that belong to the transport. */
static int check_header_name(const struct walk *walk, const struct yaml_node *key)
{
    static const char *const own[] = {"host",       "content-length", "content-type",
                                      "connection", "accept",         "transfer-encoding"};
    bool good = key->text.n > 0 && key->text.n <= NAME_MAX_BYTES;
    for (size_t i = 0; good && i < key->text.n; i++) {
        char c = key->text.p[i];
        good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_';
    }
    if (!good)
        return config_error(&key->place, EXCERPT_HIDE_REST, walk->err,
                            "expected the name of a header: letters, digits, - and _");
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (key->text.n == strlen(own[i]) && strncasecmp(key->text.p, own[i], key->text.n) == 0)
            return config_error(&key->place, EXCERPT_HIDE_REST, walk->err,
                                "headers may not hold %s: cadre sets it itself", own[i]);
    return 0;
}

static int read_header(const struct walk *walk, const struct yaml_node *item,
                       struct config_name *header)
{
    if (check_header_name(walk, item->key) != 0)
        return -1;
    if (item->kind != YAML_SCALAR || yaml_is_null(item))
        return wrong_type(walk, item, "the header's value");
    if (item->text.n > HEADER_MAX_BYTES || !config_template_ok(item->text))
        return config_error(&item->place, EXCERPT_HIDE_VALUE, walk->err,
                            "expected one line of at most %d bytes; $NAME and ${NAME} are "
                            "environment variables, $$ is a dollar",
                            HEADER_MAX_BYTES);
    *header = (struct config_name){arena_printf(walk->entries->arena, "%.*s: %.*s",
                                                STR_FMT(item->key->text), STR_FMT(item->text)),
                                   item->place};
    return 0;
}

static int read_headers(const struct walk *walk, const struct yaml_node *node,
                        struct config_value *value)
{
    struct arena *arena = walk->entries->arena;
    if (node->kind != YAML_MAPPING)
        return wrong_type(walk, node, config_type_expected(TYPE_HEADERS));
    if (node->count > CONFIG_HEADERS_MAX)
        return config_error(&node->place, EXCERPT_HIDE_VALUE, walk->err,
                            "expected at most %d headers", CONFIG_HEADERS_MAX);
    value->names = arena_alloc(arena, (node->count + 1) * sizeof *value->names);
    for (const struct yaml_node *item = node->first; item; item = item->next) {
        if (read_header(walk, item, &value->names[value->name_count]) == 0)
            value->name_count++;
        else if (skip_mistake(walk) != 0)
            return -1;
    }
    return 0;
}

static int read_value(const struct walk *walk, const struct config_key *key,
                      const struct yaml_node *node, struct config_value *value)
{
    if (key->type == TYPE_BODY)
        return read_body(walk, node, &value->text);
    if (key->type == TYPE_HEADERS)
        return read_headers(walk, node, value);
    if (key->type == TYPE_HOSTS)
        return config_hosts_read(walk->entries->arena, node, value, walk->err);
    if (key->type == TYPE_NETWORK && node->kind == YAML_MAPPING)
        return config_network_read(walk->entries->arena, node, value, walk->err);
    if (key->type == TYPE_SCHEMA)
        return config_schema_read(walk->entries->arena, node, &value->text, walk->err);
    if (key->type == TYPE_NAMES || key->type == TYPE_FILES || key->type == TYPE_TOOLS ||
        key->type == TYPE_COMMANDS || key->type == TYPE_STOPS || key->type == TYPE_ARGV)
        return read_names(walk, key, node, value);
    if (node->kind != YAML_SCALAR ||
        (yaml_is_null(node) && key->type != TYPE_LIMIT && key->type != TYPE_MONEY)) {
        struct buf expected;
        buf_init(&expected, 1024);
        config_key_expected(key, &expected);
        buf_char(&expected, '\0');
        wrong_type(walk, node, expected.failed ? "another value" : expected.p);
        buf_release(&expected);
        return -1;
    }
    struct err problem = ERR_INIT;
    if (config_value_parse(key, node->text, node->style, value, &problem) == 0)
        return key->type == TYPE_FILE && node->text.n > 0 ? check_file(walk, node, &value->text)
                                                          : 0;
    bool hide = key->type == TYPE_URL || key->type == TYPE_VARIABLE;
    return config_error(&node->place, hide ? EXCERPT_HIDE_VALUE : EXCERPT_LINE, walk->err, "%s",
                        problem.message);
}

static int refuse(const struct walk *walk, const struct position *at,
                  const struct config_place *place)
{
    struct buf path;
    buf_init(&path, 1024);
    config_key_print(at->pattern, at->name, at->index, &path);
    config_error(place, EXCERPT_LINE, walk->err,
                 "a project's file may not set %.*s; this belongs in your own file (--config, "
                 "CADRE_CONFIG or ~/.config/cadre/cadre.yaml)",
                 STR_FMT(buf_view(&path)));
    buf_release(&path);
    return -1;
}

/* Drops what other files say of this name: half of a user's provider with half of a project's would send a key to a server that
 * nobody meant. */
static void forget_name(struct config_entries *entries, const char *pattern, struct str name,
                        const struct config_source *source)
{
    size_t kept = 0, n = strlen(pattern);
    for (size_t i = 0; i < entries->n; i++) {
        const struct config_entry *entry = &entries->items[i];
        bool beneath = strncmp(entry->key->path, pattern, n) == 0 && str_eq(entry->name, name);
        if (!beneath || entry->place.source == source)
            entries->items[kept++] = *entry;
    }
    entries->n = kept;
}

static int walk_members(const struct walk *walk, const struct yaml_node *node,
                        const struct position *at);

static int walk_items(const struct walk *walk, const struct yaml_node *node,
                      const struct position *at)
{
    if (node->kind != YAML_LIST)
        return wrong_type(walk, node, "a list such as [{model: NAME}]");
    if (!node->first)
        return config_error(&node->place, EXCERPT_LINE, walk->err,
                            "expected at least one item, such as {model: NAME}");
    struct position item_at = *at;
    size_t n = strlen(at->pattern);
    snprintf(item_at.pattern + n, sizeof item_at.pattern - n, "[]");
    for (const struct yaml_node *item = node->first; item; item = item->next) {
        bool mapping = item->kind == YAML_MAPPING && item->first;
        int result = mapping ? walk_members(walk, item, &item_at)
                             : wrong_type(walk, item, "a mapping such as {model: NAME}");
        if (result != 0 && skip_mistake(walk) != 0)
            return -1;
        item_at.index++;
    }
    return 0;
}

static int walk_row(const struct walk *walk, const struct yaml_node *node,
                    const struct position *at, const struct config_key *row)
{
    if (walk->level == LEVEL_PROJECT && row->project == PROJECT_NEVER)
        return refuse(walk, at, &node->key->place);
    struct config_entry entry = {
        .key = row,
        .name = at->name,
        .index = at->index,
        .key_place = node->key->place,
        .place = node->place,
    };
    if (row->type == TYPE_OBJECT) {
        if (node->kind != YAML_MAPPING)
            return wrong_type(walk, node, "a mapping");
        entry.place = node->key->place;
    } else if (read_value(walk, row, node, &entry.value) != 0) {
        return -1;
    }
    const struct config_entry *old =
        config_entries_find(walk->entries, row->id, entry.name, entry.index);
    if (old && old->place.source == entry.place.source)
        return config_error(&entry.key_place, EXCERPT_LINE, walk->err,
                            "'%.*s' is given twice, under two of its names", STR_FMT(entry.name));
    if (walk->level == LEVEL_PROJECT)
        config_widening_note(walk->entries, &walk->before, &entry);
    config_entries_put(walk->entries, &entry);
    return 0;
}

static int walk_member(const struct walk *walk, const struct yaml_node *node,
                       const struct position *parent)
{
    struct position at = *parent;
    struct config_pattern found;
    if (!config_pattern_member(parent->pattern, node->key->text, at.pattern, &found))
        return unknown_key(walk, parent, node->key);
    if (found.row && found.row->id == KEY_PERMISSION) {
        if (check_tool(walk, node->key, &at.name) != 0)
            return -1;
    } else if (at.pattern[strlen(at.pattern) - 1] == '*') {
        bool profile = found.row && found.row->id == KEY_PROFILE;
        bool role = strcmp(at.pattern, "roles.*") == 0;
        if (strncmp(at.pattern, "access.", 7) == 0 && config_host_check(node->key, walk->err) != 0)
            return -1;
        if ((profile ? check_profile_name : role ? check_role_name : check_name)(walk, node->key))
            return -1;
        at.name = node->key->text;
        /* A role is not the user's to name: what both say of it holds together. */
        if (walk->level == LEVEL_PROJECT && strcmp(at.pattern, "roles.*") != 0)
            forget_name(walk->entries, at.pattern, at.name, node->key->place.source);
    }
    if (found.row && walk_row(walk, node, &at, found.row) != 0)
        return -1;
    if (found.beneath == BENEATH_ITEMS)
        return walk_items(walk, node, &at);
    if (found.beneath == BENEATH_NOTHING || yaml_is_null(node)) /* a section may be empty */
        return 0;
    return walk_members(walk, node, &at);
}

static int walk_members(const struct walk *walk, const struct yaml_node *node,
                        const struct position *at)
{
    if (node->kind != YAML_MAPPING)
        return wrong_type(walk, node, "a mapping");
    for (const struct yaml_node *member = node->first; member; member = member->next)
        if (walk_member(walk, member, at) != 0 && skip_mistake(walk) != 0)
            return -1;
    return 0;
}

static unsigned section_of(struct str key)
{
    static const struct {
        const char *key;
        unsigned section;
    } table[] = {{"llm", CONFIG_IN_LLM},
                 {"tools", CONFIG_IN_TOOLS},
                 {"sandbox", CONFIG_IN_SANDBOX},
                 {"access", CONFIG_IN_SANDBOX}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (str_is(key, table[i].key))
            return table[i].section;
    return 0;
}

/* As walk_members, and remembers in which sections there are mistakes. */
static int walk_sections(const struct walk *walk, const struct yaml_node *root)
{
    struct config_mistakes *mistakes = walk->entries->mistakes;
    const struct position top = {.name = STR("")};
    if (root->kind != YAML_MAPPING || mistakes == NULL)
        return walk_members(walk, root, &top);
    for (const struct yaml_node *member = root->first; member; member = member->next) {
        size_t before = mistakes->found;
        if (walk_member(walk, member, &top) != 0 && skip_mistake(walk) != 0)
            return -1;
        if (mistakes->found > before)
            mistakes->sections |= section_of(member->key->text);
    }
    return 0;
}

int config_entries_read(struct config_entries *entries, const struct yaml_node *root,
                        enum config_level level, struct err *err)
{
    struct walk walk = {entries, *entries, level, err};
    walk.before.items = arena_alloc(entries->arena, (entries->n + 1) * sizeof *entries->items);
    if (entries->n > 0)
        memcpy(walk.before.items, entries->items, entries->n * sizeof *entries->items);
    return root ? walk_sections(&walk, root) : 0;
}

int config_entries_flag(struct config_entries *entries, enum config_key_id key, const char *flag,
                        struct str text, struct err *err)
{
    struct config_source *source = arena_alloc(entries->arena, sizeof *source);
    *source = (struct config_source){.name = str_from(flag), .class = ERR_USAGE};
    struct config_entry entry = {.key = &config_keys[key], .name = STR("")};
    entry.place.source = entry.key_place.source = source;
    text = arena_copy(entries->arena, text);
    struct err problem = ERR_INIT;
    int64_t milliseconds = 0;
    if (config_keys[key].type ==
        TYPE_MILLISECONDS) { /* on the command line a plain number means seconds */
        if (!config_duration_parse(text, 1000, &milliseconds))
            return config_error(&entry.place, EXCERPT_LINE, err,
                                "expected a time such as 90s, 5m or 1500ms, found '%.*s'",
                                STR_FMT(text));
        text = arena_printf(entries->arena, "%lld", (long long)milliseconds);
    }
    /* null is how a file lifts a limit; a flag that was given says a value. */
    if (text.n == 0 || str_is(text, "null") || str_is(text, "~") ||
        config_value_parse(entry.key, text, YAML_PLAIN, &entry.value, &problem) != 0)
        return config_error(&entry.place, EXCERPT_LINE, err, "%s",
                            problem.message[0] ? problem.message : "expected a value");
    config_entries_put(entries, &entry);
    return 0;
}
