/* base/json: what is read, what is refused, and that writing is byte-stable and always parses. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "check.h"

static struct js *parsed(const char *text)
{
    struct err err = ERR_INIT;
    struct js *root = js_parse(str_from(text), &err);
    if (!root)
        fail_msg("%s", err.message);
    return root;
}

static void check_refused(struct str text, const char *message_part)
{
    struct err err = ERR_INIT;
    struct js *root = js_parse(text, &err);
    if (root)
        fail_msg("\"%.*s\" was accepted", STR_FMT(text));
    assert_int_equal(err.class, ERR_CORRUPT);
    if (!strstr(err.message, message_part))
        fail_msg("\"%s\" does not say \"%s\"", err.message, message_part);
}

static void kinds_and_values_are_read(void **state)
{
    struct js *root =
        parsed("{\"i\":-9223372036854775808,\"r\":1.5,\"t\":true,\"n\":null,\"s\":\"a\\u0000b\","
               "\"a\":[1,2,3],\"o\":{\"k\":\"v\"}}");
    assert_int_equal(js_kind(root), JS_OBJECT);
    assert_int_equal(js_count(root), 7);
    assert_true(js_get_int(root, "i", 0) == INT64_MIN);
    assert_true(js_real(js_get(root, "r"), 0) == 1.5);
    assert_true(js_get_bool(root, "t", false));
    assert_int_equal(js_kind(js_get(root, "n")), JS_NULL);
    assert_int_equal(js_get_str(root, "s").n, 3);
    assert_memory_equal(js_get_str(root, "s").p, "a\0b", 3);
    assert_int_equal(js_count(js_get(root, "a")), 3);
    assert_int_equal(js_int(js_at(js_get(root, "a"), 2), 0), 3);
    check_str(js_get_str(js_get(root, "o"), "k"), "v");
    js_free(root);
}

static void absent_values_answer_nothing(void **state)
{
    struct str key;
    const struct js *value;
    assert_int_equal(js_kind(NULL), JS_ABSENT);
    assert_null(js_get(js_get(NULL, "a"), "b"));
    assert_null(js_str(NULL).p);
    assert_int_equal(js_int(NULL, 7), 7);
    assert_true(js_real(NULL, 0.5) == 0.5);
    assert_true(js_bool(NULL, true));
    assert_int_equal(js_count(NULL), 0);
    assert_null(js_at(NULL, 0));
    assert_null(js_next(NULL, NULL, &key, &value));
    js_free(NULL);
}

static void a_value_of_another_kind_answers_the_default(void **state)
{
    struct js *root = parsed("{\"s\":\"5\",\"i\":5,\"r\":5.0,\"a\":[]}");
    assert_int_equal(js_get_int(root, "s", -1), -1);
    assert_int_equal(js_get_int(root, "r", -1), -1);
    assert_true(js_real(js_get(root, "i"), -1) == 5.0);
    assert_true(js_real(js_get(root, "s"), -1) == -1);
    assert_false(js_get_bool(root, "i", false));
    assert_null(js_get_str(root, "i").p);
    assert_null(js_get(js_get(root, "a"), "x"));
    assert_null(js_at(root, 0));
    assert_int_equal(js_count(js_get(root, "s")), 0);
    js_free(root);
}

static void any_single_value_is_a_document(void **state)
{
    struct js *root = parsed(" 17 ");
    assert_int_equal(js_int(root, 0), 17);
    js_free(root);
}

static void malformed_texts_are_refused_with_line_and_column(void **state)
{
    check_refused(STR("{\"a\":1,\n \"b\":}"), "line 2");
    check_refused(STR(""), "line");
    check_refused(STR_NONE, "line");
    check_refused(STR("{} {}"), "line 1");
    check_refused(STR("{'a':1}"), "line 1");
    check_refused(STR("[1,]"), "line 1");
    check_refused(STR("\"open"), "line 1");
    check_refused(STR("NaN"), "line 1");
    check_refused(STR("01"), "line 1");
}

static void duplicate_keys_are_refused(void **state)
{
    check_refused(STR("{\"a\":1,\"a\":2}"), "column 8: this key stands in the object twice");
    check_refused(STR("{\"a\\u0062\":1,\"b\":1,\"ab\":2}"), "twice");
}

/* More members than are compared one by one. */
static void a_duplicate_among_many_keys_is_refused(void **state)
{
    struct buf text;
    struct err err = ERR_INIT;
    buf_init(&text, 1 << 20);
    buf_char(&text, '{');
    for (int i = 0; i < 1000; i++)
        buf_printf(&text, "%s\"key %d\":%d", i > 0 ? "," : "", i, i);
    buf_char(&text, '}');
    struct js *root = js_parse(buf_view(&text), &err);
    assert_int_equal(js_count(root), 1000);
    assert_int_equal(js_get_int(root, "key 999", 0), 999);
    js_free(root);
    text.n--;
    buf_text(&text, ",\"key 17\":0}");
    check_refused(buf_view(&text), "twice");
    buf_release(&text);
}

