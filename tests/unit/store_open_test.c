/* How a store on SQLite opens, or says why not; failing disks; many processes that create it at once. */
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "powercut_vfs.h"
#include "store/sqlite.h"
#include "store_place.h"

/* The message names the file and says something that helps. */
static void check_refused(const char *path, enum err_class class, const char *help)
{
    const struct sqlite_store_config config = {.path = path, .busy_ms = 100};
    struct err err;
    struct store *s = (struct store *)&err;
    check_class(sqlite_store_open(&config, &s, &err), err, class);
    assert_null(s);
    if (!strstr(err.message, path) || !strstr(err.message, help))
        fail_msg("\"%s\" does not name %s and \"%s\"", err.message, path, help);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void the_directory_and_the_files_are_private(void **state)
{
    struct store_fixture *f = *state;
    struct place *place = f->user;
    char path[256];
    mode_t old = umask(0);
    close_store(f);
    remove(place->path);
    snprintf(path, sizeof path, "%s/state", place->directory);
    assert_int_equal(rmdir(path), 0);
    f->s = test_open(&f->opener);
    umask(old);
    assert_int_equal(mode_of(path), 0700);
    assert_int_equal(mode_of(place->path), 0600);
    snprintf(path, sizeof path, "%s-wal", place->path);
    assert_int_equal(mode_of(path), 0600);
}

static void an_existing_store_opens_without_a_write_lock(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    const struct sqlite_store_config config = {.path = path_of(f), .busy_ms = 0};
    struct store *second = NULL;
    sqlite3 *db = raw_open(f);
    raw_run(db, "BEGIN IMMEDIATE");
    check_ok(sqlite_store_open(&config, &second, &err), err);
    second->ops->close(second);
    sqlite3_close(db);
}

static void a_locked_store_is_an_error_to_retry(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    const struct sqlite_store_config config = {.path = path_of(f), .busy_ms = 30};
    struct store *s = NULL;
    struct lease lease;
    struct test_run run = test_owned(f->s, 1);
    check_ok(sqlite_store_open(&config, &s, &err), err);
    sqlite3 *db = raw_open(f);
    raw_run(db, "BEGIN IMMEDIATE");
    check_class(s->ops->lease(s, id_str(&run.id), STR("a"), TTL, NOW, &lease, &err), err,
                ERR_RETRY);
    struct event_row event = test_event(&run, 0, "{}");
    struct append_batch batch = test_batch(&run, &event, 1);
    s->ops->append(s, &batch, 1);
    assert_int_equal(batch.result, APPEND_UNKNOWN);
    assert_int_equal(batch.err.class, ERR_RETRY);
    raw_run(db, "ROLLBACK");
    sqlite3_close(db);
    s->ops->append(s, &batch, 1);
    assert_int_equal(batch.result, APPEND_DURABLE);
    s->ops->close(s);
}

static void a_directory_is_refused(void **state)
{
    struct store_fixture *f = *state;
    struct place *place = f->user;
    check_refused(place->directory, ERR_CONFIG, "is a directory");
}

static void a_file_that_is_no_database_is_refused_and_left_alone(void **state)
{
    struct store_fixture *f = *state;
    char text[4096], after[4096];
    close_store(f);
    memset(text, 'n', sizeof text);
    write_file(path_of(f), text, sizeof text);
    check_refused(path_of(f), ERR_CONFIG, "not a cadre store");
    FILE *file = fopen(path_of(f), "rb");
    assert_non_null(file);
    assert_int_equal(fread(after, 1, sizeof after, file), sizeof after);
    fclose(file);
    assert_memory_equal(text, after, sizeof text);
}

static void a_damaged_header_is_corrupt(void **state)
{
    struct store_fixture *f = *state;
    char header[4096];
    close_store(f);
    memset(header, 0xee, sizeof header);
    memcpy(header, "SQLite format 3", 16);
    write_file(path_of(f), header, sizeof header);
    check_refused(path_of(f), ERR_CORRUPT, "damaged");
}

static void a_damaged_page_is_found_by_the_check(void **state)
{
    struct store_fixture *f = *state;
    struct err err;
    struct test_run run = test_owned(f->s, 1);
    char noise[4096];
    for (int i = 0; i < 60; i++)
        test_append(f->s, &run, "{}");
    close_store(f);
    /* The last page of the file holds newly appended rows. */
    memset(noise, 0xee, sizeof noise);
    int fd = open(path_of(f), O_RDWR);
    assert_true(fd >= 0);
    off_t size = lseek(fd, 0, SEEK_END);
    assert_int_equal(pwrite(fd, noise, sizeof noise, size - (off_t)sizeof noise), sizeof noise);
    close(fd);
    f->s = test_open(&f->opener);
    check_class(f->s->ops->check(f->s, &err), err, ERR_CORRUPT);
    assert_non_null(strstr(err.message, path_of(f)));
}

static void another_programs_database_is_refused_and_left_alone(void **state)
{
    struct store_fixture *f = *state;
    close_store(f);
    remove(path_of(f));
    sqlite3 *db = raw_open(f);
    raw_run(db, "CREATE TABLE meta (key TEXT, version INTEGER)");
    check_refused(path_of(f), ERR_CONFIG, "another program");
    check_raw(db, "SELECT count(*) FROM sqlite_schema", "1");
    check_raw(db, "PRAGMA journal_mode", "delete");
    sqlite3_close(db);
}

static void a_newer_version_is_refused(void **state)
{
    struct store_fixture *f = *state;
    close_store(f);
    sqlite3 *db = raw_open(f);
    raw_run(db, "UPDATE meta SET version = 999");
    sqlite3_close(db);
    check_refused(path_of(f), ERR_CONFIG, "version 999");
}

/* Version 1 had leases in wall time alone. */
static void make_version_1(struct store_fixture *f, const char *lease)
{
    close_store(f);
    sqlite3 *db = raw_open(f);
    raw_run(db, "UPDATE meta SET version = 1; ALTER TABLE leases DROP COLUMN boot_id;"
                "ALTER TABLE leases DROP COLUMN boot_until;");
    raw_run(db, lease);
    sqlite3_close(db);
}

static void a_store_of_version_1_is_brought_to_this_version(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_owned(f->s, 1);
    struct lease lease;
    struct err err = ERR_INIT;
    char sql[128];
    snprintf(sql, sizeof sql, "UPDATE leases SET owner = 'old', expires_at = %lld",
             (long long)NOW + TTL);
    make_version_1(f, sql);
    const struct sqlite_store_config config = {
        .path = path_of(f), .busy_ms = 100, .boot_id = STR("this start"), .wall_at_boot = NOW};
    check_ok(sqlite_store_open(&config, &f->s, &err), err);
    sqlite3 *db = raw_open(f);
    check_raw(db, "SELECT version FROM meta", "2");
    sqlite3_close(db);
    /* The older program's lease holds by wall time, and its successor's by the clock of this start. */
    check_ok(f->s->ops->lease(f->s, id_str(&run.id), STR("new"), TTL, TTL - 1, &lease, &err), err);
    assert_int_equal(lease.epoch, 0);
    check_ok(f->s->ops->lease(f->s, id_str(&run.id), STR("new"), TTL, TTL, &lease, &err), err);
    assert_int_equal(lease.epoch, run.epoch + 1);
    assert_int_equal(lease.replaced_expires_at, NOW + TTL);
    assert_int_equal(lease.expires_at, NOW + 2 * TTL);
}

static void a_lease_counts_on_the_clock_of_this_start_of_the_machine(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = test_owned(f->s, 1);
    struct lease lease;
    struct err err = ERR_INIT;
    static const struct {
        const char *boot;
        int64_t wall_at_boot, now;
        int held;
    } rows[] = {
        {"this start", 1000, TTL - 1, 1},
        {"this start", 1000, TTL, 0},
        {"this start", 999999999, TTL - 1, 1}, /* somebody set the wall clock ahead … */
        {"this start", -999999999, TTL, 0},    /* … or back */
        {"another start", 1000, 1, 0},         /* its owner did not survive that */
        {"", 1000, TTL - 1, 1},
        {"", 1000, TTL, 0}, /* not known: wall time */
    };
    close_store(f);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct store *s = NULL, *other = NULL;
        struct sqlite_store_config config = {
            .path = path_of(f), .busy_ms = 100, .boot_id = STR("this start"), .wall_at_boot = 1000};
        check_ok(sqlite_store_open(&config, &s, &err), err);
        config.boot_id = str_from(rows[i].boot);
        config.wall_at_boot = rows[i].wall_at_boot;
        check_ok(sqlite_store_open(&config, &other, &err), err);
        check_ok(s->ops->lease(s, id_str(&run.id), STR("tester"), TTL, 0, &lease, &err), err);
        check_ok(
            other->ops->lease(other, id_str(&run.id), STR("b"), TTL, rows[i].now, &lease, &err),
            err);
        assert_int_equal(lease.epoch == 0, rows[i].held);
        if (lease.epoch > 0)
            check_ok(other->ops->release(other, id_str(&run.id), lease.epoch, &err), err);
        other->ops->close(other);
        s->ops->close(s);
    }
    f->s = test_open(&f->opener);
}

