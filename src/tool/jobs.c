/* See jobs.h. One list under one lock; a job's thread takes the lock only to add output and to say how it ended. Whoever removes a
 * job from the list joins its thread and frees it, after the last who looks at it has gone. */
#include "tool/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/mask.h"
#include "os/clock.h"
#include "os/scope.h"
#include "tool/confined.h"
#include "tool/memory.h"
#include "tool/opened.h"
#include "tool/presence.h"
#include "tool/result.h"

#define SLICE_MS 100  /* how often a wait looks whether its call was cancelled */
#define STOP_MS 20000 /* for the end of a job that was told to stop */
#define STACK_BYTES (1u << 20)
#define HALF_LINE_MAX 4096 /* bytes of a line that are dropped with its beginning */
#define OUTPUT_KEPT 4096   /* bytes that the sandbox keeps: all of it was heard before */

struct job {
    struct job *next;
    struct jobs *jobs;
    struct arena arena;
    struct str run_id;
    uint32_t agent_no;
    int64_t number;
    pthread_t thread;
    atomic_bool cancelled;
    const struct sandbox_port *sandbox;
    const struct masker *masker;
    struct sandbox_walls walls;
    struct sandbox_command command;
    struct presences *presences;
    struct presence presence;
    /* under the lock */
    int state; /* of jobs_look */
    struct sandbox_outcome outcome;
    struct err err;
    struct buf unread;
    uint64_t dropped;
    bool cut; /* bytes before `unread` were dropped: it may begin inside a secret */
    struct changes *before;
    struct opened *opened;
    size_t lookers;
};

struct jobs {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a job has ended, or a look has */
    struct job *first;
};

struct jobs *jobs_new(void)
{
    pthread_condattr_t attributes;
    struct jobs *jobs = calloc(1, sizeof *jobs);
    if (jobs == NULL)
        abort();
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&jobs->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return jobs;
}

/* --- a job's thread --------------------------------------------------------------------------------------------------------- */

/* Only the latest is kept. */
static void on_heard(void *user, struct str bytes)
{
    struct job *job = user;
    pthread_mutex_lock(&job->jobs->lock);
    if (job->unread.n + bytes.n > 2 * (size_t)JOBS_UNREAD_MAX) {
        size_t over = job->unread.n + bytes.n - JOBS_UNREAD_MAX;
        size_t old = over < job->unread.n ? over : job->unread.n;
        memmove(job->unread.p, job->unread.p + old, job->unread.n - old);
        job->unread.n -= old;
        bytes.p += over - old;
        bytes.n -= over - old;
        job->dropped += over;
        job->cut = true;
    }
    buf_str(&job->unread, bytes);
    pthread_mutex_unlock(&job->jobs->lock);
}

