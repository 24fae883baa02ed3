/* Accounts that reserve and settle up the tree. A quote looks at the whole chain, so what is
 * granted and then reserved keeps every ancestor inside its limit; only a settlement can
 * overshoot, by the error of one estimate. Does not know models or messages. Pure; the loop
 * thread owns the accounts. */
#include "core/contract/budget.h"

#include <limits.h>

#include "base/utf8.h"

static int64_t add_saturating(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t subtract_to_zero(int64_t a, int64_t b)
{
    int64_t rest;
    if (__builtin_sub_overflow(a, b, &rest))
        return a < 0 ? 0 : INT64_MAX;
    return rest > 0 ? rest : 0;
}

static int64_t at_least_zero(int64_t a)
{
    return a > 0 ? a : 0;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t cost_of(int64_t tokens, int64_t price_nano)
{
    if (tokens <= 0 || price_nano <= 0)
        return 0;
    int64_t cost;
    return __builtin_mul_overflow(tokens, price_nano, &cost) ? INT64_MAX : cost;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A price of its own, or that of all other input. */
static int64_t price_or(int64_t price, int64_t otherwise)
{
    return price == UNLIMITED ? otherwise : price;
}

int64_t price_of_dearest_input(const struct model_settings *model)
{
    if (model->price_in_nano == UNLIMITED)
        return UNLIMITED;
    return larger(model->price_in_nano,
                  larger(model->price_cached_nano, model->price_cache_write_nano));
}

int64_t cost_of_request(const struct model_settings *model, int64_t input, int64_t cached,
                        int64_t cache_write, int64_t output)
{
    int64_t cost = cost_of(output, model->price_out_nano);
    if (model->price_in_nano == UNLIMITED)
        return cost;
    int64_t plain_price = model->price_in_nano;
    int64_t cached_price = price_or(model->price_cached_nano, plain_price);
    int64_t write_price = price_or(model->price_cache_write_nano, plain_price);
    if (cache_write < 0)
        plain_price = larger(plain_price, write_price);
    if (cached < 0)
        plain_price = larger(plain_price, cached_price);
    int64_t written = smaller(at_least_zero(cache_write), at_least_zero(input));
    int64_t read = smaller(at_least_zero(cached), at_least_zero(input) - written);
    int64_t plain = at_least_zero(input) - written - read;
    cost = add_saturating(cost, cost_of(written, write_price));
    cost = add_saturating(cost, cost_of(read, cached_price));
    return add_saturating(cost, cost_of(plain, plain_price));
}

int64_t cost_saved_by_cache(const struct model_settings *model, int64_t input, int64_t cached,
                            int64_t cache_write)
{
    return cost_of_request(model, input, 0, 0, 0) -
           cost_of_request(model, input, at_least_zero(cached), at_least_zero(cache_write), 0);
}

int64_t budget_estimate(struct str text)
{
    size_t divisor = utf8_is_ascii(text) ? 3 : 2;
    return (int64_t)(text.n / divisor + (text.n % divisor != 0));
}

/* What counts as taken when a quote asks: everything, or only what is spent for good. */
enum view { VIEW_NOW, VIEW_ONCE_SETTLED };

static int64_t free_of(int64_t limit, int64_t spent, int64_t reserved, int64_t kept_back,
                       enum view view)
{
    int64_t taken = add_saturating(at_least_zero(spent), at_least_zero(kept_back));
    if (view == VIEW_NOW)
        taken = add_saturating(taken, at_least_zero(reserved));
    return subtract_to_zero(limit, taken);
}

/* Output tokens that `money` pays for once the input is paid; INT64_MAX where output costs
 * nothing. */
static int64_t output_affordable(int64_t money, const struct quote *quote)
{
    int64_t input_cost = cost_of(quote->input_tokens, quote->price_in_nano);
    if (input_cost > money)
        return 0;
    return quote->price_out_nano > 0 ? (money - input_cost) / quote->price_out_nano : INT64_MAX;
}

/* The asker's reserve is kept back in its ancestors too, on top of their own: its last turn is paid from all of them. */
static struct amount kept_back_in(const struct account *a, const struct account *asker,
                                  struct amount reserve)
{
    if (a == asker)
        return reserve;
    return (struct amount){
        .tokens = add_saturating(reserve.tokens, at_least_zero(a->kept_back.tokens)),
        .cost_nano = add_saturating(reserve.cost_nano, at_least_zero(a->kept_back.cost_nano)),
    };
}

/* The largest output limit that every account of the chain can carry. */
static int64_t output_possible(const struct account *account, const struct quote *quote,
                               struct amount reserve, enum view view)
{
    int64_t output = quote->output_limit;
    for (const struct account *a = account; a; a = a->parent) {
        struct amount kept_back = kept_back_in(a, account, reserve);
        if (a->limits.tokens != UNLIMITED) {
            int64_t tokens = free_of(a->limits.tokens, a->spent.tokens, a->reserved.tokens,
                                     kept_back.tokens, view);
            output = smaller(output, subtract_to_zero(tokens, at_least_zero(quote->new_tokens)));
        }
        if (a->limits.cost_nano != UNLIMITED) {
            int64_t money = free_of(a->limits.cost_nano, a->spent.cost_nano, a->reserved.cost_nano,
                                    kept_back.cost_nano, view);
            output = smaller(output, output_affordable(money, quote));
        }
    }
    return output;
}

enum budget_answer budget_quote(const struct account *account, const struct quote *quote,
                                struct amount reserve, struct amount *amount, int64_t *output_limit)
{
    *amount = (struct amount){0, 0};
    *output_limit = 0;
    int64_t output = output_possible(account, quote, reserve, VIEW_NOW);
    if (output < OUTPUT_MIN) {
        output = output_possible(account, quote, reserve, VIEW_ONCE_SETTLED);
        amount->tokens = add_saturating(at_least_zero(quote->new_tokens), OUTPUT_MIN);
        amount->cost_nano = add_saturating(cost_of(quote->input_tokens, quote->price_in_nano),
                                           cost_of(OUTPUT_MIN, quote->price_out_nano));
        return output < OUTPUT_MIN ? BUDGET_NEVER : BUDGET_WAIT;
    }
    amount->tokens = add_saturating(at_least_zero(quote->new_tokens), output);
    amount->cost_nano = add_saturating(cost_of(quote->input_tokens, quote->price_in_nano),
                                       cost_of(output, quote->price_out_nano));
    *output_limit = output;
    return BUDGET_GRANTED;
}

void budget_reserve(struct account *account, struct amount amount)
{
    for (struct account *a = account; a; a = a->parent) {
        a->reserved.tokens = add_saturating(a->reserved.tokens, at_least_zero(amount.tokens));
        a->reserved.cost_nano =
            add_saturating(a->reserved.cost_nano, at_least_zero(amount.cost_nano));
    }
}

void budget_settle(struct account *account, struct amount reserved, struct amount used)
{
    for (struct account *a = account; a; a = a->parent) {
        a->reserved.tokens = subtract_to_zero(a->reserved.tokens, at_least_zero(reserved.tokens));
        a->reserved.cost_nano =
            subtract_to_zero(a->reserved.cost_nano, at_least_zero(reserved.cost_nano));
        a->spent.tokens = add_saturating(a->spent.tokens, at_least_zero(used.tokens));
        a->spent.cost_nano = add_saturating(a->spent.cost_nano, at_least_zero(used.cost_nano));
    }
}

bool budget_limited(const struct account *account)
{
    for (const struct account *a = account; a; a = a->parent) {
        if (a->limits.tokens != UNLIMITED || a->limits.cost_nano != UNLIMITED)
            return true;
    }
    return false;
}

static int64_t tighter(int64_t left, int64_t limit, int64_t spent, int64_t reserved,
                       int64_t kept_back)
{
    if (limit == UNLIMITED)
        return left;
    int64_t own = free_of(limit, spent, reserved, kept_back, VIEW_NOW);
    return left == UNLIMITED ? own : smaller(left, own);
}

struct amount budget_left(const struct account *account)
{
    struct amount left = {UNLIMITED, UNLIMITED};
    for (const struct account *a = account; a; a = a->parent) {
        struct amount kept = a == account ? (struct amount){0, 0} : a->kept_back;
        left.tokens = tighter(left.tokens, a->limits.tokens, a->spent.tokens, a->reserved.tokens,
                              kept.tokens);
        left.cost_nano = tighter(left.cost_nano, a->limits.cost_nano, a->spent.cost_nano,
                                 a->reserved.cost_nano, kept.cost_nano);
    }
    return left;
}

static int64_t percent_of(int64_t used, int64_t limit)
{
    if (limit == UNLIMITED || used < 0)
        return 0;
    if (limit <= 0)
        return 100;
    /* The product would overflow only where a hundredth of the limit is exact enough. */
    if (used > INT64_MAX / 100)
        return limit >= 100 ? used / (limit / 100) : INT64_MAX;
    return used * 100 / limit;
}

int budget_percent(const struct account *account)
{
    int64_t percents[] = {
        percent_of(account->tool_calls, account->limits.tool_calls),
        percent_of(account->spent.tokens, account->limits.tokens),
        percent_of(account->spent.cost_nano, account->limits.cost_nano),
    };
    int64_t most = 0;
    for (size_t i = 0; i < sizeof percents / sizeof percents[0]; i++)
        most = percents[i] > most ? percents[i] : most;
    return most > INT_MAX ? INT_MAX : (int)most;
}
