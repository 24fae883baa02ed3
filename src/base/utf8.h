/* UTF-8: checking, mending, cutting, and making text safe to show. */
#ifndef CADRE_BASE_UTF8_H
#define CADRE_BASE_UTF8_H

#include <stdint.h>

#include "base/buf.h"

/* Decodes the first character of text (text.n > 0) and returns its length. A bad sequence gives UTF8_BAD and the
 * length of its maximal part that one U+FFFD replaces. */
#define UTF8_BAD UINT32_MAX
size_t utf8_next(struct str text, uint32_t *code);
/* Length of the longest valid prefix; equal to text.n when all of it is valid UTF-8. */
size_t utf8_valid(struct str text);
bool utf8_is_ascii(struct str text);
/* Appends text, each maximal bad sequence replaced by U+FFFD. */
void utf8_mend(struct buf *out, struct str text);
/* The longest prefix of at most max_bytes that does not end inside a character. */
struct str utf8_cut(struct str text, size_t max_bytes);
/* Prefix with at most max_chars code points. */
struct str utf8_cut_chars(struct str text, size_t max_chars);
/* Whether text is this word (ASCII, small letters) but for the case of letters and characters that are not seen: what a file system
 * that folds names may take for it. */
bool utf8_is_like(struct str text, const char *word);
/* Whether nothing of the text is seen: white space of any script, fillers and characters without a width alone. */
bool utf8_is_blank(struct str text);
/* Columns that a terminal uses for text (utf8proc; control characters count 0). */
int utf8_width(struct str text);
/* Prefix of at most max_columns columns. */
struct str utf8_cut_width(struct str text, int max_columns);
/* Appends text as it may reach a terminal: invalid bytes mended, C0/C1 controls, DEL, escape sequences
 * (CSI, OSC, DCS …, whole), bidi overrides and other format controls removed. Newline and tab stay
 * when keep_lines is UTF8_LINES, else each becomes one space. */
enum utf8_lines { UTF8_ONE_LINE, UTF8_LINES };
void utf8_clean(struct buf *out, struct str text, enum utf8_lines keep);
/* Whether utf8_clean keeps this character: it is not a control, does not turn others round or hide, and breaks no line. */
bool utf8_is_visible(uint32_t code);
/* Appends JSON as it may reach a terminal: it says the same, but what utf8_clean would remove from its strings is written as
 * \uXXXX. The JSON is on one line. */
void utf8_escape_json(struct buf *out, struct str json);

/* Looks at the first character of text (text.n > 0) for somebody who must see every one of them. Returns its length. One that a
 * terminal would not show as itself (controls, tabs and line breaks too, format and bidi controls, what has no width, blanks that
 * are not U+0020, bytes that are not UTF-8) gets a mark, "<U+202E>" or "<0xFF>"; mark is "" for all others. *width: columns of the
 * character, or of its mark. */
#define UTF8_MARK 16 /* bytes of a mark with its NUL */
size_t utf8_reveal(struct str text, char mark[UTF8_MARK], int *width);

#endif
