/* See board.h. The list of posted notes stands under a lock that is held for the copy of one line at a time. */
#include "engine/board.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/utf8.h"

#define LOOK_MS 100

struct board {
    pthread_mutex_t lock;
    struct board_note *first, **last;
    size_t count;
    uv_async_t async;
    uv_timer_t timer;
    uint64_t looked; /* the loop's time of the last look */
    void (*shown)(struct board_note *note, struct str text);
    int handles; /* still open, while it is freed */
};

void board_post(struct board *board, struct board_note *note, struct str text)
{
    text = utf8_cut(text, BOARD_LINE);
    pthread_mutex_lock(&board->lock);
    memcpy(note->text, text.p, text.n);
    note->n = text.n;
    bool news = note->state == NOTE_SEEN;
    if (news) {
        note->state = NOTE_POSTED;
        note->next = NULL;
        *board->last = note;
        board->last = &note->next;
        board->count++;
    }
    pthread_mutex_unlock(&board->lock);
    if (news)
        uv_async_send(&board->async);
}

/* With the lock held. */
static void take_down(struct board *board, struct board_note **at)
{
    struct board_note *note = *at;
    if (note == NULL)
        return;
    *at = note->next;
    if (board->last == &note->next)
        board->last = at;
    note->next = NULL;
    note->state = NOTE_SEEN;
    board->count--;
}

void board_drop(struct board *board, struct board_note *note)
{
    pthread_mutex_lock(&board->lock);
    struct board_note **at = &board->first;
    while (*at != NULL && *at != note)
        at = &(*at)->next;
    if (*at == note)
        take_down(board, at);
    pthread_mutex_unlock(&board->lock);
}

/* Shows what was posted until now; what is posted meanwhile waits for the next look. */
static void look(struct board *board)
{
    char text[BOARD_LINE];
    pthread_mutex_lock(&board->lock);
    size_t count = board->count;
    pthread_mutex_unlock(&board->lock);
    for (; count > 0; count--) {
        pthread_mutex_lock(&board->lock);
        struct board_note *note = board->first;
        size_t n = 0;
        if (note != NULL) {
            n = note->n;
            memcpy(text, note->text, n);
            take_down(board, &board->first);
        }
        pthread_mutex_unlock(&board->lock);
        if (note == NULL)
            break;
        board->shown(note, (struct str){text, n});
    }
    board->looked = uv_now(board->timer.loop);
}

static void on_timer(uv_timer_t *timer)
{
    look(timer->data);
}

static void on_async(uv_async_t *async)
{
    struct board *board = async->data;
    uint64_t since = uv_now(async->loop) - board->looked;
    if (uv_is_active((uv_handle_t *)&board->timer))
        return;
    if (since >= LOOK_MS)
        look(board);
    else
        uv_timer_start(&board->timer, on_timer, LOOK_MS - since, 0);
}

struct board *board_new(uv_loop_t *loop, void (*shown)(struct board_note *note, struct str text))
{
    struct board *board = calloc(1, sizeof *board);
    if (board == NULL)
        abort();
    board->shown = shown;
    board->last = &board->first;
    board->handles = 2;
    pthread_mutex_init(&board->lock, NULL);
    uv_async_init(loop, &board->async, on_async);
    uv_timer_init(loop, &board->timer);
    board->async.data = board->timer.data = board;
    /* What is shown keeps nothing going. */
    uv_unref((uv_handle_t *)&board->async);
    uv_unref((uv_handle_t *)&board->timer);
    return board;
}

static void on_closed(uv_handle_t *handle)
{
    struct board *board = handle->data;
    if (--board->handles > 0)
        return;
    pthread_mutex_destroy(&board->lock);
    free(board);
}

void board_free(struct board *board)
{
    uv_close((uv_handle_t *)&board->async, on_closed);
    uv_close((uv_handle_t *)&board->timer, on_closed);
}
