/* A plan as a drawing for a terminal: one line a step, prerequisites above what needs them, lines between them. No line is wider
 * than the style says, whatever the plan holds; where there are more lines side by side than fit, the step's prerequisites stand
 * in words alone.
 *
 * Pure; any thread. */
#ifndef CADRE_CORE_PLAN_GRAPH_H
#define CADRE_CORE_PLAN_GRAPH_H

#include "core/plan/schedule.h"

struct graph_style {
    int columns; /* of the terminal */
    enum { GRAPH_ASCII, GRAPH_BOXES } glyphs;
};

/* Appends the lines, each ended by a newline. */
void graph_render(const struct schedule *schedule, const struct step_state *states,
                  const struct graph_style *style, struct buf *out);

#endif
