/* os/process: a program's start, its output, and that nothing of it outlives its call. */
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "unit/check.h"

static const char *const environment[] = {"PATH=/usr/bin:/bin", "GREETING=hello", NULL};

static struct process_command shell(const char *const argv[4])
{
    return (struct process_command){.program = "/bin/sh",
                                    .argv = argv,
                                    .environment = environment,
                                    .directory = -1,
                                    .wall_ms = 60000,
                                    .output_max = 65536};
}
#define SHELL(text) ((const char *const[4]){"sh", "-c", text, NULL})

static void run(const struct process_command *command, struct process_outcome *outcome)
{
    struct err err = ERR_INIT;
    assert_int_equal(process_run(command, outcome, &err), 0);
}

static void assert_output(const struct process_outcome *outcome, const char *text)
{
    assert_string_equal(outcome->output.n > 0 ? outcome->output.p : "", text);
}

static void both_streams_come_joined_and_the_status_is_told(void **state)
{
    struct process_command command =
        shell(SHELL("echo one; echo two >&2; echo $GREETING$HOME; exit 7"));
    struct process_outcome outcome;
    run(&command, &outcome);
    assert_output(&outcome, "one\ntwo\nhello\n");
    assert_int_equal(outcome.end, PROCESS_EXITED);
    assert_int_equal(outcome.code, 7);
    process_outcome_release(&outcome);
}

static void streams_can_be_told_apart(void **state)
{
    struct process_command command = shell(SHELL("echo one; echo two >&2"));
    struct process_outcome outcome;
    command.streams = PROCESS_APART;
    run(&command, &outcome);
    assert_output(&outcome, "one\n");
    assert_string_equal(outcome.errors.p, "two\n");
    process_outcome_release(&outcome);
}

static void input_larger_than_a_pipe_reaches_the_program(void **state)
{
    struct process_outcome outcome;
    struct process_command command = shell(SHELL("wc -c"));
    command.input = (struct str){calloc(1, 1 << 20), 1 << 20};
    run(&command, &outcome);
    assert_output(&outcome, "1048576\n");
    process_outcome_release(&outcome);
    command.argv = SHELL("exec true"); /* nobody reads it */
    run(&command, &outcome);
    assert_int_equal(outcome.code, 0);
    process_outcome_release(&outcome);
    free((char *)command.input.p);
}

static void a_program_on_a_lifeline_ends_itself_when_it_is_cut(void **state)
{
    struct process_command command = shell(SHELL("read line <&3; echo over; exit 5"));
    struct process_outcome outcome;
    int lifeline[2];
    assert_int_equal(pipe2(lifeline, O_CLOEXEC), 0);
    command.handles = &lifeline[0];
    command.handle_count = 1;
    command.lifeline = &lifeline[1];
    command.wall_ms = 100;
    run(&command, &outcome);
    assert_int_equal(outcome.end, PROCESS_TIMEOUT);
    assert_int_equal(outcome.code, 5);
    assert_output(&outcome, "over\n");
    assert_int_equal(lifeline[1], -1);
    process_outcome_release(&outcome);
    close(lifeline[0]);
}

static void the_middle_of_a_long_output_is_left_out(void **state)
{
    struct process_command command =
        shell(SHELL("echo first; yes middle | head -c 1000000; echo last"));
    struct process_outcome outcome;
    command.output_max = 4096;
    run(&command, &outcome);
    assert_int_equal(outcome.output_bytes, 1000011);
    assert_true(outcome.output.n < 4096 + 100);
    assert_memory_equal(outcome.output.p, "first\n", 6);
    assert_non_null(strstr(outcome.output.p, "[995915 bytes left out here]"));
    assert_string_equal(outcome.output.p + outcome.output.n - 5, "last\n");
    process_outcome_release(&outcome);
}

static void an_output_just_within_its_bound_is_whole(void **state)
{
    struct process_command command = shell(SHELL("printf '%04096d' 0"));
    struct process_outcome outcome;
    command.output_max = 4096;
    run(&command, &outcome);
    assert_int_equal(outcome.output.n, 4096);
    assert_null(strstr(outcome.output.p, "left out"));
    process_outcome_release(&outcome);
}

/* The id that the program printed first. */
static pid_t printed_id(const struct process_outcome *outcome)
{
    pid_t id = (pid_t)strtol(outcome->output.p, NULL, 10);
    assert_true(id > 1);
    return id;
}

/* A killed process whose parent has gone is removed by init, at some time. */
static void assert_dead(pid_t id)
{
    for (int i = 0; i < 2000 && kill(id, 0) == 0; i++) {
        char path[64], status[256] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", (int)id);
        int fd = open(path, O_RDONLY);
        if (fd >= 0 && read(fd, status, sizeof status - 1) > 0 && strstr(status, ") Z"))
            i = 2000;
        if (fd >= 0)
            close(fd);
        usleep(5000);
        if (i == 1999)
            fail_msg("process %d is alive", (int)id);
    }
}

