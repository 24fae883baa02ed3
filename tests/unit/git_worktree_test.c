/* git/base, git/worktree, git/commit, git/erase: where children start, what they may not bring, and that everything can be asked for again
 * after a crash. */
#include "unit/git_fixture.h"

static const char *const outcome_names[] = {"no changes", "fast-forward", "three-way", "conflict",
                                            "merged before"};

static void assert_outcome(const struct vcs_merged *merged, enum vcs_merge outcome)
{
    if (merged->outcome != outcome)
        fail_msg("%s instead of %s: %.*s", outcome_names[merged->outcome], outcome_names[outcome],
                 STR_FMT(merged->note));
}

/* --- bases ----------------------------------------------------------------------------------------------------------------------- */

static void uncommitted_changes_are_in_the_base_and_stay_where_they_are(void **state)
{
    struct git_room *room = *state;
    shell(room,
          "echo staged > s.txt; git add s.txt; echo edit >> a.txt; echo new > n.txt; rm b.txt; "
          "echo '*.o' > .git/info/exclude; echo o > x.o; mkdir .cadre; echo r > .cadre/r");
    const char *before =
        arena_copy(&room->arena,
                   str_from(shell(
                       room, "git status --porcelain; git rev-parse HEAD main; git write-tree")))
            .p;
    struct vcs_base base = run_base(room, "r1");
    assert_true(base.snapshot);
    struct vcs_tree_request one = tree_request(room, "r1", "one", base.commit);
    assert_string_equal(shell(room, "cd %s; ls -A; tail -1 a.txt", child_create(room, &one)),
                        ".git\na.txt\nn.txt\ns.txt\nsrc\nedit");
    assert_string_equal(
        shell(room, "git status --porcelain; git rev-parse HEAD main; git write-tree"), before);
    assert_true(str_eq(run_base(room, "r1").commit, base.commit)); /* asked again */
}

static void uncommitted_changes_can_be_refused(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_base base;
    struct vcs_base_request request = {
        .workspace = room_ws(room), .run = STR("r1"), .dirty = VCS_REFUSE, .now_ms = NOW_MS};
    shell(room, "echo new > n.txt");
    must_fail(room->vcs.port.base(room->vcs.port.self, &room->arena, &request, &base, &err), &err,
              ERR_DENIED, "uncommitted");
    shell(room, "rm n.txt; touch a.txt");
    must(room->vcs.port.base(room->vcs.port.self, &room->arena, &request, &base, &err), &err);
    assert_false(base.snapshot);
}

static void a_base_does_not_move_with_the_user(void **state)
{
    struct git_room *room = *state;
    struct vcs_base base = run_base(room, "r1");
    shell(room, "echo more >> a.txt; git commit -qam more");
    assert_true(str_eq(run_base(room, "r1").commit, base.commit));
}

/* --- what a child may not bring --------------------------------------------------------------------------------------------------- */

static void a_child_that_plants_something_is_refused(void **state)
{
    struct git_room *room = *state;
    static const char *const cases[][2] = {
        {"rm .git; mkdir .git; echo evil > .git/config", ".git was changed"},
        {"echo 'gitdir: /tmp' > .git", ".git was changed"},
        {"git init -q sub; git -C sub commit -q --allow-empty -m x", "a repository within"},
        {"mkdir -p deep/.git; echo 'ref: refs/heads/x' > deep/.git/HEAD; mkdir deep/.git/objects "
         "deep/.git/refs; echo x > deep/f",
         ""},
        {"printf '[submodule \"x\"]\\n' > .gitmodules", "submodules"},
        {"ln -s /etc/passwd p", "leads out"},
        {"ln -s ../../../x src/p", "leads out"},
        {"ln -s .git/config p", "leads into .git"},
        {"echo '* filter=x' > .gitattributes", "name a filter"},
        {"echo x > outside.txt", "outside.txt: it belongs to somebody else"},
        {"echo x >> a.txt; rm b.txt", "b.txt: it belongs to somebody else"},
    };
    static const struct str ownership[] = {{"src/**", 6}, {"a.txt", 5}, {".git*", 5},
                                           {"p", 1},      {"sub", 3},   {"sub/**", 6}};
    struct err err = ERR_INIT;
    struct vcs_collected collected;
    struct vcs_base base = run_base(room, "r1");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vcs_collect_request request = {.tree = tree_request(room, "r1", "kid", base.commit),
                                              .owns = VCS_OWNS_LISTED,
                                              .ownership = {ownership, 6},
                                              .write_paths = {everywhere, 1},
                                              .message = STR("m\n"),
                                              .now_ms = NOW_MS};
        shell(room, "cd %s; %s", child_create(room, &request.tree), cases[i][0]);
        must_fail(
            room->vcs.port.collect(room->vcs.port.self, &room->arena, &request, &collected, &err),
            &err, ERR_DENIED, cases[i][1]);
        assert_string_equal(shell(room, "git log --oneline cadre/r1/kid | wc -l"), "1");
    }
}

