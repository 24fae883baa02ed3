/* Puts config, workspace, store, model APIs, tools and the scripted model together. Nothing here
 * decides anything about a run. Blocking calls are for the time before and after the loop. */
#include "cli/wire.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mask.h"
#include "cli/gateway.h"
#include "cli/services.h"
#include "cli/typed.h"
#include "config/models.h"
#include "config/trust.h"
#include "core/run/doors.h"
#include "engine/offer.h"
#include "model/anthropic.h"
#include "model/key_port.h"
#include "model/openai.h"
#include "model/record.h"
#include "model/replay.h"
#include "model/responses.h"
#include "net/fetch.h"
#include "net/governor_port.h"
#include "net/http.h"
#include "os/clock.h"
#include "os/key.h"
#include "os/limit.h"
#include "os/random.h"
#include "port/tool.h"
#include "scripted/demo_script.h"
#include "scripted/scripted.h"
#include "store/sqlite.h"

#define BUSY_MS 10000

enum { API_OPENAI, API_ANTHROPIC, API_RESPONSES, API_COUNT };

static const struct {
    const char *name;
    struct model_port (*open)(uv_loop_t *loop);
} apis[API_COUNT] = {
    [API_OPENAI] = {"openai", openai_open},
    [API_ANTHROPIC] = {"anthropic", anthropic_open},
    [API_RESPONSES] = {"responses", responses_open},
};

struct wire {
    struct config config;
    struct workspace workspace;
    struct str store_path;
    struct str
        denied[2]; /* to every tool: where the store is, and where trust in projects is kept */
    size_t denied_count;
    uv_loop_t *loop;
    bool http_ready;
    struct model_port models[API_COUNT]; /* each opened with its first request */
    struct model_port replay;            /* the same, for recordings */
    struct replay_shelf shelf;
    struct record *record; /* NULL: nothing is recorded */
    struct tool_services services;
    struct descriptor_shares descriptors;
    struct gateway_headers headers;       /* of the request that is being made */
    struct key_ring *keys;                /* NULL: no provider has a key helper */
    struct masker *masker;                /* NULL: secrets are shown */
    void (*meanwhile)(struct wire *wire); /* NULL: nothing */
    wire_warning *warning;
    void *warning_user;
};

/* --- config
 * ------------------------------------------------------------------------------------------- */

void wire_flags(const struct arguments *arguments, struct config_flags *flags)
{
    const struct {
        const char *name;
        struct str *flag;
    } rows[] = {
        {"config", &flags->config_file}, {"api", &flags->api},
        {"base-url", &flags->base_url},  {"model", &flags->model},
        {"provider", &flags->provider},  {"mode", &flags->mode},
        {"store", &flags->store},        {"max-cost", &flags->max_cost},
        {"timeout", &flags->timeout},    {"max-concurrent", &flags->max_concurrent},
        {"effort", &flags->effort},
    };
    *flags = (struct config_flags){0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int k = 0; arguments->options[k].name != NULL; k++) {
            if (strcmp(arguments->options[k].name, rows[i].name) == 0)
                *rows[i].flag = arguments->values[k];
        }
    }
}

static const char *environment_without_keys(void *user, const char *name)
{
    size_t n = strlen(name);
    if (n > 8 && strcmp(name + n - 8, "_API_KEY") == 0)
        return NULL;
    return getenv(name);
}

static struct str directory_of(struct arena *arena, struct str path)
{
    size_t n = path.n;
    while (n > 1 && path.p[n - 1] != '/')
        n--;
    while (n > 1 && path.p[n - 1] == '/')
        n--;
    return arena_copy(arena, (struct str){path.p, n});
}

int wire_open(const struct wire_request *request, struct wire **out, struct err *err)
{
    struct wire *wire = calloc(1, sizeof *wire);
    if (wire == NULL)
        return err_set(err, ERR_IO, "out of memory");
    if (workspace_open(&wire->workspace, request->workspace, err) != 0)
        goto fail;
    struct config_environment environment = {
        .get = request->need == WIRE_MODEL ? gateway_variable : environment_without_keys,
        .workspace = wire->workspace.path,
        .here = typed_here(&wire->workspace.arena),
        .consent = request->consent,
        .consent_user = request->consent_user,
        .mistakes = request->mistakes,
    };
    if (config_load(&request->flags, &environment, &wire->config, err) != 0)
        goto fail_workspace;
    struct list *tools = &wire->config.settings.available_tools;
    for (size_t i = 0; i < tool_count; i++)
        list_add(&wire->config.arena, tools, str_from(tool_table[i]->name));
    for (size_t i = 0; i < door_tool_count; i++)
        list_add(&wire->config.arena, tools, str_from(door_tools[i].name));
    if (request->need == WIRE_MODEL)
        services_skills(&wire->config, wire->workspace.path);
    struct tool_services services = {.web = {.search_kind = STR_NONE}};
    services_web(&services, &wire->config);
    offer_sizes(&wire->config.arena, &tool_port, &services, &wire->config.settings);
    wire->store_path = arena_copy(&wire->config.arena, wire->config.store_path);
    wire->denied[0] = directory_of(&wire->config.arena, wire->store_path);
    wire->denied[1] = wire->config.trust_directory;
    replay_shelf_init(&wire->shelf);
    gateway_headers_init(&wire->headers);
    *out = wire;
    return 0;
fail_workspace:
    workspace_release(&wire->workspace);
fail:
    free(wire);
    return -1;
}

