/* Changes for people: which files, how many lines, the diff. Nothing that a repository names has a say in what is shown. */
#ifndef CADRE_GIT_OUTLOOK_H
#define CADRE_GIT_OUTLOOK_H

#include "git/object.h"
#include "port/vcs.h"

/* The files; lines are not counted yet. */
void git_outlook_list(const struct git_work *work, const struct git_changes *changes,
                      struct vcs_outlook *outlook);
/* Counts lines in a diff of these changes. */
void git_outlook_count(struct str diff, const struct git_changes *changes,
                       struct vcs_outlook *outlook);
/* Everything between two commits. `contents` and `branch` stay empty. */
NODISCARD int git_outlook_between(const struct git_work *work, struct str from, struct str to,
                                  size_t diff_max, struct vcs_outlook *outlook, struct err *err);

#endif
