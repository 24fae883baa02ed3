/* git/worktree, git/commit, git/merge: children apart from each other, their work checked and brought together, in every kind of
 * repository. */
#include "unit/git_fixture.h"

/* Two children of one base change files with these scripts, in their checkouts; both are merged, in order. */
static struct vcs_merged both(struct git_room *room, const char *first, const char *second)
{
    struct git_agent root = root_make(room, "r1"), one = child_make(room, &root, "one"),
                     two = child_make(room, &root, "two");
    shell(room, "cd %s; %s", one.path, first);
    shell(room, "cd %s; %s", two.path, second);
    struct vcs_merged merged = child_merge(room, &one);
    assert_outcome(&merged, VCS_FAST_FORWARD);
    return child_merge(room, &two);
}

static const char *result(struct git_room *room, const char *path)
{
    return shell(room, "git show 'cadre/r1/result:%s'", path);
}

/* --- two children ------------------------------------------------------------------------------------------------------------ */

static void disjoint_edits_come_together(void **state)
{
    struct git_room *room = *state;
    struct vcs_merged merged = both(room, "echo 1 >> b.txt", "echo 2 >> src/c.txt; echo n > new");
    assert_outcome(&merged, VCS_THREE_WAY);
    assert_string_equal(result(room, "b.txt"), "bee\n1");
    assert_string_equal(result(room, "src/c.txt"), "sea\n2");
    assert_string_equal(shell(room, "git status --porcelain; cat b.txt"),
                        "bee"); /* the user's tree */
    assert_string_equal(shell(room, "git log --format=%%p cadre/r1/result -1 | wc -w"), "2");
}

static void edits_of_one_line_conflict_and_change_nothing(void **state)
{
    struct git_room *room = *state;
    struct vcs_merged merged =
        both(room, "sed -i s/two/TWO/ a.txt", "sed -i s/two/2/ a.txt; echo x > b.txt");
    assert_outcome(&merged, VCS_CONFLICT);
    assert_int_equal(merged.conflicts.count, 1);
    check_str(merged.conflicts.items[0], "a.txt");
    assert_non_null(strstr(merged.note.p, "a.txt"));
    assert_string_equal(result(room, "a.txt"), "one\nTWO\nthree");
    assert_string_equal(shell(room, "git show cadre/r1/two:b.txt"), "x"); /* kept, to look at */
}

static void a_rename_and_an_edit_meet(void **state)
{
    struct git_room *room = *state;
    struct vcs_merged merged = both(room, "mv a.txt moved.txt", "sed -i s/three/3/ a.txt");
    assert_outcome(&merged, VCS_THREE_WAY);
    assert_string_equal(result(room, "moved.txt"), "one\ntwo\n3");
}

static void a_deletion_and_an_edit_conflict(void **state)
{
    struct git_room *room = *state;
    struct vcs_merged merged = both(room, "rm a.txt", "echo four >> a.txt");
    assert_outcome(&merged, VCS_CONFLICT);
    check_str(merged.conflicts.items[0], "a.txt");
}

static void a_deletion_is_carried_over(void **state)
{
    struct git_room *room = *state;
    struct vcs_merged merged = both(room, "echo 1 >> b.txt", "rm -r src");
    assert_outcome(&merged, VCS_THREE_WAY);
    assert_string_equal(shell(room, "git ls-tree -r --name-only cadre/r1/result"), "a.txt\nb.txt");
}

static void a_mode_change_is_carried_over(void **state)
{
    struct git_room *room = *state;
    struct vcs_merged merged = both(room, "echo 1 >> b.txt", "chmod +x b.txt");
    assert_outcome(&merged, VCS_THREE_WAY);
    assert_non_null(strstr(shell(room, "git ls-tree cadre/r1/result b.txt"), "100755"));
    assert_string_equal(result(room, "b.txt"), "bee\n1");
}

