/* See markdown.h. */
#include "tool/markdown.h"

#define URL_MAX 8192

void markdown_init(struct markdown *m, struct buf *out)
{
    *m = (struct markdown){.out = out};
    buf_init(&m->url, URL_MAX);
}

void markdown_release(struct markdown *m)
{
    buf_release(&m->url);
}

/* --- lines ----------------------------------------------------------------------------------- */

static size_t kept_depth(const struct markdown *m)
{
    return m->depth < MARKDOWN_DEPTH ? m->depth : MARKDOWN_DEPTH;
}

static void add_prefix(struct markdown *m, size_t containers)
{
    static const char *const prefixes[] = {
        [MARKDOWN_QUOTE] = "> ", [MARKDOWN_BULLETS] = "  ", [MARKDOWN_NUMBERS] = "   "};
    for (size_t i = 0; i < containers; i++)
        buf_text(m->out, prefixes[m->containers[i].kind]);
}

static void trim_end(struct buf *out)
{
    while (out->n > 0 && out->p[out->n - 1] == ' ')
        out->n--;
}

/* Ends the line and begins the next one, with an empty one between them where it was asked for. */
static void start_line(struct markdown *m, size_t containers)
{
    if (m->out->n > 0) {
        trim_end(m->out);
        buf_char(m->out, '\n');
        if (m->breaks > 1) {
            add_prefix(m, containers);
            trim_end(m->out);
            buf_char(m->out, '\n');
        }
    }
    add_prefix(m, containers);
    m->breaks = 0;
    m->space = false;
}

/* Everything that waits comes before the text that follows. */
static void before_text(struct markdown *m)
{
    if (m->breaks > 0 || m->out->n == 0)
        start_line(m, kept_depth(m));
    else if (m->space && !m->fresh)
        buf_char(m->out, ' ');
    m->space = m->fresh = false;
    if (m->link == MARK_WAITS) {
        buf_char(m->out, '[');
        m->link = MARK_WRITTEN;
    }
    if (m->code == MARK_WAITS) {
        buf_char(m->out, '`');
        m->code = MARK_WRITTEN;
    }
}

void markdown_break(struct markdown *m, size_t breaks)
{
    if (m->one_line > 0 || m->link == MARK_WRITTEN)
        m->space = true;
    else if (!m->fresh && breaks > m->breaks)
        m->breaks = breaks;
}

/* Bytes of white space at the start: one, two for U+00A0, 0 for none. */
static size_t space_at(struct str text)
{
    if (memchr(" \t\n\r\f", text.p[0], 5))
        return 1;
    return text.n > 1 && text.p[0] == '\xC2' && text.p[1] == '\xA0' ? 2 : 0;
}

void markdown_text(struct markdown *m, struct str text)
{
    while (text.n > 0 && !m->out->failed) {
        size_t n = space_at(text);
        if (n > 0) {
            m->space = true;
        } else {
            while (n < text.n && space_at((struct str){text.p + n, text.n - n}) == 0 &&
                   (text.p[n] != '|' || m->cells == 0))
                n++;
            before_text(m);
            buf_add(m->out, text.p, n);
            if (n < text.n && text.p[n] == '|') {
                buf_text(m->out, "\\|");
                n++;
            }
        }
        text = (struct str){text.p + n, text.n - n};
    }
}

void markdown_line(struct markdown *m, const char *line)
{
    markdown_break(m, 2);
    before_text(m);
    buf_text(m->out, line);
    markdown_break(m, 2);
}

