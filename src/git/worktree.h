/* Checkouts of our own: made from a commit, looked at, removed; and where a run starts, with what the user has not committed. */
#ifndef CADRE_GIT_WORKTREE_H
#define CADRE_GIT_WORKTREE_H

#include "git/object.h"
#include "port/vcs.h"

/* Where a run starts. */
struct git_base {
    struct str commit; /* uncommitted changes are in it */
    struct str head;   /* the user's commit at that time; empty: none yet (unborn, or a shadow) */
};

/* work->site: the user's. Finds HEAD, and commits what it does not hold on refs/cadre/RUN/base. Asked again, it answers the same. */
NODISCARD int git_base(const struct git_work *work, struct str run, enum vcs_dirty dirty,
                       int64_t now_ms, struct git_base *base, struct err *err);
/* The private refs of a run go. */
NODISCARD int git_forget(const struct git_work *work, struct str run, struct err *err);
/* The user's files as a tree; index and branches stay as they are. */
NODISCARD int git_snapshot_tree(const struct git_work *work, struct str *tree, struct err *err);

/* work->site: the checkout's. A branch and its files at a commit; a checkout that is there, whole or half made, is made anew. */
NODISCARD int git_worktree_create(const struct git_work *work, const char *ref, struct str base,
                                  struct err *err);
/* The checkout is at this commit afterwards, whatever it was; HEAD stays on its branch. */
NODISCARD int git_worktree_reset(const struct git_work *work, struct str commit, struct err *err);
/* The run's checkout for checks is at this commit, with no branch. Ignored files stay: they make the next checks fast. */
NODISCARD int git_worktree_stage(const struct git_work *work, struct str commit, struct err *err);
/* NOT_FOUND when files or records are gone. */
NODISCARD int git_worktree_there(const struct git_work *work, struct err *err);
/* DENIED when the child changed its .git. */
NODISCARD int git_worktree_check(const struct git_work *work, struct err *err);
/* Whether git_worktree_remove took it, or was about to when a crash came; false: it is there, or somebody else took it. */
bool git_worktree_removed(const struct git_work *work);
/* Files and records; the branch stays. A half-made one too. */
NODISCARD int git_worktree_remove(const struct git_work *work, struct err *err);
/* All checkouts beneath the state directory. */
NODISCARD int git_worktree_list(const struct git *git, struct arena *arena, struct vcs_left **left,
                                size_t *count, struct err *err);

#endif
