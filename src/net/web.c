/* See web.h. Each hop has a curl handle of its own, so that nothing is shared between them. Two walls against names that change
 * their address: curl is given the addresses that were checked, and the callback that opens its sockets refuses any other. */
#include "net/web.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "net/address.h"
#include "net/http.h"
#include "net/http_explain.h"
#include "net/http_pool.h"

#define CONNECT_MS 10000
#define POLL_MS 100 /* how often cancellation is looked at */

/* One request to one host. */
struct hop {
    const struct web_request *request;
    struct web_answer *answer;
    struct resolve_wait wait;
    struct http_url shown;
    char host[RESOLVE_NAME_MAX]; /* without brackets */
    uint16_t port;
    struct resolved resolved;
    size_t header_bytes;
    enum { HOP_FINE, HOP_TOO_LARGE, HOP_ELSEWHERE } trouble;
    char detail[CURL_ERROR_SIZE];
};

/* --- the address ----------------------------------------------------------------------------- */

static int url_refused(struct err *err, struct str url, const char *why)
{
    return err_set(err, ERR_USAGE, "the URL %.*s %s", (int)(url.n < 200 ? url.n : 200), url.p, why);
}

/* Checks the answer's URL, and rewrites it in curl's normal form without a fragment. */
static int hop_read_url(struct hop *hop, struct err *err)
{
    char *url = NULL, *host = NULL, *port = NULL;
    struct str text = str_from(hop->answer->url);
    int result = -1;
    if (http_url_parse(text, &hop->shown, err) != 0) {
        err->class = ERR_USAGE;
        return -1;
    }
    CURLU *parsed = curl_url();
    if (parsed == NULL)
        abort();
    if (curl_url_set(parsed, CURLUPART_URL, hop->answer->url, 0) != CURLUE_OK ||
        curl_url_set(parsed, CURLUPART_FRAGMENT, NULL, 0) != CURLUE_OK ||
        curl_url_get(parsed, CURLUPART_URL, &url, CURLU_PUNYCODE) != CURLUE_OK ||
        curl_url_get(parsed, CURLUPART_HOST, &host, CURLU_PUNYCODE) != CURLUE_OK ||
        curl_url_get(parsed, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK) {
        url_refused(err, text, "cannot be read");
        goto out;
    }
    struct str name = str_from(host);
    if (name.n > 2 && name.p[0] == '[')
        name = (struct str){name.p + 1, name.n - 2};
    if (name.n >= sizeof hop->host || strlen(url) > WEB_URL_MAX) {
        url_refused(err, text, "is too long");
        goto out;
    }
    memcpy(hop->host, name.p, name.n);
    hop->host[name.n] = '\0';
    hop->port = (uint16_t)strtoul(port, NULL, 10);
    snprintf(hop->answer->url, sizeof hop->answer->url, "%s", url);
    result = 0;
out:
    curl_free(url);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parsed);
    return result;
}

/* The one look at the name. Every address must be allowed: a name with one private address is private. */
static int hop_resolve(struct hop *hop, struct err *err)
{
    const struct resolver *resolver =
        hop->request->resolver ? hop->request->resolver : &resolver_system;
    if (resolver->look_up(resolver->user, hop->host, hop->port, &hop->wait, &hop->resolved, err) !=
        0)
        return -1;
    for (size_t i = 0; i < hop->resolved.count && hop->request->refuses; i++) {
        const struct sockaddr *address = (const struct sockaddr *)&hop->resolved.addresses[i];
        const char *why = hop->request->refuses(address);
        char shown[64];
        struct buf text;
        if (why == NULL)
            continue;
        buf_init(&text, sizeof shown);
        address_print(address, &text);
        snprintf(shown, sizeof shown, "%s", buf_view(&text).p);
        buf_release(&text);
        return err_set(
            err, ERR_DENIED,
            "%s leads to %s, %s: only public addresses are fetched (the user's config can "
            "set tools.web_fetch.allow_private)",
            hop->host, shown, why);
    }
    return 0;
}

static bool same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET) {
        const struct sockaddr_in *x = (const void *)a, *y = (const void *)b;
        return x->sin_port == y->sin_port && x->sin_addr.s_addr == y->sin_addr.s_addr;
    }
    const struct sockaddr_in6 *x = (const void *)a, *y = (const void *)b;
    return x->sin6_port == y->sin6_port &&
           memcmp(&x->sin6_addr, &y->sin6_addr, sizeof x->sin6_addr) == 0;
}

/* "host:port:address,address", for curl's own table of names. */
static struct curl_slist *hop_pins(const struct hop *hop)
{
    struct buf line;
    buf_init(&line, 4096);
    buf_printf(&line, "%s:%u:", hop->host, hop->port);
    for (size_t i = 0; i < hop->resolved.count; i++) {
        const struct sockaddr *address = (const struct sockaddr *)&hop->resolved.addresses[i];
        bool six = address->sa_family == AF_INET6;
        buf_text(&line, i ? "," : "");
        buf_text(&line, six ? "[" : "");
        address_print(address, &line);
        buf_text(&line, six ? "]" : "");
    }
    struct curl_slist *pins = curl_slist_append(NULL, line.p);
    buf_release(&line);
    if (pins == NULL)
        abort();
    return pins;
}

