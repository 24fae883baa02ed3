/* net/governor: how many may be in flight, who is next, and what a refusal does to everybody. */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "net/governor.h"

#define TICKETS 12000

struct rig {
    struct governor governor;
    struct governor_ticket *tickets;
    size_t used;
    int64_t now;
};

static void rig_init(struct rig *rig, size_t first, size_t maximum)
{
    *rig = (struct rig){.tickets = calloc(TICKETS, sizeof *rig->tickets), .now = 1000};
    assert_non_null(rig->tickets);
    governor_init(&rig->governor, &(struct governor_limits){first, maximum});
}

static void rig_release(struct rig *rig)
{
    for (size_t i = 0; i < rig->used; i++)
        governor_leave(&rig->governor, &rig->tickets[i]);
    assert_int_equal(rig->governor.in_flight, 0);
    assert_int_equal(rig->governor.waiting, 0);
    assert_int_equal(rig->governor.owners.count, 0);
    governor_release(&rig->governor);
    free(rig->tickets);
}

static struct governor_ticket *enter(struct rig *rig, const char *owner, uint32_t agent_no)
{
    assert_true(rig->used < TICKETS);
    struct governor_ticket *ticket = &rig->tickets[rig->used++];
    enum governor_entry entry =
        governor_enter(&rig->governor, ticket, str_from(owner), agent_no, rig->now);
    assert_int_equal(ticket->state, entry == GOVERNOR_ADMITTED ? TICKET_IN_FLIGHT : TICKET_WAITING);
    return ticket;
}

static void enter_many(struct rig *rig, const char *owner, size_t count)
{
    for (size_t i = 0; i < count; i++)
        enter(rig, owner, (uint32_t)i);
}

static size_t index_of(const struct rig *rig, const struct governor_ticket *ticket)
{
    return (size_t)(ticket - rig->tickets);
}

static size_t admit_all(struct rig *rig)
{
    size_t count = 0;
    while (governor_admit(&rig->governor, rig->now) != NULL)
        count++;
    return count;
}

static void taken_on_and_over(struct rig *rig, struct governor_ticket *ticket)
{
    governor_taken_on(&rig->governor, ticket, rig->now);
    governor_leave(&rig->governor, ticket);
}

/* Everything in flight is answered well, then the room is filled again. */
static void round_trip(struct rig *rig)
{
    for (size_t i = 0; i < rig->used; i++) {
        if (rig->tickets[i].state == TICKET_IN_FLIGHT)
            taken_on_and_over(rig, &rig->tickets[i]);
    }
    admit_all(rig);
}

/* --- who is next ------------------------------------------------------------------------------- */

static void a_run_with_ten_agents_is_served_at_the_pace_of_a_run_with_a_thousand(void **state)
{
    struct rig rig;
    rig_init(&rig, 1, 1);
    struct governor_ticket *current = enter(&rig, "big", 0);
    enter_many(&rig, "big", 1000);
    enter_many(&rig, "small", 10);
    size_t small_served = 0;
    for (size_t turn = 1; turn <= 20; turn++) {
        governor_leave(&rig.governor, current);
        current = governor_admit(&rig.governor, rig.now);
        small_served += index_of(&rig, current) >= 1001;
        assert_int_equal(small_served, turn / 2);
    }
    rig_release(&rig);
}

static void agents_of_a_run_take_turns_however_much_one_of_them_asks(void **state)
{
    struct rig rig;
    rig_init(&rig, 1, 1);
    struct governor_ticket *current = enter(&rig, "run", 9);
    for (int i = 0; i < 5; i++)
        enter(&rig, "run", 1);
    enter(&rig, "run", 2);
    enter(&rig, "run", 3);
    const size_t order[] = {1, 6, 7, 2, 3, 4, 5};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        governor_leave(&rig.governor, current);
        current = governor_admit(&rig.governor, rig.now);
        assert_int_equal(index_of(&rig, current), order[i]);
    }
    rig_release(&rig);
}

