/* The port of port/vcs.h on the git program. */
#ifndef CADRE_GIT_VCS_H
#define CADRE_GIT_VCS_H

#include "git/call.h"
#include "port/vcs.h"

struct git_vcs {
    struct git git;
    struct vcs_port port;
};

/* state: a directory of our own that no child can reach. excludes: the user's ignore rules, or empty. NOT_FOUND: no git. Nothing is
 * to be released. */
NODISCARD int git_vcs_open(struct git_vcs *vcs, struct str state, struct str excludes,
                           struct err *err);

#endif
