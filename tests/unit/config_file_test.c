/* config: files that are wrong, hostile or not files at all. Each file under fixtures/config/bad names, in its first
 * line, the place and the message it must give. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "config/source.h"
#include "config_room.h"

static void each_wrong_file_names_line_column_and_what_is_expected(void **state)
{
    walk_fixtures(*state, "fixtures/config/bad", USER_FILE, 74);
}

static struct config_mistakes mistakes;

static void with_a_list_the_first_mistake_is_the_same(void **state)
{
    struct room *room = *state;
    room->mistakes = &mistakes;
    walk_fixtures(room, "fixtures/config/bad", USER_FILE, 74);
}

static void with_a_list_each_mistake_is_found_and_no_consequence_of_it(void **state)
{
    struct room *room = *state;
    static const struct {
        const char *text;
        const char *rest[4];
    } table[] = {
        {"mode: turbo\nsub_agentt: {a: 1}\nfoo: 1\n",
         {":1:7: expected", ":2:1: unknown key 'sub_agentt'", ":3:1: unknown key 'foo'"}},
        {"sub_agent: {gate: x, depth: 1}\nbudget: 7\n",
         {":1:19: expected", ":1:22: unknown key 'depth'", ":2:9: expected a mapping"}},
        {"sandbox: {show: [a, b, /c]}\nmode: x\n",
         {":2:7: expected", ":1:18: expected an absolute path", ":1:21: expected an absolute"}},
        /* References are followed where llm has no wrong value, */
        {"mode: x\nllm: {models: {a: {provider: p}, b: {provider: q}}}\n",
         {":1:7: expected", ":2:30: ", ":2:48: "}},
        /* and not where it has one: that there is no provider p follows from the first mistake. */
        {"llm:\n  providers: {p: 7}\n  models: {a: {provider: p}}\n"
         "  pools: {default: [{model: a}]}\n",
         {":2:18: expected a mapping"}},
        {"llm:\n  models: {a: {provider: p}}\n  pools: {default: [{model: a}]}\n",
         {":2:26: there is no provider 'p'"}},
        {"tools: {web_search: {kind: x, url: 'http://h/'}}\n", {":1:28: expected"}},
        {"mode: x\n[\n", {":"}},
    };
    room->mistakes = &mistakes;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        size_t count = 0;
        while (count < 4 && table[i].rest[count] != NULL)
            count++;
        room_write(room, USER_FILE, table[i].text);
        load_fails(room, ERR_CONFIG, USER_FILE, table[i].rest[0]);
        for (size_t k = 0; k < mistakes.found || k < count; k++) {
            const char *place = k < mistakes.found ? mistakes.items[k].message : "";
            place += strncmp(place, room->root, strlen(room->root)) == 0
                         ? strlen(room->root) + sizeof "/" USER_FILE - 1
                         : 0;
            const char *wanted = k < count ? table[i].rest[k] : "nothing more";
            if (strncmp(place, wanted, strlen(wanted)) != 0)
                fail_msg("%s\nwanted: %s\ngot:    %s", table[i].text, wanted, place);
        }
    }
}

static void the_list_has_a_maximum_and_counts_the_rest(void **state)
{
    struct room *room = *state;
    struct buf text;
    buf_init(&text, 65536);
    for (int i = 0; i < CONFIG_MISTAKES_MAX + 7; i++)
        buf_printf(&text, "zz%d: 1\n", i);
    room_write_bytes(room, USER_FILE, buf_view(&text));
    buf_release(&text);
    room->mistakes = &mistakes;
    load_fails(room, ERR_CONFIG, USER_FILE, ":1:1: unknown key 'zz0'");
    assert_int_equal(mistakes.found, CONFIG_MISTAKES_MAX + 7);
    assert_int_equal(config_mistakes_kept(&mistakes), CONFIG_MISTAKES_MAX);
    assert_non_null(strstr(mistakes.items[CONFIG_MISTAKES_MAX - 1].message, "'zz49'"));
}