static void binary_files_conflict_whole(void **state)
{
    struct git_room *room = *state;
    shell(room, "printf 'a\\0b' > bin; git add bin; git commit -qm bin");
    struct vcs_merged merged = both(room, "printf 'a\\0c' > bin", "printf 'a\\0d' > bin");
    assert_outcome(&merged, VCS_CONFLICT);
    check_str(merged.conflicts.items[0], "bin");
    assert_int_equal(merged.conflicts.count, 1);
}

static void names_are_bytes(void **state)
{
    struct git_room *room = *state;
    struct vcs_merged merged =
        both(room, "printf 1 > \"$(printf 'new\\nline')\"; printf 2 > 'gr\303\274n \"q\"'",
             "printf 3 > \"$(printf 'bad\\377')\"");
    assert_outcome(&merged, VCS_THREE_WAY);
    assert_string_equal(result(room, "gr\303\274n \"q\""), "2");
    assert_string_equal(shell(room, "git ls-tree -rz cadre/r1/result | tr -dc '\\0' | wc -c"), "6");
}

static void a_conflict_in_an_odd_name_is_told_by_it(void **state)
{
    struct git_room *room = *state;
    struct vcs_merged merged = both(room, "printf 1 > \"$(printf 'new\\nline')\"",
                                    "printf 2 > \"$(printf 'new\\nline')\"");
    assert_outcome(&merged, VCS_CONFLICT);
    assert_int_equal(merged.conflicts.count, 1);
    check_str(merged.conflicts.items[0], "new\nline");
}

static void the_same_change_twice_is_no_conflict(void **state)
{
    struct git_room *room = *state;
    struct vcs_merged merged = both(room, "echo same >> a.txt", "echo same >> a.txt");
    assert_outcome(&merged, VCS_THREE_WAY);
    assert_string_equal(result(room, "a.txt"), "one\ntwo\nthree\nsame");
}

static void reports_of_two_siblings_do_not_meet(void **state)
{
    struct git_room *room = *state;
    struct vcs_merged merged = both(room, "mkdir .cadre; echo 1 > .cadre/report; echo 1 >> b.txt",
                                    "mkdir .cadre; echo 2 > .cadre/report; echo 2 >> a.txt");
    assert_outcome(&merged, VCS_THREE_WAY);
    assert_string_equal(shell(room, "git ls-tree -r --name-only cadre/r1/result"),
                        "a.txt\nb.txt\nsrc/c.txt");
}

static void no_changes_are_told_apart(void **state)
{
    struct git_room *room = *state;
    struct vcs_merged merged = both(room, "echo 1 >> b.txt", "true");
    assert_outcome(&merged, VCS_NO_CHANGES);
    assert_true(str_eq(merged.from, merged.to));
}

/* The order of merging is the caller's, whoever finished first. */
static void the_order_of_merges_is_the_callers(void **state)
{
    struct git_room *room = *state;
    static const char *const names[] = {"k1", "k2", "k3"};
    struct git_agent root = root_make(room, "r1"), kids[3];
    for (int i = 0; i < 3; i++)
        kids[i] = child_make(room, &root, names[i]);
    for (int i = 2; i >= 0; i--)
        shell(room, "echo %d > %s/n%d", i, kids[i].path, i);
    for (int i = 0; i < 3; i++)
        child_merge(room, &kids[i]);
    assert_string_equal(
        shell(room,
              "git log --first-parent --reverse --format= --name-only -m cadre/r1/result ^main"),
        "n0\nn1\nn2");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(disjoint_edits_come_together),
        TEST(edits_of_one_line_conflict_and_change_nothing),
        TEST(a_rename_and_an_edit_meet),
        TEST(a_deletion_and_an_edit_conflict),
        TEST(a_deletion_is_carried_over),
        TEST(a_mode_change_is_carried_over),
        TEST(binary_files_conflict_whole),
        TEST(names_are_bytes),
        TEST(a_conflict_in_an_odd_name_is_told_by_it),
        TEST(the_same_change_twice_is_no_conflict),
        TEST(reports_of_two_siblings_do_not_meet),
        TEST(no_changes_are_told_apart),
        TEST(the_order_of_merges_is_the_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
