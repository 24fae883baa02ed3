/* Shapes of secrets: what keys and tokens of known vendors, private keys and signed tokens look like. A shape is a fixed beginning
 * and a body that only a generator of random text makes, so that hashes, identifiers, words and placeholders are none. Pure. */
#ifndef CADRE_BASE_SECRET_H
#define CADRE_BASE_SECRET_H

#include <stdint.h>

#include "base/str.h"

#define SECRET_KIND_MAX 24    /* bytes of a kind's name */
#define SECRET_SPAN_MAX 20000 /* bytes of the longest secret, a private key */

struct secret_span {
    size_t start, end;
    const char *kind; /* "openai-key" */
};

/* Names the two bytes that secrets of each shape begin with; some more than once. */
void secret_starts(void (*name)(void *user, const char two[2]), void *user);
/* Is there a secret that begins at `at`? Its span may begin further on (behind the name that tells it), or further back, never before
 * `floor` (a private key whose beginning was cut off). Whoever walks a text from its start asks at every place that may start one, and
 * goes on behind each span: that is linear in the text. */
bool secret_at(struct str text, size_t at, size_t floor, struct secret_span *span);
/* The secret key that belongs to the key id in this span and stands near it; false leaves *next as it is. */
bool secret_follows(struct str text, const struct secret_span *span, struct secret_span *next);
/* Bytes at the end of the text that may be the beginning of a secret whose rest has not come yet. */
size_t secret_pending(struct str text);

#endif
