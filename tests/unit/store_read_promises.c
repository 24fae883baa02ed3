/* Promises about reading events and payloads, and about the inbox. */
#include <ctype.h>
#include <stdlib.h>

#include "store_conformance.h"

struct seen {
    uint64_t seqs[64];
    size_t count;
    size_t stop_after; /* 0: never */
};

static int note_event(void *user, const struct stored_event *event)
{
    struct seen *seen = user;
    if (seen->count < sizeof seen->seqs / sizeof seen->seqs[0])
        seen->seqs[seen->count] = event->row.seq;
    seen->count++;
    return seen->stop_after != 0 && seen->count >= seen->stop_after;
}

static struct seen read_events(struct store *s, const struct test_run *run, uint64_t after,
                               uint32_t agent_no, size_t limit)
{
    struct err err = ERR_INIT;
    struct seen seen = {0};
    check_ok(s->ops->read(s, id_str(&run->id), after, agent_no, limit, note_event, &seen, &err),
             err);
    return seen;
}

#define check_seqs(seen_, ...)                                                                     \
    do {                                                                                           \
        const uint64_t expected_[] = {__VA_ARGS__};                                                \
        struct seen got_ = (seen_);                                                                \
        assert_int_equal(got_.count, sizeof expected_ / sizeof expected_[0]);                      \
        assert_memory_equal(got_.seqs, expected_, sizeof expected_);                               \
    } while (0)

/* Ten events in two batches: agents 0 1 2 0 1 2 0 1 2 0, so agent 1 has 2, 5 and 8. */
static struct test_run ten_events(struct store *s)
{
    struct test_run run = test_owned(s, 1);
    struct event_row events[10];
    for (unsigned i = 0; i < 10; i++)
        events[i] = test_event(&run, i % 3, "{}");
    for (unsigned half = 0; half < 2; half++) {
        struct append_batch batch = test_batch(&run, &events[half * 5], 5);
        s->ops->append(s, &batch, 1);
        assert_int_equal(batch.result, APPEND_DURABLE);
    }
    return run;
}

static int same_event(void *user, const struct stored_event *got)
{
    struct event_row *want = user;
    struct hash start = chain_start(STR("01HF7YAT00000000000000ROOT"));
    assert_int_equal(got->row.seq, want->seq);
    assert_int_equal(got->row.agent_no, want->agent_no);
    assert_int_equal(got->row.agent_prev, want->agent_prev);
    assert_int_equal(got->row.ts, want->ts);
    assert_int_equal(got->row.version, want->version);
    assert_int_equal(got->row.cause_seq, want->cause_seq);
    assert_true(str_eq(got->row.category, want->category));
    assert_true(str_eq(got->row.type, want->type));
    assert_true(str_eq(got->row.call_id, want->call_id));
    assert_true((got->row.call_id.p == NULL) == (want->call_id.p == NULL));
    assert_true(str_eq(got->row.summary, want->summary));
    assert_true(str_eq(got->row.payload, want->payload));
    struct hash payload = hash_of(want->payload);
    assert_true(hash_eq(&got->payload_hash, &payload));
    assert_false(hash_eq(&got->hash, &start));
    return 0;
}

static void every_field_of_an_event_comes_back(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct test_run run = test_owned(f->s, 1);
    test_append(f->s, &run, "{}");
    struct event_row event = test_event(&run, 5, "{\"text\":\"nul \\u0000 and \xc3\xa4\"}");
    event.ts = INT64_MAX;
    event.version = UINT16_MAX;
    event.cause_seq = 1;
    event.call_id = STR("call_1");
    event.summary = STR("it's \"quoted\"");
    struct append_batch batch = test_batch(&run, &event, 1);
    f->s->ops->append(f->s, &batch, 1);
    assert_int_equal(batch.result, APPEND_DURABLE);
    check_ok(
        f->s->ops->read(f->s, id_str(&run.id), 1, STORE_ALL_AGENTS, 0, same_event, &event, &err),
        err);
    check_ok(f->s->ops->read(f->s, id_str(&run.id), 0, 5, 0, same_event, &event, &err), err);
}

static void payloads_of_every_size_come_back(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct test_run run = test_owned(f->s, 1);
    const size_t sizes[] = {2, 1023, 1024, 1025, 5000, 300000, 3000000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *payload = malloc(sizes[i] + 1);
        assert_non_null(payload);
        memset(payload, 'x', sizes[i]);
        payload[0] = '"';
        payload[sizes[i] - 1] = '"';
        payload[sizes[i]] = '\0';
        struct event_row event = test_event(&run, 0, payload);
        struct append_batch batch = test_batch(&run, &event, 1);
        f->s->ops->append(f->s, &batch, 1);
        assert_int_equal(batch.result, APPEND_DURABLE);
        check_ok(f->s->ops->read(f->s, id_str(&run.id), run.seq - 1, STORE_ALL_AGENTS, 0,
                                 same_event, &event, &err),
                 err);
        free(payload);
    }
    assert_int_equal(test_verify(f->s, &run.id), sizeof sizes / sizeof sizes[0]);
}

