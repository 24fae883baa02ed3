/* Child processes of commands: lines, exit codes, deadlines. */
#include <signal.h>

#include "check.h"
#include "cli/process.h"
#include "os/clock.h"

static void start(struct process *process, const char *script, enum process_output output)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    struct err err = ERR_INIT;
    assert_int_equal(process_start(process, argv, NULL, output, &err), 0);
}

static int64_t soon(void)
{
    return clock_monotonic_ms() + 20000;
}

static void lines_come_one_by_one(void **state)
{
    struct process process;
    struct str line;
    struct err err = ERR_INIT;
    int code;
    start(&process, "echo one; echo; printf 'two words\\nrest'", PROCESS_READ);
    assert_int_equal(process_line(&process, soon(), &line, &err), 0);
    check_str(line, "one");
    assert_int_equal(process_line(&process, soon(), &line, &err), 0);
    check_str(line, "");
    assert_int_equal(process_line(&process, soon(), &line, &err), 0);
    check_str(line, "two words");
    assert_int_equal(process_line(&process, soon(), &line, &err), -1);
    assert_int_equal(err.class, ERR_NOT_FOUND);
    assert_int_equal(process_end(&process, soon(), &code, &err), 0);
    assert_int_equal(code, 0);
}

static void the_exit_code_is_told(void **state)
{
    struct process process;
    struct err err = ERR_INIT;
    int code;
    start(&process, "exit 7", PROCESS_DISCARDED);
    assert_int_equal(process_end(&process, soon(), &code, &err), 0);
    assert_int_equal(code, 7);
}

static void death_by_a_signal_is_told(void **state)
{
    struct process process;
    struct err err = ERR_INIT;
    int code;
    start(&process, "kill -9 $$", PROCESS_DISCARDED);
    assert_int_equal(process_end(&process, soon(), &code, &err), 0);
    assert_int_equal(code, 128 + SIGKILL);
}

static void a_process_that_does_not_end_is_killed(void **state)
{
    struct process process;
    struct err err = ERR_INIT;
    int code;
    start(&process, "exec sleep 1000", PROCESS_DISCARDED);
    assert_int_equal(process_end(&process, clock_monotonic_ms() + 20, &code, &err), -1);
    assert_int_equal(err.class, ERR_TIMEOUT);
    assert_int_equal(code, 128 + SIGKILL);
}

static void a_silent_process_ends_the_waiting_for_a_line(void **state)
{
    struct process process;
    struct str line;
    struct err err = ERR_INIT;
    int code;
    start(&process, "exec sleep 1000", PROCESS_READ);
    assert_int_equal(process_line(&process, clock_monotonic_ms() + 20, &line, &err), -1);
    assert_int_equal(err.class, ERR_TIMEOUT);
    assert_int_equal(process_end(&process, clock_monotonic_ms(), &code, &err), -1);
}

static void a_program_that_is_not_there_is_not_found(void **state)
{
    const char *const argv[] = {"/nonexistent/program", NULL};
    struct process process;
    struct err err = ERR_INIT;
    assert_int_equal(process_start(&process, argv, NULL, PROCESS_READ, &err), -1);
    assert_int_equal(err.class, ERR_NOT_FOUND);
}

static void a_child_dies_of_a_broken_pipe_as_usual(void **state)
{
    struct process process;
    struct str line;
    struct err err = ERR_INIT;
    int code;
    signal(SIGPIPE, SIG_IGN);
    start(&process, "while echo line; do :; done; exit 3", PROCESS_READ);
    assert_int_equal(process_line(&process, soon(), &line, &err), 0);
    assert_int_equal(process_end(&process, soon(), &code, &err), 0);
    assert_int_equal(code, 128 + SIGPIPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_one_by_one),
        cmocka_unit_test(the_exit_code_is_told),
        cmocka_unit_test(death_by_a_signal_is_told),
        cmocka_unit_test(a_process_that_does_not_end_is_killed),
        cmocka_unit_test(a_silent_process_ends_the_waiting_for_a_line),
        cmocka_unit_test(a_program_that_is_not_there_is_not_found),
        cmocka_unit_test(a_child_dies_of_a_broken_pipe_as_usual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
