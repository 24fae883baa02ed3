/* The store alone: events appended through port/store.h in groups, against bare SQLite inserting rows of the same
 * shape in groups of the same size, both in WAL mode with synchronous FULL and in the same directory. The two take
 * turns, so that a disk that is busy for a while slows both. Prints one JSON object, with the CPU time per event of both
 * beside the events per second. One thread.
 *
 * Usage: bench-journal DIRECTORY EVENTS GROUP        EVENTS per side, in ROUNDS rounds */
#include <sodium.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "store/handle.h" /* for the live PRAGMA of the store's own handle */
#include "store/sqlite.h"

#define ROUNDS 15
#define GROUP_MAX 4096
#define AGENTS 100
#define LEASE_MS (3600 * 1000)

static const char run_name[] = "01BENCH0000000000000000000";
static const char payload[] =
    "{\"effects\":\"6144f3de5e9539c6\",\"text\":\"I look at the files first.\",\"completeness\":"
    "\"whole\",\"input_tokens\":600,\"output_tokens\":40,\"model_effective\":\"bench\","
    "\"finish\":\"tool_calls\"}";
static const char summary[] = "replied, 600 tokens in, 40 out, one call";

struct side {
    double seconds[ROUNDS];
    double cpu;   /* seconds, all rounds */
    uint64_t seq; /* of the last event */
    uint64_t tails[AGENTS];
};

_Noreturn static void fail(const char *what, const char *why)
{
    fprintf(stderr, "bench-journal: %s: %s\n", what, why);
    exit(1);
}

static double clock_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct watch {
    double wall, cpu;
};

static struct watch watch_start(void)
{
    return (struct watch){clock_seconds(CLOCK_MONOTONIC), clock_seconds(CLOCK_PROCESS_CPUTIME_ID)};
}

/* Seconds since the start; the CPU time goes to the side. */
static double watch_stop(const struct watch *watch, struct side *side)
{
    side->cpu += clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - watch->cpu;
    return clock_seconds(CLOCK_MONOTONIC) - watch->wall;
}

/* The next event of a side: the agents take turns. */
static struct event_row event_next(struct side *side)
{
    struct event_row row = {.seq = ++side->seq, .ts = 1700000000000, .version = 1};
    row.agent_no = (uint32_t)(side->seq / 5 % AGENTS);
    row.agent_prev = side->tails[row.agent_no];
    row.cause_seq = row.seq % 5 == 0 ? 0 : row.seq - row.seq % 5;
    side->tails[row.agent_no] = row.seq;
    row.category = STR("model");
    row.type = STR("model.replied");
    row.call_id = STR("m123456");
    row.summary = STR(summary);
    row.payload = STR(payload);
    return row;
}

/* --- the store ------------------------------------------------------------------------------------------ */

static struct store *store_start(const char *directory, uint64_t *epoch)
{
    char path[4096];
    struct err err = ERR_INIT;
    struct store *store = NULL;
    struct lease lease;
    int64_t id;
    snprintf(path, sizeof path, "%s/store.db", directory);
    const struct sqlite_store_config config = {.path = path, .busy_ms = 1000};
    struct str run = STR(run_name);
    if (sqlite_store_open(&config, &store, &err) != 0 ||
        store->ops->inbox_put(store, run, STR("start"), STR("{}"), STR("bench"), 1, &id, &err) !=
            0 ||
        store->ops->lease(store, run, STR("bench"), LEASE_MS, 1, &lease, &err) != 0)
        fail("store", err.message);
    *epoch = lease.epoch;
    return store;
}

static double store_round(struct store *store, uint64_t epoch, struct side *side, size_t events,
                          size_t group)
{
    struct event_row rows[GROUP_MAX];
    struct watch watch = watch_start();
    for (size_t done = 0; done < events; done += group) {
        for (size_t i = 0; i < group; i++)
            rows[i] = event_next(side);
        struct append_batch batch = {
            .run_id = STR(run_name), .epoch = epoch, .events = rows, .event_count = group};
        store->ops->append(store, &batch, 1);
        if (batch.result != APPEND_DURABLE)
            fail("append", batch.err.message);
    }
    return watch_stop(&watch, side);
}

/* --- bare SQLite ------------------------------------------------------------------------------------------ */

static void bare_run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail(sql, sqlite3_errmsg(db));
}

