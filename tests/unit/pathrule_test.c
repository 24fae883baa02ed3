/* Path rules: what they hold, when one lies within another, and what two have in common. The last tests try all pairs of a set of
 * rules against all paths of a set. */
#include "base/pathrule.h"

#include "check.h"

static const char *const rules[] = {
    ".",
    "**",
    "src",
    "src/**",
    "src/a",
    "tests",
    "tests/**",
    "src/tests",
    "src/tests/**",
    "src/tests/x",
    "**/tests",
    "src/**/tests",
    "src/a/**/tests",
    "tests/**/tests",
    "**/spec",
    "src/**/spec",
    "tests/**/spec",
    "spec/**/tests",
    "srcx/**/tests",
    "src/tests/**/spec",
};
static const char *const paths[] = {
    ".",
    "f",
    "tests",
    "src",
    "src/f",
    "src/tests",
    "tests/f",
    "src/tests/f",
    "src/a/tests/f",
    "src/a/f",
    "src/tests/x",
    "src/tests/x/f",
    "srcx/tests/f",
    "spec/f",
    "src/spec/f",
    "tests/spec/f",
    "spec/tests/f",
    "src/a/spec",
    "src/xtests/f",
    "src/testsx/f",
    "a/tests/b/c",
    "tests/tests/f",
    "tests/a/tests/f",
    "src/spec/tests/f",
    "src/tests/spec/f",
    "src/a",
    "src/a/tests",
    "tests/tests",
    "src/tests/spec",
};
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static bool holds(const char *rule, const char *path)
{
    return pathrule_holds(str_from(rule), str_from(path));
}

static void a_plain_rule_holds_itself_and_all_beneath(void **state)
{
    assert_true(holds("src", "src"));
    assert_true(holds("src", "src/a/b"));
    assert_true(holds(".", "anything/at/all"));
    assert_false(holds("src", "src-evil/a"));
    assert_false(holds("src/a", "src"));
}

static void a_named_rule_holds_what_lies_in_such_a_directory_at_any_depth(void **state)
{
    assert_true(holds("**/tests", "tests/a.c"));
    assert_true(holds("**/tests", "src/foo/tests/deep/x.c"));
    assert_false(holds("**/tests", "src/foo/x.c"));
    assert_false(holds("**/tests", "src/mytests/x.c"));
    assert_false(holds("**/tests", "src/Tests/x.c"));
    assert_true(holds("src/**/tests", "src/tests/x.c"));
    assert_true(holds("src/**/tests", "src/a/b/tests/x.c"));
    assert_false(holds("src/**/tests", "tests/x.c"));
    assert_false(holds("src/**/tests", "src-evil/tests/x.c"));
}

static void a_file_with_the_name_of_such_a_directory_is_not_held(void **state)
{
    assert_false(holds("**/test", "bin/test"));
    assert_false(holds("**/test", "test"));
    assert_true(holds("**/test", "test/test"));
}

static void the_name_must_stand_behind_the_rules_directory(void **state)
{
    assert_false(holds("tests/**/tests", "tests/a.c"));
    assert_true(holds("tests/**/tests", "tests/tests/a.c"));
}

static void what_lies_beneath_is_not_the_directory_itself(void **state)
{
    assert_true(holds("src/**", "src/a"));
    assert_false(holds("src/**", "src"));
    assert_false(holds("src/**", "src-evil/a"));
    assert_true(holds("**", "a"));
    assert_false(holds("**", "."));
}

static void stars_elsewhere_have_no_meaning(void **state)
{
    static const char *const wrong[] = {"**/a/b", "**/**", "a/**/**", "a/**/b/**/c", ""};
    struct pathrule parts;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_false(pathrule_read(str_from(wrong[i]), &parts));
        assert_false(holds(wrong[i], "a/b/c"));
        assert_false(pathrule_within(str_from(wrong[i]), STR(".")));
        assert_false(pathrule_within(STR("a"), str_from(wrong[i])));
    }
}

