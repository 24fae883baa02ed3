/* Fuzzes net/retry_after: the wait is in its bounds or there is none, it never grows with the time, spaces around a value mean
 * nothing, and a readable retry-after-ms wins. The input's first eight bytes are the time, then come Retry-After, NUL and
 * retry-after-ms. */
#include <stdlib.h>

#include "base/buf.h"
#include "net/retry_after.h"

#define NOW_MAX 4102444800000 /* 2100 */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static int64_t wait_of(struct str header, struct str header_ms, int64_t now)
{
    int64_t ms = retry_after_ms(header, header_ms, now);
    require(ms >= -1 && ms <= RETRY_AFTER_MAX_MS);
    return ms;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    uint64_t time;
    if (n < sizeof time)
        return 0;
    memcpy(&time, bytes, sizeof time);
    n -= sizeof time;
    char *copy = malloc(n > 0 ? n : 1); /* of its own, so that a byte too far is noticed */
    require(copy != NULL);
    memcpy(copy, bytes + sizeof time, n);
    const char *end = n > 0 ? memchr(copy, '\0', n) : NULL;
    size_t first = end ? (size_t)(end - copy) : n;
    struct str header = {copy, first}, header_ms = STR_NONE;
    if (end)
        header_ms = (struct str){end + 1, n - first - 1};
    int64_t now = (int64_t)(time % NOW_MAX), ms = wait_of(header, header_ms, now);
    int64_t later = wait_of(header, header_ms, now + 1000);
    require((ms < 0) == (later < 0) && later <= ms);
    int64_t alone = wait_of(STR_NONE, header_ms, now);
    require(alone < 0 || alone == ms);
    struct buf spaced;
    buf_init(&spaced, n + 8);
    buf_text(&spaced, " \t");
    buf_str(&spaced, header);
    buf_text(&spaced, "\t ");
    require(wait_of(buf_view(&spaced), header_ms, now) == ms);
    buf_release(&spaced);
    free(copy);
    return 0;
}
