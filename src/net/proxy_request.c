/* See proxy_request.h. */
#include "net/proxy_request.h"

#include <strings.h>

size_t proxy_head_end(struct str bytes)
{
    const char *end = bytes.n > 0 ? memmem(bytes.p, bytes.n, "\r\n\r\n", 4) : NULL;
    return end != NULL ? (size_t)(end - bytes.p) + 4 : 0;
}

static bool same_word(struct str a, struct str b)
{
    return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

static bool is_word(struct str a, const char *word)
{
    return same_word(a, str_from(word));
}

/* Up to the separator, which is skipped; the rest stays. */
static bool cut(struct str *rest, const char *separator, struct str *out)
{
    size_t n = strlen(separator);
    const char *at = rest->n >= n ? memmem(rest->p, rest->n, separator, n) : NULL;
    if (at == NULL)
        return false;
    *out = (struct str){rest->p, (size_t)(at - rest->p)};
    *rest = (struct str){at + n, rest->n - out->n - n};
    return true;
}

static bool is_token(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL))
            return false;
    }
    return text.n > 0;
}

static bool is_visible(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] <= 0x20 || text.p[i] >= 0x7F)
            return false;
    return true;
}

static bool is_header_value(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (((unsigned char)text.p[i] < 0x20 && text.p[i] != '\t') || text.p[i] == 0x7F)
            return false;
    return true;
}

static bool number_read(struct str text, size_t digits, uint64_t *number)
{
    *number = 0;
    if (text.n == 0 || text.n > digits)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        *number = *number * 10 + (uint64_t)(text.p[i] - '0');
    }
    return true;
}

/* --- where to ------------------------------------------------------------------------------------------------------------------ */

/* "host", "host:port", "[address]:port". */
static int authority_read(struct str text, struct proxy_request *request, struct err *err)
{
    bool empty = text.p == NULL || text.n == 0;
    const char *bracket = !empty && text.p[0] == '[' ? memrchr(text.p, ']', text.n) : NULL;
    const char *colon = empty ? NULL : memrchr(text.p, ':', text.n);
    uint64_t port = request->port;
    if (bracket != NULL && colon < bracket)
        colon = NULL;
    request->asked = colon != NULL ? (struct str){text.p, (size_t)(colon - text.p)} : text;
    if (colon != NULL) {
        struct str digits = {colon + 1, text.n - request->asked.n - 1};
        if (!number_read(digits, 5, &port) || port == 0 || port > UINT16_MAX)
            return err_set(err, ERR_USAGE, "the port cannot be read");
        request->port = (unsigned)port;
    }
    if (request->asked.n > 0 && (request->asked.p[0] == '[' || host_is_address(request->asked)))
        return err_set(err, ERR_DENIED, "hosts are reached by name, not by address");
    if (!host_name_fold(request->asked, request->host))
        return err_set(err, ERR_USAGE, "this is not the name of a host");
    return 0;
}

static int port_check(const struct proxy_request *request, struct err *err)
{
    if (request->kind == PROXY_TUNNEL && request->port != PROXY_PORT_TLS)
        return err_set(err, ERR_DENIED, "CONNECT reaches port 443 only");
    if (request->kind == PROXY_PLAIN && request->port != PROXY_PORT_PLAIN)
        return err_set(err, ERR_DENIED, "http:// reaches port 80 only");
    return 0;
}

static int target_read(struct str target, struct proxy_request *request, struct err *err)
{
    request->kind = str_is(request->method, "CONNECT") ? PROXY_TUNNEL : PROXY_PLAIN;
    request->port = request->kind == PROXY_TUNNEL ? PROXY_PORT_TLS : PROXY_PORT_PLAIN;
    if (request->kind == PROXY_TUNNEL)
        return authority_read(target, request, err);
    if (target.n < 7 || strncasecmp(target.p, "http://", 7) != 0)
        return err_set(err, ERR_USAGE, "this is a proxy: it wants http://HOST/…, or CONNECT");
    struct str rest = {target.p + 7, target.n - 7};
    size_t n = 0;
    while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?')
        n++;
    request->path = (struct str){rest.p + n, rest.n - n};
    if (memchr(target.p, '#', target.n) != NULL)
        return err_set(err, ERR_USAGE, "the address has a fragment");
    return authority_read((struct str){rest.p, n}, request, err);
}

