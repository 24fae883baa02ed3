/* What hosted models cost, as their providers' price lists said at a date. One table, one lookup; config overrides it.
 * Prices belong to a server, not to a name: the same model elsewhere has no price here. */
#ifndef CADRE_CONFIG_PRICES_H
#define CADRE_CONFIG_PRICES_H

#include <stdint.h>

#include "base/str.h"

/* Nano-dollars for a token, which is thousandths of a dollar for a million tokens. -1: there is no such price, and the
 * token costs what other input costs. */
struct price {
    const char *host;  /* of the provider's API */
    const char *model; /* the whole name, or what comes before a dated or other alias suffix */
    int64_t window;    /* holds for requests of up to so many tokens; INT64_MAX: for all */
    int64_t in, cached, cache_write, out;
    const char *as_of; /* "2026-10" */
};

extern const struct price prices[];
extern const size_t price_count;

/* The row for a model at a server's address, for requests of up to `window` tokens: the row whose name is longest, and
 * of its tiers the first that reaches that far. NULL: not known. */
const struct price *price_find(struct str base_url, struct str model, int64_t window);

#endif
