/* Wakes suspended connections when their time has come. One thread of its own; waker_add may be called from any. */
#ifndef CADRE_SCRIPTED_WAKER_H
#define CADRE_SCRIPTED_WAKER_H

#include <stdint.h>

#include "base/err.h"

struct waker;
struct MHD_Connection;

int waker_start(struct waker **waker, struct err *err) NODISCARD;
/* Resumes the connection, which is suspended already, after that many milliseconds: once, whatever happens. When the
 * waker has been told to finish it does so at once. */
void waker_add(struct waker *waker, struct MHD_Connection *connection, int64_t milliseconds);
/* Resumes everything that waits and ends the thread. waker_add stays allowed until waker_free. */
void waker_finish(struct waker *waker);
void waker_free(struct waker *waker); /* NULL is fine */

#endif
