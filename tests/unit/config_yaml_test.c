/* config/yaml: what a scalar becomes in JSON, by one rule for all that reads YAML as JSON. */
#include "check.h"
#include "config/yaml.h"

static bool only_counts(const struct yaml_node *node)
{
    return node->key && str_is(node->key->text, "count");
}

static void check_json(const char *yaml, yaml_typed_fn *typed, const char *json)
{
    struct config_source source = {STR("test"), str_from(yaml), ERR_CONFIG};
    struct arena arena;
    struct yaml_node *root;
    struct err err = ERR_INIT;
    struct buf out;
    arena_init(&arena);
    buf_init(&out, 4096);
    assert_int_equal(yaml_parse(&arena, &source, &root, &err), 0);
    assert_non_null(root);
    yaml_print_json(root, typed, &out);
    check_str(buf_view(&out), json);
    buf_release(&out);
    arena_release(&arena);
}

static void plain_scalars_that_json_knows_are_what_they_look_like(void **state)
{
    check_json("[1, -2.5e3, true, false, null, ~, ]", NULL, "[1,-2.5e3,true,false,null,null]");
    check_json("a:\nb: 7\n", NULL, "{\"a\":null,\"b\":7}");
}

static void what_is_quoted_or_only_looks_like_it_is_a_text(void **state)
{
    check_json(
        "['1', \"true\", yes, 0x10, 01, .5, 1_000, nan, True, 1 2]", NULL,
        "[\"1\",\"true\",\"yes\",\"0x10\",\"01\",\".5\",\"1_000\",\"nan\",\"True\",\"1 2\"]");
    check_json("|\n  12\n", NULL, "\"12\\n\"");
}

static void keys_are_texts(void **state)
{
    check_json("{1: {true: [x]}}", NULL, "{\"1\":{\"true\":[\"x\"]}}");
}

static void where_nothing_is_typed_only_null_is_no_text(void **state)
{
    check_json("{count: 3, id: 3, of: [1, true], no: null}", only_counts,
               "{\"count\":3,\"id\":\"3\",\"of\":[\"1\",\"true\"],\"no\":null}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_scalars_that_json_knows_are_what_they_look_like),
        cmocka_unit_test(what_is_quoted_or_only_looks_like_it_is_a_text),
        cmocka_unit_test(keys_are_texts),
        cmocka_unit_test(where_nothing_is_typed_only_null_is_no_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
