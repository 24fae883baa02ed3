/* Server-sent events, parsed byte by byte as they arrive. Pure: no clock, no I/O.
 *
 * Lines end in LF, CR or CRLF, may be split anywhere, and may not exceed SSE_LINE_MAX. A byte order
 * mark at the start, comments and unknown fields are skipped. An event without any data field is
 * not delivered. Data is handed over as it came: it is not checked for UTF-8.
 *
 * An event that lies whole in one piece of input is delivered without a copy. The views in an event
 * live until the callback returns. */
#ifndef CADRE_NET_SSE_H
#define CADRE_NET_SSE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define SSE_LINE_MAX ((size_t)16 << 20) /* bytes, without the line's end */
#define SSE_DATA_MAX ((size_t)16 << 20) /* bytes of data in one event */
#define SSE_NAME_MAX ((size_t)1 << 10)  /* bytes of an event's type or id */

struct sse_event {
    struct str type;  /* of the event field; empty where the event has none */
    struct str data;  /* several data lines are joined by LF */
    struct str id;    /* the last id seen in the stream; empty if none */
    int64_t retry_ms; /* the last retry seen in the stream; -1 if none */
};

enum sse_next { SSE_GO_ON, SSE_STOP };
typedef enum sse_next sse_fn(void *user, const struct sse_event *event);

enum sse_state { SSE_OPEN, SSE_STOPPED, SSE_BROKEN };

/* One stream. Everything here belongs to the parser. */
struct sse {
    sse_fn *fn;
    void *user;
    enum sse_state state;
    bool first_line; /* a byte order mark may still come */
    bool skip_lf;    /* the last byte was CR: an LF that follows belongs to it */
    bool has_data;   /* a data field was seen in this event */
    struct str
        view; /* its data while it is one line of the current input; p == NULL: it is in `data` */
    struct buf line; /* a line that the last input left unfinished */
    struct buf data;
    struct buf type;
    struct buf id;
    int64_t retry_ms;
};

void sse_init(struct sse *sse, sse_fn *fn, void *user);
void sse_release(struct sse *sse);
/* Parses the bytes and calls fn for every event that they complete. After SSE_STOP the rest is
 * ignored. -1 (class RETRY) when a limit is passed, and again on every later call. */
int sse_feed(struct sse *sse, struct str bytes, struct err *err) NODISCARD;
/* The stream ended: a last line without its end counts, and so does a last event without its blank
 * line. */
int sse_finish(struct sse *sse, struct err *err) NODISCARD;

#endif
