/* Finds repositories and makes the common directories: see site.h. On threads that may wait. */
#include "git/site.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"

#define KEY_DIGITS 24
#define NAME_MAX_LENGTH 64 /* of a run or an agent */

/* What of the user's repository is reached through the common directory. Not: config, hooks, modules, worktrees. */
static const char *const linked[] = {"objects", "refs", "packed-refs", "logs", "info", "shallow"};

/* The user's side of a repository. */
struct found {
    char work_tree[PATH_MAX], git_dir[PATH_MAX], common_dir[PATH_MAX];
};

/* --- small files ---------------------------------------------------------------------------------------------------------- */

int git_read_file(const char *path, struct buf *text, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    if (fd < 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot read %s: %s", path,
                       strerror(errno));
    ssize_t n = -1;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        char block[4096];
        while ((n = read(fd, block, sizeof block)) > 0 && !text->failed)
            buf_add(text, block, (size_t)n);
    }
    close(fd);
    if (n != 0 || text->failed)
        return err_set(err, ERR_CORRUPT, "%s is not a small file", path);
    return 0;
}

int git_write_file(const char *path, struct str text, struct err *err)
{
    char temporary[PATH_MAX];
    snprintf(temporary, sizeof temporary, "%s.%ld.new", path, (long)gettid());
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool good = fd >= 0 && write(fd, text.p, text.n) == (ssize_t)text.n;
    if (fd >= 0)
        good = close(fd) == 0 && good;
    if (good && rename(temporary, path) == 0)
        return 0;
    err_set(err, ERR_IO, "cannot write %s: %s", path, strerror(errno));
    unlink(temporary);
    return -1;
}

static int make_directory(const char *path, struct err *err)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return 0;
    return err_set(err, ERR_IO, "cannot make %s: %s", path, strerror(errno));
}

/* --- the user's repository -------------------------------------------------------------------------------------------------- */

/* A file of one line that names a directory, as `.git` of a linked worktree or `commondir`; relative to `base`. */
static int follow_file(const char *file, const char *mark, const char *base, char to[PATH_MAX],
                       struct err *err)
{
    struct buf text;
    struct arena arena;
    int result = -1;
    arena_init(&arena);
    buf_init(&text, PATH_MAX + 16);
    if (git_read_file(file, &text, err) != 0)
        goto out;
    struct str line = buf_view(&text);
    while (line.n > 0 && (line.p[line.n - 1] == '\n' || line.p[line.n - 1] == '\r'))
        line.n--;
    if (!str_starts(line, str_from(mark)) || memchr(line.p, '\0', line.n) != NULL) {
        err_set(err, ERR_CORRUPT, "%s does not name a git directory", file);
        goto out;
    }
    line.p += strlen(mark);
    line.n -= strlen(mark);
    struct str full = line.n > 0 && line.p[0] == '/'
                          ? arena_copy(&arena, line)
                          : arena_printf(&arena, "%s/%.*s", base, STR_FMT(line));
    if (realpath(full.p, to) != NULL)
        result = 0;
    else
        err_set(err, ERR_CORRUPT, "%s names a git directory that is not there", file);
out:
    buf_release(&text);
    arena_release(&arena);
    return result;
}

static bool has(const char *directory, const char *name)
{
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/%s", directory, name) < (int)sizeof path &&
           access(path, F_OK) == 0;
}

/* An empty `.git` is what an older version of cadre or somebody's unfinished work left: git looks further up as well. */
static bool is_empty(const char *path, const struct stat *status)
{
    const struct dirent *entry;
    if (!S_ISDIR(status->st_mode))
        return S_ISREG(status->st_mode) && status->st_size == 0;
    DIR *directory = opendir(path);
    bool empty = directory != NULL;
    while (empty && (entry = readdir(directory)) != NULL)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (directory != NULL)
        closedir(directory);
    return empty;
}

