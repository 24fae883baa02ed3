/* The tool `edit` as a model meets it: what it changes and keeps, what it refuses, and how its errors help. */
#include "tool_fixture.h"

#include "tool/diff.h"
#include "tool/replace.h"

/* --- edit ------------------------------------------------------------------------------------- */

static void edit_replaces_the_one_occurrence(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "one two three");
    assert_string_equal(
        call_ok(f, "edit", "{\"path\":\"a\",\"old_text\":\"two\",\"new_text\":\"2\"}"),
        "Edited a: 1 replacement.\n"
        "@@ -1,1 +1,1 @@\n"
        "-one two three\n\\ No newline at end of file\n"
        "+one 2 three\n\\ No newline at end of file\n");
    assert_string_equal(content_of(f, "a"), "one 2 three");
    assert_string_equal(f->result.files_modified[0].p, "a");
}

static void edit_keeps_the_file_mode(void **state)
{
    struct fixture *f = *state;
    struct stat status;
    put(f, "run.sh", "x");
    assert_int_equal(chmod(in_workspace(f, "run.sh"), 0755), 0);
    call_ok(f, "edit", "{\"path\":\"run.sh\",\"old_text\":\"x\",\"new_text\":\"y\"}");
    assert_int_equal(stat(in_workspace(f, "run.sh"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0755);
}

static void edit_refuses_text_that_occurs_more_than_once(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "x\ny\nx\n");
    call_error(f, "edit", "{\"path\":\"a\",\"old_text\":\"x\",\"new_text\":\"z\"}",
               "occurs 2 times in a (first at lines 1, 3)");
    put(f, "a", "aaa");
    call_error(f, "edit", "{\"path\":\"a\",\"old_text\":\"aa\",\"new_text\":\"z\"}",
               "occurs 2 times");
    assert_string_equal(content_of(f, "a"), "aaa");
}

static void edit_replaces_all_when_asked(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "x x x");
    assert_contains(
        call_ok(f, "edit",
                "{\"path\":\"a\",\"old_text\":\"x\",\"new_text\":\"xx\",\"replace_all\":true}"),
        "3 replacements");
    assert_string_equal(content_of(f, "a"), "xx xx xx");
}

static void an_edit_that_changes_nothing_is_an_error(void **state)
{
    put(*state, "a", "x");
    call_error(*state, "edit", "{\"path\":\"a\",\"old_text\":\"x\",\"new_text\":\"x\"}",
               "nothing would change");
    call_error(*state, "edit", "{\"path\":\"a\",\"old_text\":\"\",\"new_text\":\"x\"}", "is empty");
}

static void edit_of_a_missing_file_is_an_error_with_near_names(void **state)
{
    put(*state, "main.c", "x");
    call_error(*state, "edit", "{\"path\":\"mian.c\",\"old_text\":\"x\",\"new_text\":\"y\"}",
               "did you mean: main.c");
}

static void a_near_miss_names_the_line_and_the_white_space(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "begin\n\tif (x)\n\t\treturn;\nend\n");
    const char *text = call_error(
        f, "edit",
        "{\"path\":\"a\",\"old_text\":\"\\tif (x)\\n        return;\\n\",\"new_text\":\"y\"}",
        "line 3, which differs in indentation");
    assert_contains(text, "the file has 2 tabs, old_text has 8 spaces");
    assert_contains(text, "the file has: \t\treturn;");
    assert_contains(text, "the file from line 2 on:\n     2\t\tif (x)\n     3\t\t\treturn;\n");
    put(f, "a", "x\r\ny\r\nz\n");
    call_error(f, "edit", "{\"path\":\"a\",\"old_text\":\"x\\ny\",\"new_text\":\"z\"}",
               "line 1, which differs in line endings: the file has CRLF");
    put(f, "a", "int Count = 0;\n");
    call_error(f, "edit", "{\"path\":\"a\",\"old_text\":\"int count = 0;\",\"new_text\":\"z\"}",
               "line 1, which differs in upper and lower case");
    put(f, "a", "foo();\nint value = compute(1);\n");
    call_error(f, "edit",
               "{\"path\":\"a\",\"old_text\":\"int value = compute(2);\",\"new_text\":\"z\"}",
               "the closest is line 2\n");
    call_error(f, "edit", "{\"path\":\"a\",\"old_text\":\"zzzzzzzz\",\"new_text\":\"z\"}",
               "does not occur in a; read the file again");
}

