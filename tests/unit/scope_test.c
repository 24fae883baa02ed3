/* The wall around a workspace: what can be opened and written, and what cannot. The race against
 * somebody who swaps directories is in scope_race_test.c. */
#include "tool_fixture.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "os/clock.h"
#include "os/place.h"
#include "os/random.h"

static const struct str everything[] = {{".", 1}};
static const struct scope_allow all = {everything, 1};

/* Opens for reading; the error's class, NONE when it opened. */
static enum err_class try_read(struct fixture *f, const char *path, enum scope_links links,
                               struct err *err)
{
    struct scope_file file;
    *err = ERR_INIT;
    if (scope_open_read(&f->scope, str_from(path), all, links, &file, err) != 0)
        return err->class;
    close(file.fd);
    return ERR_NONE;
}

static enum err_class read_class(struct fixture *f, const char *path)
{
    struct err err;
    return try_read(f, path, SCOPE_FOLLOW_LINKS, &err);
}

static void a_regular_file_opens(void **state)
{
    struct fixture *f = *state;
    put(f, "src/a.c", "x");
    assert_int_equal(read_class(f, "src/a.c"), ERR_NONE);
}

static void a_missing_file_is_not_found(void **state)
{
    assert_int_equal(read_class(*state, "nope"), ERR_NOT_FOUND);
}

static void paths_that_are_not_normal_are_refused(void **state)
{
    struct fixture *f = *state;
    static const char *const paths[] = {
        "", "/etc/passwd", "..", "../outside/secret", "a/../b", "a//b", "./a", "a/", "a/.", "a/.."};
    put(f, "a/b", "x");
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        assert_int_equal(read_class(f, paths[i]), ERR_USAGE);
}

static void git_is_refused_in_any_case_and_at_any_depth(void **state)
{
    struct fixture *f = *state;
    static const char *const paths[] = {".git", ".git/config", "sub/.git/config", ".GIT/config",
                                        "sub/.gIt/x"};
    put(f, ".git/config", "x");
    put(f, "sub/.git/config", "x");
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        assert_int_equal(read_class(f, paths[i]), ERR_DENIED);
    put(f, ".gitignore", "x");
    put(f, ".github/x", "x");
    assert_int_equal(read_class(f, ".gitignore"), ERR_NONE);
    assert_int_equal(read_class(f, ".github/x"), ERR_NONE);
}

static void a_link_inside_the_workspace_is_followed_for_reading(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct scope_file file;
    put(f, "real/deep/file", "x");
    assert_int_equal(symlink("real/deep", in_workspace(f, "dir")), 0);
    assert_int_equal(symlink("../dir/file", in_workspace(f, "real/link")), 0);
    assert_int_equal(
        scope_open_read(&f->scope, STR("real/link"), all, SCOPE_FOLLOW_LINKS, &file, &err), 0);
    assert_string_equal(file.path, "real/deep/file");
    close(file.fd);
}

static void a_link_that_leads_outside_is_refused(void **state)
{
    struct fixture *f = *state;
    char absolute[600];
    snprintf(absolute, sizeof absolute, "%s/outside", f->top);
    assert_int_equal(symlink("../outside", in_workspace(f, "relative")), 0);
    assert_int_equal(symlink(absolute, in_workspace(f, "absolute")), 0);
    assert_int_equal(symlink("../outside/secret", in_workspace(f, "file")), 0);
    assert_int_equal(symlink("/proc/self/root", in_workspace(f, "magic")), 0);
    assert_int_equal(read_class(f, "relative/secret"), ERR_DENIED);
    assert_int_equal(read_class(f, "absolute/secret"), ERR_DENIED);
    assert_int_equal(read_class(f, "file"), ERR_DENIED);
    assert_int_equal(read_class(f, "magic/etc/passwd"), ERR_DENIED);
}

static void a_link_into_git_is_refused(void **state)
{
    struct fixture *f = *state;
    put(f, ".git/config", "x");
    assert_int_equal(symlink(".git/config", in_workspace(f, "notes")), 0);
    assert_int_equal(symlink(".git", in_workspace(f, "dir")), 0);
    assert_int_equal(read_class(f, "notes"), ERR_DENIED);
    assert_int_equal(read_class(f, "dir/config"), ERR_DENIED);
}

