/* net/retry_after: seconds, dates and milliseconds. */
#include "net/retry_after.h"

#include "check.h"

static int64_t after(const char *seconds, const char *ms)
{
    /* 1994-11-06 08:49:37 GMT */
    return retry_after_ms(str_from(seconds), str_from(ms), INT64_C(784111777000));
}

static void retry_after_is_read_as_seconds_date_or_milliseconds(void **state)
{
    assert_int_equal(after("7", NULL), 7000);
    assert_int_equal(after(" 1.25 ", NULL), 1250);
    assert_int_equal(after("0.0009", NULL), 0);
    assert_int_equal(after("Sun, 06 Nov 1994 08:49:40 GMT", NULL), 3000);
    assert_int_equal(after("7", "250"), 250);
    assert_int_equal(after("7", "soon"), 7000);
}

static void retry_after_is_capped_at_a_minute(void **state)
{
    assert_int_equal(after("61", NULL), 60000);
    assert_int_equal(after("99999999999999999999999", NULL), 60000);
    assert_int_equal(after(NULL, "9999999"), 60000);
    assert_int_equal(after("Mon, 07 Nov 1994 08:49:40 GMT", NULL), 60000);
    assert_int_equal(after("Sun, 06 Nov 1994 08:49:30 GMT", NULL), 0);
    assert_int_equal(after("Tue, 29 Feb 2000 00:00:00 GMT", NULL), 60000);
}

static void a_retry_after_that_cannot_be_read_is_none(void **state)
{
    const char *bad[] = {NULL,
                         "",
                         "-1",
                         "soon",
                         "1.5x",
                         "1e3",
                         ".5",
                         "Sun, 06 Nov 1994 08:49:37 CET",
                         "Sun, 06 Xxx 1994 08:49:37 GMT",
                         "Sun, 99 Nov 1994 08:49:37 GMT"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(after(bad[i], NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retry_after_is_read_as_seconds_date_or_milliseconds),
        cmocka_unit_test(retry_after_is_capped_at_a_minute),
        cmocka_unit_test(a_retry_after_that_cannot_be_read_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
