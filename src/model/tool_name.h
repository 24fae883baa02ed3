/* Names of tools as the APIs take them. Pure. */
#ifndef CADRE_MODEL_TOOL_NAME_H
#define CADRE_MODEL_TOOL_NAME_H

#include "base/str.h"

#define TOOL_NAME_MAX 64 /* characters that every API takes */

/* The name with [a-zA-Z0-9_-] only and at most TOOL_NAME_MAX of them, in out: a model may have invented one that no
 * server takes back. */
struct str tool_name(struct str name, char out[TOOL_NAME_MAX]);
/* Whether text has only such characters, and at least one. */
bool tool_name_fits(struct str text);

#endif
