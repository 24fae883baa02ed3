/* net/http_explain: which URLs are taken, what of them is shown, and the words for failures. */
#include "net/http_explain.h"

#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "net/http.h"

static void check_shown(const char *text, const char *shown)
{
    struct http_url url = {0};
    struct err err = ERR_INIT;
    assert_int_equal(http_url_parse(str_from(text), &url, &err), 0);
    assert_string_equal(url.shown, shown);
}

static void a_url_is_shown_without_query_and_fragment(void **state)
{
    check_shown("https://host:8443/v1/chat?key=secret#secret", "https://host:8443/v1/chat");
    check_shown("HTTP://Host/a", "http://Host/a");
}

static void a_long_url_is_cut(void **state)
{
    char text[1000];
    struct http_url url;
    struct err err = ERR_INIT;
    memset(text, 'a', sizeof text);
    memcpy(text, "http://h/", 9);
    assert_int_equal(http_url_parse((struct str){text, sizeof text}, &url, &err), 0);
    assert_int_equal(strlen(url.shown), sizeof url.shown - 1);
}

static void loopback_addresses_are_known(void **state)
{
    static const struct {
        const char *url;
        bool loopback;
    } cases[] = {
        {"http://localhost/", true},
        {"http://LOCALHOST:1/", true},
        {"http://a.localhost/", true},
        {"http://127.0.0.1:8080/", true},
        {"http://127.9.8.7/", true},
        {"http://[::1]:80/", true},
        {"http://128.0.0.1/", false},
        {"http://127.0.0.1.example.com/", false},
        {"http://localhost.example/", false},
        {"http://notlocalhost/", false},
        {"http://[::2]/", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_url url = {0};
        struct err err = ERR_INIT;
        assert_int_equal(http_url_parse(str_from(cases[i].url), &url, &err), 0);
        if (url.loopback != cases[i].loopback)
            fail_msg("%s", cases[i].url);
    }
}

static void check_refused(struct str text, const char *message)
{
    struct http_url url;
    struct err err = ERR_INIT;
    assert_int_equal(http_url_parse(text, &url, &err), -1);
    assert_int_equal(err.class, ERR_CONFIG);
    if (!strstr(err.message, message) || strstr(err.message, "secret"))
        fail_msg("\"%s\" does not say \"%s\"", err.message, message);
}

static void urls_that_are_none_are_refused(void **state)
{
    static char long_url[HTTP_URL_MAX + 1];
    memset(long_url, 'a', sizeof long_url);
    memcpy(long_url, "http://h/", 9);
    check_refused(STR(""), "is empty");
    check_refused(STR("http://"), "is not a URL");
    check_refused(STR("secret"), "is not a URL");
    check_refused(STR("ftp://host/secret"), "must start with http");
    check_refused(STR("file:///etc/passwd"), "");
    check_refused(STR("http://user:secret@host/"), "user name or password");
    check_refused(STR("http://host/a b"), "space");
    check_refused(STR("http://host/\r\nX: secret"), "control character");
    check_refused(STR("http://host/\0secret"), "control character");
    check_refused((struct str){long_url, sizeof long_url}, "longer than 8 KB");
}

static void check_explained(CURLcode code, int os_errno, enum err_class class, const char *message)
{
    struct err err = ERR_INIT;
    http_explain(code, "http://h/v1", "curl\033[1m says", os_errno, &err);
    assert_int_equal(err.class, class);
    assert_string_equal(err.message, message);
}

static void failures_are_explained_in_words(void **state)
{
    check_explained(CURLE_COULDNT_CONNECT, ECONNREFUSED, ERR_RETRY,
                    "no server answers at http://h/v1: is it running?");
    check_explained(CURLE_COULDNT_CONNECT, ENETUNREACH, ERR_RETRY,
                    "no connection to http://h/v1: Network is unreachable");
    check_explained(CURLE_COULDNT_RESOLVE_HOST, 0, ERR_RETRY,
                    "the host name of http://h/v1 cannot be resolved: check the base URL and the "
                    "network");
    check_explained(
        CURLE_PEER_FAILED_VERIFICATION, 0, ERR_PROVIDER,
        "the TLS certificate of http://h/v1 is not trusted (wrong host name, expired, or "
        "from an unknown authority): fix the certificate, add its authority to the system's, or "
        "name the authority's file in SSL_CERT_FILE (curl says)");
    check_explained(CURLE_READ_ERROR, 0, ERR_RETRY, "the request to http://h/v1 failed: curl says");
}

static void check_proxy(const char *name, const char *value, const char *url, const char *message)
{
    struct err err = ERR_INIT;
    static const char *const names[] = {"http_proxy", "https_proxy", "HTTPS_PROXY",
                                        "all_proxy",  "ALL_PROXY",   "no_proxy"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
    setenv("no_proxy", "example.org, .internal", 1);
    setenv(name, value, 1);
    bool told = http_explain_proxy(CURLE_COULDNT_CONNECT, url, "", ECONNREFUSED, &err);
    assert_int_equal(told, message != NULL);
    if (message)
        assert_string_equal(err.message, message);
    unsetenv(name);
    unsetenv("no_proxy");
}

static void a_proxy_that_is_down_is_named_without_its_password(void **state)
{
    check_proxy("https_proxy", "http://user:secret@proxy.corp:3128", "https://h/v1",
                "the proxy http://proxy.corp:3128 (from https_proxy) on the way to https://h/v1 "
                "does not answer: Connection refused. Correct https_proxy, or name the server in "
                "no_proxy");
    check_proxy("all_proxy", "socks5://10.0.0.1", "http://h/v1",
                "the proxy socks5://10.0.0.1:1080 (from all_proxy) on the way to http://h/v1 does "
                "not answer: Connection refused. Correct all_proxy, or name the server in "
                "no_proxy");
    check_proxy("http_proxy", "proxy:8080", "https://h/v1", NULL); /* of the other scheme */
    check_proxy("http_proxy", "proxy:8080", "http://a.internal:80/v1", NULL);
    check_proxy("http_proxy", "proxy:8080", "http://EXAMPLE.org/v1", NULL);
}

static void a_redirect_shows_its_target_without_secrets(void **state)
{
    struct err err = ERR_INIT;
    http_explain_redirect(302, "http://h/v1", "https://other/x?token=secret", &err);
    assert_int_equal(err.class, ERR_PROVIDER);
    assert_non_null(strstr(err.message, "redirects to https://other/x (HTTP 302)"));
    assert_null(strstr(err.message, "secret"));
    http_explain_redirect(302, "http://h/v1", "http://u:secret@other/", &err);
    assert_non_null(strstr(err.message, "redirects elsewhere (HTTP 302)"));
    http_explain_redirect(302, "http://h/v1", NULL, &err);
    assert_non_null(strstr(err.message, "redirects elsewhere (HTTP 302)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_url_is_shown_without_query_and_fragment),
        cmocka_unit_test(a_long_url_is_cut),
        cmocka_unit_test(loopback_addresses_are_known),
        cmocka_unit_test(urls_that_are_none_are_refused),
        cmocka_unit_test(failures_are_explained_in_words),
        cmocka_unit_test(a_proxy_that_is_down_is_named_without_its_password),
        cmocka_unit_test(a_redirect_shows_its_target_without_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
