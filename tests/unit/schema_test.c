/* JSON Schema for answers: which schemas are taken, which values match, and what is said about those that do not. */
#include "core/contract/schema.h"

#include <stdio.h>

#include "check.h"

static struct js *parse(const char *text)
{
    struct err err = ERR_INIT;
    struct js *value = js_parse(str_from(text), &err);
    if (value == NULL)
        fail_msg("%s: %s", text, err.message);
    return value;
}

/* The problems, or "" where the value matches. */
static void check_problems(const char *schema_text, const char *value_text, const char *expected)
{
    struct js *schema = parse(schema_text), *value = parse(value_text);
    struct schema_place place;
    struct err err = ERR_INIT;
    struct buf out;
    buf_init(&out, 1 << 16);
    if (schema_check(schema, &place, &err) != 0)
        fail_msg("%s is refused at %s: %s", schema_text, place.pointer, err.message);
    size_t count = schema_problems(schema, value, &out);
    if (!str_is(buf_view(&out), expected) || (count == 0) != (expected[0] == '\0'))
        fail_msg("%s with %s: %zu problems: %.*s", schema_text, value_text, count,
                 STR_FMT(buf_view(&out)));
    buf_release(&out);
    js_free(value);
    js_free(schema);
}

struct sample {
    const char *schema, *good, *bad, *said;
};

static void each_keyword_takes_what_it_says_and_nothing_else(void **state)
{
    static const struct sample samples[] = {
        {"{\"type\":\"null\"}", "null", "0", "- $: expected null, found integer"},
        {"{\"type\":\"boolean\"}", "true", "\"true\"", "- $: expected boolean, found string"},
        {"{\"type\":\"integer\"}", "3.0", "3.5", "- $: expected integer, found number"},
        {"{\"type\":\"number\"}", "3", "null", "- $: expected number, found null"},
        {"{\"type\":[\"string\",\"null\"]}", "null", "[]",
         "- $: expected string or null, found array"},
        {"{\"enum\":[\"a\",1,{\"x\":[1]}]}", "{\"x\":[1.0]}", "\"b\"",
         "- $: must be one of [\"a\",1,{\"x\":[1]}]"},
        {"{\"const\":{\"a\":1,\"b\":2}}", "{\"b\":2,\"a\":1}", "{\"a\":1}",
         "- $: must be {\"a\":1,\"b\":2}"},
        {"{\"properties\":{\"n\":{\"type\":\"integer\"}}}", "{\"n\":1,\"other\":\"x\"}",
         "{\"n\":\"x\"}", "- $.n: expected integer, found string"},
        {"{\"required\":[\"n\"]}", "{\"n\":null}", "{\"m\":1}", "- $.n: is missing"},
        {"{\"properties\":{\"n\":true},\"additionalProperties\":false}", "{\"n\":1}",
         "{\"n\":1,\"m\":2}", "- $.m: is not allowed here"},
        {"{\"additionalProperties\":{\"type\":\"string\"}}", "{\"a\":\"b\"}", "{\"a\":1}",
         "- $.a: expected string, found integer"},
        {"{\"items\":{\"type\":\"string\"}}", "[\"a\"]", "[\"a\",2]",
         "- $[1]: expected string, found integer"},
        {"{\"minItems\":1}", "[0]", "[]", "- $: has 0 items, and must have at least 1"},
        {"{\"maxItems\":1}", "[0]", "[0,0]", "- $: has 2 items, and may have at most 1"},
        {"{\"minLength\":2}", "\"\xC3\xA4\xF0\x9F\x98\x80\"", "\"\xC3\xA4\"",
         "- $: has 1 characters, and must have at least 2"},
        {"{\"maxLength\":2}", "\"\xC3\xA4\xC3\xB6\"", "\"abc\"",
         "- $: has 3 characters, and may have at most 2"},
        {"{\"minimum\":1}", "1", "0.5", "- $: must be at least 1"},
        {"{\"maximum\":1.5}", "1.5", "2", "- $: must be at most 1.5"},
        {"{\"exclusiveMinimum\":1}", "1.1", "1", "- $: must be more than 1"},
        {"{\"exclusiveMaximum\":1}", "0", "1.0", "- $: must be less than 1"},
        {"{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":5}]}", "5", "4",
         "- $: matches none of the 2 shapes of anyOf"},
        {"{\"oneOf\":[{\"minimum\":5},{\"maximum\":9}]}", "3", "7",
         "- $: matches 2 of the 2 shapes of oneOf, and must match one"},
        {"{\"allOf\":[{\"minimum\":5},{\"maximum\":9}]}", "7", "10", "- $: must be at most 9"},
        {"{\"not\":{\"type\":\"string\"}}", "1", "\"\"",
         "- $: must not match {\"type\":\"string\"}"},
        {"{\"$defs\":{\"a/b\":{\"type\":\"string\"}},\"$ref\":\"#/$defs/a~1b\"}", "\"x\"", "1",
         "- $: expected string, found integer"},
    };
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        check_problems(samples[i].schema, samples[i].good, "");
        check_problems(samples[i].schema, samples[i].bad, samples[i].said);
    }
}

