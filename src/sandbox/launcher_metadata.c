/* Changes of metadata that the first process makes for its commands: mode, owner, times. Landlock does not judge them. Without namespaces
 * no mount is read-only, so the filter hands these calls over, and each is made here on an object that was opened beneath a
 * place that may be written. With namespaces the mounts decide, and only setgid modes come here.
 *
 * What a command names is opened from its own directory, and then once more from the place, without links: both must be the same
 * object. The call is then made on that descriptor, so it does not matter what others relink meanwhile. */
#include "sandbox/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#define CALL_FCHMODAT2 452
#define NOT_GIVEN (-1)

enum change { CHANGE_MODE, CHANGE_OWNER, CHANGE_TIMES };
enum times { TIMES_SECONDS, TIMES_MICRO, TIMES_NANO };

/* Where each call has its arguments. */
static const struct form {
    int call;
    enum change change;
    int directory, path, value, flags;
    enum { FOLLOWS, DOES_NOT_FOLLOW } link;
    enum times times;
} forms[] = {
#ifdef SYS_chmod
    {SYS_chmod, CHANGE_MODE, NOT_GIVEN, 0, 1, NOT_GIVEN, FOLLOWS, 0},
    {SYS_chown, CHANGE_OWNER, NOT_GIVEN, 0, 1, NOT_GIVEN, FOLLOWS, 0},
    {SYS_lchown, CHANGE_OWNER, NOT_GIVEN, 0, 1, NOT_GIVEN, DOES_NOT_FOLLOW, 0},
    {SYS_utime, CHANGE_TIMES, NOT_GIVEN, 0, 1, NOT_GIVEN, FOLLOWS, TIMES_SECONDS},
    {SYS_utimes, CHANGE_TIMES, NOT_GIVEN, 0, 1, NOT_GIVEN, FOLLOWS, TIMES_MICRO},
    {SYS_futimesat, CHANGE_TIMES, 0, 1, 2, NOT_GIVEN, FOLLOWS, TIMES_MICRO},
#endif
    {SYS_fchmod, CHANGE_MODE, 0, NOT_GIVEN, 1, NOT_GIVEN, FOLLOWS, 0},
    {SYS_fchmodat, CHANGE_MODE, 0, 1, 2, NOT_GIVEN, FOLLOWS, 0},
    {CALL_FCHMODAT2, CHANGE_MODE, 0, 1, 2, 3, FOLLOWS, 0},
    {SYS_fchown, CHANGE_OWNER, 0, NOT_GIVEN, 1, NOT_GIVEN, FOLLOWS, 0},
    {SYS_fchownat, CHANGE_OWNER, 0, 1, 2, 4, FOLLOWS, 0},
    {SYS_utimensat, CHANGE_TIMES, 0, 1, 2, 3, FOLLOWS, TIMES_NANO},
};

struct asked {
    const struct form *form;
    const struct seccomp_data *data;
    unsigned process;
    int memory; /* of the process */
};

/* --- places that may be written --------------------------------------------------------------------------------------------- */

static void add_place(struct launch *launch, int fd)
{
    struct stat status;
    char link[64];
    if (fd < 0)
        return;
    if (launch->place_count < LAUNCH_PLACES_MAX && fstat(fd, &status) == 0 &&
        !S_ISLNK(status.st_mode)) {
        struct launch_place *place = &launch->places[launch->place_count];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, place->path, sizeof place->path - 1);
        if (n > 0 && place->path[0] == '/') {
            place->path[n == 1 ? 0 : n] = '\0'; /* the root's path is "", as a prefix */
            place->fd = fd;
            launch->place_count++;
            return;
        }
    }
    close(fd);
}

