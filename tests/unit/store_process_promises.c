/* Promises about many processes on one store. Children never return into cmocka: they report through their exit
 * status, and what happened is checked in the store and in a pipe. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store_conformance.h"

#define PROCESSES 6
#define TURNS 12 /* of each process */

typedef void child_fn(struct store *s, unsigned number, int report, const struct test_run *run);

/* Children may not fail an assertion: it would jump into the parent's test. */
#define child_check(condition)                                                                     \
    do {                                                                                           \
        if (!(condition))                                                                          \
            _exit(2);                                                                              \
    } while (0)

/* Runs the children at once, each with a handle of its own, and reads what they report, whole numbers. */
static size_t with_children(struct store_fixture *f, child_fn *work, const struct test_run *run,
                            uint64_t *reports, size_t max)
{
    int ends[2];
    pid_t pids[PROCESSES];
    size_t count = 0;
    f->s->ops->close(f->s);
    f->s = NULL;
    assert_int_equal(pipe(ends), 0);
    for (unsigned i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            struct err err = ERR_INIT;
            struct store *s = NULL;
            close(ends[0]);
            child_check(f->opener.open(f->opener.user, &s, &err) == 0);
            work(s, i, ends[1], run);
            s->ops->close(s);
            _exit(0);
        }
    }
    close(ends[1]);
    uint64_t number;
    while (read(ends[0], &number, sizeof number) == (ssize_t)sizeof number) {
        assert_true(count < max);
        reports[count++] = number;
    }
    close(ends[0]);
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status = -1;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("child %u ended with status %d", i, status);
    }
    f->s = test_open(&f->opener);
    return count;
}

static void report(int fd, uint64_t number)
{
    child_check(write(fd, &number, sizeof number) == (ssize_t)sizeof number);
}

static struct str child_name(unsigned number, char name[16])
{
    memcpy(name, "child-0", 8);
    name[6] = (char)('0' + number);
    return str_from(name);
}

