/* See next.h. What model there is, is asked where `cadre run` and `cadre doctor` ask. */
#include "cli/next.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/wire.h"

#define TASK "\"Summarise README.md\""

/* Programs that work as agents and can run commands. */
static const char *const agents[NEXT_AGENTS_MAX] = {"claude", "codex", "gemini", "opencode"};

/* --- looking ------------------------------------------------------------------------------------------------------------ */

static bool is_program(const char *path, struct stat *status)
{
    return stat(path, status) == 0 && S_ISREG(status->st_mode) && access(path, X_OK) == 0;
}

/* The program that a shell would start for this name, in whichever directory it is typed. */
static bool in_path(const char *name, struct stat *status)
{
    const char *at = getenv("PATH");
    while (at != NULL && *at != '\0') {
        char path[PATH_MAX];
        int n = (int)strcspn(at, ":");
        if (at[0] == '/' && n < PATH_MAX / 2 &&
            snprintf(path, sizeof path, "%.*s/%s", n, at, name) < (int)sizeof path &&
            is_program(path, status))
            return true;
        at += at[n] == ':' ? n + 1 : n;
    }
    return false;
}

/* What a shell takes as one word, as it stands. */
static bool is_word(const char *text)
{
    static const char signs[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./:@+-";
    return text[0] != '\0' && text[0] != '-' && text[strspn(text, signs)] == '\0';
}

/* "cadre" where that is this program, else its path, from here if it lies below. */
static void name_program(const char *self, struct next_found *found)
{
    char here[PATH_MAX];
    struct stat own, other;
    size_t n = getcwd(here, sizeof here) != NULL ? strlen(here) : 0;
    bool below = n > 1 && strncmp(self, here, n) == 0 && self[n] == '/';
    bool installed = stat(self, &own) == 0 && in_path("cadre", &other) &&
                     own.st_dev == other.st_dev && own.st_ino == other.st_ino;
    int length = snprintf(found->program, sizeof found->program, "%s",
                          installed ? "cadre"
                          : below   ? self + n + 1
                                    : self);
    if (length >= (int)sizeof found->program || !is_word(found->program))
        snprintf(found->program, sizeof found->program, "cadre");
}

static void look_at_config(struct next_found *found)
{
    struct wire_request request = {.need = WIRE_MODEL};
    struct wire *wire = NULL;
    struct err err = ERR_INIT;
    if (wire_open(&request, &wire, &err) != 0) {
        snprintf(found->problem, sizeof found->problem, "%.*s", (int)strcspn(err.message, "\n"),
                 err.message);
        return;
    }
    const struct config *config = wire_config(wire);
    const struct model_settings *model =
        settings_model(&config->settings, config->settings.default_model);
    if (model != NULL) {
        snprintf(found->model, sizeof found->model, "%.*s", STR_FMT(model->model));
        snprintf(found->source, sizeof found->source, "%.*s", STR_FMT(config->model_source));
    }
    wire_close(wire);
}

void next_look(const char *self, struct next_found *found)
{
    struct err err = ERR_INIT;
    struct stat status;
    *found = (struct next_found){0};
    name_program(self, found);
    look_at_config(found);
    if (localserver_find(NEXT_LOOK_MS, &found->server, &err) != 0)
        found->server.base_url[0] = '\0';
    for (size_t i = 0; i < NEXT_AGENTS_MAX; i++)
        if (in_path(agents[i], &status))
            found->agents[found->agent_count++] = agents[i];
}

/* --- proposing ---------------------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void propose(struct next *next, const char *command,
                                                          const char *format, ...)
{
    va_list args;
    snprintf(next->command, sizeof next->command, "%s", command);
    va_start(args, format);
    vsnprintf(next->why, sizeof next->why, format, args);
    va_end(args);
}

/* A model by config or key, or a reason why there is none. */
static void propose_model(const struct next_found *found, struct next *next)
{
    char run[640], doctor[640];
    const struct localserver *server = &found->server;
    snprintf(run, sizeof run, "%s run " TASK, found->program);
    snprintf(doctor, sizeof doctor, "%s doctor", found->program);
    if (found->problem[0] != '\0')
        propose(next, doctor, "the config is not in order: %s", found->problem);
    else if (found->model[0] != '\0')
        propose(next, run, "asks %s, from %s", found->model, found->source);
    else if (server->base_url[0] != '\0')
        propose(next, run, "asks %s, from the server at %s", server->model, server->base_url);
    else
        propose(next, doctor, "there is no key and no local server: it says what helps");
}

/* A server that is not what `cadre run` takes by itself. */
static bool propose_server(const struct next_found *found, struct next *next)
{
    const struct localserver *server = &found->server;
    char run[1200];
    if (server->base_url[0] == '\0' || found->model[0] == '\0' || !is_word(server->model))
        return false;
    snprintf(run, sizeof run, "%s run --base-url %s --model %s " TASK, found->program,
             server->base_url, server->model);
    propose(next, run, "asks your local server");
    return true;
}

static bool propose_agents(const struct next_found *found, struct next *next)
{
    bool has_model = found->model[0] != '\0' || found->server.base_url[0] != '\0';
    char run[640], names[128] = "";
    size_t n = 0;
    for (size_t i = 0; i < found->agent_count; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i > 0 ? ", " : "",
                              found->agents[i]);
    snprintf(run, sizeof run, "%s run --json " TASK, found->program);
    propose(next, run, "%sfor %s to call as a command: JSON lines, the last one is the result",
            has_model ? "" : "once there is a model, ", names);
    return found->agent_count > 0;
}

size_t next_propose(const struct next_found *found, struct next next[NEXT_MAX])
{
    size_t count = 1;
    propose_model(found, &next[0]);
    if (found->problem[0] != '\0')
        return count; /* no other command would work */
    count += propose_server(found, &next[count]);
    count += propose_agents(found, &next[count]);
    return count;
}
