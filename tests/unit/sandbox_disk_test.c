/* sandbox: what the commands of a run write to the disk is limited in sum, whichever trees they write in. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unit/sandbox_room.h"

#define WRITE_20_MB "head -c 20000000 /dev/urandom > f-$$-$(ls | wc -l)"
#define WROTE_TOO_MUCH "sandbox.disk_mb"

/* 48 megabytes for each run. */
static void limit_disk(struct sandbox_room *room)
{
    room->options.limits.disk_bytes = 48 << 20;
    sandbox_room_reopen(room);
    room->walls.run = STR("run one");
}

/* Commands that follow run in a tree of this name, which is made with a file of 40 megabytes as a checkout would have it. */
static void enter_tree(struct sandbox_room *room, const char *name)
{
    sandbox_room_outside(room,
                         "mkdir -p '%s/%s' && cd '%s/%s' && { [ -e checkout ] || head -c 40000000 "
                         "/dev/urandom > checkout; }",
                         room->place, name, room->place, name);
    snprintf(room->workspace, sizeof room->workspace, "%.240s/%.30s", room->place, name);
    close(room->walls.workspace);
    room->walls.workspace = open(room->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
    room->walls.workspace_path = str_from(room->workspace);
}

static void expect_too_much_written(struct sandbox_room *room, const char *script)
{
    assert_int_equal(sandbox_room_run(room, script), -1);
    assert_int_equal(room->outcome.end, SANDBOX_KILLED);
    assert_non_null(strstr(room->outcome.note, WROTE_TOO_MUCH));
}

static void what_a_run_writes_is_limited_in_sum_over_its_trees(void **state)
{
    struct sandbox_room *room = *state;
    limit_disk(room);
    enter_tree(room, "a");
    assert_int_equal(sandbox_room_run(room, WRITE_20_MB), 0);
    enter_tree(room, "b");
    assert_int_equal(sandbox_room_run(room, WRITE_20_MB), 0);
    enter_tree(room, "c");
    expect_too_much_written(room, WRITE_20_MB "; sleep 50");
}

/* Its checkout does not count either. It stays for longer than the time after which files are looked at in any case. */
static void each_run_has_a_sum_of_its_own(void **state)
{
    struct sandbox_room *room = *state;
    limit_disk(room);
    enter_tree(room, "a");
    assert_int_equal(sandbox_room_run(room, WRITE_20_MB "; " WRITE_20_MB), 0);
    room->walls.run = STR("run two");
    enter_tree(room, "b");
    assert_int_equal(sandbox_room_run(room, WRITE_20_MB "; " WRITE_20_MB "; sleep 12"), 0);
}

static void what_was_in_a_tree_that_is_gone_counts_no_more(void **state)
{
    struct sandbox_room *room = *state;
    limit_disk(room);
    for (int i = 0; i < 4; i++) {
        enter_tree(room, "a");
        assert_int_equal(sandbox_room_run(room, WRITE_20_MB "; sleep 0.6"), 0);
        sandbox_room_outside(room, "rm -r '%s/a'", room->place);
    }
}

/* They end before their launchers look by the clock. Where others free as much of the disk meanwhile, it takes some seconds until the
 * files are looked at in any case. */
static void many_short_commands_are_limited_too(void **state)
{
    struct sandbox_room *room = *state;
    limit_disk(room);
    enter_tree(room, "a");
    for (int i = 0; i < 3; i++)
        sandbox_room_run(room, WRITE_20_MB);
    for (int i = 0; i < 1000 && room->outcome.end == SANDBOX_EXITED; i++) {
        usleep(20000);
        sandbox_room_run(room, "touch last");
    }
    sandbox_room_outside(room, "rm -f '%s/last'", room->workspace);
    expect_too_much_written(room, "touch last");
    assert_false(sandbox_room_exists(room, "last"));
    assert_string_equal(room->outcome.aside, "");
    sandbox_room_outside(room, "rm '%s'/f-*", room->workspace);
    assert_int_equal(sandbox_room_run(room, "touch last"), 0);
}

static void a_command_that_cannot_write_goes_on(void **state)
{
    struct sandbox_room *room = *state;
    limit_disk(room);
    enter_tree(room, "a");
    expect_too_much_written(room, WRITE_20_MB "; " WRITE_20_MB "; " WRITE_20_MB "; sleep 50");
    room->walls.write_count = 0;
    assert_int_equal(sandbox_room_run(room, "sleep 1"), 0);
}

struct writer {
    struct sandbox_room room; /* a copy: walls and command of its own */
    struct sandbox_outcome outcome;
};

static void *write_a_part(void *user)
{
    static const char *const argv[] = {
        "/bin/sh", "-c", WRITE_20_MB "; touch ready; " WRITE_20_MB "; sleep 50", NULL};
    struct writer *writer = user;
    const struct sandbox_port *port = sandbox_port(writer->room.sandbox);
    struct err err = ERR_INIT;
    writer->room.command.argv = argv;
    if (port->run(port->self, &writer->room.walls, &writer->room.command, &writer->outcome, &err) !=
        0)
        print_error("%s\n", err.message);
    return NULL;
}

/* Each writes less than may be written. */
static void commands_that_run_at_the_same_time_are_limited_in_sum(void **state)
{
    static const char *const names[] = {"a", "b"};
    struct sandbox_room *room = *state;
    struct writer writers[2];
    pthread_t threads[2];
    limit_disk(room);
    for (size_t i = 0; i < 2; i++) {
        enter_tree(room, names[i]);
        writers[i] = (struct writer){.room = *room};
        writers[i].room.walls.workspace = dup(room->walls.workspace);
        writers[i].room.walls.workspace_path = str_from(writers[i].room.workspace);
    }
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_a_part, &writers[i]), 0);
    for (size_t i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(writers[i].outcome.end, SANDBOX_KILLED);
        assert_non_null(strstr(writers[i].outcome.note, WROTE_TOO_MUCH));
        buf_release(&writers[i].outcome.output);
        buf_release(&writers[i].outcome.errors);
        close(writers[i].room.walls.workspace);
    }
}

#define ROOM(test) cmocka_unit_test_setup_teardown(test, sandbox_room_setup, sandbox_room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM(what_a_run_writes_is_limited_in_sum_over_its_trees),
        ROOM(each_run_has_a_sum_of_its_own),
        ROOM(what_was_in_a_tree_that_is_gone_counts_no_more),
        ROOM(many_short_commands_are_limited_too),
        ROOM(a_command_that_cannot_write_goes_on),
        ROOM(commands_that_run_at_the_same_time_are_limited_in_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
