/* The most that a step may cost, and a run's budget shared among steps. */
#include "core/plan/estimate.h"

#include "plan_fixture.h"

#define DOLLAR INT64_C(1000000000)

static struct model_settings model(void)
{
    return (struct model_settings){.max_context_tokens = 100000,
                                   .price_in_nano = 3000,
                                   .price_out_nano = 15000,
                                   .price_cached_nano = 300,
                                   .price_cache_write_nano = 3750};
}

static struct contract contract(void)
{
    struct contract out = {.execution.budget = {10, UNLIMITED, 8000, UNLIMITED, UNLIMITED, 60000}};
    out.model.params.max_output_tokens = 1000;
    return out;
}

static struct estimate most(const struct contract *of, const struct model_settings *by)
{
    struct estimate out;
    estimate_step(of, by, &out);
    return out;
}

static void calls_bound_requests_and_requests_bound_the_cost(void **state)
{
    struct contract c = contract();
    struct model_settings m = model();
    struct estimate e = most(&c, &m);
    assert_int_equal(e.calls, 10);
    assert_int_equal(e.requests, 12);
    assert_int_equal(e.tokens, 12 * 9000);
    assert_int_equal(e.cost_nano, 12 * (8000 * 3750 + 1000 * 15000));
    c.execution.max_retries = 2; /* each attempt has an answer of its own */
    assert_int_equal(most(&c, &m).requests, 14);
    c.execution.budget.turns = 3;
    assert_int_equal(most(&c, &m).requests, 3);
}

static void a_limit_of_its_own_holds_whatever_happens(void **state)
{
    struct contract c = contract();
    struct model_settings m = model();
    c.execution.budget.cost_nano = DOLLAR / 100;
    c.execution.budget.tokens = 500;
    assert_int_equal(most(&c, &m).cost_nano, DOLLAR / 100);
    assert_int_equal(most(&c, &m).tokens, 500);
}

static void what_nothing_bounds_or_nobody_priced_is_unlimited(void **state)
{
    struct contract c = contract();
    struct model_settings m = model();
    m.price_in_nano = UNLIMITED;
    assert_int_equal(most(&c, &m).cost_nano, UNLIMITED);
    m = model();
    c.execution.budget.tool_calls = UNLIMITED;
    assert_int_equal(most(&c, &m).requests, UNLIMITED);
    assert_int_equal(most(&c, &m).cost_nano, UNLIMITED);
    c = contract();
    c.execution.budget.context_tokens = UNLIMITED; /* the model's window bounds it still */
    assert_int_equal(most(&c, &m).cost_nano, INT64_C(12) * (INT64_C(100000) * 3750 + 1000 * 15000));
}

static void huge_numbers_saturate(void **state)
{
    struct contract c = contract();
    struct model_settings m = model();
    m.max_context_tokens = INT64_MAX;
    c.execution.budget.context_tokens = INT64_MAX / 2;
    c.execution.budget.tool_calls = INT64_MAX;
    assert_int_equal(most(&c, &m).cost_nano, INT64_MAX);
    assert_int_equal(most(&c, &m).tokens, INT64_MAX);
}

static void the_sum_of_all_stays_within_the_runs_budget(void **state)
{
    struct estimate sum = {0}, step = {10, 12, 1000, DOLLAR}, unknown = {1, 1, 1, UNLIMITED};
    struct limits limits = {UNLIMITED, UNLIMITED, UNLIMITED, 1500, 3 * DOLLAR, UNLIMITED};
    estimate_add(&sum, &step);
    estimate_add(&sum, &step);
    assert_int_equal(sum.calls, 20);
    assert_int_equal(sum.cost_nano, 2 * DOLLAR);
    estimate_within(&sum, &limits);
    assert_int_equal(sum.tokens, 1500);
    assert_int_equal(sum.cost_nano, 2 * DOLLAR);
    estimate_add(&sum, &unknown);
    assert_int_equal(sum.cost_nano, UNLIMITED);
    estimate_within(&sum, &limits);
    assert_int_equal(sum.cost_nano, 3 * DOLLAR);
}

