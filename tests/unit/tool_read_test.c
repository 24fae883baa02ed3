/* The tools read and ls, and the arguments of all tools, as a model meets them: what they answer
 * and what they refuse. */
#include "tool_fixture.h"

#include "tool/near.h"

/* --- arguments -------------------------------------------------------------------------------- */

static void a_missing_argument_is_named_with_the_known_ones(void **state)
{
    const char *text = call_error(*state, "read", "{}", "missing argument \"path\"");
    assert_contains(text, "path, offset (optional), limit (optional)");
}

static void an_unknown_argument_is_named_with_the_known_ones(void **state)
{
    const char *text =
        call_error(*state, "read", "{\"path\":\"a\",\"file\":\"b\"}", "unknown argument \"file\"");
    assert_contains(text, "path, offset (optional)");
}

static void a_number_may_be_an_exact_string(void **state)
{
    put(*state, "a", "one\ntwo\nthree\n");
    const char *text = call_ok(*state, "read", "{\"path\":\"a\",\"offset\":\"2\",\"limit\":\"1\"}");
    assert_contains(text, "two");
    assert_lacks(text, "one");
}

static void an_argument_of_the_wrong_type_says_what_was_expected(void **state)
{
    call_error(*state, "read", "{\"path\":7}", "\"path\" must be a string, not a number");
    call_error(*state, "read", "{\"path\":\"a\",\"offset\":\"1st\"}",
               "\"offset\" must be a whole number, not a string");
    call_error(*state, "read", "{\"path\":\"a\",\"limit\":1.5}", "must be a whole number");
    call_error(*state, "edit",
               "{\"path\":\"a\",\"old_text\":\"b\",\"new_text\":\"c\",\"replace_all\":1}",
               "must be true or false");
    call_error(*state, "read", "[]", "must be a JSON object");
    call_error(*state, "read", "{\"path\":null}", "must be a string, not null");
}

static void numbers_out_of_bounds_are_refused(void **state)
{
    put(*state, "a", "x\n");
    call_error(*state, "read", "{\"path\":\"a\",\"offset\":0}", "must not be 0");
    call_error(*state, "read", "{\"path\":\"a\",\"limit\":0}", "at least 1, not 0");
    call_error(*state, "ls", "{\"depth\":9}", "at most 8, not 9");
    call_error(*state, "read", "{\"path\":\"a\",\"limit\":-9223372036854775807}", "at least 1");
}

static void null_stands_for_an_absent_optional_argument(void **state)
{
    put(*state, "a", "x\n");
    call_ok(*state, "read", "{\"path\":\"a\",\"offset\":null,\"limit\":null}");
}

static void every_tool_has_a_schema_of_type_object(void **state)
{
    (void)state;
    for (size_t i = 0; i < tool_count; i++) {
        struct js *schema = parse(tool_table[i]->schema);
        assert_true(str_is(js_get_str(schema, "type"), "object"));
        assert_true(js_count(js_get(schema, "properties")) > 0);
        assert_ptr_equal(tool_find(str_from(tool_table[i]->name)), tool_table[i]);
        js_free(schema);
    }
    assert_null(tool_find(STR("nope")));
}

/* --- read ------------------------------------------------------------------------------------- */

static void read_numbers_the_lines(void **state)
{
    struct fixture *f = *state;
    put(f, "src/a", "one\n\nthree");
    assert_string_equal(call_ok(f, "read", "{\"path\":\"src/a\"}"),
                        "     1\tone\n     2\t\n     3\tthree\n");
    assert_int_equal(f->result.read_count, 1);
    assert_string_equal(f->result.files_read[0].p, "src/a");
}

static void read_shows_a_page_and_says_where_the_next_one_starts(void **state)
{
    put(*state, "a", "1\n2\n3\n4\n5\n");
    assert_string_equal(call_ok(*state, "read", "{\"path\":\"a\",\"offset\":2,\"limit\":2}"),
                        "     2\t2\n     3\t3\n[truncated: ask for offset=4 to read on]\n");
    assert_string_equal(call_ok(*state, "read", "{\"path\":\"a\",\"offset\":4,\"limit\":2}"),
                        "     4\t4\n     5\t5\n");
}

