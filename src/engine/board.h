/* A board on which threads put up what they are doing, a line each, for the loop to show. The latest line wins, a thread never
 * waits for the reader, and the loop looks at most ten times a second: how fast a program prints changes nothing.
 *
 * board_post is for any thread, everything else for the loop's. A note is the caller's memory; it must be dropped from the board
 * before it goes, when nobody posts it any more. */
#ifndef CADRE_ENGINE_BOARD_H
#define CADRE_ENGINE_BOARD_H

#include <uv.h>

#include "base/str.h"

#define BOARD_LINE 240 /* bytes of a note; what is longer is cut */

struct board;

struct board_note {
    struct board_note *next; /* the board's */
    enum { NOTE_SEEN, NOTE_POSTED } state;
    char text[BOARD_LINE];
    size_t n;
    void *user;
};

/* shown: on the loop, with the note's latest line. Aborts without memory. */
struct board *board_new(uv_loop_t *loop, void (*shown)(struct board_note *note, struct str text));
void board_post(struct board *board, struct board_note *note, struct str text);
void board_drop(struct board *board, struct board_note *note);
/* Nothing may be on it. The loop must run until its handles are closed. */
void board_free(struct board *board);

#endif
