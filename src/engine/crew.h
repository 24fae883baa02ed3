/* Threads for work that may block: files, programs, the network. One is started when a job comes and none is idle, up to a maximum;
 * jobs beyond that wait in the order in which they came; a thread without work ends after a while. What is added in one turn of
 * the loop is handed over together, at the latest before the loop waits.
 *
 * Threads: everything is called on the loop thread, except `run`. Ownership: a job is the caller's memory, and its again when
 * `done` is called. */
#ifndef CADRE_ENGINE_CREW_H
#define CADRE_ENGINE_CREW_H

#include <stdint.h>
#include <uv.h>

struct crew;

struct crew_job {
    struct crew_job *next;    /* the crew's */
    void (*run)(void *user);  /* on a thread of the crew; may block */
    void (*done)(void *user); /* then, on the loop */
    void *user;
    uv_work_t pool; /* the crew's: where no thread can be started, libuv's pool does it */
};

/* idle_ms: how long a thread waits for another job. Aborts without memory. */
struct crew *crew_new(uv_loop_t *loop, size_t most, int64_t idle_ms);
void crew_add(struct crew *crew, struct crew_job *job);
/* Threads that there are now. */
size_t crew_size(struct crew *crew);
/* Every job must be done. Waits for the threads, which have nothing left to do. The loop must run until its handles are closed. */
void crew_free(struct crew *crew);

#endif