static void *run(void *user)
{
    struct job *job = user;
    struct jobs *jobs = job->jobs;
    struct sandbox_outcome outcome;
    struct err err = ERR_INIT;
    int failed = job->sandbox->run(job->sandbox->self, &job->walls, &job->command, &outcome, &err);
    if (failed == 0) {
        buf_release(&outcome.output);
        buf_release(&outcome.errors);
    }
    presence_leave(job->presences, &job->presence);
    pthread_mutex_lock(&jobs->lock);
    job->state = failed == 0 ? JOB_ENDED : JOB_NOT_RUN;
    if (failed == 0)
        job->outcome = outcome;
    job->err = err;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

/* --- the list ----------------------------------------------------------------------------------------------------------------- */

static bool is_of(const struct job *job, struct str run_id, uint32_t agent_no)
{
    return str_eq(job->run_id, run_id) &&
           (agent_no == TOOL_EVERY_AGENT || job->agent_no == agent_no);
}

static struct job *find(struct jobs *jobs, const struct tool_context *context, int64_t number)
{
    struct job *job = jobs->first;
    while (job != NULL &&
           (job->number != number || !is_of(job, context->run_id, context->agent_no)))
        job = job->next;
    return job;
}

static void wait_until(struct jobs *jobs, int64_t deadline)
{
    struct timespec at = {deadline / 1000, deadline % 1000 * 1000000};
    pthread_cond_timedwait(&jobs->changed, &jobs->lock, &at);
}

static void job_free(struct job *job)
{
    if (job->walls.workspace >= 0)
        close(job->walls.workspace);
    changes_free(job->before);
    opened_free(job->opened);
    buf_release(&job->unread);
    arena_release(&job->arena);
    free(job);
}

/* Of a job that is on no list any more. Without the lock. */
static void bury(struct jobs *jobs, struct job *job)
{
    atomic_store(&job->cancelled, true);
    pthread_join(job->thread, NULL);
    pthread_mutex_lock(&jobs->lock);
    while (job->lookers > 0)
        pthread_cond_wait(&jobs->changed, &jobs->lock);
    pthread_mutex_unlock(&jobs->lock);
    job_free(job);
}

/* Takes the first that matches off the list. run_id.p == NULL: any. */
static struct job *take(struct jobs *jobs, struct str run_id, uint32_t agent_no)
{
    pthread_mutex_lock(&jobs->lock);
    struct job **at = &jobs->first, *job;
    while (*at != NULL && run_id.p != NULL && !is_of(*at, run_id, agent_no))
        at = &(*at)->next;
    job = *at;
    if (job != NULL)
        *at = job->next;
    pthread_mutex_unlock(&jobs->lock);
    return job;
}

enum tool_remains jobs_end_agent(struct jobs *jobs, struct str run_id, uint32_t agent_no)
{
    enum tool_remains remains = REMAINS_NOTHING;
    pthread_mutex_lock(&jobs->lock);
    for (struct job *job = jobs->first; job != NULL; job = job->next) {
        if (!is_of(job, run_id, agent_no))
            continue;
        atomic_store(&job->cancelled, true);
        remains = REMAINS_DYING;
    }
    pthread_mutex_unlock(&jobs->lock);
    return remains;
}

void jobs_await_agent(struct jobs *jobs, struct str run_id, uint32_t agent_no)
{
    struct job *job;
    while ((job = take(jobs, run_id, agent_no)) != NULL)
        bury(jobs, job);
}

void jobs_free(struct jobs *jobs)
{
    struct job *job;
    pthread_mutex_lock(&jobs->lock);
    for (job = jobs->first; job != NULL; job = job->next)
        atomic_store(&job->cancelled, true);
    pthread_mutex_unlock(&jobs->lock);
    while ((job = take(jobs, STR_NONE, 0)) != NULL)
        bury(jobs, job);
    pthread_mutex_destroy(&jobs->lock);
    pthread_cond_destroy(&jobs->changed);
    free(jobs);
}

/* --- starting ------------------------------------------------------------------------------------------------------------------- */

static const struct str *copy_paths(struct arena *arena, const struct str *paths, size_t count)
{
    struct str *copies = arena_alloc(arena, (count + 1) * sizeof *copies);
    for (size_t i = 0; i < count; i++)
        copies[i] = arena_copy(arena, paths[i]);
    return copies;
}

static struct job *job_new(struct jobs *jobs, const struct tool_context *context,
                           struct str command, int64_t wall_ms)
{
    struct job *job = calloc(1, sizeof *job);
    if (job == NULL)
        abort();
    struct arena *arena = &job->arena;
    arena_init(arena);
    buf_init(&job->unread, 2 * (size_t)JOBS_UNREAD_MAX);
    job->jobs = jobs;
    job->run_id = arena_copy(arena, context->run_id);
    job->agent_no = context->agent_no;
    job->sandbox = context->services->sandbox;
    job->masker = context->services->masker;
    confined_walls(context, arena, &job->walls);
    job->walls.workspace = fcntl(context->scope->fd, F_DUPFD_CLOEXEC, 0);
    job->walls.workspace_path = arena_copy(arena, job->walls.workspace_path);
    job->walls.hosts = arena_copy(arena, job->walls.hosts);
    job->walls.run = job->run_id;
    job->walls.read_paths = copy_paths(arena, context->read_paths, context->read_count);
    const char **argv = arena_alloc(arena, 4 * sizeof *argv);
    argv[0] = "/bin/sh";
    argv[1] = "-c";
    argv[2] = arena_copy(arena, command).p;
    job->command =
        (struct sandbox_command){.argv = argv,
                                 .directory = arena_copy(arena, context->working_directory),
                                 .streams = SANDBOX_JOINED,
                                 .wall_ms = wall_ms,
                                 .output_max = OUTPUT_KEPT,
                                 .cancelled = &job->cancelled,
                                 .owned_until = context->owned_until,
                                 .heard = on_heard,
                                 .user = job};
    job->presences = tool_memory_presences(context->services->memory);
    return job;
}

/* The agent's next number, and room for it: the oldest that has ended is taken off the list and returned. With the lock held. */
static int make_room(struct jobs *jobs, const struct tool_context *context, int64_t *number,
                     struct job **oldest, struct err *err)
{
    size_t running = 0, kept = 0;
    struct job **ended = NULL;
    *number = 1;
    for (struct job **at = &jobs->first; *at != NULL; at = &(*at)->next) {
        if (!is_of(*at, context->run_id, context->agent_no))
            continue;
        kept++;
        running += (*at)->state == JOB_RUNNING;
        if ((*at)->number >= *number)
            *number = (*at)->number + 1;
        if ((*at)->state != JOB_RUNNING) /* newer ones stand in front */
            ended = at;
    }
    if (running >= JOBS_RUNNING_MAX)
        return err_set(err, ERR_DENIED,
                       "%d programs run in the background already; stop one of them first",
                       JOBS_RUNNING_MAX);
    if (kept >= JOBS_KEPT_MAX && ended != NULL) {
        *oldest = *ended;
        *ended = (*oldest)->next;
    }
    return 0;
}

static int start_thread(struct job *job, struct err *err)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int failed = pthread_create(&job->thread, &attributes, run, job);
    pthread_attr_destroy(&attributes);
    return failed == 0 ? 0 : err_set(err, ERR_IO, "no thread for it: %s", strerror(failed));
}

