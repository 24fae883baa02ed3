/* The tool grep: what it finds, what it skips and says so, and that neither hostile patterns nor
 * swapped directories harm. */
#include "tool_fixture.h"

static void matches_are_shown_with_path_line_and_text(void **state)
{
    struct fixture *f = *state;
    put(f, "src/b.c", "int x;\nint main(void)\n");
    put(f, "src/a.c", "void f(void);\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"\\\\(void\\\\)\"}"),
                        "src/a.c:1:void f(void);\nsrc/b.c:2:int main(void)\n");
    assert_int_equal(f->result.read_count, 2);
    assert_string_equal(f->result.files_read[0].p, "src/a.c");
}

static void plain_text_finds_the_same_as_an_expression(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "needle\nhay needle hay needle\n\nhay\nneedle");
    static const char expected[] = "a:1:needle\na:2:hay needle hay needle\na:5:needle\n";
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"needle\"}"), expected);
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"needl[e]\"}"), expected);
}

static void anchors_are_those_of_the_line(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "ab\r\nb\nab\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"^b$\"}"), "a:2:b\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"ab$\"}"), "a:1:ab\na:3:ab\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"a[^x]*b[^x]+\"}"), "[no matches]\n");
}

static void one_file_can_be_searched(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "x\n");
    put(f, "b", "x\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"x\",\"path\":\"b\"}"), "b:1:x\n");
}

static void case_is_ignored_only_when_asked(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "Über\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"über\"}"), "[no matches]\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"über\",\"ignore_case\":true}"),
                        "a:1:Über\n");
}

static void globs_choose_files_by_name_or_by_path(void **state)
{
    struct fixture *f = *state;
    put(f, "src/x/a.c", "hit\n");
    put(f, "src/b.h", "hit\n");
    put(f, "c.c", "hit\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"hit\",\"glob\":\"*.c\"}"),
                        "c.c:1:hit\nsrc/x/a.c:1:hit\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"hit\",\"glob\":\"src/**/*.c\"}"),
                        "src/x/a.c:1:hit\n");
    assert_string_equal(
        call_ok(f, "grep", "{\"pattern\":\"hit\",\"path\":\"src\",\"glob\":\"x/*.c\"}"),
        "src/x/a.c:1:hit\n");
}

static void context_lines_are_shown_once_and_groups_are_separated(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "1\nhit 2\n3\nhit 4\n5\n6\n7\nhit 8\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"hit\",\"context\":1}"),
                        "a-1-1\na:2:hit 2\na-3-3\na:4:hit 4\na-5-5\n--\na-7-7\na:8:hit 8\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"h.t\",\"context\":1}"),
                        "a-1-1\na:2:hit 2\na-3-3\na:4:hit 4\na-5-5\n--\na-7-7\na:8:hit 8\n");
}

static void lines_before_and_after_can_differ(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "1\n2\nhit 3\n4\n5\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"hit\",\"before\":2}"),
                        "a-1-1\na-2-2\na:3:hit 3\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"hit\",\"context\":2,\"before\":0}"),
                        "a:3:hit 3\na-4-4\na-5-5\n");
    call_error(f, "grep", "{\"pattern\":\"hit\",\"after\":21}", "at most 20");
}

static void files_can_be_left_out_by_a_glob(void **state)
{
    struct fixture *f = *state;
    put(f, "src/a.c", "hit\n");
    put(f, "src/a_test.c", "hit\n");
    put(f, "src/a.h", "hit\n");
    assert_string_equal(
        call_ok(f, "grep", "{\"pattern\":\"hit\",\"glob\":\"*.{c,h}\",\"exclude\":\"*_test.c\"}"),
        "src/a.c:1:hit\nsrc/a.h:1:hit\n");
    assert_string_equal(
        call_ok(f, "grep", "{\"pattern\":\"hit\",\"path\":\"src\",\"exclude\":\"src/*.c\"}"),
        "src/a.h:1:hit\n");
}

static void a_type_chooses_the_files_of_a_language(void **state)
{
    struct fixture *f = *state;
    put(f, "a.py", "hit\n");
    put(f, "a.c", "hit\n");
    put(f, "Makefile", "hit\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"hit\",\"type\":\"py\"}"),
                        "a.py:1:hit\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"hit\",\"type\":\"Python\"}"),
                        "a.py:1:hit\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"hit\",\"type\":\"make\"}"),
                        "Makefile:1:hit\n");
    call_error(f, "grep", "{\"pattern\":\"hit\",\"type\":\"cobol\"}", "the types are: c, cpp");
}

