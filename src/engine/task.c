/* Store work about one run, done on the writer thread: taking its lease, folding its log, looking into its inbox, renewing. Each is a task
 * that holds names and results only; its second half runs on the loop and finds the run by its id. */
#include "engine/task.h"

#include <stdlib.h>

#include "engine/plane.h"
#include "engine/wake.h"

#define LEASE_TRIES 4 /* each time a holder turned out to be dead */

struct task *task_new(struct engine *engine, struct str run_id)
{
    struct task *task = calloc(1, sizeof *task);
    if (task == NULL)
        abort();
    task->engine = engine;
    memcpy(task->run.text, run_id.p, run_id.n < ID_LENGTH ? run_id.n : ID_LENGTH);
    task->now = engine_wall(engine);
    task->sent_at = engine->config.boottime();
    arena_init(&task->arena);
    buf_init(&task->body, TASK_BODY_MAX);
    return task;
}

void task_free(struct task *task)
{
    arena_release(&task->arena);
    buf_release(&task->body);
    free(task->messages);
    if (task->scope != NULL)
        task->engine->config.tools->close_scope(task->scope);
    places_close(task->engine, task->places, task->place_count);
    run_free(task->folded);
    run_free(task->shadow);
    free(task);
}

void release_work(void *user, struct store *store)
{
    struct task *task = user;
    struct err ignored = ERR_INIT;
    /* A lease that cannot be released runs out by itself. */
    if (store->ops->release(store, id_str(&task->run), task->epoch, &ignored) != 0)
        task->err = ignored;
}

static void release_forgotten(void *task)
{
    task_free(task);
}

/* A lease that came when nobody wanted the run any more. */
static void give_back(struct task *task)
{
    struct task *release = task_new(task->engine, id_str(&task->run));
    release->epoch = task->epoch;
    journal_work(task->engine->journal, release, release_work, release_forgotten);
}

/* --- the inbox ----------------------------------------------------------------------------------------------------------------------- */

static int take_message(void *user, const struct inbox_message *message)
{
    struct task *task = user;
    if (task->message_count == task->message_capacity) {
        task->message_capacity = task->message_capacity * 2 + 8;
        task->messages = realloc(task->messages, task->message_capacity * sizeof *task->messages);
        if (task->messages == NULL)
            abort();
    }
    struct inbox_message *copy = &task->messages[task->message_count++];
    *copy = *message;
    copy->kind = arena_copy(&task->arena, message->kind);
    copy->body = arena_copy(&task->arena, message->body);
    copy->sender = arena_copy(&task->arena, message->sender);
    return 0;
}

static void look_work(void *user, struct store *store)
{
    struct task *task = user;
    if (store->ops->inbox_take(store, id_str(&task->run), task->epoch, take_message, task,
                               &task->err) != 0 &&
        task->err.class == ERR_NONE)
        err_set(&task->err, ERR_IO, "cannot read the inbox");
}

static void feed_messages(struct live *live, const struct task *task)
{
    for (size_t i = 0; i < task->message_count && !live->ending; i++) {
        const struct inbox_message *message = &task->messages[i];
        if (message->id <= live->inbox_seen)
            continue;
        live->inbox_seen = message->id;
        struct input input = {.kind = INPUT_INBOX,
                              .now = engine_now(live->engine),
                              .inbox_id = message->id,
                              .message_kind = message->kind,
                              .body = message->body,
                              .sender = message->sender};
        live_input(live, &input);
    }
}

static void look_done(void *user)
{
    struct task *task = user;
    struct live *live = engine_live(task->engine, id_str(&task->run));
    if (live != NULL && !live->ending && live->epoch == task->epoch) {
        live->inbox_busy = false;
        if (task->err.class == ERR_CANCELLED) {
            live_let_go(live, &task->err);
        } else {
            feed_messages(live, task);
            if (live->inbox_again && !live->ending) {
                live->inbox_again = false;
                live_look_into_inbox(live);
            }
        }
    }
    task_free(task);
}

