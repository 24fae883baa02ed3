/* sandbox: commands without namespaces, because the operator turned them off: where they run, and what Landlock and seccomp keep
 * from them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit/sandbox_room.h"

static int bare_setup(void **state)
{
    int result = sandbox_room_setup(state);
    struct sandbox_room *room = *state;
    if (result != 0)
        return result;
    room->options.off[LAUNCH_WALL_NAMESPACES] = true;
    sandbox_room_reopen(room);
    return 0;
}

/* A tree stands in for the workspace whose path the agent sees. */
static void it_starts_where_the_workspace_really_lies(void **state)
{
    struct sandbox_room *room = *state;
    sandbox_room_outside(room, "cd '%s' && mkdir shown workspace/src && echo x > workspace/file",
                         room->place);
    char shown[300];
    snprintf(shown, sizeof shown, "%s/shown", room->place);
    room->walls.workspace_path = str_from(shown);
    assert_int_equal(sandbox_room_run(room, "cat file && echo y > made"), 0);
    assert_true(sandbox_room_exists(room, "made"));
    room->command.directory = STR("src");
    assert_int_equal(sandbox_room_run(room, "cat ../file && echo y > made"), 0);
    assert_true(sandbox_room_exists(room, "src/made"));
}

static void without_namespaces_landlock_still_guards_files(void **state)
{
    struct sandbox_room *room = *state;
    char script[1024];
    sandbox_room_outside(room, "cd '%s' && mkdir other workspace/src && echo x > other/secret",
                         room->place);
    room->write_paths[0] = STR("src");
    assert_int_equal(
        sandbox_room_run(room, "touch src/x \"$TMPDIR/x\" \"$HOME/x\" && ls . >/dev/null"), 0);
    snprintf(script, sizeof script,
             "cat '%s/other/secret' || touch x || touch /tmp/cadre-x || head -c 1 /etc/shadow",
             room->place);
    assert_int_not_equal(sandbox_room_run(room, script), 0);
}

static void without_namespaces_no_network_means_none(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(sandbox_room_run(room, "perl -e 'exit(socket(S, 2, 1, 0) ? 0 : 1)'"), 1);
    room->walls.network = SANDBOX_NET_FULL;
    assert_int_equal(sandbox_room_run(room, "perl -e 'exit(socket(S, 2, 1, 0) ? 0 : 1)'"), 0);
}

static void without_namespaces_daemons_die_too(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(
        sandbox_room_run(room,
                         "(setsid flock -x alive sh -c 'echo > ready; sleep 600' >/dev/null 2>&1 "
                         "&) & while [ ! -e ready ]; do sleep 0.01; done"),
        0);
    sandbox_room_outside(room, "flock -n '%s/alive' true", room->workspace);
}

static void a_store_in_the_workspace_cannot_be_hidden_without_namespaces(void **state)
{
    struct sandbox_room *room = *state;
    char store[300];
    snprintf(store, sizeof store, "%s/store", room->workspace);
    room->hidden[0] = str_from(store);
    room->walls.hidden_count = 1;
    assert_int_equal(sandbox_room_try(room, "true"), -1);
    assert_int_equal(room->err.class, ERR_DENIED);
}

/* --- metadata ---------------------------------------------------------------------------------------------------------------- */

