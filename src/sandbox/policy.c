/* What a command may see and change, as the launcher's message: views of the workspace in the order of mounting, the built
 * environment, limits. Any thread. */
#include "sandbox/policy.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/gitname.h"
#include "base/path.h"
#include "os/leftover.h"
#include "os/scope.h"

#define PROCESSES_DEFAULT 512
#define PROCESSES_LEAST 16
#define RELAY_PORT_DEFAULT 8118
#define FILE_BYTES_DEFAULT ((int64_t)4 << 30)
#define DISK_BYTES_DEFAULT ((int64_t)32 << 30)
#define OPEN_FILES_DEFAULT 8192
#define MEMORY_LEAST ((uint64_t)2 << 30)

/* --- lists --------------------------------------------------------------------------------------------------------------------- */

struct list {
    struct buf *area;
    struct launch_part *part;
    bool broken; /* a text with a NUL in it */
};

static struct list list_begin(struct buf *area, struct launch_part *part)
{
    *part = (struct launch_part){.at = (uint32_t)area->n};
    return (struct list){area, part, false};
}

static void list_add(struct list *list, struct str text)
{
    if (text.n > 0 && memchr(text.p, '\0', text.n) != NULL)
        list->broken = true;
    buf_str(list->area, text);
    buf_char(list->area, '\0');
    list->part->count++;
}

/* --- views --------------------------------------------------------------------------------------------------------------------- */

static struct str next_component(struct str *path)
{
    const char *slash = memchr(path->p, '/', path->n);
    struct str component = {path->p, slash != NULL ? (size_t)(slash - path->p) : path->n};
    size_t skip = component.n < path->n ? component.n + 1 : component.n;
    *path = (struct str){path->p + skip, path->n - skip};
    return component;
}

/* Repositories and cadre's own files are never written by a command, even where a contract names them. */
static bool is_kept(struct str path)
{
    if (scope_holds_config(path))
        return true;
    while (path.n > 0)
        if (gitname_is_git(next_component(&path)))
            return true;
    return false;
}

static bool covered(struct str path, const struct str *paths, size_t count, size_t self)
{
    for (size_t i = 0; i < count; i++) {
        bool same = str_eq(path, paths[i]);
        if (i != self && path_within(path, paths[i]) && (!same || i < self))
            return true;
    }
    return false;
}

static void add_view(struct list *views, struct arena *arena, char kind, struct str path)
{
    list_add(views, arena_printf(arena, "%c%.*s", kind, STR_FMT(path)));
}

/* Reads first, then what is writable on top of them. The launcher finds what is kept within that. */
static int add_views(const struct policy *policy, struct guards *guards, struct list *views,
                     struct err *err)
{
    const struct sandbox_walls *walls = policy->walls;
    size_t count = 0;
    struct str *writes = arena_alloc(policy->arena, (walls->write_count + 1) * sizeof *writes);
    for (size_t i = 0; i < walls->write_count; i++)
        if (!is_kept(walls->write_paths[i]))
            writes[count++] = walls->write_paths[i];
    leftover_clean(walls->workspace);
    for (size_t i = 0; i < count; i++)
        if (guards_make(guards, walls->workspace, writes[i], policy->arena, err) != 0)
            return -1;
    for (size_t i = 0; i < walls->read_count; i++)
        if (!covered(walls->read_paths[i], writes, count, SIZE_MAX) &&
            !covered(walls->read_paths[i], walls->read_paths, walls->read_count, i))
            add_view(views, policy->arena, LAUNCH_VIEW_READ, walls->read_paths[i]);
    for (size_t i = 0; i < count; i++)
        if (!covered(writes[i], writes, count, i))
            add_view(views, policy->arena, LAUNCH_VIEW_WRITE, writes[i]);
    return 0;
}

/* --- environment --------------------------------------------------------------------------------------------------------------- */

static bool has_variable(const struct list *list, const char *name, size_t n)
{
    const char *text = list->area->p + list->part->at;
    for (uint32_t i = 0; i < list->part->count; i++, text += strlen(text) + 1)
        if (strncmp(text, name, n) == 0 && text[n] == '=')
            return true;
    return false;
}

