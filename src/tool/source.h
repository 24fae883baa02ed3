/* The text of an opened file, piece by piece, decoded: from memory where it was read before, else
 * from the disk; large files are streamed and never held. */
#ifndef CADRE_TOOL_SOURCE_H
#define CADRE_TOOL_SOURCE_H

#include "tool/reads.h"

struct source {
    const struct tool_context *context;
    const struct scope_file *file;
    const struct reads_text *remembered; /* NULL unless the text is in the process's memory */
    enum text_encoding encoding;
    struct buf whole; /* a small file that is not remembered */
    struct buf block; /* a large one: the piece that was handed out last */
    struct text_decoder decoder;
    enum { SOURCE_HELD, SOURCE_STREAMED } kind;
    enum { SOURCE_MORE, SOURCE_ENDED } state;
};

/* The file stays the caller's and open until source_close. USAGE: it is binary (size and kind are
 * told). CANCELLED, IO. */
NODISCARD int source_open(struct source *source, const struct tool_context *context,
                          const struct scope_file *file, struct err *err);
void source_close(struct source *source);
/* 1 with the next piece, which lives until the next call; 0 at the end; -1 with err. */
NODISCARD int source_next(struct source *source, struct str *piece, struct err *err);
NODISCARD int source_rewind(struct source *source, struct err *err);
/* Lines of the whole text, a last one without a newline counted; rewinds. -1 with err. */
NODISCARD int64_t source_count_lines(struct source *source, struct err *err);

#endif
