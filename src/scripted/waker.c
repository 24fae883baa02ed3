/* A binary heap of due times and one thread that sleeps until the first. Connections are suspended by the server's
 * threads and resumed here; nothing else is done with them. */
#include "scripted/waker.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct sleeper {
    int64_t due; /* monotonic nanoseconds */
    struct MHD_Connection *connection;
};

struct waker {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    enum { WAKER_RUNNING, WAKER_FINISHING } state;
    struct sleeper *heap; /* heap[0] is the first due */
    size_t count, capacity;
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void swap(struct sleeper *a, struct sleeper *b)
{
    struct sleeper kept = *a;
    *a = *b;
    *b = kept;
}

static void heap_push(struct waker *waker, struct sleeper sleeper)
{
    if (waker->count == waker->capacity) {
        size_t capacity = waker->capacity > 0 ? waker->capacity * 2 : 64;
        struct sleeper *heap = reallocarray(waker->heap, capacity, sizeof *heap);
        if (heap == NULL)
            abort();
        waker->heap = heap;
        waker->capacity = capacity;
    }
    size_t at = waker->count++;
    waker->heap[at] = sleeper;
    for (; at > 0 && waker->heap[at].due < waker->heap[(at - 1) / 2].due; at = (at - 1) / 2)
        swap(&waker->heap[at], &waker->heap[(at - 1) / 2]);
}

static struct MHD_Connection *heap_pop(struct waker *waker)
{
    struct MHD_Connection *connection = waker->heap[0].connection;
    waker->heap[0] = waker->heap[--waker->count];
    for (size_t at = 0;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < waker->count; child++)
            if (waker->heap[child].due < waker->heap[least].due)
                least = child;
        if (least == at)
            return connection;
        swap(&waker->heap[at], &waker->heap[least]);
        at = least;
    }
}

static void *waker_main(void *user)
{
    struct waker *waker = user;
    pthread_mutex_lock(&waker->lock);
    for (;;) {
        if (waker->count == 0) {
            if (waker->state == WAKER_FINISHING)
                break;
            pthread_cond_wait(&waker->changed, &waker->lock);
            continue;
        }
        int64_t due = waker->heap[0].due;
        if (waker->state == WAKER_RUNNING && due > now_ns()) {
            struct timespec until = {due / 1000000000, due % 1000000000};
            pthread_cond_timedwait(&waker->changed, &waker->lock, &until);
            continue;
        }
        struct MHD_Connection *connection = heap_pop(waker);
        pthread_mutex_unlock(&waker->lock);
        MHD_resume_connection(connection);
        pthread_mutex_lock(&waker->lock);
    }
    pthread_mutex_unlock(&waker->lock);
    return NULL;
}

int waker_start(struct waker **waker, struct err *err)
{
    struct waker *made = calloc(1, sizeof *made);
    if (made == NULL)
        return err_set(err, ERR_IO, "out of memory");
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, &clock);
    pthread_condattr_destroy(&clock);
    int code = pthread_create(&made->thread, NULL, waker_main, made);
    if (code != 0) {
        pthread_cond_destroy(&made->changed);
        pthread_mutex_destroy(&made->lock);
        free(made);
        return err_set(err, ERR_IO, "cannot start a thread: %s", strerror(code));
    }
    *waker = made;
    return 0;
}

void waker_add(struct waker *waker, struct MHD_Connection *connection, int64_t milliseconds)
{
    struct sleeper sleeper = {now_ns() + milliseconds * 1000000, connection};
    pthread_mutex_lock(&waker->lock);
    bool finishing = waker->state == WAKER_FINISHING;
    if (!finishing) {
        heap_push(waker, sleeper);
        pthread_cond_signal(&waker->changed);
    }
    pthread_mutex_unlock(&waker->lock);
    if (finishing)
        MHD_resume_connection(connection);
}

void waker_finish(struct waker *waker)
{
    pthread_mutex_lock(&waker->lock);
    waker->state = WAKER_FINISHING;
    pthread_cond_signal(&waker->changed);
    pthread_mutex_unlock(&waker->lock);
    pthread_join(waker->thread, NULL);
}

void waker_free(struct waker *waker)
{
    if (waker == NULL)
        return;
    pthread_cond_destroy(&waker->changed);
    pthread_mutex_destroy(&waker->lock);
    free(waker->heap);
    free(waker);
}