static void a_budget_is_shared_by_weight_to_the_last_unit(void **state)
{
    struct share shares[] = {{10, SHARE_WAITS, 0}, {20, SHARE_WAITS, 0}, {0, SHARE_WAITS, 0}};
    estimate_share(100, shares, 3);
    assert_int_equal(shares[0].amount, 32);
    assert_int_equal(shares[1].amount, 64);
    assert_int_equal(shares[2].amount, 4);
    estimate_share(UNLIMITED, shares, 3);
    assert_int_equal(shares[1].amount, UNLIMITED);
}

static void what_a_step_did_not_use_goes_to_those_that_wait(void **state)
{
    struct share shares[] = {
        {1, SHARE_ENDED, 5}, {1, SHARE_RUNS, 30}, {1, SHARE_WAITS, 0}, {3, SHARE_WAITS, 0}};
    estimate_share(115, shares, 4);
    assert_int_equal(shares[0].amount, 5);
    assert_int_equal(shares[1].amount, 30);
    assert_int_equal(shares[2].amount, 20);
    assert_int_equal(shares[3].amount, 60);
    shares[0].amount = 1000; /* it spent more than there was */
    estimate_share(115, shares, 4);
    assert_int_equal(shares[2].amount, 0);
    assert_int_equal(shares[3].amount, 0);
}

static uint64_t next_random(uint64_t *seed)
{
    uint64_t z = (*seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int64_t handed_out(const struct share *shares, size_t count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += shares[i].amount;
    return sum;
}

/* Steps start in any order and end at or under their share: the whole is handed out while somebody waits, never more, and nobody
 * who waits loses more than what rounding moves about. */
static void shares_never_shrink_and_never_exceed_the_whole(void **state)
{
    uint64_t seed = 11;
    for (int round = 0; round < 2000; round++) {
        struct share shares[12];
        size_t count = 1 + next_random(&seed) % 12, open = count;
        int64_t total = (int64_t)(next_random(&seed) >> (1 + next_random(&seed) % 60));
        for (size_t i = 0; i < count; i++)
            shares[i] = (struct share){(int64_t)(next_random(&seed) % 50), SHARE_WAITS, 0};
        estimate_share(total, shares, count);
        assert_int_equal(handed_out(shares, count), total);
        while (open > 0) {
            struct share *one = &shares[next_random(&seed) % count], before[12];
            memcpy(before, shares, sizeof before);
            if (one->state == SHARE_ENDED)
                continue;
            bool ends = one->state == SHARE_RUNS;
            one->state = ends ? SHARE_ENDED : SHARE_RUNS;
            if (ends && one->amount > 0)
                one->amount -= (int64_t)(next_random(&seed) % (uint64_t)one->amount);
            open -= ends;
            estimate_share(total, shares, count);
            assert_true(handed_out(shares, count) <= total);
            for (size_t i = 0; i < count; i++)
                if (shares[i].state == SHARE_WAITS && shares[i].amount + 12 < before[i].amount)
                    fail_msg("%zu had %lld, has %lld", i, (long long)before[i].amount,
                             (long long)shares[i].amount);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_bound_requests_and_requests_bound_the_cost),
        cmocka_unit_test(a_limit_of_its_own_holds_whatever_happens),
        cmocka_unit_test(what_nothing_bounds_or_nobody_priced_is_unlimited),
        cmocka_unit_test(huge_numbers_saturate),
        cmocka_unit_test(the_sum_of_all_stays_within_the_runs_budget),
        cmocka_unit_test(a_budget_is_shared_by_weight_to_the_last_unit),
        cmocka_unit_test(what_a_step_did_not_use_goes_to_those_that_wait),
        cmocka_unit_test(shares_never_shrink_and_never_exceed_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