/* Is there a repository for this very directory? 1, 0 or -1. */
static int look_at(const char *directory, struct found *found, struct err *err)
{
    char dot_git[PATH_MAX], file[PATH_MAX];
    struct stat status;
    if (snprintf(dot_git, sizeof dot_git, "%s/.git", strcmp(directory, "/") ? directory : "") >=
        (int)sizeof dot_git - 32)
        return err_set(err, ERR_USAGE, "the path is too long");
    if (lstat(dot_git, &status) != 0 || is_empty(dot_git, &status))
        return 0;
    snprintf(found->work_tree, sizeof found->work_tree, "%s", directory);
    if (S_ISREG(status.st_mode)) {
        if (follow_file(dot_git, "gitdir: ", directory, found->git_dir, err) != 0)
            return -1;
    } else if (realpath(dot_git, found->git_dir) == NULL) {
        return err_set(err, ERR_CORRUPT, "%s leads nowhere", dot_git);
    }
    snprintf(found->common_dir, sizeof found->common_dir, "%s", found->git_dir);
    if (snprintf(file, sizeof file, "%s/commondir", found->git_dir) < (int)sizeof file &&
        access(file, F_OK) == 0 &&
        follow_file(file, "", found->git_dir, found->common_dir, err) != 0)
        return -1;
    if (!has(found->git_dir, "HEAD") || !has(found->common_dir, "objects") ||
        !has(found->common_dir, "refs"))
        return err_set(err, ERR_CORRUPT, "%s is not a git repository", dot_git);
    return 1;
}

static int discover(const char *workspace, struct found *found, struct err *err)
{
    char at[PATH_MAX];
    snprintf(at, sizeof at, "%s", workspace);
    for (;;) {
        int result = look_at(at, found, err);
        if (result != 0)
            return result < 0 ? -1 : 0;
        char *slash = strrchr(at, '/');
        if (strcmp(at, "/") == 0 || slash == NULL)
            return err_set(err, ERR_NOT_FOUND, "%s is not in a git repository", workspace);
        slash[slash == at ? 1 : 0] = '\0';
    }
}

/* A tree needs all of these: the objects of its commits, its branch, a lock on packed refs. Tested with the rights that the program
 * works with; a file system that is mounted read-only says no as well. */
static bool is_writable(const struct found *found)
{
    static const char *const written[] = {"", "/objects", "/refs", "/refs/heads"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
        snprintf(path, sizeof path, "%.*s%s", PATH_MAX - 32, found->common_dir, written[i]);
        if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0 && errno != ENOENT)
            return false;
    }
    return true;
}

/* --- our side ----------------------------------------------------------------------------------------------------------------- */

static int common_path(const struct git *git, const char *key_of, char path[PATH_MAX],
                       struct err *err)
{
    char hex[HASH_HEX + 1], parent[PATH_MAX];
    struct hash hash = hash_of(str_from(key_of));
    hash_hex(&hash, hex);
    if (snprintf(parent, sizeof parent, "%s/repositories", git->state) >= PATH_MAX - 64)
        return err_set(err, ERR_USAGE, "%s is too long a path", git->state);
    snprintf(path, PATH_MAX, "%.*s/%.*s", PATH_MAX - 64, parent, KEY_DIGITS, hex);
    if (make_directory(git->state, err) != 0 || make_directory(parent, err) != 0)
        return -1;
    return make_directory(path, err);
}

static int make_part(const char *common_dir, const char *name, struct err *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.*s/%s", PATH_MAX - 32, common_dir, name);
    return make_directory(path, err);
}

static int link_parts(const char *common_dir, const char *user_common, struct err *err)
{
    char from[PATH_MAX], to[PATH_MAX];
    for (size_t i = 0; i < sizeof linked / sizeof linked[0]; i++) {
        snprintf(from, sizeof from, "%.*s/%s", PATH_MAX - 32, common_dir, linked[i]);
        snprintf(to, sizeof to, "%.*s/%s", PATH_MAX - 32, user_common, linked[i]);
        if (symlink(to, from) != 0 && errno != EEXIST)
            return err_set(err, ERR_IO, "cannot link %s: %s", from, strerror(errno));
    }
    return 0;
}

