/* See graph.h. Steps stand in integration order, each at the foot of a column. From a step that others need, one line runs down its
 * column until the last of them; in front of a step that needs others, a line across gathers theirs. Where two lines cross without
 * meeting, the one that runs down is drawn. Pure; any thread. */
#include "core/plan/graph.h"

#include "base/utf8.h"

enum { COLUMNS_MIN = 20, LANES_MAX = 12, LANE_WIDTH = 2, LINE_BYTES = 8192 };

/* Which ways lead out of a cell. */
enum { WAY_UP = 1, WAY_DOWN = 2, WAY_LEFT = 4, WAY_RIGHT = 8, WAYS = 16 };

struct glyphs {
    const char *ways[WAYS];
    const char *states[STEP_STATUS_COUNT];
    const char *cut, *needs, *separator;
};

static const struct glyphs glyph_sets[] = {
    [GRAPH_ASCII] = {{" ", "|", "|", "|", "-", "+", "+", "+", "-", "+", "+", "+", "-", "+", "+",
                      "+"},
                     {"o", "*", "v", "x", "-", "?"},
                     "...",
                     "<- ",
                     ", "},
    [GRAPH_BOXES] = {{" ", "│", "│", "│", "─", "╯", "╮", "┤", "─", "╰", "╭", "├", "─", "┴", "┬",
                      "┼"},
                     {"○", "●", "✓", "✗", "⊘", "?"},
                     "…",
                     "← ",
                     " · "},
};

#define FREE SIZE_MAX

struct drawing {
    const struct schedule *schedule;
    const struct plan *plan;
    const struct step_state *states;
    const struct glyphs *glyphs;
    struct buf *out;
    size_t lanes[LANES_MAX]; /* whose line runs down here; FREE: nobody's */
    size_t width;            /* lanes that the drawing may use; 0: no lines are drawn */
    size_t last_need
        [PLAN_STEPS_MAX]; /* of each step: the rank of the last one that needs it; its own where none does */
    size_t used;          /* columns of the widest row of lanes */
    int columns;
};

static bool needs(const struct plan_step *step, size_t other)
{
    for (size_t k = 0; k < step->depends_on.n; k++)
        if (step->needs[k] == other)
            return true;
    return false;
}

/* --- lanes -------------------------------------------------------------------------------------------------- */

static void find_last_needs(struct drawing *d)
{
    for (size_t i = 0; i < d->plan->count; i++)
        d->last_need[i] = d->schedule->rank[i];
    for (size_t i = 0; i < d->plan->count; i++)
        for (size_t k = 0; k < d->plan->steps[i].depends_on.n; k++) {
            size_t need = d->plan->steps[i].needs[k];
            if (d->schedule->rank[i] > d->last_need[need])
                d->last_need[need] = d->schedule->rank[i];
        }
}

/* A step continues the first line that ends with it, else it starts a new column. FREE: there is none left. */
static size_t lane_for(const struct drawing *d, size_t step)
{
    size_t rank = d->schedule->rank[step], free_lane = FREE;
    for (size_t i = d->width; i-- > 0;) {
        if (d->lanes[i] == FREE)
            free_lane = i;
    }
    for (size_t i = 0; i < d->width; i++)
        if (d->lanes[i] != FREE && needs(&d->plan->steps[step], d->lanes[i]) &&
            d->last_need[d->lanes[i]] == rank)
            return i;
    return free_lane;
}

/* After the step's own row: lines that ended with it are gone, its own begins. */
static void lanes_after(struct drawing *d, size_t step, size_t lane)
{
    size_t rank = d->schedule->rank[step];
    for (size_t i = 0; i < d->width; i++)
        if (d->lanes[i] != FREE && d->last_need[d->lanes[i]] <= rank)
            d->lanes[i] = FREE;
    if (d->last_need[step] > rank)
        d->lanes[lane] = step;
}

/* Whether all lines find a column, and how many are in use at once. */
static bool lanes_fit(struct drawing *d)
{
    d->used = 0;
    for (size_t i = 0; i < LANES_MAX; i++)
        d->lanes[i] = FREE;
    for (size_t place = 0; place < d->plan->count; place++) {
        size_t lane = lane_for(d, d->schedule->order[place]);
        if (lane == FREE)
            return false;
        if (lane + 1 > d->used)
            d->used = lane + 1;
        lanes_after(d, d->schedule->order[place], lane);
    }
    return true;
}

/* --- rows --------------------------------------------------------------------------------------------------- */

static void end_row(struct drawing *d)
{
    while (d->out->n > 0 && d->out->p[d->out->n - 1] == ' ')
        d->out->n--;
    buf_char(d->out, '\n');
}

