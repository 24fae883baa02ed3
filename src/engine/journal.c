/* See journal.h. Two lists under one lock: what waits for the writer, and what came back for the loop. The writer takes all that
 * waits in one go; consecutive appends of that become one call of the store's append. A third list is the loop's own: what came in
 * this turn of it, and is handed over when there is much of it or the loop is about to wait. Nobody sees an answer before that, and
 * a commit for each batch would cost more than the batches. */
#include "engine/journal.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define GROUP_MAX 1024    /* batches in one transaction, and … */
#define GROUP_EVENTS 4096 /* … events, of several batches: bounds how long the others wait */
#define FRESH_MOST 64     /* that are wanted soon and wait for the end of a turn */

struct job {
    struct job *next;
    struct batch *batch; /* an append, or … */
    void *task;          /* … store work */
    journal_work_fn *work;
    journal_done_fn *done;
};

struct journal {
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct job *queue, **queue_last;
    struct job *back, **back_last;
    enum { JOURNAL_OPENING, JOURNAL_OPEN, JOURNAL_CLOSING } state;
    bool urgent;
    struct job *fresh, **fresh_last; /* the loop's own, with … */
    size_t fresh_soon;               /* … so many that are wanted soon */
    size_t pending;
    uv_async_t async;
    uv_prepare_t prepare;
    int handles; /* still open, while it is freed */
    struct store_opener opener;
    struct store *store;
    journal_append_fn *appended;
    void *user;
    struct err open_err;
};

static void append_group(struct journal *journal, struct job **jobs, size_t count)
{
    struct append_batch batches[GROUP_MAX];
    for (size_t i = 0; i < count; i++)
        batches[i] = jobs[i]->batch->append;
    journal->store->ops->append(journal->store, batches, count);
    for (size_t i = 0; i < count; i++) {
        jobs[i]->batch->append.result = batches[i].result;
        jobs[i]->batch->append.err = batches[i].err;
    }
}

/* Works off a list in order; answers are handed back after each group, so that the loop goes on while the rest is written. */
static void work_off(struct journal *journal, struct job *job)
{
    struct job *group[GROUP_MAX];
    while (job != NULL) {
        struct job *first = job;
        size_t count = 0, events = 0;
        for (; job != NULL && job->batch != NULL && count < GROUP_MAX; job = job->next) {
            events += job->batch->append.event_count;
            if (count > 0 && events > GROUP_EVENTS)
                break;
            group[count++] = job;
        }
        if (count > 0) {
            append_group(journal, group, count);
        } else {
            job->work(job->task, journal->store);
            group[count++] = job;
            job = job->next;
        }
        pthread_mutex_lock(&journal->lock);
        *journal->back_last = first;
        journal->back_last = &group[count - 1]->next;
        *journal->back_last = NULL;
        pthread_mutex_unlock(&journal->lock);
        uv_async_send(&journal->async);
    }
}

static void *writer(void *user)
{
    struct journal *journal = user;
    int opened = journal->opener.open(journal->opener.user, &journal->store, &journal->open_err);
    pthread_mutex_lock(&journal->lock);
    /* The owner may have given up while the store was being opened: that state stays. */
    if (journal->state == JOURNAL_OPENING)
        journal->state = JOURNAL_OPEN;
    pthread_cond_broadcast(&journal->wake);
    while (opened == 0) {
        while (journal->state == JOURNAL_OPEN && !journal->urgent)
            pthread_cond_wait(&journal->wake, &journal->lock);
        struct job *jobs = journal->queue;
        journal->queue = NULL;
        journal->queue_last = &journal->queue;
        journal->urgent = false;
        bool closing = journal->state == JOURNAL_CLOSING;
        pthread_mutex_unlock(&journal->lock);
        work_off(journal, jobs);
        pthread_mutex_lock(&journal->lock);
        if (closing && journal->queue == NULL)
            break;
    }
    pthread_mutex_unlock(&journal->lock);
    if (opened == 0)
        journal->store->ops->close(journal->store);
    return NULL;
}

