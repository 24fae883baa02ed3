/* Indexes through plumbing: see index.h. `git add` and `git status` look into submodules by running git there, with the config that they
 * find; ls-files and update-index do not. On threads that may wait. */
#include "git/index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/filename.h"
#include "base/gitname.h"
#include "git/guard.h"

#define PATHS_MAX 256               /* that a caller may name */
#define TAKE_FILES_MAX 500000       /* that may be new or changed */
#define TAKE_BYTES_MAX (4ull << 30) /* in them together */
#define INDEX_COPY_MAX (512u << 20)

/* --- listing -------------------------------------------------------------------------------------------------------------------- */

static int list_files(const struct git_work *work, const char *index, struct vcs_list paths,
                      struct git_answer *answer, struct err *err)
{
    const char *words[PATHS_MAX + 16] = {"ls-files", "-z", "-m", "-d", "-o"};
    size_t count = 5;
    if (paths.count > PATHS_MAX)
        return err_set(err, ERR_USAGE, "more than %d paths", PATHS_MAX);
    if (work->site->kind == GIT_KIND_REPOSITORY)
        words[count++] = "--exclude-standard";
    words[count++] = "--";
    for (size_t i = 0; i < paths.count; i++)
        words[count++] = paths.items[i].p;
    struct git_call call = {.site = work->site,
                            .words = words,
                            .index_file = index,
                            .wall_ms = GIT_WALL_FILES_MS,
                            .cancelled = work->cancelled};
    return git_call(work->git, &call, answer, err);
}

/* A file that is huge must not fill the repository unseen. */
static int weigh(const struct git_work *work, struct str path, uint64_t *bytes, struct err *err)
{
    struct stat status;
    const char *full =
        arena_printf(work->arena, "%.*s/%.*s", STR_FMT(work->site->work_tree), STR_FMT(path)).p;
    if (lstat(full, &status) == 0 && S_ISREG(status.st_mode))
        *bytes += (uint64_t)status.st_size;
    if (*bytes > TAKE_BYTES_MAX)
        return err_set(err, ERR_DENIED,
                       "the changed and new files hold more than %llu GB together (up to %s); "
                       "ignore or commit large files first",
                       TAKE_BYTES_MAX >> 30, filename_of(path).text);
    return 0;
}

/* git leaves out a path with such a part, without an error. */
static bool is_carried(struct str path)
{
    while (path.n > 0) {
        const char *slash = memchr(path.p, '/', path.n);
        size_t n = slash != NULL ? (size_t)(slash - path.p) : path.n;
        size_t taken = slash != NULL ? n + 1 : n;
        if (gitname_is_alias((struct str){path.p, n}))
            return false;
        path = (struct str){path.p + taken, path.n - taken};
    }
    return true;
}

static int choose_files(const struct git_work *work, struct str listed, enum git_nested nested,
                        struct buf *chosen, struct err *err)
{
    struct str path;
    size_t files = 0;
    uint64_t bytes = 0;
    /* In a directory without git the user's files are as they are: agents do not get such a one. */
    bool users = work->site->kind == GIT_KIND_SHADOW && work->site->owner == GIT_SITE_USER;
    while (git_next_field(&listed, &path)) {
        if (git_is_private(work->site, path))
            continue;
        if (path.n > 0 && path.p[path.n - 1] == '/') { /* how git shows a nested repository */
            if (nested == GIT_SKIPS_NESTED)
                continue;
            return err_set(err, ERR_DENIED,
                           "%s: a repository within the repository is not committed",
                           filename_of(path).text);
        }
        if (!is_carried(path)) {
            if (nested == GIT_SKIPS_NESTED || users)
                continue;
            return err_set(err, ERR_DENIED,
                           "%s: git or a file system takes a part of this path for .git, so it "
                           "is not committed; give it another name",
                           filename_of(path).text);
        }
        if (++files > TAKE_FILES_MAX)
            return err_set(err, ERR_DENIED, "more than %d files are changed or new",
                           TAKE_FILES_MAX);
        if (weigh(work, path, &bytes, err) != 0)
            return -1;
        buf_add(chosen, path.p, path.n);
        buf_char(chosen, '\0');
    }
    if (chosen->failed)
        return err_set(err, ERR_DENIED, "too many files are changed or new");
    return 0;
}

static int feed(const struct git_work *work, const char *index, const char *const *words,
                struct str input, struct err *err)
{
    struct git_answer answer;
    struct git_call call = {.site = work->site,
                            .words = words,
                            .effect = GIT_WRITES,
                            .index_file = index,
                            .input = input,
                            .wall_ms = GIT_WALL_FILES_MS,
                            .cancelled = work->cancelled};
    if (git_call(work->git, &call, &answer, err) != 0)
        return -1;
    git_answer_release(&answer);
    return 0;
}

int git_index_take(const struct git_work *work, const char *index, struct vcs_list paths,
                   enum git_nested nested, struct err *err)
{
    struct git_answer listed = {0};
    struct buf chosen;
    if (list_files(work, index, paths, &listed, err) != 0)
        return -1;
    buf_init(&chosen, GIT_OUTPUT_MAX);
    int result = choose_files(work, buf_view(&listed.output), nested, &chosen, err);
    if (result == 0 && chosen.n > 0)
        result = feed(work, index,
                      GIT_WORDS("update-index", "-z", "--add", "--remove", "--replace", "--stdin"),
                      buf_view(&chosen), err);
    buf_release(&chosen);
    git_answer_release(&listed);
    return result;
}

