/* A store that is only read: it is never made, and it may lie where the reader cannot write, with and without a log beside
 * it, while somebody writes and while nobody does. Readers are processes without root's powers. */
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/handle.h"
#include "store/sqlite.h"
#include "store_place.h"

static int open_reading(const char *path, struct store **s, struct err *err)
{
    const struct sqlite_store_config config = {
        .path = path, .busy_ms = 100, .use = SQLITE_STORE_READS};
    return sqlite_store_open(&config, s, err);
}

/* Two pipes: the reader says that it has read, the test says that it may go on. */
struct talk {
    int said[2], told[2];
};

static void say(int fd)
{
    if (write(fd, "x", 1) != 1)
        _exit(9);
}

static void hear(int fd)
{
    char byte;
    if (read(fd, &byte, 1) != 1)
        _exit(8);
}

static void drop_powers(void)
{
    if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0))
        _exit(3);
}

/* How a reader ends: 0 once it has seen that many events, and with `again`, after the test did something, that many more
 * events or this class of error. */
struct expected {
    uint64_t events;
    uint64_t again; /* 0: it reads once */
    enum err_class class;
    const char *help;
};

static int count_events(struct store *s, const struct test_run *run, uint64_t *count,
                        struct err *err)
{
    struct hash head;
    return s->ops->head(s, id_str(&run->id), count, &head, err);
}

static void read_there(const char *path, const struct test_run *run,
                       const struct expected *expected, const struct talk *talk)
{
    struct store *s = NULL;
    struct err err = ERR_INIT;
    uint64_t count = 0;
    drop_powers();
    if (open_reading(path, &s, &err) != 0 || count_events(s, run, &count, &err) != 0) {
        if (expected->class != ERR_NONE && err.class == expected->class && expected->again == 0 &&
            strstr(err.message, expected->help))
            _exit(0);
        fprintf(stderr, "%s\n", err.message);
        _exit(4);
    }
    if (count != expected->events)
        _exit(5);
    if (expected->again > 0) {
        say(talk->said[1]);
        hear(talk->told[0]);
        int result = count_events(s, run, &count, &err);
        if (expected->class == ERR_NONE && (result != 0 || count != expected->again)) {
            fprintf(stderr, "%llu events, %s\n", (unsigned long long)count, err.message);
            _exit(6);
        }
        if (expected->class != ERR_NONE && (result == 0 || err.class != expected->class))
            _exit(7);
    }
    s->ops->close(s);
    _exit(0);
}