/* "NAME=value"; the first one given holds. */
static void add_variable(struct list *list, const char *text)
{
    const char *equals = strchr(text, '=');
    if (equals != NULL && equals > text && !has_variable(list, text, (size_t)(equals - text)))
        list_add(list, str_from(text));
}

/* Of the loopback inside, where a relay or the proxy listens. */
static int64_t relay_port(const struct policy *policy)
{
    return policy->options->relay_port > 0 ? policy->options->relay_port : RELAY_PORT_DEFAULT;
}

/* Where programs look for a proxy; some in small letters, some in capitals. */
static void add_proxy(const struct policy *policy, struct list *list)
{
    static const char *const names[] = {"http_proxy", "https_proxy", "all_proxy",
                                        "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        add_variable(list, arena_printf(policy->arena, "%s=http://127.0.0.1:%lld", names[i],
                                        (long long)relay_port(policy))
                               .p);
    add_variable(list, "no_proxy=localhost,127.0.0.1,::1");
    add_variable(list, "NO_PROXY=localhost,127.0.0.1,::1");
}

static void add_environment(const struct policy *policy, struct list *list)
{
    static const char *const built[] = {
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG=C.UTF-8",
        "TERM=dumb",
        "USER=user",
        "LOGNAME=user",
        "SHELL=/bin/sh",
        /* Without namespaces /etc/gitconfig is there and cannot be read, at which git gives up. */
        "GIT_CONFIG_NOSYSTEM=1",
    };
    const struct sandbox_options *options = policy->options;
    const char *const *variables = policy->command->variables;
    if (policy->walls->network == SANDBOX_NET_NAMES)
        add_proxy(policy, list);
    for (; variables != NULL && *variables != NULL; variables++)
        add_variable(list, *variables);
    for (size_t i = 0; i < options->environment_count; i++) {
        const char *name = arena_copy(policy->arena, options->environment[i]).p;
        const char *value = getenv(name);
        if (value != NULL)
            add_variable(list, arena_printf(policy->arena, "%s=%s", name, value).p);
    }
    for (size_t i = 0; i < sizeof built / sizeof built[0]; i++)
        add_variable(list, built[i]);
    add_variable(list, arena_printf(policy->arena, "HOME=%s/home", policy->tmp).p);
    add_variable(list, arena_printf(policy->arena, "TMPDIR=%s", policy->tmp).p);
}

/* --- numbers ------------------------------------------------------------------------------------------------------------------- */

/* What the call asks for, within what the operator allows. */
static uint64_t limit(int64_t asked, int64_t operators, int64_t usual)
{
    int64_t most = operators > 0 ? operators : usual;
    return (uint64_t)(asked > 0 && asked < most ? asked : most);
}

/* Half of the machine. */
static int64_t usual_memory(void)
{
    struct sysinfo info;
    uint64_t half = sysinfo(&info) == 0 ? (uint64_t)info.totalram * info.mem_unit / 2 : 0;
    return (int64_t)(half > MEMORY_LEAST ? half : MEMORY_LEAST);
}

static void fill_numbers(const struct policy *policy, struct launch_head *head)
{
    const struct sandbox_limits *asked = &policy->walls->limits;
    const struct sandbox_limits *most = &policy->options->limits;
    for (int wall = 0; wall < LAUNCH_WALL_COUNT; wall++)
        if (!policy->options->off[wall])
            head->walls |= 1u << wall;
    head->network = policy->walls->network == SANDBOX_NET_FULL   ? LAUNCH_NET_FULL
                    : policy->walls->network == SANDBOX_NET_NONE ? LAUNCH_NET_NONE
                                                                 : LAUNCH_NET_RELAY;
    head->relay_port = (uint32_t)relay_port(policy);
    head->processes = limit(asked->processes, most->processes, PROCESSES_DEFAULT);
    if (head->processes < PROCESSES_LEAST)
        head->processes = PROCESSES_LEAST;
    head->memory_bytes = limit(asked->memory_bytes, most->memory_bytes, usual_memory());
    head->file_bytes = limit(asked->file_bytes, most->file_bytes, FILE_BYTES_DEFAULT);
    head->disk_bytes = limit(asked->disk_bytes, most->disk_bytes, DISK_BYTES_DEFAULT);
    head->disk_system = policy->disk_system;
    head->open_files = limit(asked->open_files, most->open_files, OPEN_FILES_DEFAULT);
}

