/* The tools write, edit and delete as a model meets them: what they answer, what they refuse,
 * what they leave on disk, and what can be said after a crash. */
#include "tool_fixture.h"

#include "tool/replace.h"

/* --- write ------------------------------------------------------------------------------------ */

static void write_creates_a_file_and_its_directories(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(call_ok(f, "write", "{\"path\":\"a/b/c.txt\",\"content\":\"x\\ny\\n\"}"),
                        "Created a/b/c.txt (2 lines, 4 bytes).\n");
    assert_string_equal(content_of(f, "a/b/c.txt"), "x\ny\n");
    assert_int_equal(f->result.modified_count, 1);
    assert_string_equal(f->result.files_modified[0].p, "a/b/c.txt");
    assert_int_equal(f->prepared.before, FILE_ABSENT);
}

static void write_replaces_a_file_and_hashes_both_states(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "old");
    assert_contains(call_ok(f, "write", "{\"path\":\"a\",\"content\":\"new\"}"), "Replaced a");
    struct hash before = hash_of(STR("old")), after = hash_of(STR("new"));
    assert_int_equal(f->prepared.before, FILE_PRESENT);
    assert_true(hash_eq(&f->prepared.before_hash, &before));
    assert_true(hash_eq(&f->prepared.after_hash, &after));
    assert_string_equal(content_of(f, "a"), "new");
}

static void write_replaces_the_file_and_not_its_content(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "old");
    assert_int_equal(link(in_workspace(f, "a"), in_workspace(f, "other")), 0);
    call_ok(f, "write", "{\"path\":\"a\",\"content\":\"new\"}");
    assert_string_equal(content_of(f, "other"), "old");
}

static void prepare_changes_nothing(void **state)
{
    struct fixture *f = *state;
    struct js *arguments = parse("{\"path\":\"d/a\",\"content\":\"x\"}");
    const struct tool *tool = tool_find(STR("write"));
    assert_int_equal(tool->prepare(&f->context, arguments, &f->prepared, &f->result), 0);
    assert_int_equal(access(in_workspace(f, "d"), F_OK), -1);
    js_free(arguments);
}

/* Prepares a call, lets `meanwhile` be the new content of the file (NULL: deletes it), runs it. */
static const char *call_interrupted(struct fixture *f, const char *name, const char *json,
                                    const char *path, const char *meanwhile)
{
    struct js *arguments = parse(json);
    const struct tool *tool = tool_find(str_from(name));
    assert_int_equal(tool->prepare(&f->context, arguments, &f->prepared, &f->result), 0);
    if (meanwhile)
        put(f, path, meanwhile);
    else
        assert_int_equal(unlink(in_workspace(f, path)), 0);
    tool->run(&f->context, arguments, &f->prepared, &f->result);
    js_free(arguments);
    assert_int_equal(f->result.kind, RESULT_ERROR);
    assert_int_equal(f->result.modified_count, 0);
    return f->result.text.p;
}

static void a_file_that_changed_since_prepare_is_not_written_edited_or_deleted(void **state)
{
    struct fixture *f = *state;
    static const char *const calls[][2] = {
        {"write", "{\"path\":\"a\",\"content\":\"mine\"}"},
        {"edit", "{\"path\":\"a\",\"old_text\":\"old\",\"new_text\":\"mine\"}"},
        {"delete", "{\"path\":\"a\"}"},
    };
    for (size_t i = 0; i < 3; i++) {
        put(f, "a", "old");
        assert_string_equal(call_interrupted(f, calls[i][0], calls[i][1], "a", "old and theirs"),
                            "Error: a changed while this call was waiting; read it again");
        assert_string_equal(content_of(f, "a"), "old and theirs");
        put(f, "a", "old");
        assert_contains(call_interrupted(f, calls[i][0], calls[i][1], "a", NULL), "a changed");
        assert_null(content_of(f, "a"));
    }
    assert_contains(call_interrupted(f, "write", "{\"path\":\"n/new\",\"content\":\"mine\"}",
                                     "n/new", "theirs"),
                    "n/new changed");
    assert_string_equal(content_of(f, "n/new"), "theirs");
}

static void writing_through_links_outside_or_in_git_is_refused(void **state)
{
    struct fixture *f = *state;
    static const char *const calls[][2] = {
        {"write", ",\"content\":\"x\""},
        {"edit", ",\"old_text\":\"outside\",\"new_text\":\"x\""},
        {"delete", ""},
    };
    static const char *const paths[] = {"link",        "dir/secret", "../outside/secret",
                                        ".git/config", "fifo",       "d"};
    char json[200];
    put(f, ".git/config", "outside");
    put(f, "d/x", "x");
    assert_int_equal(symlink("../outside/secret", in_workspace(f, "link")), 0);
    assert_int_equal(symlink("../outside", in_workspace(f, "dir")), 0);
    assert_int_equal(mkfifo(in_workspace(f, "fifo"), 0600), 0);
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < sizeof paths / sizeof paths[0]; j++) {
            snprintf(json, sizeof json, "{\"path\":\"%s\"%s}", paths[j], calls[i][1]);
            call_error(f, calls[i][0], json, "Error: ");
        }
    assert_string_equal(content_of(f, "../outside/secret"), SECRET);
    assert_string_equal(content_of(f, ".git/config"), "outside");
    assert_non_null(content_of(f, "d/x"));
}

