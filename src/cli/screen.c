/* Redrawing in place: move up over the lines that stand there, write each line anew, clear what is
 * left. The lines' widths are kept, because a terminal that became narrower has wrapped them. While
 * the terminal has not taken the last frame, no other is drawn: only the latest state matters. */
#include "cli/screen.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/keys.h"

#define INTERVAL_MS 100
#define TREE_PART 3  /* the tree keeps a third of the screen, or what it needs */
#define DRAIN_MS 100 /* before the process stops: a frame is not left half written */
#define FRAME_MAX ((size_t)4 << 20)
#define HIDE_CURSOR "\x1b[?25l"
#define SHOW_CURSOR "\x1b[?25h"

void screen_restore_cursor(void)
{
    /* A terminal that takes nothing (Ctrl-S) must not hold up the way out. */
    struct pollfd wanted = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (isatty(STDOUT_FILENO) && poll(&wanted, 1, 0) == 1 && (wanted.revents & POLLOUT) != 0 &&
        write(STDOUT_FILENO, SHOW_CURSOR, sizeof SHOW_CURSOR - 1) < 0)
        return;
}

/* The signal's own action follows: SA_RESETHAND. */
static void on_fatal(int number)
{
    keys_restore();
    screen_restore_cursor();
    raise(number);
}

static void catch_fatal_signals(void)
{
    static const int numbers[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGQUIT};
    struct sigaction action = {.sa_handler = on_fatal, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
}

static void erase(struct screen *screen, struct buf *frame)
{
    int columns, lines, up = 0;
    output_size(screen->output, &columns, &lines);
    for (int i = 0; i < screen->line_count; i++)
        up += screen->widths[i] > columns ? (screen->widths[i] + columns - 1) / columns : 1;
    if (screen->last_line == LAST_LINE_OPEN && up > 0)
        up--;
    if (up > lines - 1)
        up = lines - 1;
    if (up > 0)
        buf_printf(frame, "\r\x1b[%dA", up);
    else
        buf_char(frame, '\r');
    screen->line_count = 0;
    screen->last_line = LAST_LINE_ENDED;
}

static void write_frame(struct screen *screen, const struct buf *frame)
{
    fwrite(frame->p, 1, frame->n, screen->output->out);
    fflush(screen->output->out);
}

/* Columns of a line without its escape sequences. */
static int width_of(struct str line)
{
    struct buf clean;
    buf_init(&clean, 65536);
    utf8_clean(&clean, line, UTF8_ONE_LINE);
    int width = utf8_width(buf_view(&clean));
    buf_release(&clean);
    return width;
}

/* Adds the lines, each cleared to its end; the last may have no newline. */
static void add_lines(struct screen *screen, struct str text, struct buf *frame)
{
    while (text.n > 0) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end != NULL ? (size_t)(end - text.p) : text.n;
        buf_add(frame, text.p, n);
        buf_text(frame, end != NULL ? "\x1b[K\n" : "\x1b[K");
        screen->last_line = end != NULL ? LAST_LINE_ENDED : LAST_LINE_OPEN;
        if (screen->line_count < SCREEN_LINES_MAX)
            screen->widths[screen->line_count++] = width_of((struct str){text.p, n});
        text.p += n + (end != NULL);
        text.n -= n + (end != NULL);
    }
}

static int count_lines(struct str text)
{
    int lines = text.n > 0 && text.p[text.n - 1] != '\n';
    for (size_t i = 0; i < text.n; i++)
        lines += text.p[i] == '\n';
    return lines;
}

/* What stands below the tree; returns the lines that the tree has left. */
static int add_footer(struct screen *screen, int limit, struct buf *footer)
{
    int tree = limit / TREE_PART;
    if (screen->footer == NULL)
        return limit;
    if (screen->view->count < (size_t)tree)
        tree = (int)screen->view->count;
    screen->footer(screen->footer_user, limit - tree, footer);
    int left = limit - count_lines(buf_view(footer));
    return left > 1 ? left : 1;
}

enum extent { EXTENT_SCREEN, EXTENT_ALL };

static void draw(struct screen *screen, enum extent extent)
{
    struct buf frame, tree, footer;
    int columns, lines;
    output_size(screen->output, &columns, &lines);
    buf_init(&footer, FRAME_MAX / 4);
    int limit = lines > 3 ? lines - 2 : 1;
    if (extent == EXTENT_SCREEN)
        limit = add_footer(screen, limit, &footer);
    /* One column is kept free: a line that fills its last column would wrap on some terminals. */
    struct tree_style style = {columns - 1, extent == EXTENT_SCREEN ? limit : 0,
                               screen->output->colour, screen->output->glyphs};
    if (style.lines > SCREEN_LINES_MAX)
        style.lines = SCREEN_LINES_MAX;
    buf_init(&frame, FRAME_MAX);
    buf_init(&tree, FRAME_MAX / 2);
    erase(screen, &frame);
    view_render(screen->view, screen->now(), &style, &tree);
    add_lines(screen, buf_view(&tree), &frame);
    add_lines(screen, buf_view(&footer), &frame);
    buf_text(&frame, footer.n > 0 ? "\x1b[J" SHOW_CURSOR : "\x1b[J");
    write_frame(screen, &frame);
    buf_release(&footer);
    buf_release(&tree);
    buf_release(&frame);
}

