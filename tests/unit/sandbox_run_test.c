/* sandbox: a command's start, its output and its end. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit/sandbox_room.h"

static void output_and_status_come_back(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(sandbox_room_run(room, "echo one; echo two >&2; exit 7"), 7);
    assert_string_equal(sandbox_room_output(room), "one\ntwo\n");
}

static void a_signal_that_ends_the_command_is_told(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(sandbox_room_run(room, "kill -TERM $$"), -1);
    assert_int_equal(room->outcome.end, SANDBOX_KILLED);
    assert_int_equal(room->outcome.code, SIGTERM);
}

static void it_starts_in_its_directory(void **state)
{
    struct sandbox_room *room = *state;
    char expected[400];
    sandbox_room_outside(room, "mkdir -p '%s/a/b'", room->workspace);
    room->command.directory = STR("a/b");
    assert_int_equal(sandbox_room_run(room, "pwd"), 0);
    snprintf(expected, sizeof expected, "%s/a/b\n", room->workspace);
    assert_string_equal(sandbox_room_output(room), expected);
}

static void a_program_that_is_not_there_is_told(void **state)
{
    struct sandbox_room *room = *state;
    const struct sandbox_port *port = sandbox_port(room->sandbox);
    const char *const argv[] = {"no-such-program", NULL};
    room->command.argv = argv;
    assert_int_equal(
        port->run(port->self, &room->walls, &room->command, &room->outcome, &room->err), -1);
    assert_int_equal(room->err.class, ERR_NOT_FOUND);
    assert_string_equal(room->err.message, "cannot run no-such-program: No such file or directory");
}

static void the_environment_is_built(void **state)
{
    struct sandbox_room *room = *state;
    const char *const variables[] = {"EXTRA=1", "TERM=xterm", NULL};
    setenv("CADRE_SECRET", "hunter2", 1);
    room->command.variables = variables;
    assert_int_equal(sandbox_room_run(room, "env | grep -v -e ^PWD= -e ^_= -e ^OLDPWD= | sort"), 0);
    assert_string_equal(
        sandbox_room_output(room),
        "EXTRA=1\nGIT_CONFIG_NOSYSTEM=1\nHOME=/tmp/home\nLANG=C.UTF-8\nLOGNAME=user\n"
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
        "SHELL=/bin/sh\nTERM=xterm\nTMPDIR=/tmp\nUSER=user\n");
}

#define ROOM(test) cmocka_unit_test_setup_teardown(test, sandbox_room_setup, sandbox_room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM(output_and_status_come_back), ROOM(a_signal_that_ends_the_command_is_told),
        ROOM(it_starts_in_its_directory),  ROOM(a_program_that_is_not_there_is_told),
        ROOM(the_environment_is_built),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
