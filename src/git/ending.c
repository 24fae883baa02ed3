/* What becomes of a tree that ends: its work stays on its branch, or the branch goes too. See merge.h. On threads that may wait. */
#include <stdio.h>
#include <unistd.h>

#include "git/commit.h"
#include "git/erase.h"
#include "git/intent.h"
#include "git/merge.h"
#include "git/site.h"
#include "git/worktree.h"

/* --- keeping -------------------------------------------------------------------------------------------------------------------- */

/* What the branch holds against the base. */
static int kept_files(struct git_tree *tree, struct str base, struct vcs_kept *kept,
                      struct err *err)
{
    struct git_changes changes;
    if (git_diff_trees(&tree->work, arena_copy(tree->work.arena, base), tree->refs.end, &changes,
                       err) != 0)
        return -1;
    kept->files = git_changed_files(&tree->work, &changes);
    return 0;
}

static int keep_own(struct git_tree *tree, const struct vcs_integrate_request *request,
                    struct vcs_kept *kept, struct err *err)
{
    struct git_collected collected = {.files = {NULL, 0}};
    struct err why = ERR_INIT;
    if (git_settle(tree, err) != 0)
        return -1;
    if (tree->refs.end.n == 0)
        return 0; /* there was nothing, before a crash */
    if (git_collect(tree, request, &collected, &why) != 0) {
        if (why.class != ERR_DENIED)
            return err_set(err, why.class, "%s", why.message);
        kept->refused = arena_copy(tree->work.arena, str_from(why.message));
        if (kept_files(tree, request->base, kept, err) != 0)
            return -1;
    } else {
        kept->files = collected.files;
    }
    if (kept->files.count > 0 && !str_eq(tree->refs.end, request->base))
        kept->commit = tree->refs.end;
    else if (kept->refused.n == 0)
        return git_delete_ref(&tree->work, tree->ref, err);
    return 0; /* a refusal is told again after a crash; the branch goes with the checkout */
}

/* The files are where they belong; no branch is needed for them. */
static int keep_users(struct git_tree *tree, const struct vcs_integrate_request *request,
                      struct vcs_kept *kept, struct err *err)
{
    if (!git_is_id(request->base))
        return git_settle(tree, err);
    if (git_tree_sync(tree, VCS_SNAPSHOT, request->now_ms, err) != 0)
        return -1;
    return kept_files(tree, request->base, kept, err);
}

/* The checkout was removed already, and a crash came before anybody was told. */
static int keep_removed(struct git_tree *tree, const struct git_work *refs,
                        const struct vcs_integrate_request *request, struct vcs_kept *kept,
                        struct err *err)
{
    struct err none = ERR_INIT;
    tree->work = *refs;
    if (git_resolve(refs, tree->ref, &tree->refs.end, &none) != 0)
        return none.class == ERR_NOT_FOUND ? 0 : err_set(err, none.class, "%s", none.message);
    if (str_eq(tree->refs.end, request->base))
        return git_tree_lost(tree, err); /* a branch that holds nothing goes before its checkout */
    kept->commit = tree->refs.end;
    return kept_files(tree, request->base, kept, err);
}

int git_keep(const struct git *git, struct arena *arena,
             const struct vcs_integrate_request *request, struct vcs_kept *kept, struct err *err)
{
    struct git_tree tree;
    struct git_site user;
    if (git_tree_find(git, arena, &request->tree, request->cancelled, &tree, err) != 0)
        return -1;
    *kept = (struct vcs_kept){
        .commit = STR(""),
        .branch = arena_printf(arena, "cadre/%.*s/%.*s", STR_FMT(tree.run), STR_FMT(tree.name)),
        .refused = STR(""),
    };
    if (tree.site.owner == GIT_SITE_CHILD && git_worktree_removed(&tree.work)) {
        if (git_site_any(git, arena, request->tree.workspace, &user, err) != 0)
            return -1;
        struct git_work refs = {git, &user, arena, request->cancelled};
        return keep_removed(&tree, &refs, request, kept, err);
    }
    if (git_tree_lock(&tree, err) != 0)
        return -1;
    int result = tree.site.owner == GIT_SITE_CHILD ? keep_own(&tree, request, kept, err)
                                                   : keep_users(&tree, request, kept, err);
    git_site_unlock(&tree.site);
    return result;
}

