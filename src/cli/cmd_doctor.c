/* `cadre doctor`: looks at everything that a run needs, one line each, and says what to do about
 * what is wrong. */
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/localserver.h"
#include "cli/measure.h"
#include "cli/process.h"
#include "cli/services.h"
#include "cli/trust.h"
#include "cli/wire.h"
#include "os/clock.h"
#include "os/key.h"

#define DISK_FAIL ((uint64_t)64 << 20)
#define DISK_WARN ((uint64_t)1 << 30)
#define ANSWER_MS 3000

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"base-url", "URL", "measure this server, for example http://127.0.0.1:8080/v1"},
    {"model", "NAME", "with --base-url: which of its models (default: the first it names)"},
    {"paid", NULL, "with --base-url: measure a server that may bill for it"},
    {"walls", NULL, "try every attack on the walls around commands, not only one for each"},
    {"workspace", "DIR", "the directory that a run would work in (default: the current one)"},
    OPTIONS_COMMON,
    OPTION_END,
};

const struct command cmd_doctor = {
    .name = "doctor",
    .summary = "check the machine, the store and the model",
    .usage = "[OPTIONS]",
    .details =
        "A model server that answers on port 11434 or 8080 of this machine is measured when no "
        "other model is\n"
        "configured, and any server that --base-url names: how many tokens a request may have, how "
        "many requests it\n"
        "answers side by side, how fast it reads and writes. What that means for cadre.yaml is "
        "printed ready to be\n"
        "pasted. At most 20 requests, of a few hundred tokens, and three minutes; where a server "
        "does not say how long\n"
        "a request may be, one that is too long on purpose asks it.\n"
        "\n"
        "The walls around commands (shell, test) are tried by attacks that must fail, each with a "
        "harmless twin that\n"
        "must work; docs/security.md lists them.",
    .example = "cadre doctor",
    .options = options,
    .run = run,
};

enum verdict { VERDICT_OK, VERDICT_WARN, VERDICT_FAIL };

struct finding {
    enum verdict verdict;
    char text[1400];
};

struct patient {
    struct wire *wire; /* NULL where config is wrong */
    struct err config_error;
    struct str base_url, model; /* as flags name them, or STR_NONE */
    enum { PAID_NO, PAID_YES } paid;
    enum services_walls walls;
    struct output *output;
    struct localserver found; /* base_url empty: none */
    struct measurement measurement;
    enum { NOT_MEASURED, MEASURED } state;
};

__attribute__((format(printf, 3, 4))) static void
find(struct finding *finding, enum verdict verdict, const char *format, ...)
{
    va_list args;
    finding->verdict = verdict;
    va_start(args, format);
    vsnprintf(finding->text, sizeof finding->text, format, args);
    va_end(args);
}

static void report(struct output *output, const char *name, const struct finding *finding)
{
    static const struct {
        const char *word;
        enum output_style style;
    } verdicts[] = {{"ok", STYLE_GREEN}, {"warn", STYLE_YELLOW}, {"fail", STYLE_RED}};
    if (output->format == OUTPUT_JSON) {
        struct buf line;
        struct jw w;
        buf_init(&line, 16384);
        jw_init(&w, &line);
        jw_object(&w);
        jw_ktext(&w, "type", "check");
        jw_ktext(&w, "name", name);
        jw_ktext(&w, "verdict", verdicts[finding->verdict].word);
        jw_ktext(&w, "text", finding->text);
        jw_end_object(&w);
        output_json(output, &line);
        buf_release(&line);
        return;
    }
    output_styled(output, verdicts[finding->verdict].style,
                  str_from(verdicts[finding->verdict].word));
    output_print(output, "%*s%-8s  ", (int)(6 - strlen(verdicts[finding->verdict].word)), "", name);
    output_clean(output, str_from(finding->text), UTF8_LINES);
}

static void check_config(struct patient *patient, struct finding *finding)
{
    if (patient->wire == NULL)
        find(finding, VERDICT_FAIL, "%s", patient->config_error.message);
    else
        find(finding, VERDICT_OK, "%zu files read", wire_config(patient->wire)->file_count);
}

