/* config: spawn profiles, from files to settings, and what a project's file may say of them. Wrong ones: config_file_test.c. */
#include <stdio.h>

#include "check.h"
#include "config_room.h"

static void a_profile_of_a_file_reaches_the_settings(void **state)
{
    struct room *room = *state;
    room_copy(room, USER_FILE, "fixtures/config/good.yaml");
    load_ok(room);
    const struct settings *settings = &room->config.settings;
    assert_int_equal(settings->spawn_enabled, SWITCH_ON);
    assert_int_equal(settings->hold_children, SWITCH_ON);
    assert_int_equal(settings->profile_count, 2);
    const struct profile *profile = &settings->profiles[0];
    check_str(profile->name, "researcher");
    check_str(profile->system_prompt, "Research specialist. Focus on\nacademic sources.\n");
    check_str(profile->system_prompt_file, "prompts/RESEARCHER.md");
    assert_int_equal(profile->bootstrap_files.n, 2);
    check_str(profile->bootstrap_files.items[0], "SOUL.md");
    check_str(profile->bootstrap_files.items[1], "docs/AGENTS.md");
    assert_int_equal(profile->tools.n, 3); /* read_file and read are one tool */
    check_str(profile->tools.items[0], "web_search");
    check_str(profile->tools.items[1], "shell");
    check_str(profile->tools.items[2], "read");
    check_str(profile->pool, "fast");
}

static void an_empty_profile_says_nothing(void **state)
{
    struct room *room = *state;
    room_copy(room, USER_FILE, "fixtures/config/good.yaml");
    load_ok(room);
    const struct profile *profile = &room->config.settings.profiles[1];
    check_str(profile->name, "plain-1_x");
    assert_int_equal(profile->system_prompt.n + profile->system_prompt_file.n + profile->pool.n, 0);
    assert_int_equal(profile->bootstrap_files.n, 0);
    assert_int_equal(profile->tools.n, 0);
}

static void a_project_adds_profiles_behind_the_users(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE,
               "tools: {spawn: {enabled: true, profiles: {reviewer: {tools: [read]}}}}\n");
    room_write(room, PROJECT_FILE,
               "tools: {spawn: {profiles: {house: {system_prompt: Know the house rules}}}}\n");
    load_ok(room);
    const struct settings *settings = &room->config.settings;
    assert_int_equal(settings->profile_count, 2);
    check_str(settings->profiles[0].name, "reviewer");
    check_str(settings->profiles[1].name, "house");
    check_str(settings->profiles[1].system_prompt, "Know the house rules");
}

static void a_project_turns_spawn_off(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE, "tools: {spawn: {enabled: true}}\n");
    room_write(room, PROJECT_FILE, "tools: {spawn: {enabled: false}}\n");
    load_ok(room);
    assert_int_equal(room->config.settings.spawn_enabled, SWITCH_OFF);
}

static void a_long_prompt_is_shown_by_its_beginning(void **state)
{
    struct room *room = *state;
    char file[40000];
    int n = snprintf(file, sizeof file, "tools: {spawn: {profiles: {r: {system_prompt: \"");
    memset(file + n, 'a', 30000);
    snprintf(file + n + 30000, 16, "zzz\"}}}}\n");
    room_write(room, USER_FILE, file);
    load_ok(room);
    assert_int_equal(room->config.settings.profiles[0].system_prompt.n, 30003);
    struct buf text;
    buf_init(&text, 65536);
    config_describe(&room->config, &text);
    buf_char(&text, '\0');
    assert_false(text.failed);
    assert_non_null(strstr(text.p, "tools.spawn.profiles.r.system_prompt: \"aaaa"));
    assert_non_null(strstr(text.p, "aaa…\" # "));
    assert_null(strstr(text.p, "zzz"));
    buf_release(&text);
}

static void a_file_adds_names_of_directories_for_a_tester(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE, "roles: {tester: {write_directories: [t, testdata]}}\n");
    load_ok(room);
    assert_int_equal(room->config.settings.test_directories.n, 2);
    check_str(room->config.settings.test_directories.items[1], "testdata");
    static const char *const wrong[] = {"a/b", "..", ".", "'**'", "/t", "a*"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[100];
        snprintf(text, sizeof text, "roles: {tester: {write_directories: [%s]}}\n", wrong[i]);
        room_write(room, USER_FILE, text);
        load_fails(room, ERR_CONFIG, USER_FILE,
                   ":1:38: expected the name of a directory, without / and *");
    }
    room_write(room, USER_FILE, "roles: {executor: {write_directories: [src]}}\n");
    load_fails(room, ERR_CONFIG, USER_FILE, ":1:20: only the role tester is bound to directories");
}

static void what_a_project_says_of_a_role_leaves_the_users_word_on_it(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE, "roles: {tester: {outputs: {schema: {type: object}}}}\n");
    room_write(room, PROJECT_FILE, "roles: {tester: {write_directories: [t]}}\n");
    load_fails(room, ERR_CONFIG, PROJECT_FILE,
               ":1:18: a project's file may not set roles.tester.write_directories unless you");
    room->consent = room_answer;
    room->answer = CONSENT_ONCE;
    load_ok(room);
    assert_int_equal(room->config.settings.test_directories.n, 1);
    assert_int_equal(room->config.settings.role_outputs_count, 1);
}

#define ROOM(test) cmocka_unit_test_setup_teardown(test, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM(a_profile_of_a_file_reaches_the_settings),
        ROOM(an_empty_profile_says_nothing),
        ROOM(a_project_adds_profiles_behind_the_users),
        ROOM(a_project_turns_spawn_off),
        ROOM(a_long_prompt_is_shown_by_its_beginning),
        ROOM(a_file_adds_names_of_directories_for_a_tester),
        ROOM(what_a_project_says_of_a_role_leaves_the_users_word_on_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
