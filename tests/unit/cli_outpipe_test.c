/* cli/outpipe: whoever prints does not wait, what was printed arrives whole and in order, and an end that cannot be had
 * is told. */
#include "cli/outpipe.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

#define PIPE_BYTES 4096
#define PATIENCE_MS 60000

struct rig {
    int ends[2]; /* of the pipe: the reader's, the writer's */
    struct outpipe *pipe;
    FILE *stream;
    pthread_mutex_t lock;
    pthread_cond_t told;
    int times; /* that the listener was called */
    /* ABANDONED: a writer still uses its end of the pipe, which stays open as stdout does. */
    enum { WRITER_ENDED, WRITER_ABANDONED } writer;
};

static void on_changed(void *user)
{
    struct rig *rig = user;
    pthread_mutex_lock(&rig->lock);
    rig->times++;
    pthread_cond_broadcast(&rig->told);
    pthread_mutex_unlock(&rig->lock);
}

static int times_told(struct rig *rig)
{
    pthread_mutex_lock(&rig->lock);
    int times = rig->times;
    pthread_mutex_unlock(&rig->lock);
    return times;
}

static int setup(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    struct err err = ERR_INIT;
    assert_non_null(rig);
    signal(SIGPIPE, SIG_IGN);
    pthread_mutex_init(&rig->lock, NULL);
    pthread_cond_init(&rig->told, NULL);
    assert_int_equal(pipe2(rig->ends, O_CLOEXEC), 0);
    assert_true(fcntl(rig->ends[1], F_SETPIPE_SZ, PIPE_BYTES) >= PIPE_BYTES);
    assert_int_equal(outpipe_open(rig->ends[1], &rig->pipe, &err), 0);
    outpipe_listen(rig->pipe, on_changed, rig);
    rig->stream = outpipe_stream(rig->pipe);
    *state = rig;
    return 0;
}

static int teardown(void **state)
{
    struct rig *rig = *state;
    if (rig->ends[0] >= 0)
        close(rig->ends[0]);
    if (rig->writer == WRITER_ENDED)
        close(rig->ends[1]);
    pthread_cond_destroy(&rig->told);
    pthread_mutex_destroy(&rig->lock);
    free(rig);
    return 0;
}

/* Numbered lines of 64 bytes. */
static void print_lines(struct rig *rig, int from, int to)
{
    for (int i = from; i < to; i++)
        fprintf(rig->stream, "%063d\n", i);
    fflush(rig->stream);
}

static void check_lines(struct rig *rig, int from, int to)
{
    char line[65] = {0}, expected[65];
    for (int i = from; i < to; i++) {
        for (size_t n = 0; n < 64;) {
            ssize_t got = read(rig->ends[0], line + n, 64 - n);
            assert_true(got > 0);
            n += (size_t)got;
        }
        snprintf(expected, sizeof expected, "%063d\n", i);
        assert_string_equal(line, expected);
    }
}

static void wait_until_told(struct rig *rig, int times)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    pthread_mutex_lock(&rig->lock);
    while (rig->times < times)
        assert_int_equal(pthread_cond_timedwait(&rig->told, &rig->lock, &until), 0);
    pthread_mutex_unlock(&rig->lock);
}

static void close_well(struct rig *rig)
{
    struct err err = ERR_INIT;
    fclose(rig->stream);
    assert_int_equal(outpipe_close(rig->pipe, PATIENCE_MS, &err), 0);
}

static void printing_does_not_wait_for_the_reader_and_everything_arrives_in_order(void **state)
{
    struct rig *rig = *state;
    print_lines(rig, 0, 1000);
    assert_int_equal(outpipe_state(rig->pipe), OUTPIPE_BUSY);
    check_lines(rig, 0, 500);
    print_lines(rig, 1000, 2000);
    check_lines(rig, 500, 2000);
    close_well(rig);
}

