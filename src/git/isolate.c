/* Makes the tree of a root or a child from what its parent's files hold by now: see merge.h. On threads that may wait. */
#include <unistd.h>

#include "git/intent.h"
#include "git/merge.h"
#include "git/site.h"
#include "git/tree.h"
#include "git/worktree.h"

/* The user's commit, with what is not committed. */
static int start_of_run(const struct git *git, struct arena *arena,
                        const struct vcs_isolate_request *request, struct str *start,
                        struct err *err)
{
    struct git_site user;
    struct git_base base;
    if (git_site_find(git, arena, request->tree.workspace, &user, err) != 0 ||
        git_site_lock(&user, request->cancelled, err) != 0)
        return -1;
    struct git_work work = {git, &user, arena, request->cancelled};
    int result = git_base(&work, request->tree.run, request->dirty, request->now_ms, &base, err);
    git_site_unlock(&user);
    if (result == 0)
        *start = base.commit;
    return result;
}

static int start_of_child(const struct git *git, struct arena *arena,
                          const struct vcs_isolate_request *request, struct str *start,
                          struct err *err)
{
    struct git_tree parent;
    if (git_tree_find(git, arena, &request->parent, request->cancelled, &parent, err) != 0 ||
        git_tree_lock(&parent, err) != 0)
        return -1;
    int result = git_tree_sync(&parent, request->dirty, request->now_ms, err);
    git_site_unlock(&parent.site);
    if (result == 0)
        *start = parent.refs.end;
    return result;
}

/* A merge into an earlier one of this name is none into this. Its records go last, so they tell; a crash may have left half of them,
 * so it is not git in that checkout that is asked. */
static int drop_earlier(const struct git *git, struct arena *arena,
                        const struct vcs_isolate_request *request, const struct git_tree *tree,
                        struct err *err)
{
    struct git_site user;
    if (access(tree->site.git_dir.p, F_OK) != 0)
        return 0;
    if (git_site_any(git, arena, request->tree.workspace, &user, err) != 0)
        return -1;
    struct git_work work = {git, &user, arena, request->cancelled};
    return git_drop_refs(&work, git_intent_ref(tree, ""), err);
}

int git_isolate(const struct git *git, struct arena *arena,
                const struct vcs_isolate_request *request, struct vcs_isolated *isolated,
                struct err *err)
{
    struct git_tree tree;
    struct git_site user;
    struct str start = arena_copy(arena, request->base), name = request->tree.name;
    bool root = request->parent.name.n == 0;
    if (request->tree.place != VCS_OWN_CHECKOUT || root != str_is(name, VCS_RESULT) ||
        str_is(name, VCS_CHECKS))
        return err_set(err, ERR_USAGE, "\"%.*s\" cannot name this worktree", STR_FMT(name));
    /* Without a repository that can be written a root works where the user does: nothing is made for it. */
    if (root && git_site_find(git, arena, request->tree.workspace, &user, err) != 0)
        return -1;
    if (root && user.access == GIT_SITE_READ_ONLY)
        return err_set(err, ERR_NOT_FOUND, "you may not write to the repository of %.*s",
                       STR_FMT(request->tree.workspace));
    if (git_tree_find(git, arena, &request->tree, request->cancelled, &tree, err) != 0)
        return -1;
    if (start.n == 0 && (root ? start_of_run(git, arena, request, &start, err)
                              : start_of_child(git, arena, request, &start, err)) != 0)
        return -1;
    git_describe(arena, &tree, isolated);
    isolated->base = start;
    if (drop_earlier(git, arena, request, &tree, err) != 0)
        return -1;
    return git_worktree_create(&tree.work, tree.ref, start, err);
}
