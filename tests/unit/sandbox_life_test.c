/* sandbox: nothing outlives its call, or the program that made it, and nothing is left behind. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/sandbox_room.h"

static void a_daemon_dies_with_its_call(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(sandbox_room_run(room, "(setsid " SANDBOX_ROOM_HOLD
                                            " >/dev/null 2>&1 </dev/null &) & "
                                            "while [ ! -e ready ]; do sleep 0.01; done"),
                     0);
    assert_false(sandbox_room_anybody_alive(room));
}

static void at_the_deadline_the_whole_tree_is_dead(void **state)
{
    struct sandbox_room *room = *state;
    /* A busy machine may need longer until there is somebody to kill. */
    for (room->command.wall_ms = 500; !sandbox_room_exists(room, "ready");
         room->command.wall_ms *= 2) {
        sandbox_room_run(room,
                         "trap '' TERM HUP INT; (setsid " SANDBOX_ROOM_HOLD " &) ; sleep 600");
        assert_int_equal(room->outcome.end, SANDBOX_TIMEOUT);
    }
    assert_false(sandbox_room_anybody_alive(room));
}

struct canceller {
    const struct sandbox_room *room;
    atomic_bool cancelled;
};

static void *cancel_when_ready(void *user)
{
    struct canceller *canceller = user;
    while (!sandbox_room_exists(canceller->room, "ready"))
        usleep(1000);
    atomic_store(&canceller->cancelled, true);
    return NULL;
}

static void a_cancelled_call_leaves_nobody(void **state)
{
    struct sandbox_room *room = *state;
    struct canceller canceller = {.room = room};
    pthread_t thread;
    room->command.cancelled = &canceller.cancelled;
    assert_int_equal(pthread_create(&thread, NULL, cancel_when_ready, &canceller), 0);
    sandbox_room_run(room, "(setsid " SANDBOX_ROOM_HOLD " &) ; sleep 600");
    pthread_join(thread, NULL);
    assert_int_equal(room->outcome.end, SANDBOX_CANCELLED);
    assert_false(sandbox_room_anybody_alive(room));
}

