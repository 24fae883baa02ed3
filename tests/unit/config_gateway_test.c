/* config: servers by name, their headers, members of bodies and key helpers, and what is known of models. */
#include <stdio.h>

#include "check.h"
#include "config/known.h"
#include "config/presets.h"
#include "config_room.h"

static const struct model_settings *only_model(const struct room *room)
{
    assert_int_equal(room->config.settings.model_count, 1);
    return &room->config.settings.models[0];
}

static void every_preset_serves_a_model_by_its_name_alone(void **state)
{
    struct room *room = *state;
    for (size_t i = 0; i < preset_count; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "llm:\n  providers: {%s}\n  models: {m: {provider: %s, model: any}}\n",
                 presets[i].base_url ? ""
                                     : "azure: {base_url: https://r.openai.azure.com/openai/v1}",
                 presets[i].name);
        room_write(room, USER_FILE, text);
        load_ok(room);
        const struct model_settings *model = only_model(room);
        check_str(model->provider, presets[i].name);
        check_str(model->api, presets[i].api);
        if (presets[i].base_url)
            check_str(model->base_url, presets[i].base_url);
        assert_true(presets[i].key_variable ? str_is(model->api_key_env, presets[i].key_variable)
                                            : model->api_key_env.n == 0);
    }
}

static void a_key_alone_selects_its_vendor_in_the_documented_order(void **state)
{
    struct room *room = *state;
    static const char *const order[] = {"GROQ_API_KEY", "MISTRAL_API_KEY", "OPENROUTER_API_KEY",
                                        "ANTHROPIC_API_KEY", "OPENAI_API_KEY"};
    static const char *const models[] = {"openai/gpt-oss-120b", "mistral-medium-latest",
                                         "openrouter/auto", "claude-sonnet-4-5", "gpt-4.1-mini"};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        room_set(room, order[i], "sk-secret");
        load_ok(room);
        check_str(only_model(room)->model, models[i]);
        check_str(only_model(room)->api_key_env, order[i]);
        check_str(room->config.model_source, order[i]);
    }
    /* Rather the vendor whose price list has the model. */
    room->flags.model = STR("mistral-large-latest");
    load_ok(room);
    check_str(only_model(room)->provider, "mistral");
}

static void an_entry_with_a_presets_name_takes_what_it_does_not_set(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE,
               "llm:\n  providers: {groq: {max_concurrent: 4}}\n"
               "  models: {m: {provider: groq}}\n");
    load_ok(room);
    check_str(only_model(room)->base_url, "https://api.groq.com/openai/v1");
    check_str(only_model(room)->api_key_env, "GROQ_API_KEY");
    assert_int_equal(room->config.providers[0].max_concurrent, 4);
    /* A key goes to no server that it was not made for. */
    room_write(room, USER_FILE,
               "llm:\n  providers: {groq: {base_url: http://localhost:9/v1/}}\n"
               "  models: {m: {provider: groq}}\n");
    load_ok(room);
    check_str(only_model(room)->base_url, "http://localhost:9/v1");
    assert_int_equal(only_model(room)->api_key_env.n, 0);
}

static void the_provider_flag_names_a_server(void **state)
{
    struct room *room = *state;
    room->flags.provider = STR("openrouter");
    room->flags.model = STR("qwen/qwen3-coder");
    load_ok(room);
    check_str(only_model(room)->model, "qwen/qwen3-coder");
    check_str(only_model(room)->base_url, "https://openrouter.ai/api/v1");
    check_str(only_model(room)->api_key_env, "OPENROUTER_API_KEY");
    room->flags.model = STR_NONE;
    load_ok(room);
    check_str(only_model(room)->model, "openrouter/auto");
    room->flags.provider = STR("ollama");
    load_ok(room);
    assert_int_equal(room->config.settings.model_count, 0);
    check_str(room->config.server_to_ask, "http://127.0.0.1:11434/v1");
    room_write(
        room, USER_FILE,
        "llm:\n  models: {a: {provider: groq}, b: {provider: ollama}, c: {provider: ollama}}\n");
    load_ok(room);
    check_str(room->config.settings.default_model, "b");
}

