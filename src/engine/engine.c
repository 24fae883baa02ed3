/* The engine: see engine.h. This file holds runs from lease to end; ask.c and work.c carry out effects, journal.c writes. */
#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/live.h"
#include "engine/wake.h"

#define LEASE_MS 15000
#define HEARTBEAT_MS                                                                               \
    3000 /* renews leases; also a look into the inboxes, should a wake-up have been lost */

/* --- ports of the pump ------------------------------------------------------------------------------------------------------ */

static void on_append(void *user, struct pump *pump, struct batch *batch, enum urgency urgency)
{
    struct live *live = user;
    journal_append(live->engine->journal, batch, urgency);
}

static void put_question(struct live *live, const struct effect *effect)
{
    const struct engine_watch *watch = &live->engine->config.watch;
    if (watch->question != NULL)
        watch->question(watch->user, id_str(&live->id), effect->agent_no, effect->call_id,
                        effect->tool, effect->arguments);
}

static void on_start(void *user, struct pump *pump, const struct effect *effect)
{
    struct live *live = user;
    if (live->ending)
        return;
    if (effect->kind == EFFECT_MODEL)
        ask_start(live, effect);
    else if (effect->kind == EFFECT_ASK)
        put_question(live, effect);
    else
        work_start(live, effect);
}

static void on_abort(void *user, struct pump *pump, uint32_t agent_no, struct str call_id)
{
    struct flight *flight = flight_find(user, agent_no, call_id);
    if (flight != NULL)
        flight->abort(flight);
}

/* --- a live run ---------------------------------------------------------------------------------------------------------------- */

struct live *engine_live(struct engine *engine, struct str run_id)
{
    return map_get(&engine->lives, run_id);
}

static void on_deadline(uv_timer_t *timer);

static void arm(struct live *live)
{
    int64_t at = run_deadline(pump_run(live->pump)), now = live->engine->config.now();
    if (live->ending || at == INT64_MAX)
        uv_timer_stop(live->timer);
    else
        uv_timer_start(live->timer, on_deadline, at > now ? (uint64_t)(at - now) : 0, 0);
}

void live_input(struct live *live, const struct input *input)
{
    struct err err = ERR_INIT;
    if (live->ending)
        return;
    if (pump_input(live->pump, input, &err) != 0) {
        live_let_go(live, &err);
        return;
    }
    arm(live);
}

static void on_deadline(uv_timer_t *timer)
{
    struct live *live = timer->data;
    struct input input = {.kind = INPUT_TICK, .now = live->engine->config.now()};
    live_input(live, &input);
}

static struct live *live_new(struct engine *engine, struct str run_id)
{
    struct live *live = calloc(1, sizeof *live);
    if (live == NULL)
        abort();
    live->engine = engine;
    memcpy(live->id.text, run_id.p, ID_LENGTH);
    live->timer = malloc(sizeof *live->timer);
    if (live->timer == NULL)
        abort();
    uv_timer_init(engine->config.loop, live->timer);
    live->timer->data = live;
    map_set(&engine->lives, id_str(&live->id), live);
    return live;
}

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

static void live_free(struct live *live)
{
    map_remove(&live->engine->lives, id_str(&live->id));
    while (live->flights != NULL) {
        struct flight *flight = live->flights;
        flight_unlink(flight); /* its answer will find no run */
        flight->abort(flight);
    }
    rendered_release(live);
    uv_close((uv_handle_t *)live->timer, free_handle);
    pump_free(live->pump);
    free(live);
}

/* --- store work ------------------------------------------------------------------------------------------------------------------ */

/* A task for the writer thread about one run; holds names and results only. */
struct task {
    struct engine *engine;
    struct id run;
    uint64_t epoch;
    int64_t now;
    struct buf body; /* start: the message */
    struct str session_id, user_id, workspace_id;
    struct arena arena;
    enum { TASK_START, TASK_RESUME } kind;
    struct lease lease;
    struct run *folded;
    uint64_t head;
    struct inbox_message *messages;
    size_t message_count, message_capacity;
    char kind_text[16];
    struct err err;
};

static struct task *task_new(struct engine *engine, struct str run_id)
{
    struct task *task = calloc(1, sizeof *task);
    if (task == NULL)
        abort();
    task->engine = engine;
    memcpy(task->run.text, run_id.p, run_id.n < ID_LENGTH ? run_id.n : ID_LENGTH);
    task->now = engine->config.now();
    arena_init(&task->arena);
    buf_init(&task->body, 16u << 20);
    return task;
}