static void a_killed_runtime_takes_everything_with_it(void **state)
{
    struct sandbox_room *room = *state;
    pid_t pid = fork();
    if (pid == 0) {
        sandbox_room_try(room, "(setsid " SANDBOX_ROOM_HOLD " &) ; sleep 600");
        _exit(0);
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

static void a_flood_of_output_is_kept_at_both_ends(void **state)
{
    struct sandbox_room *room = *state;
    room->command.output_max = 4096;
    assert_int_equal(
        sandbox_room_run(room,
                         "echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last"),
        0);
    assert_true(room->outcome.output.n < 5000);
    assert_int_equal(strncmp(sandbox_room_output(room), "first\n", 6), 0);
    assert_non_null(strstr(sandbox_room_output(room), "\nlast\n"));
    assert_true(room->outcome.output_bytes > 50000000);
}

static void what_used_too_much_memory_is_told(void **state)
{
    struct sandbox_room *room = *state;
    room->walls.limits.memory_bytes = 64 << 20;
    assert_int_equal(sandbox_room_run(room, "perl -e '$x = \"x\" x 300000000; sleep 60'"), -1);
    assert_int_equal(room->outcome.end, SANDBOX_KILLED);
    assert_string_equal(room->outcome.note, "it used more memory than it may");
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static int entries(const char *path)
{
    int count = 0;
    DIR *directory = opendir(path);
    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static void many_calls_leave_nothing_behind(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(sandbox_room_run(room, "true"), 0);
    int before = open_descriptors(), files = entries(room->workspace);
    sandbox_room_outside(room, "wc -l < /proc/self/mountinfo > '%s/mounts'", room->place);
    for (int i = 0; i < 40; i++)
        assert_int_equal(sandbox_room_run(room, "exit 3"), 3);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(entries(room->workspace), files);
    sandbox_room_outside(room, "[ $(wc -l < /proc/self/mountinfo) = $(cat '%s/mounts') ]",
                         room->place);
}

#define CROWD 8
#define CROWD_CALLS 12

struct member {
    const struct sandbox_room *room;
    int wrong;
};

/* Tries to plant a repository in each of its calls. */
static void *call_again_and_again(void *user)
{
    static const char *const argv[] = {"/bin/sh", "-c", "mkdir .git/hooks || rmdir .git", NULL};
    struct member *member = user;
    const struct sandbox_port *port = sandbox_port(member->room->sandbox);
    struct sandbox_command command = member->room->command;
    command.argv = argv;
    for (int i = 0; i < CROWD_CALLS; i++) {
        struct sandbox_outcome outcome;
        struct err err = ERR_INIT;
        if (port->run(port->self, &member->room->walls, &command, &outcome, &err) != 0) {
            print_error("%s\n", err.message);
            member->wrong++;
            continue;
        }
        if (outcome.end != SANDBOX_EXITED || outcome.code == 0)
            member->wrong++;
        buf_release(&outcome.output);
        buf_release(&outcome.errors);
    }
    return NULL;
}

static void a_crowd_in_one_workspace_keeps_its_walls_and_leaves_nothing(void **state)
{
    struct sandbox_room *room = *state;
    struct member members[CROWD];
    pthread_t threads[CROWD];
    assert_int_equal(sandbox_room_run(room, "true"), 0);
    int before = open_descriptors(), files = entries(room->workspace);
    for (int i = 0; i < CROWD; i++) {
        members[i] = (struct member){.room = room};
        assert_int_equal(pthread_create(&threads[i], NULL, call_again_and_again, &members[i]), 0);
    }
    for (int i = 0; i < CROWD; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(members[i].wrong, 0);
    }
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(entries(room->workspace), files);
}

/* --- placeholders ---------------------------------------------------------------------------------------------------------- */

static void a_placeholder_is_gone_when_the_call_is(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(sandbox_room_run(room, "ls -A"), 0);
    assert_string_equal(sandbox_room_output(room), ".cadre\n.git\ncadre.yaml\n");
    assert_false(sandbox_room_exists(room, ".git"));
    assert_false(sandbox_room_exists(room, ".cadre"));
    assert_false(sandbox_room_exists(room, "cadre.yaml"));
}

static void what_a_crash_left_is_cleaned_up_by_the_next_call(void **state)
{
    struct sandbox_room *room = *state;
    sandbox_room_outside(room, "cd '%s' && mkdir .git cadre.yaml && chmod 1755 .git cadre.yaml",
                         room->workspace);
    assert_int_equal(sandbox_room_run(room, "true"), 0);
    assert_false(sandbox_room_exists(room, ".git"));
    assert_false(sandbox_room_exists(room, "cadre.yaml"));
}

static void what_a_person_made_is_never_removed(void **state)
{
    struct sandbox_room *room = *state;
    sandbox_room_outside(room, "cd '%s' && mkdir .git && echo 'mode: safe' > cadre.yaml",
                         room->workspace);
    assert_int_equal(sandbox_room_run(room, "cat cadre.yaml"), 0);
    assert_string_equal(sandbox_room_output(room), "mode: safe\n");
    assert_true(sandbox_room_exists(room, ".git"));
    assert_true(sandbox_room_exists(room, "cadre.yaml"));
}

/* Cleaning up would take the wall away from the other. */
static void a_placeholder_stays_while_another_command_counts_on_it(void **state)
{
    struct sandbox_room *room = *state;
    pid_t pid = fork();
    if (pid == 0) {
        int failed = sandbox_room_try(
            room,
            "touch ready; while [ ! -e go ]; do sleep 0.01; done; mkdir .git/hooks || rmdir .git");
        _exit(failed == 0 && room->outcome.end == SANDBOX_EXITED && room->outcome.code != 0 ? 0
                                                                                            : 1);
    }
    while (!sandbox_room_exists(room, "ready"))
        usleep(1000);
    assert_int_equal(sandbox_room_run(room, "true"), 0);
    assert_true(sandbox_room_exists(room, ".git"));
    sandbox_room_outside(room, "touch '%s/go'", room->workspace);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_false(sandbox_room_exists(room, ".git"));
}

static void a_git_that_is_a_link_is_refused(void **state)
{
    struct sandbox_room *room = *state;
    sandbox_room_outside(room, "ln -s elsewhere '%s/.git'", room->workspace);
    assert_int_equal(sandbox_room_try(room, "true"), -1);
    assert_int_equal(room->err.class, ERR_DENIED);
    assert_non_null(strstr(room->err.message, ".git is a link"));
}

#define ROOM(test) cmocka_unit_test_setup_teardown(test, sandbox_room_setup, sandbox_room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM(a_daemon_dies_with_its_call),
        ROOM(at_the_deadline_the_whole_tree_is_dead),
        ROOM(a_cancelled_call_leaves_nobody),
        ROOM(a_killed_runtime_takes_everything_with_it),
        ROOM(a_flood_of_output_is_kept_at_both_ends),
        ROOM(what_used_too_much_memory_is_told),
        ROOM(many_calls_leave_nothing_behind),
        ROOM(a_crowd_in_one_workspace_keeps_its_walls_and_leaves_nothing),
        ROOM(a_placeholder_is_gone_when_the_call_is),
        ROOM(what_a_crash_left_is_cleaned_up_by_the_next_call),
        ROOM(what_a_person_made_is_never_removed),
        ROOM(a_placeholder_stays_while_another_command_counts_on_it),
        ROOM(a_git_that_is_a_link_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