static void edit_needs_a_path_that_may_be_read(void **state)
{
    struct fixture *f = *state;
    put(f, "secret.txt", "outside-secret value here");
    f->paths[1] = STR("docs");
    f->context.read_paths = f->paths + 1;
    call_error(
        f, "edit",
        "{\"path\":\"secret.txt\",\"old_text\":\"outside-secret value her\",\"new_text\":\"\"}",
        "allowed: docs");
}

static void edit_refuses_a_file_that_is_too_large(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "x");
    assert_int_equal(truncate(in_workspace(f, "a"), (16 << 20) + 1), 0);
    call_error(f, "edit", "{\"path\":\"a\",\"old_text\":\"x\",\"new_text\":\"y\"}", "too large");
}

static void edit_refuses_a_result_that_is_too_large(void **state)
{
    struct buf out;
    struct replace_report report;
    (void)state;
    buf_init(&out, 10);
    assert_int_equal(replace_text(STR("aaaa"), STR("a"), STR("bbbb"), REPLACE_ALL, &out, &report),
                     REPLACE_TOO_LARGE);
    buf_release(&out);
}

/* --- what a file is written in ---------------------------------------------------------------- */

static void a_file_of_crlf_lines_stays_one(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "one\r\ntwo\r\nthree\r\n");
    call_ok(f, "edit", "{\"path\":\"a\",\"old_text\":\"one\\ntwo\",\"new_text\":\"1\\n2\\n2b\"}");
    assert_string_equal(content_of(f, "a"), "1\r\n2\r\n2b\r\nthree\r\n");
    call_ok(f, "edit", "{\"path\":\"a\",\"old_text\":\"1\\r\\n2\\r\\n\",\"new_text\":\"x\\r\\n\"}");
    assert_string_equal(content_of(f, "a"), "x\r\n2b\r\nthree\r\n");
}

static void a_file_of_lf_lines_gets_no_crlf(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "one\ntwo\n");
    call_ok(f, "edit", "{\"path\":\"a\",\"old_text\":\"one\",\"new_text\":\"1\\n1b\"}");
    assert_string_equal(content_of(f, "a"), "1\n1b\ntwo\n");
}

static void a_latin_1_file_keeps_its_encoding(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "caf\xE9 one\n");
    call_ok(f, "edit", "{\"path\":\"a\",\"old_text\":\"one\",\"new_text\":\"two\"}");
    assert_string_equal(content_of(f, "a"), "caf\xE9 two\n");
    call_error(f, "edit", "{\"path\":\"a\",\"old_text\":\"two\",\"new_text\":\"\u00e9\"}",
               "not UTF-8: new_text must be ASCII");
    assert_string_equal(content_of(f, "a"), "caf\xE9 two\n");
}

static void a_byte_order_mark_stays(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "\xEF\xBB\xBFone\n");
    call_ok(f, "edit", "{\"path\":\"a\",\"old_text\":\"one\",\"new_text\":\"\u00e9\"}");
    assert_string_equal(content_of(f, "a"), "\xEF\xBB\xBF\xC3\xA9\n");
}

static void a_file_with_nul_bytes_is_not_edited(void **state)
{
    struct fixture *f = *state;
    fixture_write(f->workspace, "a", "\xFF\xFEo\0n\0", 6);
    call_error(f, "edit", "{\"path\":\"a\",\"old_text\":\"on\",\"new_text\":\"x\"}",
               "binary file or UTF-16");
}

