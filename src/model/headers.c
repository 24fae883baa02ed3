/* See headers.h. Pure; loop thread. */
#include "model/headers.h"

#include <strings.h>

static struct str name_of(struct str header)
{
    const char *colon = header.n > 0 ? memchr(header.p, ':', header.n) : NULL;
    return (struct str){header.p, colon ? (size_t)(colon - header.p) : header.n};
}

static struct str value_of(struct str header)
{
    size_t n = name_of(header).n + 1;
    if (n > header.n)
        return STR_NONE;
    struct str value = {header.p + n, header.n - n};
    while (value.n > 0 && value.p[0] == ' ')
        value = (struct str){value.p + 1, value.n - 1};
    return value;
}

static bool same_name(struct str a, struct str b)
{
    return a.n == b.n && a.n > 0 && strncasecmp(a.p, b.p, a.n) == 0;
}

static bool carries_key(struct str name)
{
    return same_name(name, STR("Authorization")) || same_name(name, STR("api-key")) ||
           same_name(name, STR("x-api-key"));
}

static bool config_has(const struct model_request *request, struct str name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (same_name(name_of(request->headers[i]), name))
            return true;
    return false;
}

static bool config_has_key(const struct model_request *request)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (carries_key(name_of(request->headers[i])))
            return true;
    return false;
}

static void add(struct headers *headers, struct str header)
{
    buf_str(&headers->text, header);
    buf_char(&headers->text, '\n');
    headers->count++;
}

static void add_own(struct headers *headers, const struct model_request *request, struct str header)
{
    if (header.n > 0 && !config_has(request, name_of(header)))
        add(headers, header);
}

static int check(struct str header, struct err *err)
{
    struct str name = name_of(header);
    bool bad = name.n == 0 || name.n == header.n;
    for (size_t i = 0; i < header.n && !bad; i++)
        bad = (unsigned char)header.p[i] < ' ' || header.p[i] == 0x7F;
    for (size_t i = 0; i < name.n && !bad; i++)
        bad = name.p[i] == ' ';
    if (!bad)
        return 0;
    return err_set(err, ERR_CONFIG,
                   "the header \"%.*s\" of the provider is not \"Name: value\" on one line: check "
                   "`headers` in the config and the environment variables that it names",
                   (int)(name.n < 64 ? name.n : 64), name.p ? name.p : "");
}

int headers_build(struct headers *headers, const struct model_request *request,
                  const char *key_header, struct str own, struct err *err)
{
    struct buf made;
    buf_init(&headers->text, HEADERS_BYTES);
    headers->count = 0;
    buf_init(&made, 8192);
    add_own(headers, request, STR("Content-Type: application/json"));
    add_own(headers, request, STR("Accept: text/event-stream, application/json"));
    add_own(headers, request, STR("User-Agent: cadre"));
    add_own(headers, request, own);
    if (request->client_id.n > 0) {
        buf_printf(&made, "X-Client-Request-Id: %.*s", STR_FMT(request->client_id));
        add_own(headers, request, buf_view(&made));
        buf_clear(&made);
    }
    if (request->api_key.n > 0 && !config_has_key(request)) {
        buf_text(&made, key_header);
        buf_str(&made, request->api_key);
        add(headers, buf_view(&made));
        explicit_bzero(made.p, made.capacity);
    }
    buf_release(&made);
    for (size_t i = 0; i < request->header_count; i++) {
        if (check(request->headers[i], err) != 0)
            return -1;
        if (headers->count < HEADERS_MAX)
            add(headers, request->headers[i]);
    }
    if (headers->text.failed || request->header_count > HEADERS_MAX - 8)
        return err_set(err, ERR_CONFIG, "the provider has more than %d headers, or over 64 KB",
                       HEADERS_MAX - 8);
    return 0;
}

void headers_release(struct headers *headers)
{
    if (headers->text.p)
        explicit_bzero(headers->text.p, headers->text.capacity);
    buf_release(&headers->text);
}

void headers_list(const struct headers *headers, struct str list[HEADERS_MAX])
{
    struct str rest = buf_view(&headers->text);
    for (size_t i = 0; i < headers->count; i++) {
        const char *end = memchr(rest.p, '\n', rest.n);
        list[i] = (struct str){rest.p, (size_t)(end - rest.p)};
        rest = (struct str){end + 1, rest.n - list[i].n - 1};
    }
}

void headers_secrets(const struct model_request *request, struct buf *out)
{
    static const struct str scheme = {"Bearer ", 7};
    for (size_t i = 0; i < request->header_count; i++) {
        struct str value = value_of(request->headers[i]);
        if (str_starts(value, scheme))
            value = (struct str){value.p + scheme.n, value.n - scheme.n};
        buf_str(out, value);
        buf_char(out, '\n');
        /* "Basic abc", "Token token=abc": a server may quote the last part alone. */
        for (size_t at = value.n; at-- > 0;)
            if ((value.p[at] == ' ' || value.p[at] == '=') && value.n - at > 8) {
                buf_add(out, value.p + at + 1, value.n - at - 1);
                buf_char(out, '\n');
            }
    }
}