static void an_agent_that_asks_again_and_again_never_passes_one_that_waits(void **state)
{
    struct rig rig;
    rig_init(&rig, 1, 1);
    struct governor_ticket *current = enter(&rig, "greedy", 1);
    enter(&rig, "greedy", 1);
    struct governor_ticket *patient = enter(&rig, "greedy", 2), *other = enter(&rig, "other", 1);
    for (int i = 0; i < 3; i++) {
        governor_leave(&rig.governor, current);
        enter(&rig, "greedy", 1); /* from inside the answer, while there is room */
        current = governor_admit(&rig.governor, rig.now);
        assert_non_null(current);
        assert_null(governor_admit(&rig.governor, rig.now));
    }
    assert_int_equal(patient->state, TICKET_IN_FLIGHT);
    assert_int_equal(other->state, TICKET_OUTSIDE); /* served and over */
    rig_release(&rig);
}

static void one_that_comes_when_others_wait_does_not_take_free_room(void **state)
{
    struct rig rig;
    rig_init(&rig, 1, 1);
    struct governor_ticket *first = enter(&rig, "a", 1), *second = enter(&rig, "a", 2);
    governor_leave(&rig.governor, first);
    assert_int_equal(enter(&rig, "b", 1)->state, TICKET_WAITING);
    assert_ptr_equal(governor_admit(&rig.governor, rig.now), second);
    rig_release(&rig);
}

static void whoever_leaves_the_queue_is_passed_over(void **state)
{
    struct rig rig;
    rig_init(&rig, 1, 1);
    struct governor_ticket *first = enter(&rig, "a", 1), *second = enter(&rig, "a", 2);
    struct governor_ticket *third = enter(&rig, "b", 1), *fourth = enter(&rig, "a", 2);
    governor_leave(&rig.governor, second);
    governor_leave(&rig.governor, third);
    governor_leave(&rig.governor, third); /* a second time means nothing */
    assert_int_equal(rig.governor.waiting, 1);
    assert_null(governor_admit(&rig.governor, rig.now));
    governor_leave(&rig.governor, first);
    assert_ptr_equal(governor_admit(&rig.governor, rig.now), fourth);
    assert_null(governor_admit(&rig.governor, rig.now));
    rig_release(&rig);
}

static void ten_thousand_wait_and_each_is_served_once(void **state)
{
    struct rig rig;
    char name[32];
    rig_init(&rig, 4, 4);
    for (uint32_t i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "run %u", i % 100);
        enter(&rig, name, i % 700);
    }
    struct governor_ticket *in_flight[4] = {&rig.tickets[0], &rig.tickets[1], &rig.tickets[2],
                                            &rig.tickets[3]};
    size_t served = 4;
    for (; rig.governor.waiting > 0; served++) {
        struct governor_ticket **slot = &in_flight[served % 4];
        governor_leave(&rig.governor, *slot);
        *slot = governor_admit(&rig.governor, rig.now);
        assert_non_null(*slot);
        assert_null(governor_admit(&rig.governor, rig.now));
    }
    assert_int_equal(served, 10000);
    rig_release(&rig);
}

/* --- how many ----------------------------------------------------------------------------------- */

static void never_more_than_the_limit_are_in_flight(void **state)
{
    struct rig rig;
    rig_init(&rig, 5, 100);
    enter_many(&rig, "run", 20);
    assert_int_equal(rig.governor.in_flight, 5);
    assert_int_equal(admit_all(&rig), 0);
    assert_int_equal(governor_wake(&rig.governor, rig.now), INT64_MAX);
    governor_leave(&rig.governor, &rig.tickets[0]);
    assert_int_equal(admit_all(&rig), 1);
    rig_release(&rig);
}

