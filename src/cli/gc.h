/* What `cadre gc` removes, and what it leaves: decided from the store and from who lives, done through version control. Blocking. */
#ifndef CADRE_CLI_GC_H
#define CADRE_CLI_GC_H

#include "cli/history.h"
#include "port/vcs.h"

struct gc_checkout {
    const struct vcs_left *left;
    const char *action; /* removed, would remove, kept, failed */
    const char *reason;
};

struct gc_counts {
    size_t removed, kept, failed; /* checkouts; of a dry run: that would be */
    size_t forgotten;             /* runs whose private refs are gone */
    size_t sockets;
};

struct gc {
    struct history *history;
    enum { GC_LOOKS, GC_REMOVES } how;
    enum { GC_KEEPS_ABANDONED, GC_TAKES_ABANDONED } abandoned;
    int64_t ended_before; /* private refs of runs that ended before this are removed */
    void (*told)(void *user, const struct gc_checkout *checkout);
    void *user;
    struct gc_counts counts;
};

/* A checkout that cannot be removed is told of and counted; the rest goes on. */
int gc_collect(struct gc *gc, struct err *err) NODISCARD;

#endif
