/* See pump.h. A build with CADRE_CHECK_FOLD keeps a second run that only ever sees the printed events, and stops the process when it
 * differs from the live one: whatever would be lost in a crash is found at once. */
#include "engine/pump.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/lookup.h"

/* Effects that start before the others must let the loop turn: what they send is sent, and its memory serves the next. */
#define SLICE 32

struct held {
    struct lookup_entry name; /* first: it is cast back */
    struct held *next, **at;  /* in the order in which they start */
    struct effect effect;
    enum { HELD_WANTED, HELD_ABORTED } wanted; /* ABORTED: it is started, and aborted at once */
    struct arena arena;                        /* its strings */
};

struct pump {
    struct run *run;
    struct run *shadow;
    uint64_t epoch, durable;
    struct pump_ports ports;
    struct held *first, **last;
    struct lookup held_names; /* the same, by agent and call */
    size_t held_count;
    size_t started; /* held ones since the last pump_continue */
    enum { PUMP_STARTS, PUMP_PAUSED } state;
    struct decision spare; /* its memory serves the next decision */
};

struct pump *pump_new(struct run *run, uint64_t epoch, uint64_t durable,
                      const struct pump_ports *ports)
{
    struct pump *pump = calloc(1, sizeof *pump);
    if (pump == NULL)
        abort();
    pump->run = run;
    pump->epoch = epoch;
    pump->durable = durable;
    pump->ports = *ports;
    pump->last = &pump->first;
    decision_init(&pump->spare);
#ifdef CADRE_CHECK_FOLD
    if (run_seq(run) == 0)
        pump->shadow = run_new(run_id(run));
#endif
    return pump;
}

void pump_shadow(struct pump *pump, struct run *shadow)
{
    run_free(pump->shadow);
    pump->shadow = shadow;
}

static void held_free(struct held *held)
{
    arena_release(&held->arena);
    free(held);
}

void pump_free(struct pump *pump)
{
    if (pump == NULL)
        return;
    lookup_release(&pump->held_names);
    while (pump->first != NULL) {
        struct held *held = pump->first;
        pump->first = held->next;
        held_free(held);
    }
    run_free(pump->run);
    run_free(pump->shadow);
    decision_release(&pump->spare);
    free(pump);
}

struct run *pump_run(struct pump *pump)
{
    return pump->run;
}

uint64_t pump_durable_seq(const struct pump *pump)
{
    return pump->durable;
}

size_t pump_held(const struct pump *pump)
{
    return pump->held_count;
}

#ifdef CADRE_CHECK_FOLD
/* A run in which somebody waits for nobody never ends: it is found when that begins, and not by a deadline. */
static void check_waits(const struct pump *pump)
{
    struct buf who;
    buf_init(&who, 4096);
    if (run_waits_for_nobody(pump->run, &who)) {
        fprintf(stderr, "cadre: check_fold: this run cannot end: %.*s\n", STR_FMT(buf_view(&who)));
        abort();
    }
    buf_release(&who);
}

static void check_fold(struct pump *pump, const struct batch *batch)
{
    struct err err = ERR_INIT;
    struct buf live, folded;
    if (pump->shadow == NULL)
        return;
    for (size_t i = 0; i < batch->append.event_count; i++) {
        if (fold_row(pump->shadow, &batch->append.events[i], &err) != 0) {
            fprintf(stderr, "cadre: check_fold: event %llu does not fold: %s\n",
                    (unsigned long long)batch->append.events[i].seq, err.message);
            abort();
        }
    }
    buf_init(&live, SIZE_MAX / 4);
    buf_init(&folded, SIZE_MAX / 4);
    run_print(pump->run, &live);
    run_print(pump->shadow, &folded);
    if (!str_eq(buf_view(&live), buf_view(&folded))) {
        fprintf(stderr,
                "cadre: check_fold: the folded log differs from the live run\n--- live\n%s\n--- "
                "folded\n%s\n",
                live.p, folded.p);
        abort();
    }
    buf_release(&live);
    buf_release(&folded);
}
#endif

static void hold(struct pump *pump, const struct effect *effect)
{
    struct held *held = calloc(1, sizeof *held);
    if (held == NULL)
        abort();
    arena_init(&held->arena);
    held->effect = *effect;
    struct str *const views[] = {
        &held->effect.call_id, &held->effect.tool,  &held->effect.arguments, &held->effect.path,
        &held->effect.before,  &held->effect.after, &held->effect.shown};
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++)
        bytes += views[i]->p != NULL ? views[i]->n + 2 * sizeof(max_align_t) : 0;
    arena_reserve(&held->arena, bytes);
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++)
        *views[i] = arena_copy(&held->arena, *views[i]);
    held->at = pump->last;
    *pump->last = held;
    pump->last = &held->next;
    pump->held_count++;
    lookup_add(&pump->held_names, &held->name, held->effect.agent_no, held->effect.call_id);
}

/* Takes it out of the queue; it is the caller's then. */
static void unqueue(struct pump *pump, struct held *held)
{
    *held->at = held->next;
    if (held->next != NULL)
        held->next->at = held->at;
    else
        pump->last = held->at;
    held->next = NULL;
    pump->held_count--;
    lookup_remove(&pump->held_names, &held->name);
}

/* What becomes of a tree is never guessed: an effect on one may have been done before a crash, and whoever does it puts away what is
 * there. */
