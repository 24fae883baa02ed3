/* Explains transport failures: one table from libcurl's codes to a class and a sentence. Decides
 * nothing about retries beyond the class. Runs on the loop thread. */
#include "net/http_explain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/utf8.h"
#include "net/http.h"

static bool is_loopback(const char *host)
{
    struct str name = str_from(host);
    struct str tail = STR(".localhost");
    unsigned a, b, c, d;
    char after;
    if (curl_strequal(host, "localhost") || curl_strequal(host, "[::1]"))
        return true;
    if (name.n > tail.n && curl_strequal(host + name.n - tail.n, tail.p))
        return true;
    return sscanf(host, "%3u.%3u.%3u.%3u%c", &a, &b, &c, &d, &after) == 4 && a == 127 && b < 256 &&
           c < 256 && d < 256;
}

/* Copies text as one clean line into out, cut where it does not fit. */
static void show(struct str text, char *out, size_t size)
{
    struct buf clean;
    buf_init(&clean, HTTP_URL_MAX * 4);
    utf8_clean(&clean, text, UTF8_ONE_LINE);
    struct str cut = utf8_cut(buf_view(&clean), size - 1);
    if (cut.n > 0)
        memcpy(out, cut.p, cut.n);
    out[cut.n] = '\0';
    buf_release(&clean);
}

static int url_refused(struct err *err, const char *why)
{
    return err_set(err, ERR_CONFIG, "the server's URL %s", why);
}

/* Everything but what may be secret: user, password, query and fragment are left out. */
static int url_show(CURLU *parsed, struct http_url *url, struct err *err)
{
    static const CURLUPart hidden[] = {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS,
                                       CURLUPART_QUERY, CURLUPART_FRAGMENT};
    char *whole = NULL;
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        if (curl_url_set(parsed, hidden[i], NULL, 0) != CURLUE_OK)
            return url_refused(err, "cannot be read");
    if (curl_url_get(parsed, CURLUPART_URL, &whole, 0) != CURLUE_OK)
        return url_refused(err, "cannot be read");
    show(str_from(whole), url->shown, sizeof url->shown);
    curl_free(whole);
    return 0;
}

int http_url_parse(struct str text, struct http_url *url, struct err *err)
{
    int result = -1;
    char copy[HTTP_URL_MAX + 1];
    char *scheme = NULL, *host = NULL, *user = NULL, *password = NULL;
    if (text.n == 0 || text.n > HTTP_URL_MAX)
        return url_refused(err, text.n == 0 ? "is empty" : "is longer than 8 KB");
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] <= ' ' || text.p[i] == 0x7F)
            return url_refused(err, "holds a space or a control character");
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';

    CURLU *parsed = curl_url();
    if (!parsed)
        return err_set(err, ERR_BUG, "out of memory");
    if (curl_url_set(parsed, CURLUPART_URL, copy, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK ||
        curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
        curl_url_get(parsed, CURLUPART_HOST, &host, 0) != CURLUE_OK || host[0] == '\0') {
        url_refused(err, "is not a URL: expected something like http://127.0.0.1:8080/v1");
        goto out;
    }
    if (!curl_strequal(scheme, "http") && !curl_strequal(scheme, "https")) {
        url_refused(err, "must start with http:// or https://");
        goto out;
    }
    if (curl_url_get(parsed, CURLUPART_USER, &user, 0) == CURLUE_OK ||
        curl_url_get(parsed, CURLUPART_PASSWORD, &password, 0) == CURLUE_OK) {
        url_refused(err, "holds a user name or password: put the key into the environment instead");
        goto out;
    }
    url->loopback = is_loopback(host);
    result = url_show(parsed, url, err);
out:
    curl_free(scheme);
    curl_free(host);
    curl_free(user);
    curl_free(password);
    curl_url_cleanup(parsed);
    return result;
}

/* The sentence is `before`, the URL, `after`; the detail of libcurl or the system is added where it
 * helps. */
enum detail { DETAIL_NONE, DETAIL_CURL, DETAIL_SYSTEM };

