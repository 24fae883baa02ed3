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
};

/* Once in a process, before any store is opened: SQLite need not count its memory, which takes a lock each time. */
void sqlite_store_prepare(void);
/* *store belongs to the caller, who ends it with store->ops->close(store). The config is copied. */
int sqlite_store_open(const struct sqlite_store_config *config, struct store **store,
                      struct err *err) NODISCARD;

#endif
