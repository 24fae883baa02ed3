/* Bump allocation in chunks that double from nearly 1 KB to 64 KB. A request that would waste most of a chunk gets
 * one of its own, put behind the head, so that the head's free room is not lost. Pure; one thread at a time. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { LAST_CHUNK = 64 * 1024, ALIGNMENT = _Alignof(max_align_t) };

struct arena_chunk {
    struct arena_chunk *next;
    size_t size; /* of bytes */
    size_t used;
    _Alignas(max_align_t) char bytes[];
};

/* With its head as much as libc still keeps at hand for each thread; calloc never looks there. */
enum { AT_HAND = 1024, FIRST_CHUNK = AT_HAND - sizeof(struct arena_chunk) };

void arena_init(struct arena *arena)
{
    *arena = (struct arena){0};
}

void arena_release(struct arena *arena)
{
    struct arena_chunk *chunk = arena->head;
    while (chunk) {
        struct arena_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    arena_init(arena);
}

void arena_reset(struct arena *arena)
{
    struct arena_chunk *head = arena->head;
    if (!head || head->size > LAST_CHUNK) {
        arena_release(arena);
        return;
    }
    struct arena rest = {.head = head->next};
    arena_release(&rest);
    memset(head->bytes, 0, head->used);
    head->next = NULL;
    head->used = 0;
    arena->used = 0;
}

static struct arena_chunk *chunk_new(size_t size)
{
    size_t bytes = sizeof(struct arena_chunk) + size;
    struct arena_chunk *chunk = bytes <= AT_HAND ? malloc(bytes) : calloc(1, bytes);
    if (!chunk)
        abort();
    chunk->next = NULL;
    chunk->used = 0;
    chunk->size = size;
    if (bytes <= AT_HAND)
        memset(chunk->bytes, 0, size);
    return chunk;
}

static void *chunk_take(struct arena_chunk *chunk, size_t size)
{
    void *p = chunk->bytes + chunk->used;
    chunk->used += size;
    return p;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        abort();
    size_t rounded = (size + (ALIGNMENT - 1)) & ~(size_t)(ALIGNMENT - 1);
    if (rounded == 0)
        rounded = ALIGNMENT;
    arena->used += rounded;

    struct arena_chunk *head = arena->head;
    if (head && head->size - head->used >= rounded)
        return chunk_take(head, rounded);

    size_t next_size = FIRST_CHUNK;
    if (head && head->size >= FIRST_CHUNK)
        next_size = head->size < LAST_CHUNK ? head->size * 2 : LAST_CHUNK;
    if (head && rounded > next_size / 2) {
        struct arena_chunk *own = chunk_new(rounded);
        own->next = head->next;
        head->next = own;
        return chunk_take(own, rounded);
    }
    struct arena_chunk *fresh = chunk_new(rounded > next_size ? rounded : next_size);
    fresh->next = head;
    arena->head = fresh;
    return chunk_take(fresh, rounded);
}

void arena_reserve(struct arena *arena, size_t n)
{
    struct arena_chunk *head = arena->head;
    if (n > SIZE_MAX / 2)
        abort();
    if (head && head->size - head->used >= n)
        return;
    struct arena_chunk *fresh = chunk_new((n + (ALIGNMENT - 1)) & ~(size_t)(ALIGNMENT - 1));
    fresh->next = head;
    arena->head = fresh;
}

struct str arena_copy(struct arena *arena, struct str text)
{
    if (!text.p)
        return STR_NONE;
    char *p = arena_alloc(arena, text.n + 1);
    memcpy(p, text.p, text.n);
    return (struct str){p, text.n};
}

struct str arena_printf(struct arena *arena, const char *format, ...)
{
    /* Most texts are short: one pass, then a copy. */
    char text[256];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0)
        abort();
    if ((size_t)length < sizeof text)
        return arena_copy(arena, (struct str){text, (size_t)length});
    char *p = arena_alloc(arena, (size_t)length + 1);
    va_start(args, format);
    vsnprintf(p, (size_t)length + 1, format, args);
    va_end(args);
    return (struct str){p, (size_t)length};
}
