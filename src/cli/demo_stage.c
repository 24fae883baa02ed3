/* The demo's stage: a temporary directory with a config, workspaces and an environment of its own, commands as child processes, and how
 * what held is told. */
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/demo.h"
#include "os/clock.h"

static int write_file(const char *path, const char *text, struct err *err)
{
    FILE *out = fopen(path, "wxe");
    if (out == NULL)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    bool written = fputs(text, out) >= 0;
    if (fclose(out) != 0 || !written)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    return 0;
}

int demo_workspace(struct demo *demo, const char *name, const struct demo_file *files, size_t count,
                   char *path, struct err *err)
{
    char file[DEMO_PATH_MAX + 100];
    snprintf(path, DEMO_PATH_MAX, "%s/%s", demo->directory, name);
    snprintf(file, sizeof file, "%s/src", path);
    if (mkdir(path, 0700) != 0 || mkdir(file, 0700) != 0)
        return err_set(err, ERR_IO, "%s: %s", file, strerror(errno));
    for (size_t i = 0; i < count; i++) {
        snprintf(file, sizeof file, "%s/%s", path, files[i].path);
        if (write_file(file, files[i].text, err) != 0)
            return -1;
    }
    return 0;
}

/* A program that is not ours, to its end. */
static int quiet(struct demo *demo, const char *const *argv, struct err *err)
{
    struct process process;
    int code = -1;
    if (process_start(&process, argv, (char *const *)(void *)demo->environment, PROCESS_DISCARDED,
                      err) != 0 ||
        process_end(&process, clock_monotonic_ms() + DEMO_STEP_MS, &code, err) != 0)
        return -1;
    return code == 0 ? 0 : err_set(err, ERR_IO, "%s %s: exit code %d", argv[0], argv[1], code);
}

int demo_repository(struct demo *demo, const char *path, struct err *err)
{
    const char *const init[] = {"git", "-C", path, "init", "-q", "-b", "main", NULL};
    const char *const add[] = {"git", "-C", path, "add", ".", NULL};
    const char *const commit[] = {"git",
                                  "-C",
                                  path,
                                  "-c",
                                  "user.name=Demo",
                                  "-c",
                                  "user.email=demo@localhost",
                                  "commit",
                                  "-qm",
                                  "A small calculator",
                                  NULL};
    return quiet(demo, init, err) != 0 || quiet(demo, add, err) != 0 ||
                   quiet(demo, commit, err) != 0
               ? -1
               : 0;
}

/* Our environment without what would lead the children to the user's own config, store or keys. */
static void build_environment(struct demo *demo)
{
    static const char *const without[] = {"HOME=",   "XDG_",       "CADRE_",
                                          "OPENAI_", "ANTHROPIC_", "GIT_"};
    size_t count = 0;
    demo->environment[count++] = demo->home;
    demo->environment[count++] = demo->config;
    for (char **variable = environ; *variable != NULL && count + 1 < DEMO_ENVIRONMENT_MAX;
         variable++) {
        bool taken = true;
        for (size_t i = 0; i < sizeof without / sizeof without[0]; i++)
            taken = taken && strncmp(*variable, without[i], strlen(without[i])) != 0;
        if (taken)
            demo->environment[count++] = *variable;
    }
    demo->environment[count] = NULL;
}

/* Prices, so that there is money to refuse; room for two hundred children of one reply. */
static int write_config(struct demo *demo, uint16_t port, struct err *err)
{
    char text[1024];
    snprintf(text, sizeof text,
             "llm:\n"
             "  providers: {demo: {base_url: \"http://127.0.0.1:%u/v1\", max_concurrent: 200}}\n"
             "  models: {scripted: {provider: demo, model: scripted, max_context_tokens: 32768,"
             " price_in: 0.5, price_out: 1}}\n"
             "  pools: {default: [{model: scripted}]}\n"
             "safety: {circuit_breaker: {warn_at: 1000, pause_at: 1000, hard_stop_at: 1000}}\n",
             (unsigned)port);
    return write_file(demo->config + sizeof "CADRE_CONFIG=" - 1, text, err);
}

int demo_stage(struct demo *demo, uint16_t port, struct err *err)
{
    const char *base = getenv("TMPDIR");
    ssize_t n = readlink("/proc/self/exe", demo->program, sizeof demo->program - 1);
    if (n <= 0)
        return err_set(err, ERR_IO, "/proc/self/exe: %s", strerror(errno));
    demo->program[n] = '\0';
    if (snprintf(demo->directory, sizeof demo->directory, "%s/cadre-demo-XXXXXX",
                 base != NULL && base[0] == '/' ? base : "/tmp") >= (int)sizeof demo->directory ||
        mkdtemp(demo->directory) == NULL) {
        demo->directory[0] = '\0';
        return err_set(err, ERR_IO, "no temporary directory: %s", strerror(errno));
    }
    snprintf(demo->store, sizeof demo->store, "%s/state/cadre.db", demo->directory);
    snprintf(demo->home, sizeof demo->home, "HOME=%s", demo->directory);
    snprintf(demo->config, sizeof demo->config, "CADRE_CONFIG=%s/cadre.yaml", demo->directory);
    build_environment(demo);
    return write_config(demo, port, err);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    return remove(path);
}