static void a_child_that_commits_by_itself_is_checked_as_well(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_collected collected;
    struct vcs_base base = run_base(room, "r1");
    struct vcs_tree_request kid = tree_request(room, "r1", "kid", base.commit);
    const char *path = child_create(room, &kid);
    shell(room, "cd %s; echo x >> a.txt; git commit -qam own; echo y >> a.txt", path);
    must(child_collect(room, &kid, &collected, &err), &err);
    assert_string_equal(shell(room, "git show cadre/r1/kid:a.txt | tail -2"), "x\ny");
    shell(room, "cd %s; ln -s /etc/passwd p; git add p; git commit -qm evil", path);
    must_fail(child_collect(room, &kid, &collected, &err), &err, ERR_DENIED, "leads out");
    shell(room,
          "cd %s; git checkout -q --orphan x; git commit -qm other; git branch -f cadre/r1/kid "
          "2>/dev/null || git update-ref refs/heads/cadre/r1/kid HEAD; git symbolic-ref HEAD "
          "refs/heads/cadre/r1/kid",
          path);
    assert_int_equal(child_collect(room, &kid, &collected, &err), -1);
}

static void a_child_commits_in_its_own_checkout(void **state)
{
    struct git_room *room = *state;
    static const struct str file[] = {{"a.txt", 5}};
    struct err err = ERR_INIT;
    struct vcs_commit commit;
    struct vcs_base base = run_base(room, "r1");
    struct vcs_tree_request kid = tree_request(room, "r1", "kid", base.commit);
    const char *path = child_create(room, &kid);
    shell(room, "echo x >> %s/a.txt; echo y >> %s/b.txt", path, path);
    struct vcs_commit_request request = {.workspace = str_from(path),
                                         .paths = {file, 1},
                                         .write_paths = {everywhere, 1},
                                         .message = STR("own\n"),
                                         .now_ms = NOW_MS};
    must(room->vcs.port.commit(room->vcs.port.self, &room->arena, &request, &commit, &err), &err);
    check_str(commit.branch, "cadre/r1/kid");
    assert_int_equal(child_merge(room, &kid).outcome, VCS_FAST_FORWARD);
    assert_string_equal(shell(room, "git log --format=%%s cadre/r1/result"),
                        "work of kid\nown\nfirst");
    assert_string_equal(shell(room, "git rev-parse main"), base.head.p);
}

static void refs_that_the_user_packed_are_found_and_removed(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_base base = run_base(room, "r1");
    struct vcs_tree_request kid = tree_request(room, "r1", "kid", base.commit),
                            idle = tree_request(room, "r1", "idle", base.commit);
    shell(room, "echo x >> %s/a.txt", child_create(room, &kid));
    child_create(room, &idle);
    shell(room, "git pack-refs --all; git gc -q");
    assert_int_equal(child_merge(room, &kid).outcome, VCS_FAST_FORWARD);
    must(room->vcs.port.remove(room->vcs.port.self, &idle, &err), &err);
    assert_string_equal(shell(room, "git for-each-ref --format='%%(refname)' refs/heads; "
                                    "test -f .git/packed-refs; cd $TOP/state/repositories/*; "
                                    "find . -maxdepth 1 -type l | wc -l"),
                        "refs/heads/cadre/r1/kid\nrefs/heads/cadre/r1/result\nrefs/heads/main\n6");
}

/* --- again, after a crash ------------------------------------------------------------------------------------------------------------ */

static void nothing_is_merged_twice(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_collected collected, again;
    struct vcs_base base = run_base(room, "r1");
    struct vcs_tree_request one = tree_request(room, "r1", "one", base.commit),
                            two = tree_request(room, "r1", "two", base.commit);
    shell(room, "echo 1 >> %s/b.txt", child_create(room, &one));
    shell(room, "echo 2 >> %s/a.txt", child_create(room, &two));
    child_merge(room, &one);
    must(child_collect(room, &two, &collected, &err), &err);
    must(child_collect(room, &two, &again, &err), &err);
    assert_true(str_eq(collected.commit, again.commit));
    struct vcs_merged merged = child_preview(room, &two, collected.commit);
    must(room->vcs.port.publish(room->vcs.port.self, &two, &merged, &err), &err);
    must(room->vcs.port.publish(room->vcs.port.self, &two, &merged, &err),
         &err); /* the crash came before its event */
    struct vcs_merged once_more = child_preview(room, &two, collected.commit);
    assert_outcome(&once_more, VCS_MERGED_BEFORE);
    assert_string_equal(shell(room, "git log --oneline cadre/r1/result | wc -l"), "4");
}

