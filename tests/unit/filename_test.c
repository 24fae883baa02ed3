/* base/filename: which names are shown as they are, how others are shown, and that everything can be read back. */
#include <stdio.h>
#include <stdlib.h>

#include "base/filename.h"
#include "base/utf8.h"
#include "check.h"

static void check_shown(struct str path, const char *expected)
{
    struct buf out;
    struct arena arena;
    arena_init(&arena);
    buf_init(&out, 1000);
    filename_show(&out, path);
    check_str(buf_view(&out), expected);
    check_str(filename_shown(&arena, path), expected);
    assert_true(str_eq(filename_read(&arena, buf_view(&out)), path));
    buf_release(&out);
    arena_release(&arena);
}

static void ordinary_names_are_shown_as_they_are(void **state)
{
    static const char *const names[] = {"a",
                                        "src/main.c",
                                        "with space",
                                        "it's",
                                        "grüße/日本語",
                                        "back\\slash",
                                        "say \"hi\"",
                                        "-n",
                                        "a\\nb",
                                        "x\"",
                                        "[masked]",
                                        "*?",
                                        ""};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        check_shown(str_from(names[i]), names[i]);
}

static void other_names_are_quoted_on_one_line(void **state)
{
    check_shown(STR("a\nb"), "\"a\\nb\"");
    check_shown(STR("dir\t/x\r"), "\"dir\\t/x\\r\"");
    check_shown(STR("\x1b[2J"), "\"\\033[2J\"");
    check_shown(STR("\x07\x08\x0b\x0c\x01\x7f"), "\"\\a\\b\\v\\f\\001\\177\"");
    check_shown(STR("caf\xe9"), "\"caf\\351\"");
    check_shown(STR("\xff\xfe"), "\"\\377\\376\"");
    check_shown(STR("txt.\xe2\x80\xae"
                    "exe"),
                "\"txt.\\342\\200\\256exe\""); /* right to left */
    check_shown(STR("a\xe2\x80\x8b"
                    "b"),
                "\"a\\342\\200\\213b\""); /* no width */
    check_shown(STR("a\xe2\x80\xa8"
                    "b"),
                "\"a\\342\\200\\250b\""); /* breaks a line */
    check_shown(STR("a\xc2\x9b"
                    "b"),
                "\"a\\302\\233b\""); /* CSI in one character */
    check_shown(STR("say \"hi\"\n\\"), "\"say \\\"hi\\\"\\n\\\\\"");
}

/* Such a file is reached by what is shown, and the name that it looks like is another file's. */
static void a_name_that_looks_quoted_is_quoted_again(void **state)
{
    check_shown(STR("\"a\\nb\""), "\"\\\"a\\\\nb\\\"\"");
    check_shown(STR("\"a\""), "\"\\\"a\\\"\"");
    check_shown(STR("\""), "\"\\\"\"");
    check_shown(STR("\"a"), "\"\\\"a\"");
}

static void text_that_is_not_a_quoted_name_means_itself(void **state)
{
    static const char *const texts[] = {"\"a\\qb\"", "\"a\\", "\"a\"b\"", "\"\\400\"", "\"\\12\"",
                                        "\"\\000\"", "\"\"",  "\"a",      "a\"",       "\"\\\""};
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        check_str(filename_read(&arena, str_from(texts[i])), texts[i]);
    check_str(filename_read(&arena, STR("\"a b\"")), "a b"); /* quotes that were not needed */
    arena_release(&arena);
}

static void any_name_is_one_visible_line_and_comes_back(void **state)
{
    unsigned seed = 7;
    for (int round = 0; round < 20000; round++) {
        char bytes[12];
        struct arena arena;
        struct buf out;
        size_t n = 1 + (size_t)round % sizeof bytes;
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1103515245 + 12345;
            bytes[i] = (char)(1 + (seed >> 16) % 255);
        }
        arena_init(&arena);
        buf_init(&out, FILENAME_SHOWN(sizeof bytes));
        filename_show(&out, (struct str){bytes, n});
        assert_false(out.failed);
        assert_true(str_eq(filename_read(&arena, buf_view(&out)), (struct str){bytes, n}));
        struct buf clean;
        buf_init(&clean, 1000);
        utf8_clean(&clean, buf_view(&out), UTF8_ONE_LINE);
        assert_true(str_eq(buf_view(&clean), buf_view(&out)));
        buf_release(&clean);
        buf_release(&out);
        arena_release(&arena);
    }
}

static void a_message_cuts_a_long_name(void **state)
{
    char path[4000];
    memset(path, '\n', sizeof path);
    struct filename name = filename_of((struct str){path, sizeof path});
    assert_true(strlen(name.text) < sizeof name.text);
    assert_string_equal(name.text + strlen(name.text) - strlen("…"), "…");
    assert_string_equal(filename_of(STR("a\nb")).text, "\"a\\nb\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_names_are_shown_as_they_are),
        cmocka_unit_test(other_names_are_quoted_on_one_line),
        cmocka_unit_test(a_name_that_looks_quoted_is_quoted_again),
        cmocka_unit_test(text_that_is_not_a_quoted_name_means_itself),
        cmocka_unit_test(any_name_is_one_visible_line_and_comes_back),
        cmocka_unit_test(a_message_cuts_a_long_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
