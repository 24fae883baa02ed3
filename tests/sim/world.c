/* See world.h. One step: take the earliest thing that can happen (an answer, a commit, a deadline, a message), let the pump decide, check
 * what must always hold. */
#include <stdio.h>
#include <stdlib.h>

#include "inside.h"

#define STEPS_MAX 20000

void wrong(struct world *w, const char *format, ...)
{
    va_list args;
    if (w->result->problem[0] != '\0')
        return;
    va_start(args, format);
    vsnprintf(w->result->problem, sizeof w->result->problem, format, args);
    va_end(args);
}

struct pending *pending_add(struct world *w, int kind, int64_t delay)
{
    if (w->pending_count == w->pending_capacity) {
        w->pending_capacity = w->pending_capacity * 2 + 64;
        w->pending = realloc(w->pending, w->pending_capacity * sizeof *w->pending);
        if (w->pending == NULL)
            abort();
    }
    struct pending *p = malloc(sizeof *p);
    if (p == NULL)
        abort();
    w->pending[w->pending_count++] = p;
    *p = (struct pending){.at = w->now + delay, .order = w->order++, .kind = kind};
    return p;
}

/* --- ports --------------------------------------------------------------------------------------------------------------- */

static void on_append(void *user, struct pump *pump, struct batch *batch, enum urgency urgency)
{
    struct world *w = user;
    if (pump == w->stop.stale) {
        stop_fenced(w, batch);
        return;
    }
    if (w->queue_count == sizeof w->queue / sizeof w->queue[0])
        abort();
    w->queue[w->queue_count++] = batch;
    if (!w->commit_pending && urgency == APPEND_SOON) {
        w->commit_pending = true;
        pending_add(w, PENDING_COMMIT, chance_below(&w->chance, 5));
    }
}

static const char *keep_string(struct pending *p, size_t *used, struct str text)
{
    char *at = p->strings + *used;
    size_t room = sizeof p->strings - *used - 1;
    if (text.n > room)
        abort();
    if (text.n > 0)
        memcpy(at, text.p, text.n);
    at[text.n] = '\0';
    *used += text.n + 1;
    return at;
}

static void keep_effect(struct pending *p, const struct effect *effect)
{
    size_t used = 0;
    p->effect = *effect;
    p->effect.call_id = (struct str){keep_string(p, &used, effect->call_id), effect->call_id.n};
    p->effect.tool = (struct str){keep_string(p, &used, effect->tool), effect->tool.n};
    p->effect.path = effect->path.p
                         ? (struct str){keep_string(p, &used, effect->path), effect->path.n}
                         : STR_NONE;
    p->effect.before = (struct str){keep_string(p, &used, effect->before), effect->before.n};
    p->effect.after = (struct str){keep_string(p, &used, effect->after), effect->after.n};
}

/* Some answers take so long that their silence is told first. */
static int64_t answer_delay(struct world *w, enum effect_kind kind)
{
    bool hangs = w->plan.idle_ms > 0 && chance_permille(&w->chance, 40);
    return hangs ? 20 * w->plan.idle_ms
                 : 1 + chance_below(&w->chance, kind == EFFECT_MERGE ? 2000 : 400);
}

/* Where nobody set a limit of silence: some answers stream for minutes, some stop half way and are
 * told as silent, some tools run for minutes. A tool's silence is told too, and must not count. */
static int64_t long_delay(struct world *w, const struct effect *effect, const struct agent *agent)
{
    int64_t limit = agent->contract.execution.idle_timeout_ms;
    bool model = effect->kind == EFFECT_MODEL;
    if (w->plan.idle_ms > 0 || effect->agent_no == 0 || limit == 0 ||
        (!model && effect->kind != EFFECT_TOOL) || !chance_permille(&w->chance, 15))
        return 0;
    bool stalls = model && chance_permille(&w->chance, 400);
    if (!model || stalls)
        keep_effect(pending_add(w, PENDING_SILENCE, 50 + limit), effect);
    if (!stalls)
        w->result->seen[model ? SEEN_LONG_ANSWER : SEEN_LONG_TOOL]++;
    return stalls ? 20 * limit : limit + 1000 + chance_below(&w->chance, 2 * limit);
}

#define HOUR_MS 3600000

/* Some people answer hours later. Some have gone home: then a step is denied in time, a question in the inbox is given up, and
 * somebody parks a run whose terminal nobody looks at. */
