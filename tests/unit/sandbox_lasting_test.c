/* sandbox: programs that stay. Streams that carry many messages, the same walls and the same deaths as of a command that is run. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/sandbox_room.h"

#define MESSAGES 2000
#define WAIT_MS 30000
/* Does what each line says, and says how that went. */
#define OBEY "while read -r line; do eval \"$line\" >/dev/null 2>&1 && echo yes || echo no; done"

static int try_start(struct sandbox_room *room, const char *script,
                     struct sandbox_program **program)
{
    const struct sandbox_port *port = sandbox_port(room->sandbox);
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    room->err = ERR_INIT;
    room->command.argv = argv;
    room->command.streams = SANDBOX_APART;
    int result = port->start(port->self, &room->walls, &room->command, program, &room->err);
    room->command.argv = NULL;
    return result;
}

static struct sandbox_program *start(struct sandbox_room *room, const char *script)
{
    struct sandbox_program *program = NULL;
    if (try_start(room, script, &program) != 0)
        fail_msg("%s", room->err.message);
    return program;
}

static struct sandbox_outcome stop(struct sandbox_room *room, struct sandbox_program *program)
{
    struct sandbox_outcome outcome;
    const struct sandbox_port *port = sandbox_port(room->sandbox);
    port->stop(port->self, program, &outcome);
    assert_null(outcome.output.p);
    return outcome;
}

static void wait_for(int fd, short events)
{
    struct pollfd poll_fd = {fd, events, 0};
    assert_int_equal(poll(&poll_fd, 1, WAIT_MS), 1);
}

static void say(const struct sandbox_program *program, const char *text)
{
    size_t n = strlen(text);
    while (n > 0) {
        wait_for(program->input, POLLOUT);
        ssize_t written = write(program->input, text, n);
        assert_true(written > 0 || errno == EAGAIN);
        text += written > 0 ? written : 0;
        n -= written > 0 ? (size_t)written : 0;
    }
}

/* One line of a stream, with its end. */
static void hear(int fd, char *line, size_t max)
{
    size_t n = 0;
    do {
        wait_for(fd, POLLIN);
        ssize_t got = read(fd, line + n, 1);
        assert_int_equal(got, 1);
        n++;
    } while (line[n - 1] != '\n' && n < max - 1);
    line[n] = '\0';
}

static const char *answer(const struct sandbox_program *program, const char *line)
{
    static char heard[64];
    say(program, line);
    say(program, "\n");
    hear(program->output, heard, sizeof heard);
    return heard;
}

/* --- streams -------------------------------------------------------------------------------------------------------------- */

static void many_messages_go_in_and_come_back(void **state)
{
    struct sandbox_room *room = *state;
    struct sandbox_program *program = start(room, "exec cat");
    char sent[300], heard[300];
    for (int i = 0; i < MESSAGES; i++) {
        snprintf(sent, sizeof sent, "{\"id\":%d,\"text\":\"%0*d\"}\n", i, i % 200 + 1, i);
        say(program, sent);
        hear(program->output, heard, sizeof heard);
        assert_string_equal(heard, sent);
    }
    close(program->input);
    program->input = -1;
    wait_for(program->ended, POLLIN);
    struct sandbox_outcome outcome = stop(room, program);
    assert_int_equal(outcome.end, SANDBOX_EXITED);
    assert_int_equal(outcome.code, 0);
}

static void errors_have_a_stream_of_their_own(void **state)
{
    struct sandbox_room *room = *state;
    struct sandbox_program *program = start(room, "echo out; echo err >&2; exit 7");
    char line[64];
    hear(program->output, line, sizeof line);
    assert_string_equal(line, "out\n");
    hear(program->errors, line, sizeof line);
    assert_string_equal(line, "err\n");
    wait_for(program->ended, POLLIN);
    struct sandbox_outcome outcome = stop(room, program);
    assert_int_equal(outcome.end, SANDBOX_EXITED);
    assert_int_equal(outcome.code, 7);
}

/* --- walls ---------------------------------------------------------------------------------------------------------------- */

static void the_walls_are_those_of_a_command(void **state)
{
    struct sandbox_room *room = *state;
    sandbox_room_outside(room, "echo secret > '%s/secret'; mkdir -p '%s/.git/hooks'", room->place,
                         room->workspace);
    struct sandbox_program *program = start(room, OBEY);
    /* Each attack, and its harmless twin. */
    assert_string_equal(answer(program, "cat ../secret"), "no\n");
    assert_string_equal(answer(program, "echo x > own && cat own"), "yes\n");
    assert_string_equal(answer(program, "echo x > .git/hooks/post-checkout"), "no\n");
    assert_string_equal(answer(program, "ls .git/hooks"), "yes\n");
    assert_string_equal(answer(program, "unshare -U true"), "no\n");
    assert_string_equal(answer(program, "true"), "yes\n");
    assert_string_equal(answer(program, "grep -q . /proc/self/net/route && "
                                        "[ $(wc -l < /proc/self/net/route) -gt 1 ]"),
                        "no\n");
    assert_int_equal(stop(room, program).end, SANDBOX_CANCELLED);
}

