/* The queue is two buffers: printing fills `pending`, the writer swaps it with its own and writes that
 * out without the lock. A write may block for as long as the reader likes; nobody waits for it.
 *
 * The descriptor is shared with other processes (a shell, a pager), so it is never made non-blocking;
 * one that somebody else made so is waited for. */
#include "cli/outpipe.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "os/clock.h"

#define PIECE 16384         /* bytes per write: how finely progress is seen */
#define KEPT OUTPIPE_MARK   /* capacity that a buffer may keep when it is empty */
#define BLOCKED_POLL_MS 100 /* of a descriptor that another process made non-blocking */

struct outpipe {
    int fd;
    pthread_t writer;
    pthread_mutex_t lock;
    pthread_cond_t news; /* something was queued, taken, or the end is wanted */
    struct buf pending;
    size_t writing; /* bytes in the writer's hands that the descriptor has not taken */
    uint64_t taken;
    int error;                                                    /* of the descriptor; 0: none */
    enum { OUTPIPE_OPEN, OUTPIPE_ENDING, OUTPIPE_ABANDONED } end; /* ABANDONED: the writer's own */
    enum { ROOM_FOR_MORE, ROOM_WANTED } room; /* WANTED: the pipe was seen to be full */
    void (*changed)(void *user);
    void *user;
};

static void outpipe_free(struct outpipe *pipe)
{
    pthread_cond_destroy(&pipe->news);
    pthread_mutex_destroy(&pipe->lock);
    buf_release(&pipe->pending);
    free(pipe);
}

/* --- the writer's thread ------------------------------------------------------------------------ */

/* Under the lock. */
static void tell_listener(struct outpipe *pipe)
{
    if (pipe->changed != NULL)
        pipe->changed(pipe->user);
}

static void note_taken(struct outpipe *pipe, size_t n)
{
    pthread_mutex_lock(&pipe->lock);
    pipe->writing -= n;
    pipe->taken += n;
    pthread_cond_broadcast(&pipe->news);
    if (pipe->room == ROOM_WANTED && pipe->pending.n + pipe->writing < OUTPIPE_MARK / 2) {
        pipe->room = ROOM_FOR_MORE;
        tell_listener(pipe);
    }
    pthread_mutex_unlock(&pipe->lock);
}

static void note_error(struct outpipe *pipe, int error)
{
    pthread_mutex_lock(&pipe->lock);
    pipe->error = error;
    pipe->writing = 0;
    buf_release(&pipe->pending);
    pthread_cond_broadcast(&pipe->news);
    tell_listener(pipe);
    pthread_mutex_unlock(&pipe->lock);
}

static int write_out(struct outpipe *pipe, struct str text)
{
    while (text.n > 0) {
        ssize_t n = write(pipe->fd, text.p, text.n < PIECE ? text.n : PIECE);
        if (n < 0 && errno == EAGAIN) {
            struct pollfd wanted = {.fd = pipe->fd, .events = POLLOUT};
            poll(&wanted, 1, BLOCKED_POLL_MS);
        } else if (n < 0 && errno != EINTR) {
            note_error(pipe, errno);
            return -1;
        } else if (n > 0) {
            text.p += n;
            text.n -= (size_t)n;
            note_taken(pipe, (size_t)n);
        }
    }
    return 0;
}

/* Takes what is queued, waiting for something; false when nothing will come any more. */
static bool take(struct outpipe *pipe, struct buf *own)
{
    buf_clear(own);
    if (own->capacity > KEPT)
        buf_release(own);
    pthread_mutex_lock(&pipe->lock);
    while (pipe->pending.n == 0 && pipe->end == OUTPIPE_OPEN)
        pthread_cond_wait(&pipe->news, &pipe->lock);
    struct buf queued = pipe->pending;
    pipe->pending = *own;
    *own = queued;
    pipe->writing = own->n;
    pthread_mutex_unlock(&pipe->lock);
    return own->n > 0;
}

static void *write_all(void *user)
{
    struct outpipe *pipe = user;
    struct buf own;
    buf_init(&own, OUTPIPE_MAX);
    while (take(pipe, &own) && write_out(pipe, buf_view(&own)) == 0)
        continue;
    buf_release(&own);
    pthread_mutex_lock(&pipe->lock);
    bool abandoned = pipe->end == OUTPIPE_ABANDONED;
    pthread_mutex_unlock(&pipe->lock);
    if (abandoned)
        outpipe_free(pipe);
    return NULL;
}

/* --- the side that prints ------------------------------------------------------------------------- */