static int compare(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static void check_unique(uint64_t *numbers, size_t count)
{
    qsort(numbers, count, sizeof numbers[0], compare);
    for (size_t i = 1; i < count; i++)
        assert_true(numbers[i] > numbers[i - 1]);
}

/* Takes the lease again and again; the lease is let go each time so that the others get their turn. */
static void lease_child(struct store *s, unsigned number, int fd, const struct test_run *run)
{
    char name[16];
    struct str owner = child_name(number, name);
    for (int won = 0; won < TURNS;) {
        struct err err = ERR_INIT;
        struct lease lease;
        child_check(s->ops->lease(s, id_str(&run->id), owner, TTL, NOW, &lease, &err) == 0);
        if (lease.epoch == 0)
            continue;
        report(fd, lease.epoch);
        child_check(s->ops->release(s, id_str(&run->id), lease.epoch, &err) == 0);
        won++;
    }
}

static void every_epoch_has_one_owner(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_started(f->s, 1);
    uint64_t epochs[PROCESSES * TURNS];
    size_t count = with_children(f, lease_child, &run, epochs, PROCESSES * TURNS);
    assert_int_equal(count, PROCESSES * TURNS);
    check_unique(epochs, count);
}

struct claim {
    int64_t ids[64];
    size_t count;
};

static int claim_message(void *user, const struct inbox_message *message)
{
    struct claim *claim = user;
    claim->ids[claim->count++] = message->id;
    return claim->count == 3;
}

/* Owns the run for a moment, by the same name as all others, so that each take-over fences who was before. */
static void inbox_child(struct store *s, unsigned number, int fd, const struct test_run *run)
{
    for (int idle = 0; idle < 3;) {
        struct err err = ERR_INIT;
        struct lease lease;
        struct claim claim = {0};
        struct hash hash;
        struct test_run copy = *run;
        child_check(s->ops->lease(s, id_str(&run->id), STR("all"), TTL, NOW, &lease, &err) == 0);
        copy.epoch = lease.epoch;
        int took =
            s->ops->inbox_take(s, id_str(&run->id), lease.epoch, claim_message, &claim, &err);
        child_check(took == 0 || err.class == ERR_CANCELLED);
        if (took != 0)
            continue;
        if (claim.count == 0) {
            idle++;
            continue;
        }
        child_check(s->ops->head(s, id_str(&run->id), &copy.seq, &hash, &err) == 0);
        copy.prev[0] = copy.seq;
        struct event_row event = test_event(&copy, 0, "{}");
        struct append_batch batch = test_batch(&copy, &event, 1);
        batch.inbox_ids = claim.ids;
        batch.inbox_count = claim.count;
        s->ops->append(s, &batch, 1);
        child_check(batch.result == APPEND_DURABLE || batch.result == APPEND_FENCED);
        for (size_t i = 0; i < claim.count && batch.result == APPEND_DURABLE; i++)
            report(fd, (uint64_t)claim.ids[i]);
    }
}

static void every_message_is_consumed_exactly_once(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct test_run run = test_started(f->s, 1);
    uint64_t taken[64];
    int64_t ids[60];
    ids[0] = run.start_message;
    for (size_t i = 1; i < 60; i++)
        check_ok(f->s->ops->inbox_put(f->s, id_str(&run.id), STR("send"), STR("{}"), STR("cli"),
                                      NOW, &ids[i], &err),
                 err);
    assert_int_equal(with_children(f, inbox_child, &run, taken, 64), 60);
    qsort(taken, 60, sizeof taken[0], compare);
    for (size_t i = 0; i < 60; i++)
        assert_int_equal(taken[i], ids[i]);
    test_verify(f->s, &run.id);
}

/* Each child owns a run of its own and also tries to write into a shared one under an epoch that all know. */
static void append_child(struct store *s, unsigned number, int fd, const struct test_run *run)
{
    struct err err = ERR_INIT;
    struct lease lease;
    struct test_run own = {.id = test_id(100 + number)};
    child_check(s->ops->inbox_put(s, id_str(&own.id), STR("start"), STR("{}"), STR("cli"), NOW,
                                  &own.start_message, &err) == 0);
    child_check(s->ops->lease(s, id_str(&own.id), STR("me"), TTL, NOW, &lease, &err) == 0);
    own.epoch = lease.epoch;
    for (int i = 0; i < TURNS; i++) {
        struct test_run shared = *run;
        struct hash hash;
        child_check(s->ops->head(s, id_str(&run->id), &shared.seq, &hash, &err) == 0);
        shared.prev[0] = shared.seq;
        struct event_row mine = test_event(&own, 0, "{}"), ours = test_event(&shared, 0, "{}");
        struct append_batch batches[] = {test_batch(&own, &mine, 1), test_batch(&shared, &ours, 1)};
        s->ops->append(s, batches, 2);
        child_check(batches[0].result == APPEND_DURABLE);
        if (batches[1].result == APPEND_DURABLE)
            report(fd, shared.seq);
        else
            child_check(batches[1].result == APPEND_FENCED);
    }
}

static void seq_stays_dense_when_processes_append_at_once(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_owned(f->s, 1);
    uint64_t written[PROCESSES * TURNS];
    size_t count = with_children(f, append_child, &run, written, PROCESSES * TURNS);
    qsort(written, count, sizeof written[0], compare);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(written[i], i + 1);
    assert_true(count > 0);
    assert_int_equal(test_verify(f->s, &run.id), count);
    for (unsigned i = 0; i < PROCESSES; i++) {
        struct id own = test_id(100 + i);
        assert_int_equal(test_verify(f->s, &own), TURNS);
    }
}

static void record_child(struct store *s, unsigned number, int fd, const struct test_run *run)
{
    for (int done = 0; done < TURNS;) {
        struct err err = ERR_INIT;
        struct buf value;
        uint64_t version = 0;
        buf_init(&value, 100);
        int got = s->ops->record_get(s, STR("counter"), STR("c"), &value, &version, &err);
        child_check(got == 0 || err.class == ERR_NOT_FOUND);
        buf_release(&value);
        int swapped = s->ops->record_cas(s, STR("counter"), STR("c"), version, STR("{}"),
                                         STR("child"), NOW, &version, &err);
        child_check(swapped == 0 || err.class == ERR_RETRY);
        if (swapped == 0) {
            report(fd, version);
            done++;
        }
    }
}

static void every_version_of_a_record_has_one_writer(void **state)
{
    struct store_fixture *f = *state;
    uint64_t versions[PROCESSES * TURNS];
    size_t count = with_children(f, record_child, NULL, versions, PROCESSES * TURNS);
    assert_int_equal(count, PROCESSES * TURNS);
    check_unique(versions, count);
}

struct store_promises store_process_promises(void)
{
    static const struct CMUnitTest tests[] = {
        PROMISE(every_epoch_has_one_owner),
        PROMISE(every_message_is_consumed_exactly_once),
        PROMISE(seq_stays_dense_when_processes_append_at_once),
        PROMISE(every_version_of_a_record_has_one_writer),
    };
    return (struct store_promises){tests, sizeof tests / sizeof tests[0]};
}
