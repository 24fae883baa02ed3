/* Unified diffs (see diff.h). What both texts have in common at their ends is set aside first; the rest is compared by lines with
 * Myers' greedy algorithm, which gives up after DIFFERENCES_MAX edits or STEPS_MAX comparisons. Any thread. */
#include "tool/diff.h"

#include <stdlib.h>

#include "base/utf8.h"

#define CONTEXT 3
#define LINES_MAX 50000     /* of one side that are compared one by one */
#define DIFFERENCES_MAX 400 /* lines removed and added; memory grows with its square */
#define STEPS_MAX 4000000   /* lines compared */

struct side {
    struct str *lines; /* each with its newline */
    uint8_t *changed;  /* removed from before, added in after */
    size_t count;
    size_t first; /* number of lines[0] in its text, from 0 */
};

struct comparison {
    struct side before, after;
    size_t steps;
};

/* --- setting aside what is the same ----------------------------------------------------------- */

static size_t count_lines(struct str text)
{
    size_t lines = 0;
    const char *end = text.p + text.n;
    for (const char *at = text.p; at < end; lines++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    return lines;
}

/* Where the line begins that stands `lines` lines before the one at `at`, which begins a line itself. */
static size_t back_lines(struct str text, size_t at, size_t lines)
{
    for (; lines > 0 && at > 0; lines--) {
        at--;
        while (at > 0 && text.p[at - 1] != '\n')
            at--;
    }
    return at;
}

static size_t forward_lines(struct str text, size_t at, size_t lines)
{
    for (; lines > 0 && at < text.n; lines--) {
        const char *newline = memchr(text.p + at, '\n', text.n - at);
        at = newline ? (size_t)(newline - text.p) + 1 : text.n;
    }
    return at;
}

/* Bytes of whole lines that both begin with. */
static size_t common_head(struct str a, struct str b)
{
    size_t shorter = a.n < b.n ? a.n : b.n, same = 0;
    while (same < shorter && a.p[same] == b.p[same])
        same++;
    if (same == a.n && same == b.n)
        return same;
    while (same > 0 && a.p[same - 1] != '\n')
        same--;
    return same;
}

/* Bytes of whole lines that both end with, behind their first `head` bytes. */
static size_t common_tail(struct str a, struct str b, size_t head)
{
    size_t shorter = (a.n < b.n ? a.n : b.n) - head, same = 0;
    while (same < shorter && a.p[a.n - 1 - same] == b.p[b.n - 1 - same])
        same++;
    /* The first byte of the tail must begin a line in both: the newline before it is one byte further. */
    while (same > 0 &&
           (same == shorter || a.p[a.n - 1 - same] != '\n' || b.p[b.n - 1 - same] != '\n')) {
        const char *newline = memchr(a.p + (a.n - same), '\n', same);
        same = newline ? (size_t)(a.p + a.n - newline) - 1 : 0;
        if (newline)
            break;
    }
    return same;
}

/* --- comparing ------------------------------------------------------------------------------- */

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static void side_split(struct side *side, struct str text, size_t from, size_t to)
{
    struct str part = {text.p + from, to - from};
    side->first = count_lines((struct str){text.p, from});
    side->count = count_lines(part);
    side->lines = must(calloc(side->count + 1, sizeof *side->lines));
    side->changed = must(calloc(side->count + 1, 1));
    for (size_t i = 0, at = from; i < side->count; i++) {
        size_t next = forward_lines(text, at, 1);
        side->lines[i] = (struct str){text.p + at, next - at};
        at = next;
    }
}

static void side_release(struct side *side)
{
    free(side->lines);
    free(side->changed);
}

/* Goes back through the kept rows and marks the lines that were removed and added on the way. */
static void mark_path(struct comparison *c, int32_t *const *rows, int32_t d)
{
    int32_t x = (int32_t)c->before.count, y = (int32_t)c->after.count;
    for (; d > 0; d--) {
        const int32_t *row =
            rows[d - 1] + d - 1; /* row[k]: furthest x on diagonal k after d - 1 edits */
        int32_t k = x - y;
        bool down = k == -d || (k != d && row[k - 1] < row[k + 1]);
        int32_t from = down ? k + 1 : k - 1;
        x = row[from];
        y = x - from;
        if (down)
            c->after.changed[y] = 1;
        else
            c->before.changed[x] = 1;
    }
}

/* False when the texts differ too much. */
static bool compare(struct comparison *c)
{
    int32_t n = (int32_t)c->before.count, m = (int32_t)c->after.count;
    int32_t *rows[DIFFERENCES_MAX + 1] = {NULL};
    bool found = false;
    for (int32_t d = 0; d <= DIFFERENCES_MAX && !found && c->steps < STEPS_MAX; d++) {
        int32_t *row = (int32_t *)must(calloc((size_t)(2 * d + 1), sizeof *row)) + d;
        const int32_t *last = d > 0 ? rows[d - 1] + d - 1 : NULL;
        rows[d] = row - d;
        for (int32_t k = -d; k <= d && !found; k += 2) {
            int32_t x = 0;
            if (d > 0)
                x = k == -d || (k != d && last[k - 1] < last[k + 1]) ? last[k + 1]
                                                                     : last[k - 1] + 1;
            int32_t y = x - k;
            while (x < n && y < m && y >= 0 && str_eq(c->before.lines[x], c->after.lines[y])) {
                x++;
                y++;
                c->steps++;
            }
            row[k] = x;
            found = x >= n && y >= m;
        }
        if (found)
            mark_path(c, rows, d);
    }
    for (size_t d = 0; d <= DIFFERENCES_MAX; d++)
        free(rows[d]);
    return found;
}

/* --- printing -------------------------------------------------------------------------------- */

struct printing {
    struct diff_bounds bounds;
    struct buf *out;
    size_t printed, left_out;
};

static bool has_room(struct printing *p)
{
    if (p->printed < p->bounds.lines) {
        p->printed++;
        return true;
    }
    p->left_out++;
    return false;
}

static void print_line(struct printing *p, char mark, struct str line)
{
    bool whole = line.n > 0 && line.p[line.n - 1] == '\n';
    struct str text = {line.p, line.n - whole};
    struct str shown = utf8_cut(text, p->bounds.line_bytes);
    if (!has_room(p))
        return;
    buf_char(p->out, mark);
    buf_str(p->out, shown);
    buf_text(p->out, shown.n < text.n ? "…\n" : "\n");
    if (!whole)
        buf_text(p->out, "\\ No newline at end of file\n");
}

/* An empty range names the line before it. */
static size_t range_start(const struct side *side, size_t from, size_t count)
{
    return side->first + from + (count > 0 ? 1 : 0);
}

static void print_hunk(struct printing *p, const struct comparison *c, size_t i, size_t end_i,
                       size_t j, size_t end_j)
{
    if (has_room(p))
        buf_printf(p->out, "@@ -%zu,%zu +%zu,%zu @@\n", range_start(&c->before, i, end_i - i),
                   end_i - i, range_start(&c->after, j, end_j - j), end_j - j);
    while (i < end_i || j < end_j) {
        if (i < end_i && c->before.changed[i])
            print_line(p, '-', c->before.lines[i++]);
        else if (j < end_j && c->after.changed[j])
            print_line(p, '+', c->after.lines[j++]);
        else {
            print_line(p, ' ', c->before.lines[i++]);
            j++;
        }
    }
}

/* Changes that lie at most two contexts apart share a hunk. */
static void print_hunks(struct printing *p, const struct comparison *c)
{
    size_t i = 0, j = 0, start_i = 0, start_j = 0, same = 0;
    bool open = false;
    while (i < c->before.count || j < c->after.count) {
        bool removed = i < c->before.count && c->before.changed[i];
        bool added = j < c->after.count && c->after.changed[j];
        if (removed || added) {
            if (!open) {
                size_t around = same < CONTEXT ? same : CONTEXT;
                start_i = i - around;
                start_j = j - around;
                open = true;
            }
            same = 0;
            i += removed;
            j += !removed;
            continue;
        }
        i++;
        j++;
        same++;
        if (open && same > 2 * CONTEXT) {
            print_hunk(p, c, start_i, i - same + CONTEXT, start_j, j - same + CONTEXT);
            open = false;
        }
    }
    size_t behind = same < CONTEXT ? 0 : same - CONTEXT;
    if (open)
        print_hunk(p, c, start_i, i - behind, start_j, j - behind);
}

void diff_print(struct str before, struct str after, struct diff_bounds bounds, struct buf *out)
{
    struct comparison c = {0};
    struct printing p = {.bounds = bounds, .out = out};
    if (str_eq(before, after))
        return;
    size_t head = common_head(before, after);
    size_t tail = common_tail(before, after, head);
    size_t from = back_lines(before, head, CONTEXT);
    side_split(&c.before, before, from, forward_lines(before, before.n - tail, CONTEXT));
    side_split(&c.after, after, from, forward_lines(after, after.n - tail, CONTEXT));
    if (c.before.count > LINES_MAX || c.after.count > LINES_MAX || !compare(&c)) {
        memset(c.before.changed, 1, c.before.count);
        memset(c.after.changed, 1, c.after.count);
    }
    print_hunks(&p, &c);
    if (p.left_out > 0)
        buf_printf(out, "[the rest of the diff is not shown: %zu lines]\n", p.left_out);
    side_release(&c.before);
    side_release(&c.after);
}
