/* Merges with merge-tree, commit-tree and a compare-and-swap of the parent's branch: see merge.h. On threads that may wait. */
#include "git/merge.h"

#include <stdlib.h>

#include "git/commit.h"
#include "git/guard.h"
#include "git/intent.h"
#include "git/layout.h"
#include "git/tree.h"
#include "git/worktree.h"

/* How many commits each side has that the other has not. */
static int count_apart(const struct git_work *work, struct str ours, struct str theirs,
                       long counts[2], struct err *err)
{
    struct str line;
    const char *range = arena_printf(work->arena, "%.*s...%.*s", STR_FMT(ours), STR_FMT(theirs)).p;
    if (git_line(work, GIT_WORDS("rev-list", "--left-right", "--count", range), &line, err) != 0)
        return -1;
    char *end;
    counts[0] = strtol(line.p, &end, 10);
    counts[1] = strtol(end, NULL, 10);
    return end == line.p ? err_set(err, ERR_CORRUPT, "git counted no commits") : 0;
}

/* Files in conflict, from the workspace. */
static struct vcs_list copy_list(const struct git_work *work, const struct git_merge_answer *answer)
{
    struct str *items = arena_alloc(work->arena, (answer->file_count + 1) * sizeof *items);
    for (size_t i = 0; i < answer->file_count; i++) {
        struct str inside;
        git_in_workspace(work->site, answer->files[i], &inside);
        items[i] = arena_copy(work->arena, inside);
    }
    return (struct vcs_list){items, answer->file_count};
}

static int commit_merge(const struct git_work *work, const struct vcs_integrate_request *request,
                        struct str tree, struct vcs_merged *merged, struct err *err)
{
    struct git_signature self = git_self(request->now_ms);
    struct git_commit_parts parts = {.tree = tree,
                                     .parents = {merged->from, merged->commit},
                                     .message = request->message,
                                     .author = &self,
                                     .committer = &self};
    merged->outcome = VCS_THREE_WAY;
    return git_commit_object(work, &parts, &merged->to, err);
}

int git_merge_trees(const struct git_work *work, struct str ours, struct str theirs,
                    struct git_merge_answer *told, struct err *err)
{
    struct git_answer answer;
    struct git_call call = {
        .site = work->site,
        .words = GIT_WORDS("merge-tree", "--write-tree", "-z", "--name-only", "--messages", ours.p,
                           theirs.p),
        .effect = GIT_WRITES,
        .expects = GIT_ZERO_OR_ONE,
        .cancelled = work->cancelled,
    };
    if (git_call(work->git, &call, &answer, err) != 0)
        return -1;
    struct str output = arena_copy(work->arena, buf_view(&answer.output));
    int status = answer.status;
    git_answer_release(&answer);
    if (git_parse_merge(work->arena, output, told, err) != 0)
        return -1;
    told->clean = status == 0;
    return 0;
}

static int merge_three_way(const struct git_work *work, const struct vcs_integrate_request *request,
                           struct vcs_merged *merged, struct err *err)
{
    struct git_merge_answer told;
    if (git_merge_trees(work, merged->from, merged->commit, &told, err) != 0)
        return -1;
    if (told.clean)
        return commit_merge(work, request, arena_copy(work->arena, told.tree), merged, err);
    merged->outcome = VCS_CONFLICT;
    merged->conflicts = copy_list(work, &told);
    merged->note = told.message;
    return 0;
}

static int preview(const struct git_work *work, const struct vcs_integrate_request *request,
                   struct vcs_merged *merged, struct err *err)
{
    long apart[2] = {0, 1};
    merged->to = merged->from;
    if (str_eq(merged->commit, request->base))
        return 0;
    /* A parent that is where the child started needs no counting. */
    if (!str_eq(merged->from, request->base) &&
        count_apart(work, merged->from, merged->commit, apart, err) != 0)
        return -1;
    if (apart[1] == 0) {
        merged->outcome = VCS_MERGED_BEFORE;
        return 0;
    }
    if (apart[0] == 0) {
        merged->outcome = VCS_FAST_FORWARD;
        merged->to = merged->commit;
        return 0;
    }
    return merge_three_way(work, request, merged, err);
}