void live_look_into_inbox(struct live *live)
{
    if (live->ending || live->pump == NULL)
        return;
    if (live->inbox_busy) {
        live->inbox_again = true;
        return;
    }
    live->inbox_busy = true;
    struct task *task = task_new(live->engine, id_str(&live->id));
    task->epoch = live->epoch;
    journal_work(live->engine->journal, task, look_work, look_done);
}

/* --- taking a run ---------------------------------------------------------------------------------------------------------------------- */

/* Takes the lease; a holder that is dead on this machine is not waited for. */
static int take_lease(struct task *task, struct store *store)
{
    const struct engine *engine = task->engine;
    struct str id = id_str(&task->run);
    for (int tries = 0; tries < LEASE_TRIES; tries++) {
        if (store->ops->lease(store, id, engine->owner, LEASE_MS, task->sent_at, &task->lease,
                              &task->err) != 0)
            return -1;
        if (task->lease.epoch > 0) {
            task->alive_at = task->lease.replaced_expires_at - LEASE_MS;
            return 0;
        }
        enum wake_result holder = wake_owner(engine->store_path, str_from(task->lease.holder));
        if (holder == WAKE_SENT)
            return err_set(&task->err, ERR_RETRY,
                           "run %.*s is owned by a living process (%s): cancel it with `cadre "
                           "cancel`, or wait for it",
                           STR_FMT(id), task->lease.holder);
        if (holder != WAKE_GONE)
            break;
        /* Another process may be taking the run over as well: then it is the holder that the next try names. */
        struct err released = ERR_INIT;
        if (store->ops->release(store, id, task->lease.held_epoch, &released) != 0 &&
            released.class != ERR_CANCELLED)
            break;
    }
    return err_set(
        &task->err, ERR_RETRY,
        "run %.*s belongs to process %s, which cannot be asked whether it lives: its lease ends "
        "%d seconds after it was last renewed; try again then",
        STR_FMT(id), task->lease.holder, LEASE_MS / 1000);
}

/* Nobody else knows the run yet: its lease is ours. */
/* What the control plane says now goes into the start message: a run keeps to it. */
static int add_control(struct task *task, struct store *store)
{
    const struct plane_ids ids = {task->session_id, task->user_id, task->workspace_id};
    struct plane plane;
    struct control control;
    struct jw w;
    int result = plane_load(&plane, store, &ids, &task->err) != 0 ||
                         plane_control(&plane, &control, &task->err) != 0
                     ? -1
                     : 0;
    if (result == 0 && !control_is_empty(&control)) {
        task->body.n--; /* its closing bracket */
        buf_text(&task->body, ",\"control\":");
        jw_init(&w, &task->body);
        control_print(&control, &w);
        buf_char(&task->body, '}');
        if (task->body.failed)
            result = err_set(&task->err, ERR_CONFIG,
                             "the agent registry and its profiles are too large");
    }
    plane_release(&plane);
    return result;
}

static int begin_run(struct task *task, struct store *store)
{
    int64_t message_id;
    if (add_control(task, store) != 0 ||
        run_preflight(id_str(&task->run), buf_view(&task->body), task->now, &task->err) != 0)
        return -1;
    const struct run_begin begin = {.run_id = id_str(&task->run),
                                    .session_id = task->session_id,
                                    .user_id = task->user_id,
                                    .workspace_id = task->workspace_id,
                                    .body = buf_view(&task->body),
                                    .sender = task->engine->owner,
                                    .owner = task->engine->owner,
                                    .ttl_ms = LEASE_MS,
                                    .sent_at = task->sent_at,
                                    .now = task->now};
    return store->ops->begin(store, &begin, &task->lease, &message_id, &task->err);
}

/* Where the run works: as its log says, or its start message when it has not begun. */
static struct str workspace_of(struct task *task)
{
    struct str path = run_workspace(task->folded);
    struct err ignored = ERR_INIT;
    for (size_t i = 0; path.n == 0 && i < task->message_count; i++) {
        struct js *body = str_is(task->messages[i].kind, "start")
                              ? js_parse(task->messages[i].body, &ignored)
                              : NULL;
        path = arena_copy(&task->arena, js_get_str(body, "workspace_path"));
        js_free(body);
    }
    return path;
}

