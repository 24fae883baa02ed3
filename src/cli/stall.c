/* See stall.h. */
#include "cli/stall.h"

#include <stdio.h>
#include <stdlib.h>

static void count(struct stall *stall, uint64_t late_us)
{
    uint64_t bucket = late_us / STALL_BUCKET_US;
    stall->counts[bucket < STALL_BUCKETS ? bucket : STALL_BUCKETS - 1]++;
    stall->samples++;
}

static void on_timer(uv_timer_t *timer)
{
    struct stall *stall = timer->data;
    uint64_t now = uv_hrtime(), gap_us = (now - stall->last) / 1000;
    uint64_t late_us = gap_us > 1000 ? gap_us - 1000 : 0;
    stall->last = now;
    if (late_us > stall->longest_us)
        stall->longest_us = late_us;
    count(stall, late_us);
    for (uint64_t rest = late_us; rest > 1000; rest -= 1000)
        count(stall, rest - 1000);
}

void stall_start(struct stall *stall, uv_loop_t *loop)
{
    *stall = (struct stall){.path = getenv("CADRE_STALL_FILE")};
    if (stall->path == NULL)
        return;
    stall->counts = calloc(STALL_BUCKETS, sizeof *stall->counts);
    if (stall->counts == NULL)
        abort();
    stall->last = uv_hrtime();
    uv_timer_init(loop, &stall->timer);
    stall->timer.data = stall;
    uv_timer_start(&stall->timer, on_timer, 1, 1);
    uv_unref((uv_handle_t *)&stall->timer);
}

/* The delay that this share of all samples does not exceed. */
static double percentile_ms(const struct stall *stall, double share)
{
    uint64_t wanted = (uint64_t)(share * (double)stall->samples), seen = 0;
    for (size_t i = 0; i < STALL_BUCKETS; i++) {
        seen += stall->counts[i];
        if (seen > wanted)
            return (double)(i + 1) * STALL_BUCKET_US / 1000;
    }
    return (double)stall->longest_us / 1000;
}

void stall_stop(struct stall *stall)
{
    if (stall->path == NULL)
        return;
    FILE *file = fopen(stall->path, "w");
    if (file != NULL) {
        fprintf(file,
                "{\"samples\":%llu,\"p50_ms\":%.1f,\"p99_ms\":%.1f,\"p999_ms\":%.1f,"
                "\"longest_ms\":%.1f}\n",
                (unsigned long long)stall->samples, percentile_ms(stall, 0.5),
                percentile_ms(stall, 0.99), percentile_ms(stall, 0.999),
                (double)stall->longest_us / 1000);
        fclose(file);
    }
    uv_close((uv_handle_t *)&stall->timer, NULL);
    free(stall->counts);
    stall->path = NULL;
}
