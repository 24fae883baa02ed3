/* Private to the HTTP client: the client and one transfer. http.c has their lives, http_handle.c what a curl handle is told. */
#ifndef CADRE_NET_HTTP_TRANSFER_H
#define CADRE_NET_HTTP_TRANSFER_H

#include <curl/curl.h>

#include "net/http.h"
#include "net/http_explain.h"
#include "net/http_pool.h"

#define HTTP_SPARE_BODIES 32

struct http {
    struct http_pool pool;           /* first: the pool's callbacks get the client from it */
    struct http_transfer *transfers; /* doubly linked, newest first */
    struct http_transfer
        *spares; /* linked by next: preparing a handle costs as much as a request */
    size_t spare_count;
    struct buf bodies[HTTP_SPARE_BODIES]; /* empty, with the memory of bodies that have left */
    size_t body_count;
    char *authorities; /* file of SSL_CERT_FILE, or NULL: the system's */
    enum { CLIENT_OPEN, CLIENT_CLOSING, CLIENT_CLOSED } state;
    /* The last URL, checked: thousands of requests go to the same one. */
    struct buf url_text;
    struct http_url url;
};

enum phase {
    PHASE_CONNECT,
    PHASE_FIRST_BYTE,
    PHASE_BODY,
    PHASE_TAIL,
    PHASE_GRACE,
    PHASE_ENDING,
    PHASE_ENDED
};

struct http_transfer {
    struct http *http;
    struct http_multi *multi;
    struct http_transfer *next, *previous;
    CURL *easy;
    /* What the handle was told last: the URL, and the header lines one after the other. */
    struct buf url_set, headers_set;
    struct curl_slist *headers;
    struct buf body; /* until it has left */
    bool posts;      /* it had one */
    struct http_deadlines deadlines;
    struct http_handlers handlers;
    struct http_url url;
    uv_timer_t timer;
    uint64_t armed; /* loop time for which the timer was armed */
    enum phase phase;
    uint64_t started,
        active; /* loop time of the start, and of the phase's start or last piece of body */
    size_t header_bytes, body_bytes;
    int status;
    bool connected;      /* a request went out on a connection */
    bool established;    /* the connection it has now is complete */
    bool left;           /* as in struct http_result */
    struct err *failure; /* NULL until something decided how this ends */
    char detail[CURL_ERROR_SIZE];
};

/* Where to say how it ends. */
struct err *transfer_failure(struct http_transfer *transfer);

/* curl's callbacks: they take notes and never end a transfer. */
int http_on_opened(void *transfer, curl_socket_t fd, curlsocktype purpose);
int http_on_connected(void *transfer, char *ip, char *local_ip, int port, int local_port);
size_t http_on_header(char *bytes, size_t size, size_t count, void *transfer);
size_t http_on_data(char *bytes, size_t size, size_t count, void *transfer);

/* http_handle.c: the handle of a new transfer, and for each request what differs from its last one. */
int handle_prepare(struct http_transfer *transfer, struct err *err);
int handle_set_request(struct http_transfer *transfer, const struct http_request *request,
                       struct err *err);
void handle_forget_headers(struct http_transfer *transfer); /* they may be secrets */

#endif