static void a_link_out_of_the_allowed_paths_is_refused(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct scope_file file;
    const struct str paths[] = {STR("docs"), STR("lib")};
    const struct scope_allow allow = {paths, 2};
    put(f, "src/a.c", "x");
    put(f, "lib/b.c", "x");
    put(f, "docs/x", "x");
    assert_int_equal(symlink("../src/a.c", in_workspace(f, "docs/a")), 0);
    assert_int_equal(symlink("../lib/b.c", in_workspace(f, "docs/b")), 0);
    assert_int_equal(
        scope_open_read(&f->scope, STR("docs/a"), allow, SCOPE_FOLLOW_LINKS, &file, &err), -1);
    assert_int_equal(err.class, ERR_DENIED);
    assert_contains(err.message, "allowed: docs, lib");
    assert_int_equal(
        scope_open_read(&f->scope, STR("docs/b"), allow, SCOPE_FOLLOW_LINKS, &file, &err), 0);
    close(file.fd);
}

static void links_in_a_circle_end(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(symlink("b", in_workspace(f, "a")), 0);
    assert_int_equal(symlink("a", in_workspace(f, "b")), 0);
    assert_int_equal(read_class(f, "a"), ERR_DENIED);
}

static void links_are_refused_where_the_caller_says_so(void **state)
{
    struct fixture *f = *state;
    struct err err;
    put(f, "file", "x");
    assert_int_equal(symlink("file", in_workspace(f, "link")), 0);
    assert_int_equal(try_read(f, "link", SCOPE_REFUSE_LINKS, &err), ERR_DENIED);
}

static void a_fifo_a_socket_and_a_device_are_refused_without_waiting(void **state)
{
    struct fixture *f = *state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_int_equal(mkfifo(in_workspace(f, "fifo"), 0600), 0);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%.80s/s", f->workspace);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(read_class(f, "fifo"), ERR_DENIED);
    assert_int_equal(read_class(f, "s"), ERR_DENIED);
    close(fd);
    /* Only root can make a device; /dev is one for everybody. */
    struct err err = ERR_INIT;
    struct scope devices;
    struct scope_file file;
    assert_int_equal(scope_open(&devices, "/dev", &err), 0);
    assert_int_equal(scope_open_read(&devices, STR("null"), all, SCOPE_FOLLOW_LINKS, &file, &err),
                     -1);
    assert_int_equal(err.class, ERR_DENIED);
    scope_close(&devices);
}

static void a_file_system_that_shows_the_kernel_is_refused(void **state)
{
    struct scope scope;
    struct scope_file file;
    struct stat status;
    struct err err = ERR_INIT;
    assert_int_equal(scope_open(&scope, "/", &err), 0);
    assert_int_equal(
        scope_open_read(&scope, STR("etc/passwd"), all, SCOPE_REFUSE_LINKS, &file, &err), 0);
    close(file.fd);
    assert_int_equal(
        scope_open_read(&scope, STR("proc/1/environ"), all, SCOPE_REFUSE_LINKS, &file, &err), -1);
    assert_int_equal(
        scope_open_read(&scope, STR("proc/version"), all, SCOPE_REFUSE_LINKS, &file, &err), -1);
    assert_int_equal(err.class, ERR_DENIED);
    assert_int_equal(scope_open_dir(&scope, STR("proc"), all, SCOPE_REFUSE_LINKS, &file, &err), -1);
    assert_int_equal(scope_open_entry(&scope, scope.fd, "proc", O_DIRECTORY, &status), -1);
    int directory = scope_open_beneath(scope.fd, "proc", O_PATH | O_DIRECTORY);
    assert_int_equal(scope_check_directory(&scope, directory, &err), -1);
    close(directory);
    scope_close(&scope);
}

