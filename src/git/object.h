/* Small questions and changes that everything else is made of: revisions, trees, commits, refs. Views live in the arena. */
#ifndef CADRE_GIT_OBJECT_H
#define CADRE_GIT_OBJECT_H

#include "git/call.h"
#include "git/parse.h"

/* A site with what every call on it shares. */
struct git_work {
    const struct git *git;
    const struct git_site *site;
    struct arena *arena;
    const atomic_bool *cancelled;
};

/* One line of output, without its newline. */
NODISCARD int git_line(const struct git_work *work, const char *const *words, struct str *line,
                       struct err *err);
/* The commit that a name means. NOT_FOUND: none. */
NODISCARD int git_resolve(const struct git_work *work, const char *name, struct str *id,
                          struct err *err);
/* HEAD's commit; empty on a branch without one. */
NODISCARD int git_head(const struct git_work *work, struct str *id, struct err *err);
/* The empty tree, in this repository's kind of hash. */
NODISCARD int git_empty_tree(const struct git_work *work, struct str *id, struct err *err);
/* from, to: commits or trees. */
NODISCARD int git_diff_trees(const struct git_work *work, struct str from, struct str to,
                             struct git_changes *changes, struct err *err);
NODISCARD int git_is_ancestor(const struct git_work *work, struct str a, struct str b, bool *yes,
                              struct err *err);
struct git_commit_parts {
    struct str tree;
    struct str parents[2]; /* empty: none */
    struct str message;
    const struct git_signature *author, *committer;
};
NODISCARD int git_commit_object(const struct git_work *work, const struct git_commit_parts *parts,
                                struct str *id, struct err *err);
/* Compare-and-swap; old empty: it must not exist. RETRY: it is somewhere else. */
NODISCARD int git_move_ref(const struct git_work *work, const char *ref, struct str to,
                           struct str old, struct err *err);
/* Wherever it is now. */
NODISCARD int git_put_ref(const struct git_work *work, const char *ref, struct str to,
                          struct err *err);
/* Several at once, as `update-ref --stdin` reads them: all or none, and after a crash the updates before the deletions. */
NODISCARD int git_change_refs(const struct git_work *work, struct str script, struct err *err);
NODISCARD int git_delete_ref(const struct git_work *work, const char *ref, struct err *err);
/* All refs beneath a name. */
NODISCARD int git_drop_refs(const struct git_work *work, const char *under, struct err *err);

/* Who made a commit that has no other author: the repository's user where its config names one. */
NODISCARD int git_user(const struct git_work *work, int64_t now_ms, struct git_signature *user,
                       struct err *err);
struct git_signature git_self(int64_t now_ms);

#endif