static void reasoning_models_of_openais_own_server_use_responses(void **state)
{
    struct room *room = *state;
    static const struct {
        const char *provider, *model, *api;
    } rows[] = {
        {"{}", "gpt-5", "responses"},
        {"{}", "gpt-5.4-mini", "responses"},
        {"{}", "gpt-6.1-sol", "responses"},
        {"{}", "o3-mini", "responses"},
        {"{}", "codex-mini-latest", "responses"},
        {"{}", "gpt-4.1", "openai"},
        {"{}", "gpt-5-chat-latest", "openai"},
        {"{}", "gpt-4o", "openai"},
        {"{api: openai}", "gpt-5", "openai"},
        {"{base_url: http://localhost:9/v1}", "gpt-5", "openai"},
        {"{base_url: https://r.openai.azure.com/openai/v1}", "gpt-5", "openai"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "llm:\n  providers: {openai: %s}\n  models: {m: {provider: openai, model: %s}}\n",
                 rows[i].provider, rows[i].model);
        room_write(room, USER_FILE, text);
        load_ok(room);
        if (!str_is(only_model(room)->api, rows[i].api))
            fail_msg("%s with %s is asked over %.*s", rows[i].model, rows[i].provider,
                     STR_FMT(only_model(room)->api));
    }
}

static void windows_are_known_on_vendors_own_servers_alone(void **state)
{
    static const struct {
        const char *url, *model;
        int64_t window;
    } rows[] = {
        {"https://api.openai.com/v1", "gpt-4o-2024-08-06", 128000},
        {"https://api.openai.com/v1", "gpt-4", 8192},
        {"https://api.anthropic.com/v1", "claude-opus-4-6", 1000000},
        {"https://api.anthropic.com/v1", "claude-opus-4-1-20250805", 200000},
        {"https://openrouter.ai/api/v1", "anthropic/claude-sonnet-4.5", 200000},
        {"https://openrouter.ai/api/v1", "z-ai/glm-4.6", 200000},
        {"https://generativelanguage.googleapis.com/v1beta/openai", "models/gemini-2.5-pro",
         1048576},
        {"https://API.groq.com/openai/v1", "llama-3.3-70b-versatile", 131072},
        {"https://api.mistral.ai/v1", "mistral-large-latest", 131072},
        {"https://api.x.ai/v1", "grok-4", 256000},
        {"https://r.openai.azure.com/openai/v1?api-version=preview", "gpt-5-mini", 400000},
        {"https://api.openai.com/v1", "gpt-4omega", 0},
        {"https://api.openai.com/v1", "my-own", 0},
        {"http://localhost:8080/v1", "gpt-5", 0},
        {"https://openai.azure.com.example.org/v1", "gpt-5", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct known_model *known =
            known_model_find(str_from(rows[i].url), str_from(rows[i].model));
        if ((known ? known->window : 0) != rows[i].window)
            fail_msg("%s at %s: %lld", rows[i].model, rows[i].url,
                     known ? (long long)known->window : 0);
    }
}

/* A price that holds for short requests alone bounds the window; reasoning has room in the output limit. */
static void limits_of_a_model_that_nobody_described(void **state)
{
    struct room *room = *state;
    room_set(room, "OPENAI_API_KEY", "k");
    room->flags.model = STR("gpt-5.4");
    load_ok(room);
    assert_int_equal(only_model(room)->max_context_tokens, 272000);
    assert_int_equal(only_model(room)->max_tokens, 16384);
    assert_int_equal(only_model(room)->effort_tokens, 32768);
    check_str(str_from(config_window_text(&room->config, only_model(room))), "built-in, 2026-11");
    room->flags.model = STR("gpt-4o");
    load_ok(room);
    assert_int_equal(only_model(room)->max_tokens, 8192);
    assert_int_equal(only_model(room)->effort_tokens, 0);
    room->flags.base_url = STR("http://localhost:9/v1");
    load_ok(room);
    assert_true(config_window_missing(&room->config, 0));
    assert_int_equal(only_model(room)->max_context_tokens, 100000);
    config_window_learn(&room->config, 0, 8192);
    assert_false(config_window_missing(&room->config, 0));
    assert_int_equal(only_model(room)->max_context_tokens, 8192);
    assert_int_equal(only_model(room)->max_tokens, 4096);
    check_str(str_from(config_window_text(&room->config, only_model(room))), "the server");
}

static const char gateway[] =
    "llm:\n"
    "  providers:\n"
    "    gate:\n"
    "      base_url: https://gate.example/openai/?api-version=2026-01-01&x=1\n"
    "      headers: {HTTP-Referer: https://example.org, X-Key: \"Bearer ${GATE_KEY} $$5\", X-N: "
    "7}\n"
    "      extra_body: {provider: {order: [a, b]}, top_k: 40, seed: null, on: true}\n"
    "      api_key_cmd: [pass, show, gate key, gate key]\n"
    "      api_key_ttl_ms: 90s\n"
    "  models:\n"
    "    m: {provider: gate, extra_body: {top_k: 1, min_p: 0.1}}\n"
    "    n: {provider: gate}\n"
    "  pools: {default: [{model: m}]}\n";

static void a_gateway_has_headers_bodies_and_a_key_helper(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE, gateway);
    load_ok(room);
    const struct provider_bounds *gate = &room->config.providers[0];
    check_str(gate->base_url, "https://gate.example/openai?api-version=2026-01-01&x=1");
    check_str(room->config.settings.models[0].base_url, gate->base_url.p);
    assert_int_equal(gate->header_count, 3);
    check_str(gate->headers[1].name, "X-Key");
    check_str(gate->headers[2].value, "7");
    check_str(gate->extra_body,
              "{\"provider\":{\"order\":[\"a\",\"b\"]},\"top_k\":40,\"seed\":null,\"on\":true}");
    assert_int_equal(room->config.extra_count, 1);
    check_str(room->config.extras[0].name, "m");
    check_str(room->config.extras[0].extra_body,
              "{\"provider\":{\"order\":[\"a\",\"b\"]},\"seed\":null,\"on\":true,"
              "\"top_k\":1,\"min_p\":0.1}");
    assert_int_equal(gate->api_key_cmd.n, 4);
    check_str(gate->api_key_cmd.items[0], "pass"); /* of PATH */
    check_str(gate->api_key_cmd.items[3], "gate key");
    assert_int_equal(gate->api_key_ttl_ms, 90000);
    assert_int_equal(room->config.settings.models[0].api_key_env.n, 0);
}

