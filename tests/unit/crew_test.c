/* engine/crew and engine/board: long work off the loop, and what it says meanwhile. */
#include "engine/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "engine/board.h"
#include "unit/check.h"

#define JOBS_MAX 64

struct room {
    uv_loop_t loop;
    struct crew *crew;
    pthread_mutex_t door; /* jobs wait behind it */
    atomic_int inside, most_inside, done;
    int on_loop; /* how many came back on the thread of the loop */
    pthread_t loop_thread;
    struct {
        struct crew_job job;
        struct room *room;
        int number;
    } jobs[JOBS_MAX];
    int order[JOBS_MAX];
};

static struct room room;

static void run(void *user)
{
    int inside = atomic_fetch_add(&room.inside, 1) + 1, most = atomic_load(&room.most_inside);
    while (inside > most && !atomic_compare_exchange_weak(&room.most_inside, &most, inside))
        continue;
    pthread_mutex_lock(&room.door);
    pthread_mutex_unlock(&room.door);
    atomic_fetch_sub(&room.inside, 1);
}

static void done(void *user)
{
    room.order[atomic_fetch_add(&room.done, 1)] = *(int *)user;
    room.on_loop += pthread_equal(pthread_self(), room.loop_thread) != 0;
}

static void begin(size_t most, int64_t idle_ms)
{
    room = (struct room){.loop_thread = pthread_self()};
    uv_loop_init(&room.loop);
    pthread_mutex_init(&room.door, NULL);
    room.crew = crew_new(&room.loop, most, idle_ms);
}

static void add(int count)
{
    for (int i = 0; i < count; i++) {
        room.jobs[i].number = i;
        room.jobs[i].job =
            (struct crew_job){.run = run, .done = done, .user = &room.jobs[i].number};
        crew_add(room.crew, &room.jobs[i].job);
    }
}

static void wait_for(int count)
{
    while (atomic_load(&room.done) < count)
        uv_run(&room.loop, UV_RUN_ONCE);
}

static void end(void)
{
    crew_free(room.crew);
    uv_run(&room.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&room.loop), 0);
    pthread_mutex_destroy(&room.door);
}

static void jobs_run_side_by_side_up_to_the_maximum_and_the_rest_waits(void **state)
{
    begin(8, 10000);
    pthread_mutex_lock(&room.door);
    add(20);
    uv_run(&room.loop, UV_RUN_NOWAIT); /* before the loop waits, jobs are handed over */
    while (atomic_load(&room.inside) < 8)
        usleep(1000);
    assert_int_equal(crew_size(room.crew), 8);
    pthread_mutex_unlock(&room.door);
    wait_for(20);
    assert_int_equal(room.most_inside, 8);
    assert_int_equal(room.on_loop, 20);
    end();
}

static void one_thread_takes_jobs_in_their_order(void **state)
{
    begin(1, 10000);
    add(20);
    wait_for(20);
    for (int i = 0; i < 20; i++)
        assert_int_equal(room.order[i], i);
    end();
}

static void an_idle_thread_serves_the_next_job(void **state)
{
    begin(8, 10000);
    for (int i = 0; i < 5; i++) {
        add(1);
        wait_for(1);
        atomic_store(&room.done, 0);
        /* It is idle a moment after its job came back. */
        usleep(20000);
    }
    assert_int_equal(crew_size(room.crew), 1);
    end();
}

static void idle_threads_end(void **state)
{
    begin(8, 20);
    add(8);
    wait_for(8);
    while (crew_size(room.crew) > 0)
        usleep(1000);
    add(1); /* and one starts again when it is needed */
    wait_for(9);
    end();
}

static void jobs_start_before_the_loop_turns_when_there_are_many(void **state)
{
    begin(2, 10000);
    pthread_mutex_lock(&room.door);
    add(JOBS_MAX);
    while (atomic_load(&room.inside) < 2)
        usleep(1000);
    pthread_mutex_unlock(&room.door);
    wait_for(JOBS_MAX);
    assert_int_equal(room.on_loop, JOBS_MAX);
    end();
}

