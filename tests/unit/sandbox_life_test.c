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

#include "os/clock.h"
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
        assert_string_equal(room->outcome.aside, ""); /* the launcher has looked */
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
    sandbox_room_run(room, "mkdir -p sub/.git; (setsid " SANDBOX_ROOM_HOLD " &) ; sleep 600");
    pthread_join(thread, NULL);
    assert_int_equal(room->outcome.end, SANDBOX_CANCELLED);
    assert_non_null(strstr(room->outcome.aside, "it made a repository in sub"));
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

/* Each command writes a third of what may be written: the sum counts, and what others write does not. */
static void what_commands_write_is_limited_in_sum(void **state)
{
    struct sandbox_room *room = *state;
    room->options.limits.disk_bytes = 48 << 20;
    sandbox_room_reopen(room);
    sandbox_room_outside(room, "head -c 64000000 /dev/urandom > '%s/of-a-person'", room->place);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            sandbox_room_run(room, "head -c 20000000 /dev/urandom > f-$$-$(ls | wc -l); sync"), 0);
    assert_int_equal(
        sandbox_room_run(room, "head -c 20000000 /dev/urandom > third; sync; sleep 50"), -1);
    assert_int_equal(room->outcome.end, SANDBOX_KILLED);
    assert_non_null(strstr(room->outcome.note, "sandbox.disk_mb"));
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

/* Tries to plant a hook in each of its calls. */
static void *call_again_and_again(void *user)
{
    static const char *const argv[] = {"/bin/sh", "-c", "mkdir sub/.git/hooks || rmdir sub/.git",
                                       NULL};
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
    sandbox_room_outside(room, "mkdir -p '%s/sub/.git'", room->workspace);
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

/* --- names that a command must not make --------------------------------------------------------------------------------------- */

static void nothing_is_put_beside_the_users_files(void **state)
{
    struct sandbox_room *room = *state;
    sandbox_room_outside(room, "touch '%s/file'", room->workspace);
    assert_int_equal(sandbox_room_run(room, "ls -A"), 0);
    assert_string_equal(sandbox_room_output(room), "file\n");
    assert_string_equal(room->outcome.aside, "");
}

static void what_an_older_version_left_is_cleaned_up_by_the_next_call(void **state)
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

/* The launcher's outer process moves it while the command still runs. */
static void what_a_command_makes_in_the_root_is_moved_aside_at_once(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(
        sandbox_room_run(room,
                         "git init -q --bare new && mv new .git && echo a > cadre.yaml; while "
                         "[ -e .git -o -e cadre.yaml ]; do sleep 0.01; done"),
        0);
    assert_non_null(strstr(room->outcome.aside, "it made a repository in ., which was moved aside: "
                                                ".git is now .git-from-a-command; so were 1 more"));
    assert_true(sandbox_room_exists(room, ".git-from-a-command/HEAD-from-a-command"));
    assert_true(sandbox_room_exists(room, "cadre.yaml-from-a-command"));
}

static void a_command_that_goes_on_making_them_is_killed(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(sandbox_room_run(room, "while :; do mkdir .git 2> /dev/null; done"), -1);
    assert_int_equal(room->outcome.end, SANDBOX_KILLED);
    assert_string_equal(room->outcome.note, "it made .git or cadre.yaml again and again");
    assert_false(sandbox_room_exists(room, ".git"));
}

static void config_of_cadre_that_a_command_makes_is_moved_aside(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(sandbox_room_run(room,
                                      "mkdir -p .cadre/plans sub && echo a > .cadre/plans/x && "
                                      "echo 'mode: plan' > sub/cadre.yaml"),
                     0);
    assert_true(sandbox_room_exists(room, "sub/cadre.yaml-from-a-command"));
    assert_false(sandbox_room_exists(room, "sub/cadre.yaml"));
    assert_false(sandbox_room_exists(room, ".cadre"));
    assert_true(sandbox_room_exists(room, ".cadre-from-a-command/plans/x"));
    assert_non_null(strstr(room->outcome.aside, "; so were 1 more"));
}

/* The runtime publishes reports while commands run. */
static void a_folder_of_reports_is_left_alone(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(
        sandbox_room_run(room, "mkdir -p .cadre/reports/r && echo '*' > .cadre/.gitignore"), 0);
    assert_true(sandbox_room_exists(room, ".cadre/reports/r"));
    assert_string_equal(room->outcome.aside, "");
}

/* Nobody is left to sweep but the launcher. */
static void what_a_command_made_is_moved_aside_though_the_runtime_was_killed(void **state)
{
    struct sandbox_room *room = *state;
    pid_t pid = fork();
    if (pid == 0) {
        sandbox_room_try(room,
                         "mkdir -p sub/.git bare/objects bare/refs; echo x > bare/HEAD; touch "
                         "ready; sleep 600");
        _exit(0);
    }
    while (!sandbox_room_exists(room, "ready"))
        usleep(1000);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    for (int i = 0; i < 10000 && (sandbox_room_exists(room, "sub/.git") ||
                                  sandbox_room_exists(room, "bare/HEAD"));
         i++)
        usleep(1000); /* the launcher is at it */
    assert_true(sandbox_room_exists(room, "sub/.git-from-a-command"));
    assert_true(sandbox_room_exists(room, "bare/HEAD-from-a-command"));
}

/* Removing it would take the mount away from the other. */
static void a_path_that_was_made_stays_while_another_command_uses_it(void **state)
{
    struct sandbox_room *room = *state;
    room->write_paths[0] = STR("later/on");
    sandbox_room_outside(room, "mkdir '%s/signs'", room->workspace);
    room->write_paths[1] = STR("signs");
    room->walls.write_count = 2;
    pid_t pid = fork();
    if (pid == 0) {
        int failed = sandbox_room_try(room, "touch signs/ready; while [ ! -e signs/go ]; do sleep "
                                            "0.01; done; touch later/on/file");
        _exit(failed == 0 && room->outcome.end == SANDBOX_EXITED && room->outcome.code == 0 ? 0
                                                                                            : 1);
    }
    while (!sandbox_room_exists(room, "signs/ready"))
        usleep(1000);
    assert_int_equal(sandbox_room_run(room, "true"), 0);
    sandbox_room_outside(room, "touch '%s/signs/go'", room->workspace);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(sandbox_room_exists(room, "later/on/file"));
}

static int run_in_somebody_elses(struct sandbox_room *room)
{
    if (geteuid() == 0 && (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534)))
        return 1;
    return sandbox_room_try(room, "cat file && ! touch new") == 0 && room->outcome.code == 0 ? 0
                                                                                             : 2;
}

