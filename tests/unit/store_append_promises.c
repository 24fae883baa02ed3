/* Promises about appending: durable, fenced or refused, and never half of a batch. */
#include <stdio.h>
#include <stdlib.h>

#include "core/run/lifecycle.h"
#include "store_conformance.h"

static void append_one(struct store *s, struct append_batch *batch)
{
    s->ops->append(s, batch, 1);
}

static void a_durable_event_is_seen_by_every_other_handle(void **state)
{
    struct store_fixture *f = *state;
    struct store *other = test_open(&f->opener);
    struct test_run run = test_owned(f->s, 1);
    test_append(f->s, &run, "{\"n\":1}");
    assert_int_equal(test_head(other, &run), 1);
    other->ops->close(other);
}

static void several_runs_are_appended_at_once(void **state)
{
    struct store_fixture *f = *state;
    struct test_run runs[5];
    struct event_row events[5][3];
    struct append_batch batches[5];
    for (unsigned i = 0; i < 5; i++) {
        runs[i] = test_owned(f->s, i);
        for (unsigned k = 0; k < 3; k++)
            events[i][k] = test_event(&runs[i], k % 2, "{}");
        batches[i] = test_batch(&runs[i], events[i], 3);
    }
    f->s->ops->append(f->s, batches, 5);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(batches[i].result, APPEND_DURABLE);
        assert_int_equal(test_verify(f->s, &runs[i].id), 3);
    }
}

static void an_old_epoch_is_fenced(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct lease lease;
    struct test_run run = test_owned(f->s, 1);
    check_ok(f->s->ops->lease(f->s, id_str(&run.id), STR("b"), TTL, NOW + TTL, &lease, &err), err);
    struct event_row event = test_event(&run, 0, "{}");
    struct append_batch batch = test_batch(&run, &event, 1);
    append_one(f->s, &batch);
    assert_int_equal(batch.result, APPEND_FENCED);
    assert_int_equal(test_head(f->s, &run), 0);
}

static void a_lease_that_ran_out_untaken_still_appends(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_owned(f->s, 1);
    struct event_row event = test_event(&run, 0, "{}");
    event.ts = NOW + 10 * TTL;
    struct append_batch batch = test_batch(&run, &event, 1);
    append_one(f->s, &batch);
    assert_int_equal(batch.result, APPEND_DURABLE);
}

static void a_released_epoch_and_no_epoch_are_fenced(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct test_run run = test_owned(f->s, 1), never = test_started(f->s, 2);
    check_ok(f->s->ops->release(f->s, id_str(&run.id), run.epoch, &err), err);
    struct event_row first = test_event(&run, 0, "{}"), second = test_event(&never, 0, "{}");
    struct append_batch batches[] = {test_batch(&run, &first, 1), test_batch(&never, &second, 1)};
    f->s->ops->append(f->s, batches, 2);
    assert_int_equal(batches[0].result, APPEND_FENCED);
    assert_int_equal(batches[1].result, APPEND_FENCED);
}

static void a_first_seq_that_is_not_the_next_is_fenced(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_owned(f->s, 1);
    test_append(f->s, &run, "{}");
    const uint64_t wrong[] = {1, 3, UINT64_MAX, (uint64_t)INT64_MAX + 1};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct test_run copy = run;
        struct event_row event = test_event(&copy, 0, "{}");
        event.seq = wrong[i];
        struct append_batch batch = test_batch(&run, &event, 1);
        append_one(f->s, &batch);
        assert_int_equal(batch.result, APPEND_FENCED);
    }
    assert_int_equal(test_verify(f->s, &run.id), 1);
}

static void a_fenced_batch_leaves_the_others_alone(void **state)
{
    struct store_fixture *f = *state;
    struct test_run runs[3] = {test_owned(f->s, 1), test_owned(f->s, 2), test_owned(f->s, 3)};
    struct event_row events[3];
    struct append_batch batches[3];
    runs[1].epoch--;
    for (unsigned i = 0; i < 3; i++) {
        events[i] = test_event(&runs[i], 0, "{}");
        batches[i] = test_batch(&runs[i], &events[i], 1);
    }
    f->s->ops->append(f->s, batches, 3);
    assert_int_equal(batches[0].result, APPEND_DURABLE);
    assert_int_equal(batches[1].result, APPEND_FENCED);
    assert_int_equal(batches[2].result, APPEND_DURABLE);
    assert_int_equal(test_head(f->s, &runs[1]), 0);
    assert_int_equal(test_head(f->s, &runs[2]), 1);
}

