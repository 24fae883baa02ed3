/* What may be in a commit that cadre makes: checked against the changes as git recorded them, so that nobody can exchange a file between
 * the check and the commit. */
#ifndef CADRE_GIT_GUARD_H
#define CADRE_GIT_GUARD_H

#include "git/call.h"
#include "git/parse.h"
#include "port/vcs.h"

struct git_rules {
    struct vcs_list write_paths; /* from the workspace: a change must lie in one of them */
    enum { GIT_OWNS_ALL, GIT_OWNS_LISTED } owns;
    struct vcs_list ownership; /* globs from the workspace */
    const atomic_bool *cancelled;
};

/* DENIED with the path and the rule. */
NODISCARD int git_guard(const struct git *git, const struct git_site *site,
                        const struct git_changes *changes, const struct git_rules *rules,
                        struct err *err);
/* The path from the workspace; false when it lies outside it. */
bool git_in_workspace(const struct git_site *site, struct str path, struct str *from_workspace);
/* The workspace's own .cadre: never in a commit. */
bool git_is_private(const struct git_site *site, struct str path);

#endif
