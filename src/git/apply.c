/* Brings a run's work into the user's checkout, and takes it out again: see apply.h. What must not happen is left to git's own checks (it
 * moves HEAD by compare-and-swap and overwrites nothing that it does not know) and to git/intent.h, which writes all files or none. On
 * threads that may wait. */
#include "git/apply.h"

#include <stdio.h>

#include "git/clash.h"
#include "git/files.h"
#include "git/guard.h"
#include "git/intent.h"
#include "git/merge.h"
#include "git/outlook.h"
#include "git/tree.h"
#include "git/worktree.h"
#include "os/clock.h"

/* The user's files as a tree of the run, and what was done with them. */
struct files {
    struct git_tree tree;
    struct str from, to, back; /* refs of apply.h; empty: not there */
};

static const char *applied_ref(const struct git_work *work, struct str run)
{
    return git_private_ref(work->arena, run, "applied");
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

static int tree_of(const struct git_work *work, struct str commit, struct str *tree,
                   struct err *err)
{
    const char *name = arena_printf(work->arena, "%.*s^{tree}", STR_FMT(commit)).p;
    return git_line(work, GIT_WORDS("rev-parse", "--verify", name), tree, err);
}

static int is_clean(const struct git_work *work, struct str head, bool *yes, struct err *err)
{
    struct str tree = STR(""), head_tree = STR("");
    if (git_snapshot_tree(work, &tree, err) != 0 || tree_of(work, head, &head_tree, err) != 0)
        return -1;
    *yes = str_eq(tree, head_tree);
    return 0;
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

/* A commit that no branch will hold. */
static int private_commit(const struct git_work *work, struct str tree, struct str first,
                          struct str second, struct str *id, struct err *err)
{
    struct git_signature self = git_self(clock_now_ms());
    struct git_commit_parts parts = {.tree = tree,
                                     .parents = {first, second},
                                     .message = STR("cadre: files of the checkout\n"),
                                     .author = &self,
                                     .committer = &self};
    return git_commit_object(work, &parts, id, err);
}

static int list_files(const struct git_work *work, struct str from, struct str to,
                      struct vcs_applied *applied, struct err *err)
{
    struct git_changes changes;
    struct vcs_outlook outlook;
    if (git_diff_trees(work, from, to, &changes, err) != 0)
        return -1;
    git_outlook_list(work, &changes, &outlook);
    applied->files = outlook.files;
    applied->file_count = outlook.count;
    return 0;
}

static int refuse(struct vcs_applied *applied, const char *reason, struct str command)
{
    applied->outcome = VCS_APPLY_REFUSED;
    applied->reason = str_from(reason);
    applied->command = command;
    return 0;
}

/* --- what was done before ------------------------------------------------------------------------------------------------------- */

/* One of the refs of apply.h; "" for where they are. */
static const char *part_ref(const struct files *files, const char *part)
{
    struct arena *arena = files->tree.work.arena;
    const char *slash = part[0] != '\0' ? "/" : "";
    return git_private_ref(arena, files->tree.run, arena_printf(arena, "apply%s%s", slash, part).p);
}

static int forget_files(struct files *files, struct err *err)
{
    if (git_drop_refs(&files->tree.work, part_ref(files, ""), err) != 0)
        return -1;
    files->from = files->to = files->back = files->tree.refs.end = STR("");
    return 0;
}

/* Completes what a crash left, and looks at what there is. */
static int files_find(const struct git_work *work, struct str run, struct files *files,
                      struct err *err)
{
    struct git_tree *tree = &files->tree;
    *files = (struct files){
        .tree = {.site = *work->site, .run = arena_copy(work->arena, run), .name = STR("apply")}};
    tree->work = (struct git_work){work->git, &tree->site, work->arena, work->cancelled};
    tree->ref = part_ref(files, "files");
    if (git_settle(tree, err) != 0 ||
        find_ref(&tree->work, part_ref(files, "from"), &files->from, err) != 0 ||
        find_ref(&tree->work, part_ref(files, "to"), &files->to, err) != 0 ||
        find_ref(&tree->work, part_ref(files, "back"), &files->back, err) != 0)
        return -1;
    if (files->back.n > 0 && str_eq(tree->refs.end, files->back))
        return forget_files(files, err); /* an undo came to its end */
    if (files->back.n > 0 && files->to.n > 0) {
        /* An undo was announced, and no file of it written. */
        struct str script =
            arena_printf(work->arena, "update %s %.*s\ndelete %s %.*s\n", tree->ref,
                         STR_FMT(files->to), part_ref(files, "back"), STR_FMT(files->back));
        if (git_change_refs(&tree->work, script, err) != 0)
            return -1;
        files->back = STR("");
        return git_tree_look(tree, err);
    }
    return 0;
}

static bool is_in_files(const struct files *files)
{
    return files->to.n > 0 && str_eq(files->tree.refs.end, files->to);
}

int git_apply_settle(const struct git_work *work, struct str run, struct err *err)
{
    struct files files;
    return files_find(work, run, &files, err);
}

/* --- three-way, into the files --------------------------------------------------------------------------------------------------- */

/* The files as they are: `now`, a commit on top of `base`. `theirs` stands on `base` too; `merged` is what becomes of the files.
 * Refused: the two do not fit together. */
static int work_out(const struct git_work *work, struct str base, struct str theirs,
                    struct str *now, struct str *merged, struct vcs_applied *applied,
                    struct err *err)
{
    struct str tree = STR("");
    struct git_merge_answer told;
    *now = *merged = STR("");
    if (git_snapshot_tree(work, &tree, err) != 0 ||
        private_commit(work, tree, base, STR(""), now, err) != 0 ||
        git_merge_trees(work, *now, theirs, &told, err) != 0)
        return -1;
    if (!told.clean) {
        refuse(applied, "your changes and the run's are in the same places", STR(""));
        return git_clashes(work, &told, applied, err);
    }
    return private_commit(work, told.tree, *now, theirs, merged, err);
}

/* Files that a merge cannot know of are in the way: ignored ones, or somebody writes right now. */
static int refuse_clashes(const struct files *files, struct vcs_applied *applied)
{
    const struct git_work *work = &files->tree.work;
    struct vcs_list met = files->tree.clashes;
    refuse(applied, "files are in the way that git does not know, or that are changing right now",
           STR(""));
    applied->clashes = arena_alloc(work->arena, met.count * sizeof *applied->clashes);
    for (size_t i = 0; i < met.count; i++) {
        struct vcs_clash *clash = &applied->clashes[applied->clash_count++];
        *clash = (struct vcs_clash){.hunk = STR("")};
        git_in_workspace(work->site, met.items[i], &clash->path);
        clash->path = arena_copy(work->arena, clash->path);
    }
    return 0;
}

/* Moves the files from one private commit to the other; `script` says on which refs this is written down before. */
static int move_files(struct files *files, struct str script, struct str now, struct str merged,
                      struct vcs_applied *applied, struct err *err)
{
    struct git_tree *tree = &files->tree;
    struct err why = ERR_INIT;
    if (git_change_refs(&tree->work, script, err) != 0 || git_tree_look(tree, err) != 0)
        return -1;
    applied->way = VCS_BY_FILES;
    applied->outcome = VCS_APPLIED;
    if (git_carry_out(tree, now, merged, &why) == 0)
        return list_files(&tree->work, now, merged, applied, err);
    if (tree->clashes.count > 0)
        return refuse_clashes(files, applied);
    return err_set(err, why.class, "%s", why.message);
}

/* What a person can do about a clash: the same merge, with marks in the files. */
static struct str by_hand(const struct git_work *work, struct str from, struct str to)
{
    return arena_printf(work->arena, "git diff --binary %.*s %.*s | git apply --3way",
                        STR_FMT(from), STR_FMT(to));
}

static int apply_to_files(struct files *files, const struct vcs_apply_request *request,
                          struct vcs_applied *applied, struct err *err)
{
    struct git_work *work = &files->tree.work;
    struct str now, merged, before = STR(""), after = STR(""), result = applied->to;
    struct str base = arena_copy(work->arena, request->base);
    if (work_out(work, base, result, &now, &merged, applied, err) != 0)
        return -1;
    if (applied->outcome == VCS_APPLY_REFUSED) {
        applied->command = by_hand(work, base, result);
        return 0;
    }
    if (tree_of(work, now, &before, err) != 0 || tree_of(work, merged, &after, err) != 0)
        return -1;
    if (str_eq(before, after)) { /* the user has done the same by hand */
        applied->outcome = VCS_APPLIED_BEFORE;
        return 0;
    }
    struct str script =
        arena_printf(work->arena, "update %s %.*s\nupdate %s %.*s\nupdate %s %.*s\n",
                     files->tree.ref, STR_FMT(now), part_ref(files, "from"), STR_FMT(now),
                     part_ref(files, "to"), STR_FMT(merged));
    if (move_files(files, script, now, merged, applied, err) != 0)
        return -1;
    return applied->outcome == VCS_APPLY_REFUSED ? forget_files(files, err) : 0;
}

/* Takes out what lies between two commits: `from`, before the run's work, and `to`, with it. */
static int take_out(struct files *files, struct str from, struct str to,
                    struct vcs_applied *applied, struct err *err)
{
    struct git_work *work = &files->tree.work;
    struct str tree = STR(""), theirs = STR(""), now, merged;
    applied->from = to;
    applied->to = from;
    if (tree_of(work, from, &tree, err) != 0 ||
        private_commit(work, tree, to, STR(""), &theirs, err) != 0 ||
        work_out(work, to, theirs, &now, &merged, applied, err) != 0)
        return -1;
    if (applied->outcome == VCS_APPLY_REFUSED) {
        applied->command = by_hand(work, to, from);
        return 0;
    }
    struct str script =
        arena_printf(work->arena, "update %s %.*s\nupdate %s %.*s\n", files->tree.ref, STR_FMT(now),
                     part_ref(files, "back"), STR_FMT(merged));
    if (move_files(files, script, now, merged, applied, err) != 0)
        return -1;
    if (applied->outcome != VCS_APPLY_REFUSED)
        return forget_files(files, err);
    return files->to.n > 0 ? git_apply_settle(work, files->tree.run, err)
                           : forget_files(files, err);
}

/* --- both ways ------------------------------------------------------------------------------------------------------------------- */

/* Where undo leads back to is stored first. -1 with DENIED: git would have to overwrite something. */
static int fast_forward(const struct git_work *work, struct str run, struct vcs_applied *applied,
                        struct err *err)
{
    const char *ref = applied_ref(work, run);
    struct err why = ERR_INIT;
    if (change(work, GIT_WORDS("update-ref", ref, applied->from.p), err) != 0)
        return -1;
    applied->outcome = VCS_APPLIED;
    applied->way = VCS_BY_COMMIT;
    /* Not even ignored files are overwritten. */
    if (change(work,
               GIT_WORDS("merge", "--ff-only", "--no-overwrite-ignore", "--quiet", "--no-stat",
                         applied->to.p),
               &why) == 0)
        return list_files(work, applied->from, applied->to, applied, err);
    if (git_delete_ref(work, ref, err) != 0)
        return -1;
    return err_set(err,
                   strstr(why.message, "would be overwritten") != NULL ? ERR_DENIED : why.class,
                   "%s", why.message);
}

/* Only then is everything between HEAD and the result the run's own work: what the user had not committed when the run started is in
 * its first commit. */
static int may_forward(const struct git_work *work, const struct vcs_apply_request *request,
                       const struct vcs_applied *applied, bool *yes, struct err *err)
{
    struct str head = STR("");
    *yes = false;
    if (find_ref(work, git_private_ref(work->arena, request->run, "head"), &head, err) != 0)
        return -1;
    if (applied->from.n == 0 || !str_eq(head, request->base))
        return 0;
    if (git_is_ancestor(work, applied->from, applied->to, yes, err) != 0)
        return -1;
    return *yes ? is_clean(work, applied->from, yes, err) : 0;
}

int git_apply(const struct git_work *work, const struct vcs_apply_request *request,
              struct vcs_applied *applied, struct err *err)
{
    struct files files;
    struct err obstacle = ERR_INIT;
    bool before = false, forward = false;
    *applied = (struct vcs_applied){.outcome = VCS_NOTHING_TO_APPLY};
    const char *ref = git_branch_ref(work->arena, request->run, STR(VCS_RESULT));
    if (files_find(work, request->run, &files, err) != 0 ||
        find_ref(work, ref, &applied->to, err) != 0 || git_head(work, &applied->from, err) != 0)
        return -1;
    if (applied->to.n == 0 || str_eq(applied->to, request->base))
        return 0;
    if (applied->from.n > 0 && git_is_ancestor(work, applied->to, applied->from, &before, err) != 0)
        return -1;
    if (before || is_in_files(&files)) {
        applied->outcome = VCS_APPLIED_BEFORE;
        return 0;
    }
    if (may_forward(work, request, applied, &forward, err) != 0)
        return -1;
    if (forward && fast_forward(work, request->run, applied, &obstacle) == 0)
        return 0;
    if (forward && obstacle.class != ERR_DENIED)
        return err_set(err, obstacle.class, "%s", obstacle.message);
    return apply_to_files(&files, request, applied, err);
}

/* The branch stands at the result: it goes back with its files. False: an uncommitted change would be lost. */
static bool reset_branch(const struct git_work *work, struct str to)
{
    struct err why = ERR_INIT;
    return change(work, GIT_WORDS("reset", "--keep", "--quiet", to.p), &why) == 0;
}

/* Out of a branch that was fast-forwarded. */
static int undo_forward(struct files *files, struct str before, struct str result,
                        struct vcs_applied *applied, struct err *err)
{
    const struct git_work *work = &files->tree.work;
    const char *mark = applied_ref(work, files->tree.run);
    applied->to = before;
    applied->outcome = VCS_APPLIED;
    applied->way = VCS_BY_COMMIT;
    if (str_eq(applied->from, before)) /* back already, before a crash */
        return git_delete_ref(work, mark, err);
    if (str_eq(applied->from, result) && reset_branch(work, before)) {
        if (list_files(work, result, before, applied, err) != 0)
            return -1;
        return git_delete_ref(work, mark, err);
    }
    if (take_out(files, before, result, applied, err) != 0)
        return -1;
    return applied->outcome == VCS_APPLIED ? git_delete_ref(work, mark, err) : 0;
}

int git_undo(const struct git_work *work, const struct vcs_apply_request *request,
             struct vcs_applied *applied, struct err *err)
{
    struct files files;
    struct str result = STR(""), before = STR("");
    *applied = (struct vcs_applied){.outcome = VCS_NOTHING_TO_APPLY};
    const char *ref = git_branch_ref(work->arena, request->run, STR(VCS_RESULT));
    if (files_find(work, request->run, &files, err) != 0 ||
        find_ref(work, applied_ref(work, request->run), &before, err) != 0 ||
        find_ref(work, ref, &result, err) != 0 || git_head(work, &applied->from, err) != 0)
        return -1;
    if (is_in_files(&files))
        return take_out(&files, files.from, files.to, applied, err);
    if (before.n == 0 || result.n == 0)
        return 0;
    return undo_forward(&files, before, result, applied, err);
}

int git_apply_files(const struct git_work *work, struct str from, struct str to,
                    struct vcs_applied *applied, struct err *err)
{
    struct files files = {.tree = {.work = *work}};
    struct git_moved moved;
    *applied = (struct vcs_applied){.outcome = VCS_NOTHING_TO_APPLY,
                                    .way = VCS_BY_FILES,
                                    .from = arena_copy(work->arena, from),
                                    .to = arena_copy(work->arena, to)};
    if (!git_is_id(from) || !git_is_id(to))
        return err_set(err, ERR_USAGE, "applying needs two commits");
    if (git_files_move(work, applied->from, applied->to, GIT_MOVE_FIRST, &moved, err) != 0)
        return -1;
    if (moved.clashes.count > 0) {
        files.tree.clashes = moved.clashes;
        return refuse_clashes(&files, applied);
    }
    if (moved.changes.count > 0)
        applied->outcome = VCS_APPLIED;
    return 0;
}
