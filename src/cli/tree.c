/* Renders rows of agents as a tree. Pure: no terminal is asked, the style says everything.
 *
 * When the rows do not fit, finished agents without visible children go first (oldest first), then
 * the rest from the end; a last line counts what is not shown. */
#include "cli/tree.h"

#include <stdlib.h>

#include "cli/text.h"

#define COLUMNS_MIN 20
#define DEPTH_SHOWN 16 /* deeper agents are drawn at this depth */
#define NO_ROW UINT32_MAX

struct glyphs {
    const char *states[TREE_STATE_COUNT];
    const char *branch, *last, *pass, *blank;
    const char *separator, *arrow;
    enum text_ellipsis ellipsis;
};

static const struct glyphs glyph_sets[] = {
    [GLYPHS_ASCII] = {{"o", "*", "?", "+", "!", "x", "-"},
                      "|- ",
                      "`- ",
                      "|  ",
                      "   ",
                      " | ",
                      " > ",
                      ELLIPSIS_ASCII},
    [GLYPHS_UTF8] = {{"○", "●", "?", "✓", "!", "✗", "⊘"},
                     "├─ ",
                     "└─ ",
                     "│  ",
                     "   ",
                     " · ",
                     " › ",
                     ELLIPSIS_UTF8},
};

static const enum output_style state_styles[TREE_STATE_COUNT] = {
    [TREE_WAITING] = STYLE_DIM,      [TREE_WORKING] = STYLE_BOLD,   [TREE_ASKING] = STYLE_YELLOW,
    [TREE_DONE] = STYLE_GREEN,       [TREE_REFUSED] = STYLE_YELLOW, [TREE_FAILED] = STYLE_RED,
    [TREE_CANCELLED] = STYLE_YELLOW,
};

/* The shape: children as linked lists by row index. */
struct node {
    uint32_t first, last, next, shown_children;
    enum { NODE_SHOWN, NODE_HIDDEN } visibility;
};

struct drawing {
    const struct tree_row *rows;
    struct node *nodes;
    const struct tree_style *style;
    const struct glyphs *glyphs;
    struct buf *out;
    int room; /* columns left in the current line */
};

static bool finished(enum tree_state state)
{
    return state == TREE_DONE || state == TREE_REFUSED || state == TREE_FAILED ||
           state == TREE_CANCELLED;
}

static void link_nodes(const struct tree_row *rows, size_t count, struct node *nodes)
{
    for (size_t i = 0; i < count; i++)
        nodes[i] = (struct node){NO_ROW, NO_ROW, NO_ROW, 0, NODE_SHOWN};
    for (size_t i = 1; i < count; i++) {
        /* A parent that does not stand before its child is no parent: the root takes it. */
        struct node *parent = &nodes[rows[i].parent < i ? rows[i].parent : 0];
        if (parent->last == NO_ROW)
            parent->first = (uint32_t)i;
        else
            nodes[parent->last].next = (uint32_t)i;
        parent->last = (uint32_t)i;
        parent->shown_children++;
    }
}

static void hide(const struct tree_row *rows, struct node *nodes, size_t i)
{
    nodes[i].visibility = NODE_HIDDEN;
    nodes[rows[i].parent < i ? rows[i].parent : 0].shown_children--;
}

/* Hides rows until at most `lines` lines are left, the counting line included. Returns how many are
 * hidden. */
static size_t fit(const struct tree_row *rows, size_t count, struct node *nodes, int lines)
{
    if (lines <= 0 || count <= (size_t)lines)
        return 0;
    size_t room = lines > 1 ? (size_t)lines - 1 : 1;
    size_t shown = count, before;
    do {
        before = shown;
        for (size_t i = 1; i < count && shown > room; i++) {
            if (nodes[i].visibility == NODE_SHOWN && nodes[i].shown_children == 0 &&
                finished(rows[i].state)) {
                hide(rows, nodes, i);
                shown--;
            }
        }
    } while (shown > room && shown < before);
    for (size_t i = count - 1; i > 0 && shown > room; i--) {
        if (nodes[i].visibility == NODE_SHOWN) {
            hide(rows, nodes, i);
            shown--;
        }
    }
    return count - shown;
}

/* Text that fits into what is left of the line, in a style. */
static void add(struct drawing *d, enum output_style style, struct str text)
{
    struct buf piece;
    if (d->room <= 0 || text.n == 0)
        return;
    buf_init(&piece, 8192);
    text_cut(&piece, text, d->room, d->glyphs->ellipsis);
    buf_text(d->out, output_style_on(d->style->colour, style));
    buf_str(d->out, buf_view(&piece));
    buf_text(d->out, output_style_off(d->style->colour));
    d->room -= utf8_width(buf_view(&piece));
    buf_release(&piece);
}

static void add_plain(struct drawing *d, const char *text)
{
    struct str cut = utf8_cut_width(str_from(text), d->room);
    buf_str(d->out, cut);
    d->room -= utf8_width(cut);
}

static void add_numbers(struct drawing *d, const struct tree_row *row)
{
    struct buf numbers;
    buf_init(&numbers, 256);
    if (row->tool_limit >= 0)
        buf_printf(&numbers, "%lld/%lld calls", (long long)row->tool_calls,
                   (long long)row->tool_limit);
    else
        buf_printf(&numbers, "%lld calls", (long long)row->tool_calls);
    buf_text(&numbers, d->glyphs->separator);
    text_tokens(&numbers, row->tokens);
    buf_text(&numbers, " tokens");
    if (row->cost_nano >= 0) {
        buf_text(&numbers, d->glyphs->separator);
        text_money(&numbers, row->cost_nano);
        if (row->cost_most_nano > row->cost_nano) {
            buf_text(&numbers, ", at most ");
            text_money(&numbers, row->cost_most_nano);
        }
    }
    add(d, STYLE_DIM, buf_view(&numbers));
    buf_release(&numbers);
}

