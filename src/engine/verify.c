/* See verify.h. Reads a run once, row by row, and checks each against what must be true of it; what its events must have
 * changed in other tables is noted on the way and compared at the end. Blocking; no thread of its own. */
#include "engine/verify.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/run/project.h"
#include "engine/batch.h"
#include "engine/projected.h"

static void finding_add(struct verify_report *report, const char *place, const char *format,
                        va_list args) __attribute__((format(printf, 3, 0)));

static void finding_add(struct verify_report *report, const char *place, const char *format,
                        va_list args)
{
    if (report->finding_count++ >= VERIFY_FINDINGS_MAX)
        return;
    struct verify_finding *finding = &report->findings[report->finding_count - 1];
    snprintf(finding->place, sizeof finding->place, "%s", place);
    vsnprintf(finding->text, sizeof finding->text, format, args);
}

/* Something is wrong with an event. Returns 1, which stops a walk. */
static int problem(struct verify_report *report, uint64_t seq, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int problem(struct verify_report *report, uint64_t seq, const char *format, ...)
{
    char place[32];
    va_list args;
    if (report->bad_seq == 0)
        report->bad_seq = seq;
    snprintf(place, sizeof place, "event %llu", (unsigned long long)seq);
    va_start(args, format);
    finding_add(report, place, format, args);
    va_end(args);
    return 1;
}

/* Something is wrong elsewhere. */
static void problem_at(struct verify_report *report, const char *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void problem_at(struct verify_report *report, const char *place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    finding_add(report, place, format, args);
    va_end(args);
}

/* --- the log ------------------------------------------------------------------------------------------------------------- */

struct verifying {
    struct verify_report *report;
    struct run *run; /* NULL: a payload is missing, so nothing can be folded any more */
    struct projected *projected;
    struct arena arena; /* of the event that is folded */
    struct hash head;
    uint64_t *last; /* seq of each agent's last event */
    size_t last_count;
    uint64_t epoch;     /* of the event before */
    uint64_t fact;      /* the last event without a cause */
    int64_t created_at; /* of the run's row */
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

/* What no chain of version 1 has in its hash. */
static int check_numbers(struct verifying *v, const struct stored_event *event)
{
    const struct event_row *row = &event->row;
    if (row->category.n >= row->type.n || row->type.p[row->category.n] != '.' ||
        memcmp(row->type.p, row->category.p, row->category.n) != 0)
        return problem(v->report, row->seq, "its category is %.*s and its type %.*s",
                       STR_FMT(row->category), STR_FMT(row->type));
    if (event->epoch < v->epoch)
        return problem(v->report, row->seq, "its epoch is %llu, after an event of epoch %llu",
                       (unsigned long long)event->epoch, (unsigned long long)v->epoch);
    v->epoch = event->epoch;
    if (row->cause_seq == 0)
        v->fact = row->seq;
    else if (row->cause_seq != v->fact)
        return problem(v->report, row->seq,
                       "it names event %llu as its cause; the last fact before it is event %llu",
                       (unsigned long long)row->cause_seq, (unsigned long long)v->fact);
    return 0;
}

/* Folds the event, and notes what it must have changed in other tables. */
static int fold_noting(struct verifying *v, const struct event_row *row)
{
    struct event event;
    struct row rows[PROJECT_MAX];
    arena_reset(&v->arena);
    if (event_parse(row, &v->arena, &event, &v->err) != 0 ||
        run_apply(v->run, &event, &v->err) != 0)
        return problem(v->report, row->seq, "it does not fold: %s", v->err.message);
    size_t count = project(v->run, &event, rows);
    for (size_t i = 0; i < count; i++)
        projected_note(v->projected, row->agent_no, &rows[i]);
    return 0;
}

/* The chain holds without it, because only its hash is part of that; but nobody can read or fold it. */
static void payload_missing(struct verifying *v, const struct stored_event *event)
{
    char hex[HASH_HEX + 1];
    hash_hex(&event->payload_hash, hex);
    problem(v->report, event->row.seq, "its payload is missing: blob %s was deleted", hex);
    run_free(v->run);
    v->run = NULL;
}

/* The store has checked each payload against its hash (port/store.h). */
static int verify_one(void *user, const struct stored_event *event)
{
    struct verifying *v = user;
    struct verify_report *report = v->report;
    const struct event_row *row = &event->row;
    if (row->seq != report->events + 1)
        return problem(report, report->events + 1, "it is missing: the next stored event is %llu",
                       (unsigned long long)row->seq);
    report->events++;
    v->head = chain_next(&v->head, row, event->epoch, &event->payload_hash);
    if (!hash_eq(&v->head, &event->hash))
        return problem(report, row->seq, "its hash does not follow from the events before it");
    if (check_agent_chain(v, row) != 0 || check_numbers(v, event) != 0)
        return 1;
    if (str_is(row->type, "agent.subagent_created"))
        report->children++;
    if (str_is(row->type, "agent.subagent_closed"))
        report->closes++;
    if (row->cause_seq == 0)
        report->inputs++;
    if (row->payload.p == NULL)
        payload_missing(v, event);
    return v->run != NULL ? fold_noting(v, row) : 0;
}

static void check_end(struct verifying *v, struct str expected_head)
{
    struct verify_report *report = v->report;
    hash_hex(&v->head, report->head);
    if (report->finding_count > 0)
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

static void verifying_init(struct verifying *v, struct str run_id, struct verify_report *report)
{
    *report = (struct verify_report){.events = 0};
    *v = (struct verifying){.report = report,
                            .run = run_new(run_id),
                            .projected = projected_new(run_id),
                            .head = chain_start(run_id)};
    arena_init(&v->arena);
}

static void verifying_release(struct verifying *v)
{
    arena_release(&v->arena);
    projected_free(v->projected);
    run_free(v->run);
    free(v->last);
}

/* What is damaged is a finding; any other trouble ends the verification. */
static int damage(struct verify_report *report, const char *place, int result, struct err *err)
{
    if (result == 0 || err->class != ERR_CORRUPT)
        return result;
    problem_at(report, place, "%s", err->message);
    *err = ERR_INIT;
    return 0;
}

static int walk_log(struct verifying *v, struct store *store, struct str run_id,
                    struct str expected_head, struct err *err)
{
    int result = store->ops->read(store, run_id, 0, STORE_ALL_AGENTS, 0, verify_one, v, err);
    if (result != 0 && err->class == ERR_CORRUPT) {
        problem(v->report, v->report->events + 1, "%s", err->message);
        *err = ERR_INIT;
        result = 0;
    }
    if (result == 0)
        check_end(v, expected_head);
    return result;
}

int verify_log(struct store *store, struct str run_id, struct str expected_head,
               struct verify_report *report, struct err *err)
{
    struct verifying v;
    verifying_init(&v, run_id, report);
    int result = walk_log(&v, store, run_id, expected_head, err);
    verifying_release(&v);
    return result;
}

/* --- the other tables ------------------------------------------------------------------------------------------------------ */

static void differs(void *user, const char *place, const char *text)
{
    problem_at(user, place, "%s", text);
}

static int compare_run(void *user, const struct stored_run *stored)
{
    struct verifying *v = user;
    v->created_at = stored->created_at;
    projected_compare_run(v->projected, stored, differs, v->report);
    return 0;
}

static int compare_agent(void *user, const struct stored_agent *stored)
{
    struct verifying *v = user;
    projected_compare_agent(v->projected, stored, differs, v->report);
    return 0;
}

/* The row of a consumed message. The log has no time of sending: the run's row was written with the same time. */
static void compare_message(struct verifying *v, const struct store_trace *trace)
{
    char place[64];
    snprintf(place, sizeof place, "table inbox, message %lld", (long long)trace->id);
    if (trace->seq == 0 || trace->seq > v->report->events)
        problem_at(v->report, place, "event %llu has consumed it, and the log ends with event %llu",
                   (unsigned long long)trace->seq, (unsigned long long)v->report->events);
    if (trace->started_by >= 0 && trace->started_by != v->created_at)
        problem_at(v->report, "table runs, column created_at",
                   "it is not the time at which inbox message %lld started the run",
                   (long long)trace->id);
}

/* Each agent's last event is taken off the list when its tail says the same. */
static int compare_trace(void *user, const struct store_trace *trace)
{
    struct verifying *v = user;
    char place[64];
    if (trace->kind == TRACE_INBOX) {
        compare_message(v, trace);
        return 0;
    }
    uint64_t last = trace->id >= 0 && (uint64_t)trace->id < v->last_count ? v->last[trace->id] : 0;
    snprintf(place, sizeof place, "table agent_tails, agent %lld", (long long)trace->id);
    if (trace->seq != last)
        problem_at(v->report, place, "it says that event %llu is the agent's last, which is %llu",
                   (unsigned long long)trace->seq, (unsigned long long)last);
    if (last != 0)
        v->last[trace->id] = 0;
    return 0;
}

static int compare_tables(struct verifying *v, struct store *store, struct str run_id,
                          struct err *err)
{
    const struct store_ops *ops = store->ops;
    char place[64];
    if (damage(v->report, "table runs", ops->run(store, run_id, 0, compare_run, v, err), err) != 0)
        return -1;
    if (damage(v->report, "table sub_agents", ops->agents(store, run_id, compare_agent, v, err),
               err) != 0)
        return -1;
    projected_compare_end(v->projected, differs, v->report);
    if (damage(v->report, "table agent_tails", ops->traces(store, run_id, compare_trace, v, err),
               err) != 0)
        return -1;
    for (size_t i = 0; i < v->last_count; i++) {
        if (v->last[i] == 0)
            continue;
        snprintf(place, sizeof place, "table agent_tails, agent %zu", i);
        problem_at(v->report, place, "its row is missing");
    }
    return 0;
}

/* --- the database ------------------------------------------------------------------------------------------------------------ */

struct guards {
    char first[96];
    enum guard_state state;
    size_t count;
};

static void guard_broken(void *user, const char *guard, enum guard_state state)
{
    struct guards *guards = user;
    if (guards->count++ > 0)
        return;
    snprintf(guards->first, sizeof guards->first, "%s", guard);
    guards->state = state;
}

static int check_database(struct verify_report *report, struct store *store, struct err *err)
{
    struct guards guards = {.count = 0};
    if (damage(report, "schema", store->ops->guards(store, guard_broken, &guards, err), err) != 0)
        return -1;
    static const char *const states[] = {[GUARD_MISSING] = "is missing",
                                         [GUARD_CHANGED] = "is not what cadre made",
                                         [GUARD_ADDED] = "was not made by cadre"};
    char others[64] = "";
    if (guards.count > 1)
        snprintf(others, sizeof others, ", as are %zu others", guards.count - 1);
    if (guards.count > 0)
        problem_at(report, guards.first, "it %s%s: another program can have changed the store",
                   states[guards.state], others);
    return damage(report, "store", store->ops->check_pages(store, err), err);
}

int verify_run(struct store *store, struct str run_id, struct str expected_head,
               struct verify_report *report, struct err *err)
{
    struct verifying v;
    verifying_init(&v, run_id, report);
    int result = store->ops->snapshot(store, err);
    if (result == 0) {
        result = walk_log(&v, store, run_id, expected_head, err);
        /* Of a log that does not hold nobody knows what the tables should say. */
        if (result == 0 && report->bad_seq == 0)
            result = compare_tables(&v, store, run_id, err);
        if (result == 0)
            result = check_database(report, store, err);
        store->ops->snapshot_end(store);
    }
    verifying_release(&v);
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
    if (result == 0 && report->finding_count == 0 && r.batch != NULL &&
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
