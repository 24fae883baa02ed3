/* Version control: what tools ask of it, and how children's work is kept apart and brought together. Calls block; any thread may make
 * them. Everything that an answer points to lives in the arena that was given.
 *
 * Nothing that a repository's config, attributes or hooks name is ever run, and a child's checkout has no say in where its repository is.
 *
 * Every change can be asked for again after a crash at any point: what is there already is found, what is half made is removed and
 * made anew, refs move only from the value that was seen (compare-and-swap), so nothing is merged twice. Error classes: NOT_FOUND (no
 * repository, no git), DENIED (a rule), RETRY (another git holds a lock), USAGE, IO, TIMEOUT, CANCELLED, CORRUPT. */
#ifndef CADRE_PORT_VCS_H
#define CADRE_PORT_VCS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "port/sandbox.h"

struct vcs_list {
    const struct str *items;
    size_t count;
};

/* --- for tools --------------------------------------------------------------------------------------------------------- */

/* A command that only reads. The words were checked by the tool; paths are literal. */
struct vcs_question {
    struct str workspace;     /* absolute */
    const char *const *words; /* end with NULL; the subcommand first. Revisions are last */
    struct vcs_list paths; /* from the workspace, behind "--"; none: the command takes no paths */
    size_t output_max;
    int64_t wall_ms;
    const atomic_bool *cancelled;
};

struct vcs_answer {
    struct buf output, errors; /* bytes; the caller releases both */
    int status;                /* of the program */
};

/* How much of a repository a workspace is: what `prefix` and a question's words need. */
struct vcs_view {
    struct str prefix; /* the workspace's place in the repository; empty: all of it */
    /* READ_ONLY: the user may not write to the repository. Trees are made as where there is none. */
    enum { VCS_WRITABLE, VCS_READ_ONLY } access;
};

struct vcs_commit_request {
    struct str workspace;
    struct vcs_list
        paths; /* from the workspace, normal form: what is committed, and nothing else */
    struct vcs_list write_paths; /* no file outside them may be in the commit */
    struct str message;
    int64_t now_ms; /* wall clock */
    /* What the commit must hold (vcs_outlook.contents); empty: whatever is there. DENIED where it is something else by now. */
    struct str contents;
    const atomic_bool *cancelled;
};

/* One file of a commit that would be made. */
struct vcs_outlook_file {
    struct str path; /* from the workspace, bytes as they are */
    enum { VCS_FILE_NEW, VCS_FILE_CHANGED, VCS_FILE_DELETED } what;
    uint32_t old_mode, new_mode; /* as git has them; 0: not there */
    struct str old_id, new_id;   /* of its content */
    int64_t added, removed;      /* lines, where there is a diff */
};

/* What a commit would hold. Objects may be written for it, nothing else is. */
struct vcs_outlook {
    struct vcs_outlook_file *files;
    size_t count;
    struct str branch;   /* empty: HEAD is detached */
    struct str diff;     /* as git prints it, every file as text; STR_NONE: longer than diff_max */
    struct str contents; /* hash of paths, modes and contents, hex */
};

struct vcs_commit {
    struct str id;         /* empty: there was nothing to commit */
    struct str branch;     /* empty: HEAD is detached */
    struct vcs_list files; /* from the workspace */
};

/* --- for the engine ------------------------------------------------------------------------------------------------------ */

enum vcs_strategy {
    VCS_SHARED,   /* cannot write: works in its parent's tree, no git process at all */
    VCS_WORKTREE, /* a checkout of its own in a repository */
    VCS_COPY,     /* the same where there is no repository: one of our own holds the files */
};

enum vcs_dirty { VCS_SNAPSHOT, VCS_REFUSE }; /* what to do about uncommitted changes */

#define VCS_RESULT "result" /* the name of the root's tree */
#define VCS_CHECKS "checks" /* the name of the checkout in which a merge is tried */

/* A tree is a directory of files that an agent works in, and a branch cadre/RUN/NAME that holds what is committed of it. A child's is
 * named by its agent and is a checkout of its own; the root's is VCS_RESULT, and is either a checkout of its own or the user's. */
struct vcs_tree {
    struct str workspace; /* the user's: where the repository is found */
    struct str run, name;
    enum { VCS_OWN_CHECKOUT, VCS_USERS_CHECKOUT } place;
};

