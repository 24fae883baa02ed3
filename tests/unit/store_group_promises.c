/* Promises about what a store may save when it appends much at once, or again and again: the outcome is the same as for
 * one batch after the other, whoever else writes in between. */
#include "store_conformance.h"

static int see_agent(void *user, const struct stored_agent *agent)
{
    struct stored_agent *seen = user;
    seen->started_at = agent->started_at;
    seen->finished_at = agent->finished_at;
    seen->status = str_is(agent->status, "closed")      ? STR("closed")
                   : str_is(agent->status, "completed") ? STR("completed")
                                                        : STR("another");
    return 0;
}

static void any_number_of_events_in_a_batch_is_kept_in_order(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_owned(f->s, 1);
    struct event_row events[70];
    uint64_t total = 0;
    for (size_t count = 1; count <= 70; count += count < 20 ? 1 : 7) {
        for (size_t i = 0; i < count; i++)
            events[i] = test_event(&run, (uint32_t)(i % 8), "{\"n\":1}");
        struct append_batch batch = test_batch(&run, events, count);
        f->s->ops->append(f->s, &batch, 1);
        assert_int_equal(batch.result, APPEND_DURABLE);
        total += count;
        assert_int_equal(test_verify(f->s, &run.id), total);
    }
}

static int count_event(void *user, const struct stored_event *event)
{
    ++*(uint64_t *)user;
    return 0;
}

static void batches_of_one_run_follow_each_other_in_one_call(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct test_run run = test_owned(f->s, 1), other = test_owned(f->s, 2);
    struct event_row events[9][5];
    struct append_batch batches[9];
    uint64_t seen = 0;
    for (size_t i = 0; i < 9; i++) {
        struct test_run *whose = i % 3 == 2 ? &other : &run;
        for (uint32_t k = 0; k < 5; k++)
            events[i][k] = test_event(whose, (uint32_t)(i + k) % 3, "{}");
        batches[i] = test_batch(whose, events[i], 5);
    }
    f->s->ops->append(f->s, batches, 9);
    for (size_t i = 0; i < 9; i++)
        assert_int_equal(batches[i].result, APPEND_DURABLE);
    assert_int_equal(test_verify(f->s, &run.id), 30);
    assert_int_equal(test_verify(f->s, &other.id), 15);
    for (uint32_t agent = 0; agent < 3; agent++)
        check_ok(f->s->ops->read(f->s, id_str(&run.id), 0, agent, 0, count_event, &seen, &err),
                 err);
    assert_int_equal(seen, 30);
}

static void the_case_of_an_id_does_not_make_another_run(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_owned(f->s, 0xabcdef);
    struct event_row events[2] = {test_event(&run, 0, "{}"), test_event(&run, 0, "{}")};
    struct append_batch batches[2] = {test_batch(&run, &events[0], 1),
                                      test_batch(&run, &events[1], 1)};
    char lower[ID_LENGTH];
    for (size_t i = 0; i < ID_LENGTH; i++)
        lower[i] = (char)(run.id.text[i] >= 'A' ? run.id.text[i] + 32 : run.id.text[i]);
    batches[1].run_id = (struct str){lower, ID_LENGTH};
    f->s->ops->append(f->s, batches, 2);
    assert_int_equal(batches[0].result, APPEND_DURABLE);
    assert_int_equal(batches[1].result, APPEND_DURABLE);
    assert_int_equal(test_verify(f->s, &run.id), 2);
}

static void behind_a_refused_batch_its_run_is_fenced_and_others_go_on(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_owned(f->s, 1), other = test_owned(f->s, 2);
    struct event_row events[4] = {test_event(&run, 0, "{}"), test_event(&run, 0, "{}"),
                                  test_event(&run, 0, "{}"), test_event(&other, 0, "{}")};
    struct append_batch batches[4] = {
        test_batch(&run, &events[0], 1), test_batch(&run, &events[1], 1),
        test_batch(&run, &events[2], 1), test_batch(&other, &events[3], 1)};
    const int64_t none = 987654321;
    batches[1].inbox_ids = &none;
    batches[1].inbox_count = 1;
    f->s->ops->append(f->s, batches, 4);
    assert_int_equal(batches[0].result, APPEND_DURABLE);
    assert_int_equal(batches[1].result, APPEND_REFUSED);
    assert_int_equal(batches[2].result, APPEND_FENCED);
    assert_int_equal(batches[3].result, APPEND_DURABLE);
    assert_int_equal(test_verify(f->s, &run.id), 1);
    assert_int_equal(test_verify(f->s, &other.id), 1);
}

static void an_agents_chain_that_breaks_between_batches_is_refused(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_owned(f->s, 1);
    struct event_row events[2] = {test_event(&run, 0, "{}"), test_event(&run, 0, "{}")};
    struct append_batch batches[2] = {test_batch(&run, &events[0], 1),
                                      test_batch(&run, &events[1], 1)};
    events[1].agent_prev = 0;
    f->s->ops->append(f->s, batches, 2);
    assert_int_equal(batches[0].result, APPEND_DURABLE);
    assert_int_equal(batches[1].result, APPEND_REFUSED);
    assert_int_equal(test_verify(f->s, &run.id), 1);
}

