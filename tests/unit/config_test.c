/* config: what files, flags and the environment become, and which of them wins. Wrong files: config_file_test.c.
 * `unit-config --print-docs` prints docs/config.md. */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "config/entry.h"
#include "config_room.h"

static void every_key_of_a_file_reaches_the_settings(void **state)
{
    struct room *room = *state;
    room_copy(room, USER_FILE, "fixtures/config/good.yaml");
    load_ok(room);
    const struct settings *settings = &room->config.settings;
    assert_int_equal(settings->model_count, 3);
    const struct model_settings *coder = settings_model(settings, STR("coder"));
    check_str(coder->provider, "local");
    check_str(coder->model, "qwen3-coder");
    check_str(coder->api, "openai");
    check_str(coder->base_url, "http://localhost:8080/v1");
    assert_int_equal(coder->api_key_env.n, 0);
    assert_int_equal(coder->max_tokens, 4096);
    assert_int_equal(coder->max_context_tokens, 32768);
    assert_int_equal(coder->price_in_nano, 0);
    const struct model_settings *mini = settings_model(settings, STR("gpt-4.1-mini"));
    check_str(mini->model, "gpt-4.1-mini");
    check_str(mini->base_url, "https://api.openai.com/v1");
    check_str(mini->api_key_env, "OPENAI_API_KEY");
    assert_int_equal(mini->price_in_nano, 400);
    assert_int_equal(mini->price_out_nano, 1600);
    assert_int_equal(mini->max_tokens, 8192);
    assert_int_equal(mini->max_context_tokens, 1047576); /* known */
    const struct model_settings *small = settings_model(settings, STR("small"));
    assert_int_equal(small->max_tokens, 2048);  /* half of its window */
    assert_int_equal(small->price_in_nano, 76); /* rounded up */
    check_str(settings->default_model, "gpt-4.1-mini");
    assert_int_equal(settings->allowed_models.n, 2);
    assert_int_equal(settings->sub_agent_enabled, SWITCH_OFF);
    assert_int_equal(settings->inherit_mode, SWITCH_OFF);
    assert_int_equal(settings->max_depth, 3);
    assert_int_equal(settings->max_concurrent, 8);
    assert_int_equal(settings->delegate_concurrency, 2);
    assert_int_equal(settings->child.tool_calls, 20);
    assert_int_equal(settings->child.context_tokens, 9000);
    assert_int_equal(settings->child.wall_ms, 120000);
    assert_int_equal(settings->gate, GATE_RUN);
    assert_int_equal(settings->attempt_timeout_ms, 30000);
    assert_int_equal(settings->max_retries, 0);
    assert_int_equal(settings->mode, MODE_AUTO);
    check_str(settings->network, "full");
    check_str(settings_role_network(settings, STR("tester")), "relay");
    check_str(settings_role_network(settings, STR("executor")), "full");
    check_str(room->config.sandbox.relay, "/run/proxy.socket");
    assert_int_equal(room->config.sandbox.relay_port, 3128);
    assert_int_equal(settings->override_count, 2);
    check_str(settings->overrides[0].tool, "shell");
    assert_int_equal(settings->overrides[0].permission, PERMIT_DENY);
    assert_int_equal(settings->warn_at, 5);
    assert_int_equal(settings->pause_at, 6);
    assert_int_equal(settings->hard_stop_at, 7);
    assert_int_equal(settings->root.cost_nano, 2505000000);
    assert_int_equal(settings->root.tokens, 500000);
    assert_int_equal(settings->root.wall_ms, 1200000);
    char path[PATH_BYTES * 2];
    snprintf(path, sizeof path, "%s/.config/cadre/data/cadre.db", room->root);
    check_str(room->config.store_path, path);
    snprintf(path, sizeof path, "config %s/" USER_FILE, room->root);
    check_str(room->config.model_source, path);
}

static void settings_of_a_file_survive_the_log(void **state)
{
    struct room *room = *state;
    room_copy(room, USER_FILE, "fixtures/config/good.yaml");
    load_ok(room);
    struct buf first, second;
    struct jw w;
    struct arena arena;
    struct settings again;
    arena_init(&arena);
    buf_init(&first, 65536);
    buf_init(&second, 65536);
    jw_init(&w, &first);
    settings_print(&room->config.settings, &w);
    struct js *json = js_parse(buf_view(&first), &room->err);
    assert_non_null(json);
    settings_init(&again);
    if (settings_parse(&arena, json, &again, &room->err) != 0)
        fail_msg("%s", room->err.message);
    jw_init(&w, &second);
    settings_print(&again, &w);
    assert_true(first.n > 0 && str_eq(buf_view(&first), buf_view(&second)));
    js_free(json);
    buf_release(&first);
    buf_release(&second);
    arena_release(&arena);
}