static void the_limit_doubles_with_each_round_trip_until_something_is_refused(void **state)
{
    struct rig rig;
    rig_init(&rig, 4, 50);
    enter_many(&rig, "run", 1000);
    const size_t limits[] = {8, 16, 32, 50, 50};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        round_trip(&rig);
        assert_int_equal(rig.governor.limit, limits[i]);
        assert_int_equal(rig.governor.in_flight, limits[i]);
    }
    rig_release(&rig);
}

static void a_limit_that_nobody_reaches_does_not_grow(void **state)
{
    struct rig rig;
    rig_init(&rig, 4, 50);
    for (int i = 0; i < 100; i++) {
        struct governor_ticket *a = enter(&rig, "run", 1), *b = enter(&rig, "run", 2);
        taken_on_and_over(&rig, a);
        taken_on_and_over(&rig, b);
    }
    assert_int_equal(rig.governor.limit, 4);
    rig_release(&rig);
}

static void a_request_counts_once_however_many_signs_of_life_it_gives(void **state)
{
    struct rig rig;
    rig_init(&rig, 2, 50);
    enter_many(&rig, "run", 10);
    governor_taken_on(&rig.governor, &rig.tickets[0], rig.now);
    governor_taken_on(&rig.governor, &rig.tickets[0], rig.now);
    assert_int_equal(rig.governor.limit, 3);
    rig_release(&rig);
}

static void a_refusal_halves_what_is_in_flight(void **state)
{
    struct rig rig;
    rig_init(&rig, 64, 100);
    enter_many(&rig, "run", 20);
    assert_int_equal(governor_refused(&rig.governor, &rig.tickets[3], 429, -1, rig.now),
                     GOVERNOR_PAUSED);
    assert_int_equal(rig.governor.limit, 10);
    rig_release(&rig);
}

static void a_burst_that_is_refused_as_a_whole_is_one_step_down(void **state)
{
    struct rig rig;
    rig_init(&rig, 64, 100);
    enter_many(&rig, "run", 64);
    for (int i = 0; i < 64; i++) {
        governor_refused(&rig.governor, &rig.tickets[i], 429, -1, rig.now + i);
        governor_leave(&rig.governor, &rig.tickets[i]);
    }
    assert_int_equal(rig.governor.limit, 32);
    assert_int_equal(rig.governor.paused_until, rig.now + GOVERNOR_PAUSE_FIRST_MS);
    rig_release(&rig);
}

static void refusals_go_on_halving_down_to_one_and_never_below(void **state)
{
    struct rig rig;
    rig_init(&rig, 8, 100);
    enter_many(&rig, "run", 100);
    const size_t limits[] = {4, 2, 1, 1, 1};
    for (size_t round = 0; round < sizeof limits / sizeof limits[0]; round++) {
        for (size_t i = 0; i < rig.used; i++) {
            if (rig.tickets[i].state != TICKET_IN_FLIGHT)
                continue;
            governor_refused(&rig.governor, &rig.tickets[i], 503, -1, rig.now);
            governor_leave(&rig.governor, &rig.tickets[i]);
        }
        assert_int_equal(rig.governor.limit, limits[round]);
        rig.now = rig.governor.paused_until;
        assert_int_equal(admit_all(&rig), limits[round]);
    }
    rig_release(&rig);
}

static void after_a_refusal_the_limit_grows_by_one_with_each_round(void **state)
{
    struct rig rig;
    rig_init(&rig, 8, 100);
    enter_many(&rig, "run", 1000);
    governor_refused(&rig.governor, &rig.tickets[0], 429, 1000, rig.now);
    rig.now += 1000;
    round_trip(
        &rig); /* of those from before: their success proves nothing about the present limit */
    assert_int_equal(rig.governor.limit, 4);
    for (size_t limit = 5; limit < 12; limit++) {
        round_trip(&rig);
        assert_int_equal(rig.governor.limit, limit);
    }
    rig_release(&rig);
}

/* --- pauses --------------------------------------------------------------------------------------- */