/* A workspace that is gone does not end the run here: its tools say so. */
static void open_workspace(struct task *task)
{
    const struct engine_config *config = &task->engine->config;
    if (config->tools->open_scope(workspace_of(task), config->denied_paths, config->denied_count,
                                  &task->scope, &task->scope_problem) != 0)
        task->scope = NULL;
}

void take_work(void *user, struct store *store)
{
    struct task *task = user;
    struct hash hash;
    if ((task->kind == TASK_START ? begin_run(task, store) : take_lease(task, store)) != 0)
        return;
    task->epoch = task->lease.epoch;
    if (task->kind == TASK_RESUME) {
        if (store->ops->head(store, id_str(&task->run), &task->head, &hash, &task->err) != 0 ||
            fold_run(store, id_str(&task->run), &task->folded, &task->err) != 0)
            return;
#ifdef CADRE_CHECK_FOLD
        if (fold_run(store, id_str(&task->run), &task->shadow, &task->err) != 0)
            return;
#endif
    } else {
        task->folded = run_new(id_str(&task->run));
    }
    look_work(task, store);
    open_workspace(task);
    if (task->kind == TASK_RESUME)
        task->places = places_open(task->engine, task->folded, &task->place_count);
}

void take_done(void *user)
{
    struct task *task = user;
    struct live *live = engine_live(task->engine, id_str(&task->run));
    if (live == NULL || live->ending) {
        if (task->epoch > 0)
            give_back(task);
        task_free(task);
        return;
    }
    live->epoch = task->epoch;
    if (task->epoch > 0)
        ownership_begin(live, task->sent_at);
    if (task->err.class != ERR_NONE) {
        live_let_go(live, &task->err);
        task_free(task);
        return;
    }
    live->ahead = run_time_ahead(task->folded, task->alive_at, engine_now(live->engine));
    bool ended = run_ended(task->folded);
    bool resumes = run_state(task->folded) != RUN_NEW;
    live->scope = task->scope;
    live->scope_problem = task->scope_problem;
    task->scope = NULL;
    places_take(live, task->places, task->place_count);
    task->places = NULL;
    task->place_count = 0;
    live_open(live, task->folded, task->head);
    if (task->shadow != NULL)
        pump_shadow(live->pump, task->shadow);
    task->shadow = NULL;
    task->folded = NULL;
    if (ended) {
        live_end(live);
    } else {
        struct input input = {.kind = INPUT_RESUME,
                              .now = engine_now(live->engine),
                              .owner = live->engine->owner,
                              .epoch = live->epoch,
                              .alive_at = task->alive_at,
                              .asker = str_from(asker_text(live->engine->config.watch.asker)),
                              .walls = live->engine->config.walls,
                              .broken = live->engine->config.watch.broken};
        if (resumes)
            live_input(live, &input);
        feed_messages(live, task);
    }
    task_free(task);
}

/* --- renewing ------------------------------------------------------------------------------- */

static void renew_work(void *user, struct store *store)
{
    struct task *task = user;
    if (store->ops->renew(store, id_str(&task->run), task->epoch, LEASE_MS, task->sent_at,
                          &task->err) != 0 &&
        task->err.class == ERR_NONE)
        err_set(&task->err, ERR_IO, "cannot renew the lease");
}

static void renew_done(void *user)
{
    struct task *task = user;
    struct live *live = engine_live(task->engine, id_str(&task->run));
    /* A busy store is asked again with the next beat; a takeover, and a store that is gone, end the run here. */
    if (live != NULL && live->epoch == task->epoch) {
        live->renewing = false;
        if (task->err.class == ERR_CANCELLED || task->err.class == ERR_NOT_FOUND)
            live_let_go(live, &task->err);
        else if (task->err.class == ERR_NONE)
            ownership_renewed(live, task->sent_at);
    }
    task_free(task);
}

void task_renew(struct live *live)
{
    struct task *task = task_new(live->engine, id_str(&live->id));
    task->epoch = live->epoch;
    journal_work(live->engine->journal, task, renew_work, renew_done);
}
