/* sandbox: what is shown and what is not, the relay, refusals, and commands that run with fewer walls because the operator said so. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/sandbox_room.h"

#define BARE(room) ((room)->options.off[LAUNCH_WALL_NAMESPACES] = true, sandbox_room_reopen(room))

/* --- what is shown --------------------------------------------------------------------------------------------------------- */

static void only_the_paths_of_the_contract_are_there(void **state)
{
    struct sandbox_room *room = *state;
    sandbox_room_outside(room, "cd '%s' && mkdir -p docs/deep src other && echo x > docs/deep/file",
                         room->workspace);
    room->read_paths[0] = STR("docs/deep");
    room->write_paths[0] = STR("src");
    assert_int_equal(sandbox_room_run(room, "ls; ls docs/deep; echo x > src/made"), 0);
    assert_string_equal(sandbox_room_output(room), "docs\nsrc\nfile\n");
    sandbox_room_outside(room, "test -s '%s/src/made'", room->workspace);
}

static void a_single_file_may_be_written(void **state)
{
    struct sandbox_room *room = *state;
    sandbox_room_outside(room, "cd '%s' && echo old > a && echo old > b", room->workspace);
    room->write_paths[0] = STR("a");
    assert_int_equal(sandbox_room_run(room, "echo new > a && ! echo new > b"), 0);
    sandbox_room_outside(room, "cd '%s' && grep -q new a && grep -q old b", room->workspace);
}

static void a_missing_path_to_write_to_can_be_made_and_nothing_else(void **state)
{
    struct sandbox_room *room = *state;
    room->write_paths[0] = STR("later/on");
    room->write_paths[1] = STR("docs/notes.md");
    room->walls.write_count = 2;
    assert_int_equal(sandbox_room_run(room, "mkdir -p later/on && echo x > later/on/made && "
                                            "echo y > docs/notes.md"),
                     0);
    assert_int_not_equal(sandbox_room_run(room, "echo x > later/beside"), 0);
    assert_int_not_equal(sandbox_room_run(room, "echo x > docs/beside.md"), 0);
    assert_int_not_equal(sandbox_room_run(room, "mkdir other"), 0);
    sandbox_room_outside(room,
                         "cd '%s' && [ \"$(find . | sort | tr '\\n' ' ')\" = "
                         "'. ./docs ./docs/notes.md ./later ./later/on ./later/on/made ' ] && "
                         "[ $(stat -c %%a later later/on docs docs/notes.md | tr '\\n' ,) = "
                         "755,755,755,644, ]",
                         room->workspace);
}

static void a_missing_path_that_nobody_used_is_gone_again(void **state)
{
    struct sandbox_room *room = *state;
    room->write_paths[0] = STR("later/on");
    room->write_paths[1] = STR("docs/notes.md");
    room->walls.write_count = 2;
    assert_int_equal(sandbox_room_run(room, "ls -d later/on docs/notes.md"), 0);
    assert_false(sandbox_room_exists(room, "later"));
    assert_false(sandbox_room_exists(room, "docs"));
    assert_int_equal(sandbox_room_run(room, "touch docs/notes.md"), 0);
    assert_true(sandbox_room_exists(room, "docs/notes.md"));
    assert_false(sandbox_room_exists(room, "later"));
}

/* --- repositories below ---------------------------------------------------------------------------------------------------- */

static void a_repository_at_any_depth_is_read_only(void **state)
{
    struct sandbox_room *room = *state;
    sandbox_room_outside(room,
                         "cd '%s' && mkdir -p vendor/deep/x/.git/hooks mod/sub/.cadre && "
                         "echo 'gitdir: x' > mod/.git && echo a > mod/sub/cadre.yaml",
                         room->workspace);
    assert_int_not_equal(sandbox_room_run(room, "echo x > vendor/deep/x/.git/hooks/post-commit"),
                         0);
    assert_int_not_equal(sandbox_room_run(room, "echo 'gitdir: y' > mod/.git"), 0);
    assert_int_not_equal(sandbox_room_run(room, "rm mod/.git"), 0);
    assert_int_not_equal(sandbox_room_run(room, "touch mod/sub/.cadre/x"), 0);
    assert_int_not_equal(sandbox_room_run(room, "echo x > mod/sub/cadre.yaml"), 0);
    assert_int_equal(sandbox_room_run(room, "cat mod/.git && echo x > vendor/deep/x/file && "
                                            "mkdir mod/new && touch mod/sub/file"),
                     0);
    assert_string_equal(sandbox_room_output(room), "gitdir: x\n");
    assert_string_equal(room->outcome.aside, "");
}

