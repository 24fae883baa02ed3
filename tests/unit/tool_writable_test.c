/* Write rules at work: what the file tools may open under them, and the places that they come to for a sandbox. */
#include "tool/writable.h"

#include "tool_fixture.h"

static void allow(struct fixture *f, const char *rule)
{
    f->paths[0] = str_from(rule);
    f->context.write_paths = f->paths;
    f->context.write_count = 1;
}

/* The places as one text. */
static const char *places(struct fixture *f)
{
    struct writable found;
    struct buf text;
    buf_init(&text, 1 << 20);
    writable_find(&f->context, &f->arena, &found);
    for (size_t i = 0; i < found.count; i++)
        buf_printf(&text, "%s%.*s", i > 0 ? " " : "", STR_FMT(found.paths[i]));
    buf_text(&text, found.state == WRITABLE_CUT ? " …" : "");
    const char *all = arena_copy(&f->arena, buf_view(&text)).p;
    buf_release(&text);
    return all != NULL ? all : "";
}

static void a_named_rule_comes_to_all_such_directories_nearer_ones_first(void **state)
{
    struct fixture *f = *state;
    put(f, "src/deep/er/tests/a.c", "");
    put(f, "src/tests/a.c", "");
    put(f, "src/tests/tests/inner.c", "");
    put(f, "tests/a.c", "");
    put(f, "bin/tests", "a script");
    put(f, "mytests/a.c", "");
    allow(f, "**/tests");
    assert_string_equal(places(f), "tests src/tests src/deep/er/tests");
    allow(f, "src/**/tests");
    assert_string_equal(places(f), "src/tests src/deep/er/tests");
    allow(f, "docs/**/tests");
    assert_string_equal(places(f), "");
}

static void links_and_git_are_not_entered(void **state)
{
    struct fixture *f = *state;
    put(f, ".git/tests/hook", "");
    put(f, "real/tests/a.c", "");
    assert_int_equal(symlink("real", in_workspace(f, "linked")), 0);
    assert_int_equal(symlink("real", in_workspace(f, "tests")), 0);
    allow(f, "**/tests");
    assert_string_equal(places(f), "real/tests");
}

static void plain_rules_come_to_themselves_where_they_are_there(void **state)
{
    struct fixture *f = *state;
    put(f, "src/a.c", "");
    allow(f, "src");
    assert_string_equal(places(f), "src");
    allow(f, "src/a.c");
    assert_string_equal(places(f), "src/a.c");
    allow(f, "src/**");
    assert_string_equal(places(f), "src");
    allow(f, "src/a.c/**");
    assert_string_equal(places(f), "");
    allow(f, "gone");
    assert_string_equal(places(f), "");
    allow(f, ".");
    assert_string_equal(places(f), ".");
}

static void what_is_found_is_bounded_and_says_so(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < WRITABLE_PLACES + 10; i++) {
        char path[64];
        snprintf(path, sizeof path, "d%03d/tests/a", i);
        put(f, path, "");
    }
    allow(f, "**/tests");
    struct writable found;
    writable_find(&f->context, &f->arena, &found);
    assert_int_equal(found.count, WRITABLE_PLACES);
    assert_int_equal(found.state, WRITABLE_CUT);
}

static void plain_paths_alone_are_places_without_a_look(void **state)
{
    struct fixture *f = *state;
    struct writable found;
    allow(f, "not/there");
    writable_places(&f->context, &f->arena, &found);
    assert_int_equal(found.count, 1);
    put(f, "src/tests/a", "");
    allow(f, "**/tests");
    writable_places(&f->context, &f->arena, &found);
    assert_int_equal(found.count, 1);
    assert_true(str_is(found.paths[0], "src/tests"));
}

static int check(const char *rule, const char *path)
{
    struct err err = ERR_INIT;
    struct str paths[] = {str_from(rule)};
    return scope_check(str_from(path), (struct scope_allow){paths, 1}, &err) == 0 ? 0 : err.class;
}

static void the_scope_opens_only_what_a_rule_holds(void **state)
{
    assert_int_equal(check("**/tests", "src/foo/tests/x.c"), 0);
    assert_int_equal(check("**/tests", "src/foo/x.c"), ERR_DENIED);
    assert_int_equal(check("**/tests", "bin/tests"), ERR_DENIED);
    assert_int_equal(check("**/tests", "tests/.git/config"), ERR_DENIED);
    assert_int_equal(check("src/**", "src"), ERR_DENIED);
    assert_int_equal(check("**/a/b", "a/b/c"), ERR_DENIED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_named_rule_comes_to_all_such_directories_nearer_ones_first, fixture_setup,
            fixture_teardown),
        cmocka_unit_test_setup_teardown(links_and_git_are_not_entered, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(plain_rules_come_to_themselves_where_they_are_there,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(what_is_found_is_bounded_and_says_so, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(plain_paths_alone_are_places_without_a_look, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test(the_scope_opens_only_what_a_rule_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