/* --- all of it ----------------------------------------------------------------------------------------------------------------- */

/* They are mounts, and so is the .git that leads to them. */
static bool has_records(const struct policy *policy)
{
    return policy->walls->records.git_dir.n > 0 && !policy->options->off[LAUNCH_WALL_NAMESPACES];
}

static bool add_records(const struct policy *policy, struct buf *area, struct launch_part *part)
{
    const struct sandbox_records *records = &policy->walls->records;
    struct list list = list_begin(area, part);
    for (size_t i = 0; has_records(policy) && i < records->count; i++) {
        list_add(&list, records->items[i].name);
        list_add(&list, records->items[i].source);
    }
    return !list.broken;
}

/* Where a descriptor really leads; empty when that cannot be told. */
static struct str real_path(const struct policy *policy, int fd)
{
    char link[64], path[SCOPE_PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = fd >= 0 ? readlink(link, path, sizeof path) : -1;
    return n > 0 && (size_t)n < sizeof path
               ? arena_copy(policy->arena, (struct str){path, (size_t)n})
               : STR("");
}

/* The same of a path. */
static struct str real_path_of(const struct policy *policy, struct str path)
{
    int fd = open(arena_copy(policy->arena, path).p, O_PATH | O_CLOEXEC);
    struct str real = real_path(policy, fd);
    if (fd >= 0)
        close(fd);
    return real;
}

/* The workspace's path as a command sees it. Without mounts of its own a command sees the machine's: a tree that stands in for a
 * workspace is at its own path, and the workspace's path leads to files that are not the agent's. */
static struct str path_inside(const struct policy *policy)
{
    if (!policy->options->off[LAUNCH_WALL_NAMESPACES])
        return policy->walls->workspace_path;
    struct str real = real_path(policy, policy->walls->workspace);
    return real.n > 0 ? real : policy->walls->workspace_path;
}

static void add_names(const struct policy *policy, struct list *list)
{
    const struct sandbox_walls *walls = policy->walls;
    struct str directory = policy->command->directory, workspace = path_inside(policy);
    bool at_root = directory.n == 0 || str_is(directory, ".");
    list_add(list, workspace);
    list_add(list, at_root ? workspace
                           : arena_printf(policy->arena, "%.*s/%.*s", STR_FMT(workspace),
                                          STR_FMT(directory)));
    list_add(list, walls->network == SANDBOX_NET_RELAY ? policy->options->relay : STR(""));
    list_add(list, str_from(policy->tmp));
    list_add(list, has_records(policy) ? walls->records.git_dir : STR(""));
}

/* Absolute paths. */
static bool lies_in(struct str path, struct str directory)
{
    return str_starts(path, directory) && path.n > directory.n && path.p[directory.n] == '/';
}

/* Landlock cannot take a part out of what it allows, and there is no network to relay through. */
static int check_without_namespaces(const struct policy *policy, struct err *err)
{
    const struct sandbox_walls *walls = policy->walls;
    if (!policy->options->off[LAUNCH_WALL_NAMESPACES])
        return 0;
    if (policy->options->off[LAUNCH_WALL_LANDLOCK])
        return err_set(
            err, ERR_DENIED,
            "nothing was run: with both walls off, \"namespaces\" and \"landlock\", no file "
            "is protected; turn one of them on in the user's config");
    if (walls->network == SANDBOX_NET_RELAY || walls->network == SANDBOX_NET_NAMES)
        return err_set(err, ERR_DENIED, "nothing was run: %s the wall \"namespaces\", which is off",
                       walls->network == SANDBOX_NET_RELAY ? "a relay needs"
                                                           : "hosts by name need");
    for (size_t i = 0; i < walls->hidden_count; i++) {
        struct str hidden = walls->hidden[i], workspace = path_inside(policy);
        struct str real = real_path_of(policy, hidden);
        if (lies_in(hidden, workspace) || lies_in(real, workspace))
            return err_set(
                err, ERR_DENIED,
                "nothing was run: %.*s lies in the workspace and cannot be hidden without "
                "the wall \"namespaces\", which is off",
                STR_FMT(hidden));
    }
    return 0;
}

static int check_relay(const struct policy *policy, struct err *err)
{
    if (policy->walls->network != SANDBOX_NET_RELAY || policy->options->relay.n > 0)
        return 0;
    return err_set(err, ERR_DENIED,
                   "nothing was run: the network is \"relay\", and `sandbox: {relay: {socket: "
                   "PATH}}` in the user's config does not say to which socket it leads");
}

/* A hidden directory under every name that it may have inside: as it was given, as it really is, and from the workspace's own
 * name where it lies in it. */
static bool add_hidden(const struct policy *policy, struct buf *area, struct launch_part *part)
{
    const struct sandbox_walls *walls = policy->walls;
    struct list list = list_begin(area, part);
    struct str workspace = real_path(policy, walls->workspace);
    for (size_t i = 0; i < walls->hidden_count; i++) {
        struct str real = real_path_of(policy, walls->hidden[i]);
        list_add(&list, walls->hidden[i]);
        if (real.n == 0)
            continue;
        list_add(&list, real);
        if (workspace.n > 0 && lies_in(real, workspace))
            list_add(&list, arena_printf(policy->arena, "%.*s%s", STR_FMT(walls->workspace_path),
                                         real.p + workspace.n));
    }
    return !list.broken;
}

static bool add_all(struct buf *area, struct launch_part *part, const struct str *texts,
                    size_t count)
{
    struct list list = list_begin(area, part);
    for (size_t i = 0; i < count; i++)
        list_add(&list, texts[i]);
    return !list.broken;
}

/* Filters come first, where everything is aligned. */
static struct launch_part add_filter(struct buf *area, struct str filter)
{
    struct launch_part part = {(uint32_t)area->n, (uint32_t)(filter.n / 8)};
    buf_str(area, filter);
    return part;
}

int policy_print(const struct policy *policy, struct guards *guards, struct buf *message,
                 struct err *err)
{
    struct launch_head head = {.magic = LAUNCH_MAGIC};
    struct buf area;
    buf_init(&area, LAUNCH_MESSAGE_MAX - sizeof head);
    buf_init(message, LAUNCH_MESSAGE_MAX);
    head.life = policy->life;
    if (policy->life == LAUNCH_FOR_A_CALL && policy->command->owned_until != NULL)
        head.lease_until = atomic_load(policy->command->owned_until);
    fill_numbers(policy, &head);
    head.filter = add_filter(&area, policy->filter);
    head.silent_filter = add_filter(&area, policy->silent_filter);
    head.own_filter = add_filter(&area, policy->own_filter);
    struct list list = list_begin(&area, &head.argv);
    for (const char *const *text = policy->command->argv; *text != NULL; text++)
        list_add(&list, str_from(*text));
    list = list_begin(&area, &head.environment);
    add_environment(policy, &list);
    struct list names = list_begin(&area, &head.names);
    add_names(policy, &names);
    bool whole =
        !names.broken &&
        add_all(&area, &head.shown, policy->options->shown, policy->options->shown_count) &&
        add_hidden(policy, &area, &head.hidden) && add_records(policy, &area, &head.records);
    struct list views = list_begin(&area, &head.views);
    int result = check_without_namespaces(policy, err) == 0 ? check_relay(policy, err) : -1;
    if (result == 0 && str_is(policy->walls->workspace_path, "/"))
        result = err_set(err, ERR_DENIED,
                         "nothing was run: the root of the file system cannot be a workspace");
    if (result == 0)
        result = add_views(policy, guards, &views, err);
    head.bytes = (uint32_t)(sizeof head + area.n);
    buf_add(message, &head, sizeof head);
    buf_str(message, buf_view(&area));
    if (result == 0 && (!whole || views.broken))
        result = err_set(err, ERR_USAGE, "a path has a NUL in it");
    if (result == 0 && (area.failed || message->failed))
        result = err_set(err, ERR_USAGE, "the command and its paths are too long");
    buf_release(&area);
    return result;
}