static void nothing_leaves_before_the_time_that_the_provider_asked_for(void **state)
{
    struct rig rig;
    rig_init(&rig, 4, 100);
    enter_many(&rig, "run", 4);
    governor_refused(&rig.governor, &rig.tickets[0], 429, 12000, rig.now);
    for (int i = 0; i < 4; i++)
        governor_leave(&rig.governor, &rig.tickets[i]);
    assert_int_equal(enter(&rig, "other", 1)->state, TICKET_WAITING);
    assert_int_equal(governor_wake(&rig.governor, rig.now), rig.now + 12000);
    rig.now += 11999;
    assert_int_equal(admit_all(&rig), 0);
    rig.now += 1;
    assert_int_equal(admit_all(&rig), 1);
    rig_release(&rig);
}

static void
a_later_refusal_of_the_same_burst_may_lengthen_the_pause_but_not_shorten_it(void **state)
{
    struct rig rig;
    rig_init(&rig, 4, 100);
    enter_many(&rig, "run", 4);
    governor_refused(&rig.governor, &rig.tickets[0], 429, 5000, rig.now);
    assert_int_equal(governor_refused(&rig.governor, &rig.tickets[1], 429, 1000, rig.now),
                     GOVERNOR_AS_BEFORE);
    assert_int_equal(rig.governor.paused_until, rig.now + 5000);
    assert_int_equal(governor_refused(&rig.governor, &rig.tickets[2], 429, 9000, rig.now),
                     GOVERNOR_AS_BEFORE);
    assert_int_equal(rig.governor.paused_until, rig.now + 9000);
    assert_int_equal(rig.governor.limit, 2);
    rig_release(&rig);
}

static void an_answer_that_breaks_off_for_the_load_is_a_refusal_once(void **state)
{
    struct rig rig;
    rig_init(&rig, 4, 100);
    enter_many(&rig, "run", 4);
    for (size_t i = 0; i < 2; i++)
        governor_taken_on(&rig.governor, &rig.tickets[i], rig.now);
    assert_int_equal(governor_refused(&rig.governor, &rig.tickets[0], 529, -1, rig.now),
                     GOVERNOR_PAUSED);
    assert_int_equal(rig.governor.limit, 2);
    assert_int_equal(rig.governor.paused_until, rig.now + GOVERNOR_PAUSE_FIRST_MS);
    assert_int_equal(governor_refused(&rig.governor, &rig.tickets[1], 529, -1, rig.now),
                     GOVERNOR_AS_BEFORE);
    assert_int_equal(rig.governor.limit, 2);
    rig_release(&rig);
}

static void a_provider_cannot_ask_for_more_than_a_minute(void **state)
{
    struct rig rig;
    rig_init(&rig, 4, 100);
    enter_many(&rig, "run", 4);
    governor_refused(&rig.governor, &rig.tickets[0], 429, INT64_MAX, rig.now);
    assert_int_equal(rig.governor.paused_until, rig.now + 60000);
    rig_release(&rig);
}

static int64_t pause_of_a_refusal(struct rig *rig, int64_t retry_after_ms)
{
    struct governor_ticket *ticket = enter(rig, "run", 1);
    assert_int_equal(ticket->state, TICKET_IN_FLIGHT);
    governor_refused(&rig->governor, ticket, 529, retry_after_ms, rig->now);
    governor_leave(&rig->governor, ticket);
    int64_t pause = rig->governor.paused_until - rig->now;
    rig->now = rig->governor.paused_until;
    return pause;
}

static void without_a_time_the_pause_doubles_until_a_request_is_taken_on(void **state)
{
    struct rig rig;
    rig_init(&rig, 4, 100);
    const int64_t pauses[] = {500, 1000, 2000, 4000, 8000, 16000, 30000, 30000};
    for (size_t i = 0; i < sizeof pauses / sizeof pauses[0]; i++)
        assert_int_equal(pause_of_a_refusal(&rig, i % 2 == 0 ? -1 : 0), pauses[i]);
    taken_on_and_over(&rig, enter(&rig, "run", 1));
    assert_int_equal(pause_of_a_refusal(&rig, -1), 500);
    rig_release(&rig);
}

