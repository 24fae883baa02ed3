/* A new file that grows at its end, written by a thread of its own: whoever adds to it never waits for a disk. What is
 * added together is kept together: after a failed write the file ends with the last piece that was written whole. */
#ifndef CADRE_OS_APPENDER_H
#define CADRE_OS_APPENDER_H

#include "base/buf.h"
#include "base/err.h"

struct appender;

/* Creates the file (mode 0600); refuses one that exists, a link included. pending_max: bytes that may wait. */
int appender_open(const char *path, size_t pending_max, struct appender **appender,
                  struct err *err) NODISCARD;
/* Queues a piece. -1 (IO): an earlier write failed, or too much waits; then nothing more is taken. */
int appender_add(struct appender *appender, struct str piece, struct err *err) NODISCARD;
/* Waits until all is written (at most 30 seconds), closes, frees. -1 (IO): not everything is in the file, and no
 * appender_add has said so. */
int appender_close(struct appender *appender, struct err *err) NODISCARD;

#endif
