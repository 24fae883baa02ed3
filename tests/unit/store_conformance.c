/* Collects the promises of port/store.h for one implementation, and the steps that they share. */
#include "store_conformance.h"

#include <stdio.h>
#include <stdlib.h>

int store_fixture_setup(void **state)
{
    struct store_fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->factory = *state;
    f->factory->make(&f->user, &f->opener);
    f->s = test_open(&f->opener);
    *state = f;
    return 0;
}

int store_fixture_teardown(void **state)
{
    struct store_fixture *f = *state;
    if (f->s)
        f->s->ops->close(f->s);
    f->factory->remove(f->user);
    free(f);
    return 0;
}

size_t store_conformance_tests(const struct store_factory *factory, struct CMUnitTest *tests,
                               size_t max)
{
    const struct store_promises groups[] = {
        store_lease_promises(),  store_append_promises(), store_group_promises(),
        store_read_promises(),   store_list_promises(),   store_process_promises(),
        store_record_promises(),
    };
    size_t count = 0;
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        for (size_t i = 0; i < groups[g].count; i++) {
            if (count == max)
                abort();
            tests[count] = groups[g].tests[i];
            tests[count].initial_state = (void *)factory;
            count++;
        }
    }
    return count;
}

struct store *test_open(const struct store_opener *opener)
{
    struct err err = ERR_INIT;
    struct store *s = NULL;
    check_ok(opener->open(opener->user, &s, &err), err);
    return s;
}

struct id test_id(unsigned number)
{
    uint8_t entropy[10] = {(uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8),
                           (uint8_t)number};
    return id_make(NOW, entropy);
}

struct test_run test_started(struct store *s, unsigned number)
{
    struct err err = ERR_INIT;
    struct test_run run = {.id = test_id(number)};
    check_ok(s->ops->inbox_put(s, id_str(&run.id), STR("start"), STR("{\"task\":\"t\"}"),
                               STR("cli"), NOW, &run.start_message, &err),
             err);
    return run;
}

struct test_run test_owned(struct store *s, unsigned number)
{
    struct err err = ERR_INIT;
    struct lease lease;
    struct test_run run = test_started(s, number);
    check_ok(s->ops->lease(s, id_str(&run.id), STR("tester"), TTL, NOW, &lease, &err), err);
    assert_true(lease.epoch > 0);
    run.epoch = lease.epoch;
    return run;
}

struct event_row test_event(struct test_run *run, uint32_t agent_no, const char *payload)
{
    assert_true(agent_no < sizeof run->prev / sizeof run->prev[0]);
    struct event_row row = {
        .seq = run->seq + 1,
        .agent_no = agent_no,
        .agent_prev = run->prev[agent_no],
        .ts = NOW + (int64_t)run->seq,
        .version = 1,
        .category = STR("tool"),
        .type = STR("tool.finished"),
        .summary = STR("read src/main.c"),
        .payload = str_from(payload),
    };
    run->seq++;
    run->prev[agent_no] = run->seq;
    return row;
}

struct append_batch test_batch(const struct test_run *run, const struct event_row *events,
                               size_t count)
{
    return (struct append_batch){
        .run_id = id_str(&run->id), .epoch = run->epoch, .events = events, .event_count = count};
}

void test_append(struct store *s, struct test_run *run, const char *payload)
{
    struct event_row event = test_event(run, 0, payload);
    struct append_batch batch = test_batch(run, &event, 1);
    s->ops->append(s, &batch, 1);
    if (batch.result != APPEND_DURABLE)
        fail_msg("append: result %d: %s", batch.result, batch.err.message);
}

enum append_result test_append_rows(struct store *s, struct test_run *run, const struct row *rows,
                                    size_t count, struct err *err)
{
    struct test_run before = *run;
    struct event_row event = test_event(run, 0, "{}");
    struct append_batch batch = test_batch(run, &event, 1);
    batch.rows = rows;
    batch.row_count = count;
    s->ops->append(s, &batch, 1);
    *err = batch.err;
    if (batch.result != APPEND_DURABLE)
        *run = before;
    return batch.result;
}

static struct row row_none(enum row_kind kind)
{
    return (struct row){
        .kind = kind, .step_idx = -1, .started_at = -1, .finished_at = -1, .parent_seq = -1};
}

struct row test_agent_insert(const struct id *id, const char *status)
{
    struct row row = row_none(ROW_AGENT_INSERT);
    row.id = id_str(id);
    row.parent_id = STR("01HF7YAT00000000000000ROOT");
    row.step_idx = 2;
    row.name = STR("writer");
    row.status = str_from(status);
    row.context_json = STR("{\"contract_version\":1}");
    return row;
}

struct row test_agent_status(const struct id *id, const char *status)
{
    struct row row = row_none(ROW_AGENT_STATUS);
    row.id = id_str(id);
    row.status = str_from(status);
    return row;
}

uint64_t test_head(struct store *s, const struct test_run *run)
{
    struct err err = ERR_INIT;
    struct hash hash;
    uint64_t seq = 0;
    check_ok(s->ops->head(s, id_str(&run->id), &seq, &hash, &err), err);
    return seq;
}

struct verifying {
    uint64_t seq;
    struct hash hash;
    const char *broken;
};

static int verify_event(void *user, const struct stored_event *event)
{
    struct verifying *v = user;
    struct hash payload = hash_of(event->row.payload);
    v->hash = chain_next(&v->hash, &event->row, event->epoch, &event->payload_hash);
    if (event->row.seq != v->seq + 1)
        v->broken = "seq is not dense";
    else if (!hash_eq(&v->hash, &event->hash))
        v->broken = "the chain does not hold";
    else if (event->row.payload.p && !hash_eq(&payload, &event->payload_hash))
        v->broken = "a payload is not what was hashed";
    v->seq = event->row.seq;
    return v->broken != NULL;
}

uint64_t test_verify(struct store *s, const struct id *run_id)
{
    struct err err = ERR_INIT;
    struct verifying v = {.hash = chain_start(id_str(run_id))};
    struct hash head;
    uint64_t seq;
    check_ok(s->ops->read(s, id_str(run_id), 0, STORE_ALL_AGENTS, 0, verify_event, &v, &err), err);
    if (v.broken)
        fail_msg("event %llu: %s", (unsigned long long)v.seq, v.broken);
    check_ok(s->ops->head(s, id_str(run_id), &seq, &head, &err), err);
    assert_int_equal(seq, v.seq);
    assert_true(hash_eq(&head, &v.hash));
    return v.seq;
}
