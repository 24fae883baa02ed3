/* The clamps: mode, tools, paths, network and limits of a contract in the making only ever get narrower
 * here, and whatever was asked for (or set by a role or a default) and not granted leaves a
 * record in the receipt. Inherited values that nobody asked for are narrowed without a record.
 * Layers are derive.c's work. Pure; any thread. */
#include "core/contract/derive.h"

#include <stdio.h>

#include "base/path.h"
#include "base/pathrule.h"

enum { RECORD_BYTES_MAX = 256 * 1024 };

static struct str writer_text(struct arena *arena, struct buf *text)
{
    struct str out = text->failed ? STR("null") : arena_copy(arena, buf_view(text));
    buf_release(text);
    return out;
}

struct str json_of_text(struct arena *arena, struct str text)
{
    struct buf out;
    buf_init(&out, RECORD_BYTES_MAX);
    json_quote(&out, text);
    return writer_text(arena, &out);
}

struct str json_of_list(struct arena *arena, const struct list *list)
{
    struct buf out;
    struct jw w;
    buf_init(&out, RECORD_BYTES_MAX);
    jw_init(&w, &out);
    list_print(&w, NULL, list);
    return writer_text(arena, &out);
}

const char *list_words(const struct list *list, char *out, size_t size)
{
    size_t used = 0;
    snprintf(out, size, "none");
    for (size_t i = 0; i < list->n && used < size; i++) {
        int n =
            snprintf(out + used, size - used, "%s%.*s", i > 0 ? ", " : "", STR_FMT(list->items[i]));
        used += n > 0 ? (size_t)n : size;
    }
    return out;
}

void clamp_record(struct derivation *d, const char *field, struct str asked, struct str got,
                  const char *by)
{
    if (!d->out->receipt.clamps)
        d->out->receipt.clamps = arena_alloc(d->arena, CLAMPS_MAX * sizeof(struct clamp));
    if (d->out->receipt.clamp_count == CLAMPS_MAX)
        return;
    d->out->receipt.clamps[d->out->receipt.clamp_count++] =
        (struct clamp){str_from(field), asked, got, str_from(by)};
}

/* Mode */

int narrow_mode(struct derivation *d, struct err *err)
{
    enum mode ceiling = d->parent ? d->parent->permissions.mode : d->settings->mode;
    enum mode wanted = ceiling;
    if (d->parent && d->settings->inherit_mode == SWITCH_OFF && mode_within(MODE_SAFE, ceiling))
        wanted = MODE_SAFE;
    if (d->request->mode.p && mode_parse(d->request->mode, &wanted, err) != 0)
        return -1;
    enum mode got = mode_within(wanted, ceiling) ? wanted : ceiling;
    if (got != wanted)
        clamp_record(d, "permissions.mode", json_of_text(d->arena, str_from(mode_text(wanted))),
                     json_of_text(d->arena, str_from(mode_text(got))),
                     d->parent ? "parent" : "config");
    d->out->permissions.mode = got;
    return 0;
}

/* Tools */

static enum tool_group group_of(struct str tool)
{
    const struct tool_info *info = tool_info_find(tool);
    return info ? info->group : GROUP_OTHER;
}

/* Config's override of a tool, or NULL. */
static const enum permission *override_of(const struct derivation *d, struct str tool)
{
    for (size_t i = 0; i < d->settings->override_count; i++)
        if (str_eq(tool_normal_name(d->settings->overrides[i].tool), tool))
            return &d->settings->overrides[i].permission;
    return NULL;
}

/* The mode's cell, or config's override of it. An override widens only the mode that config
 * chose itself: an agent put into a narrower mode on purpose does not get it back. `test` runs a command: what config takes from
 * `shell` it takes from `test` too, unless it names `test`. */
static enum permission value_of(const struct derivation *d, struct str tool)
{
    enum mode mode = d->out->permissions.mode;
    enum permission cell = mode_table[mode][group_of(tool)];
    const enum permission *override = override_of(d, tool);
    if (override != NULL)
        return mode == d->settings->mode || *override < cell ? *override : cell;
    const enum permission *shell = str_is(tool, "test") ? override_of(d, STR("shell")) : NULL;
    return shell != NULL && *shell < cell ? *shell : cell;
}

static enum permission permission_of(const struct derivation *d, struct str tool)
{
    enum permission value = value_of(d, tool);
    if (d->parent) {
        enum permission bound = contract_tool_mode(d->parent, tool);
        value = bound < value ? bound : value;
    }
    return permission_offered(tool, value, d->parent ? AGENT_CHILD : AGENT_ROOT, d->facts->asker);
}