static void a_project_file_that_widens_is_refused(void **state)
{
    struct room *room = *state;
    room_copy(room, USER_FILE, "fixtures/config/project-user.yaml");
    walk_fixtures(room, "fixtures/config/project-bad", PROJECT_FILE, 20);
}

static void a_project_file_may_narrow(void **state)
{
    struct room *room = *state;
    room_copy(room, USER_FILE, "fixtures/config/project-user.yaml");
    room_copy(room, PROJECT_FILE, "fixtures/config/project-good/narrower.yaml");
    load_ok(room);
    const struct settings *settings = &room->config.settings;
    assert_int_equal(settings->mode, MODE_RESEARCH);
    assert_int_equal(settings->max_concurrent, 2);
    assert_int_equal(settings->hard_stop_at, 50);
    assert_int_equal(settings->root.cost_nano, 250000000);
    assert_int_equal(settings->root.wall_ms, 60000);
    assert_int_equal(settings->override_count, 2);
    assert_int_equal(settings->overrides[0].permission, PERMIT_DENY);
    assert_int_equal(room->config.file_count, 2);
}

static void a_project_file_named_with_config_is_the_users_choice(void **state)
{
    struct room *room = *state;
    room_write(room, PROJECT_FILE, "mode: auto\n");
    load_fails(room, ERR_CONFIG, PROJECT_FILE, ":1:7: a project's file may not set mode");
    room->flags.config_file = STR("./cadre.yaml");
    load_ok(room);
    assert_int_equal(room->config.settings.mode, MODE_AUTO);
    assert_int_equal(room->config.file_count, 1);
}

static void flags_win_over_files(void **state)
{
    struct room *room = *state;
    room_write(
        room, USER_FILE,
        "llm:\n  providers: {p: {base_url: 'http://h/v1'}}\n"
        "  models: {a: {provider: p, price_in: 1, price_out: 1}, b: {provider: p, price_in: 1, "
        "price_out: 1}}\n  pools: {default: [{model: a}]}\n"
        "mode: auto\nbudget: {cost_usd: 3, wall_ms: 10s}\nstore: /x/y.db\n");
    load_ok(room);
    check_str(room->config.settings.default_model, "a");
    room->flags = (struct config_flags){
        .model = STR("b"),
        .mode = STR("plan"),
        .store = STR("here.db"),
        .max_cost = STR("2.50"),
        .timeout = STR("90"),
        .max_concurrent = STR("7"),
    };
    load_ok(room);
    const struct settings *settings = &room->config.settings;
    check_str(settings->default_model, "b");
    check_str(room->config.model_source, "flags");
    assert_int_equal(settings->mode, MODE_PLAN);
    assert_int_equal(settings->root.cost_nano, 2500000000);
    assert_int_equal(settings->root.wall_ms, 90000);
    assert_int_equal(settings->max_concurrent, 7);
    char path[PATH_BYTES * 2];
    snprintf(path, sizeof path, "%s/here.db", room->workspace);
    check_str(room->config.store_path, path);
}

static void config_flag_wins_over_variable_over_user_file(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE, "budget: {tokens: 1001024}\nsub_agent: {max_depth: 5}\n");
    room_write(room, "variable.yaml", "budget: {tokens: 1002048}\n");
    room_write(room, "ws/flag.yaml", "budget: {tokens: 1003072}\n");
    load_ok(room);
    assert_int_equal(room->config.settings.root.tokens, 1001024);
    char path[PATH_BYTES * 2];
    snprintf(path, sizeof path, "%s/variable.yaml", room->root);
    room_set(room, "CADRE_CONFIG", path);
    load_ok(room);
    assert_int_equal(room->config.settings.root.tokens, 1002048);
    assert_int_equal(room->config.settings.max_depth, 2); /* instead of the user file, not on top */
    room->flags.config_file = STR("flag.yaml");
    load_ok(room);
    assert_int_equal(room->config.settings.root.tokens, 1003072);
}