/* The guards of the store that are gone, and triggers that somebody added: the first ones by name. */
struct guards {
    char names[240];
    size_t count, added;
};

static void guard_broken(void *user, const char *guard, enum guard_state state)
{
    struct guards *guards = user;
    size_t n = strlen(guards->names);
    if (guards->count++ < 3)
        snprintf(guards->names + n, sizeof guards->names - n, "%s%s%s", n > 0 ? ", " : "", guard,
                 state == GUARD_CHANGED ? " (changed)"
                 : state == GUARD_ADDED ? " (not made by cadre)"
                                        : "");
    guards->added += state == GUARD_ADDED;
}

/* The file's header says whether it is in WAL mode; FULL is asserted at every opening. */
static void check_store(struct patient *patient, struct finding *finding)
{
    const char *path = wire_config(patient->wire)->store_path.p;
    struct store *store = NULL;
    struct err err = ERR_INIT;
    unsigned char header[20] = {0};
    if (wire_store(patient->wire, &store, &err) != 0) {
        find(finding, VERDICT_FAIL, "%s", err.message);
        return;
    }
    struct guards guards = {.count = 0};
    int checked = store->ops->check(store, &err);
    if (checked == 0)
        checked = store->ops->guards(store, guard_broken, &guards, &err);
    store->ops->close(store);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, header, sizeof header) : -1;
    if (fd >= 0)
        close(fd);
    if (checked != 0)
        find(finding, VERDICT_FAIL, "%s", err.message);
    else if (guards.count > 0 && guards.added == guards.count)
        find(finding, VERDICT_FAIL,
             "%s has triggers that cadre did not make (%s%s). Another program can have changed it: "
             "check the runs with `cadre verify RUN`, and remove them (DROP TRIGGER)",
             path, guards.names, guards.count > 3 ? ", …" : "");
    else if (guards.count > 0)
        find(finding, VERDICT_FAIL,
             "%s does not refuse changes any more: %zu of its guards are missing or changed (%s%s)."
             " Another program can have changed it: check the runs with `cadre verify RUN`, and "
             "restore the store from a backup",
             path, guards.count, guards.names, guards.count > 3 ? ", …" : "");
    else if (n == sizeof header && header[18] == 2 && header[19] == 2)
        find(finding, VERDICT_OK, "%s opens, is whole, WAL with FULL sync", path);
    else
        find(finding, VERDICT_FAIL,
             "%s is not in WAL mode: put it on a local file system that supports it", path);
}

static void check_disk(struct patient *patient, struct finding *finding)
{
    struct str path = wire_config(patient->wire)->store_path;
    char directory[4096];
    struct statvfs status;
    size_t n = path.n;
    while (n > 1 && path.p[n - 1] != '/')
        n--;
    snprintf(directory, sizeof directory, "%.*s", (int)n, path.p);
    if (statvfs(directory, &status) != 0) {
        find(finding, VERDICT_WARN, "%s: %s", directory, strerror(errno));
        return;
    }
    uint64_t left = (uint64_t)status.f_bavail * status.f_frsize;
    find(finding,
         left < DISK_FAIL   ? VERDICT_FAIL
         : left < DISK_WARN ? VERDICT_WARN
                            : VERDICT_OK,
         "%llu MB free for the store%s", (unsigned long long)(left >> 20),
         left < DISK_WARN ? ": make room in its file system" : "");
}

static void check_openat2(struct patient *patient, struct finding *finding)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH};
    long fd = syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof how);
    if (fd >= 0) {
        close((int)fd);
        find(finding, VERDICT_OK, "file tools can be kept inside the workspace");
    } else {
        find(finding, VERDICT_FAIL, "openat2: %s; file tools need Linux 5.6 or later",
             strerror(errno));
    }
}

