/* Finds the site that a request means and hands it to the file that does the work. On threads that may wait. */
#include "git/vcs.h"

#include <stdlib.h>

#include "git/apply.h"
#include "git/commit.h"
#include "git/merge.h"
#include "git/site.h"
#include "git/worktree.h"

#define ASK_WORDS_MAX 400

/* The user's site; a directory without git gets a shadow. */
static int any_site(const struct git *git, struct arena *arena, struct str workspace,
                    struct git_site *site, struct err *err)
{
    if (git_site_find(git, arena, workspace, site, err) == 0)
        return 0;
    if (err->class != ERR_NOT_FOUND)
        return -1;
    *err = ERR_INIT;
    return git_site_shadow(git, arena, workspace, site, err);
}

static int child_site(const struct git *git, struct arena *arena,
                      const struct vcs_tree_request *request, struct str agent,
                      struct git_site *site, struct err *err)
{
    struct git_site parent;
    if (any_site(git, arena, request->workspace, &parent, err) != 0)
        return -1;
    return git_site_child(arena, &parent, request->run, agent, site, err);
}

static void describe(struct arena *arena, const struct git_site *site, struct str run,
                     struct str agent, struct vcs_tree *tree)
{
    tree->path = site->work_tree;
    tree->workspace =
        site->prefix.n == 0
            ? site->work_tree
            : arena_printf(arena, "%.*s/%.*s", STR_FMT(site->work_tree), STR_FMT(site->prefix));
    tree->branch = arena_printf(arena, "cadre/%.*s/%.*s", STR_FMT(run), STR_FMT(agent));
}

/* --- for tools ------------------------------------------------------------------------------------------------------------------ */

static int vcs_view(void *self, struct arena *arena, struct str workspace, struct vcs_view *view,
                    struct err *err)
{
    struct git_site site;
    if (git_site_find(self, arena, workspace, &site, err) != 0)
        return -1;
    view->prefix = site.prefix;
    return 0;
}

static int ask_site(const struct git_work *work, const struct vcs_question *question,
                    struct vcs_answer *answer, struct err *err)
{
    const char *words[ASK_WORDS_MAX + 2] = {NULL};
    struct git_answer told;
    size_t count = 0;
    struct vcs_list paths = git_full_paths(work, question->paths);
    while (question->words[count] != NULL && count < ASK_WORDS_MAX) {
        words[count] = question->words[count];
        count++;
    }
    if (count + 1 + paths.count > ASK_WORDS_MAX)
        return err_set(err, ERR_USAGE, "too many arguments");
    if (paths.count > 0)
        words[count++] = "--";
    for (size_t i = 0; i < paths.count; i++)
        words[count++] = paths.items[i].p;
    struct git_call call = {
        .site = work->site,
        .words = words,
        .expects = GIT_ANY_STATUS,
        .output = GIT_MAY_BE_CUT,
        .output_max = question->output_max,
        .wall_ms = question->wall_ms,
        .cancelled = question->cancelled,
    };
    if (git_call(work->git, &call, &told, err) != 0)
        return -1;
    *answer = (struct vcs_answer){told.output, told.errors, told.status};
    return 0;
}

static int vcs_ask(void *self, const struct vcs_question *question, struct vcs_answer *answer,
                   struct err *err)
{
    struct arena arena;
    struct git_site site;
    arena_init(&arena);
    int result = git_site_find(self, &arena, question->workspace, &site, err);
    struct git_work work = {self, &site, &arena, question->cancelled};
    if (result == 0)
        result = ask_site(&work, question, answer, err);
    arena_release(&arena);
    return result;
}

static int vcs_commit(void *self, struct arena *arena, const struct vcs_commit_request *request,
                      struct vcs_commit *commit, struct err *err)
{
    struct git_site site;
    if (git_site_find(self, arena, request->workspace, &site, err) != 0)
        return -1;
    struct git_work work = {self, &site, arena, request->cancelled};
    return git_commit_paths(&work, request, commit, err);
}

/* --- for the engine --------------------------------------------------------------------------------------------------------------- */

static int vcs_base(void *self, struct arena *arena, const struct vcs_base_request *request,
                    struct vcs_base *base, struct err *err)
{
    struct git_site site, checked;
    if (any_site(self, arena, request->workspace, &site, err) != 0 ||
        git_site_child(arena, &site, request->run, STR("x"), &checked, err) != 0)
        return -1;
    struct git_work work = {self, &site, arena, request->cancelled};
    return git_base(&work, request, base, err);
}

static int vcs_create(void *self, struct arena *arena, const struct vcs_tree_request *request,
                      struct vcs_tree *tree, struct err *err)
{
    struct git_site site;
    if (str_is(request->agent, GIT_RESULT_AGENT))
        return err_set(err, ERR_USAGE, "an agent cannot be called " GIT_RESULT_AGENT);
    if (child_site(self, arena, request, request->agent, &site, err) != 0)
        return -1;
    struct git_work work = {self, &site, arena, request->cancelled};
    describe(arena, &site, request->run, request->agent, tree);
    return git_worktree_create(&work, request, err);
}

static int vcs_collect(void *self, struct arena *arena, const struct vcs_collect_request *request,
                       struct vcs_collected *collected, struct err *err)
{
    struct git_site site;
    if (child_site(self, arena, &request->tree, request->tree.agent, &site, err) != 0)
        return -1;
    struct git_work work = {self, &site, arena, request->tree.cancelled};
    return git_collect(&work, request, collected, err);
}