/* Hands what came back to its owners, on the loop. */
static void deliver(struct journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    struct job *job = journal->back;
    journal->back = NULL;
    journal->back_last = &journal->back;
    pthread_mutex_unlock(&journal->lock);
    while (job != NULL) {
        struct job *next = job->next;
        journal->pending--;
        if (job->batch != NULL)
            journal->appended(journal->user, job->batch);
        else
            job->done(job->task);
        free(job);
        job = next;
    }
}

static void on_async(uv_async_t *async)
{
    deliver(async->data);
}

/* Gives the writer what is fresh. With the lock held. */
static void hand_over(struct journal *journal)
{
    if (journal->fresh != NULL) {
        *journal->queue_last = journal->fresh;
        journal->queue_last = journal->fresh_last;
    }
    journal->fresh = NULL;
    journal->fresh_last = &journal->fresh;
    journal->fresh_soon = 0;
    journal->urgent = true;
    pthread_cond_signal(&journal->wake);
}

static void write_soon(struct journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    hand_over(journal);
    pthread_mutex_unlock(&journal->lock);
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct journal *journal = prepare->data;
    if (journal->fresh_soon > 0)
        write_soon(journal);
}

struct journal *journal_new(uv_loop_t *loop, const struct store_opener *opener,
                            journal_append_fn *appended, void *user)
{
    struct journal *journal = calloc(1, sizeof *journal);
    sigset_t all, before;
    if (journal == NULL)
        abort();
    journal->opener = *opener;
    journal->appended = appended;
    journal->user = user;
    journal->queue_last = &journal->queue;
    journal->back_last = &journal->back;
    journal->fresh_last = &journal->fresh;
    pthread_mutex_init(&journal->lock, NULL);
    pthread_cond_init(&journal->wake, NULL);
    uv_async_init(loop, &journal->async, on_async);
    uv_prepare_init(loop, &journal->prepare);
    uv_prepare_start(&journal->prepare, on_prepare);
    uv_unref((uv_handle_t *)&journal->prepare);
    journal->async.data = journal->prepare.data = journal;
    journal->handles = 2;
    /* Signals are the loop's. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    journal->has_thread = pthread_create(&journal->thread, NULL, writer, journal) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return journal;
}

int journal_opened(struct journal *journal, struct err *err)
{
    if (!journal->has_thread)
        return err_set(err, ERR_IO, "cannot start the journal's thread");
    pthread_mutex_lock(&journal->lock);
    while (journal->state == JOURNAL_OPENING)
        pthread_cond_wait(&journal->wake, &journal->lock);
    pthread_mutex_unlock(&journal->lock);
    if (journal->open_err.class == ERR_NONE)
        return 0;
    *err = journal->open_err;
    return -1;
}

static void on_closed(uv_handle_t *handle)
{
    struct journal *journal = handle->data;
    if (--journal->handles == 0)
        free(journal);
}

void journal_free(struct journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    journal->state = JOURNAL_CLOSING;
    hand_over(journal);
    pthread_mutex_unlock(&journal->lock);
    if (journal->has_thread)
        pthread_join(journal->thread, NULL);
    deliver(journal);
    pthread_mutex_destroy(&journal->lock);
    pthread_cond_destroy(&journal->wake);
    uv_close((uv_handle_t *)&journal->async, on_closed);
    uv_close((uv_handle_t *)&journal->prepare, on_closed);
}

static void enqueue(struct journal *journal, struct job *job, enum urgency urgency)
{
    journal->pending++;
    *journal->fresh_last = job;
    journal->fresh_last = &job->next;
    if (urgency == APPEND_SOON && ++journal->fresh_soon == FRESH_MOST)
        write_soon(journal);
}

static struct job *job_new(void)
{
    struct job *job = calloc(1, sizeof *job);
    if (job == NULL)
        abort();
    return job;
}

void journal_append(struct journal *journal, struct batch *batch, enum urgency urgency)
{
    struct job *job = job_new();
    job->batch = batch;
    enqueue(journal, job, urgency);
}

void journal_work(struct journal *journal, void *task, journal_work_fn *work, journal_done_fn *done)
{
    struct job *job = job_new();
    job->task = task;
    job->work = work;
    job->done = done;
    enqueue(journal, job, APPEND_SOON);
}

size_t journal_pending(const struct journal *journal)
{
    return journal->pending;
}