static void the_source_of_a_value_is_its_own_bytes(void **state)
{
    struct str text = STR(" {\"a\" : [1, {\"b\":\"x\\u0041\"} ] , \"c\":-1.50e1} ");
    struct err err = ERR_INIT;
    struct js *root = js_parse(text, &err);
    check_str(js_source(text, js_get(root, "a")), "[1, {\"b\":\"x\\u0041\"} ]");
    check_str(js_source(text, js_get(root, "c")), "-1.50e1");
    check_str(js_source(text, js_at(js_get(root, "a"), 0)), "1");
    assert_null(js_source(text, js_get(root, "d")).p);
    js_free(root);
}

static void invalid_utf8_is_refused(void **state)
{
    check_refused(STR("\"\xff\""), "column 2: this is not UTF-8");
    check_refused(STR("\"\xED\xA0\x80\""), "column 2: this is not UTF-8");
    check_refused(STR("\"\\ud800\""), "line 1");
}

static void numbers_that_do_not_fit_are_refused(void **state)
{
    check_refused(STR("9223372036854775808"), "integer is too large");
    check_refused(STR("-9223372036854775809"), "integer is too large");
    check_refused(STR("1e999"), "number is too large");
}

static char *nested(size_t depth, char open, char close)
{
    char *text = malloc(2 * depth + 1);
    assert_non_null(text);
    memset(text, open, depth);
    memset(text + depth, close, depth);
    text[2 * depth] = '\0';
    return text;
}

static void sixty_four_levels_parse_and_sixty_five_do_not(void **state)
{
    char *text = nested(64, '[', ']');
    struct js *root = parsed(text);
    struct buf out;
    buf_init(&out, 1000);
    js_print(root, &out);
    check_str(buf_view(&out), text);
    buf_release(&out);
    js_free(root);
    free(text);

    text = nested(65, '[', ']');
    check_refused(str_from(text), "column 65: nested deeper than 64 levels");
    free(text);
}

static void a_megabyte_of_open_brackets_is_refused_without_recursion(void **state)
{
    size_t n = 1 << 20;
    char *text = malloc(n);
    assert_non_null(text);
    memset(text, '[', n);
    check_refused((struct str){text, n}, "nested deeper");
    free(text);
}

static void brackets_inside_strings_are_not_nesting(void **state)
{
    struct buf text;
    buf_init(&text, 10000);
    buf_text(&text, "[\"\\\"");
    for (int i = 0; i < 200; i++)
        buf_text(&text, "[{");
    buf_text(&text, "\\\\\", []]");
    struct js *root = parsed(text.p);
    assert_int_equal(js_count(root), 2);
    js_free(root);
    buf_release(&text);
}

static void members_are_walked_and_printed_in_document_order(void **state)
{
    const char *text = "{\"z\":1,\"a\":[true,false,null],\"m\":{\"y\":\"\",\"x\":-2.5}}";
    struct js *root = parsed(text);
    char order[8] = "";
    struct str key;
    const struct js *value;
    for (void *i = js_next(root, NULL, &key, &value); i; i = js_next(root, i, &key, &value))
        strncat(order, key.p, 1);
    assert_string_equal(order, "zam");
    struct buf out;
    buf_init(&out, 1000);
    js_print(root, &out);
    check_str(buf_view(&out), text);
    buf_release(&out);
    js_free(root);
}

static void writer_places_commas(void **state)
{
    struct buf out;
    struct jw w;
    buf_init(&out, 1000);
    jw_init(&w, &out);
    jw_object(&w);
    jw_kint(&w, "a", 1);
    jw_key(&w, "list");
    jw_array(&w);
    jw_text(&w, "x");
    jw_object(&w);
    jw_end_object(&w);
    jw_array(&w);
    jw_end_array(&w);
    jw_bool(&w, true);
    jw_null(&w);
    jw_end_array(&w);
    jw_kraw(&w, "raw", STR("[1]"));
    jw_kraw(&w, "nothing", STR_NONE);
    jw_kbool(&w, "b", false);
    jw_ktext(&w, "t", "v");
    jw_kstr(&w, "s", STR("w"));
    jw_end_object(&w);
    assert_false(out.failed);
    check_str(buf_view(&out), "{\"a\":1,\"list\":[\"x\",{},[],true,null],\"raw\":[1],"
                              "\"nothing\":null,\"b\":false,\"t\":\"v\",\"s\":\"w\"}");
    buf_release(&out);
}