static bool must_start(const struct effect *effect)
{
    return effect->kind == EFFECT_ISOLATE || effect->kind == EFFECT_MERGE;
}

/* Takes a held effect out, or marks it where it must start all the same; NULL: it has started already. */
static struct held *unhold(struct pump *pump, const struct effect *abort)
{
    struct held *held =
        (struct held *)lookup_find(&pump->held_names, abort->agent_no, abort->call_id);
    if (held != NULL && must_start(&held->effect))
        held->wanted = HELD_ABORTED;
    else if (held != NULL)
        unqueue(pump, held);
    return held;
}

/* A held effect never started: its answer is made up here, and costs nothing. */
static int answer_unstarted(struct pump *pump, const struct held *held, int64_t now,
                            struct err *err)
{
    struct model_failure failure = {.class = ERR_CANCELLED,
                                    .retry_after_ms = -1,
                                    .message = STR("stopped before the request was sent"),
                                    .usage = USAGE_NONE};
    struct input input = {
        .now = now, .agent_no = held->effect.agent_no, .call_id = held->effect.call_id};
    if (held->effect.kind == EFFECT_MODEL) {
        input.kind = INPUT_FAILURE;
        input.failure = &failure;
        input.sent = REQUEST_UNSENT;
    } else if (held->effect.kind == EFFECT_CHECK) {
        input.kind = INPUT_CHECKED;
        input.checked = CHECKED_NOT_RUN;
        input.text = STR("Error: stopped before they started.");
    } else {
        input.kind = INPUT_RESULT;
        input.outcome = TOOL_ERROR;
        input.text = STR("Error: stopped before it started.");
    }
    return pump_input(pump, &input, err);
}

static bool is_owned(struct pump *pump)
{
    return pump->ports.owns == NULL || pump->ports.owns(pump->ports.user, pump);
}

static bool may_start(struct pump *pump, const struct effect *effect)
{
    return pump->state == PUMP_STARTS && run_state(pump->run) != RUN_PARKED &&
           (effect->class == EFFECT_PURE || (effect->seq <= pump->durable && is_owned(pump)));
}

/* Whether something waits for this batch: an effect that is held for it, or a person who wants to see the end. What a parked run
 * decided has no next batch to ride with. */
static enum urgency urgency_of(const struct pump *pump, const struct decision *decision)
{
    bool all_pure = decision->effect_count > 0 && run_state(pump->run) == RUN_RUNNING;
    for (size_t i = 0; i < decision->effect_count; i++)
        all_pure = all_pure && decision->effects[i].class == EFFECT_PURE &&
                   decision->effects[i].kind != EFFECT_ABORT;
    return all_pure && decision->inbox_id == 0 ? APPEND_LAZY : APPEND_SOON;
}

int pump_input(struct pump *pump, const struct input *input, struct err *err)
{
    struct decision decision = pump->spare;
    struct held *unstarted = NULL, **unstarted_last = &unstarted;
    decision_init(&pump->spare);
    int result = run_decide(pump->run, input, &decision, err);
    if (result == 0 && decision.event_count > 0) {
        struct batch *batch = batch_new(pump->run, &decision, pump->epoch);
#ifdef CADRE_CHECK_FOLD
        check_fold(pump, batch);
        check_waits(pump);
#endif
        pump->ports.append(pump->ports.user, pump, batch, urgency_of(pump, &decision));
    }
    for (size_t i = 0; result == 0 && i < decision.effect_count; i++) {
        const struct effect *effect = &decision.effects[i];
        if (effect->kind == EFFECT_ABORT) {
            struct held *held = unhold(pump, effect);
            if (held != NULL && held->wanted == HELD_ABORTED) {
                continue;
            } else if (held != NULL) {
                *unstarted_last = held;
                unstarted_last = &held->next;
            } else {
                pump->ports.abort(pump->ports.user, pump, effect->agent_no, effect->call_id);
            }
        } else if (may_start(pump, effect)) {
            pump->ports.start(pump->ports.user, pump, effect);
        } else {
            hold(pump, effect);
        }
    }
    decision_release(&pump->spare);
    pump->spare = decision;
    decision_reset(&pump->spare);
    while (unstarted != NULL) {
        struct held *held = unstarted;
        unstarted = held->next;
        if (result == 0)
            result = answer_unstarted(pump, held, input->now, err);
        held_free(held);
    }
    return result;
}

static void start_held(struct pump *pump)
{
    while (pump->first != NULL && may_start(pump, &pump->first->effect)) {
        struct held *held = pump->first;
        if (pump->ports.later != NULL && pump->started >= SLICE) {
            if (pump->started++ == SLICE)
                pump->ports.later(pump->ports.user, pump);
            return;
        }
        pump->started++;
        unqueue(pump, held);
        pump->ports.start(pump->ports.user, pump, &held->effect);
        if (held->wanted == HELD_ABORTED)
            pump->ports.abort(pump->ports.user, pump, held->effect.agent_no, held->effect.call_id);
        held_free(held);
    }
}

void pump_durable(struct pump *pump, uint64_t seq)
{
    if (seq > pump->durable)
        pump->durable = seq;
    start_held(pump);
}

void pump_continue(struct pump *pump)
{
    pump->started = 0;
    start_held(pump);
}

void pump_pause(struct pump *pump)
{
    pump->state = PUMP_PAUSED;
}

void pump_go_on(struct pump *pump)
{
    pump->state = PUMP_STARTS;
    start_held(pump);
}
