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

bool model_is_priced(const struct model_settings *model)
{
    return model->price_in_nano >= 0 && model->price_out_nano >= 0;
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

/* What counts as taken when a quote asks: everything, only what is booked, or of that only what was
 * answered. */
enum view { VIEW_NOW, VIEW_ONCE_SETTLED, VIEW_FORGIVEN };

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

static void amount_add(struct amount *sum, struct amount by)
{
    sum->tokens = add_saturating(sum->tokens, at_least_zero(by.tokens));
    sum->cost_nano = add_saturating(sum->cost_nano, at_least_zero(by.cost_nano));
}

static void amount_subtract(struct amount *sum, struct amount by)
{
    sum->tokens = subtract_to_zero(sum->tokens, at_least_zero(by.tokens));
    sum->cost_nano = subtract_to_zero(sum->cost_nano, at_least_zero(by.cost_nano));
}

/* What a request may answer with, and the limit that allows no more. */
struct possible {
    int64_t output;
    struct budget_bound bound;
};

/* Of equal limits the nearest counts. */
static void possible_narrow(struct possible *possible, int64_t output, const struct account *by,
                            enum limit_kind kind)
{
    if (output < possible->output)
        *possible = (struct possible){output, {by, kind}};
}

/* The largest output limit that every account of the chain can carry. */
static struct possible output_possible(const struct account *account, const struct quote *quote,
                                       struct amount reserve, enum view view)
{
    struct possible possible = {.output = quote->output_limit};
    for (const struct account *a = account; a; a = a->parent) {
        struct amount kept_back = kept_back_in(a, account, reserve);
        struct amount spent = a->spent;
        if (view == VIEW_FORGIVEN)
            amount_subtract(&spent, a->broken);
        if (a->limits.tokens != UNLIMITED) {
            int64_t tokens =
                free_of(a->limits.tokens, spent.tokens, a->reserved.tokens, kept_back.tokens, view);
            possible_narrow(&possible, subtract_to_zero(tokens, at_least_zero(quote->new_tokens)),
                            a, LIMIT_TOKENS);
        }
        if (a->limits.cost_nano != UNLIMITED) {
            int64_t money = free_of(a->limits.cost_nano, spent.cost_nano, a->reserved.cost_nano,
                                    kept_back.cost_nano, view);
            possible_narrow(&possible, output_affordable(money, quote), a, LIMIT_COST);
        }
    }
    return possible;
}

struct budget_bound budget_tightest(const struct account *account, const struct quote *quote,
                                    struct amount reserve)
{
    return output_possible(account, quote, reserve, VIEW_ONCE_SETTLED).bound;
}

enum budget_answer budget_quote(const struct account *account, const struct quote *quote,
                                struct amount reserve, struct amount *amount, int64_t *output_limit)
{
    *amount = (struct amount){0, 0};
    *output_limit = 0;
    int64_t output = output_possible(account, quote, reserve, VIEW_NOW).output;
    int64_t settled = output_possible(account, quote, reserve, VIEW_ONCE_SETTLED).output;
    if (output < OUTPUT_MIN || (output < quote->output_least && settled > output)) {
        amount->tokens = add_saturating(at_least_zero(quote->new_tokens), OUTPUT_MIN);
        amount->cost_nano = add_saturating(cost_of(quote->input_tokens, quote->price_in_nano),
                                           cost_of(OUTPUT_MIN, quote->price_out_nano));
        return settled < OUTPUT_MIN ? BUDGET_NEVER : BUDGET_WAIT;
    }
    amount->tokens = add_saturating(at_least_zero(quote->new_tokens), output);
    amount->cost_nano = add_saturating(cost_of(quote->input_tokens, quote->price_in_nano),
                                       cost_of(output, quote->price_out_nano));
    *output_limit = output;
    return BUDGET_GRANTED;
}

bool budget_covers_again(const struct account *account, const struct quote *quote,
                         struct amount reserve, int64_t output)
{
    struct quote twice = *quote;
    twice.input_tokens = add_saturating(quote->input_tokens, quote->input_tokens);
    twice.output_limit = add_saturating(quote->output_limit, output);
    return output_possible(account, &twice, reserve, VIEW_ONCE_SETTLED).output >=
           twice.output_limit;
}

void budget_reserve(struct account *account, struct amount amount)
{
    for (struct account *a = account; a; a = a->parent)
        amount_add(&a->reserved, amount);
}

void budget_settle(struct account *account, struct amount reserved, struct amount used)
{
    for (struct account *a = account; a; a = a->parent) {
        amount_subtract(&a->reserved, reserved);
        amount_add(&a->spent, used);
    }
}

void budget_break(struct account *account, struct amount amount)
{
    for (struct account *a = account; a; a = a->parent)
        amount_add(&a->broken, amount);
}

void budget_unbilled(struct account *account, struct amount amount)
{
    for (struct account *a = account; a; a = a->parent)
        amount_add(&a->unbilled, amount);
}

void budget_unpriced(struct account *account)
{
    for (struct account *a = account; a; a = a->parent)
        a->prices = PRICES_MISSING;
}

struct amount budget_billed(const struct account *account)
{
    struct amount billed = account->spent;
    amount_subtract(&billed, account->unbilled);
    return billed;
}

void budget_keep_broken(struct account *account, struct amount amount)
{
    for (struct account *a = account; a; a = a->parent)
        amount_subtract(&a->broken, amount);
}

void budget_forgive(struct account *account, struct amount amount)
{
    for (struct account *a = account; a; a = a->parent) {
        amount_subtract(&a->broken, amount);
        amount_subtract(&a->unbilled, amount);
        amount_subtract(&a->spent, amount);
    }
}

bool budget_is_broken(const struct account *account, const struct quote *quote,
                      struct amount reserve)
{
    return output_possible(account, quote, reserve, VIEW_ONCE_SETTLED).output < OUTPUT_MIN &&
           output_possible(account, quote, reserve, VIEW_FORGIVEN).output >= OUTPUT_MIN;
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
                       int64_t kept_back, enum view view)
{
    if (limit == UNLIMITED)
        return left;
    int64_t own = free_of(limit, spent, reserved, kept_back, view);
    return left == UNLIMITED ? own : smaller(left, own);
}

static struct amount left_in(const struct account *account, enum view view)
{
    struct amount left = {UNLIMITED, UNLIMITED};
    for (const struct account *a = account; a; a = a->parent) {
        struct amount kept = a == account ? (struct amount){0, 0} : a->kept_back;
        left.tokens = tighter(left.tokens, a->limits.tokens, a->spent.tokens, a->reserved.tokens,
                              kept.tokens, view);
        left.cost_nano = tighter(left.cost_nano, a->limits.cost_nano, a->spent.cost_nano,
                                 a->reserved.cost_nano, kept.cost_nano, view);
    }
    return left;
}

struct amount budget_left(const struct account *account)
{
    return left_in(account, VIEW_NOW);
}

struct amount budget_left_settled(const struct account *account)
{
    return left_in(account, VIEW_ONCE_SETTLED);
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

/* The kind of limit that is used up most, and how much of it in percent. */
static enum limit_kind fullest(const struct account *account, int64_t *percent)
{
    const struct {
        enum limit_kind kind;
        int64_t percent;
    } rows[] = {
        {LIMIT_TOOL_CALLS, percent_of(account->tool_calls, account->limits.tool_calls)},
        {LIMIT_TOKENS, percent_of(account->spent.tokens, account->limits.tokens)},
        {LIMIT_COST, percent_of(account->spent.cost_nano, account->limits.cost_nano)},
    };
    size_t most = 0;
    for (size_t i = 1; i < sizeof rows / sizeof rows[0]; i++)
        most = rows[i].percent > rows[most].percent ? i : most;
    *percent = rows[most].percent;
    return rows[most].kind;
}

int budget_percent(const struct account *account)
{
    int64_t percent;
    (void)fullest(account, &percent);
    return percent > INT_MAX ? INT_MAX : (int)percent;
}

enum limit_kind budget_fullest(const struct account *account)
{
    int64_t percent;
    return fullest(account, &percent);
}