/* The first line of PROGRAM --version. */
static void check_program(const char *program, const char *without, struct finding *finding)
{
    const char *const argv[] = {program, "--version", NULL};
    struct process process;
    struct str line = STR_NONE;
    struct err err = ERR_INIT;
    char text[128] = "";
    int code = -1;
    int64_t deadline = clock_monotonic_ms() + ANSWER_MS;
    if (process_start(&process, argv, NULL, PROCESS_READ, &err) == 0) {
        if (process_line(&process, deadline, &line, &err) == 0)
            snprintf(text, sizeof text, "%.*s", STR_FMT(line));
        if (process_end(&process, deadline, &code, &err) != 0)
            text[0] = '\0';
    }
    if (text[0] != '\0')
        find(finding, VERDICT_OK, "%s", text);
    else
        find(finding, VERDICT_WARN, "%s does not answer: %s", program, without);
}

static void check_git(struct patient *patient, struct finding *finding)
{
    check_program("git", "work in git worktrees is not possible; install git", finding);
}

static void check_ripgrep(struct patient *patient, struct finding *finding)
{
    check_program("rg", "searches use the built-in matcher; install ripgrep for ignore rules",
                  finding);
}

struct prices_text {
    char text[64];
};

static struct prices_text prices_text(const struct model_settings *model)
{
    struct prices_text out;
    struct buf text;
    buf_init(&text, sizeof out.text);
    config_price_origin(model, &text);
    snprintf(out.text, sizeof out.text, "%.*s", STR_FMT(buf_view(&text)));
    buf_release(&text);
    return out;
}

static void check_model(struct patient *patient, struct finding *finding)
{
    const struct config *config = wire_config(patient->wire);
    const struct model_settings *model =
        settings_model(&config->settings, config->settings.default_model);
    struct localserver server;
    struct err err = ERR_INIT;
    if (model == NULL) {
        if (localserver_find(LOCALSERVER_FIND_MS, &patient->found, &err) == 0)
            find(finding, VERDICT_OK, "%s from the server at %s", patient->found.model,
                 patient->found.base_url);
        else
            find(finding, VERDICT_WARN,
                 "none: set OPENAI_API_KEY or another vendor's key (docs/models.md), name one in "
                 "the config, or start "
                 "a server on port 11434 "
                 "or 8080");
        return;
    }
    if (!str_starts(model->base_url, STR("http://"))) {
        find(finding, VERDICT_OK,
             "%.*s at %.*s, from %.*s (not asked: it would cost a request); prices %s",
             STR_FMT(model->model), STR_FMT(model->base_url), STR_FMT(config->model_source),
             prices_text(model).text);
        return;
    }
    if (localserver_ask(model->base_url, ANSWER_MS, &server, &err) == 0)
        find(finding, VERDICT_OK,
             "%.*s at %.*s, from %.*s; the server answers with %zu models%s; prices %s",
             STR_FMT(model->model), STR_FMT(model->base_url), STR_FMT(config->model_source),
             server.model_count,
             measure_is_loopback(model->base_url) ? " (--base-url measures it)" : "",
             prices_text(model).text);
    else
        find(finding, VERDICT_FAIL,
             "%.*s at %.*s, from %.*s: %s; start the server or change base_url",
             STR_FMT(model->model), STR_FMT(model->base_url), STR_FMT(config->model_source),
             err.message);
}

/* The key that the config has for this server; never one that was meant for another. */
static struct str key_for(const struct patient *patient, struct str base_url)
{
    const struct settings *settings = &wire_config(patient->wire)->settings;
    for (size_t i = 0; i < settings->model_count; i++) {
        const struct model_settings *model = &settings->models[i];
        if (str_eq(model->base_url, base_url) && model->api_key_env.n > 0)
            return key_from_environment(model->api_key_env);
    }
    return STR("");
}

