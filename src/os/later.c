/* Timers and pool work on libuv; see the header. Loop thread. */
#include "os/later.h"

#include <stdlib.h>
#include <uv.h>

struct later {
    uv_timer_t timer;
    void (*fire)(void *user);
    void *user;
};

struct job {
    uv_work_t work;
    void (*run)(void *user);
    void (*after)(void *user);
    void *user;
};

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

struct later *later_new(struct uv_loop_s *loop, void (*fire)(void *user), void *user)
{
    struct later *later = must(calloc(1, sizeof *later));
    uv_timer_init(loop, &later->timer);
    later->timer.data = later;
    later->fire = fire;
    later->user = user;
    return later;
}

static void on_timer(uv_timer_t *timer)
{
    struct later *later = timer->data;
    later->fire(later->user);
}

void later_set(struct later *later, int64_t ms)
{
    uv_timer_start(&later->timer, on_timer, ms > 0 ? (uint64_t)ms : 0, 0);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void later_free(struct later *later)
{
    uv_close((uv_handle_t *)&later->timer, on_closed);
}

static void on_work(uv_work_t *work)
{
    struct job *job = work->data;
    job->run(job->user);
}

static void on_after(uv_work_t *work, int status)
{
    struct job *job = work->data;
    job->after(job->user);
    free(job);
}

void later_work(struct uv_loop_s *loop, void (*work)(void *user), void (*after)(void *user),
                void *user)
{
    struct job *job = must(calloc(1, sizeof *job));
    *job = (struct job){.run = work, .after = after, .user = user};
    job->work.data = job;
    /* It refuses only a job without a function. */
    if (uv_queue_work(loop, &job->work, on_work, on_after) != 0)
        abort();
}
