/* How long to wait before a model request is tried again: what the server asked for, or a growing delay with a spread that is
 * derived from the run and the event, so that replay waits the same. Pure. */
#include "core/run/state.h"

#define DELAY_FIRST_MS 500
#define DELAY_MAX_MS 30000
#define DELAY_UNREACHED_MS                                                                         \
    2000 /* at most, where there was no connection: a server that is back is found soon */

int64_t retry_delay(const struct run *run, const struct agent *agent,
                    const struct model_failure *failure)
{
    if (failure->retry_after_ms >= 0)
        return failure->retry_after_ms < 2 * DELAY_MAX_MS ? failure->retry_after_ms
                                                          : 2 * DELAY_MAX_MS;
    bool unreached = failure->http_status == 0 && failure->sent == REQUEST_UNSENT;
    int64_t delay = DELAY_FIRST_MS, most = unreached ? DELAY_UNREACHED_MS : DELAY_MAX_MS;
    for (int64_t i = 0; i < agent->patience.waits && delay < most; i++)
        delay *= 2;
    if (delay > most)
        delay = most;
    struct hasher h;
    hasher_init(&h);
    hasher_str(&h, run->id);
    hasher_u64(&h, run->seq);
    struct hash spread = hasher_end(&h);
    return delay / 2 + delay * spread.bytes[0] / 510; /* half to all of it */
}
