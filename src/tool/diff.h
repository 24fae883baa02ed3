/* What changed between two texts, as a unified diff: hunks with three lines around each change, no file headers. Pure: bytes in,
 * bytes out. Work and memory are bounded: texts that differ in very much are shown as one block that is replaced. */
#ifndef CADRE_TOOL_DIFF_H
#define CADRE_TOOL_DIFF_H

#include "base/buf.h"

struct diff_bounds {
    size_t lines;      /* most lines to print; then a note tells how many are left out */
    size_t line_bytes; /* longer lines are cut at a character and end in "…" */
};

/* Appends nothing when the texts are the same. A last line without a newline is followed by
 * "\ No newline at end of file". */
void diff_print(struct str before, struct str after, struct diff_bounds bounds, struct buf *out);

#endif
