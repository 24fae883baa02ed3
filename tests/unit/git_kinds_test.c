/* Children and merges in every kind of repository: unborn, detached, shallow, sparse, with submodules, large, and none at all. */
#include "unit/git_fixture.h"

static const char *const outcome_names[] = {"no changes", "fast-forward", "three-way", "conflict",
                                            "merged before"};

static void assert_outcome(const struct vcs_merged *merged, enum vcs_merge outcome)
{
    if (merged->outcome != outcome)
        fail_msg("%s instead of %s: %.*s", outcome_names[merged->outcome], outcome_names[outcome],
                 STR_FMT(merged->note));
}

static const char *result(struct git_room *room, const char *path)
{
    return shell(room, "git show 'cadre/r1/result:%s'", path);
}

/* --- kinds of repositories ------------------------------------------------------------------------------------------------------- */

/* A child changes a file and is merged. */
static void works_here(struct git_room *room, const char *file)
{
    struct vcs_base base = run_base(room, "r1");
    struct vcs_tree_request one = tree_request(room, "r1", "one", base.commit),
                            two = tree_request(room, "r1", "two", base.commit);
    shell(room, "echo new >> %s/%s", child_create(room, &one), file);
    shell(room, "echo extra > %s/extra", child_create(room, &two));
    struct vcs_merged merged = child_merge(room, &one);
    assert_outcome(&merged, VCS_FAST_FORWARD);
    merged = child_merge(room, &two);
    assert_outcome(&merged, VCS_THREE_WAY);
    assert_non_null(strstr(result(room, file), "new"));
}

static void an_unborn_branch(void **state)
{
    struct git_room *room = *state;
    shell(room, "git init -q -b main .; echo a > a.txt");
    works_here(room, "a.txt");
    assert_string_equal(shell(room, "git status --porcelain"), "?? a.txt");
}

static void an_unborn_branch_without_files(void **state)
{
    struct git_room *room = *state;
    shell(room, "git init -q -b main .");
    works_here(room, "a.txt");
}

static void a_detached_head(void **state)
{
    struct git_room *room = *state;
    shell(room, "git checkout -q --detach");
    works_here(room, "a.txt");
}

static void a_shallow_clone(void **state)
{
    struct git_room *room = *state;
    shell(room, "for i in 1 2 3; do echo $i > b.txt; git commit -qam $i; done; cd $TOP; "
                "git clone -q --depth 1 file://$TOP/ws shallow; rm -rf ws; mv shallow ws");
    works_here(room, "a.txt");
}

static void a_sparse_checkout_makes_sparse_children(void **state)
{
    struct git_room *room = *state;
    shell(room, "mkdir big; echo x > big/x; git add .; git commit -qm big; "
                "git sparse-checkout set --cone src");
    struct vcs_base base = run_base(room, "r1");
    assert_false(base.snapshot);
    struct vcs_tree_request one = tree_request(room, "r1", "one", base.commit);
    const char *path = child_create(room, &one);
    assert_string_equal(shell(room, "ls %s", path), "a.txt\nb.txt\nsrc");
    shell(room, "echo new >> %s/src/c.txt", path);
    struct vcs_merged merged = child_merge(room, &one);
    assert_outcome(&merged, VCS_FAST_FORWARD);
    assert_string_equal(result(room, "big/x"), "x");
}

static void submodules_are_left_as_they_are(void **state)
{
    struct git_room *room = *state;
    shell(room, "git init -q $TOP/module; git -C $TOP/module commit -q --allow-empty -m m; "
                "git -c protocol.file.allow=always submodule --quiet add $TOP/module module; "
                "git commit -qm module; echo dirty > module/new");
    works_here(room, "a.txt");
    assert_string_equal(shell(room, "git diff --name-only main cadre/r1/result"), "a.txt\nextra");
}

static void sha256(void **state)
{
    struct git_room *room = *state;
    shell(room, "git init -q --object-format=sha256 -b main .; echo a > a.txt; git add .; git "
                "commit -qm 1");
    works_here(room, "a.txt");
}

static void a_directory_without_git(void **state)
{
    struct git_room *room = *state;
    shell(room,
          "printf 'one\\r\\ntwo\\n' > a.txt; mkdir sub; echo s > sub/s; echo '*.o' > .gitignore; "
          "echo o > kept.o; echo '* text=auto eol=crlf' > .gitattributes");
    struct vcs_base base = run_base(room, "r1");
    assert_int_equal(base.strategy, VCS_COPY);
    struct vcs_tree_request one = tree_request(room, "r1", "one", base.commit),
                            two = tree_request(room, "r1", "two", base.commit);
    const char *a = child_create(room, &one), *b = child_create(room, &two);
    assert_string_equal(shell(room, "cmp a.txt %s/a.txt; cat %s/kept.o", a, a), "o");
    shell(room, "rm %s/sub/s; echo n > %s/n; echo x > %s/kept.o", a, a, b);
    struct vcs_merged merged = child_merge(room, &one);
    assert_outcome(&merged, VCS_FAST_FORWARD);
    merged = child_merge(room, &two);
    assert_outcome(&merged, VCS_THREE_WAY);
    struct err err = ERR_INIT;
    struct vcs_applied applied;
    struct vcs_apply_request apply = {room_ws(room), STR("r1"), base.commit, NULL};
    must(room->vcs.port.apply_files(room->vcs.port.self, &room->arena, &apply, base.commit,
                                    merged.to, &applied, &err),
         &err);
    assert_int_equal(applied.outcome, VCS_APPLIED);
    assert_string_equal(shell(room, "ls -A; cat kept.o n"),
                        ".gitattributes\n.gitignore\na.txt\nkept.o\nn\nx\nn");
}

static void many_files(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_collected collected;
    shell(room, "mkdir many; cd many; seq 1 10000 | xargs touch; git add .; git commit -qm many");
    struct vcs_base base = run_base(room, "r1");
    struct vcs_tree_request one = tree_request(room, "r1", "one", base.commit);
    shell(room, "rm -r %s/many", child_create(room, &one));
    must(child_collect(room, &one, &collected, &err), &err);
    assert_int_equal(collected.files.count, 10000);
    struct vcs_merged merged = child_preview(room, &one, collected.commit);
    assert_outcome(&merged, VCS_FAST_FORWARD);
    must(room->vcs.port.publish(room->vcs.port.self, &one, &merged, &err), &err);
    assert_string_equal(shell(room, "git ls-tree --name-only cadre/r1/result"),
                        "a.txt\nb.txt\nsrc");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, room_setup, room_teardown)
#define EMPTY(name) cmocka_unit_test_setup_teardown(name, room_setup_empty, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMPTY(an_unborn_branch),
        EMPTY(an_unborn_branch_without_files),
        TEST(a_detached_head),
        TEST(a_shallow_clone),
        TEST(a_sparse_checkout_makes_sparse_children),
        TEST(submodules_are_left_as_they_are),
        EMPTY(sha256),
        EMPTY(a_directory_without_git),
        TEST(many_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
