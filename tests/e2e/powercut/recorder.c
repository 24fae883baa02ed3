/* Preloaded into the program under test: writes down everything that it hands to the file system beneath $POWERCUT_ROOT,
 * in order, into the file $POWERCUT_LOG. powercut_test.py works out from this what a disk could hold after the power failed.
 *
 * A change is written down before it is made, a sync after it has succeeded; a lock keeps both together, so that nothing
 * counts as synced that was not. It decides nothing and drops nothing. Every thread of the program runs it. */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum record_kind { RECORD_WRITE = 1, RECORD_TRUNCATE, RECORD_SYNC, RECORD_RENAME, RECORD_UNLINK };

struct record {
    uint32_t kind, path_size, target_size, data_size;
    uint64_t offset;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;
static char root[PATH_MAX];

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("POWERCUT_LOG"), *beneath = getenv("POWERCUT_ROOT");
    if (path == NULL || beneath == NULL)
        return;
    snprintf(root, sizeof root, "%s/", beneath);
    log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void *real(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (function == NULL)
        abort();
    return function;
}

/* Whether the path is to be watched. */
static int beneath(const char *path)
{
    return log_fd >= 0 && strncmp(path, root, strlen(root)) == 0;
}

static int path_of_fd(int fd, char path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = log_fd >= 0 ? readlink(link, path, PATH_MAX - 1) : -1;
    path[n > 0 ? n : 0] = '\0';
    return beneath(path);
}

static int path_at(int directory, const char *name, char path[PATH_MAX])
{
    char folder[PATH_MAX];
    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
    } else {
        if (directory == AT_FDCWD ? getcwd(folder, sizeof folder) == NULL
                                  : (path_of_fd(directory, folder), folder[0] == '\0'))
            folder[0] = '\0';
        if (strlen(folder) + strlen(name) + 2 > PATH_MAX)
            abort();
        memcpy(path, folder, strlen(folder));
        path[strlen(folder)] = '/';
        memcpy(path + strlen(folder) + 1, name, strlen(name) + 1);
    }
    return beneath(path);
}

static void record(enum record_kind kind, const char *path, const char *target, uint64_t offset,
                   const void *data, size_t size)
{
    struct record head = {.kind = kind,
                          .path_size = (uint32_t)strlen(path),
                          .target_size = (uint32_t)strlen(target),
                          .data_size = (uint32_t)size,
                          .offset = offset};
    const struct iovec parts[] = {{&head, sizeof head},
                                  {(void *)(uintptr_t)path, head.path_size},
                                  {(void *)(uintptr_t)target, head.target_size},
                                  {(void *)(uintptr_t)data, size}};
    if (writev(log_fd, parts, 4) < 0)
        abort();
}

EXPORT ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    ssize_t (*next)(int, const void *, size_t, off_t) = real("pwrite");
    char path[PATH_MAX];
    if (!path_of_fd(fd, path))
        return next(fd, data, size, offset);
    pthread_mutex_lock(&lock);
    record(RECORD_WRITE, path, "", (uint64_t)offset, data, size);
    ssize_t result = next(fd, data, size, offset);
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset)
{
    return pwrite(fd, data, size, offset);
}

EXPORT ssize_t write(int fd, const void *data, size_t size)
{
    ssize_t (*next)(int, const void *, size_t) = real("write");
    char path[PATH_MAX];
    if (!path_of_fd(fd, path))
        return next(fd, data, size);
    pthread_mutex_lock(&lock);
    record(RECORD_WRITE, path, "", (uint64_t)lseek(fd, 0, SEEK_CUR), data, size);
    ssize_t result = next(fd, data, size);
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT int ftruncate(int fd, off_t size)
{
    int (*next)(int, off_t) = real("ftruncate");
    char path[PATH_MAX];
    if (!path_of_fd(fd, path))
        return next(fd, size);
    pthread_mutex_lock(&lock);
    record(RECORD_TRUNCATE, path, "", (uint64_t)size, "", 0);
    int result = next(fd, size);
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT int ftruncate64(int fd, off64_t size)
{
    return ftruncate(fd, size);
}

static int sync_with(int (*next)(int), int fd)
{
    char path[PATH_MAX];
    if (!path_of_fd(fd, path))
        return next(fd);
    pthread_mutex_lock(&lock);
    int result = next(fd);
    if (result == 0)
        record(RECORD_SYNC, path, "", 0, "", 0);
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT int fsync(int fd)
{
    return sync_with(real("fsync"), fd);
}

EXPORT int fdatasync(int fd)
{
    return sync_with(real("fdatasync"), fd);
}

EXPORT int renameat2(int from_directory, const char *from, int to_directory, const char *to,
                     unsigned flags)
{
    int (*next)(int, const char *, int, const char *, unsigned) = real("renameat2");
    char path[PATH_MAX], target[PATH_MAX];
    if (!path_at(from_directory, from, path) || !path_at(to_directory, to, target))
        return next(from_directory, from, to_directory, to, flags);
    pthread_mutex_lock(&lock);
    int result = next(from_directory, from, to_directory, to, flags);
    if (result == 0)
        record(RECORD_RENAME, path, target, 0, "", 0);
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
    return renameat2(from_directory, from, to_directory, to, 0);
}

EXPORT int rename(const char *from, const char *to)
{
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

EXPORT int unlinkat(int directory, const char *name, int flags)
{
    int (*next)(int, const char *, int) = real("unlinkat");
    char path[PATH_MAX];
    if (!path_at(directory, name, path))
        return next(directory, name, flags);
    pthread_mutex_lock(&lock);
    int result = next(directory, name, flags);
    if (result == 0)
        record(RECORD_UNLINK, path, "", 0, "", 0);
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT int unlink(const char *name)
{
    return unlinkat(AT_FDCWD, name, 0);
}