void demo_strike(struct demo *demo)
{
    if (demo->directory[0] != '\0')
        nftw(demo->directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* --- who does not wait for the end ------------------------------------------------------------------------------------------- */

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { ENDING_SIGNALS = sizeof ending_signals / sizeof ending_signals[0] };

void demo_hold_signals(void)
{
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < ENDING_SIGNALS; i++)
        sigaddset(&held, ending_signals[i]);
    sigprocmask(SIG_BLOCK, &held, NULL);
}

bool demo_interrupted(void)
{
    sigset_t arrived;
    sigemptyset(&arrived);
    sigpending(&arrived);
    for (size_t i = 0; i < ENDING_SIGNALS; i++)
        if (sigismember(&arrived, ending_signals[i]) == 1)
            return true;
    return false;
}

/* --- what is shown ------------------------------------------------------------------------------------------------------------ */

void demo_say(struct demo *demo, const char *text)
{
    if (demo->output->format != OUTPUT_TEXT || demo_interrupted())
        return;
    output_print(demo->output, "\n");
    output_styled(demo->output, STYLE_BOLD, str_from(text));
    output_print(demo->output, "\n");
}

void demo_check(struct demo *demo, const char *guarantee, enum held held)
{
    struct output *output = demo->output;
    if (demo_interrupted())
        return;
    if (held == HELD_NOT)
        demo->failures++;
    if (output->format == OUTPUT_JSON) {
        struct buf line;
        struct jw w;
        buf_init(&line, 4096);
        jw_init(&w, &line);
        jw_object(&w);
        jw_ktext(&w, "type", "check");
        jw_ktext(&w, "name", guarantee);
        jw_kbool(&w, "ok", held == HELD);
        jw_end_object(&w);
        output_json(output, &line);
        buf_release(&line);
        return;
    }
    output_styled(output, held == HELD ? STYLE_GREEN : STYLE_RED,
                  held == HELD ? STR("held") : STR("BROKEN"));
    output_print(output, "  %s\n", guarantee);
}

/* --- commands ----------------------------------------------------------------------------------------------------------------- */

void demo_words(const struct demo *demo, const char *const *words, const char **argv)
{
    size_t n = 0;
    argv[n++] = demo->program;
    for (size_t i = 0; words[i] != NULL && n + 3 < DEMO_WORDS_MAX; i++)
        argv[n++] = words[i];
    argv[n++] = "--store";
    argv[n++] = demo->store;
    argv[n] = NULL;
}

int demo_step(struct demo *demo, const char *shown, const char *const *words)
{
    const char *argv[DEMO_WORDS_MAX];
    struct process process;
    struct err err = ERR_INIT;
    int code = -1;
    enum process_output where =
        demo->output->format == OUTPUT_TEXT ? PROCESS_SHOWN : PROCESS_DISCARDED;
    if (demo_interrupted())
        return -1;
    demo_words(demo, words, argv);
    if (demo->output->format == OUTPUT_TEXT) {
        output_styled(demo->output, STYLE_DIM, STR("$ "));
        output_print(demo->output, "%s\n", shown);
    }
    fflush(demo->output->out);
    if (process_start(&process, argv, (char *const *)(void *)demo->environment, where, &err) != 0 ||
        process_end(&process, clock_monotonic_ms() + DEMO_STEP_MS, &code, &err) != 0) {
        output_error(demo->output, "%s", err.message);
        return -1;
    }
    return code;
}

struct js *demo_ask(struct demo *demo, const char *const *words)
{
    const char *argv[DEMO_WORDS_MAX];
    struct process process;
    struct str line;
    struct err err = ERR_INIT;
    struct js *last = NULL;
    int64_t deadline = clock_monotonic_ms() + DEMO_STEP_MS;
    int code;
    demo_words(demo, words, argv);
    if (process_start(&process, argv, (char *const *)(void *)demo->environment, PROCESS_READ,
                      &err) != 0)
        return NULL;
    while (process_line(&process, deadline, &line, &err) == 0) {
        struct err ignored = ERR_INIT;
        js_free(last);
        last = js_parse(line, &ignored);
    }
    if (process_end(&process, deadline, &code, &err) == 0)
        return last;
    js_free(last);
    return NULL;
}