static void ask_people(struct world *w, const struct effect *effect)
{
    if (chance_permille(&w->chance, 880))
        keep_effect(pending_add(w, PENDING_QUESTION, chance_below(&w->chance, 5000)), effect);
    else if (chance_permille(&w->chance, 500))
        keep_effect(pending_add(w, PENDING_QUESTION, chance_below(&w->chance, 10 * HOUR_MS)),
                    effect);
    else
        pending_add(w, PENDING_PARK, 12 * HOUR_MS);
}

static void on_start(void *user, struct pump *pump, const struct effect *effect)
{
    struct world *w = user;
    const struct agent *agent = run_agent(pump_run(pump), effect->agent_no);
    if (pump == w->stop.stale) {
        if (effect->class != EFFECT_PURE)
            wrong(w, "effect %s was started by a process that no longer owns the run",
                  effect_kind_text(effect->kind));
        return;
    }
    if (effect->class != EFFECT_PURE && effect->seq > w->acknowledged)
        wrong(w, "effect %s of event %llu started when only %llu was durable",
              effect_kind_text(effect->kind), (unsigned long long)effect->seq,
              (unsigned long long)w->acknowledged);
    if (effect->kind == EFFECT_ASK) {
        ask_people(w, effect);
        return;
    }
    int64_t delay = long_delay(w, effect, agent);
    if (delay == 0)
        delay = answer_delay(w, effect->kind);
    keep_effect(pending_add(w, PENDING_ANSWER, delay), effect);
    if (w->plan.idle_ms > 0 && delay > w->plan.idle_ms)
        keep_effect(pending_add(w, PENDING_SILENCE, w->plan.idle_ms), effect);
    w->flights++;
    if (effect->kind == EFFECT_MODEL && w->plan.outages == OUTAGES_HAPPEN &&
        chance_permille(&w->chance, 100)) {
        int64_t admitted = chance_below(&w->chance, delay);
        keep_effect(pending_add(w, PENDING_HELD, chance_below(&w->chance, admitted + 1)), effect);
        keep_effect(pending_add(w, PENDING_ADMITTED, admitted), effect);
    }
    if (effect->kind == EFFECT_MODEL) {
        w->result->requests++;
        w->children_asking += effect->agent_no != 0;
        if (w->plan.max_concurrent > 0 && w->children_asking > w->plan.max_concurrent)
            wrong(w, "%lld children ask at once, %lld may", (long long)w->children_asking,
                  (long long)w->plan.max_concurrent);
        check_conversation(w, agent);
    }
    if ((effect->kind == EFFECT_TOOL || effect->kind == EFFECT_PREPARE ||
         effect->kind == EFFECT_GATHER) &&
        (agent->turns == TURNS_LAST || agent->compact_at != 0))
        wrong(w, "a call of the last turn, or in place of a summary, is executed");
}

static void on_abort(void *user, struct pump *pump, uint32_t agent_no, struct str call_id)
{
    struct world *w = user;
    if (pump == w->stop.stale)
        return;
    for (size_t i = 0; i < w->pending_count; i++) {
        struct pending *p = w->pending[i];
        if (p->kind == PENDING_ANSWER && p->effect.agent_no == agent_no &&
            str_eq(p->effect.call_id, call_id)) {
            p->aborted = 1;
            p->at = w->now + 1;
        }
    }
}

static bool on_owns(void *user, struct pump *pump)
{
    return stop_owns(user, pump);
}

/* --- commit and crash ------------------------------------------------------------------------------------------------------- */

static void commit_one(struct world *w, struct batch *batch)
{
    if (batch->append.inbox_count > 0) {
        if (batch->append.inbox_ids[0] <= w->inbox_taken)
            wrong(w, "message %lld was taken twice", (long long)batch->append.inbox_ids[0]);
        w->inbox_taken = batch->append.inbox_ids[0];
    }
    ledger_take(w, batch);
    memory_store_commit(&w->store, batch);
    w->result->events = (int64_t)batch->last_seq;
}

static void feed_inbox(struct world *w)
{
    for (size_t i = 0; i < w->inbox_count; i++) {
        struct err err = ERR_INIT;
        if (w->inbox[i].id < w->inbox_next)
            continue;
        w->inbox_next = w->inbox[i].id + 1;
        struct input input = {.kind = INPUT_INBOX,
                              .now = w->now,
                              .inbox_id = w->inbox[i].id,
                              .message_kind = str_from(w->inbox[i].kind),
                              .body = w->inbox[i].body,
                              .sender = STR("sim")};
        if (pump_input(w->pump, &input, &err) != 0)
            wrong(w, "pump: %s", err.message);
    }
}

