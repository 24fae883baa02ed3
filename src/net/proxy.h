/* The proxy of commands that reach hosts by name: CONNECT to port 443 and http:// to port 80, for names that the contract allows.
 * It resolves a name itself, judges every address, and connects to what it judged; over TLS the name that the client asks for must
 * be the one that was allowed. One proxy serves one command (or lasting program): it knows whose connections these are, and it ends
 * with the command. The listener and each connection have threads of their own. */
#ifndef CADRE_NET_PROXY_H
#define CADRE_NET_PROXY_H

#include "net/resolve.h"
#include "port/sandbox.h"

enum { PROXY_CONNECTIONS_MAX = 48 }; /* of one command at once */

/* What the operator's config says besides names. Views live as long as the proxies do. */
struct proxy_access {
    const struct str *private_hosts; /* host rules: their addresses need not be public */
    size_t private_count;
    const struct proxy_address {
        struct str host;
        struct sockaddr_storage address; /* port 0: the usual one */
    } * addresses;
    size_t address_count;
    /* Headers for hosts; http:// to such a host leaves over TLS. */
    const struct proxy_credential {
        struct str host, name, value;
        struct str problem; /* why there is no value; or empty */
    } * credentials;
    size_t credential_count;
    const struct resolver *resolver; /* NULL: the system's */
    int64_t head_ms;                 /* for a request's head and a ClientHello; 0: built in */
};

struct proxy;

/* network: a contract's text, "allow …". Starts to listen on a unix socket without a name. */
struct proxy *proxy_open(const struct proxy_access *access, struct str network, struct err *err);
/* O_PATH: where a client connects to, through /proc/self/fd. */
int proxy_place(const struct proxy *proxy);
/* Breaks what is under way off, waits for its threads, and tells what was reached and refused. */
void proxy_close(struct proxy *proxy, struct sandbox_contacts *contacts);

#endif
