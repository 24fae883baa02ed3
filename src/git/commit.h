/* Commits that cadre makes: named files of a workspace on its current branch (a tool's call), and a child's whole work on the child's
 * branch. Both are checked by git/guard.h against what git recorded. */
#ifndef CADRE_GIT_COMMIT_H
#define CADRE_GIT_COMMIT_H

#include "git/tree.h"

NODISCARD int git_commit_paths(const struct git_work *work,
                               const struct vcs_commit_request *request, struct vcs_commit *commit,
                               struct err *err);

NODISCARD int git_commit_outlook(const struct git_work *work,
                                 const struct vcs_commit_request *request, size_t diff_max,
                                 struct vcs_outlook *outlook, struct err *err);

struct git_collected {
    struct str commit;     /* the branch's end; the base where nothing was changed */
    struct vcs_list files; /* changed against the base, from the workspace */
};
/* The tree is a checkout of its own, and locked. Again after a crash: what is committed already is found. DENIED: it holds what no child may
 * bring; nothing is committed. */
NODISCARD int git_collect(struct git_tree *tree, const struct vcs_integrate_request *request,
                          struct git_collected *collected, struct err *err);
/* Paths of changes as the workspace sees them. */
struct vcs_list git_changed_files(const struct git_work *work, const struct git_changes *changes);
/* Paths from the workspace as the work tree sees them; "." is the workspace. */
struct vcs_list git_full_paths(const struct git_work *work, struct vcs_list paths);

#endif