static void writing_outside_the_contract_names_the_allowed_paths(void **state)
{
    struct fixture *f = *state;
    f->paths[1] = STR("src/auth");
    f->context.write_paths = f->paths + 1;
    call_error(f, "write", "{\"path\":\"src/auth-evil/a\",\"content\":\"x\"}", "allowed: src/auth");
    call_error(f, "write", "{\"path\":\"src/auth/../a\",\"content\":\"x\"}", "allowed: src/auth");
    call_ok(f, "write", "{\"path\":\"src/auth/a\",\"content\":\"x\"}");
    f->context.write_count = 0;
    call_error(f, "write", "{\"path\":\"src/auth/a\",\"content\":\"y\"}", "allowed: none");
}

static void a_path_through_a_file_is_refused(void **state)
{
    put(*state, "a", "x");
    call_error(*state, "write", "{\"path\":\"a/b\",\"content\":\"x\"}", "not a directory");
}

/* --- edit ------------------------------------------------------------------------------------- */

static void edit_replaces_the_one_occurrence(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "one two three");
    assert_string_equal(
        call_ok(f, "edit", "{\"path\":\"a\",\"old_text\":\"two\",\"new_text\":\"2\"}"),
        "Edited a: 1 replacement.\n");
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
    assert_contains(text, "the file has: \t\treturn;");
    put(f, "a", "x\r\ny\r\n");
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

/* --- delete ----------------------------------------------------------------------------------- */

static void delete_removes_one_file(void **state)
{
    struct fixture *f = *state;
    put(f, "a/b", "x");
    assert_string_equal(call_ok(f, "delete", "{\"path\":\"a/b\"}"), "Deleted a/b.\n");
    assert_null(content_of(f, "a/b"));
    assert_string_equal(f->result.files_modified[0].p, "a/b");
    call_error(f, "delete", "{\"path\":\"a/b\"}", "does not exist");
    call_error(f, "delete", "{\"path\":\"a\"}", "is a directory");
    call_error(f, "delete", "{\"path\":\".\"}", "the workspace itself");
}

/* --- after a crash ---------------------------------------------------------------------------- */

static void settle_compares_the_file_with_both_states(void **state)
{
    struct fixture *f = *state;
    struct js *arguments = parse("{\"path\":\"a\",\"content\":\"new\"}");
    put(f, "a", "old");
    assert_int_equal(
        tool_find(STR("write"))->prepare(&f->context, arguments, &f->prepared, &f->result), 0);
    assert_int_equal(tool_settle(&f->context, &f->prepared), SETTLED_NOT_DONE);
    put(f, "a", "new");
    assert_int_equal(tool_settle(&f->context, &f->prepared), SETTLED_DONE);
    put(f, "a", "else");
    assert_int_equal(tool_settle(&f->context, &f->prepared), SETTLED_UNKNOWN);
    assert_int_equal(unlink(in_workspace(f, "a")), 0);
    assert_int_equal(tool_settle(&f->context, &f->prepared), SETTLED_UNKNOWN);
    js_free(arguments);
}

static void settle_knows_created_and_deleted_files(void **state)
{
    struct fixture *f = *state;
    struct js *arguments = parse("{\"path\":\"d/a\",\"content\":\"\"}");
    assert_int_equal(
        tool_find(STR("write"))->prepare(&f->context, arguments, &f->prepared, &f->result), 0);
    assert_int_equal(tool_settle(&f->context, &f->prepared), SETTLED_NOT_DONE);
    put(f, "d/a", "");
    assert_int_equal(tool_settle(&f->context, &f->prepared), SETTLED_DONE);
    assert_int_equal(
        tool_find(STR("delete"))->prepare(&f->context, arguments, &f->prepared, &f->result), -1);
    js_free(arguments);
    arguments = parse("{\"path\":\"d/a\"}");
    assert_int_equal(
        tool_find(STR("delete"))->prepare(&f->context, arguments, &f->prepared, &f->result), 0);
    assert_int_equal(tool_settle(&f->context, &f->prepared), SETTLED_NOT_DONE);
    assert_int_equal(unlink(in_workspace(f, "d/a")), 0);
    assert_int_equal(tool_settle(&f->context, &f->prepared), SETTLED_DONE);
    js_free(arguments);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(write_creates_a_file_and_its_directories),
        TEST(write_replaces_a_file_and_hashes_both_states),
        TEST(write_replaces_the_file_and_not_its_content),
        TEST(prepare_changes_nothing),
        TEST(a_file_that_changed_since_prepare_is_not_written_edited_or_deleted),
        TEST(writing_through_links_outside_or_in_git_is_refused),
        TEST(writing_outside_the_contract_names_the_allowed_paths),
        TEST(a_path_through_a_file_is_refused),
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
        TEST(delete_removes_one_file),
        TEST(settle_compares_the_file_with_both_states),
        TEST(settle_knows_created_and_deleted_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
