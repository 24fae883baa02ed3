/* What the demo shows, one guarantee after the other. The model's answers are in scripted/demo_script.c; nothing else is prepared. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/demo.h"
#include "os/clock.h"

#define CROWD 200

static const struct demo_file calculator[] = {
    {"calc.sh", "# calc.sh NUMBER OPERATION NUMBER\n"
                "case \"$2\" in\n"
                "add) echo $(($1 + $3)) ;;\n"
                "mul) echo $(($1 * $3)) ;;\n"
                "*) exit 2 ;;\n"
                "esac\n"},
    {"test.sh", "[ \"$(sh calc.sh 2 add 3)\" = 5 ] || exit 1\n"
                "[ \"$(sh calc.sh 2 mul 3)\" = 6 ] || exit 1\n"
                "echo ok\n"},
    {"README.md", "# A calculator\n\nOperations:\n\n- add, mul\n"},
};
enum { CALCULATOR_FILES = sizeof calculator / sizeof calculator[0] };

static const struct demo_file project[] = {
    {"notes.md", "# Notes\n\n- calc adds and multiplies whole numbers.\n- Division is missing.\n"
                 "- Tests should cover overflow.\n"},
    {"src/calc.c",
     "#include <stdio.h>\n\nint add(int a, int b)\n{\n    return a + b;\n}\n\n"
     "int multiply(int a, int b)\n{\n    return a * b;\n}\n\n"
     "int main(void)\n{\n    printf(\"%d\\n\", add(2, multiply(3, 4)));\n    return 0;\n}\n"},
};
enum { PROJECT_FILES = sizeof project / sizeof project[0] };

static enum held held_if(bool condition)
{
    return condition ? HELD : HELD_NOT;
}

/* Whether programs can be confined here: in a process of its own, because there is no way back. */
static bool has_namespaces(void)
{
    int status = 1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 ? 0 : 1);
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

