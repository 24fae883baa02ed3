/* Commits with plumbing: see commit.h. The order of steps makes a crash harmless: objects first, then the index, the ref last. On threads
 * that may wait. */
#include "git/commit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "git/guard.h"
#include "git/index.h"
#include "git/intent.h"
#include "git/layout.h"
#include "git/outlook.h"
#include "git/worktree.h"

#define ALL_PATHS ((struct vcs_list){NULL, 0})

/* --- paths -------------------------------------------------------------------------------------------------------------------- */

struct vcs_list git_changed_files(const struct git_work *work, const struct git_changes *changes)
{
    struct str *items = arena_alloc(work->arena, (changes->count + 1) * sizeof *items);
    for (size_t i = 0; i < changes->count; i++) {
        struct str inside;
        git_in_workspace(work->site, changes->items[i].path, &inside);
        items[i] = arena_copy(work->arena, inside);
    }
    return (struct vcs_list){items, changes->count};
}

struct vcs_list git_full_paths(const struct git_work *work, struct vcs_list paths)
{
    struct str *items = arena_alloc(work->arena, (paths.count + 1) * sizeof *items);
    struct str prefix = work->site->prefix;
    for (size_t i = 0; i < paths.count; i++) {
        struct str path = paths.items[i];
        if (prefix.n == 0)
            items[i] = arena_copy(work->arena, path);
        else if (str_is(path, "."))
            items[i] = arena_copy(work->arena, prefix);
        else
            items[i] = arena_printf(work->arena, "%.*s/%.*s", STR_FMT(prefix), STR_FMT(path));
    }
    return (struct vcs_list){items, paths.count};
}

/* --- a tool's commit ------------------------------------------------------------------------------------------------------------ */

/* What the commit will change, checked; objects are written, nothing else. */
static int gather(const struct git_work *work, const struct vcs_commit_request *request,
                  struct str head, const char *index, struct git_changes *changes, struct err *err)
{
    struct git_rules rules = {.write_paths = request->write_paths, .cancelled = request->cancelled};
    struct vcs_list paths = git_full_paths(work, request->paths);
    struct str against = head;
    if (head.n == 0 && git_empty_tree(work, &against, err) != 0)
        return -1;
    if (git_index_take(work, index, paths, GIT_REFUSES_NESTED, err) != 0 ||
        git_index_changes(work, index, against, paths, changes, err) != 0)
        return -1;
    return git_guard(work->git, work->site, changes, &rules, err);
}

/* HEAD with the changes and nothing else that is staged. */
static int build_tree(const struct git_work *work, const char *index, struct str head,
                      const struct git_changes *changes, struct str *tree, struct err *err)
{
    git_index_remove(index);
    if (git_index_read(work, index, head, err) != 0 ||
        git_index_put(work, index, changes, err) != 0)
        return -1;
    return git_index_write_tree(work, index, tree, err);
}

/* Empty when HEAD is detached. */
static int current_branch(const struct git_work *work, struct str *branch, struct err *err)
{
    struct git_answer answer;
    struct git_call call = {.site = work->site,
                            .words = GIT_WORDS("symbolic-ref", "--quiet", "--short", "HEAD"),
                            .expects = GIT_ANY_STATUS,
                            .cancelled = work->cancelled};
    if (git_call(work->git, &call, &answer, err) != 0)
        return -1;
    struct str name = answer.status == 0 ? buf_view(&answer.output) : STR("");
    while (name.n > 0 && name.p[name.n - 1] == '\n')
        name.n--;
    *branch = arena_copy(work->arena, name);
    git_answer_release(&answer);
    return 0;
}

/* A merge or a rebase under way has its own idea of the next commit's parents. */
static int check_state(const struct git_work *work, struct err *err)
{
    static const char *const marks[] = {"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD",
                                        "rebase-merge", "rebase-apply"};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const char *path =
            arena_printf(work->arena, "%.*s/%s", STR_FMT(work->site->git_dir), marks[i]).p;
        if (access(path, F_OK) == 0)
            return err_set(err, ERR_DENIED,
                           "a merge, rebase, cherry-pick or revert is under way (%s); it must be "
                           "finished first",
                           marks[i]);
    }
    return 0;
}

