/* The tree of agents as text: a pure function from rows to lines, for the live display and for
 * `cadre tree`. No line is wider than the style says, whatever the rows hold. */
#ifndef CADRE_CLI_TREE_H
#define CADRE_CLI_TREE_H

#include <stdint.h>

#include "cli/output.h"

enum tree_state {
    TREE_WAITING, /* for a slot, for budget, for its turn */
    TREE_WORKING,
    TREE_ASKING, /* a person must answer */
    TREE_DONE,
    TREE_REFUSED, /* done, but calls of it or of agents below it were refused */
    TREE_FAILED,
    TREE_CANCELLED,
    TREE_STATE_COUNT
};

/* One agent. Rows stand in the order of their numbers; a row's parent stands before it; the first
 * is the root. Text may be anything: it is cleaned and cut here. */
struct tree_row {
    uint32_t parent; /* index of the parent's row; the root's is its own */
    enum tree_state state;
    struct str name, role;
    struct str activity;            /* what it does now, or how it ended */
    int64_t tool_calls, tool_limit; /* limit -1: none */
    int64_t tokens;
    int64_t cost_nano;      /* billed; -1: prices are not known */
    int64_t cost_most_nano; /* with requests that ended without a bill */
    struct str tail;        /* the end of the text that streams in, or empty */
    enum { TAIL_TEXT, TAIL_REASONING } tail_is;
};

struct tree_style {
    int columns;
    int lines; /* at most this many; 0: all. What is left out is counted in a last line */
    enum output_colour colour;
    enum output_glyphs glyphs;
};

/* Appends the lines, each ended by a newline. */
void tree_render(const struct tree_row *rows, size_t count, const struct tree_style *style,
                 struct buf *out);

#endif
