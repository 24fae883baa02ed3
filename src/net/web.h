/* Pages of the web for tools: one request whose address is looked up once, checked, and then connected to; every redirect is a new
 * request that is checked in the same way. No proxy, no cookies, no credentials in URLs, nothing remembered from one request to the next. Blocking, with a deadline;
 * any thread.
 *
 * Error classes: USAGE (the URL makes no sense), DENIED (a wall: an address that is not public, a redirect too many), NOT_FOUND (no
 * such host), RETRY, TIMEOUT, PROVIDER (too large, not HTTP, certificate), CANCELLED. */
#ifndef CADRE_NET_WEB_H
#define CADRE_NET_WEB_H

#include "base/buf.h"
#include "net/resolve.h"

#define WEB_URL_MAX 4096
#define WEB_HEADERS_MAX 4

/* Why an address may not be reached, in words; NULL when it may. address_not_public is one. */
typedef const char *web_refuses(const struct sockaddr *address);

struct web_request {
    struct str url;
    struct str headers[WEB_HEADERS_MAX]; /* "Name: value" */
    size_t header_count;
    struct str body; /* sent with POST; p == NULL: GET */
    web_refuses
        *refuses; /* asked for every address before anything is sent; NULL: all may be reached */
    size_t redirects; /* that are followed */
    int64_t total_ms; /* of everything, redirects included */
    size_t max_bytes; /* of the body, after decompression */
    const atomic_bool *cancelled;
    const struct resolver *resolver; /* NULL: the system's */
};

struct web_answer {
    int status;
    struct buf body;
    char type[128];            /* Content-Type as sent, lower case; "" without one */
    char url[WEB_URL_MAX + 1]; /* where the answer came from in the end */
};

/* Any status that is no redirect is an answer. The caller releases the body, after an error too. */
int web_get(const struct web_request *request, struct web_answer *answer,
            struct err *err) NODISCARD;

/* What `reference` means on the page at `base`: an absolute URL, or nothing where it is none of http or https. */
void web_join(const char *base, struct str reference, struct buf *out);
/* Appends text as part of a query. */
void web_escape(struct str text, struct buf *out);

#endif
