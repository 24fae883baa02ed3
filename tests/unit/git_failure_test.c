/* What the machine and other people do to a run: a full disk, locks of another git, refs and checkouts that somebody moved or removed. Each is
 * told with what to do, changes nothing, and the same step works when the trouble is over. */
#include <sys/resource.h>

#include "unit/git_fixture.h"

/* No file may grow beyond this, for git too: as a full disk, for those who may not mount one. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static struct git_agent (*const roots[])(struct git_room *room, const char *run) = {root_make,
                                                                                    root_users};

static void a_commit_that_does_not_fit_is_told_and_changes_nothing(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_merged merged;
    struct git_agent root = root_make(room, "r1"), kid = child_make(room, &root, "kid");
    shell(room, "head -c 300000 /dev/urandom > %s/big", kid.path);
    limit_files(100000);
    int result = child_begin(room, &kid, &merged, &err);
    limit_files(RLIM_INFINITY);
    must_fail(result, &err, ERR_IO, "");
    check_str(kid.request.base, shell(room, "git rev-parse cadre/r1/kid"));
    assert_int_equal(child_merge(room, &kid).outcome, VCS_FAST_FORWARD);
}

static void a_merge_that_does_not_fit_is_taken_back(void **state)
{
    struct git_room *room = *state;
    for (size_t i = 0; i < 2; i++) {
        struct err err = ERR_INIT;
        struct vcs_merged merged;
        struct git_agent root = roots[i](room, i == 0 ? "r1" : "r2"),
                         kid = child_make(room, &root, "kid");
        shell(room, "cd %s; echo kid >> a.txt; yes | head -c 3000000 > big; rm b.txt", kid.path);
        must(child_begin(room, &kid, &merged, &err), &err);
        limit_files(1000000);
        int result = child_end(room, &kid, &merged, &err);
        limit_files(RLIM_INFINITY);
        must_fail(result, &err, ERR_IO, "");
        struct git_agent late = child_make(room, &root, "late");
        assert_true(str_eq(late.request.base, merged.from));
        assert_string_equal(
            shell(room, "cd %s; ls; tail -1 a.txt; git for-each-ref refs/cadre/*/merge", root.path),
            "a.txt\nb.txt\nsrc\nthree");
        assert_int_equal(child_merge(room, &kid).outcome, VCS_FAST_FORWARD);
        assert_string_equal(shell(room, "cd %s; ls; tail -1 a.txt", root.path),
                            "a.txt\nbig\nsrc\nkid");
    }
}

static void a_locked_branch_says_to_try_again(void **state)
{
    struct git_room *room = *state;
    static const char *const locks[] = {"refs/heads/cadre/r1/result.lock", "packed-refs.lock"};
    struct git_agent root = root_make(room, "r1");
    for (size_t i = 0; i < 2; i++) {
        struct err err = ERR_INIT;
        struct vcs_merged merged;
        struct git_agent kid = child_make(room, &root, "kid");
        shell(room, "echo kid >> %s/a.txt", kid.path);
        must(child_begin(room, &kid, &merged, &err), &err);
        shell(room, "touch .git/%s", locks[i]);
        must_fail(child_end(room, &kid, &merged, &err), &err, ERR_RETRY, "another git");
        shell(room, "rm .git/%s", locks[i]);
        child_merge(room, &kid);
        assert_string_equal(
            shell(room, "grep -c kid %s/a.txt; git for-each-ref refs/cadre/r1/merge", root.path),
            i == 0 ? "1" : "2");
    }
}

static void the_users_lock_does_not_stop_a_run(void **state)
{
    struct git_room *room = *state;
    shell(room, "echo dirty > d; touch .git/index.lock");
    for (size_t i = 0; i < 2; i++) {
        struct git_agent root = roots[i](room, i == 0 ? "r1" : "r2"),
                         kid = child_make(room, &root, "kid");
        shell(room, "echo kid >> %s/a.txt", kid.path);
        assert_int_equal(child_merge(room, &kid).outcome, VCS_FAST_FORWARD);
        agent_remove(room, &kid);
        agent_remove(room, &root);
    }
    shell(room, "test -f .git/index.lock");
}

static void a_base_that_the_user_left_behind_stays(void **state)
{
    struct git_room *room = *state;
    struct git_agent root = root_make(room, "r1"), kid = child_make(room, &root, "kid");
    shell(room, "echo kid >> %s/a.txt", kid.path);
    shell(room, "git checkout -q --orphan other; git commit -qm other; git branch -D main; "
                "git reflog expire --expire=now --all; git gc -q --prune=now");
    struct err err = ERR_INIT;
    struct git_agent again = agent_named(room, "r1", &root, "again");
    again.request.base = kid.request.base;
    must(agent_isolate(room, &again, &err), &err);
    assert_int_equal(child_merge(room, &kid).outcome, VCS_FAST_FORWARD);
    struct vcs_applied applied;
    struct vcs_apply_request apply = {room_ws(room), STR("r1"), root.request.base, NULL};
    must(room->vcs.port.apply(room->vcs.port.self, &room->arena, &apply, &applied, &err), &err);
    assert_int_equal(applied.outcome, VCS_APPLIED);
    assert_int_equal(applied.way, VCS_BY_FILES);
    assert_string_equal(shell(room, "git log --format=%%s; tail -1 a.txt"), "other\nkid");
}

static void what_is_lost_with_a_checkout_is_told(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_merged merged;
    struct vcs_kept kept;
    struct git_agent root = root_make(room, "r1"), kid = child_make(room, &root, "kid"),
                     late = agent_named(room, "r1", &root, "late");
    static const char *const part = "lost, what was is on the branch cadre/r1/";
    shell(room, "rm -rf %s", kid.path);
    must_fail(child_begin(room, &kid, &merged, &err), &err, ERR_NOT_FOUND, part);
    must_fail(room->vcs.port.keep(room->vcs.port.self, &room->arena, &kid.request, &kept, &err),
              &err, ERR_NOT_FOUND, part);
    agent_remove(room, &kid);
    shell(room, "rm -rf %s", root.path);
    must_fail(agent_isolate(room, &late, &err), &err, ERR_NOT_FOUND, part);
    agent_remove(room, &root);
    assert_string_equal(shell(room, "git for-each-ref refs/heads/cadre; "
                                    "cd $TOP/state/repositories/*; find trees worktrees"),
                        "trees\nworktrees");
}

static void a_directory_may_become_a_link(void **state)
{
    struct git_room *room = *state;
    for (size_t i = 0; i < 2; i++) {
        shell(room, "git checkout -q -f main; git clean -qfd");
        struct git_agent root = roots[i](room, i == 0 ? "r1" : "r2"),
                         kid = child_make(room, &root, "kid");
        shell(room, "cd %s; mkdir real; mv src/c.txt real; rmdir src; ln -s real src", kid.path);
        assert_int_equal(child_merge(room, &kid).outcome, VCS_FAST_FORWARD);
        assert_string_equal(shell(room, "cd %s; readlink src; cat real/c.txt", root.path),
                            "real\nsea");
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_commit_that_does_not_fit_is_told_and_changes_nothing),
        TEST(a_merge_that_does_not_fit_is_taken_back),
        TEST(a_locked_branch_says_to_try_again),
        TEST(the_users_lock_does_not_stop_a_run),
        TEST(a_base_that_the_user_left_behind_stays),
        TEST(what_is_lost_with_a_checkout_is_told),
        TEST(a_directory_may_become_a_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