static void the_reason_names_the_refusal_and_afterwards_the_limit(void **state)
{
    struct rig rig;
    struct buf reason;
    buf_init(&reason, 64);
    rig_init(&rig, 4, 100);
    enter_many(&rig, "run", 9);
    governor_reason(&rig.governor, rig.now, &reason);
    check_str(buf_view(&reason), "4 at once");
    governor_refused(&rig.governor, &rig.tickets[0], 429, 1000, rig.now);
    buf_clear(&reason);
    governor_reason(&rig.governor, rig.now, &reason);
    check_str(buf_view(&reason), "429");
    rig.now += 1000;
    buf_clear(&reason);
    governor_reason(&rig.governor, rig.now, &reason);
    check_str(buf_view(&reason), "2 at once");
    rig.now += 1000;
    governor_unreached(&rig.governor, GOVERNOR_NO_CONNECTION, rig.now);
    buf_clear(&reason);
    governor_reason(&rig.governor, rig.now, &reason);
    check_str(buf_view(&reason), "no connection");
    buf_release(&reason);
    rig_release(&rig);
}

/* --- one failure is not overload --------------------------------------------------------------------- */

static void one_refusal_among_hundreds_of_answers_changes_nothing_for_others(void **state)
{
    struct rig rig;
    rig_init(&rig, 64, 100);
    for (int i = 0; i < 200; i++)
        taken_on_and_over(&rig, enter(&rig, "run", 1));
    struct governor_ticket *one = enter(&rig, "run", 1);
    assert_int_equal(governor_refused(&rig.governor, one, 429, 30000, rig.now), GOVERNOR_AS_BEFORE);
    assert_int_equal(rig.governor.limit, 64);
    assert_int_equal(governor_pause_left(&rig.governor, rig.now), 0);
    /* A minute later those answers are no longer recent. */
    rig.now += 60000;
    one = enter(&rig, "run", 1);
    assert_int_equal(governor_refused(&rig.governor, one, 429, 30000, rig.now), GOVERNOR_PAUSED);
    rig_release(&rig);
}

static void a_lost_connection_changes_nothing_while_others_get_through(void **state)
{
    struct rig rig;
    rig_init(&rig, 64, 100);
    taken_on_and_over(&rig, enter(&rig, "run", 1));
    assert_int_equal(governor_unreached(&rig.governor, GOVERNOR_NO_CONNECTION, rig.now + 999),
                     GOVERNOR_AS_BEFORE);
    assert_int_equal(rig.governor.state, GOVERNOR_UP);
    assert_int_equal(governor_unreached(&rig.governor, GOVERNOR_NO_CONNECTION, rig.now + 1000),
                     GOVERNOR_PAUSED);
    assert_int_equal(rig.governor.state, GOVERNOR_DOWN);
    rig_release(&rig);
}

static void two_broken_answers_do_not_make_a_provider_down_and_a_third_does(void **state)
{
    struct rig rig;
    rig_init(&rig, 64, 100);
    for (int i = 0; i < 2; i++)
        assert_int_equal(governor_unreached(&rig.governor, GOVERNOR_BROKEN, rig.now),
                         GOVERNOR_AS_BEFORE);
    assert_int_equal(governor_unreached(&rig.governor, GOVERNOR_BROKEN, rig.now), GOVERNOR_PAUSED);
    rig_release(&rig);
}