/* The line across that gathers the step's prerequisites at its column; nothing where they already stand above it. */
static void draw_gathering(struct drawing *d, size_t step, size_t lane)
{
    const struct plan_step *one = &d->plan->steps[step];
    size_t first = lane, last = lane, gathered = 0;
    for (size_t i = 0; i < d->used; i++) {
        if (d->lanes[i] == FREE || !needs(one, d->lanes[i]))
            continue;
        gathered++;
        first = i < first ? i : first;
        last = i > last ? i : last;
    }
    if (gathered == 0 || first == last)
        return;
    for (size_t i = 0; i < d->used; i++) {
        bool line = d->lanes[i] != FREE, mine = line && needs(one, d->lanes[i]);
        bool ends = mine && d->last_need[d->lanes[i]] == d->schedule->rank[step];
        bool across = i >= first && i <= last && (mine || i == lane || !line);
        unsigned ways = 0;
        if (line)
            ways |= WAY_UP | (ends ? 0 : WAY_DOWN);
        if (i == lane)
            ways |= WAY_DOWN;
        if (across && i > first)
            ways |= WAY_LEFT;
        if (across && i < last)
            ways |= WAY_RIGHT;
        buf_text(d->out, d->glyphs->ways[ways]);
        buf_text(d->out, i >= first && i < last ? d->glyphs->ways[WAY_LEFT | WAY_RIGHT] : " ");
    }
    end_row(d);
}

static void draw_lanes(struct drawing *d, size_t step, size_t lane)
{
    for (size_t i = 0; i < d->used; i++) {
        bool runs = d->lanes[i] != FREE;
        if (i == lane)
            buf_text(d->out, d->glyphs->states[d->states[step].status]);
        else
            buf_text(d->out, runs && d->last_need[d->lanes[i]] > d->schedule->rank[step]
                                 ? d->glyphs->ways[WAY_UP | WAY_DOWN]
                                 : " ");
        buf_char(d->out, ' ');
    }
}

/* --- words -------------------------------------------------------------------------------------------------- */

static void add_note(const struct drawing *d, struct buf *line, const char *text)
{
    buf_text(line, d->glyphs->separator);
    buf_text(line, text);
}

/* "look  Find the code · researcher · 15 calls · needs approval ← a, b" */
static void write_words(const struct drawing *d, size_t step, struct buf *line)
{
    const struct plan_step *one = &d->plan->steps[step];
    enum step_status status = d->states[step].status;
    buf_str(line, one->id);
    buf_text(line, "  ");
    utf8_clean(line, one->title, UTF8_ONE_LINE);
    add_note(d, line, one->role->name);
    buf_printf(line, "%s%lld calls", d->glyphs->separator, (long long)plan_step_calls(one));
    if (one->approval == APPROVAL_NEEDED)
        add_note(d, line, "needs approval");
    if (status != STEP_PENDING)
        add_note(d, line, step_status_text(status));
    for (size_t k = 0; k < one->depends_on.n; k++) {
        buf_text(line, k > 0 ? ", " : " ");
        buf_text(line, k > 0 ? "" : d->glyphs->needs);
        buf_str(line, one->depends_on.items[k]);
    }
}

/* As much as fits into what is left of the line, with a mark where it was cut. */
static void draw_words(struct drawing *d, size_t step)
{
    struct buf line;
    int room = d->columns - (int)d->used * LANE_WIDTH;
    buf_init(&line, LINE_BYTES);
    write_words(d, step, &line);
    struct str words = buf_view(&line);
    if (utf8_width(words) > room) {
        buf_str(d->out, utf8_cut_width(words, room - utf8_width(str_from(d->glyphs->cut))));
        buf_text(d->out, d->glyphs->cut);
    } else {
        buf_str(d->out, words);
    }
    end_row(d);
    buf_release(&line);
}

void graph_render(const struct schedule *schedule, const struct step_state *states,
                  const struct graph_style *style, struct buf *out)
{
    struct drawing d = {.schedule = schedule,
                        .plan = schedule->plan,
                        .states = states,
                        .glyphs = &glyph_sets[style->glyphs],
                        .out = out,
                        .columns = style->columns > COLUMNS_MIN ? style->columns : COLUMNS_MIN};
    /* Lines take at most a third of the width. */
    size_t room = (size_t)d.columns / 3 / LANE_WIDTH;
    d.width = room < LANES_MAX ? room : LANES_MAX;
    find_last_needs(&d);
    bool lines = lanes_fit(&d);
    for (size_t i = 0; i < LANES_MAX; i++)
        d.lanes[i] = FREE;
    if (!lines)
        d.used = 1;
    for (size_t place = 0; place < d.plan->count; place++) {
        size_t step = schedule->order[place], lane = lines ? lane_for(&d, step) : 0;
        if (lines)
            draw_gathering(&d, step, lane);
        draw_lanes(&d, step, lane);
        draw_words(&d, step);
        if (lines)
            lanes_after(&d, step, lane);
    }
}