/* Measures the server that flags name, or the one that check_model found on this machine. */
static void check_speed(struct patient *patient, struct finding *finding)
{
    struct err err = ERR_INIT;
    struct str url =
        patient->base_url.p != NULL ? patient->base_url : str_from(patient->found.base_url);
    while (url.n > 0 && url.p[url.n - 1] == '/')
        url.n--;
    struct measure_request request = {
        .base_url = url,
        .model = patient->base_url.p != NULL ? patient->model : str_from(patient->found.model),
        .fetch = wire_fetch,
    };
    if (url.n == 0) {
        find(finding, VERDICT_OK,
             "not measured: no server on port 11434 or 8080 is in use, and "
             "--base-url names none");
        return;
    }
    request.api_key = key_for(patient, url);
    bool bills =
        !measure_is_loopback(url) && (str_starts(url, STR("https://")) || request.api_key.n > 0);
    if (bills && patient->paid == PAID_NO) {
        find(finding, VERDICT_WARN,
             "not measured: %.*s may bill for up to %d requests and about 3000 tokens; say --paid "
             "to measure it",
             STR_FMT(url), MEASURE_REQUESTS_MAX);
        return;
    }
    request.prompts = bills ? MEASURE_SMALL_PROMPTS : MEASURE_ANY_PROMPT;
    if (measure_server(&request, &patient->measurement, &err) != 0) {
        find(finding, VERDICT_FAIL, "%.*s: %s; start the server or change the address",
             STR_FMT(url), err.message);
        return;
    }
    const struct measurement *found = &patient->measurement;
    patient->state = MEASURED;
    if (found->first_token_us.value < 0)
        find(finding, VERDICT_WARN, "%s at %s, %s: its answers could not be measured: %s",
             found->model, found->base_url, found->server, found->first_token_us.how);
    else
        find(finding, VERDICT_OK, "%s at %s, %s: %d requests", found->model, found->base_url,
             found->server, found->requests);
}

/* What is known of the walls so far. */
struct walls_seen {
    struct patient *patient;
    struct finding *finding;
    struct buf held; /* names */
    size_t attacks, failed;
    bool without_namespaces; /* they cannot be made here */
};

static void see_wall(void *user, const struct services_wall *wall)
{
    static const char *const texts[] = {
        [WALL_HOLDS] = "refused",
        [WALL_BROKEN] = "IT GOT THROUGH",
        [WALL_OLD_KERNEL] =
            "it got through: this kernel is too old for the wall (docs/security.md)",
        [WALL_OPEN] =
            "not tried: it needs the wall \"namespaces\", which is off (docs/security.md)",
        [WALL_STOPS_ITS_TWIN] = "not tried: what is harmless fails too",
        [WALL_NOT_BUILT] = "not tried",
    };
    struct walls_seen *seen = user;
    struct finding line;
    enum verdict verdict = wall->state == WALL_HOLDS ? VERDICT_OK
                           : wall->state == WALL_OLD_KERNEL || wall->state == WALL_OPEN
                               ? VERDICT_WARN
                               : VERDICT_FAIL;
    bool holds = verdict == VERDICT_OK;
    bool tells = wall->state == WALL_STOPS_ITS_TWIN || wall->state == WALL_NOT_BUILT;
    seen->attacks++;
    seen->without_namespaces |=
        wall->state == WALL_NOT_BUILT &&
        strstr(wall->why, "the wall \"namespaces\" cannot be built") != NULL;
    find(&line, verdict, "%s: to %s: %s%s%s", wall->wall, wall->attack, texts[wall->state],
         tells ? ": " : "", tells ? wall->why : "");
    if (!holds && (seen->failed++ == 0 || verdict == VERDICT_FAIL))
        *seen->finding = line;
    if (seen->patient->walls == WALLS_ALL)
        report(seen->patient->output, "wall", &line);
    else if (holds)
        buf_printf(&seen->held, "%s%s", seen->held.n > 0 ? ", " : "", wall->wall);
}

static void add_remedy(struct finding *finding)
{
    struct buf remedy;
    struct finding broken = *finding;
    buf_init(&remedy, sizeof finding->text);
    services_remedy(&remedy);
    find(finding, VERDICT_FAIL, "%.700s. Remedy: %.*s", broken.text, STR_FMT(buf_view(&remedy)));
    buf_release(&remedy);
}

