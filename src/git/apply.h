/* A run's result into the user's own checkout: a fast-forward of a clean one, back again, or files only. A branch is never moved under its
 * user otherwise, and a file that the user changed is never written. */
#ifndef CADRE_GIT_APPLY_H
#define CADRE_GIT_APPLY_H

#include "git/object.h"
#include "port/vcs.h"

/* work->site: the user's. */
NODISCARD int git_apply(const struct git_work *work, const struct vcs_apply_request *request,
                        struct vcs_applied *applied, struct err *err);
NODISCARD int git_undo(const struct git_work *work, const struct vcs_apply_request *request,
                       struct vcs_applied *applied, struct err *err);
NODISCARD int git_apply_files(const struct git_work *work, struct str from, struct str to,
                              struct vcs_applied *applied, struct err *err);

#endif
