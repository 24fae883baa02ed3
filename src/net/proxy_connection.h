/* One connection of a command through the proxy, from its request to its end. Internal to the proxy. Blocking: a thread of its
 * own. */
#ifndef CADRE_NET_PROXY_CONNECTION_H
#define CADRE_NET_PROXY_CONNECTION_H

#include "net/proxy.h"
#include "net/proxy_request.h"

struct proxy_connection {
    const struct proxy_access *access;
    struct str network; /* "allow …" */
    int near;           /* the command's end; does not block */
    int stop;           /* readable: break off */
    const atomic_bool *stopping;
    /* what came of it */
    struct sandbox_contact contact;
};

/* Serves it, and leaves `near` open. */
void proxy_connection_serve(struct proxy_connection *connection);

#endif
