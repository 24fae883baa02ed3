/* Bump allocation with one owner and one release. Memory is zeroed. Running out of memory aborts the
 * process: the log is durable, so a restart is safer than an error path nobody has walked. */
#ifndef CADRE_BASE_ARENA_H
#define CADRE_BASE_ARENA_H

#include <stdint.h>

#include "base/str.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *head;
    size_t used; /* bytes handed out, for accounting */
};

void arena_init(struct arena *arena);
void arena_release(struct arena *arena); /* frees everything; the arena is as after arena_init */
/* Forgets everything, and keeps some of the memory for what comes next. */
void arena_reset(struct arena *arena);
/* The next n bytes come from one piece. */
void arena_reserve(struct arena *arena, size_t n);
void *arena_alloc(struct arena *arena, size_t size);
/* Copies are NUL-terminated behind their length. A view with p == NULL stays NULL. */
struct str arena_copy(struct arena *arena, struct str text);
struct str arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