/* Replaces the list by a narrower one; a record only if somebody chose the list and it lost
 * something. */
static void tools_replace(struct derivation *d, struct list *tools, struct list narrower,
                          const char *by)
{
    if (d->tools.state == LIST_SET && narrower.n < tools->n)
        clamp_record(d, "permissions.allowed_tools", json_of_list(d->arena, tools),
                     json_of_list(d->arena, &narrower), by);
    *tools = narrower;
}

/* What turns a door on; those that only look at children come with any of them. */
static bool door_is_open(const struct derivation *d, struct str tool)
{
    static const struct {
        const char *tool;
        enum { BY_SUB_AGENT, BY_SPAWN, BY_PLAN } by;
    } doors[] = {{"spawn_agent", BY_SUB_AGENT}, {"delegate_task", BY_SUB_AGENT},
                 {"fan_out", BY_SUB_AGENT},     {"spawn", BY_SPAWN},
                 {"spawn_await", BY_SPAWN},     {"plan", BY_PLAN}};
    bool sub_agent = d->settings->sub_agent_enabled == SWITCH_ON;
    bool spawn = d->settings->spawn_enabled == SWITCH_ON;
    bool plans = d->settings->plan_enabled == SWITCH_ON;
    for (size_t i = 0; i < sizeof doors / sizeof doors[0]; i++)
        if (str_is(tool, doors[i].tool))
            return doors[i].by == BY_SPAWN  ? spawn
                   : doors[i].by == BY_PLAN ? plans && sub_agent && !d->parent
                                            : sub_agent;
    bool delegate = d->settings->agent_ids.n > 0;
    return str_is(tool, "delegate") ? delegate : sub_agent || spawn || delegate;
}

static struct list tools_offered(struct derivation *d)
{
    struct list offered = tool_normal_list(d->arena, &d->settings->available_tools);
    if (offered.state == LIST_ABSENT)
        for (size_t i = 0; i < tool_info_count; i++)
            list_add(d->arena, &offered, str_from(tool_infos[i].name));
    struct list open = {LIST_SET, offered.items, 0};
    for (size_t i = 0; i < offered.n; i++)
        if (group_of(offered.items[i]) != GROUP_DELEGATE || door_is_open(d, offered.items[i]))
            open.items[open.n++] = offered.items[i];
    return open;
}

static int tools_known(const struct derivation *d, const struct list *offered, struct err *err)
{
    const struct list *has = d->parent ? &d->parent->permissions.allowed_tools : offered;
    for (size_t i = 0; i < d->tools.n; i++) {
        struct str tool = d->tools.items[i];
        if (tool_info_find(tool) || list_has(has, tool) || list_has(offered, tool))
            continue;
        char words[700];
        return err_set(err, ERR_USAGE, "unknown tool \"%.*s\"; this agent has: %s",
                       (int)(tool.n < 64 ? tool.n : 64), tool.p ? tool.p : "",
                       list_words(has, words, sizeof words));
    }
    return 0;
}

/* Which rule keeps this agent from starting others; NULL: none. `spawn` never passes delegation
 * on, a plan step only where its role says so, a role without spawn_roles is a leaf. */
static const char *nesting_refused_by(const struct derivation *d)
{
    int64_t depth = d->out->agent.depth;
    if (d->request->door == DOOR_SPAWN || (d->request->door == DOOR_PLAN && !d->role))
        return "door";
    if (d->role && d->role->spawn_roles[0] == '\0')
        return "role";
    if (depth >= d->settings->max_depth ||
        (d->parent && depth >= d->parent->permissions.max_delegation_depth))
        return "config";
    return NULL;
}

static struct list tools_without_group(struct arena *arena, const struct list *tools,
                                       enum tool_group group)
{
    struct list rest = list_copy(arena, tools);
    rest.n = 0;
    for (size_t i = 0; i < tools->n; i++)
        if (group_of(tools->items[i]) != group)
            rest.items[rest.n++] = tools->items[i];
    return rest;
}

static struct list tools_permitted(const struct derivation *d, const struct list *tools)
{
    struct list rest = list_copy(d->arena, tools);
    rest.n = 0;
    for (size_t i = 0; i < tools->n; i++)
        if (permission_of(d, tools->items[i]) > PERMIT_DENY)
            rest.items[rest.n++] = tools->items[i];
    return rest;
}

static bool tools_start_children(const struct list *tools)
{
    for (size_t i = 0; i < tools->n; i++)
        for (int door = DOOR_SPAWN; door <= DOOR_PLAN; door++)
            if (str_is(tools->items[i], door_text((enum door)door)))
                return true;
    return false;
}

