/* See proxy_chunk.h. Extensions and trailers are dropped. */
#include "net/proxy_chunk.h"

enum { SIZE_DIGITS_MAX = 15 };

static int hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* A byte of a line that is neither of its end. */
static void read_line_byte(struct proxy_chunk *chunk, char c)
{
    int value = hex_value(c);
    chunk->line++;
    if (chunk->state == CHUNK_SIZE && value >= 0 && chunk->line <= SIZE_DIGITS_MAX)
        chunk->left = chunk->left << 4 | (uint64_t)value;
    else if (chunk->state == CHUNK_SIZE && c == ';' && chunk->line > 1)
        chunk->state = CHUNK_EXTENSION;
    else if (chunk->state == CHUNK_SIZE || chunk->state == CHUNK_END)
        chunk->state = CHUNK_BROKEN;
}

static void end_line(struct proxy_chunk *chunk, struct buf *out)
{
    size_t n = chunk->line;
    chunk->line = 0;
    chunk->returned = false;
    if (chunk->state == CHUNK_END) {
        chunk->state = CHUNK_SIZE;
        chunk->left = 0;
    } else if (chunk->state == CHUNK_TRAILER) {
        if (n > 0)
            return;
        chunk->state = CHUNK_DONE;
        buf_text(out, "0\r\n\r\n");
    } else if (n == 0) {
        chunk->state = CHUNK_BROKEN; /* no size */
    } else {
        chunk->state = chunk->left > 0 ? CHUNK_DATA : CHUNK_TRAILER;
    }
}

static size_t read_data(struct proxy_chunk *chunk, struct str bytes, struct buf *out)
{
    size_t n = bytes.n < chunk->left ? bytes.n : (size_t)chunk->left;
    buf_printf(out, "%zx\r\n", n);
    buf_add(out, bytes.p, n);
    buf_text(out, "\r\n");
    chunk->left -= n;
    chunk->lines = 0;
    if (chunk->left == 0)
        chunk->state = CHUNK_END;
    return n;
}

size_t proxy_chunk_read(struct proxy_chunk *chunk, struct str bytes, struct buf *out)
{
    size_t used = 0;
    while (used < bytes.n && chunk->state != CHUNK_DONE && chunk->state != CHUNK_BROKEN) {
        char c = bytes.p[used];
        if (chunk->state == CHUNK_DATA) {
            used += read_data(chunk, (struct str){bytes.p + used, bytes.n - used}, out);
            continue;
        }
        used++;
        if (++chunk->lines > PROXY_CHUNK_LINES_MAX || (chunk->returned && c != '\n') ||
            (!chunk->returned && c == '\n'))
            chunk->state = CHUNK_BROKEN;
        else if (c == '\n')
            end_line(chunk, out);
        else if (c == '\r')
            chunk->returned = true;
        else
            read_line_byte(chunk, c);
    }
    return used;
}
