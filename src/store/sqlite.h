/* The store on SQLite: one file in WAL mode, shared by any number of processes. Implements port/store.h.
 *
 * Besides the port's promises: a missing directory is created (0700), the file is made with mode 0600; an
 * existing store is opened without any schema work. A callback must not use the handle that called it (class
 * BUG where it is noticed). A handle must not be carried across fork(). */
#ifndef CADRE_STORE_SQLITE_H
#define CADRE_STORE_SQLITE_H

#include "port/store.h"

struct sqlite_store_config {
    const char *path;     /* of the database file */
    int busy_ms;          /* how long a lock held by another process is waited for */
    const char *vfs;      /* SQLite's file layer; NULL: the default one */
    int checkpoint_pages; /* pages in the log that set off a checkpoint; 0: SQLite's default */
    /* Leases are compared on the clock that counts from the machine's start (CLOCK_BOOTTIME); one of
     * another start has run out. Empty: not known, and leases are compared by wall time. */
    struct str boot_id;
    /* What is added to times of that clock to show them as wall time. Constant for a process, so
     * that two times of one owner keep their distance when somebody sets the clock. */
    int64_t wall_at_boot;
    /* READS: a store that is not there is NOT_FOUND, and one that this user cannot write is opened for reading. */
    enum { SQLITE_STORE_WRITES, SQLITE_STORE_READS } use;
};

/* Once in a process, before any store is opened: SQLite need not count its memory, which takes a lock each time. */
void sqlite_store_prepare(void);
/* *store belongs to the caller, who ends it with store->ops->close(store). The config is copied. */
int sqlite_store_open(const struct sqlite_store_config *config, struct store **store,
                      struct err *err) NODISCARD;

#endif
