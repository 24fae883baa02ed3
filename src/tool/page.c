/* Lines out of pieces (see page.h). Any thread; touches no file. */
#include "tool/page.h"

#include "tool/result.h"
#include "tool/text.h"

#define LINE_CHARACTERS 2000 /* shown of one line */
#define LINE_BYTES 8192      /* kept of one line: enough for all characters that are shown */
#define NUMBER_BYTES 32
#define NUMBER_WIDTH 6 /* shorter numbers stand at the right */

void page_init(struct page *page, struct tool_result *result, int64_t offset, int64_t limit)
{
    *page = (struct page){.result = result, .offset = offset, .limit = limit, .line = 1};
    buf_init(&page->text, LINE_BYTES);
    buf_init(&page->whole, 3 * LINE_BYTES);
}

void page_release(struct page *page)
{
    buf_release(&page->text);
    buf_release(&page->whole);
}

/* The number of a line and a tab, without printf: some files have many lines. Returns its bytes. */
static size_t number_line(char out[NUMBER_BYTES], int64_t line)
{
    char digits[NUMBER_BYTES];
    size_t n = 0, at = 0;
    for (; line > 0 || n == 0; line /= 10)
        digits[n++] = (char)('0' + line % 10);
    while (at + n < NUMBER_WIDTH)
        out[at++] = ' ';
    while (n > 0)
        out[at++] = digits[--n];
    out[at++] = '\t';
    return at;
}

/* Adds the current line to the result. False when the result has no room for it. */
static bool show_line(struct page *page, struct str text)
{
    bool crlf = !page->overlong && text.n > 0 && text.p[text.n - 1] == '\r';
    if (page->overlong)
        text = utf8_cut(text, LINE_BYTES);
    else if (crlf)
        text.n--;
    buf_clear(&page->whole);
    enum text_line kind = text_line(&page->whole, text);
    struct str shown = utf8_cut_chars(buf_view(&page->whole), LINE_CHARACTERS);
    bool cut = page->overlong || shown.n < page->whole.n;
    char number[NUMBER_BYTES];
    size_t digits = number_line(number, page->line);
    size_t room = tool_room(page->result);
    if (digits + shown.n + sizeof "…\n" > room) {
        if (page->shown > 0 || room < digits + sizeof "…\n")
            return false;
        shown =
            utf8_cut(shown, room - digits - sizeof "…\n"); /* one line must always come through */
        cut = true;
    }
    buf_add(&page->result->text, number, digits);
    buf_str(&page->result->text, shown);
    buf_text(&page->result->text, cut ? "…\n" : "\n");
    page->any_cut |= cut;
    page->any_crlf |= crlf;
    page->any_latin1 |= kind == TEXT_LINE_LATIN1;
    page->any_mended |= kind == TEXT_LINE_MENDED;
    page->shown++;
    return true;
}

/* Takes bytes of the current line, without its newline. */
static void take(struct page *page, const char *bytes, size_t n)
{
    page->started = true;
    if (page->line < page->offset)
        return;
    size_t room = LINE_BYTES - page->text.n;
    if (n > room) {
        page->overlong = true;
        n = room;
    }
    buf_add(&page->text, bytes, n);
}

/* Ends the current line, which is this text; false when nothing more is to be shown. */
static bool end_line(struct page *page, struct str text)
{
    if (page->line >= page->offset && !show_line(page, text)) {
        page->truncated = true;
        return false;
    }
    page->line++;
    buf_clear(&page->text);
    page->overlong = false;
    page->started = false;
    return true;
}

bool page_feed(struct page *page, struct str text)
{
    const char *at = text.p;
    const char *end = text.p + text.n;
    size_t room = tool_room(page->result), wanted = text.n + text.n / 8; /* with the numbers */
    if (page->line >= page->offset)
        buf_expect(&page->result->text, page->result->text.n + (wanted < room ? wanted : room));
    while (at < end) {
        if (page->shown >= page->limit) {
            page->truncated = true;
            return false;
        }
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        struct str line = {at, (size_t)((newline ? newline : end) - at)};
        if (newline == NULL || page->started || line.n > LINE_BYTES) {
            take(page, line.p, line.n);
            line = buf_view(&page->text);
        }
        if (newline != NULL && !end_line(page, line))
            return false;
        at = newline ? newline + 1 : end;
    }
    return true;
}

void page_end(struct page *page)
{
    struct buf *text = &page->result->text;
    if (page->started && !page->truncated)
        end_line(page, buf_view(&page->text));
    if (page->truncated)
        buf_printf(text, "[truncated: ask for offset=%lld to read on]\n",
                   (long long)(page->offset + page->shown));
    if (page->any_cut)
        buf_text(text, "[… marks lines that were cut]\n");
    if (page->any_latin1)
        buf_text(text, "[lines that are not UTF-8 are shown as Latin-1]\n");
    if (page->any_mended)
        buf_text(text, "[bytes that are not UTF-8 are shown as U+FFFD]\n");
    if (page->any_crlf)
        buf_text(text, "[lines end with CRLF]\n");
}

int64_t page_lines(const struct page *page)
{
    return page->line - 1;
}
