/* What a call will do, for the person who is asked about it: resolved against the agent's files as they are now, byte for byte.
 * The hash commits to everything that was shown. A call that was approved is previewed again before it runs, and does not run
 * where the hash has changed. */
#ifndef CADRE_PORT_PREVIEW_H
#define CADRE_PORT_PREVIEW_H

#include "base/arena.h"
#include "base/hash.h"

#define PREVIEW_PARTS_MAX 40
#define PREVIEW_BYTES_MAX ((size_t)4 << 20) /* of all parts together */

enum preview_kind {
    PREVIEW_TEXT, /* a command, a message, a value: shown line by line */
    PREVIEW_DIFF,
    PREVIEW_PROBLEM, /* why there is no better preview: the call would probably fail */
    PREVIEW_KIND_COUNT
};

struct preview_part {
    struct str label; /* may be a model's word */
    struct str text;  /* any bytes */
    enum preview_kind kind;
};

/* Views into an arena of whoever asked for it. */
struct preview {
    struct str tool;
    struct preview_part parts[PREVIEW_PARTS_MAX];
    size_t count, bytes;
    enum { PREVIEW_FITS, PREVIEW_TOO_LARGE } size;
    /* OUTSIDE: the call leaves the walls (network, a wall that is off, a tool that nobody knows): never allowed for always. */
    enum preview_reach { PREVIEW_INSIDE, PREVIEW_OUTSIDE } reach;
    /* FILE: hashes of its whole content before and after; what is not there has the hash of nothing. COMMIT: `after` is the hash of
     * all that the commit would hold. */
    enum { PREVIEW_CHANGES_NOTHING, PREVIEW_CHANGES_FILE, PREVIEW_CHANGES_COMMIT } change;
    struct hash before, after;
    struct hash shown;
};

#endif
