/* An HTTP client on a libuv loop, for many slow streams at once. Runs on the loop's thread and
 * never blocks.
 *
 * Promises: every transfer that http_start accepted ends in exactly one `done`, never from inside
 * http_start or http_abort. No handler is called after `done`, and none but `done` after
 * http_abort. Handlers may abort transfers; `done` may start
 * one too, `data` may not (libcurl refuses to be called from inside itself). Redirects are not followed: a request carries
 * credentials, and they belong to the host they were meant for. No request goes through a proxy
 * from the environment when its host is a loopback address. Behind TLS, HTTP/2 is spoken where the
 * server offers it. SSL_CERT_FILE names a file of authorities that stands in for the system's.
 *
 * Errors name the server as scheme, host, port and path: no query, no header, nothing of the body.
 */
#ifndef CADRE_NET_HTTP_H
#define CADRE_NET_HTTP_H

#include <stdint.h>
#include <uv.h>

#include "base/buf.h"
#include "base/err.h"

#define HTTP_RESPONSE_MAX ((size_t)64 << 20) /* bytes of body, after decompression */
#define HTTP_HEADER_MAX ((size_t)64 << 10)   /* bytes of all headers together */
#define HTTP_URL_MAX ((size_t)8 << 10)
#define HTTP_PER_MULTI 300 /* transfers on one curl multi handle */
#define HTTP_GRACE_MS 250  /* how long a response may go on after HTTP_ENOUGH */
#define HTTP_TAIL_MS 2000  /* how long a response may fall silent after HTTP_SOON */

struct http;          /* the client: connections that are kept alive, transfers */
struct http_transfer; /* one request in flight; owned by the client, invalid after done returned */

enum http_method { HTTP_POST, HTTP_GET };

/* What a reader of the body wants next. */
enum http_next {
    HTTP_GO_ON,
    HTTP_ENOUGH, /* it has its answer: what follows is read for HTTP_GRACE_MS and thrown away, so
                    that the connection can be used again; then the transfer ends well, whatever the
                    server does */
    HTTP_SOON, /* it has its answer, and reads on: when nothing that makes it say this again comes within
                    HTTP_TAIL_MS, the transfer ends well, although the server goes on */
    HTTP_STOP, /* ends the transfer soon with class CANCELLED */
};

struct http_deadlines {
    int64_t connect_ms;    /* name, connection, TLS */
    int64_t first_byte_ms; /* from then on to the first byte of the body */
    int64_t idle_ms;       /* between two pieces of the body */
    int64_t total_ms;      /* of everything */
};

/* How a transfer ended. class NONE: the response came whole, with whatever status below 300 or from
 * 400 on. RETRY: the network, or the connect, first byte or idle deadline. TIMEOUT: the total
 * deadline. PROVIDER: repeating is no use (redirect, certificate, not HTTP, too large). CANCELLED:
 * http_abort or HTTP_STOP. */
struct http_result {
    enum err_class class;
    const char *message;                  /* for a person; "" with class NONE */
    int status;                           /* 0: no answer */
    enum { HTTP_SENT, HTTP_UNSENT } sent; /* UNSENT: there was no connection to send anything on */
    bool left;                            /* the reader had enough: the body may lack its end */
};

struct http_handlers {
    /* A piece of the body. */
    enum http_next (*data)(void *user, int status, struct str bytes);
    void (*done)(void *user, const struct http_transfer *transfer,
                 const struct http_result *result);
    void *user;
};

struct http_request {
    enum http_method method;
    struct str url;            /* http or https; no user name or password in it */
    const struct str *headers; /* "Name: value"; copied */
    size_t header_count;
    struct buf
        *body; /* its content is taken over and the buf left empty, also on failure; NULL: none */
    struct http_deadlines deadlines; /* each > 0 */
    struct http_handlers handlers;
};

/* Prepares libcurl and its TLS library: call once per process, before the first http_start, when a
 * request is to be expected (it costs milliseconds). */
int http_global_init(struct err *err) NODISCARD;
void http_global_release(void);

/* Cheap: no handle is made before the first transfer. Never NULL. */
struct http *http_new(uv_loop_t *loop);
/* Ends all transfers as if by http_abort and then the client itself; the loop must run until its
 * handles are closed. May be called from a handler. */
void http_free(struct http *http);

/* An empty buf for a request's body, with the memory of one that has left where there is some: a conversation of tens of KB is sent
 * with every turn. */
void http_body(struct http *http, size_t max, struct buf *body);
/* -1 (class CONFIG or BUG) when nothing was started: `done` will not be called. */
int http_start(struct http *http, const struct http_request *request,
               struct http_transfer **transfer, struct err *err) NODISCARD;
void http_abort(struct http_transfer *transfer);
/* A header of the response, name without regard to case; STR_NONE if it has none. For use in
 * `done`. */
struct str http_header(const struct http_transfer *transfer, const char *name);

/* The request's URL as it may be shown; lives as long as the transfer. */
struct str http_shown_url(const struct http_transfer *transfer);

/* How many curl multi handles there are, for tests and diagnostics. */
size_t http_multi_count(const struct http *http);

#endif