static void on_timer(uv_timer_t *timer)
{
    struct screen *screen = timer->data;
    if (screen->state == SCREEN_DRAWING && output_state(screen->output) == OUTPIPE_IDLE)
        draw(screen, EXTENT_SCREEN);
}

static void on_resized(uv_signal_t *handle, int number)
{
    on_timer(&((struct screen *)handle->data)->timer);
}

static void on_suspended(uv_signal_t *handle, int number)
{
    struct screen *screen = handle->data;
    output_drain(screen->output, DRAIN_MS);
    keys_restore();
    screen_restore_cursor();
    raise(SIGSTOP);
}

static void on_continued(uv_signal_t *handle, int number)
{
    struct screen *screen = handle->data;
    keys_take_again();
    if (screen->state != SCREEN_DRAWING)
        return;
    /* The shell has written since: what stood here is scrollback now. */
    screen->line_count = 0;
    screen->last_line = LAST_LINE_ENDED;
    fputs(HIDE_CURSOR, screen->output->out);
    draw(screen, EXTENT_SCREEN);
}

int screen_start(struct screen *screen, uv_loop_t *loop, struct output *output,
                 const struct view *view, int64_t (*now)(void), struct err *err)
{
    *screen = (struct screen){.output = output, .view = view, .now = now};
    int result = uv_timer_init(loop, &screen->timer);
    if (result == 0)
        result = uv_signal_init(loop, &screen->resized);
    if (result == 0)
        result = uv_signal_init(loop, &screen->suspended);
    if (result == 0)
        result = uv_signal_init(loop, &screen->continued);
    if (result != 0)
        return err_set(err, ERR_IO, "the display could not be started: %s", uv_strerror(result));
    screen->timer.data = screen->resized.data = screen->suspended.data = screen->continued.data =
        screen;
    uv_timer_start(&screen->timer, on_timer, 0, INTERVAL_MS);
    uv_signal_start(&screen->resized, on_resized, SIGWINCH);
    uv_signal_start(&screen->suspended, on_suspended, SIGTSTP);
    uv_signal_start(&screen->continued, on_continued, SIGCONT);
    uv_unref((uv_handle_t *)&screen->resized);
    uv_unref((uv_handle_t *)&screen->suspended);
    uv_unref((uv_handle_t *)&screen->continued);
    catch_fatal_signals();
    atexit(screen_restore_cursor);
    atexit(keys_restore);
    screen->state = SCREEN_DRAWING;
    fputs(HIDE_CURSOR, output->out);
    fflush(output->out);
    return 0;
}

void screen_draw(struct screen *screen)
{
    on_timer(&screen->timer);
}

void screen_footer(struct screen *screen, void (*footer)(void *user, int lines, struct buf *out),
                   void *user)
{
    screen->footer = footer;
    screen->footer_user = user;
    if (footer == NULL && screen->state == SCREEN_DRAWING) {
        fputs(HIDE_CURSOR, screen->output->out);
        draw(screen, EXTENT_SCREEN);
    }
}

void screen_pause(struct screen *screen)
{
    struct buf frame;
    if (screen->state == SCREEN_PAUSED)
        return;
    buf_init(&frame, 256);
    erase(screen, &frame);
    buf_text(&frame, "\x1b[J" SHOW_CURSOR);
    write_frame(screen, &frame);
    buf_release(&frame);
    screen->state = SCREEN_PAUSED;
}

void screen_resume(struct screen *screen)
{
    if (screen->state == SCREEN_DRAWING)
        return;
    screen->state = SCREEN_DRAWING;
    fputs(HIDE_CURSOR, screen->output->out);
    draw(screen, EXTENT_SCREEN);
}

void screen_stop(struct screen *screen)
{
    screen->footer = NULL;
    draw(screen, EXTENT_ALL);
    fputs(SHOW_CURSOR, screen->output->out);
    fflush(screen->output->out);
    screen->state = SCREEN_PAUSED;
    uv_close((uv_handle_t *)&screen->timer, NULL);
    uv_close((uv_handle_t *)&screen->resized, NULL);
    uv_close((uv_handle_t *)&screen->suspended, NULL);
    uv_close((uv_handle_t *)&screen->continued, NULL);
}
