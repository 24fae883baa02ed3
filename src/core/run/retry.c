/* How long to wait before a model request is tried again: what the server asked for, or a growing delay with a spread that is
 * derived from the run and the event, so that replay waits the same. Pure. */
#include "core/run/state.h"

#define DELAY_FIRST_MS 500
#define DELAY_MAX_MS 30000

int64_t retry_delay(const struct run *run, const struct agent *agent,
                    const struct model_failure *failure)
{
    if (failure->retry_after_ms >= 0)
        return failure->retry_after_ms < 2 * DELAY_MAX_MS ? failure->retry_after_ms
                                                          : 2 * DELAY_MAX_MS;
    int64_t delay = DELAY_FIRST_MS;
    for (int64_t i = 0; i < agent->tries && delay < DELAY_MAX_MS; i++)
        delay *= 2;
    if (delay > DELAY_MAX_MS)
        delay = DELAY_MAX_MS;
    struct hasher h;
    hasher_init(&h);
    hasher_str(&h, run->id);
    hasher_u64(&h, run->seq);
    struct hash spread = hasher_end(&h);
    return delay / 2 + delay * spread.bytes[0] / 510; /* half to all of it */
}
