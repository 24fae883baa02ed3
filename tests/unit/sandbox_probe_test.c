/* sandbox: every wall, by an attack that must fail and its harmless twin that must work; as root and as an ordinary user. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/probe.h"
#include "sandbox/sandbox.h"
#include "unit/check.h"

#define ORDINARY_USER 65534

static const char *const verdicts[] = {"holds", "is BROKEN", "needs a newer kernel",
                                       "also stops its twin", "was not run"};

/* How many do not hold; says which. */
static int run_all(void)
{
    struct sandbox_options options = {0};
    struct sandbox *sandbox = sandbox_open(&options);
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
        enum probe_verdict verdict = probe_run(room, sandbox_port(sandbox), &probes[i], &err);
        if (verdict == PROBE_HOLDS || verdict == PROBE_OLD_KERNEL)
            continue;
        print_error("user %u: %s: \"%s\": the wall %s: %s\n", geteuid(), probes[i].wall,
                    probes[i].name, verdicts[verdict], err.message);
        wrong++;
    }
    probe_room_close(room);
    sandbox_close(sandbox);
    return wrong;
}

static void every_wall_holds(void **state)
{
    assert_int_equal(run_all(), 0);
}

static void every_wall_holds_for_an_ordinary_user(void **state)
{
    int status = 0;
    if (geteuid() != 0)
        return; /* the test above was it */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_wall_holds),
        cmocka_unit_test(every_wall_holds_for_an_ordinary_user),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
