/* Conversions between nano-dollars and decimal dollars, and how what was spent is told. Printing works on digits, so it is
 * exact; reading rounds a double, which is exact up to DOLLARS_MAX. Adds nothing up: see
 * budget.c. Pure; any thread. */
#include "core/contract/money.h"

#include <math.h>

#include "core/contract/settings.h"

enum { NANO_DIGITS = 9, PRICE_DIGITS = 3 };
#define PRICE_SCALE INT64_C(1000)

/* units / 10^digits as a decimal number: all its digits, no trailing zeros, no exponent. */
static void decimal_print(struct jw *w, int64_t units, int digits)
{
    if (units < 0) {
        jw_null(w);
        return;
    }
    char text[32];
    size_t at = sizeof text;
    bool significant = false;
    for (int i = 0; i < digits; i++, units /= 10) {
        char digit = (char)('0' + units % 10);
        significant = significant || digit != '0';
        if (significant)
            text[--at] = digit;
    }
    if (significant)
        text[--at] = '.';
    do
        text[--at] = (char)('0' + units % 10);
    while ((units /= 10) > 0);
    jw_raw(w, (struct str){text + at, sizeof text - at});
}

static int64_t scaled(double number, int64_t scale)
{
    if (!isfinite(number) || number < 0 || number > (double)DOLLARS_MAX)
        return -1;
    return (int64_t)(number * (double)scale + 0.5);
}

static int decimal_parse(const struct js *value, const char *where, int64_t scale, int64_t *units,
                         struct err *err)
{
    if (js_kind(value) == JS_NULL) {
        *units = UNLIMITED;
        return 0;
    }
    int64_t read = scaled(js_real(value, -1), scale);
    if (read < 0)
        return err_set(err, ERR_CORRUPT, "%s: expected an amount in dollars from 0 to %d, or null",
                       where, (int)DOLLARS_MAX);
    *units = read;
    return 0;
}

void money_print(struct jw *w, int64_t nano)
{
    decimal_print(w, nano, NANO_DIGITS);
}

int money_parse(const struct js *value, const char *where, int64_t *nano, struct err *err)
{
    return decimal_parse(value, where, NANO_PER_DOLLAR, nano, err);
}

void price_print(struct jw *w, int64_t nano_per_token)
{
    decimal_print(w, nano_per_token, PRICE_DIGITS);
}

int price_parse(const struct js *value, const char *where, int64_t *nano_per_token, struct err *err)
{
    return decimal_parse(value, where, PRICE_SCALE, nano_per_token, err);
}

int64_t money_from_dollars(double dollars)
{
    return scaled(dollars, NANO_PER_DOLLAR);
}

int64_t price_from_dollars(double dollars_per_million)
{
    return scaled(dollars_per_million, PRICE_SCALE);
}

static void dollars(struct buf *out, int64_t nano)
{
    struct jw w;
    jw_init(&w, out);
    buf_char(out, '$');
    money_print(&w, nano);
}

bool money_spent_text(struct buf *out, const struct account *account)
{
    struct amount billed = budget_billed(account);
    bool missing = account->prices == PRICES_MISSING;
    if (account->spent.cost_nano <= 0)
        return false;
    buf_text(out, missing ? "at least " : "");
    dollars(out, billed.cost_nano);
    if (account->spent.cost_nano > billed.cost_nano && !missing) {
        buf_text(out, ", at most ");
        dollars(out, account->spent.cost_nano);
    }
    return true;
}

void money_spent_json(struct jw *w, const struct account *account)
{
    struct amount billed = budget_billed(account);
    bool missing = account->prices == PRICES_MISSING;
    jw_key(w, "cost_usd");
    money_print(w, missing ? UNLIMITED : billed.cost_nano);
    if (missing && billed.cost_nano > 0) {
        jw_key(w, "at_least");
        jw_object(w);
        jw_key(w, "cost_usd");
        money_print(w, billed.cost_nano);
        jw_end_object(w);
    }
    if (account->unbilled.tokens <= 0 && account->unbilled.cost_nano <= 0)
        return;
    jw_key(w, "at_most");
    jw_object(w);
    jw_kint(w, "tokens", account->spent.tokens);
    jw_key(w, "cost_usd");
    money_print(w, missing ? UNLIMITED : account->spent.cost_nano);
    jw_end_object(w);
}