static void an_unused_crew_can_be_freed(void **state)
{
    begin(8, 10000);
    assert_int_equal(crew_size(room.crew), 0);
    end();
}

/* --- the board ----------------------------------------------------------------------------------------------------------- */

static struct {
    int shown;
    char last[BOARD_LINE + 1];
    void *user;
} seen;

static void shown(struct board_note *note, struct str text)
{
    seen.shown++;
    snprintf(seen.last, sizeof seen.last, "%.*s", STR_FMT(text));
    seen.user = note->user;
}

static void *post_many(void *user)
{
    void **pair = user;
    for (int i = 0; i <= 100000; i++) {
        char text[32];
        int n = snprintf(text, sizeof text, "line %d", i);
        board_post(pair[0], pair[1], (struct str){text, (size_t)n});
    }
    return NULL;
}

static uv_loop_t board_loop;
static uv_async_t something_else; /* keeps the loop going, as an engine does */

static struct board *open_board(void)
{
    seen.shown = 0;
    uv_loop_init(&board_loop);
    uv_async_init(&board_loop, &something_else, NULL);
    return board_new(&board_loop, shown);
}

static void close_board(struct board *board)
{
    board_free(board);
    uv_close((uv_handle_t *)&something_else, NULL);
    uv_run(&board_loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&board_loop), 0);
}

static void the_latest_line_is_shown_and_not_every_one(void **state)
{
    struct board_note note = {.user = &seen};
    pthread_t thread;
    struct board *board = open_board();
    void *pair[] = {board, &note};
    assert_int_equal(pthread_create(&thread, NULL, post_many, pair), 0);
    while (strcmp(seen.last, "line 100000") != 0)
        uv_run(&board_loop, UV_RUN_NOWAIT);
    pthread_join(thread, NULL);
    assert_true(seen.shown < 1000);
    assert_ptr_equal(seen.user, &seen);
    close_board(board);
}

static void what_is_dropped_is_not_shown(void **state)
{
    struct board_note kept = {.user = "kept"}, dropped = {.user = "dropped"};
    struct board *board = open_board();
    board_post(board, &dropped, STR("one"));
    board_post(board, &kept, STR("two"));
    board_drop(board, &dropped);
    board_drop(board, &dropped);
    while (seen.shown == 0)
        uv_run(&board_loop, UV_RUN_NOWAIT);
    assert_string_equal(seen.user, "kept");
    assert_string_equal(seen.last, "two");
    board_drop(board, &kept);
    uv_run(&board_loop, UV_RUN_NOWAIT);
    assert_int_equal(seen.shown, 1);
    close_board(board);
}

static void a_long_line_is_cut_between_characters(void **state)
{
    struct board_note note = {.user = NULL};
    char text[2 * BOARD_LINE + 1];
    for (size_t i = 0; i < sizeof text - 1; i += 2)
        memcpy(text + i, "é", 2);
    struct board *board = open_board();
    board_post(board, &note, (struct str){text + 1, sizeof text - 2});
    board_post(board, &note, (struct str){text, sizeof text - 1});
    while (seen.shown == 0)
        uv_run(&board_loop, UV_RUN_NOWAIT);
    assert_int_equal(strlen(seen.last), BOARD_LINE);
    close_board(board);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_run_side_by_side_up_to_the_maximum_and_the_rest_waits),
        cmocka_unit_test(one_thread_takes_jobs_in_their_order),
        cmocka_unit_test(an_idle_thread_serves_the_next_job),
        cmocka_unit_test(idle_threads_end),
        cmocka_unit_test(jobs_start_before_the_loop_turns_when_there_are_many),
        cmocka_unit_test(an_unused_crew_can_be_freed),
        cmocka_unit_test(the_latest_line_is_shown_and_not_every_one),
        cmocka_unit_test(what_is_dropped_is_not_shown),
        cmocka_unit_test(a_long_line_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
