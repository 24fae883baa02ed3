/* Where a project's files are looked for: in the workspace, and in every directory above it up to the top of its git repository. A
 * repository's top is looked for no further than the user can rely on: not past a mount point, and not in a directory that belongs to
 * neither the user nor root or that everybody may write to. Without a top there is only the workspace. */
#ifndef CADRE_CONFIG_UPWARD_H
#define CADRE_CONFIG_UPWARD_H

#include <sys/stat.h>

#include "base/arena.h"

/* Absolute paths, the outermost first; the last one is the workspace. */
struct upward {
    struct str *directories;
    size_t count;
};

/* workspace: absolute, without links. Blocking; the main thread, before the loop starts. */
void upward_find(struct arena *arena, struct str workspace, struct upward *out);
/* Whether this file or directory can be relied on: it belongs to the user or to root. */
bool upward_trusted(const struct stat *status);

#endif
