/* What the tools share about files: where an argument points, reading content with an eye on
 * cancellation, and the three steps of a change: look (prepare), verify (run, before acting),
 * write. */
#ifndef CADRE_TOOL_FILE_H
#define CADRE_TOOL_FILE_H

#include "base/err.h"
#include "os/place.h"
#include "port/tool.h"

#define FILE_CONTENT_MAX (16u << 20) /* bytes that a write or an edit handles */
#define FILE_BUFFER_MAX                                                                            \
    (FILE_CONTENT_MAX + (1u << 20)) /* of a buf that file_load fills: room to see too much */

struct scope_allow file_read_allow(const struct tool_context *context);
struct scope_allow file_write_allow(const struct tool_context *context);
/* The argument "path" in normal form from the scope's root; the working directory when it is
 * absent. */
NODISCARD int file_path(const struct tool_context *context, const struct js *arguments,
                        struct str *path, struct tool_result *result);

/* One block: its bytes, 0 at the end, -1 with err (CANCELLED among them). */
NODISCARD ssize_t file_read(const struct tool_context *context, int fd, char *block, size_t size,
                            struct err *err);
/* Streams the file; never holds more than one block. */
NODISCARD int file_hash(const struct tool_context *context, int fd, struct hash *hash,
                        struct err *err);
/* Appends all of it; USAGE when it has more than max bytes. */
NODISCARD int file_load(const struct tool_context *context, const struct scope_file *file,
                        size_t max, struct buf *content, struct err *err);

/* tool_port's `load`: the text of a file for a prompt, as it is, mended where it is not UTF-8. */
NODISCARD int file_text(const struct tool_context *context, struct str path, struct buf *text,
                        struct err *err);
/* For a child's prompt: see bootstrap.c. */
NODISCARD int tool_load(const struct tool_context *context, struct str path, struct buf *text,
                        struct err *err);

/* prepare: fills path, before and before_hash. With content (may be NULL) the bytes that were
 * hashed are kept there. */
NODISCARD int file_look(const struct tool_context *context, struct str path,
                        struct tool_prepared *prepared, struct buf *content,
                        struct tool_result *result);
/* run: opens the place and makes sure that it still is what prepare saw. content as above. The
 * caller closes the place after 0. */
NODISCARD int file_verify(const struct tool_context *context, const struct tool_prepared *prepared,
                          struct place *place, struct buf *content, struct tool_result *result);
/* Writes or deletes where file_verify looked; what was remembered of the file is dropped. */
NODISCARD int file_write(const struct tool_context *context, const struct tool_prepared *prepared,
                         const struct place *place, struct str content, struct tool_result *result);
NODISCARD int file_delete(const struct tool_context *context, const struct tool_prepared *prepared,
                          const struct place *place, struct tool_result *result);

/* Adds a path to the result as it may be shown, cut where it is very long. */
void file_name(struct tool_result *result, struct str path);
size_t file_count_lines(struct str content); /* a last line without a newline counts */

#endif