static void a_result_that_moved_is_not_overwritten(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_collected collected;
    struct vcs_base base = run_base(room, "r1");
    struct vcs_tree_request one = tree_request(room, "r1", "one", base.commit);
    shell(room, "echo 1 >> %s/b.txt", child_create(room, &one));
    must(child_collect(room, &one, &collected, &err), &err);
    struct vcs_merged merged = child_preview(room, &one, collected.commit);
    const char *other =
        arena_copy(&room->arena, str_from(shell(room, "git commit-tree -m x main^{tree} -p main")))
            .p;
    shell(room, "git update-ref refs/heads/cadre/r1/result %s", other);
    must_fail(room->vcs.port.publish(room->vcs.port.self, &one, &merged, &err), &err, ERR_RETRY,
              "");
    assert_string_equal(shell(room, "git rev-parse cadre/r1/result"), other);
}

static void half_made_checkouts_are_made_anew(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_base base = run_base(room, "r1");
    struct vcs_tree_request kid = tree_request(room, "r1", "kid", base.commit);
    const char *path = child_create(room, &kid);
    static const char *const wrecks[] = {
        "rm -rf $KID",
        "rm -f $KID/.git",
        "rm -rf $KID/src; echo x > $KID/left; touch $RECORD/index.lock",
        "mkdir -p $KID/locked/deep; chmod 0 $KID/locked/deep $KID/locked",
        "rm -rf $RECORD",
    };
    for (size_t i = 0; i < sizeof wrecks / sizeof wrecks[0]; i++) {
        shell(room, "KID=%s; RECORD=$(echo $TOP/state/repositories/*/worktrees/r1.kid); %s", path,
              wrecks[i]);
        child_create(room, &kid);
        assert_string_equal(shell(room, "cd %s; ls; git status --porcelain", path),
                            "a.txt\nb.txt\nsrc");
    }
    struct vcs_left *left;
    size_t count;
    must(room->vcs.port.list(room->vcs.port.self, &room->arena, &left, &count, &err), &err);
    assert_int_equal(count, 1);
    check_str(left[0].run, "r1");
    check_str(left[0].agent, "kid");
    check_str(left[0].path, path);
}

static void nothing_is_left_after_removal(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_base base = run_base(room, "r1");
    struct vcs_tree_request one = tree_request(room, "r1", "one", base.commit),
                            two = tree_request(room, "r1", "two", base.commit),
                            idle = tree_request(room, "r1", "idle", base.commit),
                            result_tree = tree_request(room, "r1", "result", base.commit);
    shell(room, "echo 1 > %s/b.txt", child_create(room, &one));
    shell(room, "echo 2 > %s/b.txt", child_create(room, &two));
    child_create(room, &idle);
    child_merge(room, &one);
    struct vcs_merged conflict = child_merge(room, &two);
    assert_outcome(&conflict, VCS_CONFLICT);
    const struct vcs_tree_request *all[] = {&one, &two, &idle, &result_tree, &idle};
    for (size_t i = 0; i < 5; i++)
        must(room->vcs.port.remove(room->vcs.port.self, all[i], &err), &err);
    /* What was not merged is kept, with the result. */
    assert_string_equal(shell(room, "git for-each-ref --format='%%(refname)' refs/heads"),
                        "refs/heads/cadre/r1/result\nrefs/heads/cadre/r1/two\nrefs/heads/main");
    assert_string_equal(shell(room, "cd $TOP/state/repositories/*; find trees worktrees; find . "
                                    "-name '*.lock' -o -name '*.index' -o -name '*.new'"),
                        "trees\nworktrees");
}

static void staging_again_cleans_what_checks_left(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_tree tree;
    struct vcs_base base = run_base(room, "r1");
    struct vcs_tree_request one = tree_request(room, "r1", "one", base.commit);
    shell(room, "echo '*.o' > %s/.gitignore", child_create(room, &one));
    struct vcs_merged merged = child_merge(room, &one);
    must(room->vcs.port.stage(room->vcs.port.self, &room->arena, &one, merged.to, &tree, &err),
         &err);
    shell(room,
          "cd %s; echo x > a.txt; rm b.txt; echo l > left; echo o > kept.o; git init -q nested",
          tree.path.p);
    must(room->vcs.port.stage(room->vcs.port.self, &room->arena, &one, merged.to, &tree, &err),
         &err);
    assert_string_equal(shell(room, "cd %s; ls -A; git status --porcelain", tree.path.p),
                        ".git\n.gitignore\na.txt\nb.txt\nkept.o\nsrc");
}