static void spawning_set(struct derivation *d, const char *refused_by)
{
    struct contract *out = d->out;
    out->permissions.can_spawn_children = SPAWN_NEVER;
    out->permissions.max_delegation_depth = 0;
    out->permissions.spawn_roles = (struct list){LIST_SET, NULL, 0};
    if (refused_by || !tools_start_children(&out->permissions.allowed_tools))
        return;
    struct list own = d->role ? list_split(d->arena, d->role->spawn_roles) : LIST_NONE;
    const struct list *bound = d->parent ? &d->parent->permissions.spawn_roles : &LIST_NONE;
    out->permissions.can_spawn_children = SPAWN_MAY;
    out->permissions.max_delegation_depth =
        d->parent ? d->parent->permissions.max_delegation_depth : d->settings->max_depth;
    out->permissions.spawn_roles = list_intersect(d->arena, &own, bound);
}

int narrow_tools(struct derivation *d, struct err *err)
{
    struct contract *out = d->out;
    struct list offered = tools_offered(d);
    if (tools_known(d, &offered, err) != 0)
        return -1;
    const struct list *inherited = d->parent ? &d->parent->permissions.allowed_tools : &offered;
    struct list tools = d->tools.state == LIST_SET ? d->tools : list_copy(d->arena, inherited);
    tools_replace(d, &tools, list_intersect(d->arena, &tools, &offered), "config");
    tools_replace(d, &tools, list_intersect(d->arena, &tools, inherited), "parent");
    const char *refused_by = nesting_refused_by(d);
    if (refused_by)
        tools_replace(d, &tools, tools_without_group(d->arena, &tools, GROUP_DELEGATE), refused_by);
    tools_replace(d, &tools, tools_permitted(d, &tools), "mode");

    out->permissions.allowed_tools = tools;
    out->permissions.tool_modes =
        arena_alloc(d->arena, tools.n * sizeof *out->permissions.tool_modes);
    out->permissions.tool_mode_count = tools.n;
    for (size_t i = 0; i < tools.n; i++) {
        out->permissions.tool_modes[i].tool = tools.items[i];
        out->permissions.tool_modes[i].permission = permission_of(d, tools.items[i]);
    }
    spawning_set(d, refused_by);
    return 0;
}

/* Paths */

static struct list only(struct arena *arena, struct str item)
{
    struct list list = LIST_NONE;
    list_add(arena, &list, item);
    return list;
}

static int path_inside(struct derivation *d, struct str path, const char *field, struct str *out,
                       struct err *err)
{
    *out = path_normal(d->arena, path);
    if (out->p)
        return 0;
    return err_set(err, ERR_USAGE, "%s: \"%.*s\" is not a path inside the workspace", field,
                   (int)(path.n < 128 ? path.n : 128), path.p ? path.p : "");
}

static int rules_normal(struct derivation *d, const struct list *paths, const char *field,
                        struct list *out, struct err *err)
{
    *out = (struct list){LIST_SET, NULL, 0};
    for (size_t i = 0; i < paths->n; i++) {
        struct str normal;
        struct pathrule parts;
        if (path_inside(d, paths->items[i], field, &normal, err) != 0)
            return -1;
        if (!pathrule_read(normal, &parts))
            return err_set(err, ERR_USAGE,
                           "%s: in \"%.*s\", ** may stand only at the end or before one last name",
                           field, (int)(normal.n < 128 ? normal.n : 128), normal.p);
        list_add(d->arena, out, normal);
    }
    return 0;
}

/* Without those that another one includes. */
static struct list rules_pruned(const struct list *rules)
{
    struct list out = {LIST_SET, rules->items, 0};
    for (size_t i = 0; i < rules->n; i++) {
        bool needless = false;
        for (size_t k = 0; k < out.n && !needless; k++)
            needless = pathrule_within(rules->items[i], out.items[k]);
        for (size_t k = i + 1; k < rules->n && !needless; k++)
            needless = pathrule_within(rules->items[i], rules->items[k]);
        if (!needless)
            out.items[out.n++] = rules->items[i];
    }
    return out;
}

/* What lies in both. */
static struct list rules_intersect(struct arena *arena, const struct list *a, const struct list *b)
{
    struct list out = {LIST_SET, NULL, 0};
    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; k < b->n; k++) {
            struct str both = pathrule_meet(arena, a->items[i], b->items[k]);
            if (both.p)
                list_add(arena, &out, both);
        }
    return out;
}

