/* Where a run starts: the user's commit, and what the user has not committed on a private ref. The user's index and branches are not
 * touched. On threads that may wait. */
#include <stdio.h>

#include "git/index.h"
#include "git/worktree.h"
#include "os/clock.h"

#define ALL_PATHS ((struct vcs_list){NULL, 0})

int git_snapshot_tree(const struct git_work *work, struct str *tree, struct err *err)
{
    const char *index;
    enum git_nested nested =
        work->site->kind == GIT_KIND_SHADOW ? GIT_REFUSES_NESTED : GIT_SKIPS_NESTED;
    if (git_index_copy(work, "snapshot", &index, err) != 0)
        return -1;
    int result = git_index_take(work, index, ALL_PATHS, nested, err);
    if (result == 0 && (result = git_index_write_tree(work, index, tree, err)) != 0 &&
        strstr(err->message, "unmerged") != NULL)
        err_set(err, ERR_DENIED, "the checkout has conflicts that are not settled");
    git_index_remove(index);
    return result;
}

static const char *base_ref(const struct git_work *work, struct str run, const char *name)
{
    return arena_printf(work->arena, "refs/cadre/%.*s/%s", STR_FMT(run), name).p;
}

/* What an earlier call stored: 1, 0 when there is nothing, -1. */
static int find_base(const struct git_work *work, struct str run, struct vcs_base *base,
                     struct err *err)
{
    struct err none = ERR_INIT;
    if (git_resolve(work, base_ref(work, run, "base"), &base->commit, &none) != 0)
        return none.class == ERR_NOT_FOUND ? 0 : err_set(err, none.class, "%s", none.message);
    if (git_resolve(work, base_ref(work, run, "head"), &base->head, &none) != 0) {
        if (none.class != ERR_NOT_FOUND)
            return err_set(err, none.class, "%s", none.message);
        base->head = STR("");
    }
    base->snapshot = !str_eq(base->head, base->commit);
    return 1;
}

/* Both refs or none. */
static int store_base(const struct git_work *work, struct str run, const struct vcs_base *base,
                      struct err *err)
{
    struct git_answer answer;
    struct git_signature self = git_self(clock_now_ms());
    struct buf input;
    buf_init(&input, 4096);
    buf_printf(&input, "create %s %.*s\n", base_ref(work, run, "base"), STR_FMT(base->commit));
    if (base->head.n > 0)
        buf_printf(&input, "create %s %.*s\n", base_ref(work, run, "head"), STR_FMT(base->head));
    struct git_call call = {.site = work->site,
                            .words = GIT_WORDS("update-ref", "--stdin"),
                            .effect = GIT_WRITES,
                            .committer = &self,
                            .input = buf_view(&input),
                            .cancelled = work->cancelled};
    int result = git_call(work->git, &call, &answer, err);
    if (result == 0)
        git_answer_release(&answer);
    buf_release(&input);
    return result;
}

static int commit_snapshot(const struct git_work *work, const struct vcs_base_request *request,
                           struct str tree, struct vcs_base *base, struct err *err)
{
    struct git_signature self = git_self(request->now_ms);
    struct git_commit_parts parts = {
        .tree = tree,
        .parents = {base->head, STR("")},
        .message = STR("cadre: files as they were when the run started\n"),
        .author = &self,
        .committer = &self,
    };
    return git_commit_object(work, &parts, &base->commit, err);
}

int git_base(const struct git_work *work, const struct vcs_base_request *request,
             struct vcs_base *base, struct err *err)
{
    struct str tree, head_tree = STR("");
    *base = (struct vcs_base){.strategy =
                                  work->site->kind == GIT_KIND_SHADOW ? VCS_COPY : VCS_WORKTREE};
    int found = find_base(work, request->run, base, err);
    if (found != 0)
        return found > 0 ? 0 : -1;
    if (git_head(work, &base->head, err) != 0 || git_snapshot_tree(work, &tree, err) != 0)
        return -1;
    if (base->head.n > 0 &&
        git_line(work, GIT_WORDS("rev-parse", "--verify", "HEAD^{tree}"), &head_tree, err) != 0)
        return -1;
    base->commit = base->head;
    base->snapshot = !str_eq(tree, head_tree);
    if (base->snapshot && request->dirty == VCS_REFUSE && work->site->kind == GIT_KIND_REPOSITORY)
        return err_set(err, ERR_DENIED,
                       "the checkout has uncommitted changes; commit or stash them first");
    if (base->snapshot && commit_snapshot(work, request, tree, base, err) != 0)
        return -1;
    return store_base(work, request->run, base, err);
}

int git_base_forget(const struct git_work *work, struct str run, struct err *err)
{
    static const char *const names[] = {"base", "head", "applied"};
    struct str id;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *ref = base_ref(work, run, names[i]);
        struct err none = ERR_INIT;
        if (git_resolve(work, ref, &id, &none) == 0) {
            if (git_delete_ref(work, ref, err) != 0)
                return -1;
        } else if (none.class != ERR_NOT_FOUND) {
            *err = none;
            return -1;
        }
    }
    return 0;
}
