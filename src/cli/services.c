/* Puts sandbox, memory and endpoints together for the tools: see services.h. Knows adapters, as wire.c does. Loop thread. */
#include "cli/services.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/gateway.h"
#include "git/vcs.h"
#include "net/address.h"
#include "net/proxy.h"
#include "os/key.h"
#include "sandbox/probe.h"
#include "sandbox/remedy.h"
#include "sandbox/sandbox.h"
#include "tool/memory.h"
#include "tool/skills.h"

void services_web(struct tool_services *services, const struct config *config)
{
    services->web.search_kind = config->web.kind;
    services->web.search_url = config->web.url;
    services->web.search_key = key_from_environment(config->web.api_key_env);
    services->web.reach = config->web.fetch == PRIVATE_ALLOWED ? WEB_PRIVATE_TOO : WEB_PUBLIC_ONLY;
}

/* The user's own ignore rules, which git reads from the home directory that our calls do not have. */
static void user_excludes(char path[GIT_PATH_MAX])
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config != NULL && config[0] == '/')
        snprintf(path, GIT_PATH_MAX, "%s/git/ignore", config);
    else if (home != NULL && home[0] == '/')
        snprintf(path, GIT_PATH_MAX, "%s/.config/git/ignore", home);
    if (access(path, R_OK) != 0)
        path[0] = '\0';
}

int services_vcs_open(struct str state, struct vcs_port **port, struct err *err)
{
    char directory[GIT_PATH_MAX], excludes[GIT_PATH_MAX] = "";
    struct git_vcs *vcs = calloc(1, sizeof *vcs);
    if (vcs == NULL)
        abort();
    *port = NULL;
    user_excludes(excludes);
    snprintf(directory, sizeof directory, "%.*s/git", STR_FMT(state));
    if (git_vcs_open(vcs, str_from(directory), str_from(excludes), err) != 0) {
        free(vcs);
        return -1;
    }
    *port = &vcs->port;
    return 0;
}

void services_vcs_close(struct vcs_port *vcs)
{
    if (vcs != NULL)
        free((char *)vcs - offsetof(struct git_vcs, port));
}

/* Its directory lies in the store's, which comes first among what is hidden. */
static void open_vcs(struct tool_services *services)
{
    struct err err = ERR_INIT;
    struct vcs_port *vcs = NULL;
    if (services_vcs_open(services->hidden[0], &vcs, &err) != 0)
        services->vcs_problem = STR("git is not installed on this machine");
    services->vcs = vcs;
}

static int64_t megabytes(int64_t number)
{
    return number == UNLIMITED ? 0 : number << 20;
}

static void fill_options(const struct config_sandbox *config, struct sandbox_options *options)
{
    *options = (struct sandbox_options){
        .limits = {.processes = config->processes,
                   .memory_bytes = megabytes(config->memory_mb),
                   .file_bytes = megabytes(config->file_mb),
                   .disk_bytes = megabytes(config->disk_mb),
                   .open_files = config->open_files},
        .environment = config->environment,
        .environment_count = config->environment_count,
        .shown = config->shown,
        .shown_count = config->shown_count,
        .relay = config->relay,
        .relay_port = config->relay_port,
    };
    for (int wall = 0; wall < LAUNCH_WALL_COUNT; wall++)
        for (size_t i = 0; i < sizeof config->walls / sizeof config->walls[0]; i++)
            if (strcmp(config->walls[i].name, sandbox_wall_name(wall)) == 0)
                options->off[wall] = config->walls[i].off;
}

/* --- what commands reach by name ------------------------------------------------------------------------------------------------ */

/* In one piece of memory that the sandbox looks at. The keys of access.credentials are here and nowhere else. */
struct access_box {
    struct arena arena;
    struct proxy_access access;
};

static struct proxy_credential credential_of(struct arena *arena,
                                             const struct config_credential *credential)
{
    const struct config_environment environment = {.get = gateway_variable};
    struct proxy_credential made = {credential->host, credential->header.name, STR(""), STR("")};
    struct err err = ERR_INIT;
    struct buf value;
    buf_init(&value, (size_t)64 << 10);
    if (config_header_expand(&credential->header, &environment, &value, &err) == 0)
        made.value = arena_copy(arena, buf_view(&value));
    else
        made.problem = arena_copy(arena, str_from(err.message));
    if (value.p != NULL)
        explicit_bzero(value.p, value.capacity);
    buf_release(&value);
    return made;
}

static struct access_box *access_open(const struct config_access *config)
{
    struct access_box *box = calloc(1, sizeof *box);
    if (box == NULL)
        abort();
    arena_init(&box->arena);
    struct proxy_address *addresses =
        arena_alloc(&box->arena, (config->address_count + 1) * sizeof *addresses);
    struct proxy_credential *credentials =
        arena_alloc(&box->arena, (config->credential_count + 1) * sizeof *credentials);
    for (size_t i = 0; i < config->address_count; i++) {
        addresses[i].host = config->addresses[i].host;
        if (!address_read(config->addresses[i].address, &addresses[i].address))
            abort(); /* config has checked it */
    }
    for (size_t i = 0; i < config->credential_count; i++)
        credentials[i] = credential_of(&box->arena, &config->credentials[i]);
    box->access = (struct proxy_access){.private_hosts = config->private_hosts,
                                        .private_count = config->private_count,
                                        .addresses = addresses,
                                        .address_count = config->address_count,
                                        .credentials = credentials,
                                        .credential_count = config->credential_count};
    return box;
}