/* A tester writes to directories of these names, and of those that the config adds, at any depth. */
static const char *const test_directories[] = {"test", "tests", "spec", "__tests__"};
enum { TEST_DIRECTORIES = sizeof test_directories / sizeof test_directories[0] };

static void rules_add_named(struct arena *arena, const struct list *paths, struct str name,
                            struct list *out)
{
    for (size_t i = 0; i < paths->n; i++) {
        struct str rule = pathrule_named(arena, paths->items[i], name);
        if (rule.p)
            list_add(arena, out, rule);
    }
}

static struct list rules_of_tests(struct derivation *d, const struct list *paths)
{
    const struct list *more = &d->settings->test_directories;
    struct list out = {LIST_SET, NULL, 0};
    for (size_t i = 0; i < TEST_DIRECTORIES; i++)
        rules_add_named(d->arena, paths, str_from(test_directories[i]), &out);
    for (size_t i = 0; i < more->n; i++)
        rules_add_named(d->arena, paths, more->items[i], &out);
    return rules_pruned(&out);
}

static bool writes_something(const struct contract *contract)
{
    static const bool writes[GROUP_COUNT] = {
        [GROUP_WRITE] = true, [GROUP_SHELL] = true, [GROUP_COMMIT] = true, [GROUP_OTHER] = true};
    for (size_t i = 0; i < contract->permissions.allowed_tools.n; i++)
        if (writes[group_of(contract->permissions.allowed_tools.items[i])])
            return true;
    return false;
}

static void write_paths_replace(struct derivation *d, struct list *paths, struct list narrower,
                                const char *by)
{
    bool lost = !list_subset(paths, &narrower) || !list_subset(&narrower, paths);
    if (d->request->write_paths.state == LIST_SET && lost)
        clamp_record(d, "permissions.write_paths", json_of_list(d->arena, paths),
                     json_of_list(d->arena, &narrower), by);
    *paths = narrower;
}

static int working_directory_set(struct derivation *d, struct err *err)
{
    struct str directory = d->parent ? d->parent->execution.working_directory : STR(".");
    if (d->request->working_directory.p) {
        if (path_inside(d, d->request->working_directory, "working_directory", &directory, err))
            return -1;
        const struct list *reads = &d->out->permissions.read_paths;
        bool inside = false;
        for (size_t i = 0; i < reads->n && !inside; i++)
            inside = path_within(directory, reads->items[i]);
        if (!inside)
            return err_set(err, ERR_DENIED,
                           "working_directory: \"%.*s\" is outside what this agent may read",
                           (int)(directory.n < 128 ? directory.n : 128), directory.p);
    }
    d->out->execution.working_directory = arena_copy(d->arena, directory);
    return 0;
}

/* What a glob can hold at most, as a rule: the directories before its first wildcard. */
static struct str rule_of_glob(struct str glob)
{
    size_t end = 0;
    for (size_t i = 0; i <= glob.n; i++) {
        if (i < glob.n && memchr("*?[{\\", glob.p[i], 5) != NULL)
            return end > 0 ? (struct str){glob.p, end} : STR(".");
        if (i == glob.n || glob.p[i] == '/')
            end = i;
    }
    return glob;
}

/* Whoever owns files writes to nothing else; which of them exactly, the globs say when the work is collected. */
static int rules_of_ownership(struct derivation *d, struct list *out, struct err *err)
{
    *out = (struct list){LIST_SET, NULL, 0};
    for (size_t i = 0; i < d->request->ownership.n; i++) {
        struct str rule;
        if (path_inside(d, rule_of_glob(d->request->ownership.items[i]), "ownership", &rule, err))
            return -1;
        list_add(d->arena, out, rule);
    }
    return 0;
}

int narrow_paths(struct derivation *d, struct err *err)
{
    struct contract *out = d->out;
    struct list whole = only(d->arena, STR("."));
    const struct list *bound = d->parent ? &d->parent->permissions.write_paths : &whole;
    out->permissions.read_paths =
        list_copy(d->arena, d->parent ? &d->parent->permissions.read_paths : &whole);

    struct list paths = list_copy(d->arena, bound);
    if (d->request->write_paths.state == LIST_SET) {
        if (rules_normal(d, &d->request->write_paths, "write_paths", &paths, err) != 0)
            return -1;
        write_paths_replace(d, &paths, rules_intersect(d->arena, &paths, bound), "parent");
    }
    struct list none = {LIST_SET, NULL, 0}, owned;
    if (d->request->ownership.n > 0) {
        if (rules_of_ownership(d, &owned, err) != 0)
            return -1;
        write_paths_replace(d, &paths, rules_intersect(d->arena, &owned, &paths), "ownership");
    }
    if (d->role && d->role->writes == ROLE_WRITES_TESTS)
        write_paths_replace(d, &paths, rules_of_tests(d, &paths), "role");
    if (d->role && d->role->writes == ROLE_READS)
        write_paths_replace(d, &paths, none, "role");
    if (!writes_something(out))
        write_paths_replace(d, &paths, none, "mode");
    if (paths.n > LIST_ITEMS_MAX)
        return err_set(err, ERR_USAGE, "write_paths: too many of them for this role");
    out->permissions.write_paths = paths;
    return working_directory_set(d, err);
}

