/* Indexes: what is in a checkout as objects and paths. Made with plumbing that runs nothing inside submodules or nested repositories. */
#ifndef CADRE_GIT_INDEX_H
#define CADRE_GIT_INDEX_H

#include "git/object.h"
#include "port/vcs.h"

enum git_nested {
    GIT_SKIPS_NESTED,  /* repositories of their own in the tree are passed over */
    GIT_REFUSES_NESTED /* DENIED */
};

/* Takes files that changed, appeared or went into the index; paths from the work tree, none: all of it. Ignored files and .cadre are left
 * out (of a shadow only .cadre and .git). index: NULL for the site's own. */
NODISCARD int git_index_take(const struct git_work *work, const char *index, struct vcs_list paths,
                             enum git_nested nested, struct err *err);
/* Takes these files in, ignored or not. */
NODISCARD int git_index_add(const struct git_work *work, const char *index, struct vcs_list paths,
                            struct err *err);
/* A copy of the site's index, one at a time: the site is locked. The caller removes it; what a crash left of it goes with the next lock. */
#define GIT_INDEX_COPY "copy.index"
NODISCARD int git_index_copy(const struct git_work *work, const char **index, struct err *err);
void git_index_remove(const char *index);
/* What the index holds that the tree-ish does not; paths as above. */
NODISCARD int git_index_changes(const struct git_work *work, const char *index, struct str against,
                                struct vcs_list paths, struct git_changes *changes,
                                struct err *err);
/* Puts the changes' new side into an index. */
NODISCARD int git_index_put(const struct git_work *work, const char *index,
                            const struct git_changes *changes, struct err *err);
/* Fills an index from a tree-ish, without files. */
NODISCARD int git_index_read(const struct git_work *work, const char *index, struct str tree,
                             struct err *err);
NODISCARD int git_index_write_tree(const struct git_work *work, const char *index, struct str *tree,
                                   struct err *err);

#endif
