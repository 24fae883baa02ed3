/* A merge into a tree changes files and a ref, and a crash may come between. So it is announced first, on private refs, and whoever looks at
 * the tree next completes it:
 *
 *   refs/cadre/RUN/merge/NAME/from   the branch's end that it starts at
 *   refs/cadre/RUN/merge/NAME/to     what branch and files become
 *   refs/cadre/RUN/merge/NAME/undo   in place of `to` when a file was in the way: files that are as in `undo` become as in `from` again
 *
 * A set that is not whole was not begun, or is done. Files that are neither as before nor as after were changed by somebody else since, and
 * stay. The tree is locked. */
#ifndef CADRE_GIT_INTENT_H
#define CADRE_GIT_INTENT_H

#include "git/tree.h"

/* One of the refs above; "" for where they are. */
const char *git_intent_ref(const struct git_tree *tree, const char *part);
/* Looks at the tree, and completes or takes back what a crash left. */
NODISCARD int git_settle(struct git_tree *tree, struct err *err);
/* Moves branch and files from one commit to the other, or nothing. RETRY: files are in the way, or the branch is somewhere else. Not
 * stopped by a cancel. */
NODISCARD int git_carry_out(struct git_tree *tree, struct str from, struct str to, struct err *err);

#endif
