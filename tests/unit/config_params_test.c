/* config: effort and sampling, of the run, of models, roles and profiles, and the flag that puts an effort over all models. */
#include <math.h>

#include "check.h"
#include "config_room.h"

static const char file[] =
    "llm:\n"
    "  effort: medium\n"
    "  temperature: 0.7\n"
    "  providers: {p: {base_url: http://localhost:9/v1}}\n"
    "  models:\n"
    "    a: {provider: p, effort: low, top_p: 0.95, seed: 7, stop: [END, \"\\n\"]}\n"
    "    b: {provider: p}\n"
    "  pools: {default: [{model: a}]}\n"
    "roles:\n"
    "  reviewer: {effort: high, temperature: 0}\n"
    "tools:\n"
    "  spawn:\n"
    "    profiles:\n"
    "      fast: {effort: minimal}\n";

static void each_place_sets_its_own(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE, file);
    load_ok(room);
    const struct settings *settings = &room->config.settings;
    check_str(settings->params.effort, "medium");
    assert_true(settings->params.temperature == 0.7);
    const struct model_params *a = settings_model(settings, STR("a"))->params;
    check_str(a->effort, "low");
    assert_true(a->top_p == 0.95);
    assert_true(isnan(a->temperature));
    assert_int_equal(a->seed, 7);
    assert_int_equal(a->stop.n, 2);
    check_str(a->stop.items[1], "\n");
    assert_null(settings_model(settings, STR("b"))->params);
    const struct model_params *reviewer = settings_role_params(settings, STR("reviewer"));
    check_str(reviewer->effort, "high");
    assert_true(reviewer->temperature == 0);
    assert_null(settings_role_params(settings, STR("tester")));
    check_str(settings_profile(settings, STR("fast"))->params->effort, "minimal");
}

static void the_flag_replaces_the_efforts_of_the_run_and_of_models(void **state)
{
    struct room *room = *state;
    room_write(room, USER_FILE, file);
    room->flags.effort = STR("max");
    load_ok(room);
    const struct settings *settings = &room->config.settings;
    check_str(settings->params.effort, "max");
    assert_null(settings_model(settings, STR("a"))->params->effort.p);
    assert_int_equal(settings_model(settings, STR("a"))->params->seed, 7);
    check_str(settings_role_params(settings, STR("reviewer"))->effort, "high");
    room->flags.effort = STR("enormous");
    load_fails(room, ERR_USAGE, NULL,
               "--effort: expected none, minimal, low, medium, high, xhigh or max");
}

static void wrong_values_are_refused_with_their_place(void **state)
{
    struct room *room = *state;
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"llm: {effort: enormous}\n", ":1:15: expected none, minimal, low, medium"},
        {"llm: {temperature: 2.5}\n", ":1:20: expected a number from 0 to 2"},
        {"llm: {temperature: -1}\n", ":1:20: expected a number from 0 to 2"},
        {"llm: {temperature: hot}\n", ":1:20: expected a number from 0 to 2"},
        {"llm: {top_p: 1.01}\n", ":1:14: expected a number from 0 to 1"},
        {"llm: {stop: END}\n", ":1:13: expected a list of at most 4 texts"},
        {"llm: {stop: [a, b, c, d, e]}\n", ":1:13: expected at most 4 texts"},
        {"llm: {stop: [\"\"]}\n", ":1:14: expected a text"},
        {"llm: {seed: -1}\n", ":1:13: expected a whole number from 0 to"},
        {"roles: {pilot: {effort: low}}\n", ":1:9: expected a role"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        room_write(room, USER_FILE, rows[i].text);
        load_fails(room, ERR_CONFIG, USER_FILE, rows[i].says);
    }
}

static void describe_shows_them_with_their_origin(void **state)
{
    struct room *room = *state;
    struct buf text;
    room_write(room, USER_FILE, file);
    load_ok(room);
    buf_init(&text, 1 << 20);
    config_describe(&room->config, &text);
    buf_char(&text, '\0');
    assert_non_null(strstr(text.p, "llm.effort: medium"));
    assert_non_null(strstr(text.p, "llm.temperature: 0.7"));
    assert_non_null(strstr(text.p, "llm.models.a.stop: [\"END\",\"\\n\"]"));
    assert_non_null(strstr(text.p, "cadre.yaml:6:30"));
    buf_release(&text);
}

#define ROOM(test) cmocka_unit_test_setup_teardown(test, room_setup, room_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOM(each_place_sets_its_own),
        ROOM(the_flag_replaces_the_efforts_of_the_run_and_of_models),
        ROOM(wrong_values_are_refused_with_their_place),
        ROOM(describe_shows_them_with_their_origin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