static void keywords_of_another_type_say_nothing_about_a_value(void **state)
{
    check_problems(
        "{\"minLength\":3,\"minItems\":3,\"minimum\":3,\"required\":[\"a\"],\"items\":false,"
        "\"properties\":{\"a\":false},\"additionalProperties\":false}",
        "true", "");
    check_problems("{\"title\":\"t\",\"description\":\"d\",\"default\":1,\"examples\":[1]}",
                   "\"anything\"", "");
}

static void large_integers_are_compared_exactly(void **state)
{
    check_problems("{\"maximum\":9007199254740992}", "9007199254740993",
                   "- $: must be at most 9007199254740992");
    check_problems("{\"const\":9223372036854775807}", "9223372036854775806",
                   "- $: must be 9223372036854775807");
}

static void problems_are_named_by_path_and_only_the_first_few(void **state)
{
    check_problems(
        "{\"properties\":{\"list\":{\"items\":{\"required\":[\"name\"],\"properties\":"
        "{\"name\":{\"type\":\"string\"}}}}}}",
        "{\"list\":[{\"name\":\"a\"},{\"name\":1},{}]}",
        "- $.list[1].name: expected string, found integer\n- $.list[2].name: is missing");
    check_problems("{\"items\":{\"type\":\"null\"}}", "[1,1,1,1,1,1,1,1,1,1]",
                   "- $[0]: expected null, found integer\n- $[1]: expected null, found integer\n"
                   "- $[2]: expected null, found integer\n- $[3]: expected null, found integer\n"
                   "- $[4]: expected null, found integer\n- $[5]: expected null, found integer\n"
                   "- $[6]: expected null, found integer\n- $[7]: expected null, found integer\n"
                   "- and 2 more");
}

static void a_name_in_a_path_is_cut_and_shows_no_control_characters(void **state)
{
    check_problems("{\"additionalProperties\":false}",
                   "{\"a\\u001b[31m\\nb0123456789012345678901234567890123456789\":1}",
                   "- $.a b01234567890123456789012345678901: is not allowed here");
}

static void references_may_recurse_through_a_value(void **state)
{
    const char *tree =
        "{\"$defs\":{\"node\":{\"type\":\"object\",\"required\":[\"v\"],\"properties\":"
        "{\"next\":{\"$ref\":\"#/$defs/node\"}}}},\"$ref\":\"#/$defs/node\"}";
    check_problems(tree, "{\"v\":1,\"next\":{\"v\":2,\"next\":{\"v\":3}}}", "");
    check_problems(tree, "{\"v\":1,\"next\":{\"v\":2,\"next\":{}}}", "- $.next.next.v: is missing");
}

static void what_would_take_too_long_does_not_match(void **state)
{
    /* Each level doubles the work: two alternatives, each of which looks at the next level. */
    struct buf value;
    buf_init(&value, 1 << 16);
    for (int i = 0; i < 60; i++)
        buf_text(&value, "{\"n\":");
    buf_text(&value, "1");
    for (int i = 0; i < 60; i++)
        buf_text(&value, "}");
    const char *schemas[] = {
        "{\"$defs\":{\"d\":{\"oneOf\":[{\"properties\":{\"n\":{\"$ref\":\"#/$defs/d\"}}},"
        "{\"properties\":{\"n\":{\"$ref\":\"#/$defs/d\"}}}]}},\"$ref\":\"#/$defs/d\"}",
        "{\"$defs\":{\"d\":{\"oneOf\":[{\"properties\":{\"n\":{\"$ref\":\"#/$defs/d\"}}},"
        "{\"properties\":{\"n\":{\"$ref\":\"#/$defs/d\"}}}]}},\"not\":{\"$ref\":\"#/$defs/d\"}}"};
    for (size_t i = 0; i < 2; i++)
        check_problems(schemas[i], value.p,
                       "- $: is too large or too deep to be checked against the schema");
    buf_release(&value);
}

static void a_schema_that_was_never_checked_matches_nothing(void **state)
{
    struct js *schema = parse("{\"pattern\":\"x\"}"), *value = parse("\"x\"");
    struct buf out;
    buf_init(&out, 1 << 16);
    assert_int_equal(schema_problems(schema, value, &out), 1);
    buf_release(&out);
    js_free(schema);
    js_free(value);
}