/* In all the ways that a library can ask. Numbers are those of x86-64, as in the probes. */
static void metadata_of_its_own_files_can_be_changed(void **state)
{
    struct sandbox_room *room = *state;
    int status = sandbox_room_run(
        room, "set -e; echo x > f; ln -s f l; mkdir d; "
              "perl -e '$f = \"f\"; $e = \"\"; $t = pack(\"q4\", 5, 0, 6, 0); "
              "open(F, \"<\", \"f\"); sysopen(D, \".\", 0200000); $n = fileno(F); $d = fileno(D); "
              "sub is { my ($m, $s) = ((stat(\"f\"))[2] & 07777, (stat(\"f\"))[9]); "
              "die \"$_[0]: mode $m time $s\" if $m != $_[1] || $s != $_[2] } "
              "utime(1, 1, \"f\"); "
              "syscall(90, $f, 0611); is(\"chmod\", 0611, 1); "
              "syscall(91, $n, 0622); is(\"fchmod\", 0622, 1); "
              "syscall(268, $d, $f, 0633); is(\"fchmodat\", 0633, 1); "
              "syscall(452, -100, $f, 0644, 0); is(\"fchmodat2\", 0644, 1); "
              "syscall(452, $n, $e, 0655, 0x1000); is(\"an empty path\", 0655, 1); "
              "chmod(0666, \"/proc/self/fd/$n\"); is(\"a name in /proc\", 0666, 1); "
              "chmod(0677, \"l\"); is(\"a link\", 0677, 1); "
              "syscall(132, $f, $b = pack(\"q2\", 2, 2)); is(\"utime\", 0677, 2); "
              "syscall(235, $f, $b = pack(\"q4\", 3, 0, 3, 0)); is(\"utimes\", 0677, 3); "
              "syscall(261, $d, $f, $b = pack(\"q4\", 4, 0, 4, 0)); is(\"futimesat\", 0677, 4); "
              "syscall(280, $d, $f, $t, 0); is(\"utimensat\", 0677, 6); "
              "syscall(280, $n, 0, $b = pack(\"q4\", 7, 0, 7, 0), 0); is(\"futimens\", 0677, 7); "
              "for (92, 94) { die \"chown $_: $!\" if syscall($_, $f, $< + 0, -1) != 0 } "
              "die \"fchown: $!\" if syscall(93, $n, $< + 0, -1) != 0; "
              "die \"fchownat: $!\" if syscall(260, $d, $f, $< + 0, -1, 0) != 0'; "
              "touch -h -d 2001-01-01 l; [ $(stat -c %Y l) = 978307200 ]; "
              "chmod 700 missing 2>&1 | grep -q 'No such file'; chmod 700 d");
    if (status != 0)
        fail_msg("%s", sandbox_room_output(room));
    assert_int_equal(room->outcome.refused_count, 0);
}

/* The attack must fail, and the file must be as it was. */
static void metadata_outside_cannot_be_changed(void **state)
{
    static const char *const attacks[] = {
        "chmod 777 \"$F\"",
        "chmod 777 ../other/file",
        "ln -s \"$F\" link && chmod 777 link",
        "cd ../other && chmod 777 file",
        "touch -d 2001-01-01 \"$F\"",
        "touch -d 2001-01-01 ../other",
        "chown \"$(id -u)\" \"$F\"",
        "chown -h \"$(id -u)\" \"$F\"",
        "chmod 777 /etc/passwd",
        "perl -e 'open(F, \"<\", \"/etc/passwd\") or exit 1; exit(chmod(0777, *F) ? 0 : 1)'",
        "perl -e 'open(F, \"<\", \"read/file\") or exit 2; exit(chmod(0777, *F) ? 0 : 1)'",
        /* O_PATH opens what cannot be read. */
        "perl -e '$e = \"\"; sysopen(F, $ENV{F}, 0x200000) or exit 2; "
        "exit(syscall(452, fileno(F), $e, 0777, 0x1000) == 0 ? 0 : 1)'",
        "perl -e 'sysopen(F, $ENV{F}, 0x200000) or exit 2; "
        "exit(chmod(0777, \"/proc/self/fd/\" . fileno(F)) ? 0 : 1)'",
        "perl -e '$f = $ENV{F}; $n = $v = \"user.x\"; exit(syscall(188, $f, $n, $v, 1, 0) == 0 ? 0 "
        ": "
        "1)'",
        "perl -e 'open(F, \"<\", \"read/file\") or exit 2; "
        "exit(ioctl(F, 0x40086602, $b = pack(\"q\", 0x40)) ? 0 : 1)'",
    };
    struct sandbox_room *room = *state;
    char variable[400];
    snprintf(variable, sizeof variable, "F=%s/other/file", room->place);
    const char *const variables[] = {variable, NULL};
    sandbox_room_outside(room,
                         "cd '%s' && mkdir other workspace/read workspace/src && "
                         "echo x > other/file && echo x > workspace/read/file && "
                         "stat -c '%%a %%u %%X %%Y %%Z' other other/file workspace/read/file "
                         "/etc/passwd > before",
                         room->place);
    room->write_paths[0] = STR("src");
    room->command.variables = variables;
    for (size_t i = 0; i < sizeof attacks / sizeof attacks[0]; i++)
        if (sandbox_room_run(room, attacks[i]) != 1)
            fail_msg("%s: %s", attacks[i], sandbox_room_output(room));
    sandbox_room_outside(room,
                         "cd '%s' && stat -c '%%a %%u %%X %%Y %%Z' other other/file "
                         "workspace/read/file /etc/passwd | cut -d' ' -f1,2,4,5 > after && "
                         "cut -d' ' -f1,2,4,5 before | cmp - after",
                         room->place);
}