/* --- curl's callbacks ------------------------------------------------------------------------ */

static curl_socket_t on_open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct hop *hop = user;
    (void)purpose;
    for (size_t i = 0; i < hop->resolved.count; i++)
        if (same_address(&address->addr, (const struct sockaddr *)&hop->resolved.addresses[i]))
            return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    hop->trouble = HOP_ELSEWHERE;
    return CURL_SOCKET_BAD;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *user)
{
    struct hop *hop = user;
    (void)bytes;
    hop->header_bytes += size * count;
    if (hop->header_bytes <= HTTP_HEADER_MAX)
        return size * count;
    hop->trouble = HOP_TOO_LARGE;
    return 0;
}

static size_t on_data(char *bytes, size_t size, size_t count, void *user)
{
    struct hop *hop = user;
    size_t n = size * count;
    if (n > hop->request->max_bytes - hop->answer->body.n) {
        hop->trouble = HOP_TOO_LARGE;
        return 0;
    }
    buf_add(&hop->answer->body, bytes, n);
    return hop->answer->body.failed ? 0 : n;
}

/* --- one request ----------------------------------------------------------------------------- */

static int hop_set(struct hop *hop, CURL *easy, const struct curl_slist *pins,
                   const struct curl_slist *headers, struct err *err)
{
    const struct web_request *request = hop->request;
    const char *authorities = secure_getenv("SSL_CERT_FILE");
    int64_t left = hop->wait.deadline_ms - resolve_now_ms();
    int bad = 0;
    if (left <= 0)
        return err_set(err, ERR_TIMEOUT, "no complete answer from %s in time", hop->shown.shown);
    bad |= curl_easy_setopt(easy, CURLOPT_URL, hop->answer->url);
    bad |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    bad |= curl_easy_setopt(easy, CURLOPT_RESOLVE, pins);
    bad |= curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    bad |= curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, hop);
    bad |= curl_easy_setopt(easy, CURLOPT_PROXY, "");
    bad |= curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    bad |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    bad |= curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    bad |= curl_easy_setopt(easy, CURLOPT_USERAGENT, "cadre/" CADRE_VERSION);
    bad |= curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)left);
    bad |= curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    bad |= curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, hop->detail);
    bad |= curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    bad |= curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    bad |= curl_easy_setopt(easy, CURLOPT_HEADERDATA, hop);
    bad |= curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data);
    bad |= curl_easy_setopt(easy, CURLOPT_WRITEDATA, hop);
    if (authorities && authorities[0])
        bad |= curl_easy_setopt(easy, CURLOPT_CAINFO, authorities);
    if (request->body.p) {
        bad |= curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.n);
        bad |= curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body.p);
    }
    return bad ? err_set(err, ERR_BUG, "libcurl refused an option") : 0;
}

/* Works until the transfer ends or is cancelled. */
static int hop_perform(struct hop *hop, CURL *easy, CURLcode *code, struct err *err)
{
    CURLM *multi = curl_multi_init();
    int running = 1, result = 0, left;
    if (multi == NULL || curl_multi_add_handle(multi, easy) != CURLM_OK)
        abort();
    while (running > 0 && result == 0) {
        if (hop->wait.cancelled && atomic_load_explicit(hop->wait.cancelled, memory_order_relaxed))
            result = err_set(err, ERR_CANCELLED, "cancelled");
        else if (curl_multi_perform(multi, &running) != CURLM_OK ||
                 (running > 0 && curl_multi_poll(multi, NULL, 0, POLL_MS, NULL) != CURLM_OK))
            result = err_set(err, ERR_BUG, "libcurl refused a transfer");
    }
    const CURLMsg *message = curl_multi_info_read(multi, &left);
    *code = message ? message->data.result : CURLE_OK;
    curl_multi_remove_handle(multi, easy);
    curl_multi_cleanup(multi);
    return result;
}

static int hop_judge(const struct hop *hop, CURL *easy, CURLcode code, struct err *err)
{
    long os_errno = 0;
    if (hop->trouble == HOP_TOO_LARGE)
        return err_set(err, ERR_PROVIDER, "%s sent more than %zu bytes, which is the limit",
                       hop->shown.shown, hop->request->max_bytes);
    if (hop->trouble == HOP_ELSEWHERE)
        return err_set(err, ERR_DENIED, "%s changed its address while it was fetched", hop->host);
    if (code == CURLE_OK)
        return 0;
    curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &os_errno);
    http_explain(code, hop->shown.shown, hop->detail, (int)os_errno, err);
    if (code == CURLE_OPERATION_TIMEDOUT)
        err->class = ERR_TIMEOUT;
    return -1;
}