static void a_repository_that_a_command_makes_is_moved_aside(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(sandbox_room_run(room, "mkdir -p sub/.git/hooks a/b && echo x > a/b/.git && "
                                            "ln -s sub/.git a/.git"),
                     0);
    assert_non_null(strstr(room->outcome.aside, "it made a repository in "));
    assert_non_null(strstr(room->outcome.aside, ".git is now .git-from-a-command; so were 2 more"));
    sandbox_room_outside(room,
                         "cd '%s' && test -d sub/.git-from-a-command/hooks -a -f "
                         "a/b/.git-from-a-command -a -L a/.git-from-a-command && [ -z \"$(find . "
                         "-name .git)\" ]",
                         room->workspace);
    assert_int_equal(sandbox_room_run(room, "mkdir sub/.git"), 0);
    assert_true(sandbox_room_exists(room, "sub/.git-from-a-command-2"));
}

/* git knows a directory of any name by what is in it. */
static void a_bare_repository_that_a_command_makes_is_no_longer_one(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(
        sandbox_room_run(room,
                         "git init -q --bare a/b.c && git init -q d && mkdir -p e/f && echo "
                         "'ref: refs/heads/x' > e/f/HEAD && echo ../../a/b.c > e/f/commondir"),
        0);
    assert_non_null(strstr(room->outcome.aside, "; so were 2 more"));
    sandbox_room_outside(room,
                         "cd '%s' && for d in a/b.c d d/.git-from-a-command e/f; do (cd $d && "
                         "! GIT_CEILING_DIRECTORIES='%s' git rev-parse --git-dir 2> /dev/null) || "
                         "exit 1; done; test -f a/b.c/HEAD-from-a-command",
                         room->workspace, room->place);
}

/* The workspace itself, too. */
static void a_layout_in_the_root_is_broken_up(void **state)
{
    struct sandbox_room *room = *state;
    sandbox_room_outside(room, "cd '%s' && mkdir objects refs", room->workspace);
    assert_int_equal(sandbox_room_run(room, "echo 'ref: refs/heads/x' > HEAD; echo > config"), 0);
    assert_non_null(strstr(room->outcome.aside, "it made a repository in ., which was moved aside: "
                                                "HEAD is now HEAD-from-a-command"));
    assert_false(sandbox_room_exists(room, "HEAD"));
}

static void a_bare_repository_that_was_there_is_read_only(void **state)
{
    struct sandbox_room *room = *state;
    sandbox_room_outside(room, "git init -q --bare '%s/vendor/x'", room->workspace);
    assert_int_not_equal(sandbox_room_run(room, "echo x >> vendor/x/config"), 0);
    assert_int_not_equal(sandbox_room_run(room, "mv vendor/x/HEAD vendor/x/old"), 0);
    assert_int_equal(sandbox_room_run(room, "cat vendor/x/HEAD > copy && touch vendor/file"), 0);
    assert_string_equal(room->outcome.aside, "");
    assert_true(sandbox_room_exists(room, "vendor/x/HEAD"));
}

/* Its path was known, the directory that stands there now was not. */
static void a_repository_in_place_of_another_is_moved_aside(void **state)
{
    struct sandbox_room *room = *state;
    sandbox_room_outside(room, "cd '%s' && mkdir -p sub/.git && touch sub/.git/HEAD",
                         room->workspace);
    assert_int_equal(
        sandbox_room_run(room, "mv sub old && mkdir -p sub/.git && touch sub/.git/config"), 0);
    assert_true(sandbox_room_exists(room, "sub/.git-from-a-command/config"));
    assert_true(sandbox_room_exists(room, "old/.git/HEAD"));
}

