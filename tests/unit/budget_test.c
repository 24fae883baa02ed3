/* Budgets: examples of every answer, and a property over random trees: what was granted and
 * reserved never passes a limit anywhere up the tree, and what settles inside its reservation
 * never does either. */
#include "core/contract/budget.h"

#include <stdlib.h>

#include "check.h"

#define NO_LIMITS                                                                                  \
    {                                                                                              \
        UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED                           \
    }
static const struct amount nothing = {0, 0};

static struct account account_with(struct account *parent, int64_t tokens, int64_t cost_nano)
{
    struct account account = {.parent = parent, .limits = NO_LIMITS};
    account.limits.tokens = tokens;
    account.limits.cost_nano = cost_nano;
    return account;
}

static void an_unlimited_account_grants_what_is_wanted(void **state)
{
    struct account root = account_with(NULL, UNLIMITED, UNLIMITED);
    struct quote quote = {1000, 400, 8192, 0, 3000, 15000};
    struct amount amount;
    int64_t output;
    assert_int_equal(budget_quote(&root, &quote, nothing, &amount, &output), BUDGET_GRANTED);
    assert_int_equal(output, 8192);
    assert_int_equal(amount.tokens, 400 + 8192);
    assert_int_equal(amount.cost_nano, 1000 * 3000 + 8192 * 15000);
}

static void the_output_limit_shrinks_to_the_tokens_that_are_left(void **state)
{
    struct account root = account_with(NULL, 2000, UNLIMITED);
    struct quote quote = {1000, 1000, 8192, 0, -1, -1};
    struct amount amount;
    int64_t output;
    assert_int_equal(budget_quote(&root, &quote, nothing, &amount, &output), BUDGET_GRANTED);
    assert_int_equal(output, 1000);
    assert_int_equal(amount.tokens, 2000);
    assert_int_equal(amount.cost_nano, 0);
}

static void the_output_limit_shrinks_to_what_money_affords(void **state)
{
    struct account root = account_with(NULL, UNLIMITED, 10000000);
    struct quote quote = {1000, 1000, 8192, 0, 3000, 15000};
    struct amount amount;
    int64_t output;
    assert_int_equal(budget_quote(&root, &quote, nothing, &amount, &output), BUDGET_GRANTED);
    assert_int_equal(output, (10000000 - 3000000) / 15000);
    assert_true(amount.cost_nano <= 10000000);
}

static void below_256_output_tokens_is_refused(void **state)
{
    struct account root = account_with(NULL, 1255, UNLIMITED);
    struct quote quote = {1000, 1000, 8192, 0, -1, -1};
    struct amount amount;
    int64_t output;
    assert_int_equal(budget_quote(&root, &quote, nothing, &amount, &output), BUDGET_NEVER);
    root.limits.tokens = 1256;
    assert_int_equal(budget_quote(&root, &quote, nothing, &amount, &output), BUDGET_GRANTED);
    assert_int_equal(output, OUTPUT_MIN);
}

static void what_fits_once_others_settle_waits(void **state)
{
    struct account root = account_with(NULL, 2000, UNLIMITED);
    struct account sibling = account_with(&root, UNLIMITED, UNLIMITED);
    struct account child = account_with(&root, UNLIMITED, UNLIMITED);
    struct quote quote = {1000, 1000, 500, 0, -1, -1};
    struct amount held, amount;
    int64_t output;
    assert_int_equal(budget_quote(&sibling, &quote, nothing, &held, &output), BUDGET_GRANTED);
    budget_reserve(&sibling, held);
    assert_int_equal(budget_quote(&child, &quote, nothing, &amount, &output), BUDGET_WAIT);
    budget_settle(&sibling, held, (struct amount){100, 0});
    assert_int_equal(budget_quote(&child, &quote, nothing, &amount, &output), BUDGET_GRANTED);
    budget_reserve(&sibling, nothing);
    budget_settle(&sibling, nothing, (struct amount){800, 0});
    assert_int_equal(budget_quote(&child, &quote, nothing, &amount, &output), BUDGET_NEVER);
}

static void a_reservation_counts_against_every_ancestor(void **state)
{
    struct account root = account_with(NULL, 5000, UNLIMITED);
    struct account middle = account_with(&root, UNLIMITED, 9000);
    struct account leaf = account_with(&middle, 4000, UNLIMITED);
    budget_reserve(&leaf, (struct amount){1000, 2000});
    assert_int_equal(root.reserved.tokens, 1000);
    assert_int_equal(middle.reserved.cost_nano, 2000);
    assert_int_equal(budget_left(&leaf).tokens, 3000);
    assert_int_equal(budget_left(&leaf).cost_nano, 7000);
    assert_int_equal(budget_left(&root).tokens, 4000);
    assert_int_equal(budget_left(&root).cost_nano, UNLIMITED);
    budget_settle(&leaf, (struct amount){1000, 2000}, (struct amount){600, 500});
    assert_int_equal(root.reserved.tokens, 0);
    assert_int_equal(root.spent.tokens, 600);
    assert_int_equal(middle.spent.cost_nano, 500);
    assert_int_equal(budget_left(&leaf).tokens, 3400);
}

