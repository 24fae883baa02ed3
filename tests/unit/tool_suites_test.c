/* The tool test: which command a project has, what may be passed on to it, and what its output says. */
#include "tool/suites.h"
#include "tool/verdict.h"
#include "unit/program_fixture.h"

/* --- finding the command ---------------------------------------------------------------------------------------------------- */

static void assert_suite(struct fixture *f, const char *name, const char *part)
{
    const struct suite *suite = suite_find(&f->context);
    assert_non_null(suite);
    assert_string_equal(suite->name, name);
    assert_contains(suite->script, part);
}

static void every_marker_of_the_table_finds_its_suite(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *name, *text;
    } texts[] = {
        {"Makefile", "all: test\n\ncheck lint: all\n"},
        {"GNUmakefile", "test:\n\ttrue\n"},
        {"makefile", "test :\n\ttrue\n"},
        {"package.json", "{\"scripts\":{\"test\":\"node --test\"}}"},
        {"pyproject.toml", "[tool.pytest.ini_options]\n"},
        {"setup.cfg", "[metadata]\n[tool:pytest]\n"},
        {"tox.ini", "[pytest]\n"},
    };
    for (size_t i = 0; i < suite_count; i++) {
        const char *const markers[] = {suites[i].marker, suites[i].also};
        for (size_t k = 0; k < 2 && markers[k] != NULL; k++) {
            char file[128];
            const char *text = "";
            snprintf(file, sizeof file, "s%zu/%s", i, markers[k]);
            for (char *star = strchr(file, '*'); star != NULL; star = strchr(file, '*'))
                *star = 'x';
            for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++)
                if (strcmp(texts[t].name, markers[k]) == 0)
                    text = texts[t].text;
            if (strcmp(suites[i].script, "make test") == 0)
                text = "test:\n\ttrue\n";
            put(f, file, text);
        }
        char directory[32];
        snprintf(directory, sizeof directory, "s%zu", i);
        f->context.working_directory = str_from(directory);
        const struct suite *found = suite_find(&f->context);
        assert_non_null(found);
        assert_ptr_equal(found, &suites[i]);
    }
}

static void a_makefile_without_tests_is_passed_over(void **state)
{
    struct fixture *f = *state;
    put(f, "Makefile",
        "test := yes\n# test: not one\n.PHONY: test\nall:\n\ttest: x\ntested: all\n");
    assert_null(suite_find(&f->context));
    put(f, "go.mod", "module x\n");
    assert_suite(f, "go", "go test");
    put(f, "Makefile", "build test: x\n");
    assert_suite(f, "make", "make test");
}

static void a_script_that_says_that_there_are_no_tests_is_none(void **state)
{
    struct fixture *f = *state;
    put(f, "package.json",
        "{\"scripts\":{\"test\":\"echo \\\"Error: no test specified\\\" && exit 1\"}}");
    assert_null(suite_find(&f->context));
    put(f, "package.json", "{\"scripts\":[\"test\"]}");
    assert_null(suite_find(&f->context));
    put(f, "package.json", "{\"scripts\":{\"test\":\"jest\"}}");
    assert_suite(f, "npm", "npm test");
    put(f, "yarn.lock", "");
    assert_suite(f, "yarn", "yarn test");
}

static void what_may_not_be_read_is_not_found(void **state)
{
    struct fixture *f = *state;
    put(f, "go.mod", "module x\n");
    f->paths[0] = STR("src");
    assert_null(suite_find(&f->context));
}

/* --- running it -------------------------------------------------------------------------------------------------------------- */

static void passing_tests_are_told_with_command_and_counts(void **state)
{
    struct fixture *f = *state;
    put(f, "Makefile", "test:\n\t@echo '3 passed in 0.1s'; touch made\n");
    const char *text = call_ok(f, "test", "{}");
    assert_contains(text, "tests passed: exit code 0");
    assert_contains(text, "3 passed, 0 failed (as pytest counts)");
    assert_contains(text, "command: make test");
    assert_true(was_modified(f, "made"));
}

static void failing_tests_are_an_error_with_the_lines_that_tell_why(void **state)
{
    struct fixture *f = *state;
    put(f, "Makefile", "test:\n\t@echo 'ok 1 - fine'; echo 'not ok 2 - broken thing'; exit 1\n");
    const char *text = call_error(f, "test", "{}", "Error: tests failed: exit code 2");
    assert_contains(text, "1 passed, 1 failed (as TAP counts)");
    assert_contains(text, "lines that tell of failures:\n  not ok 2 - broken thing\n");
}

static void config_has_the_first_word(void **state)
{
    struct fixture *f = *state;
    put(f, "Makefile", "test:\n\t@echo from make\n");
    program_services.test_command = STR("echo 'from config' $0");
    const char *text = call_ok(f, "test", "{}");
    assert_contains(text, "from config");
    assert_lacks(text, "from make");
    call_error(f, "test", "{\"filter\":\"x\"}", "the configured test command here takes no filter");
}

static void without_a_command_the_way_out_is_told(void **state)
{
    call_error(*state, "test", "{}", "tools.test.command");
}

/* A program in the place of the runner shows what reached it. */
static void a_filter_reaches_the_runner_as_one_argument(void **state)
{
    struct fixture *f = *state;
    put(f, "pytest.ini", "");
    put(f, "pytest.py", "import sys; print(sys.argv[1:])\n");
    const char *text = call_ok(
        f, "test",
        "{\"filter\":\"a b; touch made $(touch made) `touch made`\",\"path\":\"x/../y z\"}");
    assert_contains(text, "['-q', '-k', 'a b; touch made $(touch made) `touch made`', 'y z']");
    assert_null(content_of(f, "made"));
    assert_contains(call_ok(f, "test", "{\"path\":\"-x\"}"), "['-q', './-x']");
}

