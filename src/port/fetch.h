/* Single HTTP exchanges for a command that looks at a server, several at once where it wants to see how they go together.
 * Blocking: for commands, before or after their loop. What comes back is whatever the server sent, up to a bound. */
#ifndef CADRE_PORT_FETCH_H
#define CADRE_PORT_FETCH_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum { FETCH_MARKS_MAX = 1024 };

/* By `at_us` the answer's first `end` bytes had come. */
struct fetch_mark {
    size_t end;
    int64_t at_us; /* since the start of all */
};

struct fetch {
    /* What is asked. */
    struct str url;
    struct str api_key;        /* empty: none is sent */
    const struct str *headers; /* "Name: value", besides */
    size_t header_count;
    struct str body;  /* JSON, sent with POST; p == NULL: GET */
    int64_t total_ms; /* > 0 */
    size_t answer_max;
    enum {
        FETCH_WHOLE,
        FETCH_FIRST_EVENT
    } until; /* FIRST_EVENT: enough of a stream that has begun */

    /* What came. The caller releases the answer. */
    enum err_class class
        ; /* NONE: it came, with whatever status; PROVIDER too for an answer past the bound */
    char message[256]; /* for a person, with every other class */
    int status;        /* 0: no answer */
    struct buf answer;
    struct fetch_mark marks[FETCH_MARKS_MAX]; /* later pieces count for the last one */
    size_t mark_count;
};

/* Does all of them at once and returns when the last has ended. -1: nothing could be asked. */
typedef int fetch_fn(struct fetch *fetches, size_t count, struct err *err);

#endif
