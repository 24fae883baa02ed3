/* A run that this process owns: inputs go to its pump, deadlines come from its timer, and it ends once. Loop thread. */
#include <stdlib.h>

#include "engine/live.h"
#include "engine/task.h"

/* --- ports of the pump ------------------------------------------------------------------------------------------------------ */

static void on_append(void *user, struct pump *pump, struct batch *batch, enum urgency urgency)
{
    struct live *live = user;
    farewell_events(live, batch);
    journal_append(live->engine->journal, batch, urgency);
}

static void put_question(struct live *live, const struct effect *effect)
{
    const struct engine_watch *watch = &live->engine->config.watch;
    struct err ignored = ERR_INIT;
    /* At a terminal the person's side looks when it is its turn. */
    if (watch->asker != ASKER_TERMINAL) {
        int looks = engine_preview(live->engine, id_str(&live->id), effect->agent_no,
                                   effect->call_id, &ignored);
        (void)looks; /* an error: it waits no longer */
    }
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

static bool on_owns(void *user, struct pump *pump)
{
    return ownership_is_certain(user);
}

static void on_more(uv_idle_t *more)
{
    struct live *live = more->data;
    uv_idle_stop(more);
    if (live->renew_wanted && !live->ending)
        ownership_renew(live);
    ask_tell(live);
    pump_continue(live->pump);
}

void live_go_on_soon(struct live *live)
{
    uv_idle_start(live->more, on_more);
}

static void on_later(void *user, struct pump *pump)
{
    live_go_on_soon(user);
}

/* --- a live run ---------------------------------------------------------------------------------------------------------------- */

static void on_deadline(uv_timer_t *timer);

void live_arm(struct live *live)
{
    int64_t at = run_deadline(pump_run(live->pump)), now = live_now(live);
    if (live->ending || at == INT64_MAX)
        uv_timer_stop(live->timer);
    else
        uv_timer_start(live->timer, on_deadline, at > now ? (uint64_t)(at - now) : 0, 0);
}

int64_t live_now(const struct live *live)
{
    return engine_now(live->engine) + live->ahead;
}

void live_input(struct live *live, const struct input *input)
{
    struct err err = ERR_INIT;
    struct input timed = *input;
    if (live->ending)
        return;
    timed.now += live->ahead;
    if (pump_input(live->pump, &timed, &err) != 0) {
        live_let_go(live, &err);
        return;
    }
    live_arm(live);
}

void live_tell_slept(struct live *live)
{
    int64_t slept = engine_slept(live->engine);
    struct input input = {
        .kind = INPUT_SLEPT, .now = engine_now(live->engine), .slept_ms = slept - live->slept_told};
    if (input.slept_ms < SLEEP_LEAST_MS)
        return;
    live->slept_told = slept;
    live_input(live, &input);
}

static void on_deadline(uv_timer_t *timer)
{
    struct live *live = timer->data;
    ask_report(live); /* the deadline may be one that has to stand still */
    struct input input = {.kind = INPUT_TICK, .now = engine_now(live->engine)};
    live_input(live, &input);
}

static uv_timer_t *timer_new(struct live *live)
{
    uv_timer_t *timer = malloc(sizeof *timer);
    if (timer == NULL)
        abort();
    uv_timer_init(live->engine->config.loop, timer);
    timer->data = live;
    return timer;
}

struct live *live_new(struct engine *engine, struct str run_id)
{
    struct live *live = calloc(1, sizeof *live);
    if (live == NULL)
        abort();
    live->engine = engine;
    memcpy(live->id.text, run_id.p, ID_LENGTH);
    live->timer = timer_new(live);
    live->idle = timer_new(live);
    live->more = malloc(sizeof *live->more);
    if (live->more == NULL)
        abort();
    uv_idle_init(engine->config.loop, live->more);
    live->more->data = live;
    map_set(&engine->lives, id_str(&live->id), live);
    return live;
}

void handle_free(uv_handle_t *handle)
{
    free(handle);
}

static void live_free(struct live *live)
{
    map_remove(&live->engine->lives, id_str(&live->id));
    rendered_release(live);
    places_release(live);
    lookup_release(&live->flight_names);
    if (live->scope != NULL)
        live->engine->config.tools->close_scope(live->scope);
    uv_close((uv_handle_t *)live->timer, handle_free);
    uv_close((uv_handle_t *)live->idle, handle_free);
    uv_close((uv_handle_t *)live->more, handle_free);
    pump_free(live->pump);
    free(live);
}

/* --- its end ------------------------------------------------------------------------------- */
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

void live_end(struct live *live)
{
    live->ending = true;
    ownership_end(live);
    uv_timer_stop(live->timer);
    uv_timer_stop(live->idle);
    if (live->flights == NULL)
        farewell_run(live);
    if (live->flights != NULL)
        return; /* flight_unlink comes back here with the last one */
    struct task *task = task_new(live->engine, id_str(&live->id));
    task->epoch = live->epoch;
    journal_work(live->engine->journal, task, release_work, release_done);
}

/* Nothing of ours may still change a file when the next owner starts: the lease is released after the last flight. */
static void abort_all(struct live *live)
{
    for (struct flight *flight = live->flights, *next; flight != NULL; flight = next) {
        next = flight->next;
        atomic_store(&flight->abandoned, true);
        flight->abort(flight);
    }
    live_end(live);
}

void live_let_go(struct live *live, const struct err *failure)
{
    if (live->ending)
        return;
    live->failure = *failure;
    abort_all(live);
}

void live_look(struct live *live)
{
    if (live->ending || pump_durable_seq(live->pump) != run_seq(pump_run(live->pump)))
        return;
    /* What its requests cost is part of its log. */
    if (run_state(pump_run(live->pump)) == RUN_PARKED && live->asks == 0)
        abort_all(live);
    else if (run_ended(pump_run(live->pump)))
        live_end(live);
}

void live_open(struct live *live, struct run *run, uint64_t durable)
{
    struct pump_ports ports = {on_append, on_start, on_abort, live, on_later, on_owns};
    live->pump = pump_new(run, live->epoch, durable, &ports);
}