static void a_provider_that_is_down_is_probed_once_a_second_and_back_for_all_at_once(void **state)
{
    struct rig rig;
    rig_init(&rig, 64, 100);
    enter_many(&rig, "run", 60); /* these hang */
    governor_unreached(&rig.governor, GOVERNOR_NO_CONNECTION, rig.now);
    enter_many(&rig, "run", 30);
    for (int second = 0; second < 20; second++) {
        assert_int_equal(admit_all(&rig), 0);
        assert_int_equal(governor_wake(&rig.governor, rig.now), rig.now + GOVERNOR_PROBE_MS);
        rig.now += GOVERNOR_PROBE_MS;
        struct governor_ticket *probe = governor_admit(&rig.governor, rig.now);
        assert_non_null(probe);
        assert_int_equal(admit_all(&rig), 0);
        assert_int_equal(governor_wake(&rig.governor, rig.now), INT64_MAX);
        governor_unreached(&rig.governor, GOVERNOR_NO_CONNECTION, rig.now);
        governor_leave(&rig.governor, probe);
    }
    rig.now += GOVERNOR_PROBE_MS;
    struct governor_ticket *probe = governor_admit(&rig.governor, rig.now);
    assert_int_equal(governor_reached(&rig.governor, rig.now), GOVERNOR_GREW);
    governor_leave(&rig.governor, probe);
    assert_int_equal(admit_all(&rig), 4); /* beside the sixty that hang */
    rig_release(&rig);
}

static void a_wait_that_the_provider_asked_for_outlasts_an_outage_in_its_middle(void **state)
{
    struct rig rig;
    struct buf reason;
    buf_init(&reason, 64);
    rig_init(&rig, 4, 100);
    enter_many(&rig, "run", 9);
    assert_int_equal(governor_refused(&rig.governor, &rig.tickets[0], 429, 30000, rig.now),
                     GOVERNOR_PAUSED);
    int64_t until = rig.now + 30000;
    rig.now += 2000;
    governor_unreached(&rig.governor, GOVERNOR_NO_CONNECTION, rig.now);
    assert_int_equal(rig.governor.state, GOVERNOR_DOWN);
    rig.now += 500;
    /* One that was in flight before is answered: what the others wait for is the 429 again. */
    assert_int_equal(governor_taken_on(&rig.governor, &rig.tickets[1], rig.now), GOVERNOR_PAUSED);
    assert_int_equal(rig.governor.state, GOVERNOR_UP);
    governor_reason(&rig.governor, rig.now, &reason);
    check_str(buf_view(&reason), "429");
    for (size_t i = 0; i < 4; i++)
        governor_leave(&rig.governor, &rig.tickets[i]);
    assert_int_equal(governor_pause_left(&rig.governor, rig.now), until - rig.now);
    assert_int_equal(governor_wake(&rig.governor, rig.now), until);
    rig.now = until - 1;
    assert_int_equal(admit_all(&rig), 0);
    rig.now = until;
    assert_true(admit_all(&rig) > 0);
    buf_release(&reason);
    rig_release(&rig);
}

static void an_outage_is_not_probed_before_the_time_that_the_provider_asked_for(void **state)
{
    struct rig rig;
    rig_init(&rig, 4, 100);
    enter_many(&rig, "run", 9);
    governor_refused(&rig.governor, &rig.tickets[0], 429, 30000, rig.now);
    int64_t until = rig.now + 30000;
    rig.now += 2000;
    governor_unreached(&rig.governor, GOVERNOR_NO_CONNECTION, rig.now);
    assert_int_equal(governor_wake(&rig.governor, rig.now), until);
    rig.now = until;
    governor_unreached(&rig.governor, GOVERNOR_NO_CONNECTION, rig.now);
    assert_int_equal(governor_wake(&rig.governor, rig.now), until + GOVERNOR_PROBE_MS);
    rig_release(&rig);
}

static void a_limit_does_not_grow_while_first_bytes_take_far_longer_than_the_quickest(void **state)
{
    struct rig rig;
    rig_init(&rig, 4, 100);
    taken_on_and_over(&rig, enter(&rig, "run", 1));
    enter_many(&rig, "run", 20);
    rig.now += 60000;
    round_trip(&rig);
    assert_int_equal(rig.governor.limit, 4);
    rig_release(&rig);
}

/* --- what a server takes ------------------------------------------------------------------------------ */

enum fate { FATE_ANSWERED, FATE_REFUSED, FATE_BROKEN };

