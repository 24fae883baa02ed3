/* See gateway.h. Main thread, or the loop's where a request is made. */
#include "cli/gateway.h"

#include <stdlib.h>
#include <strings.h>

#define HEADERS_MAX ((size_t)1 << 20)

void gateway_headers_init(struct gateway_headers *headers)
{
    *headers = (struct gateway_headers){.count = 0};
    buf_init(&headers->text, HEADERS_MAX);
}

void gateway_headers_release(struct gateway_headers *headers)
{
    if (headers->text.p != NULL)
        explicit_bzero(headers->text.p, headers->text.capacity);
    buf_release(&headers->text);
}

static bool is_key_header(struct str name)
{
    static const char *const names[] = {"authorization", "x-api-key", "api-key"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (name.n == strlen(names[i]) && strncasecmp(name.p, names[i], name.n) == 0)
            return true;
    return false;
}

const char *gateway_variable(void *user, const char *name)
{
    return getenv(name);
}

/* Lines are separated by zero bytes, which no header has; the text may move while it grows. */
static void find_lines(struct gateway_headers *headers)
{
    const char *at = headers->text.p, *end = at + headers->text.n;
    for (headers->count = 0; at < end; at += headers->lines[headers->count++].n + 1)
        headers->lines[headers->count] = str_from(at);
}

int gateway_headers_make(struct gateway_headers *headers, const struct provider_bounds *bounds,
                         struct err *err)
{
    const struct config_environment environment = {.get = gateway_variable};
    buf_clear(&headers->text);
    headers->count = 0;
    headers->holds_key = false;
    for (size_t i = 0; bounds != NULL && i < bounds->header_count; i++) {
        const struct config_header *header = &bounds->headers[i];
        buf_printf(&headers->text, "%.*s: ", STR_FMT(header->name));
        if (config_header_expand(header, &environment, &headers->text, err) != 0)
            return err_prefix(err, "llm.providers.%.*s", STR_FMT(bounds->name));
        buf_char(&headers->text, '\0');
        headers->holds_key = headers->holds_key || is_key_header(header->name);
    }
    find_lines(headers);
    return 0;
}

void gateway_headers_key(struct gateway_headers *headers, struct str api, struct str key)
{
    bool anthropic = str_is(api, "anthropic");
    if (anthropic) {
        buf_text(&headers->text, "anthropic-version: 2023-06-01");
        buf_char(&headers->text, '\0');
    }
    if (key.n > 0 && !headers->holds_key) {
        buf_printf(&headers->text, "%s%.*s", anthropic ? "x-api-key: " : "Authorization: Bearer ",
                   STR_FMT(key));
        buf_char(&headers->text, '\0');
    }
    find_lines(headers);
}

void gateway_url(struct buf *out, struct str base_url, const char *path)
{
    const char *mark = base_url.n > 0 ? memchr(base_url.p, '?', base_url.n) : NULL;
    size_t n = mark != NULL ? (size_t)(mark - base_url.p) : base_url.n;
    buf_add(out, base_url.p, n);
    buf_text(out, path);
    buf_add(out, base_url.p + n, base_url.n - n);
}
