/* Private to the engine: store work about one run. See task.c. */
#ifndef CADRE_ENGINE_TASK_H
#define CADRE_ENGINE_TASK_H

#include "engine/live.h"

#define TASK_BODY_MAX (16u << 20) /* bytes of a message; events repeat them a few times */

/* A task for the writer thread about one run; holds names and results only. */
struct task {
    struct engine *engine;
    struct id run;
    uint64_t epoch;
    int64_t now;     /* wall time */
    int64_t sent_at; /* on the clock of leases */
    struct buf body; /* start: the message */
    struct str session_id, user_id, workspace_id;
    struct arena arena;
    enum { TASK_START, TASK_RESUME } kind;
    struct lease lease;
    int64_t alive_at; /* the last owner's last sign of life */
    struct scope *scope;
    struct agent_place *places; /* of agents with trees, by number */
    size_t place_count;
    struct err scope_problem;
    struct run *folded;
    struct run *shadow; /* the same again, in a build that checks the fold */
    uint64_t head;
    struct inbox_message *messages;
    size_t message_count, message_capacity;
    char kind_text[16];
    struct err err;
};

struct task *task_new(struct engine *engine, struct str run_id);
void task_free(struct task *task);
/* Makes a new run known or takes over an old one; the two halves for journal_work. */
void take_work(void *task, struct store *store);
void take_done(void *task);
void release_work(void *task, struct store *store); /* releases the lease of task->epoch */
void task_renew(struct live *live);

#endif
