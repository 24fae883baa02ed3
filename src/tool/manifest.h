/* What the files that describe a project say about it: names, entry points, scripts, targets. Pure:
 * text in, lines out; any thread. */
#ifndef CADRE_TOOL_MANIFEST_H
#define CADRE_TOOL_MANIFEST_H

#include "base/buf.h"

#define MANIFEST_MAX (256u << 10) /* bytes of such a file that are looked at */

struct manifest;

/* By a file's name; NULL: it describes no project. */
const struct manifest *manifest_of_file(struct str name);
/* Appends what it says, a line each; not cleaned. Says nothing when the text is not what its name
 * promises. */
void manifest_describe(const struct manifest *manifest, struct str text, struct buf *out);

#endif
