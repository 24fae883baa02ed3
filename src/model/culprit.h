/* Which parameter of a request a server's error is about. Errors quote requests, so a name in an
 * error is not yet a complaint about it. Pure; any thread. */
#ifndef CADRE_MODEL_CULPRIT_H
#define CADRE_MODEL_CULPRIT_H

#include <stdint.h>

#include "base/str.h"

struct culprit {
    const char *name; /* as errors have it */
    uint32_t params;  /* enum dialect_param */
    /* BARE: the word alone is enough in running text; QUOTED: it must stand in quotes, or where
     * only a parameter can stand. */
    enum { NAME_BARE, NAME_QUOTED } form;
};

/* The parameter that the body of an error blames; NULL: none. */
const struct culprit *culprit_of(struct str body);
/* Whether the text has one of the words in it, in any case. words ends with NULL. */
bool culprit_says(struct str text, const char *const *words);

#endif
