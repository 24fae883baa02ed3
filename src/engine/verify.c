/* See verify.h. Reads a run once, row by row, and checks each against what must be true of it. Blocking; no thread of its own. */
#include "engine/verify.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/batch.h"

static int problem(struct verify_report *report, uint64_t seq, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int problem(struct verify_report *report, uint64_t seq, const char *format, ...)
{
    va_list args;
    if (report->problem[0] != '\0')
        return 1;
    report->bad_seq = seq;
    va_start(args, format);
    vsnprintf(report->problem, sizeof report->problem, format, args);
    va_end(args);
    return 1;
}

/* --- the chain ------------------------------------------------------------------------------------------------------------- */

struct verifying {
    struct verify_report *report;
    struct run *run;
    struct hash head;
    uint64_t *last; /* seq of each agent's last event */
    size_t last_count;
    struct err err;
};

static int check_agent_chain(struct verifying *v, const struct event_row *row)
{
    if (row->agent_no >= v->last_count) {
        size_t count = (size_t)row->agent_no * 2 + 8;
        uint64_t *last = realloc(v->last, count * sizeof *last);
        if (last == NULL)
            abort();
        memset(last + v->last_count, 0, (count - v->last_count) * sizeof *last);
        v->last = last;
        v->last_count = count;
    }
    uint64_t expected = v->last[row->agent_no];
    v->last[row->agent_no] = row->seq;
    if (row->agent_prev != expected)
        return problem(v->report, row->seq,
                       "it names event %llu as its agent's previous one, which is %llu",
                       (unsigned long long)row->agent_prev, (unsigned long long)expected);
    return 0;
}

static int verify_one(void *user, const struct stored_event *event)
{
    struct verifying *v = user;
    struct verify_report *report = v->report;
    const struct event_row *row = &event->row;
    if (row->seq != report->events + 1)
        return problem(report, report->events + 1, "it is missing: the next stored event is %llu",
                       (unsigned long long)row->seq);
    report->events++;
    if (row->payload.p == NULL) {
        if (v->run != NULL) {
            run_free(
                v->run); /* a purged payload leaves the chain valid, but nothing can be folded from here on */
            v->run = NULL;
        }
    } else {
        struct hash payload = hash_of(row->payload);
        if (!hash_eq(&payload, &event->payload_hash))
            return problem(report, row->seq, "its payload does not have the hash that was logged");
    }
    v->head = chain_next(&v->head, row, &event->payload_hash);
    if (!hash_eq(&v->head, &event->hash))
        return problem(report, row->seq, "its hash does not follow from the events before it");
    if (check_agent_chain(v, row) != 0)
        return 1;
    if (str_is(row->type, "agent.subagent_created"))
        report->children++;
    if (str_is(row->type, "agent.subagent_closed"))
        report->closes++;
    if (row->cause_seq == 0)
        report->inputs++;
    if (v->run != NULL && fold_row(v->run, row, &v->err) != 0)
        return problem(report, row->seq, "it does not fold: %s", v->err.message);
    return 0;
}

static void check_end(struct verifying *v, struct str expected_head)
{
    struct verify_report *report = v->report;
    hash_hex(&v->head, report->head);
    if (report->problem[0] != '\0')
        return;
    if (v->run != NULL && run_ended(v->run) && report->closes != report->children)
        problem(report, report->events, "the run ended with %llu children and %llu closes",
                (unsigned long long)report->children, (unsigned long long)report->closes);
    if (expected_head.p != NULL && (expected_head.n < 8 || expected_head.n > HASH_HEX ||
                                    memcmp(report->head, expected_head.p, expected_head.n) != 0))
        problem(report, report->events,
                "the head is %s, not %.*s: events are missing at the end, or this is another run",
                report->head, STR_FMT(expected_head));
}

int verify_run(struct store *store, struct str run_id, struct str expected_head,
               struct verify_report *report, struct err *err)
{
    *report = (struct verify_report){.events = 0};
    struct verifying v = {.report = report, .run = run_new(run_id), .head = chain_start(run_id)};
    int result = store->ops->read(store, run_id, 0, STORE_ALL_AGENTS, 0, verify_one, &v, err);
    if (result == 0)
        check_end(&v, expected_head);
    run_free(v.run);
    free(v.last);
    return result;
}

/* --- replay ------------------------------------------------------------------------------------------------------------------ */

/* What run_decide made of the last fact, and how much of it the log has confirmed. */
struct replaying {
    struct verify_report *report;
    struct run *run;
    struct batch *batch;
    size_t next;
};

static int compare(struct verify_report *report, const struct event_row *logged,
                   const struct event_row *made)
{
    const struct {
        const char *what;
        struct str logged, made;
    } texts[] = {{"type", logged->type, made->type},
                 {"call id", logged->call_id, made->call_id},
                 {"summary", logged->summary, made->summary},
                 {"payload", logged->payload, made->payload}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!str_eq(texts[i].logged, texts[i].made))
            return problem(report, logged->seq, "its %s differs: logged %.*s, decided %.*s",
                           texts[i].what, (int)(texts[i].logged.n < 160 ? texts[i].logged.n : 160),
                           texts[i].logged.p ? texts[i].logged.p : "",
                           (int)(texts[i].made.n < 160 ? texts[i].made.n : 160),
                           texts[i].made.p ? texts[i].made.p : "");
    }
    if (logged->seq != made->seq || logged->agent_no != made->agent_no ||
        logged->agent_prev != made->agent_prev || logged->ts != made->ts ||
        logged->cause_seq != made->cause_seq || logged->version != made->version)
        return problem(report, logged->seq, "its numbers differ (seq, agent, time or cause)");
    return 0;
}