static const struct explanation {
    CURLcode code;
    enum err_class class;
    enum detail detail;
    const char *before, *after;
} explanations[] = {
    {CURLE_COULDNT_RESOLVE_HOST, ERR_RETRY, DETAIL_NONE, "the host name of ",
     " cannot be resolved: check the base URL and the network"},
    {CURLE_COULDNT_RESOLVE_PROXY, ERR_RETRY, DETAIL_NONE, "the proxy on the way to ",
     " cannot be resolved: check http_proxy and https_proxy"},
    {CURLE_PROXY, ERR_RETRY, DETAIL_CURL, "the proxy on the way to ", " failed"},
    {CURLE_COULDNT_CONNECT, ERR_RETRY, DETAIL_SYSTEM, "no connection to ", ""},
    {CURLE_SEND_ERROR, ERR_RETRY, DETAIL_SYSTEM, "the connection to ", " broke while sending"},
    {CURLE_RECV_ERROR, ERR_RETRY, DETAIL_SYSTEM, "the connection to ", " broke while receiving"},
    {CURLE_GOT_NOTHING, ERR_RETRY, DETAIL_NONE, "", " closed the connection without an answer"},
    {CURLE_PARTIAL_FILE, ERR_RETRY, DETAIL_NONE, "",
     " closed the connection in the middle of its answer"},
    {CURLE_HTTP2, ERR_RETRY, DETAIL_CURL, "the HTTP/2 connection to ", " broke"},
    {CURLE_HTTP2_STREAM, ERR_RETRY, DETAIL_CURL, "the HTTP/2 stream from ", " was reset"},
    {CURLE_SSL_CONNECT_ERROR, ERR_RETRY, DETAIL_CURL, "no TLS connection to ",
     ": is it an https server, and does it speak TLS 1.2 or newer?"},
    {CURLE_PEER_FAILED_VERIFICATION, ERR_PROVIDER, DETAIL_CURL, "the TLS certificate of ",
     " is not trusted (wrong host name, expired, or from an unknown authority): fix the "
     "certificate, add its authority to the system's, or name the authority's file in "
     "SSL_CERT_FILE"},
    {CURLE_SSL_CACERT_BADFILE, ERR_PROVIDER, DETAIL_CURL, "the TLS certificate of ",
     " cannot be verified, because the list of authorities cannot be read: install "
     "ca-certificates, or correct SSL_CERT_FILE"},
    {CURLE_SSL_CLIENTCERT, ERR_PROVIDER, DETAIL_NONE, "",
     " asks for a client certificate, and cadre has none"},
    {CURLE_SSL_CIPHER, ERR_PROVIDER, DETAIL_CURL, "no TLS cipher in common with ", ""},
    {CURLE_SSL_INVALIDCERTSTATUS, ERR_PROVIDER, DETAIL_CURL, "the TLS certificate of ",
     " was revoked"},
    {CURLE_WEIRD_SERVER_REPLY, ERR_PROVIDER, DETAIL_CURL, "what answers at ",
     " does not speak HTTP"},
    {CURLE_UNSUPPORTED_PROTOCOL, ERR_PROVIDER, DETAIL_CURL, "what answers at ",
     " does not speak HTTP"},
    {CURLE_BAD_CONTENT_ENCODING, ERR_RETRY, DETAIL_CURL, "the compression of the answer from ",
     " is broken"},
    {CURLE_OPERATION_TIMEDOUT, ERR_RETRY, DETAIL_CURL, "no answer from ", " in time"},
};

void http_explain(CURLcode code, const char *shown_url, const char *detail, int os_errno,
                  struct err *err)
{
    if (code == CURLE_COULDNT_CONNECT && os_errno == ECONNREFUSED) {
        err_set(err, ERR_RETRY, "no server answers at %s: is it running?", shown_url);
        return;
    }
    const struct explanation *found = NULL;
    for (size_t i = 0; i < sizeof explanations / sizeof explanations[0]; i++)
        if (explanations[i].code == code)
            found = &explanations[i];

    char why[300];
    show(str_from(detail && detail[0] ? detail : curl_easy_strerror(code)), why, sizeof why);
    if (!found) {
        err_set(err, ERR_RETRY, "the request to %s failed: %s", shown_url, why);
        return;
    }
    err_set(err, found->class, "%s%s%s", found->before, shown_url, found->after);
    size_t n = strlen(err->message), room = sizeof err->message - n;
    if (found->detail == DETAIL_CURL)
        snprintf(err->message + n, room, " (%s)", why);
    else if (found->detail == DETAIL_SYSTEM && os_errno != 0)
        snprintf(err->message + n, room, ": %s", strerror(os_errno));
}

/* --- proxies --------------------------------------------------------------------------------- */

#define PROXY_SHOWN 128

/* The variable that libcurl takes the proxy from, and its value: the one of the URL's scheme,
 * then the one for all. */