static void access_close(struct access_box *box)
{
    if (box == NULL)
        return;
    for (size_t i = 0; i < box->access.credential_count; i++)
        explicit_bzero((char *)box->access.credentials[i].value.p,
                       box->access.credentials[i].value.n);
    arena_release(&box->arena);
    free(box);
}

/* --- all of it ------------------------------------------------------------------------------------------------------------------ */

void services_open(struct tool_services *services, const struct config *config,
                   const struct str *hidden, size_t hidden_count, const struct masker *masker)
{
    struct sandbox_options options;
    struct access_box *access = access_open(&config->access);
    fill_options(&config->sandbox, &options);
    options.access = access->access;
    *services = (struct tool_services){.access = access,
                                       .sandbox = sandbox_port(sandbox_open(&options)),
                                       .memory = tool_memory_new(),
                                       .hidden = hidden,
                                       .hidden_count = hidden_count,
                                       .skills_directory = config->skills_directory,
                                       .test_command = config->test_command,
                                       .test_origin = config->test_origin,
                                       .checks_origins = config->checks_origins,
                                       .checks_origin_count = config->checks_origin_count,
                                       .masker = masker};
    size_t own = config->above_has_own ? 1 : 0;
    services->instructions_own = own ? config->above.directories[0] : STR("");
    services->instructions_above = config->above.directories + own;
    services->instructions_above_count = config->above.count - own;
    open_vcs(services);
    services_web(services, config);
}

void services_skills(struct config *config, struct str workspace)
{
    struct err ignored = ERR_INIT;
    struct scope files, user;
    struct skills found;
    struct settings *settings = &config->settings;
    if (scope_open(&files, workspace.p, &ignored) != 0)
        return; /* the run will say so */
    bool has_user = config->skills_directory.n > 0 &&
                    scope_open(&user, config->skills_directory.p, &ignored) == 0;
    skills_find(&files, has_user ? &user : NULL, &config->arena, &found);
    settings->skills = arena_alloc(&config->arena, (found.count + 1) * sizeof *settings->skills);
    for (size_t i = 0; i < found.count; i++)
        settings->skills[settings->skill_count++] =
            (struct skill_listed){found.items[i].name, found.items[i].description};
    if (has_user)
        scope_close(&user);
    scope_close(&files);
}

void services_release(struct tool_services *services)
{
    tool_memory_free(services->memory);
    if (services->sandbox != NULL)
        sandbox_close(services->sandbox->self);
    services_vcs_close((struct vcs_port *)services->vcs);
    access_close(services->access);
    *services = (struct tool_services){0};
}

void services_walls_text(const struct config *config, struct buf *out)
{
    const char *opening = "without ";
    for (size_t i = 0; i < sizeof config->sandbox.walls / sizeof config->sandbox.walls[0]; i++)
        if (config->sandbox.walls[i].off) {
            buf_printf(out, "%s%s", opening, config->sandbox.walls[i].name);
            opening = ", ";
        }
    if (out->n == 0)
        buf_text(out, "all");
}

static bool is_first_of_wall(size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(probes[i].wall, probes[index].wall) == 0)
            return false;
    return true;
}

void services_remedy(struct buf *out)
{
    remedy_namespaces("", out);
}

int services_try_walls(const struct config *config, enum services_walls which,
                       services_wall_fn *tell, void *user, struct err *err)
{
    static const int states[] = {
        [PROBE_HOLDS] = WALL_HOLDS,           [PROBE_BROKEN] = WALL_BROKEN,
        [PROBE_OLD_KERNEL] = WALL_OLD_KERNEL, [PROBE_TWIN_FAILS] = WALL_STOPS_ITS_TWIN,
        [PROBE_NOT_RUN] = WALL_NOT_BUILT,     [PROBE_OPEN] = WALL_OPEN,
    };
    struct sandbox_options options;
    struct probe_room *room = NULL;
    if (probe_room_open(&room, err) != 0)
        return -1;
    fill_options(&config->sandbox, &options);
    struct sandbox *sandbox = sandbox_open(&options);
    for (size_t i = 0; i < probe_count; i++) {
        struct err why = ERR_INIT;
        if (which == WALLS_ONE_EACH && !is_first_of_wall(i))
            continue;
        enum probe_verdict verdict = probe_run(room, sandbox_port(sandbox), &probes[i], &why);
        struct services_wall wall = {.wall = probes[i].wall,
                                     .attack = probes[i].name,
                                     .state = states[verdict],
                                     .why = why.message};
        tell(user, &wall);
    }
    sandbox_close(sandbox);
    probe_room_close(room);
    return 0;
}