static void read_behind_the_end_says_how_long_the_file_is(void **state)
{
    put(*state, "a", "1\n2");
    call_error(*state, "read", "{\"path\":\"a\",\"offset\":3}", "a has only 2 lines; offset=3");
}

static void read_says_that_a_file_is_empty(void **state)
{
    put(*state, "a", "");
    assert_string_equal(call_ok(*state, "read", "{\"path\":\"a\"}"), "[a is empty]\n");
}

static void read_refuses_a_binary_file_with_its_size(void **state)
{
    struct fixture *f = *state;
    fixture_write(f->workspace, "a", "PQ\0\1", 4);
    call_error(f, "read", "{\"path\":\"a\"}", "a is a binary file (4 bytes) and cannot");
    fixture_write(f->workspace, "b", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
    call_error(f, "read", "{\"path\":\"b\"}", "b is a binary file (16 bytes, PNG image)");
    fixture_write(f->workspace, "c", "\xff\xfe\0\0a\0\0\0", 8);
    call_error(f, "read", "{\"path\":\"c\"}", "c is a binary file (8 bytes, UTF-32 text)");
}

static void a_line_that_is_not_utf8_is_shown_as_latin1_or_mended_and_told(void **state)
{
    put(*state, "a", "gr\xfc\xdf\nfine \xc3\xbc\n");
    assert_string_equal(call_ok(*state, "read", "{\"path\":\"a\"}"),
                        "     1\tgrüß\n     2\tfine ü\n"
                        "[lines that are not UTF-8 are shown as Latin-1]\n");
    put(*state, "b", "ü \xfc\n\x81\n");
    assert_string_equal(call_ok(*state, "read", "{\"path\":\"b\"}"),
                        "     1\tü \xef\xbf\xbd\n     2\t\xef\xbf\xbd\n"
                        "[bytes that are not UTF-8 are shown as U+FFFD]\n");
}

static void utf16_with_a_mark_is_decoded_and_told(void **state)
{
    struct fixture *f = *state;
    static const char little[] = "\xff\xfeh\0i\0\n\0=\xd8\0\xde\n\0\0\xdc";
    fixture_write(f->workspace, "l", little, sizeof little - 1);
    assert_string_equal(call_ok(f, "read", "{\"path\":\"l\"}"),
                        "     1\thi\n     2\t\xf0\x9f\x98\x80\n     3\t\xef\xbf\xbd\n"
                        "[the file is UTF-16, little-endian, with a byte order mark]\n");
    static const char big[] = "\xfe\xff\0h\0i\0\r\0\n\0!\0";
    fixture_write(f->workspace, "b", big, sizeof big - 1);
    assert_string_equal(call_ok(f, "read", "{\"path\":\"b\"}"),
                        "     1\thi\n     2\t!\xef\xbf\xbd\n[lines end with CRLF]\n"
                        "[the file is UTF-16, big-endian, with a byte order mark]\n");
}

static void a_byte_order_mark_is_told_and_is_no_part_of_the_first_line(void **state)
{
    put(*state, "a", "\xef\xbb\xbfx\n");
    assert_string_equal(call_ok(*state, "read", "{\"path\":\"a\"}"),
                        "     1\tx\n[the file starts with a UTF-8 byte order mark]\n");
}

static void a_negative_offset_counts_from_the_end(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "1\n2\n3\n4\n5");
    assert_string_equal(call_ok(f, "read", "{\"path\":\"a\",\"offset\":-2}"),
                        "     4\t4\n     5\t5\n");
    assert_string_equal(call_ok(f, "read", "{\"path\":\"a\",\"offset\":-4,\"limit\":1}"),
                        "     2\t2\n[truncated: ask for offset=3 to read on]\n");
    assert_contains(call_ok(f, "read", "{\"path\":\"a\",\"offset\":-99}"), "     1\t1\n");
    put(f, "empty", "");
    assert_contains(call_ok(f, "read", "{\"path\":\"empty\",\"offset\":-1}"), "is empty");
}