static int commit_changes(const struct git_work *work, const struct vcs_commit_request *request,
                          struct str head, const struct git_changes *changes, const char *index,
                          struct vcs_commit *commit, struct err *err)
{
    struct git_signature author, self = git_self(request->now_ms);
    struct git_commit_parts parts = {.parents = {head, STR("")},
                                     .message = request->message,
                                     .author = &author,
                                     .committer = &self};
    struct str id;
    if (git_user(work, request->now_ms, &author, err) != 0 ||
        build_tree(work, index, head, changes, &parts.tree, err) != 0 ||
        git_layout_check(work, parts.tree, git_changed_files(work, changes), err) != 0 ||
        git_commit_object(work, &parts, &id, err) != 0 ||
        git_index_put(work, NULL, changes, err) != 0 ||
        git_move_ref(work, "HEAD", id, head, err) != 0)
        return -1;
    commit->id = id;
    commit->files = git_changed_files(work, changes);
    return 0;
}

/* Everything that a commit of these changes would hold, whoever looks. */
static struct str contents_of(const struct git_work *work, struct str head,
                              const struct git_changes *changes)
{
    struct hasher h;
    char hex[HASH_HEX + 1];
    hasher_init(&h);
    hasher_str(&h, STR("cadre commit 1"));
    hasher_str(&h, head);
    for (size_t i = 0; i < changes->count; i++) {
        const struct git_change *change = &changes->items[i];
        hasher_str(&h, change->path);
        hasher_u64(&h, change->new_mode);
        hasher_str(&h, change->new_id);
    }
    struct hash hash = hasher_end(&h);
    hash_hex(&hash, hex);
    return arena_copy(work->arena, (struct str){hex, HASH_HEX});
}

int git_commit_paths(const struct git_work *work, const struct vcs_commit_request *request,
                     struct vcs_commit *commit, struct err *err)
{
    struct git_changes changes;
    const char *index;
    struct str head;
    *commit = (struct vcs_commit){.id = STR("")};
    if (check_state(work, err) != 0 || git_head(work, &head, err) != 0 ||
        current_branch(work, &commit->branch, err) != 0 || git_index_copy(work, &index, err) != 0)
        return -1;
    int result = gather(work, request, head, index, &changes, err);
    if (result == 0 && request->contents.n > 0 &&
        !str_eq(contents_of(work, head, &changes), request->contents))
        result = err_set(err, ERR_DENIED,
                         "the files changed while they were looked at; nothing was committed. Try "
                         "again");
    if (result == 0 && changes.count > 0)
        result = commit_changes(work, request, head, &changes, index, commit, err);
    git_index_remove(index);
    return result;
}

/* --- what a commit would hold ------------------------------------------------------------------------------------------------------ */

/* No program, driver or attribute of the repository has a say in what is shown: every file counts as text. */
static int ask_diff(const struct git_work *work, const char *index, struct str against, size_t most,
                    struct git_answer *answer, struct err *err)
{
    struct git_call call = {.site = work->site,
                            .words = GIT_WORDS("diff-index", "--cached", "--patch", "--text",
                                               "--no-renames", "--no-color", "--no-ext-diff",
                                               "--no-textconv", against.p, "--"),
                            .index_file = index,
                            .output = GIT_MAY_BE_CUT,
                            .output_max = most,
                            .cancelled = work->cancelled};
    return git_call(work->git, &call, answer, err);
}

/* The index holds HEAD and the changes, and nothing else that is staged. */
static int show_changes(const struct git_work *work, const char *index, struct str head,
                        const struct git_changes *changes, size_t diff_max,
                        struct vcs_outlook *outlook, struct err *err)
{
    struct git_answer diff;
    struct str tree, against = head;
    if (head.n == 0 && git_empty_tree(work, &against, err) != 0)
        return -1;
    /* One byte more than may be shown tells that it is too long. */
    if (build_tree(work, index, head, changes, &tree, err) != 0 ||
        git_layout_check(work, tree, git_changed_files(work, changes), err) != 0 ||
        ask_diff(work, index, against, diff_max + 1, &diff, err) != 0)
        return -1;
    if (diff.output.n <= diff_max) {
        outlook->diff = arena_copy(work->arena, buf_view(&diff.output));
        git_outlook_count(outlook->diff, changes, outlook);
    }
    git_answer_release(&diff);
    return 0;
}

