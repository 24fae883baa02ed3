/* A page of a text: numbered lines from a given one on, cut where they are long, and the notes that
 * say how to read on. The text comes in pieces; no more than one line is held. */
#ifndef CADRE_TOOL_PAGE_H
#define CADRE_TOOL_PAGE_H

#include "port/tool.h"

#define PAGE_LINES 2000 /* shown where nothing else is asked for */
#define PAGE_LINES_MOST 1000000
#define PAGE_OFFSET_MOST INT64_C(1000000000000)

struct page {
    struct tool_result *result;
    int64_t offset, limit; /* first line, from 1; lines that may be shown */
    int64_t line;          /* that the next byte belongs to, from 1 */
    int64_t shown;
    struct buf text;  /* of the current line, as far as it is kept */
    struct buf whole; /* the line as it will be shown */
    bool started;     /* the current line has a byte */
    bool overlong, truncated, any_cut, any_latin1, any_mended, any_crlf;
};

void page_init(struct page *page, struct tool_result *result, int64_t offset, int64_t limit);
void page_release(struct page *page);
/* False: nothing more is to be shown, the rest need not be read. */
bool page_feed(struct page *page, struct str text);
/* The text has ended, or page_feed said false: shows the last line and adds the notes. */
void page_end(struct page *page);
/* Lines that came in; all of the file's, when nothing was truncated. */
int64_t page_lines(const struct page *page);

#endif