static void a_workspace_that_the_user_cannot_write_still_runs_commands(void **state)
{
    struct sandbox_room *room = *state;
    int status = 0;
    sandbox_room_outside(room,
                         "cd '%s' && chmod 755 . && echo a > workspace/file && chmod 555 workspace",
                         room->place);
    pid_t pid = fork();
    if (pid == 0)
        _exit(run_in_somebody_elses(room));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    sandbox_room_outside(room, "chmod 755 '%s'", room->workspace);
}

static void a_git_that_is_a_link_is_refused(void **state)
{
    struct sandbox_room *room = *state;
    sandbox_room_outside(room, "ln -s elsewhere '%s/.git'", room->workspace);
    assert_int_equal(sandbox_room_try(room, "true"), -1);
    assert_int_equal(room->err.class, ERR_DENIED);
    assert_non_null(strstr(room->err.message, ".git is a link"));
}

/* --- the lease of a run ---------------------------------------------------------------------- */

struct lease {
    atomic_int_least64_t until;
    atomic_bool stop;
};

static void a_lease_that_is_over_starts_nothing(void **state)
{
    struct sandbox_room *room = *state;
    struct lease lease = {.until = clock_boottime_ms() - 1};
    room->command.owned_until = &lease.until;
    assert_int_equal(sandbox_room_try(room, "touch ran"), -1);
    assert_int_equal(room->err.class, ERR_CANCELLED);
    assert_false(sandbox_room_exists(room, "ran"));
}

static void a_command_ends_with_its_lease(void **state)
{
    struct sandbox_room *room = *state;
    struct lease lease = {.until = clock_boottime_ms() + 3000};
    room->command.owned_until = &lease.until;
    sandbox_room_run(room, "trap '' TERM HUP INT; " SANDBOX_ROOM_HOLD);
    assert_int_equal(room->outcome.end, SANDBOX_KILLED);
    assert_non_null(strstr(room->outcome.note, "another process may own the run"));
    assert_true(clock_boottime_ms() >= atomic_load(&lease.until));
    assert_false(sandbox_room_anybody_alive(room));
}

static void *extend(void *user)
{
    struct lease *lease = user;
    while (!atomic_load(&lease->stop)) {
        atomic_store(&lease->until, clock_boottime_ms() + 5000);
        usleep(50000);
    }
    return NULL;
}

static void a_command_lives_as_long_as_its_lease_is_extended(void **state)
{
    struct sandbox_room *room = *state;
    struct lease lease = {.until = clock_boottime_ms() + 5000};
    pthread_t thread;
    room->command.owned_until = &lease.until;
    assert_int_equal(pthread_create(&thread, NULL, extend, &lease), 0);
    int code = sandbox_room_run(room, "sleep 6");
    atomic_store(&lease.stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(code, 0);
    assert_int_equal(room->outcome.end, SANDBOX_EXITED);
}

#define ROOM(test) cmocka_unit_test_setup_teardown(test, sandbox_room_setup, sandbox_room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM(a_lease_that_is_over_starts_nothing),
        ROOM(a_command_ends_with_its_lease),
        ROOM(a_command_lives_as_long_as_its_lease_is_extended),
        ROOM(a_daemon_dies_with_its_call),
        ROOM(at_the_deadline_the_whole_tree_is_dead),
        ROOM(a_cancelled_call_leaves_nobody),
        ROOM(a_killed_runtime_takes_everything_with_it),
        ROOM(a_flood_of_output_is_kept_at_both_ends),
        ROOM(what_used_too_much_memory_is_told),
        ROOM(what_commands_write_is_limited_in_sum),
        ROOM(many_calls_leave_nothing_behind),
        ROOM(a_crowd_in_one_workspace_keeps_its_walls_and_leaves_nothing),
        ROOM(nothing_is_put_beside_the_users_files),
        ROOM(what_an_older_version_left_is_cleaned_up_by_the_next_call),
        ROOM(what_a_person_made_is_never_removed),
        ROOM(what_a_command_makes_in_the_root_is_moved_aside_at_once),
        ROOM(a_command_that_goes_on_making_them_is_killed),
        ROOM(config_of_cadre_that_a_command_makes_is_moved_aside),
        ROOM(a_folder_of_reports_is_left_alone),
        ROOM(what_a_command_made_is_moved_aside_though_the_runtime_was_killed),
        ROOM(a_path_that_was_made_stays_while_another_command_uses_it),
        ROOM(a_workspace_that_the_user_cannot_write_still_runs_commands),
        ROOM(a_git_that_is_a_link_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
