/* config: which model is used, where it is served, with which key and at which price. */
#include "check.h"
#include "config_room.h"

static void base_url_and_model_define_a_server(void **state)
{
    struct room *room = *state;
    room->flags.base_url = STR("http://localhost:9/v1/");
    room->flags.model = STR("gpt-4.1-mini");
    load_ok(room);
    const struct model_settings *model =
        settings_model(&room->config.settings, STR("gpt-4.1-mini"));
    check_str(model->provider, "flags");
    check_str(model->base_url, "http://localhost:9/v1");
    assert_int_equal(model->api_key_env.n, 0);
    assert_int_equal(model->price_in_nano, UNLIMITED); /* not OpenAI's server, not OpenAI's price */
    assert_int_equal(room->config.settings.root.cost_nano, UNLIMITED);
    check_str(room->config.model_source, "flags");
    room_set(room, "OPENAI_API_KEY", "sk-secret");
    load_ok(room);
    check_str(room->config.settings.models[0].api_key_env, "OPENAI_API_KEY");
    room->flags.max_cost = STR("2");
    load_fails(room, ERR_USAGE, NULL, "--max-cost: a cost limit needs prices");
}

static void openai_key_alone_selects_a_priced_model(void **state)
{
    struct room *room = *state;
    room_set(room, "OPENAI_API_KEY", "sk-secret");
    room_set(room, "ANTHROPIC_API_KEY", "sk-ant");
    load_ok(room);
    const struct settings *settings = &room->config.settings;
    assert_int_equal(settings->model_count, 1);
    const struct model_settings *model = &settings->models[0];
    check_str(settings->default_model, "gpt-4.1-mini");
    check_str(model->base_url, "https://api.openai.com/v1");
    check_str(model->api_key_env, "OPENAI_API_KEY");
    assert_int_equal(model->price_in_nano, 400);
    assert_int_equal(model->price_out_nano, 1600);
    assert_int_equal(model->max_context_tokens, 1047576);
    assert_int_equal(model->max_tokens, 8192);
    assert_int_equal(settings->root.cost_nano, 1000000000);
    check_str(room->config.model_source, "OPENAI_API_KEY");
    room->flags.model = STR("gpt-other");
    load_ok(room);
    check_str(room->config.settings.default_model, "gpt-other");
    assert_int_equal(room->config.settings.root.cost_nano, UNLIMITED);
}

static void anthropic_key_alone_selects_a_priced_model(void **state)
{
    struct room *room = *state;
    room_set(room, "ANTHROPIC_API_KEY", "sk-ant");
    load_ok(room);
    const struct settings *settings = &room->config.settings;
    assert_int_equal(settings->model_count, 1);
    const struct model_settings *model = &settings->models[0];
    check_str(settings->default_model, "claude-sonnet-4-5");
    check_str(model->api, "anthropic");
    check_str(model->base_url, "https://api.anthropic.com/v1");
    check_str(model->api_key_env, "ANTHROPIC_API_KEY");
    assert_int_equal(model->price_in_nano, 3000);
    assert_int_equal(model->price_out_nano, 15000);
    assert_int_equal(model->max_context_tokens, 200000);
    assert_int_equal(model->max_tokens, 8192);
    assert_int_equal(settings->root.cost_nano, 1000000000);
    check_str(room->config.model_source, "ANTHROPIC_API_KEY");
}

static void with_both_keys_the_flag_or_the_models_name_chooses(void **state)
{
    struct room *room = *state;
    room_set(room, "OPENAI_API_KEY", "sk-secret");
    room_set(room, "ANTHROPIC_API_KEY", "sk-ant");
    room->flags.api = STR("anthropic");
    load_ok(room);
    check_str(room->config.settings.default_model, "claude-sonnet-4-5");
    room->flags.api = STR_NONE;
    room->flags.model = STR("claude-sonnet-4-5");
    load_ok(room);
    check_str(room->config.settings.models[0].api, "anthropic");
    room->flags.model = STR("unheard-of");
    load_ok(room);
    check_str(room->config.settings.models[0].api, "openai");
}

