/* The tool `multi_edit`: all replacements or none, one prepared change, errors that name the edit. */
#include "tool_fixture.h"

#define EDIT(old, new) "{\"old_text\":\"" old "\",\"new_text\":\"" new "\"}"
#define CALL(edits) "{\"path\":\"a\",\"edits\":[" edits "]}"

static void all_edits_are_made_in_order(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "one two three\n");
    const char *text = call_ok(
        f, "multi_edit", CALL(EDIT("one", "1") "," EDIT("1 two", "12") "," EDIT("three", "")));
    assert_contains(text, "Edited a: 3 replacements.\n@@ -1,1 +1,1 @@\n-one two three\n+12 \n");
    assert_string_equal(content_of(f, "a"), "12 \n");
    assert_int_equal(f->result.modified_count, 1);
}

static void one_edit_that_fails_leaves_the_file_as_it_was(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "one two two\n");
    call_error(f, "multi_edit", CALL(EDIT("one", "1") "," EDIT("four", "4")),
               "edit 2 of 2: old_text does not occur in a");
    call_error(f, "multi_edit", CALL(EDIT("one", "1") "," EDIT("two", "2")),
               "edit 2 of 2: old_text occurs 2 times in a");
    call_error(f, "multi_edit", CALL(EDIT("one", "1") "," EDIT("two two", "two two")),
               "edit 2 of 2: old_text and new_text are the same");
    call_error(f, "multi_edit", CALL(EDIT("one", "1") "," EDIT("1", "one")), "undo each other");
    assert_string_equal(content_of(f, "a"), "one two two\n");
}

static void replace_all_holds_for_its_own_edit(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "x x y\n");
    call_ok(f, "multi_edit",
            CALL("{\"old_text\":\"x\",\"new_text\":\"z\",\"replace_all\":true}," EDIT("y", "w")));
    assert_string_equal(content_of(f, "a"), "z z w\n");
}

static void a_wrong_edit_is_named(void **state)
{
    struct fixture *f = *state;
    put(f, "a", "x\n");
    call_error(f, "multi_edit", CALL(EDIT("x", "y") ",{\"old_text\":\"y\"}"),
               "Error: edit 2 of 2: missing argument \"new_text\"");
    call_error(f, "multi_edit", CALL("7"), "edit 1 of 1: the arguments must be a JSON object");
    call_error(f, "multi_edit", CALL(""), "\"edits\" is empty");
    call_error(f, "multi_edit", "{\"path\":\"a\",\"edits\":\"x\"}",
               "must be an array, not a string");
    assert_string_equal(content_of(f, "a"), "x\n");
}

static void more_edits_than_the_most_are_refused(void **state)
{
    struct fixture *f = *state;
    struct buf json;
    buf_init(&json, 1 << 16);
    buf_text(&json, "{\"path\":\"a\",\"edits\":[");
    for (int i = 0; i < 101; i++)
        buf_printf(&json, "%s{\"old_text\":\"x\",\"new_text\":\"y\"}", i ? "," : "");
    buf_text(&json, "]}");
    put(f, "a", "x\n");
    call_error(f, "multi_edit", json.p, "at most 100 items long, not 101");
    buf_release(&json);
}

static void a_crash_is_settled_by_the_two_hashes(void **state)
{
    struct fixture *f = *state;
    struct js *arguments = parse(CALL(EDIT("one", "1") "," EDIT("two", "2")));
    const struct tool *tool = tool_find(STR("multi_edit"));
    put(f, "a", "one two\n");
    assert_int_equal(tool->prepare(&f->context, arguments, &f->prepared, &f->result), 0);
    assert_int_equal(tool_settle(&f->context, &f->prepared), SETTLED_NOT_DONE);
    put(f, "a", "1 two\n"); /* half of it is neither */
    assert_int_equal(tool_settle(&f->context, &f->prepared), SETTLED_UNKNOWN);
    put(f, "a", "one two\n");
    tool->run(&f->context, arguments, &f->prepared, &f->result);
    assert_int_equal(f->result.kind, RESULT_OK);
    assert_int_equal(tool_settle(&f->context, &f->prepared), SETTLED_DONE);
    js_free(arguments);
}

static void a_file_that_changed_since_prepare_is_left_alone(void **state)
{
    struct fixture *f = *state;
    struct js *arguments = parse(CALL(EDIT("one", "1") "," EDIT("two", "2")));
    const struct tool *tool = tool_find(STR("multi_edit"));
    put(f, "a", "one two\n");
    assert_int_equal(tool->prepare(&f->context, arguments, &f->prepared, &f->result), 0);
    put(f, "a", "one two theirs\n");
    tool->run(&f->context, arguments, &f->prepared, &f->result);
    assert_string_equal(f->result.text.p,
                        "Error: a changed while this call was waiting; read it again");
    assert_string_equal(content_of(f, "a"), "one two theirs\n");
    js_free(arguments);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_edits_are_made_in_order),
        TEST(one_edit_that_fails_leaves_the_file_as_it_was),
        TEST(replace_all_holds_for_its_own_edit),
        TEST(a_wrong_edit_is_named),
        TEST(more_edits_than_the_most_are_refused),
        TEST(a_crash_is_settled_by_the_two_hashes),
        TEST(a_file_that_changed_since_prepare_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
