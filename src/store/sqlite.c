/* Opening and closing a handle, and the table of its operations. The settings below are what durability rests
 * on: each is read back after it was set. Runs on the thread that will own the handle. */
#include "store/sqlite.h"

#include <stdlib.h>
#include <sys/random.h>

#include "store/handle.h"

struct setting {
    const char *set, *read;
    int64_t expected;
};

static const struct setting settings[] = {
    {"PRAGMA synchronous = FULL", "PRAGMA synchronous", 2},
    {"PRAGMA foreign_keys = ON", "PRAGMA foreign_keys", 1},
    {"PRAGMA trusted_schema = OFF", "PRAGMA trusted_schema", 0},
    {"PRAGMA mmap_size = 0", NULL, 0},
    {"PRAGMA cache_size = -2048", "PRAGMA cache_size", -2048},
    {"PRAGMA cache_spill = OFF", "PRAGMA cache_spill", 0},
    {"PRAGMA journal_size_limit = 16777216", NULL, 0},
};

static void sqlite_close(struct store *store);

static const struct store_ops operations = {
    .close = sqlite_close,
    .lease = sqlite_lease,
    .renew = sqlite_renew,
    .release = sqlite_release,
    .append = sqlite_append,
    .read = sqlite_read,
    .head = sqlite_head,
    .blob_get = sqlite_blob_get,
    .inbox_put = sqlite_inbox_put,
    .inbox_take = sqlite_inbox_take,
    .inbox_look = sqlite_inbox_look,
    .runs = sqlite_runs,
    .run = sqlite_run,
    .run_find = sqlite_run_find,
    .agents = sqlite_agents,
    .session_ensure = sqlite_session_ensure,
    .begin = sqlite_begin,
    .record_get = sqlite_record_get,
    .record_cas = sqlite_record_cas,
    .record_change = sqlite_record_change,
    .records = sqlite_records,
    .record_history = sqlite_record_history,
    .check = sqlite_check,
    .check_pages = sqlite_check_pages,
    .guards = sqlite_guards,
    .snapshot = sqlite_snapshot,
    .snapshot_end = sqlite_snapshot_end,
    .traces = sqlite_traces,
};

static int apply_setting(struct sqlite_store *s, const struct setting *setting, struct err *err)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_exec(s->db, setting->set, NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return handle_error(s, code, "opening it", err);
    if (!setting->read)
        return 0;
    int64_t value = INT64_MIN;
    code = sqlite3_prepare_v2(s->db, setting->read, -1, &stmt, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(stmt);
    if (code == SQLITE_ROW)
        value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    if (code != SQLITE_ROW)
        return handle_error(s, code, "opening it", err);
    if (value != setting->expected)
        return err_set(err, ERR_BUG, "store %s: SQLite did not accept `%s`", s->path, setting->set);
    return 0;
}

static int open_file(struct sqlite_store *s, const struct sqlite_store_config *config,
                     struct err *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                (config->use == SQLITE_STORE_READS ? 0 : SQLITE_OPEN_CREATE);
    int code = sqlite3_open_v2(config->path, &s->db, flags, config->vfs);
    if (!s->db)
        return err_set(err, ERR_IO, "store %s: out of memory", config->path);
    if (code != SQLITE_OK)
        return handle_error(s, code, "opening it", err);
    if (sqlite3_db_readonly(s->db, "main") == 1)
        return handle_error(s, SQLITE_READONLY, "opening it", err);
    return 0;
}

static int connect_file(struct sqlite_store *s, const struct sqlite_store_config *config,
                        enum store_access access, struct err *err)
{
    int opened =
        access == ACCESS_WRITE ? open_file(s, config, err) : readonly_connect(s, access, err);
    if (opened < 0)
        return -1;
    sqlite3_busy_handler(s->db, handle_wait, s);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, (int)STORE_VALUE_MAX + (1 << 20));
    sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 0);
    /* The default of 1,000 pages holds: SQLite finds a page in its log by passing every older copy of it, so that small
     * commits, which write the same pages again and again, grow dearer with the length of the log. */
    if (config->checkpoint_pages > 0)
        sqlite3_wal_autocheckpoint(s->db, config->checkpoint_pages);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        if (apply_setting(s, &settings[i], err) < 0)
            return -1;
    }
    return 0;
}

