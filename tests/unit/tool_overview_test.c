/* The tools overview and plan_files: what they tell of a project, and that hostile project files
 * cannot bend the answer. */
#include "tool_fixture.h"

static void put_project(struct fixture *f)
{
    put(f, "README.md", "# Thing\n\nDoes things.\n");
    put(f, "Makefile", "CC := gcc\n.PHONY: all\nall: thing\n\ttouch x\ntest: all\n\ttrue\n");
    put(f, "src/main.c", "int main(void)\n{\n    return 0;\n}\n");
    put(f, "src/a.c", "int a;\n");
    put(f, "tools/run.py", "print(1)\nprint(2)\n");
    put(f, "build/out.c", "int ignored;\n");
    put(f, ".gitignore", "build/\n");
}

static void a_project_is_told_at_a_glance(void **state)
{
    struct fixture *f = *state;
    put_project(f);
    const char *text = call_ok(f, "overview", "{}");
    assert_contains(text, "total: 6 files, ");
    assert_contains(text, "languages:\n  Make: 1 files, 6 lines, ");
    assert_contains(text, "  C: 2 files, 5 lines, 40 bytes\n");
    assert_contains(text, "  Python: 1 files, 2 lines, 18 bytes\n");
    assert_contains(text, "layout:\n  . (files at the top): 3 files, ");
    assert_contains(text, "  src/: 2 files, 5 lines, ");
    assert_contains(text, "largest files:\n");
    assert_contains(text, "likely entry points:\n  src/main.c\n");
    assert_contains(text, "project files:\nMakefile\n  targets: all, test\n");
    assert_contains(text, "readme:\n# Thing\n\nDoes things.\n");
    assert_contains(text, "[1 files or directories are left out by .gitignore]\n");
    assert_lacks(text, "build/");
}

static void the_test_command_is_the_configs_or_a_guess(void **state)
{
    struct fixture *f = *state;
    struct tool_services services = {.test_command = STR("./check \x1b[1mall")};
    put_project(f);
    put(f, "go/go.mod", "module x\n");
    assert_contains(call_ok(f, "overview", "{}"), "tests: make test (a guess)\n");
    assert_contains(call_ok(f, "overview", "{\"path\":\"go\"}"), "tests: go test (a guess)\n");
    assert_lacks(call_ok(f, "overview", "{\"path\":\"src\"}"), "tests:");
    f->context.services = &services;
    assert_contains(call_ok(f, "overview", "{}"), "tests: ./check all (from the config)\n");
}

static void a_directory_below_can_be_looked_at(void **state)
{
    struct fixture *f = *state;
    put_project(f);
    const char *text = call_ok(f, "overview", "{\"path\":\"src\"}");
    assert_contains(text, "total: 2 files");
    assert_lacks(text, "readme");
    call_error(f, "overview", "{\"path\":\"scr\"}", "did you mean: src/");
    assert_contains(call_ok(f, "overview", "{\"path\":\"src/a.c\"}"), "total: 1 files");
}

static void project_files_tell_names_scripts_and_programs(void **state)
{
    struct fixture *f = *state;
    put(f, "package.json",
        "{\"name\":\"web\",\"main\":\"lib/index.js\",\"bin\":{\"web\":\"./cli.js\"},"
        "\"scripts\":{\"test\":\"node --test\",\"n\":1}}");
    put(f, "py/pyproject.toml",
        "[project]\nname = \"py\"\n# x = 1\nversion = \"1\"\n"
        "[project.scripts]\nrun = \"py.cli:main\"\n");
    put(f, "rs/Cargo.toml",
        "[package]\nname = \"rs\"\n[dependencies]\nname = \"no\"\n"
        "[[bin]]\nname = \"tool\"\n");
    put(f, "go/go.mod", "module example.org/go\n\ngo 1.22\nrequire (\n)\n");
    put(f, "c/meson.build", "project('c', 'c')\nexecutable('c', 'main.c')\n");
    put(f, "d/CMakeLists.txt",
        "cmake_minimum_required(VERSION 3)\nproject(d)\n"
        "add_executable(d main.c)\n");
    const char *text = call_ok(f, "overview", "{}");
    assert_contains(text, "package.json\n  name: web\n  main: lib/index.js\n  bin web: ./cli.js\n"
                          "  scripts test: node --test\n");
    assert_contains(text, "py/pyproject.toml\n  [project] name = \"py\"\n"
                          "  [project.scripts] run = \"py.cli:main\"\n");
    assert_contains(text, "rs/Cargo.toml\n  [package] name = \"rs\"\n  [[bin]] name = \"tool\"\n");
    assert_contains(text, "go/go.mod\n  module example.org/go\n  go 1.22\n");
    assert_contains(text, "c/meson.build\n  project('c', 'c')\n  executable('c', 'main.c')\n");
    assert_contains(text, "d/CMakeLists.txt\n  project(d)\n  add_executable(d main.c)\n");
}