static void an_ancestor_without_room_stops_its_grandchild(void **state)
{
    struct account root = account_with(NULL, 1000, UNLIMITED);
    struct account middle = account_with(&root, UNLIMITED, UNLIMITED);
    struct account leaf = account_with(&middle, 100000, UNLIMITED);
    struct quote quote = {900, 900, 8192, 0, -1, -1};
    struct amount amount;
    int64_t output;
    assert_int_equal(budget_quote(&leaf, &quote, nothing, &amount, &output), BUDGET_NEVER);
}

static void the_last_turns_reserve_is_kept_back_from_the_agent_and_its_ancestors(void **state)
{
    struct account root = account_with(NULL, 3000, UNLIMITED);
    struct account child = account_with(&root, 3000, UNLIMITED);
    struct quote quote = {1000, 1000, 8192, 0, -1, -1};
    struct amount reserve = {700, 0}, amount;
    int64_t output;
    assert_int_equal(budget_quote(&child, &quote, reserve, &amount, &output), BUDGET_GRANTED);
    assert_int_equal(output, 1300);
    child.limits.tokens = UNLIMITED;
    assert_int_equal(budget_quote(&child, &quote, reserve, &amount, &output), BUDGET_GRANTED);
    assert_int_equal(output, 1300);
    root.kept_back.tokens = 400; /* on top of what the root keeps for itself */
    assert_int_equal(budget_quote(&child, &quote, reserve, &amount, &output), BUDGET_GRANTED);
    assert_int_equal(output, 900);
    assert_int_equal(budget_quote(&child, &quote, nothing, &amount, &output), BUDGET_GRANTED);
    assert_int_equal(output, 1600);
}

static void unknown_prices_cost_nothing_and_huge_ones_saturate(void **state)
{
    assert_int_equal(cost_of(1000, -1), 0);
    assert_int_equal(cost_of(-5, 10), 0);
    assert_int_equal(cost_of(INT64_MAX, INT64_MAX), INT64_MAX);
    struct account root = account_with(NULL, UNLIMITED, 1000);
    struct quote quote = {INT64_MAX, INT64_MAX, INT64_MAX, 0, INT64_MAX, INT64_MAX};
    struct amount amount;
    int64_t output;
    assert_int_equal(budget_quote(&root, &quote, nothing, &amount, &output), BUDGET_NEVER);
    root.limits.cost_nano = UNLIMITED;
    assert_int_equal(budget_quote(&root, &quote, nothing, &amount, &output), BUDGET_GRANTED);
    budget_reserve(&root, amount);
    budget_reserve(&root, amount);
    assert_int_equal(root.reserved.tokens, INT64_MAX);
}

static void percent_is_that_of_the_tightest_limit(void **state)
{
    struct account account = account_with(NULL, 1000, 1000000);
    assert_int_equal(budget_percent(&account), 0);
    account.limits.tool_calls = 10;
    account.tool_calls = 8;
    account.spent = (struct amount){500, 100000};
    assert_int_equal(budget_percent(&account), 80);
    account.spent.tokens = 1100;
    assert_int_equal(budget_percent(&account), 110);
    struct account huge = account_with(NULL, INT64_MAX, UNLIMITED);
    huge.spent.tokens = INT64_MAX / 2;
    assert_in_range(budget_percent(&huge), 49, 51);
}

static void an_estimate_is_a_third_of_ascii_and_half_of_other_bytes(void **state)
{
    assert_int_equal(budget_estimate(STR("")), 0);
    assert_int_equal(budget_estimate(STR("a")), 1);
    assert_int_equal(budget_estimate(STR("abcdef")), 2);
    assert_int_equal(budget_estimate(STR("abcdefg")), 3);
    assert_int_equal(budget_estimate(STR("äb")), 2);
    assert_int_equal(budget_estimate(STR("äbcd")), 3);
}

/* The property. */