static void a_refused_batch_writes_nothing_and_leaves_the_others_alone(void **state)
{
    struct store_fixture *f = *state;
    struct test_run runs[3] = {test_owned(f->s, 1), test_owned(f->s, 2), test_owned(f->s, 3)};
    struct event_row events[3][2];
    struct append_batch batches[3];
    struct id agent = test_id(9);
    struct row rows[] = {test_agent_insert(&agent, "created"), test_agent_status(&agent, "closed")};
    struct event_row unseen;
    for (unsigned i = 0; i < 3; i++) {
        events[i][0] = test_event(&runs[i], 0, "{}");
        events[i][1] = test_event(&runs[i], 1, "{}");
        batches[i] = test_batch(&runs[i], events[i], 2);
    }
    /* A type that only the refused batch knows must not be remembered. */
    events[1][0].category = STR("plan");
    events[1][0].type = STR("plan.created");
    batches[1].rows = rows;
    batches[1].row_count = 2;
    batches[1].inbox_ids = &runs[1].start_message;
    batches[1].inbox_count = 1;
    f->s->ops->append(f->s, batches, 3);
    assert_int_equal(batches[0].result, APPEND_DURABLE);
    assert_int_equal(batches[1].result, APPEND_REFUSED);
    assert_true(batches[1].err.message[0] != '\0');
    assert_int_equal(batches[2].result, APPEND_DURABLE);
    assert_int_equal(test_verify(f->s, &runs[0].id), 2);
    assert_int_equal(test_verify(f->s, &runs[1].id), 0);
    assert_int_equal(test_verify(f->s, &runs[2].id), 2);

    unseen = events[1][0];
    batches[1] = test_batch(&runs[1], &unseen, 1);
    append_one(f->s, &batches[1]);
    assert_int_equal(batches[1].result, APPEND_DURABLE);
    assert_int_equal(test_verify(f->s, &runs[1].id), 1);
}

static void a_run_that_is_not_there_is_refused(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = {.id = test_id(1), .epoch = 1};
    struct event_row event = test_event(&run, 0, "{}");
    struct append_batch batch = test_batch(&run, &event, 1);
    append_one(f->s, &batch);
    assert_int_equal(batch.result, APPEND_REFUSED);
    assert_int_equal(batch.err.class, ERR_NOT_FOUND);
}

/* Each row breaks one field of the second event of a batch. */
static void a_malformed_batch_is_refused(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_owned(f->s, 1);
    for (int broken = 0; broken < 9; broken++) {
        struct test_run copy = run;
        struct event_row events[3] = {test_event(&copy, 0, "{}"), test_event(&copy, 1, "{}"),
                                      test_event(&copy, 0, "{}")};
        struct append_batch batch = test_batch(&run, events, 3);
        switch (broken) {
        case 0:
            events[1].seq = 7;
            break;
        case 1:
            events[1].payload = STR_NONE;
            break;
        case 2:
            events[1].type = STR_NONE;
            break;
        case 3:
            events[1].cause_seq = 2;
            break;
        case 4:
            batch.event_count = 0;
            break;
        case 5: /* the previous event is another agent's */
            events[1].agent_prev = 1;
            break;
        case 6: /* a fork: event 1 is continued twice */
            events[1].agent_no = 0;
            events[1].agent_prev = 1;
            break;
        case 7: /* an event is left out of its agent's chain */
            events[2].agent_prev = 0;
            break;
        case 8:
            events[1].agent_prev = 2;
            break;
        }
        append_one(f->s, &batch);
        if (batch.result != APPEND_REFUSED)
            fail_msg("case %d: result %d", broken, batch.result);
    }
    assert_int_equal(test_head(f->s, &run), 0);
}

static void the_previous_event_of_an_agent_must_be_its_last(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_owned(f->s, 1);
    test_append(f->s, &run, "{}");
    test_append(f->s, &run, "{}");
    const uint64_t wrong[] = {0, 1, 3, UINT64_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct test_run copy = run;
        struct event_row event = test_event(&copy, 0, "{}");
        event.agent_prev = wrong[i];
        struct append_batch batch = test_batch(&run, &event, 1);
        append_one(f->s, &batch);
        assert_int_equal(batch.result, APPEND_REFUSED);
    }
    test_append(f->s, &run, "{}");
}

static void every_pair_of_states_outside_the_lifecycle_is_refused(void **state)
{
    struct store_fixture *f = *state;
    struct err err;
    struct test_run run = test_owned(f->s, 1);
    /* The way by which each state is reached. */
    static const char *const ways[LIFE_COUNT][5] = {
        [LIFE_CREATED] = {NULL},
        [LIFE_RUNNING] = {"running"},
        [LIFE_WAITING_FOR_MERGE] = {"running", "waiting_for_merge"},
        [LIFE_COMPLETED] = {"running", "waiting_for_merge", "completed"},
        [LIFE_FAILED] = {"failed"},
        [LIFE_CLOSED] = {"failed", "closed"},
    };
    unsigned number = 100;
    for (enum life_state from = 0; from < LIFE_COUNT; from++) {
        for (enum life_state to = 0; to < LIFE_COUNT; to++) {
            struct id agent = test_id(number++);
            struct row rows[6] = {test_agent_insert(&agent, "created")};
            size_t count = 1;
            for (size_t i = 0; i < 5 && ways[from][i]; i++)
                rows[count++] = test_agent_status(&agent, ways[from][i]);
            assert_int_equal(test_append_rows(f->s, &run, rows, count, &err), APPEND_DURABLE);
            /* Staying is no edge: a second attempt keeps the child running; only closed is final. */
            bool legal = life_legal(from, to) || (from == to && from != LIFE_CLOSED);
            struct row row = test_agent_status(&agent, life_text(to));
            enum append_result result = test_append_rows(f->s, &run, &row, 1, &err);
            if (result != (legal ? APPEND_DURABLE : APPEND_REFUSED))
                fail_msg("%s to %s: result %d", life_text(from), life_text(to), result);
        }
    }
}

