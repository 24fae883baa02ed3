/* The engine as an object: see engine.h. live.c holds a run, task.c its store work, ask.c and work.c its effects, journal.c writes. */
#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/task.h"
#include "engine/wake.h"

#define HEARTBEAT_MS                                                                               \
    3000 /* renews leases; also a look into the inboxes, should a wake-up have been lost */
#define ANSWER_BYTES_MAX ((size_t)64 * 1024) /* a person's answer, as JSON */
#define PREVIEW_ERROR_MAX 4000               /* bytes of an error in a preview */

#define CREW_MOST 256      /* long calls at once; more of them wait */
#define READERS_MOST 4     /* brief calls at once */
#define CREW_IDLE_MS 10000 /* how long a thread waits for another call */

struct live *engine_live(struct engine *engine, struct str run_id)
{
    return map_get(&engine->lives, run_id);
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
        const struct event_row *row = &batch->append.events[i];
        if (str_is(row->type, "agent.subagent_closed"))
            rendered_drop(live, row->agent_no);
        else if (str_is(row->type, "agent.worktree_merged"))
            place_drop(live, row->agent_no);
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
        uint64_t durable = batch->last_seq;
        /* Before what it held back starts and takes memory of its own. */
        batch_free(batch);
        batch = NULL;
        if (!live->ending) {
            pump_durable(live->pump, durable);
            live_arm(live);
            live_look(live);
        }
    } else if (batch->append.result == APPEND_UNKNOWN) {
        store_failed(engine, &batch->append.err);
    } else {
        live_let_go(live, &batch->append.err);
    }
    batch_free(batch);
}

/* --- heartbeat ------------------------------------------------------------------------------------------------------------------------------- */

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
        ownership_renew(live);
        ask_report(live);
        live_look_into_inbox(live);
    }
}

/* --- the engine itself ------------------------------------------------------------------------------------------------------------------------- */

static int64_t suspended_ms(const struct engine *engine)
{
    return engine->config.suspended != NULL ? engine->config.suspended() : 0;
}

int64_t engine_slept(const struct engine *engine)
{
    int64_t slept = suspended_ms(engine) - engine->suspended;
    return slept >= SLEEP_LEAST_MS ? slept : 0;
}

int64_t engine_wall(const struct engine *engine)
{
    return engine->config.boottime() + engine->config.wall_at_boot;
}

int64_t engine_now(const struct engine *engine)
{
    return engine_wall(engine) - engine_slept(engine);
}

int engine_new(const struct engine_config *config, struct engine **out, struct err *err)
{
    uint8_t entropy[10];
    struct engine *engine = calloc(1, sizeof *engine);
    if (engine == NULL)
        abort();
    engine->config = *config;
    engine->suspended = suspended_ms(engine);
    arena_init(&engine->arena);
    map_init(&engine->lives);
    engine->store_path = arena_copy(&engine->arena, config->store_path);
    config->entropy(entropy, sizeof entropy);
    struct id name = id_make(engine_wall(engine), entropy);
    char process[WAKE_PROCESS_MAX];
    wake_process_name(process);
    engine->owner = arena_printf(&engine->arena, "%s-%s", process, name.text);
    engine->journal = journal_new(config->loop, &config->store, on_appended, engine);
    int ready = config->meanwhile != NULL ? config->meanwhile(config->user, err) : 0;
    if (ready == 0)
        ready = journal_opened(engine->journal, err);
    if (ready == 0)
        ownership_note_store(engine);
    engine->wake = ready == 0 ? wake_new(engine, err) : NULL;
    if (engine->wake == NULL) {
        journal_free(engine->journal);
        goto fail;
    }
    engine->crew = crew_new(config->loop, CREW_MOST, CREW_IDLE_MS);
    engine->readers = crew_new(config->loop, READERS_MOST, CREW_IDLE_MS);
    const struct descriptor_shares *shares = &config->descriptors;
    admission_init(&engine->work_room, shares->work > 0 ? shares->work : DESCRIPTORS_ALL);
    admission_init(&engine->brief_room, shares->brief > 0 ? shares->brief : DESCRIPTORS_ALL);
    engine->board = board_new(config->loop, work_progress);
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
    /* What is under way was told to stop and answers on the loop; so do the releases of the leases. */
    while (engine->flights > 0 || engine->lives.count > 0)
        uv_run(engine->config.loop, UV_RUN_ONCE);
    wake_free(engine->wake);
    journal_free(engine->journal);
    crew_free(engine->crew);
    crew_free(engine->readers);
    board_free(engine->board);
    uv_close((uv_handle_t *)engine->heartbeat, handle_free);
    map_release(&engine->lives);
    arena_release(&engine->arena);
    free(engine);
}

size_t engine_active(const struct engine *engine)
{
    return engine->lives.count;
}

