/* What the files of measure*.c share while a server is being measured. */
#ifndef CADRE_CLI_MEASURING_H
#define CADRE_CLI_MEASURING_H

#include "base/json.h"
#include "cli/measure.h"

struct measuring {
    const struct measure_request *request;
    struct measurement *out;
    char root[256];   /* the address without "/v1": where servers have their own paths */
    int64_t deadline; /* monotonic milliseconds */
    char why[200];    /* why the last thing that was asked has no answer */
    size_t answer_max;
    unsigned nonce; /* makes each prompt new to the server's cache */
};

__attribute__((format(printf, 2, 3))) void fact_unknown(struct fact *fact, const char *format, ...);
__attribute__((format(printf, 3, 4))) void fact_set(struct fact *fact, int64_t value,
                                                    const char *format, ...);

/* How many more requests there may be. */
int measuring_left(const struct measuring *m);
/* Sends them all at once; -1 (and `why`) when they would pass a bound. */
int measuring_send(struct measuring *m, struct fetch *fetches, size_t count);
/* A JSON document from this path under root; body NULL: GET. NULL, and `why`, when there is none. */
struct js *measuring_json(struct measuring *m, const char *base, const char *path,
                          const struct buf *body);

/* A streamed chat request with one user message. */
enum { ASK_MS = 60000 };
void chat_body(const struct measuring *m, struct buf *body, int64_t max_tokens, size_t words);

/* What a streamed answer was. Times are in microseconds since the start; -1: there was none. */
struct stream {
    int64_t first_us, last_us;
    int64_t pieces; /* with text in them */
    int64_t prompt_tokens, output_tokens;
    double read_rate, write_rate; /* as the server says, tokens a second; 0: it does not */
    char why[200];                /* with pieces 0 */
};
void stream_read(const struct fetch *fetch, struct stream *stream);

/* What a server says of itself, then what it can be brought to say. */
void measure_window(struct measuring *m, const struct js *models);
void measure_window_listed(struct measuring *m, const struct js *models); /* from the list alone */
void measure_window_loaded(struct measuring *m);
void measure_window_probe(struct measuring *m);
void measure_speed(struct measuring *m);
void measure_slots(struct measuring *m);

#endif