static void large_files_in_utf16_are_streamed_and_counted(void **state)
{
    struct fixture *f = *state;
    FILE *file = fopen(in_workspace(f, "a"), "w");
    fwrite("\xff\xfe", 1, 2, file);
    for (int i = 0; i < 300000; i++)
        fwrite(i % 2 ? "\n\0" : "\xe4\0", 1, 2, file);
    fwrite("\xe4\0x\0", 1, 4, file);
    for (int i = 0; i < 500000; i++)
        fwrite("y\0", 1, 2, file);
    fclose(file);
    const char *text = call_ok(f, "read", "{\"path\":\"a\",\"offset\":-2}");
    assert_contains(text, "150000\tä\n150001\täxyyy");
}

static void read_cuts_long_lines_and_says_so(void **state)
{
    struct fixture *f = *state;
    static char line[300000];
    memset(line, 'x', sizeof line - 3);
    memcpy(line + sizeof line - 3, "\ny", 3);
    put(f, "a", line);
    const char *text = call_ok(f, "read", "{\"path\":\"a\"}");
    assert_int_equal(strspn(text + 7, "x"), 2000);
    assert_contains(text, "…\n     2\ty\n");
    assert_contains(text, "lines that were cut");
}

static void read_does_not_cut_inside_a_character(void **state)
{
    struct fixture *f = *state;
    static char line[12001];
    for (size_t i = 0; i + 4 <= 12000; i += 4)
        memcpy(line + i, "\xf0\x9f\x98\x80", 4);
    put(f, "a", line);
    const char *text = call_ok(f, "read", "{\"path\":\"a\"}");
    assert_lacks(text, "U+FFFD");
    assert_int_equal(strlen(text), 7 + 2000 * 4 + strlen("…\n[… marks lines that were cut]\n"));
}

static void read_pages_through_a_file_of_a_hundred_megabytes(void **state)
{
    struct fixture *f = *state;
    int fd = open(in_workspace(f, "big"), O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    static char block[1 << 20];
    memset(block, 'z', sizeof block);
    for (size_t i = 63; i < sizeof block; i += 64)
        block[i] = '\n';
    for (int i = 0; i < 100; i++)
        assert_int_equal(write(fd, block, sizeof block), sizeof block);
    close(fd);
    const char *text = call_ok(f, "read", "{\"path\":\"big\"}");
    assert_true(f->result.text.n <= f->context.max_result);
    assert_contains(text, "[truncated: ask for offset=");
    text = call_ok(f, "read", "{\"path\":\"big\",\"offset\":1638400}");
    assert_contains(text, "1638400\tzzz");
    assert_lacks(text, "truncated");
    assert_true(f->arena.used < 65536);
}

static void read_keeps_results_within_the_limit_and_pages_join_without_gaps(void **state)
{
    struct fixture *f = *state;
    char json[64];
    long next = 1, seen = 0;
    FILE *file = fopen(in_workspace(f, "a"), "w");
    for (int i = 1; i <= 500; i++)
        fprintf(file, "line %d\n", i);
    fclose(file);
    f->context.max_result = 700;
    while (next > 0) {
        snprintf(json, sizeof json, "{\"path\":\"a\",\"offset\":%ld}", next);
        const char *text = call_ok(f, "read", json);
        assert_true(f->result.text.n <= 700);
        const char *line = text;
        for (; *line == ' '; line = strchr(line, '\n') + 1)
            assert_int_equal(strtol(line, NULL, 10), ++seen);
        const char *more = strstr(text, "offset=");
        next = more ? strtol(more + 7, NULL, 10) : 0;
    }
    assert_int_equal(seen, 500);
}

static void read_of_a_directory_suggests_ls(void **state)
{
    put(*state, "dir/x", "");
    call_error(*state, "read", "{\"path\":\"dir\"}", "dir is a directory, not a file; use ls");
}

static void read_of_a_missing_file_shows_near_names(void **state)
{
    put(*state, "src/config.yaml", "");
    put(*state, "src/other.c", "");
    const char *text = call_error(*state, "read", "{\"path\":\"src/config.yml\"}",
                                  "did you mean: src/config.yaml");
    assert_lacks(text, "other.c");
    call_error(*state, "read", "{\"path\":\"scr/x\"}", "there is no directory scr");
}

static void near_names_are_not_shown_from_directories_that_may_not_be_read(void **state)
{
    struct fixture *f = *state;
    put(f, "private/config.yaml", "");
    f->paths[0] = STR("private/config.yml");
    assert_lacks(call_error(f, "read", "{\"path\":\"private/config.yml\"}", "does not exist"),
                 "yaml");
}

static void read_notes_crlf_line_endings(void **state)
{
    put(*state, "a", "x\r\ny\r\n");
    assert_string_equal(call_ok(*state, "read", "{\"path\":\"a\"}"),
                        "     1\tx\n     2\ty\n[lines end with CRLF]\n");
}

static void read_stops_when_it_is_cancelled(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "x");
    atomic_store(&f->cancelled, true);
    call_error(f, "read", "{\"path\":\"a\"}", "cancelled");
}