static int begin(struct git_tree *parent, struct git_tree *child,
                 const struct vcs_integrate_request *request, struct vcs_merged *merged,
                 struct err *err)
{
    struct git_collected collected;
    if (git_collect(child, request, &collected, err) != 0 ||
        git_tree_sync(parent, VCS_SNAPSHOT, request->now_ms, err) != 0)
        return -1;
    *merged = (struct vcs_merged){.outcome = VCS_NO_CHANGES,
                                  .commit = collected.commit,
                                  .from = parent->refs.end,
                                  .files = collected.files,
                                  .note = STR("")};
    if (preview(&parent->work, request, merged, err) != 0)
        return -1;
    /* What the child alone brings was checked; with what the parent has by now it may make up more. */
    return merged->outcome == VCS_THREE_WAY
               ? git_layout_check(&parent->work, merged->to, collected.files, err)
               : 0;
}

/* The checkout or the branch is gone, and a crash came before anybody was told. Only we remove branches, and only such as hold nothing or
 * were merged. A branch that is still where it started had work in the checkout alone: that is lost. */
static int begin_removed(struct git_tree *parent, const struct git_tree *child,
                         const struct vcs_integrate_request *request, struct vcs_merged *merged,
                         struct err *err)
{
    const struct git_work *work = &parent->work;
    struct err none = ERR_INIT;
    struct git_changes changes = {.count = 0};
    struct str base = arena_copy(work->arena, request->base), end = base;
    bool joined = true;
    if (git_settle(parent, err) != 0)
        return -1;
    if (git_resolve(work, child->ref, &end, &none) == 0) {
        if (git_is_ancestor(work, end, parent->refs.end, &joined, err) != 0 ||
            git_diff_trees(work, base, end, &changes, err) != 0)
            return -1;
        if (!joined || str_eq(end, base))
            return git_tree_lost(child, err);
    } else if (none.class != ERR_NOT_FOUND) {
        return err_set(err, none.class, "%s", none.message);
    }
    *merged = (struct vcs_merged){.outcome = VCS_MERGED_BEFORE,
                                  .commit = changes.count > 0 ? end : base,
                                  .from = parent->refs.end,
                                  .to = parent->refs.end,
                                  .files = git_changed_files(work, &changes),
                                  .note = STR("")};
    return 0;
}

int git_merge_begin(const struct git *git, struct arena *arena,
                    const struct vcs_integrate_request *request, struct vcs_merged *merged,
                    struct err *err)
{
    struct git_tree parent, child;
    int result = -1;
    if (git_tree_find(git, arena, &request->parent, request->cancelled, &parent, err) != 0 ||
        git_tree_find(git, arena, &request->tree, request->cancelled, &child, err) != 0 ||
        git_tree_lock(&parent, err) != 0)
        return -1;
    if (child.site.owner == GIT_SITE_USER)
        err_set(err, ERR_USAGE, "the user's checkout has no parent");
    else if (git_worktree_removed(&child.work))
        result = begin_removed(&parent, &child, request, merged, err);
    else if (git_tree_lock(&child, err) == 0)
        result = begin(&parent, &child, request, merged, err);
    if (result != 0 && err->class == ERR_NOT_FOUND && child.site.lock > 0 &&
        child.refs.end.n == 0) {
        *err = ERR_INIT;
        result = begin_removed(&parent, &child, request, merged, err);
    }
    git_site_unlock(&child.site);
    git_site_unlock(&parent.site);
    return result;
}

int git_merge_end(const struct git *git, struct arena *arena,
                  const struct vcs_integrate_request *request, const struct vcs_merged *merged,
                  struct err *err)
{
    struct git_tree parent;
    struct str from = arena_copy(arena, merged->from), to = arena_copy(arena, merged->to);
    if (merged->outcome == VCS_CONFLICT || !git_is_id(from) || !git_is_id(to))
        return err_set(err, ERR_USAGE, "a merge that was not worked out cannot be ended");
    if (git_tree_find(git, arena, &request->parent, request->cancelled, &parent, err) != 0)
        return -1;
    /* An empty branch goes at once: that it is gone tells that there was nothing to merge. */
    if (merged->outcome == VCS_NO_CHANGES)
        return git_delete_ref(&parent.work,
                              git_branch_ref(arena, request->tree.run, request->tree.name), err);
    if (str_eq(from, to))
        return 0;
    if (git_tree_lock(&parent, err) != 0)
        return -1;
    int result = git_carry_out(&parent, from, to, err);
    git_site_unlock(&parent.site);
    return result;
}
