/* What the definition of a name looks like, by language: one table of patterns, for machines
 * without ctags. A line at a time, so a definition whose name stands on a line of its own is
 * missed. One thread at a time. */
#ifndef CADRE_TOOL_DEFINITION_H
#define CADRE_TOOL_DEFINITION_H

#include "base/err.h"
#include "tool/language.h"

#define DEFINITION_NAME_MAX 200 /* bytes of a name */

struct definitions;

/* name: an identifier. Free with definitions_free. */
struct definitions *definitions_new(struct str name);
void definitions_free(struct definitions *definitions);
/* The kind of thing that a line defines ("function"), or NULL: it only mentions the name. A line
 * on which a pattern takes too many steps defines nothing. */
const char *definitions_kind(struct definitions *definitions, const struct language *language,
                             struct str line);

#endif