static pid_t start_reader(const char *path, const struct test_run *run,
                          const struct expected *expected, struct talk *talk)
{
    assert_int_equal(pipe(talk->said), 0);
    assert_int_equal(pipe(talk->told), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        read_there(path, run, expected, talk);
    close(talk->said[1]);
    close(talk->told[0]);
    return pid;
}

static void check_reader(pid_t pid, struct talk *talk)
{
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(talk->said[0]);
    close(talk->told[1]);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void check_reads(const char *path, const struct test_run *run,
                        const struct expected *expected)
{
    struct talk talk;
    check_reader(start_reader(path, run, expected, &talk), &talk);
}

static void check_code(const char *path, const struct test_run *run, enum err_class class,
                       const char *help)
{
    const struct expected expected = {.class = class, .help = help};
    check_reads(path, run, &expected);
}

static void name_beside(const struct store_fixture *f, const char *suffix, char *path, size_t size)
{
    snprintf(path, size, "%s%s", path_of(f), suffix);
}

static bool is_there(const struct store_fixture *f, const char *suffix)
{
    char path[256];
    name_beside(f, suffix, path, sizeof path);
    return access(path, F_OK) == 0;
}

/* Everybody may read the store and nobody but root may write to it or beside it. */
static void close_to_writers(struct store_fixture *f)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    struct place *place = f->user;
    char path[256];
    for (size_t i = 0; i < 3; i++) {
        name_beside(f, suffixes[i], path, sizeof path);
        if (is_there(f, suffixes[i]))
            assert_int_equal(chmod(path, 0444), 0);
    }
    chmod(place->directory, 0755);
    snprintf(path, sizeof path, "%s/state", place->directory);
    assert_int_equal(chmod(path, 0555), 0);
}

static void open_to_writers(struct store_fixture *f)
{
    struct place *place = f->user;
    char path[256];
    snprintf(path, sizeof path, "%s/state", place->directory);
    chmod(path, 0755);
    chmod(place->path, 0644);
}

static struct test_run three_events(struct store *s)
{
    struct test_run run = test_owned(s, 1);
    for (int i = 0; i < 3; i++)
        test_append(s, &run, "{}");
    return run;
}

static void reading_makes_no_store(void **state)
{
    struct store_fixture *f = *state;
    struct place *place = f->user;
    struct err err = ERR_INIT;
    struct store *s = NULL;
    struct stat st;
    char path[160];
    close_store(f);
    remove(path_of(f));
    check_class(open_reading(path_of(f), &s, &err), err, ERR_NOT_FOUND);
    assert_false(is_there(f, ""));
    snprintf(path, sizeof path, "%s/none/cadre.db", place->directory);
    check_class(open_reading(path, &s, &err), err, ERR_NOT_FOUND);
    snprintf(path, sizeof path, "%s/none", place->directory);
    assert_int_not_equal(access(path, F_OK), 0);
    int fd = open(path_of(f), O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
    check_class(open_reading(path_of(f), &s, &err), err, ERR_NOT_FOUND);
    assert_int_equal(stat(path_of(f), &st), 0);
    assert_int_equal(st.st_size, 0);
    f->s = test_open(&f->opener);
}

static void who_may_write_reads_as_ever(void **state)
{
    struct store_fixture *f = *state;
    struct err err = ERR_INIT;
    struct store *s = NULL;
    struct test_run run = three_events(f->s);
    check_ok(open_reading(path_of(f), &s, &err), err);
    assert_int_equal(test_verify(s, &run.id), 3);
    test_append(f->s, &run, "{}");
    assert_int_equal(test_verify(s, &run.id), 4);
    s->ops->close(s);
}

static void a_store_without_a_log_is_read_as_it_is(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = three_events(f->s);
    const struct expected expected = {.events = 3};
    close_store(f);
    assert_false(is_there(f, "-wal"));
    close_to_writers(f);
    check_reads(path_of(f), &run, &expected);
    assert_false(is_there(f, "-wal") || is_there(f, "-shm"));
    open_to_writers(f);
    f->s = test_open(&f->opener);
}

static void a_reader_follows_a_writer(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = three_events(f->s);
    const struct expected expected = {.events = 3, .again = 4};
    struct talk talk;
    close_to_writers(f);
    pid_t pid = start_reader(path_of(f), &run, &expected, &talk);
    hear(talk.said[0]);
    test_append(f->s, &run, "{}");
    say(talk.told[1]);
    check_reader(pid, &talk);
    open_to_writers(f);
}

static void copy_file(const char *from, const char *to)
{
    char command[600];
    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

/* What a backup of both files is, or a log whose index was lost. */
static void a_log_without_an_index_is_read_too(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = three_events(f->s);
    const struct expected expected = {.events = 3};
    struct place *place = f->user;
    char kept[256], kept_log[256], path[256];
    snprintf(kept, sizeof kept, "%s/kept", place->directory);
    snprintf(kept_log, sizeof kept_log, "%s/kept-wal", place->directory);
    copy_file(place->path, kept);
    name_beside(f, "-wal", path, sizeof path);
    copy_file(path, kept_log);
    close_store(f);
    copy_file(kept, place->path);
    copy_file(kept_log, path);
    remove(kept);
    remove(kept_log);
    assert_true(is_there(f, "-wal") && !is_there(f, "-shm"));
    close_to_writers(f);
    check_reads(path_of(f), &run, &expected);
    assert_false(is_there(f, "-shm"));
    open_to_writers(f);
    f->s = test_open(&f->opener);
    assert_int_equal(test_verify(f->s, &run.id), 3);
}

static void a_writer_that_comes_while_it_is_read_is_noticed(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = three_events(f->s);
    const struct expected expected = {.events = 3, .again = 4, .class = ERR_RETRY};
    struct talk talk;
    close_store(f);
    close_to_writers(f);
    pid_t pid = start_reader(path_of(f), &run, &expected, &talk);
    hear(talk.said[0]);
    open_to_writers(f);
    f->s = test_open(&f->opener);
    test_append(f->s, &run, "{}");
    close_store(f);
    say(talk.told[1]);
    check_reader(pid, &talk);
    f->s = test_open(&f->opener);
}

static void set_version(struct store_fixture *f, int version)
{
    char sql[80];
    snprintf(sql, sizeof sql, "UPDATE meta SET version = %d", version);
    sqlite3 *db = raw_open(f);
    raw_run(db, sql);
    sqlite3_close(db);
}

static void other_versions_are_refused_with_advice(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = three_events(f->s);
    close_store(f);
    set_version(f, STORE_VERSION - 1);
    close_to_writers(f);
    check_code(path_of(f), &run, ERR_CONFIG, "as its owner");
    open_to_writers(f);
    set_version(f, STORE_VERSION + 1);
    close_to_writers(f);
    check_code(path_of(f), &run, ERR_CONFIG, "use the newer cadre");
    open_to_writers(f);
    set_version(f, STORE_VERSION);
    f->s = test_open(&f->opener);
}

static void a_name_with_signs_of_a_uri_is_a_name(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = three_events(f->s);
    const struct expected expected = {.events = 3};
    struct place *place = f->user;
    char odd[256];
    close_store(f);
    snprintf(odd, sizeof odd, "%s/state/a?b#c%%41.db", place->directory);
    copy_file(place->path, odd);
    chmod(odd, 0444);
    close_to_writers(f);
    check_reads(odd, &run, &expected);
    open_to_writers(f);
    remove(odd);
    f->s = test_open(&f->opener);
}

static void a_file_that_may_not_be_read_says_so(void **state)
{
    struct store_fixture *f = *state;
    struct test_run run = three_events(f->s);
    close_store(f);
    close_to_writers(f);
    chmod(path_of(f), 0);
    check_code(path_of(f), &run, ERR_IO, "cannot be opened");
    open_to_writers(f);
    f->s = test_open(&f->opener);
}

int main(void)
{
    const struct CMUnitTest own[] = {
        PROMISE(reading_makes_no_store),
        PROMISE(who_may_write_reads_as_ever),
        PROMISE(a_store_without_a_log_is_read_as_it_is),
        PROMISE(a_reader_follows_a_writer),
        PROMISE(a_log_without_an_index_is_read_too),
        PROMISE(a_writer_that_comes_while_it_is_read_is_noticed),
        PROMISE(other_versions_are_refused_with_advice),
        PROMISE(a_name_with_signs_of_a_uri_is_a_name),
        PROMISE(a_file_that_may_not_be_read_says_so),
    };
    return place_run("store_readonly", PLACE_OWN_TESTS, own, sizeof own / sizeof own[0]);
}
