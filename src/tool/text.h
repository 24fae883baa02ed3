/* What encoding a file has, and its text as UTF-8. Pure: bytes in, bytes out; any thread.
 *
 * UTF-8 with or without a byte order mark, and UTF-16 with one. A file with NUL characters is
 * binary. What is neither is looked at line by line: a line that is not UTF-8 is taken for
 * Latin-1 where that is plausible, and mended otherwise. */
#ifndef CADRE_TOOL_TEXT_H
#define CADRE_TOOL_TEXT_H

#include "base/buf.h"

#define TEXT_LOOK 8192 /* bytes of a file's start that tell its encoding */

enum text_encoding { TEXT_UTF8, TEXT_UTF8_MARKED, TEXT_UTF16LE, TEXT_UTF16BE, TEXT_BINARY };

/* From a file's first bytes, at most TEXT_LOOK of them. */
enum text_encoding text_detect(struct str head);
/* What a binary file seems to be ("PNG image"), or NULL. */
const char *text_binary_kind(struct str head);

/* Turns a file's bytes into UTF-8 piece by piece; what comes out does not depend on how the bytes
 * were cut. Bytes of TEXT_UTF8 pass as they are, wrong or not; the byte order mark is left out. */
struct text_decoder {
    enum text_encoding encoding;
    size_t mark;        /* bytes of the mark still to come */
    uint32_t high;      /* a high surrogate that waits for its other half, or 0 */
    unsigned char half; /* first byte of a unit */
    enum { HALF_NONE, HALF_HELD } held;
};

void text_decoder_init(struct text_decoder *decoder, enum text_encoding encoding);
/* Appends at most 3 bytes for each byte that came in, and 6 more. */
void text_decode(struct text_decoder *decoder, struct str bytes, struct buf *out);
/* The file has ended: half a character becomes U+FFFD. */
void text_decode_end(struct text_decoder *decoder, struct buf *out);

enum text_line { TEXT_LINE_VALID, TEXT_LINE_LATIN1, TEXT_LINE_MENDED };
/* Appends a line as valid UTF-8, at most 3 bytes for each of its own, and says what was done. */
enum text_line text_line(struct buf *out, struct str line);

#endif
