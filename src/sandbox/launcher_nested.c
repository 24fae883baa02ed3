/* Repositories below the paths that a command may write to, at any depth: git obeys the config and the hooks of whichever it is run
 * in, so a command must not make one for the user to run into.
 *
 * Those that are there when it starts are found by a walk and mounted read-only, and so are cadre's own files. One that the command
 * makes nothing in the kernel can refuse by its name, so when the command is dead a second walk finds it and makes it
 * unknown to git: `.git` gets another name, and a directory that git would know by its layout loses its HEAD to another name. Nothing is
 * lost, and the status line tells. The file counts, not its path: who moves a directory away and makes another in its place has
 * made a new one.
 *
 * Both walks are made by the launcher's outer process, which outlives a killed cadre. Each directory is opened from the workspace's
 * root, without links, so that nobody who moves directories meanwhile leads the walk out. */
#include "sandbox/launcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/gitname.h"

#define PATH_BYTES 4096
#define ENTRIES_MAX 2000000             /* looked at in one walk */
#define WAITING_MAX ((size_t)256 << 20) /* bytes of paths */
#define ASIDE_TRIES 100

struct walk {
    struct launch_kept *kept;
    /* LOOKS: in paths that are only read, for sockets. */
    enum { WALK_FINDS, WALK_LOOKS, WALK_SWEEPS } purpose;
    struct launch_texts waiting; /* directories; the last is next */
    size_t entries;
    bool broken; /* too much to look at */
};

/* --- lists ---------------------------------------------------------------------------------------------------------------------- */

bool launch_texts_add(struct launch_texts *texts, const char *text)
{
    size_t n = strlen(text) + 1;
    if (texts->used + n > WAITING_MAX)
        return false;
    if (texts->p == NULL || texts->used + n > texts->room) {
        texts->room = (texts->used + n) * 2;
        texts->p = realloc(texts->p, texts->room);
        if (texts->p == NULL)
            abort();
    }
    memcpy(texts->p + texts->used, text, n);
    texts->used += n;
    return true;
}

static bool texts_take_last(struct launch_texts *texts, char path[PATH_BYTES])
{
    if (texts->used == 0)
        return false;
    size_t at = texts->used - 1;
    while (at > 0 && texts->p[at - 1] != '\0')
        at--;
    snprintf(path, PATH_BYTES, "%s", texts->p + at);
    texts->used = at;
    return true;
}

static bool is_listed(const struct launch_identity *list, size_t count, const struct stat *status)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].device == status->st_dev && list[i].inode == status->st_ino)
            return true;
    return false;
}

bool launch_is_known(const struct launch_kept *kept, const struct stat *status)
{
    return is_listed(kept->known, kept->known_count, status);
}

static const char *below(char out[PATH_BYTES], const char *path, const char *name)
{
    int n = strcmp(path, ".") == 0 ? snprintf(out, PATH_BYTES, "%s", name)
                                   : snprintf(out, PATH_BYTES, "%s/%s", path, name);
    return n < PATH_BYTES ? out : NULL; /* what nobody can name is not reached */
}

/* --- what was there ------------------------------------------------------------------------------------------------------------ */

static void keep(struct walk *walk, const char *path, const struct stat *status)
{
    struct launch_kept *kept = walk->kept;
    if (kept->known_count == LAUNCH_KEPT_MAX)
        launch_refuse("paths", "more than %d repositories lie below the paths to write to",
                      LAUNCH_KEPT_MAX);
    kept->known[kept->known_count++] = (struct launch_identity){status->st_dev, status->st_ino};
    if (!launch_texts_add(&kept->found, path))
        walk->broken = true;
}

/* --- what was made ------------------------------------------------------------------------------------------------------------- */

/* A path for people: control characters are not theirs to see. */
static const char *printable(char out[128], const char *path)
{
    size_t n = 0;
    for (; n < 127 && path[n] != '\0'; n++)
        out[n] = (unsigned char)path[n] < ' ' || path[n] == 127 ? '?' : path[n];
    out[n] = '\0';
    return out;
}

__attribute__((format(printf, 2, 3))) static void tell_first(struct launch_kept *kept,
                                                             const char *format, ...)
{
    va_list args;
    if (kept->told[0] != '\0')
        return;
    va_start(args, format);
    vsnprintf(kept->told, sizeof kept->told, format, args);
    va_end(args);
}

/* Gives an entry a name that means nothing: NAME-from-a-command, with a number where that is taken. -1 with errno. */
static int rename_aside(int directory, const char *name, char aside[LAUNCH_ASIDE_MAX])
{
    struct stat status;
    if (fstat(directory, &status) == 0 && (status.st_mode & S_IWUSR) == 0)
        fchmod(directory, (status.st_mode & 07777) | S_IWUSR);
    snprintf(aside, LAUNCH_ASIDE_MAX, "%.32s" LAUNCH_ASIDE, name);
    for (int i = 2; renameat2(directory, name, directory, aside, RENAME_NOREPLACE) != 0; i++) {
        if (errno != EEXIST || i > ASIDE_TRIES)
            return -1;
        snprintf(aside, LAUNCH_ASIDE_MAX, "%.32s" LAUNCH_ASIDE "-%d", name, i);
    }
    return 0;
}

