/* Fuzzes net/sse: any bytes, whole and cut at places that the input's first bytes choose, give the
 * same events. */
#include <stdio.h>
#include <stdlib.h>

#include "net/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static enum sse_next hear(void *user, const struct sse_event *event)
{
    struct buf *log = user;
    buf_int(log, event->retry_ms);
    const struct str parts[] = {event->type, event->data, event->id};
    for (size_t i = 0; i < 3; i++) {
        buf_int(log, (int64_t)parts[i].n);
        buf_char(log, ':');
        buf_str(log, parts[i]);
    }
    return str_is(event->data, "[DONE]") ? SSE_STOP : SSE_GO_ON;
}

/* Pieces are heap copies of their exact size, so that ASan sees a byte too many. */
static int feed(struct sse *sse, const uint8_t *bytes, size_t n)
{
    struct err err = ERR_INIT;
    char *copy = malloc(n ? n : 1);
    if (!copy)
        abort();
    memcpy(copy, bytes, n);
    int result = sse_feed(sse, (struct str){copy, n}, &err);
    free(copy);
    return result;
}

static void run(const uint8_t *bytes, size_t n, uint32_t seed, size_t longest, struct buf *log)
{
    struct sse sse;
    struct err err = ERR_INIT;
    int result = 0;
    sse_init(&sse, hear, log);
    for (size_t at = 0; at < n && result == 0;) {
        seed = seed * 1664525u + 1013904223u;
        size_t piece = longest == 0 ? n : (seed >> 16) % longest + 1;
        piece = piece < n - at ? piece : n - at;
        result = feed(&sse, bytes + at, piece);
        at += piece;
    }
    if (result == 0)
        result = sse_finish(&sse, &err);
    buf_int(log, result);
    sse_release(&sse);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n < 2)
        return 0;
    struct buf whole, cut;
    buf_init(&whole, (size_t)64 << 20);
    buf_init(&cut, (size_t)64 << 20);
    run(bytes + 2, n - 2, 0, 0, &whole);
    run(bytes + 2, n - 2, bytes[0], (size_t)bytes[1] % 32 + 1, &cut);
    if (whole.failed || cut.failed || !str_eq(buf_view(&whole), buf_view(&cut)))
        abort();
    buf_release(&whole);
    buf_release(&cut);
    return 0;
}
