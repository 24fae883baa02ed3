/* Admission of effects by the descriptors that they may need at once. A process has RLIMIT_NOFILE of them; what would open one too
 * many fails in the middle of its work. So an effect starts only while its need fits beside those of the effects that run, and waits
 * in order otherwise. Pure: it counts what it is told and opens nothing.
 *
 * Threads: one. Ownership: a ticket is the caller's memory, and stays where it is from admission_enter to admission_leave or
 * admission_withdraw. */
#ifndef CADRE_ENGINE_ADMISSION_H
#define CADRE_ENGINE_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>

/* --- how a limit is shared out ---------------------------------------------------------------- */

/* The most descriptors of this process that one effect has open at a time. Counted with strace; a test runs all of them with a limit
 * of 64. */
#define DESCRIPTORS_BRIEF 8    /* a file tool: the tree, a walk some directories deep, a file */
#define DESCRIPTORS_COMMAND 24 /* pipes, and what is handed to the launcher, before and after */
#define DESCRIPTORS_NAMES 96   /* and connections of its proxy to hosts by name: 48, two each */

struct descriptor_shares {
    size_t brief;       /* for brief tools, all together */
    size_t work;        /* for long ones: commands, trees, merges, the network */
    size_t scopes;      /* trees that stay open between their agents' calls */
    size_t connections; /* requests to models at once */
};
#define DESCRIPTORS_ALL SIZE_MAX

/* What more than this would not be used. */
size_t descriptors_wanted(size_t connections);
/* Shares out `limit`, of which `open` are in use before there is an engine. Every share but `scopes` is at least 1, however low the
 * limit is: one effect at a time is always tried. */
struct descriptor_shares descriptors_share(size_t limit, size_t open, size_t connections);

/* --- who may start ----------------------------------------------------------------------------- */

struct admission_ticket {
    struct admission_ticket *next, **at; /* while it waits */
    size_t need;
    enum { TICKET_NONE, TICKET_WAITS, TICKET_INSIDE } state;
};

struct admission {
    size_t most;         /* descriptors */
    size_t used, inside; /* descriptors, and the effects that have them */
    struct admission_ticket *first, **last;
};

void admission_init(struct admission *admission, size_t most);
/* True: it may start now. False: it waits behind those who came before it. A need above `most` starts when nothing else is inside. */
bool admission_enter(struct admission *admission, struct admission_ticket *ticket, size_t need);
/* Ends one that was inside. The caller then starts those that admission_next hands out. */
void admission_leave(struct admission *admission, struct admission_ticket *ticket);
/* The first that waits, if it fits now: it is inside. NULL: nobody, or not yet. */
struct admission_ticket *admission_next(struct admission *admission);
/* One that waits will not come in. The caller then calls admission_next: it may have stood in the way. */
void admission_withdraw(struct admission *admission, struct admission_ticket *ticket);

#endif
