/* The wake socket: a datagram socket beside the store, named after its owner. A byte means "look into your inboxes". A socket that
 * nobody reads any more refuses the connection, which is how others learn that its owner is gone. Loop thread; inbox.c sends. */
#include "engine/wake.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/live.h"

#define WAKE_SUFFIX ".wake"

struct wake {
    struct engine *engine;
    uv_poll_t poll;
    int fd, directory;
    char name[128];
};

/* The directory of all wake sockets. Paths of sockets are short by law; going through the directory's descriptor is not. */
static int open_directory(struct str store_path, int create, struct err *err)
{
    char path[PATH_MAX + sizeof WAKE_SUFFIX], named[PATH_MAX], real[PATH_MAX];
    int n = snprintf(named, sizeof named, "%.*s", STR_FMT(store_path));
    if (n < 0 || (size_t)n >= sizeof named)
        return err_set(err, ERR_CONFIG, "the path of the store is too long");
    /* The store may be reached by several names; its sockets stand beside the file itself. */
    n = snprintf(path, sizeof path, "%s%s", realpath(named, real) != NULL ? real : named,
                 WAKE_SUFFIX);
    if (n < 0 || (size_t)n >= sizeof path)
        return err_set(err, ERR_CONFIG, "the path of the store is too long");
    if (create && mkdir(path, 0700) != 0 && errno != EEXIST)
        return err_set(err, ERR_IO, "cannot make %s: %s", path, strerror(errno));
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 ? fd : err_set(err, ERR_IO, "cannot open %s: %s", path, strerror(errno));
}

static int address_of(int directory, struct str owner, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d/%.*s",
                     directory, STR_FMT(owner));
    return n > 0 && (size_t)n < sizeof address->sun_path && memchr(owner.p, '/', owner.n) == NULL
               ? 0
               : -1;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct wake *wake = poll->data;
    char bytes[64];
    while (recv(wake->fd, bytes, sizeof bytes, MSG_DONTWAIT) >= 0)
        ;
    size_t cursor = 0;
    struct str key;
    void *live;
    while (map_next(&wake->engine->lives, &cursor, &key, &live))
        live_look_into_inbox(live);
}

struct wake *wake_new(struct engine *engine, struct err *err)
{
    struct sockaddr_un address;
    struct wake *wake = calloc(1, sizeof *wake);
    if (wake == NULL)
        abort();
    wake->engine = engine;
    wake->fd = -1;
    snprintf(wake->name, sizeof wake->name, "%.*s", STR_FMT(engine->owner));
    wake->directory = open_directory(engine->store_path, 1, err);
    if (wake->directory < 0)
        goto fail;
    wake->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (wake->fd < 0 || address_of(wake->directory, engine->owner, &address) != 0 ||
        bind(wake->fd, (struct sockaddr *)&address, sizeof address) != 0) {
        err_set(err, ERR_IO, "cannot make the wake socket beside the store: %s", strerror(errno));
        goto fail;
    }
    uv_poll_init(engine->config.loop, &wake->poll, wake->fd);
    wake->poll.data = wake;
    uv_poll_start(&wake->poll, UV_READABLE, on_readable);
    uv_unref((uv_handle_t *)&wake->poll);
    return wake;
fail:
    if (wake->fd >= 0)
        close(wake->fd);
    if (wake->directory >= 0)
        close(wake->directory);
    free(wake);
    return NULL;
}

static void on_closed(uv_handle_t *handle)
{
    struct wake *wake = handle->data;
    unlinkat(wake->directory, wake->name, 0);
    close(wake->fd);
    close(wake->directory);
    free(wake);
}

void wake_free(struct wake *wake)
{
    if (wake == NULL)
        return;
    /* From here on nobody answers: whoever looks must see that this owner is gone. */
    unlinkat(wake->directory, wake->name, 0);
    uv_close((uv_handle_t *)&wake->poll, on_closed);
}

/* When a process began, in the kernel's ticks since the machine's start; 0: it is dead (a zombie is), or nobody tells. */
static unsigned long long process_began(long pid)
{
    char path[64], text[1024], state = 0;
    unsigned long long began = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    /* The name in brackets may hold anything; the last bracket ends it. */
    const char *after = strrchr(text, ')');
    if (after == NULL || sscanf(after,
                                ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
                                "%*d %*d %*d %llu",
                                &state, &began) != 2)
        return 0;
    return state != 'Z' && state != 'X' ? began : 0;
}

void wake_process_name(char name[WAKE_PROCESS_MAX])
{
    snprintf(name, WAKE_PROCESS_MAX, "%ld-%llu", (long)getpid(), process_began(getpid()));
}

/* A socket that is not there proves nothing by itself: a power cut may have lost it, or somebody removed it while its
 * owner lives. Then the process decides, whose number, and since when it has it, an owner's name starts with: numbers are
 * used again. */
static bool process_lives(struct str owner)
{
    char name[WAKE_PROCESS_MAX];
    char *end;
    snprintf(name, sizeof name, "%.*s", STR_FMT(owner));
    long pid = strtol(name, &end, 10);
    if (pid <= 0 || pid > INT_MAX)
        return true;
    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        return false;
    unsigned long long began = *end == '-' ? strtoull(end + 1, &end, 10) : 0;
    /* Names of older programs do not say since when: after the number of the process comes an id. And /proc may hide other
     * users' processes. */
    if (began == 0 || *end != '-' || process_began(getpid()) == 0)
        return true;
    return process_began(pid) == began;
}

enum wake_result wake_owner(struct str store_path, struct str owner)
{
    struct err err = ERR_INIT;
    struct sockaddr_un address;
    enum wake_result result = WAKE_UNKNOWN;
    int directory = open_directory(store_path, 0, &err);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (directory >= 0 && fd >= 0 && address_of(directory, owner, &address) == 0) {
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
            /* A full queue is fine: the owner has not looked yet. */
            result = send(fd, "w", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 || errno == EAGAIN
                         ? WAKE_SENT
                         : WAKE_UNKNOWN;
        } else if (errno == ECONNREFUSED || (errno == ENOENT && !process_lives(owner))) {
            result = WAKE_GONE;
        }
    }
    if (fd >= 0)
        close(fd);
    if (directory >= 0)
        close(directory);
    return result;
}

size_t wake_sweep(struct str store_path, enum wake_sweep what)
{
    struct err ignored = ERR_INIT;
    struct stat status;
    const struct dirent *entry;
    size_t dead = 0;
    int directory = open_directory(store_path, 0, &ignored);
    int readable = directory >= 0 ? openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *opened = readable >= 0 ? fdopendir(readable) : NULL;
    while (opened != NULL && (entry = readdir(opened)) != NULL) {
        if (fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISSOCK(status.st_mode) ||
            wake_owner(store_path, str_from(entry->d_name)) != WAKE_GONE)
            continue;
        dead++;
        if (what == WAKE_REMOVES)
            unlinkat(directory, entry->d_name, 0);
    }
    if (opened != NULL)
        closedir(opened);
    else if (readable >= 0)
        close(readable);
    if (directory >= 0)
        close(directory);
    return dead;
}
