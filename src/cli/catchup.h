/* The events of a run on their way to a reader that may be slow. While the reader keeps up, each event
 * is printed as it becomes durable. When the output is full, events are no longer printed but only
 * counted: they are in the store. Once there is room, they are read back from it, on libuv's pool, and
 * printed in order, until the reader is up to date again. So every event is printed exactly once, and
 * memory is bounded. Loop thread. */
#ifndef CADRE_CLI_CATCHUP_H
#define CADRE_CLI_CATCHUP_H

#include <uv.h>

#include "base/arena.h"
#include "base/id.h"
#include "cli/output.h"
#include "port/store.h"

#define CATCHUP_ROWS 256                  /* read back at once, at most, */
#define CATCHUP_BYTES ((size_t)256 << 10) /* and about this much */

struct catchup {
    /* Set by the caller, before the first event. */
    uv_loop_t *loop;
    struct output *output;
    struct store_opener opener; /* called on a thread of the pool */
    struct id run_id;
    void (*print)(void *user, const struct event_row *row);
    void *user;

    /* FAILED: what was missed could not be read back; `err` says why, nothing is printed any more. */
    enum { CATCHUP_LIVE, CATCHUP_BEHIND, CATCHUP_READING, CATCHUP_FAILED } state;
    uint64_t printed, latest; /* seq of the last event that was printed, and that there is */
    uv_work_t work;
    struct store *store; /* opened when it is first needed */
    struct arena arena;  /* of the rows that were read */
    struct event_row rows[CATCHUP_ROWS];
    size_t count;
    struct err err;
};

/* An event is durable: prints it, or leaves it for later. */
void catchup_event(struct catchup *catchup, const struct event_row *row);
/* The output may have room again: goes on where it stopped. */
void catchup_go_on(struct catchup *catchup);
/* Closes the store. Not while it is READING: run the loop until it is not. */
void catchup_close(struct catchup *catchup);

#endif
