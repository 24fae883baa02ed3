/* `cadre demo`: shows the guarantees at work. The commands are real child processes of this
 * program, in a temporary directory; only the model is scripted. Exit code 0 means that every
 * guarantee it names was seen to hold. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/process.h"
#include "cli/wire.h"
#include "os/clock.h"

#define STEP_MS 25000
#define WORDS_MAX 24
#define ENVIRONMENT_MAX 512

static enum exit_code run(struct invocation *invocation);

static const struct option options[] = {
    {"keep", NULL, "keep the temporary directory and say where it is"},
    OPTION_JSON,
    OPTION_HELP,
    OPTION_END,
};

const struct command cmd_demo = {
    .name = "demo",
    .summary = "see it work: children, a crash, a resume, proofs; needs no model",
    .usage = "[--keep]",
    .example = "cadre demo",
    .options = options,
    .run = run,
};

static const char task[] = "demo: find out what this project does and write SUMMARY.md";

/* The sample workspace. */
static const struct {
    const char *path, *text;
} files[] = {
    {"notes.md", "# Notes\n\n- calc adds and multiplies whole numbers.\n- Division is missing.\n"
                 "- Tests should cover overflow.\n"},
    {"src/calc.c",
     "#include <stdio.h>\n\nint add(int a, int b)\n{\n    return a + b;\n}\n\n"
     "int multiply(int a, int b)\n{\n    return a * b;\n}\n\n"
     "int main(void)\n{\n    printf(\"%d\\n\", add(2, multiply(3, 4)));\n    return 0;\n}\n"},
};

struct demo {
    struct invocation *invocation;
    struct output *output;
    char directory[256], program[4096], url[64], store[300], home[300];
    const char *environment[ENVIRONMENT_MAX];
    int failures;
};

/* --- the stage
 * ---------------------------------------------------------------------------------------- */

static int write_workspace(struct demo *demo, const char *name, char *path, size_t size,
                           struct err *err)
{
    char folder[512], file[600];
    snprintf(path, size, "%s/%s", demo->directory, name);
    snprintf(folder, sizeof folder, "%s/src", path);
    if (mkdir(path, 0700) != 0 || mkdir(folder, 0700) != 0)
        return err_set(err, ERR_IO, "%s: %s", folder, strerror(errno));
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(file, sizeof file, "%s/%s", path, files[i].path);
        FILE *out = fopen(file, "wxe");
        if (out == NULL || fputs(files[i].text, out) < 0 || fclose(out) != 0)
            return err_set(err, ERR_IO, "%s: %s", file, strerror(errno));
    }
    return 0;
}

/* Our environment without what would lead the children to the user's own config, store or keys. */
static void build_environment(struct demo *demo)
{
    static const char *const without[] = {"HOME=", "XDG_", "CADRE_", "OPENAI_", "ANTHROPIC_"};
    size_t count = 0;
    snprintf(demo->home, sizeof demo->home, "HOME=%s", demo->directory);
    demo->environment[count++] = demo->home;
    for (char **variable = environ; *variable != NULL && count + 1 < ENVIRONMENT_MAX; variable++) {
        bool taken = true;
        for (size_t i = 0; i < sizeof without / sizeof without[0]; i++)
            taken = taken && strncmp(*variable, without[i], strlen(without[i])) != 0;
        if (taken)
            demo->environment[count++] = *variable;
    }
    demo->environment[count] = NULL;
}

static int set_stage(struct demo *demo, uint16_t port, struct err *err)
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
    snprintf(demo->store, sizeof demo->store, "%s/cadre.db", demo->directory);
    snprintf(demo->url, sizeof demo->url, "http://127.0.0.1:%u/v1", (unsigned)port);
    build_environment(demo);
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    return remove(path);
}

/* --- what is shown
 * ------------------------------------------------------------------------------------ */

static void say(struct demo *demo, const char *text)
{
    if (demo->output->format == OUTPUT_TEXT) {
        output_print(demo->output, "\n");
        output_styled(demo->output, STYLE_BOLD, str_from(text));
        output_print(demo->output, "\n");
    }
}

enum held { HELD_NOT, HELD };

