/* See nested.h. A walk with a list of directories that wait; each is opened from the workspace's root, without links, so that nobody
 * who moves directories meanwhile leads it out. Any thread. */
#include "sandbox/nested.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "sandbox/guard.h"

#define WAITING_MAX ((size_t)256 << 20) /* bytes of paths */
#define ASIDE_TRIES 100

struct walk {
    struct nested *nested;
    struct arena *arena;
    nested_fn *tell; /* NULL: what is new is moved aside */
    void *user;
    struct buf waiting; /* paths, each with a NUL behind it; the last is next */
    size_t moved;
    char *text; /* what is told of the first that was moved */
    size_t text_max;
};

static bool is_known(const struct scope_identity *list, size_t count, const struct stat *status)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].device == status->st_dev && list[i].inode == status->st_ino)
            return true;
    return false;
}

static const char *below(char out[SCOPE_PATH_MAX], const char *path, const char *name)
{
    int n = strcmp(path, ".") == 0 ? snprintf(out, SCOPE_PATH_MAX, "%s", name)
                                   : snprintf(out, SCOPE_PATH_MAX, "%s/%s", path, name);
    return n < SCOPE_PATH_MAX ? out : NULL; /* what nobody can name is not reached */
}

static void move_aside(struct walk *walk, int directory, const char *path, const char *name)
{
    char aside[64];
    struct stat status;
    snprintf(aside, sizeof aside, "%s", NESTED_ASIDE);
    if (fstat(directory, &status) == 0 && (status.st_mode & S_IWUSR) == 0)
        fchmod(directory, (status.st_mode & 07777) | S_IWUSR);
    for (int i = 2; renameat2(directory, name, directory, aside, RENAME_NOREPLACE) != 0; i++) {
        if (errno != EEXIST || i > ASIDE_TRIES) {
            snprintf(walk->text, walk->text_max,
                     "it made a repository in %.120s, which could not be moved aside: %s", path,
                     strerror(errno));
            return;
        }
        snprintf(aside, sizeof aside, "%s-%d", NESTED_ASIDE, i);
    }
    if (walk->moved++ == 0)
        snprintf(walk->text, walk->text_max,
                 "it made a repository in %.120s, which was moved aside: %s is now %s", path, name,
                 aside);
}

static int found_git(struct walk *walk, int directory, const char *path, const char *name,
                     struct err *err)
{
    struct nested *nested = walk->nested;
    struct stat status;
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    bool known = is_known(nested->known, nested->known_count, &status);
    if (walk->tell == NULL) {
        if (!known && !guard_is_empty_placeholder(directory, name))
            move_aside(walk, directory, path, name);
        return 0;
    }
    if (nested->known_count == NESTED_MAX)
        return err_set(err, ERR_DENIED,
                       "nothing was run: more than %d repositories lie below the paths to write to",
                       NESTED_MAX);
    if (!known)
        nested->known[nested->known_count++] =
            (struct scope_identity){status.st_dev, status.st_ino};
    return 0;
}

static bool is_directory(int directory, const struct dirent *entry)
{
    struct stat status;
    return entry->d_type == DT_DIR ||
           (entry->d_type == DT_UNKNOWN &&
            fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(status.st_mode));
}

static int look_at(struct walk *walk, int directory, const char *path, enum nested_depth depth,
                   const struct dirent *entry, struct err *err)
{
    char place[SCOPE_PATH_MAX];
    struct str name = str_from(entry->d_name);
    if (str_is(name, ".") || str_is(name, "..") || below(place, path, entry->d_name) == NULL)
        return 0;
    bool git = scope_is_git(name);
    if (git && found_git(walk, directory, path, entry->d_name, err) != 0)
        return -1;
    if (git || str_is(name, ".cadre") || str_is(name, "cadre.yaml")) {
        if (walk->tell != NULL)
            walk->tell(walk->user, depth, str_from(place));
    } else if (is_directory(directory, entry)) {
        buf_text(&walk->waiting, place);
        buf_char(&walk->waiting, '\0');
    }
    if (++walk->nested->entries > NESTED_ENTRIES_MAX || walk->waiting.failed)
        return err_set(err, ERR_DENIED,
                       "nothing was run: more than %d entries lie below the paths to write to, and "
                       "one of them may be a repository that must be kept; narrow the paths",
                       NESTED_ENTRIES_MAX);
    return 0;
}

