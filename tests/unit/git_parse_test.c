/* git/parse: answers with NUL-terminated fields, hostile names and broken ones included. */
#include "git/parse.h"

#include "unit/check.h"

#define ID1 "1111111111111111111111111111111111111111"
#define ID2 "2222222222222222222222222222222222222222"
#define ID0 "0000000000000000000000000000000000000000"

static struct arena arena;

static int teardown(void **state)
{
    arena_release(&arena);
    return 0;
}

static void changes_are_cut_into_parts(void **state)
{
    struct git_changes changes;
    struct err err = ERR_INIT;
    struct str output = STR(":100644 100755 " ID1 " " ID2 " M\0a\nb\"c\0"
                            ":000000 120000 " ID0 " " ID1 " A\0link\0"
                            ":160000 000000 " ID1 " " ID0 " D\0module\0");
    assert_int_equal(git_parse_changes(&arena, output, &changes, &err), 0);
    assert_int_equal(changes.count, 3);
    check_str(changes.items[0].path, "a\nb\"c");
    assert_int_equal(changes.items[0].new_mode, GIT_MODE_PROGRAM);
    check_str(changes.items[0].new_id, ID2);
    assert_int_equal(changes.items[1].new_mode, GIT_MODE_LINK);
    assert_int_equal(changes.items[2].old_mode, GIT_MODE_MODULE);
    assert_int_equal(changes.items[2].status, 'D');
    assert_int_equal(git_parse_changes(&arena, STR(""), &changes, &err), 0);
    assert_int_equal(changes.count, 0);
}

static void broken_changes_are_refused(void **state)
{
    static const struct str broken[] = {
        {"x", 1},
        {":100644 100755 " ID1 " " ID2 " M\0", 100},
        {"100644 100755 " ID1 " " ID2 " M\0a\0", 101},
        {":100648 100755 " ID1 " " ID2 " M\0a\0", 102},
        {":100644 100755 " ID1 " 123 M\0a\0", 64},
        {":100644 100755 " ID1 " " ID2 " R100\0a\0", 105},
        {":100644 100755 " ID1 " " ID2 " M\0\0", 101},
    };
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        struct git_changes changes;
        struct err err = ERR_INIT;
        assert_int_equal(git_parse_changes(&arena, broken[i], &changes, &err), -1);
        assert_int_equal(err.class, ERR_CORRUPT);
    }
}

static void a_clean_merge_is_a_tree(void **state)
{
    struct git_merge_answer answer;
    struct err err = ERR_INIT;
    assert_int_equal(git_parse_merge(&arena, STR(ID1 "\0"), &answer, &err), 0);
    check_str(answer.tree, ID1);
    assert_int_equal(answer.file_count, 0);
    /* Messages of a merge without conflicts tell nothing that matters. */
    assert_int_equal(git_parse_merge(&arena,
                                     STR(ID1 "\0\0"
                                             "1\0a\0Auto-merging\0Auto-merging a\n\0"),
                                     &answer, &err),
                     0);
    assert_int_equal(answer.message.n, 0);
}

static void a_conflict_names_each_file_once_and_says_why(void **state)
{
    struct git_merge_answer answer;
    struct err err = ERR_INIT;
    struct str output = STR(ID1 "\0a\nx\0a\nx\0b\0\0"
                                "1\0a\nx\0Auto-merging\0Auto-merging\n\0"
                                "2\0a\0b\0CONFLICT (contents)\0CONFLICT: why\n\0");
    assert_int_equal(git_parse_merge(&arena, output, &answer, &err), 0);
    assert_int_equal(answer.file_count, 2);
    check_str(answer.files[0], "a\nx");
    check_str(answer.message, "CONFLICT: why");
}

static void a_broken_account_of_a_merge_is_refused(void **state)
{
    static const struct str broken[] = {{"", 0},
                                        {"x", 1},
                                        {ID1 "\0a\0\0"
                                             "1x\0",
                                         47},
                                        {ID1 "\0a\0\0"
                                             "5\0a\0",
                                         48},
                                        {ID1 "\0a\0\0"
                                             "1\0a\0t\0",
                                         50}};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        struct git_merge_answer answer;
        struct err err = ERR_INIT;
        assert_int_equal(git_parse_merge(&arena, broken[i], &answer, &err), -1);
    }
}

static void settings_have_keys_and_values(void **state)
{
    struct str key, value;
    git_parse_setting(STR("core.x\na\nb"), &key, &value);
    check_str(key, "core.x");
    check_str(value, "a\nb");
    git_parse_setting(STR("core.bare"), &key, &value);
    check_str(value, "true");
}

static void only_object_names_are_object_names(void **state)
{
    struct str id;
    struct err err = ERR_INIT;
    assert_int_equal(git_parse_id(STR(ID1 "\n"), &id, &err), 0);
    check_str(id, ID1);
    assert_int_equal(git_parse_id(STR("HEAD\n"), &id, &err), -1);
    assert_false(git_is_id(STR("111111111111111111111111111111111111111G")));
    assert_false(git_is_id(STR("11111111")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(changes_are_cut_into_parts, teardown),
        cmocka_unit_test_teardown(broken_changes_are_refused, teardown),
        cmocka_unit_test_teardown(a_clean_merge_is_a_tree, teardown),
        cmocka_unit_test_teardown(a_conflict_names_each_file_once_and_says_why, teardown),
        cmocka_unit_test_teardown(a_broken_account_of_a_merge_is_refused, teardown),
        cmocka_unit_test_teardown(settings_have_keys_and_values, teardown),
        cmocka_unit_test_teardown(only_object_names_are_object_names, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