/* --- removing ------------------------------------------------------------------------------------------------------------------- */

/* The branch goes when it holds nothing of its own, or what it holds is in the parent's. work: of any site that stays. */
static int drop_branch(const struct git_work *work, struct git_tree *tree,
                       const struct vcs_integrate_request *request, struct err *err)
{
    struct err none = ERR_INIT;
    struct str end, joined;
    bool merged = false;
    if (git_resolve(work, tree->ref, &end, &none) != 0)
        return none.class == ERR_NOT_FOUND ? 0 : err_set(err, none.class, "%s", none.message);
    if (str_eq(end, request->base))
        return git_delete_ref(work, tree->ref, err);
    if (str_is(tree->name, VCS_RESULT))
        return 0; /* what the user asked for */
    const char *parent = git_branch_ref(work->arena, tree->run, request->parent.name);
    if (git_resolve(work, parent, &joined, &none) == 0) {
        if (git_is_ancestor(work, end, joined, &merged, err) != 0)
            return -1;
    } else if (none.class != ERR_NOT_FOUND) {
        *err = none;
        return -1;
    }
    return merged ? git_delete_ref(work, tree->ref, err) : 0;
}

/* The announcements of merges into a tree that is no more. */
static int drop_intent(const struct git_work *work, struct git_tree *tree, struct err *err)
{
    return git_drop_refs(work, git_intent_ref(tree, ""), err);
}

static int remove_checks(const struct git_work *work, struct git_tree *tree, struct err *err)
{
    struct git_site site;
    struct git_work files = *work;
    files.site = &site;
    if (git_site_child(work->arena, work->site, tree->run, STR(VCS_CHECKS), &site, err) != 0)
        return -1;
    return git_worktree_remove(&files, err);
}

/* refs: on the user's site. */
static int remove_own(const struct git_work *refs, struct git_tree *tree,
                      const struct vcs_integrate_request *request, struct err *err)
{
    if (git_worktree_remove(&tree->work, err) != 0 || drop_intent(refs, tree, err) != 0 ||
        drop_branch(refs, tree, request, err) != 0)
        return -1;
    return str_is(tree->name, VCS_RESULT) ? remove_checks(refs, tree, err) : 0;
}

int git_remove_shadow(const struct git_work *work, struct err *err)
{
    struct str line;
    if (work->site->kind != GIT_KIND_SHADOW)
        return 0;
    const char *trees = arena_printf(work->arena, "%.*s/trees", STR_FMT(work->site->common_dir)).p;
    const char *records =
        arena_printf(work->arena, "%.*s/worktrees", STR_FMT(work->site->common_dir)).p;
    if (git_line(work, GIT_WORDS("for-each-ref", "--count=1", "--format=%(refname)"), &line, err) !=
        0)
        return -1;
    if (line.n > 0 || rmdir(trees) != 0 || rmdir(records) != 0)
        return 0; /* somebody else needs it; the directories are made again */
    return git_erase(work->site->common_dir.p, err);
}

static int remove_users(struct git_tree *tree, struct err *err)
{
    if (git_tree_lock(tree, err) != 0)
        return -1;
    int result = -1;
    /* Half a merge must not stay in the user's files. */
    if (git_settle(tree, err) == 0 && remove_checks(&tree->work, tree, err) == 0 &&
        (tree->refs.end.n == 0 || git_delete_ref(&tree->work, tree->ref, err) == 0) &&
        git_forget(&tree->work, tree->run, err) == 0)
        result = git_remove_shadow(&tree->work, err);
    git_site_unlock(&tree->site);
    return result;
}

int git_remove(const struct git *git, struct arena *arena,
               const struct vcs_integrate_request *request, struct err *err)
{
    struct git_tree tree;
    struct git_site user;
    if (git_tree_find(git, arena, &request->tree, request->cancelled, &tree, err) != 0)
        return -1;
    if (tree.site.owner == GIT_SITE_USER)
        return remove_users(&tree, err);
    if (git_site_any(git, arena, request->tree.workspace, &user, err) != 0)
        return -1;
    struct git_work refs = {git, &user, arena, request->cancelled};
    return remove_own(&refs, &tree, request, err);
}
