/* Checkouts of our own: see worktree.h. The directories are made here, in the form that gitrepository-layout(5) describes, instead of by
 * `git worktree add`: two processes instead of five, and no hook or config of the user's has a part in it. On threads that may wait. */
#include "git/worktree.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/filename.h"
#include "git/erase.h"
#include "git/site.h"

#define LEFT_MAX 100000
#define SPARSE_MAX (1u << 20)

/* --- making --------------------------------------------------------------------------------------------------------------------- */

static const char *in(const struct git_work *work, struct str directory, const char *name)
{
    return arena_printf(work->arena, "%.*s/%s", STR_FMT(directory), name).p;
}

static int make(const char *path, struct err *err)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return 0;
    return err_set(err, ERR_IO, "cannot make %s: %s", path, strerror(errno));
}

static struct str link_text(const struct git_work *work)
{
    return arena_printf(work->arena, "gitdir: %.*s\n", STR_FMT(work->site->git_dir));
}

/* A child of a sparse checkout is as sparse. */
static int copy_sparse(const struct git_work *work, struct err *err)
{
    struct buf origin, patterns;
    struct err none = ERR_INIT;
    int result = 0;
    buf_init(&origin, 2 * GIT_PATH_MAX + 4);
    buf_init(&patterns, SPARSE_MAX);
    const char *file = in(work, work->site->common_dir, "origin");
    if (git_read_file(file, &origin, err) != 0) {
        result = -1;
        goto out;
    }
    struct str line = buf_view(&origin);
    const char *newline = memchr(line.p, '\n', line.n);
    line.n = newline != NULL ? (size_t)(newline - line.p) : 0;
    if (git_read_file(in(work, line, "info/sparse-checkout"), &patterns, &none) == 0) {
        result = make(in(work, work->site->git_dir, "info"), err) != 0 ||
                         git_write_file(in(work, work->site->git_dir, "info/sparse-checkout"),
                                        buf_view(&patterns), err) != 0
                     ? -1
                     : 0;
    } else if (none.class != ERR_NOT_FOUND) {
        *err = none;
        result = -1;
    }
out:
    buf_release(&origin);
    buf_release(&patterns);
    return result;
}

/* The directories, with what HEAD shall say; no files yet. */
static int prepare(const struct git_work *work, struct str head, struct err *err)
{
    const struct git_site *site = work->site;
    struct str tree = arena_copy(work->arena, site->work_tree);
    const char *slash = memrchr(tree.p, '/', tree.n);
    struct str parent = arena_copy(work->arena, (struct str){tree.p, (size_t)(slash - tree.p)});
    const char *link = in(work, tree, ".git");
    struct str back = arena_printf(work->arena, "%s\n", link);
    if (make(parent.p, err) != 0 || make(tree.p, err) != 0 || make(site->git_dir.p, err) != 0 ||
        git_write_file(in(work, site->git_dir, "HEAD"), head, err) != 0 ||
        git_write_file(in(work, site->git_dir, "commondir"), STR("../..\n"), err) != 0 ||
        git_write_file(in(work, site->git_dir, "gitdir"), back, err) != 0 ||
        git_write_file(link, link_text(work), err) != 0)
        return -1;
    return site->kind == GIT_KIND_REPOSITORY ? copy_sparse(work, err) : 0;
}

static int run(const struct git_work *work, const char *const *words, struct err *err)
{
    struct git_answer answer;
    struct git_call call = {.site = work->site,
                            .words = words,
                            .effect = GIT_WRITES,
                            .wall_ms = GIT_WALL_FILES_MS,
                            .cancelled = work->cancelled};
    if (git_call(work->git, &call, &answer, err) != 0)
        return -1;
    git_answer_release(&answer);
    return 0;
}

int git_worktree_reset(const struct git_work *work, struct str commit, struct err *err)
{
    unlink(in(work, work->site->git_dir, "index.lock")); /* only a crash of ours can have left it */
    return run(work, GIT_WORDS("read-tree", "--reset", "-u", commit.p), err);
}

