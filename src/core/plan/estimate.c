/* See estimate.h. Pure, saturating; any thread. */
#include "core/plan/estimate.h"

#include "core/contract/budget.h"

/* The answer without a call, and the last turn. */
enum { REQUESTS_BESIDES_CALLS = 2 };
enum { WEIGHT_MAX = 1000000 };

/* --- saturating arithmetic, in which UNLIMITED stays so ------------------------------------------------------- */

static int64_t sum(int64_t a, int64_t b)
{
    int64_t out;
    if (a == UNLIMITED || b == UNLIMITED)
        return UNLIMITED;
    return __builtin_add_overflow(a, b, &out) ? INT64_MAX : out;
}

static int64_t product(int64_t a, int64_t b)
{
    int64_t out;
    if (a == UNLIMITED || b == UNLIMITED)
        return UNLIMITED;
    return __builtin_mul_overflow(a, b, &out) ? INT64_MAX : out;
}

static int64_t lesser(int64_t a, int64_t b)
{
    if (a == UNLIMITED || b == UNLIMITED)
        return a == UNLIMITED ? b : a;
    return a < b ? a : b;
}

/* --- the most ------------------------------------------------------------------------------------------------- */

static int64_t dearest_request(const struct contract *contract, const struct model_settings *model)
{
    int64_t input = contract->execution.budget.context_tokens;
    int64_t window = model->max_context_tokens > 0 ? model->max_context_tokens : UNLIMITED;
    int64_t price_in = price_of_dearest_input(model), price_out = model->price_out_nano;
    input = lesser(input, window);
    if (price_in < 0 || price_out < 0 || input == UNLIMITED)
        return UNLIMITED;
    return sum(cost_of(input, price_in),
               cost_of(contract->model.params.max_output_tokens, price_out));
}

void estimate_step(const struct contract *contract, const struct model_settings *model,
                   struct estimate *out)
{
    const struct limits *limits = &contract->execution.budget;
    int64_t by_calls =
        sum(limits->tool_calls, sum(contract->execution.max_retries, REQUESTS_BESIDES_CALLS));
    out->calls = limits->tool_calls;
    out->requests = lesser(limits->turns, by_calls);
    out->tokens = lesser(limits->tokens,
                         product(out->requests, sum(limits->context_tokens,
                                                    contract->model.params.max_output_tokens)));
    out->cost_nano =
        lesser(limits->cost_nano, product(out->requests, dearest_request(contract, model)));
}

void estimate_add(struct estimate *total, const struct estimate *step)
{
    total->calls = sum(total->calls, step->calls);
    total->requests = sum(total->requests, step->requests);
    total->tokens = sum(total->tokens, step->tokens);
    total->cost_nano = sum(total->cost_nano, step->cost_nano);
}

void estimate_within(struct estimate *total, const struct limits *limits)
{
    total->tokens = lesser(total->tokens, limits->tokens);
    total->cost_nano = lesser(total->cost_nano, limits->cost_nano);
}

/* --- shares --------------------------------------------------------------------------------------------------- */

static int64_t weight_of(const struct share *share)
{
    int64_t weight = share->weight > 1 ? share->weight : 1;
    return weight < WEIGHT_MAX ? weight : WEIGHT_MAX;
}

/* part/whole of amount, rounded down, without a product that is too large: part is at most WEIGHT_MAX, and whole a sum of those. */
static int64_t part_of(int64_t amount, int64_t part, int64_t whole)
{
    return amount / whole * part + amount % whole * part / whole;
}

void estimate_share(int64_t total, struct share *shares, size_t count)
{
    int64_t left = total, weights = 0;
    for (size_t i = 0; i < count; i++) {
        if (shares[i].state == SHARE_WAITS)
            weights = sum(weights, weight_of(&shares[i]));
        else if (total != UNLIMITED && shares[i].amount > 0)
            left = shares[i].amount < left ? left - shares[i].amount : 0;
    }
    /* Each gets its part of what those before it left, so that the last one takes what rounding kept back. */
    for (size_t i = 0; i < count; i++) {
        if (shares[i].state != SHARE_WAITS)
            continue;
        shares[i].amount =
            total == UNLIMITED ? UNLIMITED : part_of(left, weight_of(&shares[i]), weights);
        if (total != UNLIMITED)
            left -= shares[i].amount;
        weights -= weight_of(&shares[i]);
    }
}