static void a_copy_without_a_log_is_turned_back_to_one(void **state)
{
    struct store_fixture *f = *state;
    close_store(f);
    sqlite3 *db = raw_open(f);
    raw_run(db, "PRAGMA journal_mode = DELETE");
    sqlite3_close(db);
    f->s = test_open(&f->opener);
    db = raw_open(f);
    check_raw(db, "PRAGMA journal_mode", "wal");
    sqlite3_close(db);
}

/* In a child without root's powers, which no permission stops. Exit status 0: the work succeeded. */
static int unprivileged(const char *path, enum err_class class, const char *help)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct sqlite_store_config config = {.path = path, .busy_ms = 100};
        struct err err = ERR_INIT;
        struct store *s = NULL;
        if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0))
            _exit(3);
        if (sqlite_store_open(&config, &s, &err) == 0)
            _exit(4);
        if (err.class != class || !strstr(err.message, path) || !strstr(err.message, help)) {
            fprintf(stderr, "%s: %s\n", err_class_text(err.class), err.message);
            _exit(5);
        }
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_read_only_store_says_so(void **state)
{
    struct store_fixture *f = *state;
    struct place *place = f->user;
    char directory[128];
    close_store(f);
    snprintf(directory, sizeof directory, "%s/state", place->directory);
    chmod(place->directory, 0755);
    chmod(directory, 0755);
    chmod(place->path, 0444);
    assert_int_equal(unprivileged(place->path, ERR_IO, "read-only"), 0);
    chmod(place->path, 0666);
    chmod(directory, 0555);
    assert_int_equal(unprivileged(place->path, ERR_IO, "check"), 0);
    chmod(directory, 0755);
}

