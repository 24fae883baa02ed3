/* Children and merges in every kind of repository: unborn, detached, shallow, sparse, with submodules, large, and none at all. */
#include "unit/git_fixture.h"

static const char *result(struct git_room *room, const char *path)
{
    return shell(room, "git show 'cadre/r1/result:%s'", path);
}

/* --- kinds of repositories ------------------------------------------------------------------------------------------------------- */

/* Two children change files and are merged; the parent's files follow. */
static void works_with(struct git_room *room, struct git_agent root, const char *file)
{
    struct git_agent one = child_make(room, &root, "one"), two = child_make(room, &root, "two");
    shell(room, "echo new >> %s/%s", one.path, file);
    shell(room, "echo extra > %s/extra", two.path);
    struct vcs_merged merged = child_merge(room, &one);
    assert_outcome(&merged, VCS_FAST_FORWARD);
    merged = child_merge(room, &two);
    assert_outcome(&merged, VCS_THREE_WAY);
    assert_non_null(strstr(shell(room, "cat %s/%s", root.path, file), "new"));
    assert_string_equal(shell(room, "cat %s/extra", root.path), "extra");
    agent_remove(room, &one);
    agent_remove(room, &two);
}

/* With a root in the user's checkout, and with one in a checkout of its own, whose work stays on its branch; the first leaves what it did in
 * the user's files. */
static void works_here(struct git_room *room, const char *file)
{
    shell(room, "cp -a $TOP/ws $TOP/kept");
    struct git_agent users = root_users(room, "talk");
    works_with(room, users, file);
    agent_remove(room, &users);
    assert_string_equal(shell(room, "git for-each-ref refs/cadre refs/heads/cadre"), "");
    shell(room, "cmp .git/HEAD $TOP/kept/.git/HEAD; ! test -f .git/index || cmp .git/index "
                "$TOP/kept/.git/index; cd $TOP; rm -rf ws; mv kept ws");
    works_with(room, root_make(room, "r1"), file);
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
    struct git_agent root = root_make(room, "r1"), one = child_make(room, &root, "one");
    check_str(root.request.base, shell(room, "git rev-parse main")); /* nothing counts as removed */
    assert_string_equal(shell(room, "ls %s", one.path), "a.txt\nb.txt\nsrc");
    shell(room, "echo new >> %s/src/c.txt", one.path);
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
    struct git_agent root = root_users(room, "r1"), one = child_make(room, &root, "one"),
                     two = child_make(room, &root, "two");
    assert_string_equal(shell(room, "cmp a.txt %s/a.txt; cat %s/kept.o", one.path, one.path), "o");
    shell(room, "rm %s/sub/s; echo n > %s/n; echo x > %s/kept.o", one.path, one.path, two.path);
    struct vcs_merged merged = child_merge(room, &one);
    assert_outcome(&merged, VCS_FAST_FORWARD);
    merged = child_merge(room, &two);
    assert_outcome(&merged, VCS_THREE_WAY);
    assert_string_equal(shell(room, "ls -A; cat kept.o n"),
                        ".gitattributes\n.gitignore\na.txt\nkept.o\nn\nx\nn");
}

static void a_workspace_below_the_top(void **state)
{
    struct git_room *room = *state;
    struct err err = ERR_INIT;
    struct vcs_isolated made;
    struct vcs_merged merged;
    shell(room, "echo outside >> a.txt"); /* the user's, and not in the workspace */
    struct git_agent root = agent_named(room, "r1", NULL, VCS_RESULT), one, two;
    root.request.tree.workspace = arena_printf(&room->arena, "%s/src", room->ws);
    must(agent_isolate(room, &root, &err), &err);
    one = agent_named(room, "r1", &root, "one");
    one.request.tree.workspace = root.request.tree.workspace;
    two = one;
    two.request.tree.name = STR("two");
    struct vcs_isolate_request request = isolate_request(&one);
    must(room->vcs.port.isolate(room->vcs.port.self, &room->arena, &request, &made, &err), &err);
    one.request.base = made.base;
    must(agent_isolate(room, &two, &err), &err);
    assert_string_equal(
        shell(room, "echo 1 > %s/c.txt; tail -1 %s/a.txt", made.workspace.p, made.path.p),
        "outside");
    shell(room, "echo 2 > %s/src/c.txt", two.path);
    merged = child_merge(room, &one);
    assert_outcome(&merged, VCS_FAST_FORWARD);
    check_str(merged.files.items[0], "c.txt");
    merged = child_merge(room, &two);
    assert_outcome(&merged, VCS_CONFLICT);
    check_str(merged.conflicts.items[0], "c.txt");
    shell(room, "rm %s/src/c.txt; echo x > %s/b.txt", two.path, two.path);
    must_fail(child_begin(room, &two, &merged, &err), &err, ERR_DENIED, "outside the workspace");
}

static void many_files(void **state)
{
    struct git_room *room = *state;
    shell(room, "mkdir many; cd many; seq 1 10000 | xargs touch; git add .; git commit -qm many");
    struct git_agent root = root_make(room, "r1"), one = child_make(room, &root, "one");
    shell(room, "rm -r %s/many", one.path);
    struct vcs_merged merged = child_merge(room, &one);
    assert_outcome(&merged, VCS_FAST_FORWARD);
    assert_int_equal(merged.files.count, 10000);
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
        TEST(a_workspace_below_the_top),
        TEST(many_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
