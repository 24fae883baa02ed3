/* base/hostrule and core/contract/network: names and what is not one, wildcards, and the order of what commands reach. */
#include "base/hostrule.h"
#include "check.h"
#include "core/contract/network.h"

static void an_address_is_not_a_name(void **state)
{
    static const char *const bad[] = {
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "017700000001",
        "127.1",
        "::1",
        "[::1]",
        "1.2.3.4.",
        "a.0x7f",
        "host.123",
        "0x",
        "",
        ".",
        "a..b",
        "a.b.",
        ".a",
        "-a.b",
        "a-.b",
        "a b",
        "a\tb",
        "A.example",
        "a/b",
        "a:80",
        "user@a",
        "ex\xc3\xa4mple.org",
        "a%2eb",
        "*",
        "*.a",
        "a*b.example",
    };
    static const char *const good[] = {
        "localhost",    "a",        "registry.example", "x-1.example",
        "_srv.example", "1.2.3.4a", "0x7f.example",     "xn--a-1fa.de"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (host_name_ok(str_from(bad[i])))
            fail_msg("\"%s\" is taken for a name", bad[i]);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!host_name_ok(str_from(good[i])))
            fail_msg("\"%s\" is a name", good[i]);
    assert_true(host_is_address(STR("0x7f000001")));
    assert_true(host_is_address(STR("fe80::1")));
    assert_true(host_is_address(STR("[::ffff:10.0.0.1]")));
    assert_false(host_is_address(STR("a.example")));
    assert_false(host_is_address(STR("https://a.example/")));
}

static void a_name_has_its_limits(void **state)
{
    char label[80], name[300], out[HOST_NAME_MAX_BYTES + 1];
    memset(label, 'a', sizeof label);
    assert_true(host_name_ok((struct str){label, 63}));
    assert_false(host_name_ok((struct str){label, 64}));
    for (size_t i = 0; i < sizeof name; i++)
        name[i] = i % 2 ? '.' : 'a';
    assert_true(host_name_ok((struct str){name, 253}));
    assert_false(host_name_ok((struct str){name, 255}));
    assert_true(host_name_fold(STR("Registry.EXAMPLE"), out));
    assert_string_equal(out, "registry.example");
    assert_false(host_name_fold((struct str){name, sizeof name}, out));
}

static void a_star_holds_what_is_beneath(void **state)
{
    assert_true(hostrule_holds(STR("*.example.org"), STR("a.example.org")));
    assert_true(hostrule_holds(STR("*.example.org"), STR("b.a.example.org")));
    assert_false(hostrule_holds(STR("*.example.org"), STR("example.org")));
    assert_false(hostrule_holds(STR("*.example.org"), STR("evilexample.org")));
    assert_false(hostrule_holds(STR("*.example.org"), STR("a.example.org.evil.com")));
    assert_true(hostrule_holds(STR("*"), STR("any.host")));
    assert_false(hostrule_holds(STR("*"), STR("10.0.0.1")));
    assert_false(hostrule_holds(STR("*"), STR("[::1]")));
    assert_false(hostrule_ok(STR("*.")));
    assert_false(hostrule_ok(STR("*example.org")));
    assert_false(hostrule_ok(STR("a.*.org")));
    assert_false(hostrule_ok(STR("*.0.0.1")));
    assert_true(hostrule_within(STR("*.a.example.org"), STR("*.example.org")));
    assert_false(hostrule_within(STR("*.example.org"), STR("*.a.example.org")));
    assert_false(hostrule_within(STR("*"), STR("*.org")));
}

static void a_text_of_names_is_in_normal_form(void **state)
{
    struct arena arena;
    arena_init(&arena);
    const struct str rules[] = {STR("z.test"), STR("*.a.test"), STR("b.a.test"), STR("z.test"),
                                STR("a.test")};
    check_str(network_of_names(&arena, rules, 5), "allow *.a.test a.test z.test");
    check_str(network_of_names(&arena, rules, 0), "none");
    enum network network = NETWORK_FULL;
    assert_true(network_parse(STR("allow *.a.test a.test"), &network));
    assert_int_equal(network, NETWORK_NAMES);
    static const char *const bad[] = {"allow",        "allow ",  "allow a.test ", "allow  a.test",
                                      "allow A.test", "Allow a", "all",           ""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (network_parse(str_from(bad[i]), &network))
            fail_msg("\"%s\" was read", bad[i]);
    arena_release(&arena);
}

static void what_both_allow_is_never_more_than_either(void **state)
{
    static const struct {
        const char *a, *b, *meet;
    } rows[] = {
        {"none", "full", "none"},
        {"relay", "full", "relay"},
        {"allow a.test", "full", "allow a.test"},
        {"allow a.test", "relay", "none"},
        {"allow a.test", "none", "none"},
        {"allow *.test", "allow a.test b.other", "allow a.test"},
        {"allow *.a.test x.test", "allow *.test", "allow *.a.test x.test"},
        {"allow a.test", "allow b.test", "none"},
        {"allow *", "allow *.test", "allow *.test"},
        {"everything", "full", "none"},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct str a = str_from(rows[i].a), b = str_from(rows[i].b);
        check_str(network_meet(&arena, a, b), rows[i].meet);
        check_str(network_meet(&arena, b, a), rows[i].meet);
    }
    assert_false(network_within(STR("relay"), STR("allow *")));
    assert_false(network_within(STR("allow a.test"), STR("relay")));
    assert_false(network_within(STR("everything"), STR("full")));
    assert_false(network_within(STR("none"), STR("everything")));
    assert_false(network_within(STR("full"), STR("allow *")));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_not_a_name),
        cmocka_unit_test(a_name_has_its_limits),
        cmocka_unit_test(a_star_holds_what_is_beneath),
        cmocka_unit_test(a_text_of_names_is_in_normal_form),
        cmocka_unit_test(what_both_allow_is_never_more_than_either),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