static void a_named_server_speaks_openai_unless_it_is_said(void **state)
{
    struct room *room = *state;
    room_set(room, "ANTHROPIC_API_KEY", "sk-ant");
    room->flags.base_url = STR("http://localhost:9/v1");
    room->flags.model = STR("claude-sonnet-4-5");
    load_ok(room);
    check_str(room->config.settings.models[0].api, "openai");
    assert_int_equal(room->config.settings.models[0].api_key_env.n, 0);
    room->flags.api = STR("anthropic");
    load_ok(room);
    check_str(room->config.settings.models[0].api, "anthropic");
    check_str(room->config.settings.models[0].api_key_env, "ANTHROPIC_API_KEY");
    assert_int_equal(room->config.settings.models[0].price_in_nano, UNLIMITED);
    room->flags.api = STR("gemini");
    load_fails(room, ERR_USAGE, NULL, "--api gemini: expected openai");
}

static void a_provider_has_the_address_and_the_key_of_its_api(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE,
               "llm: {providers: {c: {api: anthropic}}, models: {m: {provider: c}}}\n");
    load_ok(room);
    check_str(room->config.settings.models[0].api, "anthropic");
    check_str(room->config.settings.models[0].base_url, "https://api.anthropic.com/v1");
    check_str(room->config.settings.models[0].api_key_env, "ANTHROPIC_API_KEY");
}

static void a_provider_without_an_address_is_openai_with_its_key(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE, "llm: {providers: {o: {}}, models: {m: {provider: o}}}\n");
    load_ok(room);
    check_str(room->config.settings.models[0].base_url, "https://api.openai.com/v1");
    check_str(room->config.settings.models[0].api_key_env, "OPENAI_API_KEY");
}

static void the_model_flag_chooses_where_files_name_no_default(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE,
               "llm: {providers: {o: {}}, models: {m: {provider: o}, n: {provider: o}}}\n");
    room->flags.model = STR("n");
    load_ok(room);
    check_str(room->config.settings.default_model, "n");
    room->flags.model = STR_NONE;
    load_fails(room, ERR_CONFIG, USER_FILE, ":1:54: several models and no default");
}

static void a_cost_limit_needs_prices_only_of_allowed_models(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE,
               "llm:\n  providers: {o: {}}\n"
               "  models: {m: {provider: o, price_in: 1, price_out: 1}, n: {provider: o}}\n"
               "  pools: {default: [{model: m}]}\n  allowed_models: [m]\nbudget: {cost_usd: 3}\n");
    load_ok(room);
    assert_int_equal(room->config.settings.root.cost_nano, 3000000000);
    room_write(room, USER_FILE,
               "llm: {providers: {o: {}}, models: {n: {provider: o}}}\nbudget: {cost_usd: null}\n");
    load_ok(room);
    assert_int_equal(room->config.settings.root.cost_nano, UNLIMITED);
}

static void a_model_of_a_providers_own_server_has_its_built_in_price(void **state)
{
    struct room *room = *state;
    struct buf text;
    room_write(room, USER_FILE,
               "llm: {providers: {a: {api: anthropic}}, models: {m: {provider: a, model: "
               "claude-sonnet-4-5-20250929}}}\nbudget: {cost_usd: 3}\n");
    load_ok(room);
    const struct model_settings *model = &room->config.settings.models[0];
    assert_int_equal(model->price_in_nano, 3000);
    assert_int_equal(model->price_out_nano, 15000);
    assert_int_equal(model->price_cached_nano, 300);
    assert_int_equal(model->price_cache_write_nano, 3750);
    buf_init(&text, 65536);
    config_describe(&room->config, &text);
    assert_non_null(strstr(text.p, "price_cached: 0.30, price_cache_write: 3.75}"));
    assert_non_null(strstr(text.p, "prices built-in, 20"));
    buf_release(&text);
}

static void prices_of_the_file_replace_built_in_ones(void **state)
{
    struct room *room = *state;
    struct buf text;
    room_write(room, USER_FILE,
               "llm:\n  providers: {o: {}}\n  models:\n"
               "    gpt-4.1: {provider: o, price_in: 5, price_out: 6}\n"
               "    gpt-4o: {provider: o, price_cached: 0.1}\n"
               "  pools: {default: [{model: gpt-4.1}]}\n");
    load_ok(room);
    const struct model_settings *models = room->config.settings.models;
    assert_int_equal(models[0].price_in_nano, 5000);
    assert_int_equal(models[0].price_cached_nano, UNLIMITED); /* of another price list */
    assert_int_equal(models[1].price_in_nano, 2500);
    assert_int_equal(models[1].price_cached_nano, 100);
    buf_init(&text, 1024);
    config_price_origin(&models[0], &text);
    check_str(buf_view(&text), "config");
    buf_release(&text);
    room_write(room, USER_FILE,
               "llm: {providers: {o: {base_url: 'http://h/v1'}}, models: {m: {provider: o, "
               "price_cached: 1}}}\n");
    load_fails(room, ERR_CONFIG, USER_FILE, ":1:90: this needs price_in and price_out too");
}