/* Feeds the fact to run_decide; the batch then holds what must follow in the log. */
static int decide_again(struct replaying *r, const struct event_row *row)
{
    struct arena arena;
    struct event fact;
    struct input_storage storage;
    struct input input;
    struct decision decision;
    struct err err = ERR_INIT;
    int result = 0;
    arena_init(&arena);
    decision_init(&decision);
    if (event_parse(row, &arena, &fact, &err) != 0 ||
        input_from_event(&fact, &arena, &storage, &input, &err) != 0 ||
        run_decide(r->run, &input, &decision, &err) != 0)
        result = problem(r->report, row->seq, "%s", err.message);
    batch_free(r->batch);
    r->batch = result == 0 ? batch_new(r->run, &decision, 0) : NULL;
    r->next = 0;
    r->report->inputs++;
    decision_release(&decision);
    arena_release(&arena);
    if (result == 0 && r->batch->append.event_count == 0)
        result = problem(r->report, row->seq, "deciding it again gives no events at all");
    return result;
}

static int fold_other_rules(struct replaying *r, const struct event_row *row)
{
    struct err err = ERR_INIT;
    r->report->not_compared++;
    r->report->other_rules = row->version;
    if (fold_row(r->run, row, &err) != 0)
        return problem(r->report, row->seq, "it does not fold: %s", err.message);
    return 0;
}

static int replay_one(void *user, const struct stored_event *event)
{
    struct replaying *r = user;
    const struct event_row *row = &event->row;
    r->report->events++;
    size_t left = r->batch != NULL ? r->batch->append.event_count - r->next : 0;
    if (row->version != EVENT_VERSION && left == 0)
        return fold_other_rules(r, row);
    if (row->cause_seq == 0) {
        if (left > 0)
            return problem(r->report, row->seq,
                           "%zu events were decided before it and are not in the log", left);
        if (decide_again(r, row) != 0)
            return 1;
    } else if (left == 0) {
        return problem(r->report, row->seq, "it was logged, but deciding again does not give it");
    }
    return compare(r->report, row, &r->batch->append.events[r->next++]);
}

int replay_run(struct store *store, struct str run_id, struct verify_report *report,
               struct err *err)
{
    *report = (struct verify_report){.events = 0};
    struct replaying r = {.report = report, .run = run_new(run_id)};
    struct hash head;
    uint64_t seq;
    int result = store->ops->read(store, run_id, 0, STORE_ALL_AGENTS, 0, replay_one, &r, err);
    if (result == 0 && report->problem[0] == '\0' && r.batch != NULL &&
        r.next != r.batch->append.event_count)
        problem(report, report->events, "%zu more events were decided than the log has",
                r.batch->append.event_count - r.next);
    if (result == 0)
        result = store->ops->head(store, run_id, &seq, &head, err);
    if (result == 0)
        hash_hex(&head, report->head);
    batch_free(r.batch);
    run_free(r.run);
    return result;
}
