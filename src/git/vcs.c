/* Finds the site that a request means and hands it to the file that does the work. On threads that may wait. */
#include "git/vcs.h"

#include <stdlib.h>

#include "git/apply.h"
#include "git/commit.h"
#include "git/intent.h"
#include "git/merge.h"
#include "git/outlook.h"
#include "git/records.h"
#include "git/site.h"
#include "git/worktree.h"

#define ASK_WORDS_MAX 400

/* --- for tools ------------------------------------------------------------------------------------------------------------------ */

static int vcs_view(void *self, struct arena *arena, struct str workspace, struct vcs_view *view,
                    struct err *err)
{
    return git_site_view(self, arena, workspace, view, err);
}

static int ask_site(const struct git_work *work, const struct vcs_question *question,
                    struct vcs_answer *answer, struct err *err)
{
    const char *words[ASK_WORDS_MAX + 2] = {NULL};
    struct git_answer told;
    size_t count = 0;
    struct vcs_list paths = git_full_paths(work, question->paths);
    while (count < ASK_WORDS_MAX && question->words[count] != NULL) {
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

static int vcs_records(void *self, struct arena *arena, struct str workspace,
                       struct sandbox_records *records, struct err *err)
{
    struct git_site site;
    if (git_site_find(self, arena, workspace, &site, err) != 0)
        return -1;
    git_records(arena, &site, records);
    return 0;
}

/* Finds the workspace's checkout and locks it: git_site_unlock. */
static int commit_begin(void *self, struct arena *arena, const struct vcs_commit_request *request,
                        struct git_site *site, struct err *err)
{
    struct git_tree tree;
    if (git_site_find(self, arena, request->workspace, site, err) != 0 ||
        git_site_lock(site, request->cancelled, err) != 0)
        return -1;
    if (site->owner != GIT_SITE_CHILD)
        return 0;
    /* Half a merge must not be committed as the agent's own work. */
    git_tree_of_site(self, arena, site, request->cancelled, &tree);
    if (git_settle(&tree, err) == 0)
        return 0;
    git_site_unlock(site);
    return -1;
}

static int vcs_commit(void *self, struct arena *arena, const struct vcs_commit_request *request,
                      struct vcs_commit *commit, struct err *err)
{
    struct git_site site;
    if (commit_begin(self, arena, request, &site, err) != 0)
        return -1;
    struct git_work work = {self, &site, arena, request->cancelled};
    int result = git_commit_paths(&work, request, commit, err);
    git_site_unlock(&site);
    return result;
}

static int vcs_outlook(void *self, struct arena *arena, const struct vcs_commit_request *request,
                       size_t diff_max, struct vcs_outlook *outlook, struct err *err)
{
    struct git_site site;
    if (commit_begin(self, arena, request, &site, err) != 0)
        return -1;
    struct git_work work = {self, &site, arena, request->cancelled};
    int result = git_commit_outlook(&work, request, diff_max, outlook, err);
    git_site_unlock(&site);
    return result;
}

/* --- for the engine --------------------------------------------------------------------------------------------------------------- */

static int vcs_isolate(void *self, struct arena *arena, const struct vcs_isolate_request *request,
                       struct vcs_isolated *isolated, struct err *err)
{
    return git_isolate(self, arena, request, isolated, err);
}

static int vcs_merge_begin(void *self, struct arena *arena,
                           const struct vcs_integrate_request *request, struct vcs_merged *merged,
                           struct err *err)
{
    return git_merge_begin(self, arena, request, merged, err);
}

static int vcs_stage(void *self, struct arena *arena, const struct vcs_tree *tree,
                     struct str commit, const atomic_bool *cancelled, struct vcs_isolated *staged,
                     struct err *err)
{
    struct git_tree checks;
    struct vcs_tree wanted = {
        .workspace = tree->workspace, .run = tree->run, .name = STR(VCS_CHECKS)};
    struct str id = arena_copy(arena, commit);
    if (git_tree_find(self, arena, &wanted, cancelled, &checks, err) != 0)
        return -1;
    git_describe(arena, &checks, staged);
    staged->base = id;
    staged->branch = STR("");
    return git_worktree_stage(&checks.work, id, err);
}

static int vcs_merge_end(void *self, struct arena *arena,
                         const struct vcs_integrate_request *request,
                         const struct vcs_merged *merged, struct err *err)
{
    return git_merge_end(self, arena, request, merged, err);
}

static int vcs_keep(void *self, struct arena *arena, const struct vcs_integrate_request *request,
                    struct vcs_kept *kept, struct err *err)
{
    return git_keep(self, arena, request, kept, err);
}

static int vcs_remove(void *self, const struct vcs_integrate_request *request, struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    int result = git_remove(self, &arena, request, err);
    arena_release(&arena);
    return result;
}

static int vcs_apply(void *self, struct arena *arena, const struct vcs_apply_request *request,
                     struct vcs_applied *applied, struct err *err)
{
    struct git_site site;
    if (git_site_find(self, arena, request->workspace, &site, err) != 0 ||
        git_site_lock(&site, request->cancelled, err) != 0)
        return -1;
    struct git_work work = {self, &site, arena, request->cancelled};
    int result = git_apply(&work, request, applied, err);
    git_site_unlock(&site);
    return result;
}

static int vcs_undo(void *self, struct arena *arena, const struct vcs_apply_request *request,
                    struct vcs_applied *applied, struct err *err)
{
    struct git_site site;
    if (git_site_find(self, arena, request->workspace, &site, err) != 0 ||
        git_site_lock(&site, request->cancelled, err) != 0)
        return -1;
    struct git_work work = {self, &site, arena, request->cancelled};
    int result = git_undo(&work, request, applied, err);
    git_site_unlock(&site);
    return result;
}

static int vcs_result(void *self, struct arena *arena, const struct vcs_apply_request *request,
                      size_t diff_max, struct vcs_outlook *outlook, struct err *err)
{
    struct git_site site;
    struct str end;
    if (git_site_any(self, arena, request->workspace, &site, err) != 0)
        return -1;
    struct git_work work = {self, &site, arena, request->cancelled};
    const char *branch = git_branch_ref(arena, request->run, STR(VCS_RESULT));
    if (git_resolve(&work, branch, &end, err) != 0)
        return -1;
    return git_outlook_between(&work, arena_copy(arena, request->base), end, diff_max, outlook,
                               err);
}

static int vcs_apply_files(void *self, struct arena *arena, const struct vcs_apply_request *request,
                           struct str from, struct str to, struct vcs_applied *applied,
                           struct err *err)
{
    struct git_site site;
    if (git_site_any(self, arena, request->workspace, &site, err) != 0 ||
        git_site_lock(&site, request->cancelled, err) != 0)
        return -1;
    struct git_work work = {self, &site, arena, request->cancelled};
    int result = git_apply_files(&work, from, to, applied, err);
    git_site_unlock(&site);
    return result;
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

/* Half a merge must not stay in the user's files. In a checkout of its own it may: that one goes as well. */
static int settle_users(const struct git *git, struct arena *arena, struct str workspace,
                        struct str run, struct err *err)
{
    struct vcs_tree root = {workspace, run, STR(VCS_RESULT), VCS_OWN_CHECKOUT};
    struct git_tree tree;
    struct err none = ERR_INIT;
    if (git_tree_find(git, arena, &root, NULL, &tree, err) != 0)
        return -1;
    if (git_worktree_there(&tree.work, &none) == 0)
        return 0;
    root.place = VCS_USERS_CHECKOUT;
    if (git_tree_find(git, arena, &root, NULL, &tree, err) != 0 || git_tree_lock(&tree, err) != 0)
        return -1;
    int result = git_settle(&tree, err);
    git_site_unlock(&tree.site);
    return result;
}

static int vcs_forget(void *self, struct str workspace, struct str run, struct err *err)
{
    struct arena arena;
    struct git_site site = {.lock = 0};
    arena_init(&arena);
    struct git_work work = {self, &site, &arena, NULL};
    int result = settle_users(self, &arena, workspace, run, err) != 0 ||
                         git_site_any(self, &arena, workspace, &site, err) != 0 ||
                         git_site_lock(&site, NULL, err) != 0 ||
                         git_apply_settle(&work, run, err) != 0 ||
                         git_forget(&work, run, err) != 0 || git_remove_shadow(&work, err) != 0
                     ? -1
                     : 0;
    git_site_unlock(&site);
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
        .records = vcs_records,
        .commit = vcs_commit,
        .outlook = vcs_outlook,
        .isolate = vcs_isolate,
        .merge_begin = vcs_merge_begin,
        .stage = vcs_stage,
        .merge_end = vcs_merge_end,
        .keep = vcs_keep,
        .remove = vcs_remove,
        .apply = vcs_apply,
        .undo = vcs_undo,
        .result = vcs_result,
        .apply_files = vcs_apply_files,
        .list = vcs_list,
        .discard = vcs_discard,
        .forget = vcs_forget,
        .self = &vcs->git,
    };
    return 0;
}
