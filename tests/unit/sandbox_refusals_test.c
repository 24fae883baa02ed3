/* sandbox: what the filter refuses is told: which call, by which program, how often. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/sandbox_room.h"

#define MOUNT                                                                                      \
    "perl -e '($n, $p, $t) = (\"none\", \"/tmp\", \"tmpfs\"); "                                    \
    "exit(syscall(165, $n, $p, $t, 0, 0) == -1 && $! == 1 ? 7 : 0)'"

static void check_refused(const struct sandbox_room *room, size_t i, const char *call,
                          const char *program, int64_t times)
{
    assert_true(i < room->outcome.refused_count);
    assert_string_equal(room->outcome.refused[i].call, call);
    assert_string_equal(room->outcome.refused[i].program, program);
    assert_int_equal(room->outcome.refused[i].times, times);
}

static void a_refused_call_is_told_with_its_program(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(sandbox_room_run(room, MOUNT "; " MOUNT "; " MOUNT), 7);
    assert_int_equal(room->outcome.refused_count, 1);
    check_refused(room, 0, "mount", "perl", 3);
    assert_int_equal(sandbox_room_run(room, "cp /bin/chmod my:tool && : > f && ./my:tool 2755 f"),
                     1);
    check_refused(room, 0, "fchmodat", "my:tool", 1);
}

static void an_ordinary_command_is_refused_nothing(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(sandbox_room_run(room, "mkdir d && echo x > d/f && chmod 700 d/f && "
                                            "perl -e 'exit(fork ? 0 : 0)' && rm -r d"),
                     0);
    assert_int_equal(room->outcome.refused_count, 0);
}

/* The name is the command's to choose. */
static void the_name_of_a_program_cannot_forge_a_line(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(
        sandbox_room_run(room, "perl -e '$0 = \"a \\e[1m\\nx 0\"; ($n, $p) = (\"none\", \"/tmp\"); "
                               "syscall(165, $n, $p, $n, 0, 0); exit 3'"),
        3);
    check_refused(room, 0, "mount", "a??[1m", 1);
}

static void the_number_of_refusals_is_bounded(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(
        sandbox_room_run(room, "perl -e 'for (1 .. 2000) { for (155, 161, 163, 164, 165, 166, 167, "
                               "168, 169, 170, 171) { syscall($_, 0, 0, 0, 0, 0) } } exit 4'"),
        4);
    assert_int_equal(room->outcome.refused_count, SANDBOX_REFUSED_MAX);
    check_refused(room, 0, "pivot_root", "perl", 2000);
}

static void what_was_refused_before_a_deadline_is_told(void **state)
{
    struct sandbox_room *room = *state;
    room->command.wall_ms = 2000;
    assert_int_equal(sandbox_room_run(room, MOUNT "; sleep 600"), -1);
    assert_int_equal(room->outcome.end, SANDBOX_TIMEOUT);
    check_refused(room, 0, "mount", "perl", 1);
}

/* A directory that is setgid already stays so: tools that change its other bits name that one too. */
static void a_setgid_directory_keeps_its_bit(void **state)
{
    struct sandbox_room *room = *state;
    sandbox_room_outside(room, "cd '%s' && mkdir d e && chmod 2755 d", room->workspace);
    assert_int_equal(sandbox_room_run(room, "chmod g+w d && [ $(stat -c %a d) = 2775 ]"), 0);
    assert_int_equal(room->outcome.refused_count, 0);
    assert_int_equal(sandbox_room_run(room, "chmod u+s d || chmod g+s e"), 1);
    assert_int_equal(room->outcome.refused_count, 1);
}

/* As the manager of a container does: somebody listens already. */
static int listen_first(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = 1, .filter = &allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                        &program);
}

static int holds_in_silence(struct sandbox_room *room)
{
    if (listen_first() < 0)
        return 1;
    if (sandbox_room_try(room, MOUNT) != 0 || room->outcome.code != 7)
        return 2;
    if (room->outcome.refused_count != 0)
        return 3;
    if (sandbox_room_try(room, ": > f && chmod 2755 f") != 0 || room->outcome.code != 1)
        return 4;
    /* Without namespaces the launcher is needed. */
    room->options.off[LAUNCH_WALL_NAMESPACES] = true;
    sandbox_room_reopen(room);
    return sandbox_room_try(room, "true") == -1 && room->err.class == ERR_DENIED ? 0 : 5;
}

static void where_somebody_listens_already_the_filter_still_refuses(void **state)
{
    struct sandbox_room *room = *state;
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(holds_in_silence(room));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

#define ROOM(test) cmocka_unit_test_setup_teardown(test, sandbox_room_setup, sandbox_room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM(a_refused_call_is_told_with_its_program),
        ROOM(an_ordinary_command_is_refused_nothing),
        ROOM(the_name_of_a_program_cannot_forge_a_line),
        ROOM(the_number_of_refusals_is_bounded),
        ROOM(what_was_refused_before_a_deadline_is_told),
        ROOM(a_setgid_directory_keeps_its_bit),
        ROOM(where_somebody_listens_already_the_filter_still_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
