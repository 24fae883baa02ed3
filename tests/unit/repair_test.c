/* model/repair: what is read although it is not quite JSON, and what is refused because it could be read twice. */
#include "model/repair.h"

#include <stdlib.h>

#include "check.h"

struct row {
    const char *text, *expected; /* expected NULL: refused */
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct buf out;
        buf_init(&out, (size_t)1 << 20);
        int result = repair_arguments(STR("read"), str_from(rows[i].text), &out);
        if ((result == 0) != (rows[i].expected != NULL))
            fail_msg("%s: %s is %s", rows[i].text, buf_view(&out).p,
                     result == 0 ? "not refused" : "refused");
        if (result == 0)
            check_str(buf_view(&out), rows[i].expected);
        buf_release(&out);
    }
}

#define CHECK(...)                                                                                 \
    do {                                                                                           \
        const struct row rows_[] = {__VA_ARGS__};                                                  \
        check_rows(rows_, sizeof rows_ / sizeof rows_[0]);                                         \
    } while (0)

static void a_valid_object_stays_as_it_came(void **state)
{
    CHECK({"{\"a\" : 1.50e1,\n \"b\":[\"\\u00e4\"]}", "{\"a\" : 1.50e1,\n \"b\":[\"\\u00e4\"]}"},
          {" {}\n", "{}"}, {"{\"name\":\"read\"}", "{\"name\":\"read\"}"});
}

static void nothing_is_an_empty_object(void **state)
{
    CHECK({"", "{}"}, {" \r\n\t", "{}"});
}

static void a_code_fence_is_taken_off(void **state)
{
    CHECK({"```json\n{\"a\":1}\n```", "{\"a\":1}"}, {"```\n{\"a\":1}```", "{\"a\":1}"},
          {"```json {\"a\":1} ```\nDone.", "{\"a\":1}"}, {"```json\n{\"a\":1}", NULL},
          {"```json\n{\"a\":1}\n```\n```json\n{\"a\":2}\n```", NULL}, {"```json\n```", NULL},
          {"```what now\n{\"a\":1}\n```", NULL});
}

static void trailing_commas_are_dropped(void **state)
{
    CHECK({"{\"a\":[1,2,],}", "{\"a\":[1,2]}"}, {"{\"a\":1,,}", NULL}, {"{,}", NULL},
          {"{\"a\":[,]}", NULL}, {"{\"a\":1,,\"b\":2}", NULL}, {"{\"a\":1 \"b\":2}", NULL});
}

static void single_quotes_are_quotes(void **state)
{
    CHECK({"{'a': 'b \"c\" \\'d\\' \\n'}", "{\"a\":\"b \\\"c\\\" 'd' \\n\"}"},
          {"{\"a\": 'x', 'b': \"it's\"}", "{\"a\":\"x\",\"b\":\"it's\"}"}, {"{'a': 'it's'}", NULL},
          {"{'a': '''b'''}", NULL}, {"{'a': 'b' 'c'}", NULL}, {"{'a': '\\x41'}", NULL},
          {"{'a': '\\d'}", NULL}, {"{'a': 'b}", NULL});
}

static void python_literals_are_known(void **state)
{
    CHECK({"{'a': True, 'b': False, 'c': None, \"d\": true}",
           "{\"a\":true,\"b\":false,\"c\":null,\"d\":true}"},
          {"{'a': Truely}", NULL}, {"{'a': undefined}", NULL}, {"{'a': NaN}", NULL},
          {"{'a': (1, 2)}", NULL}, {"{\"a\": yes}", NULL});
}

static void keys_need_no_quotes(void **state)
{
    CHECK({"{path: \"a\", _b$2: 1}", "{\"path\":\"a\",\"_b$2\":1}"}, {"{True: 1}", NULL},
          {"{null: 1}", NULL}, {"{1: 2}", NULL}, {"{a-b: 1}", NULL}, {"{a b: 1}", NULL},
          {"{path: a}", NULL});
}

