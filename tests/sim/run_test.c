/* The simulator's tests: random runs with faults, cancels and crashes; every promise of CONTRACT.md that can be seen from outside.
 * SIM_SEEDS=n runs n seeds, SIM_SEED=n one; SIM_TRACE=1 shows the log of a run that went wrong. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "world.h"

#define USUAL_SEEDS 250
#define ENOUGH_SEEDS 100 /* that everything happens at least once … */
#define RARE_SEEDS 1000  /* … but for what is rare */

static int64_t from_environment(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtoll(text, NULL, 10) : otherwise;
}

/* Builds with check_fold stop the process: which seed that was. */
static char seed_now[64];

static void tell_seed(int signal)
{
    if (write(STDERR_FILENO, seed_now, strlen(seed_now)) < 0)
        _exit(1);
}

static struct world_plan plan_of(uint64_t seed)
{
    snprintf(seed_now, sizeof seed_now, "SIM_SEED=%llu\n", (unsigned long long)seed);
    /* Settings go by digits of the seed in different bases, so that they meet in all combinations. */
    return (struct world_plan){.seed = seed,
                               .max_concurrent = (int64_t)(seed % 4),
                               .delegate_concurrency = 1 + (int64_t)(seed / 4 % 2),
                               .token_limit = seed % 3 == 0 ? 20000 : UNLIMITED,
                               .fault_permille = seed % 5 == 0 ? 0 : 80,
                               .cancel_permille = seed / 2 % 4 == 0 ? 500 : 0,
                               .depth = 1 + (int64_t)(seed / 3 % 3),
                               .retries = (int64_t)(seed / 5 % 3),
                               .root_ms = seed % 7 == 0 ? 8000 : 600000,
                               .child_ms = seed / 7 % 5 == 0 ? 3000 : 60000,
                               .attempt_ms = seed / 11 % 5 == 0 ? 1500 : 90000,
                               .window = seed / 13 % 2 == 0 ? 40000 : 14000,
                               .true_window = seed / 23 % 4 == 0 ? 4000 : 0,
                               .crash_kind = seed % 2 == 0 ? CRASH_LOSES_QUEUE : CRASH_KEEPS_QUEUE,
                               .holding = seed / 17 % 3 == 0 ? CHILDREN_HELD : CHILDREN_CLOSED,
                               .watched = seed / 19 % 3 == 0   ? WATCHED_AT_A_TERMINAL
                                          : seed / 19 % 3 == 1 ? WATCHED_BY_INBOX
                                                               : WATCHED_BY_NOBODY,
                               .care = seed / 37 % 3 == 0 ? PLAN_CAREFUL : PLAN_BOLD,
                               .walls = seed / 41 % 2 == 0 ? PLAN_WALLED : PLAN_OPEN,
                               .results = seed / 2 % 2 != 0   ? RESULTS_ONCE
                                          : seed / 4 % 3 == 0 ? RESULTS_REPEATED
                                                              : RESULTS_REUSED,
                               .isolation = seed / 2 % 2 == 0 && seed / 4 % 3 == 0
                                                ? ISOLATED_NOBODY /* each merge is a change */
                                            : seed / 6 % 4 == 0 ? ISOLATED_CHILDREN
                                            : seed / 6 % 4 == 1 ? ISOLATED_NOBODY
                                            : seed / 6 % 4 == 2 ? ISOLATED_IN_PLACE
                                                                : ISOLATED_ALL,
                               .idle_ms = seed / 3 % 3 == 0 ? 1000 : 0,
                               .outages = seed / 29 % 3 == 0 ? OUTAGES_HAPPEN : OUTAGES_NEVER,
                               .sleeps = seed / 31 % 2 == 0 ? SLEEPS_HAPPEN : SLEEPS_NEVER,
                               .stops = seed / 43 % 2 == 0 ? STOPS_HAPPEN : STOPS_NEVER,
                               .clock = seed / 47 % 2 == 0 ? CLOCK_IS_SET : CLOCK_IS_RIGHT};
}

static void require_sound(const struct world_plan *plan, const struct world_result *result)
{
    if (result->problem[0] != '\0' || result->how != WORLD_ENDED)
        fail_msg("SIM_SEED=%llu crash_after=%lld cancel_at=%lld: %s",
                 (unsigned long long)plan->seed, (long long)plan->crash_after,
                 (long long)plan->cancel_at, result->problem);
}

struct totals {
    int64_t runs, crashes, slept_crashes, children, requests, commits, completed, deepest;
    int64_t seen[SIGHTINGS];
};

static void add(struct totals *t, const struct world_result *result)
{
    t->runs++;
    t->crashes += result->crashes;
    t->slept_crashes += result->slept_crashes;
    t->children += result->children;
    t->requests += result->requests;
    t->commits += result->commits;
    t->completed += result->status == RUN_COMPLETED;
    t->deepest = result->deepest > t->deepest ? result->deepest : t->deepest;
    for (int i = 0; i < SIGHTINGS; i++)
        t->seen[i] += result->seen[i];
}

static bool is_rare(int sighting)
{
    static const int rare[] = {SEEN_HELD,     SEEN_STEERED,       SEEN_MERGED,    SEEN_OUT_OF_TURN,
                               SEEN_CONFLICT, SEEN_MERGE_STOPPED, SEEN_UNRESOLVED};
    for (size_t i = 0; i < sizeof rare / sizeof rare[0]; i++)
        if (rare[i] == sighting)
            return true;
    return false;
}

