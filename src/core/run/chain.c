/* The hash chain of a run's events. Pure. Every field is of fixed width or carries its length, so that
 * no two different events can feed the same bytes to the hash. The payload enters as its own hash:
 * a purged payload leaves the chain valid. */
#include "core/run/row.h"

struct hash chain_start(struct str run_id)
{
    struct hasher h;
    hasher_init(&h);
    hasher_str(&h, STR("cadre chain 1"));
    hasher_str(&h, run_id);
    return hasher_end(&h);
}

/* No call and a call without a name are two things. */
static void add_optional(struct hasher *h, struct str text)
{
    hasher_u64(h, text.p != NULL);
    hasher_str(h, text);
}

struct hash chain_next(const struct hash *previous, const struct event_row *row, uint64_t epoch,
                       const struct hash *payload_hash)
{
    struct hasher h;
    hasher_init(&h);
    hasher_add(&h, previous->bytes, sizeof previous->bytes);
    hasher_u64(&h, row->seq);
    hasher_u64(&h, row->agent_no);
    hasher_u64(&h, (uint64_t)row->ts);
    hasher_str(&h, row->type);
    hasher_u64(&h, row->version);
    hasher_add(&h, payload_hash->bytes, sizeof payload_hash->bytes);
    if (row->version >= CHAIN_2_FROM) {
        hasher_u64(&h, row->cause_seq);
        hasher_u64(&h, epoch);
        add_optional(&h, row->call_id);
        hasher_str(&h, row->summary);
    }
    return hasher_end(&h);
}
