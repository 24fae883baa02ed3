/* The block of `key: value` lines between two lines of `---` at the top of a Markdown file. Reads the little YAML that such blocks
 * are written in: plain, quoted and folded values of keys at the margin; everything else is passed over. Pure, linear; any thread. */
#ifndef CADRE_TOOL_FRONT_MATTER_H
#define CADRE_TOOL_FRONT_MATTER_H

#include "base/buf.h"

/* Splits a text into its block and what follows. False when it has none: the body then is all of it. */
bool front_matter_split(struct str text, struct str *block, struct str *body);
/* Appends a key's value on one clean line; nothing when there is no such key. */
void front_matter_value(struct str block, const char *key, struct buf *out);

#endif
