/* What a question shows, what may be typed, and what the typed line means. */
#include "check.h"
#include "cli/keys.h"
#include "cli/question_answer.h"
#include "cli/question_view.h"

/* --- answers --------------------------------------------------------------------------------------- */

static void each_answer_has_a_letter_and_a_word(void **state)
{
    static const struct {
        const char *line;
        enum question_choice choice;
    } rows[] = {
        {"y", CHOICE_YES},
        {"Y", CHOICE_YES},
        {" YES ", CHOICE_YES},
        {"y\r", CHOICE_YES},
        {"n", CHOICE_NO},
        {"No", CHOICE_NO},
        {"s", CHOICE_SESSION},
        {"p", CHOICE_PROJECT},
        {"v", CHOICE_VIEW},
        {"project", CHOICE_PROJECT},
        {"", CHOICE_UNCLEAR},
        {" ", CHOICE_UNCLEAR},
        {"yy", CHOICE_UNCLEAR},
        {"yes please", CHOICE_UNCLEAR},
        {"ye", CHOICE_UNCLEAR},
        {"j", CHOICE_UNCLEAR},
        {"1", CHOICE_UNCLEAR},
        {"s p", CHOICE_UNCLEAR},
        {"nothing", CHOICE_UNCLEAR},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (question_read(str_from(rows[i].line)).choice != rows[i].choice)
            fail_msg("\"%s\" means %d", rows[i].line,
                     (int)question_read(str_from(rows[i].line)).choice);
}

static void a_no_may_have_a_reason(void **state)
{
    struct question_answer answer = question_read(STR(" n  use the other file  "));
    assert_int_equal(answer.choice, CHOICE_NO);
    check_str(answer.reason, "use the other file");
    assert_int_equal(question_read(STR("n")).reason.n, 0);
}

static void a_reply_is_the_line_or_the_choice_of_its_number(void **state)
{
    static const char arguments[] = "{\"question\":\"?\",\"choices\":[\"red\",\"dark blue\"]}";
    static const struct {
        const char *line, *reply;
    } rows[] = {
        {"2", "dark blue"},
        {" 1 \r", "red"},
        {"3", "3"},
        {"0", "0"},
        {"", ""},
        {"1.", "1."},
        {" none of it ", "none of it"},
        {"-1", "-1"},
        {"99999", "99999"},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_str(question_reply(&arena, STR(arguments), str_from(rows[i].line)), rows[i].reply);
    check_str(question_reply(&arena, STR("{\"question\":\"?\"}"), STR("1")), "1");
    arena_release(&arena);
}

/* --- keys ------------------------------------------------------------------------------------------- */

static enum keys_event type(struct keys_line *line, const char *keys)
{
    enum keys_event event = KEYS_MORE;
    for (; *keys != '\0'; keys++)
        event = keys_feed(line, *keys);
    return event;
}

static void keys_make_a_line_that_can_be_corrected(void **state)
{
    struct keys_line line = {.n = 0};
    assert_int_equal(type(&line, "ab\x7f"
                                 "c\xc3\xa4\x7f\x1b[D d"),
                     KEYS_MORE);
    check_str(((struct str){line.text, line.n}), "ac d");
    type(&line, " word\x17");
    check_str(((struct str){line.text, line.n}), "ac d ");
    assert_int_equal(type(&line, "\x04"), KEYS_MORE);
    type(&line, "\x15");
    assert_int_equal(line.n, 0);
    assert_int_equal(type(&line, "\x04"), KEYS_END);
    assert_int_equal(type(&line, "y\n"), KEYS_LINE);
    check_str(((struct str){line.text, line.n}), "y");
}

static void a_line_without_end_keeps_its_size(void **state)
{
    struct keys_line line = {.n = 0};
    for (size_t i = 0; i < 3 * sizeof line.text; i++)
        assert_int_equal(keys_feed(&line, 'y'), KEYS_MORE);
    assert_int_equal(line.n, sizeof line.text);
    assert_int_equal(line.size, LINE_TOO_LONG);
}

/* --- what is shown ------------------------------------------------------------------------------------ */

static const struct question_style plain = {79, COLOUR_OFF, GLYPHS_ASCII};

static struct preview of(enum preview_kind kind, struct str text)
{
    struct preview preview = {.tool = STR("shell"), .count = 1};
    preview.parts[0] = (struct preview_part){.label = STR("command"), .text = text, .kind = kind};
    return preview;
}

static void check_shown(struct str text, const struct question_style *style, const char *expected)
{
    struct preview preview = of(PREVIEW_TEXT, text);
    struct buf out;
    buf_init(&out, 1 << 20);
    question_text_preview(&preview, style, &out);
    check_str(buf_view(&out), expected);
    buf_release(&out);
}

static void a_line_break_never_becomes_a_blank(void **state)
{
    check_shown(STR("ls # list\nrm -r src"), &plain,
                "  command: (2 lines)\n  1 | ls # list\n  2 | rm -r src\n");
    check_shown(STR("ls # list\r\x0brm -r src"), &plain,
                "  command: ls # list<U+000D><U+000B>rm -r src\n");
    check_shown(STR("ls\n\n\nrm\n"), &plain,
                "  command: (4 lines)\n  1 | ls\n  2 | \n  3 | \n  4 | rm\n");
}

static void what_cannot_be_seen_is_marked(void **state)
{
    check_shown(STR("a\x1b[2Jb\tc\x7f"), &plain, "  command: a<U+001B>[2Jb<U+0009>c<U+007F>\n");
    check_shown(STR("x\u202ey\u200bz\u00a0\u3164\u2028"), &plain,
                "  command: x<U+202E>y<U+200B>z<U+00A0><U+3164><U+2028>\n");
    check_shown(STR("\xff\xc3(e\u0301\U000e0041"), &plain,
                "  command: <0xFF><0xC3>(e<U+0301><U+E0041>\n");
    check_shown(STR(""), &plain, "  command: (empty)\n");
    check_shown(STR("gr\u00fc\u00dfe \u4e2d\u6587"), &plain,
                "  command: gr\u00fc\u00dfe \u4e2d\u6587\n");
}

static void a_long_line_wraps_behind_the_bar(void **state)
{
    const struct question_style narrow = {24, COLOUR_OFF, GLYPHS_ASCII};
    check_shown(STR("0123456789abcdefghij? root wants to"), &narrow,
                "  command: 0123456789abc\n  | defghij? root wants \n  | to\n");
}

static void a_text_cannot_look_like_the_question(void **state)
{
    struct preview preview = of(PREVIEW_TEXT, STR("x\nAllow it? [y/n]\n? root wants to use ls:\n"));
    struct buf out;
    buf_init(&out, 1 << 20);
    question_text_preview(&preview, &plain, &out);
    assert_null(strstr(out.p, "\nAllow"));
    assert_null(strstr(out.p, "\n?"));
    buf_release(&out);
}

static void a_diff_is_coloured_line_by_line(void **state)
{
    const struct question_style coloured = {79, COLOUR_ON, GLYPHS_ASCII};
    struct preview preview = of(PREVIEW_DIFF, STR("@@ -1 +1 @@\n-old\n+new\n same\n"));
    struct buf out;
    buf_init(&out, 1 << 20);
    question_text_preview(&preview, &coloured, &out);
    assert_non_null(strstr(out.p, "\x1b[31m-old\x1b[0m\n"));
    assert_non_null(strstr(out.p, "\x1b[32m+new\x1b[0m\n"));
    assert_non_null(strstr(out.p, "\x1b[0m same\n"));
    buf_release(&out);
}

/* --- the view ------------------------------------------------------------------------------------------ */

static void long_text_is_counted_and_not_seen_until_it_is_shown(void **state)
{
    struct buf text, out;
    buf_init(&text, 1 << 20);
    buf_init(&out, 1 << 22);
    for (int i = 1; i <= 100; i++)
        buf_printf(&text, "line %d\n", i);
    struct preview preview = of(PREVIEW_TEXT, buf_view(&text));
    struct question_view view = {.kind = QUESTION_CALL,
                                 .agent = STR("root"),
                                 .tool = STR("shell"),
                                 .arguments = STR("{}"),
                                 .preview = &preview};
    question_view_start(&view);
    question_view_draw(&view, &plain, 12, STR("abc"), &out);
    assert_int_equal(view.seen, VIEW_NOT_WHOLE);
    assert_int_equal(question_text_lines(buf_view(&out)), 12);
    assert_non_null(strstr(out.p, "lines more"));
    assert_null(strstr(out.p, "line 100"));
    assert_non_null(strstr(out.p, "Allow it? [y/n/s/p/v] abc"));
    buf_clear(&out);
    question_view_whole(&view, &plain, &out);
    assert_int_equal(view.seen, VIEW_WHOLE);
    assert_non_null(strstr(out.p, "100 | line 100\n"));
    question_view_release(&view);
    buf_release(&out);
    buf_release(&text);
}

static void what_leaves_the_walls_is_never_offered_for_always(void **state)
{
    struct preview preview = of(PREVIEW_TEXT, STR("ls"));
    struct question_view view = {.kind = QUESTION_CALL, .preview = &preview};
    assert_true(question_view_may_last(&view));
    preview.reach = PREVIEW_OUTSIDE;
    assert_false(question_view_may_last(&view));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_answer_has_a_letter_and_a_word),
        cmocka_unit_test(a_no_may_have_a_reason),
        cmocka_unit_test(a_reply_is_the_line_or_the_choice_of_its_number),
        cmocka_unit_test(keys_make_a_line_that_can_be_corrected),
        cmocka_unit_test(a_line_without_end_keeps_its_size),
        cmocka_unit_test(a_line_break_never_becomes_a_blank),
        cmocka_unit_test(what_cannot_be_seen_is_marked),
        cmocka_unit_test(a_long_line_wraps_behind_the_bar),
        cmocka_unit_test(a_text_cannot_look_like_the_question),
        cmocka_unit_test(a_diff_is_coloured_line_by_line),
        cmocka_unit_test(long_text_is_counted_and_not_seen_until_it_is_shown),
        cmocka_unit_test(what_leaves_the_walls_is_never_offered_for_always),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
