/* config: what a project's file may widen once the user trusts it, and how long that holds. */
#include "config/trust.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "config/widen.h"
#include "config_room.h"

#define OWN                                                                                        \
    "llm:\n"                                                                                       \
    "  providers: {mine: {base_url: http://127.0.0.1:1/v1, api_key_env: MY_KEY}}\n"                \
    "  models: {m: {provider: mine}, n: {provider: mine}}\n"                                       \
    "  pools: {default: [{model: m}, {model: n}]}\n"

static void ask(struct room *room, enum config_consent answer)
{
    room->consent = room_answer;
    room->answer = answer;
    room->asked = 0;
}

/* The widening of this key, or the test fails. */
static const struct config_widening *widening(const struct room *room, const char *key)
{
    const struct config_entries *entries = room->config.entries;
    for (size_t i = 0; i < entries->widening_count; i++)
        if (str_is(entries->widenings[i].key, key))
            return &entries->widenings[i];
    fail_msg("%s does not widen", key);
    return NULL;
}

static void nobody_is_asked_about_a_file_that_narrows(void **state)
{
    struct room *room = *state;
    room_write(room, PROJECT_FILE,
               "mode: plan\nsub_agent: {max_concurrent: 2}\n"
               "tools: {spawn: {profiles: {mine: {tools: [read]}}}}\n");
    ask(room, CONSENT_DENIED);
    load_ok(room);
    assert_int_equal(room->asked, 0);
}

static void without_consent_the_start_stops_and_names_the_command(void **state)
{
    struct room *room = *state;
    room_write(room, PROJECT_FILE, "mode: auto\nsub_agent: {max_concurrent: 9}\n");
    load_fails(room, ERR_CONFIG, PROJECT_FILE,
               ":1:7: a project's file may not set mode wider than safe (built-in) unless you "
               "trust it (and 1 more): cadre config trust");
    ask(room, CONSENT_DENIED);
    load_fails(room, ERR_CONFIG, PROJECT_FILE, ":1:7: a project's file may not set mode");
    assert_int_equal(room->asked, 1);
}

static void who_does_without_the_file_gets_nothing_of_it(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE, "sub_agent: {max_retries: 4}\n");
    room_write(room, PROJECT_FILE, "mode: auto\nsub_agent: {max_concurrent: 2}\n");
    ask(room, CONSENT_WITHOUT_IT);
    load_ok(room);
    assert_int_equal(room->asked, 1);
    assert_int_equal(room->config.settings.mode, MODE_SAFE);
    assert_int_equal(room->config.settings.max_concurrent, 3);
    assert_int_equal(room->config.settings.max_retries, 4);
    assert_int_equal(room->config.file_count, 1);
}

static void consent_for_once_widens_and_is_not_kept(void **state)
{
    struct room *room = *state;
    room_write(room, PROJECT_FILE, "mode: auto\n");
    ask(room, CONSENT_ONCE);
    load_ok(room);
    assert_int_equal(room->config.settings.mode, MODE_AUTO);
    load_ok(room);
    assert_int_equal(room->asked, 2);
}

static void consent_that_is_kept_holds_until_the_file_changes(void **state)
{
    struct room *room = *state;
    room_write(room, PROJECT_FILE, "mode: auto\n");
    ask(room, CONSENT_KEPT);
    load_ok(room);
    ask(room, CONSENT_DENIED);
    load_ok(room);
    assert_int_equal(room->asked, 0);
    assert_int_equal(room->config.settings.mode, MODE_AUTO);
    room_write(room, PROJECT_FILE, "mode: auto # and more\n");
    load_fails(room, ERR_CONFIG, PROJECT_FILE, ":1:7: a project's file may not set mode");
    assert_int_equal(room->asked, 1);
    room_write(room, PROJECT_FILE, "mode: auto\n");
    load_ok(room);
}

static void the_same_content_elsewhere_is_another_file(void **state)
{
    struct room *room = *state;
    room_write(room, PROJECT_FILE, "mode: auto\n");
    ask(room, CONSENT_KEPT);
    load_ok(room);
    room_mkdir(room, "other");
    room_write(room, "other/cadre.yaml", "mode: auto\n");
    snprintf(room->workspace, sizeof room->workspace, "%s/other", room->root);
    ask(room, CONSENT_DENIED);
    load_fails(room, ERR_CONFIG, "other/cadre.yaml", ":1:7: a project's file may not set mode");
}

static void trust_is_kept_in_the_state_directory_for_the_user_alone(void **state)
{
    struct room *room = *state;
    char path[PATH_BYTES * 2];
    struct stat status;
    room_write(room, PROJECT_FILE, "mode: auto\n");
    ask(room, CONSENT_KEPT);
    load_ok(room);
    snprintf(path, sizeof path, "%s/.local/state/cadre/trust", room->root);
    check_str(room->config.trust_directory, path);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    snprintf(path, sizeof path, "%s/elsewhere", room->root);
    room_set(room, "XDG_STATE_HOME", path);
    ask(room, CONSENT_DENIED);
    load_fails(room, ERR_CONFIG, PROJECT_FILE, ":1:7: a project's file may not set mode");
}