/* Longer than any run of backticks inside. */
static size_t fence_length(struct str text)
{
    size_t longest = 2, run = 0;
    for (size_t i = 0; i < text.n; i++) {
        run = text.p[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest + 1;
}

static void add_fence(struct markdown *m, size_t length, struct str language)
{
    for (size_t i = 0; i < length; i++)
        buf_char(m->out, '`');
    buf_str(m->out, language);
}

void markdown_block(struct markdown *m, struct str text, struct str language)
{
    if (m->one_line > 0) {
        markdown_text(m, text);
        return;
    }
    markdown_link_end(m);
    while (text.n > 0 && text.p[text.n - 1] == '\n')
        text.n--;
    if (text.n > 0 && text.p[0] == '\n')
        text = (struct str){text.p + 1, text.n - 1};
    if (text.n == 0)
        return;
    size_t fence = fence_length(text);
    m->fresh = false;
    markdown_break(m, 2);
    before_text(m);
    add_fence(m, fence, language);
    while (text.n > 0 && !m->out->failed) {
        const char *newline = memchr(text.p, '\n', text.n);
        size_t n = newline ? (size_t)(newline - text.p) : text.n;
        start_line(m, kept_depth(m));
        buf_add(m->out, text.p, n);
        n += newline != NULL;
        text = (struct str){text.p + n, text.n - n};
    }
    start_line(m, kept_depth(m));
    add_fence(m, fence, STR(""));
    markdown_break(m, 2);
}

/* --- blocks ---------------------------------------------------------------------------------- */

void markdown_heading(struct markdown *m, size_t level)
{
    if (m->one_line > 0 || m->link == MARK_WRITTEN)
        return;
    markdown_break(m, 2);
    if (m->breaks > 0 || m->out->n == 0)
        start_line(m, kept_depth(m));
    for (size_t i = 0; i < level; i++)
        buf_char(m->out, '#');
    buf_char(m->out, ' ');
    m->fresh = true;
    m->one_line = 1;
}

void markdown_heading_end(struct markdown *m)
{
    if (m->one_line == 0 || m->cells > 0)
        return;
    markdown_link_end(m);
    m->one_line = 0;
    m->fresh = false;
    markdown_break(m, 2);
}

void markdown_open(struct markdown *m, enum markdown_container kind, uint32_t first)
{
    bool inside = m->depth > 0 && kind != MARKDOWN_QUOTE;
    markdown_break(m, inside ? 1 : 2);
    if (inside && m->breaks > 1)
        m->breaks = 1; /* a paragraph ended before it */
    if (m->one_line > 0 && m->depth >= MARKDOWN_DEPTH)
        return;
    if (m->depth < MARKDOWN_DEPTH) {
        m->containers[m->depth].kind = kind;
        m->containers[m->depth].number = first > 0 ? first - 1 : 0;
    }
    m->depth++;
}

/* Ends the innermost container of this sort, and those inside it. */
static void close_container(struct markdown *m, bool quote)
{
    if (m->depth > MARKDOWN_DEPTH) {
        m->depth--;
        return;
    }
    for (size_t i = m->depth; i > 0; i--) {
        if ((m->containers[i - 1].kind == MARKDOWN_QUOTE) != quote)
            continue;
        m->depth = i - 1;
        m->fresh = false;
        markdown_break(m, m->depth > 0 && !quote ? 1 : 2);
        return;
    }
}

void markdown_close_list(struct markdown *m)
{
    close_container(m, false);
}

void markdown_close_quote(struct markdown *m)
{
    close_container(m, true);
}

void markdown_item(struct markdown *m)
{
    size_t at = kept_depth(m);
    if (m->one_line > 0) {
        m->space = true;
        return;
    }
    markdown_link_end(m);
    m->fresh = false;
    markdown_break(m, 1);
    if (at == 0 || m->containers[at - 1].kind == MARKDOWN_QUOTE || m->depth > at) {
        if (m->breaks > 0 || m->out->n == 0)
            start_line(m, at);
        buf_text(m->out, "- ");
    } else {
        start_line(m, at - 1);
        if (m->containers[at - 1].kind == MARKDOWN_NUMBERS)
            buf_printf(m->out, "%u. ", ++m->containers[at - 1].number);
        else
            buf_text(m->out, "- ");
    }
    m->fresh = true;
}

/* --- marks in a line ------------------------------------------------------------------------- */

void markdown_link(struct markdown *m, struct str url)
{
    markdown_link_end(m);
    if (url.n == 0)
        return;
    buf_clear(&m->url);
    for (size_t i = 0; i < url.n; i++) {
        if (memchr(" ()<>\\|", url.p[i], 7) || (unsigned char)url.p[i] < 0x20)
            buf_printf(&m->url, "%%%02X", (unsigned char)url.p[i]);
        else
            buf_char(&m->url, url.p[i]);
    }
    m->link = m->url.failed ? MARK_NONE : MARK_WAITS;
}

void markdown_link_end(struct markdown *m)
{
    if (m->link == MARK_WRITTEN) {
        markdown_code_end(m);
        buf_text(m->out, "](");
        buf_str(m->out, buf_view(&m->url));
        buf_char(m->out, ')');
    }
    m->link = MARK_NONE;
}

void markdown_code(struct markdown *m)
{
    if (m->code == MARK_NONE)
        m->code = MARK_WAITS;
}

void markdown_code_end(struct markdown *m)
{
    if (m->code == MARK_WRITTEN)
        buf_char(m->out, '`');
    m->code = MARK_NONE;
}

/* --- tables ---------------------------------------------------------------------------------- */

void markdown_table(struct markdown *m)
{
    markdown_break(m, 2);
    m->table = TABLE_FIRST_ROW;
    m->cells = 0;
}

void markdown_cell(struct markdown *m)
{
    markdown_link_end(m);
    markdown_code_end(m);
    if (m->cells == 0) {
        m->one_line = 0;
        m->fresh = false;
        markdown_break(m, 1);
        before_text(m);
        buf_text(m->out, "| ");
    } else {
        buf_text(m->out, " | ");
    }
    m->cells++;
    m->one_line = 1;
    m->fresh = true;
}

void markdown_row_end(struct markdown *m)
{
    if (m->cells == 0)
        return;
    markdown_link_end(m);
    markdown_code_end(m);
    size_t cells = m->cells < MARKDOWN_CELLS ? m->cells : MARKDOWN_CELLS;
    buf_text(m->out, " |");
    m->cells = m->one_line = 0;
    m->space = m->fresh = false;
    if (m->table == TABLE_FIRST_ROW) {
        start_line(m, kept_depth(m));
        for (size_t i = 0; i < cells; i++)
            buf_text(m->out, "|---");
        buf_char(m->out, '|');
        m->table = TABLE_ROWS;
    }
    markdown_break(m, 1);
}

void markdown_table_end(struct markdown *m)
{
    markdown_row_end(m);
    m->table = TABLE_NONE;
    m->one_line = 0;
    markdown_break(m, 2);
}