/* Who sits before the next owner of the run. */
static struct str next_asker(struct world *w)
{
    if (chance_permille(&w->chance, 700))
        return str_from(watched_text(&w->plan));
    return w->plan.watched == WATCHED_AT_A_TERMINAL ? STR("nobody") : STR("terminal");
}

/* Time passes without an owner. The next one's wall clock may be wrong, or may be right for the first time; in any case the time of the
 * run does not fall, and what the world still has in store comes as much later as it would have. */
static void pass_time(struct world *w, const struct run *run, int64_t alive_at, int64_t ms)
{
    int64_t wall = w->now + ms;
    if (w->plan.clock == CLOCK_IS_SET)
        wall += chance_below(&w->chance, 4 * HOUR_MS) - 2 * HOUR_MS;
    int64_t ahead = run_time_ahead(run, alive_at, wall), moved = wall + ahead - (w->now + ms);
    w->result->seen[SEEN_SET_BACK] += ahead > 0;
    for (size_t i = 0; i < w->pending_count; i++)
        w->pending[i]->at += moved;
    w->now = wall + ahead;
}

/* OWNER_DIES: with all that it had in memory. OWNER_STOPPED: it will go on, and does not know. */
enum leaving { OWNER_DIES, OWNER_STOPPED };

static void replace_owner(struct world *w, enum leaving leaving)
{
    struct pump_ports ports = {
        .append = on_append, .start = on_start, .abort = on_abort, .user = w, .owns = on_owns};
    struct err err = ERR_INIT;
    struct run *run = NULL;
    /* What tools did just before the end is done, though nobody was told. */
    for (size_t i = 0; i < w->pending_count; i++) {
        struct pending *p = w->pending[i];
        if (p->kind != PENDING_ANSWER || p->aborted || !chance_permille(&w->chance, 500))
            continue;
        if (p->effect.kind == EFFECT_ISOLATE || p->effect.kind == EFFECT_MERGE)
            disk_crash(w, p);
        else if (p->effect.kind == EFFECT_TOOL && p->effect.path.p != NULL &&
                 files_of(w, p->effect.agent_no)[file_of(p->effect.path)] ==
                     strtoull(p->effect.before.p + 48, NULL, 16))
            apply_write(w, p);
    }
    for (size_t i = 0; i < w->queue_count; i++) {
        if (w->plan.crash_kind == CRASH_KEEPS_QUEUE)
            commit_one(w, w->queue[i]);
        else
            batch_free(w->queue[i]);
    }
    w->queue_count = 0;
    /* Messages come from other processes: they survive. */
    size_t kept = 0;
    for (size_t i = 0; i < w->pending_count; i++) {
        if (w->pending[i]->kind == PENDING_MESSAGE || w->pending[i]->kind == PENDING_PARK ||
            w->pending[i]->kind == PENDING_CONTINUE)
            w->pending[kept++] = w->pending[i];
        else
            free(w->pending[i]);
    }
    w->pending_count = kept;
    w->commit_pending = false;
    w->children_asking = 0;
    w->within_checked = 0;
    w->flights = 0;
    if (leaving == OWNER_STOPPED) {
        w->stop.stale = w->pump;
        w->stop.stale_seq = (uint64_t)w->result->events;
    } else {
        pump_free(w->pump);
    }
    w->pump = NULL;
    w->stop.unsure = w->stop.asked = false;
    int64_t alive_at = chance_permille(&w->chance, 500) ? sleep_renewed_at(w) : 0;
    w->result->slept_crashes += w->sleep.slept > 0;
    int64_t passes = w->sleep.slept + (leaving == OWNER_STOPPED ? SIM_LEASE_MS : 0) +
                     chance_below(&w->chance, 100000);
    w->sleep = (struct sleep_record){.slept = 0};
    if (fold_run(&w->store.store, STR(SIM_RUN), &run, &err) != 0) {
        wrong(w, "fold after a crash: %s", err.message);
        run = run_new(STR(SIM_RUN));
    }
    pass_time(w, run, alive_at, passes);
    sleep_plan(w, 10000);
    stop_plan(w, 20000);
    if (run_seq(run) < w->acknowledged)
        wrong(w, "event %llu was acknowledged; the log ends at %llu",
              (unsigned long long)w->acknowledged, (unsigned long long)run_seq(run));
    w->acknowledged = run_seq(run);
    struct run *shadow = NULL;
    w->pump = pump_new(run, ++w->epoch, run_seq(run), &ports);
    if (run_seq(run) > 0 && fold_run(&w->store.store, STR(SIM_RUN), &shadow, &err) == 0)
        pump_shadow(w->pump, shadow);
    struct input input = {.kind = INPUT_RESUME,
                          .now = w->now,
                          .owner = STR("sim"),
                          .epoch = w->epoch,
                          .alive_at = alive_at,
                          .asker = next_asker(w),
                          .walls = str_from(walls_text(&w->plan))};
    /* A person goes on with what was parked. */
    if (run_state(run) == RUN_PARKED && chance_permille(&w->chance, 500))
        input.broken = BROKEN_FORGIVEN;
    if (run_state(run) != RUN_NEW && !run_ended(run) && pump_input(w->pump, &input, &err) != 0)
        wrong(w, "resume: %s", err.message);
    w->inbox_next = w->inbox_taken + 1;
    if (!run_ended(run))
        feed_inbox(w);
}

