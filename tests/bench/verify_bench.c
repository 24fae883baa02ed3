/* Verifying a run against folding it, on a store that exists, in turn and in one process. Prints one JSON object with the
 * median seconds of both. One thread.
 *
 * Usage: bench-verify DIRECTORY STORE ROUNDS      the run is the newest of the store; the directory is not used */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/batch.h"
#include "engine/verify.h"
#include "store/sqlite.h"

#define ROUNDS_MAX 31

_Noreturn static void fail(const char *what, const char *why)
{
    fprintf(stderr, "bench-verify: %s: %s\n", what, why);
    exit(1);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

static int keep_id(void *user, const struct stored_run *run)
{
    memcpy(((struct id *)user)->text, run->run_id.p, ID_LENGTH);
    return 1;
}

int main(int argc, char **argv)
{
    double fold[ROUNDS_MAX], verify[ROUNDS_MAX], ratio[ROUNDS_MAX];
    struct verify_report report = {0};
    struct store *store = NULL;
    struct err err = ERR_INIT;
    struct id id = {{0}};
    int rounds = argc == 4 ? atoi(argv[3]) : 0;
    if (rounds < 1 || rounds > ROUNDS_MAX)
        fail("usage", "bench-verify DIRECTORY STORE ROUNDS");
    const struct sqlite_store_config config = {.path = argv[2], .busy_ms = 1000};
    if (sqlite_store_open(&config, &store, &err) != 0 ||
        store->ops->runs(store, STR_NONE, 1, 0, keep_id, &id, &err) != 0)
        fail("store", err.message);
    for (int i = 0; i < rounds; i++) {
        struct run *run = NULL;
        double begun = seconds();
        if (fold_run(store, id_str(&id), &run, &err) != 0)
            fail("fold", err.message);
        run_free(run);
        fold[i] = seconds() - begun;
        begun = seconds();
        if (verify_run(store, id_str(&id), STR_NONE, &report, &err) != 0)
            fail("verify", err.message);
        verify[i] = seconds() - begun;
        ratio[i] = verify[i] / fold[i];
        if (report.finding_count > 0)
            fail(report.findings[0].place, report.findings[0].text);
    }
    printf("{\"events\":%llu,\"fold_s\":%.3f,\"verify_s\":%.3f,\"ratio\":%.3f}\n",
           (unsigned long long)report.events, median(fold, rounds), median(verify, rounds),
           median(ratio, rounds));
    store->ops->close(store);
    return 0;
}