static void a_provider_has_bounds_of_its_own(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE,
               "llm:\n  providers:\n    a: {max_concurrent: 3, first_byte_ms: 20m}\n"
               "    b: {base_url: 'http://h/v1/', idle_ms: 5s}\n"
               "  models: {m: {provider: a}}\n");
    load_ok(room);
    assert_int_equal(room->config.provider_count, 2);
    const struct provider_bounds *a = &room->config.providers[0], *b = &room->config.providers[1];
    check_str(a->base_url, "https://api.openai.com/v1");
    assert_int_equal(a->max_concurrent, 3);
    assert_int_equal(a->first_byte_ms, 1200000);
    assert_int_equal(a->total_ms, 1200000); /* never less than a part of it */
    check_str(b->base_url, "http://h/v1");
    assert_int_equal(b->max_concurrent, 10000);
    assert_int_equal(b->first_byte_ms, 300000);
    assert_int_equal(b->idle_ms, 5000);
    room_write(room, USER_FILE, "llm: {providers: {a: {first_byte_ms: 10m, total_ms: 5m}}}\n");
    load_fails(room, ERR_CONFIG, USER_FILE, ":1:53: expected at least first_byte_ms: 600000");
    room_write(room, USER_FILE, "llm: {providers: {a: {max_concurrent: 0}}}\n");
    load_fails(room, ERR_CONFIG, USER_FILE, ":1:39: expected a whole number from 1 to 10000");
}

static void an_api_alone_comes_before_files_and_needs_its_key(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE,
               "llm: {providers: {o: {}}, models: {m: {provider: o}, n: {provider: o}}}\n");
    room->flags.api = STR("anthropic");
    load_fails(room, ERR_USAGE, NULL, "--api anthropic alone needs the key in ANTHROPIC_API_KEY");
    room_set(room, "ANTHROPIC_API_KEY", "sk-ant");
    load_ok(room);
    check_str(room->config.settings.default_model, "claude-sonnet-4-5");
    check_str(room->config.model_source, "ANTHROPIC_API_KEY");
}

static void without_any_model_a_local_server_can_be_added(void **state)
{
    struct room *room = *state;
    load_ok(room);
    assert_int_equal(room->config.settings.model_count, 0);
    assert_int_equal(
        config_local_model(&room->config, STR("http://127.0.0.1:11434/v1"), STR("q"), &room->err),
        0);
    check_str(room->config.settings.default_model, "q");
    check_str(room->config.model_source, "a server on port 11434");
    assert_int_equal(room->config.settings.root.cost_nano, UNLIMITED);
    assert_int_equal(config_local_model(&room->config, STR("not a url"), STR("q"), &room->err), -1);
    room->flags.max_cost = STR("1");
    load_ok(room);
    assert_int_equal(
        config_local_model(&room->config, STR("http://[::1]:8080/v1"), STR("q"), &room->err), -1);
    check_str(room->config.model_source, "a server on port 8080");
    room->flags.max_cost = STR_NONE;
    load_ok(room);
    assert_int_equal(
        config_local_model(&room->config, STR("http://localhost/v1"), STR("q"), &room->err), 0);
    check_str(room->config.model_source, "a server on port 80");
}

#define ROOM(test) cmocka_unit_test_setup_teardown(test, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM(base_url_and_model_define_a_server),
        ROOM(openai_key_alone_selects_a_priced_model),
        ROOM(anthropic_key_alone_selects_a_priced_model),
        ROOM(with_both_keys_the_flag_or_the_models_name_chooses),
        ROOM(a_named_server_speaks_openai_unless_it_is_said),
        ROOM(a_provider_has_the_address_and_the_key_of_its_api),
        ROOM(a_provider_without_an_address_is_openai_with_its_key),
        ROOM(the_model_flag_chooses_where_files_name_no_default),
        ROOM(a_cost_limit_needs_prices_only_of_allowed_models),
        ROOM(a_model_of_a_providers_own_server_has_its_built_in_price),
        ROOM(prices_of_the_file_replace_built_in_ones),
        ROOM(a_provider_has_bounds_of_its_own),
        ROOM(an_api_alone_comes_before_files_and_needs_its_key),
        ROOM(without_any_model_a_local_server_can_be_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
