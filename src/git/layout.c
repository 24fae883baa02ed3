/* See layout.h. Asks git for the entries of the directories, some hundred with one call. On threads that may wait. */
#include "git/layout.h"

#include "base/gitname.h"
#include "base/map.h"
#include "git/commit.h"

#define DIRECTORIES_AT_ONCE 200

struct directory {
    struct str path; /* from the repository's root; empty: that */
    unsigned parts;  /* enum gitname_part */
    struct directory *next;
};

struct directories {
    const struct git_work *work;
    struct map by_path;
    struct directory *first;
};

static void add_directory(struct directories *directories, struct str path)
{
    if (map_get(&directories->by_path, path) != NULL)
        return;
    struct directory *added = arena_alloc(directories->work->arena, sizeof *added);
    *added = (struct directory){.path = arena_copy(directories->work->arena, path),
                                .next = directories->first};
    directories->first = added;
    map_set(&directories->by_path, added->path, added);
}

static void add_above(struct directories *directories, struct str file)
{
    add_directory(directories, STR(""));
    for (size_t n = 0; n < file.n; n++)
        if (file.p[n] == '/')
            add_directory(directories, (struct str){file.p, n});
}

/* Notes which parts the listed entries are, and the directories above them: git does not list a directory that it was asked to look
 * into. */
static void note_parts(struct directories *directories, struct str listed)
{
    struct str path;
    while (git_next_field(&listed, &path))
        for (size_t start = 0; start < path.n;) {
            const char *slash = memchr(path.p + start, '/', path.n - start);
            size_t end = slash != NULL ? (size_t)(slash - path.p) : path.n;
            struct directory *found =
                map_get(&directories->by_path, (struct str){path.p, start > 0 ? start - 1 : 0});
            if (found != NULL)
                found->parts |= gitname_part((struct str){path.p + start, end - start});
            start = end + 1;
        }
}

static int list(struct directories *directories, const char *const *words, struct err *err)
{
    const struct git_work *work = directories->work;
    struct git_answer answer;
    struct git_call call = {.site = work->site, .words = words, .cancelled = work->cancelled};
    if (git_call(work->git, &call, &answer, err) != 0)
        return -1;
    note_parts(directories, buf_view(&answer.output));
    git_answer_release(&answer);
    return 0;
}

#define LIST_WORDS 6

static int list_all(struct directories *directories, struct str tree, struct err *err)
{
    const char *words[LIST_WORDS + DIRECTORIES_AT_ONCE + 1] = {"ls-tree",     "-z",   "--name-only",
                                                               "--full-tree", tree.p, NULL};
    if (list(directories, words, err) != 0) /* the root */
        return -1;
    words[LIST_WORDS - 1] = "--";
    size_t count = 0;
    for (const struct directory *one = directories->first; one != NULL; one = one->next) {
        if (one->path.n > 0)
            words[LIST_WORDS + count++] =
                arena_printf(directories->work->arena, "%.*s/", STR_FMT(one->path)).p;
        if (count == 0 || (count < DIRECTORIES_AT_ONCE && one->next != NULL))
            continue;
        words[LIST_WORDS + count] = NULL;
        if (list(directories, words, err) != 0)
            return -1;
        count = 0;
    }
    return 0;
}

int git_layout_check(const struct git_work *work, struct str tree, struct vcs_list files,
                     struct err *err)
{
    struct directories directories = {.work = work};
    struct vcs_list paths = git_full_paths(work, files);
    if (files.count == 0)
        return 0;
    map_init(&directories.by_path);
    for (size_t i = 0; i < paths.count; i++)
        add_above(&directories, paths.items[i]);
    int result = list_all(&directories, arena_copy(work->arena, tree), err);
    for (const struct directory *one = directories.first; one != NULL && result == 0;
         one = one->next)
        if (gitname_is_layout(one->parts))
            result =
                err_set(err, ERR_DENIED,
                        "%.*s/: git takes a directory with HEAD, objects and refs (or "
                        "commondir) for a repository and obeys its config, so nothing in it is "
                        "committed",
                        STR_FMT(one->path.n > 0 ? one->path : STR(".")));
    map_release(&directories.by_path);
    return result;
}
