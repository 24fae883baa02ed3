/* Files that were read, kept as text for whoever reads them next: many agents in one worktree read
 * the same few files. Bounded in bytes; the one that was not asked for longest goes first.
 *
 * An entry belongs to a scope (the identity of its root) and a path, and holds only while the file
 * has the inode, size, mtime and ctime that it had when it was read. Whoever asks has opened the
 * file through the scope, so the walls and the status are always of now; what is saved is reading
 * and decoding. A file that changed a moment ago is not kept: its next change might carry the same
 * times. Writes of our own tools and shell calls drop what they may have changed besides.
 *
 * Every function takes reads == NULL for a process without a memory. Any thread. */
#ifndef CADRE_TOOL_READS_H
#define CADRE_TOOL_READS_H

#include "os/scope.h"
#include "port/tool.h"
#include "tool/text.h"

#define READS_FILE_MAX (1u << 20) /* bytes of a file that is kept */
#define READS_MAX (32u << 20)     /* bytes of all texts together */

struct reads;

struct reads_text {
    struct str text; /* decoded, without a byte order mark */
    enum text_encoding encoding;
};

struct reads_tally {
    uint64_t hits, misses; /* of reads_take */
    uint64_t bytes;        /* that had to be read for reads_keep */
    size_t held, held_bytes;
};

struct reads *reads_new(size_t max); /* aborts without memory */
void reads_free(struct reads *reads);
/* Of the process that this call belongs to; NULL where it has none. */
struct reads *reads_of(const struct tool_context *context);

/* The text of an opened file, if it is held and still is the file's. It lives until the caller
 * gives it back. NULL: it has to be read. */
const struct reads_text *reads_take(struct reads *reads, const struct scope *scope,
                                    const struct scope_file *file);
void reads_give_back(struct reads *reads, const struct reads_text *text);
/* Offers what was read: `read` bytes from the opened file, whose text is `content`. Where it is kept, content's
 * memory is taken over (the buf is empty afterwards) and the text comes back as from reads_take; else NULL. */
const struct reads_text *reads_keep(struct reads *reads, const struct scope *scope,
                                    const struct scope_file *file, uint64_t read,
                                    enum text_encoding encoding, struct buf *content);

/* This file was changed or removed. */
void reads_drop(struct reads *reads, const struct scope *scope, struct str path);
/* Anything in this scope may have been changed: a process ran there. */
void reads_drop_scope(struct reads *reads, const struct scope *scope);
struct reads_tally reads_tally(struct reads *reads);

#endif
