/* Dollars at the edge, nano-dollars inside. JSON has decimal numbers: amounts in dollars, prices
 * in dollars for a million tokens. Written exactly, without an exponent; read by rounding to the
 * nearest nano. */
#ifndef CADRE_CORE_CONTRACT_MONEY_H
#define CADRE_CORE_CONTRACT_MONEY_H

#include "base/json.h"
#include "core/contract/budget.h"

#define NANO_PER_DOLLAR INT64_C(1000000000)
/* Up to here a decimal number survives the way through a double exactly to the nano. */
#define DOLLARS_MAX INT64_C(1000000)

/* A number, or null for UNLIMITED. Values outside 0..DOLLARS_MAX are refused when read
 * (CORRUPT). */
void money_print(struct jw *w, int64_t nano);
int money_parse(const struct js *value, const char *where, int64_t *nano,
                struct err *err) NODISCARD;
/* For people: "$0.06"; "$0.06, at most $0.32" where requests ended without a bill; "at least $0.06" where not all that was
 * used has a price. Returns false, and appends nothing, where nothing was billed or nothing has a price. */
bool money_spent_text(struct buf *out, const struct account *account);
/* The same for programs: cost_usd (null where a price is missing), and only where they differ from it at_most {tokens, cost_usd}
 * and at_least {cost_usd}. */
void money_spent_json(struct jw *w, const struct account *account);
/* $3 for a million tokens is 3000 nano-dollars a token; null is UNLIMITED: unknown. */
void price_print(struct jw *w, int64_t nano_per_token);
int price_parse(const struct js *value, const char *where, int64_t *nano_per_token,
                struct err *err) NODISCARD;
/* From a number that is not JSON (a config file, a flag): -1 for NaN, negative and absurd ones. */
int64_t money_from_dollars(double dollars);
int64_t price_from_dollars(double dollars_per_million);

#endif