static void crash(struct world *w)
{
    w->result->crashes++;
    replace_owner(w, OWNER_DIES);
}

void world_take_over(struct world *w)
{
    replace_owner(w, OWNER_STOPPED);
}

static void commit(struct world *w)
{
    size_t count = w->queue_count;
    uint64_t last = 0;
    w->commit_pending = false;
    for (size_t i = 0; i < count; i++) {
        last = w->queue[i]->last_seq;
        commit_one(w, w->queue[i]);
    }
    w->queue_count = 0;
    w->result->commits++;
    bool dies = w->result->commits == w->plan.crash_after ||
                (w->plan.crash_every > 0 && chance_permille(&w->chance, w->plan.crash_every));
    if (dies && chance_permille(&w->chance, 500)) {
        crash(w); /* committed, but the process never learned it */
        return;
    }
    /* Committed, and the process is stopped before it hears of it: the effects of these events wait in its memory. */
    if (w->plan.stops == STOPS_HAPPEN && chance_permille(&w->chance, 20) && stop_taken_over(w))
        return;
    w->acknowledged = last;
    pump_durable(w->pump, last);
    if (dies)
        crash(w);
}

/* --- the loop ------------------------------------------------------------------------------------------------------------------ */

static void post(struct world *w, const char *kind, struct str body)
{
    if (w->inbox_count == MESSAGES_MAX)
        abort();
    w->inbox[w->inbox_count].id = (int64_t)w->inbox_count + 1;
    snprintf(w->inbox[w->inbox_count].kind, sizeof w->inbox[0].kind, "%s", kind);
    w->inbox[w->inbox_count].body = body;
    w->inbox_count++;
}

/* The effect is still under way, and nobody has ended it. */
static bool is_silent(const struct world *w, const struct effect *effect)
{
    for (size_t i = 0; i < w->pending_count; i++) {
        const struct pending *p = w->pending[i];
        if (p->kind == PENDING_ANSWER && !p->aborted && p->effect.agent_no == effect->agent_no &&
            str_eq(p->effect.call_id, effect->call_id))
            return true;
    }
    return false;
}

static void tell_silence(struct world *w, const struct effect *effect)
{
    struct err err = ERR_INIT;
    struct input input = {.kind = INPUT_SILENT,
                          .now = w->now,
                          .agent_no = effect->agent_no,
                          .call_id = effect->call_id,
                          .idle_ms = w->plan.idle_ms};
    if (w->plan.idle_ms == 0)
        input.idle_ms =
            run_agent(pump_run(w->pump), effect->agent_no)->contract.execution.idle_timeout_ms;
    if (is_silent(w, effect) && pump_input(w->pump, &input, &err) != 0)
        wrong(w, "silence: %s", err.message);
}

static void tell_admission(struct world *w, const struct pending *p)
{
    struct err err = ERR_INIT;
    struct input input = {.kind = p->kind == PENDING_HELD ? INPUT_HELD : INPUT_ADMITTED,
                          .now = w->now,
                          .agent_no = p->effect.agent_no,
                          .call_id = p->effect.call_id,
                          .text = STR("64 at once"),
                          .waited_ms = 1};
    if (is_silent(w, &p->effect) && pump_input(w->pump, &input, &err) != 0)
        wrong(w, "admission: %s", err.message);
}

