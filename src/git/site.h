/* Sites: where a checkout and its repository lie, and the common directories of our own that stand between git and the user's config.
 *
 *   STATE/repositories/KEY/            one for each checkout of the user; git's "common directory" in every call
 *       config                         written by us: data of the user's config that is on our list (config.c), nothing else
 *       objects refs packed-refs …     links to the user's
 *       origin                         the user's git directory and work tree
 *       worktrees/RUN.AGENT/           HEAD and index of a child
 *       trees/RUN/AGENT/               its files
 *
 * So the path of a child's checkout says where its git directory is, and nothing in the checkout has a say. Children cannot reach
 * STATE. A directory without git gets a repository that lies here whole (SHADOW). */
#ifndef CADRE_GIT_SITE_H
#define CADRE_GIT_SITE_H

#include "git/call.h"
#include "port/vcs.h"

/* The site of a workspace: a child's, or the user's checkout that it lies in. NOT_FOUND where there is no repository. Views live in the
 * arena. */
NODISCARD int git_site_find(const struct git *git, struct arena *arena, struct str workspace,
                            struct git_site *site, struct err *err);
/* What is to be known of a workspace before anything is made for it. Makes nothing itself. */
NODISCARD int git_site_view(const struct git *git, struct arena *arena, struct str workspace,
                            struct vcs_view *view, struct err *err);
/* For a directory without git: a repository of our own for it, made when it does not exist. */
NODISCARD int git_site_shadow(const struct git *git, struct arena *arena, struct str directory,
                              struct git_site *site, struct err *err);
/* The site of a child of this repository; it may not exist. USAGE: names that cannot be part of a path. */
NODISCARD int git_site_child(struct arena *arena, const struct git_site *site, struct str run,
                             struct str agent, struct git_site *child, struct err *err);

/* The same from the path of its checkout, as text: 1, 0 when the path is no child's, -1 (DENIED: another part of the state). */
NODISCARD int git_site_of_tree(const struct git *git, struct arena *arena, struct str path,
                               struct git_site *site, struct err *err);

/* The config of a common directory, from the user's (config.c). A file that has not changed is not read again. */
NODISCARD int git_config_refresh(const struct git *git, const char *common_dir,
                                 const char *user_common, const char *user_git_dir,
                                 struct err *err);
/* Writes a file whole: a temporary one, then a rename. */
NODISCARD int git_write_file(const char *path, struct str text, struct err *err);
/* At most max bytes of a small file; NOT_FOUND when it is not there. */
NODISCARD int git_read_file(const char *path, struct buf *text, struct err *err);

#endif