static void reading_starts_behind_after_seq_and_stops_at_the_limit(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = ten_events(f->s);
    check_seqs(read_events(f->s, &run, 0, STORE_ALL_AGENTS, 0), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    check_seqs(read_events(f->s, &run, 7, STORE_ALL_AGENTS, 0), 8, 9, 10);
    check_seqs(read_events(f->s, &run, 3, STORE_ALL_AGENTS, 2), 4, 5);
    assert_int_equal(read_events(f->s, &run, 10, STORE_ALL_AGENTS, 0).count, 0);
    assert_int_equal(read_events(f->s, &run, UINT64_MAX, STORE_ALL_AGENTS, 0).count, 0);
}

static void one_agent_is_read_in_order(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = ten_events(f->s);
    check_seqs(read_events(f->s, &run, 0, 0, 0), 1, 4, 7, 10);
    check_seqs(read_events(f->s, &run, 0, 1, 0), 2, 5, 8);
    check_seqs(read_events(f->s, &run, 2, 1, 0), 5, 8);
    check_seqs(read_events(f->s, &run, 3, 0, 2), 4, 7);
    assert_int_equal(read_events(f->s, &run, 8, 1, 0).count, 0);
    assert_int_equal(read_events(f->s, &run, 0, 7, 0).count, 0);
}

static void a_callback_can_stop_the_walk(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct test_run run = ten_events(f->s);
    const uint32_t agents[] = {STORE_ALL_AGENTS, 0};
    for (size_t i = 0; i < 2; i++) {
        struct seen seen = {.stop_after = 2};
        check_ok(f->s->ops->read(f->s, id_str(&run.id), 0, agents[i], 0, note_event, &seen, &err),
                 err);
        assert_int_equal(seen.count, 2);
    }
    test_append(f->s, &run, "{}");
}

static void an_unknown_run_has_no_events(void **state)
{
    struct store_fixture *f = *state;
    struct err err;
    struct seen seen = {0};
    struct hash hash;
    uint64_t seq;
    struct id id = test_id(1);
    check_class(f->s->ops->read(f->s, id_str(&id), 0, STORE_ALL_AGENTS, 0, note_event, &seen, &err),
                err, ERR_NOT_FOUND);
    check_class(f->s->ops->head(f->s, id_str(&id), &seq, &hash, &err), err, ERR_NOT_FOUND);
}

static void the_head_of_an_empty_run_is_the_start_of_its_chain(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct test_run run = test_started(f->s, 1);
    struct hash hash, start = chain_start(id_str(&run.id));
    uint64_t seq = 99;
    check_ok(f->s->ops->head(f->s, id_str(&run.id), &seq, &hash, &err), err);
    assert_int_equal(seq, 0);
    assert_true(hash_eq(&hash, &start));
    /* The chain does not depend on the case in which somebody typed the id. */
    char lower[ID_LENGTH];
    for (size_t i = 0; i < ID_LENGTH; i++)
        lower[i] = (char)tolower((unsigned char)run.id.text[i]);
    check_ok(f->s->ops->head(f->s, (struct str){lower, ID_LENGTH}, &seq, &hash, &err), err);
    assert_true(hash_eq(&hash, &start));
}

static void the_chain_links_every_event_to_the_one_before(void **state)
{
    struct store_fixture *f = *state;
    struct test_run one = ten_events(f->s), two = test_owned(f->s, 2);
    struct err err = ERR_INIT;
    struct hash first, second;
    uint64_t seq;
    assert_int_equal(test_verify(f->s, &one.id), 10);
    check_ok(f->s->ops->head(f->s, id_str(&one.id), &seq, &first, &err), err);
    for (unsigned i = 0; i < 10; i++)
        test_append(f->s, &two, "{}");
    check_ok(f->s->ops->head(f->s, id_str(&two.id), &seq, &second, &err), err);
    assert_false(hash_eq(&first, &second));
}

static void a_long_payload_is_a_blob_under_its_hash(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct test_run run = test_owned(f->s, 1);
    char payload[4000];
    struct buf out;
    memset(payload, '7', sizeof payload);
    payload[sizeof payload - 1] = '\0';
    test_append(f->s, &run, payload);
    struct hash hash = hash_of(str_from(payload)), unknown = hash_of(STR("unknown"));
    buf_init(&out, 1 << 20);
    check_ok(f->s->ops->blob_get(f->s, &hash, &out, &err), err);
    assert_true(str_eq(buf_view(&out), str_from(payload)));
    check_class(f->s->ops->blob_get(f->s, &unknown, &out, &err), err, ERR_NOT_FOUND);
    buf_release(&out);
    buf_init(&out, 100);
    check_class(f->s->ops->blob_get(f->s, &hash, &out, &err), err, ERR_USAGE);
    buf_release(&out);
}

/* --- inbox ---------------------------------------------------------------------------------------------- */

struct taken {
    int64_t ids[16];
    char kinds[16][16];
    size_t count;
};

static int note_message(void *user, const struct inbox_message *message)
{
    struct taken *taken = user;
    assert_true(taken->count < 16 && message->kind.n < 16);
    taken->ids[taken->count] = message->id;
    memcpy(taken->kinds[taken->count], message->kind.p, message->kind.n);
    taken->count++;
    check_str(message->sender, "cli");
    assert_int_equal(message->at, NOW);
    assert_int_equal(message->body.p[0], '{');
    return 0;
}

static struct taken take_messages(struct store *s, const struct test_run *run)
{
    struct err err = ERR_INIT;
    struct taken taken = {0};
    check_ok(s->ops->inbox_take(s, id_str(&run->id), run->epoch, note_message, &taken, &err), err);
    return taken;
}

static int64_t put(struct store *s, const struct test_run *run, struct str kind)
{
    struct err err = ERR_INIT;
    int64_t id = 0;
    check_ok(s->ops->inbox_put(s, id_str(&run->id), kind, STR("{}"), STR("cli"), NOW, &id, &err),
             err);
    return id;
}

static void messages_come_oldest_first_and_only_to_their_run(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_owned(f->s, 1), other = test_owned(f->s, 2);
    int64_t send = put(f->s, &run, STR("send"));
    put(f->s, &other, STR("cancel"));
    int64_t approve = put(f->s, &run, STR("approve"));
    struct taken taken = take_messages(f->s, &run);
    assert_int_equal(taken.count, 3);
    assert_int_equal(taken.ids[0], run.start_message);
    assert_int_equal(taken.ids[1], send);
    assert_int_equal(taken.ids[2], approve);
    assert_string_equal(taken.kinds[0], "start");
    assert_string_equal(taken.kinds[2], "approve");
}

static void a_message_stays_until_an_event_consumes_it(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_owned(f->s, 1);
    int64_t send = put(f->s, &run, STR("send"));
    assert_int_equal(take_messages(f->s, &run).count, 2);
    assert_int_equal(take_messages(f->s, &run).count, 2);
    struct event_row event = test_event(&run, 0, "{}");
    struct append_batch batch = test_batch(&run, &event, 1);
    batch.inbox_ids = &run.start_message;
    batch.inbox_count = 1;
    f->s->ops->append(f->s, &batch, 1);
    struct taken left = take_messages(f->s, &run);
    assert_int_equal(left.count, 1);
    assert_int_equal(left.ids[0], send);
}

static void an_old_epoch_takes_no_messages(void **state)
{
    struct store_fixture *f = *state;
    struct err err;
    struct taken taken = {0};
    struct test_run run = test_owned(f->s, 1);
    check_class(
        f->s->ops->inbox_take(f->s, id_str(&run.id), run.epoch + 1, note_message, &taken, &err),
        err, ERR_CANCELLED);
    assert_int_equal(taken.count, 0);
}

static void a_run_starts_once_and_must_be_known_for_other_messages(void **state)
{
    struct store_fixture *f = *state;
    struct err err;
    int64_t id;
    struct id unknown = test_id(2);
    struct test_run run = test_started(f->s, 1);
    check_class(f->s->ops->inbox_put(f->s, id_str(&run.id), STR("start"), STR("{}"), STR("cli"),
                                     NOW, &id, &err),
                err, ERR_USAGE);
    check_class(f->s->ops->inbox_put(f->s, id_str(&unknown), STR("cancel"), STR("{}"), STR("cli"),
                                     NOW, &id, &err),
                err, ERR_NOT_FOUND);
    check_class(f->s->ops->inbox_put(f->s, STR("../../etc"), STR("start"), STR("{}"), STR("cli"),
                                     NOW, &id, &err),
                err, ERR_USAGE);
}

struct store_promises store_read_promises(void)
{
    static const struct CMUnitTest tests[] = {
        PROMISE(every_field_of_an_event_comes_back),
        PROMISE(payloads_of_every_size_come_back),
        PROMISE(reading_starts_behind_after_seq_and_stops_at_the_limit),
        PROMISE(one_agent_is_read_in_order),
        PROMISE(a_callback_can_stop_the_walk),
        PROMISE(an_unknown_run_has_no_events),
        PROMISE(the_head_of_an_empty_run_is_the_start_of_its_chain),
        PROMISE(the_chain_links_every_event_to_the_one_before),
        PROMISE(a_long_payload_is_a_blob_under_its_hash),
        PROMISE(messages_come_oldest_first_and_only_to_their_run),
        PROMISE(a_message_stays_until_an_event_consumes_it),
        PROMISE(an_old_epoch_takes_no_messages),
        PROMISE(a_run_starts_once_and_must_be_known_for_other_messages),
    };
    return (struct store_promises){tests, sizeof tests / sizeof tests[0]};
}