static sqlite3 *bare_start(const char *directory)
{
    char path[4096];
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s/bare.db", directory);
    if (sqlite3_open(path, &db) != SQLITE_OK)
        fail(path, "cannot be opened");
    bare_run(db, "PRAGMA journal_mode = WAL");
    bare_run(db, "PRAGMA synchronous = FULL");
    bare_run(db, "CREATE TABLE events (g INTEGER PRIMARY KEY, run_no INTEGER NOT NULL,"
                 " seq INTEGER NOT NULL, agent_no INTEGER NOT NULL, agent_prev INTEGER NOT NULL,"
                 " epoch INTEGER NOT NULL, v INTEGER NOT NULL, ts INTEGER NOT NULL,"
                 " type_no INTEGER NOT NULL, call_id TEXT, cause_seq INTEGER NOT NULL,"
                 " summary TEXT NOT NULL, payload_json TEXT, payload_hash BLOB, hash BLOB NOT NULL,"
                 " UNIQUE (run_no, seq)) STRICT");
    return db;
}

static void bare_insert(sqlite3 *db, sqlite3_stmt *stmt, const struct event_row *row)
{
    static const unsigned char hash[32] = {1};
    const int64_t numbers[] = {1, (int64_t)row->seq, row->agent_no, (int64_t)row->agent_prev,
                               1, row->version,      row->ts,       1};
    for (int i = 0; i < 8; i++)
        sqlite3_bind_int64(stmt, i + 1, numbers[i]);
    sqlite3_bind_text(stmt, 9, row->call_id.p, (int)row->call_id.n, SQLITE_STATIC);
    sqlite3_bind_int64(stmt, 10, (int64_t)row->cause_seq);
    sqlite3_bind_text(stmt, 11, row->summary.p, (int)row->summary.n, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 12, row->payload.p, (int)row->payload.n, SQLITE_STATIC);
    sqlite3_bind_null(stmt, 13);
    sqlite3_bind_blob(stmt, 14, hash, sizeof hash, SQLITE_STATIC);
    if (sqlite3_step(stmt) != SQLITE_DONE)
        fail("insert", sqlite3_errmsg(db));
    sqlite3_reset(stmt);
}

static double bare_round(sqlite3 *db, struct side *side, size_t events, size_t group)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(
            db,
            "INSERT INTO events (run_no, seq, agent_no, agent_prev, epoch, v, ts,"
            " type_no, call_id, cause_seq, summary, payload_json, payload_hash, hash)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            -1, &stmt, NULL) != SQLITE_OK)
        fail("prepare", sqlite3_errmsg(db));
    struct watch watch = watch_start();
    for (size_t done = 0; done < events; done += group) {
        bare_run(db, "BEGIN IMMEDIATE");
        for (size_t i = 0; i < group; i++) {
            struct event_row row = event_next(side);
            bare_insert(db, stmt, &row);
        }
        bare_run(db, "COMMIT");
    }
    double seconds = watch_stop(&watch, side);
    sqlite3_finalize(stmt);
    return seconds;
}

/* --- both --------------------------------------------------------------------------------------------------- */

static int pragma(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int value = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        value = sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    return value;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(const double values[ROUNDS])
{
    double sorted[ROUNDS];
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, ROUNDS, sizeof *sorted, by_size);
    return sorted[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    size_t events = argc == 4 ? strtoul(argv[2], NULL, 10) / ROUNDS : 0;
    size_t group = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
    struct side store_side = {.seq = 0}, bare_side = {.seq = 0};
    double ratios[ROUNDS];
    uint64_t epoch;
    if (group == 0 || group > GROUP_MAX || events < group) {
        fprintf(stderr, "usage: bench-journal DIRECTORY EVENTS GROUP\n");
        return 2;
    }
    if (sodium_init() < 0)
        fail("sodium_init", "failed");
    events -= events % group;
    struct store *store = store_start(argv[1], &epoch);
    sqlite3 *bare = bare_start(argv[1]);
    for (int i = 0; i < ROUNDS; i++) {
        store_side.seconds[i] = store_round(store, epoch, &store_side, events, group);
        bare_side.seconds[i] = bare_round(bare, &bare_side, events, group);
        ratios[i] = bare_side.seconds[i] / store_side.seconds[i];
    }
    printf("{\"synchronous\":%d,\"bare_synchronous\":%d,\"store_per_second\":%.0f,"
           "\"bare_per_second\":%.0f,\"ratio\":%.3f,\"store_cpu_us\":%.2f,\"bare_cpu_us\":%.2f,"
           "\"group\":%zu,\"payload_bytes\":%zu}\n",
           pragma(((struct sqlite_store *)store)->db, "PRAGMA synchronous"),
           pragma(bare, "PRAGMA synchronous"), (double)events / median(store_side.seconds),
           (double)events / median(bare_side.seconds), median(ratios),
           store_side.cpu * 1e6 / (double)store_side.seq,
           bare_side.cpu * 1e6 / (double)bare_side.seq, group, sizeof payload - 1);
    store->ops->close(store);
    sqlite3_close(bare);
    return 0;
}