int git_commit_outlook(const struct git_work *work, const struct vcs_commit_request *request,
                       size_t diff_max, struct vcs_outlook *outlook, struct err *err)
{
    struct git_changes changes;
    const char *index;
    struct str head;
    *outlook = (struct vcs_outlook){.diff = STR_NONE};
    if (check_state(work, err) != 0 || git_head(work, &head, err) != 0 ||
        current_branch(work, &outlook->branch, err) != 0 || git_index_copy(work, &index, err) != 0)
        return -1;
    int result = gather(work, request, head, index, &changes, err);
    if (result == 0) {
        git_outlook_list(work, &changes, outlook);
        outlook->contents = contents_of(work, head, &changes);
    }
    if (result == 0 && changes.count > 0)
        result = show_changes(work, index, head, &changes, diff_max, outlook, err);
    git_index_remove(index);
    return result;
}

/* --- a child's work --------------------------------------------------------------------------------------------------------------- */

/* All that the child has on its branch and in its files, against its base. */
static int check_work(const struct git_work *work, const struct vcs_integrate_request *request,
                      struct git_changes *changes, struct err *err)
{
    struct git_rules rules = {
        .write_paths = request->write_paths,
        .owns = request->owns == VCS_OWNS_LISTED ? GIT_OWNS_LISTED : GIT_OWNS_ALL,
        .ownership = request->ownership,
        .cancelled = request->cancelled,
    };
    struct str base = arena_copy(work->arena, request->base);
    if (git_index_take(work, NULL, ALL_PATHS, GIT_REFUSES_NESTED, err) != 0 ||
        git_index_changes(work, NULL, base, ALL_PATHS, changes, err) != 0)
        return -1;
    return git_guard(work->git, work->site, changes, &rules, err);
}

/* What is on the branch already (its own git_commit, merges of its children: both hold to the same rules) must stand on its base. */
static int check_history(const struct git_tree *tree, struct str base, struct err *err)
{
    bool stands = false;
    struct str start = arena_copy(tree->work.arena, base);
    if (str_eq(base, tree->refs.end))
        return 0;
    if (!git_is_id(base))
        return err_set(err, ERR_USAGE, "a tree's work is compared with a commit");
    if (git_is_ancestor(&tree->work, start, tree->refs.end, &stands, err) != 0)
        return -1;
    return stands
               ? 0
               : err_set(err, ERR_DENIED, "the branch cadre/%.*s/%.*s does not start at its base",
                         STR_FMT(tree->run), STR_FMT(tree->name));
}

int git_collect(struct git_tree *tree, const struct vcs_integrate_request *request,
                struct git_collected *collected, struct err *err)
{
    struct git_changes changes;
    struct str id;
    if (git_settle(tree, err) != 0)
        return -1;
    if (tree->refs.end.n == 0)
        return err_set(err, ERR_NOT_FOUND, "the branch cadre/%.*s/%.*s is gone", STR_FMT(tree->run),
                       STR_FMT(tree->name));
    if (git_worktree_check(&tree->work, err) != 0 || check_history(tree, request->base, err) != 0 ||
        check_work(&tree->work, request, &changes, err) != 0)
        return -1;
    collected->files = git_changed_files(&tree->work, &changes);
    collected->commit = arena_copy(tree->work.arena, request->base);
    if (changes.count == 0)
        return 0;
    if (git_index_write_tree(&tree->work, NULL, &id, err) != 0 ||
        git_layout_check(&tree->work, id, collected->files, err) != 0)
        return -1;
    /* Else it is committed already: by the child's own git_commit, or before a crash. */
    if (!str_eq(id, tree->refs.end_tree) &&
        git_tree_commit(tree, id, request->message, request->now_ms, err) != 0)
        return -1;
    collected->commit = tree->refs.end;
    return 0;
}