/* A command of the machine, as a person would run it. */
static bool succeeds(const char *directory, const char *command)
{
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct process process;
    struct err err = ERR_INIT;
    int code = -1, here = -1;
    if (demo_interrupted() || (here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0 ||
        chdir(directory) != 0)
        return false;
    bool started = process_start(&process, argv, NULL, PROCESS_DISCARDED, &err) == 0;
    bool back = fchdir(here) == 0;
    close(here);
    return started && back &&
           process_end(&process, clock_monotonic_ms() + DEMO_STEP_MS, &code, &err) == 0 &&
           code == 0;
}

/* How many children there were, and that each was closed once. */
static enum held closed_once(struct demo *demo, int64_t wanted)
{
    const char *const words[] = {"verify", "last", "--json", NULL};
    struct js *report = demo_ask(demo, words);
    int64_t children = js_get_int(report, "children", -1);
    bool held = js_get_bool(report, "ok", false) && children == wanted &&
                js_get_int(report, "closes", -2) == children;
    js_free(report);
    return held_if(held);
}

/* --- a plan ------------------------------------------------------------------------------------------------------------------- */

/* The tests of the project must pass before a step's work counts, and again when it is merged with that of others; and steps may run
 * them although nobody is there to be asked. */
static int checking_config(struct demo *demo, char *path, size_t size, struct err *err)
{
    FILE *from = fopen(demo->config + sizeof "CADRE_CONFIG=" - 1, "re");
    char text[2048];
    snprintf(path, size, "%s/checks.yaml", demo->directory);
    size_t n = from != NULL ? fread(text, 1, sizeof text - 1, from) : 0;
    text[n] = '\0';
    if (from != NULL)
        fclose(from);
    FILE *to = fopen(path, "wxe");
    if (n == 0 || to == NULL)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    bool written = fprintf(to,
                           "%ssub_agent: {outputs: {checks: [\"sh test.sh\"]}}\n"
                           "permissions: {shell: allow, test: allow}\n",
                           text) > 0;
    return fclose(to) == 0 && written ? 0 : err_set(err, ERR_IO, "%s: cannot be written", path);
}

int demo_plan(struct demo *demo, struct err *err)
{
    char workspace[DEMO_PATH_MAX], config[DEMO_PATH_MAX];
    bool walls = has_namespaces();
    if (demo_workspace(demo, "calculator", calculator, CALCULATOR_FILES, workspace, err) != 0 ||
        demo_repository(demo, workspace, err) != 0 ||
        checking_config(demo, config, sizeof config, err) != 0)
        return -1;
    const char *const start[] = {"run",
                                 "--config",
                                 walls ? config : demo->config + sizeof "CADRE_CONFIG=" - 1,
                                 "--plan",
                                 "--apply",
                                 "--mode",
                                 "auto",
                                 "--workspace",
                                 workspace,
                                 "teach the calculator to divide, with documentation and tests",
                                 NULL};
    demo_say(demo, "1. A goal becomes a plan; its steps work side by side in trees of a git "
                   "repository, are tested, merged and reviewed.");
    if (!walls)
        demo_say(demo, "(This machine has no namespaces: programs cannot be confined, so the "
                       "tests are not run for each step.)");
    int code =
        demo_step(demo, "cadre run --plan --apply --mode auto \"teach the calculator …\"", start);
    demo_check(demo, "planner, three steps and a reviewer: one merged, reviewed result",
               held_if(code == 0));
    demo_check(demo, "the project's own tests pass on it, division included",
               held_if(succeeds(workspace, "sh test.sh && [ \"$(sh calc.sh 7 div 2)\" = 3 ]")));
    demo_check(demo, "the checkout is clean and on its branch, and no tree is left",
               held_if(succeeds(workspace, "[ -z \"$(git status --porcelain)\" ] && "
                                           "[ \"$(git branch --show-current)\" = main ] && "
                                           "[ -z \"$(find ../state/git -path '*/trees/*')\" ]")));
    return 0;
}

/* --- many, money, walls ------------------------------------------------------------------------------------------------------- */

int demo_crowd(struct demo *demo, struct err *err)
{
    char workspace[DEMO_PATH_MAX], text[120];
    struct scripted_stats stats;
    if (demo_workspace(demo, "crowd", project, PROJECT_FILES, workspace, err) != 0)
        return -1;
    const char *const start[] = {"run",         "--quiet", "--max-concurrent", "200",
                                 "--max-cost",  "10",      "--mode",           "auto",
                                 "--workspace", workspace, "demo crowd",       NULL};
    demo_say(demo, "2. Two hundred children at once, in one process.");
    int code = demo_step(demo, "cadre run --max-concurrent 200 \"demo crowd\"", start);
    scripted_stats(demo->server, &stats);
    snprintf(text, sizeof text,
             "%d children, %llu requests open at the same moment, all closed once", CROWD,
             (unsigned long long)stats.max_concurrent);
    demo_check(
        demo, text,
        held_if(code == 0 && stats.max_concurrent > CROWD / 2 && closed_once(demo, CROWD) == HELD));
    return 0;
}

int demo_money(struct demo *demo, struct err *err)
{
    char workspace[DEMO_PATH_MAX];
    struct scripted_stats before, after;
    if (demo_workspace(demo, "money", project, PROJECT_FILES, workspace, err) != 0)
        return -1;
    const char *const start[] = {"run",         "--max-cost", "0.05",       "--mode", "auto",
                                 "--workspace", workspace,    "demo money", NULL};
    const char *const report[] = {"show", "last", "--report", "--json", NULL};
    demo_say(demo, "3. Money is refused before it is spent; who asks for more than there is gets "
                   "what is left, and a receipt.");
    scripted_stats(demo->server, &before);
    int code = demo_step(demo, "cadre run --max-cost 0.05 \"demo money\"", start);
    scripted_stats(demo->server, &after);
    demo_check(demo, "the child with a ten-millionth of a dollar never reached the model",
               held_if(code == 0 && after.requests - before.requests == 3));
    struct js *told = demo_ask(demo, report);
    const struct js *children = js_get(told, "children");
    const struct js *clamps = js_get(js_get(js_at(children, 1), "receipt"), "clamps");
    demo_check(demo, "the receipt of the other says: asked for 1000 dollars, got what was left",
               held_if(js_count(clamps) > 0));
    js_free(told);
    return 0;
}

int demo_escape(struct demo *demo, struct err *err)
{
    char workspace[DEMO_PATH_MAX], escaped[DEMO_PATH_MAX + 20], link[DEMO_PATH_MAX + 20];
    if (demo_workspace(demo, "walls", project, PROJECT_FILES, workspace, err) != 0)
        return -1;
    snprintf(link, sizeof link, "%s/link", workspace);
    snprintf(escaped, sizeof escaped, "%s/escaped.txt", demo->directory);
    if (symlink("/etc/hostname", link) != 0)
        return err_set(err, ERR_IO, "%s: %s", link, strerror(errno));
    const char *const start[] = {"run",     "--mode",      "dangerous", "--workspace",
                                 workspace, "demo escape", NULL};
    demo_say(demo, "4. A child tries to leave its workspace: by path, by link, by shell.");
    int code = demo_step(demo, "cadre run --mode dangerous \"demo escape\"", start);
    demo_check(demo, "nothing was written outside, and nothing outside was read",
               held_if(code == 0 && access(escaped, F_OK) != 0 &&
                       access("/tmp/cadre-escaped.txt", F_OK) != 0));
    return 0;
}

/* --- a crash -------------------------------------------------------------------------------------------------------------------- */

/* Starts a run and kills it with SIGKILL once a child has used a tool. Returns how many events were durable by then, -1 when it
 * ended before. */
static int kill_in_the_middle(struct demo *demo, const char *workspace, struct err *err)
{
    const char *const words[] = {"run",
                                 "--json",
                                 "--mode",
                                 "auto",
                                 "--workspace",
                                 workspace,
                                 "demo: find out what this project does and write SUMMARY.md",
                                 NULL};
    const char *argv[DEMO_WORDS_MAX];
    struct process process;
    struct str line;
    int64_t deadline = clock_monotonic_ms() + DEMO_STEP_MS;
    int seen = -1, code;
    enum { WAITING, REACHED } middle = WAITING;
    demo_words(demo, words, argv);
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

int demo_crash(struct demo *demo, struct err *err)
{
    char workspace[DEMO_PATH_MAX], summary[DEMO_PATH_MAX + 20], text[160];
    if (demo_workspace(demo, "crash", project, PROJECT_FILES, workspace, err) != 0)
        return -1;
    const char *const resume[] = {"resume", "last", NULL};
    const char *const tree[] = {"tree", "last", NULL};
    const char *const verify[] = {"verify", "last", NULL};
    const char *const replay[] = {"replay", "last", NULL};
    demo_say(demo, "5. A run with two children is killed with SIGKILL in the middle; another "
                   "process brings it to its end.");
    int seen = kill_in_the_middle(demo, workspace, err);
    if (seen >= 0)
        snprintf(text, sizeof text, "killed in the middle, with %d events seen on disk", seen);
    else
        snprintf(text, sizeof text, "killed in the middle (%.100s)", err->message);
    demo_check(demo, text, held_if(seen >= 0));
    int code = demo_step(demo, "cadre resume last", resume);
    snprintf(summary, sizeof summary, "%s/SUMMARY.md", workspace);
    demo_check(demo, "it completed, SUMMARY.md is there, its two children were closed once each",
               held_if(code == 0 && access(summary, R_OK) == 0 && closed_once(demo, 2) == HELD));
    demo_say(demo, "6. Everything that happened is in the log, the crash too.");
    demo_check(demo, "the tree of agents can be read from the log",
               held_if(demo_step(demo, "cadre tree last", tree) == 0));
    demo_check(demo, "the hash chain verifies",
               held_if(demo_step(demo, "cadre verify last", verify) == 0));
    demo_check(demo, "deciding it all again, offline, gives the same bytes",
               held_if(demo_step(demo, "cadre replay last", replay) == 0));
    return 0;
}
