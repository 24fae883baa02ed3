/* tool/changes: which files differ between two looks at a tree. */
#include "tool/changes.h"

#include "unit/tool_fixture.h"

struct found {
    char text[4096]; /* "created a\n" … */
    size_t count;
};

static void note(void *user, enum change change, struct str path)
{
    static const char *const words[] = {"created", "modified", "deleted"};
    struct found *found = user;
    size_t used = strlen(found->text);
    snprintf(found->text + used, sizeof found->text - used, "%s %.*s\n", words[change],
             STR_FMT(path));
    found->count++;
}

static struct changes *before;

static void look(struct fixture *f)
{
    changes_free(before);
    before = changes_take(&f->context);
}

static void assert_changes(struct fixture *f, const char *expected)
{
    struct found found = {.count = 0};
    struct changes *after = changes_take(&f->context);
    assert_int_equal(changes_compare(before, after, note, &found), 0);
    assert_string_equal(found.text, expected);
    changes_free(after);
    changes_free(before);
    before = NULL;
}

static void created_modified_and_deleted_files_are_told(void **state)
{
    struct fixture *f = *state;
    put(f, "stays", "one");
    put(f, "dir/changes", "one");
    put(f, "dir/goes", "one");
    look(f);
    put(f, "dir/changes", "two!");
    assert_int_equal(unlink(in_workspace(f, "dir/goes")), 0);
    put(f, "new/deep/file", "x");
    assert_changes(f, "modified dir/changes\ndeleted dir/goes\ncreated new/deep/file\n");
}

static void nothing_is_told_where_nothing_changed(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "one");
    look(f);
    assert_string_equal(content_of(f, "a"), "one");
    assert_changes(f, "");
}

static void a_change_of_the_same_size_and_time_is_seen(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "one");
    struct stat status;
    assert_int_equal(stat(in_workspace(f, "a"), &status), 0);
    look(f);
    usleep(20000);
    put(f, "a", "two");
    const struct timespec times[] = {status.st_atim, status.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, in_workspace(f, "a"), times, 0), 0);
    assert_changes(f, "modified a\n");
}

static void a_file_that_was_put_in_the_place_of_another_is_modified(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "one");
    put(f, "b", "one");
    look(f);
    assert_int_equal(rename(in_workspace(f, "b"), in_workspace(f, "a")), 0);
    assert_changes(f, "modified a\ndeleted b\n");
}

/* In the order of a walk, "a.b" stands behind all of "a/". */
static void names_that_begin_alike_are_told_apart(void **state)
{
    struct fixture *f = *state;
    put(f, "a/z", "one");
    put(f, "a.b", "one");
    put(f, "a-b/x", "one");
    look(f);
    put(f, "a/zz", "one");
    put(f, "a-b/y", "one");
    assert_int_equal(unlink(in_workspace(f, "a.b")), 0);
    assert_changes(f, "created a/zz\ncreated a-b/y\ndeleted a.b\n");
}

static void only_write_paths_are_looked_at(void **state)
{
    struct fixture *f = *state;
    put(f, "src/a", "one");
    put(f, "out/b", "one");
    f->paths[0] = STR("out");
    f->paths[1] = STR("out/deep");
    f->paths[2] = STR("single");
    f->context.write_count = 3;
    look(f);
    put(f, "src/a", "changed");
    put(f, "out/deep/c", "one");
    put(f, "single", "one");
    assert_changes(f, "created out/deep/c\ncreated single\n");
}

static void what_git_keeps_is_passed_over(void **state)
{
    struct fixture *f = *state;
    put(f, ".git/index", "one");
    put(f, "sub/.git/index", "one");
    look(f);
    put(f, ".git/index", "changed");
    put(f, "sub/.git/other", "new");
    assert_changes(f, "");
}

static void links_are_not_followed(void **state)
{
    struct fixture *f = *state;
    look(f);
    assert_int_equal(symlink("../outside", in_workspace(f, "link")), 0);
    assert_int_equal(symlink("/nowhere", in_workspace(f, "broken")), 0);
    assert_changes(f, "created broken\ncreated link\n");
}

static void a_tree_that_is_too_large_or_too_deep_is_not_guessed_about(void **state)
{
    struct fixture *f = *state;
    char path[1024] = "d";
    struct found found = {.count = 0};
    for (int i = 0; i < 80; i++)
        strcat(path, "/d");
    strcat(path, "/file");
    put(f, path, "x");
    look(f);
    assert_int_equal(changes_compare(before, before, note, &found), -1);
    changes_free(before);
    before = NULL;
}

static void a_cancelled_look_tells_nothing(void **state)
{
    struct fixture *f = *state;
    struct found found = {.count = 0};
    put(f, "a", "one");
    atomic_store(&f->cancelled, true);
    look(f);
    assert_int_equal(changes_compare(before, before, note, &found), -1);
    changes_free(before);
    before = NULL;
}

static void two_thousand_files_are_all_compared(void **state)
{
    struct fixture *f = *state;
    struct found found = {.count = 0};
    char name[64];
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "d%d/e%d/f%d", i % 10, i % 70, i);
        put(f, name, "x");
    }
    look(f);
    for (int i = 0; i < 2000; i += 100) {
        snprintf(name, sizeof name, "d%d/e%d/f%d", i % 10, i % 70, i);
        put(f, name, "changed");
    }
    struct changes *after = changes_take(&f->context);
    assert_int_equal(changes_compare(before, after, note, &found), 0);
    assert_int_equal(found.count, 20);
    changes_free(after);
    changes_free(before);
    before = NULL;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(created_modified_and_deleted_files_are_told),
        TEST(nothing_is_told_where_nothing_changed),
        TEST(a_change_of_the_same_size_and_time_is_seen),
        TEST(a_file_that_was_put_in_the_place_of_another_is_modified),
        TEST(names_that_begin_alike_are_told_apart),
        TEST(only_write_paths_are_looked_at),
        TEST(what_git_keeps_is_passed_over),
        TEST(links_are_not_followed),
        TEST(a_tree_that_is_too_large_or_too_deep_is_not_guessed_about),
        TEST(a_cancelled_look_tells_nothing),
        TEST(two_thousand_files_are_all_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