static int made_in_a_closed_directory(struct sandbox_room *room)
{
    if (geteuid() == 0 && (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534)))
        return 1;
    if (sandbox_room_try(room, "mkdir -p a/b/.git c/.git d/.git && chmod 311 a/b && chmod 0 c && "
                               "chmod 555 d") != 0)
        return 2;
    return sandbox_room_exists(room, "a/b/.git") || sandbox_room_exists(room, "c/.git") ||
                   sandbox_room_exists(room, "d/.git")
               ? 3
               : 0;
}

/* Whoever cannot list it can still enter it, and run git there. */
static void a_closed_directory_does_not_hide_a_repository(void **state)
{
    struct sandbox_room *room = *state;
    int status = 0;
    sandbox_room_outside(room, "[ $(id -u) != 0 ] || chown -R 65534:65534 '%s'", room->place);
    pid_t pid = fork();
    if (pid == 0)
        _exit(made_in_a_closed_directory(room));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void a_mark_does_not_hide_a_repository(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(
        sandbox_room_run(room, "mkdir -p sub/.git && touch sub/.git/config && chmod 1755 sub/.git"),
        0);
    assert_false(sandbox_room_exists(room, "sub/.git"));
}

static void a_repository_that_was_used_and_removed_is_nobodys_concern(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(sandbox_room_run(room, "mkdir t && cd t && git init -q . && git "
                                            "-c user.name=a -c user.email=a@b commit -q "
                                            "--allow-empty -m x && cd .. && rm -rf t"),
                     0);
    assert_string_equal(room->outcome.aside, "");
}

static void paths_of_repositories_and_of_cadre_are_never_writable(void **state)
{
    struct sandbox_room *room = *state;
    sandbox_room_outside(room, "cd '%s' && mkdir -p .git/hooks .cadre sub/.git", room->workspace);
    room->write_paths[0] = STR(".git/hooks");
    room->write_paths[1] = STR(".cadre");
    room->write_paths[2] = STR("sub/.git");
    room->walls.write_count = 3;
    assert_int_equal(
        sandbox_room_run(room, "touch .git/hooks/x || touch .cadre/x || touch sub/.git/x"), 1);
}

static void a_workspace_that_was_moved_is_still_the_one_that_was_opened(void **state)
{
    struct sandbox_room *room = *state;
    sandbox_room_outside(room,
                         "cd '%s' && echo right > workspace/file && mv workspace moved && mkdir "
                         "workspace && echo wrong > workspace/file",
                         room->place);
    assert_int_equal(sandbox_room_run(room, "pwd; cat file"), 0);
    assert_non_null(strstr(sandbox_room_output(room), "/workspace\nright\n"));
}

static void a_store_is_hidden_by_whatever_name_it_was_given(void **state)
{
    struct sandbox_room *room = *state;
    char store[300];
    sandbox_room_outside(
        room,
        "cd '%s' && mkdir workspace/store && echo secret > workspace/store/file && ln -s "
        "workspace alias",
        room->place);
    assert_int_equal(sandbox_room_run(room, "cat store/file"), 0);
    snprintf(store, sizeof store, "%s/alias/store", room->place);
    room->hidden[0] = str_from(store);
    room->walls.hidden_count = 1;
    assert_int_equal(sandbox_room_run(room, "cat store/file"), 1);
    sandbox_room_outside(room, "grep -q secret '%s/store/file'", room->workspace);
}

static void the_operator_can_show_more(void **state)
{
    struct sandbox_room *room = *state;
    char shown[300], script[700];
    struct str paths[1];
    snprintf(shown, sizeof shown, "%s/toolchain", room->place);
    snprintf(script, sizeof script, "cat '%s/file' && ! touch '%s/x'", shown, shown);
    sandbox_room_outside(room, "mkdir '%s' && echo x > '%s/file'", shown, shown);
    assert_int_equal(sandbox_room_run(room, script), 1);
    paths[0] = str_from(shown);
    room->options.shown = paths;
    room->options.shown_count = 1;
    sandbox_room_reopen(room);
    assert_int_equal(sandbox_room_run(room, script), 0);
}

static void the_operator_can_pass_variables_on(void **state)
{
    struct sandbox_room *room = *state;
    struct str names[] = {STR("CADRE_PASSED"), STR("CADRE_NOT_SET")};
    setenv("CADRE_PASSED", "yes", 1);
    setenv("CADRE_SECRET", "hunter2", 1);
    room->options.environment = names;
    room->options.environment_count = 2;
    sandbox_room_reopen(room);
    assert_int_equal(sandbox_room_run(room, "echo $CADRE_PASSED$CADRE_SECRET$CADRE_NOT_SET"), 0);
    assert_string_equal(sandbox_room_output(room), "yes\n");
}

static void a_compiler_and_a_repository_of_its_own_work(void **state)
{
    struct sandbox_room *room = *state;
    assert_int_equal(
        sandbox_room_run(
            room,
            "echo 'int main(void) { return 0; }' > a.c && cc -o a a.c && ./a && cd /tmp && git "
            "init -q x && cd x && git -c user.name=a -c user.email=a@b commit -q --allow-empty "
            "-m x && git log --oneline | wc -l"),
        0);
    assert_string_equal(sandbox_room_output(room), "1\n");
}

/* --- the relay --------------------------------------------------------------------------------------------------------------- */

/* Answers one line with its own text in front, until the connection ends. */
static void *serve(void *user)
{
    int listener = *(int *)user;
    char line[64];
    int fd = accept(listener, NULL, NULL);
    ssize_t n = fd >= 0 ? read(fd, line, sizeof line) : -1;
    if (n > 0 && (write(fd, "heard ", 6) != 6 || write(fd, line, (size_t)n) != n))
        n = -1;
    if (fd >= 0)
        close(fd);
    return NULL;
}

static void a_relay_reaches_its_socket_and_nothing_else(void **state)
{
    struct sandbox_room *room = *state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    pthread_t thread;
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int length = snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", room->place);
    assert_true(length > 0 && (size_t)length < sizeof address.sun_path);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(pthread_create(&thread, NULL, serve, &listener), 0);
    room->walls.network = SANDBOX_NET_RELAY;
    room->options.relay = str_from(address.sun_path);
    room->options.relay_port = 8123;
    sandbox_room_reopen(room);
    assert_int_equal(
        sandbox_room_run(room, "perl -e 'use Socket; socket(S, 2, 1, 0); connect(S, "
                               "pack_sockaddr_in(8123, INADDR_LOOPBACK)) or exit 1; syswrite(S, "
                               "\"hello\\n\"); shutdown(S, 1); print <S>; exit(connect(S, "
                               "pack_sockaddr_in(9, inet_aton(\"192.0.2.1\"))) ? 2 : 0)'"),
        0);
    assert_string_equal(sandbox_room_output(room), "heard hello\n");
    pthread_join(thread, NULL);
    close(listener);
}

static void a_relay_without_a_socket_is_refused(void **state)
{
    struct sandbox_room *room = *state;
    room->walls.network = SANDBOX_NET_RELAY;
    assert_int_equal(sandbox_room_try(room, "touch made"), -1);
    assert_int_equal(room->err.class, ERR_DENIED);
    assert_non_null(strstr(room->err.message, "sandbox: {relay: {socket: PATH}}"));
}

/* --- refusals ---------------------------------------------------------------------------------------------------------------- */

/* A machine that allows no user namespaces, as many containers do; for this process and for good. */
static int forbid_namespaces(void)
{
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
    int failed = seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER));
    failed |= seccomp_load(context);
    seccomp_release(context);
    return failed;
}

