/* A run's trees: where the files of one are, the refs that tell what became of it, and the commit of its files as they are now.
 *
 *   refs/heads/cadre/RUN/NAME        what is committed of the tree
 *   refs/cadre/RUN/base, head        where the run started, and the user's commit at that time (base.c)
 *   refs/cadre/RUN/merge/NAME/…      a merge into the tree that is under way (intent.h)
 *
 * Whoever changes a tree holds its lock: on the records of a checkout of its own, or on the common directory for the user's. */
#ifndef CADRE_GIT_TREE_H
#define CADRE_GIT_TREE_H

#include "git/object.h"
#include "port/vcs.h"

struct git_tree_refs {
    struct str end;            /* of the branch; empty: there is none */
    struct str end_tree;       /* of that commit */
    struct str from, to, undo; /* of a merge under way; empty: none */
};

struct git_tree {
    struct git_site site; /* of its files; owner USER: the user's checkout */
    struct git_work work; /* on it. Points to `site`: the struct stays where it is */
    struct str run, name;
    const char *ref; /* of the branch */
    struct git_tree_refs refs;
    struct vcs_list clashes; /* files that the last move into it met; from the work tree */
};

/* The user's site of a workspace; a directory without git, or with a repository that the user may not write to, gets a shadow. */
NODISCARD int git_site_any(const struct git *git, struct arena *arena, struct str workspace,
                           struct git_site *site, struct err *err);
/* Nothing is made for it and nothing is locked. */
NODISCARD int git_tree_find(const struct git *git, struct arena *arena, const struct vcs_tree *tree,
                            const atomic_bool *cancelled, struct git_tree *found, struct err *err);
/* The tree that a site of our own is. */
void git_tree_of_site(const struct git *git, struct arena *arena, const struct git_site *site,
                      const atomic_bool *cancelled, struct git_tree *tree);
/* Where it is, for callers; base stays empty. */
void git_describe(struct arena *arena, const struct git_tree *tree, struct vcs_isolated *isolated);
/* The ref of a branch, and of a private ref. */
const char *git_branch_ref(struct arena *arena, struct str run, struct str name);
const char *git_private_ref(struct arena *arena, struct str run, const char *name);

/* Says that the checkout is gone, and what that means. Returns -1. */
int git_tree_lost(const struct git_tree *tree, struct err *err);
/* NOT_FOUND: the checkout is gone. RETRY: somebody else holds it for too long. */
NODISCARD int git_tree_lock(struct git_tree *tree, struct err *err);
/* The lock of a site that belongs to no tree, as a tool's. */
NODISCARD int git_site_lock(struct git_site *site, const atomic_bool *cancelled, struct err *err);
void git_site_unlock(struct git_site *site);

/* Reads the refs. */
NODISCARD int git_tree_look(struct git_tree *tree, struct err *err);

/* Commits the files as they are now on the tree's branch, when they differ from its end; a merge that a crash ended is completed before.
 * The tree is locked. The branch of a user's checkout starts where the run does; dirty counts there. DENIED: the files hold what no
 * commit may hold. */
NODISCARD int git_tree_sync(struct git_tree *tree, enum vcs_dirty dirty, int64_t now_ms,
                            struct err *err);
/* Commits a tree id on the branch and moves it there; the tree's refs follow. */
NODISCARD int git_tree_commit(struct git_tree *tree, struct str id, struct str message,
                              int64_t now_ms, struct err *err);

#endif