static void writer_nests_thirty_two_levels_and_fails_at_thirty_three(void **state)
{
    struct buf out;
    struct jw w;
    for (int depth = 32; depth <= 33; depth++) {
        buf_init(&out, 1000);
        jw_init(&w, &out);
        for (int i = 0; i < depth; i++) {
            jw_array(&w);
            jw_int(&w, i);
        }
        for (int i = 0; i < depth; i++)
            jw_end_array(&w);
        assert_int_equal(out.failed, depth == 33);
        if (depth == 32)
            js_free(parsed(out.p));
        buf_release(&out);
    }
}

static void writer_refuses_misuse(void **state)
{
    struct buf out;
    struct jw w;
    buf_init(&out, 100);
    jw_init(&w, &out);
    jw_end_object(&w);
    assert_true(out.failed);

    buf_clear(&out);
    jw_init(&w, &out);
    jw_object(&w);
    jw_key(&w, "a");
    jw_end_object(&w);
    assert_true(out.failed);

    buf_clear(&out);
    jw_init(&w, &out);
    jw_object(&w);
    jw_key(&w, "a");
    jw_key(&w, "b");
    assert_true(out.failed);
    buf_release(&out);
}

static void quoting_escapes_what_json_demands(void **state)
{
    struct buf out;
    buf_init(&out, 1000);
    json_quote(&out, STR("a\"b\\c\n\r\t\b\f\x01\x1f\x7f/\xC3\xA4\xF0\x9F\x98\x80"));
    check_str(buf_view(&out),
              "\"a\\\"b\\\\c\\n\\r\\t\\b\\f\\u0001\\u001f\x7f/\xC3\xA4\xF0\x9F\x98\x80\"");
    buf_clear(&out);
    json_quote(&out, STR("\0"));
    check_str(buf_view(&out), "\"\\u0000\"");
    buf_clear(&out);
    json_quote(&out, STR_NONE);
    check_str(buf_view(&out), "\"\"");
    buf_release(&out);
}

/* The fast path looks at eight bytes at once: every byte at every place must be seen. */
static void every_character_at_every_offset_comes_back(void **state)
{
    struct buf out;
    buf_init(&out, 1000);
    for (int c = 0; c < 128; c++) {
        for (size_t offset = 0; offset < 20; offset++) {
            char text[20];
            memset(text, offset % 2 ? 'x' : '!', sizeof text);
            text[offset] = (char)c;
            buf_clear(&out);
            json_quote(&out, (struct str){text, sizeof text});
            struct js *root = parsed(out.p);
            assert_int_equal(js_str(root).n, sizeof text);
            assert_memory_equal(js_str(root).p, text, sizeof text);
            js_free(root);
        }
    }
    buf_release(&out);
}

/* One byte at a time, as the standard says. */
static void quote_slowly(struct buf *out, struct str text)
{
    buf_char(out, '"');
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '\n' || c == '"' || c == '\\')
            buf_char(out, '\\');
        if (c == 1)
            buf_text(out, "\\u0001");
        else
            buf_char(out, c == '\n' ? 'n' : c);
    }
    buf_char(out, '"');
}

static void escapes_are_the_same_wherever_they_stand_and_whatever_room_there_is(void **state)
{
    static const char specials[] = {'\n', '"', '\\', 1, 'x'};
    char text[100];
    for (size_t n = 65; n <= sizeof text; n++) {
        for (size_t at = 0; at < n; at++) {
            struct buf quick, slow;
            buf_init(&quick, 1024);
            buf_init(&slow, 1024);
            memset(text, 'a', sizeof text);
            for (size_t i = 0; i < sizeof specials && at + i * i < n; i++)
                text[at + i * i] = specials[(at + i) % sizeof specials];
            buf_expect(&quick, at * 3);
            json_quote(&quick, (struct str){text, n});
            quote_slowly(&slow, (struct str){text, n});
            if (!str_eq(buf_view(&quick), buf_view(&slow)))
                fail_msg("%.*s is not %.*s", STR_FMT(buf_view(&quick)), STR_FMT(buf_view(&slow)));
            assert_int_equal(quick.p[quick.n], 0);
            buf_release(&quick);
            buf_release(&slow);
        }
    }
}

