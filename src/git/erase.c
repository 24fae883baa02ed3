/* Removes what a child left, however it looks: see erase.h. On threads that may wait. */
#include "git/erase.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TEMPORARY_SECONDS 3600
#define DEPTH_MOST 60 /* open directories at a time; what lies deeper is lifted to the top first */

struct eraser {
    int top;
    unsigned lifted;
    int number; /* errno of the first failure */
};

static void failed(struct eraser *eraser)
{
    if (eraser->number == 0)
        eraser->number = errno;
}

static int open_directory(int parent, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent, name, flags);
    if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
        fd = openat(parent, name, flags);
    return fd;
}

static void lift(struct eraser *eraser, int parent, const char *name)
{
    char place[64];
    snprintf(place, sizeof place, ".erase-%u", eraser->lifted++);
    if (renameat(parent, name, eraser->top, place) != 0)
        failed(eraser);
}

static void erase_content(struct eraser *eraser, int fd, int depth);

static void erase_entry(struct eraser *eraser, int parent, const char *name, int depth)
{
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return;
    int fd = open_directory(parent, name);
    if (fd < 0) {
        failed(eraser);
        return;
    }
    fchmod(fd, 0700);
    if (depth >= DEPTH_MOST) {
        close(fd);
        lift(eraser, parent, name);
        return;
    }
    erase_content(eraser, fd, depth + 1);
    if (unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        failed(eraser);
}

/* Takes the descriptor over. */
static void erase_content(struct eraser *eraser, int fd, int depth)
{
    DIR *directory = fdopendir(fd);
    if (directory == NULL) {
        failed(eraser);
        close(fd);
        return;
    }
    const struct dirent *entry;
    while (eraser->number == 0 && (entry = readdir(directory)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            erase_entry(eraser, fd, entry->d_name, depth);
    closedir(directory);
}

int git_erase(const char *path, struct err *err)
{
    struct eraser eraser = {.top = open_directory(AT_FDCWD, path)};
    if (eraser.top < 0)
        return errno == ENOENT
                   ? 0
                   : err_set(err, ERR_IO, "cannot remove %s: %s", path, strerror(errno));
    fchmod(eraser.top, 0700);
    unsigned before;
    do {
        before = eraser.lifted;
        int again = openat(eraser.top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (again >= 0)
            erase_content(&eraser, again, 0);
        else
            failed(&eraser);
    } while (eraser.number == 0 && eraser.lifted != before);
    close(eraser.top);
    if (eraser.number == 0 && rmdir(path) != 0 && errno != ENOENT)
        failed(&eraser);
    return eraser.number == 0
               ? 0
               : err_set(err, ERR_IO, "cannot remove %s: %s", path, strerror(eraser.number));
}

static bool is_temporary(const char *name)
{
    static const char *const endings[] = {".index", ".index.lock", ".new"};
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t length = strlen(endings[i]);
        if (n > length && strcmp(name + n - length, endings[i]) == 0)
            return true;
    }
    return false;
}

void git_sweep(const char *directory)
{
    const struct dirent *entry;
    struct stat status;
    DIR *opened = opendir(directory);
    time_t now = time(NULL);
    while (opened != NULL && (entry = readdir(opened)) != NULL)
        if (is_temporary(entry->d_name) &&
            fstatat(dirfd(opened), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode) && now - status.st_ctim.tv_sec > TEMPORARY_SECONDS)
            unlinkat(dirfd(opened), entry->d_name, 0);
    if (opened != NULL)
        closedir(opened);
}
