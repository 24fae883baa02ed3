/* Checkouts of children: made from a base, looked at, removed; and the base itself, with what the user has not committed. */
#ifndef CADRE_GIT_WORKTREE_H
#define CADRE_GIT_WORKTREE_H

#include "git/object.h"
#include "port/vcs.h"

#define GIT_RESULT_AGENT "result" /* the name of a run's integration checkout */

/* The ref of a child's branch, or the run's result. */
const char *git_branch_ref(struct arena *arena, struct str run, struct str agent);

/* work->site: the user's. Finds HEAD, and commits what it does not hold on refs/cadre/RUN/base. Asked again, it answers the same. */
NODISCARD int git_base(const struct git_work *work, const struct vcs_base_request *request,
                       struct vcs_base *base, struct err *err);
/* The private refs of a run go. */
NODISCARD int git_base_forget(const struct git_work *work, struct str run, struct err *err);
/* The user's files as a tree; index and branches stay as they are. */
NODISCARD int git_snapshot_tree(const struct git_work *work, struct str *tree, struct err *err);

/* work->site: the child's, of the request. A checkout that is there is put back to the base. */
NODISCARD int git_worktree_create(const struct git_work *work,
                                  const struct vcs_tree_request *request, struct err *err);
/* The checkout is at this commit afterwards, whatever it was; HEAD stays on its branch. */
NODISCARD int git_worktree_reset(const struct git_work *work, struct str commit, struct err *err);
/* Makes the directories of a checkout, with HEAD on a branch; no files yet. */
NODISCARD int git_worktree_prepare(const struct git_work *work, const char *ref, struct err *err);
/* DENIED when the child changed its .git. */
NODISCARD int git_worktree_check(const struct git_work *work, struct err *err);
/* Files and records; the branch stays. A half-made one too. */
NODISCARD int git_worktree_remove(const struct git_work *work, struct err *err);
/* All checkouts beneath the state directory. */
NODISCARD int git_worktree_list(const struct git *git, struct arena *arena, struct vcs_left **left,
                                size_t *count, struct err *err);

#endif