static void a_directory_of_that_name_is_within_its_rule(void **state)
{
    assert_true(pathrule_within(STR("src/tests/**"), STR("**/tests")));
    assert_true(pathrule_within(STR("src/tests/x"), STR("**/tests")));
    assert_false(pathrule_within(STR("src/tests"), STR("**/tests"))); /* a file may be there */
    assert_false(pathrule_within(STR("src"), STR("src/**")));
    assert_true(pathrule_within(STR("src/**/tests"), STR("**/tests")));
    assert_true(pathrule_within(STR("**/tests"), STR(".")));
    assert_true(pathrule_within(STR("src/tests/**/spec"), STR("**/tests")));
    assert_false(pathrule_within(STR("**/tests"), STR("src")));
    assert_false(pathrule_within(STR("**/tests"), STR("src/**/tests")));
    assert_false(pathrule_within(STR("**/tests"), STR("**/spec")));
}

static void named_keeps_what_lies_in_such_a_directory_already(void **state)
{
    struct arena arena;
    arena_init(&arena);
    check_str(pathrule_named(&arena, STR("."), STR("tests")), "**/tests");
    check_str(pathrule_named(&arena, STR("src/auth"), STR("tests")), "src/auth/**/tests");
    check_str(pathrule_named(&arena, STR("src/tests/unit"), STR("tests")), "src/tests/unit");
    check_str(pathrule_named(&arena, STR("bin/test"), STR("test")), "bin/test/**");
    check_str(pathrule_named(&arena, STR("src/**"), STR("test")), "src/**/test");
    check_str(pathrule_named(&arena, STR("**/tests"), STR("tests")), "**/tests");
    assert_null(pathrule_named(&arena, STR("**/tests"), STR("spec")).p);
    arena_release(&arena);
}

static void what_is_within_holds_no_more(void **state)
{
    size_t pairs = 0;
    for (size_t a = 0; a < COUNT(rules); a++)
        for (size_t b = 0; b < COUNT(rules); b++) {
            if (!pathrule_within(str_from(rules[a]), str_from(rules[b])))
                continue;
            pairs++;
            for (size_t p = 0; p < COUNT(paths); p++)
                if (holds(rules[a], paths[p]) && !holds(rules[b], paths[p]))
                    fail_msg("%s within %s, but %s", rules[a], rules[b], paths[p]);
        }
    assert_true(pairs > COUNT(rules) * 2);
}

static void what_two_have_in_common_is_within_both(void **state)
{
    struct arena arena;
    size_t met = 0;
    arena_init(&arena);
    for (size_t a = 0; a < COUNT(rules); a++)
        for (size_t b = 0; b < COUNT(rules); b++) {
            struct str left = str_from(rules[a]), right = str_from(rules[b]);
            struct str both = pathrule_meet(&arena, left, right);
            if (both.p == NULL)
                continue;
            met++;
            for (size_t p = 0; p < COUNT(paths); p++) {
                struct str path = str_from(paths[p]);
                if (pathrule_holds(both, path) &&
                    !(pathrule_holds(left, path) && pathrule_holds(right, path)))
                    fail_msg("%s and %s give %.*s, but %s", rules[a], rules[b], STR_FMT(both),
                             paths[p]);
            }
            if (!pathrule_within(both, left) || !pathrule_within(both, right))
                fail_msg("%s and %s give %.*s", rules[a], rules[b], STR_FMT(both));
        }
    assert_true(met > COUNT(rules) * 4);
    check_str(pathrule_meet(&arena, STR("src/a"), STR("**/tests")), "src/a/**/tests");
    check_str(pathrule_meet(&arena, STR("**/tests"), STR("src")), "src/**/tests");
    check_str(pathrule_meet(&arena, STR("src"), STR("src/a/**/tests")), "src/a/**/tests");
    assert_null(pathrule_meet(&arena, STR("docs"), STR("src/**/tests")).p);
    assert_null(pathrule_meet(&arena, STR("**/spec"), STR("**/tests")).p);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_rule_holds_itself_and_all_beneath),
        cmocka_unit_test(a_named_rule_holds_what_lies_in_such_a_directory_at_any_depth),
        cmocka_unit_test(a_file_with_the_name_of_such_a_directory_is_not_held),
        cmocka_unit_test(the_name_must_stand_behind_the_rules_directory),
        cmocka_unit_test(what_lies_beneath_is_not_the_directory_itself),
        cmocka_unit_test(stars_elsewhere_have_no_meaning),
        cmocka_unit_test(a_directory_of_that_name_is_within_its_rule),
        cmocka_unit_test(named_keeps_what_lies_in_such_a_directory_already),
        cmocka_unit_test(what_is_within_holds_no_more),
        cmocka_unit_test(what_two_have_in_common_is_within_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