int git_index_add(const struct git_work *work, const char *index, struct vcs_list paths,
                  struct err *err)
{
    struct buf input;
    buf_init(&input, GIT_OUTPUT_MAX);
    for (size_t i = 0; i < paths.count; i++) {
        buf_str(&input, paths.items[i]);
        buf_char(&input, '\0');
    }
    int result = 0;
    if (input.failed)
        result = err_set(err, ERR_DENIED, "too many changes for one commit");
    else if (input.n > 0)
        result = feed(work, index,
                      GIT_WORDS("update-index", "-z", "--add", "--remove", "--replace", "--stdin"),
                      buf_view(&input), err);
    buf_release(&input);
    return result;
}

/* --- copies ----------------------------------------------------------------------------------------------------------------------- */

static int copy_bytes(int from, int to)
{
    char block[65536];
    ssize_t n;
    uint64_t total = 0;
    while ((n = read(from, block, sizeof block)) > 0) {
        total += (uint64_t)n;
        if (write(to, block, (size_t)n) != n || total > INDEX_COPY_MAX)
            return -1;
    }
    return n == 0 ? 0 : -1;
}

int git_index_copy(const struct git_work *work, const char **index, struct err *err)
{
    const struct git_site *site = work->site;
    struct str place = site->owner == GIT_SITE_CHILD ? site->git_dir : site->common_dir;
    *index = arena_printf(work->arena, "%.*s/" GIT_INDEX_COPY, STR_FMT(place)).p;
    const char *own = arena_printf(work->arena, "%.*s/index", STR_FMT(work->site->git_dir)).p;
    git_index_remove(*index);
    int from = open(own, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return 0; /* nothing was ever added: an index that is not there is empty */
    int to = open(*index, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int result = to >= 0 && copy_bytes(from, to) == 0
                     ? 0
                     : err_set(err, ERR_IO, "cannot copy %s: %s", own, strerror(errno));
    /* Entries as young as the index itself are compared by content; a younger copy would trust them. */
    struct stat status;
    if (result == 0 && fstat(from, &status) == 0)
        futimens(to, (struct timespec[2]){status.st_atim, status.st_mtim});
    close(from);
    if (to >= 0)
        close(to);
    return result;
}

void git_index_remove(const char *index)
{
    char lock[GIT_PATH_MAX];
    snprintf(lock, sizeof lock, "%s.lock", index);
    unlink(index);
    unlink(lock);
}

/* --- contents --------------------------------------------------------------------------------------------------------------------- */

int git_index_changes(const struct git_work *work, const char *index, struct str against,
                      struct vcs_list paths, struct git_changes *changes, struct err *err)
{
    const char *words[PATHS_MAX + 16] = {"diff-index",   "--cached",      "--raw",   "-z",
                                         "--no-renames", "--no-ext-diff", against.p, "--"};
    struct git_answer answer;
    if (paths.count > PATHS_MAX)
        return err_set(err, ERR_USAGE, "more than %d paths", PATHS_MAX);
    for (size_t i = 0; i < paths.count; i++)
        words[8 + i] = paths.items[i].p;
    struct git_call call = {
        .site = work->site, .words = words, .index_file = index, .cancelled = work->cancelled};
    if (git_call(work->git, &call, &answer, err) != 0)
        return -1;
    struct str output = arena_copy(work->arena, buf_view(&answer.output));
    git_answer_release(&answer);
    return git_parse_changes(work->arena, output, changes, err);
}

static void put_lines(struct buf *input, const struct git_changes *changes, char which)
{
    for (size_t i = 0; i < changes->count; i++) {
        const struct git_change *change = &changes->items[i];
        if ((change->status == 'D') != (which == 'D'))
            continue;
        buf_printf(input, "%o %.*s\t", (unsigned)change->new_mode, STR_FMT(change->new_id));
        buf_add(input, change->path.p, change->path.n);
        buf_char(input, '\0');
    }
}

int git_index_put(const struct git_work *work, const char *index, const struct git_changes *changes,
                  struct err *err)
{
    struct buf input;
    buf_init(&input, GIT_OUTPUT_MAX);
    put_lines(&input, changes, 'D'); /* first: a file may have become a directory */
    put_lines(&input, changes, 'A');
    int result = input.failed ? err_set(err, ERR_DENIED, "too many changes for one commit")
                              : feed(work, index,
                                     GIT_WORDS("update-index", "-z", "--replace", "--index-info"),
                                     buf_view(&input), err);
    buf_release(&input);
    return result;
}

int git_index_read(const struct git_work *work, const char *index, struct str tree, struct err *err)
{
    return feed(work, index,
                tree.n > 0 ? GIT_WORDS("read-tree", tree.p) : GIT_WORDS("read-tree", "--empty"),
                STR_NONE, err);
}

int git_index_write_tree(const struct git_work *work, const char *index, struct str *tree,
                         struct err *err)
{
    struct git_answer answer;
    struct git_call call = {.site = work->site,
                            .words = GIT_WORDS("write-tree"),
                            .effect = GIT_WRITES,
                            .index_file = index,
                            .cancelled = work->cancelled};
    if (git_call(work->git, &call, &answer, err) != 0)
        return -1;
    int result = git_parse_id(buf_view(&answer.output), tree, err);
    *tree = arena_copy(work->arena, *tree);
    git_answer_release(&answer);
    return result;
}
