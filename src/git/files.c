/* Changes between two commits into files, without a commit: for a conversation whose root works in the user's checkout, for directories
 * without git, and for merges that a crash ended. Every file is compared first, by content; then the files that are as they were before
 * are written. On threads that may wait. */
#include "git/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/filename.h"
#include "base/map.h"
#include "git/index.h"
#include "os/scope.h"

#define ALL_PATHS ((struct vcs_list){NULL, 0})
#define PART_MAX (64 << 20) /* bytes of a file that a crash may have cut off */
#define DEPTH_MAX 100       /* of directories that a file takes the place of */

/* What a file is by now, compared with what the change starts from and ends in. */
enum standing { STANDS_BEFORE, STANDS_AFTER, STANDS_APART };

struct mover {
    const struct git_work *work;
    struct str from, to;
    enum git_move mode;
    int root;           /* of the work tree */
    struct map touched; /* path → how the file differs from `from` */
    struct map wanted;  /* path → the change that is wanted */
};

/* --- comparing ------------------------------------------------------------------------------------------------------------------ */

/* The kind of what is at a path (S_IFMT), 0: nothing. No links are followed. */
static mode_t kind_at(int root, struct str path)
{
    char name[GIT_PATH_MAX];
    struct stat status;
    if (path.n >= sizeof name)
        return 0;
    memcpy(name, path.p, path.n);
    name[path.n] = '\0';
    int fd = scope_open_beneath(root, name, O_PATH | O_NOFOLLOW);
    if (fd < 0)
        return 0;
    mode_t kind = fstat(fd, &status) == 0 ? status.st_mode & S_IFMT : 0;
    close(fd);
    return kind;
}

/* It goes, and is what it was. */
static bool is_deleted(const struct mover *mover, struct str path)
{
    const struct git_change *change = map_get(&mover->wanted, path);
    return change != NULL && change->new_mode == 0 && map_get(&mover->touched, path) == NULL;
}

/* Will the directory be empty when all deletions are done? */
static bool empties(const struct mover *mover, struct str path, int depth)
{
    const struct dirent *entry;
    bool empty = depth < DEPTH_MAX;
    int fd = scope_open_beneath(mover->root, arena_copy(mover->work->arena, path).p,
                                O_RDONLY | O_DIRECTORY);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    if (directory == NULL) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    while (empty && (entry = readdir(directory)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        struct str inside =
            arena_printf(mover->work->arena, "%.*s/%s", STR_FMT(path), entry->d_name);
        empty = kind_at(mover->root, inside) == S_IFDIR ? empties(mover, inside, depth + 1)
                                                        : is_deleted(mover, inside);
    }
    closedir(directory);
    return empty;
}

/* git would remove what is in its way: a file where a directory is needed, a directory where a file is. */
static bool is_obstructed(const struct mover *mover, const struct git_change *change)
{
    struct str path = change->path;
    if (change->new_mode == 0)
        return false;
    if (kind_at(mover->root, path) == S_IFDIR)
        return !empties(mover, path, 0);
    for (size_t i = 0; i < path.n; i++) {
        struct str above = {path.p, i};
        if (path.p[i] != '/')
            continue;
        mode_t kind = kind_at(mover->root, above);
        if (kind == 0)
            return false;
        if (kind != S_IFDIR)
            return !is_deleted(mover, above);
    }
    return false;
}

/* Is what is on disk the beginning of what a commit has there? */
static bool begins(const struct mover *mover, struct str commit, struct str path)
{
    struct git_answer answer;
    struct err none = ERR_INIT;
    struct stat status;
    struct arena *arena = mover->work->arena;
    int fd = scope_open_beneath(mover->root, arena_copy(arena, path).p, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool small = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size < PART_MAX;
    size_t n = small ? (size_t)status.st_size : 0;
    char *part = arena_alloc(arena, n + 1);
    bool whole = small && pread(fd, part, n, 0) == (ssize_t)n;
    close(fd);
    if (!whole || n == 0)
        return whole;
    const char *name = arena_printf(arena, "%.*s:%.*s", STR_FMT(commit), STR_FMT(path)).p;
    struct git_call call = {.site = mover->work->site,
                            .words = GIT_WORDS("cat-file", "--filters", name),
                            .cancelled = mover->work->cancelled};
    if (git_call(mover->work->git, &call, &answer, &none) != 0)
        return false;
    bool same = answer.output.n > n && memcmp(answer.output.p, part, n) == 0;
    git_answer_release(&answer);
    return same;
}

/* git removes a file and writes it anew: between the two it is missing, and then not whole. */
static bool is_half_written(const struct mover *mover, const struct git_change *change,
                            const struct git_change *own)
{
    if (mover->mode == GIT_MOVE_FIRST)
        return false;
    if (own->new_mode == 0)
        return true;
    if (change->new_mode != 0 && begins(mover, mover->to, change->path))
        return true;
    return mover->mode == GIT_MOVE_BACK && change->old_mode != 0 &&
           begins(mover, mover->from, change->path);
}

static enum standing compare(const struct mover *mover, const struct git_change *change)
{
    const struct git_change *own = map_get(&mover->touched, change->path);
    if (own == NULL)
        return is_obstructed(mover, change) ? STANDS_APART : STANDS_BEFORE;
    bool same = own->new_mode == change->new_mode &&
                (own->new_mode == 0 || str_eq(own->new_id, change->new_id));
    if (same)
        return STANDS_AFTER;
    return is_half_written(mover, change, own) ? STANDS_BEFORE : STANDS_APART;
}

/* Those of the wanted changes that are still to be made, and the paths of those that cannot be. */
static void sort_out(struct mover *mover, const struct git_changes *own,
                     const struct git_changes *wanted, struct git_changes *open,
                     struct vcs_list *clashes)
{
    struct arena *arena = mover->work->arena;
    struct str *paths = arena_alloc(arena, (wanted->count + 1) * sizeof *paths);
    *open = (struct git_changes){arena_alloc(arena, (wanted->count + 1) * sizeof *open->items), 0};
    *clashes = (struct vcs_list){paths, 0};
    for (size_t i = 0; i < own->count; i++)
        map_set(&mover->touched, own->items[i].path, &own->items[i]);
    for (size_t i = 0; i < wanted->count; i++)
        map_set(&mover->wanted, wanted->items[i].path, &wanted->items[i]);
    for (size_t i = 0; i < wanted->count; i++)
        switch (compare(mover, &wanted->items[i])) {
        case STANDS_BEFORE:
            open->items[open->count++] = wanted->items[i];
            break;
        case STANDS_AFTER:
            break;
        case STANDS_APART:
            paths[clashes->count++] = wanted->items[i].path;
            break;
        }
}

/* Ignore rules hide files, and a half-done change may be of the rules themselves: files that are to change are looked at in any case. */
static int take_wanted(const struct mover *mover, const char *index,
                       const struct git_changes *wanted, struct err *err)
{
    struct str *paths = arena_alloc(mover->work->arena, (wanted->count + 1) * sizeof *paths);
    size_t count = 0;
    for (size_t i = 0; i < wanted->count; i++) {
        mode_t kind = kind_at(mover->root, wanted->items[i].path);
        if (kind == S_IFREG || kind == S_IFLNK)
            paths[count++] = wanted->items[i].path;
    }
    return git_index_add(mover->work, index, (struct vcs_list){paths, count}, err);
}

/* How the files differ from a commit, by now. */
static int look_at_files(const struct mover *mover, const char *index,
                         const struct git_changes *wanted, struct git_changes *own, struct err *err)
{
    return git_index_take(mover->work, index, ALL_PATHS, GIT_SKIPS_NESTED, err) != 0 ||
                   take_wanted(mover, index, wanted, err) != 0 ||
                   git_index_changes(mover->work, index, mover->from, ALL_PATHS, own, err) != 0
               ? -1
               : 0;
}

/* --- writing -------------------------------------------------------------------------------------------------------------------- */

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
            return err_set(err, ERR_IO, "cannot remove %s: %s", filename_of(path).text,
                           strerror(number));
        if (failed != 0 || slash == NULL)
            return 0;
    }
}

