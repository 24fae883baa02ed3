/* The live tree: redraws in place at most ten times a second, hides the cursor meanwhile and gives
 * it back on every way out of the process that can be caught. Only for a terminal. Loop thread. */
#ifndef CADRE_CLI_SCREEN_H
#define CADRE_CLI_SCREEN_H

#include <uv.h>

#include "cli/output.h"
#include "cli/view.h"

#define SCREEN_LINES_MAX 512

struct screen {
    struct output *output;
    const struct view *view;
    int64_t (*now)(void);
    uv_timer_t timer;
    uv_signal_t resized, suspended, continued;
    int widths[SCREEN_LINES_MAX]; /* of the lines that stand on the screen */
    int line_count;
    enum { LAST_LINE_ENDED, LAST_LINE_OPEN } last_line; /* OPEN: the cursor stands behind it */
    void (*footer)(void *user, int lines, struct buf *out);
    void *footer_user;
    enum { SCREEN_PAUSED, SCREEN_DRAWING } state;
};

/* Starts drawing; the view outlives it. */
int screen_start(struct screen *screen, uv_loop_t *loop, struct output *output,
                 const struct view *view, int64_t (*now)(void), struct err *err) NODISCARD;
/* What stands below the tree from now on: appends at most `lines` lines, the last without a newline; the cursor is shown behind it. The tree
 * gets the room that is left. NULL: nothing. */
void screen_footer(struct screen *screen, void (*footer)(void *user, int lines, struct buf *out),
                   void *user);
/* Draws at once, unless it is paused. */
void screen_draw(struct screen *screen);
/* Takes the tree off the screen, so that other text can be written, and draws it again beneath. */
void screen_pause(struct screen *screen);
void screen_resume(struct screen *screen);
/* Leaves the whole tree, as it is now, in the scrollback, shows the cursor and closes the handles
 * (the loop must run once more). */
void screen_stop(struct screen *screen);
/* Shows the cursor. Safe in a signal handler; does nothing to a stdout that is no terminal. */
void screen_restore_cursor(void);

#endif