static void files_or_counts_can_be_shown_instead_of_lines(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "hit\nno\nhit hit\n");
    put(f, "b", "no\n");
    put(f, "c", "hit");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"hit\",\"output\":\"files\"}"), "a\nc\n");
    assert_int_equal(f->result.read_count, 2);
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"h.t\",\"output\":\"count\"}"),
                        "a:2\nc:1\n");
    assert_string_equal(
        call_ok(f, "grep", "{\"pattern\":\"hit\",\"output\":\"files\",\"max_results\":1}"),
        "a\n[truncated after 1 files: narrow the pattern, path or glob]\n");
    call_error(f, "grep", "{\"pattern\":\"hit\",\"output\":\"all\"}",
               "must be one of lines, files, count");
}

static void ignored_files_are_searched_only_when_asked(void **state)
{
    struct fixture *f = *state;
    put(f, ".gitignore", "build/\n*.log\n!keep.log\n");
    put(f, "build/a", "hit\n");
    put(f, "x.log", "hit\n");
    put(f, "keep.log", "hit\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"hit\"}"), "keep.log:1:hit\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"hit\",\"ignored\":true}"),
                        "build/a:1:hit\nkeep.log:1:hit\nx.log:1:hit\n");
    /* Who names a directory wants it. */
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"hit\",\"path\":\"build\"}"),
                        "build/a:1:hit\n");
}

static void results_stop_at_the_number_asked_for_and_say_so(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "x\nx\nx\n");
    assert_string_equal(
        call_ok(f, "grep", "{\"pattern\":\"x\",\"max_results\":2}"),
        "a:1:x\na:2:x\n[truncated after 2 matches: narrow the pattern, path or glob]\n");
    assert_lacks(call_ok(f, "grep", "{\"pattern\":\"x\",\"max_results\":3}"), "truncated");
}

static void results_stay_within_the_limit_of_bytes(void **state)
{
    struct fixture *f = *state;
    FILE *file = fopen(in_workspace(f, "a"), "w");
    for (int i = 0; i < 2000; i++)
        fprintf(file, "match %d\n", i);
    fclose(file);
    f->context.max_result = 1000;
    assert_contains(call_ok(f, "grep", "{\"pattern\":\"match\",\"max_results\":1000}"),
                    "[truncated");
    assert_true(f->result.text.n <= 1000);
}

static void long_lines_are_cut(void **state)
{
    struct fixture *f = *state;
    static char line[100000];
    memset(line, 'x', sizeof line - 1);
    put(f, "a", line);
    const char *text = call_ok(f, "grep", "{\"pattern\":\"x\"}");
    assert_int_equal(strlen(text), strlen("a:1:") + 400 + strlen("…\n"));
}

static void binary_and_large_files_are_skipped_and_counted(void **state)
{
    struct fixture *f = *state;
    fixture_write(f->workspace, "bin", "hit\0", 4);
    put(f, "large", "hit");
    assert_int_equal(truncate(in_workspace(f, "large"), (20 << 20) + 1), 0);
    put(f, "text", "hit\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"hit\"}"),
                        "text:1:hit\n[1 binary files skipped]\n[1 files over 20 MB skipped]\n");
}

static void git_links_and_denied_directories_are_not_searched(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    put(f, ".git/config", "secret\n");
    put(f, "sub/.git", "secret\n");
    put(f, "store/db", "secret\n");
    assert_int_equal(scope_deny(&f->scope, in_workspace(f, "store"), &err), 0);
    assert_int_equal(symlink("../outside", in_workspace(f, "dir")), 0);
    assert_int_equal(symlink("../outside/secret", in_workspace(f, "file")), 0);
    assert_int_equal(mkfifo(in_workspace(f, "fifo"), 0600), 0);
    const char *text = call_ok(f, "grep", "{\"pattern\":\"secret\"}");
    assert_contains(text, "[no matches]");
    call_error(f, "grep", "{\"pattern\":\"secret\",\"path\":\"dir\"}", "out of the workspace");
    call_error(f, "grep", "{\"pattern\":\"secret\",\"path\":\"store\"}", "store");
    call_error(f, "grep", "{\"pattern\":\"secret\",\"path\":\".git\"}", "use the git tool");
}

static void a_path_outside_the_contract_is_refused(void **state)
{
    struct fixture *f = *state;
    put(f, "src/a", "x");
    put(f, "docs/a", "x");
    f->paths[0] = STR("docs");
    call_error(f, "grep", "{\"pattern\":\"x\"}", "allowed: docs");
    call_ok(f, "grep", "{\"pattern\":\"x\",\"path\":\"docs\"}");
}