static void a_project_file_that_is_a_link_is_refused(void **state)
{
    struct room *room = *state;
    char link[PATH_BYTES * 2];
    room_write(room, "secret", "password\n");
    snprintf(link, sizeof link, "%s/" PROJECT_FILE, room->root);
    assert_int_equal(symlink("../secret", link), 0);
    load_fails(room, ERR_CONFIG, PROJECT_FILE, " is a symbolic link");
}

static void the_excerpt_shows_the_line_with_a_caret(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE, "sub_agent:\n  gate: \"öpen\" # why\n");
    load_fails(room, ERR_CONFIG, USER_FILE, ":2:9: expected parent or run, found 'öpen'");
    const char *excerpt = strchr(room->err.message, '\n');
    assert_non_null(excerpt);
    assert_string_equal(excerpt, "\n  2 |   gate: \"öpen\" # why\n    |         ^~~~~~");
}

static void columns_count_characters_and_controls_do_not_reach_the_terminal(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE, "llm: {\"日本\\e[31m\": 1}\n");
    load_fails(room, ERR_CONFIG, USER_FILE, ":1:7: unknown key '日本'");
    assert_null(strchr(room->err.message, '\x1b'));
    room_write(room, USER_FILE, "budget: {\"日本\": 1}\n");
    load_fails(room, ERR_CONFIG, USER_FILE, ":1:10: unknown key '日本' in budget");
}

static void secrets_written_into_files_are_not_repeated(void **state)
{
    struct room *room = *state;
    static const struct {
        const char *text, *rest;
    } table[] = {
        {"llm: {providers: {p: {api_key: sk-hush}}}\n",
         ":1:23: unknown key 'api_key' in llm.providers.p; did you mean 'api_key_env'?"},
        {"llm: {providers: {p: {api_key_env: sk-hush}}}\n",
         ":1:36: expected the NAME of an environment variable"},
        {"llm: {providers: {p: {base_url: 'http://me:sk-hush@h/v1'}}}\n",
         ":1:33: expected a URL such as http://localhost:8080/v1, without user"},
        {"llm: {providers: {p: sk-hush}}\n", ":1:22: expected a mapping, found a single value"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        room_write(room, USER_FILE, table[i].text);
        load_fails(room, ERR_CONFIG, USER_FILE, table[i].rest);
        assert_null(strstr(room->err.message, "sk-hush"));
    }
}
static void a_billion_laughs_ends_at_the_first_anchor(void **state)
{
    struct room *room = *state;
    struct buf text;
    buf_init(&text, 65536);
    buf_text(&text, "a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for (char c = 'b'; c < 'j'; c++) {
        buf_printf(&text, "%c: &%c [", c, c);
        for (int i = 0; i < 9; i++)
            buf_printf(&text, "%s*%c", i ? ", " : "", c - 1);
        buf_text(&text, "]\n");
    }
    room_write_bytes(room, USER_FILE, buf_view(&text));
    buf_release(&text);
    load_fails(room, ERR_CONFIG, USER_FILE, ":1:4: anchors (&name) are not supported");
}

static void repeat(struct room *room, const char *first, const char *piece, size_t times)
{
    struct buf text;
    buf_init(&text, 2 * CONFIG_FILE_MAX);
    buf_text(&text, first);
    for (size_t i = 0; i < times; i++)
        buf_text(&text, piece);
    assert_false(text.failed);
    room_write_bytes(room, USER_FILE, buf_view(&text));
    buf_release(&text);
}

static void deep_nesting_is_refused(void **state)
{
    struct room *room = *state;
    static const char *const pieces[] = {"[", "{a: ", "- ", "? "};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        repeat(room, "", pieces[i], 100000);
        assert_int_equal(room_load(room), -1);
        assert_int_equal(room->err.class, ERR_CONFIG);
    }
    load_fails(room, ERR_CONFIG, USER_FILE, ":1:"); /* "? ": a key that is a mapping */
    repeat(room, "mode: ", "[", 100000);
    load_fails(room, ERR_CONFIG, USER_FILE, ":1:22: nested more than 16 levels deep");
}