static void hostile_project_files_stay_within_bounds(void **state)
{
    struct fixture *f = *state;
    static char many[200000] = "";
    for (size_t i = 0; i < 190000; i += 5)
        memcpy(many + i, "t: x\n", 5);
    put(f, "Makefile", many);
    memset(many, '[', 100000);
    many[100000] = '\0';
    put(f, "package.json", many);
    memset(many, 'x', 100000);
    memcpy(many, "module ", 7);
    put(f, "go.mod", many);
    put(f, "README", "\x1b]0;title\x07red \xff\n");
    put(f, "d\x1b[1m\nx/a.c", "");
    const char *text = call_ok(f, "overview", "{}");
    assert_lacks(text, "\x1b");
    assert_lacks(text, "\x07");
    assert_contains(text, "xxx…\n");
    assert_contains(text, "readme:\nred ");
    f->context.max_result = 512;
    call_ok(f, "overview", "{}");
    assert_true(f->result.text.n <= 512);
}

static void many_directories_are_counted_and_cut(void **state)
{
    struct fixture *f = *state;
    char path[32];
    for (int i = 0; i < 1200; i++) {
        snprintf(path, sizeof path, "d%04d/a.c", i);
        put(f, path, "x\n");
    }
    const char *text = call_ok(f, "overview", "{}");
    assert_contains(text, "total: 1200 files, 1200 lines");
    assert_contains(text, "more directories: ask ls]");
}

static void an_empty_tree_says_so(void **state)
{
    assert_string_equal(call_ok(*state, "overview", "{}"), "[there are no files]\n");
    atomic_store(&((struct fixture *)*state)->cancelled, true);
    put(*state, "a", "");
    call_error(*state, "overview", "{}", "cancelled");
}

/* --- plan_files ------------------------------------------------------------------------------- */

static void plans_are_listed_with_their_titles(void **state)
{
    struct fixture *f = *state;
    put(f, ".cadre/.gitignore", "*\n");
    put(f, ".cadre/plans/b.md", "\n## Move the\tauth \x1b[1mcode\nmore\n");
    put(f, ".cadre/plans/old/a.json", "{\"goal\":\"x\"}");
    put(f, ".cadre/reports/r.md", "# Report\n");
    assert_string_equal(call_ok(f, "plan_files", "{}"), "b.md  32 bytes  Move the auth code\n"
                                                        "old/a.json  12 bytes  {\"goal\":\"x\"}\n");
}

static void a_plan_is_read_in_pages(void **state)
{
    struct fixture *f = *state;
    put(f, ".cadre/plans/a.md", "1\n2\n3\n");
    assert_string_equal(call_ok(f, "plan_files", "{\"name\":\"a.md\",\"offset\":2,\"limit\":1}"),
                        "     2\t2\n[truncated: ask for offset=3 to read on]\n");
    assert_string_equal(f->result.files_read[0].p, ".cadre/plans/a.md");
    assert_contains(call_ok(f, "plan_files", "{\"name\":\"a.md\",\"offset\":-1}"), "     3\t3\n");
    call_error(f, "plan_files", "{\"name\":\"b.md\"}", "did you mean: .cadre/plans/a.md");
    f->context.working_directory = STR("src");
    call_ok(f, "plan_files", "{\"name\":\"a.md\"}");
}

static void nothing_but_plans_is_read(void **state)
{
    struct fixture *f = *state;
    put(f, ".cadre/plans/a.md", "x\n");
    put(f, ".cadre/reports/r.md", "outside-secret\n");
    put(f, "src/a.c", "outside-secret\n");
    assert_int_equal(symlink("../reports/r.md", in_workspace(f, ".cadre/plans/link.md")), 0);
    call_error(f, "plan_files", "{\"name\":\"../reports/r.md\"}", "is no plan");
    call_error(f, "plan_files", "{\"name\":\"../../src/a.c\"}", "is no plan");
    call_error(f, "plan_files", "{\"name\":\".\"}", "is no plan");
    call_error(f, "plan_files", "{\"name\":\"../../../outside/secret\"}", "outside");
    call_error(f, "plan_files", "{\"name\":\"link.md\"}", "symbolic link");
    assert_string_equal(call_ok(f, "plan_files", "{}"), "a.md  2 bytes  x\n");
    f->paths[0] = STR("src");
    call_error(f, "plan_files", "{}", "allowed: src");
    call_error(f, "plan_files", "{\"name\":\"a.md\"}", "allowed: src");
}

static void a_workspace_without_plans_says_so(void **state)
{
    struct fixture *f = *state;
    assert_contains(call_ok(f, "plan_files", "{}"), ".cadre/plans does not exist");
    put(f, ".cadre/plans/x", "");
    assert_int_equal(unlink(in_workspace(f, ".cadre/plans/x")), 0);
    assert_contains(call_ok(f, "plan_files", "{}"), "no plans in .cadre/plans");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_project_is_told_at_a_glance),
        TEST(the_test_command_is_the_configs_or_a_guess),
        TEST(a_directory_below_can_be_looked_at),
        TEST(project_files_tell_names_scripts_and_programs),
        TEST(hostile_project_files_stay_within_bounds),
        TEST(many_directories_are_counted_and_cut),
        TEST(an_empty_tree_says_so),
        TEST(plans_are_listed_with_their_titles),
        TEST(a_plan_is_read_in_pages),
        TEST(nothing_but_plans_is_read),
        TEST(a_workspace_without_plans_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