static int delete_files(int root, const struct git_changes *changes, struct err *err)
{
    int result = 0;
    for (size_t i = 0; i < changes->count && result == 0; i++)
        if (changes->items[i].new_mode == 0)
            result = delete_file(root, changes->items[i].path, err);
    return result;
}

static int write_files(const struct git_work *work, const struct git_changes *changes,
                       const char *index, struct err *err)
{
    struct git_answer answer;
    struct buf paths;
    buf_init(&paths, GIT_OUTPUT_MAX);
    for (size_t i = 0; i < changes->count; i++) {
        if (changes->items[i].new_mode == 0 || changes->items[i].new_mode == GIT_MODE_MODULE)
            continue;
        buf_str(&paths, changes->items[i].path);
        buf_char(&paths, '\0');
    }
    struct git_call call = {.site = work->site,
                            .words = GIT_WORDS("checkout-index", "-f", "-z", "--stdin"),
                            .effect = GIT_WRITES,
                            .index_file = index,
                            .wall_ms = GIT_WALL_FILES_MS,
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

static int move(struct mover *mover, const char *index, struct git_moved *moved, struct err *err)
{
    struct git_changes own, open;
    if (look_at_files(mover, index, &moved->changes, &own, err) != 0)
        return -1;
    sort_out(mover, &own, &moved->changes, &open, &moved->clashes);
    if (open.count == 0 || (mover->mode != GIT_MOVE_BACK && moved->clashes.count > 0))
        return 0;
    return git_index_read(mover->work, index, mover->to, err) != 0 ||
                   delete_files(mover->root, &open, err) != 0 ||
                   write_files(mover->work, &open, index, err) != 0
               ? -1
               : 0;
}

int git_files_move(const struct git_work *work, struct str from, struct str to, enum git_move mode,
                   struct git_moved *moved, struct err *err)
{
    struct mover mover = {.work = work, .from = from, .to = to, .mode = mode};
    const char *index;
    *moved = (struct git_moved){.clashes = {NULL, 0}};
    if (git_diff_trees(work, from, to, &moved->changes, err) != 0)
        return -1;
    if (moved->changes.count == 0)
        return 0;
    mover.root = open(work->site->work_tree.p, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (mover.root < 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot open %.*s: %s",
                       STR_FMT(work->site->work_tree), strerror(errno));
    map_init(&mover.touched);
    map_init(&mover.wanted);
    int result = git_index_copy(work, &index, err);
    if (result == 0) {
        result = move(&mover, index, moved, err);
        git_index_remove(index);
    }
    map_release(&mover.touched);
    map_release(&mover.wanted);
    close(mover.root);
    return result;
}
