/* Promises about leases: one owner, an epoch that only grows. */
#include "store_conformance.h"

static struct lease take(struct store *s, const struct test_run *run, struct str owner, int64_t now)
{
    struct err err = ERR_INIT;
    struct lease lease;
    check_ok(s->ops->lease(s, id_str(&run->id), owner, TTL, now, &lease, &err), err);
    return lease;
}

static void a_lease_of_an_unknown_run_is_not_found(void **state)
{
    struct store_fixture *f = *state;
    struct err err;
    struct lease lease;
    struct id id = test_id(1);
    check_class(f->s->ops->lease(f->s, id_str(&id), STR("a"), TTL, NOW, &lease, &err), err,
                ERR_NOT_FOUND);
    check_class(f->s->ops->lease(f->s, STR("' OR 1"), STR("a"), TTL, NOW, &lease, &err), err,
                ERR_NOT_FOUND);
}

static void a_free_run_is_leased_to_who_asks_first(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_started(f->s, 1);
    struct lease lease = take(f->s, &run, STR("a"), NOW);
    assert_true(lease.epoch > 0);
    assert_string_equal(lease.holder, "a");
    assert_int_equal(lease.expires_at, NOW + TTL);
}

static void a_held_lease_names_its_holder_and_end(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_started(f->s, 1);
    take(f->s, &run, STR("a"), NOW);
    struct lease lease = take(f->s, &run, STR("b"), NOW + TTL - 1);
    assert_int_equal(lease.epoch, 0);
    assert_string_equal(lease.holder, "a");
    assert_int_equal(lease.expires_at, NOW + TTL);
}

static void a_lease_that_ran_out_goes_to_another_with_a_larger_epoch(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_started(f->s, 1);
    struct lease first = take(f->s, &run, STR("a"), NOW);
    struct lease second = take(f->s, &run, STR("b"), NOW + TTL);
    assert_true(second.epoch > first.epoch);
    assert_string_equal(second.holder, "b");
}

static void the_same_owner_asking_again_gets_a_new_epoch(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_started(f->s, 1);
    struct lease first = take(f->s, &run, STR("a"), NOW);
    struct lease second = take(f->s, &run, STR("a"), NOW + 1);
    assert_true(second.epoch > first.epoch);
}

static void two_runs_have_leases_of_their_own(void **state)
{
    struct store_fixture *f = *state;
    struct test_run one = test_started(f->s, 1), two = test_started(f->s, 2);
    assert_true(take(f->s, &one, STR("a"), NOW).epoch > 0);
    assert_true(take(f->s, &two, STR("b"), NOW).epoch > 0);
}

static void a_renewed_lease_lasts_longer(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct test_run run = test_owned(f->s, 1);
    check_ok(f->s->ops->renew(f->s, id_str(&run.id), run.epoch, TTL, NOW + 10000, &err), err);
    struct lease lease = take(f->s, &run, STR("b"), NOW + TTL);
    assert_int_equal(lease.epoch, 0);
    assert_int_equal(lease.expires_at, NOW + 10000 + TTL);
}

static void a_lease_that_ran_out_untaken_can_be_renewed(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct test_run run = test_owned(f->s, 1);
    check_ok(f->s->ops->renew(f->s, id_str(&run.id), run.epoch, TTL, NOW + 2 * TTL, &err), err);
}

static void renewing_a_lease_that_was_taken_over_is_cancelled(void **state)
{
    struct store_fixture *f = *state;
    struct err err;
    struct test_run run = test_owned(f->s, 1);
    take(f->s, &run, STR("b"), NOW + TTL);
    check_class(f->s->ops->renew(f->s, id_str(&run.id), run.epoch, TTL, NOW + TTL, &err), err,
                ERR_CANCELLED);
}

static void a_released_lease_is_free_at_once(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct test_run run = test_owned(f->s, 1);
    check_ok(f->s->ops->release(f->s, id_str(&run.id), run.epoch, &err), err);
    struct lease lease = take(f->s, &run, STR("b"), NOW + 1);
    assert_true(lease.epoch > run.epoch);
}

static void a_taken_lease_says_until_when_the_one_before_it_was_meant(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct test_run run = test_started(f->s, 1);
    struct lease first = take(f->s, &run, STR("a"), NOW);
    assert_int_equal(first.replaced_expires_at, 0);
    check_ok(f->s->ops->renew(f->s, id_str(&run.id), first.epoch, TTL, NOW + 7, &err), err);
    struct lease second = take(f->s, &run, STR("b"), NOW + 7 + TTL);
    assert_int_equal(second.replaced_expires_at, NOW + 7 + TTL);
    check_ok(f->s->ops->release(f->s, id_str(&run.id), second.epoch, &err), err);
    struct lease third = take(f->s, &run, STR("c"), NOW + 8 + TTL);
    assert_int_equal(third.replaced_expires_at, NOW + 7 + 2 * TTL);
}

static void releasing_an_old_epoch_leaves_the_new_owner_alone(void **state)
{
    struct store_fixture *f = *state;
    struct err err;
    struct test_run run = test_owned(f->s, 1);
    take(f->s, &run, STR("b"), NOW + TTL);
    check_class(f->s->ops->release(f->s, id_str(&run.id), run.epoch, &err), err, ERR_CANCELLED);
    assert_int_equal(take(f->s, &run, STR("c"), NOW + TTL + 1).epoch, 0);
}