static void a_place_that_cannot_be_made_says_so(void **state)
{
    struct store_fixture *f = *state;
    struct place *place = f->user;
    char path[160];
    chmod(place->directory, 0555);
    snprintf(path, sizeof path, "%s/new/cadre.db", place->directory);
    assert_int_equal(unprivileged(path, ERR_IO, "cannot be created"), 0);
    snprintf(path, sizeof path, "%s/cadre.db", place->directory);
    assert_int_equal(unprivileged(path, ERR_IO, "cannot be created"), 0);
    chmod(place->directory, 0755);
    check_refused("", ERR_USAGE, "empty");
}

/* --- failing disks and crowds ------------------------------------------------------------------------------------ */

static struct append_batch append_on_broken(struct store_fixture *f, enum powercut_fault fault,
                                            struct test_run *run)
{
    static struct event_row event;
    struct powercut *machine = powercut_new("broken", 1);
    const struct sqlite_store_config config = {.path = path_of(f), .vfs = "broken"};
    struct err err = ERR_INIT;
    struct store *s = NULL;
    close_store(f);
    check_ok(sqlite_store_open(&config, &s, &err), err);
    *run = test_owned(s, 1);
    test_append(s, run, "{}");
    powercut_break(machine, fault);
    event = test_event(run, 0, "{}");
    struct append_batch batch = test_batch(run, &event, 1);
    s->ops->append(s, &batch, 1);
    powercut_break(machine, POWERCUT_HEALTHY);
    s->ops->close(s);
    powercut_free(machine);
    f->s = test_open(&f->opener);
    return batch;
}

static void a_full_disk_leaves_the_outcome_unknown_and_is_named(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run;
    struct append_batch batch = append_on_broken(f, POWERCUT_DISK_FULL, &run);
    assert_int_equal(batch.result, APPEND_UNKNOWN);
    assert_int_equal(batch.err.class, ERR_IO);
    assert_non_null(strstr(batch.err.message, "the disk is full"));
    assert_non_null(strstr(batch.err.message, path_of(f)));
    assert_int_equal(test_verify(f->s, &run.id), 1);
}

static void a_failed_sync_leaves_the_outcome_unknown(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run;
    struct append_batch batch = append_on_broken(f, POWERCUT_SYNC_FAILED, &run);
    assert_int_equal(batch.result, APPEND_UNKNOWN);
    assert_int_equal(batch.err.class, ERR_IO);
    assert_true(test_verify(f->s, &run.id) >= 1);
}