static void a_schema_with_anything_else_is_refused_where_it_stands(void **state)
{
    static const struct {
        const char *schema, *pointer, *said;
    } samples[] = {
        {"[]", "", "expected a schema: an object of keywords"},
        {"true", "", "expected a schema: an object of keywords"},
        {"{\"pattern\":\"^a\"}", "/pattern", "the keyword \"pattern\" is not enforced by cadre"},
        {"{\"properties\":{\"a\":{\"format\":\"date\"}}}", "/properties/a/format", "\"format\""},
        {"{\"type\":\"text\"}", "/type", "expected a type"},
        {"{\"type\":[]}", "/type", "expected a type"},
        {"{\"enum\":[]}", "/enum", "expected a list of at least one value"},
        {"{\"required\":\"a\"}", "/required", "expected a list of names"},
        {"{\"items\":[{}]}", "/items", "expected a schema"},
        {"{\"minItems\":-1}", "/minItems", "expected a whole number"},
        {"{\"maxLength\":1.5}", "/maxLength", "expected a whole number"},
        {"{\"minimum\":\"1\"}", "/minimum", "expected a number"},
        {"{\"anyOf\":[]}", "/anyOf", "expected a list of at least one schema"},
        {"{\"allOf\":[{},{\"x/y~\":1}]}", "/allOf/1/x~1y~0", "is not enforced"},
        {"{\"$ref\":\"#/$defs/none\"}", "/$ref", "expected \"#/$defs/NAME\""},
        {"{\"$ref\":\"http://x/y\"}", "/$ref", "expected \"#/$defs/NAME\""},
        {"{\"items\":{\"$defs\":{}}}", "/items/$defs", "stand at the top"},
        {"{\"$defs\":{\"a\":{\"$ref\":\"#/$defs/a\"}}}", "/$defs/a", "in a circle"},
        {"{\"$defs\":{\"a\":{\"anyOf\":[{\"not\":{\"$ref\":\"#/$defs/a\"}}]}},\"$ref\":\"#/$defs/"
         "a\"}",
         "", "in a circle"},
    };
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        struct js *schema = parse(samples[i].schema);
        struct schema_place place;
        struct err err = ERR_INIT;
        assert_int_equal(schema_check(schema, &place, &err), -1);
        assert_int_equal(err.class, ERR_USAGE);
        assert_string_equal(place.pointer, samples[i].pointer);
        if (strstr(err.message, samples[i].said) == NULL)
            fail_msg("%s: %s", samples[i].schema, err.message);
        js_free(schema);
    }
}

static void a_text_is_read_checked_and_made_compact(void **state)
{
    struct buf out;
    struct err err = ERR_INIT;
    buf_init(&out, 1 << 20);
    assert_int_equal(schema_read(STR(" { \"type\" : \"object\" } "), &out, &err), 0);
    check_str(buf_view(&out), "{\"type\":\"object\"}");
    assert_int_equal(schema_read(STR("{\"items\":{\"x\":1}}"), &out, &err), -1);
    assert_non_null(strstr(err.message, "/items/x: the keyword \"x\""));
    assert_int_equal(schema_read(STR("{\"type\":"), &out, &err), -1);
    assert_int_equal(err.class, ERR_USAGE);
    struct buf large;
    buf_init(&large, 1 << 20);
    buf_text(&large, "{\"title\":\"");
    for (int i = 0; i < SCHEMA_BYTES_MAX; i++)
        buf_char(&large, 'x');
    buf_text(&large, "\"}");
    assert_int_equal(schema_read(buf_view(&large), &out, &err), -1);
    assert_non_null(strstr(err.message, "at most 65536 bytes"));
    buf_release(&large);
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_keyword_takes_what_it_says_and_nothing_else),
        cmocka_unit_test(keywords_of_another_type_say_nothing_about_a_value),
        cmocka_unit_test(large_integers_are_compared_exactly),
        cmocka_unit_test(problems_are_named_by_path_and_only_the_first_few),
        cmocka_unit_test(a_name_in_a_path_is_cut_and_shows_no_control_characters),
        cmocka_unit_test(references_may_recurse_through_a_value),
        cmocka_unit_test(what_would_take_too_long_does_not_match),
        cmocka_unit_test(a_schema_that_was_never_checked_matches_nothing),
        cmocka_unit_test(a_schema_with_anything_else_is_refused_where_it_stands),
        cmocka_unit_test(a_text_is_read_checked_and_made_compact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