int jobs_start(struct jobs *jobs, const struct tool_context *context, struct str command,
               int64_t wall_ms, int64_t *number, struct err *err)
{
    struct job *oldest = NULL, *job = job_new(jobs, context, command, wall_ms);
    if (job->walls.workspace < 0) {
        err_set(err, ERR_IO, "the workspace cannot be opened again: %s", strerror(errno));
        job_free(job);
        return -1;
    }
    job->before = changes_take(context);
    job->opened = opened_watch(context);
    struct tool_context own = *context; /* the presence outlives the call */
    own.run_id = job->run_id;
    presence_enter(job->presences, &own, &job->presence);
    pthread_mutex_lock(&jobs->lock);
    int failed = make_room(jobs, context, number, &oldest, err);
    job->number = *number;
    if (failed == 0)
        failed = start_thread(job, err);
    if (failed == 0) {
        job->next = jobs->first;
        jobs->first = job;
    }
    pthread_mutex_unlock(&jobs->lock);
    if (oldest != NULL)
        bury(jobs, oldest);
    if (failed != 0) {
        presence_leave(job->presences, &job->presence);
        job_free(job);
    }
    return failed;
}

/* --- looking ------------------------------------------------------------------------------------------------------------------- */

static void wait_for_end(struct jobs *jobs, const struct tool_context *context, struct job *job,
                         int64_t wait_ms)
{
    int64_t now = clock_monotonic_ms(), deadline = now + wait_ms;
    job->lookers++;
    while (job->state == JOB_RUNNING && now < deadline && !tool_cancelled(context)) {
        wait_until(jobs, now + SLICE_MS < deadline ? now + SLICE_MS : deadline);
        now = clock_monotonic_ms();
    }
    if (--job->lookers == 0)
        pthread_cond_broadcast(&jobs->changed);
}

