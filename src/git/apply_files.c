/* Integrated changes into files of the user's checkout, without a commit: for a conversation whose root works there, and for directories
 * without git. Every file is compared first; then all are written, or none. Asked again after a crash, files that are done are found.
 * On threads that may wait. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "git/apply.h"
#include "git/index.h"
#include "git/worktree.h"
#include "os/scope.h"

/* What the user's file is by now, compared with what the change starts from and ends in. */
enum standing { STANDS_BEFORE, STANDS_AFTER, STANDS_APART };

struct comparison {
    const struct git_work *work;
    struct map touched; /* path → the user's change against `from` */
};

static bool on_disk(const struct git_work *work, struct str path)
{
    struct stat status;
    const char *full =
        arena_printf(work->arena, "%.*s/%.*s", STR_FMT(work->site->work_tree), STR_FMT(path)).p;
    return lstat(full, &status) == 0;
}

static enum standing compare(const struct comparison *comparison, const struct git_change *change)
{
    const struct git_change *own = map_get(&comparison->touched, change->path);
    if (own ==
        NULL) /* the user has what the change starts from; an ignored file is not in git's view */
        return change->old_mode == 0 && on_disk(comparison->work, change->path) ? STANDS_APART
                                                                                : STANDS_BEFORE;
    bool same = own->new_mode == change->new_mode &&
                (own->new_mode == 0 || str_eq(own->new_id, change->new_id));
    return same ? STANDS_AFTER : STANDS_APART;
}

static int find_clashes(const struct git_work *work, const struct git_changes *wanted,
                        const struct git_changes *own, struct vcs_applied *applied)
{
    struct comparison comparison = {.work = work};
    struct str *clashes = arena_alloc(work->arena, (wanted->count + 1) * sizeof *clashes);
    size_t count = 0;
    map_init(&comparison.touched);
    for (size_t i = 0; i < own->count; i++)
        map_set(&comparison.touched, own->items[i].path, &own->items[i]);
    for (size_t i = 0; i < wanted->count; i++)
        if (compare(&comparison, &wanted->items[i]) == STANDS_APART)
            clashes[count++] = wanted->items[i].path;
    map_release(&comparison.touched);
    applied->files = (struct vcs_list){clashes, count};
    return count > 0 ? -1 : 0;
}

/* A file goes, and the directories that it leaves empty. */
static int delete_file(int root, struct str path, struct err *err)
{
    char name[GIT_PATH_MAX];
    if (path.n >= sizeof name)
        return err_set(err, ERR_CORRUPT, "a path is too long");
    memcpy(name, path.p, path.n);
    name[path.n] = '\0';
    for (int flags = 0;; flags = AT_REMOVEDIR) {
        char *slash = strrchr(name, '/');
        if (slash != NULL)
            *slash = '\0';
        int parent = slash != NULL ? scope_open_beneath(root, name, O_PATH | O_DIRECTORY) : root;
        const char *last = slash != NULL ? slash + 1 : name;
        int failed = parent >= 0 ? unlinkat(parent, last, flags) : -1;
        int number = errno;
        if (slash != NULL && parent >= 0)
            close(parent);
        if (failed != 0 && flags == 0 && number != ENOENT && number != ENOTDIR)
            return err_set(err, ERR_IO, "cannot remove %.*s: %s", STR_FMT(path), strerror(number));
        if (failed != 0 || slash == NULL)
            return 0;
    }
}

static int delete_files(const struct git_work *work, const struct git_changes *wanted,
                        struct err *err)
{
    int root = open(work->site->work_tree.p, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return err_set(err, ERR_IO, "cannot open %.*s: %s", STR_FMT(work->site->work_tree),
                       strerror(errno));
    int result = 0;
    for (size_t i = 0; i < wanted->count && result == 0; i++)
        if (wanted->items[i].new_mode == 0)
            result = delete_file(root, wanted->items[i].path, err);
    close(root);
    return result;
}

static int write_files(const struct git_work *work, const struct git_changes *wanted,
                       const char *index, struct err *err)
{
    struct git_answer answer;
    struct buf paths;
    buf_init(&paths, GIT_OUTPUT_MAX);
    for (size_t i = 0; i < wanted->count; i++) {
        if (wanted->items[i].new_mode == 0 || wanted->items[i].new_mode == GIT_MODE_MODULE)
            continue;
        buf_str(&paths, wanted->items[i].path);
        buf_char(&paths, '\0');
    }
    struct git_call call = {.site = work->site,
                            .words = GIT_WORDS("checkout-index", "-f", "-z", "--stdin"),
                            .effect = GIT_WRITES,
                            .index_file = index,
                            .input = buf_view(&paths),
                            .cancelled = work->cancelled};
    int result = 0;
    if (paths.failed)
        result = err_set(err, ERR_DENIED, "too many changes");
    else if (paths.n > 0 && (result = git_call(work->git, &call, &answer, err)) == 0)
        git_answer_release(&answer);
    buf_release(&paths);
    return result;
}

int git_apply_files(const struct git_work *work, struct str from, struct str to,
                    struct vcs_applied *applied, struct err *err)
{
    struct git_changes wanted, own;
    struct str tree;
    const char *index;
    *applied = (struct vcs_applied){.outcome = VCS_NOTHING_TO_APPLY,
                                    .from = arena_copy(work->arena, from),
                                    .to = arena_copy(work->arena, to)};
    if (!git_is_id(from) || !git_is_id(to))
        return err_set(err, ERR_USAGE, "applying needs two commits");
    if (git_diff_trees(work, applied->from, applied->to, &wanted, err) != 0)
        return -1;
    if (wanted.count == 0)
        return 0;
    if (git_snapshot_tree(work, &tree, err) != 0 ||
        git_diff_trees(work, applied->from, tree, &own, err) != 0)
        return -1;
    applied->outcome = VCS_APPLY_REFUSED;
    applied->reason = STR("files were changed meanwhile");
    if (find_clashes(work, &wanted, &own, applied) != 0)
        return 0;
    applied->outcome = VCS_APPLIED;
    applied->reason = STR("");
    if (git_index_copy(work, "apply", &index, err) != 0)
        return -1;
    int result = git_index_read(work, index, applied->to, err) != 0 ||
                         delete_files(work, &wanted, err) != 0 ||
                         write_files(work, &wanted, index, err) != 0
                     ? -1
                     : 0;
    git_index_remove(index);
    return result;
}