static void task_free(struct task *task)
{
    arena_release(&task->arena);
    buf_release(&task->body);
    free(task->messages);
    run_free(task->folded);
    free(task);
}

static void release_work(void *user, struct store *store)
{
    struct task *task = user;
    struct err ignored = ERR_INIT;
    /* A lease that cannot be released runs out by itself. */
    if (store->ops->release(store, id_str(&task->run), task->epoch, &ignored) != 0)
        task->err = ignored;
}

static void release_done(void *user)
{
    struct task *task = user;
    struct live *live = engine_live(task->engine, id_str(&task->run));
    struct engine_watch watch = task->engine->config.watch;
    if (live != NULL) {
        if (watch.end != NULL)
            watch.end(watch.user, id_str(&live->id),
                      live->pump != NULL ? pump_run(live->pump) : NULL,
                      live->failure.class != ERR_NONE ? &live->failure : NULL);
        live_free(live);
    }
    task_free(task);
}

static void live_end(struct live *live)
{
    struct task *task = task_new(live->engine, id_str(&live->id));
    live->ending = true;
    uv_timer_stop(live->timer);
    task->epoch = live->epoch;
    journal_work(live->engine->journal, task, release_work, release_done);
}

void live_let_go(struct live *live, const struct err *failure)
{
    if (live->ending)
        return;
    live->failure = *failure;
    live_end(live);
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
                              .now = live->engine->config.now(),
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
    for (int tries = 0; tries < 2; tries++) {
        if (store->ops->lease(store, id, engine->owner, LEASE_MS, task->now, &task->lease,
                              &task->err) != 0)
            return -1;
        if (task->lease.epoch > 0)
            return 0;
        if (wake_owner(engine->store_path, str_from(task->lease.holder)) != WAKE_GONE)
            break;
        struct err ignored = ERR_INIT;
        if (store->ops->release(store, id, task->lease.held_epoch, &ignored) != 0)
            break;
    }
    return err_set(
        &task->err, ERR_RETRY,
        "run %.*s is owned by a living process (%s): cancel it with `cadre cancel`, or wait for it",
        STR_FMT(id), task->lease.holder);
}

static void take_work(void *user, struct store *store)
{
    struct task *task = user;
    int64_t message_id;
    struct hash hash;
    if (task->kind == TASK_START &&
        (store->ops->session_ensure(store, task->session_id, task->user_id, task->workspace_id,
                                    task->now, &task->err) != 0 ||
         store->ops->inbox_put(store, id_str(&task->run), STR("start"), buf_view(&task->body),
                               task->engine->owner, task->now, &message_id, &task->err) != 0))
        return;
    if (take_lease(task, store) != 0)
        return;
    task->epoch = task->lease.epoch;
    if (task->kind == TASK_RESUME) {
        if (store->ops->head(store, id_str(&task->run), &task->head, &hash, &task->err) != 0 ||
            fold_run(store, id_str(&task->run), &task->folded, &task->err) != 0)
            return;
    } else {
        task->folded = run_new(id_str(&task->run));
    }
    look_work(task, store);
}

static void take_done(void *user)
{
    struct task *task = user;
    struct live *live = engine_live(task->engine, id_str(&task->run));
    if (live == NULL || live->ending) {
        task_free(task);
        return;
    }
    live->epoch = task->epoch;
    if (task->err.class != ERR_NONE) {
        live_let_go(live, &task->err);
        task_free(task);
        return;
    }
    struct pump_ports ports = {on_append, on_start, on_abort, live};
    bool ended = run_state(task->folded) > RUN_RUNNING;
    bool resumes = run_state(task->folded) == RUN_RUNNING;
    live->pump = pump_new(task->folded, task->epoch, task->head, &ports);
    task->folded = NULL;
    if (ended) {
        live_end(live);
    } else {
        struct input input = {.kind = INPUT_RESUME,
                              .now = live->engine->config.now(),
                              .owner = live->engine->owner,
                              .epoch = live->epoch};
        if (resumes)
            live_input(live, &input);
        feed_messages(live, task);
    }
    task_free(task);
}

/* --- the journal's answers --------------------------------------------------------------------------------------------------------------- */

/* Disk trouble: what was acknowledged is safe, what is in flight is not known. Every run is let go of. */
static void store_failed(struct engine *engine, const struct err *err)
{
    size_t cursor = 0;
    struct str key;
    void *live;
    while (map_next(&engine->lives, &cursor, &key, &live))
        live_let_go(live, err);
}

