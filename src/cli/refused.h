/* What a server refused and a run goes on without: a key, where a pool goes on with its next model, and parameters.
 * Without a word nobody would notice that the first model never answers, or that a setting has no effect. */
#ifndef CADRE_CLI_REFUSED_H
#define CADRE_CLI_REFUSED_H

#include "base/buf.h"
#include "base/hash.h"
#include "core/run/row.h"

#define REFUSED_MAX 16 /* different warnings in one run */
#define REFUSED_WARNING_MAX 65536

struct refused {
    struct hash said[REFUSED_MAX];
    size_t count;
};

/* Appends warnings when the event tells of a refused key behind which another model is asked, or of refused
 * parameters; each only once. More than one are parted by line feeds. Nothing otherwise. */
void refused_warning(struct refused *refused, const struct event_row *row, struct buf *out);

#endif
