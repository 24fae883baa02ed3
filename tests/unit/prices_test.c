/* The built-in prices: what a name at an address costs, and what is not known. */
#include "config/prices.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"

static const char openai[] = "https://api.openai.com/v1";
static const char anthropic[] = "https://api.anthropic.com/v1";
static const char google[] = "https://generativelanguage.googleapis.com/v1beta/openai";

static const struct price *find(const char *url, const char *model, int64_t window)
{
    return price_find(str_from(url), str_from(model), window);
}

static void a_name_or_a_dated_name_is_found(void **state)
{
    static const char *const names[] = {"gpt-4.1-mini", "gpt-4.1-mini-2025-04-14",
                                        "gpt-4.1-mini-latest", "gpt-4.1-mini-preview",
                                        "gpt-4.1-mini-preview-09-2025"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct price *price = find(openai, names[i], 100000);
        assert_non_null(price);
        assert_int_equal(price->in, 400);
        assert_int_equal(price->cached, 100);
        assert_int_equal(price->cache_write, -1);
        assert_int_equal(price->out, 1600);
    }
    assert_int_equal(find(anthropic, "claude-sonnet-4-5-20250929", 200000)->cache_write, 3750);
}

static void another_model_with_the_same_start_is_not_known(void **state)
{
    static const char *const names[] = {"gpt-4o-audio",
                                        "gpt-4o-",
                                        "gpt-4o--2024",
                                        "gpt-4o-20",
                                        "gpt-4ox",
                                        "gpt-4",
                                        "",
                                        "GPT-4O",
                                        "gpt-4o-2024-x",
                                        "gpt-4o2024",
                                        "gpt-4o-preview-",
                                        "gpt-4o-preview2024"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_null(find(openai, names[i], 1000));
    /* A version is not a date. */
    assert_null(find(anthropic, "claude-opus-4-99", 1000));
    assert_null(price_find(str_from(openai), STR_NONE, 0));
}

static void the_longest_name_wins(void **state)
{
    assert_int_equal(find(openai, "gpt-4o-2024-05-13", 1000)->in, 5000);
    assert_int_equal(find(openai, "gpt-4o-2024-08-06", 1000)->in, 2500);
    assert_int_equal(find(openai, "gpt-5.6-luna", 1000)->in, 200);
    assert_int_equal(find(anthropic, "claude-opus-4-5", 1000)->in, 5000);
    assert_int_equal(find(anthropic, "claude-opus-4-20250514", 1000)->in, 15000);
}

static void a_window_past_a_tier_gets_the_dearer_price(void **state)
{
    assert_int_equal(find(google, "gemini-2.5-pro", 200000)->in, 1250);
    assert_int_equal(find(google, "gemini-2.5-pro", 200001)->in, 2500);
    assert_int_equal(find(google, "models/gemini-2.5-pro", 1000)->in, 1250);
    assert_int_equal(find(anthropic, "claude-haiku-5-5", INT64_MAX)->out, 2500);
}

static void a_price_belongs_to_its_server(void **state)
{
    static const char *const urls[] = {"http://api.openai.com/v1",
                                       "https://api.openai.com.evil.example/v1",
                                       "https://evil.example/api.openai.com/v1",
                                       "https://api.openai.com:8443/v1",
                                       "http://127.0.0.1:8080/v1",
                                       "https://",
                                       ""};
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++)
        assert_null(find(urls[i], "gpt-4.1-mini", 1000));
    assert_null(find(anthropic, "gpt-4.1-mini", 1000));
    assert_non_null(find("https://API.OpenAI.com", "gpt-4.1-mini", 1000));
}

static void every_row_is_sound_and_can_be_found(void **state)
{
    for (size_t i = 0; i < price_count; i++) {
        const struct price *row = &prices[i];
        int year = 0, month = 0;
        char url[128];
        snprintf(url, sizeof url, "https://%s/v1", row->host);
        assert_true(row->in > 0 && row->out >= row->in && row->window > 0);
        assert_true(row->cached == -1 || (row->cached > 0 && row->cached <= row->in));
        assert_true(row->cache_write == -1 || row->cache_write >= row->in);
        assert_int_equal(sscanf(row->as_of, "%4d-%2d", &year, &month), 2);
        assert_true(strlen(row->as_of) == 7 && year >= 2025 && month >= 1 && month <= 12);
        assert_ptr_equal(find(url, row->model, row->window), row);
        assert_non_null(find(url, row->model, INT64_MAX)); /* the last tier has no end */
    }
}

/* Whatever the window, a larger one never costs less. */
static void a_larger_window_is_never_cheaper(void **state)
{
    for (size_t i = 0; i < price_count; i++) {
        char url[128];
        snprintf(url, sizeof url, "https://%s/v1", prices[i].host);
        const struct price *small = find(url, prices[i].model, 1);
        const struct price *large = find(url, prices[i].model, INT64_MAX);
        assert_true(large->in >= small->in && large->out >= small->out);
        assert_true(large->cached >= small->cached && large->cache_write >= small->cache_write);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_or_a_dated_name_is_found),
        cmocka_unit_test(another_model_with_the_same_start_is_not_known),
        cmocka_unit_test(the_longest_name_wins),
        cmocka_unit_test(a_window_past_a_tier_gets_the_dearer_price),
        cmocka_unit_test(a_price_belongs_to_its_server),
        cmocka_unit_test(every_row_is_sound_and_can_be_found),
        cmocka_unit_test(a_larger_window_is_never_cheaper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
