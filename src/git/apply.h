/* A run's work into the user's own checkout, and out again. The branch is moved only where the checkout is clean and stands where the run
 * started; everywhere else the work is merged into the files, and nothing is committed. Private refs tell what was done:
 *
 *   refs/cadre/RUN/applied       the branch was fast-forwarded, and this is where it stood before
 *   refs/cadre/RUN/apply/files   the user's files as commits: before a merge into them, and after it (moved by git/intent.h)
 *   refs/cadre/RUN/apply/from    the user's files before the work was applied
 *   refs/cadre/RUN/apply/to      and after it. It is applied while `files` is there
 *   refs/cadre/RUN/apply/back    what an undo that has begun makes of the files
 *
 * The user's checkout is locked. Half of a change is completed by whoever calls next. */
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
/* Completes what a crash left of either. */
NODISCARD int git_apply_settle(const struct git_work *work, struct str run, struct err *err);

#endif