/* Seeds only the sleeps between attempts: any number but zero will do. */
static uint64_t random_seed(const void *address)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
        seed = (uint64_t)(uintptr_t)address;
    return seed | 1;
}

void sqlite_store_prepare(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

int sqlite_store_open(const struct sqlite_store_config *config, struct store **store,
                      struct err *err)
{
    enum store_access access = ACCESS_WRITE;
    *store = NULL;
    if (config->use == SQLITE_STORE_READS && readonly_access(config->path, &access, err) < 0)
        return -1;
    if (place_prepare(config->path, err) < 0)
        return -1;
    struct sqlite_store *s = calloc(1, sizeof *s);
    char *path = strdup(config->path);
    if (!s || !path) {
        free(s);
        free(path);
        return err_set(err, ERR_IO, "store %s: out of memory", config->path);
    }
    s->store.ops = &operations;
    s->path = path;
    s->busy_ms = config->busy_ms;
    s->random = random_seed(s);
    s->wall_at_boot = config->wall_at_boot;
    if (config->boot_id.n > 0 && config->boot_id.n < sizeof s->boot_id)
        memcpy(s->boot_id, config->boot_id.p, config->boot_id.n);
    map_init(&s->types);
    map_init(&s->heads);
    if (connect_file(s, config, access, err) < 0 ||
        (s->is_readonly ? readonly_schema(s, err) : schema_ready(s, err)) < 0 ||
        confine(s, err) < 0) {
        sqlite_close(&s->store);
        return -1;
    }
    *store = &s->store;
    return 0;
}

static void sqlite_close(struct store *store)
{
    struct sqlite_store *s = sqlite_store_of(store);
    for (size_t i = 0; i < STATEMENT_COUNT; i++)
        sqlite3_finalize(s->statements[i]);
    sqlite3_close(s->db);
    map_release(&s->types);
    heads_forget(s);
    free(s->path);
    free(s);
}

static int check_with(struct sqlite_store *s, enum statement pages, struct err *err)
{
    struct call call;
    call_start(&call, s, pages);
    int row = call_step(&call, "checking it", err);
    if (row < 0)
        return -1;
    struct str answer = row == 1 ? call_text(&call, 0) : STR("no answer");
    int result = 0;
    if (!str_is(answer, "ok"))
        result = err_set(err, ERR_CORRUPT,
                         "store %s: it is damaged: %.*s; restore it from a backup, or save what can"
                         " be read with `sqlite3 FILE .recover`",
                         s->path, STR_FMT(answer));
    call_end(&call);
    if (result < 0)
        return -1;
    call_start(&call, s, STATEMENT_FOREIGN_KEYS);
    row = call_step(&call, "checking it", err);
    if (row == 1)
        row = err_set(err, ERR_CORRUPT,
                      "store %s: a row of table %.*s names a run that is not there; restore the"
                      " store from a backup",
                      s->path, STR_FMT(call_text(&call, 0)));
    call_end(&call);
    if (row != 0)
        return row;
    call_start(&call, s, STATEMENT_ORPHAN);
    row = call_step(&call, "checking it", err);
    if (row == 1)
        row = err_set(err, ERR_CORRUPT,
                      "store %s: table events has the events of run number %lld, which table runs"
                      " does not have; restore the store from a backup",
                      s->path, (long long)call_number(&call, 0));
    call_end(&call);
    return row;
}

int sqlite_check(struct store *store, struct err *err)
{
    return check_with(sqlite_store_of(store), STATEMENT_INTEGRITY, err);
}

int sqlite_check_pages(struct store *store, struct err *err)
{
    return check_with(sqlite_store_of(store), STATEMENT_PAGES, err);
}