/* What a handle could not write must not reach the file later, when others have written there. */
static void a_handle_that_failed_leaves_the_others_alone(void **state)
{
    struct store_fixture *f = *state;
    struct powercut *machine = powercut_new("failing", 1);
    const struct sqlite_store_config config = {.path = path_of(f), .vfs = "failing"};
    const enum powercut_fault faults[] = {POWERCUT_DISK_FULL, POWERCUT_SYNC_FAILED};
    struct err err = ERR_INIT;
    struct store *failed = NULL, *other = NULL;
    struct lease lease;
    close_store(f);
    check_ok(sqlite_store_open(&config, &failed, &err), err);
    check_ok(sqlite_store_open(&config, &other, &err), err);
    struct test_run runs[2] = {test_owned(failed, 1), test_owned(failed, 2)};
    for (size_t i = 0; i < 2; i++) {
        struct test_run before = runs[i];
        struct event_row event = test_event(&runs[i], 0, "{\"lost\":true}");
        struct append_batch batch = test_batch(&runs[i], &event, 1);
        powercut_break(machine, faults[i]);
        failed->ops->append(failed, &batch, 1);
        assert_int_equal(batch.result, APPEND_UNKNOWN);
        powercut_break(machine, POWERCUT_HEALTHY);
        runs[i] = before;
        check_ok(
            other->ops->lease(other, id_str(&runs[i].id), STR("b"), TTL, NOW + TTL, &lease, &err),
            err);
        runs[i].epoch = lease.epoch;
        if (test_head(other, &runs[i]) == 1)
            runs[i].seq = runs[i].prev[0] = 1;
        for (int k = 0; k < 3; k++)
            test_append(other, &runs[i], "{\"kept\":true}");
        assert_int_equal(test_verify(failed, &runs[i].id), runs[i].seq);
    }
    failed->ops->close(failed);
    check_ok(other->ops->check(other, &err), err);
    other->ops->close(other);
    powercut_free(machine);
    f->s = test_open(&f->opener);
    check_ok(f->s->ops->check(f->s, &err), err);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(test_verify(f->s, &runs[i].id), runs[i].seq);
}

static void a_crowd_creates_one_store(void **state)
{
    struct store_fixture *f = *state;
    pid_t pids[8];
    close_store(f);
    remove(path_of(f));
    for (unsigned i = 0; i < 8; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            struct err err = ERR_INIT;
            struct store *s = NULL;
            if (f->opener.open(f->opener.user, &s, &err) != 0) {
                fprintf(stderr, "%s\n", err.message);
                _exit(1);
            }
            int failed = s->ops->session_ensure(s, STR("s"), STR("u"), STR("w"), NOW, &err);
            s->ops->close(s);
            _exit(failed ? 2 : 0);
        }
    }
    for (unsigned i = 0; i < 8; i++) {
        int status = -1;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    f->s = test_open(&f->opener);
    sqlite3 *db = raw_open(f);
    check_raw(db, "SELECT count(*) FROM meta", "1");
    check_raw(db, "SELECT count(*) FROM sessions", "1");
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest own[] = {
        PROMISE(the_directory_and_the_files_are_private),
        PROMISE(an_existing_store_opens_without_a_write_lock),
        PROMISE(a_locked_store_is_an_error_to_retry),
        PROMISE(a_directory_is_refused),
        PROMISE(a_file_that_is_no_database_is_refused_and_left_alone),
        PROMISE(a_damaged_header_is_corrupt),
        PROMISE(a_damaged_page_is_found_by_the_check),
        PROMISE(another_programs_database_is_refused_and_left_alone),
        PROMISE(a_newer_version_is_refused),
        PROMISE(a_store_of_version_1_is_brought_to_this_version),
        PROMISE(a_lease_counts_on_the_clock_of_this_start_of_the_machine),
        PROMISE(a_copy_without_a_log_is_turned_back_to_one),
        PROMISE(a_read_only_store_says_so),
        PROMISE(a_place_that_cannot_be_made_says_so),
        PROMISE(a_full_disk_leaves_the_outcome_unknown_and_is_named),
        PROMISE(a_failed_sync_leaves_the_outcome_unknown),
        PROMISE(a_handle_that_failed_leaves_the_others_alone),
        PROMISE(a_crowd_creates_one_store),
    };
    return place_run("store_open", PLACE_OWN_TESTS, own, sizeof own / sizeof own[0]);
}
