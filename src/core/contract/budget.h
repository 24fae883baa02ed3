/* Reserve, then settle: an account per agent, chained up to the root. Tokens and dollars are
 * taken from an agent and from all its ancestors at once; tool calls, turns and context are an
 * agent's own. Pure arithmetic, saturating, no I/O. */
#ifndef CADRE_CORE_CONTRACT_BUDGET_H
#define CADRE_CORE_CONTRACT_BUDGET_H

#include "core/contract/settings.h"

#define OUTPUT_MIN 256 /* a request that may answer with fewer tokens is refused */

struct amount {
    int64_t tokens, cost_nano;
};

struct account {
    struct account *parent; /* NULL at the root; accounts outlive their children */
    struct limits limits;
    struct amount reserved, spent;
    struct amount unbilled;  /* of `spent`: of requests that ended without a bill, in full */
    struct amount broken;    /* of `spent`: for tries that broke without an answer and may go on */
    struct amount kept_back; /* for this agent's own last turn: its descendants cannot have it */
    int64_t tool_calls, turns;
    enum { PRICES_KNOWN, PRICES_MISSING } prices; /* of what was used, here and below */
};

/* What a request would need, and what it may get. */
struct quote {
    int64_t input_tokens; /* estimate of the whole request */
    int64_t new_tokens;   /* of these, not counted before: what `tokens` is charged for input */
    int64_t output_limit; /* wanted: the model's or contract's limit */
    int64_t
        output_least; /* waits for this much while others hold it; below OUTPUT_MIN: OUTPUT_MIN */
    int64_t price_in_nano, price_out_nano; /* -1 unknown: costs nothing */
};

enum budget_answer {
    BUDGET_GRANTED, /* *amount is to be reserved, *output_limit is to be sent */
    BUDGET_WAIT,    /* fits once others have settled; *amount is the least that it needs */
    BUDGET_NEVER,   /* cannot fit even when nothing is reserved any more */
};

/* What a limit of an account counts. */
enum limit_kind { LIMIT_TOOL_CALLS, LIMIT_TURNS, LIMIT_TOKENS, LIMIT_COST };

/* One limit of one account. */
struct budget_bound {
    const struct account *account; /* NULL: nothing limits */
    enum limit_kind kind;
};

/* Looks only; output_limit = min(wanted, what tokens leave, what money affords), at least
 * OUTPUT_MIN. `reserve` is kept back from the agent's limits and its ancestors' (for its last turn),
 * 0 for the last turn itself. */
enum budget_answer budget_quote(const struct account *account, const struct quote *quote,
                                struct amount reserve, struct amount *amount,
                                int64_t *output_limit);
/* Whether the quote, once granted, leaves enough for the same input with an answer of `output` tokens. */
bool budget_covers_again(const struct account *account, const struct quote *quote,
                         struct amount reserve, int64_t output);
/* The limit that leaves the least output to the request, of the account or of one above it, once others have settled. */
struct budget_bound budget_tightest(const struct account *account, const struct quote *quote,
                                    struct amount reserve);
void budget_reserve(struct account *account, struct amount amount);
/* Gives the reservation back and books what was really used, all the way up. */
void budget_settle(struct account *account, struct amount reserved, struct amount used);
/* What was booked for a try that broke without an answer, all the way up: nobody knows what it cost. */
void budget_break(struct account *account, struct amount amount);
/* A request ended without a bill: of what is booked for it nobody knows what it cost. All the way up. */
void budget_unbilled(struct account *account, struct amount amount);
/* Something was used that has no price, all the way up: what was spent in dollars is at least that. */
void budget_unpriced(struct account *account);
/* What people are shown as spent: the bills alone. */
struct amount budget_billed(const struct account *account);
/* The request was answered after all, or given up: what its tries were booked with stays spent. */
void budget_keep_broken(struct account *account, struct amount amount);
/* A person goes on all the same: it counts no longer. */
void budget_forgive(struct account *account, struct amount amount);
/* Whether the quote would be granted if nothing counted for tries that broke. */
bool budget_is_broken(const struct account *account, const struct quote *quote,
                      struct amount reserve);
/* Whether tokens or dollars are limited, here or above. */
bool budget_limited(const struct account *account);
/* Least that is left along the chain (limit - spent - reserved, for ancestors less what they keep back), UNLIMITED where
 * nothing limits. */
struct amount budget_left(const struct account *account);
/* The same without reservations: what is left once requests under way have cost nothing. */
struct amount budget_left_settled(const struct account *account);
/* Percent used of the tightest limit of this account itself (tool calls, tokens, cost), 0..100+. */
int budget_percent(const struct account *account);
enum limit_kind budget_fullest(const struct account *account); /* whose percent that is */
/* bytes/3, or bytes/2 when not ASCII, rounded up. */
int64_t budget_estimate(struct str text);
int64_t cost_of(int64_t tokens, int64_t price_nano); /* saturating; price -1 is 0 */
/* The most that one input token can cost: what a reservation counts with, since nobody knows before
 * the answer what the provider has in its cache. -1 where prices are unknown. */
int64_t price_of_dearest_input(const struct model_settings *model);
/* Whether all that the model does has a price: what it costs is known, and a limit in dollars holds. */
bool model_is_priced(const struct model_settings *model);
/* What a request cost. `input` is all of it, cached and cache_write are parts of it, -1 where they were
 * not reported. Never less than the bill: parts that do not add up, and input of which it is not
 * known what part it was, count as the dearest that they can be. */
int64_t cost_of_request(const struct model_settings *model, int64_t input, int64_t cached,
                        int64_t cache_write, int64_t output);
/* What the provider's cache saved on a request against the plain price of all input, below 0 where writing
 * to it cost more than reading from it saved. 0 where prices are unknown. */
int64_t cost_saved_by_cache(const struct model_settings *model, int64_t input, int64_t cached,
                            int64_t cache_write);

#endif
