/* Which files a program changed: what lies in the write paths before it and after it, compared. A file counts as changed when its
 * inode, size or one of its times differs; its content is not read. `.git` and what the scope denies are not looked at, and
 * links are not followed.
 *
 * Blocks on the file system, so never on the loop thread. A snapshot belongs to whoever took it. */
#ifndef CADRE_TOOL_CHANGES_H
#define CADRE_TOOL_CHANGES_H

#include "port/tool.h"

#define CHANGES_FILES_MAX 50000 /* a larger tree is not compared */

struct changes; /* a snapshot */

enum change { CHANGE_CREATED, CHANGE_MODIFIED, CHANGE_DELETED };

/* What the call's contract may write, as it is now. Never NULL. */
struct changes *changes_take(const struct tool_context *context);
void changes_free(struct changes *snapshot); /* NULL is fine */

/* Calls `each` for every difference, sorted by path; the path lives as long as the snapshots. -1: one of the snapshots is not
 * whole (too many files, or cancelled), and nothing is known. */
NODISCARD int changes_compare(const struct changes *before, const struct changes *after,
                              void (*each)(void *user, enum change change, struct str path),
                              void *user);

#endif
