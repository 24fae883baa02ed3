/* The journal on a real store: order, durability, batches that ride along, trouble that is reported, and closing. */
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/journal.h"
#include "store_place.h"

#define BATCHES 400

#define NOTED (6 * BATCHES)

struct desk {
    uv_loop_t loop;
    struct journal *journal;
    uint64_t seqs[NOTED]; /* last_seq of what came back, in that order */
    enum append_result results[NOTED];
    size_t count;
    struct err err; /* of the last one that was not durable */
};

static void on_appended(void *user, struct batch *batch)
{
    struct desk *desk = user;
    assert_true(desk->count < NOTED);
    desk->seqs[desk->count] = batch->last_seq;
    desk->results[desk->count++] = batch->append.result;
    if (batch->append.result != APPEND_DURABLE)
        desk->err = batch->append.err;
    batch_free(batch);
}

static struct desk *desk_open(const struct store_opener *opener)
{
    struct desk *desk = calloc(1, sizeof *desk);
    struct err err = ERR_INIT;
    assert_non_null(desk);
    uv_loop_init(&desk->loop);
    desk->journal = journal_new(&desk->loop, opener, on_appended, desk);
    check_ok(journal_opened(desk->journal, &err), err);
    return desk;
}

static void desk_wait(struct desk *desk)
{
    while (journal_pending(desk->journal) > 0)
        uv_run(&desk->loop, UV_RUN_ONCE);
}

static void desk_free(struct desk *desk)
{
    uv_run(&desk->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&desk->loop), 0);
    free(desk);
}

static void desk_close(struct desk *desk)
{
    journal_free(desk->journal);
    desk_free(desk);
}

static struct batch *batch_of_many(struct test_run *run, size_t count, const char *payload)
{
    struct batch *batch = calloc(1, sizeof *batch);
    assert_non_null(batch);
    arena_init(&batch->arena);
    struct event_row *events = arena_alloc(&batch->arena, count * sizeof *events);
    for (size_t i = 0; i < count; i++)
        events[i] = test_event(run, 0, payload);
    batch->append = test_batch(run, events, count);
    batch->append.run_id = arena_copy(&batch->arena, batch->append.run_id);
    batch->last_seq = run->seq;
    return batch;
}

static struct batch *batch_of(struct test_run *run, const char *payload)
{
    return batch_of_many(run, 1, payload);
}

/* --- a real store ---------------------------------------------------------------------------------- */

static void what_is_appended_comes_back_durable_and_in_order(void **state)
{
    struct store_fixture *f = *state;
    struct test_run a = test_owned(f->s, 1), b = test_owned(f->s, 2);
    struct desk *desk = desk_open(&f->opener);
    for (int i = 0; i < BATCHES; i++) {
        journal_append(desk->journal, batch_of(&a, "{}"), APPEND_SOON);
        journal_append(desk->journal, batch_of(&b, "{\"n\":1}"),
                       i % 3 == 0 ? APPEND_LAZY : APPEND_SOON);
        if (i % 50 == 0)
            uv_run(&desk->loop, UV_RUN_NOWAIT);
    }
    journal_append(desk->journal, batch_of(&a, "{}"), APPEND_SOON);
    desk_wait(desk);
    assert_int_equal(desk->count, 2 * BATCHES + 1);
    uint64_t last_seen = 0;
    for (size_t i = 0; i < desk->count; i++) {
        assert_int_equal(desk->results[i], APPEND_DURABLE);
        assert_true(desk->seqs[i] >= last_seen); /* a and b take turns */
        last_seen = desk->seqs[i];
    }
    desk_close(desk);
    assert_int_equal(test_verify(f->s, &a.id), BATCHES + 1);
    assert_int_equal(test_verify(f->s, &b.id), BATCHES);
}

static void closing_writes_everything_that_is_queued(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_owned(f->s, 1);
    struct desk *desk = desk_open(&f->opener);
    for (int i = 0; i < 100; i++)
        journal_append(desk->journal, batch_of(&run, "{}"), i < 90 ? APPEND_SOON : APPEND_LAZY);
    journal_free(desk->journal);
    assert_int_equal(desk->count, 100); /* every callback ran */
    assert_int_equal(desk->results[99], APPEND_DURABLE);
    desk_free(desk);
    assert_int_equal(test_verify(f->s, &run.id), 100);
}

struct look {
    struct test_run *run;
    uint64_t head;
    int done;
};

static void look_work(void *task, struct store *store)
{
    struct look *look = task;
    struct hash hash;
    struct err err = ERR_INIT;
    if (store->ops->head(store, id_str(&look->run->id), &look->head, &hash, &err) != 0)
        look->head = UINT64_MAX;
}