/* A server in virtual time: a limit on what it works on at once, or on how many it takes in a second; it answers some with a
 * failure. 0: there is no such limit. */
struct model_server {
    size_t at_once, per_second;
    int64_t service_ms;
    unsigned broken_permille, refused_permille;
    size_t active, answered, refused;
    double tokens;
    uint64_t chance;
};

static unsigned chance_of(struct model_server *server)
{
    server->chance = server->chance * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(server->chance >> 33) % 1000;
}

static enum fate arrives(struct model_server *server)
{
    unsigned luck = chance_of(server);
    bool full = (server->at_once > 0 && server->active >= server->at_once) ||
                (server->per_second > 0 && server->tokens < 1);
    if (full || luck < server->refused_permille)
        return FATE_REFUSED;
    server->tokens -= 1;
    return luck < server->refused_permille + server->broken_permille ? FATE_BROKEN : FATE_ANSWERED;
}

struct flying {
    struct governor_ticket *ticket;
    int64_t ends;
    enum fate fate;
};

#define BUSY 4000 /* requests that are in flight or wait, always */

static void fly(struct rig *rig, struct model_server *server, struct flying *flying,
                struct governor_ticket *ticket)
{
    enum fate fate = arrives(server);
    size_t at = index_of(rig, ticket);
    server->active += fate != FATE_REFUSED;
    flying[at] =
        (struct flying){ticket, rig->now + (fate == FATE_REFUSED ? 2 : server->service_ms), fate};
}

static void land(struct rig *rig, struct model_server *server, struct flying *one)
{
    struct governor_ticket *ticket = one->ticket;
    if (one->fate == FATE_REFUSED) {
        server->refused++;
        governor_refused(&rig->governor, ticket, 429, -1, rig->now);
    } else if (one->fate == FATE_BROKEN) {
        governor_unreached(&rig->governor, GOVERNOR_BROKEN, rig->now);
    } else {
        server->answered++;
        governor_taken_on(&rig->governor, ticket, rig->now);
    }
    server->active -= one->fate != FATE_REFUSED;
    governor_leave(&rig->governor, ticket);
    one->ticket = NULL;
}

/* Lets BUSY requests come again and again for so long; what was answered and refused in the second half is left. */
static void serve(struct model_server *server, int64_t ms)
{
    struct rig rig;
    struct flying *flying = calloc(BUSY, sizeof *flying);
    assert_non_null(flying);
    rig_init(&rig, GOVERNOR_LIMITS.first, GOVERNOR_LIMITS.maximum);
    rig.used = BUSY;
    int64_t begin = rig.now;
    for (; rig.now < begin + ms; rig.now++) {
        server->tokens += (double)server->per_second / 1000;
        if (server->tokens > (double)server->per_second)
            server->tokens = (double)server->per_second;
        for (size_t i = 0; i < BUSY; i++) {
            struct governor_ticket *ticket = &rig.tickets[i];
            if (flying[i].ticket != NULL && flying[i].ends <= rig.now)
                land(&rig, server, &flying[i]);
            if (ticket->state == TICKET_OUTSIDE &&
                governor_enter(&rig.governor, ticket, STR("run"), (uint32_t)i, rig.now) ==
                    GOVERNOR_ADMITTED)
                fly(&rig, server, flying, ticket);
        }
        struct governor_ticket *ticket;
        while ((ticket = governor_admit(&rig.governor, rig.now)) != NULL)
            fly(&rig, server, flying, ticket);
        if (rig.now == begin + ms / 2)
            server->answered = server->refused = 0;
    }
    print_message("limit %zu, %zu answered, %zu refused in %lld ms\n", rig.governor.limit,
                  server->answered, server->refused, (long long)ms / 2);
    free(flying);
    rig_release(&rig);
}