/* Whoever answers was shown something, and the log says what. */
static void answer_question(struct world *w, const struct effect *effect)
{
    struct err err = ERR_INIT;
    char hex[HASH_HEX + 1];
    struct hash hash = hash_of(effect->call_id);
    hash_hex(&hash, hex);
    struct input input = {.kind = INPUT_SHOWN,
                          .now = w->now,
                          .agent_no = effect->agent_no,
                          .call_id = effect->call_id,
                          .shown = {hex, HASH_HEX},
                          .preview = STR("{\"parts\":[]}")};
    if (pump_input(w->pump, &input, &err) != 0)
        wrong(w, "a question that is shown: %s", err.message);
    post(w, "approve",
         arena_printf(&w->arena,
                      "{\"agent_no\":%u,\"call_id\":\"%.*s\",\"answer\":\"%s\",\"shown\":\"%s\"}",
                      effect->agent_no, STR_FMT(effect->call_id),
                      chance_permille(&w->chance, 700) ? "yes" : "no", hex));
    feed_inbox(w);
}

static struct pending *take_earliest(struct world *w)
{
    size_t best = 0;
    if (w->pending_count == 0)
        return NULL;
    for (size_t i = 1; i < w->pending_count; i++) {
        const struct pending *a = w->pending[i], *b = w->pending[best];
        if (a->at < b->at || (a->at == b->at && a->order < b->order))
            best = i;
    }
    struct pending *p = w->pending[best];
    w->pending[best] = w->pending[--w->pending_count];
    return p;
}

static int64_t earliest(const struct world *w)
{
    int64_t at = INT64_MAX;
    for (size_t i = 0; i < w->pending_count; i++)
        at = w->pending[i]->at < at ? w->pending[i]->at : at;
    return at;
}

static void step(struct world *w)
{
    int64_t deadline = run_deadline(pump_run(w->pump));
    struct err err = ERR_INIT;
    if (deadline <= earliest(w)) {
        w->now = deadline > w->now ? deadline : w->now;
        struct input input = {.kind = INPUT_TICK, .now = w->now};
        if (pump_input(w->pump, &input, &err) != 0)
            wrong(w, "tick: %s", err.message);
        return;
    }
    struct pending *p = take_earliest(w);
    w->now = p->at > w->now ? p->at : w->now;
    if (p->kind == PENDING_COMMIT) {
        commit(w);
    } else if (p->kind == PENDING_MESSAGE) {
        post(w, "cancel", STR("{\"reason\":\"enough\"}"));
        feed_inbox(w);
    } else if (p->kind == PENDING_PARK) {
        post(w, "park", STR("{\"reason\":\"later\"}"));
        feed_inbox(w);
    } else if (p->kind == PENDING_HELD || p->kind == PENDING_ADMITTED) {
        tell_admission(w, p);
    } else if (p->kind == PENDING_SLEEP) {
        sleep_begin(w);
    } else if (p->kind == PENDING_WAKE) {
        sleep_tell(w);
    } else if (p->kind == PENDING_STOP) {
        stop_begin(w);
    } else if (p->kind == PENDING_RENEW) {
        stop_renewed(w);
    } else if (p->kind == PENDING_CONTINUE) {
        stop_continue(w);
    } else if (p->kind == PENDING_SILENCE) {
        tell_silence(w, &p->effect);
    } else if (p->kind == PENDING_QUESTION) {
        answer_question(w, &p->effect);
    } else {
        w->flights--;
        if (p->effect.kind == EFFECT_MODEL) {
            w->children_asking -= p->effect.agent_no != 0;
            answer_model(w, p);
        } else if (p->effect.kind == EFFECT_ISOLATE || p->effect.kind == EFFECT_MERGE) {
            answer_tree(w, p);
        } else {
            answer_tool(w, p);
        }
    }
    free(p);
}

/* A parked run still hears what its requests cost. */
static bool asks_remain(const struct world *w)
{
    for (size_t i = 0; i < w->pending_count; i++) {
        if (w->pending[i]->kind == PENDING_ANSWER && w->pending[i]->effect.kind == EFFECT_MODEL)
            return true;
    }
    return false;
}

/* The plan's cancel. From any state it must end the run, and soon: each agent that is at work then has to be stopped and closed, its
 * tree put away, and each of that committed; whatever else was to happen may come in between. */
static void cancel(struct world *w, int64_t step)
{
    const struct run *run = pump_run(w->pump);
    w->cancelled.step = step;
    w->cancelled.at = w->now;
    w->cancelled.epoch = w->epoch;
    w->cancelled.steps_most = 20 + (int64_t)w->pending_count;
    for (uint32_t no = 0; no < run_agent_count(run); no++) {
        const struct agent *agent = run_agent(run, no);
        bool open = agent->phase != PHASE_DONE || (no != 0 && agent->life != LIFE_CLOSED);
        w->cancelled.steps_most +=
            open ? 6 + (int64_t)(agent->call_count - agent->calls_in[CALL_DONE]) : 0;
    }
    post(w, "cancel", STR("{\"reason\":\"enough\"}"));
    feed_inbox(w);
}