/* The rest of a line whose beginning was dropped. */
static void drop_half_line(struct job *job)
{
    size_t n = job->unread.n < HALF_LINE_MAX ? job->unread.n : HALF_LINE_MAX;
    const char *newline = n > 0 ? memchr(job->unread.p, '\n', n) : NULL;
    size_t half = newline != NULL ? (size_t)(newline + 1 - job->unread.p) : n;
    if (!job->cut)
        return;
    memmove(job->unread.p, job->unread.p + half, job->unread.n + 1 - half); /* with its NUL */
    job->unread.n -= half;
    job->dropped += half;
    job->cut = false;
}

static void take_look(struct job *job, struct jobs_look *look)
{
    drop_half_line(job);
    /* A secret that may not have come whole waits for the next look. */
    struct str unread = buf_view(&job->unread);
    size_t held = job->state == JOB_RUNNING ? masker_pending(job->masker, unread) : 0;
    look->state = job->state;
    look->outcome = job->outcome;
    job->outcome.contacts = (struct sandbox_contacts){0}; /* told once */
    look->err = job->err;
    look->wall_ms = job->command.wall_ms;
    look->unread = job->unread;
    look->dropped = job->dropped;
    look->before = job->before;
    look->opened = job->opened;
    look->tree = presence_state(job->presences, &job->presence) == PRESENCE_SHARED ? TREE_SHARED
                                                                                   : TREE_ALONE;
    buf_init(&job->unread, look->unread.max);
    look->unread.n -= held;
    buf_add(&job->unread, unread.p + look->unread.n, held);
    if (held > 0)
        look->unread.p[look->unread.n] = '\0';
    job->dropped = 0;
    job->before = NULL;
    job->opened = NULL;
}

enum ending { ENDING_AWAITED, ENDING_FORCED };

static int look_at(struct jobs *jobs, const struct tool_context *context, int64_t number,
                   int64_t wait_ms, enum ending ending, struct jobs_look *look, struct err *err)
{
    *look = (struct jobs_look){.state = JOB_RUNNING};
    pthread_mutex_lock(&jobs->lock);
    struct job *job = find(jobs, context, number);
    if (job != NULL) {
        if (ending == ENDING_FORCED)
            atomic_store(&job->cancelled, true);
        wait_for_end(jobs, context, job, wait_ms);
        take_look(job, look);
    }
    pthread_mutex_unlock(&jobs->lock);
    if (job != NULL)
        return 0;
    return err_set(err, ERR_NOT_FOUND,
                   "there is no job %lld of yours; jobs end with the program and with each new "
                   "attempt",
                   (long long)number);
}

int jobs_look(struct jobs *jobs, const struct tool_context *context, int64_t number,
              int64_t wait_ms, struct jobs_look *look, struct err *err)
{
    return look_at(jobs, context, number, wait_ms, ENDING_AWAITED, look, err);
}

int jobs_stop(struct jobs *jobs, const struct tool_context *context, int64_t number,
              struct jobs_look *look, struct err *err)
{
    return look_at(jobs, context, number, STOP_MS, ENDING_FORCED, look, err);
}

void jobs_seen(struct jobs *jobs, const struct tool_context *context, int64_t number,
               struct jobs_look *look, struct changes *now)
{
    pthread_mutex_lock(&jobs->lock);
    struct job *job = find(jobs, context, number);
    if (job != NULL && job->before == NULL) {
        job->before = now;
        now = NULL;
    }
    if (job != NULL && job->opened == NULL && look->state == JOB_RUNNING) {
        job->opened = look->opened;
        look->opened = NULL;
    }
    pthread_mutex_unlock(&jobs->lock);
    changes_free(now);
}

void jobs_look_release(struct jobs_look *look)
{
    buf_release(&look->unread);
    changes_free(look->before);
    opened_free(look->opened);
    look->before = NULL;
    look->opened = NULL;
}
