/* The promises of port/store.h as tests, for any implementation: a factory makes an empty store for each test.
 * Also the small steps that other tests of stores share. Every helper fails the running test by itself. */
#ifndef CADRE_TESTS_UNIT_STORE_CONFORMANCE_H
#define CADRE_TESTS_UNIT_STORE_CONFORMANCE_H

#include "check.h"
#include "port/store.h"

struct store_factory {
    /* A new, empty store and the way to open handles on it, also from a forked child. */
    void (*make)(void **user, struct store_opener *opener);
    void (*remove)(void *user);
};

/* Fills tests with all promises, for cmocka to run; returns how many. Aborts where max is too small. */
size_t store_conformance_tests(const struct store_factory *factory, struct CMUnitTest *tests,
                               size_t max);

/* What each test of a promise gets as its state. */
struct store_fixture {
    const struct store_factory *factory;
    void *user;
    struct store_opener opener;
    struct store *s; /* one open handle */
};

struct store_promises {
    const struct CMUnitTest *tests;
    size_t count;
};

/* Setup and teardown of every promise (cmocka); the initial state is the factory. */
int store_fixture_setup(void **state);
int store_fixture_teardown(void **state);
#define PROMISE(function)                                                                          \
    cmocka_unit_test_setup_teardown(function, store_fixture_setup, store_fixture_teardown)

struct store_promises store_lease_promises(void);
struct store_promises store_append_promises(void);
struct store_promises store_group_promises(void);
struct store_promises store_read_promises(void);
struct store_promises store_list_promises(void);
struct store_promises store_process_promises(void);
struct store_promises store_record_promises(void);

/* --- steps ------------------------------------------------------------------------------------------ */

#define NOW 1700000000000
#define TTL 30000

/* A run that the test owns. `prev` and `seq` follow what was appended through these helpers. */
struct test_run {
    struct id id;
    uint64_t epoch;
    uint64_t seq;
    uint64_t prev[8]; /* last seq of agents 0 to 7 */
    int64_t start_message;
};

struct store *test_open(const struct store_opener *opener);
struct id test_id(unsigned number);
/* Makes the run known; test_owned also takes its lease as "tester". */
struct test_run test_started(struct store *s, unsigned number);
struct test_run test_owned(struct store *s, unsigned number);

/* The next event of an agent; moves the run's seq and the agent's prev. */
struct event_row test_event(struct test_run *run, uint32_t agent_no, const char *payload);
struct append_batch test_batch(const struct test_run *run, const struct event_row *events,
                               size_t count);
/* Appends one event of the root and expects it to be durable. */
void test_append(struct store *s, struct test_run *run, const char *payload);
/* Appends one event with these rows; gives the result back. On anything but durable the run is as before. */
enum append_result test_append_rows(struct store *s, struct test_run *run, const struct row *rows,
                                    size_t count, struct err *err);
struct row test_agent_insert(const struct id *id, const char *status);
struct row test_agent_status(const struct id *id, const char *status);

uint64_t test_head(struct store *s, const struct test_run *run);
/* Reads the whole run and checks that seq is dense from 1 and that the chain holds; returns the last seq. */
uint64_t test_verify(struct store *s, const struct id *run_id);
/* The call succeeded; otherwise fails with the message. */
#define check_ok(call_, err_)                                                                      \
    do {                                                                                           \
        if ((call_) != 0)                                                                          \
            fail_msg("%s: %s", #call_, (err_).message);                                            \
    } while (0)
/* The call failed with this class. */
#define check_class(call_, err_, class_)                                                           \
    do {                                                                                           \
        (err_) = ERR_INIT;                                                                         \
        if ((call_) != -1)                                                                         \
            fail_msg("%s did not fail", #call_);                                                   \
        if ((err_).class != (class_))                                                              \
            fail_msg("%s: class %s: %s", #call_, err_class_text((err_).class), (err_).message);    \
    } while (0)

#endif