static int line_read(struct str line, struct proxy_request *request, struct err *err)
{
    struct str target;
    if (!cut(&line, " ", &request->method) || !is_token(request->method) ||
        !cut(&line, " ", &target) || !is_visible(target) ||
        !(str_is(line, "HTTP/1.1") || str_is(line, "HTTP/1.0")))
        return err_set(err, ERR_USAGE, "the request line cannot be read");
    return target_read(target, request, err) == 0 ? port_check(request, err) : -1;
}

/* --- headers ------------------------------------------------------------------------------------------------------------------- */

/* Each line of the head behind the first one. False: a line is no header; the caller has the end when rest is empty. */
static bool header_next(struct str *rest, struct proxy_header *header)
{
    struct str line;
    if (!cut(rest, "\r\n", &line) || !cut(&line, ":", &header->name) || !is_token(header->name) ||
        !is_header_value(line))
        return false;
    header->value = str_trim(line);
    return true;
}

/* Of one connection, not of the message. */
static bool is_of_connection(struct str name)
{
    static const char *const names[] = {
        "connection", "proxy-connection",    "keep-alive",         "te",
        "upgrade",    "proxy-authorization", "proxy-authenticate", "http2-settings"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (is_word(name, names[i]))
            return true;
    return false;
}

/* What this reader sets itself. */
static bool is_framing(struct str name)
{
    return is_word(name, "content-length") || is_word(name, "transfer-encoding") ||
           is_word(name, "host") || is_word(name, "expect") || is_word(name, "trailer");
}

/* Is the name among those that a Connection header of this head lists? */
static bool is_listed(struct str headers, struct str name)
{
    struct proxy_header header;
    while (headers.n > 0 && header_next(&headers, &header)) {
        struct str rest = header.value, word;
        if (!is_word(header.name, "connection"))
            continue;
        while (rest.n > 0) {
            if (!cut(&rest, ",", &word)) {
                word = rest;
                rest.n = 0;
            }
            if (same_word(str_trim(word), name))
                return true;
        }
    }
    return false;
}

struct seen {
    int hosts, lengths, codings;
};

static int host_check(const struct proxy_request *request, struct str value, struct err *err)
{
    struct str host = value;
    if (host.n > 3 && memcmp(host.p + host.n - 3, ":80", 3) == 0)
        host.n -= 3;
    if (!same_word(host, str_from(request->host)))
        return err_set(err, ERR_USAGE, "the Host header names another host than the address");
    return 0;
}

/* A header that frames the message or names its host. */
static int framing_read(const struct proxy_header *header, struct proxy_request *request,
                        struct seen *seen, struct err *err)
{
    if (is_word(header->name, "host")) {
        seen->hosts++;
        return request->kind == PROXY_PLAIN ? host_check(request, header->value, err) : 0;
    }
    if (is_word(header->name, "content-length")) {
        seen->lengths++;
        request->body = BODY_LENGTH;
        if (!number_read(header->value, 18, &request->length))
            return err_set(err, ERR_USAGE, "the length of the body cannot be read");
    }
    if (is_word(header->name, "transfer-encoding")) {
        seen->codings++;
        request->body = BODY_CHUNKED;
        if (!is_word(header->value, "chunked"))
            return err_set(err, ERR_USAGE, "only the transfer encoding chunked is understood");
    }
    return 0;
}

int proxy_request_read(struct str head, struct proxy_request *request, struct err *err)
{
    struct str line, rest = head, headers;
    struct seen seen = {0};
    struct proxy_header header;
    *request = (struct proxy_request){.asked = STR("")};
    if (proxy_head_end(head) != head.n || !cut(&rest, "\r\n", &line))
        return err_set(err, ERR_USAGE, "the request line cannot be read");
    if (line_read(line, request, err) != 0)
        return -1;
    rest.n -= 2; /* the empty line */
    headers = rest;
    while (rest.n > 0) {
        if (!header_next(&rest, &header))
            return err_set(err, ERR_USAGE, "a header cannot be read");
        if (is_framing(header.name)) {
            if (framing_read(&header, request, &seen, err) != 0)
                return -1;
            continue;
        }
        if (is_of_connection(header.name) || is_listed(headers, header.name))
            continue;
        if (request->header_count == PROXY_HEADERS_MAX)
            return err_set(err, ERR_USAGE, "there are more than %d headers", PROXY_HEADERS_MAX);
        request->headers[request->header_count++] = header;
    }
    if (seen.hosts > 1 || seen.lengths > 1 || seen.codings > 1 ||
        (seen.lengths > 0 && seen.codings > 0))
        return err_set(err, ERR_USAGE, "a header that may be there once is there twice");
    return 0;
}

/* --- what is sent on ----------------------------------------------------------------------------------------------------------- */

void proxy_request_print(const struct proxy_request *request, const struct proxy_header *added,
                         size_t added_count, struct buf *out)
{
    bool has_path = request->path.n > 0 && request->path.p[0] == '/';
    buf_printf(out, "%.*s %s%.*s HTTP/1.1\r\nHost: %s\r\n", STR_FMT(request->method),
               has_path ? "" : "/", STR_FMT(request->path), request->host);
    for (size_t i = 0; i < request->header_count; i++) {
        const struct proxy_header *header = &request->headers[i];
        bool replaced = false;
        for (size_t k = 0; k < added_count && !replaced; k++)
            replaced = same_word(header->name, added[k].name);
        if (!replaced)
            buf_printf(out, "%.*s: %.*s\r\n", STR_FMT(header->name), STR_FMT(header->value));
    }
    for (size_t i = 0; i < added_count; i++)
        buf_printf(out, "%.*s: %.*s\r\n", STR_FMT(added[i].name), STR_FMT(added[i].value));
    if (request->body == BODY_LENGTH)
        buf_printf(out, "Content-Length: %llu\r\n", (unsigned long long)request->length);
    if (request->body == BODY_CHUNKED)
        buf_text(out, "Transfer-Encoding: chunked\r\n");
    buf_text(out, "Connection: close\r\n\r\n");
}

int proxy_answer_print(struct str head, int *status, struct buf *out, struct err *err)
{
    struct str line, rest = head, headers;
    struct proxy_header header;
    uint64_t code = 0;
    if (proxy_head_end(head) != head.n || !cut(&rest, "\r\n", &line) || line.n < 12 ||
        !str_starts(line, STR("HTTP/1.")) || line.p[8] != ' ' || !is_header_value(line) ||
        !number_read((struct str){line.p + 9, 3}, 3, &code) || code < 100 ||
        (line.n > 12 && line.p[12] != ' '))
        return err_set(err, ERR_PROVIDER, "the server's answer is not HTTP/1.1");
    *status = (int)code;
    buf_printf(out, "%.*s\r\n", STR_FMT(line));
    rest.n -= 2;
    headers = rest;
    while (rest.n > 0) {
        if (!header_next(&rest, &header))
            return err_set(err, ERR_PROVIDER, "a header of the server's answer cannot be read");
        if (!is_of_connection(header.name) && !is_listed(headers, header.name))
            buf_printf(out, "%.*s: %.*s\r\n", STR_FMT(header.name), STR_FMT(header.value));
    }
    buf_text(out, "Connection: close\r\n\r\n");
    return out->failed ? err_set(err, ERR_PROVIDER, "the server's answer has too long a head") : 0;
}