/* A directory that others move meanwhile does not lead a change outside. */
static void a_race_does_not_lead_a_change_outside(void **state)
{
    struct sandbox_room *room = *state;
    sandbox_room_outside(
        room,
        "cd '%s' && mkdir -p other workspace/src/real && "
        "touch other/file && chmod 600 other/file && touch workspace/src/real/file",
        room->place);
    assert_int_equal(
        sandbox_room_run(room,
                         "cd src && ln -s ../../other away && ln -s real turn && "
                         "(while :; do ln -sfn real turn; ln -sfn away turn; done) & "
                         "p=$!; perl -e 'for (1 .. 3000) { chmod(0644, \"src/turn/file\") }'; "
                         "kill $p"),
        0);
    sandbox_room_outside(room, "cd '%s' && [ $(stat -c %%a other/file) = 600 ]", room->place);
}

/* The store may lie beside the trees, in the directory that the agent sees as its workspace. */
static void a_store_in_the_shown_workspace_is_not_in_the_tree(void **state)
{
    struct sandbox_room *room = *state;
    char store[300];
    snprintf(store, sizeof store, "%s/store", room->place);
    sandbox_room_outside(room, "mkdir '%s' && echo x > '%s/secret'", store, store);
    room->walls.workspace_path = str_from(room->place);
    room->hidden[0] = str_from(store);
    room->walls.hidden_count = 1;
    assert_int_equal(sandbox_room_run(room, "cat ../store/secret"), 1);
    assert_int_equal(sandbox_room_run(room, "touch x"), 0);
}

static void without_namespaces_a_repository_is_moved_aside_too(void **state)
{
    struct sandbox_room *room = *state;
    room->options.off[LAUNCH_WALL_NAMESPACES] = true;
    sandbox_room_reopen(room);
    assert_int_equal(
        sandbox_room_run(room, "mkdir -p c/.git .git a/b/objects a/b/refs && echo x > a/b/HEAD"),
        0);
    assert_true(sandbox_room_exists(room, "a/b/HEAD-from-a-command"));
    assert_true(sandbox_room_exists(room, "c/.git-from-a-command"));
    assert_false(sandbox_room_exists(room, ".git"));
}

/* Git gives up at a system-wide config that is there and cannot be read. */
static void without_namespaces_git_does_not_ask_for_the_systems_config(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(
        sandbox_room_run(room, "git init -q \"$TMPDIR/r\" && git -C \"$TMPDIR/r\" status -s"), 0);
}

#define ROOM(test) cmocka_unit_test_setup_teardown(test, bare_setup, sandbox_room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM(it_starts_where_the_workspace_really_lies),
        ROOM(without_namespaces_landlock_still_guards_files),
        ROOM(without_namespaces_no_network_means_none),
        ROOM(without_namespaces_daemons_die_too),
        ROOM(without_namespaces_a_repository_is_moved_aside_too),
        ROOM(a_store_in_the_workspace_cannot_be_hidden_without_namespaces),
        ROOM(metadata_of_its_own_files_can_be_changed),
        ROOM(metadata_outside_cannot_be_changed),
        ROOM(a_race_does_not_lead_a_change_outside),
        ROOM(a_store_in_the_shown_workspace_is_not_in_the_tree),
        ROOM(without_namespaces_git_does_not_ask_for_the_systems_config),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
