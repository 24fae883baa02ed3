/* config: schemas for answers, written as YAML, and where their errors point. */
#include "check.h"
#include "config_room.h"

static void a_schema_of_a_profile_becomes_compact_json(void **state)
{
    struct room *room = *state;
    room_write(
        room, USER_FILE,
        "tools:\n  spawn:\n    profiles:\n      counter:\n        outputs:\n          schema:\n"
        "            type: object\n            required: [n]\n            additionalProperties: "
        "false\n"
        "            properties:\n"
        "              n: {type: integer, minimum: 1, description: \"how many\"}\n"
        "              s: {enum: ['1', 2, yes, true, null, ~, 1.5e3]}\n");
    load_ok(room);
    check_str(
        room->config.settings.profiles[0].schema,
        "{\"type\":\"object\",\"required\":[\"n\"],\"additionalProperties\":false,\"properties\":"
        "{\"n\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"how many\"},\"s\":{\"enum\":"
        "[\"1\",2,\"yes\",true,null,null,1500.0]}}}");
}

static void a_profile_without_one_has_none(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE, "tools: {spawn: {profiles: {plain: {tools: [read]}}}}\n");
    load_ok(room);
    assert_null(room->config.settings.profiles[0].schema.p);
}

static void a_schema_of_a_role_reaches_the_settings(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE, "roles: {reviewer: {outputs: {schema: {type: array}}}}\n");
    room_write(room, PROJECT_FILE, "roles: {tester: {outputs: {schema: {type: string}}}}\n");
    load_ok(room);
    const struct settings *settings = &room->config.settings;
    check_str(settings_role_schema(settings, STR("reviewer")), "{\"type\":\"array\"}");
    check_str(settings_role_schema(settings, STR("tester")), "{\"type\":\"string\"}");
    assert_null(settings_role_schema(settings, STR("planner")).p);
}

static void a_project_does_not_change_a_schema_of_the_user(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE, "roles: {reviewer: {outputs: {schema: {type: array}}}}\n");
    room_write(room, PROJECT_FILE, "roles: {reviewer: {outputs: {schema: {type: string}}}}\n");
    load_fails(room, ERR_CONFIG, PROJECT_FILE, ":1:30: a project's file may not set");
}

static void an_error_points_to_the_line_that_is_wrong(void **state)
{
    static const struct {
        const char *text, *rest;
    } table[] = {
        {"roles:\n  reviewer:\n    outputs:\n      schema:\n        properties:\n          a/b:\n"
         "            pattern: x\n",
         ":7:13: the keyword \"pattern\" is not enforced by cadre"},
        {"roles: {reviewer: {outputs: {schema: {anyOf: [{}, {type: text}]}}}}\n",
         ":1:52: expected a type"},
        {"roles: {reviewer: {outputs: {schema: 5}}}\n", ":1:38: expected a schema"},
        {"roles: {reviewer: {outputs: {schema: {$ref: '#/$defs/x'}}}}\n",
         ":1:39: expected \"#/$defs/NAME\""},
        {"roles: {boss: {outputs: {schema: {}}}}\n", ":1:9: expected a role: researcher"},
        {"roles: {tester: {output: {schema: {}}}}\n",
         ":1:18: unknown key 'output' in roles.tester; did you mean 'outputs'?"},
    };
    struct room *room = *state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        room_write(room, USER_FILE, table[i].text);
        load_fails(room, ERR_CONFIG, USER_FILE, table[i].rest);
    }
}

static void idle_time_and_reuse_have_their_defaults_and_their_range(void **state)
{
    struct room *room = *state;
    load_ok(room);
    assert_int_equal(room->config.settings.idle_timeout_ms, 0);
    assert_int_equal(room->config.settings.reuse_results, SWITCH_ON);
    room_write(room, USER_FILE, "sub_agent: {idle_timeout_ms: 20s, cache: false}\n");
    load_ok(room);
    assert_int_equal(room->config.settings.idle_timeout_ms, 20000);
    assert_int_equal(room->config.settings.reuse_results, SWITCH_OFF);
    room_write(room, USER_FILE, "sub_agent: {idle_timeout_ms: 999}\n");
    load_fails(room, ERR_CONFIG, USER_FILE, ":1:30: expected 0, or a time of at least a second");
}

static void a_project_may_make_children_idle_sooner_and_not_later(void **state)
{
    struct room *room = *state;
    room_write(room, PROJECT_FILE, "sub_agent: {idle_timeout_ms: 20s}\n");
    load_ok(room);
    assert_int_equal(room->config.settings.idle_timeout_ms, 20000);
    room_write(room, USER_FILE, "sub_agent: {idle_timeout_ms: 10s}\n");
    load_fails(room, ERR_CONFIG, PROJECT_FILE, ":1:30: a project's file may not set");
    room_write(room, PROJECT_FILE, "sub_agent: {idle_timeout_ms: 0}\n");
    load_fails(room, ERR_CONFIG, PROJECT_FILE, ":1:30: a project's file may not set");
}

#define ROOM_TEST(function) cmocka_unit_test_setup_teardown(function, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM_TEST(a_schema_of_a_profile_becomes_compact_json),
        ROOM_TEST(a_profile_without_one_has_none),
        ROOM_TEST(a_schema_of_a_role_reaches_the_settings),
        ROOM_TEST(a_project_does_not_change_a_schema_of_the_user),
        ROOM_TEST(an_error_points_to_the_line_that_is_wrong),
        ROOM_TEST(idle_time_and_reuse_have_their_defaults_and_their_range),
        ROOM_TEST(a_project_may_make_children_idle_sooner_and_not_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