static void drop_finished(struct live *live, const struct batch *batch)
{
    for (size_t i = 0; i < batch->append.event_count; i++) {
        if (str_is(batch->append.events[i].type, "agent.subagent_closed"))
            rendered_drop(live, batch->append.events[i].agent_no);
    }
}

static void on_appended(void *user, struct batch *batch)
{
    struct engine *engine = user;
    struct live *live = engine_live(engine, batch->append.run_id);
    const struct engine_watch *watch = &engine->config.watch;
    if (live == NULL || live->pump == NULL || live->epoch != batch->append.epoch) {
        batch_free(batch);
        return;
    }
    if (batch->append.result == APPEND_DURABLE) {
        for (size_t i = 0; watch->event != NULL && i < batch->append.event_count; i++)
            watch->event(watch->user, pump_run(live->pump), &batch->append.events[i]);
        drop_finished(live, batch);
        if (!live->ending) {
            pump_durable(live->pump, batch->last_seq);
            arm(live);
            if (run_state(pump_run(live->pump)) > RUN_RUNNING &&
                pump_durable_seq(live->pump) == run_seq(pump_run(live->pump)))
                live_end(live);
        }
    } else if (batch->append.result == APPEND_UNKNOWN) {
        store_failed(engine, &batch->append.err);
    } else {
        live_let_go(live, &batch->append.err);
    }
    batch_free(batch);
}

/* --- heartbeat ------------------------------------------------------------------------------------------------------------------------------- */

static void renew_work(void *user, struct store *store)
{
    struct task *task = user;
    if (store->ops->renew(store, id_str(&task->run), task->epoch, LEASE_MS, task->now,
                          &task->err) != 0 &&
        task->err.class == ERR_NONE)
        err_set(&task->err, ERR_IO, "cannot renew the lease");
}

static void renew_done(void *user)
{
    struct task *task = user;
    struct live *live = engine_live(task->engine, id_str(&task->run));
    /* Only a real takeover ends the run here; a busy store is asked again with the next beat. */
    if (live != NULL && live->epoch == task->epoch && task->err.class == ERR_CANCELLED)
        live_let_go(live, &task->err);
    task_free(task);
}

static void on_heartbeat(uv_timer_t *timer)
{
    struct engine *engine = timer->data;
    size_t cursor = 0;
    struct str key;
    void *item;
    while (map_next(&engine->lives, &cursor, &key, &item)) {
        struct live *live = item;
        if (live->ending || live->pump == NULL)
            continue;
        struct task *task = task_new(engine, id_str(&live->id));
        task->epoch = live->epoch;
        journal_work(engine->journal, task, renew_work, renew_done);
        live_look_into_inbox(live);
    }
}

/* --- the engine itself ------------------------------------------------------------------------------------------------------------------------- */

int engine_new(const struct engine_config *config, struct engine **out, struct err *err)
{
    uint8_t entropy[10];
    struct engine *engine = calloc(1, sizeof *engine);
    if (engine == NULL)
        abort();
    engine->config = *config;
    arena_init(&engine->arena);
    map_init(&engine->lives);
    engine->store_path = arena_copy(&engine->arena, config->store_path);
    config->entropy(entropy, sizeof entropy);
    struct id name = id_make(config->now(), entropy);
    engine->owner = arena_printf(&engine->arena, "%d-%s", (int)getpid(), name.text);
    if (journal_new(config->loop, &config->store, on_appended, engine, &engine->journal, err) != 0)
        goto fail;
    engine->wake = wake_new(engine, err);
    if (engine->wake == NULL) {
        journal_free(engine->journal);
        goto fail;
    }
    engine->heartbeat = malloc(sizeof *engine->heartbeat);
    if (engine->heartbeat == NULL)
        abort();
    uv_timer_init(config->loop, engine->heartbeat);
    engine->heartbeat->data = engine;
    uv_timer_start(engine->heartbeat, on_heartbeat, HEARTBEAT_MS, HEARTBEAT_MS);
    uv_unref((uv_handle_t *)engine->heartbeat);
    *out = engine;
    return 0;
fail:
    map_release(&engine->lives);
    arena_release(&engine->arena);
    free(engine);
    return -1;
}

void engine_free(struct engine *engine)
{
    if (engine == NULL)
        return;
    /* The process that started these runs goes away: their leases are released, and they can be resumed at once. */
    size_t cursor = 0;
    struct str key;
    void *item;
    struct err stopped = ERR_INIT;
    err_set(&stopped, ERR_CANCELLED,
            "the program ended before the run did; go on with `cadre resume`");
    while (map_next(&engine->lives, &cursor, &key, &item))
        live_let_go(item, &stopped);
    wake_free(engine->wake);
    journal_free(engine->journal);
    uv_close((uv_handle_t *)engine->heartbeat, free_handle);
    /* What is under way answers on the loop; it was told to stop. */
    while (engine->flights > 0)
        uv_run(engine->config.loop, UV_RUN_ONCE);
    map_release(&engine->lives);
    arena_release(&engine->arena);
    free(engine);
}