static void check_walls(struct patient *patient, struct finding *finding)
{
    struct walls_seen seen = {.patient = patient, .finding = finding};
    const struct config *config = wire_config(patient->wire);
    struct err err = ERR_INIT;
    buf_init(&seen.held, 512);
    if (services_try_walls(config, patient->walls, see_wall, &seen, &err) != 0)
        find(finding, VERDICT_FAIL, "%s", err.message);
    else if (seen.failed == 0 && patient->walls == WALLS_ALL)
        find(finding, VERDICT_OK, "%zu attacks failed and their harmless twins work", seen.attacks);
    else if (seen.failed == 0)
        find(finding, VERDICT_OK,
             "%.*s: an attack on each failed and its harmless twin works (--walls tries all)",
             STR_FMT(buf_view(&seen.held)));
    if (seen.without_namespaces)
        add_remedy(finding);
    for (size_t i = 0; i < sizeof config->sandbox.walls / sizeof config->sandbox.walls[0]; i++)
        if (config->sandbox.walls[i].off)
            find(finding, VERDICT_WARN, "the config turned off the wall \"%s\" (docs/security.md)",
                 config->sandbox.walls[i].name);
    buf_release(&seen.held);
}

static void check_locale(struct patient *patient, struct finding *finding)
{
    const char *codeset = nl_langinfo(CODESET);
    if (strcmp(codeset, "UTF-8") == 0)
        find(finding, VERDICT_OK, "UTF-8");
    else
        find(finding, VERDICT_WARN, "%s: trees are drawn in ASCII; set LANG=C.UTF-8", codeset);
}

static const struct {
    const char *name;
    enum { NEEDS_NOTHING, NEEDS_CONFIG } needs;
    void (*check)(struct patient *patient, struct finding *finding);
} checks[] = {
    {"config", NEEDS_NOTHING, check_config}, {"store", NEEDS_CONFIG, check_store},
    {"disk", NEEDS_CONFIG, check_disk},      {"openat2", NEEDS_NOTHING, check_openat2},
    {"git", NEEDS_NOTHING, check_git},       {"ripgrep", NEEDS_NOTHING, check_ripgrep},
    {"model", NEEDS_CONFIG, check_model},    {"speed", NEEDS_CONFIG, check_speed},
    {"walls", NEEDS_CONFIG, check_walls},    {"locale", NEEDS_NOTHING, check_locale},
};

static enum exit_code run(struct invocation *invocation)
{
    struct wire_request request = {.need = WIRE_MODEL,
                                   .workspace =
                                       arguments_value(&invocation->arguments, "workspace"),
                                   .consent = trust_leave_out,
                                   .consent_user = &invocation->output};
    struct patient patient = {0};
    enum exit_code code = EXIT_CODE_DONE;
    struct err err = ERR_INIT;
    wire_flags(&invocation->arguments, &request.flags);
    /* They name what is measured, not the model of a run. */
    patient.base_url = request.flags.base_url;
    patient.model = request.flags.model;
    patient.walls = arguments_has(&invocation->arguments, "walls") ? WALLS_ALL : WALLS_ONE_EACH;
    patient.output = &invocation->output;
    patient.paid = arguments_has(&invocation->arguments, "paid") ? PAID_YES : PAID_NO;
    request.flags.base_url = request.flags.model = STR_NONE;
    if (patient.base_url.p == NULL && (patient.model.p != NULL || patient.paid == PAID_YES)) {
        err_set(&err, ERR_USAGE, "--model and --paid need --base-url URL: the server to measure");
        return command_fail(invocation, &err);
    }
    if (wire_open(&request, &patient.wire, &patient.config_error) != 0)
        patient.wire = NULL;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        struct finding finding = {VERDICT_WARN, "not checked: the config is wrong"};
        if (checks[i].needs == NEEDS_NOTHING || patient.wire != NULL)
            checks[i].check(&patient, &finding);
        report(&invocation->output, checks[i].name, &finding);
        if (finding.verdict == VERDICT_FAIL)
            code = EXIT_CODE_FAILED;
    }
    if (patient.state == MEASURED)
        measure_report(&invocation->output, &patient.measurement);
    wire_close(patient.wire);
    return code;
}