static void a_directory_is_told_apart_from_a_file(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct scope_file file;
    put(f, "dir/file", "x");
    assert_int_equal(read_class(f, "dir"), ERR_USAGE);
    assert_int_equal(
        scope_open_dir(&f->scope, STR("dir/file"), all, SCOPE_FOLLOW_LINKS, &file, &err), -1);
    assert_int_equal(err.class, ERR_USAGE);
    assert_int_equal(scope_open_dir(&f->scope, STR("dir"), all, SCOPE_FOLLOW_LINKS, &file, &err),
                     0);
    close(file.fd);
}

static void overlong_paths_and_names_are_refused(void **state)
{
    struct fixture *f = *state;
    char path[5000];
    memset(path, 'a', sizeof path);
    path[256] = '\0';
    assert_int_equal(read_class(f, path), ERR_USAGE);
    for (size_t i = 0; i < 4200; i++)
        path[i] = i % 2 ? '/' : 'a';
    path[4199] = '\0';
    assert_int_equal(read_class(f, path), ERR_USAGE);
}

/* In a process where openat2 fails as the kernel or a filter would let it. Exit status 0:
 * refused in words. */
static int open_without_openat2(const char *workspace, unsigned number)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | number),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {4, filter};
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        struct err err = ERR_INIT;
        struct scope scope;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
            _exit(2);
        int opened = scope_open(&scope, workspace, &err);
        _exit(opened == -1 && err.class == ERR_CONFIG && strstr(err.message, "openat2") ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void a_kernel_without_openat2_is_refused_in_words(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(open_without_openat2(f->workspace, ENOSYS), 0);
    assert_int_equal(open_without_openat2(f->workspace, EPERM), 0);
}

/* --- text ------------------------------------------------------------------------------------- */

static const char *normal(struct fixture *f, const char *base, struct str path, struct err *err)
{
    struct str out = STR_NONE;
    *err = ERR_INIT;
    return scope_path(&f->scope, &f->arena, str_from(base), path, &out, err) == 0 ? out.p : NULL;
}

static void relative_paths_start_at_the_base(void **state)
{
    struct err err;
    assert_string_equal(normal(*state, "src", STR("a/./b"), &err), "src/a/b");
    assert_string_equal(normal(*state, "src", STR("../x"), &err), "x");
    assert_string_equal(normal(*state, ".", STR("."), &err), ".");
    assert_null(normal(*state, "src", STR("../../x"), &err));
    assert_int_equal(err.class, ERR_DENIED);
}

static void absolute_paths_inside_become_relative_and_others_are_refused(void **state)
{
    struct fixture *f = *state;
    struct err err;
    char evil[400];
    assert_string_equal(normal(f, "src", str_from(in_workspace(f, "a/b")), &err), "a/b");
    assert_string_equal(normal(f, "src", str_from(f->workspace), &err), ".");
    snprintf(evil, sizeof evil, "%s-evil/x", f->workspace);
    assert_null(normal(f, ".", str_from(evil), &err));
    assert_int_equal(err.class, ERR_DENIED);
    assert_null(normal(f, ".", STR("/etc/passwd"), &err));
    assert_null(normal(f, ".", str_from(in_workspace(f, "../outside/secret")), &err));
    assert_int_equal(err.class, ERR_DENIED);
}

static void nul_and_empty_paths_are_refused(void **state)
{
    struct err err;
    assert_null(normal(*state, ".", STR("a\0b"), &err));
    assert_int_equal(err.class, ERR_USAGE);
    assert_null(normal(*state, ".", STR(""), &err));
    assert_int_equal(err.class, ERR_USAGE);
}

static void allowed_paths_are_compared_by_components(void **state)
{
    (void)state;
    const struct str paths[] = {STR("src/auth")};
    const struct scope_allow allow = {paths, 1};
    const struct scope_allow none = {NULL, 0};
    struct err err = ERR_INIT;
    assert_int_equal(scope_check(STR("src/auth"), allow, &err), 0);
    assert_int_equal(scope_check(STR("src/auth/a"), allow, &err), 0);
    assert_int_equal(scope_check(STR("src/auth-evil/a"), allow, &err), -1);
    assert_int_equal(scope_check(STR("src"), allow, &err), -1);
    assert_int_equal(scope_check(STR("src"), none, &err), -1);
}

/* --- denied directories ----------------------------------------------------------------------- */

static void nothing_in_a_denied_directory_opens(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    struct scope_file file;
    struct place place;
    put(f, "state/cadre/cadre.db", "x");
    put(f, "state/cadre/blobs/b", "x");
    put(f, "state/other", "x");
    assert_int_equal(symlink("state/cadre", in_workspace(f, "way")), 0);
    assert_int_equal(scope_deny(&f->scope, in_workspace(f, "state/cadre"), &err), 0);
    assert_int_equal(read_class(f, "state/cadre/cadre.db"), ERR_DENIED);
    assert_int_equal(read_class(f, "state/cadre/blobs/b"), ERR_DENIED);
    assert_int_equal(read_class(f, "way/cadre.db"), ERR_DENIED);
    assert_int_equal(read_class(f, "state/other"), ERR_NONE);
    assert_int_equal(
        scope_open_dir(&f->scope, STR("state/cadre"), all, SCOPE_FOLLOW_LINKS, &file, &err), -1);
    assert_int_equal(scope_open_dir(&f->scope, STR("way"), all, SCOPE_FOLLOW_LINKS, &file, &err),
                     -1);
    assert_int_equal(
        place_open(&place, &f->scope, STR("state/cadre/x"), all, PLACE_MAKES_PARENTS, &err), -1);
    assert_int_equal(err.class, ERR_DENIED);
    assert_int_equal(
        place_open(&place, &f->scope, STR("state/cadre/new/x"), all, PLACE_MAKES_PARENTS, &err),
        -1);
    assert_int_equal(access(in_workspace(f, "state/cadre/new"), F_OK), -1);
}

static void renaming_a_denied_directory_does_not_open_it(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    put(f, "store/cadre.db", "x");
    assert_int_equal(scope_deny(&f->scope, in_workspace(f, "store"), &err), 0);
    assert_int_equal(rename(in_workspace(f, "store"), in_workspace(f, "harmless")), 0);
    assert_int_equal(read_class(f, "harmless/cadre.db"), ERR_DENIED);
}

static void denying_a_directory_above_the_scope_denies_nothing(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    put(f, "sub/file", "x");
    assert_int_equal(scope_deny(&f->scope, f->top, &err), 0);
    assert_int_equal(read_class(f, "sub/file"), ERR_NONE);
}

/* --- writing ---------------------------------------------------------------------------------- */

static int write_at(struct fixture *f, const char *path, const char *text,
                    enum place_expects expects, struct err *err)
{
    struct place place;
    *err = ERR_INIT;
    if (place_open(&place, &f->scope, str_from(path), all, PLACE_MAKES_PARENTS, err) != 0)
        return -1;
    int result = place_write(&place, str_from(text), expects, STR("call"), err);
    place_close(&place);
    return result;
}

static int count_entries(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status, (void)kind;
    return strstr(path + at->base, ".cadre-") ? 1 : 0;
}

static void assert_no_temporary_files(struct fixture *f)
{
    assert_int_equal(nftw(f->top, count_entries, 16, FTW_PHYS), 0);
}

static void a_new_file_is_written_with_its_directories(void **state)
{
    struct fixture *f = *state;
    struct err err;
    assert_int_equal(write_at(f, "a/b/c/new", "text", PLACE_EXPECTS_NOTHING, &err), 0);
    assert_string_equal(content_of(f, "a/b/c/new"), "text");
    assert_no_temporary_files(f);
}

static void a_replaced_file_keeps_its_mode_but_no_set_user_id(void **state)
{
    struct fixture *f = *state;
    struct err err;
    struct stat status;
    put(f, "tool.sh", "old");
    assert_int_equal(chmod(in_workspace(f, "tool.sh"), 04751), 0);
    assert_int_equal(write_at(f, "tool.sh", "new", PLACE_EXPECTS_FILE, &err), 0);
    assert_int_equal(stat(in_workspace(f, "tool.sh"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0751);
    assert_string_equal(content_of(f, "tool.sh"), "new");
}

static void a_reader_that_has_the_old_file_open_never_sees_the_new_one_half_written(void **state)
{
    struct fixture *f = *state;
    struct err err;
    char bytes[16] = {0};
    put(f, "file", "old text");
    int fd = open(in_workspace(f, "file"), O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(write_at(f, "file", "new", PLACE_EXPECTS_FILE, &err), 0);
    assert_int_equal(read(fd, bytes, sizeof bytes), 8);
    assert_string_equal(bytes, "old text");
    close(fd);
}

static void a_file_that_appeared_meanwhile_is_not_replaced(void **state)
{
    struct fixture *f = *state;
    struct err err;
    put(f, "file", "theirs");
    assert_int_equal(write_at(f, "file", "ours", PLACE_EXPECTS_NOTHING, &err), -1);
    assert_int_equal(err.class, ERR_DENIED);
    assert_string_equal(content_of(f, "file"), "theirs");
    assert_no_temporary_files(f);
}

static void links_are_neither_followed_nor_replaced_by_writing(void **state)
{
    struct fixture *f = *state;
    struct err err;
    assert_int_equal(symlink("../outside", in_workspace(f, "out")), 0);
    assert_int_equal(symlink("../outside/secret", in_workspace(f, "file")), 0);
    assert_int_equal(write_at(f, "out/secret", "x", PLACE_EXPECTS_FILE, &err), -1);
    assert_int_equal(err.class, ERR_DENIED);
    assert_int_equal(write_at(f, "out/a/b/c", "x", PLACE_EXPECTS_NOTHING, &err), -1);
    assert_int_equal(write_at(f, "file", "x", PLACE_EXPECTS_FILE, &err), -1);
    assert_int_equal(err.class, ERR_DENIED);
    assert_string_equal(content_of(f, "../outside/secret"), SECRET);
    assert_int_equal(access(in_workspace(f, "../outside/a"), F_OK), -1);
    assert_no_temporary_files(f);
}

static void writing_in_git_is_refused(void **state)
{
    struct fixture *f = *state;
    struct err err;
    put(f, ".git/config", "x");
    assert_int_equal(write_at(f, ".git/hooks/pre-commit", "x", PLACE_EXPECTS_NOTHING, &err), -1);
    assert_int_equal(write_at(f, "new/.Git/config", "x", PLACE_EXPECTS_NOTHING, &err), -1);
    assert_int_equal(err.class, ERR_DENIED);
    assert_int_equal(access(in_workspace(f, "new"), F_OK), -1);
}

static void a_failed_write_leaves_no_temporary_file(void **state)
{
    struct fixture *f = *state;
    struct err err;
    struct place place;
    put(f, "dir/x", "x");
    assert_int_equal(place_open(&place, &f->scope, STR("target"), all, PLACE_NEEDS_PARENTS, &err),
                     0);
    /* A name that a file system refuses only at the rename: a directory that is not empty. */
    assert_int_equal(mkdir(in_workspace(f, "target"), 0777), 0);
    assert_int_equal(place_write(&place, STR("text"), PLACE_EXPECTS_NOTHING, STR("call"), &err),
                     -1);
    assert_int_equal(place_write(&place, STR("text"), PLACE_EXPECTS_FILE, STR("call"), &err), -1);
    place_close(&place);
    assert_no_temporary_files(f);
}

/* --- small things ----------------------------------------------------------------------------- */

static void the_monotonic_clock_does_not_go_back(void **state)
{
    (void)state;
    int64_t before = clock_monotonic_ms();
    assert_true(clock_monotonic_ms() >= before);
    assert_true(clock_now_ms() > INT64_C(1600000000000));
}

static void random_bytes_fill_all_of_the_buffer(void **state)
{
    (void)state;
    unsigned char bytes[1000], seen[1000] = {0};
    for (int round = 0; round < 8; round++) {
        random_bytes(bytes, sizeof bytes);
        for (size_t i = 0; i < sizeof bytes; i++)
            seen[i] |= bytes[i];
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        assert_int_not_equal(seen[i], 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

/* --- scopes that rest ------------------------------------------------------------------------- */

static void a_scope_that_rested_opens_the_same_directory(void **state)
{
    struct fixture *f = *state;
    struct scope scope, again;
    struct scope_file file;
    struct err err = ERR_INIT;
    put(f, "tree/a", "x");
    assert_int_equal(scope_open(&scope, in_workspace(f, "tree"), &err), 0);
    assert_int_equal(scope_show_as(&scope, "/seen/by/agents", &err), 0);
    scope_rest(&scope);
    assert_int_equal(scope.fd, -1);
    assert_int_equal(scope_open_again(&again, &scope, &err), 0);
    assert_string_equal(scope_shown(&again), "/seen/by/agents");
    assert_int_equal(scope_open_read(&again, STR("a"), all, SCOPE_FOLLOW_LINKS, &file, &err), 0);
    close(file.fd);
    scope_close(&again);
    scope_close(&scope);
}

static void a_directory_that_was_swapped_while_its_scope_rested_is_refused(void **state)
{
    struct fixture *f = *state;
    struct scope scope, again;
    struct err err = ERR_INIT;
    put(f, "tree/a", "x");
    put(f, "other/a", "y");
    assert_int_equal(scope_open(&scope, in_workspace(f, "tree"), &err), 0);
    scope_rest(&scope);
    assert_int_equal(rename(in_workspace(f, "tree"), in_workspace(f, "moved")), 0);
    assert_int_equal(scope_open_again(&again, &scope, &err), -1);
    assert_int_equal(err.class, ERR_NOT_FOUND);
    assert_int_equal(rename(in_workspace(f, "other"), in_workspace(f, "tree")), 0);
    err = ERR_INIT;
    assert_int_equal(scope_open_again(&again, &scope, &err), -1);
    assert_int_equal(err.class, ERR_DENIED);
    assert_int_equal(rename(in_workspace(f, "tree"), in_workspace(f, "other")), 0);
    assert_int_equal(symlink(in_workspace(f, "moved"), in_workspace(f, "tree")), 0);
    err = ERR_INIT;
    assert_int_equal(scope_open_again(&again, &scope, &err), -1);
    scope_close(&scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_scope_that_rested_opens_the_same_directory),
        TEST(a_directory_that_was_swapped_while_its_scope_rested_is_refused),
        TEST(a_regular_file_opens),
        TEST(a_missing_file_is_not_found),
        TEST(paths_that_are_not_normal_are_refused),
        TEST(git_is_refused_in_any_case_and_at_any_depth),
        TEST(a_link_inside_the_workspace_is_followed_for_reading),
        TEST(a_link_that_leads_outside_is_refused),
        TEST(a_link_into_git_is_refused),
        TEST(a_link_out_of_the_allowed_paths_is_refused),
        TEST(links_in_a_circle_end),
        TEST(links_are_refused_where_the_caller_says_so),
        TEST(a_fifo_a_socket_and_a_device_are_refused_without_waiting),
        TEST(a_file_system_that_shows_the_kernel_is_refused),
        TEST(a_directory_is_told_apart_from_a_file),
        TEST(overlong_paths_and_names_are_refused),
        TEST(a_kernel_without_openat2_is_refused_in_words),
        TEST(relative_paths_start_at_the_base),
        TEST(absolute_paths_inside_become_relative_and_others_are_refused),
        TEST(nul_and_empty_paths_are_refused),
        TEST(allowed_paths_are_compared_by_components),
        TEST(nothing_in_a_denied_directory_opens),
        TEST(renaming_a_denied_directory_does_not_open_it),
        TEST(denying_a_directory_above_the_scope_denies_nothing),
        TEST(a_new_file_is_written_with_its_directories),
        TEST(a_replaced_file_keeps_its_mode_but_no_set_user_id),
        TEST(a_reader_that_has_the_old_file_open_never_sees_the_new_one_half_written),
        TEST(a_file_that_appeared_meanwhile_is_not_replaced),
        TEST(links_are_neither_followed_nor_replaced_by_writing),
        TEST(writing_in_git_is_refused),
        TEST(a_failed_write_leaves_no_temporary_file),
        TEST(the_monotonic_clock_does_not_go_back),
        TEST(random_bytes_fill_all_of_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
