/* Where a run starts: the user's commit, and what the user has not committed on a private ref. The user's index and branches are not
 * touched. On threads that may wait. */
#include <stdio.h>

#include "git/index.h"
#include "git/tree.h"
#include "git/worktree.h"

#define ALL_PATHS ((struct vcs_list){NULL, 0})

int git_snapshot_tree(const struct git_work *work, struct str *tree, struct err *err)
{
    const char *index;
    enum git_nested nested =
        work->site->kind == GIT_KIND_SHADOW ? GIT_REFUSES_NESTED : GIT_SKIPS_NESTED;
    if (git_index_copy(work, &index, err) != 0)
        return -1;
    int result = git_index_take(work, index, ALL_PATHS, nested, err);
    if (result == 0 && (result = git_index_write_tree(work, index, tree, err)) != 0 &&
        strstr(err->message, "unmerged") != NULL)
        err_set(err, ERR_DENIED, "the checkout has conflicts that are not settled");
    git_index_remove(index);
    return result;
}

/* What an earlier call stored: 1, 0 when there is nothing, -1. */
static int find_base(const struct git_work *work, struct str run, struct git_base *base,
                     struct err *err)
{
    struct err none = ERR_INIT;
    if (git_resolve(work, git_private_ref(work->arena, run, "base"), &base->commit, &none) != 0)
        return none.class == ERR_NOT_FOUND ? 0 : err_set(err, none.class, "%s", none.message);
    if (git_resolve(work, git_private_ref(work->arena, run, "head"), &base->head, &none) != 0) {
        if (none.class != ERR_NOT_FOUND)
            return err_set(err, none.class, "%s", none.message);
        base->head = STR("");
    }
    return 1;
}

/* Both refs or none. */
static int store_base(const struct git_work *work, struct str run, const struct git_base *base,
                      struct err *err)
{
    struct str script =
        arena_printf(work->arena, "create %s %.*s\n", git_private_ref(work->arena, run, "base"),
                     STR_FMT(base->commit));
    if (base->head.n > 0)
        script = arena_printf(work->arena, "%.*screate %s %.*s\n", STR_FMT(script),
                              git_private_ref(work->arena, run, "head"), STR_FMT(base->head));
    return git_change_refs(work, script, err);
}

static int commit_snapshot(const struct git_work *work, struct str tree, int64_t now_ms,
                           struct git_base *base, struct err *err)
{
    struct git_signature self = git_self(now_ms);
    struct git_commit_parts parts = {
        .tree = tree,
        .parents = {base->head, STR("")},
        .message = STR("cadre: files as they were when the run started\n"),
        .author = &self,
        .committer = &self,
    };
    return git_commit_object(work, &parts, &base->commit, err);
}

int git_base(const struct git_work *work, struct str run, enum vcs_dirty dirty, int64_t now_ms,
             struct git_base *base, struct err *err)
{
    struct str tree, head_tree = STR("");
    *base = (struct git_base){.head = STR("")};
    int found = find_base(work, run, base, err);
    if (found != 0)
        return found > 0 ? 0 : -1;
    if (git_head(work, &base->head, err) != 0 || git_snapshot_tree(work, &tree, err) != 0)
        return -1;
    if (base->head.n > 0 &&
        git_line(work, GIT_WORDS("rev-parse", "--verify", "HEAD^{tree}"), &head_tree, err) != 0)
        return -1;
    base->commit = base->head;
    bool snapshot = !str_eq(tree, head_tree);
    if (snapshot && dirty == VCS_REFUSE && work->site->kind == GIT_KIND_REPOSITORY)
        return err_set(err, ERR_DENIED,
                       "the checkout has uncommitted changes; commit or stash them first");
    if (snapshot && commit_snapshot(work, tree, now_ms, base, err) != 0)
        return -1;
    return store_base(work, run, base, err);
}

int git_forget(const struct git_work *work, struct str run, struct err *err)
{
    return git_drop_refs(work, arena_printf(work->arena, "refs/cadre/%.*s", STR_FMT(run)).p, err);
}
