/* Attacks on the sandbox that must fail, each with a harmless twin that must work: a wall that also stops the twin proves nothing.
 * One table serves the unit tests, `cadre doctor` and docs/security.md.
 *
 * Both halves are shell scripts (with Perl for bare system calls) that run confined, in a room that is laid out for them: an
 * attack that ends with status 0 has got through. */
#ifndef CADRE_SANDBOX_PROBE_H
#define CADRE_SANDBOX_PROBE_H

#include "port/sandbox.h"

/* How the room's workspace may be written, and what the probe runs with. */
enum probe_setting {
    PROBE_USUAL,   /* `src`, `plain`, `repo` and the link `link` may be written; no network */
    PROBE_ALL,     /* all of the workspace may be written */
    PROBE_ONLINE,  /* the machine's own network */
    PROBE_NAMES,   /* hosts by name: localhost, which leads to this machine */
    PROBE_LIMITED, /* small limits, see probe.c */
    PROBE_FILLED, /* and a small one of the disk, which counts what earlier probes left in the room, too */
    PROBE_LEAVES, /* as ALL; the attack got through when it leaves one of `planted` in probe.c */
};

struct probe {
    const char *wall; /* what stands in the way first */
    const char *name; /* what is tried, as a phrase */
    enum probe_setting setting;
    const char *attack, *twin;
    const char *twin_name; /* the harmless counterpart, as a phrase */
    struct {
        int major, minor;
    } since; /* the kernel that the wall needs; 0: any that runs this program */
    enum { PROBE_NEEDS_NOTHING, PROBE_NEEDS_NAMESPACES } needs; /* open without: docs/security.md */
};

extern const struct probe probes[];
extern const size_t probe_count;

/* The place where probes run: a temporary directory, listening sockets, a secret or two. */
struct probe_room;
NODISCARD int probe_room_open(struct probe_room **room, struct err *err);
void probe_room_close(struct probe_room *room);

enum probe_verdict {
    PROBE_HOLDS,
    PROBE_BROKEN,
    PROBE_OLD_KERNEL, /* broken, as was to be expected of this kernel */
    PROBE_OPEN,       /* not tried: it needs namespaces, which are turned off */
    PROBE_TWIN_FAILS,
    PROBE_NOT_RUN,
};

/* NOT_RUN: err says why. */
enum probe_verdict probe_run(struct probe_room *room, const struct sandbox_port *sandbox,
                             const struct probe *probe, struct err *err);

#endif
