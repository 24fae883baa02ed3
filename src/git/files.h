/* Changes between two commits into files of a checkout that somebody else may be working in. */
#ifndef CADRE_GIT_FILES_H
#define CADRE_GIT_FILES_H

#include "git/object.h"
#include "port/vcs.h"

/* What about files that are neither as before nor as after? */
enum git_move {
    GIT_MOVE_FIRST, /* they are somebody's: nothing is written */
    GIT_MOVE_RESUMED, /* the same; but one that is missing or a beginning of what it shall be is what a crash left */
    GIT_MOVE_BACK /* they stay, the others are written; missing ones and beginnings count as before */
};

struct git_moved {
    struct git_changes changes; /* between the commits */
    struct vcs_list clashes;    /* from the work tree */
};

/* Files that are as in `from` become as in `to`. The index is not touched. Asked again after a crash, files that are done are found. */
NODISCARD int git_files_move(const struct git_work *work, struct str from, struct str to,
                             enum git_move mode, struct git_moved *moved, struct err *err);

#endif
