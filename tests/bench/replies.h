/* The answers of the fast server, as the bytes that go over the wire: HTTP head and chunked events of a streamed
 * chat completion. Made once, sent many times. */
#ifndef CADRE_TESTS_BENCH_REPLIES_H
#define CADRE_TESTS_BENCH_REPLIES_H

#include <stddef.h>

#include "base/buf.h"

#define REPLY_CALLS_MAX 128 /* of a lead */
#define WAVE_MAX 16384      /* calls that cadre takes from one reply */

struct shape {
    size_t children; /* leaves of the whole run */
    size_t leads;    /* 0: the root starts the leaves itself, in waves; else so many leads do */
    size_t wave;     /* leaves that the root starts with one reply */
    size_t turns;    /* replies of a leaf that call a tool, before its last one */
    enum shape_calls { CALLS_FILES, CALLS_PROGRAMS } calls; /* what leaves do in their turns */
    const char *context_file; /* given to each leaf as its context; NULL: none */
};

struct replies;

/* NULL when the shape is too large. */
struct replies *replies_new(const struct shape *shape);
void replies_free(struct replies *replies);

/* kind: the first letters of the first user message: root, lead or leaf. assistants: how many replies it has had
 * before. share: how many leaves a lead starts. NULL for what the shape does not know. */
const struct buf *replies_find(struct replies *replies, struct str kind, size_t assistants,
                               size_t share);
/* Whether this is the reply that ends the run. */
bool replies_is_last(const struct replies *replies, struct str kind, size_t assistants);

#endif