struct vcs_isolate_request {
    struct vcs_tree tree; /* to be made; its place is VCS_OWN_CHECKOUT */
    struct vcs_tree
        parent; /* what it starts from, as its files are now. Its name is empty for the root's tree, which starts from
                               the user's checkout */
    struct str
        base; /* where it was made before, for another attempt or after a crash; empty: from the parent's files */
    enum vcs_dirty dirty;
    int64_t now_ms;
    const atomic_bool *cancelled;
};

struct vcs_isolated {
    enum vcs_strategy strategy; /* WORKTREE or COPY */
    struct str base;            /* the commit that it starts from; uncommitted changes are in it */
    struct str path;            /* absolute: the checkout */
    struct str
        workspace; /* in it, the same place that the user's workspace has in the user's checkout */
    struct str branch; /* cadre/RUN/NAME */
};

struct vcs_integrate_request {
    struct vcs_tree tree, parent;
    struct str base; /* of the tree */
    enum { VCS_OWNS_ALL, VCS_OWNS_LISTED } owns;
    struct vcs_list ownership;   /* globs from the workspace */
    struct vcs_list write_paths; /* from the workspace; a change must lie in one of them */
    struct str message;
    int64_t now_ms;
    const atomic_bool *cancelled;
};

#define VCS_MERGES(X)                                                                              \
    X(NO_CHANGES, "no_changes")                                                                    \
    X(FAST_FORWARD, "fast_forward")                                                                \
    X(THREE_WAY, "three_way")                                                                      \
    X(CONFLICT, "conflict")                                                                        \
    X(MERGED_BEFORE, "merged_before") /* by a call that a crash ended */

enum vcs_merge {
#define X(name, text) VCS_##name,
    VCS_MERGES(X)
#undef X
};

static inline const char *vcs_merge_text(enum vcs_merge merge)
{
    static const char *const texts[] = {
#define X(name, text) text,
        VCS_MERGES(X)
#undef X
    };
    return texts[merge];
}

struct vcs_merged {
    enum vcs_merge outcome;
    struct str commit;         /* of the child's work; the base where nothing was changed */
    struct str from;           /* the parent's end that this was worked out against */
    struct str to;             /* what it becomes; equal to from where nothing changes */
    struct vcs_list files;     /* changed against the base, from the workspace */
    struct vcs_list conflicts; /* CONFLICT: which; from the workspace */
    struct str note;           /* CONFLICT: what git says about the first */
};

struct vcs_kept {
    struct str
        commit; /* the end of the branch; empty: there was nothing to keep, and the branch is gone */
    struct str branch;
    struct vcs_list files; /* changed against the base, from the workspace */
    struct str
        refused; /* why its files are not on the branch: they hold what no child may bring; empty: they are */
};

struct vcs_apply_request {
    struct str workspace, run;
    struct str base; /* the run's base */
    const atomic_bool *cancelled;
};

enum vcs_apply { VCS_APPLIED, VCS_APPLIED_BEFORE, VCS_NOTHING_TO_APPLY, VCS_APPLY_REFUSED };

/* A place where the user's files and the run's do not fit together. */
struct vcs_clash {
    struct str path;     /* from the workspace */
    int64_t first, last; /* lines of the user's file; 0: all of it */
    struct str hunk;     /* both sides as git marks them, or what git says about the file */
};

struct vcs_applied {
    enum vcs_apply outcome;
    enum {
        VCS_BY_COMMIT, /* the user's branch went from `from` to `to` */
        VCS_BY_FILES   /* only files were changed; nothing is committed */
    } way;
    struct str from, to;            /* commits */
    struct vcs_outlook_file *files; /* APPLIED: what changed */
    size_t file_count;
    struct vcs_clash *clashes; /* REFUSED: nothing was changed because of these */
    size_t clash_count;
    struct str reason;  /* REFUSED: one line for a person */
    struct str command; /* REFUSED: what the user can run instead; empty: nothing */
};

struct vcs_left { /* something that a run left on disk */
    struct str run, agent;
    struct str path;      /* of the checkout; it may not be there */
    struct str workspace; /* the user's checkout that it belongs to; it may not be there either */
};