static void too_many_values_are_refused(void **state)
{
    struct room *room = *state;
    repeat(room, "llm: {allowed_models: [", "a,", 2000);
    load_fails(room, ERR_CONFIG, USER_FILE, ":1:2072: more than 1024 members in one place");
    repeat(room, "",
           "- [a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a]\n",
           1000);
    load_fails(room, ERR_CONFIG, USER_FILE, ":820:16: more than 32768 values in one file");
}

static void a_file_above_one_megabyte_is_refused(void **state)
{
    struct room *room = *state;
    repeat(room, "mode: safe\n", "# padding\n", CONFIG_FILE_MAX / 10 - 5);
    load_ok(room);
    repeat(room, "mode: safe\n", "# padding\n", CONFIG_FILE_MAX / 10 + 1);
    load_fails(room, ERR_CONFIG, USER_FILE, " is larger than 1 MB");
}

static void invalid_utf8_and_control_characters_are_refused(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE, "mode: safe\n# caf\xe9\n");
    load_fails(room, ERR_CONFIG, USER_FILE, ":2:6: a byte here is not valid UTF-8");
    room_write_bytes(room, USER_FILE, STR("mode: safe\n\0store: x\n"));
    load_fails(room, ERR_CONFIG, USER_FILE, ":2:1: a control character has no place here");
    room_write(room, USER_FILE, "mode: \x1b[31msafe\n");
    load_fails(room, ERR_CONFIG, USER_FILE, ":1:7: a control character has no place here");
}

static void an_empty_file_says_nothing(void **state)
{
    struct room *room = *state;
    static const char *const texts[] = {"",           "\n",  "# only a comment\n", "---\n",
                                        "---\n...\n", "~\n", "\xef\xbb\xbf",       "sub_agent:\n",
                                        "llm: {}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        room_write(room, USER_FILE, texts[i]);
        load_ok(room);
        assert_int_equal(room->config.file_count, 1);
        assert_int_equal(room->config.settings.max_depth, 2);
    }
}

static void a_byte_order_mark_and_carriage_returns_are_harmless(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE, "\xef\xbb\xbfmode: plan\r\nsub_agent:\r\n  max_depth: 1\r\n");
    load_ok(room);
    assert_int_equal(room->config.settings.mode, MODE_PLAN);
    assert_int_equal(room->config.settings.max_depth, 1);
    room_write(room, USER_FILE, "\xef\xbb\xbfmoda: plan\r\n");
    load_fails(room, ERR_CONFIG, USER_FILE, ":1:1: unknown key 'moda'");
}

static void what_is_not_a_regular_file_is_refused(void **state)
{
    struct room *room = *state;
    char path[PATH_BYTES * 2];
    room_mkdir(room, PROJECT_FILE);
    load_fails(room, ERR_CONFIG, PROJECT_FILE, " is a directory, not a config file");
    snprintf(path, sizeof path, "%s/" PROJECT_FILE, room->root);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0644), 0);
    load_fails(room, ERR_CONFIG, PROJECT_FILE, " is a special file, not a config file");
}

/* While a command runs in a workspace that has no cadre.yaml, a marked directory keeps it from making one. */
static void what_keeps_commands_from_making_a_file_is_no_file(void **state)
{
    struct room *room = *state;
    char path[PATH_BYTES * 2];
    snprintf(path, sizeof path, "%s/" PROJECT_FILE, room->root);
    room_mkdir(room, PROJECT_FILE);
    assert_int_equal(chmod(path, 01755), 0);
    load_ok(room);
    assert_int_equal(room->config.file_count, 0);
}