static void a_server_with_a_fixed_number_at_once_is_used_to_nearly_that_number(void **state)
{
    const size_t numbers[] = {4, 50, 500};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct model_server server = {.at_once = numbers[i], .service_ms = 100, .chance = 7};
        serve(&server, 40000);
        size_t best = numbers[i] * 200; /* in 20 s */
        assert_true(server.answered > best * 7 / 10);
        assert_true(server.refused < server.answered / 5);
    }
}

static void a_server_with_a_rate_is_used_to_nearly_that_rate(void **state)
{
    const size_t rates[] = {20, 200, 2000};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct model_server server = {.per_second = rates[i], .service_ms = 50, .chance = 7};
        serve(&server, 60000);
        assert_true(server.answered > rates[i] * 30 * 7 / 10);
        assert_true(server.refused < server.answered / 2);
    }
}

static void failures_at_random_do_not_slow_a_server_down(void **state)
{
    struct model_server server = {
        .service_ms = 100, .broken_permille = 30, .refused_permille = 10, .chance = 7};
    serve(&server, 20000);
    /* All that come: 4000 at once, ten times a second, for ten seconds. */
    assert_true(server.answered > (size_t)BUSY * 100 * 8 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_with_ten_agents_is_served_at_the_pace_of_a_run_with_a_thousand),
        cmocka_unit_test(agents_of_a_run_take_turns_however_much_one_of_them_asks),
        cmocka_unit_test(an_agent_that_asks_again_and_again_never_passes_one_that_waits),
        cmocka_unit_test(one_that_comes_when_others_wait_does_not_take_free_room),
        cmocka_unit_test(whoever_leaves_the_queue_is_passed_over),
        cmocka_unit_test(ten_thousand_wait_and_each_is_served_once),
        cmocka_unit_test(never_more_than_the_limit_are_in_flight),
        cmocka_unit_test(the_limit_doubles_with_each_round_trip_until_something_is_refused),
        cmocka_unit_test(a_limit_that_nobody_reaches_does_not_grow),
        cmocka_unit_test(a_request_counts_once_however_many_signs_of_life_it_gives),
        cmocka_unit_test(a_refusal_halves_what_is_in_flight),
        cmocka_unit_test(a_burst_that_is_refused_as_a_whole_is_one_step_down),
        cmocka_unit_test(refusals_go_on_halving_down_to_one_and_never_below),
        cmocka_unit_test(after_a_refusal_the_limit_grows_by_one_with_each_round),
        cmocka_unit_test(nothing_leaves_before_the_time_that_the_provider_asked_for),
        cmocka_unit_test(
            a_later_refusal_of_the_same_burst_may_lengthen_the_pause_but_not_shorten_it),
        cmocka_unit_test(an_answer_that_breaks_off_for_the_load_is_a_refusal_once),
        cmocka_unit_test(a_provider_cannot_ask_for_more_than_a_minute),
        cmocka_unit_test(without_a_time_the_pause_doubles_until_a_request_is_taken_on),
        cmocka_unit_test(the_reason_names_the_refusal_and_afterwards_the_limit),
        cmocka_unit_test(one_refusal_among_hundreds_of_answers_changes_nothing_for_others),
        cmocka_unit_test(a_lost_connection_changes_nothing_while_others_get_through),
        cmocka_unit_test(two_broken_answers_do_not_make_a_provider_down_and_a_third_does),
        cmocka_unit_test(a_provider_that_is_down_is_probed_once_a_second_and_back_for_all_at_once),
        cmocka_unit_test(a_wait_that_the_provider_asked_for_outlasts_an_outage_in_its_middle),
        cmocka_unit_test(an_outage_is_not_probed_before_the_time_that_the_provider_asked_for),
        cmocka_unit_test(a_limit_does_not_grow_while_first_bytes_take_far_longer_than_the_quickest),
        cmocka_unit_test(a_server_with_a_fixed_number_at_once_is_used_to_nearly_that_number),
        cmocka_unit_test(a_server_with_a_rate_is_used_to_nearly_that_rate),
        cmocka_unit_test(failures_at_random_do_not_slow_a_server_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