/* Of what was moved aside already, nobody is told again. */
static bool is_aside(const char *path)
{
    return strstr(path, ".git" LAUNCH_ASIDE) != NULL;
}

void launch_move_aside(struct launch_kept *kept, int directory, const char *path, const char *name,
                       char aside[LAUNCH_ASIDE_MAX])
{
    char shown[128];
    const char *what =
        gitname_is_git(str_from(name)) || gitname_part(str_from(name)) != 0 ? "a repository" : name;
    if (rename_aside(directory, name, aside) != 0) {
        aside[0] = '\0';
        if (errno == ENOENT)
            return; /* "head" is another name, but for a file system that folds case */
        tell_first(kept, "it made %s in %s, which could not be moved aside: %s", what,
                   printable(shown, path), strerror(errno));
        return;
    }
    if (is_aside(path))
        return;
    tell_first(kept, "it made %s in %s, which was moved aside: %s is now %s", what,
               printable(shown, path), name, aside);
    kept->moved++;
}

/* --- walking ------------------------------------------------------------------------------------------------------------------- */

static void wait_for_turn(struct walk *walk, const char *path)
{
    if (!launch_texts_add(&walk->waiting, path))
        walk->broken = true;
}

/* `.cadre` is made by cadre too, to publish reports: then it holds nothing else. */
static bool holds_only_reports(int directory)
{
    int fd = openat(directory, ".cadre", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *opened = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    bool only = opened != NULL;
    while (opened != NULL && (entry = readdir(opened)) != NULL)
        only &= strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                strcmp(entry->d_name, ".gitignore") == 0 || strcmp(entry->d_name, "reports") == 0;
    if (opened != NULL)
        closedir(opened);
    return only;
}

/* Names that git and cadre look for, at any depth. */
static bool is_kept(const char *name)
{
    return gitname_is_git(str_from(name)) || strcasecmp(name, ".cadre") == 0 ||
           strcasecmp(name, "cadre.yaml") == 0;
}

/* A name that is kept: read-only where it was, and moved aside where it was not. */
static void meet_kept(struct walk *walk, int directory, const char *path, const char *name,
                      const char *place)
{
    struct stat status;
    char aside[LAUNCH_ASIDE_MAX], moved[PATH_BYTES];
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (walk->purpose == WALK_FINDS) {
        keep(walk, place, &status);
        return;
    }
    if (launch_is_known(walk->kept, &status))
        return;
    bool stays = strcmp(name, ".cadre") == 0 && holds_only_reports(directory);
    if (stays && S_ISDIR(status.st_mode))
        wait_for_turn(walk, place);
    if (stays)
        return;
    launch_move_aside(walk->kept, directory, path, name, aside);
    if (aside[0] != '\0' && S_ISDIR(status.st_mode) && below(moved, path, aside) != NULL)
        wait_for_turn(walk, moved);
}

/* DT_DIR, DT_SOCK, … */
static int type_of(int directory, const struct dirent *entry)
{
    struct stat status;
    if (entry->d_type == DT_UNKNOWN &&
        fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
        return IFTODT(status.st_mode);
    return entry->d_type;
}

/* The sockets in a directory that is not walked: git's own daemon has one in `.git`. */
static void look_for_sockets(struct walk *walk, int directory, const char *name, const char *path)
{
    char place[PATH_BYTES];
    const struct dirent *entry;
    int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *opened = fd >= 0 ? fdopendir(fd) : NULL;
    while (opened != NULL && (entry = readdir(opened)) != NULL)
        if (type_of(fd, entry) == DT_SOCK && below(place, path, entry->d_name) != NULL)
            launch_meet_socket(walk->kept, fd, entry->d_name, place);
    if (opened != NULL)
        closedir(opened);
}

static enum gitname_part look_at(struct walk *walk, int directory, const char *path,
                                 const struct dirent *entry)
{
    char place[PATH_BYTES];
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || below(place, path, name) == NULL)
        return GITNAME_OTHER;
    bool kept = is_kept(name);
    int type = type_of(directory, entry);
    if (kept && walk->purpose != WALK_LOOKS)
        meet_kept(walk, directory, path, name, place);
    if (kept && walk->purpose != WALK_SWEEPS)
        look_for_sockets(walk, directory, name, place);
    if (!kept && type == DT_DIR)
        wait_for_turn(walk, place);
    if (type == DT_SOCK && walk->purpose != WALK_SWEEPS)
        launch_meet_socket(walk->kept, directory, name, place);
    if (++walk->entries > ENTRIES_MAX)
        walk->broken = true;
    return gitname_part(str_from(name));
}

/* A directory that its owner cannot list would hide what is in it, and can still be entered: its owner may list it from now on. */
int launch_open_directory(const char *path)
{
    char link[64];
    struct stat status;
    int place = launch_open_beneath(LAUNCH_WORKSPACE, path);
    if (place < 0)
        return -1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", place);
    bool directory = fstat(place, &status) == 0 && S_ISDIR(status.st_mode);
    int fd = directory ? open(link, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (directory && fd < 0 && errno == EACCES && status.st_uid == geteuid() &&
        chmod(link, (status.st_mode & 07777) | S_IRWXU) == 0)
        fd = open(link, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    close(place);
    return fd;
}

/* The same, where nothing may be changed. */
static int open_to_look(const char *path)
{
    char link[64];
    int place = launch_open_beneath(LAUNCH_WORKSPACE, path);
    if (place < 0)
        return -1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", place);
    int fd = open(link, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    close(place);
    return fd;
}

/* A directory with the layout of a repository. One that was there is kept whole, so nothing in it has to be looked at. */
static void meet_layout(struct walk *walk, int directory, const char *path,
                        const struct stat *status, size_t waiting)
{
    char aside[LAUNCH_ASIDE_MAX];
    if (walk->purpose == WALK_FINDS && !is_aside(path)) {
        walk->waiting.used = waiting;
        keep(walk, path, status);
    } else if (walk->purpose == WALK_SWEEPS && !launch_is_known(walk->kept, status)) {
        launch_move_aside(walk->kept, directory, path, gitname_parts[0], aside);
    }
}

static void enter(struct walk *walk, const char *path)
{
    struct stat status;
    const struct dirent *entry;
    unsigned parts = 0;
    size_t waiting = walk->waiting.used;
    int fd = walk->purpose == WALK_LOOKS ? open_to_look(path) : launch_open_directory(path);
    if (fd < 0 || fstat(fd, &status) != 0 || launch_shows_the_kernel(fd) ||
        is_listed(walk->kept->hidden, walk->kept->hidden_count, &status)) {
        if (fd >= 0)
            close(fd);
        return; /* a file, a link, gone, not to be seen, or nothing that anybody can make files in */
    }
    DIR *directory = fdopendir(fd);
    if (directory == NULL)
        abort();
    while (!walk->broken && (entry = readdir(directory)) != NULL)
        parts |= look_at(walk, fd, path, entry);
    if (gitname_is_layout(parts))
        meet_layout(walk, fd, path, &status, waiting);
    closedir(directory);
}

static bool walk_all(const struct launch *launch, struct walk *walk)
{
    char path[PATH_BYTES];
    const char *view = NULL;
    while ((view = launch_next(launch, launch->head->views, view)) != NULL)
        if (view[0] == (walk->purpose == WALK_LOOKS ? LAUNCH_VIEW_READ : LAUNCH_VIEW_WRITE))
            wait_for_turn(walk, view + 1);
    while (!walk->broken && texts_take_last(&walk->waiting, path))
        enter(walk, path);
    free(walk->waiting.p);
    return !walk->broken;
}

void launch_find_kept(struct launch *launch)
{
    struct launch_kept *kept = &launch->kept;
    struct walk walk = {.kept = kept, .purpose = WALK_FINDS};
    struct stat status;
    const char *path = NULL;
    while ((path = launch_next(launch, launch->head->hidden, path)) != NULL)
        if (kept->hidden_count < LAUNCH_HIDDEN_MAX && stat(path, &status) == 0)
            kept->hidden[kept->hidden_count++] =
                (struct launch_identity){status.st_dev, status.st_ino};
    if (!walk_all(launch, &walk))
        launch_refuse("paths",
                      "more than %d entries lie below the paths to write to, and one of them may "
                      "be a repository that must be kept; narrow the paths",
                      ENTRIES_MAX);
    launch_find_mounts(launch);
    struct walk looks = {.kept = kept, .purpose = WALK_LOOKS};
    /* Where there is more to look at, the rest is not looked at: docs/security.md. */
    bool whole = launch_has(launch, LAUNCH_WALL_NAMESPACES) && walk_all(launch, &looks);
    (void)whole;
}

void launch_sweep(struct launch *launch)
{
    struct launch_kept *kept = &launch->kept;
    struct walk walk = {.kept = kept, .purpose = WALK_SWEEPS};
    char line[LAUNCH_STATUS_MAX];
    if (!walk_all(launch, &walk))
        snprintf(kept->told, sizeof kept->told,
                 "it made so many files that repositories among them were not looked for");
    if (kept->moved > 1)
        snprintf(line, sizeof line, "a %s; so were %zu more\n", kept->told, kept->moved - 1);
    else
        snprintf(line, sizeof line, "a %s\n", kept->told);
    launch_say(line);
}
