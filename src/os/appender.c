/* The writer thread takes all that waits at once and writes it piece by piece; the adding thread only moves bytes under a
 * lock. Two threads: the one that adds and the writer. */
#include "os/appender.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CLOSE_SECONDS 30

struct appender {
    pthread_t thread;
    int fd;                /* the writer's, once it runs */
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t
        news; /* for the writer: pieces, or the end; for the closing thread: the writer is done */
    struct buf pending; /* pieces, each behind its length (a size_t) */
    enum { APPENDER_OPEN, APPENDER_CLOSING, APPENDER_DONE } state;
    int failure;                                      /* errno of the write that failed; 0: none */
    enum { APPENDER_TAKES, APPENDER_REFUSES } taking; /* REFUSES: appender_add has said why */
};

static int write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t written = write(fd, bytes, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? errno : EIO;
        bytes += written;
        n -= (size_t)written;
    }
    return 0;
}

/* errno, or 0. *size grows with each piece that is in the file whole. */
static int write_pieces(int fd, const struct buf *pieces, off_t *size)
{
    size_t at = 0;
    while (at < pieces->n) {
        size_t n;
        memcpy(&n, pieces->p + at, sizeof n);
        int failure = write_all(fd, pieces->p + at + sizeof n, n);
        if (failure != 0)
            return failure;
        at += sizeof n + n;
        *size += (off_t)n;
    }
    return 0;
}

static void *writer_main(void *user)
{
    struct appender *appender = user;
    struct buf taken;
    off_t size = 0;
    buf_init(&taken, appender->pending.max);
    pthread_mutex_lock(&appender->mutex);
    for (;;) {
        if (appender->pending.n == 0 || appender->failure != 0) {
            if (appender->state == APPENDER_CLOSING)
                break;
            pthread_cond_wait(&appender->news, &appender->mutex);
            continue;
        }
        struct buf empty = taken;
        taken = appender->pending;
        appender->pending = empty;
        pthread_mutex_unlock(&appender->mutex);
        int failure = write_pieces(appender->fd, &taken, &size);
        if (failure != 0 && ftruncate(appender->fd, size) != 0)
            failure = failure == ENOSPC ? ENOSPC : errno;
        buf_clear(&taken);
        pthread_mutex_lock(&appender->mutex);
        appender->failure = failure;
    }
    appender->state = APPENDER_DONE;
    pthread_cond_signal(&appender->news);
    pthread_mutex_unlock(&appender->mutex);
    buf_release(&taken);
    return NULL;
}

int appender_open(const char *path, size_t pending_max, struct appender **out, struct err *err)
{
    sigset_t all, before;
    pthread_condattr_t clock;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return err_set(err, ERR_USAGE, "%s exists already: remove it or name another file", path);
    if (fd < 0)
        return err_set(err, ERR_IO, "%s cannot be created: %s", path, strerror(errno));
    struct appender *appender = calloc(1, sizeof *appender);
    if (appender == NULL)
        abort();
    appender->fd = fd;
    buf_init(&appender->pending, pending_max);
    pthread_mutex_init(&appender->mutex, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&appender->news, &clock);
    pthread_condattr_destroy(&clock);
    /* Signals are for the loop's thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(&appender->thread, NULL, writer_main, appender);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure != 0) {
        close(fd);
        free(appender);
        return err_set(err, ERR_IO, "no thread to write %s: %s", path, strerror(failure));
    }
    *out = appender;
    return 0;
}

int appender_add(struct appender *appender, struct str piece, struct err *err)
{
    struct buf *pending = &appender->pending;
    int result = -1;
    pthread_mutex_lock(&appender->mutex);
    if (appender->failure != 0) {
        err_set(err, ERR_IO, "%s", strerror(appender->failure));
    } else if (appender->taking == APPENDER_REFUSES ||
               pending->max - pending->n < sizeof piece.n + piece.n ||
               buf_reserve(pending, sizeof piece.n + piece.n) == NULL) {
        err_set(err, ERR_IO, "the disk is too slow: too much waits to be written");
    } else {
        buf_add(pending, &piece.n, sizeof piece.n);
        buf_str(pending, piece);
        pthread_cond_signal(&appender->news);
        result = 0;
    }
    if (result != 0)
        appender->taking = APPENDER_REFUSES;
    pthread_mutex_unlock(&appender->mutex);
    return result;
}

int appender_close(struct appender *appender, struct err *err)
{
    struct timespec deadline;
    int result = 0, waited = 0;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += CLOSE_SECONDS;
    pthread_mutex_lock(&appender->mutex);
    appender->state = APPENDER_CLOSING;
    pthread_cond_signal(&appender->news);
    while (appender->state != APPENDER_DONE && waited == 0)
        waited = pthread_cond_timedwait(&appender->news, &appender->mutex, &deadline);
    bool hangs = appender->state != APPENDER_DONE;
    pthread_mutex_unlock(&appender->mutex);
    /* A writer that hangs keeps its memory: there is no safe way to take it away. */
    if (hangs)
        return err_set(err, ERR_IO, "the disk did not take the last lines in %d seconds",
                       CLOSE_SECONDS);
    pthread_join(appender->thread, NULL);
    if (close(appender->fd) != 0 && appender->failure == 0)
        appender->failure = errno;
    if (appender->failure != 0 && appender->taking == APPENDER_TAKES)
        result = err_set(err, ERR_IO, "%s", strerror(appender->failure));
    pthread_cond_destroy(&appender->news);
    pthread_mutex_destroy(&appender->mutex);
    buf_release(&appender->pending);
    free(appender);
    return result;
}
