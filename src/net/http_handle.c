/* What a curl handle is told: once what all requests have in common, then for each request only what differs from the last one
 * that used the handle. Runs on the loop thread. */
#include <stdlib.h>

#include "net/http_transfer.h"

void handle_forget_headers(struct http_transfer *transfer)
{
    for (struct curl_slist *line = transfer->headers; line; line = line->next)
        explicit_bzero(line->data, strlen(line->data));
    curl_slist_free_all(transfer->headers);
    transfer->headers = NULL;
    if (transfer->headers_set.p)
        explicit_bzero(transfer->headers_set.p, transfer->headers_set.capacity);
    buf_clear(&transfer->headers_set);
}

/* Tells the handle, unless it was told the same for its last request. */
static int headers_set(struct http_transfer *transfer, const struct http_request *request,
                       struct err *err)
{
    size_t at = 0;
    bool same = transfer->headers != NULL;
    for (size_t i = 0; i < request->header_count && same; i++) {
        struct str header = request->headers[i];
        struct str rest = {transfer->headers_set.p + at, transfer->headers_set.n - at};
        same = str_starts(rest, header) && rest.n > header.n && rest.p[header.n] == '\n';
        at += header.n + 1;
    }
    if (same && at == transfer->headers_set.n)
        return 0;
    handle_forget_headers(transfer);
    /* curl would ask for permission ("Expect") before a large body and wait a second for servers
     * that do not answer that. */
    transfer->headers = http_must(curl_slist_append(NULL, "Expect:"));
    struct buf line;
    buf_init(&line, HTTP_HEADER_MAX);
    int result = 0;
    for (size_t i = 0; i < request->header_count && result == 0; i++) {
        struct str header = request->headers[i];
        buf_clear(&line);
        buf_str(&line, header);
        if (header.n == 0 || line.failed || memchr(header.p, '\r', header.n) ||
            memchr(header.p, '\n', header.n) || memchr(header.p, '\0', header.n))
            result = err_set(err, ERR_CONFIG,
                             "request header %zu is empty, too long or holds a line break", i + 1);
        else
            transfer->headers = http_must(curl_slist_append(transfer->headers, line.p));
        buf_str(&transfer->headers_set, header);
        buf_char(&transfer->headers_set, '\n');
    }
    /* A header may be a secret. */
    if (line.p)
        explicit_bzero(line.p, line.capacity);
    buf_release(&line);
    if (result == 0 &&
        curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers) != CURLE_OK)
        result = err_set(err, ERR_BUG, "libcurl refused the headers");
    if (result != 0)
        handle_forget_headers(transfer);
    return result;
}

int handle_prepare(struct http_transfer *transfer, struct err *err)
{
    CURL *easy = transfer->easy;
    int bad = 0;
    bad |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    bad |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    /* Answers come in small pieces, and curl keeps a buffer for each request that waits for one. */
    bad |= curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 2048L);
    bad |= curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    /* What every server knows; the list of all that curl knows would be printed twice for each request. */
    bad |= curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
    bad |= curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    bad |= curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    bad |= curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, http_on_opened);
    bad |= curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, transfer);
    bad |= curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, http_pool_closed);
    bad |= curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, &transfer->http->pool);
    bad |= curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->detail);
    bad |= curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    bad |= curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, http_on_connected);
    bad |= curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer);
    bad |= curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, http_on_header);
    bad |= curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    bad |= curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, http_on_data);
    bad |= curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    if (transfer->http->authorities)
        bad |= curl_easy_setopt(easy, CURLOPT_CAINFO, transfer->http->authorities);
    return bad ? err_set(err, ERR_BUG, "libcurl refused an option") : 0;
}

static int url_set(struct http_transfer *transfer, struct str url, struct err *err)
{
    CURL *easy = transfer->easy;
    int bad = 0;
    if (transfer->url_set.n > 0 && str_eq(buf_view(&transfer->url_set), url))
        return 0;
    buf_clear(&transfer->url_set);
    buf_str(&transfer->url_set, url);
    bad |= curl_easy_setopt(easy, CURLOPT_URL, transfer->url_set.p);
    /* A server behind TLS may speak HTTP/2: requests wait until that is known, and then share the connection. */
    bool tls = str_starts(str_from(transfer->url.shown), STR("https:"));
    bad |= curl_easy_setopt(easy, CURLOPT_PIPEWAIT, tls ? 1L : 0L);
    bad |= curl_easy_setopt(easy, CURLOPT_PROXY, transfer->url.loopback ? "" : NULL);
    return bad ? err_set(err, ERR_BUG, "libcurl refused the URL") : 0;
}

static int request_set(struct http_transfer *transfer, const struct http_request *request,
                       struct err *err)
{
    CURL *easy = transfer->easy;
    int64_t connect = transfer->deadlines.connect_ms + 1000; /* behind our own */
    int bad = curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect);
    if (request->method == HTTP_POST) {
        bad |= curl_easy_setopt(easy, CURLOPT_POST, 1L);
        bad |= curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)transfer->body.n);
        bad |= curl_easy_setopt(easy, CURLOPT_POSTFIELDS, buf_view(&transfer->body).p);
    } else {
        bad |= curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    }
    return bad ? err_set(err, ERR_BUG, "libcurl refused an option") : 0;
}

int handle_set_request(struct http_transfer *transfer, const struct http_request *request,
                       struct err *err)
{
    return headers_set(transfer, request, err) != 0 || url_set(transfer, request->url, err) != 0 ||
                   request_set(transfer, request, err) != 0
               ? -1
               : 0;
}
