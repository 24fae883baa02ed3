/* Deriving contracts: where a child may write, and that only ever less. The rules themselves are pathrule_test's. */
#include "contract_fixture.h"

static void a_tester_writes_to_test_directories_only(void **state)
{
    struct fixture *f = *state;
    f->request.role = STR("tester");
    derive_ok(f);
    check_list(&f->child.permissions.write_paths, "**/test, **/tests, **/spec, **/__tests__");
    f->request.write_paths = LIST("src/tests/unit", "src/auth", "bin/test");
    derive_ok(f);
    check_list(&f->child.permissions.write_paths,
               "src/auth/**/test, bin/test/**, src/tests/unit, src/auth/**/tests, "
               "src/auth/**/spec, src/auth/**/__tests__");
}

static void config_adds_names_of_test_directories(void **state)
{
    struct fixture *f = *state;
    f->settings.test_directories = LIST("t", "tests");
    f->request.role = STR("tester");
    derive_ok(f);
    check_list(&f->child.permissions.write_paths, "**/test, **/tests, **/spec, **/__tests__, **/t");
}

static void stars_in_write_paths_have_one_meaning_or_are_refused(void **state)
{
    struct fixture *f = *state;
    f->request.write_paths = LIST("src/**", "./docs/**/img");
    derive_ok(f);
    check_list(&f->child.permissions.write_paths, "src/**, docs/**/img");
    f->request.write_paths = LIST("src/**/a/b");
    derive_fails(f, ERR_USAGE, "** may stand only at the end or before one last name");
}

static void write_paths_only_narrow(void **state)
{
    struct fixture *f = *state;
    f->request.write_paths = LIST("src/auth", "docs/./x/..");
    derive_ok(f);
    struct contract middle = f->child;
    assert_true(list_has(&middle.permissions.write_paths, STR("docs")));
    f->request.write_paths = LIST("src", "src/auth/login", "src/auth-evil", "elsewhere");
    assert_int_equal(derive_from(f, &middle, &f->child), 0);
    assert_int_equal(f->child.permissions.write_paths.n, 2);
    check_str(f->child.permissions.write_paths.items[0], "src/auth");
    check_str(f->child.permissions.write_paths.items[1], "src/auth/login");
    assert_non_null(clamp_find(&f->child, "permissions.write_paths", "parent"));
}

static void paths_that_leave_the_workspace_are_refused(void **state)
{
    struct fixture *f = *state;
    static const char *const paths[] = {"/etc", "../x", "a/../..", ""};
    for (size_t i = 0; i < 4; i++) {
        f->request.write_paths = LIST(paths[i]);
        derive_fails(f, ERR_USAGE, "write_paths");
    }
    f->request.write_paths = LIST_NONE;
    f->request.working_directory = STR("../..");
    derive_fails(f, ERR_USAGE, "working_directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_tester_writes_to_test_directories_only),
        TEST(config_adds_names_of_test_directories),
        TEST(stars_in_write_paths_have_one_meaning_or_are_refused),
        TEST(write_paths_only_narrow),
        TEST(paths_that_leave_the_workspace_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