static void check(struct demo *demo, const char *guarantee, enum held held)
{
    struct output *output = demo->output;
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

/* argv for one of our own commands; words end with NULL. */
static void build_words(struct demo *demo, const char *const *words, const char **argv)
{
    size_t n = 0;
    argv[n++] = demo->program;
    for (size_t i = 0; words[i] != NULL && n + 3 < WORDS_MAX; i++)
        argv[n++] = words[i];
    argv[n++] = "--store";
    argv[n++] = demo->store;
    argv[n] = NULL;
}

/* Runs one of our own commands as a child process. Its exit code, or -1 when it could not run. */
static int step(struct demo *demo, const char *shown, const char *const *words)
{
    const char *argv[WORDS_MAX];
    struct process process;
    struct err err = ERR_INIT;
    int code = -1;
    enum process_output where =
        demo->output->format == OUTPUT_TEXT ? PROCESS_SHOWN : PROCESS_DISCARDED;
    build_words(demo, words, argv);
    if (demo->output->format == OUTPUT_TEXT) {
        output_styled(demo->output, STYLE_DIM, STR("$ "));
        output_print(demo->output, "%s\n", shown);
    }
    fflush(demo->output->out);
    if (process_start(&process, argv, (char *const *)(void *)demo->environment, where, &err) != 0 ||
        process_end(&process, clock_monotonic_ms() + STEP_MS, &code, &err) != 0) {
        output_error(demo->output, "%s", err.message);
        return -1;
    }
    return code;
}

/* --- the acts
 * ----------------------------------------------------------------------------------------- */

static int first_act(struct demo *demo, struct err *err)
{
    char workspace[512], summary[600];
    if (write_workspace(demo, "first", workspace, sizeof workspace, err) != 0)
        return -1;
    const char *const start[] = {"run",  "--base-url",  demo->url, "--model", "scripted", "--mode",
                                 "auto", "--workspace", workspace, task,      NULL};
    const char *const tree[] = {"tree", "last", NULL};
    const char *const verify[] = {"verify", "last", NULL};
    const char *const replay[] = {"replay", "last", NULL};
    say(demo, "1. A root hands two questions to two children and writes down what they found.");
    int code =
        step(demo, "cadre run --mode auto \"demo: find out what this project does …\"", start);
    snprintf(summary, sizeof summary, "%s/SUMMARY.md", workspace);
    check(demo, "the run completed and SUMMARY.md is there",
          code == 0 && access(summary, R_OK) == 0 ? HELD : HELD_NOT);
    say(demo, "2. Everything that happened is in the log.");
    check(demo, "the tree of agents can be read from the log",
          step(demo, "cadre tree last", tree) == 0 ? HELD : HELD_NOT);
    check(demo, "the hash chain verifies, and every child was closed once",
          step(demo, "cadre verify last", verify) == 0 ? HELD : HELD_NOT);
    check(demo, "deciding it all again, offline, gives the same bytes",
          step(demo, "cadre replay last", replay) == 0 ? HELD : HELD_NOT);
    return 0;
}

/* Starts a run and kills it with SIGKILL once a child has used a tool. Returns how many events were
 * durable by then, -1 when it ended before. */
static int kill_in_the_middle(struct demo *demo, const char *workspace, struct err *err)
{
    const char *const words[] = {"run",         "--json",   "--base-url", demo->url,
                                 "--model",     "scripted", "--mode",     "auto",
                                 "--workspace", workspace,  task,         NULL};
    const char *argv[WORDS_MAX];
    struct process process;
    struct str line;
    int64_t deadline = clock_monotonic_ms() + STEP_MS;
    int seen = -1, code;
    enum { WAITING, REACHED } middle = WAITING;
    build_words(demo, words, argv);
    if (process_start(&process, argv, (char *const *)(void *)demo->environment, PROCESS_READ,
                      err) != 0)
        return -1;
    while (middle == WAITING && process_line(&process, deadline, &line, err) == 0) {
        seen++;
        if (memmem(line.p, line.n, "\"tool.finished\"", 15) != NULL)
            middle = REACHED;
    }
    kill(process.pid, SIGKILL);
    if (process_end(&process, deadline, &code, err) != 0 || middle == WAITING ||
        code != 128 + SIGKILL)
        return -1;
    return seen;
}

/* Asks `verify --json` how many children there were and how often they were closed. */
static enum held closed_once(struct demo *demo)
{
    const char *const words[] = {"verify", "last", "--json", NULL};
    const char *argv[WORDS_MAX];
    struct process process;
    struct str line;
    struct err err = ERR_INIT;
    int64_t deadline = clock_monotonic_ms() + STEP_MS;
    enum held held = HELD_NOT;
    int code;
    build_words(demo, words, argv);
    if (process_start(&process, argv, (char *const *)(void *)demo->environment, PROCESS_READ,
                      &err) != 0)
        return HELD_NOT;
    if (process_line(&process, deadline, &line, &err) == 0) {
        struct js *report = js_parse(line, &err);
        int64_t children = js_get_int(report, "children", -1);
        if (js_get_bool(report, "ok", false) && children == 2 &&
            js_get_int(report, "closes", -2) == children)
            held = HELD;
        js_free(report);
    }
    if (process_end(&process, deadline, &code, &err) != 0 || code != 0)
        held = HELD_NOT;
    return held;
}

static int second_act(struct demo *demo, struct err *err)
{
    char workspace[512], text[160];
    if (write_workspace(demo, "second", workspace, sizeof workspace, err) != 0)
        return -1;
    const char *const resume[] = {"resume", "last", NULL};
    const char *const replay[] = {"replay", "last", NULL};
    say(demo, "3. The same again, and in the middle the process is killed with SIGKILL.");
    int seen = kill_in_the_middle(demo, workspace, err);
    if (seen >= 0)
        snprintf(text, sizeof text, "killed in the middle, with %d events seen on disk", seen);
    else
        snprintf(text, sizeof text, "killed in the middle (%.100s)", err->message);
    check(demo, text, seen >= 0 ? HELD : HELD_NOT);
    say(demo, "4. Another process takes the run over and brings it to its end.");
    check(demo, "the crashed run was resumed and completed",
          step(demo, "cadre resume last", resume) == 0 ? HELD : HELD_NOT);
    check(demo, "its two children were closed exactly once each, and the chain verifies",
          closed_once(demo));
    check(demo, "the crash and the resume replay as well",
          step(demo, "cadre replay last", replay) == 0 ? HELD : HELD_NOT);
    return 0;
}

static void close_curtain(struct demo *demo)
{
    bool keep = arguments_has(&demo->invocation->arguments, "keep");
    if (demo->directory[0] != '\0' && !keep)
        nftw(demo->directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (demo->output->format != OUTPUT_TEXT)
        return;
    output_print(demo->output, "\n%s\n",
                 demo->failures == 0 ? "Every guarantee held." : "Not every guarantee held.");
    if (keep)
        output_print(demo->output, "Look around: cadre show last --store %s\n", demo->store);
    output_print(
        demo->output,
        "Next, with a model of your own: cadre doctor, then cadre run \"Summarise README.md\"\n");
}

static enum exit_code run(struct invocation *invocation)
{
    struct demo *demo = calloc(1, sizeof *demo);
    struct scripted *server = NULL;
    struct err err = ERR_INIT;
    uint16_t port = 0;
    enum exit_code code = EXIT_CODE_FAILED;
    if (demo == NULL)
        abort();
    demo->invocation = invocation;
    demo->output = &invocation->output;
    /* Whoever reads along may leave: the temporary directory is still cleaned up. */
    signal(SIGPIPE, SIG_IGN);
    if (invocation->output.format == OUTPUT_TEXT)
        output_print(
            demo->output,
            "The model in this demo is scripted: a server on this machine with prepared answers.\n"
            "Everything else is real: the processes, the engine, the tools, the store, the "
            "crash.\n");
    if (wire_scripted_start(&server, &port, &err) != 0 || set_stage(demo, port, &err) != 0 ||
        first_act(demo, &err) != 0 || second_act(demo, &err) != 0) {
        code = command_fail(invocation, &err);
        demo->failures++;
    } else {
        check(demo, "no request broke a rule of the model's API",
              wire_scripted_refused(server) == 0 ? HELD : HELD_NOT);
        code = demo->failures == 0 ? EXIT_CODE_DONE : EXIT_CODE_FAILED;
    }
    wire_scripted_stop(server);
    close_curtain(demo);
    free(demo);
    return code;
}