static void a_program_past_its_time_is_killed_with_its_children(void **state)
{
    struct process_command command = shell(SHELL("sleep 300 & echo $!; wait"));
    struct process_outcome outcome;
    command.wall_ms = 300;
    run(&command, &outcome);
    /* A busy machine may need longer until there is somebody to kill. */
    while (outcome.end == PROCESS_TIMEOUT && outcome.output.n == 0) {
        process_outcome_release(&outcome);
        command.wall_ms *= 2;
        run(&command, &outcome);
    }
    assert_int_equal(outcome.end, PROCESS_TIMEOUT);
    assert_dead(printed_id(&outcome));
    process_outcome_release(&outcome);
}

static void what_a_program_leaves_behind_is_killed(void **state)
{
    struct process_command command = shell(SHELL("sleep 300 & echo $!"));
    struct process_outcome outcome;
    run(&command, &outcome);
    assert_int_equal(outcome.end, PROCESS_EXITED);
    assert_dead(printed_id(&outcome));
    process_outcome_release(&outcome);
}

static void cancel(void *flag, struct str bytes)
{
    atomic_store((atomic_bool *)flag, true);
}

static void cancelling_kills_it(void **state)
{
    atomic_bool cancelled = false;
    struct process_outcome outcome;
    struct process_command command = shell(SHELL("echo $$; exec sleep 300"));
    command.cancelled = &cancelled;
    command.heard = cancel;
    command.user = &cancelled;
    run(&command, &outcome);
    assert_int_equal(outcome.end, PROCESS_CANCELLED);
    assert_dead(printed_id(&outcome));
    process_outcome_release(&outcome);
}

static void a_signal_is_told(void **state)
{
    struct process_command command = shell(SHELL("kill -SEGV $$"));
    struct process_outcome outcome;
    run(&command, &outcome);
    assert_int_equal(outcome.end, PROCESS_KILLED);
    assert_int_equal(outcome.code, SIGSEGV);
    process_outcome_release(&outcome);
}

/* Every descriptor that this process has stays here, even one that is not marked close-on-exec. */
static void only_named_descriptors_reach_the_program(void **state)
{
    struct process_outcome outcome;
    int leak = dup(STDERR_FILENO), given = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct process_command command = shell(SHELL("exec ls /proc/self/fd"));
    command.handles = &given;
    command.handle_count = 1;
    run(&command, &outcome);
    close(leak);
    close(given);
    assert_output(&outcome, "0\n1\n2\n3\n4\n"); /* 4: ls reads the directory */
    process_outcome_release(&outcome);
}

static void it_starts_in_the_given_directory(void **state)
{
    struct process_outcome outcome;
    struct process_command command = shell(SHELL("pwd"));
    command.directory = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);
    run(&command, &outcome);
    close(command.directory);
    assert_output(&outcome, "/usr\n");
    process_outcome_release(&outcome);
}

static void a_program_lets_others_be_woken_first_and_we_stay_as_we_were(void **state)
{
    struct process_command command = shell(SHELL("cut -d ' ' -f 19,41 /proc/self/stat"));
    struct process_outcome outcome;
    int before = sched_getscheduler(0), usual = getpriority(PRIO_PROCESS, 0), level = 0, policy = 0;
    run(&command, &outcome);
    assert_int_equal(sscanf(outcome.output.p, "%d %d", &level, &policy), 2);
    assert_int_equal(policy, before == SCHED_OTHER ? SCHED_BATCH : before);
    assert_int_equal(level, usual + 5 < 19 ? usual + 5 : 19);
    assert_int_equal(sched_getscheduler(0), before);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), usual);
    process_outcome_release(&outcome);
}

static void a_missing_program_is_an_error(void **state)
{
    struct err err = ERR_INIT;
    struct process_outcome outcome;
    struct process_command command = shell(SHELL("true"));
    command.program = "/nonexistent/program";
    assert_int_equal(process_run(&command, &outcome, &err), -1);
    assert_int_equal(err.class, ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "/nonexistent/program"));
}

static void no_descriptor_is_left_behind(void **state)
{
    struct process_outcome outcome;
    struct process_command command = shell(SHELL("cat"));
    int before = dup(0);
    close(before);
    for (int i = 0; i < 20; i++) {
        command.streams = i % 2 ? PROCESS_APART : PROCESS_JOINED;
        command.input = i % 3 ? STR("text") : STR_NONE;
        run(&command, &outcome);
        process_outcome_release(&outcome);
    }
    int after = dup(0);
    close(after);
    assert_int_equal(before, after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_streams_come_joined_and_the_status_is_told),
        cmocka_unit_test(streams_can_be_told_apart),
        cmocka_unit_test(input_larger_than_a_pipe_reaches_the_program),
        cmocka_unit_test(a_program_on_a_lifeline_ends_itself_when_it_is_cut),
        cmocka_unit_test(the_middle_of_a_long_output_is_left_out),
        cmocka_unit_test(an_output_just_within_its_bound_is_whole),
        cmocka_unit_test(a_program_past_its_time_is_killed_with_its_children),
        cmocka_unit_test(what_a_program_leaves_behind_is_killed),
        cmocka_unit_test(cancelling_kills_it),
        cmocka_unit_test(a_signal_is_told),
        cmocka_unit_test(only_named_descriptors_reach_the_program),
        cmocka_unit_test(it_starts_in_the_given_directory),
        cmocka_unit_test(a_program_lets_others_be_woken_first_and_we_stay_as_we_were),
        cmocka_unit_test(a_missing_program_is_an_error),
        cmocka_unit_test(no_descriptor_is_left_behind),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