static void print_start(const struct engine_config *config, const struct engine_start *start,
                        struct buf *out)
{
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    jw_kstr(&w, "session_id", start->session_id);
    jw_kstr(&w, "user_id", start->user_id);
    jw_kstr(&w, "workspace_id", start->workspace_id);
    jw_kstr(&w, "workspace_path", start->workspace_path);
    jw_kstr(&w, "task", start->task);
    jw_ktext(&w, "asker", asker_text(config->watch.asker));
    if (config->walls.n > 0)
        jw_kstr(&w, "walls", config->walls);
    jw_key(&w, "settings");
    settings_print(start->settings, &w);
    if (start->instructions.n > 0)
        jw_kstr(&w, "instructions", start->instructions);
    if (start->output_schema.p != NULL)
        jw_kraw(&w, "output_schema", start->output_schema);
    if (start->plan.p != NULL)
        jw_kraw(&w, "plan", start->plan);
    jw_end_object(&w);
}

int engine_run(struct engine *engine, const struct engine_start *start, struct id *run_id,
               struct err *err)
{
    uint8_t entropy[10];
    engine->config.entropy(entropy, sizeof entropy);
    *run_id = id_make(engine_wall(engine), entropy);
    struct task *task = task_new(engine, id_str(run_id));
    task->kind = TASK_START;
    print_start(&engine->config, start, &task->body);
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
    /* A message to park that cannot be stored must stop the run all the same: it is let go of. */
    if (live != NULL && task->err.class != ERR_NONE && strcmp(task->kind_text, "park") == 0)
        live_let_go(live, &task->err);
    else if (live != NULL)
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
    if (task->body.failed) {
        task_free(task);
        return err_set(err, ERR_USAGE, "a message may have at most %u bytes", TASK_BODY_MAX);
    }
    journal_work(engine->journal, task, send_work, send_done);
    return 0;
}

/* A message about one call of a run: begins its body, and sends it. */
static void body_begin(struct buf *body, struct jw *w, uint32_t agent_no, struct str call_id)
{
    buf_init(body, ANSWER_BYTES_MAX);
    jw_init(w, body);
    jw_object(w);
    jw_kint(w, "agent_no", agent_no);
    jw_kstr(w, "call_id", call_id);
}

static int body_send(struct engine *engine, struct str run_id, const char *kind, struct buf *body,
                     struct err *err)
{
    int result = body->failed ? err_set(err, ERR_USAGE, "the answer is too long")
                              : engine_send(engine, run_id, str_from(kind), buf_view(body), err);
    buf_release(body);
    return result;
}

int engine_answer(struct engine *engine, struct str run_id, uint32_t agent_no, struct str call_id,
                  const struct engine_answer *answer, struct err *err)
{
    static const char *const words[] = {"no", "yes", "nobody"};
    static const char *const always[] = {NULL, "session", "project"};
    struct buf body;
    struct jw w;
    body_begin(&body, &w, agent_no, call_id);
    jw_ktext(&w, "answer", words[answer->answer]);
    if (answer->reason.n > 0)
        jw_kstr(&w, "reason", answer->reason);
    if (always[answer->always] != NULL)
        jw_ktext(&w, "always", always[answer->always]);
    if (answer->shown != NULL) {
        char hex[HASH_HEX + 1];
        hash_hex(answer->shown, hex);
        jw_ktext(&w, "shown", hex);
    }
    jw_end_object(&w);
    return body_send(engine, run_id, "approve", &body, err);
}

int engine_preview(struct engine *engine, struct str run_id, uint32_t agent_no, struct str call_id,
                   struct err *err)
{
    struct live *live = engine_live(engine, run_id);
    struct run_question question;
    struct arena arena;
    arena_init(&arena);
    int result = 0;
    if (live == NULL || live->pump == NULL || live->ending ||
        !run_asked(pump_run(live->pump), agent_no, call_id, &arena, &question)) {
        result =
            err_set(err, ERR_NOT_FOUND, "no question %.*s waits for an answer", STR_FMT(call_id));
    } else {
        struct effect effect = {.kind = EFFECT_ASK,
                                .agent_no = agent_no,
                                .call_id = call_id,
                                .tool = question.tool,
                                .arguments = question.arguments,
                                .max_result = PREVIEW_ERROR_MAX};
        work_start(live, &effect);
    }
    arena_release(&arena);
    return result;
}

int engine_reply(struct engine *engine, struct str run_id, uint32_t agent_no, struct str call_id,
                 struct str text, struct err *err)
{
    struct buf body;
    struct jw w;
    body_begin(&body, &w, agent_no, call_id);
    if (text.p != NULL)
        jw_kstr(&w, "text", text);
    jw_end_object(&w);
    return body_send(engine, run_id, "answer", &body, err);
}
