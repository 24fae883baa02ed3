/* Merges with merge-tree, commit-tree and a compare-and-swap of the result's ref: see merge.h. On threads that may wait. */
#include "git/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "git/worktree.h"

/* The end of the run's result; where there is none yet, it starts at the base. */
static int result_end(const struct git_work *work, const struct vcs_tree_request *request,
                      struct str *end, struct err *err)
{
    const char *ref = git_branch_ref(work->arena, request->run, STR(GIT_RESULT_AGENT));
    struct err none = ERR_INIT;
    if (git_resolve(work, ref, end, &none) == 0)
        return 0;
    if (none.class != ERR_NOT_FOUND) {
        *err = none;
        return -1;
    }
    *end = arena_copy(work->arena, request->base);
    return git_move_ref(work, ref, *end, STR(""), err);
}

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

static struct vcs_list copy_list(struct arena *arena, const struct git_merge_answer *answer)
{
    struct str *items = arena_alloc(arena, (answer->file_count + 1) * sizeof *items);
    for (size_t i = 0; i < answer->file_count; i++)
        items[i] = arena_copy(arena, answer->files[i]);
    return (struct vcs_list){items, answer->file_count};
}

static int commit_merge(const struct git_work *work, const struct vcs_merge_request *request,
                        struct str tree, struct str theirs, struct vcs_merged *merged,
                        struct err *err)
{
    struct git_signature self = git_self(request->now_ms);
    struct git_commit_parts parts = {.tree = tree,
                                     .parents = {merged->from, theirs},
                                     .message = request->message,
                                     .author = &self,
                                     .committer = &self};
    merged->outcome = VCS_THREE_WAY;
    return git_commit_object(work, &parts, &merged->to, err);
}

static int merge_three_way(const struct git_work *work, const struct vcs_merge_request *request,
                           struct str theirs, struct vcs_merged *merged, struct err *err)
{
    struct git_answer answer;
    struct git_merge_answer told;
    struct git_call call = {
        .site = work->site,
        .words = GIT_WORDS("merge-tree", "--write-tree", "-z", "--name-only", "--messages",
                           merged->from.p, theirs.p),
        .effect = GIT_WRITES,
        .expects = GIT_ANY_STATUS,
        .cancelled = work->cancelled,
    };
    if (git_call(work->git, &call, &answer, err) != 0)
        return -1;
    int result = -1;
    if (answer.status != 0 && answer.status != 1)
        err_set(err, ERR_IO, "git merge-tree: %.*s",
                answer.errors.n > 400 ? 400 : (int)answer.errors.n,
                answer.errors.p != NULL ? answer.errors.p : "");
    else
        result = git_parse_merge(work->arena, buf_view(&answer.output), &told, err);
    if (result == 0 && answer.status == 1) {
        merged->outcome = VCS_CONFLICT;
        merged->files = copy_list(work->arena, &told);
        merged->note = arena_copy(work->arena, told.message);
    } else if (result == 0) {
        result =
            commit_merge(work, request, arena_copy(work->arena, told.tree), theirs, merged, err);
    }
    git_answer_release(&answer);
    return result;
}

int git_merge_preview(const struct git_work *work, const struct vcs_merge_request *request,
                      struct vcs_merged *merged, struct err *err)
{
    long apart[2];
    struct str theirs = arena_copy(work->arena, request->commit);
    *merged = (struct vcs_merged){.outcome = VCS_NO_CHANGES, .note = STR("")};
    if (!git_is_id(theirs) || !git_is_id(request->tree.base))
        return err_set(err, ERR_USAGE, "a merge needs two commits");
    if (result_end(work, &request->tree, &merged->from, err) != 0)
        return -1;
    merged->to = merged->from;
    if (str_eq(theirs, request->tree.base))
        return 0;
    if (count_apart(work, merged->from, theirs, apart, err) != 0)
        return -1;
    if (apart[1] == 0) {
        merged->outcome = VCS_MERGED_BEFORE;
        return 0;
    }
    if (apart[0] == 0) {
        merged->outcome = VCS_FAST_FORWARD;
        merged->to = theirs;
        return 0;
    }
    return merge_three_way(work, request, theirs, merged, err);
}

int git_merge_publish(const struct git_work *work, const struct vcs_tree_request *request,
                      const struct vcs_merged *merged, struct err *err)
{
    const char *ref = git_branch_ref(work->arena, request->run, STR(GIT_RESULT_AGENT));
    struct str now;
    struct err none = ERR_INIT;
    if (str_eq(merged->from, merged->to))
        return 0;
    struct str to = arena_copy(work->arena, merged->to),
               from = arena_copy(work->arena, merged->from);
    if (git_move_ref(work, ref, to, from, err) == 0)
        return 0;
    if (err->class != ERR_RETRY || git_resolve(work, ref, &now, &none) != 0 || !str_eq(now, to))
        return -1;
    *err = ERR_INIT; /* moved before a crash */
    return 0;
}

int git_merge_stage(const struct git_work *work, const struct vcs_tree_request *request,
                    struct str commit, struct err *err)
{
    struct git_answer answer;
    struct err none = ERR_INIT;
    struct str id = arena_copy(work->arena, commit);
    const char *ref = git_branch_ref(work->arena, request->run, STR(GIT_RESULT_AGENT));
    if (!git_is_id(id))
        return err_set(err, ERR_USAGE, "the integration checkout needs a commit");
    if (git_worktree_check(work, &none) != 0) {
        if (git_worktree_remove(work, err) != 0 || git_worktree_prepare(work, ref, err) != 0)
            return -1;
        return git_worktree_reset(work, id, err);
    }
    if (git_worktree_reset(work, id, err) != 0)
        return -1;
    /* What earlier checks left; ignored files (build results) stay, they make the next checks fast. */
    struct git_call clean = {.site = work->site,
                             .words = GIT_WORDS("clean", "-ffdq"),
                             .effect = GIT_WRITES,
                             .cancelled = work->cancelled};
    if (git_call(work->git, &clean, &answer, err) != 0)
        return -1;
    git_answer_release(&answer);
    return 0;
}

int git_drop_branch(const struct git_work *work, const struct vcs_tree_request *request,
                    struct err *err)
{
    const char *ref = git_branch_ref(work->arena, request->run, request->agent);
    const char *result = git_branch_ref(work->arena, request->run, STR(GIT_RESULT_AGENT));
    struct err none = ERR_INIT;
    struct str end, joined;
    long apart[2] = {0, 1};
    if (git_resolve(work, ref, &end, &none) != 0)
        return none.class == ERR_NOT_FOUND ? 0 : err_set(err, none.class, "%s", none.message);
    if (str_eq(end, request->base))
        return git_delete_ref(work, ref, err);
    if (str_is(request->agent, GIT_RESULT_AGENT))
        return 0; /* what the user asked for */
    if (git_resolve(work, result, &joined, &none) == 0) {
        if (count_apart(work, joined, end, apart, err) != 0)
            return -1;
    } else if (none.class != ERR_NOT_FOUND) {
        *err = none;
        return -1;
    }
    return apart[1] == 0 ? git_delete_ref(work, ref, err) : 0;
}
