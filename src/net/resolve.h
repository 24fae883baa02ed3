/* Addresses of a host name, with a deadline: the system's resolver has none and cannot be stopped, so it works on a thread of its
 * own that is left behind when nobody waits for it any longer. Blocking; any thread. */
#ifndef CADRE_NET_RESOLVE_H
#define CADRE_NET_RESOLVE_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

#define RESOLVED_MAX 8 /* addresses; more are left out */
#define RESOLVE_NAME_MAX 256

struct resolved {
    struct sockaddr_storage addresses[RESOLVED_MAX]; /* with the port */
    size_t count;                                    /* at least 1 */
};

struct resolve_wait {
    int64_t deadline_ms;          /* on CLOCK_MONOTONIC, see resolve_now_ms */
    const atomic_bool *cancelled; /* may be NULL */
};

/* How a name is looked up; tests bring their own. NOT_FOUND, TIMEOUT, CANCELLED, IO. */
struct resolver {
    int (*look_up)(void *user, const char *host, uint16_t port, const struct resolve_wait *wait,
                   struct resolved *out, struct err *err);
    void *user;
};
extern const struct resolver resolver_system;

/* Milliseconds of CLOCK_MONOTONIC. */
int64_t resolve_now_ms(void);

#endif