/* Everything that the simulator is there to try has happened. */
static void require_everything_seen(const struct totals *t)
{
    print_message(
        "%lld runs, %lld completed, %lld children, %lld requests; seen:", (long long)t->runs,
        (long long)t->completed, (long long)t->children, (long long)t->requests);
    for (int i = 0; i < SIGHTINGS; i++)
        print_message(" %lld", (long long)t->seen[i]);
    print_message("\n");
    assert_true(t->children > t->runs && t->completed > 0 && t->deepest == 3);
    for (int i = 0; i < SIGHTINGS; i++)
        if (t->seen[i] == 0 && (t->runs >= RARE_SEEDS || !is_rare(i)))
            fail_msg("sighting %d of world.h was never made", i);
}

static void random_runs_end_soundly_without_crashes(void **state)
{
    struct totals t = {0};
    int64_t one = from_environment("SIM_SEED", -1),
            seeds = from_environment("SIM_SEEDS", USUAL_SEEDS);
    for (int64_t seed = one >= 0 ? one : 0; seed < (one >= 0 ? one + 1 : seeds); seed++) {
        struct world_plan plan = plan_of((uint64_t)seed);
        struct world_result result;
        world_run(&plan, &result);
        require_sound(&plan, &result);
        add(&t, &result);
    }
    if (one < 0 && seeds >= ENOUGH_SEEDS)
        require_everything_seen(&t);
}

static void a_crash_at_every_commit_point_is_survived(void **state)
{
    struct totals t = {0};
    int64_t one = from_environment("SIM_SEED", -1),
            seeds = from_environment("SIM_SEEDS", USUAL_SEEDS) / 20;
    for (int64_t seed = one >= 0 ? one : 0; seed < (one >= 0 ? one + 1 : seeds); seed++) {
        struct world_plan plan = plan_of((uint64_t)seed);
        struct world_result whole, result;
        world_run(&plan, &whole);
        for (plan.crash_after = 1; plan.crash_after <= whole.commits; plan.crash_after++) {
            world_run(&plan, &result);
            require_sound(&plan, &result);
            add(&t, &result);
        }
    }
    print_message("%lld runs, %lld crashes, %lld children\n", (long long)t.runs,
                  (long long)t.crashes, (long long)t.children);
    assert_true(one >= 0 || t.crashes >= t.runs * 9 / 10);
}

static void crash_after_crash_is_survived(void **state)
{
    struct totals t = {0};
    int64_t one = from_environment("SIM_SEED", -1),
            seeds = from_environment("SIM_SEEDS", USUAL_SEEDS);
    for (int64_t seed = one >= 0 ? one : 0; seed < (one >= 0 ? one + 1 : seeds); seed++) {
        struct world_plan plan = plan_of((uint64_t)seed);
        struct world_result result;
        plan.crash_every = 150;
        world_run(&plan, &result);
        require_sound(&plan, &result);
        add(&t, &result);
    }
    print_message("%lld runs, %lld crashes, %lld children\n", (long long)t.runs,
                  (long long)t.crashes, (long long)t.children);
    assert_true(one >= 0 || (t.crashes > t.runs && t.slept_crashes > 0));
}

/* At every step of some runs, and at some steps of all. */
static void a_cancel_ends_any_run_from_any_state(void **state)
{
    struct totals t = {0};
    int64_t one = from_environment("SIM_SEED", -1),
            seeds = from_environment("SIM_SEEDS", USUAL_SEEDS), steps = 0;
    for (int64_t seed = one >= 0 ? one : 0; seed < (one >= 0 ? one + 1 : seeds); seed++) {
        struct world_plan plan = plan_of((uint64_t)seed);
        struct world_result whole, result;
        plan.cancel_permille = 0;
        world_run(&plan, &whole);
        require_sound(&plan, &whole);
        int64_t stride = one >= 0 || seed % 60 == 0 ? 1 : 1 + whole.steps / 3;
        for (plan.cancel_at = 1 + seed % stride; plan.cancel_at < whole.steps;
             plan.cancel_at += stride) {
            plan.crash_every = plan.cancel_at % 4 == 3 ? 150 : 0;
            world_run(&plan, &result);
            require_sound(&plan, &result);
            steps = result.cancel_steps > steps ? result.cancel_steps : steps;
            add(&t, &result);
        }
    }
    print_message("%lld runs, %lld crashes; ended within %lld steps\n", (long long)t.runs,
                  (long long)t.crashes, (long long)steps);
    assert_true(one >= 0 || (t.runs > seeds && steps > 0));
}

static void the_same_seed_gives_the_same_run(void **state)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct world_plan plan = plan_of(seed);
        struct world_result a, b;
        plan.crash_every = 50;
        world_run(&plan, &a);
        world_run(&plan, &b);
        assert_int_equal(a.events, b.events);
        assert_int_equal(a.requests, b.requests);
        assert_int_equal(a.crashes, b.crashes);
        assert_memory_equal(a.seen, b.seen, sizeof a.seen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_runs_end_soundly_without_crashes),
        cmocka_unit_test(a_crash_at_every_commit_point_is_survived),
        cmocka_unit_test(crash_after_crash_is_survived),
        cmocka_unit_test(a_cancel_ends_any_run_from_any_state),
        cmocka_unit_test(the_same_seed_gives_the_same_run),
    };
    signal(SIGABRT, tell_seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