static void walls_are_named_and_paths_to_show_are_absolute(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE,
               "sandbox: {seccomp: false, show: [/srv/tools], environment: [A], memory_mb: 100}\n");
    load_ok(room);
    const struct config_sandbox *sandbox = &room->config.sandbox;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(sandbox->walls[i].off, strcmp(sandbox->walls[i].name, "seccomp") == 0);
    check_str(sandbox->shown[0], "/srv/tools");
    check_str(sandbox->environment[0], "A");
    assert_int_equal(sandbox->memory_mb, 100);
    assert_int_equal(sandbox->processes, 512);
    room_write(room, USER_FILE, "sandbox: {show: [tools]}\n");
    load_fails(room, ERR_CONFIG, USER_FILE, ":1:18: expected an absolute path");
}

static void a_missing_file_is_an_error_only_when_it_was_named(void **state)
{
    struct room *room = *state;
    load_ok(room);
    assert_int_equal(room->config.file_count, 0);
    room->flags.config_file = STR("nowhere.yaml");
    load_fails(room, ERR_CONFIG, NULL, "there is no config file /");
    room->flags.config_file = STR_NONE;
    room_set(room, "CADRE_CONFIG", "/nowhere/at/all.yaml");
    load_fails(room, ERR_CONFIG, NULL, "there is no config file /nowhere/at/all.yaml");
}

static void an_unreadable_file_is_refused(void **state)
{
    struct room *room = *state;
    char path[PATH_BYTES * 2];
    char message[PATH_BYTES * 3];
    room_write(room, USER_FILE, "mode: safe\n");
    snprintf(path, sizeof path, "%s/" USER_FILE, room->root);
    assert_int_equal(chmod(path, 0), 0);
    /* Root reads everything: become somebody else for a moment. */
    int was_root = geteuid() == 0;
    if (was_root)
        assert_int_equal(seteuid(65534), 0);
    int result = room_load(room);
    if (was_root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(result, -1);
    assert_int_equal(room->err.class, ERR_CONFIG);
    snprintf(message, sizeof message, "cannot open %s: Permission denied", path);
    assert_string_equal(room->err.message, message);
}

static void a_very_long_line_is_cut_around_the_caret(void **state)
{
    struct room *room = *state;
    struct buf text;
    buf_init(&text, 65536);
    buf_text(&text, "{mode: safe,");
    for (int i = 0; i < 5000; i++)
        buf_char(&text, ' ');
    buf_text(&text, "zzzz: 1}");
    room_write_bytes(room, USER_FILE, buf_view(&text));
    buf_release(&text);
    load_fails(room, ERR_CONFIG, USER_FILE, ":1:5013: unknown key 'zzzz'");
    assert_true(strlen(room->err.message) < 900);
    assert_non_null(strstr(room->err.message, "zzzz …\n"));
}

#define ROOM(test) cmocka_unit_test_setup_teardown(test, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM(each_wrong_file_names_line_column_and_what_is_expected),
        ROOM(with_a_list_the_first_mistake_is_the_same),
        ROOM(with_a_list_each_mistake_is_found_and_no_consequence_of_it),
        ROOM(the_list_has_a_maximum_and_counts_the_rest),
        ROOM(a_project_file_that_is_a_link_is_refused),
        ROOM(the_excerpt_shows_the_line_with_a_caret),
        ROOM(columns_count_characters_and_controls_do_not_reach_the_terminal),
        ROOM(secrets_written_into_files_are_not_repeated),
        ROOM(a_billion_laughs_ends_at_the_first_anchor),
        ROOM(deep_nesting_is_refused),
        ROOM(too_many_values_are_refused),
        ROOM(a_file_above_one_megabyte_is_refused),
        ROOM(invalid_utf8_and_control_characters_are_refused),
        ROOM(an_empty_file_says_nothing),
        ROOM(a_byte_order_mark_and_carriage_returns_are_harmless),
        ROOM(what_is_not_a_regular_file_is_refused),
        ROOM(what_keeps_commands_from_making_a_file_is_no_file),
        ROOM(walls_are_named_and_paths_to_show_are_absolute),
        ROOM(a_missing_file_is_an_error_only_when_it_was_named),
        ROOM(an_unreadable_file_is_refused),
        ROOM(a_very_long_line_is_cut_around_the_caret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
