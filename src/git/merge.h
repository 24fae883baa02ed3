/* The life of a tree: made from its parent's (isolate.c), brought into it (merge.c: worked out first, branch and files moved last), kept or
 * removed (ending.c). As port/vcs.h says. Trees are found here and locked, the parent's before the child's. */
#ifndef CADRE_GIT_MERGE_H
#define CADRE_GIT_MERGE_H

#include "git/object.h"
#include "port/vcs.h"

NODISCARD int git_isolate(const struct git *git, struct arena *arena,
                          const struct vcs_isolate_request *request, struct vcs_isolated *isolated,
                          struct err *err);
/* What a three-way merge of two commits gives. Nothing moves. */
NODISCARD int git_merge_trees(const struct git_work *work, struct str ours, struct str theirs,
                              struct git_merge_answer *told, struct err *err);
NODISCARD int git_merge_begin(const struct git *git, struct arena *arena,
                              const struct vcs_integrate_request *request,
                              struct vcs_merged *merged, struct err *err);
NODISCARD int git_merge_end(const struct git *git, struct arena *arena,
                            const struct vcs_integrate_request *request,
                            const struct vcs_merged *merged, struct err *err);
NODISCARD int git_keep(const struct git *git, struct arena *arena,
                       const struct vcs_integrate_request *request, struct vcs_kept *kept,
                       struct err *err);
NODISCARD int git_remove(const struct git *git, struct arena *arena,
                         const struct vcs_integrate_request *request, struct err *err);
/* The repository of a directory without git goes with the last run that had something in it. work: on the user's site, locked. */
NODISCARD int git_remove_shadow(const struct git_work *work, struct err *err);

#endif