static int write_origin(const char *common_dir, const char *git_dir, const char *work_tree,
                        struct err *err)
{
    char path[PATH_MAX], text[2 * PATH_MAX + 4];
    snprintf(path, sizeof path, "%.*s/origin", PATH_MAX - 32, common_dir);
    if (access(path, F_OK) == 0)
        return 0;
    snprintf(text, sizeof text, "%s\n%s\n", git_dir, work_tree);
    return git_write_file(path, str_from(text), err);
}

static int make_common(const struct git *git, const struct found *found, char common_dir[PATH_MAX],
                       struct err *err)
{
    if (common_path(git, found->git_dir, common_dir, err) != 0 ||
        make_part(common_dir, "worktrees", err) != 0 || make_part(common_dir, "trees", err) != 0 ||
        link_parts(common_dir, found->common_dir, err) != 0 ||
        git_config_refresh(git, common_dir, found->common_dir, found->git_dir, err) != 0)
        return -1;
    return write_origin(common_dir, found->git_dir, found->work_tree, err);
}

/* --- children -------------------------------------------------------------------------------------------------------------------- */

static bool is_name(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && c != '_' && c != '-')
            return false;
    }
    return name.n > 0 && name.n <= NAME_MAX_LENGTH && name.p[0] != '-';
}

int git_site_child(struct arena *arena, const struct git_site *site, struct str run,
                   struct str agent, struct git_site *child, struct err *err)
{
    if (!is_name(run) || !is_name(agent))
        return err_set(err, ERR_USAGE, "\"%.*s\" and \"%.*s\" cannot name a worktree", STR_FMT(run),
                       STR_FMT(agent));
    *child = *site;
    child->owner = GIT_SITE_CHILD;
    child->git_dir = arena_printf(arena, "%.*s/worktrees/%.*s.%.*s", STR_FMT(site->common_dir),
                                  STR_FMT(run), STR_FMT(agent));
    child->work_tree = arena_printf(arena, "%.*s/trees/%.*s/%.*s", STR_FMT(site->common_dir),
                                    STR_FMT(run), STR_FMT(agent));
    return 0;
}

/* Takes the part up to the next slash. */
static struct str take_part(struct str *path)
{
    const char *slash = memchr(path->p, '/', path->n);
    struct str part = {path->p, slash != NULL ? (size_t)(slash - path->p) : path->n};
    size_t taken = slash != NULL ? part.n + 1 : part.n;
    *path = (struct str){path->p + taken, path->n - taken};
    return part;
}

/* STATE/repositories/KEY/trees/RUN/AGENT[/…] */
int git_site_of_tree(const struct git *git, struct arena *arena, struct str workspace,
                     struct git_site *site, struct err *err)
{
    char state[PATH_MAX];
    if (realpath(git->state, state) == NULL)
        return 0; /* nothing was ever made there */
    struct str start = arena_printf(arena, "%s/repositories/", state);
    if (!str_starts(workspace, start))
        return 0;
    struct str rest = {workspace.p + start.n, workspace.n - start.n};
    struct str key = take_part(&rest);
    struct git_site parent = {
        .common_dir = arena_printf(arena, "%.*s%.*s", STR_FMT(start), STR_FMT(key)),
    };
    struct str trees = take_part(&rest), run = take_part(&rest), agent = take_part(&rest);
    if (!str_is(trees, "trees") || git_site_child(arena, &parent, run, agent, site, err) != 0)
        return err_set(err, ERR_DENIED, "this directory belongs to cadre's own store");
    site->prefix = rest;
    struct str head = arena_printf(arena, "%.*s/HEAD", STR_FMT(parent.common_dir));
    site->kind = access(head.p, F_OK) == 0 ? GIT_KIND_SHADOW : GIT_KIND_REPOSITORY;
    return 1;
}

/* --- finding -------------------------------------------------------------------------------------------------------------------- */

