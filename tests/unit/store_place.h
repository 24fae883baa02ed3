/* A store on SQLite in a temporary directory, for the tests of it, and the same file as other programs see it. */
#ifndef CADRE_TESTS_UNIT_STORE_PLACE_H
#define CADRE_TESTS_UNIT_STORE_PLACE_H

#include <sqlite3.h>

#include "store_conformance.h"

/* What the fixture's user pointer is. The file lies in "state" below the directory. */
struct place {
    char path[128], directory[64];
};

extern const struct store_factory sqlite_factory;

const char *path_of(const struct store_fixture *f);
void close_store(struct store_fixture *f); /* the fixture's handle */

sqlite3 *raw_open(const struct store_fixture *f);
void raw_run(sqlite3 *db, const char *sql);
/* The first column of the first row is this text. */
void check_raw(sqlite3 *db, const char *sql, const char *expected);

/* main() of a test: all of own, behind the promises of every store where with_promises says so. */
enum place_promises { PLACE_OWN_TESTS, PLACE_WITH_PROMISES };
int place_run(const char *name, enum place_promises promises, const struct CMUnitTest *own,
              size_t count);

#endif
