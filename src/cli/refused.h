/* Keys that a server refused. A pool goes on with its next model, and without a word nobody would notice that the
 * first one never answers. */
#ifndef CADRE_CLI_REFUSED_H
#define CADRE_CLI_REFUSED_H

#include "base/buf.h"
#include "base/hash.h"
#include "core/run/row.h"

#define REFUSED_MAX 16 /* different warnings in one run */
#define REFUSED_WARNING_MAX 4096

struct refused {
    struct hash said[REFUSED_MAX];
    size_t count;
};

/* Appends a warning when the event tells of a refused key behind which another model is asked; the same one only
 * once. Nothing otherwise. */
void refused_warning(struct refused *refused, const struct event_row *row, struct buf *out);

#endif