/* Only looks: 1 for a child's checkout (site), 0 for the user's (real, found), or -1. */
static int locate(const struct git *git, struct arena *arena, struct str workspace,
                  char real[PATH_MAX], struct found *found, struct git_site *site, struct err *err)
{
    struct str given = arena_copy(arena, workspace);
    if (given.n == 0 || realpath(given.p, real) == NULL) {
        err_set(err, ERR_NOT_FOUND, "%.*s is not there", STR_FMT(workspace));
        return -1;
    }
    int child = git_site_of_tree(git, arena, arena_copy(arena, str_from(real)), site, err);
    return child != 0 ? child : discover(real, found, err);
}

static struct str prefix_of(struct arena *arena, const char *real, const struct found *found)
{
    size_t above = strlen(found->work_tree);
    if (above == 1) /* the root directory */
        above = 0;
    return real[above] == '/' ? arena_copy(arena, str_from(real + above + 1)) : STR("");
}

int git_site_view(const struct git *git, struct arena *arena, struct str workspace,
                  struct vcs_view *view, struct err *err)
{
    char real[PATH_MAX];
    struct git_site child;
    struct found *found = calloc(1, sizeof *found);
    if (found == NULL)
        abort();
    int result = locate(git, arena, workspace, real, found, &child, err);
    if (result >= 0)
        *view = (struct vcs_view){
            .prefix = result > 0 ? child.prefix : prefix_of(arena, real, found),
            .access = result > 0 || is_writable(found) ? VCS_WRITABLE : VCS_READ_ONLY,
        };
    free(found);
    return result < 0 ? -1 : 0;
}

int git_site_find(const struct git *git, struct arena *arena, struct str workspace,
                  struct git_site *site, struct err *err)
{
    char real[PATH_MAX], common_dir[PATH_MAX];
    struct found *found = calloc(1, sizeof *found);
    if (found == NULL)
        abort();
    int result = locate(git, arena, workspace, real, found, site, err);
    if (result == 0 && (result = make_common(git, found, common_dir, err)) == 0)
        *site = (struct git_site){
            .git_dir = arena_copy(arena, str_from(found->git_dir)),
            .common_dir = arena_copy(arena, str_from(common_dir)),
            .work_tree = arena_copy(arena, str_from(found->work_tree)),
            .prefix = prefix_of(arena, real, found),
            .access = is_writable(found) ? GIT_SITE_WRITABLE : GIT_SITE_READ_ONLY,
        };
    free(found);
    return result < 0 ? -1 : 0;
}

/* --- directories without git ------------------------------------------------------------------------------------------------------ */

/* Files are kept as they are: no conversion of any kind. */
static const char shadow_attributes[] = "* -text !eol -ident !filter !working-tree-encoding\n";
static const char shadow_config[] =
    "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfilemode = true\n";

int git_site_shadow(const struct git *git, struct arena *arena, struct str directory,
                    struct git_site *site, struct err *err)
{
    char real[PATH_MAX], common_dir[PATH_MAX];
    struct str given = arena_copy(arena, directory);
    if (given.n == 0 || realpath(given.p, real) == NULL)
        return err_set(err, ERR_NOT_FOUND, "%.*s is not there", STR_FMT(directory));
    struct str key = arena_printf(arena, "shadow:%s", real);
    if (common_path(git, key.p, common_dir, err) != 0 ||
        make_part(common_dir, "worktrees", err) != 0 || make_part(common_dir, "trees", err) != 0 ||
        make_part(common_dir, "objects", err) != 0 || make_part(common_dir, "refs", err) != 0 ||
        make_part(common_dir, "info", err) != 0)
        return -1;
    static const struct {
        const char *name, *text;
    } parts[] = {{"config", shadow_config},
                 {"info/attributes", shadow_attributes},
                 {"HEAD", "ref: refs/heads/main\n"}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct str path = arena_printf(arena, "%s/%s", common_dir, parts[i].name);
        if (git_write_file(path.p, str_from(parts[i].text), err) != 0)
            return -1;
    }
    *site = (struct git_site){
        .git_dir = arena_copy(arena, str_from(common_dir)),
        .common_dir = arena_copy(arena, str_from(common_dir)),
        .work_tree = arena_copy(arena, str_from(real)),
        .prefix = STR(""),
        .kind = GIT_KIND_SHADOW,
    };
    return write_origin(common_dir, common_dir, real, err);
}
