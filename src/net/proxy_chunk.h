/* The body of a request in chunks: taken apart and put together anew, so that nothing but this body is sent on. Pure; any thread. */
#ifndef CADRE_NET_PROXY_CHUNK_H
#define CADRE_NET_PROXY_CHUNK_H

#include "base/buf.h"

enum {
    PROXY_CHUNK_LINES_MAX = 8192
}; /* bytes of a line with a size, and of all trailers together */

struct proxy_chunk {
    enum {
        CHUNK_SIZE,
        CHUNK_EXTENSION, /* behind the size */
        CHUNK_DATA,
        CHUNK_END, /* the line's end behind the data */
        CHUNK_TRAILER,
        CHUNK_DONE,
        CHUNK_BROKEN
    } state;
    uint64_t left; /* of this chunk */
    size_t lines;  /* bytes since the last data */
    size_t line;   /* bytes of this line so far */
    bool returned; /* its carriage return was there */
};

/* Reads on, appends what is to be sent, and returns how many bytes were used: fewer than given once it is DONE or BROKEN. Starts
 * zeroed. */
size_t proxy_chunk_read(struct proxy_chunk *chunk, struct str bytes, struct buf *out);

#endif
