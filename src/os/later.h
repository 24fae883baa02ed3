/* What is done later on a loop: after some time, or after work on a pool thread. For adapters that know ports and
 * not the loop's library. Everything is called on the loop's thread, except `work`. */
#ifndef CADRE_OS_LATER_H
#define CADRE_OS_LATER_H

#include <stdint.h>

struct uv_loop_s; /* uv_loop_t */
struct later;

/* A timer that is not set. */
struct later *later_new(struct uv_loop_s *loop, void (*fire)(void *user), void *user);
/* Fires once after ms >= 0 from now, in place of an earlier time. Never from inside this call. */
void later_set(struct later *later, int64_t ms);
/* Fires no more; its memory goes when the loop has closed it. Also from inside fire. */
void later_free(struct later *later);

/* Runs work(user) on a pool thread, then after(user) on the loop. There is no way to stop it. */
void later_work(struct uv_loop_s *loop, void (*work)(void *user), void (*after)(void *user),
                void *user);

#endif
