/* base/utf8: validity, mending, cutting, widths, and what may reach a terminal. */
#include <stdlib.h>

#include "base/utf8.h"
#include "check.h"

#define BAD "\xEF\xBF\xBD"

static void check_mended(struct str text, const char *expected)
{
    struct buf out;
    buf_init(&out, 1000);
    utf8_mend(&out, text);
    check_str(buf_view(&out), expected);
    buf_release(&out);
}

static void check_clean(struct str text, enum utf8_lines keep, const char *expected)
{
    struct buf out;
    buf_init(&out, 1000);
    utf8_clean(&out, text, keep);
    check_str(buf_view(&out), expected);
    buf_release(&out);
}

static void well_formed_text_is_valid_to_its_end(void **state)
{
    const struct str texts[] = {
        STR(""),
        STR("plain ascii, longer than eight bytes"),
        STR("\xC2\x80\xDF\xBF"),
        STR("\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF"),
        STR("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"),
        STR("a\0b"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(utf8_valid(texts[i]), texts[i].n);
}

static void overlong_surrogate_and_too_large_forms_are_invalid(void **state)
{
    const struct str texts[] = {
        STR("12345678\xC0\x80"),
        STR("12345678\xC1\xBF"),
        STR("12345678\xE0\x9F\xBF"),
        STR("12345678\xED\xA0\x80"),
        STR("12345678\xF0\x8F\xBF\xBF"),
        STR("12345678\xF4\x90\x80\x80"),
        STR("12345678\xF5\x80"),
        STR("12345678\x80"),
        STR("12345678\xFF"),
        STR("12345678\xE2\x82"),
        STR("12345678\xC3"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(utf8_valid(texts[i]), 8);
}

/* Every code point, encoded by hand, decodes to itself. */
static void every_code_point_decodes_to_itself(void **state)
{
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        char bytes[4];
        size_t n;
        if (code < 0x80) {
            bytes[0] = (char)code;
            n = 1;
        } else if (code < 0x800) {
            bytes[0] = (char)(0xC0 | code >> 6);
            n = 2;
        } else if (code < 0x10000) {
            bytes[0] = (char)(0xE0 | code >> 12);
            n = 3;
        } else {
            bytes[0] = (char)(0xF0 | code >> 18);
            n = 4;
        }
        for (size_t i = 1; i < n; i++)
            bytes[i] = (char)(0x80 | (code >> (6 * (n - 1 - i)) & 0x3F));
        uint32_t decoded;
        size_t length = utf8_next((struct str){bytes, n}, &decoded);
        bool surrogate = code >= 0xD800 && code <= 0xDFFF;
        if (decoded != (surrogate ? UTF8_BAD : code) || length != (surrogate ? 1 : n))
            fail_msg("U+%04X decodes to %08X, %zu bytes", code, decoded, length);
    }
}

static void each_maximal_bad_part_is_replaced_once(void **state)
{
    check_mended(STR("a\xE2\x82z"), "a" BAD "z");
    check_mended(STR("a\xF0\x9F\x98"), "a" BAD);
    check_mended(STR("\xFF\xFE"), BAD BAD);
    check_mended(STR("\xE0\x80\x80"), BAD BAD BAD);
    check_mended(STR("\xC3\xA4"), "\xC3\xA4");
    check_mended(STR(""), "");
}

static void cut_never_splits_a_character(void **state)
{
    const struct str text = STR("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
    const size_t expected[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
    for (size_t max = 0; max < 12; max++)
        assert_int_equal(utf8_cut(text, max).n, expected[max]);
}

static void cut_of_invalid_text_keeps_to_the_limit(void **state)
{
    assert_int_equal(utf8_cut(STR("\x80\x80\x80\x80\x80\x80"), 4).n, 4);
    assert_int_equal(utf8_cut(STR("\xE2\x82\x28\x28"), 2).n, 2);
    assert_int_equal(utf8_cut(STR_NONE, 4).n, 0);
}

static void cut_chars_counts_code_points(void **state)
{
    const struct str text = STR("a\xC3\xA4\xF0\x9F\x98\x80z");
    assert_int_equal(utf8_cut_chars(text, 0).n, 0);
    assert_int_equal(utf8_cut_chars(text, 2).n, 3);
    assert_int_equal(utf8_cut_chars(text, 3).n, 7);
    assert_int_equal(utf8_cut_chars(text, 99).n, text.n);
}

static void width_counts_columns(void **state)
{
    assert_int_equal(utf8_width(STR("abc")), 3);
    assert_int_equal(utf8_width(STR("\xE6\x97\xA5\xE6\x9C\xAC")), 4); /* two wide ideographs */
    assert_int_equal(utf8_width(STR("e\xCC\x81")), 1);                /* a combining accent */
    assert_int_equal(utf8_width(STR("a\x1b\n\x7f\xC2\x9B")), 1);
    assert_int_equal(utf8_width(STR("\xFF")), 1);
    assert_int_equal(utf8_width(STR_NONE), 0);
}

static void cut_width_keeps_whole_characters_and_their_accents(void **state)
{
    const struct str text = STR("\xE6\x97\xA5"
                                "e\xCC\x81"
                                "\xE6\x9C\xAC");
    assert_int_equal(utf8_cut_width(text, 1).n, 0);
    assert_int_equal(utf8_cut_width(text, 2).n, 3);
    assert_int_equal(utf8_cut_width(text, 3).n, 6);
    assert_int_equal(utf8_cut_width(text, 4).n, 6);
    assert_int_equal(utf8_cut_width(text, 5).n, 9);
    assert_int_equal(utf8_cut_width(text, -1).n, 0);
}

static void escape_sequences_go_whole(void **state)
{
    check_clean(STR("a\x1b[1;31mred\x1b[0m."), UTF8_LINES, "ared.");
    check_clean(STR("a\x1b]0;title\x07z"), UTF8_LINES, "az");
    check_clean(STR("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\z"), UTF8_LINES, "alinkz");
    check_clean(STR("a\x1bPq#0\x1b\\z"), UTF8_LINES, "az");
    check_clean(STR("a\x1b_x\x1b\\\x1b^x\x1b\\\x1bXx\x1b\\z"), UTF8_LINES, "az");
    check_clean(STR("a\x1b(0z\x1b"
                    "7y\x1b=x"),
                UTF8_LINES, "azyx");
    check_clean(STR("a\xC2\x9B"
                    "31mz\xC2\x9D"
                    "0;t\xC2\x9Cy"),
                UTF8_LINES, "azy");
}

static void sequences_cut_short_leave_no_escape(void **state)
{
    check_clean(STR("a\x1b"), UTF8_LINES, "a");
    check_clean(STR("a\x1b["), UTF8_LINES, "a");
    check_clean(STR("a\x1b[12;"), UTF8_LINES, "a");
    check_clean(STR("a\x1b\x1b[31mz"), UTF8_LINES, "az");
    check_clean(STR("a\x1b[31\nz"), UTF8_LINES, "a\nz");
    check_clean(STR("a\x1b]0;t\x1b[31mz"), UTF8_LINES, "az");
}

static void an_unterminated_string_sequence_does_not_hide_text(void **state)
{
    check_clean(STR("a\x1b]0;rm -rf"), UTF8_LINES, "a0;rm -rf");
    check_clean(STR("a\x1bPhidden"), UTF8_LINES, "ahidden");
}

static void controls_are_removed(void **state)
{
    check_clean(STR("a\x01\x08\r\x7f\0z"), UTF8_LINES, "az");
    check_clean(STR("a\xC2\x85\xC2\x80z"), UTF8_LINES, "az");
}

static void lines_stay_or_become_spaces(void **state)
{
    check_clean(STR("a\r\nb\tc"), UTF8_LINES, "a\nb\tc");
    check_clean(STR("a\r\nb\tc"), UTF8_ONE_LINE, "a b c");
    check_clean(STR("a\xE2\x80\xA8z"), UTF8_ONE_LINE, "a z");
}

static void bidi_and_other_format_controls_are_removed(void **state)
{
    check_clean(STR("a\xE2\x80\xAE\xE2\x81\xA6z"), UTF8_LINES, "az");         /* RLO, LRI */
    check_clean(STR("a\xE2\x80\x8B\xEF\xBB\xBF\xC2\xADz"), UTF8_LINES, "az"); /* ZWSP, BOM, SHY */
    check_clean(STR("a\xF3\xA0\x81\x81z"), UTF8_LINES, "az");                 /* a tag character */
}

static void invalid_bytes_are_mended_and_letters_stay(void **state)
{
    check_clean(STR("a\x9B"
                    "31mz\xFF"),
                UTF8_LINES, "a" BAD "31mz" BAD);
    check_clean(STR("gr\xC3\xBC\xC3\x9F \xE6\x97\xA5 \xF0\x9F\x98\x80"), UTF8_LINES,
                "gr\xC3\xBC\xC3\x9F \xE6\x97\xA5 \xF0\x9F\x98\x80");
}

/* Random bytes rich in escapes: the result is valid and has nothing a terminal would act on. */
static void no_control_survives_random_bytes(void **state)
{
    const char *const pieces[] = {"\x1b",     "[",        "]",    "P",    "\x07",        "\\",
                                  "\xC2\x9B", "\xC2\x9D", "\xC2", "\x9B", "m",           "0",
                                  ";",        "\n",       "\r",   "\x7f", "\xE2\x80\xAE"};
    uint32_t random = 99;
    for (int round = 0; round < 20000; round++) {
        struct buf text, out;
        buf_init(&text, 1000);
        buf_init(&out, 1000);
        for (int i = 0; i < 16; i++) {
            random = random * 1664525u + 1013904223u;
            buf_text(&text, pieces[(random >> 16) % (sizeof pieces / sizeof pieces[0])]);
        }
        utf8_clean(&out, buf_view(&text), UTF8_ONE_LINE);
        assert_int_equal(utf8_valid(buf_view(&out)), out.n);
        for (size_t i = 0; i < out.n; i++) {
            uint32_t code;
            i += utf8_next((struct str){out.p + i, out.n - i}, &code) - 1;
            assert_true(code >= 0x20 && (code < 0x7F || code >= 0xA0) && code != 0x202E);
        }
        buf_release(&text);
        buf_release(&out);
    }
}

static void json_for_a_terminal_says_the_same_in_escapes(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 4096);
    utf8_escape_json(&out, STR("{\"a\":\"x\xC2\x9B"
                               "31m\x7F\xE2\x80\xAE\xE2\x81\xA6 gr\xC3\xBC\xC3\x9F "
                               "\xF3\xA0\x81\x81 \xE2\x80\xA8\\u001b\xFF\"}"));
    assert_string_equal(out.p, "{\"a\":\"x\\u009b31m\\u007f\\u202e\\u2066 gr\xC3\xBC\xC3\x9F "
                               "\\udb40\\udc41 \\u2028\\u001b\xEF\xBF\xBD\"}");
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(well_formed_text_is_valid_to_its_end),
        cmocka_unit_test(overlong_surrogate_and_too_large_forms_are_invalid),
        cmocka_unit_test(every_code_point_decodes_to_itself),
        cmocka_unit_test(each_maximal_bad_part_is_replaced_once),
        cmocka_unit_test(cut_never_splits_a_character),
        cmocka_unit_test(cut_of_invalid_text_keeps_to_the_limit),
        cmocka_unit_test(cut_chars_counts_code_points),
        cmocka_unit_test(width_counts_columns),
        cmocka_unit_test(cut_width_keeps_whole_characters_and_their_accents),
        cmocka_unit_test(escape_sequences_go_whole),
        cmocka_unit_test(sequences_cut_short_leave_no_escape),
        cmocka_unit_test(an_unterminated_string_sequence_does_not_hide_text),
        cmocka_unit_test(controls_are_removed),
        cmocka_unit_test(lines_stay_or_become_spaces),
        cmocka_unit_test(bidi_and_other_format_controls_are_removed),
        cmocka_unit_test(invalid_bytes_are_mended_and_letters_stay),
        cmocka_unit_test(no_control_survives_random_bytes),
        cmocka_unit_test(json_for_a_terminal_says_the_same_in_escapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
