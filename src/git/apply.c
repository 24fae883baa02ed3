/* Fast-forwards the user's checkout to a run's result, and back: see apply.h. What must not happen is left to git's own checks (it moves
 * HEAD by compare-and-swap and overwrites nothing that it does not know), what the user should read is worked out before. On threads
 * that may wait. */
#include "git/apply.h"

#include <stdio.h>

#include "git/files.h"
#include "git/tree.h"
#include "git/worktree.h"
#include "os/clock.h"

static const char *applied_ref(const struct git_work *work, struct str run)
{
    return arena_printf(work->arena, "refs/cadre/%.*s/applied", STR_FMT(run)).p;
}

/* Resolves a ref that may not be there: then empty. */
static int find_ref(const struct git_work *work, const char *ref, struct str *id, struct err *err)
{
    struct err none = ERR_INIT;
    if (git_resolve(work, ref, id, &none) == 0)
        return 0;
    *id = STR("");
    return none.class == ERR_NOT_FOUND ? 0 : err_set(err, none.class, "%s", none.message);
}

static int is_clean(const struct git_work *work, struct str head, bool *yes, struct err *err)
{
    struct str tree, head_tree;
    const char *name = arena_printf(work->arena, "%.*s^{tree}", STR_FMT(head)).p;
    if (git_snapshot_tree(work, &tree, err) != 0 ||
        git_line(work, GIT_WORDS("rev-parse", "--verify", name), &head_tree, err) != 0)
        return -1;
    *yes = str_eq(tree, head_tree);
    return 0;
}

static int refuse(struct vcs_applied *applied, const char *reason, struct str command)
{
    applied->outcome = VCS_APPLY_REFUSED;
    applied->reason = str_from(reason);
    applied->command = command;
    return 0;
}

/* Merge where the user's commits went on; a patch where the result stands on changes that were never committed. */
static int why_not(const struct git_work *work, const struct vcs_apply_request *request, bool clean,
                   bool forward, struct vcs_applied *applied)
{
    struct str run = request->run;
    if (clean && !forward)
        return refuse(applied, "your branch has other commits by now",
                      arena_printf(work->arena, "git merge cadre/%.*s/result", STR_FMT(run)));
    return refuse(applied, "the checkout has uncommitted changes",
                  arena_printf(work->arena,
                               "git diff --binary refs/cadre/%.*s/base cadre/%.*s/result | git "
                               "apply --3way",
                               STR_FMT(run), STR_FMT(run)));
}

static int change(const struct git_work *work, const char *const *words, struct err *err)
{
    struct git_answer answer;
    struct git_signature self = git_self(clock_now_ms());
    struct git_call call = {.site = work->site,
                            .words = words,
                            .effect = GIT_WRITES,
                            .committer = &self,
                            .cancelled = work->cancelled};
    if (git_call(work->git, &call, &answer, err) != 0)
        return -1;
    git_answer_release(&answer);
    return 0;
}

/* Where undo leads back to is stored first. */
static int forward_to(const struct git_work *work, struct str run, struct vcs_applied *applied,
                      struct err *err)
{
    const char *ref = applied_ref(work, run);
    if (change(work, GIT_WORDS("update-ref", ref, applied->from.p), err) != 0)
        return -1;
    /* Not even ignored files are overwritten. */
    return change(work,
                  GIT_WORDS("merge", "--ff-only", "--no-overwrite-ignore", "--quiet", "--no-stat",
                            applied->to.p),
                  err);
}

int git_apply(const struct git_work *work, const struct vcs_apply_request *request,
              struct vcs_applied *applied, struct err *err)
{
    bool before = false, forward = false, clean = false;
    *applied = (struct vcs_applied){.outcome = VCS_NOTHING_TO_APPLY};
    const char *ref = git_branch_ref(work->arena, request->run, STR(VCS_RESULT));
    if (find_ref(work, ref, &applied->to, err) != 0 || git_head(work, &applied->from, err) != 0)
        return -1;
    if (applied->to.n == 0 || str_eq(applied->to, request->base))
        return 0;
    /* A branch without a commit cannot be moved forward: the files are changed, and nothing is committed. */
    if (applied->from.n == 0)
        return git_apply_files(work, request->base, applied->to, applied, err);
    if (git_is_ancestor(work, applied->to, applied->from, &before, err) != 0)
        return -1;
    if (before) {
        applied->outcome = VCS_APPLIED_BEFORE;
        return 0;
    }
    if (git_is_ancestor(work, applied->from, applied->to, &forward, err) != 0 ||
        is_clean(work, applied->from, &clean, err) != 0)
        return -1;
    if (!forward || !clean)
        return why_not(work, request, clean, forward, applied);
    applied->outcome = VCS_APPLIED;
    return forward_to(work, request->run, applied, err);
}

int git_undo(const struct git_work *work, const struct vcs_apply_request *request,
             struct vcs_applied *applied, struct err *err)
{
    *applied = (struct vcs_applied){.outcome = VCS_NOTHING_TO_APPLY};
    struct str result;
    const char *ref = git_branch_ref(work->arena, request->run, STR(VCS_RESULT));
    const char *mark = applied_ref(work, request->run);
    if (find_ref(work, mark, &applied->to, err) != 0 || find_ref(work, ref, &result, err) != 0 ||
        git_head(work, &applied->from, err) != 0)
        return -1;
    /* Only files were changed where there is no commit yet: they go back. */
    if (applied->from.n == 0 && result.n > 0)
        return git_apply_files(work, result, request->base, applied, err);
    if (applied->to.n == 0)
        return 0;
    if (str_eq(applied->from, applied->to)) /* back already, before a crash */
        return git_delete_ref(work, mark, err);
    if (!str_eq(applied->from, result))
        return refuse(applied, "your branch has other commits by now",
                      arena_printf(work->arena, "git revert %.*s..cadre/%.*s/result",
                                   STR_FMT(applied->to), STR_FMT(request->run)));
    applied->outcome = VCS_APPLIED;
    /* --keep refuses where an uncommitted change would be lost. */
    if (change(work, GIT_WORDS("reset", "--keep", "--quiet", applied->to.p), err) != 0)
        return -1;
    return git_delete_ref(work, mark, err);
}

int git_apply_files(const struct git_work *work, struct str from, struct str to,
                    struct vcs_applied *applied, struct err *err)
{
    struct git_moved moved;
    *applied = (struct vcs_applied){.outcome = VCS_NOTHING_TO_APPLY,
                                    .from = arena_copy(work->arena, from),
                                    .to = arena_copy(work->arena, to)};
    if (!git_is_id(from) || !git_is_id(to))
        return err_set(err, ERR_USAGE, "applying needs two commits");
    if (git_files_move(work, applied->from, applied->to, GIT_MOVE_FIRST, &moved, err) != 0)
        return -1;
    if (moved.changes.count > 0)
        applied->outcome = VCS_APPLIED;
    if (moved.clashes.count > 0) {
        applied->outcome = VCS_APPLY_REFUSED;
        applied->files = moved.clashes;
        applied->reason = STR("files were changed meanwhile");
    }
    return 0;
}