static const char *proxy_variable(const char *shown_url, const char **value)
{
    static const char *const of_https[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
                                           NULL};
    /* HTTP_PROXY in capitals is what a web server may set from a header, so libcurl does not
     * read it. */
    static const char *const of_http[] = {"http_proxy", "all_proxy", "ALL_PROXY", NULL};
    bool tls = str_starts(str_from(shown_url), STR("https:"));
    for (const char *const *name = tls ? of_https : of_http; *name != NULL; name++) {
        *value = secure_getenv(*name);
        if (*value != NULL && (*value)[0] != '\0')
            return *name;
    }
    return NULL;
}

/* Whether no_proxy names this host, or a domain that it is in. */
static bool proxy_excluded(struct str host)
{
    const char *list = secure_getenv("no_proxy");
    if (list == NULL || list[0] == '\0')
        list = secure_getenv("NO_PROXY");
    while (list != NULL && *list != '\0') {
        size_t skip = strspn(list, ", \t."), n = strcspn(list + skip, ", \t");
        struct str entry = {list + skip, n};
        bool whole = entry.n == host.n || (entry.n < host.n && host.p[host.n - entry.n - 1] == '.');
        if (str_is(entry, "*") ||
            (n > 0 && whole && strncasecmp(entry.p, host.p + host.n - entry.n, entry.n) == 0))
            return true;
        list += skip + n;
    }
    return false;
}

/* The host of a URL: what stands between its scheme and its port or path. */
static struct str host_of(const char *url)
{
    const char *at = strstr(url, "://");
    at = at != NULL ? at + 3 : url;
    return (struct str){at, at[0] == '[' ? strcspn(at, "]") : strcspn(at, ":/")};
}

/* Scheme, host and port of a proxy: never its user name and password. */
static void proxy_show(const char *value, char out[PROXY_SHOWN])
{
    CURLU *parsed = curl_url();
    char *scheme = NULL, *host = NULL, *port = NULL;
    const unsigned flags = CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME;
    snprintf(out, PROXY_SHOWN, "(its address cannot be read)");
    if (parsed && curl_url_set(parsed, CURLUPART_URL, value, flags) == CURLUE_OK &&
        curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        curl_url_get(parsed, CURLUPART_HOST, &host, 0) == CURLUE_OK) {
        char text[PROXY_SHOWN * 2];
        bool has_port = curl_url_get(parsed, CURLUPART_PORT, &port, 0) == CURLUE_OK;
        snprintf(text, sizeof text, "%s://%s:%s", scheme, host, has_port ? port : "1080");
        show(str_from(text), out, PROXY_SHOWN);
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parsed);
}

bool http_explain_proxy(CURLcode code, const char *shown_url, const char *detail, int os_errno,
                        struct err *err)
{
    const char *value = NULL, *variable = proxy_variable(shown_url, &value);
    bool tunnel = detail && strstr(detail, "CONNECT tunnel failed");
    bool down = code == CURLE_COULDNT_CONNECT || code == CURLE_OPERATION_TIMEDOUT;
    char proxy[PROXY_SHOWN], why[200];
    if (variable == NULL || proxy_excluded(host_of(shown_url)) ||
        (!down && !tunnel && code != CURLE_COULDNT_RESOLVE_PROXY && code != CURLE_PROXY))
        return false;
    proxy_show(value, proxy);
    show(str_from(down && os_errno != 0 ? strerror(os_errno)
                  : detail && detail[0] ? detail
                                        : curl_easy_strerror(code)),
         why, sizeof why);
    const char *what = down                                  ? "does not answer"
                       : code == CURLE_COULDNT_RESOLVE_PROXY ? "cannot be resolved"
                                                             : "refuses the connection";
    err_set(err, ERR_RETRY,
            "the proxy %s (from %s) on the way to %s %s: %s. Correct %s, or name the server in "
            "no_proxy",
            proxy, variable, shown_url, what, why, variable);
    return true;
}

void http_explain_redirect(int status, const char *shown_url, const char *location, struct err *err)
{
    struct http_url target;
    struct err ignored = ERR_INIT;
    if (location && http_url_parse(str_from(location), &target, &ignored) == 0)
        err_set(
            err, ERR_PROVIDER,
            "%s redirects to %s (HTTP %d). cadre does not follow redirects, so that a key never "
            "reaches another host: if the address is right, make it the base URL",
            shown_url, target.shown, status);
    else
        err_set(err, ERR_PROVIDER,
                "%s redirects elsewhere (HTTP %d), and cadre does not follow redirects: check the "
                "base URL",
                shown_url, status);
}
