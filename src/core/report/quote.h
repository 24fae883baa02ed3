/* Text from anywhere, quoted in Markdown so that it stays in its place: control characters are removed, and what it holds can neither
 * end its quotes nor begin a heading, a link or HTML. Pure. */
#ifndef CADRE_CORE_REPORT_QUOTE_H
#define CADRE_CORE_REPORT_QUOTE_H

#include "base/buf.h"

/* On one line, as code between backticks: for names, paths, titles. At most max_chars characters of it; "…" tells of a cut. */
void quote_line(struct buf *out, struct str text, size_t max_chars);
/* A block of its own, as it is, between fences that are longer than any in it. */
void quote_block(struct buf *out, struct str text);

#endif
