/* Commits that cadre makes: named files of a workspace on its current branch (a tool's call), and a child's whole work on the child's
 * branch. Both are checked by git/guard.h against what git recorded. */
#ifndef CADRE_GIT_COMMIT_H
#define CADRE_GIT_COMMIT_H

#include "git/object.h"
#include "port/vcs.h"

NODISCARD int git_commit_paths(const struct git_work *work,
                               const struct vcs_commit_request *request, struct vcs_commit *commit,
                               struct err *err);
/* work->site: the child's. Again after a crash: what is committed already is found. */
NODISCARD int git_collect(const struct git_work *work, const struct vcs_collect_request *request,
                          struct vcs_collected *collected, struct err *err);
/* Paths of changes as the workspace sees them. */
struct vcs_list git_changed_files(const struct git_work *work, const struct git_changes *changes);
/* Paths from the workspace as the work tree sees them; "." is the workspace. */
struct vcs_list git_full_paths(const struct git_work *work, struct vcs_list paths);

#endif