static uint64_t next_random(uint64_t *seed)
{
    uint64_t z = (*seed += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int64_t pick(uint64_t *seed, int64_t below)
{
    return (int64_t)(next_random(seed) % (uint64_t)below);
}

enum { ACCOUNTS = 12, FLIGHTS = 8, MOVES = 120, TREES = 2000 };

struct tree {
    struct account accounts[ACCOUNTS];
    struct amount overshoot[ACCOUNTS]; /* what settlements passed in beyond their reservation */
    struct flight {
        struct account *account; /* NULL: free */
        struct amount reserved;
    } flights[FLIGHTS];
};

static void tree_grow(struct tree *tree, uint64_t *seed)
{
    *tree = (struct tree){0};
    for (int i = 0; i < ACCOUNTS; i++) {
        struct account *parent = i > 0 ? &tree->accounts[pick(seed, i)] : NULL;
        tree->accounts[i] = account_with(parent, pick(seed, 3) ? pick(seed, 20000) : UNLIMITED,
                                         pick(seed, 3) ? pick(seed, 200000000) : UNLIMITED);
    }
}

static void tree_ask(struct tree *tree, struct flight *flight, uint64_t *seed)
{
    struct account *account = &tree->accounts[pick(seed, ACCOUNTS)];
    int64_t input = pick(seed, 4000);
    struct quote quote = {input,
                          pick(seed, input + 1),
                          256 + pick(seed, 4000),
                          0,
                          pick(seed, 4) ? pick(seed, 5000) : -1,
                          pick(seed, 4) ? pick(seed, 20000) : -1};
    struct amount reserve = {pick(seed, 2) ? pick(seed, 1000) : 0, 0}, amount;
    int64_t output;
    enum budget_answer answer = budget_quote(account, &quote, reserve, &amount, &output);
    if (answer == BUDGET_WAIT) {
        bool something_reserved = false;
        for (struct account *a = account; a; a = a->parent)
            something_reserved = something_reserved || a->reserved.tokens || a->reserved.cost_nano;
        assert_true(something_reserved);
    }
    if (answer != BUDGET_GRANTED)
        return;
    assert_true(output >= OUTPUT_MIN && output <= quote.output_limit);
    budget_reserve(account, amount);
    *flight = (struct flight){account, amount};
}

static void tree_land(struct tree *tree, struct flight *flight, uint64_t *seed)
{
    struct amount used = {pick(seed, flight->reserved.tokens + 1),
                          pick(seed, flight->reserved.cost_nano + 1)};
    struct amount over = nothing;
    if (pick(seed, 10) == 0)
        over = (struct amount){pick(seed, 300), pick(seed, 100000)};
    if (over.tokens || over.cost_nano)
        used = (struct amount){flight->reserved.tokens + over.tokens,
                               flight->reserved.cost_nano + over.cost_nano};
    budget_settle(flight->account, flight->reserved, used);
    for (struct account *a = flight->account; a; a = a->parent) {
        tree->overshoot[a - tree->accounts].tokens += over.tokens;
        tree->overshoot[a - tree->accounts].cost_nano += over.cost_nano;
    }
    flight->account = NULL;
}

static void tree_check(const struct tree *tree)
{
    for (int i = 0; i < ACCOUNTS; i++) {
        const struct account *a = &tree->accounts[i];
        const struct amount *over = &tree->overshoot[i];
        if (a->limits.tokens != UNLIMITED)
            assert_true(a->spent.tokens + a->reserved.tokens <= a->limits.tokens + over->tokens);
        if (a->limits.cost_nano != UNLIMITED)
            assert_true(a->spent.cost_nano + a->reserved.cost_nano <=
                        a->limits.cost_nano + over->cost_nano);
        /* Reservations are the sum of the flights beneath. */
        int64_t in_flight = 0;
        for (int f = 0; f < FLIGHTS; f++)
            for (const struct account *b = tree->flights[f].account; b; b = b->parent)
                in_flight += b == a ? tree->flights[f].reserved.tokens : 0;
        assert_int_equal(a->reserved.tokens, in_flight);
    }
}

static void no_interleaving_passes_a_limit_anywhere_up_the_tree(void **state)
{
    uint64_t seed = 42;
    for (int t = 0; t < TREES; t++) {
        struct tree tree;
        tree_grow(&tree, &seed);
        for (int m = 0; m < MOVES; m++) {
            struct flight *flight = &tree.flights[pick(&seed, FLIGHTS)];
            if (flight->account)
                tree_land(&tree, flight, &seed);
            else
                tree_ask(&tree, flight, &seed);
            tree_check(&tree);
        }
    }
}

static struct model_settings priced_model(int64_t in, int64_t cached, int64_t write, int64_t out)
{
    return (struct model_settings){.price_in_nano = in,
                                   .price_out_nano = out,
                                   .price_cached_nano = cached,
                                   .price_cache_write_nano = write};
}

static void each_part_of_the_input_has_its_price(void **state)
{
    struct model_settings model = priced_model(3000, 300, 3750, 15000);
    assert_int_equal(cost_of_request(&model, 1000, 600, 300, 10),
                     600 * 300 + 300 * 3750 + 100 * 3000 + 10 * 15000);
    assert_int_equal(price_of_dearest_input(&model), 3750);
}

static void without_prices_for_the_cache_all_input_costs_the_same(void **state)
{
    struct model_settings model = priced_model(3000, UNLIMITED, UNLIMITED, 15000);
    assert_int_equal(cost_of_request(&model, 1000, 600, 300, 10), 1000 * 3000 + 10 * 15000);
    assert_int_equal(cost_of_request(&model, 1000, -1, -1, 10), 1000 * 3000 + 10 * 15000);
    assert_int_equal(price_of_dearest_input(&model), 3000);
    model = priced_model(UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED);
    assert_int_equal(cost_of_request(&model, 1000, 600, 300, 10), 0);
    assert_int_equal(price_of_dearest_input(&model), UNLIMITED);
}

static void parts_that_do_not_add_up_never_make_it_cheaper(void **state)
{
    struct model_settings model = priced_model(3000, 300, 3750, 15000);
    /* More cached than there was: no more than there was is cheap. */
    assert_int_equal(cost_of_request(&model, 1000, 5000, 0, 0), 1000 * 300);
    assert_int_equal(cost_of_request(&model, 1000, 5000, 400, 0), 400 * 3750 + 600 * 300);
    assert_int_equal(cost_of_request(&model, 1000, 0, INT64_MAX, 0), 1000 * 3750);
    /* Nothing was said of writes: each token may have been one. */
    assert_int_equal(cost_of_request(&model, 1000, 600, -1, 0), 600 * 300 + 400 * 3750);
    assert_int_equal(cost_of_request(&model, -5, -1, -1, -5), 0);
    assert_int_equal(cost_of_request(&model, INT64_MAX, 0, 0, INT64_MAX), INT64_MAX);
}

/* What is reserved covers whatever the provider may bill, for any prices and any split of the input. */
static void a_reservation_is_never_cheaper_than_the_bill(void **state)
{
    uint64_t seed = 7;
    for (int i = 0; i < 20000; i++) {
        int64_t in = (int64_t)pick(&seed, 5000), out = (int64_t)pick(&seed, 5000);
        struct model_settings model =
            priced_model(in, pick(&seed, 3) ? (int64_t)pick(&seed, 6000) : UNLIMITED,
                         pick(&seed, 3) ? (int64_t)pick(&seed, 9000) : UNLIMITED, out);
        int64_t input = (int64_t)pick(&seed, 100000), output = 256 + (int64_t)pick(&seed, 8000);
        struct account root = account_with(NULL, UNLIMITED, UNLIMITED);
        struct quote quote = {input, input, output, 0, price_of_dearest_input(&model), out};
        struct amount amount;
        int64_t limit;
        assert_int_equal(budget_quote(&root, &quote, nothing, &amount, &limit), BUDGET_GRANTED);
        int64_t written = (int64_t)pick(&seed, 120000) - 1, read = (int64_t)pick(&seed, 120000) - 1;
        assert_true(cost_of_request(&model, input, read, written, limit) <= amount.cost_nano);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unlimited_account_grants_what_is_wanted),
        cmocka_unit_test(the_output_limit_shrinks_to_the_tokens_that_are_left),
        cmocka_unit_test(the_output_limit_shrinks_to_what_money_affords),
        cmocka_unit_test(below_256_output_tokens_is_refused),
        cmocka_unit_test(what_fits_once_others_settle_waits),
        cmocka_unit_test(a_reservation_counts_against_every_ancestor),
        cmocka_unit_test(an_ancestor_without_room_stops_its_grandchild),
        cmocka_unit_test(the_last_turns_reserve_is_kept_back_from_the_agent_and_its_ancestors),
        cmocka_unit_test(unknown_prices_cost_nothing_and_huge_ones_saturate),
        cmocka_unit_test(each_part_of_the_input_has_its_price),
        cmocka_unit_test(without_prices_for_the_cache_all_input_costs_the_same),
        cmocka_unit_test(parts_that_do_not_add_up_never_make_it_cheaper),
        cmocka_unit_test(a_reservation_is_never_cheaper_than_the_bill),
        cmocka_unit_test(percent_is_that_of_the_tightest_limit),
        cmocka_unit_test(an_estimate_is_a_third_of_ascii_and_half_of_other_bytes),
        cmocka_unit_test(no_interleaving_passes_a_limit_anywhere_up_the_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
