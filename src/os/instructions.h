/* Instruction files of directories (AGENTS.md, ENVIRONMENT.md): one file of one directory, and its stand-in. Opened through a scope: a
 * link in a repository cannot bring a file from outside into a prompt. Blocking; any thread. */
#ifndef CADRE_OS_INSTRUCTIONS_H
#define CADRE_OS_INSTRUCTIONS_H

#include "base/buf.h"
#include "base/err.h"

#define INSTRUCTIONS_FILE_MAX ((size_t)32 << 10)

/* The name that stands in for another where that one is missing: CLAUDE.md for AGENTS.md; else STR_NONE. */
struct str instructions_stand_in(struct str name);
/* Whether a file of this name is looked for above the workspace too: a plain name that ends with ".md". */
bool instructions_found_upward(struct str name);
enum instructions_extent { INSTRUCTIONS_WHOLE, INSTRUCTIONS_CUT };

/* What was read: which name it was, and whether the file is longer than what counts of it. */
struct instructions_found {
    struct str name;
    enum instructions_extent extent;
};
/* Appends the file's text, or that of its stand-in, mended and cut at INSTRUCTIONS_FILE_MAX. NOT_FOUND: neither is there. DENIED: it
 * belongs neither to the user nor to root nor to whom the directory belongs, or it leads out of the directory. USAGE: it is a binary
 * file. */
int instructions_read(const char *directory, struct str name, struct buf *out,
                      struct instructions_found *found, struct err *err) NODISCARD;

#endif