static ssize_t stream_write(void *cookie, const char *bytes, size_t n)
{
    struct outpipe *pipe = cookie;
    int error;
    pthread_mutex_lock(&pipe->lock);
    if (pipe->error == 0 && n > OUTPIPE_MAX - pipe->pending.n - pipe->writing) {
        pipe->error = ENOBUFS;
        tell_listener(pipe);
    }
    error = pipe->error;
    if (error == 0) {
        buf_add(&pipe->pending, bytes, n);
        pthread_cond_broadcast(&pipe->news);
    }
    pthread_mutex_unlock(&pipe->lock);
    errno = error;
    return error == 0 ? (ssize_t)n : 0;
}

FILE *outpipe_stream(struct outpipe *pipe)
{
    FILE *stream = fopencookie(pipe, "w", (cookie_io_functions_t){.write = stream_write});
    if (stream == NULL)
        abort();
    return stream;
}

int outpipe_open(int fd, struct outpipe **out, struct err *err)
{
    struct outpipe *pipe = calloc(1, sizeof *pipe);
    pthread_condattr_t attributes;
    sigset_t all, before;
    if (pipe == NULL)
        abort();
    pipe->fd = fd;
    buf_init(&pipe->pending, OUTPIPE_MAX);
    pthread_mutex_init(&pipe->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&pipe->news, &attributes);
    pthread_condattr_destroy(&attributes);
    /* Signals are the loop's; a reader that is gone is told by EPIPE. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int result = pthread_create(&pipe->writer, NULL, write_all, pipe);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result != 0) {
        outpipe_free(pipe);
        return err_set(err, ERR_IO, "no thread for the output: %s", strerror(result));
    }
    *out = pipe;
    return 0;
}

enum outpipe_state outpipe_state(struct outpipe *pipe)
{
    enum outpipe_state state = OUTPIPE_BUSY;
    pthread_mutex_lock(&pipe->lock);
    size_t queued = pipe->pending.n + pipe->writing;
    if (pipe->error != 0) {
        state = OUTPIPE_BROKEN;
    } else if (queued >= OUTPIPE_MARK) {
        state = OUTPIPE_FULL;
        pipe->room = ROOM_WANTED;
    } else if (queued == 0) {
        state = OUTPIPE_IDLE;
    }
    pthread_mutex_unlock(&pipe->lock);
    return state;
}

uint64_t outpipe_taken(struct outpipe *pipe)
{
    pthread_mutex_lock(&pipe->lock);
    uint64_t taken = pipe->taken;
    pthread_mutex_unlock(&pipe->lock);
    return taken;
}

void outpipe_listen(struct outpipe *pipe, void (*changed)(void *user), void *user)
{
    pthread_mutex_lock(&pipe->lock);
    pipe->changed = changed;
    pipe->user = user;
    pthread_mutex_unlock(&pipe->lock);
}

/* --- the end -------------------------------------------------------------------------------------- */

static bool is_settled(const struct outpipe *pipe)
{
    return pipe->error != 0 || pipe->pending.n + pipe->writing == 0;
}

int outpipe_drain(struct outpipe *pipe, int64_t standstill_ms, struct err *err)
{
    int result = 0;
    pthread_mutex_lock(&pipe->lock);
    uint64_t taken = pipe->taken;
    int64_t deadline = clock_monotonic_ms() + standstill_ms;
    while (!is_settled(pipe) && clock_monotonic_ms() < deadline) {
        struct timespec until = {.tv_sec = deadline / 1000,
                                 .tv_nsec = (deadline % 1000 + 1) * 1000000 - 1};
        pthread_cond_timedwait(&pipe->news, &pipe->lock, &until);
        if (pipe->taken != taken)
            deadline = clock_monotonic_ms() + standstill_ms;
        taken = pipe->taken;
    }
    if (pipe->error != 0)
        result = err_set(err, ERR_IO, "the output could not be written: %s", strerror(pipe->error));
    else if (!is_settled(pipe))
        result =
            err_set(err, ERR_TIMEOUT, "nobody reads the output any more: %zu bytes of it are lost",
                    pipe->pending.n + pipe->writing);
    pthread_mutex_unlock(&pipe->lock);
    return result;
}

int outpipe_close(struct outpipe *pipe, int64_t standstill_ms, struct err *err)
{
    int result = outpipe_drain(pipe, standstill_ms, err);
    pthread_mutex_lock(&pipe->lock);
    pipe->changed = NULL;
    bool stuck = pipe->pending.n + pipe->writing > 0;
    pipe->end = stuck ? OUTPIPE_ABANDONED : OUTPIPE_ENDING;
    pthread_cond_broadcast(&pipe->news);
    if (stuck)
        pthread_detach(pipe->writer);
    pthread_mutex_unlock(&pipe->lock);
    if (stuck)
        return result;
    pthread_join(pipe->writer, NULL);
    outpipe_free(pipe);
    return result;
}