static void a_lease_needs_a_short_name_and_a_time(void **state)
{
    struct store_fixture *f = *state;
    struct err err;
    struct lease lease;
    struct test_run run = test_started(f->s, 1);
    char name[sizeof lease.holder];
    memset(name, 'n', sizeof name);
    const struct str owners[] = {STR(""), STR_NONE, {name, sizeof name}, STR("a\0b")};
    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++)
        check_class(f->s->ops->lease(f->s, id_str(&run.id), owners[i], TTL, NOW, &lease, &err), err,
                    ERR_USAGE);
    const int64_t times[] = {0, -1, INT64_MAX};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        check_class(f->s->ops->lease(f->s, id_str(&run.id), STR("a"), times[i], NOW, &lease, &err),
                    err, ERR_USAGE);
    struct str longest = {name, sizeof name - 1};
    assert_true(take(f->s, &run, longest, NOW).epoch > 0);
    assert_int_equal(take(f->s, &run, STR("b"), NOW).epoch, 0);
}

static struct run_begin beginning(const struct id *id)
{
    return (struct run_begin){.run_id = id_str(id),
                              .session_id = STR("s"),
                              .user_id = STR("u"),
                              .workspace_id = STR("w"),
                              .body = STR("{\"task\":\"t\"}"),
                              .sender = STR("cli"),
                              .owner = STR("tester"),
                              .ttl_ms = TTL,
                              .sent_at = NOW,
                              .now = NOW};
}

static int see_start(void *user, const struct inbox_message *message)
{
    int64_t *id = user;
    assert_true(str_is(message->kind, "start"));
    assert_true(str_is(message->body, "{\"task\":\"t\"}"));
    assert_true(str_is(message->sender, "cli"));
    assert_int_equal(*id, 0);
    *id = message->id;
    return 0;
}

static void a_run_begins_with_its_message_and_its_lease(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct lease lease;
    struct test_run run = {.id = test_id(1)};
    struct run_begin begin = beginning(&run.id);
    int64_t seen = 0;
    check_ok(f->s->ops->begin(f->s, &begin, &lease, &run.start_message, &err), err);
    assert_true(lease.epoch > 0);
    assert_string_equal(lease.holder, "tester");
    assert_int_equal(lease.expires_at, NOW + TTL);
    run.epoch = lease.epoch;
    check_ok(f->s->ops->inbox_take(f->s, id_str(&run.id), run.epoch, see_start, &seen, &err), err);
    assert_int_equal(seen, run.start_message);
    assert_int_equal(take(f->s, &run, STR("b"), NOW).epoch, 0);
    test_append(f->s, &run, "{}");
    assert_int_equal(test_verify(f->s, &run.id), 1);
}

static void a_run_begins_once(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct lease lease;
    struct test_run run = test_owned(f->s, 1);
    struct run_begin begin = beginning(&run.id);
    int64_t message, seen = 0;
    check_class(f->s->ops->begin(f->s, &begin, &lease, &message, &err), err, ERR_USAGE);
    err = ERR_INIT;
    check_ok(f->s->ops->inbox_take(f->s, id_str(&run.id), run.epoch, see_start, &seen, &err), err);
    assert_int_equal(seen, run.start_message);
    test_append(f->s, &run, "{}");
}

static int ignore_run(void *user, const struct stored_run *run)
{
    return 0;
}

static void a_run_that_cannot_begin_leaves_nothing(void **state)
{
    struct store_fixture *f = *state;
    struct err err;
    struct lease lease;
    struct id id = test_id(1);
    int64_t message;
    for (int broken = 0; broken < 5; broken++) {
        struct run_begin begin = beginning(&id);
        switch (broken) {
        case 0:
            begin.owner = STR("");
            break;
        case 1:
            begin.ttl_ms = 0;
            break;
        case 2:
            begin.session_id = STR_NONE;
            break;
        case 3:
            begin.body = STR_NONE;
            break;
        case 4:
            begin.run_id = STR("short");
            break;
        }
        check_class(f->s->ops->begin(f->s, &begin, &lease, &message, &err), err, ERR_USAGE);
        check_class(f->s->ops->run(f->s, id_str(&id), NOW, ignore_run, NULL, &err), err,
                    ERR_NOT_FOUND);
    }
}

struct store_promises store_lease_promises(void)
{
    static const struct CMUnitTest tests[] = {
        PROMISE(a_lease_of_an_unknown_run_is_not_found),
        PROMISE(a_free_run_is_leased_to_who_asks_first),
        PROMISE(a_held_lease_names_its_holder_and_end),
        PROMISE(a_lease_that_ran_out_goes_to_another_with_a_larger_epoch),
        PROMISE(the_same_owner_asking_again_gets_a_new_epoch),
        PROMISE(two_runs_have_leases_of_their_own),
        PROMISE(a_renewed_lease_lasts_longer),
        PROMISE(a_lease_that_ran_out_untaken_can_be_renewed),
        PROMISE(renewing_a_lease_that_was_taken_over_is_cancelled),
        PROMISE(a_released_lease_is_free_at_once),
        PROMISE(a_taken_lease_says_until_when_the_one_before_it_was_meant),
        PROMISE(releasing_an_old_epoch_leaves_the_new_owner_alone),
        PROMISE(a_lease_needs_a_short_name_and_a_time),
        PROMISE(a_run_begins_with_its_message_and_its_lease),
        PROMISE(a_run_begins_once),
        PROMISE(a_run_that_cannot_begin_leaves_nothing),
    };
    return (struct store_promises){tests, sizeof tests / sizeof tests[0]};
}