static void a_text_that_does_not_fit_when_it_is_escaped_fails(void **state)
{
    char text[100];
    struct buf out;
    memset(text, '\n', sizeof text);
    buf_init(&out, 201);
    json_quote(&out, (struct str){text, sizeof text});
    assert_true(out.failed);
    buf_release(&out);
    buf_init(&out, 202);
    json_quote(&out, (struct str){text, sizeof text});
    assert_false(out.failed);
    assert_int_equal(out.n, 202);
    buf_release(&out);
}

static void bad_bytes_are_replaced_so_output_always_parses(void **state)
{
    struct buf out;
    buf_init(&out, 1000);
    json_quote(&out, STR("a\xff\xC3(\xE2\x82"));
    check_str(buf_view(&out), "\"a\xEF\xBF\xBD\xEF\xBF\xBD(\xEF\xBF\xBD\"");
    js_free(parsed(out.p));
    buf_release(&out);
}

static void check_real(double number, const char *expected)
{
    struct buf out;
    struct jw w;
    buf_init(&out, 100);
    jw_init(&w, &out);
    jw_real(&w, number);
    check_str(buf_view(&out), expected);
    struct js *root = parsed(out.p);
    assert_true(isfinite(number) ? js_kind(root) == JS_REAL && js_real(root, 0) == number
                                 : js_kind(root) == JS_NULL);
    js_free(root);
    buf_release(&out);
}

static void reals_print_shortest_and_read_back(void **state)
{
    check_real(0.1, "0.1");
    check_real(0.5, "0.5");
    check_real(1.0, "1.0");
    check_real(-0.0, "-0.0");
    check_real(1e22, "1e+22");
    check_real(0.1 + 0.2, "0.30000000000000004");
    check_real(1.7976931348623157e308, "1.7976931348623157e+308");
    check_real(5e-324, "4.94065645841247e-324");
    check_real(123456789012345.0, "123456789012345.0");
}

static void nan_and_infinity_become_null(void **state)
{
    check_real(NAN, "null");
    check_real(INFINITY, "null");
    check_real(-INFINITY, "null");
}

static void a_full_buffer_fails_and_is_never_half_written(void **state)
{
    struct buf out;
    struct jw w;
    buf_init(&out, 5);
    jw_init(&w, &out);
    jw_text(&w, "longer than five");
    assert_true(out.failed);
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes_are_the_same_wherever_they_stand_and_whatever_room_there_is),
        cmocka_unit_test(a_text_that_does_not_fit_when_it_is_escaped_fails),
        cmocka_unit_test(kinds_and_values_are_read),
        cmocka_unit_test(absent_values_answer_nothing),
        cmocka_unit_test(a_value_of_another_kind_answers_the_default),
        cmocka_unit_test(any_single_value_is_a_document),
        cmocka_unit_test(malformed_texts_are_refused_with_line_and_column),
        cmocka_unit_test(duplicate_keys_are_refused),
        cmocka_unit_test(a_duplicate_among_many_keys_is_refused),
        cmocka_unit_test(the_source_of_a_value_is_its_own_bytes),
        cmocka_unit_test(invalid_utf8_is_refused),
        cmocka_unit_test(numbers_that_do_not_fit_are_refused),
        cmocka_unit_test(sixty_four_levels_parse_and_sixty_five_do_not),
        cmocka_unit_test(a_megabyte_of_open_brackets_is_refused_without_recursion),
        cmocka_unit_test(brackets_inside_strings_are_not_nesting),
        cmocka_unit_test(members_are_walked_and_printed_in_document_order),
        cmocka_unit_test(writer_places_commas),
        cmocka_unit_test(writer_nests_thirty_two_levels_and_fails_at_thirty_three),
        cmocka_unit_test(writer_refuses_misuse),
        cmocka_unit_test(quoting_escapes_what_json_demands),
        cmocka_unit_test(every_character_at_every_offset_comes_back),
        cmocka_unit_test(bad_bytes_are_replaced_so_output_always_parses),
        cmocka_unit_test(reals_print_shortest_and_read_back),
        cmocka_unit_test(nan_and_infinity_become_null),
        cmocka_unit_test(a_full_buffer_fails_and_is_never_half_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