static void lines_that_are_not_utf8_are_searched_and_mended(void **state)
{
    put(*state, "a", "caf\xe9 hit\n");
    assert_string_equal(call_ok(*state, "grep", "{\"pattern\":\"h.t\"}"),
                        "a:1:caf\xef\xbf\xbd hit\n");
}

static void utf16_and_files_with_a_mark_are_searched_as_text(void **state)
{
    struct fixture *f = *state;
    fixture_write(f->workspace, "a", "\xff\xfe\xfc\0b\0\n\0h\0i\0t\0", 14);
    put(f, "b", "\xef\xbb\xbfhit\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"^hit\"}"), "a:2:hit\nb:1:hit\n");
    assert_string_equal(call_ok(f, "grep", "{\"pattern\":\"üb\"}"), "a:1:üb\n");
}

static void a_wrong_pattern_says_where_and_what_to_do(void **state)
{
    const char *text = call_error(*state, "grep", "{\"pattern\":\"foo(\"}",
                                  "not a valid regular expression: missing closing parenthesis");
    assert_contains(text, "at character 5");
    call_error(*state, "grep", "{\"pattern\":\"\"}", "\"pattern\" is empty");
    call_error(*state, "grep", "{\"pattern\":\"\\\\C\"}", "not a valid regular expression");
}

static void a_catastrophic_pattern_ends_with_an_error(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\n");
    call_error(f, "grep", "{\"pattern\":\"^(a+)+$\"}", "takes too many steps");
    call_error(f, "grep", "{\"pattern\":\"^(a|a)*$\"}", "takes too many steps");
    call_error(f, "grep", "{\"pattern\":\"(*NO_JIT)^(a|aa)+$\"}", "takes too many steps");
    call_error(f, "grep", "{\"pattern\":\"(*LIMIT_MATCH=4000000000)^(a+)+$\"}",
               "takes too many steps");
}

static void a_cancelled_search_ends_with_an_error(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "x\n");
    atomic_store(&f->cancelled, true);
    call_error(f, "grep", "{\"pattern\":\"x\"}", "cancelled");
}

static void deep_trees_end(void **state)
{
    struct fixture *f = *state;
    char path[400] = "";
    for (int i = 0; i < 80; i++)
        strcat(path, "d/");
    strcat(path, "leaf");
    put(f, path, "hit\n");
    assert_contains(call_ok(f, "grep", "{\"pattern\":\"hit\"}"), "could not be searched");
}

static void swapped_directories_never_show_what_is_outside(void **state)
{
    struct fixture *f = *state;
    struct swapper swapper;
    long inside = 0;
    swapper_start(&swapper, f);
    for (int i = 0; i < 5000; i++) {
        const char *text = call(f, "grep", "{\"pattern\":\"inside|outside-secret\"}");
        assert_lacks(text, "outside-secret");
        inside += strstr(text, "inside-line") != NULL;
    }
    swapper_end(&swapper);
    assert_true(inside > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(matches_are_shown_with_path_line_and_text),
        TEST(plain_text_finds_the_same_as_an_expression),
        TEST(anchors_are_those_of_the_line),
        TEST(one_file_can_be_searched),
        TEST(case_is_ignored_only_when_asked),
        TEST(globs_choose_files_by_name_or_by_path),
        TEST(context_lines_are_shown_once_and_groups_are_separated),
        TEST(lines_before_and_after_can_differ),
        TEST(files_can_be_left_out_by_a_glob),
        TEST(a_type_chooses_the_files_of_a_language),
        TEST(files_or_counts_can_be_shown_instead_of_lines),
        TEST(ignored_files_are_searched_only_when_asked),
        TEST(results_stop_at_the_number_asked_for_and_say_so),
        TEST(results_stay_within_the_limit_of_bytes),
        TEST(long_lines_are_cut),
        TEST(binary_and_large_files_are_skipped_and_counted),
        TEST(git_links_and_denied_directories_are_not_searched),
        TEST(a_path_outside_the_contract_is_refused),
        TEST(lines_that_are_not_utf8_are_searched_and_mended),
        TEST(utf16_and_files_with_a_mark_are_searched_as_text),
        TEST(a_wrong_pattern_says_where_and_what_to_do),
        TEST(a_catastrophic_pattern_ends_with_an_error),
        TEST(a_cancelled_search_ends_with_an_error),
        TEST(deep_trees_end),
        TEST(swapped_directories_never_show_what_is_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
