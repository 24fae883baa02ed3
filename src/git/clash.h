/* Where two sides of a merge do not fit together: file by file, with lines and both texts. */
#ifndef CADRE_GIT_CLASH_H
#define CADRE_GIT_CLASH_H

#include "git/object.h"
#include "port/vcs.h"

#define GIT_HUNK_MAX 4096   /* bytes of one clash that are kept */
#define GIT_CLASHES_MAX 200 /* places that are told */

/* Fills clashes and clash_count from what a merge said. */
NODISCARD int git_clashes(const struct git_work *work, const struct git_merge_answer *told,
                          struct vcs_applied *applied, struct err *err);
/* The clashes of one file, read off its text with git's marks; appends to `clashes` while there is room, and returns how many. Pure. */
size_t git_clashes_in(struct arena *arena, struct str path, struct str marked,
                      struct vcs_clash *clashes, size_t room);

#endif
