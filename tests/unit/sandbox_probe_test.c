/* sandbox: every wall, by an attack that must fail and its harmless twin that must work; as root and as an ordinary user. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/probe.h"
#include "sandbox/sandbox.h"
#include "unit/check.h"

#define ORDINARY_USER 65534

static const char *const verdicts[] = {"holds",   "is BROKEN",           "needs a newer kernel",
                                       "is open", "also stops its twin", "was not run"};

/* How many do not hold; says which. wall: only probes of this one, or NULL. */
static int run_probes(const struct sandbox_options *options, const char *wall)
{
    struct sandbox *sandbox = sandbox_open(options);
    struct probe_room *room = NULL;
    struct err err = ERR_INIT;
    int wrong = 0;
    if (probe_room_open(&room, &err) != 0) {
        print_error("%s\n", err.message);
        sandbox_close(sandbox);
        return 1;
    }
    for (size_t i = 0; i < probe_count; i++) {
        err = ERR_INIT;
        if (wall != NULL && strcmp(wall, probes[i].wall) != 0)
            continue;
        enum probe_verdict verdict = probe_run(room, sandbox_port(sandbox), &probes[i], &err);
        if (verdict == PROBE_HOLDS || verdict == PROBE_OLD_KERNEL ||
            (verdict == PROBE_OPEN && options->off[LAUNCH_WALL_NAMESPACES]))
            continue;
        print_error("user %u: %s: \"%s\": the wall %s: %s\n", geteuid(), probes[i].wall,
                    probes[i].name, verdicts[verdict], err.message);
        wrong++;
    }
    probe_room_close(room);
    sandbox_close(sandbox);
    return wrong;
}

static int run_all(void)
{
    struct sandbox_options options = {0}, bare = {.off[LAUNCH_WALL_NAMESPACES] = true};
    return run_probes(&options, NULL) + run_probes(&bare, NULL);
}

/* A case for each wall, so that one can be tried alone. */
#define WALLS(X) X(files) X(landlock) X(limits) X(network) X(privileges) X(processes) X(seccomp)
#define WALL_NAME(wall) #wall,
#define WALL_CASE(wall) {"the_wall_of_" #wall "_holds", the_wall_holds, NULL, NULL, #wall},

static const char *const walls[] = {WALLS(WALL_NAME)};

static void the_wall_holds(void **state)
{
    struct sandbox_options options = {0};
    assert_int_equal(run_probes(&options, *state), 0);
}

static void every_probe_is_of_a_wall_that_is_tried(void **state)
{
    for (size_t i = 0; i < probe_count; i++) {
        size_t wall = 0;
        while (wall < sizeof walls / sizeof *walls && strcmp(walls[wall], probes[i].wall) != 0)
            wall++;
        if (wall == sizeof walls / sizeof *walls)
            fail_msg("no case tries the wall \"%s\"", probes[i].wall);
    }
}

/* Two walls around the same thing hide each other's holes. */
static void mounts_hold_without_landlock(void **state)
{
    struct sandbox_options options = {.off[LAUNCH_WALL_LANDLOCK] = true};
    assert_int_equal(run_probes(&options, "files"), 0);
}

static void what_is_left_without_namespaces_holds(void **state)
{
    struct sandbox_options options = {.off[LAUNCH_WALL_NAMESPACES] = true};
    assert_int_equal(run_probes(&options, NULL), 0);
}

static void privileges_hold_without_the_filter(void **state)
{
    struct sandbox_options options = {.off[LAUNCH_WALL_SECCOMP] = true};
    assert_int_equal(run_probes(&options, "privileges"), 0);
}

static void every_wall_holds_for_an_ordinary_user(void **state)
{
    int status = 0;
    if (geteuid() != 0)
        return; /* the tests above were it */
    pid_t pid = fork();
    if (pid == 0) {
        if (setgid(ORDINARY_USER) != 0 || setuid(ORDINARY_USER) != 0)
            _exit(99);
        int wrong = run_all();
        fflush(NULL);
        _exit(wrong > 0 ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* The table of docs/security.md. */
static void print_table(struct buf *out)
{
    buf_text(out, "| wall | attack: must fail | harmless twin: must work |\n|---|---|---|\n");
    for (size_t i = 0; i < probe_count; i++) {
        buf_printf(out, "| %s | %s", probes[i].wall, probes[i].name);
        if (probes[i].since.major > 0)
            buf_printf(out, " (from Linux %d.%d on)", probes[i].since.major, probes[i].since.minor);
        buf_printf(out, " | %s |\n", probes[i].twin_name);
    }
}

static void the_docs_have_the_table(void **state)
{
    const char *tests = getenv("CADRE_TESTS");
    char path[4096];
    struct buf table, page;
    if (tests == NULL)
        fail_msg("CADRE_TESTS must name the tests' folder");
    snprintf(path, sizeof path, "%s/../docs/security.md", tests);
    buf_init(&table, 65536);
    buf_init(&page, 1 << 20);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    page.n = fread(buf_reserve(&page, 1 << 19), 1, 1 << 19, file);
    fclose(file);
    print_table(&table);
    if (memmem(page.p, page.n, table.p, table.n) == NULL)
        fail_msg("docs/security.md differs from the table: put the output of unit-sandbox_probe "
                 "--print-docs there");
    buf_release(&table);
    buf_release(&page);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        WALLS(WALL_CASE) /* commas are in it */
        cmocka_unit_test(every_probe_is_of_a_wall_that_is_tried),
        cmocka_unit_test(mounts_hold_without_landlock),
        cmocka_unit_test(what_is_left_without_namespaces_holds),
        cmocka_unit_test(privileges_hold_without_the_filter),
        cmocka_unit_test(every_wall_holds_for_an_ordinary_user),
        cmocka_unit_test(the_docs_have_the_table),
    };
    if (argc == 2 && strcmp(argv[1], "--print-docs") == 0) {
        struct buf table;
        buf_init(&table, 65536);
        print_table(&table);
        fwrite(table.p, 1, table.n, stdout);
        buf_release(&table);
        return 0;
    }
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