static void look_done(void *task)
{
    ((struct look *)task)->done++;
}

static void work_keeps_its_place_among_the_appends(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_owned(f->s, 1);
    struct desk *desk = desk_open(&f->opener);
    struct look looks[20];
    for (size_t i = 0; i < 20; i++) {
        looks[i] = (struct look){.run = &run};
        journal_append(desk->journal, batch_of(&run, "{}"), APPEND_LAZY);
        journal_work(desk->journal, &looks[i], look_work, look_done);
    }
    desk_wait(desk);
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(looks[i].done, 1);
        assert_int_equal(looks[i].head, i + 1);
    }
    desk_close(desk);
}

static void a_batch_of_an_owner_that_lost_the_run_is_fenced(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_owned(f->s, 1), other = test_owned(f->s, 2);
    struct desk *desk = desk_open(&f->opener);
    run.epoch++;
    journal_append(desk->journal, batch_of(&run, "{}"), APPEND_LAZY);
    journal_append(desk->journal, batch_of(&other, "{}"), APPEND_SOON);
    desk_wait(desk);
    assert_int_equal(desk->results[0], APPEND_FENCED);
    assert_int_equal(desk->results[1], APPEND_DURABLE); /* only the guilty run is refused */
    desk_close(desk);
}

static void a_full_disk_is_reported_and_what_was_durable_stays(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_owned(f->s, 1);
    struct desk *desk = desk_open(&f->opener);
    struct rlimit before, tight;
    char *payload = malloc(8u << 20);
    assert_non_null(payload);
    memset(payload, 'x', 8u << 20);
    memcpy(payload, "{\"a\":\"", 6);
    memcpy(payload + (8u << 20) - 3, "\"}", 3);
    journal_append(desk->journal, batch_of(&run, "{}"), APPEND_SOON);
    desk_wait(desk);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    tight = before;
    tight.rlim_cur = 2u << 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    journal_append(desk->journal, batch_of(&run, payload), APPEND_SOON);
    desk_wait(desk);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(desk->results[0], APPEND_DURABLE);
    assert_int_equal(desk->results[1], APPEND_UNKNOWN);
    assert_int_equal(desk->err.class, ERR_IO);
    assert_true(desk->err.message[0] != '\0');
    desk_close(desk);
    free(payload);
    assert_int_equal(test_verify(f->s, &run.id), 1);
}

/* --- a store that notes what it is asked ----------------------------------------------------------- */

struct noting {
    struct store store;
    size_t calls, batches, most;
    enum append_result answer;
    atomic_int closed;
};

static void noting_append(struct store *s, struct append_batch *batches, size_t count)
{
    struct noting *noting = (struct noting *)s;
    noting->calls++;
    noting->batches += count;
    noting->most = count > noting->most ? count : noting->most;
    for (size_t i = 0; i < count; i++) {
        batches[i].result = noting->answer;
        if (noting->answer != APPEND_DURABLE)
            err_set(&batches[i].err, ERR_IO, "the disk is gone");
    }
}

static void noting_close(struct store *s)
{
    atomic_fetch_add(&((struct noting *)s)->closed, 1);
}

static const struct store_ops noting_ops = {.append = noting_append, .close = noting_close};

static int noting_open(void *user, struct store **store, struct err *err)
{
    *store = user;
    return 0;
}

static int broken_open(void *user, struct store **store, struct err *err)
{
    return err_set(err, ERR_CONFIG, "this is not a store");
}

static void lazy_batches_ride_along_with_the_next_that_is_not(void **state)
{
    struct noting noting = {.store = {&noting_ops}, .answer = APPEND_DURABLE};
    struct store_opener opener = {noting_open, &noting};
    struct test_run run = {.epoch = 1};
    struct desk *desk = desk_open(&opener);
    for (int i = 0; i < 5; i++)
        journal_append(desk->journal, batch_of(&run, "{}"), APPEND_LAZY);
    assert_int_equal(journal_pending(desk->journal), 5);
    journal_append(desk->journal, batch_of(&run, "{}"), APPEND_SOON);
    desk_wait(desk);
    assert_int_equal(noting.calls, 1);
    assert_int_equal(noting.batches, 6);
    desk_close(desk);
    assert_int_equal(noting.closed, 1);
}

static void a_transaction_has_at_most_so_many_batches(void **state)
{
    struct noting noting = {.store = {&noting_ops}, .answer = APPEND_DURABLE};
    struct store_opener opener = {noting_open, &noting};
    struct test_run run = {.epoch = 1};
    struct desk *desk = desk_open(&opener);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < BATCHES; i++)
            journal_append(desk->journal, batch_of(&run, "{}"),
                           round == 4 && i == BATCHES - 1 ? APPEND_SOON : APPEND_LAZY);
    }
    desk_wait(desk);
    assert_int_equal(noting.batches, 5 * BATCHES);
    assert_true(noting.most <= 1024 && noting.calls > 1);
    desk_close(desk);
}