static const char *from_room(void *user, const char *name)
{
    return strcmp(name, "GATE_KEY") == 0 ? user : NULL;
}

static void headers_get_their_variables_when_a_request_is_made(void **state)
{
    struct room *room = *state;
    struct config_environment environment = {.get = from_room, .user = "k1"};
    struct err err = ERR_INIT;
    struct buf out;
    room_write(room, USER_FILE, gateway);
    load_ok(room);
    buf_init(&out, 4096);
    assert_int_equal(
        config_header_expand(&room->config.providers[0].headers[1], &environment, &out, &err), 0);
    check_str(buf_view(&out), "Bearer k1 $5");
    environment.user = "a\r\nX-Evil: 1";
    assert_int_equal(
        config_header_expand(&room->config.providers[0].headers[1], &environment, &out, &err), -1);
    assert_non_null(strstr(err.message, "control character"));
    environment.user = NULL;
    assert_int_equal(
        config_header_expand(&room->config.providers[0].headers[1], &environment, &out, &err), -1);
    assert_non_null(strstr(err.message, "X-Key needs the environment variable GATE_KEY"));
    buf_release(&out);
}

static void what_stands_in_headers_is_never_shown(void **state)
{
    struct room *room = *state;
    struct buf text;
    room_write(room, USER_FILE, gateway);
    load_ok(room);
    buf_init(&text, 1 << 20);
    config_describe(&room->config, &text);
    buf_char(&text, '\0');
    assert_non_null(strstr(
        text.p, "headers: {HTTP-Referer: \u2026, X-Key: Bearer ${GATE_KEY} $$5, X-N: \u2026}"));
    assert_null(strstr(text.p, "example.org"));
    assert_non_null(strstr(text.p, "key from a program"));
    buf_release(&text);
}

#define ROOM(test) cmocka_unit_test_setup_teardown(test, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM(every_preset_serves_a_model_by_its_name_alone),
        ROOM(a_key_alone_selects_its_vendor_in_the_documented_order),
        ROOM(an_entry_with_a_presets_name_takes_what_it_does_not_set),
        ROOM(the_provider_flag_names_a_server),
        ROOM(reasoning_models_of_openais_own_server_use_responses),
        ROOM(windows_are_known_on_vendors_own_servers_alone),
        ROOM(limits_of_a_model_that_nobody_described),
        ROOM(a_gateway_has_headers_bodies_and_a_key_helper),
        ROOM(headers_get_their_variables_when_a_request_is_made),
        ROOM(what_stands_in_headers_is_never_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