static void a_pipe_above_its_mark_is_full_and_tells_when_there_is_room_again(void **state)
{
    struct rig *rig = *state;
    struct err err = ERR_INIT;
    int lines = (int)(OUTPIPE_MARK / 64) + PIPE_BYTES / 64;
    print_lines(rig, 0, lines);
    assert_int_equal(outpipe_state(rig->pipe), OUTPIPE_FULL);
    assert_int_equal(times_told(rig), 0);
    check_lines(rig, 0, lines);
    wait_until_told(rig, 1);
    assert_true(outpipe_state(rig->pipe) < OUTPIPE_FULL);
    assert_int_equal(outpipe_drain(rig->pipe, PATIENCE_MS, &err), 0);
    assert_int_equal(outpipe_taken(rig->pipe), (uint64_t)lines * 64);
    close_well(rig);
    assert_int_equal(times_told(rig), 1);
}

static void a_reader_that_goes_away_breaks_the_pipe_at_once(void **state)
{
    struct rig *rig = *state;
    struct err err = ERR_INIT;
    print_lines(rig, 0, 1000);
    close(rig->ends[0]);
    rig->ends[0] = -1;
    wait_until_told(rig, 1);
    assert_int_equal(outpipe_state(rig->pipe), OUTPIPE_BROKEN);
    assert_true(fputs("more\n", rig->stream) < 0 || fflush(rig->stream) != 0);
    fclose(rig->stream);
    assert_int_equal(outpipe_close(rig->pipe, PATIENCE_MS, &err), -1);
    assert_int_equal(err.class, ERR_IO);
    assert_string_equal(err.message, "the output could not be written: Broken pipe");
}

static void a_reader_that_stands_still_is_given_up_at_the_deadline(void **state)
{
    struct rig *rig = *state;
    struct err err = ERR_INIT;
    print_lines(rig, 0, 1000);
    fclose(rig->stream);
    rig->writer = WRITER_ABANDONED;
    assert_int_equal(outpipe_close(rig->pipe, 20, &err), -1);
    assert_int_equal(err.class, ERR_TIMEOUT);
    assert_non_null(strstr(err.message, "nobody reads the output any more"));
    /* The writer was left behind with what it has: it still ends when the reader goes on. */
    check_lines(rig, 0, 1000);
}

static void more_than_the_maximum_breaks_the_pipe_instead_of_being_skipped(void **state)
{
    struct rig *rig = *state;
    struct err err = ERR_INIT;
    size_t piece = 1 << 20, pieces = 0;
    char *bytes = calloc(1, piece);
    assert_non_null(bytes);
    while (outpipe_state(rig->pipe) != OUTPIPE_BROKEN) {
        fwrite(bytes, 1, piece, rig->stream);
        assert_true(++pieces <= OUTPIPE_MAX / piece + 1);
    }
    assert_true(pieces >= OUTPIPE_MAX / piece);
    free(bytes);
    assert_true(ferror(rig->stream));
    fclose(rig->stream);
    rig->writer = WRITER_ABANDONED;
    assert_int_equal(outpipe_close(rig->pipe, 0, &err), -1);
    assert_int_equal(err.class, ERR_IO);
}

/* Another process may have made the open file non-blocking. */
static void a_descriptor_that_does_not_block_is_waited_for(void **state)
{
    struct rig *rig = *state;
    assert_int_equal(fcntl(rig->ends[1], F_SETFL, O_NONBLOCK), 0);
    print_lines(rig, 0, 1000);
    poll(NULL, 0, 20);
    check_lines(rig, 0, 1000);
    close_well(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(printing_does_not_wait_for_the_reader_and_everything_arrives_in_order),
        TEST(a_pipe_above_its_mark_is_full_and_tells_when_there_is_room_again),
        TEST(a_reader_that_goes_away_breaks_the_pipe_at_once),
        TEST(a_reader_that_stands_still_is_given_up_at_the_deadline),
        TEST(more_than_the_maximum_breaks_the_pipe_instead_of_being_skipped),
        TEST(a_descriptor_that_does_not_block_is_waited_for),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
