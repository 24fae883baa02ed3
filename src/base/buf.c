/* The growing byte buffer. Memory doubles up to the maximum, while it is small it quadruples; one byte more is kept for the NUL.
 * A failed buffer stays as it was: nothing half-appended is ever seen. Pure; any thread, one at a time. */
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 64, LARGE_CAPACITY = 4096 };

void buf_init(struct buf *buf, size_t max)
{
    *buf = (struct buf){.max = max};
}

void buf_release(struct buf *buf)
{
    size_t max = buf->max;
    free(buf->p);
    buf_init(buf, max);
}

void buf_clear(struct buf *buf)
{
    buf->n = 0;
    buf->failed = false;
    if (buf->p)
        buf->p[0] = '\0';
}

/* Makes room for n bytes and the NUL behind them; false sets `failed`. */
static bool buf_grow(struct buf *buf, size_t n)
{
    if (buf->failed)
        return false;
    if (buf->n > buf->max || n > buf->max - buf->n || buf->n + n == SIZE_MAX) {
        buf->failed = true;
        return false;
    }
    size_t need = buf->n + n + 1;
    if (need <= buf->capacity)
        return true;
    size_t limit = buf->max == SIZE_MAX ? SIZE_MAX : buf->max + 1;
    size_t capacity = buf->capacity ? buf->capacity : FIRST_CAPACITY;
    while (capacity < need) {
        size_t factor = capacity < LARGE_CAPACITY ? 4 : 2;
        capacity = capacity > limit / factor ? limit : capacity * factor;
    }
    if (capacity > limit)
        capacity = limit;
    char *p = realloc(buf->p, capacity);
    if (!p) {
        buf->failed = true;
        return false;
    }
    buf->p = p;
    buf->capacity = capacity;
    return true;
}

void buf_add_growing(struct buf *buf, const void *bytes, size_t n)
{
    if (!buf_grow(buf, n))
        return;
    if (n > 0)
        memcpy(buf->p + buf->n, bytes, n);
    buf->n += n;
    buf->p[buf->n] = '\0';
}

void buf_int(struct buf *buf, int64_t number)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0)
        digits[--at] = '-';
    buf_add(buf, digits + at, sizeof digits - at);
}

void buf_vprintf(struct buf *buf, const char *format, va_list args)
{
    /* Nearly always the text fits into the room that is there, and is formatted once. */
    size_t room = buf->failed ? 0 : buf->capacity - buf->n;
    char *end = room > 0 ? buf->p + buf->n : NULL;
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(end, room, format, again);
    va_end(again);
    if (length >= 0 && (size_t)length < room) {
        buf->n += (size_t)length;
        return;
    }
    if (end)
        *end = '\0';
    if (length < 0)
        buf->failed = true;
    if (length < 0 || !buf_grow(buf, (size_t)length))
        return;
    vsnprintf(buf->p + buf->n, (size_t)length + 1, format, args);
    buf->n += (size_t)length;
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_vprintf(buf, format, args);
    va_end(args);
}

void buf_expect(struct buf *buf, size_t n)
{
    if (buf->failed || n >= buf->max || n < buf->capacity)
        return;
    char *p = realloc(buf->p, n + 1);
    if (!p)
        return; /* it grows when it must */
    buf->p = p;
    buf->capacity = n + 1;
    buf->p[buf->n] = '\0';
}

char *buf_reserve(struct buf *buf, size_t n)
{
    if (!buf_grow(buf, n))
        return NULL;
    /* Zeroed, so that whatever part the caller fills is followed by a NUL. */
    memset(buf->p + buf->n, 0, n + 1);
    return buf->p + buf->n;
}