static bool exists(struct str path)
{
    struct stat status;
    return lstat(path.p, &status) == 0;
}

int git_worktree_create(const struct git_work *work, const char *ref, struct str base,
                        struct err *err)
{
    if (!git_is_id(base))
        return err_set(err, ERR_USAGE, "a worktree needs a commit to start from");
    if ((exists(work->site->work_tree) || exists(work->site->git_dir)) &&
        git_worktree_remove(work, err) != 0)
        return -1;
    if (prepare(work, arena_printf(work->arena, "ref: %s\n", ref), err) != 0 ||
        git_put_ref(work, ref, base, err) != 0)
        return -1;
    return git_worktree_reset(work, base, err);
}

int git_worktree_stage(const struct git_work *work, struct str commit, struct err *err)
{
    struct err none = ERR_INIT;
    struct str head = arena_printf(work->arena, "%.*s\n", STR_FMT(commit));
    if (!git_is_id(commit))
        return err_set(err, ERR_USAGE, "the checkout for checks needs a commit");
    if (git_worktree_check(work, &none) != 0) {
        if (git_worktree_remove(work, err) != 0 || prepare(work, head, err) != 0)
            return -1;
        return git_worktree_reset(work, commit, err);
    }
    if (git_write_file(in(work, work->site->git_dir, "HEAD"), head, err) != 0 ||
        git_worktree_reset(work, commit, err) != 0)
        return -1;
    return run(work, GIT_WORDS("clean", "-ffdq"), err); /* what earlier checks left */
}

/* --- looking -------------------------------------------------------------------------------------------------------------------- */

int git_worktree_there(const struct git_work *work, struct err *err)
{
    if (exists(work->site->work_tree) && exists(work->site->git_dir))
        return 0;
    return err_set(err, ERR_NOT_FOUND, "the worktree %.*s is gone", STR_FMT(work->site->work_tree));
}

int git_worktree_check(const struct git_work *work, struct err *err)
{
    struct buf text;
    struct stat status;
    const char *link = in(work, work->site->work_tree, ".git");
    buf_init(&text, GIT_PATH_MAX + 64);
    struct err none = ERR_INIT;
    bool same = lstat(link, &status) == 0 && S_ISREG(status.st_mode) &&
                git_read_file(link, &text, &none) == 0 && str_eq(buf_view(&text), link_text(work));
    buf_release(&text);
    if (same)
        return 0;
    if (git_worktree_there(work, err) != 0)
        return -1;
    return err_set(err, ERR_DENIED, ".git was changed in the worktree");
}

/* --- removing ------------------------------------------------------------------------------------------------------------------- */

/* What is on its way out has another name: a checkout is there whole, or not at all. */
static struct str outgoing(const struct git_work *work, struct str path)
{
    return arena_printf(work->arena, "%.*s.gone", STR_FMT(path));
}

static int put_aside(const struct git_work *work, struct str path, struct err *err)
{
    struct str aside = outgoing(work, path);
    if (!exists(path))
        return 0;
    if (git_erase(aside.p, err) != 0)
        return -1;
    return rename(path.p, aside.p) == 0 ? 0
                                        : err_set(err, ERR_IO, "cannot put %s aside: %s",
                                                  filename_of(path).text, strerror(errno));
}

bool git_worktree_removed(const struct git_work *work)
{
    return !exists(work->site->work_tree) &&
           (!exists(work->site->git_dir) || exists(outgoing(work, work->site->work_tree)));
}

