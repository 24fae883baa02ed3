/* model/body and strictable: changes to a body as text, and which schemas servers can promise to
 * keep. */
#include "model/body.h"

#include "check.h"
#include "model/strictable.h"

#define SCHEMA                                                                                     \
    "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"],"      \
    "\"additionalProperties\":false}"
#define LOOSE "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}"

static void a_removed_member_is_not_looked_for_in_what_models_and_tools_say(void **state)
{
    static const char body[] =
        "{\"messages\":[{\"content\":[{\"type\":\"tool_use\",\"input\":{\"a\":1,\"cache_control\":{"
        "}},"
        "\"cache_control\":{\"type\":\"ephemeral\"}},{\"text\":\"\\\"cache_control\\\": [}\"}]}],"
        "\"temperature\" : 0.5 , \"x\":[1, {\"temperature\":2}]}";
    static const struct body_edit edits[] = {{"messages.*.content.*.cache_control", NULL, NULL},
                                             {"temperature", NULL, NULL}};
    struct buf out;
    buf_init(&out, 1000);
    body_edit(str_from(body), edits, 2, &out);
    check_str(buf_view(&out),
              "{\"messages\":[{\"content\":[{\"type\":\"tool_use\",\"input\":{\"a\":1,"
              "\"cache_control\":{}}},{\"text\":\"\\\"cache_control\\\": [}\"}]}],"
              "\"x\":[1, {\"temperature\":2}]}");
    buf_release(&out);
}

static void an_object_goes_with_its_last_member(void **state)
{
    static const struct {
        const char *body, *expected;
    } rows[] = {
        {"{\"model\":\"m\",\"o\":{\"a\":1}}", "{\"model\":\"m\"}"},
        {"{\"o\":{\"a\":1},\"model\":\"m\"}", "{\"model\":\"m\"}"},
        {"{\"o\":{\"a\":1,\"b\":2}}", "{\"o\":{\"b\":2}}"},
        /* An object that was empty, and elements of an array, are not ours to take away. */
        {"{\"o\":{ },\"l\":[{\"a\":1}]}", "{\"o\":{},\"l\":[{}]}"},
    };
    static const struct body_edit edits[] = {{"o.a", NULL, NULL}, {"l.*.a", NULL, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf out;
        buf_init(&out, 1000);
        body_edit(str_from(rows[i].body), edits, 2, &out);
        check_str(buf_view(&out), rows[i].expected);
        buf_release(&out);
    }
}

static void check_merge(const char *extra, int64_t tokens, const char *expected)
{
    struct err err = ERR_INIT;
    struct buf out;
    buf_init(&out, 10000);
    assert_int_equal(body_merge(STR("{\"model\":\"m\",\"max_tokens\":50,\"top_p\":1}"),
                                str_from(extra), "max_tokens", tokens, &out, &err),
                     0);
    check_str(buf_view(&out), expected);
    buf_release(&out);
}

static void members_of_the_config_go_over_ours(void **state)
{
    struct err err = ERR_INIT;
    struct buf out;
    check_merge(
        "{\"top_p\":0.5,\"provider\":{\"order\":[\"a\"]}}", 50,
        "{\"model\":\"m\",\"max_tokens\":50,\"top_p\":0.5,\"provider\":{\"order\":[\"a\"]}}");
    check_merge("{\"top_p\":null}", 50, "{\"model\":\"m\",\"max_tokens\":50}");
    check_merge("{}", 50, "{\"model\":\"m\",\"max_tokens\":50,\"top_p\":1}");
    check_merge("{\"max_tokens\":null}", 50, "{\"model\":\"m\",\"max_tokens\":50,\"top_p\":1}");
    check_merge("{\"max_tokens\":51}", 50, "{\"model\":\"m\",\"max_tokens\":50,\"top_p\":1}");
    check_merge("{\"max_completion_tokens\":20}", 50,
                "{\"model\":\"m\",\"top_p\":1,\"max_completion_tokens\":20}");
    check_merge("{\"max_tokens\":null}", 0, "{\"model\":\"m\",\"top_p\":1}");
    buf_init(&out, 100);
    assert_int_equal(body_merge(STR("{}"), STR("[1]"), "max_tokens", 0, &out, &err), -1);
    assert_int_equal(err.class, ERR_CONFIG);
    buf_release(&out);
}

static void only_closed_schemas_of_known_words_are_strict(void **state)
{
#define OBJECT(properties, required)                                                               \
    "{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required                 \
    "],\"additionalProperties\":false}"
    static const struct {
        const char *schema;
        enum schema_fit fit;
    } cases[] = {
        {SCHEMA, SCHEMA_STRICT},
        {LOOSE, SCHEMA_LOOSE},
        {OBJECT("\"a\":{\"type\":[\"string\",\"null\"]},\"b\":{\"type\":\"array\",\"items\":"
                "{\"enum\":[1]}}",
                "\"a\",\"b\""),
         SCHEMA_STRICT},
        {OBJECT("\"a\":{\"type\":\"string\"}", ""), SCHEMA_LOOSE},
        {OBJECT("\"a\":" LOOSE, "\"a\""), SCHEMA_LOOSE},
        {OBJECT("\"a\":{\"type\":\"array\"}", "\"a\""), SCHEMA_LOOSE},
        {OBJECT("\"a\":{\"type\":\"string\",\"minLength\":2}", "\"a\""), SCHEMA_LOOSE},
        {OBJECT("\"a\":{\"anyOf\":[{\"type\":\"null\"}," SCHEMA "]}", "\"a\""), SCHEMA_STRICT},
        {OBJECT("\"a\":{\"$ref\":\"#\"}", "\"a\""), SCHEMA_LOOSE},
        {OBJECT("\"a\":true", "\"a\""), SCHEMA_LOOSE},
        {"{\"type\":\"array\",\"items\":{\"type\":\"string\"}}", SCHEMA_UNFIT},
        {"true", SCHEMA_UNFIT},
        {"", SCHEMA_UNFIT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (schema_strictable(str_from(cases[i].schema)) != cases[i].fit)
            fail_msg("%s", cases[i].schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_removed_member_is_not_looked_for_in_what_models_and_tools_say),
        cmocka_unit_test(an_object_goes_with_its_last_member),
        cmocka_unit_test(members_of_the_config_go_over_ours),
        cmocka_unit_test(only_closed_schemas_of_known_words_are_strict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