/* The workspace may be elsewhere, and its files are not the user's words. */
static void typed_paths_start_where_the_user_stands(void **state)
{
    struct room *room = *state;
    char store[PATH_BYTES * 2];
    room_mkdir(room, "desk");
    snprintf(room->here, sizeof room->here, "%s/desk", room->root);
    room_write(room, "ws/own.yaml", "budget: {tokens: 1001024}\n");
    room_write(room, "desk/own.yaml", "budget: {tokens: 1002048}\n");
    room_set(room, "CADRE_CONFIG", "own.yaml");
    room->flags.store = STR("../my.db");
    load_ok(room);
    assert_int_equal(room->config.settings.root.tokens, 1002048);
    snprintf(store, sizeof store, "%s/desk/../my.db", room->root);
    check_str(room->config.store_path, store);
    room_set(room, "CADRE_CONFIG", NULL);
    room->flags.config_file = STR("./own.yaml");
    load_ok(room);
    assert_int_equal(room->config.settings.root.tokens, 1002048);
}

static void xdg_folders_win_over_home(void **state)
{
    struct room *room = *state;
    char folder[PATH_BYTES * 2], store[PATH_BYTES * 3];
    room_mkdir(room, "xdg");
    room_mkdir(room, "xdg/cadre");
    room_write(room, USER_FILE, "mode: ci\n");
    room_write(room, "xdg/cadre/cadre.yaml", "mode: plan\n");
    load_ok(room);
    assert_int_equal(room->config.settings.mode, MODE_CI);
    snprintf(store, sizeof store, "%s/.local/state/cadre/cadre.db", room->root);
    check_str(room->config.store_path, store);
    snprintf(folder, sizeof folder, "%s/xdg", room->root);
    room_set(room, "XDG_CONFIG_HOME", folder);
    room_set(room, "XDG_STATE_HOME", folder);
    load_ok(room);
    assert_int_equal(room->config.settings.mode, MODE_PLAN);
    snprintf(store, sizeof store, "%s/cadre/cadre.db", folder);
    check_str(room->config.store_path, store);
}

static void without_home_the_store_must_be_given(void **state)
{
    struct room *room = *state;
    room_set(room, "HOME", "");
    load_fails(room, ERR_CONFIG, NULL, "HOME is not set");
    room->flags.store = STR("/tmp/x.db");
    load_ok(room);
    check_str(room->config.store_path, "/tmp/x.db");
}

static void a_store_in_a_file_may_start_at_home(void **state)
{
    struct room *room = *state;
    char path[PATH_BYTES * 2];
    room_write(room, USER_FILE, "store: ~/data/cadre.db\n");
    load_ok(room);
    snprintf(path, sizeof path, "%s/data/cadre.db", room->root);
    check_str(room->config.store_path, path);
}

