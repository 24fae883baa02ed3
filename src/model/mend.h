/* Makes JSON text of careless servers parse: bytes that are no UTF-8, halves of surrogate pairs,
 * and control characters inside strings. Pure. */
#ifndef CADRE_MODEL_MEND_H
#define CADRE_MODEL_MEND_H

#include "base/buf.h"

/* Appends the mended text: bad bytes and lone halves become U+FFFD, raw control characters in
 * strings are escaped. Everything else stays as it is, so text that is not JSON stays so. */
void mend_json(struct buf *out, struct str text);

#endif