/* Network */

int narrow_network(struct derivation *d, struct err *err)
{
    struct str ceiling = d->parent ? d->parent->permissions.network : d->settings->network;
    struct str wanted = STR("full");
    enum network unused;
    bool asked = d->request->network.n > 0;
    if (d->role)
        wanted = settings_role_network(d->settings, str_from(d->role->name));
    if (asked)
        wanted = d->request->network;
    if (!network_parse(wanted, &unused))
        return err_set(err, ERR_USAGE, "network must be " NETWORK_EXPECTED);
    struct str got = network_meet(d->arena, wanted, ceiling);
    if (asked && !str_eq(got, wanted))
        clamp_record(d, "permissions.network", json_of_text(d->arena, wanted),
                     json_of_text(d->arena, got), d->parent ? "parent" : "config");
    d->out->permissions.network = got;
    return 0;
}

/* Limits */

static struct str json_of_limit(struct arena *arena, const char *field, int64_t value)
{
    struct buf out;
    struct jw w;
    buf_init(&out, 64);
    jw_init(&w, &out);
    /* Dollars as a plain JSON real, so that reading and printing the receipt gives the same
     * bytes. */
    if (strstr(field, "cost_usd"))
        jw_real(&w, (double)value / 1e9);
    else
        jw_int(&w, value);
    return writer_text(arena, &out);
}

void limit_narrow(struct derivation *d, const char *field, int64_t *value, int64_t ceiling,
                  const char *by)
{
    if (ceiling == UNLIMITED || (*value != UNLIMITED && *value <= ceiling))
        return;
    if (*value != UNLIMITED)
        clamp_record(d, field, json_of_limit(d->arena, field, *value),
                     json_of_limit(d->arena, field, ceiling), by);
    *value = ceiling;
}

int64_t model_window(const struct model_settings *model)
{
    return model->max_context_tokens > 0 ? model->max_context_tokens : UNLIMITED;
}

int narrow_limits(struct derivation *d, struct err *err)
{
    static const struct limits none = {UNLIMITED, UNLIMITED, UNLIMITED,
                                       UNLIMITED, UNLIMITED, UNLIMITED};
    const struct limits *parent = d->parent ? &d->parent->execution.budget : &none;
    const struct facts *facts = d->facts;
    struct limits *limits = &d->limits;
    struct {
        const char *field;
        int64_t *value;
        const char *fixed_by;
        int64_t fixed, parent, remaining; /* ceilings */
    } rows[] = {
        {"execution.budget.tool_calls", &limits->tool_calls, "config", d->settings->hard_stop_at,
         UNLIMITED, UNLIMITED},
        {"execution.budget.context_tokens", &limits->context_tokens, "model",
         model_window(d->model), UNLIMITED, UNLIMITED},
        {"execution.budget.tokens", &limits->tokens, "config", UNLIMITED, parent->tokens,
         facts->remaining_tokens},
        {"execution.budget.cost_usd", &limits->cost_nano, "config", UNLIMITED, parent->cost_nano,
         facts->remaining_cost_nano},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        limit_narrow(d, rows[i].field, rows[i].value, rows[i].fixed, rows[i].fixed_by);
        if (!d->parent)
            continue;
        if (rows[i].remaining != UNLIMITED && rows[i].remaining <= 0)
            return err_set(err, ERR_BUDGET,
                           "nothing is left of the parent's %s; a run's limit is set by %s",
                           rows[i].field + sizeof "execution.budget." - 1,
                           rows[i].value == &limits->tokens ? "budget.tokens"
                                                            : "budget.cost_usd, or --max-cost");
        /* Nobody set it: what is left of the parent's is inherited, which narrows nothing. */
        if (*rows[i].value == UNLIMITED)
            *rows[i].value = rows[i].remaining;
        limit_narrow(d, rows[i].field, rows[i].value, rows[i].parent, "parent");
        limit_narrow(d, rows[i].field, rows[i].value, rows[i].remaining, "budget");
    }
    d->out->execution.budget = d->limits;
    return 0;
}