static void wrong_flags_are_usage_errors(void **state)
{
    struct room *room = *state;
    const struct {
        struct config_flags flags;
        const char *message;
    } table[] = {
        {{.timeout = STR("3s")}, "--timeout: timeoutMs must be at least 5000"},
        {{.timeout = STR("4999ms")}, "--timeout: timeoutMs must be at least 5000"},
        {{.timeout = STR("soon")}, "--timeout: expected a time such as 90s"},
        {{.timeout = STR("")}, "--timeout: expected a time"},
        {{.timeout = STR("9223372036854775807m")}, "--timeout: expected a time"},
        {{.timeout = STR("900000h")}, "--timeout: expected at most 31 days"},
        {{.mode = STR("yolo")}, "--mode: expected one of safe auto"},
        {{.mode = STR("")}, "--mode: expected a value"},
        {{.max_cost = STR("0")}, "--max-cost: a limit must be more than 0 dollars"},
        {{.max_cost = STR("-1")}, "--max-cost: expected dollars"},
        {{.max_cost = STR("null")}, "--max-cost: expected a value"},
        {{.max_cost = STR("nan")}, "--max-cost: expected dollars"},
        {{.max_cost = STR("1.0000000001")}, "--max-cost: expected dollars"},
        {{.max_cost = STR("1000001")}, "--max-cost: expected dollars"},
        {{.max_cost = STR("1.")}, "--max-cost: expected dollars"},
        {{.max_concurrent = STR("abc")}, "--max-concurrent: expected a whole number"},
        {{.max_concurrent = STR("0")}, "--max-concurrent: expected a whole number from 1"},
        {{.base_url = STR("http://h/v1")}, "--base-url needs --model NAME"},
        {{.base_url = STR("http://u:p@h/v1"), .model = STR("m")}, "--base-url: expected a URL"},
        {{.base_url = STR("http://h/v1?key=p"), .model = STR("m")}, "--base-url: expected a URL"},
        {{.base_url = STR("http://h/v1?a=b&Token=p"), .model = STR("m")}, "--base-url: expected"},
        {{.base_url = STR("http://h/v1#a"), .model = STR("m")}, "--base-url: expected a URL"},
        {{.provider = STR("groq"), .base_url = STR("http://h/v1"), .model = STR("m")},
         "--provider names a server with its address and API: leave out --base-url"},
        {{.provider = STR("grok"), .model = STR("m")}, "--provider: there is no provider 'grok'"},
        {{.provider = STR("azure"), .model = STR("m")},
         "--provider: provider 'azure' needs the address of your own resource: "
         "llm.providers.azure.base_url, such as https://RESOURCE.openai.azure.com/openai/v1"},
        {{.provider = STR("moonshot")}, "--provider moonshot needs --model NAME; cadre models"},
        {{.model = STR("m")}, "--model: which server has it?"},
        {{.model = STR("a\nb"), .base_url = STR("http://h")}, "--model: expected a text"},
        {{.config_file = STR("")}, "--config needs the path of a file"},
        {{.store = STR("dir/")}, "--store: expected the path of a file"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        room->flags = table[i].flags;
        load_fails(room, ERR_USAGE, NULL, table[i].message);
        assert_null(strstr(room->err.message, "u:p@"));
    }
    room_write(room, USER_FILE, "llm: {providers: {p: {}}, models: {coder: {provider: p}}}\n");
    room->flags = (struct config_flags){.model = STR("codr")};
    load_fails(room, ERR_USAGE, NULL, "--model: there is no model 'codr'; did you mean 'coder'?");
}

static void durations_have_units(void **state)
{
    struct room *room = *state;
    static const struct {
        const char *text;
        int64_t ms;
    } table[] = {
        {"90s", 90000}, {"5m", 300000}, {"15000ms", 15000}, {"2h", 7200000}, {"60", 60000}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        room->flags.timeout = str_from(table[i].text);
        load_ok(room);
        assert_int_equal(room->config.settings.root.wall_ms, table[i].ms);
    }
}

static void describe_says_where_each_value_came_from_and_no_secret(void **state)
{
    struct room *room = *state;
    room_copy(room, USER_FILE, "fixtures/config/good.yaml");
    room_set(room, "OPENAI_API_KEY", "sk-hush");
    room_set(room, "OTHER_KEY", "sk-hush");
    room->flags.mode = STR("plan");
    load_ok(room);
    struct buf text;
    buf_init(&text, 65536);
    config_describe(&room->config, &text);
    buf_char(&text, '\0');
    assert_false(text.failed);
    assert_null(strstr(text.p, "sk-hush"));
    char wanted[PATH_BYTES * 2];
    snprintf(wanted, sizeof wanted, "# %s/" USER_FILE ":26:14\n", room->root);
    assert_non_null(strstr(text.p, "sub_agent.max_depth: 3 "));
    assert_non_null(strstr(text.p, wanted));
    assert_non_null(strstr(text.p, "mode: plan "));
    assert_non_null(strstr(text.p, "# --mode\n"));
    assert_non_null(strstr(text.p, "budget.cost_usd: 2.505 "));
    assert_non_null(strstr(text.p, "llm.models.small.price_in: 0.076 "));
    assert_non_null(strstr(text.p, "default model: gpt-4.1-mini "));
    assert_non_null(strstr(text.p, "# window from built-in, 2026-11; prices config; key from "
                                   "OPENAI_API_KEY\n"));
    buf_release(&text);
}

static void describe_without_files_shows_the_defaults(void **state)
{
    struct room *room = *state;
    load_ok(room);
    struct buf text;
    buf_init(&text, 65536);
    config_describe(&room->config, &text);
    buf_char(&text, '\0');
    assert_non_null(strstr(text.p, "sub_agent.max_concurrent: 3 "));
    assert_non_null(strstr(text.p, "# built-in\n"));
    assert_non_null(strstr(text.p, "models in use: none\n"));
    buf_release(&text);
}

static void the_tables_defaults_are_those_of_the_settings(void **state)
{
    struct room *room = *state;
    struct settings defaults;
    settings_init(&defaults);
    room_set(room, "OPENAI_API_KEY", "sk"); /* a priced model: the default cost limit holds */
    load_ok(room);
    const struct settings *settings = &room->config.settings;
    assert_memory_equal(&settings->child, &defaults.child, sizeof defaults.child);
    assert_memory_equal(&settings->root, &defaults.root, sizeof defaults.root);
    assert_int_equal(settings->max_depth, defaults.max_depth);
    assert_int_equal(settings->max_concurrent, defaults.max_concurrent);
    assert_int_equal(settings->delegate_concurrency, defaults.delegate_concurrency);
    assert_int_equal(settings->attempt_timeout_ms, defaults.attempt_timeout_ms);
    assert_int_equal(settings->max_retries, defaults.max_retries);
    assert_int_equal(settings->warn_at, defaults.warn_at);
    assert_int_equal(settings->pause_at, defaults.pause_at);
    assert_int_equal(settings->hard_stop_at, defaults.hard_stop_at);
    assert_int_equal(settings->mode, defaults.mode);
    assert_int_equal(settings->gate, defaults.gate);
    check_str(settings->network, defaults.network.p);
    assert_int_equal(settings->sub_agent_enabled, defaults.sub_agent_enabled);
    assert_int_equal(settings->inherit_mode, defaults.inherit_mode);
    assert_int_equal(settings->spawn_enabled, defaults.spawn_enabled);
    assert_int_equal(settings->hold_children, defaults.hold_children);
    assert_int_equal(settings->profile_count, 0);
}

static void every_default_in_the_table_is_a_valid_value(void **state)
{
    for (size_t i = 0; i < KEY_COUNT_OF_KEYS; i++) {
        struct config_value value;
        struct err err = ERR_INIT;
        struct str text = str_from(config_keys[i].fallback);
        if (text.n > 0 && config_value_parse(&config_keys[i], text, YAML_PLAIN, &value, &err) != 0)
            fail_msg("%s: %s", config_keys[i].path, err.message);
    }
}

static void the_documentation_is_what_the_table_says(void **state)
{
    struct buf wanted;
    buf_init(&wanted, 65536);
    config_docs(&wanted);
    assert_false(wanted.failed);
    char *stored = fixture_read("../docs/config.md");
    if (!str_eq(buf_view(&wanted), str_from(stored)))
        fail_msg("docs/config.md is out of date: unit-config --print-docs > docs/config.md");
    free(stored);
    buf_release(&wanted);
}

static void the_example_of_the_documentation_loads(void **state)
{
    struct room *room = *state;
    char *docs = fixture_read("../docs/config.md");
    char *start = strstr(docs, "```yaml\n");
    assert_non_null(start);
    start += strlen("```yaml\n");
    char *stop = strstr(start, "```");
    assert_non_null(stop);
    *stop = '\0';
    room_write(room, USER_FILE, start);
    free(docs);
    load_ok(room);
    check_str(room->config.settings.default_model, "coder");
}

static int print_docs(void)
{
    struct buf text;
    buf_init(&text, 65536);
    config_docs(&text);
    int result = text.failed || fwrite(text.p, 1, text.n, stdout) != text.n;
    buf_release(&text);
    return result;
}

#define ROOM(test) cmocka_unit_test_setup_teardown(test, room_setup, room_teardown)

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--print-docs") == 0)
        return print_docs();
    const struct CMUnitTest tests[] = {
        ROOM(every_key_of_a_file_reaches_the_settings),
        ROOM(settings_of_a_file_survive_the_log),
        ROOM(a_project_file_that_widens_is_refused),
        ROOM(a_project_file_may_narrow),
        ROOM(a_project_file_named_with_config_is_the_users_choice),
        ROOM(flags_win_over_files),
        ROOM(config_flag_wins_over_variable_over_user_file),
        ROOM(typed_paths_start_where_the_user_stands),
        ROOM(xdg_folders_win_over_home),
        ROOM(without_home_the_store_must_be_given),
        ROOM(a_store_in_a_file_may_start_at_home),
        ROOM(wrong_flags_are_usage_errors),
        ROOM(durations_have_units),
        ROOM(describe_says_where_each_value_came_from_and_no_secret),
        ROOM(describe_without_files_shows_the_defaults),
        ROOM(the_tables_defaults_are_those_of_the_settings),
        ROOM(every_default_in_the_table_is_a_valid_value),
        ROOM(the_documentation_is_what_the_table_says),
        ROOM(the_example_of_the_documentation_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