static void what_is_no_file_in_the_place_of_a_record_is_no_trust(void **state)
{
    struct room *room = *state;
    char folder[PATH_BYTES * 2], record[PATH_BYTES * 3];
    room_write(room, PROJECT_FILE, "mode: auto\n");
    ask(room, CONSENT_KEPT);
    load_ok(room);
    snprintf(folder, sizeof folder, "%s/.local/state/cadre/trust", room->root);
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    record[0] = '\0';
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;)
        if (entry->d_name[0] != '.')
            snprintf(record, sizeof record, "%s/%.200s", folder, entry->d_name);
    closedir(listing);
    assert_int_equal(unlink(record), 0);
    assert_int_equal(symlink("/etc/passwd", record), 0);
    ask(room, CONSENT_DENIED);
    load_fails(room, ERR_CONFIG, PROJECT_FILE, ":1:7: a project's file may not set mode");
}

static void revoking_forgets_every_content_of_this_file_and_of_no_other(void **state)
{
    struct room *room = *state;
    size_t count;
    ask(room, CONSENT_KEPT);
    room_mkdir(room, "other");
    room_write(room, "other/cadre.yaml", "mode: auto\n");
    snprintf(room->workspace, sizeof room->workspace, "%s/other", room->root);
    load_ok(room);
    snprintf(room->workspace, sizeof room->workspace, "%s/ws", room->root);
    room_write(room, PROJECT_FILE, "mode: dangerous\n");
    load_ok(room);
    room_write(room, PROJECT_FILE, "mode: auto\n");
    load_ok(room);
    assert_int_equal(config_trust_revoke(&room->config, &count, &room->err), 0);
    assert_int_equal(count, 2);
    ask(room, CONSENT_DENIED);
    load_fails(room, ERR_CONFIG, PROJECT_FILE, ":1:7: a project's file may not set mode");
    snprintf(room->workspace, sizeof room->workspace, "%s/other", room->root);
    load_ok(room);
}

static void without_a_home_nothing_is_trusted_for_longer(void **state)
{
    struct room *room = *state;
    room_set(room, "HOME", NULL);
    room->flags.store = STR("/tmp/never-made/cadre.db");
    room_write(room, PROJECT_FILE, "mode: auto\n");
    ask(room, CONSENT_ONCE);
    load_ok(room);
    ask(room, CONSENT_KEPT);
    load_fails(room, ERR_CONFIG, NULL, "HOME is not set");
}

static void each_value_that_widens_is_told_from_what_and_to_what(void **state)
{
    struct room *room = *state;
    static const struct {
        const char *key, *from, *to;
    } rows[] = {
        {"mode", "safe (built-in)", "auto"},
        {"budget.cost_usd", "1.00 (built-in)", "null"},
        {"permissions.shell", "what the mode says", "allow"},
        {"llm.providers.theirs", "not set", "set"},
        {"llm.providers.theirs.base_url", "https://api.openai.com/v1 (built-in)",
         "http://127.0.0.1:2/v1"},
        {"llm.pools.default[0].model", "m (", "x"},
        {"llm.allowed_models", "not set", "[x]"},
    };
    room_write(room, USER_FILE, OWN);
    room_write(room, PROJECT_FILE,
               "mode: auto\nbudget: {cost_usd: null, wall_ms: 5s}\npermissions: {shell: allow}\n"
               "llm:\n  providers: {theirs: {base_url: http://127.0.0.1:2/v1}}\n"
               "  models: {x: {provider: theirs}}\n  pools: {default: [{model: x}]}\n"
               "  allowed_models: [x]\n");
    ask(room, CONSENT_ONCE);
    load_ok(room);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct config_widening *found = widening(room, rows[i].key);
        if (!str_starts(found->from, str_from(rows[i].from)))
            check_str(found->from, rows[i].from);
        check_str(found->to, rows[i].to);
    }
    assert_int_equal(room->config.entries->widening_count, 9);
}

static void a_name_that_a_trusted_project_sets_keeps_nothing_of_the_users(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE, OWN);
    room_write(room, PROJECT_FILE,
               "llm:\n  providers: {mine: {base_url: http://127.0.0.1:2/v1}}\n"
               "  pools: {default: [{model: n}]}\n");
    ask(room, CONSENT_ONCE);
    load_ok(room);
    const struct model_settings *model = settings_model(&room->config.settings, STR("n"));
    check_str(model->base_url, "http://127.0.0.1:2/v1");
    assert_int_equal(model->api_key_env.n, 0);
    assert_int_equal(settings_pool(&room->config.settings, STR("default"))->models.n, 1);
}

static void the_store_is_never_the_projects(void **state)
{
    struct room *room = *state;
    room_write(room, PROJECT_FILE, "store: here.db\n");
    ask(room, CONSENT_KEPT);
    load_fails(room, ERR_CONFIG, PROJECT_FILE,
               ":1:1: a project's file may not set store; this belongs in your own file");
    assert_int_equal(room->asked, 0);
}

#define ROOM(test) cmocka_unit_test_setup_teardown(test, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM(nobody_is_asked_about_a_file_that_narrows),
        ROOM(without_consent_the_start_stops_and_names_the_command),
        ROOM(who_does_without_the_file_gets_nothing_of_it),
        ROOM(consent_for_once_widens_and_is_not_kept),
        ROOM(consent_that_is_kept_holds_until_the_file_changes),
        ROOM(the_same_content_elsewhere_is_another_file),
        ROOM(trust_is_kept_in_the_state_directory_for_the_user_alone),
        ROOM(what_is_no_file_in_the_place_of_a_record_is_no_trust),
        ROOM(revoking_forgets_every_content_of_this_file_and_of_no_other),
        ROOM(without_a_home_nothing_is_trusted_for_longer),
        ROOM(each_value_that_widens_is_told_from_what_and_to_what),
        ROOM(a_name_that_a_trusted_project_sets_keeps_nothing_of_the_users),
        ROOM(the_store_is_never_the_projects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
