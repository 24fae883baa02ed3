/* A ClientHello as TLS clients send it, for tests of the proxy. */
#ifndef CADRE_TESTS_UNIT_HELLO_H
#define CADRE_TESTS_UNIT_HELLO_H

#include "base/buf.h"

struct hello {
    const char *name; /* NULL: no server_name */
    bool hidden;      /* with an encrypted client hello */
    bool twice;       /* server_name is there twice */
    size_t piece;     /* bytes of a record; 0: all in one */
};

void hello_make(struct buf *out, struct hello hello);

#endif
