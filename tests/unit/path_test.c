/* base/path: normal form, containment and globs, as tables. */
#include "base/path.h"
#include "check.h"

static void normal_form_resolves_dots_and_slashes(void **state)
{
    static const char *const table[][2] = {
        {"a", "a"},
        {"a/b", "a/b"},
        {"./a", "a"},
        {"a//b/", "a/b"},
        {"a/./b", "a/b"},
        {"a/../b", "b"},
        {"a/b/../..", "."},
        {".", "."},
        {"./", "."},
        {"a/..", "."},
        {"..a/b..", "..a/b.."},
        {"a/b/../c", "a/c"},
        {"...", "..."},
        {"a/b/../../c/./d//", "c/d"},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        check_str(path_normal(&arena, str_from(table[i][0])), table[i][1]);
    arena_release(&arena);
}

static void absolute_empty_nul_and_climbing_paths_have_no_normal_form(void **state)
{
    const struct str table[] = {
        STR("/a"),   STR(""),        STR_NONE,         STR("a\0b"), STR(".."),
        STR("../a"), STR("a/../.."), STR("a/../../a"), STR("./.."), STR("/"),
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (path_normal(&arena, table[i]).p)
            fail_msg("row %zu has a normal form", i);
    arena_release(&arena);
}

static void normal_form_is_its_own_normal_form(void **state)
{
    struct arena arena;
    arena_init(&arena);
    struct str once = path_normal(&arena, STR("x/./y//../z/"));
    struct str twice = path_normal(&arena, once);
    check_str(twice, once.p);
    arena_release(&arena);
}

static void within_compares_whole_components(void **state)
{
    assert_true(path_within(STR("ws/a"), STR("ws")));
    assert_true(path_within(STR("ws"), STR("ws")));
    assert_true(path_within(STR("anything/at/all"), STR(".")));
    assert_true(path_within(STR("."), STR(".")));
    assert_false(path_within(STR("ws-evil"), STR("ws")));
    assert_false(path_within(STR("ws"), STR("ws/a")));
    assert_false(path_within(STR("."), STR("ws")));
    assert_false(path_within(STR("a/ws"), STR("ws")));
}

static void a_path_without_a_normal_form_is_within_nothing(void **state)
{
    assert_false(path_within(STR_NONE, STR(".")));
    assert_false(path_within(STR("a"), STR_NONE));
    assert_false(path_within(STR_NONE, STR_NONE));
}

static void globs_match(void **state)
{
    static const char *const table[][2] = {
        {"*.c", "a.c"},
        {"src/*.c", "src/a.c"},
        {"**", "a/b/c"},
        {"**", "."},
        {"src/**", "src"},
        {"src/**", "src/a/b"},
        {"**/a.c", "a.c"},
        {"**/a.c", "x/y/a.c"},
        {"a/**/b", "a/b"},
        {"a/**/b", "a/x/y/b"},
        {"**/x/**/y", "a/x/b/x/c/y"},
        {"?", "\xC3\xA4"},
        {"a?c", "abc"},
        {"[a-c]x", "bx"},
        {"[!a-c]x", "dx"},
        {"[^a]", "b"},
        {"[]]", "]"},
        {"[a\\]]", "]"},
        {"[-a]", "-"},
        {"[a-]", "-"},
        {"[\xC3\xA4-\xC3\xB6]", "\xC3\xA5"},
        {"\\*", "*"},
        {"a\\?c", "a?c"},
        {"[x", "[x"},
        {"*", ".hidden"},
        {"*a*b*", "xxaxxbxx"},
        {"a**b", "axxb"},
        {"./src//*.c", "src/a.c"},
        {"a\\", "a\\"},
        {"*\xFF", "a\xFF"},
        {"[\\a-\\c]", "b"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (!path_glob(str_from(table[i][0]), str_from(table[i][1])))
            fail_msg("%s does not match %s", table[i][0], table[i][1]);
}

static void globs_do_not_match(void **state)
{
    static const char *const table[][2] = {
        {"*.c", "src/a.c"},
        {"src/*", "src/a/b"},
        {"src/**", "src-evil/a"},
        {"?", "ab"},
        {"?", ""},
        {"[a-c]", "d"},
        {"[!a]", "a"},
        {"\\*", "x"},
        {"a/**/b", "a/x/c"},
        {"**/a.c", "a.c/b"},
        {"*", "a/b"},
        {"a", "a/b"},
        {"a/b", "a"},
        {"*a*b*", "xxbxxa"},
        {"", "a"},
        {"A", "a"},
        {"\xFE", "\xFF"},
        {"?", "."},
        {"[z-a]", "m"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (path_glob(str_from(table[i][0]), str_from(table[i][1])))
            fail_msg("%s matches %s", table[i][0], table[i][1]);
    assert_false(path_glob(STR_NONE, STR("a")));
    assert_false(path_glob(STR("**"), STR_NONE));
}

/* With backtracking over every star this would not end within the life of the machine. */
static void hostile_globs_end(void **state)
{
    char pattern[200], path[400];
    for (size_t i = 0; i < sizeof pattern; i += 2) {
        pattern[i] = '*';
        pattern[i + 1] = 'a';
    }
    memset(path, 'a', sizeof path);
    path[sizeof path - 1] = 'b';
    assert_false(path_glob((struct str){pattern, sizeof pattern}, (struct str){path, sizeof path}));

    char stars[] = "**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/b";
    for (size_t i = 0; i < sizeof path; i++)
        path[i] = i % 2 ? '/' : 'a';
    assert_false(path_glob(str_from(stars), (struct str){path, sizeof path - 1}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normal_form_resolves_dots_and_slashes),
        cmocka_unit_test(absolute_empty_nul_and_climbing_paths_have_no_normal_form),
        cmocka_unit_test(normal_form_is_its_own_normal_form),
        cmocka_unit_test(within_compares_whole_components),
        cmocka_unit_test(a_path_without_a_normal_form_is_within_nothing),
        cmocka_unit_test(globs_match),
        cmocka_unit_test(globs_do_not_match),
        cmocka_unit_test(hostile_globs_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
