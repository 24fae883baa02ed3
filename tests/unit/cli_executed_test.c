/* cli/executed: which files of a change other programs run. */
#include "cli/executed.h"

#include "check.h"

static const char *program_of(const char *path, uint32_t mode)
{
    const struct vcs_outlook_file file = {
        .path = str_from(path), .what = VCS_FILE_CHANGED, .new_mode = mode};
    return executed_by(&file);
}

static void files_that_programs_run_are_known_at_any_depth(void **state)
{
    static const struct {
        const char *path, *program;
    } rows[] = {
        {"Makefile", "make"},
        {"sub/makefile", "make"},
        {"package.json", "npm scripts"},
        {"web/package.json", "npm scripts"},
        {".github/workflows/ci.yml", "CI"},
        {"sub/.github/workflows/ci.yml", "CI"},
        {".husky/pre-commit", "git hooks"},
        {".githooks/pre-push", "git hooks"},
        {".envrc", "direnv"},
        {".vscode/tasks.json", "the editor"},
        {"src/build.rs", "cargo"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *program = program_of(rows[i].path, 0100644);
        assert_non_null(program);
        assert_string_equal(program, rows[i].program);
    }
}

static void ordinary_files_are_not_listed(void **state)
{
    static const char *const paths[] = {"a.txt", "src/main.c", "Makefile.md",
                                        "docs/package.json.txt", "package-lock.json"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        assert_null(program_of(paths[i], 0100644));
}

static void a_program_is_listed_whatever_its_name(void **state)
{
    assert_non_null(program_of("tool", 0100755));
    assert_null(program_of("tool", 0100644));
}

static void what_is_deleted_is_not_run(void **state)
{
    const struct vcs_outlook_file file = {.path = STR("Makefile"), .what = VCS_FILE_DELETED};
    assert_null(executed_by(&file));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_programs_run_are_known_at_any_depth),
        cmocka_unit_test(ordinary_files_are_not_listed),
        cmocka_unit_test(a_program_is_listed_whatever_its_name),
        cmocka_unit_test(what_is_deleted_is_not_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
