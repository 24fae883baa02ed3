/* net/sse: every stream is parsed whole, byte by byte, and cut in two at every place; the events
 * must be the same. */
#include "net/sse.h"

#include <stdlib.h>

#include "check.h"

struct heard {
    struct buf log;    /* "type|data|id|retry;" per event */
    size_t stop_after; /* events; 0: never */
    size_t count;
};

static enum sse_next hear(void *user, const struct sse_event *event)
{
    struct heard *heard = user;
    buf_printf(&heard->log, "%.*s|%.*s|%.*s|%lld;", STR_FMT(event->type), STR_FMT(event->data),
               STR_FMT(event->id), (long long)event->retry_ms);
    heard->count++;
    return heard->count == heard->stop_after ? SSE_STOP : SSE_GO_ON;
}

/* A heap copy lets ASan see every overrun. */
static void feed_piece(struct sse *sse, struct str piece)
{
    struct err err = ERR_INIT;
    char *copy = malloc(piece.n + 1);
    assert_non_null(copy);
    memcpy(copy, piece.p, piece.n);
    assert_int_equal(sse_feed(sse, (struct str){copy, piece.n}, &err), 0);
    memset(copy, '#', piece.n); /* a view kept too long shows */
    free(copy);
}

static void check_cut(struct str stream, size_t first, size_t step, size_t stop_after,
                      const char *expected)
{
    struct sse sse;
    struct err err = ERR_INIT;
    struct heard heard = {.stop_after = stop_after};
    buf_init(&heard.log, 100000);
    sse_init(&sse, hear, &heard);
    feed_piece(&sse, (struct str){stream.p, first});
    for (size_t at = first; at < stream.n; at += step) {
        size_t n = stream.n - at < step ? stream.n - at : step;
        feed_piece(&sse, (struct str){stream.p + at, n});
    }
    assert_int_equal(sse_finish(&sse, &err), 0);
    check_str(buf_view(&heard.log), expected);
    sse_release(&sse);
    buf_release(&heard.log);
}

static void check_stop(struct str stream, size_t stop_after, const char *expected)
{
    check_cut(stream, 0, stream.n + 1, stop_after, expected);
    check_cut(stream, 0, 1, stop_after, expected);
    for (size_t cut = 1; cut < stream.n; cut++)
        check_cut(stream, cut, stream.n, stop_after, expected);
}

static void check_events(struct str stream, const char *expected)
{
    check_stop(stream, 0, expected);
}

static void lines_may_end_in_lf_cr_or_crlf(void **state)
{
    check_events(STR("data: a\n\ndata: b\n\n"), "|a||-1;|b||-1;");
    check_events(STR("data: a\r\rdata: b\r\r"), "|a||-1;|b||-1;");
    check_events(STR("data: a\r\n\r\ndata: b\r\n\r\n"), "|a||-1;|b||-1;");
    check_events(STR("data: a\r\n\ndata: b\n\r\ndata: c\r\r\n"), "|a||-1;|b||-1;|c||-1;");
    check_events(STR("data: a\r\rdata: b\n\r"), "|a||-1;|b||-1;");
}

static void crlf_is_one_end_of_line(void **state)
{
    check_events(STR("data: a\r\ndata: b\r\n\r\nevent: e\r\ndata: c\r\n\r\n"),
                 "|a\nb||-1;e|c||-1;");
    check_events(STR("data: a\rdata: b\r\n\n"), "|a\nb||-1;");
}

static void one_space_after_the_colon_is_dropped(void **state)
{
    check_events(STR("data:a\n\ndata: b\n\ndata:  c\n\n"), "|a||-1;|b||-1;| c||-1;");
}

static void data_lines_are_joined_by_newlines(void **state)
{
    check_events(STR("data: a\ndata\ndata:b\ndata:\n\n"), "|a\n\nb\n||-1;");
}

static void an_empty_data_field_is_an_event(void **state)
{
    check_events(STR("data\n\ndata:\n\n"), "|||-1;|||-1;");
}

static void an_event_without_data_is_not_delivered(void **state)
{
    check_events(STR("event: ping\n\ndata: x\n\n\n\n"), "|x||-1;");
}

static void comments_and_unknown_fields_are_skipped(void **state)
{
    check_events(STR(": hello\n:\nfoo: bar\nDATA: no\n data: no\ndata: x\n: bye\n\n"), "|x||-1;");
}

static void type_is_of_one_event_and_id_and_retry_stay(void **state)
{
    check_events(STR("event: e\nid: 7\nretry: 1500\ndata: x\n\ndata: y\n\nid\ndata: z\n\n"),
                 "e|x|7|1500;|y|7|1500;|z||1500;");
}

static void a_retry_that_is_no_number_and_an_id_with_nul_are_ignored(void **state)
{
    check_events(
        STR("retry: 1s\nretry: -1\nretry:\nretry: 9999999999999999\nid: a\0b\ndata: x\n\n"),
        "|x||-1;");
}