static int refused_without_namespaces(struct sandbox_room *room)
{
    if (forbid_namespaces() != 0 || sandbox_room_try(room, "touch made") != -1)
        return 1;
    if (room->err.class != ERR_DENIED || strstr(room->err.message, "\"namespaces\"") == NULL ||
        strstr(room->err.message, "Operation not permitted") == NULL ||
        strstr(room->err.message, "sandbox: {namespaces: false}") == NULL)
        return 2;
    return access("made", F_OK) == 0 ? 3 : 0;
}

static void without_namespaces_it_refuses_and_names_the_switch(void **state)
{
    struct sandbox_room *room = *state;
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(refused_without_namespaces(room));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static int runs_bare(struct sandbox_room *room)
{
    if (forbid_namespaces() != 0)
        return 1;
    BARE(room);
    return sandbox_room_try(room, "true") == 0 ? 0 : 2;
}

static void with_the_switch_off_it_runs_there_and_says_so(void **state)
{
    struct sandbox_room *room = *state;
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(runs_bare(room));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    check_str(sandbox_port(room->sandbox)->missing, "");
    BARE(room);
    check_str(sandbox_port(room->sandbox)->missing, "namespaces");
    assert_int_equal(sandbox_room_run(room, "true"), 0);
    check_str(room->outcome.missing, "namespaces");
}

/* --- fewer walls ------------------------------------------------------------------------------------------------------------- */

static void the_root_of_the_machine_is_no_workspace(void **state)
{
    struct sandbox_room *room = *state;
    room->walls.workspace_path = STR("/");
    assert_int_equal(sandbox_room_try(room, "true"), -1);
    assert_int_equal(room->err.class, ERR_DENIED);
}

static void no_file_wall_at_all_is_refused(void **state)
{
    struct sandbox_room *room = *state;
    room->options.off[LAUNCH_WALL_LANDLOCK] = true;
    BARE(room);
    assert_int_equal(sandbox_room_try(room, "true"), -1);
    assert_int_equal(room->err.class, ERR_DENIED);
}

static void one_wall_less_is_one_wall_less(void **state)
{
    struct sandbox_room *room = *state;
    const char *unshare = "perl -e 'exit(syscall(272, 0x10000000) == 0 ? 0 : 1)'";
    assert_int_equal(sandbox_room_run(room, unshare), 1);
    room->options.off[LAUNCH_WALL_SECCOMP] = true;
    sandbox_room_reopen(room);
    assert_int_equal(sandbox_room_run(room, unshare), 0);
    assert_int_equal(sandbox_room_run(room, "ls /var/lib/. || cat /etc/shadow"), 1);
}

#define ROOM(test) cmocka_unit_test_setup_teardown(test, sandbox_room_setup, sandbox_room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM(only_the_paths_of_the_contract_are_there),
        ROOM(a_single_file_may_be_written),
        ROOM(a_missing_path_to_write_to_can_be_made_and_nothing_else),
        ROOM(a_missing_path_that_nobody_used_is_gone_again),
        ROOM(a_repository_at_any_depth_is_read_only),
        ROOM(a_repository_that_a_command_makes_is_moved_aside),
        ROOM(a_bare_repository_that_a_command_makes_is_no_longer_one),
        ROOM(a_layout_in_the_root_is_broken_up),
        ROOM(a_bare_repository_that_was_there_is_read_only),
        ROOM(a_repository_in_place_of_another_is_moved_aside),
        ROOM(a_mark_does_not_hide_a_repository),
        ROOM(a_closed_directory_does_not_hide_a_repository),
        ROOM(a_repository_that_was_used_and_removed_is_nobodys_concern),
        ROOM(paths_of_repositories_and_of_cadre_are_never_writable),
        ROOM(a_workspace_that_was_moved_is_still_the_one_that_was_opened),
        ROOM(a_store_is_hidden_by_whatever_name_it_was_given),
        ROOM(the_operator_can_show_more),
        ROOM(the_operator_can_pass_variables_on),
        ROOM(a_compiler_and_a_repository_of_its_own_work),
        ROOM(a_relay_reaches_its_socket_and_nothing_else),
        ROOM(a_relay_without_a_socket_is_refused),
        ROOM(without_namespaces_it_refuses_and_names_the_switch),
        ROOM(with_the_switch_off_it_runs_there_and_says_so),
        ROOM(the_root_of_the_machine_is_no_workspace),
        ROOM(no_file_wall_at_all_is_refused),
        ROOM(one_wall_less_is_one_wall_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