static void a_lease_taken_through_another_handle_fences_who_appended_before(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct store *other = test_open(&f->opener);
    struct test_run run = test_owned(f->s, 1);
    struct lease lease;
    test_append(f->s, &run, "{}");
    test_append(f->s, &run, "{}");
    check_ok(other->ops->lease(other, id_str(&run.id), STR("b"), TTL, NOW + TTL, &lease, &err),
             err);
    struct event_row event = test_event(&run, 0, "{}");
    struct append_batch batch = test_batch(&run, &event, 1);
    f->s->ops->append(f->s, &batch, 1);
    assert_int_equal(batch.result, APPEND_FENCED);
    run.epoch = lease.epoch;
    batch = test_batch(&run, &event, 1);
    other->ops->append(other, &batch, 1);
    assert_int_equal(batch.result, APPEND_DURABLE);
    assert_int_equal(test_verify(f->s, &run.id), 3);
    other->ops->close(other);
}

static void a_released_lease_fences_who_appended_before(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct test_run run = test_owned(f->s, 1);
    test_append(f->s, &run, "{}");
    check_ok(f->s->ops->release(f->s, id_str(&run.id), run.epoch, &err), err);
    struct event_row event = test_event(&run, 0, "{}");
    struct append_batch batch = test_batch(&run, &event, 1);
    f->s->ops->append(f->s, &batch, 1);
    assert_int_equal(batch.result, APPEND_FENCED);
}

static void handles_that_take_turns_append_one_chain(void **state)
{
    struct store_fixture *f = *state;
    struct store *other = test_open(&f->opener);
    struct test_run run = test_owned(f->s, 1);
    for (int i = 0; i < 12; i++)
        test_append(i % 3 == 1 ? other : f->s, &run, "{}");
    assert_int_equal(test_verify(f->s, &run.id), 12);
    /* The other handle's log ended earlier: what it saw last is no excuse for a gap or a second event 12. */
    struct test_run stale = run;
    stale.seq = 11;
    struct event_row event = test_event(&stale, 0, "{}");
    struct append_batch batch = test_batch(&stale, &event, 1);
    other->ops->append(other, &batch, 1);
    assert_int_equal(batch.result, APPEND_FENCED);
    other->ops->close(other);
}

static void a_life_in_one_batch_ends_where_its_last_edge_leads(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct test_run run = test_owned(f->s, 1);
    struct id agent = test_id(9);
    struct stored_agent seen = {.started_at = 0};
    struct row rows[] = {test_agent_insert(&agent, "created"), test_agent_status(&agent, "running"),
                         test_agent_status(&agent, "running"),
                         test_agent_status(&agent, "waiting_for_merge"),
                         test_agent_status(&agent, "completed")};
    rows[1].started_at = 77;
    assert_int_equal(test_append_rows(f->s, &run, rows, 5, &err), APPEND_DURABLE);
    check_ok(f->s->ops->agents(f->s, id_str(&run.id), see_agent, &seen, &err), err);
    assert_true(str_is(seen.status, "completed"));
    assert_int_equal(seen.started_at, 77);
    struct row end = test_agent_status(&agent, "closed");
    end.finished_at = 99;
    assert_int_equal(test_append_rows(f->s, &run, &end, 1, &err), APPEND_DURABLE);
    check_ok(f->s->ops->agents(f->s, id_str(&run.id), see_agent, &seen, &err), err);
    assert_true(str_is(seen.status, "closed"));
    assert_int_equal(seen.started_at, 77);
    assert_int_equal(seen.finished_at, 99);
}

static void an_illegal_edge_inside_a_batch_is_refused(void **state)
{
    static const char *const ways[][4] = {
        {"created", "completed"},
        {"created", "running", "closed"},
        {"created", "running", "created"},
        {"created", "failed", "closed", "closed"},
        {"created", "failed", "closed", "running"},
        {"created", "invented"},
        {"running", "failed"},
    };
    struct store_fixture *f = *state;
    struct err err;
    struct test_run run = test_owned(f->s, 1);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct id agent = test_id(100 + (unsigned)i);
        struct row rows[4];
        size_t count = 0;
        for (; count < 4 && ways[i][count]; count++)
            rows[count] = count == 0 ? test_agent_insert(&agent, ways[i][0])
                                     : test_agent_status(&agent, ways[i][count]);
        if (test_append_rows(f->s, &run, rows, count, &err) != APPEND_REFUSED)
            fail_msg("way %zu was taken", i);
        assert_true(err.message[0] != '\0');
    }
    assert_int_equal(test_head(f->s, &run), 0);
}

struct store_promises store_group_promises(void)
{
    static const struct CMUnitTest tests[] = {
        PROMISE(any_number_of_events_in_a_batch_is_kept_in_order),
        PROMISE(batches_of_one_run_follow_each_other_in_one_call),
        PROMISE(the_case_of_an_id_does_not_make_another_run),
        PROMISE(behind_a_refused_batch_its_run_is_fenced_and_others_go_on),
        PROMISE(an_agents_chain_that_breaks_between_batches_is_refused),
        PROMISE(a_lease_taken_through_another_handle_fences_who_appended_before),
        PROMISE(a_released_lease_fences_who_appended_before),
        PROMISE(handles_that_take_turns_append_one_chain),
        PROMISE(a_life_in_one_batch_ends_where_its_last_edge_leads),
        PROMISE(an_illegal_edge_inside_a_batch_is_refused),
    };
    return (struct store_promises){tests, sizeof tests / sizeof tests[0]};
}
