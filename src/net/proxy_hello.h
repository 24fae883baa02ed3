/* The server name that a TLS client asks for, from the first bytes that it sends. Pure; any thread. */
#ifndef CADRE_NET_PROXY_HELLO_H
#define CADRE_NET_PROXY_HELLO_H

#include "base/hostrule.h"

enum { PROXY_HELLO_MAX = 32768 }; /* bytes within which a ClientHello must end */

enum proxy_hello {
    HELLO_MORE,    /* it is not complete yet */
    HELLO_NAMED,   /* it names one host */
    HELLO_UNNAMED, /* it names none */
    HELLO_HIDDEN,  /* it hides the name it asks for (encrypted client hello) */
    HELLO_NOT_TLS, /* it is not a ClientHello, or a broken one */
};

/* `name` is set, in small letters, where it says NAMED. */
enum proxy_hello proxy_hello_read(struct str bytes, char name[HOST_NAME_MAX_BYTES + 1]);

#endif
