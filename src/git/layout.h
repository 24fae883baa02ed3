/* Directories that git would take for repositories by what is in them (base/gitname.h), in a tree that is to be committed or merged: files
 * with ordinary names can make up one, and a later `git status` in it would obey its config. */
#ifndef CADRE_GIT_LAYOUT_H
#define CADRE_GIT_LAYOUT_H

#include "git/object.h"
#include "port/vcs.h"

/* Looks at every directory above these files (from the workspace, changed or removed) as it is in the tree, or a commit's. So what is there
 * already is not changed either, and halves that two agents bring are found when they come together. DENIED names the directory. */
NODISCARD int git_layout_check(const struct git_work *work, struct str tree, struct vcs_list files,
                               struct err *err);

#endif
