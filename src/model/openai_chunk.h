/* The chunks that nearly all of a Chat Completions stream consists of, read in place: one choice with a piece of text, of
 * reasoning or of calls, a finish reason, usage. Any other chunk, whatever it is, has to be parsed as a document.
 *
 * Most chunks are the one before with another piece of text in the same place. Where all bytes before that text and all
 * behind it are the same, only the text has to be read. Pure. */
#ifndef CADRE_MODEL_OPENAI_CHUNK_H
#define CADRE_MODEL_OPENAI_CHUNK_H

#include "base/err.h"
#include "model/openai_scan.h"

#define OPENAI_CHUNK_PIECES 2               /* of calls, in one chunk */
#define OPENAI_CHUNK_KEPT ((size_t)4 << 10) /* bytes of a chunk that later ones are compared with */

struct openai_chunk_piece {
    struct scan_text id, name, arguments; /* id and name are plain */
    int64_t index;
    enum { PIECE_WITHOUT_INDEX, PIECE_WITH_INDEX } numbered;
};

enum openai_chunk_count {
    CHUNK_PROMPT_TOKENS,
    CHUNK_COMPLETION_TOKENS,
    CHUNK_CACHE_HITS,
    CHUNK_CACHED_TOKENS,
    CHUNK_CACHE_WRITES,
    CHUNK_REASONING_TOKENS,
    CHUNK_COUNTS
};

/* Views into the chunk's text. What did not come is NULL, 0 or -1. */
struct openai_chunk {
    struct scan_text id, model;
    int64_t counts[CHUNK_COUNTS];
    size_t choices; /* 0 or 1 */
    int64_t index;  /* of the choice */
    enum { CHUNK_WITHOUT_DELTA, CHUNK_WITH_DELTA } delta;
    struct scan_text content, refusal, finish, reasoning_content, reasoning;
    enum { CHUNK_WITHOUT_CALLS, CHUNK_WITH_CALLS } calls; /* there is an array of them */
    struct openai_chunk_piece pieces[OPENAI_CHUNK_PIECES];
    size_t piece_count;
};

/* The chunks of one stream. Everything here belongs to the functions below. */
struct openai_chunks {
    struct openai_chunk chunk; /* the last that was read in place */
    struct buf kept;           /* its text; empty: none that later ones are compared with */
    size_t from, to;           /* where in it the piece of text stands */
};

void openai_chunks_init(struct openai_chunks *chunks);
void openai_chunks_release(struct openai_chunks *chunks);
/* The chunk that text is, valid until the next call and as long as text; NULL: parse it as a document. Never anything but
 * NULL for text that is no JSON object, or an error. */
const struct openai_chunk *openai_chunks_read(struct openai_chunks *chunks, struct str text);

#endif