void wire_close(struct wire *wire)
{
    if (wire == NULL)
        return;
    wire_listen(wire, NULL, NULL);
    if (wire->record != NULL)
        record_free(wire->record);
    replay_shelf_release(&wire->shelf);
    gateway_headers_release(&wire->headers);
    config_release(&wire->config);
    workspace_release(&wire->workspace);
    free(wire);
}

const struct masker *wire_masker(const struct wire *wire)
{
    return wire->masker;
}

const struct config *wire_config(const struct wire *wire)
{
    return &wire->config;
}

struct workspace *wire_workspace(struct wire *wire)
{
    return &wire->workspace;
}

int wire_local_model(struct wire *wire, struct str base_url, struct str model, struct err *err)
{
    return config_local_model(&wire->config, base_url, model, err);
}

/* --- recordings
 * --------------------------------------------------------------------------------------- */

void wire_meanwhile(struct wire *wire, void (*work)(struct wire *wire))
{
    wire->meanwhile = work;
}

void wire_listen(struct wire *wire, wire_warning *warning, void *user)
{
    wire->warning = warning;
    wire->warning_user = user;
}

static void warn(void *user, struct str text)
{
    const struct wire *wire = user;
    if (wire->warning != NULL)
        wire->warning(wire->warning_user, text);
}

static void warn_of_missing_walls(struct wire *wire)
{
    struct str missing = wire->services.sandbox->missing;
    char text[256];
    if (missing.n == 0)
        return;
    snprintf(text, sizeof text,
             "commands run with fewer walls: the config turned off %.*s (docs/security.md)",
             STR_FMT(missing));
    warn(wire, str_from(text));
}

/* Without links and "..": what it is compared with, and what a later resume still finds. */
static struct str real_path(struct wire *wire, struct str path)
{
    char real[PATH_MAX];
    return realpath(path.p, real) != NULL ? arena_copy(&wire->config.arena, str_from(real)) : path;
}

int wire_record(struct wire *wire, struct str file, struct err *err)
{
    const struct record_warning warning = {warn, wire};
    struct str workspace = wire->workspace.path;
    struct str path;
    if (typed_path(&wire->config.arena, file, &path, err) != 0 ||
        record_new(path.p, &warning, &wire->record, err) != 0)
        return -1;
    path = real_path(wire, path);
    if (str_starts(path, workspace) && path.n > workspace.n && path.p[workspace.n] == '/')
        warn(wire, STR("the recording lies in the workspace, where agents see it; a replay that "
                       "does not have it there may differ"));
    return 0;
}

int wire_replay(struct wire *wire, struct str file, struct err *err)
{
    const struct replay_file *recording = NULL;
    struct str path;
    if (typed_path(&wire->config.arena, file, &path, err) != 0)
        return -1;
    path = real_path(wire, path);
    if (replay_shelf_get(&wire->shelf, path, &recording, err) != 0)
        return -1;
    return config_replay(&wire->config, path, recording->model, err);
}

int wire_recordings(struct wire *wire, struct err *err)
{
    const struct settings *settings = &wire->config.settings;
    for (size_t i = 0; i < settings->model_count; i++) {
        const struct replay_file *recording;
        struct replay_address address;
        if (!str_is(settings->models[i].api, "replay"))
            continue;
        if (replay_address_parse(settings->models[i].base_url, &address, err) != 0 ||
            replay_shelf_get(&wire->shelf, address.path, &recording, err) != 0)
            return -1;
    }
    return 0;
}

/* --- store
 * -------------------------------------------------------------------------------------------- */