static void read_outside_the_contract_names_the_allowed_paths(void **state)
{
    struct fixture *f = *state;
    put(f, "src/a", "x");
    f->paths[0] = STR("docs");
    call_error(f, "read", "{\"path\":\"src/a\"}", "outside the paths of this task; allowed: docs");
    f->context.read_count = 0;
    call_error(f, "read", "{\"path\":\"src/a\"}", "allowed: none");
}

static void read_reaches_nothing_outside_and_nothing_in_git(void **state)
{
    struct fixture *f = *state;
    char json[600];
    put(f, ".git/config", "outside-secret");
    assert_int_equal(symlink("../outside/secret", in_workspace(f, "link")), 0);
    call_error(f, "read", "{\"path\":\"../outside/secret\"}", "outside the workspace");
    call_error(f, "read", "{\"path\":\"/etc/passwd\"}", "outside the workspace");
    call_error(f, "read", "{\"path\":\"link\"}", "out of the workspace");
    call_error(f, "read", "{\"path\":\".git/config\"}", "use the git tool");
    call_error(f, "read", "{\"path\":\"a\\u0000b\"}", "NUL");
    snprintf(json, sizeof json, "{\"path\":\"%s/outside/secret\"}", f->top);
    call_error(f, "read", json, "outside the workspace");
}

static void relative_paths_start_at_the_working_directory(void **state)
{
    struct fixture *f = *state;
    put(f, "pkg/a", "inner\n");
    put(f, "a", "outer\n");
    f->context.working_directory = STR("pkg");
    assert_contains(call_ok(f, "read", "{\"path\":\"a\"}"), "inner");
    assert_contains(call_ok(f, "read", "{\"path\":\"../a\"}"), "outer");
    assert_string_equal(call_ok(f, "ls", "{}"), "pkg/a  6 bytes\n");
    call_ok(f, "write", "{\"path\":\"new\",\"content\":\"x\"}");
    assert_string_equal(f->result.files_modified[0].p, "pkg/new");
    assert_string_equal(content_of(f, "pkg/new"), "x");
}

/* --- ls --------------------------------------------------------------------------------------- */

static void ls_sorts_and_marks_what_it_shows(void **state)
{
    struct fixture *f = *state;
    put(f, "b.c", "12345");
    put(f, "a/x", "");
    put(f, ".git/config", "");
    put(f, ".hidden", "1");
    assert_int_equal(symlink("../outside", in_workspace(f, "c")), 0);
    assert_int_equal(mkfifo(in_workspace(f, "d"), 0600), 0);
    assert_string_equal(
        call_ok(f, "ls", "{\"path\":\".\"}"),
        ".hidden  1 bytes\na/\nb.c  5 bytes\nc (symbolic link)\nd (special file)\n");
}

static void ls_descends_to_the_depth_that_was_asked_for(void **state)
{
    put(*state, "a/b/c/d", "");
    assert_string_equal(call_ok(*state, "ls", "{\"depth\":2}"), "a/\na/b/\n");
    assert_string_equal(call_ok(*state, "ls", "{\"path\":\"a\",\"depth\":3}"),
                        "a/b/\na/b/c/\na/b/c/d  0 bytes\n");
}

