/* What a review says: the shapes that verdicts have, and that no finding is lost to its shape. */
#include "core/plan/review.h"

#include "plan_fixture.h"

static struct review read_review(struct fixture *f, const char *text)
{
    struct review review;
    review_read(&f->arena, str_from(text), &review);
    return review;
}

static void a_verdict_is_read_as_it_was_asked_for(void **state)
{
    struct fixture *f = *state;
    struct review review =
        read_review(f, "{\"approved\":true,\"summary\":\"fine\",\"findings\":[]}");
    assert_int_equal(review.is, REVIEW_APPROVED);
    check_str(review.summary, "fine");
    assert_int_equal(review.count, 0);
    review =
        read_review(f, "Seen.\n```json\n{\"approved\":false,\"findings\":[{\"title\":\"Paint\","
                       "\"description\":\"The door is bare\"}]}\n```");
    assert_int_equal(review.is, REVIEW_OPEN);
    assert_int_equal(review.count, 1);
    check_str(review.findings[0].title, "Paint");
    check_str(review.findings[0].description, "The door is bare");
}

static void every_shape_of_a_finding_gives_the_same(void **state)
{
    struct fixture *f = *state;
    static const char *const texts[] = {
        "{\"findings\":[{\"title\":\"Paint\"}]}",
        "{\"findings\":[\"Paint\"]}",
        "{\"findings\":\"Paint\"}",
        "{\"findings\":{\"title\":\"Paint\"}}",
        "{\"findings\":{\"1\":{\"title\":\"Paint\"}}}",
        "{\"approved\":true,\"findings\":[{\"title\":\"Paint\"}]}",
        "{\"Approved\":\"no\",\"Issues\":[{\"problem\":\"Paint\"}]}",
        "{\"review\":{\"approved\":false,\"findings\":[{\"message\":\"Paint\"}]}}",
        "[{\"title\":\"Paint\"}]",
        "I looked at [1]. [{\"title\":\"Paint\"}]",
        "{\"findings\":[7,{},\" \",\"\\u0000\",{\"title\":\"Paint\"}]}",
        "{\"approved\":false,\"summary\":\"Paint\",\"findings\":[]}",
        "{\"approved\":false,\"summary\":\"Paint\"}",
        "{\"verdict\":\"rejected\",\"summary\":\"Paint\",\"findings\":\"none\"}",
        "{\"approved\":false,\"findings\":[{\"title\":\"Paint\"},{\"title\":\"Wa",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct review review = read_review(f, texts[i]);
        if (review.is != REVIEW_OPEN || review.count != 1 ||
            !str_is(review.findings[0].title, "Paint") ||
            !str_is(review.findings[0].description, "Paint"))
            fail_msg("%s: %d, %zu findings", texts[i], (int)review.is, review.count);
    }
}

static void a_yes_that_is_quoted_does_not_hide_a_no(void **state)
{
    struct fixture *f = *state;
    static const char *const texts[] = {
        "The file says {\"approved\":true}. {\"approved\":false,\"findings\":[\"Paint\"]}",
        "{\"approved\":false,\"findings\":[\"Paint\"]} although it says {\"approved\":true}.",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct review review = read_review(f, texts[i]);
        assert_int_equal(review.is, REVIEW_OPEN);
        assert_int_equal(review.count, 1);
        check_str(review.findings[0].title, "Paint");
    }
    struct review review = read_review(
        f, "{\"approved\":true,\"summary\":\"fine\"}, not {\"approved\":true,\"summary\":\"x\"}");
    assert_int_equal(review.is, REVIEW_APPROVED);
    check_str(review.summary, "fine");
}

static void what_names_no_finding_is_approved_or_no_verdict(void **state)
{
    struct fixture *f = *state;
    static const char *const approved[] = {"{\"findings\":[]}", "{\"approved\":\"yes\"}",
                                           "{\"verdict\":\"Approved\",\"issues\":\"None\"}",
                                           "{\"approved\":true,\"findings\":[\"\"]}",
                                           "{\"approved\":true,\"findings\":null}"};
    static const char *const none[] = {"",
                                       "All is well.",
                                       "[]",
                                       "{}",
                                       "{\"passed\":12}",
                                       "[\"a file\",\"another file\"]",
                                       "{\"title\":\"Paint\"}"};
    for (size_t i = 0; i < sizeof approved / sizeof approved[0]; i++)
        if (read_review(f, approved[i]).is != REVIEW_APPROVED)
            fail_msg("%s", approved[i]);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        if (read_review(f, none[i]).is != REVIEW_NONE)
            fail_msg("%s", none[i]);
}

static void a_verdict_that_is_null_or_a_number_approves_nothing(void **state)
{
    struct fixture *f = *state;
    static const char *const texts[] = {"{\"approved\":null}",
                                        "{\"approved\":null,\"findings\":[]}",
                                        "{\"findings\":[],\"Approved\":null,\"summary\":\"x\"}",
                                        "{\"approved\":1}", "{\"approved\":\"1\",\"findings\":[]}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (read_review(f, texts[i]).is == REVIEW_APPROVED)
            fail_msg("%s", texts[i]);
    /* What was found beside it still counts. */
    struct review review = read_review(f, "{\"approved\":null,\"findings\":[\"Paint\"]}");
    assert_int_equal(review.is, REVIEW_OPEN);
    assert_int_equal(review.count, 1);
}

static void findings_are_bounded_and_say_where(void **state)
{
    struct fixture *f = *state;
    struct buf text;
    buf_init(&text, 1 << 20);
    buf_text(&text, "{\"findings\":[{\"title\":\"Paint\",\"fix\":\"Do it\",\"file\":\"a.c\"}");
    for (int i = 0; i < 50; i++)
        buf_printf(&text, ",\"More %d\"", i);
    buf_text(&text, ",\"");
    for (int i = 0; i < 90000; i++)
        buf_char(&text, 'x');
    buf_text(&text, "\"]}");
    struct review review = read_review(f, text.p);
    assert_int_equal(review.count, REVIEW_FINDINGS_MAX);
    check_str(review.findings[0].description, "Do it\n\nWhere: a.c");
    check_str(review.findings[1].title, "More 0");
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_verdict_is_read_as_it_was_asked_for),
        TEST(every_shape_of_a_finding_gives_the_same),
        TEST(a_yes_that_is_quoted_does_not_hide_a_no),
        TEST(what_names_no_finding_is_approved_or_no_verdict),
        TEST(a_verdict_that_is_null_or_a_number_approves_nothing),
        TEST(findings_are_bounded_and_say_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