static int open_store(void *user, struct store **store, struct err *err)
{
    const struct wire *wire = user;
    struct sqlite_store_config config = {.path = wire->store_path.p,
                                         .busy_ms = BUSY_MS,
                                         .boot_id = clock_boot_id(),
                                         .wall_at_boot = clock_wall_at_boot()};
    return sqlite_store_open(&config, store, err);
}

int wire_store(struct wire *wire, struct store **store, struct err *err)
{
    return open_store(wire, store, err);
}

int wire_store_reading(struct wire *wire, struct store **store, struct err *err)
{
    struct sqlite_store_config config = {.path = wire->store_path.p,
                                         .busy_ms = BUSY_MS,
                                         .boot_id = clock_boot_id(),
                                         .wall_at_boot = clock_wall_at_boot(),
                                         .use = SQLITE_STORE_READS};
    return sqlite_store_open(&config, store, err);
}

static int take_id(void *user, const struct stored_run *run)
{
    struct id *id = user;
    if (run->run_id.n == ID_LENGTH) {
        memcpy(id->text, run->run_id.p, ID_LENGTH);
        id->text[ID_LENGTH] = '\0';
    }
    return 1;
}

int wire_find_run(struct wire *wire, struct store *store, struct str typed, struct id *run_id,
                  struct err *err)
{
    if (!str_is(typed, "last"))
        return store->ops->run_find(store, typed, run_id, err);
    *run_id = (struct id){{0}};
    if (store->ops->runs(store, STR_NONE, 1, clock_boottime_ms(), take_id, run_id, err) != 0)
        return -1;
    if (run_id->text[0] == '\0')
        return err_set(err, ERR_NOT_FOUND,
                       "there are no runs in %.*s yet; start one: cadre run \"task\"",
                       STR_FMT(wire->store_path));
    return 0;
}

int wire_vcs(struct wire *wire, struct vcs_port **vcs, struct err *err)
{
    return services_vcs_open(wire->denied[0], vcs, err);
}

void wire_vcs_close(struct vcs_port *vcs)
{
    services_vcs_close(vcs);
}

/* --- engine
 * ------------------------------------------------------------------------------------------- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static struct model_port governed(const struct wire *wire, struct model_port inner)
{
    struct governor_limits limits = GOVERNOR_LIMITS;
    /* Each request in flight is a connection. What has no descriptor waits here, where its agent's clock stands still. */
    limits.maximum = least(limits.maximum, wire->descriptors.connections);
    limits.first = least(limits.first, limits.maximum);
    struct model_port port = governor_open(wire->loop, inner, &limits);
    for (size_t i = 0; i < wire->config.provider_count; i++)
        governor_set_maximum(
            port, wire->config.providers[i].base_url,
            least((size_t)wire->config.providers[i].max_concurrent, wire->descriptors.connections));
    return port;
}

const struct provider_bounds *wire_provider(const struct wire *wire, struct str name,
                                            struct str base_url)
{
    for (size_t i = 0; i < wire->config.provider_count; i++) {
        const struct provider_bounds *bounds = &wire->config.providers[i];
        if (str_eq(bounds->name, name) && str_eq(bounds->base_url, base_url))
            return bounds;
    }
    return NULL;
}

int wire_provider_find(struct wire *wire, struct str name, struct provider_address *address,
                       struct err *err)
{
    struct config_source typed = {.name = STR("PROVIDER"), .class = ERR_USAGE};
    struct config_place place = {.source = &typed};
    struct str copy = arena_copy(&wire->config.arena, name);
    if (config_provider_find(&wire->config, copy, &place, address, err) != 0)
        return -1;
    return address->base_url.n > 0
               ? 0
               : err_set(err, ERR_USAGE, "%.*s answers from a recording, not from a server",
                         STR_FMT(name));
}

int wire_url_address(struct wire *wire, struct str url, struct str api,
                     struct provider_address *address, struct err *err)
{
    return config_url_address(&wire->config, url, api, address, err);
}

/* A run that was started under another config keeps the built-in times. */
static int provider_of(void *user, const struct model_settings *model,
                       struct model_request *request, struct err *err)
{
    struct wire *wire = user;
    const struct provider_bounds *bounds = wire_provider(wire, model->provider, model->base_url);
    if (bounds == NULL)
        return 0;
    request->deadlines.first_byte_ms = bounds->first_byte_ms;
    request->deadlines.idle_ms = bounds->idle_ms;
    request->deadlines.total_ms = bounds->total_ms;
    request->extra_body = bounds->extra_body;
    for (size_t i = 0; i < wire->config.extra_count; i++)
        if (str_eq(wire->config.extras[i].name, model->name))
            request->extra_body = wire->config.extras[i].extra_body;
    if (gateway_headers_make(&wire->headers, bounds, err) != 0)
        return -1;
    request->headers = wire->headers.lines;
    request->header_count = wire->headers.count;
    if (wire->headers.holds_key)
        request->api_key = STR("");
    return 0;
}

