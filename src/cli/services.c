/* Puts sandbox, memory and endpoints together for the tools: see services.h. Knows adapters, as wire.c does. Loop thread. */
#include "cli/services.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "git/vcs.h"
#include "os/key.h"
#include "sandbox/probe.h"
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

void services_open(struct tool_services *services, const struct config *config,
                   const struct str *hidden, size_t hidden_count)
{
    struct sandbox_options options;
    fill_options(&config->sandbox, &options);
    *services = (struct tool_services){.sandbox = sandbox_port(sandbox_open(&options)),
                                       .memory = tool_memory_new(),
                                       .hidden = hidden,
                                       .hidden_count = hidden_count,
                                       .skills_directory = config->skills_directory,
                                       .test_command = config->test_command};
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
    *services = (struct tool_services){0};
}

static bool is_first_of_wall(size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(probes[i].wall, probes[index].wall) == 0)
            return false;
    return true;
}

int services_try_walls(const struct config *config, enum services_walls which,
                       services_wall_fn *tell, void *user, struct err *err)
{
    static const int states[] = {
        [PROBE_HOLDS] = WALL_HOLDS,           [PROBE_BROKEN] = WALL_BROKEN,
        [PROBE_OLD_KERNEL] = WALL_OLD_KERNEL, [PROBE_TWIN_FAILS] = WALL_STOPS_ITS_TWIN,
        [PROBE_NOT_RUN] = WALL_NOT_BUILT,
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
