/* model/wishes: what a person is told of parameters that a server refused. */
#include "model/wishes.h"

#include "check.h"
#include "model/dialect.h"

static const struct model_server server = {STR("http://host/v1"), STR("the-key"), STR_NONE};

static void refuse(struct wishes *wishes, uint32_t params, const char *words)
{
    wishes_refuse(wishes, params, &server, (struct refusal){NULL, str_from(words)});
}

static void check_notice(const struct wishes *wishes, uint32_t params, const char *expected)
{
    struct arena arena;
    arena_init(&arena);
    check_str(wishes_notice(wishes, params, &arena), expected);
    arena_release(&arena);
}

#define NOTICE(who, name, words)                                                                   \
    who ": requests go without " name ", because the server refused it (" words                    \
        "); change or remove this setting"

static void a_notice_names_who_refused_what_and_in_which_words(void **state)
{
    struct wishes wishes;
    wishes_init(&wishes, &(struct model_request){.provider = STR("p"), .model = STR("m")});
    refuse(&wishes, SENDS_TEMPERATURE | SENDS_STRICT, "only 1");
    refuse(&wishes, SENDS_TEMPERATURE, "said again in other words");
    refuse(&wishes, SENDS_THINKING, "no thinking for the-key");
    check_notice(&wishes, SENDS_TEMPERATURE,
                 NOTICE("provider p, model m", "temperature", "only 1"));
    check_notice(&wishes, SENDS_TEMPERATURE | SENDS_EFFORT | SENDS_STRICT | SENDS_SEED,
                 NOTICE("provider p, model m", "temperature", "only 1") "\n" NOTICE(
                     "provider p, model m", "effort", "no thinking for ***"));
    check_notice(&wishes, SENDS_STRICT | SENDS_TOP_P, "");
    wishes_release(&wishes);
}

static void what_the_table_leaves_out_is_told_as_such(void **state)
{
    struct wishes wishes;
    wishes_init(&wishes, &(struct model_request){.provider = STR("p"), .model = STR("m")});
    refuse(&wishes, SENDS_TOP_P, "no");
    wishes_leave_out(&wishes, SENDS_TOP_P | SENDS_THINKING | SENDS_CACHE_KEY);
    check_notice(
        &wishes, SENDS_TOP_P | SENDS_EFFORT | SENDS_THINKING | SENDS_CACHE_KEY,
        NOTICE("provider p, model m", "top_p",
               "no") "\n"
                     "provider p, model m: requests go without effort, because this model does not "
                     "take it, as far as cadre knows; change or remove this setting");
    wishes_release(&wishes);
}

static void a_server_without_a_name_is_named_by_its_host_alone(void **state)
{
    struct wishes wishes;
    wishes_init(&wishes, &(struct model_request){.base_url = STR("http://user:secret@host:1/v1"),
                                                 .model = STR("a\nb\033[1m")});
    refuse(&wishes, SENDS_SEED, "no");
    struct arena arena;
    arena_init(&arena);
    struct str notice = wishes_notice(&wishes, SENDS_SEED, &arena);
    assert_true(str_starts(notice, STR("provider host:1, model a")));
    assert_null(memmem(notice.p, notice.n, "secret", 6));
    assert_null(memchr(notice.p, '\n', notice.n));
    assert_null(memchr(notice.p, '\033', notice.n));
    arena_release(&arena);
    wishes_release(&wishes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_notice_names_who_refused_what_and_in_which_words),
        cmocka_unit_test(what_the_table_leaves_out_is_told_as_such),
        cmocka_unit_test(a_server_without_a_name_is_named_by_its_host_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