static void what_cannot_be_started_is_an_error_at_once(void **state)
{
    struct sandbox_room *room = *state;
    struct sandbox_program *program = NULL;
    const struct sandbox_port *port = sandbox_port(room->sandbox);
    const char *const argv[] = {"no-such-program-at-all", NULL};
    room->command.argv = argv;
    assert_int_equal(port->start(port->self, &room->walls, &room->command, &program, &room->err),
                     -1);
    room->command.argv = NULL;
    assert_int_equal(room->err.class, ERR_NOT_FOUND);
    assert_null(program);
    room->walls.network = SANDBOX_NET_RELAY; /* which leads nowhere here */
    assert_int_equal(try_start(room, "true", &program), -1);
    assert_int_equal(room->err.class, ERR_DENIED);
}

/* --- its end --------------------------------------------------------------------------------------------------------------- */

static void stopping_kills_daemons_too(void **state)
{
    struct sandbox_room *room = *state;
    struct sandbox_program *program = start(room, "trap '' TERM HUP INT; (setsid " SANDBOX_ROOM_HOLD
                                                  " >/dev/null 2>&1 </dev/null &); cat");
    while (!sandbox_room_exists(room, "ready"))
        usleep(1000);
    assert_true(sandbox_room_anybody_alive(room));
    assert_int_equal(stop(room, program).end, SANDBOX_CANCELLED);
    assert_false(sandbox_room_anybody_alive(room));
}

struct starting {
    struct sandbox_room *room;
    struct sandbox_program *program;
};

static void *start_on_a_thread(void *user)
{
    struct starting *starting = user;
    if (try_start(starting->room, "exec cat", &starting->program) != 0)
        starting->program = NULL;
    return NULL;
}

static void it_outlives_the_thread_that_started_it(void **state)
{
    struct starting starting = {.room = *state};
    char line[64];
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, start_on_a_thread, &starting), 0);
    pthread_join(thread, NULL);
    assert_non_null(starting.program);
    for (int i = 0; i < 20; i++) {
        usleep(5000); /* a signal that was sent to it would have arrived */
        say(starting.program, "hello\n");
        hear(starting.program->output, line, sizeof line);
        assert_string_equal(line, "hello\n");
    }
    assert_int_equal(stop(starting.room, starting.program).end, SANDBOX_CANCELLED);
}

static void a_killed_runtime_takes_it_along(void **state)
{
    struct sandbox_room *room = *state;
    pid_t pid = fork();
    if (pid == 0) {
        struct sandbox_program *program;
        if (try_start(room, "(setsid " SANDBOX_ROOM_HOLD " &) ; sleep 600", &program) == 0)
            for (;;)
                pause();
        _exit(1);
    }
    while (!sandbox_room_exists(room, "ready"))
        usleep(1000);
    assert_true(sandbox_room_anybody_alive(room));
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    for (int i = 0; i < 10000 && sandbox_room_anybody_alive(room); i++)
        usleep(1000); /* the kernel is at it; a test that hangs here has found a survivor */
    assert_false(sandbox_room_anybody_alive(room));
}

static void starts_and_stops_leave_nothing_behind(void **state)
{
    struct sandbox_room *room = *state;
    stop(room, start(room, "cat"));
    int before = dup(0);
    for (int i = 0; i < 20; i++)
        stop(room, start(room, "cat"));
    int after = dup(0); /* the lowest number that is free */
    assert_int_equal(after, before + 1);
    close(before);
    close(after);
    assert_false(sandbox_room_exists(room, ".git"));
}

#define ROOM(name) cmocka_unit_test_setup_teardown(name, sandbox_room_setup, sandbox_room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM(many_messages_go_in_and_come_back), ROOM(errors_have_a_stream_of_their_own),
        ROOM(the_walls_are_those_of_a_command),  ROOM(what_cannot_be_started_is_an_error_at_once),
        ROOM(stopping_kills_daemons_too),        ROOM(it_outlives_the_thread_that_started_it),
        ROOM(a_killed_runtime_takes_it_along),   ROOM(starts_and_stops_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
