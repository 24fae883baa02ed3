/* Writes Markdown as it is heard of: text, breaks, lists, quotes, links, tables. White space collapses, breaks add up to at most one
 * empty line, marks are written when there is something to mark. Linear; what does not fit into `out` is left out. Any thread. */
#ifndef CADRE_TOOL_MARKDOWN_H
#define CADRE_TOOL_MARKDOWN_H

#include "base/buf.h"

#define MARKDOWN_DEPTH                                                                             \
    24 /* lists and quotes in each other; deeper ones are written like their parent */
#define MARKDOWN_CELLS 64 /* of a table's first row that get a rule */

enum markdown_container { MARKDOWN_QUOTE, MARKDOWN_BULLETS, MARKDOWN_NUMBERS };

struct markdown {
    struct buf *out;
    struct {
        enum markdown_container kind;
        uint32_t number; /* of the last item */
    } containers[MARKDOWN_DEPTH];
    size_t depth;    /* may be larger than MARKDOWN_DEPTH: those are not kept */
    size_t breaks;   /* that come before the next text: 1 a line, 2 an empty line */
    bool space;      /* a space comes before the next text */
    bool fresh;      /* a mark was written that its text must follow on the same line */
    size_t one_line; /* above 0: breaks are spaces (headings, cells) */
    struct buf url;  /* of the link that is open */
    enum { MARK_NONE, MARK_WAITS, MARK_WRITTEN } link, code;
    enum { TABLE_NONE, TABLE_FIRST_ROW, TABLE_ROWS } table;
    size_t cells; /* of the row, 0: no row is open */
};

void markdown_init(struct markdown *m, struct buf *out);
void markdown_release(struct markdown *m);

void markdown_text(struct markdown *m, struct str text);
void markdown_break(struct markdown *m, size_t breaks);
/* A line of its own, as it is: a rule. */
void markdown_line(struct markdown *m, const char *line);
/* A block as it is between fences; language may be empty. */
void markdown_block(struct markdown *m, struct str text, struct str language);

void markdown_heading(struct markdown *m, size_t level);
void markdown_heading_end(struct markdown *m);
void markdown_open(struct markdown *m, enum markdown_container kind, uint32_t first);
void markdown_close_list(struct markdown *m);
void markdown_close_quote(struct markdown *m);
void markdown_item(struct markdown *m);
/* An open link ends where another begins. An empty url makes no link. */
void markdown_link(struct markdown *m, struct str url);
void markdown_link_end(struct markdown *m);
void markdown_code(struct markdown *m);
void markdown_code_end(struct markdown *m);
void markdown_table(struct markdown *m);
void markdown_table_end(struct markdown *m);
void markdown_cell(struct markdown *m);
void markdown_row_end(struct markdown *m);

#endif
