/* Makes JSON text of careless servers parse: bytes that are no UTF-8, halves of surrogate pairs,
 * and control characters inside strings. Pure. */
#ifndef CADRE_MODEL_MEND_H
#define CADRE_MODEL_MEND_H

#include "base/buf.h"

/* Appends the mended text: bad bytes become U+FFFD, raw control characters in strings are escaped. Everything else
 * stays as it is, so text that is not JSON stays so.
 *
 * A half of a surrogate pair may find its other half in the next chunk: servers cut where they like. It becomes a stand-in,
 * one of the last 2,048 private-use characters, and mend_join puts pairs together when all of a text is there. */
enum mend_halves { MEND_NO_HALVES, MEND_HALVES };
enum mend_halves mend_json(struct buf *out, struct str text);

/* In place: stand-ins of two halves that belong together become their character, the others U+FFFD. */
void mend_join(struct buf *text);
/* Bytes at the end of text that may belong to a character of which more is to come: a stand-in's, or 0. */
size_t mend_open_end(struct str text);

#endif
