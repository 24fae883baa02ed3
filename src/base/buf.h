/* A growing byte buffer that is born with a maximum. Appending past the maximum (or out of memory) sets
 * `failed` and changes nothing more: check `failed` once at the end. The content is always followed by a
 * NUL that is not counted, so `p` can be given to C functions once something was appended. */
#ifndef CADRE_BASE_BUF_H
#define CADRE_BASE_BUF_H

#include <stdarg.h>
#include <stdint.h>

#include "base/str.h"

struct buf {
    char *p;
    size_t n;
    size_t capacity;
    size_t max;
    bool failed;
};

void buf_init(struct buf *buf, size_t max);
void buf_release(struct buf *buf); /* frees the content; the buf is as after buf_init */
void buf_clear(struct buf *buf);   /* length 0 and not failed; keeps the memory */
void buf_add_growing(struct buf *buf, const void *bytes, size_t n); /* buf_add's other half */
/* Everything that is printed passes through here: where there is room, it is a copy and no more. */
static inline void buf_add(struct buf *buf, const void *bytes, size_t n)
{
    if (buf->failed || n >= buf->capacity - buf->n) {
        buf_add_growing(buf, bytes, n);
        return;
    }
    if (n > 0)
        memcpy(buf->p + buf->n, bytes, n);
    buf->n += n;
    buf->p[buf->n] = '\0';
}
static inline void buf_str(struct buf *buf, struct str text)
{
    buf_add(buf, text.p, text.n);
}
static inline void buf_text(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}
static inline void buf_char(struct buf *buf, char c)
{
    buf_add(buf, &c, 1);
}
void buf_int(struct buf *buf, int64_t number);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *buf, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/* The content will have about n bytes in all: takes that much memory at once, and no more. */
void buf_expect(struct buf *buf, size_t n);
/* Room for at least n more bytes at buf->p + buf->n, or NULL; the caller writes and adds to buf->n. */
char *buf_reserve(struct buf *buf, size_t n);
static inline struct str buf_view(const struct buf *buf)
{
    return (struct str){buf->p ? buf->p : "", buf->n};
}

#endif
