/* The heads of messages that pass the proxy: what a command asks for, in HTTP/1.1's forms for proxies, and what a server answers.
 * Strict: whatever two readers could understand differently is refused. Views into the bytes given. Pure; any thread. */
#ifndef CADRE_NET_PROXY_REQUEST_H
#define CADRE_NET_PROXY_REQUEST_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hostrule.h"

enum {
    PROXY_HEAD_MAX = 65536,
    PROXY_HEADERS_MAX = 128,
    PROXY_PORT_TLS = 443,
    PROXY_PORT_PLAIN = 80
};

struct proxy_header {
    struct str name, value;
};

struct proxy_request {
    enum { PROXY_TUNNEL, PROXY_PLAIN } kind; /* CONNECT; any other method */
    struct str method;
    struct str asked;                   /* the host as it was written, for messages */
    char host[HOST_NAME_MAX_BYTES + 1]; /* small letters */
    unsigned port;
    struct str path; /* what the server is asked for: "/…", "?…" or empty */
    enum { BODY_NONE, BODY_LENGTH, BODY_CHUNKED } body;
    uint64_t length;
    /* Of the message itself: without those of one connection, Host, and what frames the body. */
    struct proxy_header headers[PROXY_HEADERS_MAX];
    size_t header_count;
};

/* Bytes of the head with its empty line; 0: it is not complete yet. */
size_t proxy_head_end(struct str bytes);
/* USAGE: it cannot be understood; DENIED: an address in place of a name, or a port that is not open. `asked` and `port` are set
 * as far as they were read, also after -1. */
int proxy_request_read(struct str head, struct proxy_request *request, struct err *err) NODISCARD;
/* The request for the server, over a connection that serves nothing else. `added` replace headers of the same name. */
void proxy_request_print(const struct proxy_request *request, const struct proxy_header *added,
                         size_t added_count, struct buf *out);
/* The answer's head for the command, without headers of one connection; *status: its code. PROVIDER: it cannot be understood. */
int proxy_answer_print(struct str head, int *status, struct buf *out, struct err *err) NODISCARD;

#endif