static void an_object_that_was_encoded_twice_is_decoded(void **state)
{
    CHECK({"\"{\\\"a\\\":1}\"", "{\"a\":1}"}, {"\"{'a': 1}\"", "{\"a\":1}"},
          {"\"\\\"{\\\\\\\"a\\\\\\\":1}\\\"\"", "{\"a\":1}"}, {"\"text\"", NULL}, {"\"[1]\"", NULL},
          {"[{\"a\":1}]", NULL}, {"7", NULL}, {"null", NULL});
}

static void the_calls_own_envelope_is_taken_off(void **state)
{
    CHECK({"{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}", "{\"path\":\"a\"}"},
          {"{'arguments': {'path': 'a'}, 'name': 'read'}", "{\"path\":\"a\"}"},
          {"{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"a\\\"}\"}", "{\"path\":\"a\"}"},
          {"{\"name\":\"write\",\"arguments\":{}}", "{\"name\":\"write\",\"arguments\":{}}"},
          {"{\"name\":\"read\",\"arguments\":{},\"x\":1}",
           "{\"name\":\"read\",\"arguments\":{},\"x\":1}"},
          {"{\"name\":\"read\",\"arguments\":7}", "{\"name\":\"read\",\"arguments\":7}"});
}

static void words_after_a_complete_object_are_dropped(void **state)
{
    CHECK({"{\"a\":1}\nI'll read it now.", "{\"a\":1}"}, {"{\"a\":1};", "{\"a\":1}"},
          {"{\"a\":1} {\"a\":2}", NULL}, {"{\"a\":1}}", NULL}, {"{\"a\":1}, \"b\":2", NULL},
          {"{\"a\":1},", NULL}, {"{\"a\":1} or [2]", NULL}, {"Sure: {\"a\":1}", NULL});
}

static void what_is_cut_off_or_doubtful_is_refused(void **state)
{
    CHECK({"{", NULL}, {"{\"a\"", NULL}, {"{\"a\":", NULL}, {"{\"a\":\"b", NULL},
          {"{\"a\":1", NULL}, {"{'a':1, 'a':2}", NULL}, {"{'a':01}", NULL}, {"{'a':+1}", NULL},
          {"{'a':1e}", NULL}, {"{'a':99999999999999999999}", NULL}, {"{'a':'\xFF'}", NULL},
          {"{'a':'\\ud800'}", NULL}, {"{'a':\"x\ny\"}", NULL}, {"{/* c */'a':1}", NULL});
}

static void depth_and_length_are_bounded(void **state)
{
    char deep[200] = "{'a':";
    memset(deep + 5, '[', 64);
    memset(deep + 69, ']', 64);
    memcpy(deep + 133, "}", 2);
    CHECK({deep, NULL});
    char *text = malloc(REPAIR_MAX + 100);
    assert_non_null(text);
    memset(text, ' ', REPAIR_MAX + 99);
    memcpy(text, "{'a':1", 6);
    memcpy(text + REPAIR_MAX - 1, "}", 2);
    CHECK({text, "{\"a\":1}"});
    memcpy(text + REPAIR_MAX - 1, " }", 3);
    CHECK({text, NULL});
    memcpy(text, "{\"a\":1", 6);
    CHECK({text, text});
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_valid_object_stays_as_it_came),
        cmocka_unit_test(nothing_is_an_empty_object),
        cmocka_unit_test(a_code_fence_is_taken_off),
        cmocka_unit_test(trailing_commas_are_dropped),
        cmocka_unit_test(single_quotes_are_quotes),
        cmocka_unit_test(python_literals_are_known),
        cmocka_unit_test(keys_need_no_quotes),
        cmocka_unit_test(an_object_that_was_encoded_twice_is_decoded),
        cmocka_unit_test(the_calls_own_envelope_is_taken_off),
        cmocka_unit_test(words_after_a_complete_object_are_dropped),
        cmocka_unit_test(what_is_cut_off_or_doubtful_is_refused),
        cmocka_unit_test(depth_and_length_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