static int vcs_preview(void *self, struct arena *arena, const struct vcs_merge_request *request,
                       struct vcs_merged *merged, struct err *err)
{
    struct git_site site;
    if (any_site(self, arena, request->tree.workspace, &site, err) != 0)
        return -1;
    struct git_work work = {self, &site, arena, request->tree.cancelled};
    return git_merge_preview(&work, request, merged, err);
}

static int vcs_stage(void *self, struct arena *arena, const struct vcs_tree_request *request,
                     struct str commit, struct vcs_tree *tree, struct err *err)
{
    struct git_site site;
    if (child_site(self, arena, request, STR(GIT_RESULT_AGENT), &site, err) != 0)
        return -1;
    struct git_work work = {self, &site, arena, request->cancelled};
    describe(arena, &site, request->run, STR(GIT_RESULT_AGENT), tree);
    return git_merge_stage(&work, request, commit, err);
}

static int vcs_publish(void *self, const struct vcs_tree_request *request,
                       const struct vcs_merged *merged, struct err *err)
{
    struct arena arena;
    struct git_site site;
    arena_init(&arena);
    int result = any_site(self, &arena, request->workspace, &site, err);
    struct git_work work = {self, &site, &arena, request->cancelled};
    if (result == 0)
        result = git_merge_publish(&work, request, merged, err);
    arena_release(&arena);
    return result;
}

static int vcs_remove(void *self, const struct vcs_tree_request *request, struct err *err)
{
    struct arena arena;
    struct git_site parent, site;
    arena_init(&arena);
    int result = any_site(self, &arena, request->workspace, &parent, err);
    if (result == 0)
        result = git_site_child(&arena, &parent, request->run, request->agent, &site, err);
    struct git_work files = {self, &site, &arena, request->cancelled};
    struct git_work refs = {self, &parent, &arena, request->cancelled};
    if (result == 0 && (result = git_worktree_remove(&files, err)) == 0)
        result = git_drop_branch(&refs, request, err);
    arena_release(&arena);
    return result;
}

static int vcs_apply(void *self, struct arena *arena, const struct vcs_apply_request *request,
                     struct vcs_applied *applied, struct err *err)
{
    struct git_site site;
    if (git_site_find(self, arena, request->workspace, &site, err) != 0)
        return -1;
    struct git_work work = {self, &site, arena, request->cancelled};
    return git_apply(&work, request, applied, err);
}

static int vcs_undo(void *self, struct arena *arena, const struct vcs_apply_request *request,
                    struct vcs_applied *applied, struct err *err)
{
    struct git_site site;
    if (git_site_find(self, arena, request->workspace, &site, err) != 0)
        return -1;
    struct git_work work = {self, &site, arena, request->cancelled};
    return git_undo(&work, request, applied, err);
}

static int vcs_apply_files(void *self, struct arena *arena, const struct vcs_apply_request *request,
                           struct str from, struct str to, struct vcs_applied *applied,
                           struct err *err)
{
    struct git_site site;
    if (any_site(self, arena, request->workspace, &site, err) != 0)
        return -1;
    struct git_work work = {self, &site, arena, request->cancelled};
    return git_apply_files(&work, from, to, applied, err);
}

static int vcs_list(void *self, struct arena *arena, struct vcs_left **left, size_t *count,
                    struct err *err)
{
    return git_worktree_list(self, arena, left, count, err);
}

static int vcs_discard(void *self, const struct vcs_left *left, struct err *err)
{
    struct arena arena;
    struct git_site site;
    arena_init(&arena);
    int found = git_site_of_tree(self, &arena, left->path, &site, err);
    struct git_work work = {self, &site, &arena, NULL};
    int result = found == 0  ? err_set(err, ERR_USAGE, "this is no checkout of cadre's")
                 : found < 0 ? -1
                             : git_worktree_remove(&work, err);
    arena_release(&arena);
    return result;
}

static int vcs_forget(void *self, struct str workspace, struct str run, struct err *err)
{
    struct arena arena;
    struct git_site site, checked;
    arena_init(&arena);
    int result = any_site(self, &arena, workspace, &site, err);
    if (result == 0)
        result = git_site_child(&arena, &site, run, STR("x"), &checked, err);
    struct git_work work = {self, &site, &arena, NULL};
    if (result == 0)
        result = git_base_forget(&work, run, err);
    arena_release(&arena);
    return result;
}

int git_vcs_open(struct git_vcs *vcs, struct str state, struct str excludes, struct err *err)
{
    if (git_open(&vcs->git, state, excludes, err) != 0)
        return -1;
    vcs->port = (struct vcs_port){
        .view = vcs_view,
        .ask = vcs_ask,
        .commit = vcs_commit,
        .base = vcs_base,
        .create = vcs_create,
        .collect = vcs_collect,
        .preview = vcs_preview,
        .stage = vcs_stage,
        .publish = vcs_publish,
        .remove = vcs_remove,
        .apply = vcs_apply,
        .undo = vcs_undo,
        .apply_files = vcs_apply_files,
        .list = vcs_list,
        .discard = vcs_discard,
        .forget = vcs_forget,
        .self = &vcs->git,
    };
    return 0;
}