int git_worktree_remove(const struct git_work *work, struct err *err)
{
    struct str tree = work->site->work_tree, records = work->site->git_dir;
    /* The records go last: as long as they are there, a crash leaves something that is found again. */
    if (put_aside(work, tree, err) != 0 || put_aside(work, records, err) != 0 ||
        git_erase(outgoing(work, tree).p, err) != 0 ||
        git_erase(outgoing(work, records).p, err) != 0)
        return -1;
    const char *slash = memrchr(tree.p, '/', tree.n);
    struct str parent = arena_copy(work->arena, (struct str){tree.p, (size_t)(slash - tree.p)});
    rmdir(parent.p); /* the run's directory, when this was the last */
    git_sweep(work->site->common_dir.p);
    return 0;
}

/* --- listing -------------------------------------------------------------------------------------------------------------------- */

struct lister {
    struct arena *arena;
    struct vcs_left *left;
    size_t count;
};

static void add_left(struct lister *lister, const char *common_dir, struct str workspace,
                     const char *name)
{
    const char *dot = strchr(name, '.');
    if (dot == NULL || lister->count >= LEFT_MAX)
        return;
    if ((lister->count & (lister->count - 1)) == 0) { /* full at every power of two */
        size_t room = lister->count != 0 ? lister->count * 2 : 1;
        struct vcs_left *grown = arena_alloc(lister->arena, room * sizeof *grown);
        if (lister->count != 0)
            memcpy(grown, lister->left, lister->count * sizeof *grown);
        lister->left = grown;
    }
    struct str run_name = {name, (size_t)(dot - name)};
    lister->left[lister->count++] = (struct vcs_left){
        .run = arena_copy(lister->arena, run_name),
        .agent = arena_copy(lister->arena, str_from(dot + 1)),
        .path =
            arena_printf(lister->arena, "%s/trees/%.*s/%s", common_dir, STR_FMT(run_name), dot + 1),
        .workspace = workspace,
    };
}

/* The second line of `origin`. */
static struct str user_checkout(struct arena *arena, const char *common_dir)
{
    struct buf text;
    struct err none = ERR_INIT;
    struct str line = STR("");
    buf_init(&text, 2 * GIT_PATH_MAX + 4);
    if (git_read_file(arena_printf(arena, "%s/origin", common_dir).p, &text, &none) == 0) {
        struct str all = buf_view(&text);
        const char *first = memchr(all.p, '\n', all.n);
        if (first != NULL)
            line = (struct str){first + 1, all.n - (size_t)(first + 1 - all.p)};
        if (line.n > 0 && line.p[line.n - 1] == '\n')
            line.n--;
    }
    line = arena_copy(arena, line);
    buf_release(&text);
    return line;
}

static void list_common(struct lister *lister, const char *common_dir)
{
    const struct dirent *entry;
    struct str workspace = user_checkout(lister->arena, common_dir);
    DIR *directory = opendir(arena_printf(lister->arena, "%s/worktrees", common_dir).p);
    while (directory != NULL && (entry = readdir(directory)) != NULL)
        if (entry->d_name[0] != '.')
            add_left(lister, common_dir, workspace, entry->d_name);
    if (directory != NULL)
        closedir(directory);
}

int git_worktree_list(const struct git *git, struct arena *arena, struct vcs_left **left,
                      size_t *count, struct err *err)
{
    struct lister lister = {.arena = arena};
    const struct dirent *entry;
    char state[PATH_MAX];
    *left = NULL;
    *count = 0;
    if (realpath(git->state, state) == NULL)
        return 0; /* nothing was ever made */
    const char *top = arena_printf(arena, "%s/repositories", state).p;
    DIR *directory = opendir(top);
    if (directory == NULL && errno != ENOENT)
        return err_set(err, ERR_IO, "cannot read %s: %s", top, strerror(errno));
    while (directory != NULL && (entry = readdir(directory)) != NULL)
        if (entry->d_name[0] != '.')
            list_common(&lister, arena_printf(arena, "%s/%s", top, entry->d_name).p);
    if (directory != NULL)
        closedir(directory);
    *left = lister.left;
    *count = lister.count;
    return 0;
}
