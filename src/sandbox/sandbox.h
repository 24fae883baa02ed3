/* The sandbox of this machine: implements port/sandbox.h with namespaces, Landlock and seccomp, through a launcher that is embedded
 * in this program. One for a process; any number of threads may run commands in it at once. */
#ifndef CADRE_SANDBOX_SANDBOX_H
#define CADRE_SANDBOX_SANDBOX_H

#include "net/proxy.h"
#include "port/sandbox.h"
#include "sandbox/message.h"

struct sandbox;

/* From the operator's config. Views live until sandbox_close. */
struct sandbox_options {
    bool off[LAUNCH_WALL_COUNT];   /* walls that were turned off by name */
    struct sandbox_limits limits;  /* 0: built in */
    const struct str *environment; /* names of variables that commands may see */
    size_t environment_count;
    const struct str *shown; /* further absolute paths that commands may read */
    size_t shown_count;
    struct str relay; /* absolute path of the socket to which a relay leads; empty: there is none */
    int64_t relay_port;         /* also of the proxy for hosts by name */
    struct proxy_access access; /* what that proxy knows besides names */
};

/* "namespaces": the name of a wall's switch. */
const char *sandbox_wall_name(enum launch_wall wall);

struct sandbox *sandbox_open(const struct sandbox_options *options);
void sandbox_close(struct sandbox *sandbox);
const struct sandbox_port *sandbox_port(const struct sandbox *sandbox);

#endif
