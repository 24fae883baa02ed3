/* See crew.h. Two lists under one lock: what waits for a thread, and what came back for the loop. A third is the loop's own: what
 * came in this turn of it, and is handed over when there is much of it or the loop is about to wait. To wake a thread costs more
 * than to read a small file. A thread that ends joins the one that ended before it, so that at most one is left for crew_free
 * to join. */
#include "engine/crew.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#define STACK_BYTES (1u << 20)
#define FRESH_MOST 32 /* jobs that wait for the end of a turn */

struct crew {
    pthread_mutex_t lock;
    pthread_cond_t wake; /* a job came, or the crew is closing */
    pthread_cond_t gone; /* a thread has ended */
    struct crew_job *queue, **queue_last;
    struct crew_job *back, **back_last;
    struct crew_job *fresh, **fresh_last; /* the loop's own */
    size_t fresh_count;
    size_t queued, threads, idle, most;
    int64_t idle_ms;
    enum { CREW_OPEN, CREW_CLOSING } state;
    pthread_t last; /* that ended, */
    bool has_last;  /* if one has */
    uv_async_t async;
    uv_prepare_t prepare;
    int handles; /* still open, while it is freed */
};

/* --- on its threads ----------------------------------------------------------------------------------------------------- */

static struct timespec after(int64_t ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += ms % 1000 * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

/* The next job, or NULL when none came for long enough. With the lock held. */
static struct crew_job *take(struct crew *crew)
{
    struct timespec until = after(crew->idle_ms);
    int waited = 0;
    crew->idle++;
    while (crew->queue == NULL && crew->state == CREW_OPEN && waited == 0)
        waited = pthread_cond_timedwait(&crew->wake, &crew->lock, &until);
    crew->idle--;
    struct crew_job *job = crew->queue;
    if (job == NULL)
        return NULL;
    crew->queue = job->next;
    if (crew->queue == NULL)
        crew->queue_last = &crew->queue;
    crew->queued--;
    job->next = NULL;
    return job;
}

static void *work(void *user)
{
    struct crew *crew = user;
    struct crew_job *job;
    pthread_mutex_lock(&crew->lock);
    while ((job = take(crew)) != NULL) {
        pthread_mutex_unlock(&crew->lock);
        job->run(job->user);
        pthread_mutex_lock(&crew->lock);
        *crew->back_last = job;
        crew->back_last = &job->next;
        pthread_mutex_unlock(&crew->lock);
        /* Without the lock: the loop may be awake before this call returns, and would wait for it. */
        uv_async_send(&crew->async);
        pthread_mutex_lock(&crew->lock);
    }
    pthread_t before = crew->last;
    bool has_before = crew->has_last;
    crew->last = pthread_self();
    crew->has_last = true;
    crew->threads--;
    pthread_cond_signal(&crew->gone);
    pthread_mutex_unlock(&crew->lock);
    if (has_before)
        pthread_join(before, NULL);
    return NULL;
}

/* --- on the loop --------------------------------------------------------------------------------------------------------- */

static void on_async(uv_async_t *async)
{
    struct crew *crew = async->data;
    pthread_mutex_lock(&crew->lock);
    struct crew_job *job = crew->back;
    crew->back = NULL;
    crew->back_last = &crew->back;
    pthread_mutex_unlock(&crew->lock);
    while (job != NULL) {
        struct crew_job *next = job->next;
        job->done(job->user);
        job = next;
    }
}

static void on_prepare(uv_prepare_t *prepare);

struct crew *crew_new(uv_loop_t *loop, size_t most, int64_t idle_ms)
{
    pthread_condattr_t attributes;
    struct crew *crew = calloc(1, sizeof *crew);
    if (crew == NULL)
        abort();
    crew->most = most;
    crew->idle_ms = idle_ms;
    crew->queue_last = &crew->queue;
    crew->back_last = &crew->back;
    crew->fresh_last = &crew->fresh;
    pthread_mutex_init(&crew->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&crew->wake, &attributes);
    pthread_cond_init(&crew->gone, &attributes);
    pthread_condattr_destroy(&attributes);
    uv_async_init(loop, &crew->async, on_async);
    uv_prepare_init(loop, &crew->prepare);
    uv_prepare_start(&crew->prepare, on_prepare);
    uv_unref((uv_handle_t *)&crew->prepare);
    crew->async.data = crew->prepare.data = crew;
    crew->handles = 2;
    return crew;
}

/* With the lock held. */
static void start_thread(struct crew *crew)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    /* Signals are the loop's. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    if (pthread_create(&thread, &attributes, work, crew) == 0)
        crew->threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

static void on_pool(uv_work_t *request)
{
    struct crew_job *job = request->data;
    job->run(job->user);
}

static void on_pool_done(uv_work_t *request, int status)
{
    struct crew_job *job = request->data;
    job->done(job->user);
}

/* A thread for each job that no idle one will take, as far as there may be so many. With the lock held. */
static void wake_threads(struct crew *crew, size_t came)
{
    size_t waiting = crew->queued + came;
    size_t idle = crew->idle > crew->queued ? crew->idle - crew->queued : 0;
    for (size_t i = 0; i < came && i < idle; i++)
        pthread_cond_signal(&crew->wake);
    for (size_t i = crew->idle; i < waiting && crew->threads < crew->most; i++)
        start_thread(crew);
}

/* Hands what is fresh over to the threads. */
static void hand_over(struct crew *crew)
{
    struct crew_job *job = crew->fresh;
    if (job == NULL)
        return;
    pthread_mutex_lock(&crew->lock);
    wake_threads(crew, crew->fresh_count);
    bool taken = crew->threads > 0;
    if (taken) {
        *crew->queue_last = job;
        crew->queue_last = crew->fresh_last;
        crew->queued += crew->fresh_count;
    }
    pthread_mutex_unlock(&crew->lock);
    crew->fresh = NULL;
    crew->fresh_last = &crew->fresh;
    crew->fresh_count = 0;
    while (!taken && job != NULL) {
        struct crew_job *next = job->next;
        job->pool.data = job;
        uv_queue_work(crew->async.loop, &job->pool, on_pool, on_pool_done);
        job = next;
    }
}

static void on_prepare(uv_prepare_t *prepare)
{
    hand_over(prepare->data);
}

void crew_add(struct crew *crew, struct crew_job *job)
{
    job->next = NULL;
    *crew->fresh_last = job;
    crew->fresh_last = &job->next;
    if (++crew->fresh_count == FRESH_MOST)
        hand_over(crew);
}

size_t crew_size(struct crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    size_t threads = crew->threads;
    pthread_mutex_unlock(&crew->lock);
    return threads;
}

static void on_closed(uv_handle_t *handle)
{
    struct crew *crew = handle->data;
    if (--crew->handles == 0)
        free(crew);
}

void crew_free(struct crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    crew->state = CREW_CLOSING;
    pthread_cond_broadcast(&crew->wake);
    while (crew->threads > 0)
        pthread_cond_wait(&crew->gone, &crew->lock);
    pthread_mutex_unlock(&crew->lock);
    if (crew->has_last)
        pthread_join(crew->last, NULL);
    pthread_mutex_destroy(&crew->lock);
    pthread_cond_destroy(&crew->wake);
    pthread_cond_destroy(&crew->gone);
    uv_close((uv_handle_t *)&crew->async, on_closed);
    uv_close((uv_handle_t *)&crew->prepare, on_closed);
}