static void what_a_crash_left_is_listed_and_can_be_discarded(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_left *left;
    size_t count;
    void *self = room->vcs.port.self;
    must(room->vcs.port.list(self, &room->arena, &left, &count, &err), &err);
    assert_int_equal(count, 0);
    struct vcs_base base = run_base(room, "r1");
    struct vcs_tree_request kid = tree_request(room, "r1", "kid", base.commit);
    shell(room,
          "cd $TOP/state/repositories/*; touch -d '2 days ago' old.index; touch young.index; "
          "true %s",
          child_create(room, &kid));
    must(room->vcs.port.list(self, &room->arena, &left, &count, &err), &err);
    assert_int_equal(count, 1);
    check_str(left[0].workspace, room->ws);
    shell(room, "rm -rf $TOP/ws; mkdir $TOP/ws"); /* the repository itself is gone */
    must(room->vcs.port.discard(self, &left[0], &err), &err);
    must(room->vcs.port.discard(self, &left[0], &err), &err);
    assert_string_equal(shell(room, "cd $TOP/state/repositories/*; find trees worktrees"),
                        "trees\nworktrees");
    struct vcs_left other = {.path = room_ws(room)};
    must_fail(room->vcs.port.discard(self, &other, &err), &err, ERR_USAGE, "no checkout");
    assert_string_equal(shell(room, "test -d $TOP/ws; echo there"), "there");
}

static void a_forgotten_run_leaves_no_private_refs(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    shell(room, "echo dirty >> a.txt");
    run_base(room, "r1");
    run_base(room, "r2");
    must(room->vcs.port.forget(room->vcs.port.self, room_ws(room), STR("r1"), &err), &err);
    must(room->vcs.port.forget(room->vcs.port.self, room_ws(room), STR("r1"), &err), &err);
    assert_string_equal(shell(room, "git for-each-ref --format='%%(refname)' refs/cadre"),
                        "refs/cadre/r2/base\nrefs/cadre/r2/head");
}

static void a_checkout_that_somebody_removed_is_told(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_collected collected;
    struct vcs_base base = run_base(room, "r1");
    struct vcs_tree_request kid = tree_request(room, "r1", "kid", base.commit);
    shell(room, "rm -rf %s", child_create(room, &kid));
    must_fail(child_collect(room, &kid, &collected, &err), &err, ERR_NOT_FOUND, "is gone");
}

static void a_locked_ref_says_to_try_again(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_tree tree;
    struct vcs_base base = run_base(room, "r1");
    struct vcs_tree_request kid = tree_request(room, "r1", "kid", base.commit);
    shell(room, "mkdir -p .git/refs/heads/cadre/r1; touch .git/refs/heads/cadre/r1/kid.lock");
    must_fail(room->vcs.port.create(room->vcs.port.self, &room->arena, &kid, &tree, &err), &err,
              ERR_RETRY, "another git");
    shell(room, "rm .git/refs/heads/cadre/r1/kid.lock");
    child_create(room, &kid);
}

static void names_that_are_no_names_are_refused(void **state)
{
    struct git_room *room = *state;
    static const char *const names[] = {"", "..", "a/b", "a.b", "-x", "a b", "result"};
    struct vcs_base base = run_base(room, "r1");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct err err = ERR_INIT;
        struct vcs_tree tree;
        struct vcs_tree_request kid = tree_request(room, "r1", names[i], base.commit);
        must_fail(room->vcs.port.create(room->vcs.port.self, &room->arena, &kid, &tree, &err), &err,
                  ERR_USAGE, "");
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(uncommitted_changes_are_in_the_base_and_stay_where_they_are),
        TEST(uncommitted_changes_can_be_refused),
        TEST(a_base_does_not_move_with_the_user),
        TEST(a_child_that_plants_something_is_refused),
        TEST(a_child_that_commits_by_itself_is_checked_as_well),
        TEST(a_child_commits_in_its_own_checkout),
        TEST(refs_that_the_user_packed_are_found_and_removed),
        TEST(nothing_is_merged_twice),
        TEST(a_result_that_moved_is_not_overwritten),
        TEST(half_made_checkouts_are_made_anew),
        TEST(nothing_is_left_after_removal),
        TEST(staging_again_cleans_what_checks_left),
        TEST(what_a_crash_left_is_listed_and_can_be_discarded),
        TEST(a_forgotten_run_leaves_no_private_refs),
        TEST(a_checkout_that_somebody_removed_is_told),
        TEST(a_locked_ref_says_to_try_again),
        TEST(names_that_are_no_names_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
