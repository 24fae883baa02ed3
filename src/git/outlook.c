/* Changes for people: which files, how many lines, the diff. On threads that may wait. */
#include "git/outlook.h"

#include "git/commit.h"

/* Counted in the diff, and not asked of git, which counts no lines of files that an attribute calls binary. A file that becomes another
 * kind of file has two sections. */
void git_outlook_count(struct str diff, const struct git_changes *changes,
                       struct vcs_outlook *outlook)
{
    size_t section = 0, file = 0, left = 0;
    bool in_hunk = false;
    while (diff.n > 0) {
        const char *end = memchr(diff.p, '\n', diff.n);
        size_t n = end != NULL ? (size_t)(end - diff.p) + 1 : diff.n;
        if (str_starts(diff, STR("diff --git "))) {
            file = left > 0 ? file : section++;
            if (file >= outlook->count)
                return;
            left = left > 0 ? left - 1 : changes->items[file].status == 'T';
            in_hunk = false;
        } else if (diff.p[0] == '@') {
            in_hunk = true;
        } else if (in_hunk) {
            outlook->files[file].added += diff.p[0] == '+';
            outlook->files[file].removed += diff.p[0] == '-';
        }
        diff = (struct str){diff.p + n, diff.n - n};
    }
}

void git_outlook_list(const struct git_work *work, const struct git_changes *changes,
                      struct vcs_outlook *outlook)
{
    struct vcs_list files = git_changed_files(work, changes);
    outlook->files = arena_alloc(work->arena, (changes->count + 1) * sizeof *outlook->files);
    outlook->count = changes->count;
    for (size_t i = 0; i < changes->count; i++) {
        const struct git_change *change = &changes->items[i];
        outlook->files[i] =
            (struct vcs_outlook_file){.path = files.items[i],
                                      .what = change->old_mode == 0   ? VCS_FILE_NEW
                                              : change->new_mode == 0 ? VCS_FILE_DELETED
                                                                      : VCS_FILE_CHANGED,
                                      .old_mode = change->old_mode,
                                      .new_mode = change->new_mode,
                                      .old_id = change->old_id,
                                      .new_id = change->new_id};
    }
}

int git_outlook_between(const struct git_work *work, struct str from, struct str to,
                        size_t diff_max, struct vcs_outlook *outlook, struct err *err)
{
    struct git_changes changes;
    struct git_answer diff;
    struct git_call call = {
        .site = work->site,
        .words = GIT_WORDS("diff-tree", "-r", "--patch", "--binary", "--full-index", "--no-renames",
                           "--no-color", "--no-ext-diff", "--no-textconv", from.p, to.p, "--"),
        .output = GIT_MAY_BE_CUT,
        .output_max = diff_max + 1,
        .cancelled = work->cancelled};
    *outlook = (struct vcs_outlook){.diff = STR_NONE, .branch = STR(""), .contents = STR("")};
    if (git_diff_trees(work, from, to, &changes, err) != 0)
        return -1;
    git_outlook_list(work, &changes, outlook);
    if (git_call(work->git, &call, &diff, err) != 0)
        return -1;
    if (diff.output.n <= diff_max) {
        outlook->diff = arena_copy(work->arena, buf_view(&diff.output));
        git_outlook_count(outlook->diff, &changes, outlook);
    }
    git_answer_release(&diff);
    return 0;
}