/* The end of the streaming text that fits: a tail is cut in front. */
static void add_tail(struct drawing *d, const struct tree_row *row)
{
    struct buf clean;
    struct str lead = row->tail_is == TAIL_REASONING ? STR("thinks: ") : STR("");
    int arrow = utf8_width(str_from(d->glyphs->arrow)) + (int)lead.n;
    if (row->tail.n == 0 || d->room < arrow + 8)
        return;
    buf_init(&clean, 8192);
    utf8_clean(&clean, row->tail, UTF8_ONE_LINE);
    struct str text = buf_view(&clean);
    int width = utf8_width(text);
    while (text.n > 0 && width > d->room - arrow) {
        uint32_t code;
        size_t n = utf8_next(text, &code);
        width -= utf8_width((struct str){text.p, n});
        text = (struct str){text.p + n, text.n - n};
    }
    add_plain(d, d->glyphs->arrow);
    add(d, STYLE_DIM, lead);
    add(d, STYLE_DIM, text);
    buf_release(&clean);
}

static void draw_line(struct drawing *d, const struct tree_row *row, const char *lead)
{
    enum tree_state state = row->state < TREE_STATE_COUNT ? row->state : TREE_WAITING;
    d->room = d->style->columns;
    add_plain(d, lead);
    add(d, state_styles[state], str_from(d->glyphs->states[state]));
    add_plain(d, " ");
    add(d, STYLE_BOLD, row->name);
    if (row->role.n > 0) {
        add_plain(d, " (");
        add(d, STYLE_DIM, row->role);
        add_plain(d, ")");
    }
    add_plain(d, "  ");
    if (row->activity.n > 0) {
        add(d, state_styles[state], row->activity);
        add_plain(d, "  ");
    }
    add_numbers(d, row);
    add_tail(d, row);
    buf_char(d->out, '\n');
}

/* The lead of a row at `depth`: which of its ancestors have more children to come is in `more`. */
static void make_lead(const struct glyphs *glyphs, int depth, uint32_t more, struct buf *lead)
{
    buf_clear(lead);
    for (int level = 1; level <= depth; level++) {
        bool goes_on = (more >> level & 1) != 0;
        if (level < depth)
            buf_text(lead, goes_on ? glyphs->pass : glyphs->blank);
        else
            buf_text(lead, goes_on ? glyphs->branch : glyphs->last);
    }
}

static uint32_t next_shown(const struct drawing *d, uint32_t i)
{
    while (i != NO_ROW && d->nodes[i].visibility == NODE_HIDDEN)
        i = d->nodes[i].next;
    return i;
}

/* Depth first without recursion: the way back up is in `parent`, so depth costs no stack. */
static void draw_all(struct drawing *d)
{
    struct buf lead;
    uint32_t i = 0, more = 0;
    int depth = 0;
    buf_init(&lead, 1024);
    while (i != NO_ROW) {
        int drawn = depth < DEPTH_SHOWN ? depth : DEPTH_SHOWN;
        if (depth <= DEPTH_SHOWN) {
            more &= ~(1u << drawn);
            if (i != 0 && next_shown(d, d->nodes[i].next) != NO_ROW)
                more |= 1u << drawn;
        }
        make_lead(d->glyphs, drawn, more, &lead);
        draw_line(d, &d->rows[i], lead.n > 0 ? lead.p : "");
        uint32_t next = next_shown(d, d->nodes[i].first);
        if (next != NO_ROW) {
            i = next;
            depth++;
            continue;
        }
        while (i != 0 && (next = next_shown(d, d->nodes[i].next)) == NO_ROW) {
            i = d->rows[i].parent < i ? d->rows[i].parent : 0;
            depth--;
        }
        i = i == 0 ? NO_ROW : next;
    }
    buf_release(&lead);
}

static void draw_hidden(struct drawing *d, size_t count, size_t hidden)
{
    size_t by_state[TREE_STATE_COUNT] = {0};
    struct buf text;
    for (size_t i = 0; i < count; i++) {
        if (d->nodes[i].visibility == NODE_HIDDEN && d->rows[i].state < TREE_STATE_COUNT)
            by_state[d->rows[i].state]++;
    }
    buf_init(&text, 512);
    buf_printf(&text, "%s %zu more: %zu done, %zu failed, %zu at work, %zu waiting",
               d->glyphs->ellipsis == ELLIPSIS_UTF8 ? "…" : "...", hidden,
               by_state[TREE_DONE] + by_state[TREE_REFUSED],
               by_state[TREE_FAILED] + by_state[TREE_CANCELLED],
               by_state[TREE_WORKING] + by_state[TREE_ASKING], by_state[TREE_WAITING]);
    d->room = d->style->columns;
    add(d, STYLE_DIM, buf_view(&text));
    buf_char(d->out, '\n');
    buf_release(&text);
}

void tree_render(const struct tree_row *rows, size_t count, const struct tree_style *style,
                 struct buf *out)
{
    struct tree_style bounded = *style;
    if (bounded.columns < COLUMNS_MIN)
        bounded.columns = COLUMNS_MIN;
    struct node *nodes = count > 0 ? calloc(count, sizeof *nodes) : NULL;
    if (nodes == NULL)
        return;
    struct drawing drawing = {rows, nodes, &bounded, &glyph_sets[style->glyphs], out, 0};
    link_nodes(rows, count, nodes);
    size_t hidden = fit(rows, count, nodes, style->lines);
    draw_all(&drawing);
    if (hidden > 0)
        draw_hidden(&drawing, count, hidden);
    free(nodes);
}
