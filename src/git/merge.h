/* Bringing a child's commit into the run's result: worked out first, moved by compare-and-swap last. */
#ifndef CADRE_GIT_MERGE_H
#define CADRE_GIT_MERGE_H

#include "git/object.h"
#include "port/vcs.h"

/* work->site: any of the repository; files are not touched. */
NODISCARD int git_merge_preview(const struct git_work *work,
                                const struct vcs_merge_request *request, struct vcs_merged *merged,
                                struct err *err);
NODISCARD int git_merge_publish(const struct git_work *work, const struct vcs_tree_request *request,
                                const struct vcs_merged *merged, struct err *err);
/* work->site: the run's integration checkout. */
NODISCARD int git_merge_stage(const struct git_work *work, const struct vcs_tree_request *request,
                              struct str commit, struct err *err);
/* Deletes a child's branch when it holds nothing of its own, or what it holds is in the result. */
NODISCARD int git_drop_branch(const struct git_work *work, const struct vcs_tree_request *request,
                              struct err *err);

#endif
