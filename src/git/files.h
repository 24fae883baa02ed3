/* Changes between two commits into files of a checkout that somebody else may be working in. */
#ifndef CADRE_GIT_FILES_H
#define CADRE_GIT_FILES_H

#include "git/object.h"
#include "port/vcs.h"

enum git_clash {
    GIT_CLASH_REFUSES, /* nothing is written when a file is neither as before nor as after */
    GIT_CLASH_STAYS    /* such a file stays, the others are written */
};

struct git_moved {
    struct git_changes changes; /* between the commits */
    struct vcs_list clashes;    /* from the work tree */
};

/* Files that are as in `from` become as in `to`. The index is not touched. Asked again after a crash, files that are done are found. */
NODISCARD int git_files_move(const struct git_work *work, struct str from, struct str to,
                             enum git_clash clash, struct git_moved *moved, struct err *err);

#endif