static struct key_helper helper_of(const struct provider_bounds *bounds)
{
    return (struct key_helper){.provider = bounds->name,
                               .base_url = bounds->base_url,
                               .argv = bounds->api_key_cmd.items,
                               .argc = bounds->api_key_cmd.n,
                               .ttl_ms = bounds->api_key_ttl_ms};
}

static struct key_ring *keys_new(struct wire *wire)
{
    const struct config *config = &wire->config;
    struct key_helper *helpers =
        arena_alloc(&wire->config.arena, (config->provider_count + 1) * sizeof *helpers);
    size_t count = 0;
    for (size_t i = 0; i < config->provider_count; i++)
        if (config->providers[i].api_key_cmd.state == LIST_SET)
            helpers[count++] = helper_of(&config->providers[i]);
    return count > 0 ? key_ring_new(wire->loop, helpers, count, wire->masker) : NULL;
}

static void know_secret(void *user, struct str value)
{
    masker_know(user, "config", value);
}

/* What must not be shown: the keys that the config uses now; helpers add what they print. */
static struct masker *masker_open(const struct config *config)
{
    const struct config_environment environment = {.get = gateway_variable};
    uint8_t key[MASK_KEY_BYTES];
    if (config->secrets == SECRETS_SHOWN)
        return NULL;
    random_bytes(key, sizeof key);
    struct masker *masker = masker_new(key);
    config_secrets(config, &environment, know_secret, masker);
    explicit_bzero(key, sizeof key);
    return masker;
}

static void masker_close(struct wire *wire)
{
    masker_free(wire->masker);
    wire->masker = NULL;
}

static void keys_free(struct wire *wire)
{
    if (wire->keys != NULL)
        key_ring_close(wire->keys);
    wire->keys = NULL;
}

/* Innermost: a key is fresh when its request leaves. */
static struct model_port keyed(const struct wire *wire, struct model_port inner)
{
    return wire->keys != NULL ? key_port_open(wire->keys, inner) : inner;
}

/* Outermost: what is recorded is what the engine sees. */
static struct model_port recorded(const struct wire *wire, struct model_port inner)
{
    return wire->record != NULL ? record_open(wire->record, inner) : inner;
}

static struct model_port model_of(void *user, struct str api)
{
    struct wire *wire = user;
    const struct record_warning warning = {warn, wire};
    if (str_is(api, "replay")) {
        if (wire->replay.ops == NULL)
            wire->replay = recorded(wire, replay_open(wire->loop, &wire->shelf, &warning));
        return wire->replay;
    }
    for (size_t i = 0; i < API_COUNT; i++) {
        if (!str_is(api, apis[i].name))
            continue;
        if (wire->models[i].ops == NULL)
            wire->models[i] = recorded(wire, governed(wire, keyed(wire, apis[i].open(wire->loop))));
        return wire->models[i];
    }
    return (struct model_port){0};
}

static struct str secret_of(void *user, struct str variable)
{
    return key_from_environment(variable);
}

int wire_key(struct wire *wire, const struct provider_bounds *bounds, struct str variable,
             struct buf *key, struct err *err)
{
    int64_t unused;
    if (bounds != NULL && bounds->api_key_cmd.state == LIST_SET) {
        const struct key_helper helper = helper_of(bounds);
        return key_helper_run(&helper, NULL, key, &unused, err);
    }
    buf_str(key, secret_of(wire, variable));
    return 0;
}

void wire_learn_window(struct wire *wire, size_t model, int64_t tokens)
{
    config_window_learn(&wire->config, model, tokens);
}

/* A run's models may be of several providers, and each has a governor of its own. */
static void share_descriptors(struct wire *wire)
{
    const struct config *config = &wire->config;
    size_t providers = config->provider_count > 0 ? config->provider_count : 1;
    size_t connections = GOVERNOR_LIMITS.maximum;
    for (size_t i = 0; i < config->provider_count; i++) {
        size_t most = (size_t)config->providers[i].max_concurrent;
        connections = most > connections ? most : connections;
    }
    size_t limit = limit_raise_descriptors(descriptors_wanted(connections));
    wire->descriptors = descriptors_share(limit, limit_open_descriptors(limit), connections);
    if (wire->descriptors.connections < connections)
        wire->descriptors.connections = (wire->descriptors.connections + providers - 1) / providers;
}

