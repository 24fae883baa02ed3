/* See store_place.h. */
#include "store_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/sqlite.h"

#define BUSY_MS 20000

static int open_place(void *user, struct store **store, struct err *err)
{
    struct place *place = user;
    const struct sqlite_store_config config = {.path = place->path, .busy_ms = BUSY_MS};
    return sqlite_store_open(&config, store, err);
}

static void make_place(void **user, struct store_opener *opener)
{
    struct place *place = calloc(1, sizeof *place);
    const char *top = getenv("TMPDIR");
    assert_non_null(place);
    snprintf(place->directory, sizeof place->directory, "%s/cadre-store-XXXXXX",
             top ? top : "/tmp");
    assert_non_null(mkdtemp(place->directory));
    snprintf(place->path, sizeof place->path, "%s/state/cadre.db", place->directory);
    *user = place;
    *opener = (struct store_opener){open_place, place};
}

static void remove_place(void *user)
{
    static const char *const names[] = {"/state/cadre.db", "/state/cadre.db-wal",
                                        "/state/cadre.db-shm", "/state/cadre.db-journal"};
    struct place *place = user;
    char path[256];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s%s", place->directory, names[i]);
        remove(path);
    }
    snprintf(path, sizeof path, "%s/state", place->directory);
    rmdir(path);
    assert_int_equal(rmdir(place->directory), 0);
    free(place);
}

const struct store_factory sqlite_factory = {make_place, remove_place};

const char *path_of(const struct store_fixture *f)
{
    return ((const struct place *)f->user)->path;
}

void close_store(struct store_fixture *f)
{
    f->s->ops->close(f->s);
    f->s = NULL;
}

/* --- the database as other programs see it -------------------------------------------------------------- */

sqlite3 *raw_open(const struct store_fixture *f)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path_of(f), &db), SQLITE_OK);
    sqlite3_extended_result_codes(db, 1);
    return db;
}

void raw_run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

/* The first column of the first row as text; the caller frees it with sqlite3_free. */
static char *raw_text(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    char *text = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        text = sqlite3_mprintf("%s", sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    return text;
}

void check_raw(sqlite3 *db, const char *sql, const char *expected)
{
    char *text = raw_text(db, sql);
    if (!text || strcmp(text, expected) != 0)
        fail_msg("%s: \"%s\" is not \"%s\"", sql, text ? text : "no row", expected);
    sqlite3_free(text);
}

int place_run(const char *name, enum place_promises promises, const struct CMUnitTest *own,
              size_t own_count)
{
    enum { TESTS_MAX = 128 };
    struct CMUnitTest tests[TESTS_MAX];
    size_t count = 0;
    if (promises == PLACE_WITH_PROMISES)
        count = store_conformance_tests(&sqlite_factory, tests, TESTS_MAX);
    for (size_t i = 0; i < own_count; i++) {
        if (count == TESTS_MAX)
            abort();
        tests[count] = own[i];
        tests[count++].initial_state = (void *)&sqlite_factory;
    }
    return _cmocka_run_group_tests(name, tests, count, NULL, NULL);
}