static void a_child_is_inserted_as_created_and_only_once(void **state)
{
    struct store_fixture *f = *state;
    struct err err;
    struct test_run run = test_owned(f->s, 1);
    struct id agent = test_id(9);
    struct row row = test_agent_insert(&agent, "running");
    assert_int_equal(test_append_rows(f->s, &run, &row, 1, &err), APPEND_REFUSED);
    row.status = STR("created");
    assert_int_equal(test_append_rows(f->s, &run, &row, 1, &err), APPEND_DURABLE);
    assert_int_equal(test_append_rows(f->s, &run, &row, 1, &err), APPEND_REFUSED);
    row.id = STR("another");
    row.context_json = STR_NONE;
    assert_int_equal(test_append_rows(f->s, &run, &row, 1, &err), APPEND_REFUSED);
}

static void a_closed_child_never_changes(void **state)
{
    struct store_fixture *f = *state;
    struct err err;
    struct test_run run = test_owned(f->s, 1);
    struct id agent = test_id(9);
    struct row life[] = {test_agent_insert(&agent, "created"), test_agent_status(&agent, "failed"),
                         test_agent_status(&agent, "closed")};
    assert_int_equal(test_append_rows(f->s, &run, life, 3, &err), APPEND_DURABLE);
    struct row late = test_agent_status(&agent, NULL);
    late.error = STR("one more");
    assert_int_equal(test_append_rows(f->s, &run, &late, 1, &err), APPEND_REFUSED);
}

static void a_child_of_another_run_is_refused(void **state)
{
    struct store_fixture *f = *state;
    struct err err;
    struct test_run run = test_owned(f->s, 1), other = test_owned(f->s, 2);
    struct id agent = test_id(9);
    struct row insert = test_agent_insert(&agent, "created");
    struct row change = test_agent_status(&agent, "running");
    assert_int_equal(test_append_rows(f->s, &run, &insert, 1, &err), APPEND_DURABLE);
    assert_int_equal(test_append_rows(f->s, &other, &change, 1, &err), APPEND_REFUSED);
    assert_int_equal(test_append_rows(f->s, &other, &insert, 1, &err), APPEND_REFUSED);
}

static enum append_result consume(struct store *s, struct test_run *run, int64_t message)
{
    struct test_run before = *run;
    struct event_row event = test_event(run, 0, "{}");
    struct append_batch batch = test_batch(run, &event, 1);
    batch.inbox_ids = &message;
    batch.inbox_count = 1;
    append_one(s, &batch);
    if (batch.result != APPEND_DURABLE)
        *run = before;
    return batch.result;
}

static void a_message_is_consumed_once(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_owned(f->s, 1);
    assert_int_equal(consume(f->s, &run, run.start_message), APPEND_DURABLE);
    assert_int_equal(consume(f->s, &run, run.start_message), APPEND_REFUSED);
    assert_int_equal(test_head(f->s, &run), 1);
}

static void a_message_of_another_run_or_none_is_refused(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_owned(f->s, 1), other = test_owned(f->s, 2);
    assert_int_equal(consume(f->s, &run, other.start_message), APPEND_REFUSED);
    assert_int_equal(consume(f->s, &run, 987654321), APPEND_REFUSED);
    assert_int_equal(consume(f->s, &other, other.start_message), APPEND_DURABLE);
}

struct store_promises store_append_promises(void)
{
    static const struct CMUnitTest tests[] = {
        PROMISE(a_durable_event_is_seen_by_every_other_handle),
        PROMISE(several_runs_are_appended_at_once),
        PROMISE(an_old_epoch_is_fenced),
        PROMISE(a_lease_that_ran_out_untaken_still_appends),
        PROMISE(a_released_epoch_and_no_epoch_are_fenced),
        PROMISE(a_first_seq_that_is_not_the_next_is_fenced),
        PROMISE(a_fenced_batch_leaves_the_others_alone),
        PROMISE(a_refused_batch_writes_nothing_and_leaves_the_others_alone),
        PROMISE(a_run_that_is_not_there_is_refused),
        PROMISE(a_malformed_batch_is_refused),
        PROMISE(the_previous_event_of_an_agent_must_be_its_last),
        PROMISE(every_pair_of_states_outside_the_lifecycle_is_refused),
        PROMISE(a_child_is_inserted_as_created_and_only_once),
        PROMISE(a_closed_child_never_changes),
        PROMISE(a_child_of_another_run_is_refused),
        PROMISE(a_message_is_consumed_once),
        PROMISE(a_message_of_another_run_or_none_is_refused),
    };
    return (struct store_promises){tests, sizeof tests / sizeof tests[0]};
}