/* All that does not need the store; TLS alone takes as long as opening it. */
static int prepare(void *user, struct err *err)
{
    struct wire *wire = user;
    services_open(&wire->services, &wire->config, wire->denied, wire->denied_count, wire->masker);
    warn_of_missing_walls(wire);
    wire->http_ready = http_global_init(err) == 0;
    if (wire->http_ready && wire->meanwhile != NULL)
        wire->meanwhile(wire);
    return wire->http_ready ? 0 : -1;
}

int wire_engine(struct wire *wire, uv_loop_t *loop, const struct engine_watch *watch,
                struct engine **engine, struct err *err)
{
    wire->loop = loop;
    wire->denied_count = config_trust_prepare(&wire->config) ? 2 : 1;
    memset(wire->models, 0, sizeof wire->models);
    share_descriptors(wire);
    wire->masker = masker_open(&wire->config);
    wire->keys = keys_new(wire);
    struct buf walls;
    buf_init(&walls, 256);
    services_walls_text(&wire->config, &walls);
    struct engine_config config = {
        .loop = loop,
        .store = {open_store, wire},
        .meanwhile = prepare,
        .store_path = wire->store_path,
        .model = model_of,
        .tools = &tool_port,
        .services = &wire->services,
        .secret = secret_of,
        .provider = provider_of,
        .user = wire,
        .watch = *watch,
        .boottime = clock_boottime_ms,
        .suspended = clock_suspended_ms,
        .wall_at_boot = clock_wall_at_boot(),
        .entropy = random_bytes,
        .denied_paths = wire->denied,
        .denied_count = wire->denied_count,
        .descriptors = wire->descriptors,
        .walls = arena_copy(&wire->config.arena, buf_view(&walls)),
    };
    buf_release(&walls);
    sqlite_store_prepare();
    if (engine_new(&config, engine, err) == 0)
        return 0;
    keys_free(wire);
    if (wire->http_ready)
        http_global_release();
    services_release(&wire->services);
    masker_close(wire);
    return -1;
}

void wire_engine_free(struct wire *wire, struct engine *engine)
{
    engine_free(engine);
    for (size_t i = 0; i < API_COUNT; i++)
        if (wire->models[i].ops != NULL)
            wire->models[i].ops->free(wire->models[i].client);
    memset(wire->models, 0, sizeof wire->models);
    keys_free(wire);
    if (wire->replay.ops != NULL)
        wire->replay.ops->free(wire->replay.client);
    wire->replay = (struct model_port){NULL, NULL};
    uv_run(wire->loop, UV_RUN_DEFAULT);
    if (wire->record != NULL)
        record_free(wire->record);
    wire->record = NULL;
    services_release(&wire->services);
    masker_close(wire);
    http_global_release();
}

int wire_fetch(struct fetch *fetches, size_t count, struct err *err)
{
    return fetch_all(fetches, count, err);
}

/* --- demo and version
 * --------------------------------------------------------------------------------- */

int wire_scripted_start(struct scripted **server, uint16_t *port, struct err *err)
{
    struct scripted_config config = {.script = str_from(demo_script)};
    if (scripted_start(&config, server, err) != 0)
        return -1;
    *port = scripted_port(*server);
    return 0;
}

void wire_scripted_stop(struct scripted *server)
{
    scripted_stop(server);
}

/* Declared here, because each library's header belongs to one folder and a version is all that is
 * wanted. */
const char *sqlite3_libversion(void);
char *curl_version(void);
const char *fy_library_version(void);
const char *MHD_get_version(void);
const char *utf8proc_version(void);
const char *sodium_version_string(void);

void wire_versions(struct buf *out)
{
    const struct {
        const char *name, *version;
    } rows[] = {
        {"libuv", uv_version_string()},         {"sqlite", sqlite3_libversion()},
        {"libfyaml", fy_library_version()},     {"libmicrohttpd", MHD_get_version()},
        {"libsodium", sodium_version_string()}, {"utf8proc", utf8proc_version()},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        buf_printf(out, "%s %s\n", rows[i].name, rows[i].version);
    /* "libcurl/7.88.1 OpenSSL/3.0.15 …": a list of its own. */
    struct str curl = str_from(curl_version());
    struct str first = {curl.p, strcspn(curl.p, " ")};
    const char *slash = memchr(first.p, '/', first.n);
    if (slash != NULL)
        buf_printf(out, "libcurl %.*s\n", (int)(first.n - (size_t)(slash + 1 - first.p)),
                   slash + 1);
}