struct vcs_port {
    /* Only looks: nothing is made, neither in the repository nor in our own state. */
    int (*view)(void *self, struct arena *arena, struct str workspace, struct vcs_view *view,
                struct err *err);
    int (*ask)(void *self, const struct vcs_question *question, struct vcs_answer *answer,
               struct err *err);
    /* What a program in a tree needs so that git can look at it. None where the workspace has its own, or is a part of a tree. */
    int (*records)(void *self, struct arena *arena, struct str workspace,
                   struct sandbox_records *records, struct err *err);
    /* Commits files of the workspace as they are on disk, on the current branch. Never .cadre, gitlinks, .gitmodules, links that lead
     * out. What else is staged stays staged. */
    int (*commit)(void *self, struct arena *arena, const struct vcs_commit_request *request,
                  struct vcs_commit *commit, struct err *err);
    /* What `commit` would do with the same request. */
    int (*outlook)(void *self, struct arena *arena, const struct vcs_commit_request *request,
                   size_t diff_max, struct vcs_outlook *outlook, struct err *err);

    /* Makes a tree: a checkout on a branch of its own, as new when it is there already. What the parent's files hold is committed on the
     * parent's branch first. DENIED: they hold what no commit may hold, or the user's are not committed and dirty is REFUSE. */
    int (*isolate)(void *self, struct arena *arena, const struct vcs_isolate_request *request,
                   struct vcs_isolated *isolated, struct err *err);
    /* The first half of a merge: commits the child's work on its branch and the parent's on its own, and works out what the merge gives.
     * Nothing else moves. DENIED: the child's tree holds what no child may bring; nothing of it is committed. */
    int (*merge_begin)(void *self, struct arena *arena, const struct vcs_integrate_request *request,
                       struct vcs_merged *merged, struct err *err);
    /* Puts the run's checkout for checks (VCS_CHECKS) at a commit; makes it when it is not there. */
    int (*stage)(void *self, struct arena *arena, const struct vcs_tree *tree, struct str commit,
                 const atomic_bool *cancelled, struct vcs_isolated *staged, struct err *err);
    /* The second half: the parent's branch moves from merged->from to merged->to by compare-and-swap, and its files with it. RETRY: it is
     * somewhere else by now, or its files were changed meanwhile; begin again. All or nothing, after a crash too: an intent on a private
     * ref is completed by whatever looks at the parent's tree next. */
    int (*merge_end)(void *self, struct arena *arena, const struct vcs_integrate_request *request,
                     const struct vcs_merged *merged, struct err *err);
    /* The tree's work stays on its branch, unmerged. */
    int (*keep)(void *self, struct arena *arena, const struct vcs_integrate_request *request,
                struct vcs_kept *kept, struct err *err);
    /* Removes the checkout, and the branch where it holds nothing that its base does not hold or that was merged into the parent's. A tree
     * in the user's checkout loses its branch and its private refs alone. */
    int (*remove)(void *self, const struct vcs_integrate_request *request, struct err *err);
    /* Brings the run's work, and only that, into the user's checkout. One that is clean and stands where the run started is
     * fast-forwarded to cadre/RUN/result. Any other gets it by a three-way merge into its files, against the files that the run started
     * from; nothing is committed, and a clash changes nothing. Undo takes it out again, in the same two ways. Half of either is
     * completed by the next call. */
    int (*apply)(void *self, struct arena *arena, const struct vcs_apply_request *request,
                 struct vcs_applied *applied, struct err *err);
    int (*undo)(void *self, struct arena *arena, const struct vcs_apply_request *request,
                struct vcs_applied *applied, struct err *err);
    /* What the run has changed, as `apply` would bring it. NOT_FOUND: there is no such branch. */
    int (*result)(void *self, struct arena *arena, const struct vcs_apply_request *request,
                  size_t diff_max, struct vcs_outlook *outlook, struct err *err);
    /* Puts integrated changes into files of the user's checkout that are as they were in base; commits nothing. All or none. */
    int (*apply_files)(void *self, struct arena *arena, const struct vcs_apply_request *request,
                       struct str from, struct str to, struct vcs_applied *applied,
                       struct err *err);
    /* Every checkout that is on disk, half made ones and those of repositories that are gone too. */
    int (*list)(void *self, struct arena *arena, struct vcs_left **left, size_t *count,
                struct err *err);
    /* Removes a checkout that `list` told of, whatever became of its repository. Branches stay. */
    int (*discard)(void *self, const struct vcs_left *left, struct err *err);
    /* Removes the private refs of a run that will not be resumed, applied or undone any more. Branches stay. */
    int (*forget)(void *self, struct str workspace, struct str run, struct err *err);
    void *self;
};

#endif
