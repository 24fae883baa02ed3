/* The server's end of a connection through the proxy: an address that was judged, and connected to as it was judged; with TLS where
 * the proxy itself speaks to the server. Internal to the proxy. Blocking; any thread. */
#ifndef CADRE_NET_PROXY_FAR_H
#define CADRE_NET_PROXY_FAR_H

#include "net/proxy.h"

struct proxy_far {
    int fd;    /* does not block; -1: none */
    void *tls; /* curl's handle; NULL: plain */
};

struct proxy_wait {
    int stop; /* readable: break off */
    const atomic_bool *stopping;
};

/* Waits for one of the descriptors (-1: left out) until the deadline. -1: it passed, or the proxy ends. */
struct pollfd;
int proxy_poll(const struct proxy_wait *wait, struct pollfd *polls, size_t count,
               int64_t deadline_ms);

/* Looks the name up, judges all of its addresses and connects to one of them. DENIED: one of them is not public. */
int proxy_far_open(struct proxy_far *far, const struct proxy_access *access, const char *host,
                   unsigned port, const struct proxy_wait *wait, struct err *err) NODISCARD;
/* Speaks TLS from now on, and checks the server's certificate. */
int proxy_far_secure(struct proxy_far *far, const char *host, const struct proxy_wait *wait,
                     struct err *err) NODISCARD;
/* As recv and send: -1 with EAGAIN where it must wait. */
ssize_t proxy_far_read(struct proxy_far *far, char *bytes, size_t n);
ssize_t proxy_far_write(struct proxy_far *far, const char *bytes, size_t n);
void proxy_far_close(struct proxy_far *far);

#endif