/* A directory that its owner cannot list would hide what is in it, and can still be entered: its owner may list it from now on. */
static int open_directory(int workspace, const char *path)
{
    char link[64];
    struct stat status;
    int fd = scope_open_beneath(workspace, path, O_RDONLY | O_DIRECTORY);
    int place =
        fd < 0 && errno == EACCES ? scope_open_beneath(workspace, path, O_PATH | O_DIRECTORY) : -1;
    if (place < 0)
        return fd;
    snprintf(link, sizeof link, "/proc/self/fd/%d", place);
    if (fstat(place, &status) == 0 && status.st_uid == geteuid() &&
        chmod(link, (status.st_mode & 07777) | S_IRWXU) == 0)
        fd = scope_open_beneath(workspace, path, O_RDONLY | O_DIRECTORY);
    close(place);
    return fd;
}

static int enter(struct walk *walk, const char *path, enum nested_depth depth, struct err *err)
{
    struct stat status;
    const struct dirent *entry;
    int result = 0;
    int fd = open_directory(walk->nested->workspace, path);
    if (fd < 0 || fstat(fd, &status) != 0 ||
        is_known(walk->nested->hidden, walk->nested->hidden_count, &status)) {
        if (fd >= 0)
            close(fd);
        return 0; /* a file, a link, gone, or not to be seen */
    }
    DIR *directory = fdopendir(fd);
    if (directory == NULL)
        abort();
    while (result == 0 && (entry = readdir(directory)) != NULL)
        result = look_at(walk, fd, path, depth, entry, err);
    closedir(directory);
    return result;
}

static int walk_all(struct walk *walk, const char *top, struct err *err)
{
    char path[SCOPE_PATH_MAX];
    buf_init(&walk->waiting, WAITING_MAX);
    int result = enter(walk, top, NESTED_AT_THE_TOP, err);
    while (result == 0 && walk->waiting.n > 0) {
        size_t at = walk->waiting.n - 1;
        while (at > 0 && walk->waiting.p[at - 1] != '\0')
            at--;
        snprintf(path, sizeof path, "%s", walk->waiting.p + at);
        walk->waiting.n = at;
        result = enter(walk, path, NESTED_BELOW, err);
    }
    buf_release(&walk->waiting);
    return result;
}

void nested_init(struct nested *nested, int workspace, const struct str *hidden,
                 size_t hidden_count, size_t paths, struct arena *arena)
{
    *nested = (struct nested){.workspace = fcntl(workspace, F_DUPFD_CLOEXEC, 0), .top_max = paths};
    nested->tops = arena_alloc(arena, (paths + 1) * sizeof *nested->tops);
    nested->known = arena_alloc(arena, NESTED_MAX * sizeof *nested->known);
    for (size_t i = 0; i < hidden_count && i < SCOPE_DENIED_MAX; i++) {
        struct stat status;
        if (stat(arena_copy(arena, hidden[i]).p, &status) == 0)
            nested->hidden[nested->hidden_count++] =
                (struct scope_identity){status.st_dev, status.st_ino};
    }
}

int nested_find(struct nested *nested, const char *path, struct arena *arena, nested_fn *tell,
                void *user, struct err *err)
{
    struct walk walk = {.nested = nested, .arena = arena, .tell = tell, .user = user};
    if (nested->top_count < nested->top_max)
        nested->tops[nested->top_count++] = path;
    return walk_all(&walk, path, err);
}

void nested_sweep(struct nested *nested, char *text, size_t max)
{
    struct err ignored = ERR_INIT;
    struct walk walk = {.nested = nested, .text = text, .text_max = max};
    text[0] = '\0';
    nested->entries = 0;
    for (size_t i = 0; i < nested->top_count; i++)
        if (walk_all(&walk, nested->tops[i], &ignored) != 0)
            snprintf(text, max,
                     "it made so many files that repositories among them were not looked for");
    size_t n = strlen(text);
    if (walk.moved > 1)
        snprintf(text + n, max - n, "; so were %zu more", walk.moved - 1);
    nested->top_count = 0;
}

void nested_release(struct nested *nested)
{
    if (nested->workspace >= 0)
        close(nested->workspace);
    nested->workspace = -1;
}