static void what_a_runner_cannot_take_is_refused(void **state)
{
    struct fixture *f = *state;
    put(f, "Makefile", "test:\n\ttrue\n");
    call_error(f, "test", "{\"filter\":\"x\"}", "make here takes no filter");
    call_error(f, "test", "{\"path\":\"x\"}", "make here takes no path");
    call_error(f, "test", "{\"filter\":\"--version\"}", "cannot start with -");
    call_error(f, "test", "{\"filter\":\"a\\nb\"}", "one line");
    call_error(f, "test", "{\"path\":\"../outside\"}", "must lie in the working directory");
    call_error(f, "test", "{\"path\":\"/etc\"}", "must lie in the working directory");
}

/* --- what the output says -------------------------------------------------------------------------------------------------------- */

static void known_formats_are_counted(void **state)
{
    static const struct {
        const char *format, *text;
        int64_t passed, failed;
    } rows[] = {
        {"cargo",
         "test result: ok. 5 passed; 0 failed; 0 ignored\ntest result: FAILED. 2 passed; 1 "
         "failed\n",
         7, 1},
        {"ctest", "90% tests passed, 2 tests failed out of 20\n", 18, 2},
        {"maven", "Tests run: 9, Failures: 1, Errors: 2, Skipped: 0\n", 6, 3},
        {"phpunit", "Tests: 5, Assertions: 9, Failures: 1, Errors: 1.\n", 3, 2},
        {"phpunit", "OK (5 tests, 9 assertions)\n", 5, 0},
        {"jest", "Test Suites: 1 failed\nTests:       1 failed, 2 passed, 3 total\n", 2, 1},
        {"jest", "      Tests  1 failed | 4 passed (5)\n", 4, 1},
        {"pytest", "=== 1 failed, 3 passed, 1 error in 0.52s ===\n", 3, 2},
        {"pytest", "4 passed in 0.01s\n", 4, 0},
        {"unittest", "Ran 6 tests in 0.001s\n\nFAILED (failures=1, errors=1)\n", 4, 2},
        {"unittest", "Ran 6 tests in 0.001s\n\nOK\n", 6, 0},
        {"meson", "Ok:                 12\nExpected Fail:      0\nFail:               3\n", 12, 3},
        {"dotnet", "Passed!  - Failed:     1, Passed:     5, Skipped: 0, Total:     6\n", 5, 1},
        {"rspec", "12 examples, 2 failures\n", 10, 2},
        {"mocha", "  5 passing (20ms)\n  2 failing\n", 5, 2},
        {"node", "# tests 5\n# pass 4\n# fail 1\n", 4, 1},
        {"gtest", "[  PASSED  ] 7 tests.\n[  FAILED  ] 2 tests, listed below:\n", 7, 2},
        {"go", "ok  \texample/a\t0.01s\nFAIL\texample/b\t0.02s\n", 1, 1},
        {"TAP", "1..3\nok 1 - a\nnot ok 2 - b\nok 3\n", 2, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct verdict verdict;
        verdict_read(str_from(rows[i].text), &verdict);
        if (verdict.format == NULL || strcmp(verdict.format, rows[i].format) != 0 ||
            verdict.passed != rows[i].passed || verdict.failed != rows[i].failed)
            fail_msg("%s: read as %s, %lld passed, %lld failed", rows[i].text,
                     verdict.format ? verdict.format : "nothing", (long long)verdict.passed,
                     (long long)verdict.failed);
    }
}

static void prose_is_not_counted(void **state)
{
    struct verdict verdict;
    verdict_read(STR("all tests passed\nwe passed in time\nTests are fine\nlook: okay\n"),
                 &verdict);
    assert_null(verdict.format);
    assert_int_equal(verdict.line_count, 0);
    verdict_read(STR_NONE, &verdict);
    assert_null(verdict.format);
}

static void the_last_lines_of_failures_are_kept(void **state)
{
    struct verdict verdict;
    struct buf text;
    buf_init(&text, 1 << 20);
    for (int i = 0; i < 50; i++)
        buf_printf(&text, "FAIL: number %d\nfine\n", i);
    verdict_read(buf_view(&text), &verdict);
    assert_int_equal(verdict.line_count, VERDICT_LINES);
    assert_true(str_is(verdict.lines[0], "FAIL: number 30"));
    assert_true(str_is(verdict.lines[VERDICT_LINES - 1], "FAIL: number 49"));
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROGRAM_TEST(every_marker_of_the_table_finds_its_suite),
        PROGRAM_TEST(a_makefile_without_tests_is_passed_over),
        PROGRAM_TEST(a_script_that_says_that_there_are_no_tests_is_none),
        PROGRAM_TEST(what_may_not_be_read_is_not_found),
        PROGRAM_TEST(passing_tests_are_told_with_command_and_counts),
        PROGRAM_TEST(failing_tests_are_an_error_with_the_lines_that_tell_why),
        PROGRAM_TEST(config_has_the_first_word),
        PROGRAM_TEST(without_a_command_the_way_out_is_told),
        PROGRAM_TEST(a_filter_reaches_the_runner_as_one_argument),
        PROGRAM_TEST(what_a_runner_cannot_take_is_refused),
        PROGRAM_TEST(known_formats_are_counted),
        PROGRAM_TEST(prose_is_not_counted),
        PROGRAM_TEST(the_last_lines_of_failures_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