void launch_open_places(struct launch *launch)
{
    const char *view = NULL;
    if (launch_has(launch, LAUNCH_WALL_NAMESPACES)) {
        add_place(launch, open("/", O_PATH | O_CLOEXEC));
        return;
    }
    add_place(launch, open(launch->tmp, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    while ((view = launch_next(launch, launch->head->views, view)) != NULL)
        if (view[0] == LAUNCH_VIEW_WRITE)
            add_place(launch, launch_open_beneath(LAUNCH_WORKSPACE, view + 1));
}

static bool is_same(int a, int b)
{
    struct stat one, other;
    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* The same object, opened beneath a place; -1 where it lies in none. */
static int open_in_a_place(const struct launch *launch, int object)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", object);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    for (size_t i = 0; i < launch->place_count; i++) {
        const struct launch_place *place = &launch->places[i];
        size_t length = strlen(place->path);
        if (strncmp(path, place->path, length) != 0 ||
            (path[length] != '/' && path[length] != '\0'))
            continue;
        const char *below = path + length + strspn(path + length, "/");
        int fd = *below == '\0' ? fcntl(place->fd, F_DUPFD_CLOEXEC, 0)
                                : launch_open_beneath(place->fd, below);
        if (fd >= 0 && is_same(fd, object))
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return -1;
}

/* --- what was asked ----------------------------------------------------------------------------------------------------------- */

static uint64_t argument(const struct asked *asked, int index)
{
    return index == NOT_GIVEN ? 0 : asked->data->args[index];
}

static int open_descriptor_of(const struct asked *asked, int descriptor)
{
    char link[64];
    if (descriptor == AT_FDCWD)
        snprintf(link, sizeof link, "/proc/%u/cwd", asked->process);
    else
        snprintf(link, sizeof link, "/proc/%u/fd/%d", asked->process, descriptor);
    return open(link, O_PATH | O_CLOEXEC);
}

/* Libraries name an opened file so. "self" would be this process. */
static int descriptor_named(const char *path)
{
    static const char *const prefixes[] = {"/proc/self/fd/", "/dev/fd/"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t n = strlen(prefixes[i]);
        char *end;
        if (strncmp(path, prefixes[i], n) != 0 || path[n] < '0' || path[n] > '9')
            continue;
        long number = strtol(path + n, &end, 10);
        if (*end == '\0' && number <= 1 << 20)
            return (int)number;
    }
    return -1;
}

static int open_path(const struct asked *asked, int directory, const char *path, int link)
{
    struct open_how how = {.flags = (uint64_t)(unsigned)(O_PATH | O_CLOEXEC | link),
                           .resolve = RESOLVE_NO_MAGICLINKS};
    if (descriptor_named(path) >= 0)
        return open_descriptor_of(asked, descriptor_named(path));
    int base = path[0] == '/' ? AT_FDCWD : open_descriptor_of(asked, directory);
    if (base < 0 && base != AT_FDCWD)
        return -1;
    int object = (int)syscall(SYS_openat2, base, path, &how, sizeof how);
    int number = errno;
    if (base >= 0)
        close(base);
    errno = number;
    return object;
}

static int open_object(const struct asked *asked)
{
    const struct form *form = asked->form;
    char path[4096];
    int directory = form->directory == NOT_GIVEN ? AT_FDCWD : (int)argument(asked, form->directory);
    int flags = (int)argument(asked, form->flags);
    int link = form->link == DOES_NOT_FOLLOW || (flags & AT_SYMLINK_NOFOLLOW) != 0 ? O_NOFOLLOW : 0;
    uint64_t at = argument(asked, form->path);
    if (form->path == NOT_GIVEN || (at == 0 && form->change == CHANGE_TIMES))
        return open_descriptor_of(asked, directory);
    ssize_t n = pread(asked->memory, path, sizeof path, (off_t)at);
    if (n <= 0 || memchr(path, '\0', (size_t)n) == NULL) {
        errno = n <= 0 ? EFAULT : ENAMETOOLONG;
        return -1;
    }
    if (path[0] == '\0' && (flags & AT_EMPTY_PATH) != 0)
        return open_descriptor_of(asked, directory);
    return open_path(asked, directory, path, link);
}

/* --- changing ------------------------------------------------------------------------------------------------------------------ */

/* Times as the kernel takes them; NULL for now. -1: the address leads nowhere. */
static int read_times(const struct asked *asked, struct timespec times[2], struct timespec **out)
{
    union {
        struct utimbuf seconds;
        struct timeval micro[2];
        struct timespec nano[2];
    } given;
    static const size_t bytes[] = {[TIMES_SECONDS] = sizeof given.seconds,
                                   [TIMES_MICRO] = sizeof given.micro,
                                   [TIMES_NANO] = sizeof given.nano};
    uint64_t at = argument(asked, asked->form->value);
    size_t n = bytes[asked->form->times];
    *out = at == 0 ? NULL : times;
    if (at == 0)
        return 0;
    if (pread(asked->memory, &given, n, (off_t)at) != (ssize_t)n) {
        errno = EFAULT;
        return -1;
    }
    for (size_t i = 0; i < 2; i++)
        times[i] =
            asked->form->times == TIMES_NANO ? given.nano[i]
            : asked->form->times == TIMES_MICRO
                ? (struct timespec){given.micro[i].tv_sec, given.micro[i].tv_usec * 1000}
                : (struct timespec){i == 0 ? given.seconds.actime : given.seconds.modtime, 0};
    return 0;
}

/* A directory that is setgid already may stay so: tools that change its other bits name that one too. */
static bool mode_is_allowed(uint64_t mode, const struct stat *status)
{
    return (mode & S_ISUID) == 0 && ((mode & S_ISGID) == 0 || (S_ISDIR(status->st_mode) &&
                                                               (status->st_mode & S_ISGID) != 0));
}

static int change(const struct asked *asked, int object)
{
    const struct form *form = asked->form;
    char link[64];
    struct stat status;
    struct timespec times[2], *given;
    uint64_t value = argument(asked, form->value);
    snprintf(link, sizeof link, "/proc/self/fd/%d", object);
    if (fstat(object, &status) != 0)
        return errno;
    if (form->change == CHANGE_OWNER)
        return fchownat(object, "", (uid_t)value, (gid_t)argument(asked, form->value + 1),
                        AT_EMPTY_PATH) == 0
                   ? 0
                   : errno;
    if (form->change == CHANGE_MODE) {
        if (S_ISLNK(status.st_mode))
            return EOPNOTSUPP;
        if (!mode_is_allowed(value, &status))
            return METADATA_REFUSED;
        return chmod(link, (mode_t)value & 07777) == 0 ? 0 : errno;
    }
    if (read_times(asked, times, &given) != 0)
        return errno;
    int done = S_ISLNK(status.st_mode) ? utimensat(object, "", given, AT_EMPTY_PATH)
                                       : utimensat(AT_FDCWD, link, given, 0);
    return done == 0 ? 0 : errno;
}

static int change_object(const struct launch *launch, int listener, uint64_t id,
                         const struct asked *asked)
{
    int object = open_object(asked);
    if (object < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EBADF ||
                       errno == EFAULT || errno == ENAMETOOLONG
                   ? errno
                   : METADATA_REFUSED;
    int number = METADATA_REFUSED;
    int place = open_in_a_place(launch, object);
    /* Process numbers are used again: what was read and opened belongs to who asked if it still waits for its answer. */
    if (place >= 0 && ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0)
        number = change(asked, place);
    if (place >= 0)
        close(place);
    close(object);
    return number;
}

int launch_change_metadata(const struct launch *launch, int listener,
                           const struct seccomp_notif *notice)
{
    struct asked asked = {.data = &notice->data, .process = notice->pid, .memory = -1};
    char path[64];
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (forms[i].call == notice->data.nr)
            asked.form = &forms[i];
    if (asked.form == NULL)
        return METADATA_REFUSED;
    snprintf(path, sizeof path, "/proc/%u/mem", notice->pid);
    asked.memory = open(path, O_RDONLY | O_CLOEXEC);
    if (asked.memory < 0)
        return METADATA_REFUSED;
    int number = change_object(launch, listener, notice->id, &asked);
    close(asked.memory);
    return number;
}
