/* A server on a loopback port that answers as badly as a test wants: it reads requests and writes
 * raw bytes, one thread per connection. For tests of clients that run in the same process. */
#ifndef CADRE_TESTS_UNIT_LOOPBACK_H
#define CADRE_TESTS_UNIT_LOOPBACK_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/str.h"

/* What a connection does after its answer was written. */
enum loopback_then {
    LOOPBACK_KEEP, /* waits for the next request */
    LOOPBACK_HOLD, /* says nothing more until the client goes */
    LOOPBACK_CLOSE,
    LOOPBACK_RESET, /* closes with RST */
    LOOPBACK_DRIP,  /* sends a comment line as a chunk again and again, until the client goes */
    LOOPBACK_FLOOD, /* sends as fast as it can, until the client goes */
};

struct loopback_route {
    const char *path; /* what the request line holds between its spaces; "tls" for a TLS greeting */
    struct str answer; /* raw bytes, head included */
    enum loopback_then then;
};

struct loopback; /* the server */

/* routes: ends with path NULL; must outlive the server. A request for any other path is answered
 * with its own bytes. */
struct loopback *loopback_start(const struct loopback_route *routes);
/* Waits for all connections: the client must have closed its own. */
void loopback_stop(struct loopback *server);
int loopback_port(const struct loopback *server);
int loopback_accepted(const struct loopback *server); /* connections so far */
/* The last request's bytes, NUL-terminated and cut to size. */
void loopback_last(struct loopback *server, char *out, size_t size);
/* A loopback port that nobody listens on. */
int loopback_dead_port(void);

#endif
