/* model/key_helper: what a helper may print, and what is said of one that fails. */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "model/key_helper.h"
#include "os/clock.h"

#define NOW INT64_C(1700000000000)

static int run(const char *script, char key[64], int64_t *ttl_ms, struct err *err)
{
    struct str argv[] = {STR("sh"), STR("-c"), str_from(script)};
    const struct key_helper helper = {
        .provider = STR("p"), .argv = argv, .argc = 3, .ttl_ms = 5000};
    struct buf made;
    *err = ERR_INIT;
    buf_init(&made, KEY_MAX);
    int result = key_helper_run(&helper, NULL, &made, ttl_ms, err);
    snprintf(key, 64, "%.*s", STR_FMT(buf_view(&made)));
    buf_release(&made);
    return result;
}

static void a_line_is_the_key_without_the_white_space_around_it(void **state)
{
    struct err err;
    char key[64];
    int64_t ttl_ms;
    assert_int_equal(run("printf ' sk-1\\r\\n\\n'", key, &ttl_ms, &err), 0);
    assert_string_equal(key, "sk-1");
    assert_int_equal(ttl_ms, 5000);
}

static void json_may_say_when_the_key_ends(void **state)
{
    static const struct {
        const char *text;
        int64_t ttl_ms;
    } rows[] = {
        {"{\"token\":\"t\"}", 5000},
        {"{\"token\":\"t\",\"expires_at\":null}", 5000},
        {"{\"token\":\"t\",\"expires_at\":1700000100}", 70000},
        {"{\"token\":\"t\",\"expires_at\":1700000100.5}", 70500},
        {"{\"token\":\"t\",\"expires_at\":\"2023-11-14T22:15:00Z\",\"other\":1}", 70000},
        {"{\"token\":\"t\",\"expires_at\":\"2023-11-14T22:15:00.123+00:00\"}", 70000},
        {"{\"token\":\"t\",\"expires_at\":1700000010}", 0}, /* within the margin: for one request */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err = ERR_INIT;
        struct buf key;
        int64_t ttl_ms = 5000;
        buf_init(&key, KEY_MAX);
        if (key_helper_read(str_from(rows[i].text), NOW, &key, &ttl_ms, &err) != 0)
            fail_msg("%s: %s", rows[i].text, err.message);
        check_str(buf_view(&key), "t");
        assert_int_equal(ttl_ms, rows[i].ttl_ms);
        buf_release(&key);
    }
}

static void garbage_is_refused_and_never_repeated(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "printed nothing"},
        {" \n", "printed nothing"},
        {"two words", "printed 9 bytes that are not a key"},
        {"one\ntwo", "not a key"},
        {"sk-\x01", "not a key"},
        {"sk-\xc3\xa4", "not a key"},
        {"{\"token\":", "without a usable \"token\""},
        {"{\"token\":\"\"}", "without a usable \"token\""},
        {"{\"token\":\"a b\"}", "without a usable \"token\""},
        {"{\"key\":\"sk-1\"}", "without a usable \"token\""},
        {"{\"token\":\"t\",\"expires_at\":\"tomorrow\"}", "neither seconds since 1970 nor a time"},
        {"{\"token\":\"t\",\"expires_at\":-1}", "neither seconds since 1970 nor a time"},
        {"{\"token\":\"t\",\"expires_at\":1699999999}", "has expired already"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err = ERR_INIT;
        struct buf key;
        int64_t ttl_ms = 5000;
        buf_init(&key, KEY_MAX);
        assert_int_equal(key_helper_read(str_from(rows[i].text), NOW, &key, &ttl_ms, &err), -1);
        if (strstr(err.message, rows[i].says) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", err.message, rows[i].says);
        assert_int_equal(key.n, 0);
        assert_null(strstr(err.message, "sk-"));
        buf_release(&key);
    }
}

static void a_program_that_fails_is_named_with_what_it_said(void **state)
{
    struct err err;
    char key[64];
    int64_t ttl_ms;
    assert_int_equal(run("echo sk-1; echo 'not logged in' >&2; exit 3", key, &ttl_ms, &err), -1);
    assert_string_equal(err.message, "llm.providers.p.api_key_cmd: the program sh: failed with "
                                     "exit status 3: not logged in");
    assert_int_equal(err.class, ERR_CONFIG);
    assert_int_equal(run("kill -9 $$", key, &ttl_ms, &err), -1);
    assert_non_null(strstr(err.message, "was killed by signal 9"));
    assert_int_equal(run("head -c 20000 /dev/zero | tr '\\0' a", key, &ttl_ms, &err), -1);
    assert_non_null(strstr(err.message, "printed more than 16384 bytes"));
    struct str nobody[] = {STR("no-such-helper-here")};
    const struct key_helper helper = {.provider = STR("p"), .argv = nobody, .argc = 1, .ttl_ms = 1};
    struct buf made;
    buf_init(&made, KEY_MAX);
    assert_int_equal(key_helper_run(&helper, NULL, &made, &ttl_ms, &err), -1);
    assert_non_null(strstr(err.message, "no-such-helper-here: is not in PATH"));
    buf_release(&made);
}

static void one_that_is_cancelled_dies_at_once(void **state)
{
    struct str argv[] = {STR("sleep"), STR("60")};
    const struct key_helper helper = {.provider = STR("p"), .argv = argv, .argc = 2, .ttl_ms = 1};
    atomic_bool cancelled = true;
    struct err err = ERR_INIT;
    struct buf made;
    int64_t ttl_ms, before = clock_monotonic_ms();
    buf_init(&made, KEY_MAX);
    assert_int_equal(key_helper_run(&helper, &cancelled, &made, &ttl_ms, &err), -1);
    assert_int_equal(err.class, ERR_CANCELLED);
    assert_true(clock_monotonic_ms() - before < KEY_HELPER_MS);
    buf_release(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_the_key_without_the_white_space_around_it),
        cmocka_unit_test(json_may_say_when_the_key_ends),
        cmocka_unit_test(garbage_is_refused_and_never_repeated),
        cmocka_unit_test(a_program_that_fails_is_named_with_what_it_said),
        cmocka_unit_test(one_that_is_cancelled_dies_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