/* What is aborted answers at once. Only trees that are put away take their time, one level after the other. */
static int64_t cancel_ms_most(const struct world *w)
{
    return (w->plan.depth + 2) * (20 * w->plan.idle_ms + 2500);
}

static void check_cancelled(struct world *w, int64_t step)
{
    int64_t steps = step - w->cancelled.step, owners = (int64_t)(w->epoch - w->cancelled.epoch);
    if (w->cancelled.step == 0)
        return;
    w->result->cancel_steps = steps;
    int64_t ms = w->now - w->cancelled.at;
    if (steps > w->cancelled.steps_most * (1 + owners))
        wrong(w, "cancelled %lld steps ago, and not ended", (long long)steps);
    if (owners == 0 && ms > cancel_ms_most(w))
        wrong(w, "cancelled %lld ms ago, and not ended", (long long)ms);
}

void world_run(const struct world_plan *plan, struct world_result *result)
{
    struct world *w = calloc(1, sizeof *w);
    if (w == NULL)
        abort();
    *result = (struct world_result){.how = WORLD_ENDED};
    *w = (struct world){.plan = *plan,
                        .result = result,
                        .chance = {plan->seed},
                        .now = 1700000000000,
                        .epoch = 1,
                        .inbox_next = 1};
    arena_init(&w->arena);
    memory_store_init(&w->store);
    struct pump_ports ports = {
        .append = on_append, .start = on_start, .abort = on_abort, .user = w, .owns = on_owns};
    w->pump = pump_new(run_new(STR(SIM_RUN)), w->epoch, 0, &ports);
    w->start_body = settings_of_plan(&w->arena, plan);
    post(w, "start", w->start_body);
    if (chance_permille(&w->chance, plan->cancel_permille))
        pending_add(w, PENDING_MESSAGE, chance_below(&w->chance, 3000));
    if (plan->outages == OUTAGES_HAPPEN && chance_permille(&w->chance, 300))
        pending_add(w, PENDING_PARK, chance_below(&w->chance, 5000));
    if (plan->outages == OUTAGES_HAPPEN && chance_permille(&w->chance, 150))
        w->down_until = w->now + chance_below(&w->chance, 60000); /* from the first request on */
    sleep_plan(w, 3000);
    stop_plan(w, 5000);
    feed_inbox(w);
    int64_t steps = 0;
    while (result->problem[0] == '\0' && (!run_ended(pump_run(w->pump)) || w->queue_count > 0)) {
        if (run_state(pump_run(w->pump)) == RUN_PARKED && w->queue_count == 0 &&
            (!asks_remain(w) || chance_permille(&w->chance, 200))) {
            result->seen[SEEN_PARKED]++;
            crash(w); /* the process ends, and some time later another one goes on */
            result->crashes--;
        } else if (++steps > STEPS_MAX) {
            result->how = WORLD_TOO_LONG;
            wrong(w, "not done after %d steps", STEPS_MAX);
        } else if (w->pending_count == 0 && run_deadline(pump_run(w->pump)) == INT64_MAX) {
            result->how = WORLD_STUCK;
            wrong(w, "nothing can happen any more and the run has not ended");
        } else {
            step(w);
            if (steps == plan->cancel_at && !run_ended(pump_run(w->pump)))
                cancel(w, steps);
            check_step(w);
            check_cancelled(w, steps);
        }
    }
    stop_continue(w);
    result->steps = steps;
    result->status = run_state(pump_run(w->pump));
    if (result->problem[0] == '\0') {
        check_end(w);
        disk_end(w);
        ledger_end(w);
    }
    /* SIM_TRACE=1 shows the log of a run that went wrong. */
    if (result->problem[0] != '\0' && getenv("SIM_TRACE") != NULL)
        ledger_print(w);
    for (size_t i = 0; i < w->pending_count; i++)
        free(w->pending[i]);
    for (size_t i = 0; i < w->queue_count; i++)
        batch_free(w->queue[i]);
    free(w->pending);
    free(w->calls);
    pump_free(w->pump);
    memory_store_release(&w->store);
    arena_release(&w->arena);
    free(w);
}