static void large_batches_share_no_transaction(void **state)
{
    struct noting noting = {.store = {&noting_ops}, .answer = APPEND_DURABLE};
    struct store_opener opener = {noting_open, &noting};
    struct test_run run = {.epoch = 1};
    struct desk *desk = desk_open(&opener);
    for (int i = 0; i < 8; i++)
        journal_append(desk->journal, batch_of_many(&run, i < 4 ? 5000 : 1024, "{}"),
                       i == 7 ? APPEND_SOON : APPEND_LAZY);
    desk_wait(desk);
    assert_int_equal(noting.batches, 8);
    assert_int_equal(noting.calls, 5); /* each of the first four alone, the others together */
    desk_close(desk);
}

static void trouble_of_the_store_reaches_every_batch(void **state)
{
    struct noting noting = {.store = {&noting_ops}, .answer = APPEND_UNKNOWN};
    struct store_opener opener = {noting_open, &noting};
    struct test_run run = {.epoch = 1};
    struct desk *desk = desk_open(&opener);
    journal_append(desk->journal, batch_of(&run, "{}"), APPEND_LAZY);
    journal_append(desk->journal, batch_of(&run, "{}"), APPEND_SOON);
    desk_wait(desk);
    assert_int_equal(desk->results[0], APPEND_UNKNOWN);
    assert_int_equal(desk->results[1], APPEND_UNKNOWN);
    assert_string_equal(desk->err.message, "the disk is gone");
    desk_close(desk);
}

static void a_store_that_does_not_open_is_reported_by_the_opener(void **state)
{
    struct store_opener opener = {broken_open, NULL};
    struct desk *desk = calloc(1, sizeof *desk);
    struct err err = ERR_INIT;
    assert_non_null(desk);
    uv_loop_init(&desk->loop);
    desk->journal = journal_new(&desk->loop, &opener, on_appended, desk);
    assert_int_equal(journal_opened(desk->journal, &err), -1);
    assert_int_equal(err.class, ERR_CONFIG);
    assert_string_equal(err.message, "this is not a store");
    desk_close(desk);
}

/* An opener that is slow: it answers when the thread that frees the journal waits for it already. */
struct slow {
    struct noting noting; /* first: noting_open gets it */
    sem_t freeing;
    pid_t loop;
};

/* R, S, … of a thread of this process, from its line in /proc: number (name) state. */
static char thread_state(pid_t thread)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        abort();
    size_t n = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[n] = '\0';
    const char *name_end = strrchr(line, ')');
    return name_end != NULL ? name_end[2] : '?';
}

static int slow_open(void *user, struct store **store, struct err *err)
{
    struct slow *slow = user;
    while (sem_wait(&slow->freeing) != 0)
        ;
    while (thread_state(slow->loop) != 'S')
        sched_yield();
    return noting_open(&slow->noting, store, err);
}

static void closing_does_not_wait_for_ever_for_a_store_that_is_being_opened(void **state)
{
    struct slow slow = {.noting = {.store = {&noting_ops}}, .loop = gettid()};
    struct store_opener opener = {slow_open, &slow};
    struct desk *desk = calloc(1, sizeof *desk);
    assert_non_null(desk);
    sem_init(&slow.freeing, 0, 0);
    uv_loop_init(&desk->loop);
    desk->journal = journal_new(&desk->loop, &opener, on_appended, desk);
    sem_post(&slow.freeing);
    alarm(60); /* a journal that hangs ends the test */
    journal_free(desk->journal);
    alarm(0);
    desk_free(desk);
    sem_destroy(&slow.freeing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(what_is_appended_comes_back_durable_and_in_order),
        PROMISE(closing_writes_everything_that_is_queued),
        PROMISE(work_keeps_its_place_among_the_appends),
        PROMISE(a_batch_of_an_owner_that_lost_the_run_is_fenced),
        PROMISE(a_full_disk_is_reported_and_what_was_durable_stays),
        PROMISE(lazy_batches_ride_along_with_the_next_that_is_not),
        PROMISE(a_transaction_has_at_most_so_many_batches),
        PROMISE(large_batches_share_no_transaction),
        PROMISE(trouble_of_the_store_reaches_every_batch),
        PROMISE(a_store_that_does_not_open_is_reported_by_the_opener),
        PROMISE(closing_does_not_wait_for_ever_for_a_store_that_is_being_opened),
    };
    return place_run("journal", PLACE_OWN_TESTS, tests, sizeof tests / sizeof tests[0]);
}