static void note_answer(struct hop *hop, CURL *easy, struct buf *location)
{
    long status = 0;
    char *type = NULL, *target = NULL;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
    curl_easy_getinfo(easy, CURLINFO_REDIRECT_URL, &target);
    hop->answer->status = (int)status;
    for (size_t i = 0; type && type[i] && i < sizeof hop->answer->type - 1; i++) {
        hop->answer->type[i] = (char)(type[i] >= 'A' && type[i] <= 'Z' ? type[i] + 32 : type[i]);
        hop->answer->type[i + 1] = '\0';
    }
    if (target && status >= 300 && status < 400)
        buf_text(location, target);
}

static struct curl_slist *header_list(const struct web_request *request)
{
    struct curl_slist *list = NULL;
    struct buf line;
    buf_init(&line, HTTP_HEADER_MAX);
    for (size_t i = 0; i < request->header_count; i++) {
        buf_clear(&line);
        buf_str(&line, request->headers[i]);
        list = http_must(curl_slist_append(list, line.p));
    }
    if (line.p)
        explicit_bzero(line.p, line.capacity); /* one may be a key */
    buf_release(&line);
    return list;
}

static void header_list_free(struct curl_slist *list)
{
    for (struct curl_slist *at = list; at; at = at->next)
        explicit_bzero(at->data, strlen(at->data));
    curl_slist_free_all(list);
}

/* Asks at the answer's URL. location: where it redirects to, empty for an answer. */
static int hop_run(struct hop *hop, struct buf *location, struct err *err)
{
    CURLcode code = CURLE_OK;
    if (hop_read_url(hop, err) != 0 || hop_resolve(hop, err) != 0)
        return -1;
    CURL *easy = http_must(curl_easy_init());
    struct curl_slist *pins = hop_pins(hop), *headers = header_list(hop->request);
    buf_clear(&hop->answer->body);
    hop->answer->type[0] = '\0';
    int result = hop_set(hop, easy, pins, headers, err);
    if (result == 0)
        result = hop_perform(hop, easy, &code, err);
    if (result == 0)
        result = hop_judge(hop, easy, code, err);
    if (result == 0)
        note_answer(hop, easy, location);
    curl_easy_cleanup(easy);
    curl_slist_free_all(pins);
    header_list_free(headers);
    return result;
}

int web_get(const struct web_request *request, struct web_answer *answer, struct err *err)
{
    struct resolve_wait wait = {resolve_now_ms() + request->total_ms, request->cancelled};
    struct buf location;
    int result = -1;
    *answer = (struct web_answer){0};
    buf_init(&answer->body, request->max_bytes + 1);
    buf_init(&location, HTTP_URL_MAX);
    if (request->url.n > WEB_URL_MAX)
        return url_refused(err, request->url, "is too long");
    if (request->url.n > 0 && memchr(request->url.p, '\0', request->url.n))
        return url_refused(err, request->url, "has a NUL byte");
    if (request->url.n > 0)
        memcpy(answer->url, request->url.p, request->url.n);
    if (http_global_init(err) != 0)
        return -1;
    for (size_t redirects = 0;; redirects++) {
        struct hop hop = {.request = request, .answer = answer, .wait = wait};
        buf_clear(&location);
        if (hop_run(&hop, &location, err) != 0) {
            if (redirects > 0)
                err_prefix(err, "after %zu %s", redirects,
                           redirects == 1 ? "redirect" : "redirects");
            break;
        }
        result = 0;
        if (location.n == 0)
            break;
        result = -1;
        if (redirects == request->redirects || location.n > WEB_URL_MAX) {
            err_set(err, ERR_DENIED, "%s redirects elsewhere; %zu redirects are followed, no more",
                    hop.shown.shown, request->redirects);
            break;
        }
        snprintf(answer->url, sizeof answer->url, "%s", location.p);
    }
    http_global_release();
    buf_release(&location);
    return result;
}

/* --- texts ----------------------------------------------------------------------------------- */

void web_join(const char *base, struct str reference, struct buf *out)
{
    char text[WEB_URL_MAX + 1];
    char *url = NULL, *scheme = NULL;
    if (reference.n == 0 || reference.n > WEB_URL_MAX || memchr(reference.p, '\0', reference.n))
        return;
    memcpy(text, reference.p, reference.n);
    text[reference.n] = '\0';
    CURLU *parsed = http_must(curl_url());
    if ((base[0] == '\0' || curl_url_set(parsed, CURLUPART_URL, base, 0) == CURLUE_OK) &&
        curl_url_set(parsed, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE) ==
            CURLUE_OK &&
        curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        (curl_strequal(scheme, "http") || curl_strequal(scheme, "https")) &&
        curl_url_get(parsed, CURLUPART_URL, &url, 0) == CURLUE_OK)
        buf_text(out, url);
    curl_free(url);
    curl_free(scheme);
    curl_url_cleanup(parsed);
}

void web_escape(struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '_' || c == '.' || c == '~';
        if (plain)
            buf_char(out, c);
        else
            buf_printf(out, "%%%02X", (unsigned char)c);
    }
}