static void a_byte_order_mark_at_the_start_is_skipped(void **state)
{
    check_events(STR("\xEF\xBB\xBF"
                     "data: x\n\n"),
                 "|x||-1;");
    check_events(STR("\n\xEF\xBB\xBF"
                     "data: x\n\n"),
                 "");
}

static void an_unfinished_event_is_delivered_at_the_end(void **state)
{
    check_events(STR("data: a\n\ndata: b"), "|a||-1;|b||-1;");
    check_events(STR("data: a\ndata: b\n"), "|a\nb||-1;");
    check_events(STR("data: a\r"), "|a||-1;");
    check_events(STR("data"), "|||-1;");
    check_events(STR("event: x\n: no data"), "");
    check_events(STR(""), "");
}

static void nothing_is_delivered_after_stop(void **state)
{
    check_stop(STR("data: a\n\ndata: b\n\ndata: c\n\ndata: d"), 2, "|a||-1;|b||-1;");
}

static int feed_line(size_t length, size_t step, const char *end, struct err *err)
{
    struct sse sse;
    struct heard heard = {0};
    char *line = malloc(length + 1);
    assert_non_null(line);
    memset(line, 'x', length);
    memcpy(line, "data: ", 6);
    buf_init(&heard.log, length * 2);
    sse_init(&sse, hear, &heard);
    int result = 0;
    for (size_t at = 0; at < length && result == 0; at += step)
        result =
            sse_feed(&sse, (struct str){line + at, length - at < step ? length - at : step}, err);
    if (result == 0)
        result = sse_feed(&sse, str_from(end), err);
    if (result == 0)
        assert_int_equal(heard.count, 1);
    else
        assert_int_equal(sse_finish(&sse, &(struct err){0}), -1);
    sse_release(&sse);
    buf_release(&heard.log);
    free(line);
    return result;
}

static void a_line_of_the_limit_is_taken_and_one_byte_more_is_an_error(void **state)
{
    const size_t steps[] = {SSE_LINE_MAX * 2, 60001, 4096};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct err err = ERR_INIT;
        assert_int_equal(feed_line(SSE_LINE_MAX, steps[i], "\n\n", &err), 0);
        assert_int_equal(feed_line(SSE_LINE_MAX + 1, steps[i], "\n\n", &err), -1);
        assert_int_equal(err.class, ERR_RETRY);
        assert_non_null(strstr(err.message, "16 MB"));
    }
}

static void a_long_line_inside_one_piece_is_an_error(void **state)
{
    struct sse sse;
    struct err err = ERR_INIT;
    struct heard heard = {0};
    char *line = malloc(SSE_LINE_MAX + 10);
    assert_non_null(line);
    memset(line, 'x', SSE_LINE_MAX + 10);
    line[SSE_LINE_MAX + 9] = '\n';
    sse_init(&sse, hear, &heard);
    assert_int_equal(sse_feed(&sse, (struct str){line, SSE_LINE_MAX + 10}, &err), -1);
    sse_release(&sse);
    free(line);
}

static void an_event_of_many_lines_is_bounded(void **state)
{
    struct sse sse;
    struct heard heard = {0};
    struct err err = ERR_INIT;
    char *line = malloc(100001);
    assert_non_null(line);
    memset(line, 'x', 100000);
    memcpy(line, "data: ", 6);
    line[100000] = '\n';
    sse_init(&sse, hear, &heard);
    int result = 0;
    size_t lines = 0;
    for (; lines < 1000 && result == 0; lines++)
        result = sse_feed(&sse, (struct str){line, 100001}, &err);
    assert_int_equal(result, -1);
    assert_true(lines >= SSE_DATA_MAX / 100000 && lines <= SSE_DATA_MAX / 100000 + 2);
    sse_release(&sse);
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_may_end_in_lf_cr_or_crlf),
        cmocka_unit_test(crlf_is_one_end_of_line),
        cmocka_unit_test(one_space_after_the_colon_is_dropped),
        cmocka_unit_test(data_lines_are_joined_by_newlines),
        cmocka_unit_test(an_empty_data_field_is_an_event),
        cmocka_unit_test(an_event_without_data_is_not_delivered),
        cmocka_unit_test(comments_and_unknown_fields_are_skipped),
        cmocka_unit_test(type_is_of_one_event_and_id_and_retry_stay),
        cmocka_unit_test(a_retry_that_is_no_number_and_an_id_with_nul_are_ignored),
        cmocka_unit_test(a_byte_order_mark_at_the_start_is_skipped),
        cmocka_unit_test(an_unfinished_event_is_delivered_at_the_end),
        cmocka_unit_test(nothing_is_delivered_after_stop),
        cmocka_unit_test(a_line_of_the_limit_is_taken_and_one_byte_more_is_an_error),
        cmocka_unit_test(a_long_line_inside_one_piece_is_an_error),
        cmocka_unit_test(an_event_of_many_lines_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