size_t engine_active(const struct engine *engine)
{
    return engine->lives.count;
}

static void print_start(const struct engine_start *start, struct buf *out)
{
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    jw_kstr(&w, "session_id", start->session_id);
    jw_kstr(&w, "user_id", start->user_id);
    jw_kstr(&w, "workspace_id", start->workspace_id);
    jw_kstr(&w, "workspace_path", start->workspace_path);
    jw_kstr(&w, "task", start->task);
    jw_ktext(&w, "asker", start->asker == ASKER_ROOT_TERMINAL ? "terminal" : "nobody");
    jw_key(&w, "settings");
    settings_print(start->settings, &w);
    if (start->instructions.n > 0)
        jw_kstr(&w, "instructions", start->instructions);
    jw_end_object(&w);
}

int engine_run(struct engine *engine, const struct engine_start *start, struct id *run_id,
               struct err *err)
{
    uint8_t entropy[10];
    engine->config.entropy(entropy, sizeof entropy);
    *run_id = id_make(engine->config.now(), entropy);
    struct task *task = task_new(engine, id_str(run_id));
    task->kind = TASK_START;
    print_start(start, &task->body);
    if (task->body.failed) {
        task_free(task);
        return err_set(err, ERR_USAGE, "the task is too large (16 MB at most)");
    }
    task->session_id = arena_copy(&task->arena, start->session_id);
    task->user_id = arena_copy(&task->arena, start->user_id);
    task->workspace_id = arena_copy(&task->arena, start->workspace_id);
    live_new(engine, id_str(run_id));
    journal_work(engine->journal, task, take_work, take_done);
    return 0;
}

int engine_resume(struct engine *engine, struct str run_id, struct err *err)
{
    if (!id_valid(run_id))
        return err_set(err, ERR_NOT_FOUND, "\"%.*s\" is not the id of a run", STR_FMT(run_id));
    if (engine_live(engine, run_id) != NULL)
        return err_set(err, ERR_USAGE, "run %.*s is running here already", STR_FMT(run_id));
    struct task *task = task_new(engine, run_id);
    task->kind = TASK_RESUME;
    live_new(engine, run_id);
    journal_work(engine->journal, task, take_work, take_done);
    return 0;
}

/* --- messages ------------------------------------------------------------------------------------------------------------------------------------ */

static void send_work(void *user, struct store *store)
{
    struct task *task = user;
    int64_t id;
    if (store->ops->inbox_put(store, id_str(&task->run), str_from(task->kind_text),
                              buf_view(&task->body), task->engine->owner, task->now, &id,
                              &task->err) != 0 &&
        task->err.class == ERR_NONE)
        err_set(&task->err, ERR_IO, "cannot write to the inbox");
}

static void send_done(void *user)
{
    struct task *task = user;
    struct live *live = engine_live(task->engine, id_str(&task->run));
    if (live != NULL)
        live_look_into_inbox(live);
    task_free(task);
}

int engine_send(struct engine *engine, struct str run_id, struct str kind, struct str body,
                struct err *err)
{
    if (engine_live(engine, run_id) == NULL)
        return err_set(err, ERR_NOT_FOUND, "run %.*s is not running in this process",
                       STR_FMT(run_id));
    struct task *task = task_new(engine, run_id);
    snprintf(task->kind_text, sizeof task->kind_text, "%.*s", STR_FMT(kind));
    buf_str(&task->body, body);
    journal_work(engine->journal, task, send_work, send_done);
    return 0;
}

int engine_answer(struct engine *engine, struct str run_id, uint32_t agent_no, struct str call_id,
                  enum engine_answer answer, struct err *err)
{
    struct buf body;
    struct jw w;
    buf_init(&body, 4096);
    jw_init(&w, &body);
    jw_object(&w);
    jw_kint(&w, "agent_no", agent_no);
    jw_kstr(&w, "call_id", call_id);
    jw_ktext(&w, "answer", answer == ENGINE_YES ? "yes" : "no");
    jw_end_object(&w);
    int result = engine_send(engine, run_id, STR("approve"), buf_view(&body), err);
    buf_release(&body);
    return result;
}
