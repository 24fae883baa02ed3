/* sandbox: what lies in the workspace and is not the workspace's: sockets of servers, other file systems. */
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/sandbox_room.h"

/* --- sockets ----------------------------------------------------------------------------------------------------------------- */

static int bound(const struct sandbox_room *room, const char *name, int type)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char path[400];
    snprintf(path, sizeof path, "%s/%s", room->workspace, name);
    assert_true(strlen(path) < sizeof address.sun_path);
    memcpy(address.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    if (type != SOCK_DGRAM)
        assert_int_equal(listen(fd, 4), 0);
    return fd;
}

#define CONNECT(name, type)                                                                        \
    "perl -e 'use Socket; socket(S, 1, " type ", 0); exit(connect(S, pack_sockaddr_un(\"" name     \
    "\")) ? 0 : 1)'"

static void a_server_of_the_machine_is_not_reached(void **state)
{
    struct sandbox_room *room = *state;
    sandbox_room_outside(room, "cd '%s' && mkdir -p deep/er .git read", room->workspace);
    int servers[] = {bound(room, "stream", SOCK_STREAM), bound(room, "deep/er/dgram", SOCK_DGRAM),
                     bound(room, "deep/packet", SOCK_SEQPACKET),
                     bound(room, ".git/daemon", SOCK_STREAM),
                     bound(room, "read/server", SOCK_STREAM)};
    assert_int_equal(sandbox_room_run(room, CONNECT("stream", "1")), 1);
    assert_int_equal(sandbox_room_run(room, CONNECT("deep/er/dgram", "2")), 1);
    assert_int_equal(sandbox_room_run(room, CONNECT("deep/packet", "5")), 1);
    assert_int_equal(sandbox_room_run(room, CONNECT(".git/daemon", "1")), 1);
    assert_int_equal(sandbox_room_run(room, "mv deep moved && " CONNECT("moved/packet", "5")), 1);
    room->write_paths[0] = STR("moved");
    assert_int_equal(sandbox_room_run(room, CONNECT("read/server", "1")), 1);
    for (size_t i = 0; i < sizeof servers / sizeof servers[0]; i++)
        close(servers[i]);
    assert_true(sandbox_room_exists(room, "stream"));
}

/* What an earlier command left has no owner: the next one may take its place. */
static void a_socket_that_nobody_owns_can_be_replaced(void **state)
{
    struct sandbox_room *room = *state;
    const char *serve = "rm -f sock; perl -e 'use Socket; $a = pack_sockaddr_un(\"sock\"); "
                        "socket(L, 1, 1, 0); bind(L, $a) or die; listen(L, 1); socket(S, 1, 1, 0); "
                        "exit(connect(S, $a) ? 0 : 1)'";
    assert_int_equal(sandbox_room_run(room, serve), 0);
    assert_true(sandbox_room_exists(room, "sock"));
    assert_int_equal(sandbox_room_run(room, serve), 0);
}

/* --- mounts ------------------------------------------------------------------------------------------------------------------ */

/* In a child with mounts of its own: its steps must all hold. Returns the number of the first that does not. */
typedef int steps_fn(struct sandbox_room *room);

static void in_mounts_of_its_own(struct sandbox_room *room, steps_fn *steps)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
            _exit(200); /* an ordinary user cannot mount */
        room->walls.workspace = open(room->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
        _exit(steps(room));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 200) {
        print_message("skipped: mounting is not allowed here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static int script_is(struct sandbox_room *room, const char *script, int code)
{
    if (sandbox_room_try(room, script) != 0) {
        fprintf(stderr, "%s: %s\n", script, room->err.message);
        return -1;
    }
    if (room->outcome.end == SANDBOX_EXITED && room->outcome.code == code)
        return 0;
    fprintf(stderr, "%s: %d %s\n", script, room->outcome.code, sandbox_room_output(room));
    return -1;
}

static int mount_below(const struct sandbox_room *room, const char *source, const char *name,
                       const char *type)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", room->workspace, name);
    return mount(source, path, type, type == NULL ? MS_BIND | MS_REC : 0, NULL);
}

static int other_file_systems(struct sandbox_room *room)
{
    char other[300];
    snprintf(other, sizeof other, "%s/other", room->place);
    if (mount_below(room, "none", "disk", "tmpfs") != 0 ||
        mount_below(room, other, "bound", NULL) != 0 ||
        mount_below(room, "proc", "root/proc", "proc") != 0 ||
        mount_below(room, "sysfs", "root/sys", "sysfs") != 0)
        return 1;
    sandbox_room_outside(room, "echo x > '%s/disk/file'", room->workspace);
    if (script_is(room, "cat disk/file bound/secret && echo x > own && echo x > root/own", 0) != 0)
        return 2;
    if (script_is(room, "echo y > disk/made || echo y > bound/secret || rm bound/secret", 1) != 0 &&
        script_is(room, "echo y > disk/made || echo y > bound/secret || rm bound/secret", 2) != 0)
        return 3;
    if (script_is(room, "[ -z \"$(ls root/proc root/sys | grep -v :)\" ]", 0) != 0)
        return 4;
    if (script_is(room,
                  "[ -e root/proc/1 ] || [ -e root/proc/sys/kernel/core_pattern ] || [ -e "
                  "root/sys/kernel ]",
                  1) != 0)
        return 5;
    /* What a contract names may be written. */
    room->write_paths[1] = STR("disk");
    room->write_paths[2] = STR("bound/in");
    room->walls.write_count = 3;
    room->write_paths[0] = STR("src");
    if (script_is(room, "echo y > disk/made && echo y > bound/in/made && ! echo y > bound/made",
                  0) != 0)
        return 6;
    /* Nothing can be hidden without namespaces. */
    room->options.off[LAUNCH_WALL_NAMESPACES] = true;
    sandbox_room_reopen(room);
    return sandbox_room_try(room, "true") == -1 && room->err.class == ERR_DENIED ? 0 : 7;
}

static void other_file_systems_below_the_workspace_are_not_changed(void **state)
{
    struct sandbox_room *room = *state;
    sandbox_room_outside(
        room,
        "cd '%s' && mkdir -p other/in workspace/disk workspace/bound workspace/src "
        "workspace/root/proc workspace/root/sys && echo x > other/secret",
        room->place);
    in_mounts_of_its_own(room, other_file_systems);
}

#define ROOM(test) cmocka_unit_test_setup_teardown(test, sandbox_room_setup, sandbox_room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM(a_server_of_the_machine_is_not_reached),
        ROOM(a_socket_that_nobody_owns_can_be_replaced),
        ROOM(other_file_systems_below_the_workspace_are_not_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
