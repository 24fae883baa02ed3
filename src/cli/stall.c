/* See stall.h. */
#include "cli/stall.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void count_one(struct delays *delays, uint64_t late_us)
{
    uint64_t bucket = late_us / STALL_BUCKET_US;
    delays->counts[bucket < STALL_BUCKETS ? bucket : STALL_BUCKETS - 1]++;
    delays->samples++;
}

static void count(struct delays *delays, uint64_t late_us)
{
    if (late_us > delays->longest_us)
        delays->longest_us = late_us;
    count_one(delays, late_us);
    for (uint64_t rest = late_us; rest > 1000; rest -= 1000)
        count_one(delays, rest - 1000);
}

/* Nanoseconds that this thread was ready to run and had no core, since it began: the second number. */
static uint64_t waited_for_a_core(const struct stall *stall)
{
    char text[96];
    unsigned long long ran, waited;
    ssize_t n = stall->schedstat >= 0 ? pread(stall->schedstat, text, sizeof text - 1, 0) : -1;
    if (n <= 0)
        return 0;
    text[n] = '\0';
    return sscanf(text, "%llu %llu", &ran, &waited) == 2 ? waited : 0;
}

static void on_timer(uv_timer_t *timer)
{
    struct stall *stall = timer->data;
    uint64_t now = uv_hrtime(), waited = waited_for_a_core(stall);
    uint64_t gap_us = (now - stall->last) / 1000, wait_us = (waited - stall->waited) / 1000;
    uint64_t late_us = gap_us > 1000 ? gap_us - 1000 : 0;
    stall->last = now;
    stall->waited = waited;
    count(&stall->late, late_us);
    count(&stall->blocked, late_us > wait_us ? late_us - wait_us : 0);
}

static void delays_init(struct delays *delays)
{
    *delays = (struct delays){.counts = calloc(STALL_BUCKETS, sizeof *delays->counts)};
    if (delays->counts == NULL)
        abort();
}

void stall_start(struct stall *stall, uv_loop_t *loop)
{
    *stall = (struct stall){.path = getenv("CADRE_STALL_FILE")};
    if (stall->path == NULL)
        return;
    delays_init(&stall->late);
    delays_init(&stall->blocked);
    stall->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    stall->waited = waited_for_a_core(stall);
    stall->last = uv_hrtime();
    uv_timer_init(loop, &stall->timer);
    stall->timer.data = stall;
    uv_timer_start(&stall->timer, on_timer, 1, 1);
    uv_unref((uv_handle_t *)&stall->timer);
}

/* The delay that this share of all samples does not exceed. */
static double percentile_ms(const struct delays *delays, double share)
{
    uint64_t wanted = (uint64_t)(share * (double)delays->samples), seen = 0;
    for (size_t i = 0; i < STALL_BUCKETS; i++) {
        seen += delays->counts[i];
        if (seen > wanted)
            return (double)(i + 1) * STALL_BUCKET_US / 1000;
    }
    return (double)delays->longest_us / 1000;
}

void stall_stop(struct stall *stall)
{
    if (stall->path == NULL)
        return;
    FILE *file = fopen(stall->path, "w");
    if (file != NULL) {
        fprintf(file,
                "{\"samples\":%llu,\"p50_ms\":%.1f,\"p99_ms\":%.1f,\"p999_ms\":%.1f,"
                "\"longest_ms\":%.1f,\"blocked_p99_ms\":%.1f,\"blocked_longest_ms\":%.1f}\n",
                (unsigned long long)stall->late.samples, percentile_ms(&stall->late, 0.5),
                percentile_ms(&stall->late, 0.99), percentile_ms(&stall->late, 0.999),
                (double)stall->late.longest_us / 1000, percentile_ms(&stall->blocked, 0.99),
                (double)stall->blocked.longest_us / 1000);
        fclose(file);
    }
    uv_close((uv_handle_t *)&stall->timer, NULL);
    free(stall->late.counts);
    free(stall->blocked.counts);
    if (stall->schedstat >= 0)
        close(stall->schedstat);
    stall->path = NULL;
}