static void ls_stops_after_a_thousand_entries_and_says_so(void **state)
{
    struct fixture *f = *state;
    char name[32];
    f->context.max_result = 1 << 20;
    for (int i = 0; i < 1001; i++) {
        snprintf(name, sizeof name, "many/f%04d", i);
        put(f, name, "");
    }
    const char *text = call_ok(f, "ls", "{\"path\":\"many\"}");
    assert_contains(text, "many/f0999");
    assert_lacks(text, "many/f1000");
    assert_contains(text, "[truncated after 1000 entries");
    f->context.max_result = 2000;
    assert_contains(call_ok(f, "ls", "{\"path\":\"many\"}"), "[truncated after ");
}

static void ls_cannot_be_fooled_by_names_with_newlines(void **state)
{
    put(*state, "a\nfake\x1b[2J", "");
    assert_string_equal(call_ok(*state, "ls", "{}"), "\"a\\nfake\\033[2J\"  0 bytes\n");
}

static void ls_says_that_a_directory_is_empty_or_a_file(void **state)
{
    assert_contains(call_ok(*state, "ls", "{}"), "empty");
    put(*state, "file", "");
    call_error(*state, "ls", "{\"path\":\"file\"}", "file is not a directory; use read");
}

static void ls_does_not_enter_links_or_denied_directories(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    put(f, "store/cadre.db", "");
    assert_int_equal(symlink("../outside", in_workspace(f, "out")), 0);
    assert_int_equal(scope_deny(&f->scope, in_workspace(f, "store"), &err), 0);
    const char *text = call_ok(f, "ls", "{\"depth\":3}");
    assert_lacks(text, "secret");
    assert_lacks(text, "cadre.db");
    assert_contains(text, "could not be opened");
}

static void distance_counts_edits(void **state)
{
    (void)state;
    assert_int_equal(near_distance(STR("main.c"), STR("mian.c")), 2);
    assert_int_equal(near_distance(STR("README"), STR("readme")), 0);
    assert_int_equal(near_distance(STR(""), STR("abc")), 3);
    assert_int_equal(near_distance(STR("kitten"), STR("sitting")), 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_missing_argument_is_named_with_the_known_ones),
        TEST(an_unknown_argument_is_named_with_the_known_ones),
        TEST(a_number_may_be_an_exact_string),
        TEST(an_argument_of_the_wrong_type_says_what_was_expected),
        TEST(numbers_out_of_bounds_are_refused),
        TEST(null_stands_for_an_absent_optional_argument),
        TEST(every_tool_has_a_schema_of_type_object),
        TEST(read_numbers_the_lines),
        TEST(read_shows_a_page_and_says_where_the_next_one_starts),
        TEST(read_behind_the_end_says_how_long_the_file_is),
        TEST(read_says_that_a_file_is_empty),
        TEST(read_refuses_a_binary_file_with_its_size),
        TEST(a_line_that_is_not_utf8_is_shown_as_latin1_or_mended_and_told),
        TEST(utf16_with_a_mark_is_decoded_and_told),
        TEST(a_byte_order_mark_is_told_and_is_no_part_of_the_first_line),
        TEST(a_negative_offset_counts_from_the_end),
        TEST(large_files_in_utf16_are_streamed_and_counted),
        TEST(read_cuts_long_lines_and_says_so),
        TEST(read_does_not_cut_inside_a_character),
        TEST(read_pages_through_a_file_of_a_hundred_megabytes),
        TEST(read_keeps_results_within_the_limit_and_pages_join_without_gaps),
        TEST(read_of_a_directory_suggests_ls),
        TEST(read_of_a_missing_file_shows_near_names),
        TEST(near_names_are_not_shown_from_directories_that_may_not_be_read),
        TEST(read_notes_crlf_line_endings),
        TEST(read_stops_when_it_is_cancelled),
        TEST(read_outside_the_contract_names_the_allowed_paths),
        TEST(read_reaches_nothing_outside_and_nothing_in_git),
        TEST(relative_paths_start_at_the_working_directory),
        TEST(ls_sorts_and_marks_what_it_shows),
        TEST(ls_descends_to_the_depth_that_was_asked_for),
        TEST(ls_stops_after_a_thousand_entries_and_says_so),
        TEST(ls_cannot_be_fooled_by_names_with_newlines),
        TEST(ls_says_that_a_directory_is_empty_or_a_file),
        TEST(ls_does_not_enter_links_or_denied_directories),
        TEST(distance_counts_edits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
