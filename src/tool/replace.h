/* Exact replacement of text, and help when the text is not there. Pure: bytes in, bytes out. */
#ifndef CADRE_TOOL_REPLACE_H
#define CADRE_TOOL_REPLACE_H

#include <stdint.h>

#include "base/buf.h"

enum replace_mode { REPLACE_ONE, REPLACE_ALL };

enum replace_outcome {
    REPLACE_DONE,      /* out holds the new content, count says how many places changed */
    REPLACE_MISSING,   /* old does not occur */
    REPLACE_AMBIGUOUS, /* REPLACE_ONE, and old occurs at more than one position */
    REPLACE_TOO_LARGE, /* out's maximum would be passed */
};

struct replace_report {
    size_t
        count; /* places; for AMBIGUOUS: occurrences that do not overlap, at least 2 are reported */
    size_t lines[3]; /* of the first occurrences, from 1 */
    size_t line_count;
};

/* old must not be empty. REPLACE_ALL replaces from left to right without overlap. REPLACE_ONE
 * wants exactly one position, overlapping ones counted: "aa" is ambiguous in "aaa". Linear in
 * the content. */
enum replace_outcome replace_text(struct str content, struct str old, struct str new,
                                  enum replace_mode mode, struct buf *out,
                                  struct replace_report *report);

/* Where old almost stands. */
struct replace_near {
    size_t line;      /* in the content, of the first line that differs; 0: nothing is near */
    size_t first;     /* where old's first line would stand */
    struct str found; /* that line of the content, without its newline */
    struct str asked; /* the line of old that it was compared with */
    const char *why;  /* NULL, or the difference in words: "indentation", "line endings" … */
};
struct replace_near replace_nearest(struct str content, struct str old);

#endif