/* --- the diff of the result ------------------------------------------------------------------- */

static void diff_is(const char *before, const char *after, const char *expected)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    diff_print(str_from(before), str_from(after),
               (struct diff_bounds){.lines = 12, .line_bytes = 20}, &out);
    assert_string_equal(buf_view(&out).p, expected);
    buf_release(&out);
}

static void the_diff_shows_three_lines_around_a_change(void **state)
{
    (void)state;
    diff_is("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
            "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
    diff_is("a\n", "a\n", "");
    diff_is("", "new\n", "@@ -0,0 +1,1 @@\n+new\n");
    diff_is("old\n", "", "@@ -1,1 +0,0 @@\n-old\n");
    diff_is("a\nb\n", "a\nx\nb\n", "@@ -1,2 +1,3 @@\n a\n+x\n b\n");
}

static void changes_far_apart_have_hunks_of_their_own(void **state)
{
    (void)state;
    diff_is("a\n1\n2\n3\n4\n5\n6\n7\n8\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\n8\nB\n",
            "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -7,4 +7,4 @@\n 6\n 7\n 8\n-b\n+B\n");
}

static void a_long_line_of_the_diff_is_cut(void **state)
{
    (void)state;
    diff_is("x\n", "0123456789012345678901234\n", "@@ -1,1 +1,1 @@\n-x\n+01234567890123456789…\n");
}

static void texts_that_differ_in_everything_are_one_block(void **state)
{
    (void)state;
    struct buf before, after, out;
    buf_init(&before, 1 << 20);
    buf_init(&after, 1 << 20);
    buf_init(&out, 1 << 20);
    for (int i = 0; i < 2000; i++) {
        buf_printf(&before, "a%d\n", i);
        buf_printf(&after, "b%d\n", i);
    }
    diff_print(buf_view(&before), buf_view(&after),
               (struct diff_bounds){.lines = 3, .line_bytes = 20}, &out);
    assert_string_equal(out.p, "@@ -1,2000 +1,2000 @@\n-a0\n-a1\n"
                               "[the rest of the diff is not shown: 3998 lines]\n");
    buf_release(&before);
    buf_release(&after);
    buf_release(&out);
}

static void control_characters_of_the_file_do_not_reach_the_result(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "\x1b]52;c;eA==\x07one\n");
    const char *text =
        call_ok(f, "edit", "{\"path\":\"a\",\"old_text\":\"one\",\"new_text\":\"two\"}");
    assert_null(strchr(text, '\x1b'));
    assert_contains(text, "+two\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(edit_replaces_the_one_occurrence),
        TEST(edit_keeps_the_file_mode),
        TEST(edit_refuses_text_that_occurs_more_than_once),
        TEST(edit_replaces_all_when_asked),
        TEST(an_edit_that_changes_nothing_is_an_error),
        TEST(edit_of_a_missing_file_is_an_error_with_near_names),
        TEST(a_near_miss_names_the_line_and_the_white_space),
        TEST(edit_needs_a_path_that_may_be_read),
        TEST(edit_refuses_a_file_that_is_too_large),
        TEST(edit_refuses_a_result_that_is_too_large),
        TEST(a_file_of_crlf_lines_stays_one),
        TEST(a_file_of_lf_lines_gets_no_crlf),
        TEST(a_latin_1_file_keeps_its_encoding),
        TEST(a_byte_order_mark_stays),
        TEST(a_file_with_nul_bytes_is_not_edited),
        TEST(the_diff_shows_three_lines_around_a_change),
        TEST(changes_far_apart_have_hunks_of_their_own),
        TEST(a_long_line_of_the_diff_is_cut),
        TEST(texts_that_differ_in_everything_are_one_block),
        TEST(control_characters_of_the_file_do_not_reach_the_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
